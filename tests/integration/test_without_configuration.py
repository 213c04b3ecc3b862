"""`reprise run` with a kubeconfig and nothing else is safe: it binds the pods that name it and touches no others."""

import json

from tests.integration.conftest import StartReprise
from tests.support.api_client import ApiClient
from tests.support.manifests import node_manifest, pod_manifest
from tests.support.resources import EVENTS, LEASES, PODS
from tests.support.watch import Watch

COUNT = 10


def test_without_a_configuration_it_binds_its_own_pods_and_touches_no_others(
    admin: ApiClient, start_reprise: StartReprise
):
    admin.create_all(node_manifest(f"node-{index}", kwok=False) for index in range(3))
    with admin.watch(PODS) as pods, admin.watch(EVENTS) as events:
        # Some before it starts and some after; the watch shows it the others first.
        others = admin.create_all(
            [pod_manifest(f"other-{index}", scheduler_name="default-scheduler") for index in range(COUNT)]
        )
        reprise = start_reprise(None)
        others += admin.create_all(
            [
                pod_manifest("late", scheduler_name="default-scheduler"),
                pod_manifest("too-large", scheduler_name="default-scheduler", requests={"cpu": "100"}),
            ]
        )
        admin.create_all(pod_manifest(f"ours-{index}") for index in range(COUNT))
        pods.wait_until(lambda watch: len(bound(watch)) >= COUNT, what="our pods are bound")
        events.wait_until(lambda watch: len(about_pods(watch)) >= COUNT, what="their Events")

        assert bound(pods) == {f"ours-{index}" for index in range(COUNT)}
        assert {pod["metadata"]["uid"]: pod for pod in others}.items() <= pods.objects.items()
        changed = {event.object["metadata"]["name"] for event in pods.events if event.type != "ADDED"}
        assert changed.isdisjoint({pod["metadata"]["name"] for pod in others})
        assert about_pods(events) == bound(pods)

    effective = json.loads(reprise.page("/configz").body)["componentconfig"]
    assert [profile["schedulerName"] for profile in effective["profiles"]] == ["reprise"]
    assert effective["leaderElection"]["leaderElect"] is True
    assert reprise.port == 10259
    assert [lease for lease in admin.list_objects(LEASES) if lease["metadata"]["name"] == "kube-scheduler"] == []


def about_pods(events: Watch) -> set[str]:
    """Names of the pods that there is an Event about; there is one about the Lease too."""
    regarding = [event["regarding"] for event in events.objects.values()]
    return {each["name"] for each in regarding if each["kind"] == "Pod"}


def bound(pods: Watch) -> set[str]:
    """Names of the pods that have a node."""
    return {pod["metadata"]["name"] for pod in pods.objects.values() if "nodeName" in pod["spec"]}
