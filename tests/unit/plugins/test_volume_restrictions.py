"""VolumeRestrictions. Expected: kube-scheduler 1.37, VolumeRestrictions."""

from __future__ import annotations

import pytest

from scheduler.api.objects import Pod, Volume
from scheduler.api.volume_sources import (
    AWSElasticBlockStoreVolumeSource,
    CinderVolumeSource,
    CSIVolumeSource,
    GCEPersistentDiskVolumeSource,
    ISCSIVolumeSource,
    RBDVolumeSource,
)
from scheduler.cache.cache import Cache
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.plugin import Unsignable
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SKIP, SUCCESS, Code, Status
from scheduler.plugins.volume_restrictions import VolumeRestrictions
from scheduler.profile.evaluation import Evaluation
from tests.support.builders import make_node, make_pod
from tests.support.plugin_runs import FITS, judge
from tests.support.scripted_plugins import make_profile
from tests.support.storage import claim_volume, ephemeral_volume, make_claim
from tests.support.storage_runs import cluster_of, pre_filtered

PLUGIN = VolumeRestrictions()
DISK = ("Unschedulable", ("node(s) had no available disk",))
IN_USE = (
    "Unschedulable",
    (
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
    ),
)
NODES = [make_node("busy"), make_node("idle")]
EXCLUSIVE = make_claim(modes=("ReadWriteOncePod",))


def disk(name: str = "d", *, read_only: bool = False) -> Volume:
    return Volume(name="v", gce_persistent_disk=GCEPersistentDiskVolumeSource(pd_name=name, read_only=read_only))


def user(*volumes: Volume, name: str = "other", node: str = "busy", namespace: str = "default") -> Pod:
    return make_pod(name, namespace=namespace, node_name=node, volumes=list(volumes))


AWS = Volume(name="v", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id="d"))
ISCSI = Volume(name="v", iscsi=ISCSIVolumeSource(iqn="d"))
RBD = Volume(name="v", rbd=RBDVolumeSource(monitors=["m"], pool="p", image="i"))


@pytest.mark.parametrize("volume", [disk(), AWS, ISCSI, RBD])
def test_a_disk_that_a_pod_of_the_node_uses_is_not_available_there(volume: Volume) -> None:
    cache = cluster_of(NODES, [user(volume)])
    assert judge(PLUGIN, make_pod(volumes=[volume]), cache.table) == {"busy": DISK, "idle": FITS}


def test_disks_that_are_only_read_are_shared() -> None:
    cache = cluster_of(NODES, [user(disk(read_only=True))])
    assert judge(PLUGIN, make_pod(volumes=[disk(read_only=True)]), cache.table) == {"busy": FITS, "idle": FITS}
    assert judge(PLUGIN, make_pod(volumes=[disk()]), cache.table) == {"busy": DISK, "idle": FITS}


def test_one_taken_disk_of_several_is_enough_and_namespaces_do_not_matter() -> None:
    cache = cluster_of(NODES, [user(disk("c"), namespace="elsewhere")])
    pod = make_pod(volumes=[disk("a"), claim_volume(), disk("c"), disk("e")])
    cache.apply_storage_object(make_claim())
    assert judge(PLUGIN, pod, cache.table) == {"busy": DISK, "idle": FITS}


def test_disks_of_one_pod_do_not_conflict_with_each_other() -> None:
    assert judge(PLUGIN, make_pod(volumes=[disk(), disk()]), cluster_of(NODES).table) == {"busy": FITS, "idle": FITS}


@pytest.mark.parametrize(
    "volumes",
    [
        [],
        [Volume(name="tmp")],
        [ephemeral_volume()],
        [claim_volume()],
        [Volume(name="v", cinder=CinderVolumeSource(volume_id="d"))],
        [Volume(name="v", csi=CSIVolumeSource(driver="d"))],
    ],
)
def test_a_pod_without_disks_and_exclusive_claims_skips_the_rule(volumes: list[Volume]) -> None:
    cache = cluster_of(NODES, [user(*volumes)], [make_claim()])
    assert pre_filtered(PLUGIN, make_pod(volumes=volumes), cache) == SKIP


def test_a_missing_claim_is_told_before_anything_else() -> None:
    pod = make_pod(volumes=[disk(), claim_volume("here"), claim_volume("gone")])
    cache = cluster_of(NODES, [user(disk())], [make_claim("here"), make_claim("gone", namespace="other")])
    text = 'persistentvolumeclaim "gone" not found'
    assert pre_filtered(PLUGIN, pod, cache) == Status(
        Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (text,), "VolumeRestrictions"
    )


def test_a_claim_without_a_name_is_missing() -> None:
    status = pre_filtered(PLUGIN, make_pod(volumes=[claim_volume("")]), cluster_of(NODES))
    assert status.reasons == ('persistentvolumeclaim "" not found',)


def test_an_exclusive_claim_that_nobody_uses_is_free() -> None:
    cache = cluster_of(NODES, [user(claim_volume(), namespace="elsewhere"), user(claim_volume("logs"))], [EXCLUSIVE])
    assert pre_filtered(PLUGIN, make_pod(volumes=[claim_volume()]), cache) == SKIP


def test_an_exclusive_claim_in_use_refuses_the_pod_everywhere() -> None:
    cache = cluster_of(NODES, [user(claim_volume())], [EXCLUSIVE])
    assert judge(PLUGIN, make_pod(volumes=[claim_volume()]), cache.table) == {"busy": IN_USE, "idle": IN_USE}


def test_a_pod_on_a_node_that_is_not_known_uses_no_exclusive_claim() -> None:
    """kube-scheduler counts the users of a claim over the nodes of its snapshot."""
    cache = cluster_of(NODES, [user(claim_volume(), node="gone")], [EXCLUSIVE])
    assert pre_filtered(PLUGIN, make_pod(volumes=[claim_volume()]), cache) == SKIP
    cache.apply_node(make_node("gone"))
    everywhere = dict.fromkeys(("busy", "idle", "gone"), IN_USE)
    assert judge(PLUGIN, make_pod(volumes=[claim_volume()]), cache.table) == everywhere


def test_a_claim_that_several_may_use_is_never_in_use() -> None:
    cache = cluster_of(NODES, [user(claim_volume())], [make_claim(modes=("ReadWriteOnce", "ReadWriteMany"))])
    assert pre_filtered(PLUGIN, make_pod(volumes=[claim_volume()]), cache) == SKIP


def test_a_taken_disk_is_told_before_a_claim_in_use() -> None:
    cache = cluster_of(NODES, [user(disk(), claim_volume())], [EXCLUSIVE])
    pod = make_pod(volumes=[claim_volume(), disk()])
    assert judge(PLUGIN, pod, cache.table) == {"busy": DISK, "idle": IN_USE}


def test_a_disk_keeps_the_rule_on_where_the_claim_is_free() -> None:
    cache = cluster_of(NODES, [], [EXCLUSIVE])
    pod = make_pod(volumes=[claim_volume(), disk()])
    assert pre_filtered(PLUGIN, pod, cache) == SUCCESS
    assert judge(PLUGIN, pod, cache.table) == {"busy": FITS, "idle": FITS}


def test_pods_that_are_tried_on_a_node_use_disks_and_claims_too() -> None:
    cache = cluster_of(NODES, [], [EXCLUSIVE])
    evaluation = evaluated(cache, make_pod(volumes=[claim_volume(), disk()]))
    for volume, reasons in ((claim_volume(), IN_USE[1]), (disk(), DISK[1])):
        ahead = PodInfo(make_pod("ahead", volumes=[volume]))
        cache.assume(ahead, "busy")
        assert evaluation.try_row(0).reasons == reasons
        cache.forget(ahead.uid)
    assert evaluation.try_row(0).code is Code.SUCCESS


def test_a_claim_of_the_same_name_elsewhere_is_another_claim() -> None:
    cache = cluster_of(NODES, [], [EXCLUSIVE])
    evaluation = evaluated(cache, make_pod(volumes=[claim_volume(), disk()]))
    cache.assume(PodInfo(make_pod("ahead", namespace="elsewhere", volumes=[claim_volume()])), "busy")
    assert evaluation.try_row(0).code is Code.SUCCESS


def evaluated(cache: Cache, pod: Pod) -> Evaluation:
    evaluation = Evaluation(make_profile(PLUGIN), PodInfo(pod), cache.table)
    evaluation.refresh()
    return evaluation


def test_without_prefilter_the_cycle_fails() -> None:
    nodes = cluster_of(NODES).table.columns(PLUGIN)
    with pytest.raises(RuntimeError, match=r'^cannot read "PreFilterVolumeRestrictions" from cycleState$'):
        PLUGIN.filter({}, PodInfo(make_pod()), nodes)


@pytest.mark.parametrize("volume", [claim_volume(), disk(), AWS, ISCSI, RBD])
def test_a_pod_whose_volumes_are_looked_at_has_no_signature(volume: Volume) -> None:
    assert isinstance(PLUGIN.sign(PodInfo(make_pod(volumes=[volume]))), Unsignable)


@pytest.mark.parametrize("volumes", [[], [Volume(name="tmp")], [ephemeral_volume()]])
def test_other_pods_are_alike(volumes: list[Volume]) -> None:
    assert PLUGIN.sign(PodInfo(make_pod(volumes=volumes))) == ()


def test_events() -> None:
    assert PLUGIN.events_to_register() == (
        ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE),
        ClusterEvent(EventResource.NODE, ActionType.ADD),
        ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD),
    )
