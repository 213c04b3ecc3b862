"""PodTopologySpread: pods that a selector matches are spread evenly over the domains of a topology label.

Source: kube-scheduler 1.37: PodTopologySpread.
"""

from scheduler.plugins.pod_topology_spread.args import DefaultConstraint, PodTopologySpreadArgs, validate
from scheduler.plugins.pod_topology_spread.plugin import PodTopologySpread

__all__ = ["DefaultConstraint", "PodTopologySpread", "PodTopologySpreadArgs", "validate"]
