"""Host ports of a pod (kube-scheduler 1.37: NodePorts, GetHostPorts)."""

from scheduler.api.objects import ContainerPort, PodSpec
from scheduler.api.ports import HostPort, host_ports
from tests.support.builders import make_container


def test_ports_of_sidecars_come_before_those_of_containers_and_init_containers_have_none() -> None:
    spec = PodSpec(
        containers=[
            make_container("a", ports=[ContainerPort(host_port=80), ContainerPort(host_port=81)]),
            make_container("b", ports=[ContainerPort(host_port=82)]),
        ],
        init_containers=[
            make_container("init", ports=[ContainerPort(host_port=90)]),
            make_container("sidecar", ports=[ContainerPort(host_port=91)], restart_policy="Always"),
        ],
    )
    assert [port.port for port in host_ports(spec)] == [91, 80, 81, 82]


def test_a_container_port_without_host_port_is_none() -> None:
    ports = [ContainerPort(container_port=8080), ContainerPort(container_port=8080, host_port=0)]
    assert host_ports(PodSpec(containers=[make_container(ports=ports)])) == ()


def test_an_empty_address_is_any_and_an_empty_protocol_tcp() -> None:
    ports = [ContainerPort(host_port=53), ContainerPort(host_port=53, protocol="UDP", host_ip="10.0.0.1")]
    assert host_ports(PodSpec(containers=[make_container(ports=ports)])) == (
        HostPort("0.0.0.0", "TCP", 53),
        HostPort("10.0.0.1", "UDP", 53),
    )
