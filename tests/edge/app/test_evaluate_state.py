"""``reprise evaluate --jsonl``: what a line may bring, and what it leaves behind."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.plain_lines import ask, cpu_left, fits, full, last, node, pod, reference, step


def test_a_bound_pod_is_evaluated_as_if_it_were_pending_and_restored_afterwards() -> None:
    large = pod("large", cpu="3", node_name="n1")
    answers = ask(full(node("n1"), large, subject=large), step(subject=pod("other", cpu="2")), step(subject=large))

    assert [fits(answer) for answer in answers] == [["n1"], [], ["n1"]]


def test_a_bound_pod_is_not_tied_to_its_node() -> None:
    bound = pod("web", node_name="n1")

    assert fits(last(full(node("n1"), node("n2"), bound, subject=bound))) == ["n1", "n2"]


def test_a_bound_pod_is_restored_after_it_was_refused() -> None:
    refused = pod("large", cpu="3", node_name="n1", resourceClaims=[{"name": "gpu"}])
    answers = ask(full(node("n1"), refused, subject=refused), step(subject=pod("other", cpu="2")))

    assert "error" in answers[0]
    assert fits(answers[1]) == []


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_pods_that_have_ended_take_no_room(phase: str) -> None:
    ended = {**pod("old", cpu="4", node_name="n1"), "status": {"phase": phase}}

    assert cpu_left(full(node("n1"), ended)) == 4


def test_a_pod_on_an_unknown_node_takes_room_when_the_node_comes() -> None:
    assert cpu_left(full(pod("early", cpu="3", node_name="n1")), step(node("n1"))) == 1


def test_the_last_object_of_a_name_counts() -> None:
    first, second = pod("a", uid="1", cpu="1", node_name="n1"), pod("a", uid="2", cpu="2", node_name="n1")

    assert cpu_left(full(node("n1", cpu="2"), node("n1", uid="other"), first, second)) == 2
    assert cpu_left(full(node("n1")), step(first), step(second)) == 2


def test_the_last_object_of_a_uid_counts() -> None:
    first, second = pod("a", uid="1", cpu="1", node_name="n1"), pod("b", uid="1", cpu="2", node_name="n1")

    assert cpu_left(full(node("n1"), first, second)) == 2
    # The first name stands for nothing any more.
    assert cpu_left(full(node("n1"), first, second), step(delete=[reference("Pod", "a", namespace="default")])) == 2


def test_a_pod_without_uid_is_known_by_its_name() -> None:
    hand_written = pod("a", uid="", cpu="3", node_name="n1")

    assert fits(last(full(node("n1"), hand_written, subject=pod("a", uid="", cpu="2")))) == ["n1"]
    assert fits(last(full(node("n1"), hand_written, subject=pod("b", uid="", cpu="2")))) == []


def test_a_pod_that_lost_its_node_or_ended_takes_no_room_any_more() -> None:
    bound = pod("a", cpu="3", node_name="n1")
    ended = {**bound, "status": {"phase": "Succeeded"}}

    assert cpu_left(full(node("n1"), bound), step(pod("a", cpu="3"))) == 4
    assert cpu_left(full(node("n1"), bound), step(ended)) == 4


def test_a_null_is_an_absent_field() -> None:
    written = {**node("n1"), "spec": None}
    written["metadata"] |= {"labels": None, "annotations": {"note": None}, "deletionGracePeriodSeconds": None}
    written["status"]["allocatable"]["example.com/gpu"] = None
    holding = pod("a", cpu="3", node_name="n1", containers=None, nodeSelector=None, hostNetwork=None)
    holding["spec"]["initContainers"] = [{"name": "i", "resources": {"requests": {"cpu": "3", "memory": None}}}]
    asking = pod("b", cpu="2")
    asking["spec"]["containers"][0] |= {"image": None, "ports": [{"hostPort": None}]}

    assert cpu_left(full(written, holding)) == 1
    assert fits(last(full(written, subject=asking))) == ["n1"]
    assert fits(last(full(written, holding, subject=asking))) == []


def test_lists_are_taken_apart() -> None:
    typed = {"kind": "PodList", "apiVersion": "v1", "items": [{**pod("a", cpu="3", node_name="n1"), "kind": "Pod"}]}
    untyped = {"kind": "NodeList", "items": [{key: value for key, value in node("n1").items() if key != "kind"}]}
    nested = {"kind": "List", "items": [typed, {"kind": "List", "items": None}, untyped]}

    assert cpu_left(full(nested)) == 1


def test_a_list_without_items_is_empty() -> None:
    assert fits(last(full({"kind": "List"}, {"kind": "PodList"}, node("n1")))) == ["n1"]


def test_the_namespace_of_a_node_to_delete_does_not_matter() -> None:
    assert last(full(node("n1")), step(delete=[reference("Node", "n1", namespace="default")]))["filter"] == {}


def test_other_kinds_are_passed_over() -> None:
    other = {"kind": "ConfigMap", "metadata": "whatever", "spec": 7}
    answers = ask(full(other, node("n1")), step(other, delete=[{"kind": "ConfigMap"}]))

    assert [fits(answer) for answer in answers] == [["n1"], ["n1"]]


def test_blank_lines_are_passed_over_and_other_keys_ignored() -> None:
    assert [fits(answer) for answer in ask(b"\n", b"  \n", json.dumps({**full(node()), "id": 7}))] == [["n1"]]


# Deletions


@pytest.mark.parametrize("uid", ["", "n1-uid"])
def test_a_node_is_deleted_by_name_or_as_this_incarnation(uid: str) -> None:
    assert last(full(node("n1")), step(delete=[reference("Node", "n1", uid)]))["filter"] == {}


@pytest.mark.parametrize("uid", ["", "a-uid"])
def test_a_pod_is_deleted_by_name_or_as_this_incarnation(uid: str) -> None:
    bound = pod("a", cpu="3", node_name="n1")
    deletion = reference("Pod", "a", uid, namespace="default")

    assert cpu_left(full(node("n1"), bound), step(delete=[deletion])) == 4


def test_another_incarnation_is_not_deleted() -> None:
    bound = pod("a", cpu="3", node_name="n1")
    deletions = [reference("Pod", "a", "old", namespace="default"), reference("Node", "n1", "old")]

    assert cpu_left(full(node("n1"), bound), step(delete=deletions)) == 1


def test_a_pod_of_another_namespace_or_that_is_not_there_is_not_deleted() -> None:
    bound = pod("a", cpu="3", node_name="n1")
    deletions = [
        reference("Pod", "a", namespace="other"),
        reference("Pod", "a"),
        reference("Pod", "b", namespace="default"),
        reference("Node", "n2"),
    ]

    assert cpu_left(full(node("n1"), bound), step(delete=deletions)) == 1


def test_deletions_come_before_what_is_applied() -> None:
    """So that one line can replace an object by another of its name."""
    again = step(node("n1", uid="again"), delete=[reference("Node", "n1")])

    assert fits(last(full(node("n1")), again)) == ["n1"]


def test_pods_stay_known_while_their_node_is_away() -> None:
    bound = pod("a", cpu="3", node_name="n1")

    assert cpu_left(full(node("n1"), bound), step(delete=[reference("Node", "n1")]), step(node("n1"))) == 1


def apart(**fields: Any) -> dict[str, Any]:
    """Required anti-affinity to all pods of the node."""
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}, **fields}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_device_classes_come_and_go() -> None:
    device_class = {
        "kind": "DeviceClass",
        "metadata": {"name": "gpus", "uid": "u"},
        "spec": {"extendedResourceName": "a.b/c"},
    }
    subject = pod()
    subject["spec"]["containers"][0]["resources"]["requests"]["a.b/c"] = "1"
    capable = node("n1", status={"allocatable": {"cpu": "4", "pods": "9", "a.b/c": "1"}})
    answers = ask(
        full(capable, device_class, subject=subject),
        step(subject=subject, delete=[reference("DeviceClass", "gpus", "other")]),
        step(subject=subject, delete=[reference("DeviceClass", "gpus", "u")]),
    )

    assert ["error" in answer for answer in answers] == [True, True, False]


def claim(name: str = "data", volume: str = "", modes: tuple[str, ...] = ("ReadWriteOnce",)) -> dict[str, Any]:
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {"accessModes": list(modes), "volumeName": volume},
    }


def test_the_same_pod_is_judged_by_its_claims_as_they_are_now() -> None:
    """No entry keeps what claims and volumes say of a pod."""
    subject = pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])
    subject["metadata"]["namespace"] = "default"
    zone = "topology.kubernetes.io/zone"
    volume = {"kind": "PersistentVolume", "metadata": {"name": "pv", "labels": {zone: "b"}}}
    user = pod("user", node_name="n1", volumes=subject["spec"]["volumes"])
    user["metadata"]["namespace"] = "default"
    answers = ask(
        full(node("n1", metadata={"labels": {zone: "a"}}), node("n2"), subject=subject),
        step(claim(volume="pv"), volume, subject=subject),
        step({**volume, "metadata": {"name": "pv"}}, subject=subject),
        step(claim(volume="pv", modes=("ReadWriteOncePod",)), user, subject=subject),
        step(subject=subject, delete=[reference("Pod", "user", namespace="default")]),
    )

    assert answers[0]["prefilter"] == {
        "code": "UnschedulableAndUnresolvable",
        "plugin": "VolumeRestrictions",
        "reasons": ['persistentvolumeclaim "data" not found'],
    }
    assert [fits(answer) for answer in answers[1:]] == [["n2"], ["n1", "n2"], [], ["n1", "n2"]]


# The pod of the line before is evaluated again from what is kept of it.


def test_a_pod_that_is_asked_about_again_meets_the_rules_of_pods_that_came() -> None:
    labels = {"kubernetes.io/hostname": "n1"}
    guard = pod("guard", node_name="n1", affinity=apart())
    answers = ask(
        full(node("n1", metadata={"labels": labels})),
        step(guard),
        step(delete=[reference("Pod", "guard", namespace="default")]),
    )

    assert [fits(answer) for answer in answers] == [["n1"], [], ["n1"]]


def test_a_pod_that_is_asked_about_again_meets_the_labels_that_namespaces_have_now() -> None:
    labels = {"kubernetes.io/hostname": "n1"}
    guard = pod("guard", node_name="n1", affinity=apart(namespaceSelector={"matchLabels": {"team": "a"}}))
    guard["metadata"]["namespace"] = "elsewhere"

    def namespace(team: str) -> dict[str, Any]:
        return {"kind": "Namespace", "metadata": {"name": "default", "labels": {"team": team}}}

    answers = ask(
        full(node("n1", metadata={"labels": labels}), guard),
        step(namespace("a")),
        step(namespace("b")),
        step(namespace("a")),
        step(delete=[reference("Namespace", "default")]),
    )

    assert [fits(answer) for answer in answers] == [["n1"], [], ["n1"], [], ["n1"]]


def test_an_evaluation_that_failed_is_not_built_upon() -> None:
    config = {"profiles": [{"plugins": {"preFilter": {"disabled": [{"name": "NodePorts"}]}}}]}
    ports = pod()
    ports["spec"]["containers"][0]["ports"] = [{"hostPort": 80, "containerPort": 80}]
    cordoned = node("n1", spec={"unschedulable": True})
    answers = ask(
        full(cordoned, subject=ports, config=config),
        step(node("n1"), subject=ports),
        step(cordoned, subject=ports),
    )

    assert ["error" in answer for answer in answers] == [False, True, False]
    assert answers[0] == answers[2]


def test_another_pod_is_not_taken_for_the_one_before() -> None:
    small, large = pod(cpu="1"), pod(cpu="9")

    assert [fits(answer) for answer in ask(full(node("n1"), subject=small), step(subject=large))] == [["n1"], []]


# Configuration


def test_the_profile_is_the_one_that_the_pod_names_else_the_first() -> None:
    disabled = {
        "plugins": {
            "filter": {"disabled": [{"name": "*"}]},
            "multiPoint": {"disabled": [{"name": "NodeUnschedulable"}]},
        }
    }
    config = {"profiles": [{"schedulerName": "a"}, {"schedulerName": "b", **disabled}]}
    cordoned = node("n1", spec={"unschedulable": True})
    answers = [
        last(full(cordoned, subject=pod(schedulerName=name), config=config))
        for name in ("a", "b", "c", "default-scheduler")
    ]

    assert [fits(answer) for answer in answers] == [[], ["n1"], [], []]


def test_any_profile_name_is_accepted() -> None:
    """Nothing is bound here, so nothing is taken from kube-scheduler."""
    config = {"profiles": [{"schedulerName": "default-scheduler"}]}

    assert fits(last(full(node("n1"), config=config))) == ["n1"]


def test_steps_keep_the_configuration_of_the_cluster() -> None:
    config = {"profiles": [{"plugins": {"filter": {"disabled": [{"name": "NodeUnschedulable"}]}}}]}
    cordoned = node("n1", spec={"unschedulable": True})
    answers = ask(full(config=config), step(cordoned), full(cordoned), step())

    assert [fits(answer) for answer in answers] == [[], ["n1"], [], []]


def test_a_bad_configuration_names_every_error() -> None:
    answer = last(full(node(), config={"parallelism": 0, "profiles": [{"schedulerName": 5}]}))

    assert answer["error"].split("; ") == [
        "profiles[0].schedulerName: expected a string, got 5",
        "parallelism: Invalid value: 0: should be an integer value greater than zero",
    ]
