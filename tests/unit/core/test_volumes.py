"""Pods with claims on their way to a node: WaitForFirstConsumer with a scheduler that is not kube-scheduler."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from scheduler.api.objects import LabelSelector, LabelSelectorRequirement, Pod
from scheduler.api.storage import PersistentVolumeClaim, StorageObject
from scheduler.core.instruction import BindPod, Instruction, PatchObject, PatchPodStatus
from scheduler.core.stimulus import StorageObjectApplied
from tests.support.builders import make_node
from tests.support.core_run import ON_NODE, Core, changed, reference
from tests.support.volumes import make_claim, make_class, make_pod_with, make_volume, reference_to

SELECTED = "volume.kubernetes.io/selected-node"
COMPLETED = {"pv.kubernetes.io/bind-completed": "yes"}
DYNAMIC = make_class("dynamic", provisioner="example.com/disks")


def show(core: Core, subject: StorageObject, version: str, at: float, **fields: Any) -> list[Instruction]:
    """The API server shows an object in a new version, with these fields of its metadata and its spec."""
    metadata = replace(subject.metadata, resource_version=version, **fields.pop("metadata", {}))
    spec = {} if not fields else {"spec": replace(subject.spec, **fields)}  # type: ignore[union-attr]
    return core.scheduler.handle(StorageObjectApplied(now=at, subject=replace(subject, metadata=metadata, **spec)))


def cluster(*objects: StorageObject, nodes: tuple[str, ...] = ("n1", "n2")) -> Core:
    core = Core()
    core.nodes(*(make_node(name) for name in nodes))
    for subject in objects:
        core.scheduler.handle(StorageObjectApplied(now=0.0, subject=subject))
    return core


def patch_of(instructions: list[Instruction]) -> PatchObject:
    """The only patch of an object among them."""
    (patch,) = [one for one in instructions if isinstance(one, PatchObject)]
    return patch


def binds(instructions: list[Instruction]) -> list[Instruction]:
    return [one for one in instructions if isinstance(one, BindPod)]


def chosen(core: Core, pod: Pod, at: float) -> tuple[str, PatchObject]:
    """Decide on the pod, which has volumes to be bound: the node, and the first thing that is written."""
    core.pods(pod, at=at)
    result = core.decide(at)
    instructions = list(result.instructions)
    assert result.node_name, result.message
    assert binds(instructions) == []
    (nomination,) = [one for one in instructions if isinstance(one, PatchPodStatus)]
    assert nomination.nominated_node_name == result.node_name
    return result.node_name, patch_of(instructions)


class TestProvisioning:
    CLAIM = make_claim(storage_class="dynamic", version="1")
    POD = make_pod_with("data")

    def annotated(self, node: str, **more: str) -> dict[str, Any]:
        return {"annotations": {SELECTED: node, **more}}

    def test_the_node_is_written_on_the_claim_and_the_pod_bound_when_the_claim_is(self) -> None:
        core = cluster(DYNAMIC, self.CLAIM)
        node, written = chosen(core, self.POD, 1.0)
        assert (written.patch.kind, written.patch.name) == ("PersistentVolumeClaim", "data")
        assert written.patch.patch == {"metadata": {"annotations": {SELECTED: node}}}

        assert binds(core.patched(written.number, "2", at=2.0)) == []
        assert binds(show(core, self.CLAIM, "2", 2.5, metadata=self.annotated(node))) == []
        done = {"metadata": self.annotated(node, **COMPLETED), "volume_name": "pvc-1"}
        assert binds(show(core, self.CLAIM, "3", 3.0, **done)) == []  # its volume is not shown yet
        volume = make_volume("pvc-1", node=node, storage_class="dynamic", claim=self.CLAIM, phase="Bound")
        shown = core.scheduler.handle(StorageObjectApplied(now=4.0, subject=volume))
        assert binds(shown) == [BindPod(pod=reference(self.POD), node_name=node)]

    def test_a_provisioner_that_gives_up_sends_the_pod_back(self) -> None:
        core = cluster(DYNAMIC, self.CLAIM)
        _, written = chosen(core, self.POD, 1.0)
        core.patched(written.number, "2", at=2.0)
        show(core, self.CLAIM, "3", 3.0, metadata={"annotations": {"reason": "no room"}})
        assert ON_NODE not in core.rooms(self.POD)
        assert core.rooms(self.POD) == ["backoff"]

    def test_a_claim_that_is_never_bound_sends_the_pod_back_after_ten_minutes(self) -> None:
        core = cluster(DYNAMIC, self.CLAIM)
        _, written = chosen(core, self.POD, 1.0)
        core.patched(written.number, "2", at=2.0)
        core.tick(601.0)
        assert ON_NODE in core.rooms(self.POD)
        core.tick(602.0)
        assert core.rooms(self.POD) == ["backoff"]
        assert core.state.measurements.stage_errors == {("VolumeBinding", "PreBind"): 1}

    def test_a_refused_write_sends_the_pod_back_and_leaves_the_claim_as_it_was(self) -> None:
        core = cluster(DYNAMIC, self.CLAIM)
        _, written = chosen(core, self.POD, 1.0)
        core.patch_failed(written.number, "the object has been modified", at=2.0)
        assert core.rooms(self.POD) == ["backoff"]
        assert core.state.cache.storage.claim("default", "data") == self.CLAIM
        assert core.state.measurements.stage_errors == {("VolumeBinding", "PreBind"): 1}

    def test_the_next_pod_of_the_claim_goes_to_the_node_that_was_selected(self) -> None:
        core = cluster(DYNAMIC, self.CLAIM)
        node, _ = chosen(core, self.POD, 1.0)
        other = make_pod_with("data", name="other")
        assert chosen(core, other, 2.0)[0] == node


class TestLocalVolumes:
    VOLUMES = (make_volume("a", node="n1", version="4"), make_volume("b", node="n2", version="4"))

    def claims(self, count: int) -> list[PersistentVolumeClaim]:
        return [make_claim(f"c{number}", version="1") for number in range(count)]

    def test_each_pod_gets_a_volume_of_its_own_and_its_node(self) -> None:
        core = cluster(make_class(), *self.claims(2), *self.VOLUMES)
        first = chosen(core, make_pod_with("c0", name="p0"), 1.0)
        second = chosen(core, make_pod_with("c1", name="p1"), 1.0)
        found = {node: patch.patch.name for node, patch in (first, second)}
        assert found == {"n1": "a", "n2": "b"}

    def test_one_too_many_waits_until_there_is_a_volume(self) -> None:
        core = cluster(make_class(), *self.claims(3), *self.VOLUMES)
        for number in range(2):
            chosen(core, make_pod_with(f"c{number}", name=f"p{number}"), 1.0)
        late = make_pod_with("c2", name="late")
        core.pods(late, at=1.0)
        result = core.decide(1.0)
        assert result.message == "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind."
        core.scheduler.handle(StorageObjectApplied(now=2.0, subject=make_volume("c", node="n1")))
        core.tick(60.0)
        assert core.decide(60.0).node_name == "n1"

    def test_the_pod_is_bound_when_the_claim_is(self) -> None:
        (claim,) = self.claims(1)
        core = cluster(make_class(), claim, self.VOLUMES[0])
        pod = make_pod_with("c0")
        node, written = chosen(core, pod, 1.0)
        assert node == "n1"
        assert binds(core.patched(written.number, "5", at=2.0)) == []
        held = {"claim_ref": reference_to(claim)}
        assert binds(show(core, self.VOLUMES[0], "5", 2.5, **held)) == []
        shown = show(core, claim, "6", 3.0, metadata={"annotations": COMPLETED}, volume_name="a")
        assert binds(shown) == [BindPod(pod=reference(pod), node_name="n1")]

    def test_a_pod_that_is_gone_leaves_what_was_not_written_to_others(self) -> None:
        core = cluster(make_class(), *self.claims(1), self.VOLUMES[0])
        pod = make_pod_with("c0")
        chosen(core, pod, 1.0)
        core.pod_gone(pod, at=2.0)
        assert core.state.cache.storage.volume("a") == self.VOLUMES[0]

    def test_bound_claims_bind_the_pod_at_once(self) -> None:
        claim = make_claim(volume="a")
        core = cluster(make_class(), claim, make_volume("a", node="n2", claim=claim, phase="Bound"))
        pod = make_pod_with("data")
        core.pods(pod, at=1.0)
        assert list(core.decide(1.0).instructions) == [BindPod(pod=reference(pod), node_name="n2")]


def test_a_claim_that_is_bound_by_hand_wakes_the_pod() -> None:
    core = cluster(make_class("now", mode="Immediate"), make_claim(storage_class="now"))
    pod = make_pod_with("data")
    core.pods(pod, at=1.0)
    expected = "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims."
    assert core.decide(1.0).message == expected
    assert core.rooms(pod) == ["unschedulable"]
    core.scheduler.handle(StorageObjectApplied(now=2.0, subject=make_volume("pv")))
    core.scheduler.handle(
        StorageObjectApplied(now=2.0, subject=make_claim(storage_class="now", volume="pv", version="2"))
    )
    core.tick(60.0)
    assert core.decide(60.0).node_name


def test_a_pod_that_changes_while_its_volumes_are_bound_goes_on() -> None:
    claim = make_claim(storage_class="dynamic", version="1")
    core = cluster(DYNAMIC, claim)
    pod = make_pod_with("data")
    node, written = chosen(core, pod, 1.0)
    core.pods(changed(pod, version="9", metadata={"labels": {"a": "b"}}), at=1.5)
    core.patched(written.number, "2", at=2.0)
    core.scheduler.handle(StorageObjectApplied(now=2.0, subject=make_volume("pvc-1", storage_class="dynamic")))
    done = {"annotations": {SELECTED: node, **COMPLETED}}
    assert len(binds(show(core, claim, "3", 3.0, metadata=done, volume_name="pvc-1"))) == 1


def test_a_claim_with_a_selector_that_cannot_be_read_fails_in_filter() -> None:
    selector = LabelSelector(match_expressions=[LabelSelectorRequirement(key="a", operator="Near")])
    claim = make_claim(version="1")
    core = cluster(
        make_class(), replace(claim, spec=replace(claim.spec, selector=selector)), make_volume("a", node="n1")
    )
    pod = make_pod_with("data")
    core.pods(pod, at=1.0)
    assert core.decide(1.0).outcome == "error"
    assert core.state.measurements.stage_errors == {("VolumeBinding", "Filter"): 1}
