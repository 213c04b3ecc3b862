from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler.api.objects import Pod, ResourceRequirements
from scheduler.framework.function_shape import shape_value
from scheduler.plugins.node_resources_fit import NodeResourcesFit, NodeResourcesFitArgs, UtilizationShapePoint, validate
from tests.support.builders import make_container, make_node, make_pod
from tests.support.plugin_runs import raw_scores, table_of

FPGA = "example.com/fpga"
LEAST, MOST, RATIO = "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"
NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',"
    "  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


def args(kind: str, *resources: tuple[str, int], shape: list[tuple[int, int]] | None = None) -> NodeResourcesFitArgs:
    strategy: dict[str, Any] = {
        "type": kind,
        "resources": [{"name": name, "weight": weight} for name, weight in resources],
    }
    if shape is not None:
        strategy["requestedToCapacityRatio"] = {"shape": [{"utilization": x, "score": y} for x, y in shape]}
    return msgspec.convert({"scoringStrategy": strategy}, NodeResourcesFitArgs)


def score(
    pod: Pod,
    allocatable: dict[str, str],
    arguments: NodeResourcesFitArgs | None = None,
    used: dict[str, str] | None = None,
) -> int:
    pods = [] if used is None else [make_pod("user", requests=used, node_name="node")]
    table = table_of([make_node("node", allocatable=allocatable)], pods)
    return raw_scores(NodeResourcesFit(arguments or NodeResourcesFitArgs()), pod, table)["node"]


def best_effort(containers: int = 1) -> Pod:
    return make_pod(containers=[make_container(f"c{number}") for number in range(containers)])


# -------------------------------------------------------------------------------------------------------- LeastAllocated


@pytest.mark.parametrize(("containers", "expected"), [(1, 85), (2, 70)])
def test_a_container_without_requests_counts_100m_and_200mi(containers: int, expected: int) -> None:
    assert score(best_effort(containers), {"cpu": "1", "memory": "1Gi"}) == expected


def test_each_resource_is_truncated_and_then_their_mean() -> None:
    assert score(best_effort(), {"cpu": "4", "memory": "16Gi"}) == 97


def test_pod_level_requests_do_not_count() -> None:
    pod = make_pod(containers=[make_container()], resources=ResourceRequirements(requests={"cpu": "2"}))
    assert score(pod, {"cpu": "4"}, args(LEAST, ("cpu", 1))) == 97


def test_pods_on_the_node_count_with_their_defaults() -> None:
    # cpu: 4000 - 100 - 100 leaves 95 %; memory: 16384 - 200 - 200 leaves 97.5 %
    assert score(best_effort(), {"cpu": "4", "memory": "16Gi"}, used={}) == 96


def test_more_than_there_is_scores_0() -> None:
    pod = make_pod(requests={"cpu": "2", "memory": "1Gi"})
    assert score(pod, {"cpu": "1", "memory": "4Gi"}) == (0 + 75) // 2


def test_weights_weigh() -> None:
    pod = make_pod(requests={"cpu": "1", "memory": "1Gi"})
    assert score(pod, {"cpu": "4", "memory": "2Gi"}, args(LEAST, ("cpu", 3), ("memory", 1))) == (75 * 3 + 50) // 4


def test_a_resource_that_the_node_lacks_has_no_weight() -> None:
    pod = make_pod(requests={"cpu": "1", "memory": "1Gi", FPGA: "1"})
    strategy = args(LEAST, ("cpu", 1), (FPGA, 5))
    assert score(pod, {"cpu": "4"}, strategy) == 75
    assert score(pod, {"cpu": "4", FPGA: "2"}, strategy) == (75 + 50 * 5) // 6


def test_a_scalar_that_the_pod_does_not_ask_for_has_no_weight() -> None:
    assert score(make_pod(requests={"cpu": "1"}), {"cpu": "4", FPGA: "2"}, args(LEAST, ("cpu", 1), (FPGA, 5))) == 75


def test_ephemeral_storage_counts_also_when_nobody_asks_for_it() -> None:
    pod = make_pod(requests={"cpu": "1"})
    strategy = args(LEAST, ("cpu", 1), ("ephemeral-storage", 1))
    assert score(pod, {"cpu": "4", "ephemeral-storage": "1Gi"}, strategy) == (75 + 100) // 2


def test_scalars_in_use_count_as_requested() -> None:
    pod = make_pod(requests={FPGA: "1"})
    assert score(pod, {FPGA: "4"}, args(LEAST, (FPGA, 1)), used={FPGA: "2"}) == 25


def test_without_a_resource_that_counts_the_score_is_0() -> None:
    assert score(best_effort(), {"cpu": "4"}, args(LEAST, (FPGA, 1), ("pods", 1), ("unknown", 1))) == 0
    assert score(best_effort(), {"cpu": "0", "memory": "0"}) == 0


# --------------------------------------------------------------------------------------------------------- MostAllocated


def test_the_share_that_is_taken_scores() -> None:
    pod = make_pod(requests={"cpu": "1", "memory": "1Gi"})
    assert score(pod, {"cpu": "3", "memory": "8Gi"}, args(MOST), used={"cpu": "1", "memory": "1Gi"}) == (66 + 25) // 2


def test_more_than_there_is_scores_as_all_of_it() -> None:
    pod = make_pod(requests={"cpu": "2", "memory": "1Gi"})
    assert score(pod, {"cpu": "1", "memory": "4Gi"}, args(MOST)) == (100 + 25) // 2


# ---------------------------------------------------------------------------------------------- RequestedToCapacityRatio


def points(*shape: tuple[int, int]) -> tuple[UtilizationShapePoint, ...]:
    return tuple(UtilizationShapePoint(utilization=x, score=y) for x, y in shape)


@pytest.mark.parametrize(
    ("shape", "utilization", "expected"),
    [
        (points((0, 10), (70, 0)), 33, 53),
        (points((0, 10), (70, 0)), 0, 100),
        (points((0, 10), (70, 0)), 70, 0),
        (points((0, 10), (70, 0)), 100, 0),
        (points((0, 0), (100, 10)), 55, 55),
        (points((0, 0), (70, 10)), 33, 47),
        (points((20, 3), (60, 7)), 0, 30),
        (points((20, 3), (60, 7)), 40, 50),
        (points((20, 3), (60, 7)), 99, 70),
        (points((50, 4)), 10, 40),
        (points((50, 4)), 90, 40),
        (points((0, 0), (50, 10), (100, 3)), 75, 65),
    ],
)
def test_the_shape_is_a_broken_line_truncated_toward_zero(
    shape: tuple[UtilizationShapePoint, ...], utilization: int, expected: int
) -> None:
    assert shape_value(shape, utilization) == expected


def test_a_resource_that_scores_0_is_left_out_of_the_mean() -> None:
    pod = make_pod(requests={"cpu": "2"})
    strategy = args(RATIO, ("cpu", 1), ("memory", 1), shape=[(0, 0), (100, 10)])
    assert score(pod, {"cpu": "4", "memory": "64Gi"}, strategy) == 50


def test_the_mean_is_rounded_half_up() -> None:
    pod = make_pod(requests={"cpu": "50m", "memory": "55Mi"})
    strategy = args(RATIO, ("cpu", 1), ("memory", 1), shape=[(0, 0), (100, 10)])
    assert score(pod, {"cpu": "100m", "memory": "100Mi"}, strategy) == 53


def test_more_than_there_is_scores_as_full() -> None:
    strategy = args(RATIO, ("cpu", 1), shape=[(0, 0), (80, 10), (100, 4)])
    assert score(make_pod(requests={"cpu": "5"}), {"cpu": "4"}, strategy) == 40


def test_all_scores_0_make_0() -> None:
    strategy = args(RATIO, ("cpu", 1), shape=[(0, 0), (100, 0)])
    assert score(make_pod(requests={"cpu": "1"}), {"cpu": "4"}, strategy) == 0


# -------------------------------------------------------------------------------------------------------------- arguments


def errors(**fields: Any) -> list[str]:
    return validate(msgspec.convert(fields, NodeResourcesFitArgs), "args")


def test_without_arguments_the_defaults_hold() -> None:
    assert errors() == []
    assert NodeResourcesFitArgs() == args(LEAST, ("cpu", 1), ("memory", 1))


def test_a_strategy_without_resources_and_a_weight_of_0_get_defaults() -> None:
    for strategy in ({"type": MOST}, {"type": MOST, "resources": []}):
        arguments = msgspec.convert({"scoringStrategy": strategy}, NodeResourcesFitArgs)
        assert arguments == args(MOST, ("cpu", 1), ("memory", 1))
    assert args(MOST, ("cpu", 0)) == args(MOST, ("cpu", 1))


def test_a_strategy_must_say_its_type() -> None:
    supported = 'supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"'
    assert errors(scoringStrategy={}) == [f'args.scoringStrategy.type: Unsupported value: "": {supported}']


def test_a_strategy_is_required() -> None:
    assert errors(scoringStrategy=None) == ["args.scoringStrategy: Required value: ScoringStrategy field is required"]


def test_all_errors_of_a_strategy_are_reported() -> None:
    resources = [{"name": "cpu", "weight": 101}, {"name": "memory", "weight": -1}, {"name": "x", "weight": 0}]
    assert errors(scoringStrategy={"type": "Foo", "resources": resources}) == [
        (
            'args.scoringStrategy.type: Unsupported value: "Foo": supported values: "LeastAllocated", "MostAllocated",'
            ' "RequestedToCapacityRatio"'
        ),
        "args.scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range (0, 100]",
        "args.scoringStrategy.resources[1].weight: Invalid value: -1: resource weight of memory not in valid range (0, 100]",
    ]


def test_a_shape_belongs_to_its_strategy_and_only_to_it() -> None:
    path = "args.scoringStrategy.requestedToCapacityRatio"
    assert errors(scoringStrategy={"type": RATIO}) == [
        f"{path}: Required value: must be specified when type is RequestedToCapacityRatio"
    ]
    assert errors(scoringStrategy={"type": LEAST, "requestedToCapacityRatio": {}}) == [
        f"{path}: Forbidden: must be nil when type is not RequestedToCapacityRatio"
    ]
    assert errors(scoringStrategy={"type": RATIO, "requestedToCapacityRatio": {}}) == [
        f"{path}.shape: Required value: at least one point must be specified"
    ]


def test_points_must_rise_and_lie_in_range() -> None:
    path = "args.scoringStrategy.requestedToCapacityRatio.shape"
    shape = [{"utilization": x, "score": y} for x, y in ((50, 0), (50, 11), (10, -1), (101, 1))]
    assert errors(scoringStrategy={"type": RATIO, "requestedToCapacityRatio": {"shape": shape}}) == [
        f"{path}[1].utilization: Invalid value: 50: values must be sorted in increasing order",
        f"{path}[1].score: Invalid value: 11: not in valid range [0, 10]",
        f"{path}[2].score: Invalid value: -1: not in valid range [0, 10]",
        f"{path}[3].utilization: Invalid value: 101: not in valid range [0, 100]",
    ]


def test_ignored_names_must_be_possible_ones() -> None:
    assert errors(ignoredResources=["example.com/ok", "-bad"], ignoredResourceGroups=["ok.com", "a/b", ""]) == [
        f'args.ignoredResources[1]: Invalid value: "-bad": name part {NAME_RULE}',
        "args.ignoredResourceGroups[1]: Invalid value: \"a/b\": resource group name can't contain '/'",
        'args.ignoredResourceGroups[2]: Invalid value: "": name part must be non-empty',
        f'args.ignoredResourceGroups[2]: Invalid value: "": name part {NAME_RULE}',
    ]


def test_a_plugin_is_not_made_of_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="arguments of NodeResourcesFit: scoringStrategy: Required value"):
        NodeResourcesFit(NodeResourcesFitArgs(scoring_strategy=None))


@pytest.mark.parametrize("fields", [{"ignoredResource": []}, {"scoringStrategy": {"kind": LEAST}}])
def test_an_unknown_argument_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.convert(fields, NodeResourcesFitArgs)
