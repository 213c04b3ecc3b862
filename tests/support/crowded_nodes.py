"""Two schedulers that fill the last room of the same nodes at the same time, and how often both took the same place.

There is no kubelet: what would be refused stays bound, and is counted from the API objects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any

from tests.support.api_client import ApiClient
from tests.support.control_plane import ControlPlane
from tests.support.kube_scheduler import KubeScheduler
from tests.support.manifests import node_manifest, pod_manifest
from tests.support.reprise_process import RepriseProcess
from tests.support.resources import PODS, Object

FIRST, SECOND = "first", "second"
RESIDENT = {"cpu": "3", "memory": "1Gi"}
PLACE = {"cpu": "800m", "memory": "128Mi"}
"""Of a node's 4 CPUs the resident leaves room for one of these."""

SETTLED_SECONDS = 90.0
Start = Callable[[ControlPlane, str], AbstractContextManager[object]]


@dataclass(frozen=True)
class Crowd:
    """What came of one round.

    ``overcommitted``: nodes with more than one pod for the one place; ``too_many``: the pods that are too many on them.
    """

    pods: int
    overcommitted: int
    too_many: int


def start_kube_scheduler(control_plane: ControlPlane, scheduler_name: str) -> KubeScheduler:
    """One that serves this schedulerName, with defaults otherwise and no limit of requests."""
    return KubeScheduler(control_plane, {"profiles": [{"schedulerName": scheduler_name}]}, name=scheduler_name)


def start_reprise(control_plane: ControlPlane, scheduler_name: str) -> RepriseProcess:
    """The same for Reprise."""
    return RepriseProcess(control_plane, {"profiles": [{"schedulerName": scheduler_name}]}, name=scheduler_name)


PAIRS: dict[str, tuple[Start, Start]] = {
    "two kube-schedulers": (start_kube_scheduler, start_kube_scheduler),
    "Reprise beside kube-scheduler": (start_reprise, start_kube_scheduler),
}


def crowd(control_plane: ControlPlane, pair: Sequence[Start], *, nodes: int, rounds: int) -> list[Crowd]:
    """On an empty cluster: in each round half of the places are asked of either scheduler, all at once."""
    admin = control_plane.client()
    admin.create_all(node_manifest(f"node-{number:03}", kwok=False) for number in range(nodes))
    residents = [
        pod_manifest(f"resident-{number:03}", scheduler_name="nobody", requests=RESIDENT, nodeName=f"node-{number:03}")
        for number in range(nodes)
    ]
    admin.create_all(residents)
    with ExitStack() as stack:
        for start, name in zip(pair, (FIRST, SECOND), strict=True):
            stack.enter_context(start(control_plane, name))
        return [_round(admin, nodes, number) for number in range(rounds)]


def _round(admin: ApiClient, places: int, number: int) -> Crowd:
    names = (FIRST, SECOND)
    pods = [
        pod_manifest(f"pod-{number}-{index:03}", scheduler_name=names[index % 2], requests=PLACE)
        for index in range(places)
    ]
    with admin.watch(PODS) as watch:
        admin.create_all(pods)
        watch.wait_until(
            lambda seen: len(_placed(seen.objects.values())) == places, seconds=SETTLED_SECONDS, what="all are bound"
        )
        per_node = Counter(_placed(watch.objects.values()).values())
        for pod in pods:
            admin.delete(PODS, pod["metadata"]["name"], "default", grace_seconds=0)
        watch.wait_until(lambda seen: not _ours(seen.objects.values()), seconds=30, what="all are gone")
    crowded = [count for count in per_node.values() if count > 1]
    return Crowd(pods=places, overcommitted=len(crowded), too_many=sum(crowded) - len(crowded))


def _ours(pods: Any) -> list[Object]:
    return [pod for pod in pods if pod["spec"]["schedulerName"] in (FIRST, SECOND)]


def _placed(pods: Any) -> dict[str, str]:
    """Node by name, of the pods that are bound."""
    return {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in _ours(pods) if "nodeName" in pod["spec"]}
