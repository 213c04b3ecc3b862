"""Topology spread constraints as they hold for one pod (kube-scheduler 1.37: PodTopologySpread, filterTopologySpreadConstraints)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from scheduler.api.objects import Taint, Toleration, TopologySpreadConstraint
from scheduler.api.selectors import IN, LabelMatcher, LabelRequirement, compile_label_selector
from scheduler.api.taints import HARD_EFFECTS, is_tolerated
from scheduler.framework.ops import Bools
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.pod_match import PodMatch, PodSelection
from scheduler.framework.required_node_affinity import RequiredNodeAffinity, required_node_affinity
from scheduler.framework.verdicts import Verdicts
from scheduler.framework.view import NodeView
from scheduler.plugins.pod_topology_spread.args import HOSTNAME_LABEL

_HONOR = "Honor"


class Constraint(NamedTuple):
    """``matcher`` in canonical form: each requirement once, sorted, and its values too.

    Attributes:
        honors_affinity: only nodes count that the pod's node selector and required node affinity allow.
        honors_taints: only nodes count of which the pod tolerates every hard taint.
        self_match: 1 if the selector matches the pod itself, else 0.
        match: the pods that count; None when none does, whatever pods there are.
    """

    max_skew: int
    topology_key: str
    matcher: LabelMatcher
    min_domains: int
    honors_affinity: bool
    honors_taints: bool
    self_match: int
    match: PodMatch | None

    @property
    def is_by_hostname(self) -> bool:
        return self.topology_key == HOSTNAME_LABEL

    def signed(self) -> tuple[Any, ...]:
        """Everything but the namespace, as plain values."""
        return self[:-1]


def own_constraints(pod: PodInfo, action: str) -> tuple[Constraint, ...]:
    """Those of the pod's own constraints that have this ``whenUnsatisfiable``.

    Raises:
        SelectorError: the selector of one of them cannot be read.
    """
    labels = pod.pod.metadata.labels or {}
    return tuple(
        _constraint(each, pod, _with_keys(compile_label_selector(each.label_selector), each.match_label_keys, labels))
        for each in pod.pod.spec.topology_spread_constraints or ()
        if each.when_unsatisfiable == action
    )


def default_constraints(
    defaults: Iterable[TopologySpreadConstraint], pod: PodInfo, action: str, matcher: LabelMatcher
) -> tuple[Constraint, ...]:
    """The default constraints with this ``whenUnsatisfiable``; none when the deduced selector is empty."""
    if matcher.is_empty:
        return ()
    return tuple(_constraint(each, pod, matcher) for each in defaults if each.when_unsatisfiable == action)


def _with_keys(matcher: LabelMatcher, keys: Iterable[str] | None, labels: Mapping[str, str]) -> LabelMatcher:
    """With the pod's own values of these labels besides; labels that it does not have ask for nothing."""
    if matcher.nothing:
        return matcher
    own = [LabelRequirement(key, IN, (labels[key],)) for key in keys or () if key in labels]
    return LabelMatcher((*own, *matcher.requirements))


def _constraint(each: TopologySpreadConstraint, pod: PodInfo, matcher: LabelMatcher) -> Constraint:
    metadata = pod.pod.metadata
    requirements = {one._replace(values=tuple(sorted(set(one.values)))) for one in matcher.requirements}
    matcher = LabelMatcher(tuple(sorted(requirements)), matcher.nothing)
    match = None
    if not matcher.nothing and not matcher.is_empty:
        # An empty selector counts no pod, although it matches every one, the pod itself among them.
        selection = PodSelection(frozenset((metadata.namespace,)), matcher)
        match = PodMatch((selection,), counts_terminating=False)
    return Constraint(
        max_skew=each.max_skew,
        topology_key=each.topology_key,
        matcher=matcher,
        min_domains=1 if each.min_domains is None else each.min_domains,
        honors_affinity=each.node_affinity_policy in (None, _HONOR),
        honors_taints=each.node_taints_policy == _HONOR,
        self_match=int(matcher.matches(metadata.labels)),
        match=match,
    )


class Inclusion:
    """Which nodes count for a constraint, whatever their topology labels are."""

    def __init__(self, pod: PodInfo) -> None:
        self._affinity: RequiredNodeAffinity = required_node_affinity(pod)
        self._tolerated = _tolerated(pod.pod.spec.tolerations or ())

    def restricts(self, constraint: Constraint) -> bool:
        """Whether ``matches`` can leave out a node."""
        return constraint.honors_taints or (constraint.honors_affinity and not self._affinity.is_empty)

    def matches(self, constraint: Constraint, nodes: NodeView) -> Bools:
        matched: Bools | None = None
        if constraint.honors_affinity:
            matched = self._affinity.matches(nodes)
        if constraint.honors_taints:
            tolerated: Bools = self._tolerated.gather(nodes.taint_sets, nodes.taints)
            matched = tolerated if matched is None else matched & tolerated
        if matched is None:
            return True if nodes.is_row else np.ones(len(nodes), np.bool_)
        return matched


def _tolerated(tolerations: Iterable[Toleration]) -> Verdicts[tuple[Taint, ...]]:
    held = tuple(tolerations)

    def tolerated(taints: tuple[Taint, ...]) -> bool:
        return all(taint.effect not in HARD_EFFECTS or is_tolerated(taint, held) for taint in taints)

    return Verdicts(tolerated, np.bool_)


def has_all_keys(constraints: Iterable[Constraint], nodes: NodeView) -> Bools:
    """Which rows have the topology label of every one of the constraints, of which there is at least one."""
    found: Bools = True
    for number, constraint in enumerate(constraints):
        has_key: Bools = nodes.label(constraint.topology_key) != 0
        found = found & has_key if number else has_key
    return found
