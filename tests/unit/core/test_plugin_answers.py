"""Answers of the right type that are made of something else: the pod's cycle fails, the plugin is named, and nothing else happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from scheduler.framework.binding import (
    ObjectKey,
    ObjectPatch,
    PermitAnswer,
    PreBindFailed,
    PreBindWaits,
    PreBindWrites,
    PreFlight,
)
from scheduler.framework.plugin import CycleState, FilterPlugin, PreFilterResult, ScorePlugin
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.post_filter import Candidate, PostFilterResult, Preemption
from scheduler.framework.status import SUCCESS, Code, Reason, Status
from tests.support.binding_plugins import scripted
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core
from tests.support.scripted_plugins import PreFilter, PreScore, make_profile, named
from tests.unit.core.test_post_filter import decided

CLAIM: dict[str, Any] = {"kind": "PersistentVolumeClaim", "name": "data", "uid": "u"}
WAIT = Status(Code.WAIT)
WRONG: Any = "text"
ODD_CODE: Any = 2
NAN = float("nan")

STEPS: tuple[Any, ...] = (
    PreBindFailed(WRONG),
    PreBindFailed(SUCCESS),
    PreBindFailed(Status(ODD_CODE)),
    PreBindWaits(WRONG, 200.0),
    PreBindWaits((ObjectKey("Node", "", {}),)),  # type: ignore[arg-type]
    PreBindWaits((), NAN),
    PreBindWaits((), WRONG),
    PreBindWrites(WRONG),
    PreBindWrites((ObjectPatch(**CLAIM, patch=WRONG),)),
    PreBindWrites((ObjectPatch(**CLAIM, patch={"metadata": WRONG}),)),
    PreBindWrites((ObjectPatch(**CLAIM, patch={"spec": object()}),)),
    PreBindWrites((ObjectPatch(**{**CLAIM, "name": 5}, patch={}),)),
)
ANSWERS: tuple[tuple[str, dict[str, Any]], ...] = (
    *(("PreBind", {"steps": (step,)}) for step in STEPS),
    ("Reserve", {"reserved": Status(ODD_CODE)}),
    ("Reserve", {"reserved": Status(Code.ERROR, (5,))}),  # type: ignore[arg-type]
    ("Reserve", {"reserved": Status(Code.UNSCHEDULABLE, WRONG)}),
    ("Permit", {"permitted": PermitAnswer(WRONG)}),
    ("Permit", {"permitted": PermitAnswer(WAIT, NAN)}),
    ("Permit", {"permitted": PermitAnswer(WAIT, WRONG)}),
    ("PreBindPreFlight", {"flight": PreFlight(WRONG)}),
)


@pytest.mark.parametrize(("stage", "answers"), ANSWERS)
def test_the_cycle_of_the_pod_fails_and_the_plugin_is_named(stage: str, answers: dict[str, Any]) -> None:
    core, pod = Core([make_profile(scripted("A", [], **answers))]), make_pod()
    core.nodes(make_node("n1"))
    core.pods(pod)
    core.decide()

    assert core.rooms(pod) == ["backoff"]
    assert core.state.measurements.plugin_failures == {"A": 1}
    [complaint] = core.scheduler.take_complaints()
    assert f'running {stage} plugin "A": it' in str(complaint) or "unsupported" in str(complaint)
    core.validate()


@pytest.mark.parametrize(
    "result",
    [
        WRONG,
        PostFilterResult(WRONG),
        PostFilterResult(Status(ODD_CODE)),
        PostFilterResult(SUCCESS, 5),  # type: ignore[arg-type]
        PostFilterResult(SUCCESS, "n1", WRONG),
        PostFilterResult(SUCCESS, "n1", Preemption("n1", (WRONG,))),
        PostFilterResult(SUCCESS, "n1", None, WRONG),
        PostFilterResult(SUCCESS, "n1", None, (Candidate("n1", (WRONG,)),)),
    ],
)
def test_post_filter_that_answers_nonsense_is_told_as_one_that_raised(result: Any) -> None:
    assert 'running PostFilter plugin "A": it ' in decided(result).message


class Numbers(FilterPlugin, ScorePlugin):
    """Answers of Filter and Score for all rows, as functions of their number."""

    filter_answer: Callable[[int], Any] = staticmethod(lambda size: np.zeros(size, np.uint64))
    score_answer: Callable[[int], Any] = staticmethod(lambda size: np.zeros(size, np.int64))

    def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
        return ()

    def filter(self, state: CycleState, pod: PodInfo, nodes: Any) -> Any:
        return self.filter_answer(len(nodes))

    def score(self, state: CycleState, pod: PodInfo, nodes: Any) -> Any:
        return self.score_answer(len(nodes))


@pytest.mark.parametrize(
    "plugin",
    [
        named(PreFilter, "A", result=PreFilterResult(Status(ODD_CODE))),
        named(PreFilter, "A", result=PreFilterResult(WRONG)),
        named(PreScore, "A", status=Status(ODD_CODE)),
        named(Numbers, "A", filter_answer=staticmethod(np.zeros)),
        named(Numbers, "A", filter_answer=staticmethod(lambda size: np.zeros((size, size), np.uint64))),
        named(Numbers, "A", filter_answer=staticmethod(lambda _size: np.zeros(1, np.uint64))),
        named(Numbers, "A", score_answer=staticmethod(lambda size: np.full(size, NAN))),
        named(Numbers, "A", score_answer=staticmethod(lambda size: np.full(size, 0.5))),
        named(Numbers, "A", score_answer=staticmethod(lambda size: np.full(size, 101))),
    ],
)
def test_a_decision_on_nonsense_is_an_error_of_the_plugin(plugin: Any) -> None:
    core, pod = Core([make_profile(plugin)]), make_pod()
    core.nodes(make_node("n1"), make_node("n2"))
    core.pods(pod)

    assert core.decide().outcome == "error"
    assert core.rooms(pod) == ["backoff"]
    assert core.state.measurements.plugin_failures == {"A": 1}
