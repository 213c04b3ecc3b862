"""NodeVolumeLimits. Expected: kube-scheduler 1.37, NodeVolumeLimits (CSI)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from scheduler.api.objects import Pod, Volume
from scheduler.api.storage import PersistentVolume, StorageObject
from scheduler.api.volume_sources import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    AzureFileVolumeSource,
    CinderVolumeSource,
    CSIVolumeSource,
    GCEPersistentDiskVolumeSource,
    ISCSIVolumeSource,
    PortworxVolumeSource,
    RBDVolumeSource,
    VsphereVirtualDiskVolumeSource,
)
from scheduler.cache.cache import Cache
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.plugin import Unsignable
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SKIP, SUCCESS
from scheduler.plugins.node_volume_limits import NodeVolumeLimits
from scheduler.profile.evaluation import Evaluation
from scheduler.profile.failure import PluginFailure
from tests.support.builders import make_node, make_pod
from tests.support.plugin_runs import FITS, Refusal, judge
from tests.support.scripted_plugins import Filter, make_profile, named
from tests.support.storage import (
    EBS,
    claim_volume,
    ephemeral_volume,
    make_attachment,
    make_claim,
    make_class,
    make_csi_node,
    make_driver,
    make_volume,
)
from tests.support.storage_runs import cluster_of, pre_filtered

PLUGIN = NodeVolumeLimits()
FULL = ("Unschedulable", ("node(s) exceed max volume count",))


def bound(*names: str, driver: str = EBS) -> Iterator[StorageObject]:
    """Claims with volumes of the driver, whose handles are their names."""
    for name in names:
        yield make_claim(name, volume_name=f"pv-{name}")
        yield make_volume(f"pv-{name}", csi=(driver, name))


def user(*claims: str, name: str = "other", node: str = "n1") -> Pod:
    return make_pod(name, node_name=node, volumes=[claim_volume(claim) for claim in claims])


def on_one(
    wanted: Iterable[Volume], pods: Iterable[Pod] = (), storage: Iterable[StorageObject] = (), limit: int | None = 2
) -> Refusal:
    """The verdict of node n1, which allows so many volumes of the EBS driver."""
    return judge(
        PLUGIN, make_pod(volumes=list(wanted)), one_node(pods, [*storage, make_csi_node("n1", {EBS: limit})]).table
    )["n1"]


def one_node(pods: Iterable[Pod] = (), storage: Iterable[StorageObject] = ()) -> Cache:
    return cluster_of([make_node("n1")], pods, storage)


# What is counted


@pytest.mark.parametrize(
    ("limit", "used", "wanted", "fits"),
    [
        (2, ["a"], ["b"], True),
        (1, ["a"], ["b"], False),
        (2, ["a"], ["b", "c"], False),
        (0, [], ["a"], False),
        (None, ["a"], ["b"], True),
        (1, ["a"], ["a"], True),
        (2, ["a"], ["a", "b"], True),
        (1, ["a"], ["a", "b"], False),
        (1, [], ["a", "a"], True),
        (-1, [], ["a"], False),
    ],
)
def test_volumes_count_once_each_against_the_limit(
    limit: int | None, used: list[str], wanted: list[str], fits: bool
) -> None:
    volumes = [claim_volume(name) for name in wanted]
    assert on_one(volumes, [user(*used)], bound("a", "b", "c"), limit) == (FITS if fits else FULL)


def test_a_volume_that_two_pods_use_counts_once() -> None:
    pods = [user("a", name="p1"), user("a", name="p2")]
    assert on_one([claim_volume("b")], pods, bound("a", "b")) == FITS


def test_drivers_are_counted_apart() -> None:
    storage: list[StorageObject] = [
        *bound("a", "b"),
        *bound("c", "d", driver="other"),
        make_csi_node("n1", {EBS: 1, "other": 2}),
    ]
    cache = one_node([user("a", "c")], storage)
    assert judge(PLUGIN, make_pod(volumes=[claim_volume("d")]), cache.table) == {"n1": FITS}
    for wanted in (("d", "b"), ("b", "d")):
        volumes = [claim_volume(name) for name in wanted]
        assert judge(PLUGIN, make_pod(volumes=volumes), cache.table) == {"n1": FULL}


def test_a_volume_that_is_there_frees_no_place_of_another_driver() -> None:
    storage: list[StorageObject] = [
        *bound("a", "b"),
        *bound("c", driver="other"),
        make_csi_node("n1", {EBS: 1, "other": 9}),
    ]
    cache = one_node([user("a", "c")], storage)
    assert judge(PLUGIN, make_pod(volumes=[claim_volume("c"), claim_volume("b")]), cache.table) == {"n1": FULL}


def test_volumes_of_a_driver_that_the_node_does_not_list_have_no_limit() -> None:
    assert on_one([claim_volume("a")], [], bound("a", driver="other"), 0) == FITS


def test_each_node_is_counted_for_itself() -> None:
    storage: list[StorageObject] = [*bound("a", "b", "c"), *(make_csi_node(name, {EBS: 1}) for name in ("n1", "n2"))]
    cache = cluster_of(
        [make_node(name) for name in ("n1", "n2", "n3")], [user("a"), user("b", name="q", node="n3")], storage
    )
    assert judge(PLUGIN, make_pod(volumes=[claim_volume("c")]), cache.table) == {"n1": FULL, "n2": FITS, "n3": FITS}


def test_a_full_node_takes_a_volume_that_it_has_already() -> None:
    assert on_one([claim_volume("a")], [user("a", "b")], bound("a", "b"), 1) == FITS


# Attachments


def test_an_attachment_without_a_pod_takes_a_place() -> None:
    storage: list[StorageObject] = [*bound("a", "b"), make_attachment("x", "n1", "pv-a")]
    assert on_one([claim_volume("b")], [], storage, 1) == FULL
    assert on_one([claim_volume("b")], [], storage, 2) == FITS


def test_an_attachment_of_a_volume_that_a_pod_uses_does_not() -> None:
    storage: list[StorageObject] = [*bound("a", "b"), make_attachment("x", "n1", "pv-a")]
    assert on_one([claim_volume("b")], [user("a")], storage, 2) == FITS


def test_a_volume_known_by_its_attachment_alone_counts_twice() -> None:
    storage: list[StorageObject] = [*bound("a"), make_attachment("x", "n1", "pv-a")]
    assert on_one([claim_volume("a")], [], storage, 1) == FULL


def test_two_attachments_of_a_volume_count_once() -> None:
    storage: list[StorageObject] = [
        *bound("a", "b"),
        make_attachment("x", "n1", "pv-a"),
        make_attachment("y", "n1", "pv-a"),
    ]
    assert on_one([claim_volume("b")], [], storage, 2) == FITS


@pytest.mark.parametrize(
    "attachment",
    [
        make_attachment("x", "n2", "pv-a"),
        make_attachment("x", "n1", "gone"),
        make_attachment("x", "n1", None),
        make_attachment("x", "n1", "pv-a", attacher=""),
        make_attachment("x", "n1", "pv-a", attacher="other"),
        make_attachment("x", "n1", "in-tree"),
    ],
)
def test_an_attachment_that_says_nothing_of_a_csi_volume_here_does_not_count(attachment: StorageObject) -> None:
    in_tree = make_volume("in-tree", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id="vol-1"))
    assert on_one([claim_volume("b")], [], [*bound("a", "b"), in_tree, attachment], 1) == FITS


def test_an_attachment_counts_once_its_volume_is_there() -> None:
    cache = one_node([], [*bound("b"), make_attachment("x", "n1", "pv-a"), make_csi_node("n1", {EBS: 1})])
    pod = make_pod(volumes=[claim_volume("b")])
    assert judge(PLUGIN, pod, cache.table) == {"n1": FITS}
    cache.apply_storage_object(make_volume("pv-a", csi=(EBS, "a")))
    assert judge(PLUGIN, pod, cache.table) == {"n1": FULL}
    cache.remove_storage_object("PersistentVolume", "", "pv-a")
    assert judge(PLUGIN, pod, cache.table) == {"n1": FITS}


# Claims that are not bound


def test_a_volume_to_come_counts_for_the_provisioner_of_its_class() -> None:
    storage: list[StorageObject] = [
        make_claim("a", class_name="fast"),
        make_claim("b", class_name="fast"),
        make_class("fast"),
    ]
    assert on_one([claim_volume("a")], [user("b")], storage, 1) == FULL
    assert on_one([claim_volume("a")], [user("a")], storage, 1) == FITS
    assert on_one([claim_volume("a"), claim_volume("a", "w")], [], storage, 1) == FITS


def test_the_class_of_the_annotation_comes_first() -> None:
    annotations = {"volume.beta.kubernetes.io/storage-class": "fast"}
    storage: list[StorageObject] = [make_claim("a", class_name="other", annotations=annotations), make_class("fast")]
    assert on_one([claim_volume("a")], [], storage, 0) == FULL


@pytest.mark.parametrize(
    "storage",
    [
        [make_claim("a")],
        [make_claim("a", class_name="")],
        [make_claim("a", class_name="gone")],
        [make_claim("a", class_name="fast"), make_class("fast", provisioner="")],
        [make_claim("a", class_name="fast"), make_class("fast", provisioner="kubernetes.io/azure-file")],
        [make_claim("a", class_name="fast"), make_class("fast", provisioner="kubernetes.io/vsphere-volume")],
        [make_claim("a", volume_name="pv"), make_volume("pv")],
        [make_claim("a", volume_name="pv"), make_volume("pv", csi=(EBS, ""))],
        [make_claim("a", volume_name="pv"), make_volume("pv", csi=("", "h"))],
    ],
)
def test_what_cannot_be_told_does_not_count(storage: list[StorageObject]) -> None:
    assert on_one([claim_volume("a")], [], storage, 0) == FITS


def test_a_claim_of_a_volume_that_is_not_there_counts_by_its_class() -> None:
    storage: list[StorageObject] = [make_claim("a", volume_name="gone", class_name="fast"), make_class("fast")]
    assert on_one([claim_volume("a")], [], storage, 0) == FULL


def test_an_in_tree_provisioner_counts_for_the_driver_that_replaced_it() -> None:
    storage: list[StorageObject] = [
        make_claim("a", class_name="old"),
        make_class("old", provisioner="kubernetes.io/aws-ebs"),
    ]
    assert on_one([claim_volume("a")], [], storage, 0) == FULL


# In-tree volumes


def in_tree(name: str = "pv", *, labels: dict[str, str] | None = None, **source: Any) -> PersistentVolume:
    return make_volume(name, labels=labels, **source)


AWS: dict[str, Any] = {"aws_elastic_block_store": AWSElasticBlockStoreVolumeSource(volume_id="vol-1")}
GCE: dict[str, Any] = {"gce_persistent_disk": GCEPersistentDiskVolumeSource(pd_name="disk")}
AZURE: dict[str, Any] = {"azure_disk": AzureDiskVolumeSource(disk_uri="uri")}
CINDER: dict[str, Any] = {"cinder": CinderVolumeSource(volume_id="vol")}
PORTWORX: dict[str, Any] = {"portworx_volume": PortworxVolumeSource(volume_id="vol")}
AZURE_FILE: dict[str, Any] = {"azure_file": AzureFileVolumeSource(secret_name="s", share_name="s")}
VSPHERE: dict[str, Any] = {"vsphere_volume": VsphereVirtualDiskVolumeSource(volume_path="p")}
COUNTED: list[tuple[dict[str, Any], str, str]] = [
    (AWS, EBS, "vol-1"),
    (GCE, "pd.csi.storage.gke.io", "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk"),
    (AZURE, "disk.csi.azure.com", "uri"),
    (CINDER, "cinder.csi.openstack.org", "vol"),
    (PORTWORX, "pxd.portworx.com", "vol"),
]


@pytest.mark.parametrize(("source", "driver", "handle"), COUNTED)
def test_an_in_tree_volume_counts_as_its_driver_knows_it(source: dict[str, Any], driver: str, handle: str) -> None:
    """A CSI volume with the same handle is the same volume, inline or not."""
    storage: list[StorageObject] = [
        make_claim("a", volume_name="pv"),
        in_tree(**source),
        *bound("other", driver=driver),
        make_claim("same", volume_name="pv-same"),
        make_volume("pv-same", csi=(driver, handle)),
        make_csi_node("n1", {driver: 1}),
    ]
    cache = one_node([user("other")], storage)
    inline = Volume(name="v", **source)
    for volume in (claim_volume("a"), inline):
        assert judge(PLUGIN, make_pod(volumes=[volume]), cache.table) == {"n1": FULL}
    cache = one_node([user("same")], storage)
    for volume in (claim_volume("a"), inline):
        assert judge(PLUGIN, make_pod(volumes=[volume]), cache.table) == {"n1": FITS}


@pytest.mark.parametrize("source", [AWS, GCE, AZURE, CINDER, PORTWORX, AZURE_FILE, VSPHERE])
def test_without_a_csi_node_in_tree_volumes_do_not_count(source: dict[str, Any]) -> None:
    storage: list[StorageObject] = [make_claim("a", volume_name="pv"), in_tree(**source)]
    cache = one_node([], storage)
    for volume in (claim_volume("a"), Volume(name="v", **source)):
        assert judge(PLUGIN, make_pod(volumes=[volume]), cache.table) == {"n1": FITS}


@pytest.mark.parametrize(
    ("source", "driver"), [(AZURE_FILE, "file.csi.azure.com"), (VSPHERE, "csi.vsphere.vmware.com")]
)
def test_file_shares_and_vsphere_volumes_do_not_count(source: dict[str, Any], driver: str) -> None:
    storage: list[StorageObject] = [
        make_claim("a", volume_name="pv"),
        in_tree(**source),
        make_csi_node("n1", {driver: 0}),
    ]
    cache = one_node([], storage)
    for volume in (claim_volume("a"), Volume(name="v", **source)):
        assert judge(PLUGIN, make_pod(volumes=[volume]), cache.table) == {"n1": FITS}


@pytest.mark.parametrize(
    ("labels", "handle"),
    [
        ({}, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk"),
        ({"topology.kubernetes.io/zone": "us-east1-a"}, "projects/UNSPECIFIED/zones/us-east1-a/disks/disk"),
        (
            {"failure-domain.beta.kubernetes.io/zone": "b", "topology.kubernetes.io/zone": "a"},
            "projects/UNSPECIFIED/zones/b/disks/disk",
        ),
        (
            {"topology.kubernetes.io/zone": "us-east1-a__us-east1-b"},
            "projects/UNSPECIFIED/regions/us-east1/disks/disk",
        ),
    ],
)
def test_the_handle_of_a_google_disk_names_its_zone_or_region(labels: dict[str, str], handle: str) -> None:
    driver = "pd.csi.storage.gke.io"
    storage: list[StorageObject] = [
        make_claim("a", volume_name="pv"),
        in_tree(labels=labels, **GCE),
        make_claim("same", volume_name="pv-same"),
        make_volume("pv-same", csi=(driver, handle)),
        make_csi_node("n1", {driver: 1}),
    ]
    cache = one_node([user("same")], storage)
    assert judge(PLUGIN, make_pod(volumes=[claim_volume("a")]), cache.table) == {"n1": FITS}


@pytest.mark.parametrize("zones", ["us-east1-a__us-west1-a", "us-east1-a__zone", "us-east1-a__"])
def test_a_google_disk_without_a_region_does_not_count(zones: str) -> None:
    storage: list[StorageObject] = [
        make_claim("a", volume_name="pv"),
        in_tree(labels={"topology.kubernetes.io/zone": zones}, **GCE),
        make_csi_node("n1", {"pd.csi.storage.gke.io": 0}),
    ]
    assert judge(PLUGIN, make_pod(volumes=[claim_volume("a")]), one_node([], storage).table) == {"n1": FITS}


@pytest.mark.parametrize(
    ("written", "handle"),
    [
        ("aws://us-east-1a/vol-1", "vol-1"),
        ("aws:///vol-1", "vol-1"),
        ("aws:///vol-1/", "vol-1"),
        ("aws://z/vol%2D1?a#b", "vol-1"),
        ("disk", "disk"),
    ],
)
def test_the_handle_of_an_amazon_disk_is_its_id(written: str, handle: str) -> None:
    source = AWSElasticBlockStoreVolumeSource(volume_id=written)
    storage: list[StorageObject] = [
        make_claim("same", volume_name="pv-same"),
        make_volume("pv-same", csi=(EBS, handle)),
    ]
    wanted = [Volume(name="v", aws_elastic_block_store=source)]
    assert on_one(wanted, [user("same")], storage, 1) == FITS
    assert on_one(wanted, [], storage, 0) == FULL


def evaluated(cache: Cache, *volumes: Volume) -> Evaluation:
    evaluation = Evaluation(make_profile(PLUGIN), PodInfo(make_pod(volumes=list(volumes))), cache.table)
    evaluation.refresh()
    return evaluation


UNTOLD = [
    (Volume(name="v", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id="aws://zone/disk")), "AWS"),
    (Volume(name="v", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id="aws:///vol-%zz")), "AWS"),
    (Volume(name="v", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id="aws:///vol-1/b")), "AWS"),
    (Volume(name="v", azure_disk=AzureDiskVolumeSource(disk_uri="u", kind="Shared")), "kind(Shared)"),
]


@pytest.mark.parametrize(("volume", "text"), UNTOLD)
def test_an_inline_volume_that_cannot_be_told_fails_the_cycle_where_it_would_count(volume: Volume, text: str) -> None:
    with pytest.raises(PluginFailure) as failure:
        evaluated(one_node([], [make_csi_node("n1", {})]), volume)
    prefix = 'running "NodeVolumeLimits" filter plugin: converting volume(v) from inline to csi: '
    assert str(failure.value).startswith(prefix)
    assert text in str(failure.value)
    assert evaluated(one_node(), volume).feasible_count == 1


@pytest.mark.parametrize(("volume", "text"), UNTOLD)
def test_one_of_a_pod_that_runs_does_so_where_volumes_are_limited(volume: Volume, text: str) -> None:
    pods = [make_pod("other", node_name="n1", volumes=[volume])]
    limited = one_node(pods, [*bound("a"), make_csi_node("n1", {EBS: 100})])
    with pytest.raises(PluginFailure, match="converting volume"):
        evaluated(limited, claim_volume("a"))
    unlimited = one_node(pods, [*bound("a"), make_csi_node("n1", {EBS: None})])
    assert evaluated(unlimited, claim_volume("a")).feasible_count == 1


def test_it_does_not_on_a_node_that_is_refused_before() -> None:
    pods = [make_pod("other", node_name="n1", volumes=[UNTOLD[0][0]])]
    storage: list[StorageObject] = [*bound("a"), make_csi_node("n1", {EBS: 100}), make_csi_node("n2", {EBS: 100})]
    cache = cluster_of([make_node("n1"), make_node("n2")], pods, storage)
    profile = make_profile(named(Filter, "Earlier", refuses=("n1",)), PLUGIN)
    evaluation = Evaluation(profile, PodInfo(make_pod(volumes=[claim_volume("a")])), cache.table)
    evaluation.refresh()
    assert evaluation.failure_message() == "0/2 nodes are available: 1 refused."
    assert evaluation.feasible_count == 1


def test_failures_of_very_many_pods_are_told_by_some_of_them() -> None:
    pods = [make_pod(f"p{number}", node_name=f"n{number}", volumes=[ephemeral_volume()]) for number in range(50)]
    storage: list[StorageObject] = [*bound("a")]
    for number in range(50):
        storage += [make_claim(f"p{number}-scratch"), make_csi_node(f"n{number}", {EBS: 100})]
    cache = cluster_of([make_node(f"n{number}") for number in range(50)], pods, storage)
    with pytest.raises(PluginFailure, match="PVC default/p0-scratch was not created for pod default/p0"):
        evaluated(cache, claim_volume("a"))


def test_a_persistent_volume_that_cannot_be_told_does_not_count() -> None:
    sources: list[dict[str, Any]] = [
        {"aws_elastic_block_store": AWSElasticBlockStoreVolumeSource(volume_id="aws://zone/disk")},
        {"azure_disk": AzureDiskVolumeSource(disk_uri="u", kind="Dedicated")},
    ]
    for source in sources:
        storage: list[StorageObject] = [
            make_claim("a", volume_name="pv"),
            in_tree(**source),
            make_csi_node("n1", {EBS: 0, "disk.csi.azure.com": 0}),
        ]
        assert judge(PLUGIN, make_pod(volumes=[claim_volume("a")]), one_node([], storage).table) == {"n1": FITS}


def test_a_managed_azure_disk_counts_however_it_is_written() -> None:
    source: dict[str, Any] = {"azure_disk": AzureDiskVolumeSource(disk_uri="u", kind="managed")}
    cache = one_node([], [make_csi_node("n1", {"disk.csi.azure.com": 0})])
    assert judge(PLUGIN, make_pod(volumes=[Volume(name="v", **source)]), cache.table) == {"n1": FULL}


# Claims that are wrong


def test_a_missing_claim_refuses_the_pod_on_every_node() -> None:
    text = 'looking up PVC default/gone: persistentvolumeclaim "gone" not found'
    refused = ("UnschedulableAndUnresolvable", (text,))
    cache = cluster_of([make_node("n1"), make_node("n2")], [], [make_csi_node("n1")])
    assert judge(PLUGIN, make_pod(volumes=[claim_volume("gone")]), cache.table) == {"n1": refused, "n2": refused}


def test_the_missing_claim_of_an_ephemeral_volume_is_named_after_pod_and_volume() -> None:
    text = 'looking up PVC default/pod-scratch: persistentvolumeclaim "pod-scratch" not found'
    pod = make_pod(volumes=[ephemeral_volume()])
    assert judge(PLUGIN, pod, one_node().table) == {"n1": ("UnschedulableAndUnresolvable", (text,))}


def test_a_missing_claim_of_a_pod_that_runs_does_not_count() -> None:
    assert on_one([claim_volume("a")], [user("gone")], bound("a"), 1) == FITS


def test_the_claim_of_an_ephemeral_volume_counts() -> None:
    claim = make_claim("pod-scratch", class_name="fast", owner_uid="default-pod")
    assert on_one([ephemeral_volume()], [], [claim, make_class("fast")], 0) == FULL
    assert on_one([ephemeral_volume()], [], [claim, make_class("fast")], 1) == FITS


def test_a_claim_of_somebody_else_fails_the_cycle() -> None:
    cache = one_node([], [make_claim("pod-scratch", owner_uid="another")])
    with pytest.raises(PluginFailure) as failure:
        evaluated(cache, ephemeral_volume())
    text = "PVC default/pod-scratch was not created for pod default/pod (pod is not owner)"
    assert str(failure.value) == f'running "NodeVolumeLimits" filter plugin: {text}'


def test_that_of_a_pod_that_runs_does_so_where_volumes_are_limited() -> None:
    pods = [make_pod("other", node_name="n1", volumes=[ephemeral_volume()])]
    storage: list[StorageObject] = [make_claim("other-scratch"), *bound("a"), make_csi_node("n1", {EBS: 100})]
    with pytest.raises(PluginFailure, match="PVC default/other-scratch was not created for pod default/other"):
        evaluated(one_node(pods, storage), claim_volume("a"))


def test_a_claim_without_a_name_fails_the_cycle() -> None:
    with pytest.raises(
        PluginFailure, match=r'^running "NodeVolumeLimits" filter plugin: PersistentVolumeClaim had no name$'
    ):
        evaluated(one_node(), claim_volume(""))


# Drivers that keep pods off nodes without them


def not_installed(driver: str) -> Refusal:
    return ("Unschedulable", (f"{driver} CSI driver is not installed on the node",))


def test_a_driver_can_keep_pods_off_nodes_that_do_not_have_it() -> None:
    storage: list[StorageObject] = [
        *bound("a"),
        make_driver(prevent_pod_scheduling_if_missing=True),
        make_csi_node("has", {EBS: None}),
        make_csi_node("lacks", {"other": None}),
    ]
    cache = cluster_of([make_node(name) for name in ("has", "lacks", "bare")], [], storage)
    assert judge(PLUGIN, make_pod(volumes=[claim_volume("a")]), cache.table) == {
        "has": FITS,
        "lacks": not_installed(EBS),
        "bare": not_installed(EBS),
    }


@pytest.mark.parametrize("wish", [None, False])
def test_a_driver_that_does_not_ask_for_it_does_not(wish: bool | None) -> None:
    cache = one_node([], [*bound("a"), make_driver(prevent_pod_scheduling_if_missing=wish)])
    assert judge(PLUGIN, make_pod(volumes=[claim_volume("a")]), cache.table) == {"n1": FITS}


def test_of_several_missing_drivers_the_first_one_of_the_pod_is_told() -> None:
    drivers = ("z", "a", "m")
    storage: list[StorageObject] = [
        *(subject for driver in drivers for subject in bound(driver, driver=driver)),
        *(make_driver(driver, prevent_pod_scheduling_if_missing=True) for driver in drivers),
        make_csi_node("n1", {"z": None}),
        make_csi_node("n2", {}),
    ]
    cache = cluster_of([make_node("n1"), make_node("n2")], [], storage)
    pod = make_pod(volumes=[claim_volume(driver) for driver in drivers])
    assert judge(PLUGIN, pod, cache.table) == {"n1": not_installed("a"), "n2": not_installed("z")}


def test_a_missing_driver_is_told_before_a_limit() -> None:
    storage: list[StorageObject] = [
        *bound("a"),
        *bound("b", driver="other"),
        make_driver("other", prevent_pod_scheduling_if_missing=True),
    ]
    wanted = make_pod(volumes=[claim_volume("a"), claim_volume("b")])
    nodes = [make_node("n1"), make_node("n2")]
    cache = cluster_of(nodes, [], [*storage, make_csi_node("n1", {EBS: 0}), make_csi_node("n2", {EBS: 0, "other": 1})])
    assert judge(PLUGIN, wanted, cache.table) == {"n1": not_installed("other"), "n2": FULL}


def test_a_pod_of_very_many_drivers_is_judged() -> None:
    drivers = [f"d{number}" for number in range(100)]
    storage: list[StorageObject] = [subject for driver in drivers for subject in bound(driver, driver=driver)]
    cache = one_node([], [*storage, make_csi_node("n1", {"d99": 0})])
    pod = make_pod(volumes=[claim_volume(driver) for driver in drivers])
    assert judge(PLUGIN, pod, cache.table) == {"n1": FULL}


# When the rule is off


@pytest.mark.parametrize(
    "volumes",
    [
        [],
        [Volume(name="tmp")],
        [Volume(name="v", csi=CSIVolumeSource(driver=EBS))],
        [Volume(name="v", iscsi=ISCSIVolumeSource(iqn="i"))],
        [Volume(name="v", rbd=RBDVolumeSource(image="i"))],
    ],
)
def test_a_pod_without_volumes_that_could_count_skips_the_rule(volumes: list[Volume]) -> None:
    pod = make_pod(volumes=volumes)
    assert pre_filtered(PLUGIN, pod, one_node()) == SKIP
    assert PLUGIN.sign(PodInfo(pod)) == ()


@pytest.mark.parametrize(
    "volume",
    [
        claim_volume(),
        ephemeral_volume(),
        *(Volume(name="v", **source) for source in (AWS, GCE, AZURE, CINDER, PORTWORX, AZURE_FILE, VSPHERE)),
    ],
)
def test_a_pod_with_one_does_not_and_has_no_signature(volume: Volume) -> None:
    pod = make_pod(volumes=[volume])
    assert pre_filtered(PLUGIN, pod, one_node()) == SUCCESS
    assert isinstance(PLUGIN.sign(PodInfo(pod)), Unsignable)


def test_events() -> None:
    assert PLUGIN.events_to_register() == (
        ClusterEvent(EventResource.CSI_NODE, ActionType.ADD),
        ClusterEvent(EventResource.CSI_NODE, ActionType.UPDATE),
        ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE),
        ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD),
        ClusterEvent(EventResource.VOLUME_ATTACHMENT, ActionType.DELETE),
    )
