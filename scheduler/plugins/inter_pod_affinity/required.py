"""Required affinity and anti-affinity: the pod's own terms, and the anti-affinity of the pods that are there."""

from __future__ import annotations

from typing import NamedTuple

from scheduler.framework import ops
from scheduler.framework.columns import no_reasons
from scheduler.framework.ops import Bools, Ints, Masks
from scheduler.framework.plugin import CycleState
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.view import NodeView
from scheduler.plugins.inter_pod_affinity.domains import Occupied, all_of, any_of, has_all_keys, occupied
from scheduler.plugins.inter_pod_affinity.matching import matched_anti_affinity, own_terms

AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY = 0, 1, 2


class Required(NamedTuple):
    """What PreFilter finds out for Filter.

    ``affinity``: a label for each term, with the domains that have a pod which all terms match. ``is_first``: no domain of any
    of these labels has one, and the pod matches its own terms, so that it may be the first of its kind.
    ``anti_affinity`` and ``existing``: the domains with pods that the pod's terms are against, and with pods whose terms are
    against the pod.
    """

    affinity: tuple[Occupied, ...]
    is_first: bool
    anti_affinity: tuple[Occupied, ...]
    existing: tuple[Occupied, ...]

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


def find_required(state: CycleState, pod: PodInfo, nodes: NodeView) -> Required:
    """Look at all nodes (kube-scheduler 1.37: InterPodAffinity PreFilter)."""
    existing: dict[str, list[Ints]] = {}
    for held in matched_anti_affinity(state, pod, nodes)[1]:
        existing.setdefault(held.term.topology_key, []).append(nodes.term_holders(held))
    own = own_terms(state, pod, nodes)
    against: dict[str, list[Ints]] = {}
    for each in own.anti_affinity:
        against.setdefault(each.key, []).append(nodes.matching_pods(each.match))
    affinity: tuple[Occupied, ...] = ()
    if own.affinity is not None:
        # One pod has to match all of the terms; each term then asks for its own domain.
        counts = nodes.matching_pods(own.affinity)
        affinity = tuple(occupied(state, nodes, key, (counts,)) for key in own.affinity_keys)
    return Required(
        affinity,
        own.matches_itself and all(each.is_empty for each in affinity),
        tuple(occupied(state, nodes, key, columns) for key, columns in against.items()),
        tuple(occupied(state, nodes, key, columns) for key, columns in existing.items()),
    )


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
