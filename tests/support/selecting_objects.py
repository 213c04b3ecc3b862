"""Objects that select pods, and the selector that a pod has by them, worked out the long way."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from scheduler.api.objects import (
    LabelMapSpec,
    LabelSelector,
    LabelSelectorRequirement,
    LabelSelectorSpec,
    ObjectMeta,
    OwnerReference,
    ReplicaSet,
    ReplicationController,
    SelectingObject,
    Service,
    StatefulSet,
)
from scheduler.framework.pod_info import PodInfo
from tests.support.builders import make_pod

Requirement = tuple[str, str, tuple[str, ...]]
"""Key, operator and sorted values."""

RC_REFERENCES = (("v1", "ReplicationController"), ("/v1", "ReplicationController"))


def service(name: str, selector: Mapping[str, str] | None, namespace: str = "default", **metadata: Any) -> Service:
    return Service(metadata=_metadata(name, namespace, metadata), spec=_labels(selector))


def replication_controller(
    name: str, selector: Mapping[str, str] | None, namespace: str = "default", **metadata: Any
) -> ReplicationController:
    return ReplicationController(metadata=_metadata(name, namespace, metadata), spec=_labels(selector))


def replica_set(name: str, selector: LabelSelector | None, namespace: str = "default", **metadata: Any) -> ReplicaSet:
    return ReplicaSet(metadata=_metadata(name, namespace, metadata), spec=LabelSelectorSpec(selector=selector))


def stateful_set(name: str, selector: LabelSelector | None, namespace: str = "default", **metadata: Any) -> StatefulSet:
    return StatefulSet(metadata=_metadata(name, namespace, metadata), spec=LabelSelectorSpec(selector=selector))


def _metadata(name: str, namespace: str, fields: Mapping[str, Any]) -> ObjectMeta:
    return ObjectMeta(**{"name": name, "namespace": namespace, "uid": f"{namespace}-{name}", **fields})


def _labels(selector: Mapping[str, str] | None) -> LabelMapSpec:
    return LabelMapSpec(selector=None if selector is None else dict(selector))


def selector(labels: Mapping[str, str] | None = None, *expressions: tuple[str, str, list[str] | None]) -> LabelSelector:
    """A label selector of ``matchLabels`` and expressions, each key, operator and values."""
    made = [
        LabelSelectorRequirement(key=key, operator=operator, values=values) for key, operator, values in expressions
    ]
    return LabelSelector(match_labels=None if labels is None else dict(labels), match_expressions=made or None)


def controlled_by(
    kind: str, name: str, api_version: str = "apps/v1", *, controller: bool | None = True
) -> OwnerReference:
    return OwnerReference(api_version=api_version, kind=kind, name=name, uid=f"{kind}-{name}", controller=controller)


def selected_pod(
    labels: Mapping[str, str] | None = None,
    *owners: OwnerReference,
    namespace: str = "default",
    name: str = "pod",
) -> PodInfo:
    """A pod with these labels and owners."""
    made = make_pod(name, namespace=namespace, labels=labels)
    metadata = msgspec.structs.replace(made.metadata, owner_references=list(owners) or None)
    return PodInfo(msgspec.structs.replace(made, metadata=metadata))


def expected_requirements(pod: PodInfo, objects: Iterable[SelectingObject]) -> list[Requirement]:
    """What kube-scheduler 1.37 requires of the pods that it spreads this one among by default, each once and sorted.

    Only for keys and values that labels can have.
    """
    metadata = pod.pod.metadata
    here = [each for each in objects if each.metadata.namespace == metadata.namespace]
    labels = dict(metadata.labels or {})
    merged: dict[str, str] = {}
    for each in here:
        selects_by = each.spec.selector if isinstance(each, Service) else None
        if selects_by is not None and all(labels.get(key) == value for key, value in selects_by.items()):
            merged.update(selects_by)
    added: list[Requirement] = []
    controller = next((owner for owner in metadata.owner_references or () if owner.controller), None)
    for each in here:
        if controller is None or each.metadata.name != controller.name:
            continue
        asked = (controller.api_version, controller.kind)
        if isinstance(each, ReplicationController) and asked in RC_REFERENCES:
            merged.update(each.spec.selector or {})
        if isinstance(each, ReplicaSet) and asked == ("apps/v1", "ReplicaSet"):
            added = _read(each.spec.selector)
        if isinstance(each, StatefulSet) and asked == ("apps/v1", "StatefulSet"):
            added = _read(each.spec.selector)
    return sorted({*added, *((key, "In", (value,)) for key, value in merged.items())})


def _read(selector: LabelSelector | None) -> list[Requirement]:
    if selector is None:
        return []
    found: list[Requirement] = [(key, "In", (value,)) for key, value in (selector.match_labels or {}).items()]
    for each in selector.match_expressions or ():
        values = tuple(sorted(set(each.values or ())))
        if each.operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
            return []
        if (each.operator in ("In", "NotIn")) != bool(values):
            return []
        found.append((each.key, each.operator, values))
    return found
