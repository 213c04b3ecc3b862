"""VolumeBinding once a node is chosen: what is assumed, written, waited for, and given back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from scheduler.api.objects import Node, Pod
from scheduler.api.storage import PersistentVolume, PersistentVolumeClaim, StorageObject
from scheduler.cache.cache import Cache
from scheduler.cache.storage import StorageIndex
from scheduler.framework.binding import (
    ObjectKey,
    ObjectPatch,
    PatchAnswer,
    PreBindDone,
    PreBindFailed,
    PreBindStep,
    PreBindWaits,
    PreBindWrites,
    PreFlight,
    WaitingPod,
)
from scheduler.framework.plugin import CycleState
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SKIP, SUCCESS, Code, Status
from scheduler.plugins.volume_binding import VolumeBinding, VolumeBindingArgs
from tests.support.builders import make_node, make_pod
from tests.support.volumes import make_claim, make_class, make_pod_with, make_volume, reference_to

SELECTED = "volume.kubernetes.io/selected-node"
BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
COMPLETED = "pv.kubernetes.io/bind-completed"
START = 1000.0
DYNAMIC = make_class("dynamic", provisioner="csi.example")


class Binding:
    """A pod on the way to node ``n1``, and the cluster around it. It is its own Handle."""

    def __init__(self, *objects: StorageObject, pod: Pod | None = None, timeout: int = 600) -> None:
        self.cache = Cache(seed=1)
        for node in (make_node("n1", labels={"zone": "a"}), make_node("n2")):
            self.cache.apply_node(node)
        for subject in objects:
            self.cache.apply_storage_object(subject)
        self.now = START
        self.pod = PodInfo(make_pod_with("data") if pod is None else pod)
        self.plugin = VolumeBinding(VolumeBindingArgs(bind_timeout_seconds=timeout))
        self.states: CycleState = {}
        nodes = self.cache.table.columns(self.plugin)
        self.plugin.pre_filter(self.states, self.pod, nodes)
        self.plugin.filter(self.states, self.pod, nodes)

    @property
    def storage(self) -> StorageIndex:
        return self.cache.storage

    def node(self, name: str) -> Node | None:
        row = self.cache.table.row_of(name)
        return None if row is None else self.cache.table.node(row)

    def activate(self, uids: Iterable[str]) -> None:
        raise AssertionError

    def waiting_pod(self, uid: str) -> WaitingPod | None:
        raise AssertionError

    def waiting_pods(self) -> Iterator[WaitingPod]:
        raise AssertionError

    def reserve(self) -> Status:
        return self.plugin.reserve(self.states, self.pod, "n1", self)

    def unreserve(self) -> None:
        self.plugin.unreserve(self.states, self.pod, "n1", self)

    def pre_flight(self) -> PreFlight:
        return self.plugin.pre_bind_pre_flight(self.states, self.pod, "n1", self)

    def step(self, *answers: str, error: str = "") -> PreBindStep:
        """``answers``: resource versions of the objects as they were written, then perhaps an error."""
        given = [PatchAnswer(resource_version=version) for version in answers]
        if error:
            given.append(PatchAnswer(error=error))
        return self.plugin.pre_bind(self.states, self.pod, "n1", self, tuple(given))

    def show(self, subject: StorageObject, version: str, **changes: Any) -> None:
        """The API server shows an object in a new version."""
        metadata = replace(subject.metadata, resource_version=version, **changes.pop("metadata", {}))
        self.cache.apply_storage_object(replace(subject, metadata=metadata, **changes))

    def claim(self, name: str = "data") -> PersistentVolumeClaim:
        claim = self.storage.claim("default", name)
        assert claim is not None
        return claim

    def volume(self, name: str = "pv") -> PersistentVolume:
        volume = self.storage.volume(name)
        assert volume is not None
        return volume


def failed(message: str) -> PreBindFailed:
    return PreBindFailed(Status(Code.ERROR, (message,)))


def with_volume(claim: PersistentVolumeClaim, volume: str) -> dict[str, Any]:
    return {"spec": replace(claim.spec, volume_name=volume)}


class TestWithoutWork:
    def test_a_pod_without_claims_takes_no_part(self) -> None:
        assert not VolumeBinding().takes_part(PodInfo(make_pod()))
        assert VolumeBinding().takes_part(PodInfo(make_pod_with("data")))

    def test_bound_claims_need_nothing(self) -> None:
        binding = Binding(make_claim(volume="pv"), make_volume("pv"))
        assert binding.reserve() == SUCCESS
        assert binding.pre_flight() == PreFlight(SKIP, allow_parallel=True)
        binding.unreserve()

    def test_without_filter_nothing_is_bound(self) -> None:
        binding = Binding(make_class(), make_claim(), make_volume("pv"))
        del binding.states["filtered"]
        assert binding.reserve() == SUCCESS
        assert binding.pre_flight() == PreFlight(SKIP, allow_parallel=True)

    def test_it_says_what_it_writes(self) -> None:
        assert VolumeBinding.patches == ("PersistentVolume", "PersistentVolumeClaim")


class TestStaticVolume:
    CLAIM = make_claim(version="7")
    VOLUME = make_volume("pv", node="n1", version="9")
    PATCH = ObjectPatch(
        kind="PersistentVolume",
        name="pv",
        uid="pv-uid",
        resource_version="9",
        patch={
            "metadata": {"annotations": {BY_CONTROLLER: "yes"}},
            "spec": {
                "claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": "default",
                    "name": "data",
                    "uid": "default-data-claim",
                    "resourceVersion": "7",
                }
            },
        },
    )
    AWAITED = (
        ObjectKey("PersistentVolume", "", "pv"),
        ObjectKey("PersistentVolumeClaim", "default", "data"),
    )

    def reserved(self, *more: StorageObject, **options: Any) -> Binding:
        binding = Binding(make_class(), self.CLAIM, self.VOLUME, *more, **options)
        assert binding.reserve() == SUCCESS
        return binding

    def written(self, **options: Any) -> Binding:
        binding = self.reserved(**options)
        assert binding.step() == PreBindWrites((self.PATCH,))
        assert binding.step("10") == PreBindWaits(self.AWAITED, START + 600)
        return binding

    def test_it_is_taken_from_now_on(self) -> None:
        binding = self.reserved()
        assert binding.volume().spec.claim_ref == reference_to(self.CLAIM)
        assert binding.volume().metadata.annotations == {BY_CONTROLLER: "yes"}
        other = PodInfo(make_pod_with("other"))
        binding.cache.apply_storage_object(make_claim("other"))
        state: CycleState = {}
        nodes = binding.cache.table.columns(binding.plugin)
        assert binding.plugin.pre_filter(state, other, nodes).status == SUCCESS
        assert [bool(mask) for mask in binding.plugin.filter(state, other, nodes)] == [True, True]  # type: ignore[union-attr]

    def test_it_is_free_again_when_the_pod_goes_elsewhere(self) -> None:
        binding = self.reserved()
        binding.unreserve()
        assert binding.volume() == self.VOLUME
        binding.unreserve()
        assert binding.volume() == self.VOLUME

    def test_work_is_done_beside_that_of_others(self) -> None:
        assert self.reserved().pre_flight() == PreFlight(SUCCESS, allow_parallel=True)

    def test_the_volume_is_written_for_the_state_that_was_seen(self) -> None:
        assert self.reserved().step() == PreBindWrites((self.PATCH,))

    def test_a_write_that_fails_fails_the_pod_with_its_message(self) -> None:
        binding = self.reserved()
        binding.step()
        assert binding.step(error="the object has been modified") == failed("the object has been modified")
        binding.unreserve()
        assert binding.volume() == self.VOLUME

    def test_what_was_written_is_not_given_back(self) -> None:
        binding = self.written()
        binding.unreserve()
        assert binding.volume().spec.claim_ref == reference_to(self.CLAIM)

    def test_it_waits_until_the_write_is_shown_and_the_claim_is_bound(self) -> None:
        binding = self.written()
        bound = with_volume(self.CLAIM, "pv")
        binding.show(self.CLAIM, "11", metadata={"annotations": {COMPLETED: "yes"}}, **bound)
        waits = PreBindWaits(self.AWAITED, START + 600)
        assert binding.step() == waits  # the volume is still shown as it was before our write
        binding.show(self.VOLUME, "10", spec=replace(self.VOLUME.spec, claim_ref=reference_to(self.CLAIM)))
        assert binding.step() == PreBindDone()

    def test_it_waits_while_the_claim_is_half_bound(self) -> None:
        binding = self.written()
        binding.show(self.VOLUME, "10", spec=replace(self.VOLUME.spec, claim_ref=reference_to(self.CLAIM)))
        assert binding.step() == PreBindWaits(self.AWAITED, START + 600)
        binding.show(self.CLAIM, "11", **with_volume(self.CLAIM, "pv"))
        assert binding.step() == PreBindWaits(self.AWAITED, START + 600)

    def test_the_deadline_stays_where_it_was_when_it_is_asked_again(self) -> None:
        binding = self.written()
        binding.now = START + 599
        assert binding.step() == PreBindWaits(self.AWAITED, START + 600)

    def test_at_the_deadline_the_pod_fails(self) -> None:
        binding = self.written()
        binding.now = START + 600
        assert binding.step() == failed("binding volumes: context deadline exceeded")

    def test_what_is_bound_at_the_deadline_is_bound(self) -> None:
        binding = self.written()
        binding.show(self.VOLUME, "10", spec=replace(self.VOLUME.spec, claim_ref=reference_to(self.CLAIM)))
        bound = with_volume(self.CLAIM, "pv")
        binding.show(self.CLAIM, "11", metadata={"annotations": {COMPLETED: "yes"}}, **bound)
        binding.now = START + 600
        assert binding.step() == PreBindDone()

    @pytest.mark.parametrize("holder", [None, reference_to(make_claim(), uid="")])
    def test_a_claim_reference_that_was_taken_away_fails_the_pod(self, holder: Any) -> None:
        binding = self.written()
        binding.show(self.VOLUME, "11", spec=replace(self.VOLUME.spec, claim_ref=holder))
        assert binding.step() == failed('binding volumes: ClaimRef got reset for pv "pv"')

    def test_a_volume_that_is_gone_fails_the_pod(self) -> None:
        binding = self.written()
        binding.cache.remove_storage_object("PersistentVolume", "", "pv")
        message = 'binding volumes: failed to check binding: persistentvolumes "pv" not found'
        assert binding.step() == failed(message)

    def test_a_claim_that_is_gone_fails_the_pod(self) -> None:
        binding = self.written()
        binding.cache.remove_storage_object("PersistentVolumeClaim", "default", "data")
        message = 'binding volumes: failed to check binding: persistentvolumeclaims "default/data" not found'
        assert binding.step() == failed(message)

    def test_a_node_that_is_gone_fails_the_pod(self) -> None:
        binding = self.written()
        binding.cache.remove_node("n1")
        assert binding.step() == failed('binding volumes: failed to get node "n1": node "n1" not found')

    def test_a_node_that_lost_the_label_fails_the_pod(self) -> None:
        binding = self.written()
        binding.show(self.VOLUME, "10", spec=replace(self.VOLUME.spec, claim_ref=reference_to(self.CLAIM)))
        node = make_node("n1")
        binding.cache.apply_node(replace(node, metadata=replace(node.metadata, labels={})))
        message = 'binding volumes: pv "pv" node affinity doesn\'t match node "n1": no matching NodeSelectorTerms'
        assert binding.step() == failed(message)

    def test_a_volume_that_changed_meanwhile_is_not_reserved(self) -> None:
        binding = Binding(make_class(), self.CLAIM, self.VOLUME)
        binding.show(self.VOLUME, "12")
        assert binding.reserve() == Status(Code.ERROR, ('"pv" is out of sync (stored: 12, assume: 9)',))

    def test_one_that_changed_gives_back_those_before_it(self) -> None:
        pod = make_pod_with("data", "more")
        more, last = make_claim("more", size="20Gi"), make_volume("last", size="20Gi", version="5")
        binding = Binding(make_class(), self.CLAIM, self.VOLUME, more, last, pod=pod)
        binding.show(last, "6")
        assert binding.reserve().code is Code.ERROR
        assert binding.volume() == self.VOLUME


class TestVolumeHeldForTheClaim:
    def test_one_that_the_user_has_bound_gets_the_uid_and_no_mark_of_the_controller(self) -> None:
        claim = make_claim(version="7")
        volume = make_volume("pv", claim=reference_to(claim, uid=""))
        binding = Binding(make_class(), claim, volume)
        assert binding.reserve() == SUCCESS
        step = binding.step()
        assert isinstance(step, PreBindWrites)
        assert step.patches[0].patch == {
            "spec": {
                "claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": "default",
                    "name": "data",
                    "uid": "default-data-claim",
                    "resourceVersion": "7",
                }
            }
        }

    def test_one_that_is_bound_already_is_not_written(self) -> None:
        claim = make_claim()
        binding = Binding(make_class(), claim, make_volume("pv", claim=claim))
        assert binding.reserve() == SUCCESS
        assert isinstance(binding.step(), PreBindWaits)


class TestProvisioning:
    CLAIM = make_claim(storage_class="dynamic", version="7", annotations={"team": "a"})
    PATCH = ObjectPatch(
        kind="PersistentVolumeClaim",
        namespace="default",
        name="data",
        uid="default-data-claim",
        resource_version="7",
        patch={"metadata": {"annotations": {SELECTED: "n1"}}},
    )
    AWAITED = (ObjectKey("PersistentVolumeClaim", "default", "data"),)

    def written(self) -> Binding:
        binding = Binding(DYNAMIC, self.CLAIM)
        assert binding.reserve() == SUCCESS
        assert binding.step() == PreBindWrites((self.PATCH,))
        assert binding.step("10") == PreBindWaits(self.AWAITED, START + 600)
        return binding

    def annotations(self, **more: str) -> dict[str, Any]:
        return {"metadata": {"annotations": {SELECTED: "n1", **more}}}

    def test_the_node_is_selected_for_everyone_to_see(self) -> None:
        binding = Binding(DYNAMIC, self.CLAIM)
        assert binding.reserve() == SUCCESS
        assert binding.claim().metadata.annotations == {"team": "a", SELECTED: "n1"}
        binding.unreserve()
        assert binding.claim() == self.CLAIM

    def test_it_waits_for_the_volume_and_for_the_claim(self) -> None:
        binding = self.written()
        binding.show(self.CLAIM, "10", **self.annotations())
        assert binding.step() == PreBindWaits(self.AWAITED, START + 600)
        bound = {**self.annotations(**{COMPLETED: "yes"}), **with_volume(self.CLAIM, "pvc-1")}
        binding.show(self.CLAIM, "11", **bound)
        both = (*self.AWAITED, ObjectKey("PersistentVolume", "", "pvc-1"))
        assert binding.step() == PreBindWaits(both, START + 600)
        binding.cache.apply_storage_object(make_volume("pvc-1", node="n1"))
        assert binding.step() == PreBindDone()

    def test_it_waits_while_its_write_is_not_shown(self) -> None:
        binding = self.written()
        binding.show(self.CLAIM, "9", metadata={"annotations": {}})
        assert binding.step() == PreBindWaits(self.AWAITED, START + 600)

    def test_a_volume_for_another_node_fails_the_pod(self) -> None:
        binding = self.written()
        binding.show(self.CLAIM, "11", **self.annotations(), **with_volume(self.CLAIM, "pvc-1"))
        binding.cache.apply_storage_object(make_volume("pvc-1", node="n2"))
        message = 'binding volumes: pv "pvc-1" node affinity doesn\'t match node "n1": no matching NodeSelectorTerms'
        assert binding.step() == failed(message)

    def test_annotations_that_are_gone_fail_the_pod(self) -> None:
        binding = self.written()
        binding.show(self.CLAIM, "11", metadata={"annotations": None})
        assert binding.step() == failed('binding volumes: selectedNode annotation reset for PVC "data"')

    @pytest.mark.parametrize("annotations", [{"team": "a"}, {SELECTED: "n2"}])
    def test_another_selected_node_or_none_is_a_provisioner_that_gave_up(self, annotations: dict[str, str]) -> None:
        binding = self.written()
        binding.show(self.CLAIM, "11", metadata={"annotations": annotations})
        assert binding.step() == failed('binding volumes: provisioning failed for PVC "data"')

    def test_a_claim_that_is_gone_fails_the_pod(self) -> None:
        binding = self.written()
        binding.cache.remove_storage_object("PersistentVolumeClaim", "default", "data")
        message = 'persistentvolumeclaims "default/data" not found'
        assert binding.step() == failed(f"binding volumes: failed to check provisioning pvc: {message}")


def test_volumes_are_written_before_claims_and_only_what_was_not_written_is_given_back() -> None:
    static, dynamic = make_claim("a", version="1"), make_claim("b", storage_class="dynamic", version="2")
    binding = Binding(
        make_class(), DYNAMIC, static, dynamic, make_volume("pv", version="3"), pod=make_pod_with("b", "a")
    )
    assert binding.reserve() == SUCCESS
    step = binding.step()
    assert isinstance(step, PreBindWrites)
    assert [patch.key.name for patch in step.patches] == ["pv", "b"]
    assert binding.step("4", error="conflict") == failed("conflict")
    binding.unreserve()
    assert binding.volume().spec.claim_ref is not None
    assert binding.claim("b") == dynamic


def test_a_timeout_of_zero_seconds_waits_for_nothing() -> None:
    binding = Binding(DYNAMIC, make_claim(storage_class="dynamic"), timeout=0)
    binding.reserve()
    binding.step()
    assert binding.step("2") == failed("binding volumes: context deadline exceeded")
