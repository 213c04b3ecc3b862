"""NodeVolumeLimits: a node takes no more volumes of a CSI driver than it can attach.

Source: kube-scheduler 1.37: NodeVolumeLimits.
"""

from scheduler.plugins.node_volume_limits.plugin import NodeVolumeLimits

__all__ = ["NodeVolumeLimits"]
