"""Beside other schedulers: nodes that they fill before we bind, kubelets that refuse, and how often places are taken twice.

The test plays the kubelet, which is absent: what it would refuse is counted from the API objects.
"""

import math

from tests.integration.conftest import Say, StartReprise
from tests.integration.test_provisioning import (
    PATIENCE_SECONDS,
    failures,
    provision,
    wait_for_selected_node,
    wait_until_bound,
)
from tests.support.api_client import ApiClient
from tests.support.binaries import require_binaries
from tests.support.burst import series
from tests.support.control_plane import ControlPlane
from tests.support.controller_manager import ControllerManager
from tests.support.crowded_nodes import PAIRS, crowd
from tests.support.manifests import node_manifest, pod_manifest
from tests.support.reprise_process import RepriseProcess
from tests.support.resources import EVENTS, PERSISTENT_VOLUME_CLAIMS, PODS
from tests.support.storage_manifests import claim_manifest, claiming_pod, class_manifest

NODES, ROUNDS = 40, 6


def metric(reprise: RepriseProcess, name: str) -> float:
    return series(reprise.page("/metrics").body.decode()).get(name, 0.0)


def test_a_node_that_others_fill_while_a_volume_is_made_does_not_get_the_pod(
    admin: ApiClient, controller_manager: ControllerManager, start_reprise: StartReprise
) -> None:
    """The bind waits for the volume; kube-scheduler would send it, and the kubelet refuse the pod."""
    admin.create_all(node_manifest(f"node-{index}", kwok=False) for index in range(3))
    admin.create(class_manifest("made", provisioner="provisioner.example.com"))
    admin.create(claim_manifest("data", "made"))
    reprise = start_reprise()
    with admin.watch(PODS) as pods, admin.watch(PERSISTENT_VOLUME_CLAIMS) as claims, admin.watch(EVENTS) as events:
        admin.create(claiming_pod("p", "data"))
        node = wait_for_selected_node(claims)
        admin.create(pod_manifest("filler", scheduler_name="other", requests={"cpu": "4"}, nodeName=node))
        reprise.wait_until(
            lambda: metric(reprise, 'scheduler_cache_size{type="pods"}') == 2, seconds=30, what="it knows of the filler"
        )
        provision(admin, node)
        told = f"node {node} changed before the pod was bound to it: Insufficient cpu"
        events.wait_until(
            lambda watch: told in failures(watch), seconds=PATIENCE_SECONDS, what="the pod is told why it was not bound"
        )
        assert metric(reprise, 'scheduler_bind_checks_total{result="refused"}') == 1
        assert [event for event in pods.events if "nodeName" in event.object["spec"] and _name(event) == "p"] == []

        admin.delete(PODS, "filler", "default", grace_seconds=0)
        assert wait_until_bound(pods, "p") == node
    assert controller_manager is not None


def test_a_node_whose_kubelet_refused_a_pod_gets_none_of_its_kind_for_a_while(
    admin: ApiClient, start_reprise: StartReprise
) -> None:
    admin.create_all(node_manifest(f"node-{index}", kwok=False) for index in range(2))
    reprise = start_reprise()
    with admin.watch(PODS) as pods, admin.watch(EVENTS) as events:
        admin.create(pod_manifest("first"))
        refusing = wait_until_bound(pods, "first")
        ended = {"status": {"phase": "Failed", "reason": "OutOfcpu", "message": "Pod was rejected: not enough cpu"}}
        admin.patch(PODS, "first", ended, namespace="default", subresource="status")
        events.wait_until(
            lambda watch: any(event["reason"] == "RejectedByKubelet" for event in watch.objects.values()),
            seconds=30,
            what="the refusal is told",
        )
        for index in range(6):
            admin.create(pod_manifest(f"next-{index}"))
            assert wait_until_bound(pods, f"next-{index}") != refusing
        (told,) = [event for event in events.objects.values() if event["reason"] == "RejectedByKubelet"]

    assert told["note"] == (
        f"Node {refusing} rejected the pod (OutOfcpu); for 10s it gets no other pod of this kind: "
        "Pod was rejected: not enough cpu"
    )
    assert metric(reprise, 'scheduler_kubelet_rejections_total{reason="OutOfcpu"}') == 1
    assert metric(reprise, 'scheduler_ended_pod_reads_total{result="read"}') == 1
    assert metric(reprise, "scheduler_cooling_nodes") == 1


def test_on_nearly_full_nodes_no_more_places_are_taken_twice_than_by_two_kube_schedulers(
    fresh_cluster: ControlPlane, say: Say
) -> None:
    """Within what chance does in so few rounds: `python -m bench crowd` measures more of them, for the documentation."""
    require_binaries("kube-scheduler")
    too_many: dict[str, int] = {}
    for name, pair in PAIRS.items():
        fresh_cluster.reset()
        rounds = crowd(fresh_cluster, pair, nodes=NODES, rounds=ROUNDS)
        too_many[name] = sum(one.too_many for one in rounds)
        say(f"{name}: {too_many[name]} of {sum(one.pods for one in rounds)} pods too many on their node")

    kube, reprise = too_many["two kube-schedulers"], too_many["Reprise beside kube-scheduler"]
    assert reprise <= kube + 2 * math.sqrt(kube + reprise)


def _name(event: object) -> str:
    name: str = event.object["metadata"]["name"]  # type: ignore[attr-defined]
    return name
