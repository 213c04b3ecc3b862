"""StatefulSets with claims, their pods and volumes in the hands of the real controllers.

The classes wait for the first consumer, so that the scheduler chooses volumes together with nodes, tells the controller which, and
binds a pod only when that one has done its part.
"""

import pytest

from tests.integration.conftest import StartReprise
from tests.support.api_client import ApiClient
from tests.support.manifests import node_manifest
from tests.support.reprise_process import RepriseProcess
from tests.support.resources import NODES, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS, Object
from tests.support.storage_manifests import class_manifest, nodes_allowed, volume_manifest
from tests.support.watch import Watch

PATIENCE_SECONDS = 120.0
REPLICAS = 3

pytestmark = pytest.mark.usefixtures("kwok", "controller_manager")


def nodes() -> list[Object]:
    """Four, one of them far better than the others."""
    return [node_manifest(f"node-{index}", allocatable={"cpu": "64" if index == 0 else "4"}) for index in range(4)]


def stateful_set(name: str, class_name: str, *, size: str = "2Gi", policy: str = "OrderedReady") -> Object:
    """Three pods, each with a claim of its own."""
    labels = {"app": name}
    container = {"name": "main", "image": "registry.example/app:1", "resources": {"requests": {"cpu": "100m"}}}
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": class_name,
            "resources": {"requests": {"storage": size}},
        },
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": REPLICAS,
            "serviceName": name,
            "podManagementPolicy": policy,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "schedulerName": "reprise",
                    "containers": [{**container, "volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
                },
            },
            "volumeClaimTemplates": [claim],
        },
    }


def all_run(pods: Watch) -> bool:
    return [pod["status"]["phase"] for pod in pods.objects.values()] == ["Running"] * REPLICAS


def wait_until_all_run(pods: Watch, reprise: RepriseProcess) -> dict[str, str]:
    """Wait for all three pods; the node of each claim's pod."""
    try:
        pods.wait_until(all_run, seconds=PATIENCE_SECONDS, what="all pods of the set are Running")
    except Exception as error:
        error.add_note(reprise.daemon.tail())
        raise
    return {f"data-{pod['metadata']['name']}": pod["spec"]["nodeName"] for pod in pods.objects.values()}


def assert_bound_where_volumes_are(admin: ApiClient, nodes_of: dict[str, str]) -> dict[str, str]:
    """Every claim is Bound to a volume that its pod's node may use, and the volume to the claim; the volumes by claim."""
    with admin.watch(PERSISTENT_VOLUME_CLAIMS) as watched:
        watched.wait_until(
            lambda watch: all(claim["status"]["phase"] == "Bound" for claim in watch.objects.values()),
            seconds=PATIENCE_SECONDS,
            what="all claims are Bound",  # the controller writes so last of all, and pods do not wait for it
        )
    volumes = {volume["metadata"]["name"]: volume for volume in admin.list_objects(PERSISTENT_VOLUMES)}
    cluster = admin.list_objects(NODES)
    claims = admin.list_objects(PERSISTENT_VOLUME_CLAIMS)
    assert {claim["metadata"]["name"]: claim["status"]["phase"] for claim in claims} == dict.fromkeys(nodes_of, "Bound")
    found = {claim["metadata"]["name"]: claim["spec"]["volumeName"] for claim in claims}
    for claim in claims:
        name, volume = claim["metadata"]["name"], volumes[claim["spec"]["volumeName"]]
        assert volume["status"]["phase"] == "Bound"
        assert volume["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]
        assert nodes_of[name] in nodes_allowed(volume, cluster)
    return found


@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
def test_each_pod_of_a_set_is_bound_to_the_node_of_the_local_volume_that_its_claim_gets(
    admin: ApiClient, start_reprise: StartReprise, policy: str
):
    """The best node has a volume that is too small, and nothing else."""
    admin.create_all([*nodes(), class_manifest("local")])
    admin.create(volume_manifest("small", "local", node="node-0", size="1Gi"))
    admin.create_all(
        volume_manifest(f"large-{index}", "local", node=f"node-{index}", size="5Gi") for index in (1, 2, 3)
    )
    reprise = start_reprise()
    with admin.watch(PODS) as pods:
        admin.create(stateful_set("db", "local", policy=policy))
        nodes_of = wait_until_all_run(pods, reprise)
        volumes = assert_bound_where_volumes_are(admin, nodes_of)
        assert set(nodes_of.values()) == {"node-1", "node-2", "node-3"}
        assert volumes == {claim: node.replace("node", "large") for claim, node in nodes_of.items()}
        assert reprise.complaints() == []


def test_pods_without_a_volume_wait_and_are_bound_when_one_is_made_for_their_node(
    admin: ApiClient, start_reprise: StartReprise
):
    """Both volumes of one node are used, the smallest that is large enough first; the third pod waits for another."""
    admin.create_all([*nodes(), class_manifest("local")])
    admin.create_all(volume_manifest(f"of-2-{size}", "local", node="node-2", size=f"{size}Gi") for size in (9, 3))
    reprise = start_reprise()
    with admin.watch(PODS) as pods:
        admin.create(stateful_set("db", "local"))
        message = (
            "0/4 nodes are available: 4 node(s) didn't find available persistent volumes to bind. "
            "preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling."
        )
        pods.wait_until(
            lambda watch: message in [condition_message(pod) for pod in watch.objects.values()],
            seconds=PATIENCE_SECONDS,
            what="a pod is told that there is no volume",
        )
        assert {pod["metadata"]["name"] for pod in pods.objects.values() if "nodeName" in pod["spec"]} == {
            "db-0",
            "db-1",
        }
        admin.create(volume_manifest("of-1", "local", node="node-1", size="2Gi"))
        nodes_of = wait_until_all_run(pods, reprise)
        volumes = assert_bound_where_volumes_are(admin, nodes_of)
        assert volumes == {"data-db-0": "of-2-3", "data-db-1": "of-2-9", "data-db-2": "of-1"}
        assert reprise.complaints() == []


def condition_message(pod: Object) -> str | None:
    return next(
        (each.get("message") for each in pod["status"].get("conditions", ()) if each["type"] == "PodScheduled"), None
    )
