from __future__ import annotations

import itertools
from typing import Any

import pytest

from scheduler.api.objects import Container, Node, Pod, ResourceRequirements
from scheduler.api.quantity import Quantity
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code, Reason
from scheduler.plugins.node_resources_fit import NodeResourcesFit, NodeResourcesFitArgs
from tests.support.builders import make_container, make_node, make_pod
from tests.support.plugin_runs import FITS, Refusal, judge, table_of

GI = 1024**3
FPGA, GPU = "example.com/fpga", "example.com/gpu"


def node(cpu: str = "4", memory: str = "8Gi", name: str = "node", **more: str) -> Node:
    extra = {key.replace("__", "/").replace("_", "-"): value for key, value in more.items()}
    return make_node(name, allocatable={"cpu": cpu, "memory": memory, **extra})


def verdict(pod: Pod, where: Node, used: dict[str, str] | None = None, fit: NodeResourcesFit | None = None) -> Refusal:
    """What the plugin says of a node on which one pod uses ``used``."""
    pods = [] if used is None else [make_pod("user", requests=used, node_name=where.metadata.name)]
    (found,) = judge(fit or NodeResourcesFit(), pod, table_of([where], pods)).values()
    return found


def lacks(*resources: str, never: bool = False) -> Refusal:
    code = "UnschedulableAndUnresolvable" if never else "Unschedulable"
    return code, tuple(resource if " " in resource else f"Insufficient {resource}" for resource in resources)


def test_what_is_free_can_be_had_to_the_last_unit() -> None:
    used = {"cpu": "3500m", "memory": "6Gi"}
    assert verdict(make_pod(requests={"cpu": "500m", "memory": "2Gi"}), node(), used) == FITS
    assert verdict(make_pod(requests={"cpu": "501m", "memory": "2Gi"}), node(), used) == lacks("cpu")
    assert verdict(make_pod(requests={"cpu": "500m", "memory": str(2 * GI + 1)}), node(), used) == lacks("memory")


def test_a_request_above_the_whole_node_makes_all_of_it_unresolvable() -> None:
    used = {"cpu": "3500m"}
    assert verdict(make_pod(requests={"cpu": "1", "memory": "16Gi"}), node(), used) == lacks(
        "cpu", "memory", never=True
    )
    assert verdict(make_pod(requests={"cpu": "1", "memory": "6Gi"}), node(), used) == lacks("cpu")


def test_a_resource_that_the_pod_does_not_ask_for_is_not_looked_at() -> None:
    overcommitted = {"cpu": "4500m"}
    assert verdict(make_pod(requests={"memory": "1Gi"}), node(), overcommitted) == FITS
    assert verdict(make_pod(requests={"cpu": "0", FPGA: "0"}), node(), overcommitted) == FITS


def test_too_many_pods_never_becomes_unresolvable_by_itself() -> None:
    assert verdict(make_pod(requests={}), node(pods="1"), {}) == lacks("Too many pods")
    assert verdict(make_pod(requests={}), node(pods="0")) == lacks("Too many pods")
    assert verdict(make_pod(requests={"memory": "9Gi"}), node(pods="1"), {}) == lacks(
        "Too many pods", "memory", never=True
    )
    assert verdict(make_pod(requests={}), node(pods="2"), {}) == FITS


def test_reasons_come_in_the_order_of_the_checks_and_scalars_by_name() -> None:
    pod = make_pod(
        requests={GPU: "1", FPGA: "1", "hugepages-2Mi": "2Mi", "ephemeral-storage": "1", "memory": "9Gi", "cpu": "5"}
    )
    everything = lacks("Too many pods", "cpu", "memory", "ephemeral-storage", FPGA, GPU, "hugepages-2Mi", never=True)
    assert verdict(pod, node(pods="0")) == everything


def test_a_text_shows_once_whichever_its_code() -> None:
    pod = PodInfo(make_pod(requests={"cpu": "1", FPGA: "1"}))
    assert NodeResourcesFit().reasons({}, pod) == (
        Reason("Too many pods", Code.UNSCHEDULABLE),
        Reason("Insufficient cpu", Code.UNSCHEDULABLE),
        Reason("Insufficient cpu", Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
        Reason(f"Insufficient {FPGA}", Code.UNSCHEDULABLE),
        Reason(f"Insufficient {FPGA}", Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
    )


def test_scalars_are_counted_and_their_absence_is_a_node_with_none() -> None:
    pod = make_pod(requests={FPGA: "2"})
    assert verdict(pod, node(example_com__fpga="2")) == lacks(FPGA, never=True)  # another name: nothing of it here
    with_two = make_node("node", allocatable={FPGA: "2"})
    assert verdict(pod, with_two) == FITS
    assert verdict(pod, with_two, {FPGA: "1"}) == lacks(FPGA)
    assert verdict(pod, make_node("node", allocatable={FPGA: "1"})) == lacks(FPGA, never=True)


def test_names_that_are_no_resource_of_a_node_are_ignored() -> None:
    assert verdict(make_pod(requests={"pods": "1000", "storage": "1Ei"}), node()) == FITS


@pytest.mark.parametrize(
    ("args", "ignored"),
    [
        (NodeResourcesFitArgs(ignored_resources=(FPGA,)), True),
        (NodeResourcesFitArgs(ignored_resource_groups=("example.com",)), True),
        (NodeResourcesFitArgs(ignored_resources=(GPU,), ignored_resource_groups=("example",)), False),
    ],
)
def test_ignored_extended_resources_are_not_checked(args: NodeResourcesFitArgs, ignored: bool) -> None:
    pod = make_pod(requests={FPGA: "1"})
    assert verdict(pod, node(), fit=NodeResourcesFit(args)) == (FITS if ignored else lacks(FPGA, never=True))


def test_only_extended_resources_can_be_ignored() -> None:
    args = NodeResourcesFitArgs(ignored_resources=("cpu", "hugepages-2Mi"), ignored_resource_groups=("hugepages-2Mi",))
    pod = make_pod(requests={"cpu": "5", "hugepages-2Mi": "2Mi"})
    assert verdict(pod, node(), fit=NodeResourcesFit(args)) == lacks("cpu", "hugepages-2Mi", never=True)


def pod_level(requests: dict[str, Quantity], *containers: Container, **spec: Any) -> Pod:
    return make_pod(containers=containers, resources=ResourceRequirements(requests=requests), **spec)


def test_pod_level_requests_replace_the_containers_sum_and_overhead_is_added() -> None:
    pod = pod_level(
        {"cpu": "1500m"},
        make_container("a", requests={"cpu": "500m", "memory": "1Gi"}),
        make_container("b", requests={"cpu": "500m", "memory": "1Gi"}),
        overhead={"cpu": "50m"},
    )
    assert verdict(pod, node(cpu="1550m", memory="2Gi")) == FITS
    assert verdict(pod, node(cpu="1549m", memory="2Gi")) == lacks("cpu", never=True)
    assert verdict(pod, node(cpu="1550m", memory=str(2 * GI - 1))) == lacks("memory", never=True)


@pytest.mark.parametrize(("order", "millicores"), [("I1 S I2", 500), ("S I1 I2", 600)])
def test_an_init_container_runs_beside_the_sidecars_started_before_it(order: str, millicores: int) -> None:
    init = {
        "I1": make_container("i1", requests={"cpu": "500m"}),
        "I2": make_container("i2", requests={"cpu": "300m"}),
        "S": make_container("s", requests={"cpu": "100m"}, restart_policy="Always"),
    }
    pod = make_pod(requests={"cpu": "200m"}, init_containers=[init[name] for name in order.split()])
    assert verdict(pod, node(cpu=f"{millicores}m")) == FITS
    assert verdict(pod, node(cpu=f"{millicores - 1}m")) == lacks("cpu", never=True)


def test_quantities_round_up() -> None:
    pod = make_pod(requests={"cpu": "1500u", "memory": "1500m"})
    assert verdict(pod, node(cpu="2m", memory="2")) == FITS
    assert verdict(pod, node(cpu="1m", memory="1")) == lacks("cpu", "memory", never=True)


def test_a_pod_of_more_resources_than_a_mask_has_bits_for_is_refused_by_name() -> None:
    fit = NodeResourcesFit()
    table = table_of([make_node()])
    requests = {f"example.com/r{number:02}": "1" for number in range(31)}
    fit.pre_filter({}, PodInfo(make_pod(requests=requests)), table.columns(fit))
    with pytest.raises(ValueError, match=r"pod default/pod requests 32 different resources .* at most 31"):
        fit.pre_filter({}, PodInfo(make_pod(requests={**requests, "cpu": "1"})), table.columns(fit))


def test_the_last_of_31_resources_has_a_bit_of_its_own() -> None:
    requests = {f"example.com/r{number:02}": "1" for number in range(31)}
    enough = dict.fromkeys(list(requests)[:-1], "1")
    assert verdict(make_pod(requests=requests), make_node("node", allocatable=enough)) == lacks(
        "example.com/r30", never=True
    )


# -------------------------------------------------------------------------------------------------------------- signing


def sign(pod: Pod, args: NodeResourcesFitArgs | None = None) -> Any:
    return (NodeResourcesFit(args) if args else NodeResourcesFit()).sign(PodInfo(pod))


def test_pods_that_filter_alike_and_score_differently_are_signed_differently() -> None:
    asked = make_container("a", requests={"cpu": "200m", "memory": "400Mi"})
    one = make_pod(containers=[asked, make_container("b", requests={"cpu": "0", "memory": "0"})])
    other = make_pod(containers=[asked, make_container("b")])
    whole = pod_level({"cpu": "200m", "memory": "400Mi"}, make_container("a"))
    assert PodInfo(one).requests == PodInfo(other).requests == PodInfo(whole).requests
    assert len({sign(one), sign(other), sign(whole)}) == 3


def test_a_sidecar_is_signed_differently_from_an_init_container() -> None:
    def pod(policy: str | None) -> Pod:
        return make_pod(
            requests={"cpu": "200m"},
            init_containers=[make_container("init", requests={"cpu": "100m"}, restart_policy=policy)],
        )

    assert sign(pod("Always")) != sign(pod(None))


def test_every_amount_counts_and_the_order_of_containers_does_not() -> None:
    a, b = make_container("a", requests={"cpu": "1"}), make_container("b", requests={"memory": "1Gi", FPGA: "1"})
    assert sign(make_pod(containers=[a, b])) == sign(make_pod(containers=[b, a]))
    signatures = [
        sign(make_pod(requests={}, overhead=overhead, containers=[make_container(requests=requests)]))
        for requests, overhead in (
            ({}, None),
            ({"cpu": "1"}, None),
            ({"cpu": "1"}, {"cpu": "1m"}),
            ({"memory": "1"}, None),
            ({"ephemeral-storage": "1"}, None),
            ({FPGA: "1"}, None),
            ({GPU: "1"}, None),
            ({FPGA: "2"}, None),
        )
    ]
    assert all(left != right for left, right in itertools.combinations(signatures, 2))


def test_ignored_resources_are_not_signed() -> None:
    args = NodeResourcesFitArgs(ignored_resources=(FPGA,))
    assert sign(make_pod(requests={FPGA: "1"}), args) == sign(make_pod(requests={}), args)


def test_what_wakes_a_rejected_pod() -> None:
    assert NodeResourcesFit().events_to_register() == (
        ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE),
        ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE),
        ClusterEvent(EventResource.DEVICE_CLASS, ActionType.ADD | ActionType.UPDATE),
        ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_SCALE_DOWN),
        ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_SCALE_DOWN),
    )
