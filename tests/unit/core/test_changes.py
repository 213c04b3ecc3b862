"""Which events a change amounts to. Expected: kube-scheduler 1.37, NodeSchedulingPropertiesChange and PodSchedulingPropertiesChange."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler.api.objects import (
    Node,
    NodeCondition,
    Pod,
    PodResourceClaimStatus,
    PodSchedulingGate,
    PodStatus,
    ResourceRequirements,
    Taint,
    Toleration,
)
from scheduler.core.changes import node_events, pod_changes, pod_events
from scheduler.framework.cluster_event import EventResource
from scheduler.framework.pod_info import PodInfo
from tests.support.builders import make_container, make_node, make_pod

TAINT = Taint(key="a", effect="NoSchedule")
READY, NOT_READY = NodeCondition(type="Ready", status="True"), NodeCondition(type="Ready", status="False")


def annotated(node: Node, **annotations: str) -> Node:
    return msgspec.structs.replace(node, metadata=msgspec.structs.replace(node.metadata, annotations=annotations))


NODE_CHANGES: dict[str, tuple[Node, Node, list[str]]] = {
    "nothing": (make_node(), make_node(), []),
    "allocatable": (make_node(), make_node(allocatable={"cpu": "5"}), ["NodeUpdateNodeAllocatable"]),
    "a resource more": (make_node(), make_node(allocatable={"a.b/c": "0"}), ["NodeUpdateNodeAllocatable"]),
    "the same amount written otherwise": (make_node(), make_node(allocatable={"cpu": "4000m", "pods": "0.11k"}), []),
    "less than a milli": (
        make_node(allocatable={"cpu": "1u"}),
        make_node(allocatable={"cpu": "2u"}),
        ["NodeUpdateNodeAllocatable"],
    ),
    "label": (make_node(), make_node(labels={"a": "b"}), ["NodeUpdateNodeLabel"]),
    "taint": (make_node(), make_node(taints=[TAINT]), ["NodeUpdateNodeTaint"]),
    "taint gone": (make_node(taints=[TAINT]), make_node(), ["NodeUpdateNodeTaint"]),
    "cordon": (make_node(), make_node(unschedulable=True), []),
    "uncordon": (make_node(unschedulable=True), make_node(), ["NodeUpdateNodeTaint"]),
    "uncordon and its taint": (
        make_node(unschedulable=True, taints=[TAINT]),
        make_node(),
        ["NodeUpdateNodeTaint", "NodeUpdateNodeTaint"],
    ),
    "condition": (
        make_node(conditions=[READY]),
        make_node(conditions=[NOT_READY]),
        ["NodeUpdateNodeCondition"],
    ),
    "condition again": (make_node(conditions=[READY, NOT_READY]), make_node(conditions=[NOT_READY]), []),
    "annotation": (make_node(), annotated(make_node(), a="b"), ["NodeUpdateNodeAnnotation"]),
    "empty and absent": (make_node(conditions=[], declared_features=[]), annotated(make_node()), []),
    "feature": (make_node(), make_node(declared_features=["A"]), ["NodeUpdateNodeDeclaredFeature"]),
    "image": (make_node(), make_node(images={"app": 5}), []),
    "everything": (
        make_node(unschedulable=True),
        annotated(
            make_node(
                allocatable={"cpu": "5"},
                labels={"a": "b"},
                taints=[TAINT],
                conditions=[READY],
                declared_features=["A"],
            ),
            a="b",
        ),
        [
            "NodeUpdateNodeTaint",
            "NodeUpdateNodeAllocatable",
            "NodeUpdateNodeLabel",
            "NodeUpdateNodeTaint",
            "NodeUpdateNodeCondition",
            "NodeUpdateNodeAnnotation",
            "NodeUpdateNodeDeclaredFeature",
        ],
    ),
}


@pytest.mark.parametrize("case", NODE_CHANGES)
def test_what_changed_of_a_node_in_order(case: str) -> None:
    before, after, labels = NODE_CHANGES[case]

    assert [event.label for event in node_events(before, after)] == labels


def pod(status: PodStatus | None = None, **fields: Any) -> Pod:
    return make_pod(status=status, **{"requests": {"cpu": "2", "memory": "1Gi"}, **fields})


def in_effect(**requests: str) -> PodStatus:
    """Resources that a resize in place has come to."""
    return msgspec.convert({"containerStatuses": [{"name": "main", "resources": {"requests": requests}}]}, PodStatus)


POD_CHANGES: dict[str, tuple[Pod, Pod, list[str]]] = {
    "nothing": (pod(), pod(), []),
    "label": (pod(), pod(labels={"a": "b"}), ["UpdatePodLabel"]),
    "empty labels": (pod(), pod(labels={}), []),
    "less cpu": (pod(), pod(requests={"cpu": "1", "memory": "1Gi"}), ["UpdatePodScaleDown"]),
    "no memory any more": (pod(), pod(requests={"cpu": "2"}), ["UpdatePodScaleDown"]),
    "more cpu": (pod(), pod(requests={"cpu": "3", "memory": "1Gi"}), ["UpdatePodScaleUp"]),
    "a resource more": (pod(), pod(requests={"cpu": "2", "memory": "1Gi", "a.b/c": "1"}), ["UpdatePodScaleUp"]),
    "less and more": (
        pod(),
        pod(requests={"cpu": "1", "memory": "2Gi"}),
        ["UpdatePodScaleDown", "UpdatePodScaleUp"],
    ),
    "resized in place": (
        pod(in_effect(cpu="3", memory="1Gi")),
        pod(in_effect(cpu="2", memory="1Gi")),
        ["UpdatePodScaleDown"],
    ),
    "limits": (
        pod(),
        pod(
            containers=[
                msgspec.structs.replace(
                    make_container(),
                    resources=ResourceRequirements(requests={"cpu": "2", "memory": "1Gi"}, limits={"cpu": "9"}),
                )
            ]
        ),
        [],
    ),
    "last gate gone": (
        pod(scheduling_gates=[PodSchedulingGate(name="a")]),
        pod(),
        ["UpdatePodSchedulingGatesEliminated"],
    ),
    "one gate of two gone": (
        pod(scheduling_gates=[PodSchedulingGate(name="a"), PodSchedulingGate(name="b")]),
        pod(scheduling_gates=[PodSchedulingGate(name="a")]),
        [],
    ),
    "toleration": (pod(), pod(tolerations=[Toleration(operator="Exists")]), ["UpdatePodToleration"]),
    "another toleration of the same number": (
        pod(tolerations=[Toleration(key="a", operator="Exists")]),
        pod(tolerations=[Toleration(key="b", operator="Exists")]),
        [],
    ),
    "claim": (
        pod(),
        pod(PodStatus(resource_claim_statuses=[PodResourceClaimStatus(name="a")])),
        ["UpdatePodGeneratedResourceClaim"],
    ),
    "another claim": (
        pod(PodStatus(resource_claim_statuses=[PodResourceClaimStatus(name="a")])),
        pod(PodStatus(resource_claim_statuses=[PodResourceClaimStatus(name="b")])),
        ["UpdatePodGeneratedResourceClaim"],
    ),
    "extended claim": (
        pod(),
        pod(PodStatus(extended_resource_claim_status={"resourceClaimName": "c"})),
        ["UpdatePodGeneratedResourceClaim"],
    ),
    "nomination": (pod(), pod(PodStatus(nominated_node_name="n1")), []),
    "everything": (
        pod(scheduling_gates=[PodSchedulingGate(name="a")]),
        pod(
            PodStatus(resource_claim_statuses=[PodResourceClaimStatus(name="a")]),
            labels={"a": "b"},
            requests={"cpu": "1", "memory": "2Gi"},
            tolerations=[Toleration(operator="Exists")],
        ),
        [
            "UpdatePodLabel",
            "UpdatePodScaleDown",
            "UpdatePodScaleUp",
            "UpdatePodSchedulingGatesEliminated",
            "UpdatePodToleration",
            "UpdatePodGeneratedResourceClaim",
        ],
    ),
}


@pytest.mark.parametrize("case", POD_CHANGES)
def test_what_changed_of_a_pod_in_order(case: str) -> None:
    before, after, labels = POD_CHANGES[case]
    old, new = PodInfo(before), PodInfo(after)

    assert [event.label for event in pod_changes(old, new, EventResource.TARGET_POD)] == [
        f"TargetPod{label}" for label in labels
    ]
    assert [event.label for event in pod_events(old, new, EventResource.ASSIGNED_POD)] == [
        f"AssignedPod{label}" for label in labels or ["Update"]
    ]


def test_requests_are_compared_as_they_are_counted() -> None:
    """In whole bytes and thousandths of a CPU: kube-scheduler tells less than that apart."""
    before = PodInfo(make_pod(requests={"cpu": "100m", "memory": "64Mi"}))
    after = PodInfo(make_pod(requests={"cpu": "99999u", "memory": "67108863500m"}))

    assert pod_changes(before, after, EventResource.ASSIGNED_POD) == ()
