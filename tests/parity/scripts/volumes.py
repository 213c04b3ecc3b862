"""Pods with claims: volumes that are there, come later, or are taken."""

from tests.parity.story import Collection, create, delete_pod, in_turn, node
from tests.support.manifests import node_manifest
from tests.support.resources import Object
from tests.support.storage_manifests import claim_manifest, claiming_pod, class_manifest, volume_manifest

STORIES = Collection()
DRIVER = "volumes.example.com"


def claiming(name: str, *claims: str, **fields: object) -> Object:
    return claiming_pod(name, *claims, terminationGracePeriodSeconds=0, **fields)


def csi_node(name: str, count: int) -> Object:
    driver = {"name": DRIVER, "nodeID": name, "topologyKeys": None, "allocatable": {"count": count}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": [driver]},
    }


def driven(handle: str) -> Object:
    return {"csi": {"driver": DRIVER, "volumeHandle": handle}}


STORIES.add(
    "a claim that is not there",
    "the claim comes later, and its volume after it",
    create(node("a"), class_manifest("fast", mode="Immediate")),
    create(claiming("web", "data")),
    create(claim_manifest("data", "fast")),
    create(volume_manifest("disk", "fast"), bound=("web",)),
    tries_vary=("web",),
)
STORIES.add(
    "volumes of one node",
    "local volumes: a pod goes where its volume is, the next one finds none",
    create(node("a"), node("b"), node("c"), class_manifest("local"), volume_manifest("disk-b", "local", node="b")),
    create(claim_manifest("first", "local"), claiming("first", "first"), bound=("first",)),
    create(claim_manifest("second", "local"), claiming("second", "second")),
    create(volume_manifest("disk-c", "local", node="c"), bound=("second",)),
    tries_vary=("second",),
)
STORIES.add(
    "a claim bound to a full node",
    "the volume is on one node and there is no room",
    create(
        node("a", "1"),
        node("b", "4"),
        class_manifest("local", mode="Immediate"),
        volume_manifest("disk-a", "local", node="a"),
        claim_manifest("data", "local"),
        claims=("data",),
    ),
    create(claiming("web", "data", requests={"cpu": "2"})),
    create(claiming("small", "data", requests={"cpu": "500m"})),
)
STORIES.add(
    "volumes of a zone",
    "a volume's zone label is a rule of its own",
    create(
        node_manifest("a", zone="one", kwok=False),
        node_manifest("b", zone="two", kwok=False, unschedulable=True),
        class_manifest("zonal", mode="Immediate"),
        volume_manifest("disk", "zonal", labels={"topology.kubernetes.io/zone": "two"}),
        claim_manifest("data", "zonal"),
        claims=("data",),
    ),
    create(claiming("web", "data")),
    create(node_manifest("c", zone="two", kwok=False)),
)
STORIES.add(
    "one pod at a time",
    "a claim that one pod may use: the second waits for the first to go",
    create(
        node("a"),
        node("b"),
        class_manifest("alone", mode="Immediate"),
        volume_manifest("disk", "alone", modes=("ReadWriteOncePod",)),
        claim_manifest("data", "alone", modes=("ReadWriteOncePod",)),
        claims=("data",),
    ),
    in_turn(claiming("first", "data"), claiming("second", "data")),
    delete_pod("first"),
)
STORIES.add(
    "as many volumes as a driver takes",
    "each node takes one volume of the driver",
    create(
        node("a"),
        csi_node("a", 1),
        class_manifest("driven", mode="Immediate", provisioner=DRIVER),
        volume_manifest("disk-1", "driven", source=driven("handle-1")),
        volume_manifest("disk-2", "driven", source=driven("handle-2")),
        claim_manifest("data-1", "driven", volumeName="disk-1"),
        claim_manifest("data-2", "driven", volumeName="disk-2"),
        claims=("data-1", "data-2"),
    ),
    in_turn(claiming("first", "data-1"), claiming("second", "data-2"), claiming("third", "data-1")),
    create(node("b"), csi_node("b", 1), bound=("second",)),
    tries_vary=("second",),
)
STORIES.add(
    "two claims, one of them met",
    "both claims of a pod must be met on one node",
    create(
        node("a"),
        node("b"),
        class_manifest("local"),
        volume_manifest("disk-a", "local", node="a"),
        volume_manifest("disk-b", "local", node="b", size="5Gi"),
        claim_manifest("small", "local", size="1Gi"),
        claim_manifest("large", "local", size="3Gi"),
    ),
    create(claiming("both", "small", "large")),
    create(volume_manifest("disk-b2", "local", node="b", size="2Gi"), bound=("both",)),
    tries_vary=("both",),
)
