"""Which nodes were equally good when a pod was bound: asked of an oracle that is scripted here."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from tests.oracle.program import Program
from tests.parity.placement import Placement, equally_good

Line = dict[str, Any]


class ScriptedOracle(Program):
    """Answers each line by a rule, and keeps what it was asked."""

    def __init__(self, rule: Callable[[Line], list[str]]) -> None:
        super().__init__("scripted", ())
        self.rule = rule
        self.asked: list[Line] = []

    def answer(self, lines: Sequence[str]) -> list[Any]:
        decoded = [json.loads(line) for line in lines]
        self.asked += decoded
        return [{"best": self.rule(line)} for line in decoded]


def pod(name: str, node: str = "", **status: Any) -> Line:
    return {"kind": "Pod", "metadata": {"name": name}, "spec": {"nodeName": node} if node else {}, "status": status}


def placement(name: str, node: str, *pods: Line, step: int = 1, **more: Any) -> Placement:
    return Placement(step, name, pod(name, **more), node, pods, [{"kind": "Node", "metadata": {"name": "a"}}])


def on(line: Line, name: str) -> str:
    node: str = next(one["spec"].get("nodeName", "") for one in line["objects"] if one["metadata"]["name"] == name)
    return node


def test_a_node_among_the_best_is_right() -> None:
    [[placed]] = equally_good([([placement("web", "a")], {})], ScriptedOracle(lambda _: ["a", "b"]))

    assert (placed.best, placed.wrong) == (("a", "b"), "")


def test_a_node_that_is_not_among_the_best_is_wrong() -> None:
    [[placed]] = equally_good([([placement("web", "c")], {})], ScriptedOracle(lambda _: ["a", "b"]))

    assert placed.wrong == "c is not among ['a', 'b']"


def test_binds_of_one_step_may_have_been_decided_in_another_order() -> None:
    """The first one to reach the API was decided on when the other was on its node already."""
    first, second = placement("first", "b", pod("second")), placement("second", "a", pod("first", "b"))
    oracle = ScriptedOracle(
        lambda line: ["b"] if line["pod"]["metadata"]["name"] == "first" and on(line, "second") else ["a"]
    )
    [placed] = equally_good([([first, second], {})], oracle)

    assert [(one.best, one.wrong) for one in placed] == [(("b",), ""), (("a",), "")]


def test_a_bind_that_came_first_may_have_been_decided_on_later() -> None:
    first, second = placement("first", "a", pod("second")), placement("second", "a", pod("first", "a"))
    oracle = ScriptedOracle(
        lambda line: ["b"] if line["pod"]["metadata"]["name"] == "second" and on(line, "first") else ["a"]
    )
    [placed] = equally_good([([first, second], {})], oracle)

    assert [(one.best, one.wrong) for one in placed] == [(("a",), ""), (("a",), "")]


def test_binds_of_other_steps_keep_their_order() -> None:
    first, second = placement("first", "b", pod("second")), placement("second", "a", pod("first", "b"), step=2)
    oracle = ScriptedOracle(
        lambda line: ["b"] if line["pod"]["metadata"]["name"] == "first" and on(line, "second") else ["a"]
    )
    [placed] = equally_good([([first, second], {})], oracle)

    assert placed[0].wrong == "b is not among ['a']"


def test_where_a_nomination_had_a_say_no_set_is_compared() -> None:
    oracle = ScriptedOracle(lambda _: ["a"])
    [[own, beside]] = equally_good(
        [
            (
                [
                    placement("web", "b", nominatedNodeName="b"),
                    placement("next", "b", pod("web", nominatedNodeName="a")),
                ],
                {},
            )
        ],
        oracle,
    )

    assert [(one.node, one.best, one.wrong) for one in (own, beside)] == [("b", (), ""), ("b", (), "")]


def test_a_claim_may_have_been_bound_before_the_decision() -> None:
    made = placement("web", "b")
    made.later = [{"kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}]
    oracle = ScriptedOracle(lambda line: ["b"] if line["objects"][0]["kind"] == "PersistentVolumeClaim" else [])
    [[placed]] = equally_good([([made], {})], oracle)

    assert (placed.best, placed.wrong) == (("b",), "")
