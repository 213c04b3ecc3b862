"""Parked pods in groups of those that the same events wake."""

from __future__ import annotations

from scheduler.framework.pod_info import PodInfo
from scheduler.queue.parked import ParkedPods
from scheduler.queue.queued_pod import QueuedPod
from tests.support.builders import make_pod


def queued(name: str, *plugins: str, gating: str = "", scheduler_name: str = "reprise") -> QueuedPod:
    pod = PodInfo(make_pod(name, uid=name, scheduler_name=scheduler_name))
    return QueuedPod(pod, 0.0, unschedulable_plugins=plugins, gating_plugin=gating)


def make_parked(*pods: QueuedPod) -> ParkedPods:
    parked = ParkedPods()
    for pod in pods:
        parked.add(pod)
    return parked


def names(pods: list[QueuedPod]) -> list[str]:
    return [one.pod.uid for one in pods]


def test_one_pod_answers_for_all_that_the_same_plugins_rejected() -> None:
    asked: list[str] = []

    def wakes(one: QueuedPod) -> bool:
        asked.append(one.pod.uid)
        return "Fit" in one.unschedulable_plugins

    parked = make_parked(queued("a", "Fit"), queued("b", "Taints"), queued("c", "Fit"), queued("d", "Fit", "Taints"))

    assert names(parked.woken_by(wakes)) == ["a", "c", "d"]
    assert asked == ["a", "b", "d"]


def test_pods_of_different_profiles_or_gates_do_not_answer_for_each_other() -> None:
    parked = make_parked(
        queued("a", "Fit"), queued("b", "Fit", scheduler_name="other"), queued("c", "Fit", gating="Gate")
    )

    assert names(parked.woken_by(lambda one: one.gating_plugin == "")) == ["a", "b"]
    assert names(parked.woken_by(lambda one: one.pod.pod.spec.scheduler_name == "reprise")) == ["a", "c"]


def test_a_pod_that_is_put_in_again_is_where_it_belongs_by_now() -> None:
    pod, other = queued("a", "Fit"), queued("b", "Fit")
    parked = make_parked(pod, other)
    pod.gating_plugin = "Gate"
    parked.add(pod)

    assert len(parked) == 2
    assert names(list(parked)) == ["b", "a"]
    assert parked.gated_count == 1
    assert names(parked.woken_by(lambda one: bool(one.gating_plugin))) == ["a"]


def test_a_removed_pod_is_in_no_group_and_no_count() -> None:
    parked = make_parked(queued("a", "Fit", gating="Gate"), queued("b", "Fit"))
    parked.remove("a")
    parked.remove("nobody")

    assert ("a" in parked, "b" in parked, len(parked), parked.gated_count) == (False, True, 1, 0)
    assert names(parked.woken_by(lambda one: True)) == ["b"]


def test_pods_wake_in_the_order_in_which_they_came() -> None:
    parked = make_parked(*(queued(name, "Fit") for name in "cab"))

    assert names(parked.woken_by(lambda one: True)) == ["c", "a", "b"]
