"""A node that others touched after the decision is filtered again before the bind is sent.

Expected: arithmetic on the nodes' room; what follows a refusal is what kube-scheduler 1.37 does after a failed bind.
"""

from __future__ import annotations

import msgspec
import pytest

from scheduler.api.objects import Affinity, Pod
from scheduler.core.bind_check import is_touched
from scheduler.core.instruction import BindPod, Condition, Instruction, PatchPodStatus, RecordEvent
from scheduler.core.stimulus import BindDue
from tests.support.builders import make_node, make_pod
from tests.support.core_run import BINDING, ON_NODE, Core, changed, on_node, reference

STILL_BINDING = [BINDING, ON_NODE]
REFUSAL = "node n1 changed before the pod was bound to it: Insufficient cpu"


def about_to_bind(pod: Pod, *others: str) -> Core:
    """The pod was assumed on n1, of 4 CPUs, at second 10; ``others`` are nodes that came afterwards."""
    core = Core()
    core.nodes(make_node("n1"))
    core.pods(pod)
    assert core.decide(10.0).instructions == [BindPod(pod=reference(pod), node_name="n1")]
    core.nodes(*(make_node(name) for name in others))
    return core


def due(core: Core, pod: Pod, at: float = 11.0) -> list[Instruction]:
    return core.scheduler.handle(BindDue(now=at, uid=pod.metadata.uid))


def foreign(name: str, cpu: str, node: str = "n1") -> Pod:
    """Another scheduler's pod on the node."""
    return on_node(make_pod(name, scheduler_name="default-scheduler", requests={"cpu": cpu}), node)


@pytest.fixture
def pod() -> Pod:
    return changed(make_pod("web", requests={"cpu": "3"}), version="7")


def test_nothing_is_touched_by_the_pods_own_assume(pod: Pod) -> None:
    assert not is_touched(about_to_bind(pod).state, pod.metadata.uid)


def test_our_own_later_pods_touch_nothing_as_they_were_decided_on_with_this_one_counted(pod: Pod) -> None:
    core = about_to_bind(pod)
    small = make_pod("small", requests={"cpu": "1"})
    core.pods(small)
    assert core.decide(10.5).node_name == "n1"

    assert not is_touched(core.state, pod.metadata.uid)


def test_the_zone_that_the_api_server_gives_a_pod_of_ours_touches_nothing(pod: Pod) -> None:
    """It does when it binds the pod (KEP-4742): as many touches as binds, and nobody's doing."""
    core = about_to_bind(pod)
    small = make_pod("small", requests={"cpu": "1"}, labels={"app": "small"})
    core.pods(small)
    core.decide(10.5)
    labels = {"app": "small", "topology.kubernetes.io/zone": "z1"}
    core.pods(changed(on_node(small, "n1"), version="bound", metadata={"labels": labels}))

    assert not is_touched(core.state, pod.metadata.uid)
    core.state.cache.validate()


def test_a_pod_of_ours_that_is_shown_with_more_requests_touches_the_node(pod: Pod) -> None:
    core = about_to_bind(pod)
    small = make_pod("small", requests={"cpu": "1"})
    core.pods(small)
    core.decide(10.5)
    core.pods(changed(on_node(small, "n1"), containers=make_pod(requests={"cpu": "2"}).spec.containers))

    assert is_touched(core.state, pod.metadata.uid)


def test_another_label_of_a_pod_that_was_confirmed_touches_the_node(pod: Pod) -> None:
    core = about_to_bind(pod)
    other = foreign("other", "100m")
    core.pods(other)
    due(core, pod)
    core.pods(changed(other, version="2", metadata={"labels": {"app": "other"}}))

    assert is_touched(core.state, pod.metadata.uid)


def test_what_happens_on_other_nodes_touches_nothing(pod: Pod) -> None:
    core = about_to_bind(pod, "n2")
    core.pods(foreign("other", "2", "n2"))
    assert not is_touched(core.state, pod.metadata.uid)


def test_heartbeats_touch_nothing(pod: Pod) -> None:
    core = about_to_bind(pod)
    core.nodes(make_node("n1"))
    assert not is_touched(core.state, pod.metadata.uid)


@pytest.mark.parametrize("change", ["pod", "gone", "label"])
def test_a_pod_of_others_and_a_change_of_the_node_touch_it(pod: Pod, change: str) -> None:
    core = about_to_bind(pod)
    if change == "pod":
        core.pods(foreign("other", "100m"))
    elif change == "gone":
        core.node_gone("n1")
    else:
        core.nodes(make_node("n1", labels={"disk": "ssd"}))
    assert is_touched(core.state, pod.metadata.uid)


def test_a_pod_that_nobody_binds_is_not_touched(pod: Pod) -> None:
    core = about_to_bind(pod)
    core.bound(pod, "n1")
    core.pods(foreign("other", "2"))
    assert not is_touched(core.state, pod.metadata.uid)


def test_room_that_is_still_enough_lets_the_bind_go(pod: Pod) -> None:
    """3 of 4 CPUs are this pod's own, which is left out, or it would never fit beside itself."""
    core = about_to_bind(pod)
    core.pods(foreign("other", "1"))

    assert due(core, pod) == []
    assert core.rooms(pod) == STILL_BINDING
    assert core.state.measurements.bind_checks == {"fits": 1}
    assert not is_touched(core.state, pod.metadata.uid), "it is not filtered again before something else happens"
    core.state.cache.validate()


def test_a_second_touch_is_looked_at_again(pod: Pod) -> None:
    core = about_to_bind(pod)
    core.pods(foreign("other", "1"))
    assert due(core, pod) == []

    core.pods(foreign("more", "1"))
    assert is_touched(core.state, pod.metadata.uid)
    assert due(core, pod) != []


def test_a_refused_pod_is_told_and_backs_off_as_after_a_failed_bind(pod: Pod) -> None:
    core = about_to_bind(pod)
    core.pods(foreign("other", "2"))

    assert due(core, pod, at=11.0) == [
        RecordEvent(
            pod=reference(pod),
            type="Warning",
            reason="FailedScheduling",
            action="Scheduling",
            note=REFUSAL,
            controller="reprise",
            now=11.0,
        ),
        PatchPodStatus(
            pod=reference(pod),
            condition=Condition(
                type="PodScheduled",
                status="False",
                reason="SchedulerError",
                message=REFUSAL,
                observed_generation=0,
                last_transition_time=11.0,
            ),
            condition_order=["PodScheduled"],
        ),
    ]
    assert core.rooms(pod) == ["backoff"]
    assert core.state.measurements.bind_checks == {"refused": 1}
    assert core.state.measurements.attempts["error", "reprise"] == 1
    core.state.cache.validate()


def test_a_refused_pod_goes_elsewhere_when_its_back_off_has_ended(pod: Pod) -> None:
    core = about_to_bind(pod, "n2")
    core.pods(foreign("other", "2"))
    due(core, pod, at=11.0)

    core.tick(20.0)
    assert core.decide(20.0).node_name == "n2"


def test_the_room_of_a_refused_pod_is_free_for_those_that_wait(pod: Pod) -> None:
    core = about_to_bind(pod)
    waiting = make_pod("waiting", requests={"cpu": "2"})
    core.pods(waiting, at=10.0)
    assert core.decide(10.0).outcome == "unschedulable"

    core.pods(foreign("other", "2"), at=11.0)
    due(core, pod, at=11.0)
    core.tick(12.0)
    decided = core.decide(12.0)
    assert (decided.pod, decided.node_name) == ("default/waiting", "n1")


def test_a_node_that_is_gone_refuses(pod: Pod) -> None:
    core = about_to_bind(pod)
    core.node_gone("n1")
    told, _ = due(core, pod)
    assert isinstance(told, RecordEvent)
    assert told.note == "node n1 is gone, so the pod was not bound to it"
    assert core.rooms(pod) == ["backoff"]


def test_another_node_of_the_name_is_filtered_for_itself(pod: Pod) -> None:
    core = about_to_bind(pod)
    core.node_gone("n1")
    core.nodes(make_node("n1", uid="second", unschedulable=True))
    told, _ = due(core, pod)
    assert isinstance(told, RecordEvent)
    assert told.note == "node n1 changed before the pod was bound to it: node(s) were unschedulable"


def test_a_pod_that_is_gone_is_left_to_the_answer_of_its_bind(pod: Pod) -> None:
    core = about_to_bind(pod)
    core.pod_gone(pod)
    core.pods(foreign("other", "2"))
    assert due(core, pod) == []
    assert core.rooms(pod) == [BINDING]


def test_a_pod_that_the_watch_shows_on_its_node_is_not_refused(pod: Pod) -> None:
    """An answer was lost, and the bind would be sent again: it is there already."""
    core = about_to_bind(pod)
    core.pods(on_node(pod, "n1"))
    core.pods(foreign("other", "2"))
    assert due(core, pod) == []
    assert core.rooms(pod) == STILL_BINDING


def test_rules_beyond_the_row_are_asked_without_the_pod_itself() -> None:
    """It keeps itself from its own node by no anti-affinity; another scheduler's pod does."""
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
    pod = _with_anti_affinity(make_pod("web", labels={"app": "web"}), term)
    core = about_to_bind(pod)
    core.nodes(make_node("n1", labels={"touched": "yes"}))
    assert due(core, pod) == []

    core.pods(on_node(make_pod("other", labels={"app": "web"}, scheduler_name="default-scheduler"), "n1"))
    told, _ = due(core, pod)
    assert isinstance(told, RecordEvent)
    assert told.note == ("node n1 changed before the pod was bound to it: node(s) didn't match pod anti-affinity rules")


def _with_anti_affinity(pod: Pod, term: object) -> Pod:
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return changed(pod, affinity=msgspec.convert(affinity, Affinity))
