"""Parked pods in groups of those that the same events wake."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from scheduler.framework.pod_info import PodInfo
from scheduler.queue.parked import Group, ParkedPods, Rejector
from scheduler.queue.queued_pod import QueuedPod
from tests.support.builders import make_pod


def queued(
    name: str, *plugins: str, gating: str = "", pending: tuple[str, ...] = (), scheduler_name: str = "reprise"
) -> QueuedPod:
    pod = PodInfo(make_pod(name, uid=name, scheduler_name=scheduler_name))
    return QueuedPod(pod, 0.0, unschedulable_plugins=plugins, pending_plugins=pending, gating_plugin=gating)


def make_parked(*pods: QueuedPod) -> ParkedPods:
    parked = ParkedPods()
    for pod in pods:
        parked.add(pod)
    return parked


def names(pods: Iterable[QueuedPod]) -> list[str]:
    return [one.pod.uid for one in pods]


def members(groups: list[Group]) -> list[list[str]]:
    return [list(group.pods) for group in groups]


def rejected_by(parked: ParkedPods, *rejectors: Rejector) -> list[list[str]]:
    return members(parked.rejected_by(lambda rejector, _queued: rejector in rejectors))


def test_pods_that_the_same_plugins_rejected_are_one_group() -> None:
    parked = make_parked(queued("a", "Fit"), queued("b", "Taints"), queued("c", "Fit"), queued("d", "Fit", "Taints"))

    assert members(parked.groups()) == [["a", "c"], ["b"], ["d"]]


def test_groups_are_found_by_any_of_their_rejecting_plugins_in_the_order_in_which_they_came_to_be() -> None:
    parked = make_parked(queued("a", "Taints"), queued("b", "Fit", "Taints"), queued("c", "Fit"))

    assert rejected_by(parked, ("reprise", "Fit")) == [["b"], ["c"]]
    assert rejected_by(parked, ("reprise", "Fit"), ("reprise", "Taints")) == [["a"], ["b"], ["c"]]
    assert rejected_by(parked, ("other", "Fit")) == []
    parked = make_parked(queued("a", "Fit"), queued("b", "Taints"), queued("c", "Fit", "Gates"))
    assert rejected_by(parked, ("reprise", "Fit"), ("reprise", "Taints")) == [["a"], ["b"], ["c"]]


def test_pods_that_are_not_alike_are_not_in_one_group() -> None:
    parked = ParkedPods(lambda one: one.pod.uid[0])
    for name in ("a1", "b1", "a2"):
        parked.add(queued(name, "Fit"))

    assert members(parked.groups()) == [["a1", "a2"], ["b1"]]


@pytest.mark.parametrize(
    "other",
    [
        queued("b", "Fit", scheduler_name="other"),
        queued("b", "Fit", gating="Gate"),
        queued("b", "Fit", pending=("Fit",)),
    ],
)
def test_pods_of_another_profile_gate_or_state_do_not_answer_for_each_other(other: QueuedPod) -> None:
    assert members(make_parked(queued("a", "Fit"), other).groups()) == [["a"], ["b"]]


def test_a_pod_that_is_put_in_again_is_where_it_belongs_by_now() -> None:
    pod, other = queued("a", "Fit"), queued("b", "Fit")
    parked = make_parked(pod, other)
    pod.gating_plugin = "Gate"
    parked.add(pod)

    assert len(parked) == 2
    assert names(parked) == ["b", "a"]
    assert parked.gated_count == 1
    assert members(parked.groups()) == [["b"], ["a"]]


def test_a_removed_pod_is_in_no_group_and_no_count() -> None:
    parked = make_parked(queued("a", "Fit", gating="Gate"), queued("b", "Taints"))
    parked.remove("a")
    parked.remove("nobody")

    assert ("a" in parked, "b" in parked, len(parked), parked.gated_count) == (False, True, 1, 0)
    assert members(parked.groups()) == [["b"]]
    assert rejected_by(parked, ("reprise", "Fit")) == []


def test_pods_of_a_group_are_in_the_order_in_which_they_came() -> None:
    assert members(make_parked(*(queued(name, "Fit") for name in "cab")).groups()) == [["c", "a", "b"]]
