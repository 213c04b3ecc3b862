from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler.api.objects import Pod, ResourceRequirements
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SKIP, SUCCESS
from scheduler.plugins.node_resources_balanced_allocation import (
    NodeResourcesBalancedAllocation,
    NodeResourcesBalancedAllocationArgs,
    validate,
)
from tests.support.builders import make_container, make_node, make_pod
from tests.support.plugin_runs import ask, raw_scores, table_of

FPGA, GPU = "example.com/fpga", "example.com/gpu"


def plugin(*resources: str) -> NodeResourcesBalancedAllocation:
    fields = {"resources": [{"name": name} for name in resources]}
    return NodeResourcesBalancedAllocation(msgspec.convert(fields, NodeResourcesBalancedAllocationArgs))


def score(
    pod: Pod, allocatable: dict[str, str], used: dict[str, str] | None = None, resources: tuple[str, ...] = ()
) -> int:
    pods = [] if used is None else [make_pod("user", requests=used, node_name="node")]
    table = table_of([make_node("node", allocatable=allocatable)], pods)
    return raw_scores(plugin(*resources), pod, table)["node"]


def test_a_pod_that_upsets_the_balance_scores_below_75() -> None:
    pod = make_pod(requests={"cpu": "2", "memory": "1Gi"})
    assert score(pod, {"cpu": "4", "memory": "8Gi"}, used={"cpu": "1", "memory": "2Gi"}) == 65


def test_a_pod_that_changes_nothing_scores_75() -> None:
    pod = make_pod(requests={"cpu": "1", "memory": "2Gi"})
    assert score(pod, {"cpu": "4", "memory": "8Gi"}, used={"cpu": "1", "memory": "2Gi"}) == 75


def test_a_pod_that_restores_the_balance_scores_above_75() -> None:
    # before: |0.75 - 0.25| / 2 = 0.25 -> 75; after: equal -> 100
    pod = make_pod(requests={"memory": "4Gi"})
    assert score(pod, {"cpu": "4", "memory": "8Gi"}, used={"cpu": "3", "memory": "2Gi"}) == 50 + (50 + 100 - 75) // 2


def test_a_difference_is_halved_toward_zero() -> None:
    # before: 100; after: |0.26 - 0| / 2 = 0.13 -> 87; 50 - 13 = 37
    pod = make_pod(requests={"cpu": "260m"})
    assert score(pod, {"cpu": "1", "memory": "1Gi"}) == 50 + 37 // 2


@pytest.mark.parametrize("resources", [("cpu", "memory"), ("cpu", "memory", "ephemeral-storage")])
def test_floats_are_those_of_go(resources: tuple[str, ...]) -> None:
    # before: |0 - 0.02| / 2 = 0.01 -> 99. After: |0.1 - 0.8| / 2 = 0.35000000000000003 -> 64.99999999999999 -> 64;
    # exact arithmetic says 65, and so does the standard deviation, which is not for two resources
    pod = make_pod(requests={"cpu": "100m", "memory": "780"})
    allocatable, used = {"cpu": "1", "memory": "1000"}, {"memory": "20"}
    assert score(pod, allocatable, used, resources) == 50 + (50 + 64 - 99) // 2 == 57


def test_use_beyond_what_there_is_counts_as_all_of_it() -> None:
    # before: |1 - 0| / 2 -> 50; after: the same
    pod = make_pod(requests={"cpu": "1"})
    assert score(pod, {"cpu": "1", "memory": "1Gi"}, used={"cpu": "1"}) == 75


def test_requests_count_as_written_without_defaults() -> None:
    # the pod on the node asks for nothing, so nothing is used: before 100, after |0.5 - 0| / 2 -> 75
    pod = make_pod(requests={"cpu": "500m"})
    assert score(pod, {"cpu": "1", "memory": "1Gi"}, used={}) == 50 + (50 + 75 - 100) // 2


def test_pod_level_requests_count() -> None:
    pod = make_pod(containers=[make_container()], resources=ResourceRequirements(requests={"cpu": "500m"}))
    assert score(pod, {"cpu": "1", "memory": "1Gi"}) == 50 + (50 + 75 - 100) // 2


def test_more_than_two_resources_use_the_standard_deviation() -> None:
    # fractions after: 0.5, 0.25, 0: mean 0.25, deviation sqrt(0.125 / 3) = 0.2041 -> 79.58 -> 79; before: 100
    pod = make_pod(requests={"cpu": "500m", "memory": "256Mi"})
    resources = ("cpu", "memory", "ephemeral-storage")
    assert (
        score(pod, {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"}, resources=resources)
        == 50 + (50 + 79 - 100) // 2
    )


def test_two_of_three_resources_use_half_their_distance() -> None:
    # the node has no ephemeral-storage: |0.5 - 0.25| / 2 = 0.125 -> 87
    pod = make_pod(requests={"cpu": "500m", "memory": "256Mi"})
    for resources in (("cpu", "memory", "ephemeral-storage"), ("ephemeral-storage", "cpu", "memory")):
        assert score(pod, {"cpu": "1", "memory": "1Gi"}, resources=resources) == 50 + (50 + 87 - 100) // 2


def test_scalars_count_only_when_asked_for() -> None:
    allocatable = {"cpu": "1", "memory": "1Gi", FPGA: "2", GPU: "2"}
    pod = make_pod(requests={"cpu": "500m", "memory": "256Mi", FPGA: "0"})
    assert score(pod, allocatable, resources=("cpu", "memory", FPGA, GPU)) == 50 + (50 + 87 - 100) // 2
    # fractions 0.5, 0.5, 0.5 with one fpga of two: balanced as before
    pod = make_pod(requests={"cpu": "500m", "memory": "512Mi", FPGA: "1"})
    assert score(pod, allocatable, resources=("cpu", "memory", FPGA)) == 75


@pytest.mark.parametrize("allocatable", [{"cpu": "1", "memory": "0"}, {"cpu": "0", "memory": "0"}])
def test_fewer_than_two_resources_are_always_in_balance(allocatable: dict[str, str]) -> None:
    pod = make_pod(requests={"cpu": "500m"})
    assert score(pod, allocatable) == 75
    assert score(pod, allocatable, resources=("cpu",)) == 75


def test_without_a_resource_that_nodes_keep_sums_of_all_is_in_balance() -> None:
    pod = make_pod(requests={"licence": "1"})
    assert score(pod, {"cpu": "1", "licence": "2"}, resources=("licence",)) == 75


def test_a_pod_without_requests_skips_the_score_and_counts_0_without_prescore() -> None:
    table = table_of([make_node("node")])
    balanced, pod = plugin(), PodInfo(make_pod(requests={FPGA: "1"}))
    assert balanced.pre_score({}, pod, table.columns(balanced)) == SKIP
    assert ask(table, balanced, "score", {}, pod) == {"node": 0}
    assert plugin(FPGA).pre_score({}, pod, table.columns(balanced)) == SUCCESS


def test_what_the_pod_takes_of_each_resource_is_signed() -> None:
    def sign(**requests: str) -> Any:
        return plugin("cpu", "memory").sign(PodInfo(make_pod(requests=requests)))

    assert sign(cpu="1") == sign(cpu="1000m", memory="0")
    assert len({sign(), sign(cpu="1"), sign(memory="1"), sign(cpu="1", memory="1")}) == 4


def errors(**fields: Any) -> list[str]:
    return validate(msgspec.convert(fields, NodeResourcesBalancedAllocationArgs), "args")


def test_weights_are_1_and_names_unique() -> None:
    assert errors() == []
    assert errors(resources=[]) == []
    assert errors(resources=[{"name": "cpu", "weight": 0}, {"name": "memory"}]) == []
    assert errors(resources=[{"name": "cpu", "weight": 2}, {"name": "cpu"}, {"name": "cpu", "weight": 1}]) == [
        "args.resources[0].weight: Invalid value: 2: must be 1",
        'args.resources[1].name: Duplicate value: "cpu"',
        'args.resources[2].name: Duplicate value: "cpu"',
    ]


def test_a_plugin_is_not_made_of_wrong_arguments() -> None:
    with pytest.raises(ValueError, match=r"arguments of NodeResourcesBalancedAllocation: resources\[1\].name"):
        plugin("cpu", "cpu")


def test_an_unknown_argument_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        errors(resource=[])
