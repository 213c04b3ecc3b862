"""Host ports in use, by port instead of by node: a pod asks for few ports and the answer is for all nodes.

kube-scheduler 1.37: HostPortInfo, except that uses are counted: while one of two users of a port is left, it is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scheduler.api.ports import ANY_IP, HostPort

_Uses = dict[int, int]


class _Port:
    """Users of one (protocol, port) by row, in all and by address."""

    __slots__ = ("by_ip", "rows")

    def __init__(self) -> None:
        self.rows: _Uses = {}
        self.by_ip: dict[str, _Uses] = {}


def _count(uses: _Uses, row: int, change: int) -> None:
    number = uses.get(row, 0) + change
    if number:
        uses[row] = number
    else:
        del uses[row]


class HostPortIndex:
    """Which rows use which host ports."""

    def __init__(self) -> None:
        self._ports: dict[tuple[str, int], _Port] = {}

    def add(self, row: int, ports: Iterable[HostPort]) -> None:
        for host_ip, protocol, number in ports:
            port = self._ports.get((protocol, number))
            if port is None:
                port = self._ports[protocol, number] = _Port()
            _count(port.rows, row, 1)
            _count(port.by_ip.setdefault(host_ip, {}), row, 1)

    def remove(self, row: int, ports: Iterable[HostPort]) -> None:
        for host_ip, protocol, number in ports:
            port = self._ports[protocol, number]
            _count(port.rows, row, -1)
            users = port.by_ip[host_ip]
            _count(users, row, -1)
            if not users:
                del port.by_ip[host_ip]
            if not port.rows:
                del self._ports[protocol, number]

    def conflicts(self, host_ip: str, protocol: str, number: int) -> list[_Uses]:
        """The rows that cannot take another user, as keys of up to two dicts.

        0.0.0.0 meets every address, another address itself and 0.0.0.0; ``::`` is an address like others.
        """
        port = self._ports.get((protocol or "TCP", number))
        if port is None:
            return []
        if not host_ip or host_ip == ANY_IP:
            return [port.rows]
        return [users for ip in (ANY_IP, host_ip) if (users := port.by_ip.get(ip))]

    def uses(self) -> Iterator[tuple[int, HostPort, int]]:
        """Every (row, host port, number of users), in no particular order."""
        for (protocol, number), port in self._ports.items():
            for host_ip, users in port.by_ip.items():
                for row, count in users.items():
                    yield row, HostPort(host_ip, protocol, number), count
