"""What is known beside what the API server lists. Expected: by hand, in the words of kube-scheduler's cache debugger."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pytest

from scheduler.api.objects import Node, Pod
from scheduler.core.comparison import Comparison, Listed, ListedNode, ListedPod, compare, queue_summary
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core, changed, on_node


def listed(nodes: Iterable[Node] = (), pods: Iterable[Pod] = ()) -> Listed:
    return Listed(
        nodes=[ListedNode(uid=node.metadata.uid, name=node.metadata.name) for node in nodes],
        pods=[
            ListedPod(
                uid=pod.metadata.uid,
                key=f"{pod.metadata.namespace}/{pod.metadata.name}",
                node_name=pod.spec.node_name,
                scheduler_name=pod.spec.scheduler_name,
                is_terminating=pod.metadata.deletion_timestamp is not None,
            )
            for pod in pods
        ],
    )


def found(core: Core, nodes: Iterable[Node] = (), pods: Iterable[Pod] = ()) -> dict[str, list[str]]:
    return compare(core.state, listed(nodes, pods), {}).differences()


def cluster(*pods: Pod) -> Core:
    core = Core()
    core.nodes(NODE)
    core.pods(*pods)
    return core


NODE = make_node("n1")
PENDING = make_pod("web")
PLACED = on_node(make_pod("placed"), "n1")


def test_what_is_known_is_what_there_is() -> None:
    comparison = compare(cluster(PENDING, PLACED).state, listed([NODE], [PENDING, PLACED]), {})
    assert comparison == Comparison(nodes=1, pods=2)
    assert comparison.is_same


def test_a_node_is_missed_or_redundant_by_its_uid() -> None:
    """One that was made anew under its name is both."""
    again = make_node("n1", uid="second")
    assert found(cluster(), [again]) == {"missed_nodes": ["n1 (second)"], "redundant_nodes": ["n1 (n1-uid)"]}


def test_a_pod_is_missed_or_redundant_by_its_uid() -> None:
    again = on_node(make_pod("placed", uid="second"), "n1")
    assert found(cluster(PLACED), [NODE], [again]) == {
        "missed_pods": ["default/placed (second)"],
        "redundant_pods": ["default/placed (default-placed)"],
    }


def test_differences_are_sorted() -> None:
    names = ("n3", "n2", "n4")
    assert found(Core(), [make_node(name) for name in names]) == {
        "missed_nodes": ["n2 (n2-uid)", "n3 (n3-uid)", "n4 (n4-uid)"]
    }


def test_a_pod_that_is_on_another_node_is_misplaced() -> None:
    there = on_node(make_pod("placed"), "n2")
    assert found(cluster(PLACED), [NODE], [there]) == {
        "misplaced_pods": ["default/placed (default-placed): on n1, and really on n2"]
    }


def test_a_confirmed_pod_that_has_no_node_is_misplaced() -> None:
    assert found(cluster(PLACED), [NODE], [make_pod("placed")]) == {
        "misplaced_pods": ["default/placed (default-placed): on n1, and really on no node"]
    }


@pytest.mark.parametrize("stage", ["waiting", "assumed", "confirmed", "deleted while it is bound"])
def test_a_pod_is_known_from_the_queue_to_its_node(stage: str) -> None:
    core, there = cluster(PENDING), [PENDING]
    if stage != "waiting":
        core.decide()
    if stage == "confirmed":
        there = [on_node(PENDING, "n1")]
        core.pods(*there)
    if stage == "deleted while it is bound":
        core.pod_gone(PENDING)
        there = []
    assert found(core, [NODE], there) == {}


def test_an_assumed_pod_that_is_bound_already_is_not_misplaced() -> None:
    core = cluster(PENDING)
    core.decide()
    assert found(core, [NODE], [on_node(PENDING, "n1")]) == {}


def test_a_waiting_pod_that_is_gone_is_redundant() -> None:
    assert found(cluster(PENDING), [NODE], []) == {"redundant_pods": ["default/web (default-web)"]}


@pytest.mark.parametrize(
    "pod",
    [
        make_pod("foreign", scheduler_name="default-scheduler"),
        make_pod("leaving", deletion_timestamp="2026-01-01T00:00:00Z"),
    ],
)
def test_pods_without_a_node_that_are_not_ours_to_place_are_not_missed(pod: Pod) -> None:
    assert found(cluster(), [NODE], [pod]) == {}


def test_anybodys_pod_on_a_node_is_missed() -> None:
    foreign = on_node(make_pod("foreign", scheduler_name="default-scheduler"), "n1")
    assert found(cluster(), [NODE], [foreign]) == {"missed_pods": ["default/foreign (default-foreign)"]}


def test_what_cannot_be_understood_is_told_and_is_no_difference() -> None:
    bad_node, bad_pod = (
        make_node("bad", allocatable={"cpu": "x"}),
        on_node(make_pod("bad", requests={"cpu": "x"}), "n1"),
    )
    core = cluster(bad_pod)
    core.nodes(bad_node)
    comparison = compare(core.state, listed([NODE, bad_node], [bad_pod, PLACED]), {"Pod": ["default/placed"]})
    assert comparison.is_same
    assert comparison.left_out == ["bad (bad-uid)", "default/bad (default-bad)", "default/placed (default-placed)"]


def test_what_cannot_be_understood_any_more_stays_as_it_was() -> None:
    core = cluster(PLACED)
    core.pods(changed(PLACED, version="2", containers=make_pod(requests={"cpu": "x"}).spec.containers))
    assert found(core, [NODE], [PLACED]) == {}


def test_only_what_differs_twice_is_kept() -> None:
    first = Comparison(nodes=1, pods=2, missed_pods=["a", "b"], redundant_nodes=["n"])
    second = Comparison(nodes=2, pods=3, missed_pods=["b", "c"])
    assert second.also_in(first) == Comparison(nodes=2, pods=3, missed_pods=["b"])


def test_it_reads_as_a_document() -> None:
    document = msgspec.to_builtins(Comparison(nodes=1, pods=2, missed_pods=["a"]))
    assert document["missedPods"] == ["a"]
    assert set(document) == {
        *("nodes", "pods", "missedNodes", "redundantNodes", "missedPods", "redundantPods", "misplacedPods", "leftOut")
    }


def test_the_queue_is_summed_up_by_rooms() -> None:
    core = cluster(PENDING, make_pod("large", requests={"cpu": "9"}), make_pod("gated"))
    core.decide()
    core.decide()
    assert queue_summary(core.state) == {
        "summary": {"active": 1, "backoff": 0, "unschedulable": 1, "gated": 0},
        "binding": 1,
        "pods": ["default/gated", "default/large"],
    }


def test_a_node_that_cannot_be_understood_keeps_the_one_that_it_replaced() -> None:
    again = make_node("n1", uid="second", allocatable={"cpu": "x"})
    core = cluster()
    core.nodes(again)
    comparison = compare(core.state, listed([again]), {})
    assert (comparison.differences(), comparison.left_out) == ({}, ["n1 (second)"])


def test_a_pod_that_is_being_bound_is_known_although_its_room_is_free_already() -> None:
    """It is being deleted, which the list did not show yet."""
    core = cluster(PENDING)
    core.decide()
    core.pods(changed(PENDING, version="2", metadata={"deletion_timestamp": "2026-01-01T00:00:00Z"}))
    assert core.state.cache.pod(PENDING.metadata.uid) is None
    assert found(core, [NODE], [PENDING]) == {}
