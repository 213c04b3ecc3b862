"""Which events a change is, and how long it takes to wake whom they may help (kube-scheduler 1.37: event handlers)."""

from __future__ import annotations

from itertools import count

from scheduler.api.objects import Namespace, ObjectMeta, Taint
from scheduler.core.stimulus import NamespaceApplied, StorageObjectApplied
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core, changed, on_node
from tests.support.storage import make_claim

POD = make_pod("p")


def numbers(core: Core) -> dict[str, int]:
    """Observations by event."""
    return {event.label: sum(one.buckets) for event, one in core.state.measurements.event_seconds.items()}


def sums(core: Core) -> dict[str, float]:
    return {event.label: one.sum for event, one in core.state.measurements.event_seconds.items()}


def ticking() -> Core:
    """A core whose stopwatch goes on by a second each time that it is looked at."""
    core = Core()
    core.state.measurements.stopwatch = count(100.0).__next__
    return core


def test_an_event_takes_from_the_change_up_to_the_end_of_waking() -> None:
    core = ticking()
    core.nodes(make_node("n"), make_node("m"))
    core.node_gone("m")

    assert numbers(core) == {"NodeAdd": 2, "NodeDelete": 1}
    assert sums(core) == {"NodeAdd": 2.0, "NodeDelete": 1.0}


def test_each_event_of_a_change_counts_and_takes_what_those_before_it_took_too() -> None:
    core = ticking()
    core.nodes(make_node("n"))
    core.nodes(make_node("n", labels={"a": "b"}, taints=[Taint(key="k", effect="NoSchedule")]))

    assert sums(core) == {"NodeAdd": 1.0, "NodeUpdateNodeLabel": 1.0, "NodeUpdateNodeTaint": 2.0}


def test_a_heartbeat_is_no_event() -> None:
    core = ticking()
    core.nodes(make_node("n"), make_node("n"))

    assert numbers(core) == {"NodeAdd": 1}


def test_a_pod_that_waits_comes_changes_and_goes() -> None:
    core = ticking()
    core.pods(POD, changed(POD, version="2"))
    core.pod_gone(POD)

    assert numbers(core) == {"UnscheduledPodAdd": 1, "UnscheduledPodUpdate": 1, "UnscheduledPodDelete": 1}


def test_a_state_of_a_pod_that_is_known_is_no_event() -> None:
    core = ticking()
    core.pods(changed(POD, version="1"), changed(POD, version="1"))

    assert numbers(core) == {"UnscheduledPodAdd": 1}


def test_a_pod_of_another_scheduler_that_waits_is_no_event() -> None:
    core = ticking()
    core.pods(make_pod("theirs", scheduler_name="another"))

    assert numbers(core) == {}


def test_a_pod_on_a_node_comes_changes_and_goes() -> None:
    there = make_pod("there", node_name="n")
    core = ticking()
    core.pods(there, changed(there, version="2", metadata={"labels": {"a": "b"}}), changed(there, version="3"))
    core.pod_gone(there)

    assert numbers(core) == {
        "AssignedPodAdd": 1,
        "AssignedPodUpdatePodLabel": 2,
        "AssignedPodDelete": 1,
    }


def test_a_pod_of_ours_is_an_event_when_the_watch_shows_it_on_its_node_and_not_before() -> None:
    core = ticking()
    core.nodes(make_node("n"))
    core.pods(POD)
    core.decide()
    core.bound(POD, "n")
    assert numbers(core) == {"NodeAdd": 1, "UnscheduledPodAdd": 1}
    core.pods(on_node(POD, "n"))
    core.pod_gone(on_node(POD, "n"))

    assert numbers(core) == {"NodeAdd": 1, "UnscheduledPodAdd": 1, "AssignedPodAdd": 1, "AssignedPodDelete": 1}


def test_a_pod_that_is_being_bound_changes() -> None:
    core = ticking()
    core.nodes(make_node("n"))
    core.pods(POD)
    core.decide()
    core.pods(changed(POD, version="2"))

    assert numbers(core) == {"NodeAdd": 1, "UnscheduledPodAdd": 1, "UnscheduledPodUpdate": 1}


def test_other_objects_are_events_by_their_kind() -> None:
    core = ticking()
    for _ in range(2):
        core.scheduler.handle(StorageObjectApplied(now=0.0, subject=make_claim("data")))
    core.scheduler.handle(NamespaceApplied(now=0.0, namespace=Namespace(metadata=ObjectMeta(name="shop"))))

    assert numbers(core) == {"PersistentVolumeClaimAdd": 1, "PersistentVolumeClaimUpdate": 1, "NamespaceAdd": 1}


def test_the_clock_is_no_event() -> None:
    core = ticking()
    core.tick(1.0)

    assert numbers(core) == {}
