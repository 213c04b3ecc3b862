"""PreBind a step at a time: what it writes, what it waits for, what comes of its failure, and PostBind at the end.

Expected: kube-scheduler 1.37, bindingCycle, RunPreBindPlugins, getPreBindPluginGroups, RunPostBindPlugins.
"""

from __future__ import annotations

from typing import Any

import pytest

from scheduler.api.objects import Pod
from scheduler.core.binding_cycle import object_changed
from scheduler.core.instruction import BindPod, Condition, Instruction, PatchObject, PatchPodStatus, RecordEvent
from scheduler.framework.binding import (
    ObjectKey,
    ObjectPatch,
    PatchAnswer,
    PermitAnswer,
    PreBindFailed,
    PreBindWaits,
    PreBindWrites,
    PreFlight,
)
from scheduler.framework.status import SKIP, SUCCESS, Code, Status
from tests.support.binding_plugins import DONE, Asked, claim_patch, scripted
from tests.support.builders import make_node, make_pod
from tests.support.core_run import BINDING, ON_NODE, Core, changed, on_node, reference
from tests.support.scripted_plugins import make_profile, rejected

POD = make_pod("web", requests={"cpu": "3"})
UID = POD.metadata.uid
BIND = BindPod(pod=reference(POD), node_name="n1")
NOMINATION = PatchPodStatus(pod=reference(POD), nominated_node_name="n1")
CLAIM = ObjectKey("PersistentVolumeClaim", "default", "data")
NODE = ObjectKey("Node", "", "n1")


class Run:
    """A pod is decided on at second 100, with plugins that do what ``steps`` say, by plugin; A and B."""

    def __init__(self, *plugins: Any, diary: list[Asked], pod: Pod = POD) -> None:
        self.diary = diary
        self.core = Core([make_profile(*plugins)])
        self.core.nodes(make_node("n1"))
        self.core.pods(pod, at=99.0)
        self.instructions = self.core.decide(100.0).instructions

    def changed(self, key: ObjectKey, at: float) -> list[Instruction]:
        return object_changed(self.core.state, key, at)

    def work(self) -> list[str]:
        """Who was asked for PreBind, and when."""
        return [f"{asked.plugin} {asked.now:g}" for asked in self.diary if asked.point == "pre_bind"]

    def answers(self) -> list[tuple[PatchAnswer, ...]]:
        return [asked.answers for asked in self.diary if asked.point == "pre_bind"]


def run_of(*steps: Any, **answers: Any) -> Run:
    """One plugin A with these steps."""
    diary: list[Asked] = []
    return Run(scripted("A", diary, steps=steps, **answers), diary=diary)


def patch_of(number: int, patch: ObjectPatch) -> PatchObject:
    return PatchObject(number=number, pod=reference(POD), patch=patch)


def told(message: str, now: float, reason: str = "SchedulerError", pod: Pod = POD) -> list[Instruction]:
    """Event and status of a pod that was nominated meanwhile."""
    event = RecordEvent(
        pod=reference(pod),
        type="Warning",
        reason="FailedScheduling",
        action="Scheduling",
        note=message,
        controller="reprise",
        now=now,
    )
    condition = Condition(
        type="PodScheduled",
        status="False",
        reason=reason,
        message=message,
        observed_generation=0,
        last_transition_time=now,
    )
    patch = PatchPodStatus(
        pod=reference(pod), condition=condition, condition_order=["PodScheduled"], nominated_node_name=""
    )
    return [event, patch]


def test_work_that_is_done_at_once_is_followed_by_the_bind() -> None:
    run = run_of(DONE)

    assert run.instructions == [NOMINATION, BIND]
    assert run.work() == ["A 100"]


def test_without_work_the_pod_is_bound_and_not_nominated() -> None:
    assert run_of(DONE, flight=PreFlight(SKIP)).instructions == [BIND]


# trap: done-before-pre-bind
def test_a_pod_is_out_of_flight_while_pre_bind_is_at_work() -> None:
    run = run_of(PreBindWaits((CLAIM,)))

    assert run.instructions == [NOMINATION]
    assert run.core.rooms(POD) == [BINDING, ON_NODE]
    assert not run.core.state.queue.is_in_flight(UID)


def test_patches_are_sent_one_after_the_other_and_answered_together() -> None:
    first, second = claim_patch("a"), claim_patch("b")
    run = run_of(PreBindWrites((first, second)), DONE)

    assert run.instructions == [NOMINATION, patch_of(1, first)]
    assert run.core.patched(1, "6", at=101.0) == [patch_of(2, second)]
    assert run.core.patched(2, "9", at=102.0) == [BIND]
    assert run.answers() == [(), (PatchAnswer("6"), PatchAnswer("9"))]
    assert run.work() == ["A 100", "A 102"]


def test_after_a_patch_that_failed_none_is_sent_and_the_plugin_decides() -> None:
    run = run_of(PreBindWrites((claim_patch("a"), claim_patch("b"))), PreBindFailed(Status(Code.ERROR, ("conflict",))))
    instructions = run.core.patch_failed(1, "the object has been modified", at=101.0)

    assert run.answers()[1] == (PatchAnswer(error="the object has been modified"),)
    assert instructions == told('running PreBind plugin "A": conflict', 101.0)


def test_a_plugin_can_write_again_after_a_failure() -> None:
    run = run_of(PreBindWrites((claim_patch(),)), PreBindWrites((claim_patch(),)), DONE)

    assert run.core.patch_failed(1) == [patch_of(2, claim_patch())]
    assert run.core.patched(2) == [BIND]


def test_an_answer_that_nobody_waits_for_is_passed_over() -> None:
    run = run_of(PreBindWrites((claim_patch(),)), PreBindWaits((CLAIM,)), DONE)
    run.core.patched(1)

    assert run.core.patched(1) == []
    assert run.core.patch_failed(77) == []
    run.changed(CLAIM, 101.0)
    assert run.answers() == [(), (PatchAnswer("6"),), ()]


def test_the_plugin_is_asked_when_what_it_waits_for_changes() -> None:
    run = run_of(PreBindWaits((CLAIM, NODE)), PreBindWaits((CLAIM,)), DONE)

    assert run.changed(ObjectKey("PersistentVolumeClaim", "default", "other"), 101.0) == []
    assert run.changed(NODE, 102.0) == []
    assert run.changed(NODE, 103.0) == []
    assert run.changed(CLAIM, 104.0) == [BIND]
    assert run.work() == ["A 100", "A 102", "A 104"]


def test_the_plugin_is_asked_when_a_node_that_it_waits_for_changes_or_goes() -> None:
    run = run_of(PreBindWaits((NODE,)), PreBindWaits((NODE,)), DONE)
    run.core.nodes(make_node("n2"), at=101.0)
    run.core.nodes(make_node("n1", labels={"zone": "a"}), at=102.0)

    assert run.core.node_gone("n1", at=103.0) == [BIND]
    assert run.work() == ["A 100", "A 102", "A 103"]


def test_the_plugin_is_asked_at_its_deadline() -> None:
    run = run_of(PreBindWaits((CLAIM,), 110.0), PreBindFailed(Status(Code.ERROR, ("binding volumes: timeout",))))

    assert run.core.tick(109.0) == []
    assert run.core.tick(110.0) == told('running PreBind plugin "A": binding volumes: timeout', 110.0)
    assert run.changed(CLAIM, 111.0) == []


def test_a_deadline_alone_is_enough_to_wait_for() -> None:
    run = run_of(PreBindWaits((), 110.0), DONE)

    assert run.core.tick(111.0) == [BIND]


@pytest.mark.parametrize("step", [PreBindWrites(()), PreBindWaits(())])
def test_a_plugin_that_would_never_be_asked_again_has_failed(step: Any) -> None:
    run = run_of(step)

    assert run.instructions[1:] == told('running PreBind plugin "A": it waits for nothing that could happen', 100.0)
    assert run.core.state.measurements.plugin_failures == {"A": 1}


def test_a_plugin_that_writes_what_it_has_not_declared_has_failed() -> None:
    run = run_of(PreBindWrites((claim_patch(),)), patches=("PersistentVolume",))
    text = "it patches a PersistentVolumeClaim, and does not have that kind in its patches"

    assert run.instructions[1:] == told(f'running PreBind plugin "A": {text}', 100.0)


def test_a_plugin_that_waits_for_what_it_will_not_hear_of_has_failed() -> None:
    (event, _) = run_of(PreBindWaits((ObjectKey("Pod", "default", "web"),))).instructions[1:]

    assert isinstance(event, RecordEvent)
    assert event.note.startswith(
        'running PreBind plugin "A": it waits for a Pod, and can wait for CSIDriver, CSINode, '
    )


def test_a_plugin_that_answers_nonsense_has_failed() -> None:
    run = run_of(None)

    assert run.instructions[1:] == told(
        'running PreBind plugin "A": it answered None where PreBindDone was expected', 100.0
    )


def test_a_plugin_that_raises_has_failed() -> None:
    run = run_of(DONE, raises=("pre_bind",))

    assert run.instructions[1:] == told('running PreBind plugin "A": boom', 100.0)
    assert run.core.state.measurements.plugin_failures == {"A": 1}


def test_a_failure_gives_everything_back_and_the_pod_backs_off() -> None:
    run = run_of(PreBindWaits((CLAIM,)), PreBindFailed(Status(Code.ERROR, ("no",))))
    run.changed(CLAIM, 105.5)

    assert str(run.diary[-1]) == "unreserve A"
    assert run.core.rooms(POD) == ["backoff"]
    assert run.core.state.cache.pod_count == 0
    assert run.core.state.measurements.attempts == {("error", "reprise"): 1}
    assert run.core.state.measurements.attempt_seconds["error", "reprise"].sum == 5.5


def test_a_rejection_is_told_in_the_plugins_own_words_and_the_pod_backs_off_as_after_an_error() -> None:
    run = run_of(PreBindWaits((CLAIM,)), PreBindFailed(rejected("not any more")))

    assert run.changed(CLAIM, 105.0) == told("not any more", 105.0, "Unschedulable")
    assert run.core.rooms(POD) == ["backoff"]
    assert run.core.state.measurements.attempts == {("unschedulable", "reprise"): 1}
    queued = run.core.state.queue.get(UID)
    assert queued is not None
    assert (queued.unschedulable_plugins, queued.consecutive_errors) == ((), 1)


def test_a_failed_pod_is_tried_again_from_the_start() -> None:
    run = run_of(PreBindWaits((CLAIM,)), PreBindFailed(Status(Code.ERROR, ("no",))))
    run.changed(CLAIM, 101.0)
    run.core.tick(110.0)

    assert run.core.decide(110.0).instructions == [NOMINATION]
    assert run.work() == ["A 100", "A 101", "A 110"]


def test_an_answer_to_the_attempt_before_is_not_taken_for_one_of_this_attempt() -> None:
    diary: list[Asked] = []
    writing = scripted("A", diary, steps=(PreBindWrites((claim_patch(),)), DONE), flight=PreFlight(SUCCESS, True))
    failing = scripted(
        "B",
        diary,
        steps=(PreBindWaits((CLAIM,)), PreBindFailed(Status(Code.ERROR, ("no",)))),
        flight=PreFlight(SUCCESS, True),
    )
    run = Run(writing, failing, diary=diary)
    assert run.instructions == [NOMINATION, patch_of(1, claim_patch())]
    run.changed(CLAIM, 101.0)
    run.core.tick(110.0)
    assert run.core.decide(110.0).instructions == [NOMINATION, patch_of(2, claim_patch())]

    assert run.core.patched(1, at=111.0) == []
    assert [line for line in run.work() if line.startswith("A")] == ["A 100", "A 110"]


def test_plugins_work_one_after_the_other() -> None:
    diary: list[Asked] = []
    run = Run(
        scripted("A", diary, steps=(PreBindWaits((CLAIM,)), DONE)),
        scripted("B", diary, flight=PreFlight(SKIP)),
        scripted("C", diary, steps=(PreBindWaits((NODE,)), DONE)),
        diary=diary,
    )
    run.changed(NODE, 101.0)
    run.changed(CLAIM, 102.0)

    assert run.changed(NODE, 103.0) == [BIND]
    assert run.work() == ["A 100", "A 102", "C 102", "C 103"]


@pytest.mark.parametrize(
    ("flights", "at_once"),
    [
        ("AP BP CP", "ABC"),
        ("AP BP C", "AB"),
        ("AP B CP", "A"),
        ("A BP CP", "A"),
        # Who has no work parts the others only if it would not have worked beside them.
        ("AP BPS CP", "AC"),
        ("AP BS CP", "A"),
        ("AS BP CP", "BC"),
        ("AS BS C", "C"),
    ],
)
def test_neighbours_that_allow_it_work_side_by_side(flights: str, at_once: str) -> None:
    """P allows it, S has no work."""
    diary: list[Asked] = []
    plugins = [
        scripted(
            letters[0],
            diary,
            steps=(PreBindWaits((CLAIM,)), DONE),
            flight=PreFlight(SKIP if "S" in letters else SUCCESS, "P" in letters),
        )
        for letters in flights.split()
    ]

    assert Run(*plugins, diary=diary).work() == [f"{name} 100" for name in at_once]


def test_all_of_a_group_have_to_be_done_before_the_next_one_begins() -> None:
    diary: list[Asked] = []
    parallel = PreFlight(SUCCESS, allow_parallel=True)
    run = Run(
        scripted("A", diary, steps=(PreBindWaits((CLAIM,)), DONE), flight=parallel),
        scripted("B", diary, steps=(PreBindWaits((NODE,)), DONE), flight=parallel),
        scripted("C", diary, steps=(DONE,)),
        diary=diary,
    )
    assert run.changed(NODE, 101.0) == []
    assert run.changed(CLAIM, 102.0) == [BIND]
    assert run.work() == ["A 100", "B 100", "B 101", "A 102", "C 102"]


def test_the_failure_of_one_ends_the_work_of_its_neighbours() -> None:
    diary: list[Asked] = []
    parallel = PreFlight(SUCCESS, allow_parallel=True)
    run = Run(
        scripted("A", diary, steps=(PreBindWaits((CLAIM,)), DONE), flight=parallel),
        scripted(
            "B", diary, steps=(PreBindWaits((CLAIM,)), PreBindFailed(Status(Code.ERROR, ("no",)))), flight=parallel
        ),
        diary=diary,
    )
    run.changed(CLAIM, 101.0)

    assert run.work() == ["A 100", "B 100", "A 101", "B 101"]
    assert run.changed(CLAIM, 102.0) == []


def test_what_one_wants_to_write_while_its_neighbour_fails_is_not_sent() -> None:
    diary: list[Asked] = []
    parallel = PreFlight(SUCCESS, allow_parallel=True)
    run = Run(
        scripted("A", diary, steps=(PreBindWrites((claim_patch(),)),), flight=parallel),
        scripted("B", diary, steps=(PreBindFailed(Status(Code.ERROR, ("no",))),), flight=parallel),
        diary=diary,
    )

    assert run.instructions == [NOMINATION, *told('running PreBind plugin "B": no', 100.0)]
    assert run.core.patched(1) == []


def test_pre_bind_begins_when_permit_has_let_the_pod_go() -> None:
    diary: list[Asked] = []
    let_go: Any = {"reserve": lambda pod, handle: handle.waiting_pod(UID).allow("A")}
    run = Run(
        scripted("A", diary, only="web", steps=(DONE,), permitted=PermitAnswer(Status(Code.WAIT), 60.0)),
        scripted("B", [], only="opener", does=let_go),
        diary=diary,
    )
    assert run.work() == []
    run.core.pods(make_pod("opener"))

    assert run.core.decide(105.0).instructions[1:] == [BIND]
    assert run.work() == ["A 105"]


def test_a_pod_that_is_deleted_during_pre_bind_is_not_bound_and_nothing_is_told() -> None:
    run = run_of(PreBindWrites((claim_patch(),)), DONE)
    assert run.core.pod_gone(POD, at=101.0) == []

    assert str(run.diary[-1]) == "unreserve A"
    assert run.core.rooms(POD) == []
    assert run.core.patched(1, at=102.0) == []
    assert run.work() == ["A 100"]
    assert run.core.state.measurements.attempts == {("error", "reprise"): 1}


def test_a_pod_that_begins_to_terminate_during_pre_bind_frees_its_room_and_goes_on() -> None:
    """The API server will not bind it; until then the plugin may still have to clear up."""
    run = run_of(PreBindWaits((CLAIM,)), DONE)
    run.core.pods(changed(POD, version="8", metadata={"deletion_timestamp": "2026-01-01T00:00:00Z"}))
    assert run.core.rooms(POD) == [BINDING]

    assert run.changed(CLAIM, 102.0) == [BIND]
    run.core.bind_failed(POD, "n1", at=103.0)
    assert str(run.diary[-1]) == "unreserve A"


def test_a_pod_that_is_bound_by_someone_else_during_pre_bind_gives_everything_back() -> None:
    run = run_of(PreBindWaits((CLAIM,), 110.0))
    assert run.core.pods(on_node(POD, "n1"), at=101.0) == []

    assert str(run.diary[-1]) == "unreserve A"
    assert run.core.rooms(POD) == [ON_NODE]
    assert run.core.tick(110.0) == []
    run.core.state.cache.validate()


def test_a_pod_made_anew_under_the_same_name_is_not_touched_by_the_old_ones_end() -> None:
    run = run_of(PreBindWaits((CLAIM,)), DONE)
    again = make_pod("web", uid="another")
    run.core.pods(again)
    run.core.pod_gone(POD)

    assert run.core.rooms(again) == ["active"]


def test_a_failed_bind_is_given_back_by_all_plugins() -> None:
    diary: list[Asked] = []
    run = Run(scripted("A", diary), scripted("B", diary, steps=(DONE,)), diary=diary)
    instructions = run.core.bind_failed(POD, "n1", "conflict", at=101.0)

    assert instructions == told('running Bind plugin "DefaultBinder": conflict', 101.0)
    assert [str(asked) for asked in diary[-2:]] == ["unreserve B", "unreserve A"]
    assert run.core.rooms(POD) == ["backoff"]


def test_post_bind_is_asked_in_order_when_the_pod_is_bound() -> None:
    diary: list[Asked] = []
    run = Run(scripted("A", diary, raises=("post_bind",)), scripted("B", diary), diary=diary)
    (event,) = run.core.bound(POD, "n1", at=101.0)

    assert isinstance(event, RecordEvent)
    assert event.reason == "Scheduled"
    assert [(str(asked), asked.now) for asked in diary[-2:]] == [("post_bind A", 101.0), ("post_bind B", 101.0)]
    assert run.core.state.measurements.plugin_failures == {"A": 1}


def test_a_bound_pod_is_given_back_by_nobody() -> None:
    run = run_of(DONE)
    run.core.bound(POD, "n1")
    run.core.pods(on_node(POD, "n1"))
    run.core.pod_gone(POD)

    assert [str(asked) for asked in run.diary if asked.point == "unreserve"] == []
