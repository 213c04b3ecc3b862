"""The SchedulerConfiguration resource: what it looks like, and word of its changes, through kopf."""
