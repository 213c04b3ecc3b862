"""A minute of work for two schedulers: pods by the dozen, some that fit nowhere, a preemption each, and taints that come and go, and a pod that its
kubelet refuses."""

from __future__ import annotations

import threading
import time
from typing import Any

from tests.support.api_client import ApiClient
from tests.support.manifests import node_manifest, pod_manifest
from tests.support.resources import NODES, PODS, PRIORITY_CLASSES, Object

SCHEDULERS = {"reprise": 40, "default-scheduler": 10}
"""By schedulerName: pods in a wave."""
NODE_COUNT = 30
WAVE_SECONDS = 2.0
SMALL = {"cpu": "1", "pods": "10"}
BARE = "bare"
"""A node that nobody simulates: the test plays its kubelet."""
REFUSED = {"phase": "Failed", "reason": "OutOfcpu", "message": "Pod was rejected: not enough cpu"}
TAINT = {"key": "maintenance", "value": "soon", "effect": "NoSchedule"}


def prepare(admin: ApiClient) -> None:
    """Nodes in three zones, a node for each scheduler's preemption, and two priorities."""
    admin.create_all(node_manifest(f"node-{index:02}", zone=f"zone-{index % 3}") for index in range(NODE_COUNT))
    for name in SCHEDULERS:
        small = node_manifest(f"small-{name}", allocatable=SMALL, labels={"only": name}, taints=[_taint(name)])
        admin.create(small)
    admin.create(node_manifest(BARE, labels={"only": BARE}, taints=[_taint(BARE)], kwok=False))
    for name, value in (("low", 100), ("high", 10000)):
        admin.apply(
            {
                "apiVersion": PRIORITY_CLASSES.api_version,
                "kind": PRIORITY_CLASSES.kind,
                "metadata": {"name": name},
                "value": value,
            }
        )


def work(admin: ApiClient, seconds: float) -> None:
    """Give both schedulers something to do until the time is over."""
    end = time.monotonic() + seconds
    pause = threading.Event()  # never set: a wave needs an interval
    wave = 0
    while time.monotonic() < end:
        began = time.monotonic()
        admin.create_all(_pods(wave))
        if wave == 2:
            admin.create_all(_small_pod(name, "low") for name in SCHEDULERS)
        if wave == 4:
            admin.create_all(_small_pod(name, "high") for name in SCHEDULERS)
            admin.create(_pod_of("refused", "reprise", only=BARE))
        if wave == 9:
            admin.patch(PODS, "refused", {"status": REFUSED}, namespace="default", subresource="status")
        if wave in (5, 9):
            taints = [TAINT] if wave == 5 else []
            for index in range(3):
                admin.patch(NODES, f"node-{index:02}", {"spec": {"taints": taints}})
        if wave > 4:
            for name in SCHEDULERS:
                admin.delete(PODS, f"{name}-{wave - 4}-0", "default")
        wave += 1
        pause.wait(max(0.0, WAVE_SECONDS - (time.monotonic() - began)))


def _pods(wave: int) -> list[Object]:
    """Most of a wave are alike; every second wave has one that fits nowhere."""
    alike = {"cpu": "20m", "memory": "16Mi"}
    pods = [
        pod_manifest(f"{name}-{wave}-{index}", scheduler_name=name, requests=alike, labels={"app": f"app-{wave % 2}"})
        for name, count in SCHEDULERS.items()
        for index in range(count)
    ]
    if wave % 2:
        huge = {"cpu": "1000"}
        pods += [pod_manifest(f"huge-{name}-{wave}", scheduler_name=name, requests=huge) for name in SCHEDULERS]
    return pods


def _small_pod(scheduler_name: str, priority: str) -> Object:
    """A pod that alone fills the small node of its scheduler."""
    name = f"{priority}-{scheduler_name}"
    return _pod_of(name, scheduler_name, only=scheduler_name, priorityClassName=priority)


def _pod_of(name: str, scheduler_name: str, *, only: str, **spec: Any) -> Object:
    """A pod for the node that is labelled and tainted so."""
    return pod_manifest(
        name,
        scheduler_name=scheduler_name,
        requests={"cpu": "800m"},
        nodeSelector={"only": only},
        tolerations=[{**_taint(only), "operator": "Equal"}],
        terminationGracePeriodSeconds=0,
        **spec,
    )


def _taint(only: str) -> dict[str, str]:
    return {"key": "only", "value": only, "effect": "NoSchedule"}
