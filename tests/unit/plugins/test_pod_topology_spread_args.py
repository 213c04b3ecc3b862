"""PodTopologySpread's arguments (kube-scheduler 1.37: ValidatePodTopologySpreadArgs, SetDefaults_PodTopologySpreadArgs)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler.api.objects import TopologySpreadConstraint
from scheduler.plugins.pod_topology_spread import PodTopologySpread, PodTopologySpreadArgs, validate

ZONES = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}


def read(**args: Any) -> PodTopologySpreadArgs:
    return msgspec.convert(args, PodTopologySpreadArgs)


def errors(*constraints: dict[str, Any], **args: Any) -> list[str]:
    return validate(read(**{"defaultingType": "List", "defaultConstraints": list(constraints), **args}), "args")


def test_without_arguments_pods_are_spread_softly_over_hosts_and_zones() -> None:
    expected = (
        TopologySpreadConstraint(
            topology_key="kubernetes.io/hostname", when_unsatisfiable="ScheduleAnyway", max_skew=3
        ),
        TopologySpreadConstraint(
            topology_key="topology.kubernetes.io/zone", when_unsatisfiable="ScheduleAnyway", max_skew=5
        ),
    )
    assert (
        read().defaults() == read(defaultingType="").defaults() == read(defaultingType="System").defaults() == expected
    )
    assert errors(defaultingType="System") == []


def test_a_list_replaces_them() -> None:
    constraint = {**ZONES, "minDomains": 3, "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"}
    assert read(defaultingType="List").defaults() == ()
    assert read(defaultingType="List", defaultConstraints=[constraint]).defaults() == (
        TopologySpreadConstraint(
            topology_key="zone",
            when_unsatisfiable="DoNotSchedule",
            max_skew=1,
            min_domains=3,
            node_affinity_policy="Ignore",
            node_taints_policy="Honor",
        ),
    )
    assert errors(constraint) == []


@pytest.mark.parametrize(
    ("constraint", "error"),
    [
        ({"maxSkew": 0}, "maxSkew: Invalid value: 0: not in valid range (0, inf)"),
        ({"maxSkew": -1}, "maxSkew: Invalid value: -1: not in valid range (0, inf)"),
        ({"topologyKey": ""}, "topologyKey: Required value: can not be empty"),
        ({"topologyKey": "a/"}, 'topologyKey: Invalid value: "a/": name part must be non-empty'),
        ({"whenUnsatisfiable": ""}, "whenUnsatisfiable: Required value: can not be empty"),
        (
            {"whenUnsatisfiable": "Never"},
            'whenUnsatisfiable: Unsupported value: "Never": supported values: "DoNotSchedule", "ScheduleAnyway"',
        ),
        (
            {"labelSelector": {}},
            "labelSelector: Forbidden: constraint must not define a selector, as they deduced for each pod",
        ),
    ],
)
def test_a_wrong_constraint_is_refused(constraint: dict[str, Any], error: str) -> None:
    assert errors({**ZONES, **constraint})[:1] == [f"args.defaultConstraints[0].{error}"]


def test_a_type_that_does_not_exist_is_refused() -> None:
    assert errors(defaultingType="None") == [
        'args.defaultingType: Unsupported value: "None": supported values: "System", "List"'
    ]


def test_system_defaults_have_no_list() -> None:
    assert errors(ZONES, defaultingType="System") == [
        'args.defaultingType: Invalid value: "System": when .defaultConstraints are not empty'
    ]


def test_key_and_action_come_once() -> None:
    other = {**ZONES, "whenUnsatisfiable": "ScheduleAnyway"}
    assert errors(ZONES, other) == []
    assert errors(ZONES, other, {**ZONES, "maxSkew": 2}) == [
        'args.defaultConstraints[2]: Duplicate value: "{zone, DoNotSchedule}"'
    ]


def test_the_plugin_refuses_what_is_wrong() -> None:
    with pytest.raises(ValueError, match=r"arguments of PodTopologySpread: defaultConstraints\[0\].maxSkew: Invalid"):
        PodTopologySpread(read(defaultingType="List", defaultConstraints=[{**ZONES, "maxSkew": 0}]))
