"""NodeResourcesBalancedAllocation: nodes whose resources the pod brings closer to equal use are better.

Source: kube-scheduler 1.37: NodeResourcesBalancedAllocation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

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

_HALF = MAX_NODE_SCORE // 2
_HIGHEST = float(MAX_NODE_SCORE)

_SHARES = "shares"
_Share: TypeAlias = tuple[str, int]
"""A resource that can count, and what the pod adds to it."""

_Uses: TypeAlias = tuple[Any, Any, Bools]
"""The fraction of a resource that is used before and after the pod, and where a node has the resource at all."""


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
        shares = state[_SHARES] if _SHARES in state else self._keep_shares(state, pod)
        if not shares:
            # Where nothing counts, all is balanced before and after.
            return same_score(nodes, 0 if shares is None else _HALF + _HALF // 2)
        if len(shares) == 2:
            first, second = shares
            before, after = _half_distances(_uses(nodes, first), _uses(nodes, second))
        else:
            before, after = _deviations([_uses(nodes, share) for share in shares])
        # A balance is 100 when all resources are used alike, less the more their use differs.
        gain = ops.to_int((1.0 - after) * _HIGHEST) + _HALF - ops.to_int((1.0 - before) * _HIGHEST)
        return ops.div_trunc(gain, 2) + _HALF

    def sign(self, pod: PodInfo) -> tuple[Any, ...]:
        return self._requests(pod)

    def _requests(self, pod: PodInfo) -> tuple[int, ...]:
        """What the pod would take of each resource; no defaults."""
        requests = pod.accounted_requests
        return tuple(requests.get(name, 0) for name in self._names)

    def _keep_shares(self, state: CycleState, pod: PodInfo) -> tuple[_Share, ...] | None:
        """None for a pod without requests."""
        requests = self._requests(pod)
        named = zip(self._names, requests, strict=True)
        counted = tuple((name, request) for name, request in named if takes_part(name, request))
        shares = state[_SHARES] = counted if any(requests) else None
        return shares


def _uses(nodes: NodeView, share: _Share) -> _Uses:
    resource, request = share
    capacity, used = nodes.usage(resource)
    after = ops.fraction(ops.wrap(used + request), capacity)
    return ops.fraction(used, capacity), after, capacity != 0


# How unlike the uses are, before and after. Of two it is half their distance, of more their standard deviation; operations
# are in Go's order.


def _half_distances(first: _Uses, second: _Uses) -> tuple[Floats, Floats]:
    before_first, after_first, has_first = first
    before_second, after_second, has_second = second
    before: Any = abs((before_first - before_second) / 2.0)
    after: Any = abs((after_first - after_second) / 2.0)
    both = has_first & has_second
    if ops.everywhere(both):
        return before, after
    return ops.where(both, before, 0.0), ops.where(both, after, 0.0)


def _deviations(uses: Sequence[_Uses]) -> tuple[Floats, Floats]:
    before, after, counted = zip(*uses, strict=True)
    return _deviation(before, counted), _deviation(after, counted)


def _deviation(fractions: Sequence[Floats], counted: Sequence[Bools]) -> Floats:
    number: Any = 0
    signed: Any = 0.0
    total: Any = 0.0
    squares: Any = 0.0
    for fraction, here in zip(fractions, counted, strict=True):
        # A node without the resource leaves it out: adding 0.0 changes nothing.
        sign = ops.where(number == 0, 1.0, -1.0)
        signed = signed + ops.where(here, fraction * sign, 0.0)
        total = total + ops.where(here, fraction, 0.0)
        number = number + ops.where(here, 1, 0)
    mean = ops.divide(total, number)
    for fraction, here in zip(fractions, counted, strict=True):
        squares = squares + ops.where(here, (fraction - mean) * (fraction - mean), 0.0)
    spread = ops.sqrt(ops.divide(squares, number))
    deviation: Floats = ops.where(number > 2, spread, ops.where(number == 2, abs(signed / 2.0), 0.0))
    return deviation
