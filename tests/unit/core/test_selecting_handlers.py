"""What Services, ReplicationControllers, ReplicaSets and StatefulSets do to the state. Expected: kube-scheduler 1.37, informers."""

import msgspec
import pytest

from scheduler.api.objects import SelectingObject
from scheduler.core.stimulus import SelectingObjectApplied, SelectingObjectDeleted, Stimulus
from scheduler.framework.pod_info import PodInfo
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core
from tests.support.selecting_objects import (
    controlled_by,
    replica_set,
    replication_controller,
    selected_pod,
    selector,
    service,
    stateful_set,
)

OBJECTS = (
    service("x", {"app": "web"}),
    replication_controller("x", {"kind": "rc"}),
    replica_set("x", selector({"kind": "rs"})),
    stateful_set("x", selector({"kind": "sts"})),
)
PODS = (
    selected_pod({"app": "web"}),
    selected_pod(None, controlled_by("ReplicationController", "x", "v1")),
    selected_pod(None, controlled_by("ReplicaSet", "x")),
    selected_pod(None, controlled_by("StatefulSet", "x")),
)
SELECTED = ["app=web", "kind=rc", "kind=rs", "kind=sts"]


def come(core: Core, *objects: SelectingObject, at: float = 0.0) -> None:
    for subject in objects:
        assert core.scheduler.handle(SelectingObjectApplied(now=at, subject=subject)) == []


def go(core: Core, subject: SelectingObject, *, at: float = 0.0) -> None:
    metadata = subject.metadata
    stimulus = SelectingObjectDeleted(
        now=at, kind=type(subject).__name__, namespace=metadata.namespace, name=metadata.name, uid=metadata.uid
    )
    assert core.scheduler.handle(stimulus) == []


def texts(core: Core, *pods: PodInfo) -> list[str]:
    return [core.state.cache.deduced_selector(pod).text for pod in pods]


def test_what_selects_pods_is_known_as_it_was_last_shown() -> None:
    core = Core()
    come(core, *OBJECTS)
    assert texts(core, *PODS) == SELECTED
    come(core, service("x", {"app": "db"}), stateful_set("x", None))

    assert texts(core, *PODS) == ["", "kind=rc", "kind=rs", ""]


@pytest.mark.parametrize("gone", range(4))
def test_what_is_gone_selects_nothing_and_the_others_do(gone: int) -> None:
    core = Core()
    come(core, *OBJECTS)
    go(core, OBJECTS[gone])

    assert texts(core, *PODS) == [text if number != gone else "" for number, text in enumerate(SELECTED)]


def test_the_end_of_what_is_not_known_is_nothing() -> None:
    core = Core()
    go(core, OBJECTS[0])

    assert texts(core, *PODS) == [""] * 4


def test_nobody_is_woken_by_what_selects_pods() -> None:
    """kube-scheduler lists these kinds without handlers."""
    core = Core()
    core.nodes(make_node("n1"))
    pod = make_pod(requests={"cpu": "5"})
    core.pods(pod)
    core.decide()
    come(core, *OBJECTS, at=9.0)
    go(core, OBJECTS[0], at=9.0)

    assert core.rooms(pod) == ["unschedulable"]


@pytest.mark.parametrize("subject", OBJECTS)
def test_in_a_story_each_kind_is_read_back_as_what_it_was(subject: SelectingObject) -> None:
    stimulus = SelectingObjectApplied(now=1.5, subject=subject)

    assert msgspec.json.decode(msgspec.json.encode(stimulus), type=Stimulus) == stimulus
