"""Merge and expansion, on plugins made for it (kube-scheduler 1.37: mergePluginSet, expandMultiPointPlugins)."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler.framework.binding import PermitAnswer, PreBindDone, PreFlight
from scheduler.framework.plugin import (
    BindPlugin,
    FilterPlugin,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
)
from scheduler.framework.status import SUCCESS
from scheduler.profile.plugin_set import Enabled, PluginSet, Selection, check_counts, expand, merge


class Filtering(FilterPlugin):
    def reasons(self, state: Any, pod: Any) -> Any:
        return ()

    def filter(self, state: Any, pod: Any, nodes: Any) -> Any:
        return 0


class Scoring(ScorePlugin):
    def score(self, state: Any, pod: Any, nodes: Any) -> Any:
        return 0


class Both(Filtering, Scoring):
    pass


class Gate(PreEnqueuePlugin):
    def pre_enqueue(self, pod: Any) -> Any:
        return SUCCESS


class Sort(QueueSortPlugin):
    def sort_key(self, pod: Any, timestamp: float) -> Any:
        return ()


class Bind(BindPlugin):
    pass


class Hold(ReservePlugin):
    def reserve(self, state: Any, pod: Any, node_name: str, handle: Any) -> Any:
        return SUCCESS

    def unreserve(self, state: Any, pod: Any, node_name: str, handle: Any) -> None:
        pass


class Wait(PermitPlugin):
    def permit(self, state: Any, pod: Any, node_name: str, handle: Any) -> Any:
        return PermitAnswer()


class Prepare(PreBindPlugin):
    def pre_bind_pre_flight(self, state: Any, pod: Any, node_name: str, handle: Any) -> Any:
        return PreFlight()

    def pre_bind(self, state: Any, pod: Any, node_name: str, handle: Any, answers: Any) -> Any:
        return PreBindDone()


class Tell(PostBindPlugin):
    def post_bind(self, state: Any, pod: Any, node_name: str, handle: Any) -> None:
        pass


class Whole(Hold, Wait, Prepare, Tell):
    pass


def plugins(**classes: type[Plugin]) -> dict[str, Plugin]:
    made = {}
    for name, cls in classes.items():
        made[name] = type(name, (cls,), {"name": name})()
    return made


KNOWN = plugins(A=Both, B=Both, C=Both, F=Filtering, S=Scoring, G=Gate, Q=Sort, D=Bind, H=Hold, W=Whole, V=Whole)


def on(*names: str) -> tuple[Enabled, ...]:
    """``A*3`` is A with weight 3; the path of each is its place."""
    split = [name.partition("*") for name in names]
    return tuple(Enabled(name, int(weight or 0), f"at[{index}]") for index, (name, _, weight) in enumerate(split))


def expanded(**selections: Selection) -> tuple[PluginSet, list[str]]:
    errors: list[str] = []
    return expand(selections, KNOWN, "plugins", errors.append), errors


DEFAULTS = Selection((Enabled("A", 3), Enabled("B", 2), Enabled("C")))


@pytest.mark.parametrize(
    ("chosen", "merged"),
    [
        (Selection(), ["A*3", "B*2", "C*0"]),
        (Selection(on("B*9")), ["A*3", "B*9", "C*0"]),
        (Selection(on("B")), ["A*3", "B*0", "C*0"]),
        (Selection(on("F", "B*9", "S")), ["A*3", "B*9", "C*0", "F*0", "S*0"]),
        (Selection((), ("B",)), ["A*3", "C*0"]),
        (Selection(on("B*9"), ("B",)), ["A*3", "C*0", "B*9"]),
        (Selection((), ("*",)), []),
        (Selection(on("C", "A"), ("*",)), ["C*0", "A*0"]),
        (Selection((), ("X",)), ["A*3", "B*2", "C*0"]),
        (Selection(on("B*7", "B*9")), ["A*3", "B*9", "C*0", "B*7"]),
    ],
)
def test_the_users_choice_is_merged_into_the_defaults(chosen: Selection, merged: list[str]) -> None:
    result = merge(DEFAULTS, chosen)

    assert [f"{one.name}*{one.weight}" for one in result.enabled] == merged
    assert result.disabled == chosen.disabled


@pytest.mark.parametrize(
    ("at_score", "expected"),
    [
        (Selection(), ["A", "B", "S"]),
        (Selection(on("B")), ["B", "A", "S"]),
        (Selection(on("S", "A")), ["S", "A", "B"]),
        (Selection(on("C")), ["A", "B", "S", "C"]),
        (Selection(on("C", "B")), ["B", "A", "S", "C"]),
        (Selection((), ("A",)), ["B", "S"]),
        (Selection(on("A"), ("A",)), ["B", "S", "A"]),
        (Selection((), ("*",)), []),
        (Selection(on("C", "A"), ("*",)), ["C", "A"]),
    ],
)
def test_overrides_come_first_then_multi_point_then_the_rest(at_score: Selection, expected: list[str]) -> None:
    found, errors = expanded(multiPoint=Selection(on("A", "F", "B", "S")), score=at_score)

    assert (list(found.names("score")), errors) == (expected, [])
    assert found.names("filter") == ("A", "F", "B")


@pytest.mark.parametrize(
    ("at_score", "weights"),
    [
        ((), {"A": 3, "S": 1}),
        (("A*5",), {"A": 5, "S": 1}),
        (("A",), {"A": 1, "S": 1}),
        (("B*2",), {"A": 3, "S": 1, "B": 2}),
    ],
)
def test_a_weight_at_the_point_hides_the_one_of_multi_point(at_score: tuple[str, ...], weights: dict[str, int]) -> None:
    found, _ = expanded(multiPoint=Selection(on("A*3", "F*9", "S")), score=Selection(on(*at_score)))

    assert found.weights == weights


def test_a_plugin_that_extends_nothing_here_is_nowhere() -> None:
    found, errors = expanded(multiPoint=Selection(on("A", "X")))

    assert errors == []
    assert all("X" not in found.names(point) for point in found.points)


@pytest.mark.parametrize(
    ("selections", "errors"),
    [
        ({"score": Selection(on("F"))}, ['at[0]: plugin "F" does not extend ScorePlugin plugin']),
        ({"postFilter": Selection(on("A"))}, ['at[0]: plugin "A" does not extend PostFilterPlugin plugin']),
        ({"score": Selection(on("A", "S", "A"))}, ['at[2]: plugin "A" already registered as "ScorePlugin"']),
        ({"multiPoint": Selection(on("A", "A"))}, ['at[1]: plugin "A" already registered as "FilterPlugin"']),
        # An explicit entry stands for all of multiPoint's, so there is no second one at this point ...
        ({"multiPoint": Selection(on("S", "S")), "score": Selection(on("S"))}, []),
        # ... and where nothing is expanded, nothing is registered twice.
        ({"multiPoint": Selection(on("S", "S")), "score": Selection((), ("*",))}, []),
    ],
)
def test_wrong_entries_are_reported(selections: dict[str, Selection], errors: list[str]) -> None:
    assert expanded(**selections)[1] == errors


def test_what_is_wrong_is_left_out_and_the_rest_stays() -> None:
    found, errors = expanded(score=Selection(on("F", "S", "S", "A")))

    assert len(errors) == 2
    assert found.names("score") == ("S", "A")


def test_a_profile_needs_a_sorter_and_a_binder() -> None:
    found, _ = expanded(multiPoint=Selection(on("A")))
    errors: list[str] = []

    check_counts(found, "mine", "plugins", errors.append)

    assert errors == [
        'plugins.queueSort: only one queue sort plugin required for profile with scheduler name "mine", but got 0',
        'plugins.bind: at least one bind plugin is needed for profile with scheduler name "mine"',
    ]


def test_the_profile_runs_what_the_set_holds() -> None:
    found, _ = expanded(multiPoint=Selection(on("G", "Q", "A*4", "F", "D")))

    profile = found.profile("mine")

    assert profile.scheduler_name == "mine"
    assert profile.queue_sort is KNOWN["Q"]
    assert profile.pre_enqueue == (KNOWN["G"],)
    assert profile.filter == (KNOWN["A"], KNOWN["F"])
    assert [(one.plugin, one.weight) for one in profile.score] == [(KNOWN["A"], 4)]


BINDING_POINTS = ("reserve", "permit", "preBind", "postBind")


def test_plugins_of_the_binding_cycle_are_expanded_as_all_others() -> None:
    found, errors = expanded(
        multiPoint=Selection(on("H", "W", "F", "V")), permit=Selection(on("V"), ("W",)), postBind=Selection((), ("*",))
    )

    assert errors == []
    assert {point: found.names(point) for point in BINDING_POINTS} == {
        "reserve": ("H", "W", "V"),
        "permit": ("V",),
        "preBind": ("W", "V"),
        "postBind": (),
    }


@pytest.mark.parametrize(
    ("point", "interface"),
    [("permit", "PermitPlugin"), ("preBind", "PreBindPlugin"), ("postBind", "PostBindPlugin")],
)
def test_a_plugin_of_another_point_of_the_binding_cycle_is_reported(point: str, interface: str) -> None:
    _, errors = expanded(**{point: Selection(on("H"))})

    assert errors == [f'at[0]: plugin "H" does not extend {interface} plugin']


def test_the_profile_runs_the_plugins_of_the_binding_cycle() -> None:
    found, _ = expanded(multiPoint=Selection(on("Q", "D", "H", "W")))
    profile = found.profile("mine")

    assert profile.reserve == (KNOWN["H"], KNOWN["W"])
    for plugins_of_point in (profile.permit, profile.pre_bind, profile.post_bind):
        assert plugins_of_point == (KNOWN["W"],)
