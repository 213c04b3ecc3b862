"""Host ports in use (kube-scheduler 1.37: HostPortInfo; plugins NodePorts)."""

import pytest

from scheduler.api.ports import HostPort
from scheduler.cache.host_ports import HostPortIndex

ANY = HostPort("0.0.0.0", "TCP", 80)
ONE = HostPort("10.0.0.1", "TCP", 80)
V6 = HostPort("::", "TCP", 80)


def conflicting_rows(index: HostPortIndex, host_ip: str, protocol: str = "TCP", port: int = 80) -> list[int]:
    return sorted({row for users in index.conflicts(host_ip, protocol, port) for row in users})


@pytest.mark.parametrize(
    ("wanted", "used_any", "used_one", "used_v6"),
    [
        ("0.0.0.0", True, True, True),
        ("", True, True, True),
        ("10.0.0.1", True, True, False),
        ("10.0.0.2", True, False, False),
        ("::", True, False, True),
    ],
)
def test_the_wildcard_address_meets_all_and_others_themselves_and_the_wildcard(
    wanted: str, used_any: bool, used_one: bool, used_v6: bool
) -> None:
    index = HostPortIndex()
    for row, port in enumerate((ANY, ONE, V6)):
        index.add(row, [port])
    expected = [row for row, conflict in enumerate((used_any, used_one, used_v6)) if conflict]
    assert conflicting_rows(index, wanted) == expected


def test_another_port_or_protocol_is_free() -> None:
    index = HostPortIndex()
    index.add(0, [ANY])
    assert conflicting_rows(index, "0.0.0.0", port=81) == []
    assert conflicting_rows(index, "0.0.0.0", protocol="UDP") == []
    assert conflicting_rows(index, "0.0.0.0", protocol="") == [0]  # an empty protocol is TCP


def test_a_port_with_two_users_is_taken_until_both_have_left() -> None:
    index = HostPortIndex()
    index.add(0, [ANY])
    index.add(0, [ANY])
    index.remove(0, [ANY])
    assert conflicting_rows(index, "10.0.0.1") == [0]
    index.remove(0, [ANY])
    assert conflicting_rows(index, "10.0.0.1") == []


def test_a_port_that_is_free_again_leaves_nothing_behind() -> None:
    index = HostPortIndex()
    index.add(0, [ANY, ONE])
    index.remove(0, [ONE])
    assert list(index.uses()) == [(0, ANY, 1)]
    index.remove(0, [ANY])
    assert list(index.uses()) == []
    assert not index._ports
