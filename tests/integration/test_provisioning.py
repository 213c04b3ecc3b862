"""Volumes that are provisioned for a pod: the scheduler names the node, and binds the pod when its claim is bound.

The test plays the provisioner; the real controller binds claims to the volumes that it makes.
"""

import pytest

from tests.integration.conftest import StartReprise
from tests.support.api_client import ApiClient
from tests.support.manifests import node_manifest, pod_manifest
from tests.support.resources import EVENTS, NODES, PERSISTENT_VOLUME_CLAIMS, PODS, Object
from tests.support.storage_manifests import claim_manifest, claiming_pod, class_manifest, volume_manifest
from tests.support.watch import Watch

SELECTED_NODE = "volume.kubernetes.io/selected-node"
PROVISIONER = "volume.kubernetes.io/storage-provisioner"
PATIENCE_SECONDS = 120.0

pytestmark = pytest.mark.usefixtures("controller_manager")


@pytest.fixture
def claimed(admin: ApiClient) -> ApiClient:
    """Three nodes, and a claim whose class waits for the first consumer."""
    admin.create_all(node_manifest(f"node-{index}", kwok=False) for index in range(3))
    admin.create(class_manifest("made", provisioner="provisioner.example.com"))
    admin.create(claim_manifest("data", "made"))
    return admin


def selected_node(claim: Object | None) -> str:
    """The node that the scheduler has named for a claim's volume."""
    assert claim is not None
    node: str = claim["metadata"].get("annotations", {}).get(SELECTED_NODE, "")
    return node


def wait_for_selected_node(claims: Watch) -> str:
    """Wait until a node is named and the controller has called for the provisioner, which acts no sooner."""
    claims.wait_until(
        lambda watch: any(
            selected_node(claim) and PROVISIONER in claim["metadata"]["annotations"] for claim in watch.objects.values()
        ),
        seconds=PATIENCE_SECONDS,
        what="a node is named",
    )
    return selected_node(claims.find("data", "default"))


def node_of(pods: Watch, name: str) -> str:
    found = [pod["spec"].get("nodeName", "") for pod in pods.objects.values() if pod["metadata"]["name"] == name]
    return found[0] if found else ""


def wait_until_bound(pods: Watch, name: str) -> str:
    pods.wait_until(lambda watch: bool(node_of(watch, name)), seconds=PATIENCE_SECONDS, what=f"{name} is bound")
    return node_of(pods, name)


def failures(events: Watch) -> list[str]:
    """What pods were told when they could not be bound."""
    return [each["note"] for each in events.objects.values() if each.get("reason") == "FailedScheduling"]


def provision(admin: ApiClient, node: str) -> None:
    """Make the volume of the claim, on that node."""
    admin.create(volume_manifest("made-for-data", "made", node=node, claim="data"))


def test_a_pod_is_bound_to_the_node_that_its_claim_was_given_when_the_volume_is_there(
    claimed: ApiClient, start_reprise: StartReprise
):
    """Others are bound in the meantime."""
    reprise = start_reprise()
    with claimed.watch(PODS) as pods, claimed.watch(PERSISTENT_VOLUME_CLAIMS) as claims:
        claimed.create(claiming_pod("p", "data"))
        node = wait_for_selected_node(claims)
        claimed.create(pod_manifest("other"))
        wait_until_bound(pods, "other")
        assert node_of(pods, "p") == ""
        provision(claimed, node)
        assert wait_until_bound(pods, "p") == node
        claims.wait_until(
            lambda watch: [each["status"]["phase"] for each in watch.objects.values()] == ["Bound"],
            seconds=PATIENCE_SECONDS,
            what="the claim is Bound",  # the controller writes so last of all
        )
        assert [claim["spec"]["volumeName"] for claim in claims.objects.values()] == ["made-for-data"]
    assert reprise.complaints() == []


def test_a_pod_is_tried_again_when_the_provisioner_gives_the_node_back(claimed: ApiClient, start_reprise: StartReprise):
    """The node that was named first is cordoned, so that another one is named."""
    start_reprise()
    with (
        claimed.watch(PODS) as pods,
        claimed.watch(PERSISTENT_VOLUME_CLAIMS) as claims,
        claimed.watch(EVENTS) as events,
    ):
        claimed.create(claiming_pod("p", "data"))
        first = wait_for_selected_node(claims)
        claimed.patch(NODES, first, {"spec": {"unschedulable": True}})
        give_back = {"metadata": {"annotations": {SELECTED_NODE: None}}}
        claimed.patch(PERSISTENT_VOLUME_CLAIMS, "data", give_back, namespace="default")
        claims.wait_until(
            lambda watch: any(selected_node(claim) not in {"", first} for claim in watch.objects.values()),
            seconds=PATIENCE_SECONDS,
            what="another node is named",
        )
        second = selected_node(claims.find("data", "default"))
        provision(claimed, second)
        assert wait_until_bound(pods, "p") == second
        note = 'running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC "data"'
        events.wait_until(
            lambda watch: failures(watch) == [note], seconds=PATIENCE_SECONDS, what="the Event of the failure"
        )


def test_a_scheduler_that_is_started_anew_keeps_to_the_node_that_was_named(
    claimed: ApiClient, start_reprise: StartReprise
):
    """A node that is far better has come in the meantime."""
    first = start_reprise()
    with claimed.watch(PODS) as pods, claimed.watch(PERSISTENT_VOLUME_CLAIMS) as claims:
        claimed.create(claiming_pod("p", "data"))
        node = wait_for_selected_node(claims)
        first.kill()
        claimed.create(node_manifest("far-better", allocatable={"cpu": "64", "memory": "256Gi"}, kwok=False))
        second = start_reprise()
        second.wait_for_line("scheduling cycle")
        provision(claimed, node)
        assert wait_until_bound(pods, "p") == node
        named = {selected_node(event.object) for event in claims.events}
        assert named - {""} == {node}
    assert second.complaints() == []
