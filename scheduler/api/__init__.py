"""Kubernetes objects as the scheduler reads them, and the arithmetic and matching rules that belong to them."""
