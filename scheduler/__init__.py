"""Reprise, a second scheduler for Kubernetes."""
