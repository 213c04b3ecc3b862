"""InterPodAffinity: pods near other pods, or away from them (kube-scheduler 1.37: InterPodAffinity)."""

from scheduler.plugins.inter_pod_affinity.args import InterPodAffinityArgs, validate
from scheduler.plugins.inter_pod_affinity.plugin import InterPodAffinity

__all__ = ["InterPodAffinity", "InterPodAffinityArgs", "validate"]
