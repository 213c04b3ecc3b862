"""What a plugin sees of the table that does not depend on the rows it is asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scheduler.api.objects import Taint
from scheduler.api.selectors import LabelMatcher
from scheduler.cache.deduced_selectors import DeducedSelector
from scheduler.framework.affinity_terms import HeldTerm, ReachingTerms
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.pod_match import PodMatch
from scheduler.framework.storage import Storage

if TYPE_CHECKING:
    from scheduler.cache.node_table import NodeTable


class TableView:
    """Row views and column views have this in common."""

    __slots__ = ("_table",)
    _table: NodeTable

    @property
    def taint_sets(self) -> list[tuple[Taint, ...]]:
        return self._table.taints.items

    @property
    def feature_lists(self) -> list[tuple[str, ...]]:
        return self._table.features.items

    def image_holders(self, name: str) -> int:
        return self._table.images.holders(name)

    def image_version(self, name: str) -> int:
        return self._table.images.version(name)

    @property
    def storage(self) -> Storage:
        return self._table.storage

    @property
    def total_nodes(self) -> int:
        return self._table.node_count

    @property
    def domain_version(self) -> int:
        return self._table.domain_version

    def matching_version(self, match: PodMatch) -> int:
        return self._table.pods.column(match).version

    def matching_changes(self, match: PodMatch, version: int) -> tuple[int, list[tuple[int, int]] | None]:
        column = self._table.pods.column(match)
        return column.version, column.log.since(version)

    def reaching_terms(self, namespace: str) -> ReachingTerms:
        return self._table.terms.reaching(namespace)

    def term_version(self, held: HeldTerm) -> int:
        return self._table.terms.version(held)

    def term_changes(self, held: HeldTerm, version: int) -> tuple[int, list[tuple[int, int]] | None]:
        return self._table.terms.changes(held, version)

    @property
    def selects_namespaces(self) -> bool:
        return self._table.terms.selects_namespaces

    def matching_namespaces(self, selector: LabelMatcher) -> frozenset[str]:
        return self._table.namespaces.matching(selector)

    @property
    def namespaces_version(self) -> int:
        return self._table.namespaces.version

    def deduced_selector(self, pod: PodInfo) -> DeducedSelector:
        return self._table.deduced_selectors.of(pod.pod.metadata)
