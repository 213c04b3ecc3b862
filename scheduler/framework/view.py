"""NodeView: rows of the node table as a plugin sees them.

The same names give columns (arrays of shape ``(len(nodes),)``) when the view has many rows, and Python scalars when it has
one. A view gives a plugin only what it declared; anything else raises UndeclaredReadError.
"""

from __future__ import annotations

from typing import Protocol

from scheduler.api.objects import Taint, Volume
from scheduler.api.selectors import LabelMatcher
from scheduler.framework.affinity_terms import HeldTerm, ReachingTerms
from scheduler.framework.ops import Bools, Ids, IntArray, Ints
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.pod_match import PodMatch
from scheduler.framework.storage import Storage


class LabelIds(Protocol):
    """The interned values of one label key. Id 0 means that the node has no such label."""

    @property
    def items(self) -> list[str | None]:
        """The value of each id, None of id 0; it only grows while an evaluation lasts."""
        ...

    def id_of(self, value: str) -> int:
        """The id of a value, or -1 when no node has it now."""
        ...

    def integers(self) -> tuple[object, object]:
        """``(values, valid)`` indexed by id: each value as int64, and whether it is a base-10 int64 at all."""
        ...


class DeducedSelector(Protocol):
    """The selector that default spread constraints have for a pod."""

    @property
    def id(self) -> int:
        """Of the selector, for ever; 0 for the empty one, with which default constraints drop out."""
        ...

    @property
    def matcher(self) -> LabelMatcher: ...


class NodeView(Protocol):
    """Rows of the node table, reduced to the facets and inputs that one plugin declared."""

    def __len__(self) -> int: ...

    @property
    def is_row(self) -> bool:
        """Whether this is a row view, whose columns are Python scalars."""
        ...

    @property
    def rows(self) -> int | slice | IntArray:
        """What an array of all rows is indexed with to get these."""
        ...

    @property
    def is_all(self) -> bool:
        """Whether these are all the rows that there are, in their order, as arrays."""
        ...

    # Facet.NAME
    def is_named(self, name: str) -> Bools:
        """Whether the node has this name."""
        ...

    def node_name(self, position: int) -> str:
        """The name of one of the nodes; "" for a row without a node."""
        ...

    # Facet.RESOURCES; resources by their Kubernetes name, cpu in milli, 0 where a node has none
    def allocatable(self, resource: str) -> Ints: ...

    def requested(self, resource: str) -> Ints:
        """Sum of the requests of the pods on the node, assumed ones included."""
        ...

    def non_zero_requested(self, resource: str) -> Ints:
        """As ``requested`` for cpu and memory, where a container without a request counts 100m and 200Mi."""
        ...

    def usage(self, resource: str) -> tuple[Ints, Ints]:
        """``allocatable`` and ``requested``; for one row cheaper than both."""
        ...

    def non_zero_usage(self, resource: str) -> tuple[Ints, Ints]:
        """``allocatable`` and ``non_zero_requested``; for one row cheaper than both."""
        ...

    @property
    def pod_count(self) -> Ints: ...

    @property
    def allowed_pods(self) -> Ints: ...

    # Facet.UNSCHEDULABLE
    @property
    def unschedulable(self) -> Bools: ...

    # Facet.TAINTS
    @property
    def taints(self) -> Ids:
        """Interned id of each node's list of taints; ``taint_sets[id]`` is the list."""
        ...

    @property
    def taint_sets(self) -> list[tuple[Taint, ...]]: ...

    # Facet.FEATURES
    @property
    def features(self) -> Ids:
        """Interned id of each node's list of declared features; ``feature_lists[id]`` is the list."""
        ...

    @property
    def feature_lists(self) -> list[tuple[str, ...]]: ...

    # Facet.LABELS
    def label(self, key: str) -> Ids:
        """Interned id of the node's value of a label key; 0 where the node has no such label."""
        ...

    def label_ids(self, key: str) -> LabelIds: ...

    # Facet.PORTS
    def port_conflicts(self, host_ip: str, protocol: str, port: int) -> Bools:
        """Whether a pod on the node uses the host port so that ``host_ip`` cannot (kube-scheduler 1.37: HostPortInfo)."""
        ...

    # Facet.IMAGES
    def image_size(self, name: str) -> Ints:
        """Bytes of the image on the node; 0 where the node does not hold it."""
        ...

    # Input.IMAGE_HOLDERS
    def image_holders(self, name: str) -> int:
        """Number of nodes that hold the image now."""
        ...

    def image_version(self, name: str) -> int:
        """Changes whenever a node gains or loses the image, or its size there changes."""
        ...

    # Input.FEASIBLE
    @property
    def feasible(self) -> Bools:
        """The nodes that passed Filter; known in PreScore, and in Score of all nodes."""
        ...

    # Input.DOMAINS
    @property
    def domain_version(self) -> int:
        """Changes whenever a node comes or goes, or its labels or taints change."""
        ...

    # Input.POD_COUNTS
    def matching_pods(self, match: PodMatch) -> Ints:
        """Number of pods on the node that match, assumed ones included."""
        ...

    def matching_version(self, match: PodMatch) -> int:
        """Rises whenever a matching pod comes to a node or leaves one."""
        ...

    def matching_changes(self, match: PodMatch, version: int) -> tuple[int, list[tuple[int, int]] | None]:
        """The version now, and by how much which row's number changed after that one, in no order.

        None stands for changes that are not all known any more.
        """
        ...

    # Input.POD_TERMS
    def reaching_terms(self, namespace: str) -> ReachingTerms:
        """The terms of pods on nodes that can be about pods of the namespace; the same object while they are the same."""
        ...

    def term_holders(self, held: HeldTerm) -> Ints:
        """How often pods on the node hold the term, assumed ones included."""
        ...

    def term_version(self, held: HeldTerm) -> int:
        """Rises whenever a pod that holds the term comes to a node or leaves one; 0 when none does."""
        ...

    def term_changes(self, held: HeldTerm, version: int) -> tuple[int, list[tuple[int, int]] | None]:
        """As ``matching_changes``, of ``term_holders``."""
        ...

    @property
    def selects_namespaces(self) -> bool:
        """Whether there is a term that looks at the labels of namespaces."""
        ...

    # Input.NAMESPACES
    def matching_namespaces(self, selector: LabelMatcher) -> frozenset[str]:
        """Names of the known namespaces that the selector matches."""
        ...

    @property
    def namespaces_version(self) -> int:
        """Changes whenever a namespace comes or goes, or its labels change."""

    # Input.SELECTING_OBJECTS
    def deduced_selector(self, pod: PodInfo) -> DeducedSelector:
        """What Services and the pod's controller make of it now. No change of it is journaled: an evaluation keeps the answer
        that it began with, and ClusterSignPlugin tells pods with another one apart.
        """
        ...

    # Facet.VOLUMES
    def disk_conflicts(self, volume: Volume) -> Bools:
        """Whether a pod on the node uses the volume's inline disk so that another pod cannot (VolumeRestrictions)."""
        ...

    def pods_with_volumes(self, position: int) -> list[PodInfo]:
        """The pods of one of the nodes that have volumes that volume rules look at, in the order they came."""
        ...

    @property
    def has_csi_node(self) -> Bools: ...

    @property
    def has_csi_limits(self) -> Bools:
        """Whether the node limits the volumes of some driver."""
        ...

    def csi_limit(self, driver: str) -> Ints:
        """How many volumes of the driver the node can use; 2**62 for no limit."""
        ...

    def has_csi_driver(self, driver: str) -> Bools: ...

    # Input.STORAGE
    def attached_volumes(self, driver: str) -> Ints:
        """How many CSI volumes of the driver the node holds: each once, for the pods there and for its VolumeAttachments.

        Volumes of in-tree kinds count for the driver that took their place, as on a node with a CSINode.
        """
        ...

    def uses_volume(self, unique_name: str) -> Bools:
        """Whether a pod on the node has the CSI volume, ``driver/handle``."""
        ...

    @property
    def failing_volumes(self) -> Ints:
        """Number of volumes of pods on the node that cannot be told (framework.attached_volumes: AttachError)."""
        ...

    @property
    def storage(self) -> Storage: ...

    # Input.NODE_COUNT
    @property
    def total_nodes(self) -> int: ...
