"""VolumeBinding's PreFilter: each claim has to be there, usable and the pod's, or the pod fits nowhere."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from scheduler.api.objects import OwnerReference, Volume
from scheduler.api.storage import PersistentVolumeClaim, PersistentVolumeClaimStatus, StorageObject
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SKIP, SUCCESS, Code, Status
from scheduler.plugins.volume_binding import VolumeBinding
from tests.support.builders import make_node, make_pod
from tests.support.plugin_runs import table_of
from tests.support.volumes import (
    BOUND,
    ephemeral_volume,
    make_claim,
    make_class,
    make_pod_with,
    storage_table,
)

IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"


def pre_filter(pod: PodInfo, *objects: StorageObject) -> Status:
    plugin = VolumeBinding()
    table = storage_table([make_node()], *objects)
    return plugin.pre_filter({}, pod, table.columns(plugin)).status


def refused(reason: str) -> Status:
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,), "VolumeBinding")


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        pytest.param(None, refused('persistentvolumeclaim "data" not found'), id="missing"),
        pytest.param(
            make_claim(namespace="other"), refused('persistentvolumeclaim "data" not found'), id="another namespace"
        ),
        pytest.param(
            replace(make_claim(volume="pv-9"), status=PersistentVolumeClaimStatus(phase="Lost")),
            refused('persistentvolumeclaim "data" bound to non-existent persistentvolume "pv-9"'),
            id="lost",
        ),
        pytest.param(
            make_claim(deletion_timestamp="2026-01-01T00:00:00Z"),
            refused('persistentvolumeclaim "data" is being deleted'),
            id="terminating",
        ),
        pytest.param(make_claim(volume="pv"), SUCCESS, id="bound"),
        pytest.param(make_claim(), SUCCESS, id="waits for the pod's node"),
        pytest.param(
            make_claim(storage_class=None, annotations={"volume.beta.kubernetes.io/storage-class": "local"}),
            SUCCESS,
            id="class in the annotation",
        ),
        pytest.param(
            make_claim(annotations={"volume.beta.kubernetes.io/storage-class": "now"}),
            refused(IMMEDIATE),
            id="the annotation goes before the field",
        ),
        pytest.param(make_claim(storage_class="now"), refused(IMMEDIATE), id="immediate class"),
        pytest.param(make_claim(storage_class=None), refused(IMMEDIATE), id="no class"),
        pytest.param(make_claim(storage_class=""), refused(IMMEDIATE), id="class of no name"),
        pytest.param(make_claim(storage_class="gone"), refused(IMMEDIATE), id="class not found"),
    ],
)
def test_what_a_claim_says(claim: PersistentVolumeClaim | None, expected: Status) -> None:
    objects: list[StorageObject] = [make_class(), make_class("now", mode="Immediate")]
    assert pre_filter(PodInfo(make_pod_with("data")), *objects, *([claim] if claim is not None else [])) == expected


def test_a_claim_that_names_its_volume_is_bound_only_once_binding_is_completed() -> None:
    half = replace(make_claim(volume="pv"), metadata=make_claim().metadata)
    assert pre_filter(PodInfo(make_pod_with("data")), make_class(), half) == refused(IMMEDIATE)


def test_a_class_without_a_binding_mode_is_an_error() -> None:
    with pytest.raises(ValueError, match='VolumeBindingMode not set for StorageClass "local"'):
        pre_filter(PodInfo(make_pod_with("data")), make_class(mode=None), make_claim())


def test_a_class_without_a_binding_mode_does_not_matter_to_a_bound_claim() -> None:
    claim = make_claim(volume="pv")
    assert pre_filter(PodInfo(make_pod_with("data")), make_class(mode=None), claim) == SUCCESS


@pytest.mark.parametrize("volumes", [None, [], [Volume(name="scratch")]])
def test_a_pod_without_claims_is_skipped(volumes: list[Volume] | None) -> None:
    assert pre_filter(PodInfo(make_pod(volumes=volumes))) == SKIP


def test_the_first_claim_in_the_order_of_the_volumes_that_is_wrong_is_told() -> None:
    objects = (make_class(), make_claim("b", deletion_timestamp="2026-01-01T00:00:00Z"))
    pod = PodInfo(make_pod_with("b", "missing"))
    assert pre_filter(pod, *objects) == refused('persistentvolumeclaim "b" is being deleted')
    pod = PodInfo(make_pod_with("missing", "b"))
    assert pre_filter(pod, *objects) == refused('persistentvolumeclaim "missing" not found')


class TestEphemeralVolumes:
    POD = make_pod("app", volumes=[ephemeral_volume("scratch")])

    def test_its_claim_is_named_after_pod_and_volume_and_waited_for(self) -> None:
        reason = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "app-scratch"'
        assert pre_filter(PodInfo(self.POD), make_claim("scratch")) == refused(reason)

    def test_a_claim_that_the_pod_controls_is_used(self) -> None:
        claim = make_claim("app-scratch", owner=self.POD)
        assert pre_filter(PodInfo(self.POD), make_class(), claim) == SUCCESS

    @pytest.mark.parametrize(
        "claim",
        [make_claim("app-scratch"), make_claim("app-scratch", owner=make_pod("app", uid="before"))],
        ids=["nobody's", "of an earlier pod of the name"],
    )
    def test_a_claim_of_somebody_else_is_not_used(self, claim: PersistentVolumeClaim) -> None:
        reason = "PVC default/app-scratch was not created for pod default/app (pod is not owner)"
        assert pre_filter(PodInfo(self.POD), make_class(), claim) == refused(reason)

    def test_an_owner_that_does_not_control_it_is_no_owner(self) -> None:
        claim = make_claim("app-scratch")
        owners = [OwnerReference(kind="Pod", uid=self.POD.metadata.uid)]
        claim = replace(claim, metadata=replace(claim.metadata, owner_references=owners))
        reason = "PVC default/app-scratch was not created for pod default/app (pod is not owner)"
        assert pre_filter(PodInfo(self.POD), make_class(), claim) == refused(reason)


def test_the_annotation_of_completed_binding_counts_whatever_its_value() -> None:
    claim = make_claim(volume="pv", annotations={next(iter(BOUND)): ""})
    assert pre_filter(PodInfo(make_pod_with("data")), claim) == SUCCESS


def test_without_prefilter_the_other_points_fail_as_upstream_does() -> None:
    plugin = VolumeBinding()
    pod = PodInfo(make_pod())
    nodes = table_of([make_node()]).columns(plugin)
    for point in (plugin.filter, plugin.pre_score, plugin.score):
        with pytest.raises(RuntimeError, match=r"^not found$"):
            point({}, pod, nodes)
