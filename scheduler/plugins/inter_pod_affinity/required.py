"""Required affinity and anti-affinity: the pod's own terms, and the anti-affinity of the pods that are there."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler.framework import ops
from scheduler.framework.columns import no_reasons
from scheduler.framework.domain_sums import Counted
from scheduler.framework.ops import Bools, Masks
from scheduler.framework.plugin import CycleState
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.view import NodeView
from scheduler.plugins.inter_pod_affinity.domains import Occupied, all_of, any_of, has_all_keys, topology
from scheduler.plugins.inter_pod_affinity.matching import Matched, OwnTerms, matched_anti_affinity, own_terms

AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY = 0, 1, 2


class Required:
    """What PreFilter finds out for Filter, as pods come and go (kube-scheduler 1.37: InterPodAffinity PreFilter).

    ``affinity``: a label for each term, with the domains that have a pod which all terms match. ``is_first``: no domain of any
    of these labels has one, and the pod matches its own terms, so that it may be the first of its kind.
    ``anti_affinity`` and ``existing``: the domains with pods that the pod's terms are against, and with pods whose terms are
    against the pod.
    """

    def __init__(self, state: CycleState, nodes: NodeView, own: OwnTerms, matched: Matched) -> None:
        self._own = own
        self._matched = matched
        self._version = nodes.domain_version
        existing: dict[str, list[Counted]] = {}
        for held in matched.terms:
            existing.setdefault(held.term.topology_key, []).append(held)
        against: dict[str, list[Counted]] = {}
        for each in own.anti_affinity:
            against.setdefault(each.key, []).append(each.match)
        # One pod has to match all of the affinity terms; each term then asks for its own domain.
        near: dict[str, list[Counted]] = {}
        if own.affinity is not None:
            near = {key: [own.affinity] for key in own.affinity_keys}
        self.affinity, self.anti_affinity, self.existing = (
            tuple(Occupied(key, topology(state, nodes, key).rows, counted, nodes) for key, counted in by_key.items())
            for by_key in (near, against, existing)
        )
        self._all = (*self.affinity, *self.anti_affinity, *self.existing)
        self.is_first = self._may_be_first()

    def _may_be_first(self) -> bool:
        return self._own.matches_itself and all(each.is_empty for each in self.affinity)

    def is_about(self, nodes: NodeView, own: OwnTerms, matched: Matched) -> bool:
        """Whether it is of these terms, and of the domains as they are now."""
        return self._version == nodes.domain_version and self._own is own and self._matched is matched

    def follow(self, nodes: NodeView) -> Sequence[int] | None:
        """Take in which pods are there now; the rows with another verdict than before, None when these can be many."""
        found: set[int] = set()
        are_many = False
        for each in self._all:
            rows = each.follow(nodes)
            if rows is None:
                are_many = True
            else:
                found.update(rows)
        if self.affinity:
            was_first, self.is_first = self.is_first, self._may_be_first()
            are_many = are_many or was_first != self.is_first
        return None if are_many else sorted(found)

    @property
    def is_empty(self) -> bool:
        return not self.affinity and not self.anti_affinity and all(each.is_empty for each in self.existing)

    def masks(self, nodes: NodeView) -> Masks:
        """At most one bit a row: what comes first refuses."""
        against = any_of(self.anti_affinity, nodes)
        existing = any_of(self.existing, nodes)
        mask = no_reasons(nodes) if against is None else ops.bit(against, ANTI_AFFINITY)
        if existing is not None:
            alone = existing if against is None else existing & ops.not_(against)
            # Of pods that keep apart from each other each refuses where it is refused.
            if not ops.nowhere(alone):
                mask = ops.merge(mask, ops.bit(alone, EXISTING_ANTI_AFFINITY))
        if not self.affinity:
            return mask
        near = self._is_near(nodes)
        return ops.where(near, mask, ops.bit(ops.not_(near), AFFINITY))  # type: ignore[no-any-return]

    def _is_near(self, nodes: NodeView) -> Bools:
        return has_all_keys(self.affinity, nodes) if self.is_first else all_of(self.affinity, nodes)


def find_required(
    state: CycleState, pod: PodInfo, nodes: NodeView, own: OwnTerms, before: Required | None
) -> tuple[Required, Sequence[int] | None]:
    """What there is now, and the rows with another verdict than ``before``; None when these can be many."""
    matched = matched_anti_affinity(state, pod, nodes)
    if before is not None and before.is_about(nodes, own, matched):
        return before, before.follow(nodes)
    return Required(state, nodes, own, matched), None


def token(state: CycleState, pod: PodInfo, nodes: NodeView) -> tuple[int, ...]:
    """Versions of everything that ``find_required`` looks at."""
    version, matched = matched_anti_affinity(state, pod, nodes)
    own = own_terms(state, pod, nodes)
    if not matched and not own.are_required:
        return (version,)
    versions = [version, nodes.domain_version, own.namespaces_version]
    versions += [nodes.term_version(held) for held in matched]
    versions += [nodes.matching_version(each.match) for each in own.anti_affinity]
    if own.affinity is not None:
        versions.append(nodes.matching_version(own.affinity))
    return tuple(versions)
