"""VolumeZone. Expected: kube-scheduler 1.37, VolumeZone."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from scheduler.api.objects import Volume
from scheduler.api.storage import StorageObject
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.plugin import Unsignable
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SKIP, Code, Status
from scheduler.plugins.volume_zone import VolumeZone
from tests.support.builders import make_node, make_pod
from tests.support.plugin_runs import FITS, Refusal, judge
from tests.support.storage import claim_volume, ephemeral_volume, make_claim, make_class, make_volume
from tests.support.storage_runs import cluster_of, pre_filtered

PLUGIN = VolumeZone()
NO_ZONE = ("UnschedulableAndUnresolvable", ("node(s) had no available volume zone",))
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
POD = make_pod(volumes=[claim_volume()])


def verdict(volume: Mapping[str, str], node: Mapping[str, str]) -> Refusal:
    """On a node with these labels, of a pod whose volume has those."""
    storage: list[StorageObject] = [make_claim(volume_name="pv"), make_volume("pv", labels=volume)]
    return judge(PLUGIN, POD, cluster_of([make_node("n", labels=node)], [], storage).table)["n"]


@pytest.mark.parametrize(
    ("volume", "node", "fits"),
    [
        ({ZONE: "a"}, {ZONE: "a"}, True),
        ({ZONE: "a"}, {ZONE: "b"}, False),
        ({REGION: "a"}, {REGION: "a"}, True),
        ({REGION: "a"}, {REGION: "b"}, False),
        ({BETA_ZONE: "a"}, {BETA_ZONE: "a"}, True),
        ({BETA_ZONE: "a"}, {BETA_ZONE: "b"}, False),
        # Several zones.
        ({ZONE: "a__b"}, {ZONE: "b"}, True),
        ({ZONE: "a__b"}, {ZONE: "a__b"}, False),
        ({ZONE: "a__b"}, {ZONE: "c"}, False),
        # A beta label is met by the one that took its place, and not the other way round (the fallback is for absence alone).
        ({BETA_ZONE: "a"}, {ZONE: "a"}, True),
        ({BETA_ZONE: "a"}, {ZONE: "b"}, False),
        ({BETA_REGION: "a"}, {REGION: "a"}, True),
        ({BETA_REGION: "a"}, {ZONE: "a"}, False),
        ({ZONE: "a"}, {BETA_ZONE: "a"}, False),
        ({BETA_ZONE: "a"}, {BETA_ZONE: "b", ZONE: "a"}, False),
        # A node with none of the four labels takes everything, one with some other of them nothing.
        ({ZONE: "a"}, {}, True),
        ({ZONE: "a"}, {"zone": "b"}, True),
        ({ZONE: "a"}, {REGION: "a"}, False),
        ({ZONE: "a"}, {ZONE: ""}, False),
        # All labels count.
        ({ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "r"}, True),
        ({ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "s"}, False),
        # Labels that say nothing: others remain.
        ({ZONE: "a__", REGION: "r"}, {ZONE: "b", REGION: "r"}, True),
    ],
)
def test_a_volume_is_available_in_its_zones(volume: dict[str, str], node: dict[str, str], fits: bool) -> None:
    assert verdict(volume, node) == (FITS if fits else NO_ZONE)


def test_the_zones_of_all_volumes_have_to_be_met() -> None:
    storage: list[StorageObject] = [
        make_claim("a", volume_name="pv-a"),
        make_claim("b", volume_name="pv-b"),
        make_volume("pv-a", labels={ZONE: "a__b"}),
        make_volume("pv-b", labels={ZONE: "b__c"}),
    ]
    nodes = [make_node(zone, labels={ZONE: zone}) for zone in "abc"]
    pod = make_pod(volumes=[claim_volume("a"), claim_volume("b")])
    assert judge(PLUGIN, pod, cluster_of(nodes, [], storage).table) == {"a": NO_ZONE, "b": FITS, "c": NO_ZONE}


LATER = make_class("later", mode="WaitForFirstConsumer")


@pytest.mark.parametrize(
    ("volume", "storage"),
    [
        (ephemeral_volume(), []),
        (Volume(name="tmp"), []),
        (claim_volume(), [make_claim(volume_name="pv"), make_volume("pv")]),
        (claim_volume(), [make_claim(volume_name="pv"), make_volume("pv", labels={"zone": "a"})]),
        (claim_volume(), [make_claim(volume_name="pv"), make_volume("pv", labels={ZONE: ""})]),
        (claim_volume(), [make_claim(volume_name="pv"), make_volume("pv", labels={ZONE: "a____b"})]),
        (claim_volume(), [make_claim(class_name="later"), LATER]),
    ],
)
def test_a_pod_whose_volumes_are_in_no_zone_skips_the_rule(volume: Volume, storage: list[StorageObject]) -> None:
    assert pre_filtered(PLUGIN, make_pod(volumes=[volume]), cluster_of([make_node()], [], storage)) == SKIP


@pytest.mark.parametrize(
    ("name", "storage", "text"),
    [
        ("", [], "PersistentVolumeClaim had no name"),
        ("data", [], 'persistentvolumeclaim "data" not found'),
        ("data", [make_claim(namespace="other")], 'persistentvolumeclaim "data" not found'),
        ("data", [make_claim(volume_name="pv")], 'persistentvolume "pv" not found'),
        ("data", [make_claim()], "PersistentVolumeClaim had no pv name and storageClass name"),
        ("data", [make_claim(class_name="")], "PersistentVolumeClaim had no pv name and storageClass name"),
        ("data", [make_claim(class_name="later")], 'storageclass.storage.k8s.io "later" not found'),
        (
            "data",
            [make_claim(class_name="later"), make_class("later", mode=None)],
            'VolumeBindingMode not set for StorageClass "later"',
        ),
        (
            "data",
            [make_claim(class_name="now"), make_class("now", mode="Immediate")],
            "PersistentVolume had no name",
        ),
        (
            "data",
            [
                make_claim(class_name="now", annotations={"volume.beta.kubernetes.io/storage-class": "later"}),
                make_class("now", mode="Immediate"),
            ],
            'storageclass.storage.k8s.io "later" not found',
        ),
    ],
)
def test_what_is_missing_is_told(name: str, storage: list[StorageObject], text: str) -> None:
    status = pre_filtered(PLUGIN, make_pod(volumes=[claim_volume(name)]), cluster_of([make_node()], [], storage))
    assert status == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,), "VolumeZone")


def test_a_claim_that_waits_for_the_pod_does_not_hide_the_zone_of_another_one() -> None:
    storage: list[StorageObject] = [
        make_claim("new", class_name="later"),
        LATER,
        make_claim("old", volume_name="pv"),
        make_volume("pv", labels={ZONE: "a"}),
    ]
    pod = make_pod(volumes=[claim_volume("new"), claim_volume("old")])
    nodes = [make_node(zone, labels={ZONE: zone}) for zone in "ab"]
    assert judge(PLUGIN, pod, cluster_of(nodes, [], storage).table) == {"a": FITS, "b": NO_ZONE}


def test_without_prefilter_the_zones_are_looked_up_in_filter() -> None:
    storage: list[StorageObject] = [make_claim(volume_name="pv"), make_volume("pv", labels={ZONE: "a"})]
    cache = cluster_of([make_node(zone, labels={ZONE: zone}) for zone in "ab"], [], storage)
    assert PLUGIN.filter({}, PodInfo(POD), cache.table.columns(PLUGIN)).tolist() == [0, 1]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("volume", "signable"), [(claim_volume(), False), (ephemeral_volume(), True), (Volume(), True)]
)
def test_a_pod_with_a_claim_has_no_signature(volume: Volume, signable: bool) -> None:
    signed = PLUGIN.sign(PodInfo(make_pod(volumes=[volume])))
    assert signed == () if signable else isinstance(signed, Unsignable)


def test_events() -> None:
    assert PLUGIN.events_to_register() == (
        ClusterEvent(EventResource.STORAGE_CLASS, ActionType.ADD),
        ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
        ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD | ActionType.UPDATE),
        ClusterEvent(EventResource.PERSISTENT_VOLUME, ActionType.ADD | ActionType.UPDATE),
    )
