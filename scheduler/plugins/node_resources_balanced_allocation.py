"""NodeResourcesBalancedAllocation: nodes whose resources the pod brings closer to equal use are better.

Source: kube-scheduler 1.37: NodeResourcesBalancedAllocation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from scheduler.api.field_errors import aggregate, child, duplicate, element, invalid
from scheduler.framework import ops
from scheduler.framework.columns import same_score
from scheduler.framework.facet import Facet
from scheduler.framework.ops import Bools, Floats, Ints
from scheduler.framework.plugin import MAX_NODE_SCORE, CycleState, PreScorePlugin, ScorePlugin, SignPlugin
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.resource_scoring import DEFAULT_RESOURCES, ResourceSpec, takes_part
from scheduler.framework.status import SKIP, SUCCESS, Status
from scheduler.framework.view import NodeView


class NodeResourcesBalancedAllocationArgs(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """The resources whose use is to be balanced."""

    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES

    def __post_init__(self) -> None:
        if not self.resources:
            msgspec.structs.force_setattr(self, "resources", DEFAULT_RESOURCES)


def validate(args: NodeResourcesBalancedAllocationArgs, path: str) -> list[str]:
    """Every error of the arguments as ``path: message``."""
    errors, seen = [], set()
    for index, resource in enumerate(args.resources):
        here = element(child(path, "resources"), index)
        if resource.name in seen:
            errors.append(duplicate(child(here, "name"), resource.name))
        seen.add(resource.name)
        if resource.weight != 1:
            errors.append(invalid(child(here, "weight"), resource.weight, "must be 1"))
    return errors


class _Use(NamedTuple):
    """How much of one resource is used, 0 to 1, on the nodes that have it."""

    fraction: Floats
    counted: Bools


class NodeResourcesBalancedAllocation(PreScorePlugin, ScorePlugin, SignPlugin):
    name = "NodeResourcesBalancedAllocation"
    facets = Facet.RESOURCES

    def __init__(
        self,
        args: NodeResourcesBalancedAllocationArgs = NodeResourcesBalancedAllocationArgs(),  # noqa: B008 - frozen
    ) -> None:
        if errors := validate(args, ""):
            raise ValueError(f"arguments of {self.name}: {aggregate(errors)}")
        self._names = tuple(resource.name for resource in args.resources)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        # A pod without requests would otherwise be drawn to one node after the other.
        return SUCCESS if any(self._requests(pod)) else SKIP

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Ints:
        if not any(requests := self._requests(pod)):
            return same_score(nodes, 0)
        before, after = [], []
        for name, request in zip(self._names, requests, strict=True):
            if not takes_part(name, request):
                continue
            capacity, used = nodes.allocatable(name), nodes.requested(name)
            counted, whole = capacity != 0, ops.to_float(capacity)
            before.append(_use(used, whole, counted))
            after.append(_use(ops.add(used, request), whole, counted))
        half = MAX_NODE_SCORE // 2
        gain = ops.sub(ops.add(_balance(after, nodes), half), _balance(before, nodes))
        return ops.add(ops.div_trunc(gain, 2), half)

    def sign(self, pod: PodInfo) -> tuple[Any, ...]:
        return self._requests(pod)

    def _requests(self, pod: PodInfo) -> tuple[int, ...]:
        """What the pod would take of each resource; no defaults."""
        requests = pod.accounted_requests
        return tuple(requests.get(name, 0) for name in self._names)


def _use(amount: Ints, whole: Floats, counted: Bools) -> _Use:
    fraction = ops.minimum(ops.divide(ops.to_float(amount), whole), 1.0)
    return _Use(fraction, counted)


def _balance(uses: Sequence[_Use], nodes: NodeView) -> Ints:
    """100 when all resources of a node are used alike, less the more their use differs.

    The deviation of two is half their distance, that of more their standard deviation; operations are in Go's order.
    """
    deviation = _half_distance(uses) if len(uses) == 2 else _deviation(uses, nodes)
    return ops.to_int((1.0 - deviation) * float(MAX_NODE_SCORE))


def _half_distance(uses: Sequence[_Use]) -> Floats:
    first, second = uses
    distance = ops.absolute((first.fraction - second.fraction) / 2.0)
    deviation: Floats = ops.where(first.counted & second.counted, distance, 0.0)
    return deviation


def _deviation(uses: Sequence[_Use], nodes: NodeView) -> Floats:
    count = same_score(nodes, 0)
    signed: Any = ops.to_float(count)
    total: Any = signed
    squares: Any = signed
    for fraction, counted in uses:
        # A node without the resource leaves it out: adding 0.0 changes nothing.
        sign = ops.where(count == 0, 1.0, -1.0)
        signed = signed + ops.where(counted, fraction * sign, 0.0)
        total = total + ops.where(counted, fraction, 0.0)
        count = ops.add(count, ops.where(counted, 1, 0))
    number = ops.to_float(count)
    mean = ops.divide(total, number)
    for fraction, counted in uses:
        squares = squares + ops.where(counted, (fraction - mean) * (fraction - mean), 0.0)
    spread = ops.sqrt(ops.divide(squares, number))
    deviation: Floats = ops.where(count > 2, spread, ops.where(count == 2, ops.absolute(signed / 2.0), 0.0))
    return deviation
