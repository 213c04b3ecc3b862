"""Pods that we have bound and that their kubelet refused.

Reasons: kubelet 1.37, admission (``OutOf<resource>``, NodeAffinity, NodePorts, UnexpectedAdmissionError).
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler.api.objects import OwnerReference, Pod, PodStatus, Volume
from scheduler.core.instruction import Instruction, PodReference, ReadPod, RecordEvent
from scheduler.core.kubelet_rejections import KubeletRejection
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core, changed, on_node

REASON = "node(s) had rejected a pod of this kind a short while ago"


def reading(pod: Pod) -> ReadPod:
    metadata = pod.metadata
    return ReadPod(pod=PodReference(namespace=metadata.namespace, name=metadata.name, uid=metadata.uid))


def in_phase(pod: Pod, phase: str) -> Pod:
    return msgspec.structs.replace(pod, status=PodStatus(phase=phase))


def cluster(*names: str) -> Core:
    core = Core()
    core.nodes(*(make_node(name) for name in names))
    return core


def place(core: Core, pod: Pod, *, at: float = 0.0) -> str:
    """Decide on the pod and bind it; its node."""
    core.pods(pod, at=at)
    node = core.decide(at).node_name
    core.bound(pod, node, at=at)
    core.pods(in_phase(on_node(pod, node), "Pending"), at=at)
    return node


def refuse(core: Core, pod: Pod, reason: str = "OutOfcpu", *, at: float = 0.0) -> list[Instruction]:
    """The pod leaves the watch, is read, and found Failed."""
    assert core.pod_gone(pod, at=at) == [reading(pod)]
    return core.pod_read(pod, "Failed", reason, at=at)


def rejections(core: Core) -> dict[str, int]:
    return dict(core.state.measurements.kubelet_rejections)


@pytest.mark.parametrize(
    "reason",
    [
        "OutOfcpu",
        "OutOfmemory",
        "OutOfpods",
        "OutOfexample.com/gpu",
        "NodeAffinity",
        "NodePorts",
        "UnexpectedAdmissionError",
    ],
)
def test_a_pod_that_its_kubelet_refused_is_counted_by_reason(reason: str) -> None:
    core, pod = cluster("n1"), make_pod()
    place(core, pod)
    refuse(core, pod, reason)
    assert rejections(core) == {reason: 1}


def test_it_is_told_in_an_event_and_in_the_log() -> None:
    core, pod = cluster("n1"), make_pod("web")
    place(core, pod)

    assert refuse(core, pod, at=5.0) == [
        RecordEvent(
            pod=reading(pod).pod,
            type="Warning",
            reason="RejectedByKubelet",
            action="Binding",
            note="Node n1 rejected the pod (OutOfcpu); for 10s it gets no other pod of this kind: kubelet's words",
            controller="reprise",
            now=5.0,
        )
    ]
    assert core.scheduler.take_complaints() == [
        KubeletRejection(pod="default/web", node="n1", reason="OutOfcpu", message="kubelet's words", seconds=10.0)
    ]


@pytest.mark.parametrize(
    ("phase", "reason"), [("Failed", "Evicted"), ("Failed", ""), ("Succeeded", ""), ("Running", "OutOfcpu"), ("", "")]
)
def test_whatever_else_ended_a_pod_is_no_refusal(phase: str, reason: str) -> None:
    core, pod = cluster("n1"), make_pod()
    place(core, pod)
    assert core.pod_gone(pod) == [reading(pod)]
    assert core.pod_read(pod, phase, reason) == []
    assert rejections(core) == {}
    assert len(core.state.kubelet_rejections.cooling) == 0


def test_a_pod_that_was_seen_running_is_not_read() -> None:
    core, pod = cluster("n1"), make_pod()
    place(core, pod)
    core.pods(in_phase(on_node(pod, "n1"), "Running"))
    assert core.pod_gone(pod) == []


def test_a_pod_that_was_running_before_the_answer_to_its_bind_is_not_read() -> None:
    core, pod = cluster("n1"), make_pod()
    core.pods(pod)
    core.decide()
    core.pods(in_phase(on_node(pod, "n1"), "Running"))
    core.bound(pod, "n1")
    assert core.pod_gone(pod) == []


def test_a_pod_that_was_gone_before_the_answer_to_its_bind_is_read_after_it() -> None:
    core, pod = cluster("n1"), make_pod()
    core.pods(pod)
    core.decide()
    core.pods(in_phase(on_node(pod, "n1"), "Pending"))
    assert core.pod_gone(pod) == []
    assert reading(pod) in core.bound(pod, "n1")
    core.pod_read(pod, "Failed", "OutOfcpu")
    assert rejections(core) == {"OutOfcpu": 1}


def test_a_pod_that_is_shown_as_failed_is_read_for_its_reason() -> None:
    core, pod = cluster("n1"), make_pod()
    place(core, pod)
    assert core.pods(in_phase(on_node(pod, "n1"), "Failed")) == [reading(pod)]


def test_a_pod_that_somebody_deleted_is_not_read() -> None:
    core, pod = cluster("n1"), make_pod()
    place(core, pod)
    core.pods(changed(on_node(pod, "n1"), metadata={"deletion_timestamp": "2026-01-01T00:00:00Z"}))
    assert core.pod_gone(pod) == []


def test_another_schedulers_pod_is_not_read() -> None:
    core, pod = cluster("n1"), on_node(make_pod(scheduler_name="default-scheduler"), "n1")
    core.pods(pod)
    assert core.pod_gone(pod) == []


def test_a_pod_is_read_once() -> None:
    core, pod = cluster("n1"), make_pod()
    place(core, pod)
    refuse(core, pod)
    assert core.pod_gone(pod) == []
    assert core.pod_read(pod, "Failed", "OutOfcpu") == []
    assert rejections(core) == {"OutOfcpu": 1}


def test_fifty_are_read_at_once_and_ten_a_second_after_that() -> None:
    core = cluster("n1")
    core.nodes(make_node("n1", allocatable={"cpu": "100", "pods": "200"}))
    pods = [make_pod(f"p{number}") for number in range(75)]
    for pod in pods:
        place(core, pod)

    read = [bool(core.pod_gone(pod, at=1.0)) for pod in pods[:60]]
    assert (read.count(True), read.index(False)) == (50, 50)
    assert [bool(core.pod_gone(pod, at=1.95)) for pod in pods[60:70]].count(True) == 9
    counters = core.state.kubelet_rejections
    assert (counters.reads, counters.skipped_reads) == (59, 11)


def one_of_two_refused() -> tuple[Core, str]:
    """Two equal nodes; one has refused a "web" pod at second 10. The core, and the other node."""
    core, first = cluster("n1", "n2"), make_pod("web-0")
    chosen = place(core, first, at=10.0)
    refuse(core, first, at=10.0)
    return core, "n2" if chosen == "n1" else "n1"


def test_pods_of_the_shape_are_kept_from_the_node_while_it_cools_down() -> None:
    core, other = one_of_two_refused()
    for number in range(1, 6):
        assert place(core, make_pod(f"web-{number}"), at=11.0) == other
    assert core.state.measurements.kubelet_rejections.total() == 1


def test_pods_of_other_shapes_are_not() -> None:
    core, other = one_of_two_refused()
    for number in range(1, 4):
        assert place(core, make_pod(f"web-{number}"), at=11.0) == other
    assert place(core, make_pod("large", requests={"cpu": "2"}), at=11.0) != other


@pytest.mark.parametrize("batched", [True, False])
def test_who_fits_nowhere_else_waits_and_is_tried_again_when_the_node_has_cooled_down(batched: bool) -> None:
    core, first = cluster("n1"), make_pod("web-0")
    place(core, first, at=10.0)
    refuse(core, first, at=10.0)
    core.pods(*(make_pod(f"web-{number}") for number in range(1, 3 if batched else 2)), at=11.0)
    for _ in range(2 if batched else 1):
        result = core.decide(11.0)
        assert (result.outcome, result.message) == ("unschedulable", f"0/1 nodes are available: 1 {REASON}.")
        assert result.plugins == ("KubeletRejections",)

    core.tick(19.0)
    assert core.scheduler.schedule_one(19.0) is None
    core.tick(20.0)
    assert core.decide(21.0).node_name == "n1"


def test_a_node_that_is_refused_anyway_is_told_with_its_own_reason() -> None:
    core, first = cluster("n1"), make_pod("web-0")
    place(core, first, at=10.0)
    refuse(core, first, at=10.0)
    core.nodes(make_node("n1", unschedulable=True), at=10.5)
    core.pods(make_pod("web-1"), at=11.0)
    assert core.decide(11.0).message == "0/1 nodes are available: 1 node(s) were unschedulable."


def test_a_node_that_is_gone_keeps_nobody_waiting() -> None:
    core, other = one_of_two_refused()
    core.node_gone("n1" if other == "n2" else "n2", at=10.5)
    assert place(core, make_pod("web-1"), at=11.0) == other


def test_an_unsigned_pod_is_known_by_its_controller() -> None:
    """Pods with volumes have no signature; those of one StatefulSet are refused alike."""
    core = cluster("n1", "n2")
    owner = OwnerReference(api_version="apps/v1", kind="StatefulSet", name="db", uid="db-uid", controller=True)
    chosen = place(core, _unsigned("db-0", owner), at=10.0)
    refuse(core, _unsigned("db-0", owner), at=10.0)
    for number in range(1, 4):
        assert place(core, _unsigned(f"db-{number}", owner), at=11.0) != chosen


@pytest.mark.parametrize("owner", [None, OwnerReference(api_version="v1", kind="ConfigMap", name="c", uid="c-uid")])
def test_an_unsigned_pod_without_a_controller_is_only_counted(owner: OwnerReference | None) -> None:
    core, pod = cluster("n1"), _unsigned("alone", owner)
    place(core, pod)
    (event,) = refuse(core, pod)
    assert isinstance(event, RecordEvent)
    assert event.note == "Node n1 rejected the pod (OutOfcpu): kubelet's words"
    assert rejections(core) == {"OutOfcpu": 1}
    assert len(core.state.kubelet_rejections.cooling) == 0


def _unsigned(name: str, owner: OwnerReference | None) -> Pod:
    """A pod with an inline volume of a kind that rules look at."""
    volume: dict[str, Any] = {"name": "disk", "gcePersistentDisk": {"pdName": f"disk-of-{name}"}}
    made = msgspec.convert([volume], list[Volume])
    metadata = {"owner_references": None if owner is None else [owner]}
    return changed(make_pod(name), metadata=metadata, volumes=made)


# Pods that were bound before this process knew of them.

WEB = {"app": "web"}
GIVEN_LABELS = {**WEB, "topology.kubernetes.io/zone": "z"}
"""The API server adds its node's zone to a pod that is bound."""


def found(name: str, phase: str = "Pending", **fields: Any) -> Pod:
    return in_phase(on_node(make_pod(name, **fields), "n1"), phase)


def test_a_pod_that_was_bound_before_a_restart_and_is_refused_after_it_cools_the_node_down_for_its_shape() -> None:
    core = cluster("n1", "n2")
    before = found("web-0", labels=GIVEN_LABELS)
    core.pods(before)
    event = refuse(core, before, at=10.0)[0]
    assert isinstance(event, RecordEvent)
    assert (event.reason, event.controller) == ("RejectedByKubelet", "reprise")
    assert rejections(core) == {"OutOfcpu": 1}

    core.pods(make_pod("web-1", labels=WEB), make_pod("web-2", labels=WEB), at=10.0)
    assert [core.decide(10.0).node_name for _ in range(2)] == ["n2", "n2"]
    assert core.state.kubelet_rejections.unseen == {}


def test_an_unsigned_pod_that_was_bound_before_is_known_by_its_controller() -> None:
    core = cluster("n1", "n2")
    owner = OwnerReference(api_version="apps/v1", kind="StatefulSet", name="db", uid="db-uid", controller=True)
    before = in_phase(on_node(_unsigned("db-0", owner), "n1"), "Pending")
    core.pods(before)
    refuse(core, before, at=10.0)
    core.pods(_unsigned("db-1", owner), at=10.0)
    assert core.decide(10.0).node_name == "n2"


@pytest.mark.parametrize(
    ("phase", "scheduler_name"), [("Running", "reprise"), ("Pending", "default-scheduler")], ids=["runs", "foreign"]
)
def test_a_pod_that_was_bound_before_and_runs_or_is_anothers_is_not_read(phase: str, scheduler_name: str) -> None:
    core, before = cluster("n1"), found("web-0", phase, scheduler_name=scheduler_name)
    core.pods(before)
    assert core.state.kubelet_rejections.unseen == {}
    assert core.pod_gone(before) == []


def test_a_pod_that_was_bound_before_and_starts_is_not_read() -> None:
    core = cluster("n1")
    core.pods(found("web-0"))
    core.pods(found("web-0", "Running"))
    assert core.pod_gone(found("web-0")) == []


def test_pods_that_were_bound_before_are_read_no_faster_than_others() -> None:
    core = cluster("n1")
    pods = [found(f"p{number}") for number in range(60)]
    core.pods(*pods)
    assert [bool(core.pod_gone(pod, at=1.0)) for pod in pods].count(True) == 50
