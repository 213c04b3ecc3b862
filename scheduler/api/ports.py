"""Host ports that a pod uses (kube-scheduler 1.37: NodePorts, HostPortInfo)."""

from __future__ import annotations

from typing import NamedTuple

from scheduler.api.objects import PodSpec

ANY_IP = "0.0.0.0"


class HostPort(NamedTuple):
    host_ip: str
    protocol: str
    port: int


def conflict(port: HostPort, other: HostPort) -> bool:
    """Whether two pods with these ports cannot be on one node; ``::`` is an address like others."""
    if (port.protocol, port.port) != (other.protocol, other.port):
        return False
    return port.host_ip == other.host_ip or ANY_IP in (port.host_ip, other.host_ip)


def host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """Ports above 0 of restartable init containers, then of containers; empty address is 0.0.0.0, empty protocol TCP."""
    sidecars = [container for container in spec.init_containers or () if container.restart_policy == "Always"]
    return tuple(
        HostPort(port.host_ip or ANY_IP, port.protocol or "TCP", port.host_port)
        for container in (*sidecars, *spec.containers)
        for port in container.ports or ()
        if port.host_port > 0
    )
