"""Arguments of NodeResourcesFit (kubescheduler.config.k8s.io/v1: NodeResourcesFitArgs)."""

from __future__ import annotations

import msgspec

from scheduler.api.field_errors import child, element, forbidden, invalid, not_supported, required
from scheduler.api.label_syntax import label_key_errors
from scheduler.framework.function_shape import UtilizationShapePoint, shape_errors
from scheduler.framework.resource_scoring import DEFAULT_RESOURCES, ResourceSpec

LEAST_ALLOCATED = "LeastAllocated"
MOST_ALLOCATED = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"
STRATEGIES = (LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)

_MAX_WEIGHT = 100


class _Args(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """camelCase in the file, nothing unknown."""


class RequestedToCapacityRatio(_Args, frozen=True):
    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategy(_Args, frozen=True):
    """``type`` has no default of its own: it must be written when a strategy is."""

    type: str = ""
    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES
    requested_to_capacity_ratio: RequestedToCapacityRatio | None = None

    def __post_init__(self) -> None:
        if not self.resources:
            msgspec.structs.force_setattr(self, "resources", DEFAULT_RESOURCES)


class NodeResourcesFitArgs(_Args, frozen=True):
    """The ignored resources and groups of them (``example.com``) are not looked at by Filter; Score counts them."""

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy | None = ScoringStrategy(type=LEAST_ALLOCATED)


def validate(args: NodeResourcesFitArgs, path: str) -> list[str]:
    """Every error of the arguments as ``path: message``."""
    errors = []
    for index, name in enumerate(args.ignored_resources):
        here = element(child(path, "ignoredResources"), index)
        errors += [invalid(here, name, error) for error in label_key_errors(name)]
    for index, group in enumerate(args.ignored_resource_groups):
        here = element(child(path, "ignoredResourceGroups"), index)
        if "/" in group:
            errors.append(invalid(here, group, "resource group name can't contain '/'"))
        errors += [invalid(here, group, error) for error in label_key_errors(group)]
    path = child(path, "scoringStrategy")
    if args.scoring_strategy is None:
        return [*errors, required(path, "ScoringStrategy field is required")]
    return [*errors, *_strategy_errors(args.scoring_strategy, path)]


def _strategy_errors(strategy: ScoringStrategy, path: str) -> list[str]:
    errors = []
    if strategy.type not in STRATEGIES:
        errors.append(not_supported(child(path, "type"), strategy.type, STRATEGIES))
    for index, resource in enumerate(strategy.resources):
        if not 0 < resource.weight <= _MAX_WEIGHT:
            here = child(element(child(path, "resources"), index), "weight")
            detail = f"resource weight of {resource.name} not in valid range (0, {_MAX_WEIGHT}]"
            errors.append(invalid(here, resource.weight, detail))
    ratio, path = strategy.requested_to_capacity_ratio, child(path, "requestedToCapacityRatio")
    if strategy.type == REQUESTED_TO_CAPACITY_RATIO:
        if ratio is None:
            return [*errors, required(path, f"must be specified when type is {REQUESTED_TO_CAPACITY_RATIO}")]
        return [*errors, *shape_errors(ratio.shape, child(path, "shape"))]
    if ratio is not None:
        errors.append(forbidden(path, f"must be nil when type is not {REQUESTED_TO_CAPACITY_RATIO}"))
    return errors
