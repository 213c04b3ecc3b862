"""Arguments of PodTopologySpread (kubescheduler.config.k8s.io/v1: PodTopologySpreadArgs)."""

from __future__ import annotations

import msgspec

from scheduler.api.field_errors import child, duplicate, element, forbidden, invalid, not_supported, required
from scheduler.api.label_syntax import label_key_errors
from scheduler.api.objects import LabelSelector, TopologySpreadConstraint

SYSTEM = "System"
LIST = "List"
DO_NOT_SCHEDULE = "DoNotSchedule"
SCHEDULE_ANYWAY = "ScheduleAnyway"
HOSTNAME_LABEL = "kubernetes.io/hostname"
ZONE_LABEL = "topology.kubernetes.io/zone"

SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(topology_key=HOSTNAME_LABEL, when_unsatisfiable=SCHEDULE_ANYWAY, max_skew=3),
    TopologySpreadConstraint(topology_key=ZONE_LABEL, when_unsatisfiable=SCHEDULE_ANYWAY, max_skew=5),
)
"""The default constraints of a configuration that says nothing about them."""


class DefaultConstraint(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A constraint for pods without any of their own, as a pod would have it but for the selector."""

    max_skew: int = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()

    def as_constraint(self) -> TopologySpreadConstraint:
        # matchLabelKeys only add to a selector, and the one that is deduced replaces what there is.
        return TopologySpreadConstraint(
            max_skew=self.max_skew,
            topology_key=self.topology_key,
            when_unsatisfiable=self.when_unsatisfiable,
            min_domains=self.min_domains,
            node_affinity_policy=self.node_affinity_policy,
            node_taints_policy=self.node_taints_policy,
        )


class PodTopologySpreadArgs(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``defaulting_type`` System: pods without constraints are spread softly over hostnames and zones."""

    defaulting_type: str = SYSTEM
    default_constraints: tuple[DefaultConstraint, ...] = ()

    def __post_init__(self) -> None:
        if not self.defaulting_type:
            msgspec.structs.force_setattr(self, "defaulting_type", SYSTEM)

    @property
    def is_system_defaulted(self) -> bool:
        return self.defaulting_type == SYSTEM

    def defaults(self) -> tuple[TopologySpreadConstraint, ...]:
        """The constraints of pods that have none of their own."""
        if self.is_system_defaulted:
            return SYSTEM_DEFAULTS
        return tuple(each.as_constraint() for each in self.default_constraints)


def validate(args: PodTopologySpreadArgs, path: str) -> list[str]:
    """Every error of the arguments as ``path: message``."""
    errors = []
    here = child(path, "defaultingType")
    if args.defaulting_type not in (SYSTEM, LIST):
        errors.append(not_supported(here, args.defaulting_type, (SYSTEM, LIST)))
    elif args.is_system_defaulted and args.default_constraints:
        errors.append(invalid(here, args.defaulting_type, "when .defaultConstraints are not empty"))
    path = child(path, "defaultConstraints")
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(args.default_constraints):
        here = element(path, index)
        errors += _constraint_errors(constraint, here)
        what = (constraint.topology_key, constraint.when_unsatisfiable)
        if what in seen:
            errors.append(duplicate(here, f"{{{', '.join(what)}}}"))
        seen.add(what)
    return errors


def _constraint_errors(constraint: DefaultConstraint, path: str) -> list[str]:
    errors = []
    if constraint.max_skew <= 0:
        errors.append(invalid(child(path, "maxSkew"), constraint.max_skew, "not in valid range (0, inf)"))
    key, here = constraint.topology_key, child(path, "topologyKey")
    if not key:
        errors.append(required(here, "can not be empty"))
    else:
        errors += [invalid(here, key, error) for error in label_key_errors(key)]
    action, here = constraint.when_unsatisfiable, child(path, "whenUnsatisfiable")
    if not action:
        errors.append(required(here, "can not be empty"))
    elif action not in (DO_NOT_SCHEDULE, SCHEDULE_ANYWAY):
        errors.append(not_supported(here, action, (DO_NOT_SCHEDULE, SCHEDULE_ANYWAY)))
    if constraint.label_selector is not None:
        detail = "constraint must not define a selector, as they deduced for each pod"
        errors.append(forbidden(child(path, "labelSelector"), detail))
    return errors
