"""The plugin NodeResourcesFit."""

from __future__ import annotations

from typing import Any, TypeAlias

from scheduler.api.field_errors import aggregate
from scheduler.api.resources import CPU, EPHEMERAL_STORAGE, MEMORY, is_extended, is_scalar
from scheduler.framework import ops
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.columns import same_score
from scheduler.framework.facet import Facet
from scheduler.framework.ops import Ints, Masks
from scheduler.framework.plugin import (
    CycleState,
    EnqueueExtensions,
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ScorePlugin,
    SignPlugin,
)
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.queueing_hint import Hint, had_room, queue_if
from scheduler.framework.resource_scoring import takes_part
from scheduler.framework.status import SUCCESS, Code, Reason, Status
from scheduler.framework.view import NodeView
from scheduler.plugins.node_resources_fit import hints
from scheduler.plugins.node_resources_fit.args import NodeResourcesFitArgs, validate
from scheduler.plugins.node_resources_fit.strategies import strategy_of

_MAX_BITS = 64
_TOO_MANY_PODS = Reason("Too many pods", Code.UNSCHEDULABLE)
_FIRST = (CPU, MEMORY, EPHEMERAL_STORAGE)


_Check: TypeAlias = tuple[str, int, int]
"""A resource that must be free, the request and a bit: it is taken by other pods now; the bit above says that the
request is more than the whole node has."""

_Share: TypeAlias = tuple[str, bool, int, int]
"""A resource to score by, whether pods without a request count for it too, its weight, and what the pod adds to it."""


class NodeResourcesFit(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin, EnqueueExtensions, SignPlugin):
    name = "NodeResourcesFit"
    facets = Facet.RESOURCES

    def __init__(self, args: NodeResourcesFitArgs = NodeResourcesFitArgs()) -> None:  # noqa: B008 - frozen
        if errors := validate(args, ""):
            raise ValueError(f"arguments of NodeResourcesFit: {aggregate(errors)}")
        assert args.scoring_strategy is not None
        self._ignored = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)
        self._resources = args.scoring_strategy.resources
        self._strategy = strategy_of(args.scoring_strategy)

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult:
        state["checks"] = self._checks(pod)
        return PreFilterResult()

    def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
        reasons = [_TOO_MANY_PODS]
        checks: tuple[_Check, ...] = state.get("checks") or self._checks(pod)
        for resource, _, _ in checks:
            text = f"Insufficient {resource}"
            reasons += [Reason(text, Code.UNSCHEDULABLE), Reason(text, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)]
        return tuple(reasons)

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        checks: tuple[_Check, ...] | None = state.get("checks")
        if checks is None:
            # A configuration that disables PreFilter alone; kube-scheduler fails the same way.
            raise RuntimeError(f'error reading "PreFilter{self.name}" from cycleState: not found')
        # A count of pods is nowhere near 2**63.
        mask = ops.bit(nodes.pod_count + 1 > nodes.allowed_pods, 0)
        for resource, request, bit in checks:
            capacity, used = nodes.usage(resource)
            lacking = ops.wrap(capacity - used) < request
            if ops.nowhere(lacking):
                continue
            hopeless = capacity < request
            short = ops.merge(ops.bit(lacking & ops.not_(hopeless), bit), ops.bit(lacking & hopeless, bit + 1))
            mask = ops.merge(mask, short)
        return mask

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        return SUCCESS

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Ints:
        resource_score, counts_zero_scores, mean = self._strategy
        shares: tuple[_Share, ...] | None = state.get("shares")
        if shares is None:
            shares = state["shares"] = self._shares(pod)
        if not shares:
            return same_score(nodes, 0)
        total: Ints = 0
        weights: Ints = 0
        for resource, has_minimum, weight, request in shares:
            capacity, used = nodes.non_zero_usage(resource) if has_minimum else nodes.usage(resource)
            score = resource_score(ops.wrap(used + request), capacity)
            counted = capacity != 0 if counts_zero_scores else score > 0
            # The sum of weights, of at most 100 each, is nowhere near 2**63; that of scores is wrapped by `mean`.
            total = total + (score if weight == 1 else score * weight)
            weights = weights + (weight if ops.everywhere(counted) else ops.where(counted, weight, 0))
        return mean(total, weights)

    def sign(self, pod: PodInfo) -> tuple[Any, ...]:
        # The score has requests of its own: other defaults, and no pod-level ones.
        return (tuple(self._requests(pod).items()), self._shares(pod))

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (
            ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE),
            ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE),
            ClusterEvent(EventResource.DEVICE_CLASS, ActionType.ADD | ActionType.UPDATE),
            ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_SCALE_DOWN),
            ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_SCALE_DOWN),
        )

    def queueing_hint(self, pod: PodInfo, event: ClusterEvent, old: Any, new: Any, nodes: NodeView) -> Hint:
        """Of resources that are ignored kube-scheduler asks a node to have enough here, although Filter does not."""
        match event.resource:
            case EventResource.NODE:
                return hints.after_node_change(self._requests(pod), old, new)
            case EventResource.DEVICE_CLASS:
                return hints.after_device_class_change(pod, old, new)
            case EventResource.ASSIGNED_POD if event.action == ActionType.DELETE:
                return queue_if(had_room(old))
            case EventResource.ASSIGNED_POD:
                return hints.after_scale_down(pod, old, new)
        return Hint.QUEUE

    def hint_key(self, pod: PodInfo) -> tuple[frozenset[str], frozenset[str]]:
        return frozenset(pod.requests), frozenset(pod.accounted_requests)

    def _requests(self, pod: PodInfo) -> dict[str, int]:
        """What Filter looks at, in the order of its reasons; a resource that is not asked for is not looked at."""
        asked = {name: amount for name, amount in pod.requests.items() if amount > 0}
        scalars = sorted(name for name in asked if name not in _FIRST and is_scalar(name) and not self._ignores(name))
        return {name: asked[name] for name in (*_FIRST, *scalars) if name in asked}

    def _ignores(self, resource: str) -> bool:
        if not is_extended(resource):
            return False
        return resource in self._ignored or resource.partition("/")[0] in self._ignored_groups

    def _checks(self, pod: PodInfo) -> tuple[_Check, ...]:
        requests = self._requests(pod)
        most = (_MAX_BITS - 1) // 2
        if len(requests) > most:
            raise ValueError(
                f"pod {pod.key} requests {len(requests)} different resources and {self.name} can check at most "
                f"{most}: request fewer, or name some in ignoredResources or ignoredResourceGroups"
            )
        return tuple((name, amount, 1 + 2 * number) for number, (name, amount) in enumerate(requests.items()))

    def _shares(self, pod: PodInfo) -> tuple[_Share, ...]:
        requests = pod.score_requests
        return tuple(
            (spec.name, spec.name in (CPU, MEMORY), spec.weight, requests.get(spec.name, 0))
            for spec in self._resources
            if takes_part(spec.name, requests.get(spec.name, 0))
        )
