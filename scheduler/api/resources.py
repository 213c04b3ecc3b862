"""Names of resources: which ones a pod can request and a node can be short of."""

from __future__ import annotations

import re
from functools import lru_cache

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"

HUGE_PAGES_PREFIX = "hugepages-"
_ATTACHABLE_PREFIX = "attachable-volumes-"
_NATIVE_DOMAIN = "kubernetes.io/"
_QUOTA_PREFIX = "requests."
_QUALIFIED_PART = re.compile(r"(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_DNS_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")


def is_qualified_name(name: str) -> bool:
    """A label-like name: an optional DNS prefix and a slash, then at most 63 characters (apimachinery: IsQualifiedName)."""
    prefix, slash, part = name.rpartition("/")
    if slash and not (len(prefix) <= 253 and _DNS_SUBDOMAIN.fullmatch(prefix)):
        return False
    return 0 < len(part) <= 63 and _QUALIFIED_PART.fullmatch(part) is not None


@lru_cache(maxsize=4096)
def is_extended(name: str) -> bool:
    """A resource of somebody's own domain, such as ``example.com/gpu`` (kube-scheduler 1.37: IsExtendedResourceName)."""
    if "/" not in name or _NATIVE_DOMAIN in name or name.startswith(_QUOTA_PREFIX):
        return False
    return is_qualified_name(_QUOTA_PREFIX + name)


@lru_cache(maxsize=4096)
def is_scalar(name: str) -> bool:
    """Counted besides cpu, memory, ephemeral-storage and pods; any other name in a request is ignored."""
    return is_extended(name) or name.startswith((HUGE_PAGES_PREFIX, _ATTACHABLE_PREFIX)) or _NATIVE_DOMAIN in name


def is_counted(name: str) -> bool:
    """A resource whose requests are summed up on a node."""
    return name in (CPU, MEMORY, EPHEMERAL_STORAGE) or is_scalar(name)


def is_pod_level(name: str) -> bool:
    """A resource that ``spec.resources`` of a pod may set for all its containers together."""
    return name in (CPU, MEMORY) or name.startswith(HUGE_PAGES_PREFIX)
