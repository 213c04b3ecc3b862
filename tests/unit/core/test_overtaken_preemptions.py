"""What has happened by the time at which the deletion of a victim is answered: others took the room, or the pod is on its way out."""

from __future__ import annotations

from scheduler.core.instruction import PreemptPod
from tests.support.preemption import PreemptingCore, deletions, going, nominations, seated, urgent, victims


def overtaken(priority: int) -> tuple[PreemptingCore, PreemptPod]:
    """The victim is gone, another scheduler has given its place to a pod of this priority, and no answer has come."""
    core = PreemptingCore()
    core.pods(seated("victim"), urgent())
    (deletion,) = deletions(core.decide().instructions)
    core.pod_gone(seated("victim"), at=9.0)
    core.pods(seated("foreign", priority=priority), at=9.0)
    return core, deletion


def test_the_answer_does_not_wake_a_pod_that_was_refused_since() -> None:
    core, deletion = overtaken(priority=100)
    assert core.decide(9.0).outcome == "unschedulable"
    core.deleted(deletion, at=20.0)

    assert core.rooms(urgent()) == ["unschedulable"]
    assert not core.state.preemptions.running


def test_a_nomination_that_the_api_does_not_show_yet_is_taken_back() -> None:
    """It has been written, and the watch is late."""
    core, _ = overtaken(priority=100)

    assert nominations(core.decide(9.0).instructions) == {"urgent": ""}
    assert core.nominated_to(urgent()) == ""


def test_the_answer_does_not_end_the_next_preemption_of_the_pod() -> None:
    core, deletion = overtaken(priority=0)
    (second,) = deletions(core.decide(9.0).instructions)
    assert second.pod.name == "foreign"
    core.deleted(deletion, at=20.0)
    bystander = seated("bystander", cpu="0", priority=100)
    core.pods(bystander, at=20.0)
    core.pod_gone(bystander, at=20.0)
    assert core.rooms(urgent()) == ["gated"]

    core.pod_gone(seated("foreign"), at=21.0)
    assert core.decide(21.0).node_name == "n1"
    core.deleted(second, at=21.0)
    assert not core.state.preemptions.running


def test_nobody_else_has_to_go_for_a_pod_that_terminates_meanwhile() -> None:
    """A finalizer can keep it for long."""
    core = PreemptingCore()
    core.pods(seated("one", cpu="2", priority=1), seated("two", cpu="2"), urgent())
    (first,) = deletions(core.decide().instructions)
    core.pods(going(urgent()), at=1.0)

    assert victims(core.deleted(first, at=2.0)) == []
    assert not core.state.preemptions.running
