"""Affinity terms of the pods on nodes: where each distinct term is held, and which terms can be about pods of a namespace.

Pods of one template share their terms, so distinct ones are few. As in PodCounts, what comes and goes is noted, and worked in
when somebody asks; a pod without terms costs nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

import numpy as np

from scheduler.cache.change_log import ChangeLog
from scheduler.cache.columns import Column
from scheduler.cache.namespaces import Namespaces
from scheduler.framework.affinity_terms import (
    REQUIRED_ANTI_AFFINITY,
    HeldTerm,
    ReachingTerms,
    label_keys,
)
from scheduler.framework.pod_info import PodInfo

COLUMNS = 256
"""How many columns are kept; the one that was asked for longest ago goes first."""

_MOST_NOTES = 4096
_MOST_NAMESPACES = 4096

NOTHING_REACHES = ReachingTerms()


class _Holders:
    """How often each row's pods hold one term. ``version``: a higher number after each change."""

    __slots__ = ("column", "log", "rows", "version")

    def __init__(self, version: int) -> None:
        self.rows: dict[int, int] = {}
        self.column: Column | None = None
        self.version = version
        self.log = ChangeLog(version)


class _Answer:
    """What was found for a namespace. ``is_fresh``: no term that can be about it came or went since."""

    __slots__ = ("is_fresh", "namespaces_version", "terms")

    def __init__(self) -> None:
        self.is_fresh = False
        self.namespaces_version = 0
        self.terms = NOTHING_REACHES


class PodTerms:
    """Distinct terms with the rows that hold them. No version is ever given twice, but for 0, which stands for nothing."""

    def __init__(self, capacity: int, namespaces: Namespaces, columns: int = COLUMNS) -> None:
        self._capacity = capacity
        self._namespaces = namespaces
        self._most_columns = columns
        self._holders: dict[HeldTerm, _Holders] = {}
        self._by_namespace: dict[str, dict[HeldTerm, None]] = {}
        self._by_selector: dict[HeldTerm, None] = {}
        self._with_columns: OrderedDict[HeldTerm, _Holders] = OrderedDict()
        self._answers: dict[str, _Answer] = {}
        self._last_version = 0
        self._notes: list[tuple[int, PodInfo, int]] = []

    def add(self, row: int, pod: PodInfo) -> None:
        if pod.pod.spec.affinity is not None:
            self._note(row, pod, 1)

    def remove(self, row: int, pod: PodInfo) -> None:
        """Undo an ``add`` of a pod with the same terms."""
        if pod.pod.spec.affinity is not None:
            self._note(row, pod, -1)

    def _note(self, row: int, pod: PodInfo, change: int) -> None:
        self._notes.append((row, pod, change))
        if len(self._notes) > _MOST_NOTES:
            self._work_in()

    def _work_in(self) -> None:
        for row, pod, change in self._notes:
            for held in pod.affinity_terms.held:
                self._count(row, held, change)
        self._notes.clear()

    def _count(self, row: int, held: HeldTerm, change: int) -> None:
        holders = self._holders.get(held)
        if holders is None:
            holders = self._holders[held] = _Holders(self._next_version())
            self._file(held)
        number = holders.rows.get(row, 0) + change
        if number:
            holders.rows[row] = number
        else:
            del holders.rows[row]
        if holders.column is not None:
            holders.column.cells[row] = number
        holders.version = self._next_version()
        holders.log.note(holders.version, row, change)
        if not holders.rows:
            del self._holders[held]
            self._with_columns.pop(held, None)
            self._unfile(held)

    def _file(self, held: HeldTerm) -> None:
        for namespace in held.term.namespaces:
            self._by_namespace.setdefault(namespace, {})[held] = None
        if not held.term.namespace_selector.nothing:
            self._by_selector[held] = None
        self._outdate(held)

    def _unfile(self, held: HeldTerm) -> None:
        for namespace in held.term.namespaces:
            there = self._by_namespace[namespace]
            del there[held]
            if not there:
                del self._by_namespace[namespace]
        self._by_selector.pop(held, None)
        self._outdate(held)

    def _outdate(self, held: HeldTerm) -> None:
        selects = not held.term.namespace_selector.nothing
        for namespace in self._answers if selects else held.term.namespaces:
            answer = self._answers.get(namespace)
            if answer is not None:
                answer.is_fresh = False

    def _next_version(self) -> int:
        self._last_version += 1
        return self._last_version

    @property
    def selects_namespaces(self) -> bool:
        """Whether labels of a namespace can decide whether a held term reaches it."""
        if self._notes:
            self._work_in()
        return bool(self._by_selector)

    def reaching(self, namespace: str) -> ReachingTerms:
        """The distinct terms that can be about pods of the namespace; the same object while they are the same."""
        if self._notes:
            self._work_in()
        if not self._holders:
            return NOTHING_REACHES
        answer = self._answers.get(namespace)
        if answer is None:
            if len(self._answers) >= _MOST_NAMESPACES:
                self._answers.clear()
            answer = self._answers[namespace] = _Answer()
        if not answer.is_fresh or answer.namespaces_version != self._namespaces.version:
            answer.terms = self._find(namespace, answer.terms)
            answer.is_fresh, answer.namespaces_version = True, self._namespaces.version
        return answer.terms

    def _find(self, namespace: str, before: ReachingTerms) -> ReachingTerms:
        labels = self._namespaces.labels(namespace)
        terms = dict.fromkeys(self._by_namespace.get(namespace, ()))
        terms.update((held, None) for held in self._by_selector if held.term.namespace_selector.matches(labels))
        anti_affinity = tuple(held for held in terms if held.kind == REQUIRED_ANTI_AFFINITY)
        scored = tuple(held for held in terms if held.kind != REQUIRED_ANTI_AFFINITY)
        found = ReachingTerms(
            anti_affinity,
            self._version_of(anti_affinity, before.anti_affinity, before.anti_affinity_version),
            scored,
            self._version_of(scored, before.scored, before.scored_version),
            label_keys(terms),
        )
        return before if found == before else found

    def _version_of(self, terms: tuple[HeldTerm, ...], before: tuple[HeldTerm, ...], version: int) -> int:
        if terms == before:
            return version
        return self._next_version() if terms else 0

    def version(self, held: HeldTerm) -> int:
        """Another number after each change of the pods that hold the term; 0 when none does."""
        if self._notes:
            self._work_in()
        holders = self._holders.get(held)
        return 0 if holders is None else holders.version

    def changes(self, held: HeldTerm, version: int) -> tuple[int, list[tuple[int, int]] | None]:
        """The version now, and what was added to which row after that one; None when it is not known."""
        if self._notes:
            self._work_in()
        holders = self._holders.get(held)
        if holders is None:
            return 0, None if version else []
        return holders.version, holders.log.since(version)

    def column(self, held: HeldTerm) -> Column | None:
        """How often the pods of each row hold the term, as of now; None when none does."""
        if self._notes:
            self._work_in()
        holders = self._holders.get(held)
        if holders is None:
            return None
        if holders.column is None:
            holders.column = Column(np.int64, self._capacity)
            for row, number in holders.rows.items():
                holders.column.cells[row] = number
            self._with_columns[held] = holders
            if len(self._with_columns) > self._most_columns:
                _, oldest = self._with_columns.popitem(last=False)
                oldest.column = None
        else:
            self._with_columns.move_to_end(held)
        return holders.column

    def grow(self, capacity: int) -> None:
        self._capacity = capacity
        for holders in self._with_columns.values():
            assert holders.column is not None
            holders.column.grow(capacity)

    def counts(self) -> dict[tuple[HeldTerm, int], int]:
        """How often each term is held, by term and row."""
        self._work_in()
        return {(held, row): number for held, one in self._holders.items() for row, number in one.rows.items()}

    def columns(self) -> Iterator[tuple[HeldTerm, Column]]:
        """Every column that is kept, as of now."""
        self._work_in()
        return ((held, one.column) for held, one in self._with_columns.items() if one.column is not None)

    def scopes(self) -> set[tuple[str | None, HeldTerm]]:
        """Every term with each namespace that it names, and with None when it selects namespaces."""
        self._work_in()
        named = {(namespace, held) for namespace, terms in self._by_namespace.items() for held in terms}
        return named | {(None, held) for held in self._by_selector}


def scopes_of(held: HeldTerm) -> set[tuple[str | None, HeldTerm]]:
    """What ``PodTerms.scopes`` has of one term."""
    named: set[tuple[str | None, HeldTerm]] = {(namespace, held) for namespace in held.term.namespaces}
    return named if held.term.namespace_selector.nothing else named | {(None, held)}
