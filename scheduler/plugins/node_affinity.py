"""NodeAffinity: ``spec.nodeSelector`` and ``spec.affinity.nodeAffinity`` (kube-scheduler 1.37: NodeAffinity)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from scheduler.api import field_errors
from scheduler.api.objects import Node, NodeSelectorTerm
from scheduler.api.objects import NodeAffinity as NodeAffinityRules
from scheduler.api.selectors import (
    IN,
    NODE_NAME_FIELD,
    WeightedTerm,
    compile_node_selector,
    compile_preferred_terms,
    term_errors,
)
from scheduler.framework import ops
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.facet import Facet
from scheduler.framework.node_selection import matches_any_term, weigh_terms
from scheduler.framework.normalize import by_highest
from scheduler.framework.ops import Ints, Masks
from scheduler.framework.plugin import (
    CycleState,
    EnqueueExtensions,
    FilterPlugin,
    NormalizePlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    SignPlugin,
)
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.queueing_hint import Hint, queue_if
from scheduler.framework.required_node_affinity import (
    RequiredNodeAffinity,
    matches_term,
    required_node_affinity,
    signed_required,
    signed_term,
)
from scheduler.framework.status import SKIP, SUCCESS, Code, Reason, Status
from scheduler.framework.view import NodeView

_ENFORCED, _POD = 0, 1
_REASONS = (
    Reason("node(s) didn't match scheduler-enforced node affinity", Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
    Reason("node(s) didn't match Pod's node affinity/selector", Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
)
_CONFLICT = "pod affinity terms conflict"

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class NodeAffinityArgs(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``added_affinity`` holds for every pod of the profile, besides the pod's own."""

    added_affinity: NodeAffinityRules | None = None


def validate(args: NodeAffinityArgs, path: str) -> list[str]:
    """Every error of the arguments as ``path: message``."""
    added = args.added_affinity
    if added is None:
        return []
    path = field_errors.child(path, "addedAffinity")
    errors = []
    if added.required is not None:
        errors += term_errors(compile_node_selector(added.required, field_errors.child(path, _REQUIRED)))
    weighted = compile_preferred_terms(added.preferred or (), field_errors.child(path, _PREFERRED))
    return errors + term_errors(one.term for one in weighted)


class NodeAffinity(PreFilterPlugin, FilterPlugin, PreScorePlugin, NormalizePlugin, EnqueueExtensions, SignPlugin):
    name = "NodeAffinity"
    facets = Facet.LABELS | Facet.NAME

    def __init__(self, args: NodeAffinityArgs = NodeAffinityArgs()) -> None:  # noqa: B008 - frozen
        if errors := validate(args, ""):
            raise ValueError(f"arguments of NodeAffinity: {field_errors.aggregate(errors)}")
        added = args.added_affinity or NodeAffinityRules()
        self._enforced = None if added.required is None else compile_node_selector(added.required)
        self._added_preferred = compile_preferred_terms(added.preferred or ())
        self._has_added_preferred = bool(added.preferred)

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult:
        rules = _rules(pod)
        if rules.required is None and self._enforced is None and pod.pod.spec.node_selector is None:
            return PreFilterResult(SKIP)
        names = _named_nodes(rules.required.node_selector_terms or ()) if rules.required is not None else None
        if names is not None and not names:
            return PreFilterResult(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (_CONFLICT,), self.name))
        return PreFilterResult(node_names=names)

    def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
        return _REASONS

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        required: RequiredNodeAffinity | None = state.get("required")
        if required is None:
            required = state["required"] = required_node_affinity(pod)
        refused = ops.not_(required.matches(nodes))
        if self._enforced is None:
            return ops.bit(refused, _POD)
        allowed = matches_any_term(self._enforced, nodes)
        return ops.merge(ops.bit(ops.not_(allowed), _ENFORCED), ops.bit(allowed & refused, _POD))

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        if _rules(pod).preferred is None and not self._has_added_preferred:
            return SKIP
        preferred = _preferred(pod)
        if errors := term_errors(one.term for one in preferred):
            return Status(Code.ERROR, (field_errors.aggregate(errors),), self.name)
        state["preferred"] = preferred
        return SUCCESS

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Ints:
        preferred: tuple[WeightedTerm, ...] | None = state.get("preferred")
        if preferred is None:
            preferred = _preferred(pod)
            if errors := term_errors(one.term for one in preferred):
                raise ValueError(field_errors.aggregate(errors))
            state["preferred"] = preferred
        return weigh_terms((*self._added_preferred, *preferred), nodes)

    def normalize(self, state: CycleState, pod: PodInfo, nodes: NodeView, scores: Ints, low: int, high: int) -> Ints:
        return by_highest(scores, high)

    def sign(self, pod: PodInfo) -> tuple[Any, ...]:
        # What is absent is told apart from what is empty: it skips the rule where the other says nothing.
        preferred, terms = None, _rules(pod).preferred
        if terms is not None:
            preferred = tuple(sorted((term.weight, signed_term(term.preference)) for term in terms))
        return (*signed_required(pod), preferred)

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),)

    def queueing_hint(self, pod: PodInfo, event: ClusterEvent, old: Any, new: Any, nodes: NodeView) -> Hint:
        """Also when only ``addedAffinity`` is met from now on: kube-scheduler looks at the pod's own affinity alone then."""
        required = required_node_affinity(pod)
        if not self._allows(new):
            return Hint.SKIP
        if not required.matches_node(new):
            # A term that cannot be read may be one that matches.
            return queue_if(required.has_errors and required.selects_labels_of(new))
        return queue_if(old is None or not self._allows(old) or not required.matches_node(old))

    def _allows(self, node: Node) -> bool:
        return self._enforced is None or any(matches_term(term, node) for term in self._enforced)


_NO_RULES = NodeAffinityRules()


def _rules(pod: PodInfo) -> NodeAffinityRules:
    affinity = pod.pod.spec.affinity
    return (affinity.node_affinity if affinity is not None else None) or _NO_RULES


def _preferred(pod: PodInfo) -> tuple[WeightedTerm, ...]:
    return compile_preferred_terms(_rules(pod).preferred or ())


def _named_nodes(terms: Sequence[NodeSelectorTerm]) -> frozenset[str] | None:
    """The names that the terms allow, if each of them restricts the name; else None, as for no terms at all."""
    allowed: set[str] = set()
    for term in terms:
        named = [
            set(field.values or ())
            for field in term.match_fields or ()
            if field.key == NODE_NAME_FIELD and field.operator == IN
        ]
        if not named:
            return None
        allowed |= set.intersection(*named)
    return frozenset(allowed) if terms else None
