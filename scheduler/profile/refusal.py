"""Pods that need a rule which is not there yet: refused by name, never placed as if the rule did not exist."""

from __future__ import annotations

from scheduler.api.objects import PodSpec
from scheduler.api.resources import is_extended
from scheduler.cache.cache import Cache
from scheduler.framework.pod_info import PodInfo


def refusal(pod: PodInfo, cache: Cache) -> str | None:
    """Why the pod cannot be decided on, naming the field and the missing plugin; None when every rule it needs is there."""
    if _is_plain(pod) and not cache.has_device_classes:
        return None
    spec = pod.pod.spec
    return _own_rule(spec) or _device_class(pod, cache)


def _is_plain(pod: PodInfo) -> bool:
    """Whether none of the fields is set that a rule of the pod's own could be in: so it is with nearly all pods."""
    spec = pod.pod.spec
    return not spec.resource_claims


def _missing(what: str, plugin: str) -> str:
    return f"pod needs {what}, and {plugin} is not implemented yet: use another scheduler for this pod"


def _own_rule(spec: PodSpec) -> str | None:
    if spec.resource_claims:
        return _missing("spec.resourceClaims", "DynamicResources")
    return None


def _device_class(pod: PodInfo, cache: Cache) -> str | None:
    for resource, amount in sorted(pod.requests.items()):
        if amount and (is_extended(resource) or resource.startswith(_IMPLICIT_CLASS)):
            device_class = cache.device_class_for(resource)
            if device_class is not None:
                return _missing(f"{resource}, which DeviceClass {device_class!r} serves", "DynamicResources")
    return None


_IMPLICIT_CLASS = "deviceclass.resource.kubernetes.io/"
