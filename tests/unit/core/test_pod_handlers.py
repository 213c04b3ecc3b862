"""What a pod that the watch shows does to queue and cache. Expected: kube-scheduler 1.37, event handlers."""

from __future__ import annotations

import pytest

from scheduler.api.objects import PodSchedulingGate, PodStatus, Toleration
from tests.support.builders import make_node, make_pod
from tests.support.core_run import BINDING, ON_NODE, Core, changed, on_node
from tests.support.view_plugins import Everything

NOW = "2026-01-01T00:00:00Z"


def requested_cpu(core: Core, node: str) -> int:
    """Milli-CPU that pods take from the node."""
    row = core.state.cache.table.row_of(node)
    assert row is not None
    return int(core.state.cache.table.row(Everything, row).requested("cpu"))


def test_a_pod_of_ours_without_a_node_is_queued() -> None:
    core = Core()
    pod = make_pod()

    assert core.pods(pod) == []
    assert core.rooms(pod) == ["active"]


def test_an_unassigned_pod_of_another_scheduler_is_ignored() -> None:
    core = Core()
    pod = make_pod(scheduler_name="default-scheduler")
    core.pods(pod)

    assert core.rooms(pod) == []


def test_an_assigned_pod_of_any_scheduler_takes_room() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    pod = make_pod(scheduler_name="default-scheduler", node_name="n1", requests={"cpu": "3"})
    core.pods(pod)

    assert core.rooms(pod) == [ON_NODE]
    assert requested_cpu(core, "n1") == 3000


def test_a_pod_on_a_node_that_is_not_known_takes_room_when_the_node_comes() -> None:
    core = Core()
    core.pods(make_pod(node_name="n1", requests={"cpu": "3"}))
    core.nodes(make_node("n1"))

    assert requested_cpu(core, "n1") == 3000


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_takes_no_room(phase: str) -> None:
    core = Core()
    core.nodes(make_node("n1"))
    running = make_pod(node_name="n1", requests={"cpu": "3"})
    core.pods(running)
    core.pods(make_pod(node_name="n1", requests={"cpu": "3"}, status=PodStatus(phase=phase)))

    assert core.rooms(running) == []
    assert requested_cpu(core, "n1") == 0


def test_a_pending_pod_that_has_ended_leaves_the_queue() -> None:
    core = Core()
    pod = make_pod()
    core.pods(pod)
    core.pods(make_pod(status=PodStatus(phase="Failed")))

    assert core.rooms(pod) == []


def test_a_deleted_pod_leaves_the_queue() -> None:
    core = Core()
    pod = make_pod()
    core.pods(pod)
    core.pod_gone(pod)

    assert core.rooms(pod) == []
    assert core.scheduler.schedule_one(1.0) is None


def test_a_queued_pod_that_someone_else_bound_leaves_the_queue_and_takes_room() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    pod = make_pod()
    core.pods(pod)
    core.pods(on_node(pod, "n1"))

    assert core.rooms(pod) == [ON_NODE]
    assert core.scheduler.schedule_one(1.0) is None


def test_a_terminating_pod_without_a_node_is_queued_all_the_same() -> None:
    core = Core()
    pod = make_pod(deletion_timestamp=NOW)
    core.pods(pod)

    assert core.rooms(pod) == ["active"]


def test_a_gated_pod_waits_until_its_last_gate_is_gone() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    pod = make_pod(scheduling_gates=[PodSchedulingGate(name="a"), PodSchedulingGate(name="b")])
    core.pods(pod)
    assert core.rooms(pod) == ["gated"]

    core.pods(changed(pod, version="2", scheduling_gates=[PodSchedulingGate(name="b")]))
    assert core.rooms(pod) == ["gated"]

    core.pods(changed(pod, version="3", scheduling_gates=None))
    assert core.rooms(pod) == ["active"]


def test_the_same_version_again_changes_nothing() -> None:
    """Even when what it says differs: it cannot."""
    core = Core()
    pod = changed(make_pod(), version="7")
    core.pods(pod)
    core.pods(changed(pod, version="7", priority=5))

    queued = core.state.queue.get(pod.metadata.uid)
    assert queued is not None
    assert queued.pod.priority == 0


def test_a_new_version_of_a_queued_pod_takes_its_place() -> None:
    core = Core()
    pod = changed(make_pod(), version="7")
    core.pods(pod)
    core.pods(changed(pod, version="8", priority=5))

    queued = core.state.queue.get(pod.metadata.uid)
    assert queued is not None
    assert queued.pod.priority == 5


def test_an_older_state_of_an_assigned_pod_does_not_queue_it() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    pod = make_pod()
    core.pods(on_node(pod, "n1"))
    core.pods(pod)

    assert core.rooms(pod) == [ON_NODE]


def test_a_deleted_pod_makes_room_for_one_that_waits() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    large = make_pod("large", node_name="n1", requests={"cpu": "4"})
    core.pods(large)
    waiting = make_pod("waiting")
    core.pods(waiting)
    core.decide()
    core.pod_gone(large, at=9.0)

    assert core.rooms(waiting) == ["active"]


def test_a_pod_that_shrinks_makes_room_for_one_that_waits() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    large = make_pod("large", node_name="n1", requests={"cpu": "4"})
    core.pods(large)
    waiting = make_pod("waiting")
    core.pods(waiting)
    core.decide()
    core.pods(make_pod("large", node_name="n1", requests={"cpu": "3"}), at=9.0)

    assert core.rooms(waiting) == ["active"]


def test_a_pod_that_comes_or_grows_wakes_nobody_who_lacks_room() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    waiting = make_pod("waiting", requests={"cpu": "5"})
    core.pods(waiting)
    core.decide()
    core.pods(make_pod("other", node_name="n1", requests={"cpu": "1"}), at=9.0)
    core.pods(make_pod("other", node_name="n1", requests={"cpu": "2"}), at=9.0)

    assert core.rooms(waiting) == ["unschedulable"]


def test_an_assigned_pod_that_turns_up_on_another_node_makes_room_on_the_first() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    large = make_pod("large", node_name="n1", requests={"cpu": "4"})
    core.pods(large)
    waiting = make_pod("waiting")
    core.pods(waiting)
    core.decide()
    core.pods(on_node(large, "n2"), at=9.0)

    assert core.rooms(waiting) == ["active"]
    assert requested_cpu(core, "n1") == 0


def test_an_own_update_wakes_a_pod_when_its_rejecting_plugin_asked_for_it() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    pod = changed(make_pod(requests={"cpu": "5"}), version="1")
    core.pods(pod)
    core.decide()
    core.pods(changed(pod, version="2", metadata={"labels": {"a": "b"}}), at=9.0)
    assert core.rooms(pod) == ["unschedulable"]

    core.pods(changed(make_pod(requests={"cpu": "3"}), version="3"), at=9.0)
    assert core.rooms(pod) == ["active"]


def test_a_toleration_more_does_not_help_a_pod_that_lacks_room() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    pod = changed(make_pod(requests={"cpu": "5"}), version="1")
    core.pods(pod)
    core.decide()
    core.pods(changed(pod, version="2", tolerations=[Toleration(operator="Exists")]), at=9.0)

    assert core.rooms(pod) == ["unschedulable"]


# trap: own-updates-wake-nobody
def test_the_patch_of_its_own_condition_does_not_wake_a_pod() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    pod = changed(make_pod(requests={"cpu": "5"}), version="1")
    core.pods(pod)
    core.decide()
    core.pods(changed(pod, version="2"), at=9.0)

    assert core.rooms(pod) == ["unschedulable"]


def test_updates_of_an_assumed_pod_leave_it_where_it_is() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    pod = changed(make_pod(), version="1")
    core.pods(pod)
    core.decide()
    core.pods(changed(pod, version="2", metadata={"labels": {"a": "b"}}))

    assert core.rooms(pod) == [BINDING, ON_NODE]
    assert core.scheduler.schedule_one(1.0) is None


def test_a_pod_made_anew_under_the_same_name_is_another_pod() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    first, second = make_pod(uid="first"), make_pod(uid="second")
    core.pods(first)
    core.decide()
    core.pod_gone(first)
    core.pods(second)

    assert core.rooms(first) == [BINDING]
    assert core.rooms(second) == ["active"]
    assert core.decide().uid == "second"
