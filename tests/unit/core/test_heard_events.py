"""Events that no plugin of ours listens to so far, and that others may: a plugin hears of each change by its name.

Expected: kube-scheduler 1.37, event handlers.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from scheduler.api.objects import Pod
from scheduler.batch.outcomes import Attempt
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core, changed, on_node
from tests.support.scripted_plugins import Hearing, make_profile, named

NODE_DELETE = ClusterEvent(EventResource.NODE, ActionType.DELETE)
NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)
NODE_CONDITION = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_CONDITION)
POD_ADD = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD)
POD_DELETE = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)
POD_LABEL = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_LABEL)
POD_UPDATE = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE)
OWN_UPDATE = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE)
ALL = (NODE_DELETE, NODE_ADD, NODE_CONDITION, POD_ADD, POD_DELETE, POD_LABEL, POD_UPDATE, OWN_UPDATE)

OTHER = make_pod("other", scheduler_name="other", node_name="n2")
OURS = changed(make_pod("ours"), version="1")


def hears(event: ClusterEvent, change: Callable[[Core], object]) -> bool:
    """Whether the change wakes a pod that a plugin rejected which listens to this event alone.

    Before it there are nodes n1 and n2, a pod of another scheduler on n2, and one of ours that was assumed on n1.
    """
    core = Core([make_profile(named(Hearing, "Listener", events=(event,)))])
    core.nodes(make_node("n1"))
    core.pods(OURS)
    assert core.decide().node_name == "n1"
    core.nodes(make_node("n2"))
    core.pods(OTHER)
    (listener,) = core.state.profiles["reprise"].filter
    type(listener).refuses = ("n1", "n2")  # type: ignore[attr-defined]
    waiting = changed(make_pod("waiting"), version="1")
    core.pods(waiting)
    assert core.decide().outcome == "unschedulable"
    change(core)
    woken = core.rooms(waiting)
    assert woken in (["active"], ["unschedulable"])
    return woken == ["active"]


CHANGES: dict[str, tuple[Callable[[Core], object], set[ClusterEvent]]] = {
    "a node is gone": (lambda core: core.node_gone("n2", at=9.0), {NODE_DELETE}),
    "a node comes": (lambda core: core.nodes(make_node("n3"), at=9.0), {NODE_ADD}),
    "a node takes the name of another": (
        lambda core: core.nodes(make_node("n2", uid="again"), at=9.0),
        {NODE_DELETE, NODE_ADD},
    ),
    "a node stays as it is": (lambda core: core.nodes(make_node("n2"), at=9.0), set()),
    "a pod appears on a node": (lambda core: core.pods(make_pod("late", node_name="n2"), at=9.0), {POD_ADD}),
    "a pod is bound as assumed": (lambda core: core.pods(on_node(OURS, "n1"), at=9.0), {POD_ADD}),
    "a pod is bound elsewhere": (lambda core: core.pods(on_node(OURS, "n2"), at=9.0), {POD_ADD, POD_DELETE}),
    "a pod is bound and labelled": (
        lambda core: core.pods(changed(on_node(OURS, "n1"), metadata={"labels": {"a": "b"}}), at=9.0),
        {POD_ADD, POD_LABEL},
    ),
    "a pod turns up on another node": (lambda core: core.pods(on_node(OTHER, "n1"), at=9.0), {POD_ADD, POD_DELETE}),
    "a pod is labelled": (
        lambda core: core.pods(changed(OTHER, metadata={"labels": {"a": "b"}}), at=9.0),
        {POD_LABEL},
    ),
    "a pod's status changes": (lambda core: core.pods(changed(OTHER, version="2"), at=9.0), {POD_UPDATE}),
    "a pod is gone": (lambda core: core.pod_gone(OTHER, at=9.0), {POD_DELETE}),
    "an assumed pod is gone": (lambda core: core.pod_gone(OURS, at=9.0), {POD_DELETE}),
    "a bind fails": (lambda core: core.bind_failed(OURS, "n1", at=9.0), {POD_DELETE}),
    "a bind succeeds": (lambda core: core.bound(OURS, "n1", at=9.0), set()),
    "the pod itself changes": (
        lambda core: core.pods(changed(make_pod("waiting"), version="2"), at=9.0),
        {OWN_UPDATE},
    ),
    "a pod of another scheduler waits": (
        lambda core: core.pods(make_pod("idle", scheduler_name="other"), at=9.0),
        set(),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_heard_of_by_its_name_and_by_no_other(change: str) -> None:
    make, expected = CHANGES[change]

    # A generic update is heard by whoever registered any update of the kind; that is matching, and tested with it.
    heard = {event for event in ALL if hears(event, make)}
    assert heard - {POD_UPDATE} == expected - {POD_UPDATE}
    assert (POD_UPDATE in heard) == bool(expected & {POD_UPDATE, POD_LABEL})


def test_an_older_state_of_a_confirmed_pod_takes_nothing_back() -> None:
    """Not even one that says that the pod is being deleted."""
    core = Core()
    core.nodes(make_node("n1"))
    core.pods(OURS)
    core.decide()
    core.pods(on_node(OURS, "n1"))
    older: Pod = changed(OURS, version="0", metadata={"deletion_timestamp": "2026-01-01T00:00:00Z"})
    core.pods(older)

    cached = core.state.cache.pod(OURS.metadata.uid)
    assert cached is not None
    assert not cached.assumed


def test_a_reused_decision_sees_a_node_that_prefilter_named_before_it_came() -> None:
    core = Core()
    core.nodes(make_node("n1"), make_node("n2"))
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in ("n1", "n2", "n9")]
    required = {"nodeSelectorTerms": [{"matchFields": [field]} for field in fields]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    spec = {"containers": [{"name": "c", "image": "a"}], "schedulerName": "reprise", "affinity": affinity}

    def pod(name: str) -> Pod:
        return msgspec.convert({"metadata": {"name": name, "namespace": "default", "uid": name}, "spec": spec}, Pod)

    core.pods(*(pod(name) for name in "abcd"))
    assert [core.decide().feasible for _ in range(3)] == [2, 2, 2]
    core.nodes(make_node("n9"))

    assert core.decide().feasible == 3
    assert core.state.batching.counters.attempts["reprise", Attempt.HINT_USED] == 2
