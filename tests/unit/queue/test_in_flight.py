from __future__ import annotations

from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.queue.in_flight import InFlight

NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)
NODE_DELETE = ClusterEvent(EventResource.NODE, ActionType.DELETE)


def events(in_flight: InFlight, uid: str) -> list[ClusterEvent]:
    return [missed.event for missed in in_flight.events_since_start(uid)]


def test_events_are_seen_by_pods_that_started_before_them() -> None:
    in_flight = InFlight()
    in_flight.start("a")
    in_flight.record(NODE_ADD)
    in_flight.start("b")
    in_flight.record(NODE_DELETE)

    assert events(in_flight, "a") == [NODE_ADD, NODE_DELETE]
    assert events(in_flight, "b") == [NODE_DELETE]


def test_an_event_for_one_pod_is_not_seen_by_another() -> None:
    in_flight = InFlight()
    in_flight.start("a")
    in_flight.start("b")
    in_flight.record(NODE_ADD, "a")

    assert events(in_flight, "a") == [NODE_ADD]
    assert events(in_flight, "b") == []


def test_nothing_is_recorded_while_nobody_is_in_flight() -> None:
    in_flight = InFlight()
    in_flight.record(NODE_ADD)

    assert in_flight.event_count == 0


def test_events_are_dropped_when_the_oldest_pod_is_done() -> None:
    in_flight = InFlight()
    in_flight.start("a")
    in_flight.record(NODE_ADD)
    in_flight.start("b")
    in_flight.record(NODE_DELETE)

    in_flight.done("a")

    assert in_flight.event_count == 1
    assert events(in_flight, "b") == [NODE_DELETE]


def test_a_young_pod_that_is_done_leaves_the_events_of_older_ones() -> None:
    in_flight = InFlight()
    in_flight.start("a")
    in_flight.record(NODE_ADD)
    in_flight.start("b")

    in_flight.done("b")

    assert events(in_flight, "a") == [NODE_ADD]


def test_events_are_kept_for_the_oldest_of_those_that_are_left() -> None:
    in_flight = InFlight()
    in_flight.start("a")
    in_flight.record(NODE_ADD)
    in_flight.start("b")
    in_flight.record(NODE_DELETE)
    in_flight.start("c")

    in_flight.done("c")

    assert events(in_flight, "a") == [NODE_ADD, NODE_DELETE]
    assert events(in_flight, "b") == [NODE_DELETE]


def test_a_pod_that_is_not_in_flight_missed_nothing() -> None:
    in_flight = InFlight()
    in_flight.start("a")
    in_flight.record(NODE_ADD)

    assert events(in_flight, "b") == []


def test_an_event_is_kept_with_the_object_as_it_was_and_as_it_became() -> None:
    in_flight = InFlight()
    in_flight.start("a")
    in_flight.record(NODE_ADD, old="before", new="after")

    assert list(in_flight.events_since_start("a")) == [(NODE_ADD, "before", "after")]
