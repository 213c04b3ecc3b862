"""Where pods wait: active, backoff, unschedulable, gated, and the record of what happens while a pod is in flight."""
