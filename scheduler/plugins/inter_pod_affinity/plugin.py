"""The extension points of InterPodAffinity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scheduler.api.field_errors import aggregate
from scheduler.framework import ops
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.columns import same_score
from scheduler.framework.facet import Facet, Input
from scheduler.framework.ops import Ints, Masks
from scheduler.framework.plugin import (
    MAX_NODE_SCORE,
    ClusterSignPlugin,
    CycleState,
    EnqueueExtensions,
    FilterPlugin,
    NamespaceReader,
    NormalizePlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
)
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.queueing_hint import Hint, queue_if
from scheduler.framework.status import SKIP, SUCCESS, Code, Reason, Status
from scheduler.framework.view import NodeView
from scheduler.plugins.inter_pod_affinity import hints, preferred, required
from scheduler.plugins.inter_pod_affinity.args import InterPodAffinityArgs, validate
from scheduler.plugins.inter_pod_affinity.domains import Weights
from scheduler.plugins.inter_pod_affinity.matching import depends_on_namespaces, own_terms
from scheduler.plugins.inter_pod_affinity.required import Required

_REASONS = (
    Reason("node(s) didn't match pod affinity rules", Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
    Reason("node(s) didn't match pod anti-affinity rules", Code.UNSCHEDULABLE),
    Reason("node(s) didn't satisfy existing pods anti-affinity rules", Code.UNSCHEDULABLE),
)

_NOTHING = (0,)
"""The token when no term is about the pod, and it has none."""

_OF_OTHERS = frozenset((Input.POD_TERMS, Input.DOMAINS))
"""What matters for a pod without terms of its own: not which pods there are, but which terms these have."""

_REQUIRED = "required"
_RENEWED = "renewed"
_WEIGHTS = "weights"


class InterPodAffinity(
    PreFilterPlugin,
    FilterPlugin,
    PreScorePlugin,
    NormalizePlugin,
    EnqueueExtensions,
    ClusterSignPlugin,
    NamespaceReader,
):
    name = "InterPodAffinity"
    facets = Facet.LABELS
    inputs = frozenset((Input.DOMAINS, Input.POD_COUNTS, Input.POD_TERMS, Input.NAMESPACES))

    def __init__(self, args: InterPodAffinityArgs = InterPodAffinityArgs()) -> None:  # noqa: B008 - frozen
        if errors := validate(args, ""):
            raise ValueError(f"arguments of {self.name}: {aggregate(errors)}")
        self._args = args

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult:
        own = own_terms(state, pod, nodes)
        if own.error:
            why = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (f"parsing pod: {own.error}",), self.name)
            return PreFilterResult(why)
        found, state[_RENEWED] = required.find_required(state, pod, nodes, own, state.get(_REQUIRED))
        state[_REQUIRED] = found
        return PreFilterResult(SKIP if found.is_empty else SUCCESS)

    def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
        return _REASONS

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        found: Required | None = state.get(_REQUIRED)
        if found is None:
            raise RuntimeError(f'error reading "PreFilter{self.name}" from cycleState: not found')
        return found.masks(nodes)

    def renewed_rows(self, state: CycleState) -> Sequence[int] | None:
        rows: Sequence[int] | None = state.get(_RENEWED)
        return rows

    def filter_inputs(self, state: CycleState, pod: PodInfo) -> frozenset[Input]:
        terms = pod.affinity_terms
        return self.inputs if terms.required_affinity or terms.required_anti_affinity else _OF_OTHERS

    def filter_token(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> tuple[int, ...]:
        # So it is with nearly all pods, where nobody has such rules, and each decision asks.
        if pod.pod.spec.affinity is None and not nodes.reaching_terms(pod.pod.metadata.namespace).anti_affinity_version:
            return _NOTHING
        return required.token(state, pod, nodes)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        if preferred.ignores_everything(pod, self._args):
            return SKIP
        if error := own_terms(state, pod, nodes).error:
            return Status(Code.ERROR, (f"failed to parse pod: {error}",), self.name)
        found = state[_WEIGHTS] = preferred.find_weights(state, pod, nodes, self._args)
        return SUCCESS if found else SKIP

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Ints:
        found: tuple[Weights, ...] | None = state.get(_WEIGHTS)
        if found is None:
            raise RuntimeError(f'failed to read "PreScore{self.name}" from cycleState: not found')
        total = same_score(nodes, 0)
        for each in found:
            total = ops.add(total, each.of(nodes))
        return total

    def score_inputs(self, state: CycleState, pod: PodInfo) -> frozenset[Input]:
        if pod.affinity_terms.preferred:
            return self.inputs
        return frozenset() if preferred.ignores_everything(pod, self._args) else _OF_OTHERS

    def score_token(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> tuple[int, ...]:
        if not pod.affinity_terms.preferred and not nodes.reaching_terms(pod.pod.metadata.namespace).scored_version:
            return _NOTHING
        return preferred.token(state, pod, nodes, self._args)

    def normalize(self, state: CycleState, pod: PodInfo, nodes: NodeView, scores: Ints, low: int, high: int) -> Ints:
        if high == low:
            return scores * 0
        # In upstream's order of operations: 29 of 100 becomes 28, as 0.29 is a little less than that.
        share = ops.divide(ops.to_float(ops.sub(scores, low)), float(high - low))
        return ops.to_int(float(MAX_NODE_SCORE) * share)

    def sign(self, pod: PodInfo) -> tuple[Any, ...]:
        """The namespace counts for every pod: terms of others can be about it, now or later."""
        metadata = pod.pod.metadata
        terms = pod.affinity_terms
        if terms.error:
            return (metadata.namespace, terms.error)
        labels = metadata.labels or {}
        return (
            metadata.namespace,
            tuple(sorted((term, term.labels.matches(labels)) for term in terms.required_affinity)),
            tuple(sorted(terms.required_anti_affinity)),
            tuple(sorted(terms.preferred)),
        )

    def sign_cluster(self, pod: PodInfo, nodes: NodeView) -> tuple[Any, ...]:
        """The pod's values of those labels that a term of another pod looks at now, and which labels these are.

        Those that its own terms look at are among them from the beginning: once the first pod of a shape is there, its terms
        are those of another pod to the next.
        """
        keys = nodes.reaching_terms(pod.pod.metadata.namespace).keys
        if pod.pod.spec.affinity is not None:
            own = pod.affinity_terms.keys
            if own and keys != own:
                keys = tuple(sorted({*keys, *own}))
        if not keys:
            return ()
        labels = pod.pod.metadata.labels or {}
        return (keys, tuple([labels.get(key) for key in keys]))

    def reads_namespace(self, pod: PodInfo, nodes: NodeView, name: str) -> bool:
        # A term of another pod looks at the labels of this pod's namespace alone.
        is_own = name == pod.pod.metadata.namespace
        return (is_own and nodes.selects_namespaces) or depends_on_namespaces(pod)

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (
            ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE),
            ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_LABEL),
            ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
            # Not upstream's: labels of a namespace decide which pods a term is about, and nothing else may happen afterwards.
            ClusterEvent(EventResource.NAMESPACE, ActionType.ALL),
        )

    def queueing_hint(self, pod: PodInfo, event: ClusterEvent, old: Any, new: Any, nodes: NodeView) -> Hint:
        match event.resource:
            case EventResource.ASSIGNED_POD:
                return hints.after_pod_change(pod, old, new, nodes)
            case EventResource.NODE:
                return hints.after_node_change(pod, old, new, nodes)
            case EventResource.NAMESPACE:
                changed = old if new is None else new
                return queue_if(self.reads_namespace(pod, nodes, changed.metadata.name))
        return Hint.QUEUE

    def hint_key(self, pod: PodInfo) -> tuple[tuple[str, str], ...]:
        """Terms of others look at labels: in a signature are those that some term looks at when the pod is decided on."""
        return tuple(sorted((pod.pod.metadata.labels or {}).items()))
