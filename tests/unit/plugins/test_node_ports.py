from __future__ import annotations

from typing import Any

import pytest

from scheduler.api.objects import ContainerPort, Pod
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SKIP
from scheduler.plugins.node_ports import NodePorts
from tests.support.builders import make_container, make_node, make_pod
from tests.support.plugin_runs import FITS, judge, table_of

TAKEN = ("Unschedulable", ("node(s) didn't have free ports for the requested pod ports",))


def port(number: int, host_ip: str = "", protocol: str = "") -> ContainerPort:
    return ContainerPort(host_port=number, container_port=number, host_ip=host_ip, protocol=protocol)


def with_ports(*ports: ContainerPort, name: str = "pod", **spec: Any) -> Pod:
    return make_pod(name, containers=[make_container(ports=ports)], **spec)


@pytest.mark.parametrize(
    ("used", "wanted", "fits"),
    [
        (port(80), port(80), False),
        (port(80), port(81), True),
        (port(80), port(80, protocol="UDP"), True),
        (port(80, protocol="TCP"), port(80), False),
        (port(80, "10.0.0.1"), port(80), False),
        (port(80, "10.0.0.1"), port(80, "0.0.0.0"), False),
        (port(80, "10.0.0.1"), port(80, "10.0.0.1"), False),
        (port(80, "10.0.0.1"), port(80, "10.0.0.2"), True),
        (port(80, "0.0.0.0"), port(80, "10.0.0.1"), False),
        (port(80, "::"), port(80, "10.0.0.1"), True),
        (port(80, "::"), port(80), False),
    ],
)
def test_a_port_that_is_used_cannot_be_had_again(used: ContainerPort, wanted: ContainerPort, fits: bool) -> None:
    table = table_of([make_node("busy"), make_node("idle")], [with_ports(used, name="other", node_name="busy")])
    assert judge(NodePorts(), with_ports(wanted), table) == {"busy": FITS if fits else TAKEN, "idle": FITS}


def test_one_taken_port_of_several_is_enough() -> None:
    table = table_of([make_node("busy")], [with_ports(port(81), name="other", node_name="busy")])
    assert judge(NodePorts(), with_ports(port(80), port(81), port(82)), table) == {"busy": TAKEN}


def test_ports_of_one_pod_do_not_conflict_with_each_other() -> None:
    table = table_of([make_node("idle")])
    assert judge(NodePorts(), with_ports(port(80), port(80)), table) == {"idle": FITS}


def test_a_pod_without_host_ports_skips_the_rule() -> None:
    plugin = NodePorts()
    table = table_of([make_node()])
    for pod in (make_pod(), with_ports(port(0))):
        assert plugin.pre_filter({}, PodInfo(pod), table.columns(plugin)).status == SKIP


def test_sidecars_use_host_ports_and_other_init_containers_do_not() -> None:
    plugin = NodePorts()
    table = table_of([make_node()])
    for policy, skipped in (("Always", False), (None, True)):
        init = make_container("init", ports=[port(80)], restart_policy=policy)
        info = PodInfo(make_pod(init_containers=[init]))
        assert (plugin.pre_filter({}, info, table.columns(plugin)).status == SKIP) is skipped


def test_protocol_address_and_kind_of_container_are_signed() -> None:
    def sign(*ports: ContainerPort) -> object:
        return NodePorts().sign(PodInfo(with_ports(*ports)))

    assert sign(port(80), port(81)) == sign(port(81), port(80, "0.0.0.0", "TCP"))
    assert (
        len({sign(port(80)), sign(port(80, protocol="UDP")), sign(port(80, "10.0.0.1")), sign(port(81)), sign()}) == 5
    )
    pods = [
        make_pod(init_containers=[make_container("init", ports=[port(80)], restart_policy=policy)])
        for policy in ("Always", None)
    ]
    assert NodePorts().sign(PodInfo(pods[0])) != NodePorts().sign(PodInfo(pods[1]))


def test_what_wakes_a_rejected_pod() -> None:
    assert NodePorts().events_to_register() == (
        ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE),
        ClusterEvent(EventResource.NODE, ActionType.ADD),
    )
