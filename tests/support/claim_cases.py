"""Pods that cannot be bound because of their volumes, each with the objects that are the cause, and what helps some of them."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.support.api_client import ApiClient
from tests.support.manifests import node_manifest, pod_manifest
from tests.support.resources import CSI_NODES, PODS, Object
from tests.support.storage_manifests import claim_manifest, claiming_pod, class_manifest, volume_manifest

IMMEDIATE = "Immediate"
DRIVER = "volumes.example.com"
NODES = ("a", "b", "c")
CORDONED = "cordoned"
BIND_COMPLETED = {"pv.kubernetes.io/bind-completed": "yes"}
Help = Callable[[ApiClient, Object], object]


@dataclass(frozen=True)
class ClaimCase:
    """One pod and its objects.

    `occupant`, if any, is bound to node a before; `claims` says the phase in which claims must be before a scheduler looks,
    `helped` makes the pod fit, given the pod as the server has it.
    """

    pod: Object
    objects: list[Object] = field(default_factory=list)
    occupant: Object | None = None
    claims: dict[str, str] = field(default_factory=dict)
    deleted_claims: tuple[str, ...] = ()
    helped: Help | None = None
    helped_to: str | None = None
    """The one node that it can be bound to when it was helped; None if there are several."""


def cluster() -> list[Object]:
    """Three nodes in two zones, and a cordoned one; each takes one volume of the driver."""
    zones = {"a": "zone-1", "b": "zone-1", "c": "zone-2", CORDONED: "zone-2"}
    nodes = [node_manifest(name, zone=zone, unschedulable=name == CORDONED, kwok=False) for name, zone in zones.items()]
    return [*nodes, *(csi_node(name, count=1) for name in zones)]


def csi_node(name: str, *, count: int) -> Object:
    driver = {"name": DRIVER, "nodeID": name, "topologyKeys": None, "allocatable": {"count": count}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": [driver]},
    }


def claim_cases() -> dict[str, ClaimCase]:
    """All cases by the name of their pod; classes, claims and volumes of a case are its own, by their names."""
    cases = [
        *_immediate_cases(),
        *_waiting_cases(),
        *_missing_cases(),
        *_bound_cases(),
        *_provisioned_cases(),
        *_restricted_cases(),
    ]
    return {case.pod["metadata"]["name"]: case for case in cases}


def _creates(*manifests: Object) -> Help:
    return lambda admin, _: [admin.create(manifest) for manifest in manifests]


def _immediate_cases() -> list[ClaimCase]:
    return [
        ClaimCase(
            claiming_pod("no-volume", "no-volume"),
            [class_manifest("no-volume", mode=IMMEDIATE), claim_manifest("no-volume", "no-volume")],
            helped=_creates(volume_manifest("no-volume", "no-volume", node="b")),
            helped_to="b",
        ),
        ClaimCase(claiming_pod("no-class", "no-class"), [claim_manifest("no-class", "")]),
    ]


def _waiting_cases() -> list[ClaimCase]:
    """Claims that wait for their first consumer, and find no volume."""

    def case(
        name: str, *volumes: Object, helped: Help | None = None, helped_to: str | None = None, **claim: object
    ) -> ClaimCase:
        objects = [class_manifest(name), claim_manifest(name, name, **claim), *volumes]  # type: ignore[arg-type]
        return ClaimCase(claiming_pod(name, name), objects, helped=helped, helped_to=helped_to)

    big = volume_manifest("too-small-other", "too-small", node="c", size="9Gi")
    return [
        case("none-waits", helped=_creates(volume_manifest("none-waits", "none-waits", node="b")), helped_to="b"),
        case(
            "too-small",
            volume_manifest("too-small", "too-small", node="a"),
            size="2Gi",
            helped=_creates(big),
            helped_to="c",
        ),
        case("elsewhere", volume_manifest("elsewhere", "elsewhere", node=CORDONED)),
        case("nowhere", volume_manifest("nowhere", "nowhere", node="no-such-node")),
        case("of-another", volume_manifest("of-another", "of-another", node="a", claim="somebody")),
        case("of-a-block", volume_manifest("of-a-block", "of-a-block", node="a"), volumeMode="Block"),
        case("of-many", volume_manifest("of-many", "of-many", node="a"), modes=["ReadWriteMany"]),
        case(
            "of-a-label",
            volume_manifest("of-a-label", "of-a-label", node="a", labels={"disk": "hdd"}),
            selector={"matchLabels": {"disk": "ssd"}},
        ),
        ClaimCase(
            claiming_pod("one-of-two", "one-of-two-1", "one-of-two-2"),
            [
                class_manifest("one-of-two"),
                *(claim_manifest(f"one-of-two-{index}", "one-of-two") for index in (1, 2)),
                volume_manifest("one-of-two-a", "one-of-two", node="a"),
                volume_manifest("one-of-two-b", "one-of-two", node="b"),
            ],
            helped=_creates(volume_manifest("one-of-two-c", "one-of-two", node="a")),
            helped_to="a",
        ),
        ClaimCase(
            claiming_pod("large-and-no-volume", "large", requests={"cpu": "64"}),
            [class_manifest("large"), claim_manifest("large", "large")],
        ),
        ClaimCase(
            claiming_pod(
                "selecting-and-no-volume", "selecting", nodeSelector={"topology.kubernetes.io/zone": "zone-1"}
            ),
            [class_manifest("selecting"), claim_manifest("selecting", "selecting")],
        ),
    ]


def _missing_cases() -> list[ClaimCase]:
    scratch = {"metadata": {}, "spec": claim_manifest("-", "scratch")["spec"]}
    volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": scratch}}]

    def own_claim(admin: ApiClient, pod: Object) -> None:
        claim = claim_manifest("ephemeral-scratch", "scratch")
        owner = {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "ephemeral",
            "uid": pod["metadata"]["uid"],
            "controller": True,
        }
        claim["metadata"]["ownerReferences"] = [owner]
        admin.create(claim)

    return [
        ClaimCase(
            claiming_pod("missing-claim", "missing-claim"),
            [class_manifest("missing-claim"), volume_manifest("missing-claim", "missing-claim", node="c")],
            helped=_creates(claim_manifest("missing-claim", "missing-claim")),
            helped_to="c",
        ),
        ClaimCase(
            claiming_pod("missing-class", "missing-class"),
            [
                claim_manifest("missing-class", "missing-class"),
                volume_manifest("missing-class", "missing-class", node="a", claim="nobody"),
            ],
            helped=_creates(
                class_manifest("missing-class"), volume_manifest("missing-class-2", "missing-class", node="b")
            ),
            helped_to="b",
        ),
        ClaimCase(
            pod_manifest("ephemeral", volumes=volumes),
            [class_manifest("scratch"), volume_manifest("scratch", "scratch", node="b")],
            helped=own_claim,
            helped_to="b",
        ),
        ClaimCase(
            pod_manifest("ephemeral-of-another", volumes=volumes),
            [claim_manifest("ephemeral-of-another-scratch", "scratch")],
        ),
        ClaimCase(
            claiming_pod("being-deleted", "being-deleted"),
            [class_manifest("being-deleted"), claim_manifest("being-deleted", "being-deleted")],
            deleted_claims=("being-deleted",),
        ),
        ClaimCase(
            claiming_pod("lost", "lost"),
            [
                class_manifest("lost"),
                claim_manifest("lost", "lost", volumeName="no-such-volume", annotations=BIND_COMPLETED),
            ],
            claims={"lost": "Lost"},
        ),
    ]


def _bound_cases() -> list[ClaimCase]:
    """Claims that are bound, to volumes that are not for every node."""

    def bound(name: str, **volume: object) -> list[Object]:
        return [
            class_manifest(name, mode=IMMEDIATE),
            volume_manifest(name, name, claim=name, **volume),  # type: ignore[arg-type]
            claim_manifest(name, name),
        ]

    return [
        ClaimCase(
            claiming_pod("bound-elsewhere", "bound-elsewhere", nodeSelector={"topology.kubernetes.io/zone": "zone-1"}),
            bound("bound-elsewhere", node="c"),
            claims={"bound-elsewhere": "Bound"},
        ),
        ClaimCase(
            claiming_pod("bound-to-cordoned", "bound-to-cordoned"),
            bound("bound-to-cordoned", node=CORDONED),
            claims={"bound-to-cordoned": "Bound"},
        ),
        ClaimCase(
            claiming_pod("in-another-zone", "in-another-zone", tolerations=[{"key": "far", "operator": "Exists"}]),
            bound("in-another-zone", labels={"topology.kubernetes.io/zone": "zone-3"}),
            claims={"in-another-zone": "Bound"},
            helped=_creates(
                node_manifest("d", zone="zone-3", taints=[{"key": "far", "effect": "NoSchedule"}], kwok=False)
            ),
            helped_to="d",
        ),
    ]


def _provisioned_cases() -> list[ClaimCase]:
    """Classes with a provisioner, which is not there, of a driver that tells its capacity."""
    allowed = {"key": "topology.kubernetes.io/zone", "values": ["zone-9"]}
    driver = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": DRIVER},
        "spec": {"storageCapacity": True, "attachRequired": False},
    }
    return [
        ClaimCase(
            claiming_pod("not-allowed-here", "not-allowed-here"),
            [
                class_manifest(
                    "not-allowed-here",
                    provisioner="other.example.com",
                    allowedTopologies=[{"matchLabelExpressions": [allowed]}],
                ),
                claim_manifest("not-allowed-here", "not-allowed-here"),
            ],
        ),
        ClaimCase(
            claiming_pod("no-capacity", "no-capacity"),
            [driver, class_manifest("no-capacity", provisioner=DRIVER), claim_manifest("no-capacity", "no-capacity")],
        ),
    ]


def _restricted_cases() -> list[ClaimCase]:
    """Volumes that are there, and that other pods or too many of them keep from being used."""
    disk = [{"name": "disk", "gcePersistentDisk": {"pdName": "disk"}}]
    only = {"kubernetes.io/hostname": "a"}

    def csi(name: str) -> Object:
        return volume_manifest(
            name, "many", claim=name, source={"csi": {"driver": DRIVER, "volumeHandle": name, "fsType": "ext4"}}
        )

    def allow_two(admin: ApiClient, _: Object) -> None:
        admin.replace(csi_node("c", count=2) | {"metadata": admin.get(CSI_NODES, "c")["metadata"]})

    return [
        ClaimCase(
            claiming_pod("only-one-pod", "only-one-pod"),
            [
                class_manifest("only-one-pod", mode=IMMEDIATE),
                volume_manifest("only-one-pod", "only-one-pod", claim="only-one-pod", modes=["ReadWriteOncePod"]),
                claim_manifest("only-one-pod", "only-one-pod", modes=["ReadWriteOncePod"]),
            ],
            occupant=claiming_pod("first-pod", "only-one-pod", scheduler_name="somebody"),
            claims={"only-one-pod": "Bound"},
            helped=lambda admin, _: admin.delete(PODS, "first-pod", "default", grace_seconds=0),
        ),
        ClaimCase(
            pod_manifest("disk-in-use", volumes=disk, nodeSelector=only),
            occupant=pod_manifest("disk-user", volumes=disk, scheduler_name="somebody"),
        ),
        ClaimCase(
            claiming_pod("too-many", "too-many-1", "too-many-2"),
            [
                class_manifest("many", mode=IMMEDIATE),
                *(csi(f"too-many-{index}") for index in (1, 2)),
                *(claim_manifest(f"too-many-{index}", "many") for index in (1, 2)),
            ],
            claims={"too-many-1": "Bound", "too-many-2": "Bound"},
            helped=allow_two,
            helped_to="c",
        ),
    ]
