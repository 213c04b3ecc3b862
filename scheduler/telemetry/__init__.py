"""Logs and metrics: what the scheduler counted and decided, in the words of kube-scheduler's metrics."""
