"""What is counted of extenders, and only where there are any."""

from __future__ import annotations

from scheduler.telemetry.metrics import SchedulerCollector, registry, render
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core
from tests.support.extender_runs import ExtendedCore, extender


def lines(core: Core) -> list[str]:
    text = render(registry(SchedulerCollector(core.state))).decode()
    return [line for line in text.splitlines() if line.startswith("scheduler_extender_calls_total")]


def test_answers_and_failures_are_counted_by_what_was_asked() -> None:
    core = ExtendedCore(extender("a", ignorable=True), extender("b"))
    core.nodes(make_node("n1"))
    core.pods(make_pod())
    core.go_on()
    core.answer(node_names=["n1"])
    core.go_on()
    core.fail("no answer")
    core.go_on()

    assert 'scheduler_extender_calls_total{result="answered",verb="filter"} 1.0' in lines(core)
    assert 'scheduler_extender_calls_total{result="failed",verb="filter"} 1.0' in lines(core)
    assert 'scheduler_extender_calls_total{result="failed",verb="bind"} 0.0' in lines(core)


def test_without_extenders_nothing_is_counted() -> None:
    assert lines(Core()) == []
