"""With the default configuration nearly every pod of a shape is decided on from an entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from scheduler.api.objects import Node, OwnerReference, Pod
from scheduler.config.configuration import from_object
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core

PODS = 2000
SECONDS_A_POD = 0.001
"""So that entries expire now and then, as they do when pods come in a stream."""

SMALL = {"cpu": "1m", "memory": "1Mi"}
INDEX = "batch.kubernetes.io/job-completion-index"


def bare(number: int) -> Pod:
    return make_pod(f"p{number}", requests=SMALL)


def in_turn(number: int) -> Pod:
    return make_pod(f"p{number}", requests={"cpu": f"{1 + number % 2}m"})


def of_a_job(number: int) -> Pod:
    """As the Job controller makes them; of an Indexed Job, each with a label of its own."""
    labels = {"batch.kubernetes.io/job-name": "job", "batch.kubernetes.io/controller-uid": "1-2-3", INDEX: f"{number}"}
    pod = make_pod(f"job-{number}-abcde", labels=labels, requests=SMALL)
    owner = OwnerReference(api_version="batch/v1", kind="Job", name="job", controller=True)
    metadata = msgspec.structs.replace(pod.metadata, owner_references=[owner])
    return msgspec.structs.replace(pod, metadata=metadata)


def big_nodes(count: int) -> list[Node]:
    amounts = {"cpu": "64", "memory": "256Gi", "pods": str(PODS)}
    return [make_node(f"n{number}", allocatable=amounts) for number in range(count)]


@pytest.mark.parametrize("pod", [bare, in_turn, of_a_job])
@pytest.mark.parametrize("nodes", [1, 50, 5000])
def test_of_2000_pods_99_in_100_are_hits(nodes: int, pod: Callable[[int], Pod]) -> None:
    core = Core(batching=from_object(None).batching)
    core.nodes(*big_nodes(nodes))
    core.pods(*map(pod, range(PODS)))
    outcomes: set[Any] = set()
    for number in range(PODS):
        result = core.decide(number * SECONDS_A_POD)
        outcomes.add(result.outcome)
    counters = core.state.batching.counters

    assert outcomes == {"assumed"}
    assert sum(counters.attempts.values()) == PODS
    assert counters.hit_ratio() >= 0.99
    assert counters.mismatched.total() == 0
    assert counters.verified.total() > 0
