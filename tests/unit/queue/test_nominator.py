"""Who is nominated where, and for whom that matters. Expected: kube-scheduler 1.37, nominator."""

from __future__ import annotations

from typing import Any

from scheduler.api.objects import PodStatus
from scheduler.framework.pod_info import PodInfo
from scheduler.queue.nominator import Nominator
from tests.support.builders import make_pod


def nominated(name: str, node: str = "n1", *, priority: int | None = None, **fields: Any) -> PodInfo:
    return PodInfo(make_pod(name, priority=priority, status=PodStatus(nominated_node_name=node), **fields))


def names(found: dict[str, list[PodInfo]]) -> dict[str, list[str]]:
    return {node: [pod.pod.metadata.name for pod in pods] for node, pods in found.items()}


def test_pods_of_the_same_or_a_higher_priority_are_ahead() -> None:
    """No priority is priority 0."""
    nominator = Nominator()
    for name, priority in (("lower", 4), ("same", 5), ("higher", 6)):
        nominator.update(nominated(name, priority=priority))
    nominator.update(nominated("none", "n2"))

    assert names(nominator.ahead_of(PodInfo(make_pod("p", priority=5)))) == {"n1": ["same", "higher"]}
    assert names(nominator.ahead_of(PodInfo(make_pod("p", priority=7)))) == {}
    assert names(nominator.ahead_of(PodInfo(make_pod("p")))) == {"n1": ["lower", "same", "higher"], "n2": ["none"]}


def test_a_pod_is_not_ahead_of_itself() -> None:
    nominator = Nominator()
    nominator.update(nominated("p"))

    assert nominator.ahead_of(PodInfo(make_pod("p"))) == {}
    assert names(nominator.ahead_of(PodInfo(make_pod("p", uid="another")))) == {"n1": ["p"]}


def test_a_pod_is_nominated_to_one_node_at_a_time() -> None:
    nominator = Nominator()
    nominator.update(nominated("p", "n1"))
    nominator.update(nominated("p", "n2"))

    assert names(nominator.ahead_of(PodInfo(make_pod("q")))) == {"n2": ["p"]}
    assert len(nominator) == 1


def test_a_pod_without_a_nomination_loses_the_one_it_had() -> None:
    nominator = Nominator()
    nominator.update(nominated("p"))
    nominator.update(PodInfo(make_pod("p")))

    assert (len(nominator), nominator.ahead_of(PodInfo(make_pod("q")))) == (0, {})


def test_a_nomination_that_is_being_written_outlasts_changes_that_do_not_show_it() -> None:
    nominator = Nominator()
    nominator.nominate(PodInfo(make_pod("p")), "n1")
    nominator.update(PodInfo(make_pod("p", labels={"a": "b"})))
    assert names(nominator.ahead_of(PodInfo(make_pod("q")))) == {"n1": ["p"]}
    nominator.update(nominated("p", "n1"))
    nominator.update(PodInfo(make_pod("p")))

    assert len(nominator) == 0


def test_what_a_pod_shows_takes_the_place_of_what_is_being_written() -> None:
    nominator = Nominator()
    nominator.nominate(PodInfo(make_pod("p")), "n1")
    nominator.update(nominated("p", "n2"))

    assert nominator.node_of == {"default-p": "n2"}


def test_pods_below_are_those_of_a_lower_priority_on_the_node() -> None:
    nominator = Nominator()
    for name, node, priority in (("lower", "n1", 4), ("same", "n1", 5), ("elsewhere", "n2", 1)):
        nominator.update(nominated(name, node, priority=priority))

    assert [pod.pod.metadata.name for pod in nominator.below("n1", 5)] == ["lower"]
    assert nominator.below("n3", 5) == []


def test_removal_returns_the_pod_as_it_was_nominated_once() -> None:
    nominator = Nominator()
    pod = nominated("p")
    nominator.update(pod)
    nominator.update(nominated("other"))

    assert nominator.remove(pod.uid) is pod
    assert nominator.remove(pod.uid) is None
    assert names(nominator.ahead_of(PodInfo(make_pod("q")))) == {"n1": ["other"]}


def test_the_pod_counts_as_it_is_now() -> None:
    nominator = Nominator()
    nominator.update(nominated("p", requests={"cpu": "1"}))
    nominator.update(nominated("p", requests={"cpu": "2"}))
    (pods,) = nominator.ahead_of(PodInfo(make_pod("q"))).values()

    assert [pod.requests["cpu"] for pod in pods] == [2000]
