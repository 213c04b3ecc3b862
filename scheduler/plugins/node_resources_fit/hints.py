"""Which events can help a pod that has too little room (kube-scheduler 1.37: NodeResourcesFit, isSchedulableAfter...)."""

from __future__ import annotations

from collections.abc import Mapping

from scheduler.api.objects import DeviceClass, Node
from scheduler.api.quantity import amount
from scheduler.api.resources import PODS, is_counted
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.queueing_hint import Hint, queue_if

_IMPLICIT_CLASS = "deviceclass.resource.kubernetes.io/"


def after_node_change(requests: Mapping[str, int], old: Node | None, new: Node) -> Hint:
    """A node came, or has more of something that the pod asks for; and without other pods it would take the pod.

    ``requests``: what Filter looks at, above 0.
    """
    has = _allocatable(new)
    if has.get(PODS, 0) < 1 or any(has.get(name, 0) < request for name, request in requests.items()):
        return Hint.SKIP
    if old is None:
        return Hint.QUEUE
    had = _allocatable(old)
    return queue_if(any(has.get(name, 0) > had.get(name, 0) for name in (PODS, *requests)))


def _allocatable(node: Node) -> dict[str, int]:
    given = node.status.allocatable or {}
    return {name: amount(name, quantity) for name, quantity in given.items() if name == PODS or is_counted(name)}


def after_scale_down(pod: PodInfo, old: PodInfo, new: PodInfo) -> Hint:
    """A pod on a node asks for less of something that this pod asks for."""
    if not new.pod.spec.node_name:
        return Hint.SKIP
    before, after = old.accounted_requests, new.accounted_requests
    asked = (name for name, request in pod.accounted_requests.items() if request and is_counted(name))
    return queue_if(any(before.get(name, 0) > after.get(name, 0) for name in asked))


def after_device_class_change(pod: PodInfo, old: DeviceClass | None, new: DeviceClass) -> Hint:
    """A class came to serve a resource that the pod asks for: by its name from the first, or because it says so now."""
    served = new.spec.extended_resource_name
    if old is not None:
        if (old.spec.extended_resource_name or "") == (served or ""):
            return Hint.SKIP
    elif f"{_IMPLICIT_CLASS}{new.metadata.name}" in pod.requests:
        return Hint.QUEUE
    return queue_if(served is not None and served in pod.requests)
