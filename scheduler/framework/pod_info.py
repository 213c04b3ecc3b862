"""PodInfo: a pod with what the scheduler works out of it, each thing once."""

from __future__ import annotations

from functools import cached_property

from scheduler.api.objects import Container, Pod, Volume, is_storage
from scheduler.api.pod_requests import PodAmounts, Requests, pod_amounts
from scheduler.api.ports import HostPort, host_ports
from scheduler.framework.affinity_terms import AffinityTerms, affinity_terms
from scheduler.framework.facet import Facet
from scheduler.framework.pod_kind import PodKind, kind_of

# As plain ints: arithmetic of an IntFlag takes ten times as long.
_ALWAYS = int(Facet.RESOURCES | Facet.PODS)
_PORTS = int(Facet.PORTS)
_VOLUMES = int(Facet.VOLUMES)
_TERMS = int(Facet.TERMS)


class PodInfo:
    """A pod as the queue, the cache and the plugins pass it around. Immutable: an updated pod is a new PodInfo."""

    # What is worked out of every pod in the cluster has a slot; the rest is for pods that are being decided on. 250 bytes
    # a pod less than with all of it in __dict__.
    __slots__ = ("__dict__", "_affinity_terms", "_amounts", "_facets", "_host_ports", "_kind", "pod", "uid")

    def __init__(self, pod: Pod) -> None:
        self.pod = pod
        self.uid = pod.metadata.uid
        self._amounts: PodAmounts | None = None
        self._host_ports: tuple[HostPort, ...] | None = None
        self._affinity_terms: AffinityTerms | None = None
        self._kind: PodKind | None = None
        self._facets = 0

    def take_over(self, other: PodInfo) -> None:
        """What was worked out of a pod with the same traits holds for this one too."""
        self._amounts = other._amounts
        self._host_ports = other._host_ports
        self._affinity_terms = other._affinity_terms
        self._kind = other.kind
        self._facets = other._facets

    @property
    def key(self) -> str:
        """``namespace/name``, for people; everything is kept by UID."""
        metadata = self.pod.metadata
        return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name

    @property
    def priority(self) -> int:
        return self.pod.spec.priority or 0

    @property
    def amounts(self) -> PodAmounts:
        """What the pod asks for, counted in each of the ways below.

        Raises:
            QuantityError: a quantity of the pod cannot be read; the message begins with its field. So do the four below.
        """
        if self._amounts is None:
            self._amounts = pod_amounts(self.pod)
        return self._amounts

    @property
    def requests(self) -> Requests:
        """What NodeResourcesFit filters by: pod-level requests honoured, status not (kube-scheduler 1.37: Fit PreFilter)."""
        return self.amounts.requests

    @property
    def score_requests(self) -> Requests:
        """What NodeResourcesFit scores by: container requests with the defaults for missing cpu and memory."""
        return self.amounts.score_requests

    @property
    def accounted_requests(self) -> Requests:
        """What the pod takes from its node, in-place resizes included (kube-scheduler 1.37: NodeInfo.Requested)."""
        return self.amounts.accounted_requests

    @property
    def accounted_non_zero(self) -> Requests:
        """As ``accounted_requests`` for cpu and memory, with the defaults (kube-scheduler 1.37: NodeInfo.NonZeroRequested)."""
        return self.amounts.accounted_non_zero

    @property
    def affinity_terms(self) -> AffinityTerms:
        """The pod's rules about other pods."""
        if self._affinity_terms is None:
            self._affinity_terms = affinity_terms(self.pod)
        return self._affinity_terms

    @property
    def kind(self) -> PodKind:
        """What selectors can tell the pod by."""
        if self._kind is None:
            self._kind = kind_of(self.pod)
        return self._kind

    @property
    def host_ports(self) -> tuple[HostPort, ...]:
        """Host ports of sidecars and containers, in that order."""
        if self._host_ports is None:
            self._host_ports = host_ports(self.pod.spec)
        return self._host_ports

    @property
    def facets(self) -> int:
        """What of a node changes when the pod comes to it or leaves it, as the bits of Facet."""
        if not self._facets:
            facets = _ALWAYS
            if self.host_ports:
                facets |= _PORTS
            for volume in self.pod.spec.volumes or ():
                if is_storage(volume):
                    facets |= _VOLUMES
            affinity = self.pod.spec.affinity
            if affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None):
                facets |= _TERMS
            self._facets = facets
        return self._facets

    @cached_property
    def containers(self) -> tuple[Container, ...]:
        """Init containers, then containers."""
        return (*(self.pod.spec.init_containers or ()), *self.pod.spec.containers)

    @cached_property
    def storage_volumes(self) -> tuple[Volume, ...]:
        """The volumes that volume rules look at; none unless ``facets`` has VOLUMES."""
        return tuple(volume for volume in self.pod.spec.volumes or () if is_storage(volume))

    @cached_property
    def images(self) -> tuple[str, ...]:
        """Image names of init containers, containers and image volumes, in that order, repeats kept, as written."""
        volumes = self.pod.spec.volumes or ()
        return (
            *(container.image for container in self.containers),
            *(volume.image.reference for volume in volumes if volume.image is not None),
        )
