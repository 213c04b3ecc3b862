"""Pods that wait on Permit: let go, rejected, timed out, or gone meanwhile.

Expected: kube-scheduler 1.37, waitingPodsMap, WaitOnPermit, handleBindingCycleError and the pod event handlers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from scheduler.api.objects import Pod, PodStatus
from scheduler.core.instruction import BindPod, Condition, Instruction, PatchPodStatus, RecordEvent
from scheduler.core.permit import PermitWait
from scheduler.framework.binding import Handle, PermitAnswer
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SUCCESS, Code, Status
from tests.support.binding_plugins import Asked, scripted
from tests.support.builders import make_node, make_pod
from tests.support.core_run import BINDING, ON_NODE, Core, changed, on_node, reference
from tests.support.scripted_plugins import Hearing, make_profile, named

POD = make_pod("web", requests={"cpu": "3"})
UID = POD.metadata.uid
A_POD_LEAVES = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)
GONE = "2026-01-01T00:00:00Z"


def waits(seconds: float) -> PermitAnswer:
    return PermitAnswer(Status(Code.WAIT), seconds)


class Waiting:
    """The pod ``web`` waits on Permit of A for 10 s and of B for 20 s since second 100; ``say`` has a plugin speak of it."""

    def __init__(self, *timeouts: float) -> None:
        self.diary: list[Asked] = []
        self.said: list[Any] = []
        self.speech: Any = lambda handle: None
        plugins = [
            scripted(name, self.diary, only="web", permitted=waits(seconds))
            for name, seconds in zip("AB", timeouts or (10.0, 20.0), strict=False)
        ]
        opener = scripted("Opener", [], only="opener", does={"reserve": lambda pod, handle: self.speech(handle)})
        self.core = Core([make_profile(*plugins, opener, named(Hearing, "Hearing", events=(A_POD_LEAVES,)))])
        self.core.nodes(make_node("n1"))
        self.core.pods(POD, at=99.0)
        self.instructions = self.core.decide(100.0).instructions

    def say(self, speech: Any, at: float = 105.0) -> list[Instruction]:
        """Another pod comes by, in whose Reserve a plugin does this; what follows beside that pod's own bind."""
        self.speech = lambda handle: self.said.append(speech(handle))
        opener = make_pod("opener", uid=f"opener-{len(self.said)}", requests={"cpu": "100m"})
        self.core.pods(opener, at=at)
        first, *rest = self.core.decide(at).instructions
        assert isinstance(first, BindPod)
        assert first.pod == reference(opener)
        return rest

    def points(self) -> list[str]:
        return [str(asked) for asked in self.diary]


def pod_of(handle: Handle) -> Any:
    found = handle.waiting_pod(UID)
    assert found is not None
    return found


def allow(*plugins: str) -> Any:
    return lambda handle: [pod_of(handle).allow(plugin) for plugin in plugins]


def reject(plugin: str, message: str = "no") -> Any:
    return lambda handle: pod_of(handle).reject(plugin, message)


def told(message: str, now: float, pod: Pod = POD) -> list[Instruction]:
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
        reason="Unschedulable",
        message=message,
        observed_generation=0,
        last_transition_time=now,
    )
    patch = PatchPodStatus(
        pod=reference(pod), condition=condition, condition_order=["PodScheduled"], nominated_node_name=""
    )
    return [event, patch]


@pytest.fixture
def waiting() -> Waiting:
    return Waiting()


BIND = BindPod(pod=reference(POD), node_name="n1")


def test_a_pod_that_waits_takes_its_room_and_is_nominated_to_its_node(waiting: Waiting) -> None:
    """Whoever looks at it, such as a cluster autoscaler, sees where it is about to go."""
    assert waiting.instructions == [PatchPodStatus(pod=reference(POD), nominated_node_name="n1")]
    assert waiting.core.rooms(POD) == [BINDING, ON_NODE]
    assert waiting.core.state.queue.is_in_flight(UID)


def test_a_pod_that_is_nominated_to_the_node_already_is_not_nominated_again() -> None:
    core = Core([make_profile(scripted("A", [], permitted=waits(10.0)))])
    core.nodes(make_node("n1"))
    core.pods(make_pod("web", status=PodStatus(nominated_node_name="n1")))

    assert core.decide().instructions == []


def test_the_bind_begins_when_the_last_plugin_has_allowed_it(waiting: Waiting) -> None:
    assert waiting.say(allow("A")) == []
    assert waiting.core.rooms(POD) == [BINDING, ON_NODE]

    assert waiting.say(allow("B"), at=106.0) == [BIND]
    assert not waiting.core.state.queue.is_in_flight(UID)


def test_a_plugin_that_does_not_hold_the_pod_back_cannot_let_it_go(waiting: Waiting) -> None:
    assert waiting.say(allow("C", "A", "A")) == []


def test_a_rejected_pod_is_unschedulable_and_gives_everything_back(waiting: Waiting) -> None:
    assert waiting.say(reject("B")) == told("0/1 nodes are available: 1 no.", 105.0)
    assert waiting.said == [True]
    assert waiting.points()[-2:] == ["unreserve B", "unreserve A"]
    assert waiting.core.rooms(POD) == ["unschedulable"]
    queued = waiting.core.state.queue.get(UID)
    assert queued is not None
    assert queued.unschedulable_plugins == ("B",)


def test_what_is_said_first_holds(waiting: Waiting) -> None:
    def speech(handle: Handle) -> Any:
        pod = pod_of(handle)
        return [pod.reject("A", "first"), pod.reject("B", "second"), pod.allow("A"), pod.allow("B")]

    assert waiting.say(speech) == told("0/1 nodes are available: 1 first.", 105.0)
    assert waiting.said == [[True, False, None, None]]


def test_a_pod_that_was_let_go_cannot_be_rejected(waiting: Waiting) -> None:
    def speech(handle: Handle) -> Any:
        pod = pod_of(handle)
        pod.allow("A")
        pod.allow("B")
        return pod.reject("A", "late")

    assert waiting.say(speech) == [BIND]
    assert waiting.said == [False]


def test_the_shortest_time_out_counts_and_names_its_plugin(waiting: Waiting) -> None:
    assert waiting.core.tick(109.0) == []
    message = "0/1 nodes are available: 1 rejected due to timeout after waiting 10s at plugin A."
    assert waiting.core.tick(110.0) == told(message, 110.0)
    assert waiting.core.rooms(POD) == ["unschedulable"]


def test_a_plugin_that_has_allowed_the_pod_does_not_time_out(waiting: Waiting) -> None:
    waiting.say(allow("A"))
    assert waiting.core.tick(119.0) == []

    message = "0/1 nodes are available: 1 rejected due to timeout after waiting 20s at plugin B."
    assert waiting.core.tick(120.0) == told(message, 120.0)


@pytest.mark.parametrize(
    ("asked", "waited", "text"), [(90.0, 90.0, "1m30s"), (901.0, 900.0, "15m0s"), (3600.0, 900.0, "15m0s")]
)
def test_nobody_waits_longer_than_fifteen_minutes(asked: float, waited: float, text: str) -> None:
    waiting = Waiting(asked)
    assert waiting.core.tick(100.0 + waited - 1.0) == []

    message = f"0/1 nodes are available: 1 rejected due to timeout after waiting {text} at plugin A."
    assert waiting.core.tick(100.0 + waited) == told(message, 100.0 + waited)


def test_a_pod_that_may_not_wait_at_all_is_rejected_at_once() -> None:
    message = "0/1 nodes are available: 1 rejected due to timeout after waiting 0s at plugin A."

    assert Waiting(0.0).instructions[1:] == told(message, 100.0)


# trap: a-failed-bind-wakes-others
def test_the_failed_pod_wakes_others_but_not_itself(waiting: Waiting) -> None:
    """Both hear of every pod that leaves a node."""
    core = waiting.core
    plugin: Any = core.state.profiles["reprise"].filter[0]
    plugin.refuses = ("n1",)
    refused = make_pod("refused")
    core.pods(refused, at=101.0)
    assert core.decide(101.0).plugins == ("Hearing",)
    plugin.refuses = ()
    waiting.say(reject("B"))

    assert core.rooms(refused) == ["active"]
    assert core.rooms(POD) == ["unschedulable"]


def test_what_happened_while_it_waited_wakes_a_rejected_pod(waiting: Waiting) -> None:
    waiting.core.nodes(make_node("n2"), at=102.0)
    waiting.say(reject("B"))

    assert waiting.core.rooms(POD) == ["backoff"]


def test_a_waiting_pod_that_is_deleted_gives_everything_back_and_nothing_is_told(waiting: Waiting) -> None:
    assert waiting.core.pod_gone(POD, at=103.0) == []
    assert waiting.points()[-2:] == ["unreserve B", "unreserve A"]
    assert waiting.core.rooms(POD) == []
    assert not waiting.core.state.queue.is_in_flight(UID)
    assert waiting.core.state.measurements.attempts == {("error", "reprise"): 1}
    assert waiting.core.tick(120.0) == []


def test_a_waiting_pod_that_begins_to_terminate_is_rejected(waiting: Waiting) -> None:
    terminating = changed(POD, version="8", metadata={"deletion_timestamp": GONE})
    instructions = waiting.core.pods(terminating, at=103.0)

    assert instructions == told("0/1 nodes are available: 1 removed.", 103.0, terminating)
    assert waiting.points()[-1] == "unreserve A"
    assert waiting.core.state.cache.pod_count == 0


def test_a_waiting_pod_that_is_bound_by_someone_else_gives_everything_back(waiting: Waiting) -> None:
    waiting.core.nodes(make_node("n2"))
    assert waiting.core.pods(on_node(POD, "n2"), at=103.0) == []
    assert waiting.points()[-2:] == ["unreserve B", "unreserve A"]
    assert waiting.core.rooms(POD) == [ON_NODE]
    assert not waiting.core.state.queue.is_in_flight(UID)
    assert waiting.core.tick(120.0) == []
    waiting.core.state.cache.validate()


def test_a_nomination_that_the_watch_shows_is_cleared_with_the_failure(waiting: Waiting) -> None:
    nominated = changed(make_pod("web", requests={"cpu": "3"}, status=PodStatus(nominated_node_name="n1")), version="9")
    assert waiting.core.pods(nominated) == []

    assert waiting.say(reject("B")) == told("0/1 nodes are available: 1 no.", 105.0, nominated)
    assert len(waiting.core.state.queue.nominator) == 0


def test_waiting_is_measured_by_what_came_of_it(waiting: Waiting) -> None:
    waiting.say(allow("A", "B"))
    rejected = Waiting()
    rejected.core.tick(112.0)

    (success,) = waiting.core.state.measurements.permit_wait_seconds.items()
    (failed,) = rejected.core.state.measurements.permit_wait_seconds.items()
    assert (success[0], success[1].sum, sum(success[1].buckets)) == ("Success", 5.0, 1)
    assert (failed[0], failed[1].sum, sum(failed[1].buckets)) == ("Unschedulable", 12.0, 1)


def test_the_attempt_is_measured_from_its_pop(waiting: Waiting) -> None:
    waiting.core.tick(110.0)

    assert waiting.core.state.measurements.attempts["unschedulable", "reprise"] == 1
    assert waiting.core.state.measurements.attempt_seconds["unschedulable", "reprise"].sum == 10.0


def test_plugins_see_who_waits_in_the_order_in_which_they_began(waiting: Waiting) -> None:
    def speech(handle: Handle) -> Any:
        (one,) = handle.waiting_pods()
        return one.pod.key, one.node_name, one.pending_plugins

    waiting.say(speech)

    assert waiting.said == [("default/web", "n1", ("A", "B"))]


def test_a_pod_that_does_not_wait_is_not_among_them(waiting: Waiting) -> None:
    def speech(handle: Handle) -> Any:
        one = pod_of(handle)
        one.reject("A", "no")
        return handle.waiting_pod(UID), list(handle.waiting_pods()), handle.waiting_pod("nobody")

    waiting.say(speech)

    assert waiting.said == [(None, [], None)]


def test_one_failure_can_lead_to_the_next_one() -> None:
    """A plugin that holds back a gang rejects all of it when one of it fails."""
    diary: list[Asked] = []

    def reject_all(pod: PodInfo, handle: Handle) -> None:
        for one in handle.waiting_pods():
            one.reject("Gang", "a member has failed")

    gang = scripted("Gang", diary, permitted=waits(60.0), does={"unreserve": reject_all})
    core = Core([make_profile(gang)])
    core.nodes(make_node("n1"))
    pods = [make_pod(name) for name in ("a", "b", "c")]
    core.pods(*pods)
    for _ in pods:
        core.decide(0.0)
    instructions = core.pod_gone(pods[1], at=5.0)
    events = [one for one in instructions if isinstance(one, RecordEvent)]

    assert [event.pod.name for event in events] == ["a", "c"]
    assert {event.note for event in events} == {"0/1 nodes are available: 1 a member has failed."}
    assert [asked.pod for asked in diary if asked.point == "unreserve"] == ["b", "a", "c"]


def test_a_gang_is_let_go_by_its_last_member_in_order() -> None:
    def let_go(pod: PodInfo, handle: Handle) -> None:
        others = list(handle.waiting_pods())
        for one in others if len(others) == 2 else ():
            one.allow("Gang")

    gang = scripted("Gang", [], permitted=waits(60.0), does={"permit": let_go})
    core = Core([make_profile(gang)])
    core.nodes(make_node("n1"))
    core.pods(*(make_pod(name) for name in ("a", "b", "c")))
    core.decide()
    core.decide()
    instructions = core.decide().instructions

    assert [one.pod.name for one in instructions if isinstance(one, BindPod)] == ["a", "b"]


def waits_of(*timeouts: tuple[str, float]) -> Iterator[Any]:
    settled: list[str] = []
    yield PermitWait(PodInfo(POD), "n1", 0.0, dict(timeouts), settled.append)
    yield settled


def test_the_verdict_is_reported_once() -> None:
    wait, settled = waits_of(("A", 1.0))
    wait.allow("A")
    wait.allow("A")
    wait.reject("A", "late")
    wait.expire(5.0)

    assert settled == [UID]
    assert wait.verdict == SUCCESS


def test_of_plugins_with_the_same_time_out_the_first_one_is_named() -> None:
    wait, _ = waits_of(("B", 1.5), ("A", 1.5))
    wait.expire(1.5)

    assert wait.verdict == Status(Code.UNSCHEDULABLE, ("rejected due to timeout after waiting 1.5s at plugin B",), "B")
