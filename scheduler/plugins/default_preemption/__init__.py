"""DefaultPreemption: room for a pod by taking it from pods of lower priority (kube-scheduler 1.37: DefaultPreemption)."""

from scheduler.plugins.default_preemption.args import DefaultPreemptionArgs, validate
from scheduler.plugins.default_preemption.plugin import DefaultPreemption

__all__ = ["DefaultPreemption", "DefaultPreemptionArgs", "validate"]
