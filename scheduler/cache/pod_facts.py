"""What of a node changes when a pod there is updated."""

from __future__ import annotations

from scheduler.api.objects import Pod
from scheduler.framework.facet import Facet
from scheduler.framework.pod_info import PodInfo

# As plain ints: arithmetic of an IntFlag takes ten times as long, and this runs for each pod.
RESOURCES = int(Facet.RESOURCES)
PORTS = int(Facet.PORTS)
VOLUMES = int(Facet.VOLUMES)
PODS = int(Facet.PODS)
TERMS = int(Facet.TERMS)


def update_facets(old: PodInfo, new: PodInfo) -> int:
    """What changes on the node when a pod there goes from one state to another; 0 for a mere status update."""
    facets = 0
    if not takes_the_same(old, new):
        facets |= RESOURCES
    if old.host_ports != new.host_ports:
        facets |= PORTS
    if old.pod.spec.volumes != new.pod.spec.volumes:
        facets |= VOLUMES
    if _selected_by(old.pod) != _selected_by(new.pod):
        facets |= PODS | ((old.facets | new.facets) & TERMS)
    return facets


def takes_the_same(old: PodInfo, new: PodInfo) -> bool:
    """Whether both take the same amounts from their node."""
    before, after = old.amounts, new.amounts
    return before is after or (
        before.accounted_non_zero == after.accounted_non_zero and dict(before.charged) == dict(after.charged)
    )


def _selected_by(pod: Pod) -> tuple[object, ...]:
    """What rules about the pods on a node look at; whether a pod is being deleted counts, not since when."""
    metadata = pod.metadata
    return metadata.labels or {}, metadata.deletion_timestamp is None, pod.spec.affinity, metadata.namespace
