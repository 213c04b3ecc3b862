"""VolumeBinding: each claim of the pod has a volume that the node can use, or can get one there.

Source: kube-scheduler 1.37: VolumeBinding.
"""

from scheduler.plugins.volume_binding.args import VolumeBindingArgs, validate
from scheduler.plugins.volume_binding.plugin import VolumeBinding

__all__ = ["VolumeBinding", "VolumeBindingArgs", "validate"]
