"""The heap of queued pods."""

from __future__ import annotations

from scheduler.framework.pod_info import PodInfo
from scheduler.queue.pod_heap import PodHeap
from scheduler.queue.queued_pod import QueuedPod
from tests.support.builders import make_pod


def queued(name: str) -> QueuedPod:
    return QueuedPod(PodInfo(make_pod(name)), timestamp=0.0)


def popped(heap: PodHeap) -> list[str]:
    names = []
    while (one := heap.pop()) is not None:
        names.append(one.pod.pod.metadata.name)
    return names


def test_the_lowest_key_goes_first_and_equal_ones_in_the_order_they_came() -> None:
    heap = PodHeap()
    for ticket, (name, key) in enumerate((("late", 2), ("a", 1), ("b", 1), ("early", 0))):
        heap.push(key, ticket, queued(name))

    assert popped(heap) == ["early", "a", "b", "late"]


def test_a_pod_that_is_put_in_again_is_at_its_new_place_only() -> None:
    heap, moved = PodHeap(), queued("moved")
    heap.push(0, 1, moved)
    heap.push(1, 2, queued("other"))
    heap.push(2, 3, moved)

    assert popped(heap) == ["other", "moved"]


def test_a_pod_that_was_taken_out_is_not_popped() -> None:
    heap = PodHeap()
    heap.push(0, 1, queued("gone"))
    heap.push(1, 2, queued("here"))
    heap.remove(queued("gone").pod.uid)

    assert popped(heap) == ["here"]
