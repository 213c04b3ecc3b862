"""What nodes, namespaces and device classes do to the cache and to those who wait. Expected: kube-scheduler 1.37, event handlers."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from scheduler.api.objects import (
    DeviceClass,
    DeviceClassSpec,
    Namespace,
    Node,
    NodeCondition,
    ObjectMeta,
    Pod,
    PodResourceClaim,
    Taint,
)
from scheduler.core.changes import NODE_DELETE
from scheduler.core.stimulus import DeviceClassApplied, DeviceClassDeleted, NamespaceApplied, NamespaceDeleted
from tests.support.builders import HOSTNAME, make_node, make_pod
from tests.support.core_run import Core
from tests.support.pod_affinity import affinity, term
from tests.support.scripted_plugins import Hearing, make_profile, named

TAINT = Taint(key="a", effect="NoSchedule")


def waits(core: Core, pod: Pod) -> Pod:
    """The pod, after an attempt that no node passed."""
    core.pods(pod)
    assert core.decide().outcome == "unschedulable"
    assert core.rooms(pod) == ["unschedulable"]
    return pod


def test_a_node_is_known_until_it_is_gone() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    assert core.state.cache.table.node_count == 1

    core.node_gone("n1")
    assert core.state.cache.table.node_count == 0


def test_the_end_of_an_earlier_node_of_the_name_leaves_the_present_one() -> None:
    core = Core()
    core.nodes(make_node("n1", uid="new"))
    core.node_gone("n1", uid="old")

    assert core.state.cache.table.node_count == 1


def test_the_end_of_an_unknown_node_is_nothing() -> None:
    core = Core()

    assert core.node_gone("n1") == []


def test_a_new_node_wakes_who_found_none_to_fit() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    pod = waits(core, make_pod(requests={"cpu": "5"}))
    core.nodes(make_node("n2", allocatable={"cpu": "8"}), at=9.0)

    assert core.rooms(pod) == ["active"]


def test_another_node_of_the_name_is_a_new_one() -> None:
    core = Core()
    core.nodes(make_node("n1", uid="first"))
    pod = waits(core, make_pod(requests={"cpu": "5"}))
    core.nodes(make_node("n1", uid="second", allocatable={"cpu": "8"}), at=9.0)

    assert core.rooms(pod) == ["active"]


def test_another_node_of_the_name_is_the_end_of_the_first_one() -> None:
    """The end of the first was missed, and is made up for those who wait for it."""
    core = Core([make_profile(named(Hearing, "Waits", events=(NODE_DELETE,), refuses=("n1",)))])
    core.nodes(make_node("n1", uid="first"))
    pod = waits(core, make_pod())
    core.nodes(make_node("n1", uid="second"), at=9.0)

    assert core.rooms(pod) == ["active"]


def test_a_pod_in_between_wakes_after_its_back_off() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    pod = waits(core, make_pod(requests={"cpu": "5"}))
    core.nodes(make_node("n2", allocatable={"cpu": "8"}), at=0.5)

    assert core.rooms(pod) == ["backoff"]


def refused_by(change: Callable[[Core], Pod], before: Node, after: Node) -> list[str]:
    core = Core()
    core.nodes(before)
    pod = change(core)
    core.nodes(after, at=9.0)
    return core.rooms(pod)


def lacks_room(core: Core) -> Pod:
    return waits(core, make_pod(requests={"cpu": "5"}))


def lacks_toleration(core: Core) -> Pod:
    return waits(core, make_pod())


def lacks_label(core: Core) -> Pod:
    return waits(core, make_pod(node_selector={"zone": "a"}))


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        pytest.param(lacks_room, make_node("n1"), make_node("n1", allocatable={"cpu": "8"}), id="allocatable"),
        pytest.param(lacks_toleration, make_node("n1", taints=[TAINT]), make_node("n1"), id="taint"),
        pytest.param(lacks_toleration, make_node("n1", unschedulable=True), make_node("n1"), id="uncordon"),
        pytest.param(lacks_label, make_node("n1"), make_node("n1", labels={"zone": "a"}), id="label"),
    ],
)
def test_a_change_that_the_rejecting_plugin_asked_for_wakes_the_pod(
    change: Callable[[Core], Pod], before: Node, after: Node
) -> None:
    assert refused_by(change, before, after) == ["active"]


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        pytest.param(lacks_room, make_node("n1"), make_node("n1"), id="nothing changed"),
        pytest.param(lacks_room, make_node("n1"), make_node("n1", labels={"zone": "a"}), id="label for room"),
        pytest.param(lacks_label, make_node("n1"), make_node("n1", allocatable={"cpu": "8"}), id="room for label"),
        pytest.param(lacks_toleration, make_node("n1", taints=[TAINT]), make_node("n1", taints=[TAINT]), id="same"),
        pytest.param(
            lacks_room,
            make_node("n1"),
            make_node("n1", conditions=[NodeCondition(type="Ready", status="True")]),
            id="condition",
        ),
        pytest.param(lacks_room, make_node("n1"), make_node("n1", unschedulable=True), id="cordon"),
        pytest.param(lacks_room, make_node("n1"), make_node("n1", images={"app": 5}), id="image"),
    ],
)
def test_any_other_change_lets_it_wait(change: Callable[[Core], Pod], before: Node, after: Node) -> None:
    assert refused_by(change, before, after) == ["unschedulable"]


def test_the_end_of_a_node_wakes_nobody_of_the_plugins_there_are() -> None:
    core = Core()
    core.nodes(make_node("n1"), make_node("n2"))
    pod = waits(core, make_pod(requests={"cpu": "5"}))
    core.node_gone("n2", at=9.0)

    assert core.rooms(pod) == ["unschedulable"]
    assert core.state.cache.table.node_count == 1


# A pod that needs a rule which is not there yet waits for what could lift that.


def device_class(resource: str = "example.com/gpu") -> DeviceClass:
    return DeviceClass(metadata=ObjectMeta(name="gpus"), spec=DeviceClassSpec(extended_resource_name=resource))


def refused(core: Core, pod: Pod) -> Pod:
    core.pods(pod)
    result = core.decide()
    assert (result.outcome, result.plugins) == ("error", ("MissingRule",))
    assert core.rooms(pod) == ["unschedulable"]
    return pod


def test_a_pod_refused_for_a_device_class_wakes_when_that_is_gone() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    core.scheduler.handle(DeviceClassApplied(now=0.0, device_class=device_class()))
    pod = refused(core, make_pod(requests={"example.com/gpu": "1"}))
    core.scheduler.handle(DeviceClassDeleted(now=9.0, name="gpus", uid=""))

    assert core.rooms(pod) == ["active"]
    assert core.decide(9.0).plugins == ("NodeResourcesFit",)


def test_a_pod_refused_for_a_device_class_wakes_when_that_serves_another_resource() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    core.scheduler.handle(DeviceClassApplied(now=0.0, device_class=device_class()))
    pod = refused(core, make_pod(requests={"example.com/gpu": "1"}))
    core.scheduler.handle(DeviceClassApplied(now=9.0, device_class=device_class("example.com/other")))

    assert core.rooms(pod) == ["active"]


GUARD = make_pod(
    "guard",
    namespace="elsewhere",
    node_name="n1",
    affinity=affinity(apart=(term(HOSTNAME, {}, namespaceSelector={"matchLabels": {"team": "a"}}),)),
)


def namespace(team: str = "a", **metadata: str) -> Namespace:
    return Namespace(metadata=ObjectMeta(name="default", labels={"team": team}, **metadata))  # type: ignore[arg-type]


@pytest.fixture
def guarded() -> tuple[Core, Pod]:
    """A pod that no node takes because of another one's anti-affinity to pods of its namespace."""
    core = Core()
    core.nodes(make_node("n1"))
    core.scheduler.handle(NamespaceApplied(now=0.0, namespace=namespace()))
    core.pods(GUARD)
    return core, waits(core, make_pod())


def test_a_guarded_pod_wakes_when_the_guard_is_gone(guarded: tuple[Core, Pod]) -> None:
    core, pod = guarded
    core.pod_gone(GUARD, at=9.0)

    assert core.rooms(pod) == ["active"]
    assert core.decide(9.0).node_name == "n1"


def test_a_guarded_pod_wakes_when_a_node_comes_that_the_guard_does_not_reach() -> None:
    """Upstream asks only about the terms of the pod itself, and it has none."""
    core = Core()
    core.nodes(make_node("n1", labels={"zone": "a"}))
    core.pods(make_pod("guard", node_name="n1", affinity=affinity(apart=(term("zone", labelSelector={}),))))
    pod = waits(core, make_pod())
    core.nodes(make_node("n2", labels={"zone": "b"}), at=9.0)

    assert core.rooms(pod) == ["active"]
    assert core.decide(9.0).node_name == "n2"


def test_a_guarded_pod_wakes_when_its_namespace_is_labelled_otherwise(guarded: tuple[Core, Pod]) -> None:
    """Upstream leaves it where it is, for five minutes if nothing else happens."""
    core, pod = guarded
    core.scheduler.handle(NamespaceApplied(now=9.0, namespace=namespace("b")))

    assert core.rooms(pod) == ["active"]
    assert core.decide(9.0).node_name == "n1"


def test_a_namespace_with_the_labels_it_had_wakes_nobody(guarded: tuple[Core, Pod]) -> None:
    core, pod = guarded
    core.scheduler.handle(NamespaceApplied(now=9.0, namespace=namespace(resource_version="2")))

    assert core.rooms(pod) == ["unschedulable"]


def test_a_guarded_pod_wakes_when_its_namespace_is_gone(guarded: tuple[Core, Pod]) -> None:
    """A namespace that is not known has no labels."""
    core, pod = guarded
    core.scheduler.handle(NamespaceDeleted(now=9.0, name="default", uid=""))

    assert core.rooms(pod) == ["active"]
    assert core.decide(9.0).node_name == "n1"


def test_a_pod_that_waits_for_a_term_of_its_own_wakes_with_the_namespaces_that_it_selects() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    core.pods(make_pod("web", namespace="elsewhere", node_name="n1", labels={"app": "web"}))
    near = affinity(near=(term(HOSTNAME, namespaceSelector={"matchLabels": {"team": "a"}}),))
    pod = waits(core, make_pod(affinity=near))
    other = Namespace(metadata=ObjectMeta(name="elsewhere", labels={"team": "a"}))
    core.scheduler.handle(NamespaceApplied(now=9.0, namespace=other))

    assert core.rooms(pod) == ["active"]
    assert core.decide(9.0).node_name == "n1"


def test_the_patch_of_its_own_condition_does_not_wake_a_refused_pod() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    pod = refused(core, make_pod(resource_claims=[PodResourceClaim(name="gpu")]))
    core.pods(
        msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, resource_version="2")), at=9.0
    )

    assert core.rooms(pod) == ["unschedulable"]
