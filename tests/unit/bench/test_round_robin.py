"""The brain of no cost binds every pod once, in turn over the nodes."""

from bench.round_robin import RoundRobin
from scheduler.core.instruction import BindPod, Instruction, RecordEvent
from scheduler.core.stimulus import BindFailed, NodeApplied, PodApplied, PodBound
from tests.support.builders import make_node, make_pod


def brain_with(*, nodes: int, pods: int) -> RoundRobin:
    brain = RoundRobin("reprise")
    for index in range(nodes):
        brain.handle(NodeApplied(now=0.0, node=make_node(f"n{index}")))
    for index in range(pods):
        brain.handle(PodApplied(now=0.0, pod=make_pod(f"p{index}", uid=f"u{index}")))
    return brain


def decide_all(brain: RoundRobin) -> list[tuple[str, str]]:
    found = []
    while (result := brain.schedule_one(1.0)) is not None:
        (bind,) = result.instructions
        assert isinstance(bind, BindPod)
        assert (result.outcome, result.uid, result.node_name) == ("assumed", bind.pod.uid, bind.node_name)
        found.append((bind.pod.uid, bind.node_name))
    return found


def test_pods_go_to_the_nodes_in_turn() -> None:
    brain = brain_with(nodes=2, pods=3)

    assert decide_all(brain) == [("u0", "n0"), ("u1", "n1"), ("u2", "n0")]
    assert list(brain.binding) == ["u0", "u1", "u2"]


def test_an_answered_bind_is_followed_by_its_event() -> None:
    brain = brain_with(nodes=1, pods=1)
    decide_all(brain)

    answer: list[Instruction] = brain.handle(PodBound(now=5.0, uid="u0", node_name="n0"))

    (event,) = answer
    assert isinstance(event, RecordEvent)
    assert (event.reason, event.note, event.now) == ("Scheduled", "Successfully assigned default/p0 to n0", 5.0)
    assert brain.binding == {}


def test_a_failed_bind_is_tried_again() -> None:
    brain = brain_with(nodes=1, pods=1)
    decide_all(brain)

    assert brain.handle(BindFailed(now=5.0, uid="u0", node_name="n0", error="no")) == []

    assert decide_all(brain) == [("u0", "n0")]


def test_a_pod_is_taken_once_and_only_if_it_is_ours_and_waits() -> None:
    brain = brain_with(nodes=1, pods=1)
    decide_all(brain)

    for pod in (
        make_pod("p0", uid="u0", node_name="n0"),
        make_pod("p0", uid="u0"),
        make_pod("p1", uid="u1", node_name="n0"),
        make_pod("p2", uid="u2", scheduler_name="default-scheduler"),
    ):
        brain.handle(PodApplied(now=1.0, pod=pod))

    assert decide_all(brain) == []


def test_a_node_that_changes_gets_no_second_turn() -> None:
    brain = brain_with(nodes=2, pods=3)
    brain.handle(NodeApplied(now=1.0, node=make_node("n0")))

    assert [node for _, node in decide_all(brain)] == ["n0", "n1", "n0"]


def test_without_nodes_nothing_is_decided() -> None:
    assert decide_all(brain_with(nodes=0, pods=1)) == []
