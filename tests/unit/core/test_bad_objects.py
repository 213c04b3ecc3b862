"""Objects that cannot be understood are counted, reported once and left out; everything else goes on."""

from __future__ import annotations

import pytest

from scheduler.api.objects import PodStatus
from scheduler.core.state import BadObject
from tests.support.builders import make_node, make_pod
from tests.support.core_run import BINDING, ON_NODE, Core, changed, on_node

BAD_POD = make_pod("web", requests={"cpu": "many"})


def test_an_unreadable_pod_is_counted_reported_and_not_queued() -> None:
    core = Core()
    core.pods(BAD_POD)

    (bad,) = core.scheduler.take_complaints()
    assert isinstance(bad, BadObject)
    assert (bad.kind, bad.key) == ("Pod", "default/web")
    assert bad.error.startswith("spec.containers[0].resources.requests[cpu]: ")
    assert core.state.measurements.bad_objects == {"Pod": 1}
    assert core.rooms(BAD_POD) == []


def test_the_report_is_taken_once() -> None:
    core = Core()
    core.pods(BAD_POD)
    core.scheduler.take_complaints()

    assert core.scheduler.take_complaints() == []


def test_the_same_error_is_counted_each_time_and_reported_once() -> None:
    core = Core()
    core.pods(BAD_POD, changed(BAD_POD, version="2"))

    assert len(core.scheduler.take_complaints()) == 1
    assert core.state.measurements.bad_objects == {"Pod": 2}


@pytest.mark.parametrize("between", ["good", "gone", "ended"])
def test_an_error_that_returns_is_reported_again(between: str) -> None:
    core = Core()
    core.pods(BAD_POD)
    if between == "gone":
        core.pod_gone(BAD_POD)
    else:
        core.pods(make_pod("web", status=PodStatus(phase="Succeeded" if between == "ended" else "")))
    core.pods(BAD_POD)

    assert len(core.scheduler.take_complaints()) == 2


def test_another_error_of_the_same_object_is_reported() -> None:
    core = Core()
    core.pods(BAD_POD, make_pod("web", requests={"memory": "much"}))

    assert len(core.scheduler.take_complaints()) == 2


def test_a_pod_without_uid_is_bad_wherever_it_is() -> None:
    core = Core()
    core.pods(make_pod("a", uid=""), make_pod("b", uid="", node_name="n1"))

    assert core.scheduler.take_complaints() == [
        BadObject(kind="Pod", key="default/a", error="metadata.uid is empty, and pods are kept by it"),
        BadObject(kind="Pod", key="default/b", error="metadata.uid is empty, and pods are kept by it"),
    ]
    assert len(core.state.queue) == 0


def test_an_unreadable_update_leaves_a_queued_pod_as_it_was() -> None:
    core = Core()
    core.pods(make_pod("web"), BAD_POD)

    assert core.rooms(BAD_POD) == ["active"]


def test_an_unreadable_pod_that_has_a_node_needs_none_from_us() -> None:
    core = Core()
    core.pods(make_pod("web"), on_node(BAD_POD, "n1"))

    assert core.rooms(BAD_POD) == []


def test_an_unreadable_pod_that_has_a_node_is_not_tried_again_after_its_bind_failed() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    core.pods(make_pod("web"))
    core.decide()
    core.pods(on_node(BAD_POD, "n1"))
    assert core.rooms(BAD_POD) == [BINDING, ON_NODE]

    core.bind_failed(BAD_POD, "n1")
    assert core.rooms(BAD_POD) == []


def test_an_unreadable_node_is_left_out_with_its_field() -> None:
    core = Core()
    core.nodes(make_node("n1", allocatable={"cpu": "many"}))

    (bad,) = core.scheduler.take_complaints()
    assert isinstance(bad, BadObject)
    assert (bad.kind, bad.key) == ("Node", "n1")
    assert "status.allocatable[cpu]" in bad.error
    assert core.state.cache.table.node_count == 0


def test_a_node_that_became_unreadable_stays_as_it_was() -> None:
    core = Core()
    core.nodes(make_node("n1"), make_node("n1", allocatable={"cpu": "many"}))
    core.pods(make_pod(requests={"cpu": "4"}))

    assert core.decide().node_name == "n1"


def test_a_node_without_a_name_is_bad() -> None:
    core = Core()
    core.nodes(make_node(""))

    assert core.state.measurements.bad_objects == {"Node": 1}


@pytest.mark.parametrize("gone", [True, False])
def test_a_node_that_is_bad_again_is_reported_again(gone: bool) -> None:
    core = Core()
    bad = make_node("n1", allocatable={"cpu": "many"})
    core.nodes(bad)
    if gone:
        core.node_gone("n1")
    else:
        core.nodes(make_node("n1"))
    core.nodes(bad)

    assert len(core.scheduler.take_complaints()) == 2
