"""The plugin PodTopologySpread."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import numpy as np

from scheduler.api.field_errors import aggregate
from scheduler.api.objects import TopologySpreadConstraint
from scheduler.api.selectors import SelectorError
from scheduler.framework import ops
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.facet import Facet, Input
from scheduler.framework.ops import Ints, Masks
from scheduler.framework.plugin import (
    MAX_NODE_SCORE,
    ClusterSignPlugin,
    CycleState,
    EnqueueExtensions,
    FilterPlugin,
    NormalizePlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Unsignable,
)
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.queueing_hint import Hint
from scheduler.framework.required_node_affinity import signed_required
from scheduler.framework.status import SKIP, SUCCESS, Code, Reason, Status
from scheduler.framework.view import NodeView
from scheduler.plugins.pod_topology_spread import hard, hints, soft
from scheduler.plugins.pod_topology_spread.args import (
    DO_NOT_SCHEDULE,
    SCHEDULE_ANYWAY,
    PodTopologySpreadArgs,
    validate,
)
from scheduler.plugins.pod_topology_spread.constraints import (
    Constraint,
    Inclusion,
    default_constraints,
    own_constraints,
)


class PodTopologySpread(
    PreFilterPlugin, FilterPlugin, PreScorePlugin, NormalizePlugin, EnqueueExtensions, ClusterSignPlugin
):
    """Which constraints a pod has is looked up once an evaluation: renewing it counts again and does not ask again."""

    name = "PodTopologySpread"
    facets = Facet.NAME | Facet.LABELS | Facet.TAINTS
    inputs = frozenset((Input.DOMAINS, Input.POD_COUNTS, Input.FEASIBLE, Input.SELECTING_OBJECTS))
    watches: ClassVar[tuple[str, ...]] = ("Service", "ReplicationController", "ReplicaSet", "StatefulSet")

    def __init__(self, args: PodTopologySpreadArgs = PodTopologySpreadArgs()) -> None:  # noqa: B008 - frozen
        if errors := validate(args, ""):
            raise ValueError(f"arguments of PodTopologySpread: {aggregate(errors)}")
        self._defaults: tuple[TopologySpreadConstraint, ...] = args.defaults()
        self._is_system_defaulted = args.is_system_defaulted
        self._has_hard_defaults = any(one.when_unsatisfiable == DO_NOT_SCHEDULE for one in self._defaults)

    # Filter

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult:
        constraints: tuple[Constraint, ...] | None = state.get("hard")
        if constraints is None:
            try:
                constraints = state["hard"] = self._constraints(pod, DO_NOT_SCHEDULE, nodes)
            except SelectorError as error:
                text = f"get constraints from pod: obtaining pod's hard topology spread constraints: {error}"
                return PreFilterResult(Status(Code.ERROR, (text,), self.name))
        if not constraints:
            return PreFilterResult(SKIP)
        skews: hard.Skews | None = state.get("skews")
        version = nodes.domain_version
        if skews is None or skews.version != version:
            state["skews"] = hard.Skews(version, constraints, _inclusion(state, pod), nodes)
            state["renewed"] = None
        else:
            state["renewed"] = skews.follow(nodes)
        return PreFilterResult()

    def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
        return hard.reasons(state.get("hard", ()))

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        skews: hard.Skews | None = state.get("skews")
        if skews is None:
            # A configuration that disables PreFilter alone; kube-scheduler fails the same way.
            raise RuntimeError(f'reading "PreFilter{self.name}" from cycleState: not found')
        return skews.refused(nodes)

    def filter_inputs(self, state: CycleState, pod: PodInfo) -> frozenset[Input]:
        return self.inputs if state.get("hard") else frozenset()

    def renewed_rows(self, state: CycleState) -> Sequence[int] | None:
        rows: Sequence[int] | None = state.get("renewed")
        return rows

    def filter_token(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> tuple[int, ...]:
        return _token(state.get("hard"), nodes)

    # Score

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        constraints: tuple[Constraint, ...] | None = state.get("soft")
        if constraints is None:
            try:
                constraints = state["soft"] = self._constraints(pod, SCHEDULE_ANYWAY, nodes)
            except SelectorError as error:
                text = f"calculating preScoreState: obtaining pod's soft topology spread constraints: {error}"
                return Status(Code.ERROR, (text,), self.name)
        if not constraints:
            return SKIP
        # A node without a zone is still spread over by its hostname when nobody asked for zones.
        requires_all = bool(pod.pod.spec.topology_spread_constraints) or not self._is_system_defaulted
        layout: soft.Layout | None = state.get("layout")
        version = nodes.domain_version
        feasible = nodes.feasible
        assert isinstance(feasible, np.ndarray)
        if layout is None or layout.version != version:
            inclusion = _inclusion(state, pod)
            layout = state["layout"] = soft.Layout(version, constraints, inclusion, nodes, requires_all=requires_all)
            state.pop("feasible", None)
        known = state.get("feasible")
        if known is None or not np.array_equal(known, feasible):
            state["weights"] = soft.weights_of(constraints, layout, feasible)
            state["scored"] = None if layout.scored is None else feasible & layout.scored
            state["ignores"] = layout.scored is not None and bool(np.any(feasible & ~layout.scored))
            state["feasible"] = feasible.copy()
        scores = soft.Scores(constraints, layout, state["weights"], nodes, ignores=state["ignores"])
        if state["ignores"]:
            scores.find_low(state["scored"], nodes)
        state["scores"] = scores
        return SUCCESS

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Ints:
        return self._scores(state).raw(nodes)

    def score_inputs(self, state: CycleState, pod: PodInfo) -> frozenset[Input]:
        return self.inputs if state.get("soft") else frozenset()

    def score_token(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> tuple[int, ...]:
        return _token(state.get("soft"), nodes)

    def normalize(self, state: CycleState, pod: PodInfo, nodes: NodeView, scores: Ints, low: int, high: int) -> Ints:
        found = self._scores(state)
        if found.ignores:
            low = found.low
        if high <= 0:
            final: Ints = scores * 0 + MAX_NODE_SCORE
        else:
            final = ops.div_trunc((high + low - scores) * MAX_NODE_SCORE, high)
        if low < 0:
            # With a maxSkew of 0, which the API server would refuse: -1 is upstream's mark of a node that it ignores.
            final = ops.where(scores == -1, 0, final)
        if not found.ignores:
            return final
        return ops.where(found.ignored(nodes), 0, final)  # type: ignore[no-any-return]

    def _scores(self, state: CycleState) -> soft.Scores:
        scores: soft.Scores | None = state.get("scores")
        if scores is None:
            # As above.
            raise RuntimeError(f'error reading "PreScore{self.name}" from cycleState: not found')
        return scores

    # What all of it is about

    def _constraints(self, pod: PodInfo, action: str, nodes: NodeView) -> tuple[Constraint, ...]:
        """The pod's own constraints, and only when it has none at all, whatever they do, the default ones."""
        if pod.pod.spec.topology_spread_constraints:
            return own_constraints(pod, action)
        if not self._defaults:
            return ()
        return default_constraints(self._defaults, pod, action, nodes.deduced_selector(pod).matcher)

    def sign(self, pod: PodInfo) -> tuple[Any, ...] | Unsignable:
        if not pod.pod.spec.topology_spread_constraints:
            if not self._defaults:
                return ()
            return _signed_inclusion(pod, any(one.node_taints_policy == "Honor" for one in self._defaults))
        try:
            parts = [own_constraints(pod, action) for action in (DO_NOT_SCHEDULE, SCHEDULE_ANYWAY)]
        except SelectorError as error:
            return Unsignable(f"a topology spread constraint of the pod cannot be read: {error}")
        honors_taints = any(one.honors_taints for part in parts for one in part)
        signed = tuple(tuple(one.signed() for one in part) for part in parts)
        return (pod.pod.metadata.namespace, signed, _signed_inclusion(pod, honors_taints))

    def sign_cluster(self, pod: PodInfo, nodes: NodeView) -> tuple[Any, ...]:
        if pod.pod.spec.topology_spread_constraints or not self._defaults:
            return ()
        deduced = nodes.deduced_selector(pod)
        if not deduced.id:
            return ()
        namespace, labels = pod.pod.metadata.namespace, pod.pod.metadata.labels
        return (namespace, deduced.id, self._has_hard_defaults and deduced.matcher.matches(labels))

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (
            ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE),
            ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_TOLERATION | ActionType.UPDATE_POD_LABEL),
            ClusterEvent(
                EventResource.NODE,
                ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT,
            ),
        )

    def queueing_hint(self, pod: PodInfo, event: ClusterEvent, old: Any, new: Any, nodes: NodeView) -> Hint:
        # Most pods have nothing to do with each other, and that is seen before any constraint is read.
        if event.resource is EventResource.ASSIGNED_POD and not hints.may_count(pod, old, new):
            return Hint.SKIP
        constraints = self._constraints(pod, DO_NOT_SCHEDULE, nodes)
        match event.resource:
            case EventResource.ASSIGNED_POD:
                return hints.after_pod_change(constraints, old, new)
            case EventResource.TARGET_POD:
                return hints.after_own_change(constraints, old, new)
        return hints.after_node_change(constraints, old, new)

    def hint_key(self, pod: PodInfo) -> Hashable:
        """For default constraints: what a selector is deduced from, which the cluster's part of a signature has else."""
        if pod.pod.spec.topology_spread_constraints or not self._has_hard_defaults:
            return ()
        metadata = pod.pod.metadata
        owners = tuple(one for one in metadata.owner_references or () if one.controller)
        return metadata.namespace, tuple(sorted((metadata.labels or {}).items())), owners


def _token(constraints: tuple[Constraint, ...] | None, nodes: NodeView) -> tuple[int, ...]:
    if not constraints:
        return ()
    counted = [nodes.matching_version(one.match) for one in constraints if one.match is not None]
    return (nodes.domain_version, *counted)


def _inclusion(state: CycleState, pod: PodInfo) -> Inclusion:
    inclusion: Inclusion | None = state.get("inclusion")
    if inclusion is None:
        inclusion = state["inclusion"] = Inclusion(pod)
    return inclusion


def _signed_inclusion(pod: PodInfo, honors_taints: bool) -> tuple[Any, ...]:
    """What of the pod says which nodes count."""
    tolerations = pod.pod.spec.tolerations or ()
    tolerated = {(one.key, one.operator or "Equal", one.value, one.effect) for one in tolerations}
    return (*signed_required(pod), tuple(sorted(tolerated)) if honors_taints else None)
