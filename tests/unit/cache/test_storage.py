"""The index of storage objects, the volumes that pods use and what drivers allow, as plugins see them."""

from typing import Any

import msgspec
import numpy as np
import pytest

from scheduler.api.objects import Volume
from scheduler.api.storage import StorageObject
from scheduler.api.volume_sources import (
    AWSElasticBlockStoreVolumeSource,
    GCEPersistentDiskVolumeSource,
    ISCSIVolumeSource,
    RBDVolumeSource,
)
from scheduler.cache.cache import Cache
from scheduler.cache.csi_columns import UNLIMITED
from scheduler.framework.facet import Facet
from scheduler.framework.pod_info import PodInfo
from tests.support.builders import make_node, make_pod
from tests.support.storage import (
    EBS,
    claim_volume,
    ephemeral_volume,
    make_attachment,
    make_capacity,
    make_claim,
    make_class,
    make_csi_node,
    make_driver,
    make_volume,
)
from tests.support.view_plugins import Everything


@pytest.fixture
def cache() -> Cache:
    held = Cache(seed=1)
    for name in ("n0", "n1", "n2"):
        held.apply_node(make_node(name))
    return held


def changed_facets(cache: Cache, action: Any) -> dict[int, Facet]:
    position = cache.table.position
    action()
    cache.validate()
    changes = cache.table.changes_since(position)
    assert changes is not None
    return {row: Facet(what) for row, what in zip(changes.rows.tolist(), changes.facets.tolist(), strict=True)}


def user(name: str, node: str, *volumes: Volume, namespace: str = "default") -> PodInfo:
    return PodInfo(make_pod(name, namespace=namespace, node_name=node, volumes=list(volumes)))


# Objects by name and by what they are asked for with


@pytest.mark.parametrize(
    ("subject", "kind", "namespace", "name"),
    [
        (make_claim(), "PersistentVolumeClaim", "default", "data"),
        (make_volume(), "PersistentVolume", "", "pv"),
        (make_class(), "StorageClass", "", "fast"),
        (make_csi_node(), "CSINode", "", "n1"),
        (make_driver(), "CSIDriver", "", EBS),
        (make_capacity("c"), "CSIStorageCapacity", "kube-system", "c"),
        (make_attachment("a", "n1", "pv"), "VolumeAttachment", "", "a"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_objects_come_change_and_go(cache: Cache, subject: StorageObject, kind: str, namespace: str, name: str) -> None:
    before = cache.storage.version(kind)
    assert cache.apply_storage_object(subject) is None
    assert cache.storage.shown(kind, namespace, name) is subject
    changed = msgspec.structs.replace(subject, metadata=msgspec.structs.replace(subject.metadata, resource_version="2"))
    assert cache.apply_storage_object(changed) is subject
    assert cache.storage.shown(kind, namespace, name) is changed
    assert cache.remove_storage_object(kind, namespace, name) is changed
    assert cache.storage.shown(kind, namespace, name) is None
    assert cache.remove_storage_object(kind, namespace, name) is None
    assert cache.storage.version(kind) == before + 4
    cache.validate()


def test_an_object_without_a_name_is_refused(cache: Cache) -> None:
    with pytest.raises(ValueError, match=r"^StorageClass without metadata\.name cannot be kept$"):
        cache.apply_storage_object(make_class(""))


@pytest.mark.parametrize(
    ("subject", "text"),
    [
        (make_claim(request="lots"), "PersistentVolumeClaim default/data: spec.resources.requests[storage]: "),
        (
            msgspec.structs.replace(
                make_volume(), spec=msgspec.structs.replace(make_volume().spec, capacity={"storage": "x"})
            ),
            "PersistentVolume pv: spec.capacity[storage]: ",
        ),
        (msgspec.structs.replace(make_capacity("c"), capacity="x"), "CSIStorageCapacity kube-system/c: capacity: "),
        (
            msgspec.structs.replace(make_capacity("c"), maximum_volume_size="x"),
            "CSIStorageCapacity kube-system/c: maximumVolumeSize: ",
        ),
    ],
)
def test_an_amount_that_cannot_be_read_is_refused(cache: Cache, subject: StorageObject, text: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is compared below
        cache.apply_storage_object(subject)
    assert str(caught.value).startswith(text)
    assert cache.storage.version(type(subject).__name__) == 0


def test_volumes_by_class_are_in_the_order_of_their_names(cache: Cache) -> None:
    for name, class_name in (("c", "fast"), ("a", "fast"), ("d", "slow"), ("b", "fast"), ("e", "")):
        cache.apply_storage_object(make_volume(name, class_name=class_name))
    annotated = make_volume("f", class_name="slow", annotations={"volume.beta.kubernetes.io/storage-class": "fast"})
    cache.apply_storage_object(annotated)

    def names(class_name: str) -> str:
        return "".join(volume.metadata.name for volume in cache.storage.volumes_of_class(class_name).objects())

    assert (names("fast"), names("slow"), names(""), names("other")) == ("abcf", "d", "e", "")
    cache.apply_storage_object(make_volume("b", class_name="slow"))
    cache.remove_storage_object("PersistentVolume", "", "a")
    assert (names("fast"), names("slow")) == ("cf", "bd")


def test_volumes_for_a_claim_follow_their_claim_ref(cache: Cache) -> None:
    cache.apply_storage_object(make_volume("b", claim="default/data"))
    cache.apply_storage_object(make_volume("a", claim="default/data"))
    cache.apply_storage_object(make_volume("c"))
    assert [each.metadata.name for each in cache.storage.volumes_for_claim("default", "data")] == ["a", "b"]
    cache.apply_storage_object(make_volume("a", claim="other/data"))
    assert [each.metadata.name for each in cache.storage.volumes_for_claim("default", "data")] == ["b"]
    assert [each.metadata.name for each in cache.storage.volumes_for_claim("other", "data")] == ["a"]


def test_an_assumed_volume_is_found_where_it_will_be(cache: Cache) -> None:
    shown = make_volume("pv", class_name="fast")
    assumed = make_volume("pv", class_name="fast", claim="default/data")
    cache.apply_storage_object(shown)
    cache.storage.assume(assumed)
    assert cache.storage.volume("pv") is assumed
    assert cache.storage.volumes_of_class("fast").objects() == [assumed]
    assert cache.storage.volumes_for_claim("default", "data") == (assumed,)
    cache.storage.restore(shown)
    assert cache.storage.volume("pv") is shown
    assert cache.storage.volumes_of_class("fast").objects() == [shown]
    assert cache.storage.volumes_for_claim("default", "data") == ()


def test_restoring_a_volume_that_is_gone_does_not_bring_it_back(cache: Cache) -> None:
    shown = make_volume("pv", class_name="fast")
    cache.apply_storage_object(shown)
    cache.storage.assume(make_volume("pv", class_name="fast", claim="default/data"))
    cache.remove_storage_object("PersistentVolume", "", "pv")
    cache.storage.restore(shown)
    assert cache.storage.volume("pv") is None
    assert cache.storage.volumes_of_class("fast").objects() == []


def test_an_assumed_claim_stands_for_the_shown_one(cache: Cache) -> None:
    shown, assumed = make_claim(), make_claim(annotations={"volume.kubernetes.io/selected-node": "n1"})
    cache.apply_storage_object(shown)
    version = cache.storage.version("PersistentVolumeClaim")
    cache.storage.assume(assumed)
    assert cache.storage.claim("default", "data") is assumed
    assert cache.storage.version("PersistentVolumeClaim") > version
    cache.storage.restore(shown)
    assert cache.storage.claim("default", "data") is shown


def test_capacities_of_a_class_are_in_the_order_of_their_names(cache: Cache) -> None:
    for name, namespace in (("b", "x"), ("a", "y"), ("a", "x")):
        cache.apply_storage_object(make_capacity(name, namespace=namespace))
    cache.apply_storage_object(make_capacity("z", "slow"))
    found = [f"{each.metadata.namespace}/{each.metadata.name}" for each in cache.storage.capacities_of_class("fast")]
    assert found == ["x/a", "x/b", "y/a"]


# Who uses which claim


def test_claims_are_used_by_pods_on_known_nodes(cache: Cache) -> None:
    cache.apply_pod(user("a", "n0", claim_volume("data")))
    cache.apply_pod(user("b", "unknown", claim_volume("data"), claim_volume("logs")))
    cache.apply_pod(user("c", "n1", claim_volume("data"), namespace="other"))
    cache.assume(user("d", "", claim_volume("data")), "n2")
    cache.apply_pod(user("e", "n0", ephemeral_volume()))
    cache.validate()
    assert cache.storage.claims_in_use() == {"default/data": 2, "other/data": 1}
    assert (cache.storage.claim_users("default", "data"), cache.storage.claim_users("default", "none")) == (2, 0)
    cache.apply_node(make_node("unknown"))
    cache.validate()
    assert cache.storage.claims_in_use() == {"default/data": 3, "default/logs": 1, "other/data": 1}
    cache.remove_node("n1")
    cache.validate()
    assert cache.storage.claims_in_use() == {"default/data": 3, "default/logs": 1}
    cache.forget("default-d")
    cache.remove_pod("default-b")
    cache.validate()
    assert cache.storage.claims_in_use() == {"default/data": 1}


# Disks and counts by row

GCE: dict[str, Any] = {"gce_persistent_disk": GCEPersistentDiskVolumeSource(pd_name="d")}
GCE_READ: dict[str, Any] = {"gce_persistent_disk": GCEPersistentDiskVolumeSource(pd_name="d", read_only=True)}
AWS: dict[str, Any] = {"aws_elastic_block_store": AWSElasticBlockStoreVolumeSource(volume_id="d")}
ISCSI: dict[str, Any] = {"iscsi": ISCSIVolumeSource(iqn="d")}
ISCSI_READ: dict[str, Any] = {"iscsi": ISCSIVolumeSource(iqn="d", read_only=True)}


def rbd(monitors: list[str], *, pool: str = "p", image: str = "i", read_only: bool = False) -> dict[str, Any]:
    return {"rbd": RBDVolumeSource(monitors=monitors, pool=pool, image=image, read_only=read_only)}


@pytest.mark.parametrize(
    ("held", "wanted", "conflict"),
    [
        (GCE, GCE, True),
        (GCE, GCE_READ, True),
        (GCE_READ, GCE, True),
        (GCE_READ, GCE_READ, False),
        (GCE, {"gce_persistent_disk": GCEPersistentDiskVolumeSource(pd_name="e")}, False),
        (AWS, AWS, True),
        (AWS, {"aws_elastic_block_store": AWSElasticBlockStoreVolumeSource(volume_id="e")}, False),
        (ISCSI, ISCSI, True),
        (ISCSI, ISCSI_READ, True),
        (ISCSI_READ, ISCSI, True),
        (ISCSI_READ, ISCSI_READ, False),
        (ISCSI, {"iscsi": ISCSIVolumeSource(iqn="e")}, False),
        (GCE, AWS, False),
        (rbd(["a", "b"]), rbd(["b", "c"]), True),
        (rbd(["a", "b"]), rbd(["c"]), False),
        (rbd(["a"]), rbd(["a"], pool="q"), False),
        (rbd(["a"]), rbd(["a"], image="j"), False),
        (rbd(["a"], read_only=True), rbd(["a"], read_only=True), False),
        (rbd(["a"], read_only=True), rbd(["a"]), True),
        (rbd(["a"]), rbd(["a"], read_only=True), True),
        (rbd([]), rbd([]), False),
    ],
)
def test_disks_conflict(cache: Cache, held: dict[str, Any], wanted: dict[str, Any], conflict: bool) -> None:
    pod = user("a", "n1", Volume(name="v", **held))
    cache.apply_pod(pod)
    cache.validate()
    volume = Volume(name="w", **wanted)
    assert cache.table.columns(Everything).disk_conflicts(volume).tolist() == [False, conflict, False]  # type: ignore[union-attr]
    assert cache.table.row(Everything, 1).disk_conflicts(volume) is conflict
    cache.remove_pod(pod.uid)
    cache.validate()
    assert cache.table.columns(Everything).disk_conflicts(volume).tolist() == [False, False, False]  # type: ignore[union-attr]


def test_one_of_two_writers_left_still_conflicts(cache: Cache) -> None:
    for name in ("a", "b"):
        cache.apply_pod(user(name, "n1", Volume(name="v", **GCE)))
    cache.remove_pod("default-a")
    assert cache.table.row(Everything, 1).disk_conflicts(Volume(name="w", **GCE_READ)) is True


def test_pods_with_volumes_are_in_the_order_they_came(cache: Cache) -> None:
    first, second = (
        user("a", "n1", claim_volume("x"), Volume(name="tmp")),
        user("b", "n1", ephemeral_volume(), claim_volume("y")),
    )
    for pod in (first, second, user("c", "n1", Volume(name="tmp"))):
        cache.apply_pod(pod)
    nodes = cache.table.columns(Everything)
    assert [nodes.pods_with_volumes(position) for position in range(3)] == [[], [first, second], []]
    assert cache.table.row(Everything, 1).pods_with_volumes(0) == [first, second]
    assert [nodes.node_name(position) for position in range(3)] == ["n0", "n1", "n2"]


def test_a_pod_whose_volumes_or_state_changed_is_held_as_it_is_now(cache: Cache) -> None:
    cache.apply_pod(user("a", "n1", claim_volume("x")))
    now = user("a", "n1", claim_volume("x"), claim_volume("y"))
    assert changed_facets(cache, lambda: cache.apply_pod(now)) == {1: Facet.VOLUMES}
    assert cache.table.row(Everything, 1).pods_with_volumes(0) == [now]
    plain = PodInfo(make_pod("a", node_name="n1"))
    assert changed_facets(cache, lambda: cache.apply_pod(plain)) == {1: Facet.VOLUMES}
    assert cache.table.row(Everything, 1).pods_with_volumes(0) == []


def test_a_node_that_comes_late_holds_what_is_known_of_it(cache: Cache) -> None:
    pod = user("a", "late", claim_volume())
    cache.apply_pod(pod)
    for subject in (*bound("data"), *bound("other"), make_csi_node("late", {EBS: 7})):
        cache.apply_storage_object(subject)
    cache.apply_storage_object(make_attachment("x", "late", "pv-other"))
    cache.apply_node(make_node("late"))
    cache.validate()
    node = cache.table.row(Everything, 3)
    assert (node.pods_with_volumes(0), node.csi_limit(EBS), node.attached_volumes(EBS)) == ([pod], 7, 2)
    cache.remove_node("late")
    cache.validate()
    node = cache.table.row(Everything, 3)
    assert (node.pods_with_volumes(0), node.csi_limit(EBS), node.attached_volumes(EBS)) == ([], UNLIMITED, 0)
    assert node.node_name(0) == ""


# What drivers allow


def test_limits_of_drivers_by_row(cache: Cache) -> None:
    cache.apply_storage_object(make_csi_node("n0", {EBS: 0, "other": None}))
    cache.apply_storage_object(make_csi_node("n2", {"other": None}))
    cache.validate()
    nodes = cache.table.columns(Everything)
    answers: list[Any] = [
        nodes.csi_limit(EBS),
        nodes.csi_limit("other"),
        nodes.csi_limit("nobody's"),
        nodes.has_csi_driver("other"),
        nodes.has_csi_driver("nobody's"),
        nodes.has_csi_node,
        nodes.has_csi_limits,
    ]
    assert [answer.tolist() for answer in answers] == [
        [0, UNLIMITED, UNLIMITED],
        [UNLIMITED] * 3,
        [UNLIMITED] * 3,
        [True, False, True],
        [False, False, False],
        [True, False, True],
        [True, False, False],
    ]
    row = cache.table.row(Everything, 0)
    assert (
        row.csi_limit(EBS),
        row.csi_limit("nobody's"),
        row.has_csi_driver("other"),
        row.has_csi_driver("nobody's"),
    ) == (
        0,
        UNLIMITED,
        True,
        False,
    )
    assert (row.has_csi_node, row.has_csi_limits) == (True, True)


def test_a_negative_limit_is_one(cache: Cache) -> None:
    cache.apply_storage_object(make_csi_node("n1", {EBS: -1}))
    cache.validate()
    assert cache.table.columns(Everything).csi_limit(EBS).tolist() == [UNLIMITED, -1, UNLIMITED]  # type: ignore[union-attr]
    assert cache.table.row(Everything, 1).csi_limit(EBS) == -1


def test_a_changed_csi_node_is_a_change_of_its_row_and_the_same_one_is_none(cache: Cache) -> None:
    def apply(limit: int | None, version: str) -> dict[int, Facet]:
        subject = make_csi_node("n1", {EBS: limit})
        metadata = msgspec.structs.replace(subject.metadata, resource_version=version)
        return changed_facets(
            cache, lambda: cache.apply_storage_object(msgspec.structs.replace(subject, metadata=metadata))
        )

    assert apply(25, "1") == {1: Facet.VOLUMES}
    assert apply(25, "2") == {}
    assert apply(26, "3") == {1: Facet.VOLUMES}
    assert changed_facets(cache, lambda: cache.remove_storage_object("CSINode", "", "n1")) == {1: Facet.VOLUMES}
    assert cache.table.row(Everything, 1).has_csi_node is False


# CSI volumes of pods and attachments


def bound(name: str, handle: str = "", driver: str = EBS) -> tuple[StorageObject, StorageObject]:
    """A claim and its volume; the handle is the claim's name if not told."""
    return make_claim(name, volume_name=f"pv-{name}"), make_volume(f"pv-{name}", csi=(driver, handle or name))


def held(cache: Cache, driver: str = EBS) -> list[int]:
    """Volumes of the driver by row, after a check that they are what the objects make them."""
    cache.validate()
    counts = cache.table.columns(Everything).attached_volumes(driver)
    assert isinstance(counts, np.ndarray)
    assert [cache.table.row(Everything, row).attached_volumes(driver) for row in range(len(counts))] == counts.tolist()
    found: list[int] = counts.tolist()
    return found


def apply(cache: Cache, *subjects: StorageObject) -> None:
    for subject in subjects:
        cache.apply_storage_object(subject)


def test_a_volume_counts_once_a_node_however_many_have_it(cache: Cache) -> None:
    apply(cache, *bound("a", "h"), *bound("b", "h"), *bound("c"), make_attachment("x", "n1", "pv-a"))
    cache.apply_pod(user("p", "n1", claim_volume("a"), claim_volume("a", "w")))
    cache.apply_pod(user("q", "n1", claim_volume("b"), claim_volume("c")))
    cache.apply_pod(user("r", "n2", claim_volume("b")))
    assert held(cache) == [0, 2, 1]
    nodes = cache.table.columns(Everything)
    assert nodes.uses_volume(f"{EBS}/h").tolist() == [False, True, True]  # type: ignore[union-attr]
    assert cache.table.row(Everything, 1).uses_volume(f"{EBS}/c") is True
    cache.remove_pod("default-p")
    assert held(cache) == [0, 2, 1]
    cache.remove_pod("default-q")
    assert held(cache) == [0, 1, 1]
    assert cache.table.row(Everything, 1).uses_volume(f"{EBS}/h") is False
    cache.remove_storage_object("VolumeAttachment", "", "x")
    assert held(cache) == [0, 0, 1]


def test_a_claim_counts_for_what_it_comes_to_mean(cache: Cache) -> None:
    cache.apply_pod(user("p", "n1", claim_volume("a")))
    assert held(cache) == [0, 0, 0]
    apply(cache, make_claim("a", class_name="fast"))
    assert held(cache) == [0, 0, 0]
    apply(cache, make_class("fast", provisioner="other"))
    assert held(cache, "other") == [0, 1, 0]
    apply(cache, make_claim("a", class_name="fast", volume_name="pv-a"))
    assert held(cache, "other") == [0, 1, 0]
    apply(cache, make_volume("pv-a", csi=(EBS, "h")))
    assert (held(cache), held(cache, "other")) == ([0, 1, 0], [0, 0, 0])
    cache.remove_storage_object("PersistentVolume", "", "pv-a")
    assert (held(cache), held(cache, "other")) == ([0, 0, 0], [0, 1, 0])
    cache.remove_storage_object("StorageClass", "", "fast")
    assert held(cache, "other") == [0, 0, 0]


def test_a_claim_of_an_ephemeral_volume_fails_while_it_is_not_the_pod_s(cache: Cache) -> None:
    def failing() -> list[int]:
        cache.validate()
        counts = cache.table.columns(Everything).failing_volumes
        assert isinstance(counts, np.ndarray)
        found: list[int] = counts.tolist()
        return found

    cache.apply_pod(user("p", "n1", ephemeral_volume(), claim_volume("")))
    cache.apply_pod(user("q", "n2", ephemeral_volume()))
    assert failing() == [0, 1, 0]
    apply(cache, make_claim("q-scratch", owner_uid="another"), make_claim("p-scratch", owner_uid="another"))
    assert failing() == [0, 2, 1]
    apply(cache, make_claim("q-scratch", owner_uid="default-q"))
    assert failing() == [0, 2, 0]
    cache.remove_pod("default-p")
    assert failing() == [0, 0, 0]


def test_an_attachment_counts_on_its_node_alone(cache: Cache) -> None:
    apply(cache, *bound("a"), *bound("b"))
    attached = make_attachment("a", "n1", "pv-a")
    assert changed_facets(cache, lambda: cache.apply_storage_object(attached)) == {1: Facet.VOLUMES}
    assert changed_facets(cache, lambda: cache.apply_storage_object(attached)) == {}
    apply(cache, make_attachment("b", "n1", None), make_attachment("c", "nowhere", "pv-b"))
    assert held(cache) == [0, 1, 0]
    assert [each.metadata.name for each in cache.storage.attachments_of("n1")] == ["a", "b"]
    moved = changed_facets(cache, lambda: cache.apply_storage_object(make_attachment("a", "n2", "pv-a")))
    assert moved == {1: Facet.VOLUMES, 2: Facet.VOLUMES}
    assert held(cache) == [0, 0, 1]
    gone = changed_facets(cache, lambda: cache.remove_storage_object("VolumeAttachment", "", "a"))
    assert gone == {2: Facet.VOLUMES}
    assert held(cache) == [0, 0, 0]


def test_of_two_attachments_of_a_volume_the_attacher_of_the_last_one_by_name_counts(cache: Cache) -> None:
    """A volume of one name in two ways of writing it: ``a/b`` and ``c``, or ``a`` and ``b/c``."""
    apply(cache, make_volume("one", csi=("x", "c")), make_volume("two", csi=("x", "b/c")))
    apply(cache, make_attachment("p", "n1", "one", attacher="a/b"), make_attachment("q", "n1", "two", attacher="a"))
    assert (held(cache, "a"), held(cache, "a/b")) == ([0, 1, 0], [0, 0, 0])
    cache.remove_storage_object("VolumeAttachment", "", "q")
    assert (held(cache, "a"), held(cache, "a/b")) == ([0, 0, 0], [0, 1, 0])


def test_columns_grow_with_the_table(cache: Cache) -> None:
    for number in range(200):
        cache.apply_storage_object(make_csi_node(f"m{number}", {EBS: number}))
        cache.apply_node(make_node(f"m{number}"))
        cache.apply_pod(user(f"p{number}", f"m{number}", claim_volume(), claim_volume("")))
        apply(cache, *(bound("data") if number == 0 else ()))
    assert held(cache) == [0, 0, 0] + [1] * 200
    row = cache.table.row(Everything, 202)
    assert (row.csi_limit(EBS), row.failing_volumes) == (199, 1)
