"""What the benchmark makes of the lines of its watches."""

from typing import Any

import msgspec
import pytest

from bench.observer import Record


def pod_line(uid: str, node: str = "", *, version: str = "7", kind: str = "MODIFIED") -> bytes:
    spec: dict[str, Any] = {"containers": [], **({"nodeName": node} if node else {})}
    item = {"kind": "Pod", "metadata": {"name": uid, "uid": uid, "resourceVersion": version}, "spec": spec}
    return msgspec.json.encode({"type": kind, "object": item})


def event_line(uid: str, *, version: str = "8") -> bytes:
    item = {
        "metadata": {"name": f"{uid}.1", "uid": "e", "resourceVersion": version},
        "reason": "Scheduled",
        "regarding": {"kind": "Pod", "uid": uid},
    }
    return msgspec.json.encode({"type": "ADDED", "object": item})


def test_times_are_those_of_the_first_and_the_last_pod_that_got_a_node() -> None:
    record = Record(["a", "b", "c"])

    record.take_pods([pod_line("a"), pod_line("b", "n1")], 10.0)
    record.take_pods([pod_line("a", "n1")], 12.0)
    record.take_pods([pod_line("b", "n1", version="9")], 15.0)

    assert record.nodes == {"b": ["n1"], "a": ["n1"]}
    assert (record.first_bind_at, record.last_bind_at) == (10.0, 12.0)
    assert record.bound_twice == 0


def test_a_pod_on_another_node_than_before_was_bound_twice() -> None:
    record = Record(["a", "b"])

    record.take_pods([pod_line("a", "n1"), pod_line("b", "n1"), pod_line("a", "n2")], 1.0)
    record.saw("b", "n3", 2.0)

    assert record.nodes == {"a": ["n1", "n2"], "b": ["n1", "n3"]}
    assert record.bound_twice == 2
    assert record.last_bind_at == 1.0


def test_others_pods_and_events_are_not_counted() -> None:
    record = Record(["a"])

    record.take_pods([pod_line("x", "n1")], 1.0)
    record.take_events([event_line("x")], 2.0)

    assert (record.nodes, record.told, record.first_bind_at, record.last_event_at) == ({}, set(), 0.0, 0.0)


def test_an_event_counts_once_for_each_pod() -> None:
    record = Record(["a", "b"])

    record.take_events([event_line("a"), event_line("b")], 3.0)
    record.take_events([event_line("b")], 4.0)

    assert (record.told, record.last_event_at) == ({"a", "b"}, 3.0)


def test_the_version_to_go_on_from_is_that_of_the_last_line() -> None:
    record = Record([])

    assert record.take_pods([pod_line("a", version="11"), pod_line("b", version="12")], 1.0) == "12"
    assert record.take_events([event_line("a", version="13"), event_line("b", version="14")], 1.0) == "14"


def test_what_is_no_pod_or_event_is_not_passed_over() -> None:
    error = msgspec.json.encode({"type": "ERROR", "object": {"kind": "Status", "metadata": {}, "code": 410}})

    with pytest.raises(msgspec.ValidationError):
        Record([]).take_pods([error], 1.0)
    with pytest.raises(msgspec.ValidationError):
        Record([]).take_events([error], 1.0)
