"""NodeTable: nodes as rows, what plugins read of them as columns, and a journal of what changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from scheduler.api.objects import Node, Taint
from scheduler.api.storage import VolumeAttachment
from scheduler.cache.columns import Column, InternedColumn
from scheduler.cache.csi_columns import CSIColumns
from scheduler.cache.deduced_selectors import DeducedSelectors
from scheduler.cache.host_ports import HostPortIndex
from scheduler.cache.images import ImageIndex
from scheduler.cache.journal import Changes, Journal
from scheduler.cache.labels import LabelColumn, LabelColumns
from scheduler.cache.namespaces import Namespaces
from scheduler.cache.node_facts import (
    NO_NODE,
    Allocatable,
    allocatable_of,
    features_of,
    images_of,
    labels_of,
    taints_of,
    tie_key,
)
from scheduler.cache.pod_counts import PodCounts
from scheduler.cache.pod_facts import PODS, PORTS, RESOURCES, TERMS, VOLUMES, update_facets
from scheduler.cache.pod_terms import PodTerms
from scheduler.cache.resources import NodeResources
from scheduler.cache.storage import StorageIndex
from scheduler.cache.views import column_view_of, row_view_of
from scheduler.cache.volume_counts import VolumeCounts
from scheduler.cache.volume_uses import VolumeUses
from scheduler.framework.facet import ALL_FACETS, Facet, Input
from scheduler.framework.ops import BoolArray, IntArray
from scheduler.framework.plugin import Plugin
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.view import NodeView

__all__ = ["Changes", "NodeTable"]

JOURNAL_CAPACITY = 32_768
LABEL_KEYS = 256
_INTERNED = int(Facet.LABELS | Facet.TAINTS | Facet.FEATURES)
_DOMAINS = int(Input.DOMAINS.facet)
_BEYOND_LABELS = ~(PODS | TERMS)
_NAMESPACES = int(Facet.NAMESPACES)
_FIRST_CAPACITY = 64


class NodeTable:
    """Rows of nodes. A row stays with its node for the node's life and is then given to another, all facets changed.

    Written by the Cache alone, which keeps the pods; read by evaluations, and through views by plugins. Rows without a
    node hold zeros. Arrays that the table or a view hands out show its memory: read-only, and good until its next change.

    Args:
        seed: of the nodes' tie keys; at most 127 bits.
        journal_capacity: number of changes after which a reader who looked away has to read everything again.
        label_keys: number of label columns that outlive the next change of the table.
    """

    def __init__(self, seed: int, journal_capacity: int = JOURNAL_CAPACITY, label_keys: int = LABEL_KEYS) -> None:
        self.size = 0
        """Rows 0 to size-1 have been used; columns have the shape (size,)."""
        self.node_count = 0
        self.epoch = 0
        """Changes when ids of labels, taints or features were given anew: what was worked out by id is worth nothing then."""
        self.seed = seed
        self.capacity = _FIRST_CAPACITY
        """Length of the arrays behind the columns."""
        self.rows: dict[str, int] = {}
        """Row by name of every node."""
        self.free_rows: list[int] = []
        # What views read.
        self.resources = NodeResources(_FIRST_CAPACITY)
        self.unschedulable = Column(np.bool_, _FIRST_CAPACITY)
        self.taints: InternedColumn[tuple[Taint, ...]] = InternedColumn((), _FIRST_CAPACITY)
        self.features: InternedColumn[tuple[str, ...]] = InternedColumn((), _FIRST_CAPACITY)
        self.labels = LabelColumns(label_keys)
        self.host_ports = HostPortIndex()
        self.images = ImageIndex()
        self.pods = PodCounts(_FIRST_CAPACITY)
        self.volumes = VolumeUses()
        self.csi = CSIColumns(_FIRST_CAPACITY)
        self.storage = StorageIndex()
        self.volume_counts = VolumeCounts(_FIRST_CAPACITY, self.storage)
        self.namespaces = Namespaces()
        self.terms = PodTerms(_FIRST_CAPACITY, self.namespaces)
        self.deduced_selectors = DeducedSelectors()
        self.domain_version = 0
        """Another number after each change of a node, its labels or its taints."""

        self._live = Column(np.bool_, _FIRST_CAPACITY)
        self._tie_keys = Column(np.int64, _FIRST_CAPACITY)
        self._touched = Column(np.int64, _FIRST_CAPACITY)
        self._nodes: list[Node] = []
        self._journal = Journal(journal_capacity)
        self._views: dict[type[Plugin], NodeView] = {}
        """Of all rows, by plugin; as long as there are as many."""
        self.recent = self._journal.recent
        """Rows that changed after a position, as pairs of ints, when they are few; see Journal."""

    # Reading

    def row_of(self, name: str) -> int | None:
        return self.rows.get(name)

    def node(self, row: int) -> Node:
        """The node of a live row.

        Raises:
            LookupError: the row holds no node.
        """
        if not 0 <= row < self.size or not self._live.cells[row]:
            raise LookupError(f"row {row} holds no node")
        return self._nodes[row]

    def name_of(self, row: int) -> str:
        """The name of a live row's node; raises as ``node`` does."""
        return self.node(row).metadata.name

    @property
    def live(self) -> BoolArray:
        """Which rows hold a node now, shape (size,)."""
        live: BoolArray = self._live.values[: self.size]
        return live

    def is_live(self, row: int) -> bool:
        """Whether the row holds a node now."""
        live: bool = self._live.cells[row]
        return live

    def tie_key(self, row: int) -> int:
        """The 31-bit key of the row's node."""
        key: int = self._tie_keys.cells[row]
        return key

    @property
    def tie_keys(self) -> IntArray:
        """A number of 31 bits for each row's node by which equal totals are decided, shape (size,)."""
        keys: IntArray = self._tie_keys.values[: self.size]
        return keys

    @property
    def position(self) -> int:
        """Number of changes so far that a plugin could see."""
        return self._journal.position

    def touched_at(self, row: int) -> int:
        """``position`` after the last change of the row that was no pod's being assumed there."""
        position: int = self._touched.cells[row]
        return position

    def changes_since(self, position: int) -> Changes | None:
        """Rows that changed after ``position``; None when it has left the journal, and every row has to be read again."""
        return self._journal.changes_since(position, self.size)

    def columns(
        self, plugin: type[Plugin] | Plugin, rows: IntArray | None = None, *, feasible: BoolArray | None = None
    ) -> NodeView:
        """What the plugin declared, of these rows or of all, as arrays.

        ``feasible``: the nodes that passed Filter, shape (size,), for a view of all rows.
        """
        kind = plugin if isinstance(plugin, type) else type(plugin)
        if rows is not None or feasible is not None:
            return column_view_of(kind)(self, rows, feasible)
        view = self._views.get(kind)
        if view is None:
            view = self._views[kind] = column_view_of(kind)(self, None)
        return view

    def row(self, plugin: type[Plugin] | Plugin, row: int) -> NodeView:
        """What the plugin declared, of one row, as Python ints and bools."""
        return row_view_of(plugin if isinstance(plugin, type) else type(plugin))(self, row)

    def label_column(self, key: str) -> LabelColumn:
        column = self.labels.column(key, self.capacity, self._labels_by_row)
        column.used = self._journal.position
        return column

    def _labels_by_row(self) -> Iterator[Mapping[str, str]]:
        return map(labels_of, self._nodes)

    def image_column(self, name: str) -> IntArray:
        """Sizes by row, at least as many as there are rows."""
        return self.images.column(name, self.capacity)

    # Writing

    def apply_node(self, node: Node, pods: Iterable[PodInfo]) -> Node | None:
        """Add a node or take its new state; the previous object, None for a new one.

        A node of the same name with another UID takes the row over, all facets changed. ``pods`` are those known to be on
        the node; a new row is charged with them.

        Raises:
            ValueError: the node has no name, or one of its figures cannot be read; nothing was changed.
        """
        name = node.metadata.name
        if not name:
            raise ValueError("a node without metadata.name cannot be kept")
        row = self.rows.get(name)
        old = NO_NODE if row is None else self._nodes[row]
        # Read before anything is written: it can fail.
        amounts = None if old.status.allocatable == node.status.allocatable else allocatable_of(node)
        images = None if old.status.images == node.status.images else images_of(node)
        if row is not None:
            changed = self._write(row, old, node, amounts, images)
            changed = changed if old.metadata.uid == node.metadata.uid else ALL_FACETS
            if changed:
                self._record(row, int(changed))
            return old
        row = self._take_row(name)
        self._write(row, old, node, amounts, images)
        self.csi.set(row, self.storage.csi_node(name))
        self.volume_counts.update_attachments(self.storage.attachments_of(name), row)
        for pod in pods:
            self._charge(row, pod)
        self._record(row, int(ALL_FACETS))
        return None

    def remove_node(self, name: str, pods: Iterable[PodInfo]) -> Node | None:
        """Give up a node's row; ``pods`` are those that it is charged with. Returns the node, None if there was none."""
        row = self.rows.get(name)
        if row is None:
            return None
        old = self._nodes[row]
        for pod in pods:
            self._release(row, pod)
        self._write(row, old, NO_NODE, Allocatable((), 0), {})
        self.csi.set(row, None)
        self.volume_counts.update_attachments(self.storage.attachments_of(name), None)
        self._give_back(row, name)
        self._record(row, int(ALL_FACETS))
        return old

    def update_csi_node(self, name: str) -> None:
        """The CSINode of the node, if there is such a node, is another one now."""
        row = self.rows.get(name)
        if row is not None and self.csi.set(row, self.storage.csi_node(name)):
            self._record(row, VOLUMES)

    def update_attachment(self, name: str, attachment: VolumeAttachment | None) -> None:
        """A VolumeAttachment, or its volume, is another one now, or gone."""
        row = None if attachment is None else self.rows.get(attachment.spec.node_name)
        for changed in self.volume_counts.update_attachment(name, attachment, row):
            self._record(changed, VOLUMES)

    def add_pod(self, row: int, pod: PodInfo, *, is_assumed: bool = False) -> None:
        """Charge the row with a pod, which the API shows there or which is assumed to be there."""
        self._charge(row, pod)
        self._journal.record(row, pod.facets)
        if not is_assumed:
            self._touched.cells[row] = self._journal.position
        if self.labels.is_crowded:
            self._tidy()

    def remove_pod(self, row: int, pod: PodInfo) -> None:
        """Undo ``add_pod`` of the same PodInfo."""
        self._release(row, pod)
        self._record(row, pod.facets)

    def replace_pod(self, row: int, old: PodInfo, new: PodInfo, *, is_confirmed: bool = False) -> None:
        """The state of a pod on the row's node changed from one to the other. Without a visible change nothing is recorded.

        ``is_confirmed``: the old state was assumed, and the new one is the first that the API shows on the node.
        """
        changed = update_facets(old, new)
        touched_at = self._touched.cells[row]
        if changed & RESOURCES:
            self.resources.release(row, old.amounts)
            self.resources.charge(row, new.amounts)
        if changed & PORTS:
            self.host_ports.remove(row, old.host_ports)
            self.host_ports.add(row, new.host_ports)
        if (old.facets | new.facets) & VOLUMES:
            self._release_volumes(row, old)
            self._charge_volumes(row, new)
        if changed & PODS:
            self.pods.remove(row, old)
            self.pods.add(row, new)
            self.terms.remove(row, old)
            self.terms.add(row, new)
        if changed:
            self._record(row, changed)
        if is_confirmed and not changed & _BEYOND_LABELS:
            # The API server gives pods the zone of their node as labels when it binds them: that is nobody's doing.
            self._touched.cells[row] = touched_at

    def apply_namespace(self, name: str, labels: Mapping[str, str]) -> bool:
        """A namespace with its labels. Returns whether that is news, which no row shows."""
        return self._note_namespace(self.namespaces.apply(name, labels))

    def remove_namespace(self, name: str) -> bool:
        """The namespace is gone. Returns whether it was known."""
        return self._note_namespace(self.namespaces.remove(name))

    def _note_namespace(self, changed: bool) -> bool:
        if changed and self.size:
            # Of any row: what is read beyond the row is looked at whichever it is.
            self._journal.record(0, _NAMESPACES)
        return changed

    def _charge(self, row: int, pod: PodInfo) -> None:
        self.resources.charge(row, pod.amounts)
        self.pods.add(row, pod)
        if pod.pod.spec.affinity is not None:
            self.terms.add(row, pod)
        if pod.host_ports:
            self.host_ports.add(row, pod.host_ports)
        if pod.facets & VOLUMES:
            self._charge_volumes(row, pod)

    def _charge_volumes(self, row: int, pod: PodInfo) -> None:
        if pod.facets & VOLUMES:
            self.volumes.add(row, pod)
            self.volume_counts.add(row, pod)
            self.storage.add_pod(pod)

    def _release_volumes(self, row: int, pod: PodInfo) -> None:
        if pod.facets & VOLUMES:
            self.volumes.remove(row, pod)
            self.volume_counts.remove(row, pod)
            self.storage.remove_pod(pod)

    def _release(self, row: int, pod: PodInfo) -> None:
        self.resources.release(row, pod.amounts)
        self.pods.remove(row, pod)
        if pod.pod.spec.affinity is not None:
            self.terms.remove(row, pod)
        if pod.host_ports:
            self.host_ports.remove(row, pod.host_ports)
        self._release_volumes(row, pod)

    def _write(
        self, row: int, old: Node, new: Node, amounts: Allocatable | None, images: Mapping[str, int] | None
    ) -> Facet:
        """Take the row from one state of its node to another; what a plugin could see of it.

        ``amounts`` and ``images`` are those of ``new``, None when they are as before.
        """
        changed = Facet.NONE
        if amounts is not None and self.resources.set_allocatable(row, allocatable_of(old), amounts):
            changed |= Facet.RESOURCES
        if images is not None and self.images.update(row, images_of(old), images):
            changed |= Facet.IMAGES
        if labels_of(old) != labels_of(new):
            self.labels.update(row, labels_of(new))
            changed |= Facet.LABELS
        if taints_of(old) != taints_of(new):
            self.taints.set(row, taints_of(new))
            changed |= Facet.TAINTS
        if old.spec.unschedulable != new.spec.unschedulable:
            self.unschedulable.cells[row] = new.spec.unschedulable
            changed |= Facet.UNSCHEDULABLE
        if features_of(old) != features_of(new):
            self.features.set(row, features_of(new))
            changed |= Facet.FEATURES
        self._nodes[row] = new
        return changed

    def _take_row(self, name: str) -> int:
        if self.free_rows:
            row = self.free_rows.pop()
        else:
            row = self.size
            if row == self.capacity:
                self._grow(2 * self.capacity)
            self.size += 1
            self._views.clear()
            self._nodes.append(NO_NODE)
        self.rows[name] = row
        self._live.cells[row] = True
        self._tie_keys.cells[row] = tie_key(self.seed, name)
        self.node_count += 1
        return row

    def _give_back(self, row: int, name: str) -> None:
        del self.rows[name]
        self._live.cells[row] = False
        self._tie_keys.cells[row] = 0
        self.free_rows.append(row)
        self.node_count -= 1

    def _grow(self, capacity: int) -> None:
        self.capacity = capacity
        self.resources.grow(capacity)
        self.labels.grow(capacity)
        self.pods.grow(capacity)
        self.volume_counts.grow(capacity)
        self.csi.grow(capacity)
        self.terms.grow(capacity)
        for column in (self.unschedulable, self.taints.column, self.features.column, self._live, self._tie_keys):
            column.grow(capacity)
        self._touched.grow(capacity)

    def _record(self, row: int, facets: int) -> None:
        self._journal.record(row, facets)
        self._touched.cells[row] = self._journal.position
        if facets & _DOMAINS:
            self.domain_version += 1
        if facets & _INTERNED or self.labels.is_crowded:
            self._tidy()

    def _tidy(self) -> None:
        """Give ids anew where that is due. Here, after a change: while plugins read, ids have to stay."""
        moved = self.labels.tidy()
        for interned in (self.taints, self.features):
            if interned.is_wasteful:
                interned.compact()
                moved = True
        if moved:
            self.epoch += 1
