"""What objects of storage do to those who wait. Expected: kube-scheduler 1.37, event handlers."""

from __future__ import annotations

import msgspec
import pytest

from scheduler.api.storage import StorageObject
from scheduler.core.state import BadObject
from scheduler.core.stimulus import StorageObjectApplied, StorageObjectDeleted
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core
from tests.support.scripted_plugins import Hearing, make_profile, named
from tests.support.storage import (
    EBS,
    make_attachment,
    make_capacity,
    make_claim,
    make_class,
    make_csi_node,
    make_driver,
    make_volume,
)

OBJECTS: list[tuple[StorageObject, EventResource]] = [
    (make_claim(), EventResource.PERSISTENT_VOLUME_CLAIM),
    (make_volume(), EventResource.PERSISTENT_VOLUME),
    (make_class(), EventResource.STORAGE_CLASS),
    (make_csi_node(), EventResource.CSI_NODE),
    (make_driver(), EventResource.CSI_DRIVER),
    (make_capacity("c"), EventResource.CSI_STORAGE_CAPACITY),
    (make_attachment("a", "n1", "pv"), EventResource.VOLUME_ATTACHMENT),
]


def waiting_core(resource: EventResource, action: ActionType) -> Core:
    """A core with a pod that was refused and waits for the event."""
    plugin = named(Hearing, "Refusing", events=(ClusterEvent(resource, action),), refuses=("n1",))
    core = Core([make_profile(plugin)])
    core.nodes(make_node("n1"))
    return core


def refuse(core: Core) -> None:
    core.pods(POD)
    assert core.decide().outcome == "unschedulable"
    assert core.rooms(POD) == ["unschedulable"]


POD = make_pod()


def apply(core: Core, subject: StorageObject) -> None:
    core.scheduler.handle(StorageObjectApplied(now=9.0, subject=subject))


def delete(core: Core, subject: StorageObject, uid: str | None = None) -> None:
    metadata = subject.metadata
    core.scheduler.handle(
        StorageObjectDeleted(
            now=9.0,
            kind=type(subject).__name__,
            namespace=metadata.namespace,
            name=metadata.name,
            uid=metadata.uid if uid is None else uid,
        )
    )


@pytest.mark.parametrize(("subject", "resource"), OBJECTS)
def test_a_new_object_wakes_who_waits_for_its_kind(subject: StorageObject, resource: EventResource) -> None:
    core = waiting_core(resource, ActionType.ADD)
    refuse(core)
    apply(core, subject)
    assert core.rooms(POD) == ["active"]


@pytest.mark.parametrize(("subject", "resource"), OBJECTS)
def test_a_changed_object_is_an_update(subject: StorageObject, resource: EventResource) -> None:
    core = waiting_core(resource, ActionType.UPDATE)
    apply(core, subject)
    refuse(core)
    apply(core, subject)
    assert core.rooms(POD) == ["active"]


@pytest.mark.parametrize(("subject", "resource"), OBJECTS)
def test_an_object_that_goes_wakes_who_waits_for_that(subject: StorageObject, resource: EventResource) -> None:
    core = waiting_core(resource, ActionType.DELETE)
    apply(core, subject)
    refuse(core)
    apply(core, subject)
    assert core.rooms(POD) == ["unschedulable"]
    delete(core, subject)
    assert core.rooms(POD) == ["active"]
    assert (
        core.state.cache.storage.shown(type(subject).__name__, subject.metadata.namespace, subject.metadata.name)
        is None
    )


@pytest.mark.parametrize(("subject", "resource"), OBJECTS)
def test_the_end_of_another_object_of_the_name_is_none(subject: StorageObject, resource: EventResource) -> None:
    core = waiting_core(resource, ActionType.DELETE)
    apply(core, subject)
    refuse(core)
    delete(core, subject, uid="another")
    assert core.rooms(POD) == ["unschedulable"]
    assert core.state.cache.storage.shown(type(subject).__name__, subject.metadata.namespace, subject.metadata.name)


def test_another_object_of_the_name_is_an_addition() -> None:
    core = waiting_core(EventResource.PERSISTENT_VOLUME, ActionType.ADD)
    apply(core, make_volume("pv"))
    refuse(core)
    again = make_volume("pv")
    apply(core, msgspec.structs.replace(again, metadata=msgspec.structs.replace(again.metadata, uid="another")))
    assert core.rooms(POD) == ["active"]


def test_an_object_that_cannot_be_read_is_reported_and_left_out() -> None:
    core = Core()
    apply(core, make_claim(request="lots"))
    (bad,) = core.scheduler.take_complaints()
    assert isinstance(bad, BadObject)
    assert (bad.kind, bad.key) == ("PersistentVolumeClaim", "default/data")
    assert core.state.cache.storage.claim("default", "data") is None
    apply(core, make_claim())
    apply(core, make_claim(request="lots"))
    assert len(core.scheduler.take_complaints()) == 1


def test_a_csi_node_shows_on_its_node() -> None:
    core = Core()
    core.nodes(make_node("n1"))
    apply(core, make_csi_node("n1", {EBS: 3}))
    assert core.state.cache.table.csi.limited.cells[0] is True
    delete(core, make_csi_node("n1"))
    assert core.state.cache.table.csi.limited.cells[0] is False
