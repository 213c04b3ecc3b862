"""Preemption in which extenders have a say about the victims.

Expected: kube-scheduler 1.37, callExtenders and ProcessPreemption.
"""

from __future__ import annotations

from typing import Any

import pytest

from scheduler.core.instruction import PreemptPod, Victims
from tests.support.builders import make_node, make_pod
from tests.support.core_run import on_node
from tests.support.extender_runs import ExtendedCore, extender

WANTS = make_pod("wants", requests={"cpu": "3"}, priority=100)
UNFIT = "0/2 nodes are available: 2 Insufficient cpu."


def preempting(name: str = "e", **fields: Any) -> dict[str, Any]:
    return extender(name, filterVerb="", preemptVerb="preempt", **fields)


def asking(*extenders: dict[str, Any]) -> ExtendedCore:
    """Two nodes are full: n1 of a pod of priority 1, n2 of one of priority 2. So n1 is better."""
    core = ExtendedCore(*extenders, without=())
    core.nodes(make_node("n1"), make_node("n2"))
    for number in (1, 2):
        old = make_pod(f"old{number}", requests={"cpu": "4"}, priority=number, scheduler_name="other")
        core.pods(on_node(old, f"n{number}"))
    core.pods(WANTS)
    core.go_on(1.0)
    return core


BOTH = {"n1": Victims(pods=["default-old1"]), "n2": Victims(pods=["default-old2"])}


def victims_of(core: ExtendedCore) -> list[str]:
    """Pods that are to be removed, and the node for it."""
    assert core.result is not None
    return [one.pod.name for one in core.result.instructions if isinstance(one, PreemptPod)]


def message_of(core: ExtendedCore) -> str:
    assert core.result is not None
    return core.result.message.removeprefix(f"{UNFIT} preemption: ")


def test_an_extender_is_asked_about_all_candidates_and_the_pod_waits() -> None:
    core = asking(preempting())

    [question] = core.questions
    assert (question.verb.value, question.victims) == ("preempt", BOTH)
    assert core.go_on(2.0) is None
    assert victims_of(core) == []


def test_the_best_of_what_the_extender_leaves_is_preempted() -> None:
    core = asking(preempting())

    core.answer(victims={"n2": BOTH["n2"]})
    core.go_on(2.0)

    assert victims_of(core) == ["old2"]
    assert message_of(core) == "found a potential placement for pod on node n2, preempting 1 victims"
    assert core.state.queue.nominator.node_of["default-wants"] == "n2"


def test_without_a_word_against_it_the_choice_is_as_without_extenders() -> None:
    core = asking(preempting())

    core.answer(victims=BOTH)
    core.go_on()

    assert victims_of(core) == ["old1"]


def test_broken_budgets_are_those_that_the_extender_counts() -> None:
    core = asking(preempting())

    core.answer(victims={**BOTH, "n1": Victims(pods=["default-old1"], pdb_violations=1)})
    core.go_on()

    assert victims_of(core) == ["old2"]


def test_the_next_extender_is_asked_about_what_is_left() -> None:
    core = asking(preempting("a"), preempting("b"))
    core.answer(victims={"n2": BOTH["n2"]})
    core.go_on()

    [question] = core.questions
    assert (question.extender, question.victims) == (1, {"n2": BOTH["n2"]})


def test_when_nothing_is_left_no_other_extender_is_asked_and_nobody_is_preempted() -> None:
    core = asking(preempting("a"), preempting("b"))
    core.answer(victims={})
    core.go_on()

    assert victims_of(core) == []
    assert message_of(core) == "no candidate node for preemption"
    assert core.rooms(WANTS) == ["unschedulable"]


@pytest.mark.parametrize(
    ("victims", "error"),
    [
        ({"n9": Victims(pods=["x"])}, 'nodeinfo not found for node name "n9"'),
        (
            {"n1": Victims(pods=["default-old2"])},
            (
                "extender: http://e claims to preempt pod (UID: &{default-old2}) on node: n1, "
                "but the pod is not found on that node"
            ),
        ),
        ({"n1": Victims(pods=[])}, 'expected at least one victim pod on node "n1"'),
    ],
)
def test_an_answer_about_what_there_is_not_ends_the_preemption(victims: dict[str, Victims], error: str) -> None:
    core = asking(preempting())

    core.answer(victims=victims)
    core.go_on()

    assert victims_of(core) == []
    assert message_of(core) == error


def test_no_answer_ends_the_preemption() -> None:
    core = asking(preempting())

    core.fail("no answer")
    core.go_on()

    assert (victims_of(core), message_of(core)) == ([], "no answer")


def test_an_ignorable_extender_that_does_not_answer_is_passed_over() -> None:
    core = asking(preempting(ignorable=True))

    core.fail("no answer")
    core.go_on()

    assert victims_of(core) == ["old1"]
    [complaint] = core.scheduler.take_complaints()
    assert (complaint.verb, complaint.error) == ("preempt", "no answer")  # type: ignore[union-attr]


def test_a_node_without_victims_of_an_ignorable_extender_is_left_out() -> None:
    core = asking(preempting(ignorable=True))

    core.answer(victims={**BOTH, "n1": Victims(pods=[])})
    core.go_on()

    assert victims_of(core) == ["old2"]


def test_an_extender_that_is_not_interested_or_not_asked_that_has_no_say() -> None:
    managing = preempting(managedResources=[{"name": "example.com/gpu"}])

    for one in (managing, extender(filterVerb="", bindVerb="b")):
        assert victims_of(asking(one)) == ["old1"]


def test_a_preemptor_that_is_gone_preempts_nobody() -> None:
    core = asking(preempting())
    [question] = core.questions

    core.pod_gone(WANTS)
    core.go_on(2.0)

    assert core.result is not None
    assert core.result.outcome == "skipped"
    assert core.answer(question, victims=BOTH) == []
    assert core.go_on(3.0) is None


def test_a_node_that_an_extender_refuses_for_good_is_not_looked_at() -> None:
    """No victim helps where only an extender refuses; kube-scheduler calls that an error, of each node that it looks at."""
    core = ExtendedCore(extender(preemptVerb="preempt"), without=())
    core.nodes(make_node("n1"), make_node("n2"))
    for number in (1, 2):
        old = make_pod(f"old{number}", requests={"cpu": "100m"}, priority=number, scheduler_name="other")
        core.pods(on_node(old, f"n{number}"))
    core.pods(WANTS)
    core.go_on()
    core.answer(failed_nodes={"n2": "busy"}, unresolvable_nodes={"n1": "never"})
    core.go_on()

    assert core.result is not None
    assert core.result.message == (
        '0/2 nodes are available: 1 busy, 1 never. preemption: expected at least one victim pod on node "n2"'
    )
