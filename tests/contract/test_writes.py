"""Updates and patches: what they change, what they leave, and when they are refused."""

import copy

import pytest

from tests.contract.servers import Refusal, Server
from tests.support.api_client import PATCH_TYPES
from tests.support.resources import NODES, PODS, Object

OTHER_UID = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"
UNSCHEDULED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no node"}


def put(server: Server, pod: Object, *, subresource: str | None = None) -> Object:
    answer = server.send("PUT", server.path(PODS, "web", subresource), pod)
    assert answer.status == 200, answer.body
    updated: Object = answer.json()
    return updated


def conditions(pod: Object) -> list[tuple[str, str]]:
    return [(condition["type"], condition["status"]) for condition in pod["status"].get("conditions", [])]


def modified(name: str) -> Refusal:
    text = "the object has been modified; please apply your changes to the latest version and try again"
    message = f'Operation cannot be fulfilled on pods "{name}": {text}'
    return Refusal(409, "Conflict", message, {"name": name, "kind": "pods"})


# --------------------------------------------------------------------------------------------------------------- updates


def test_an_update_of_a_version_that_is_gone_is_refused(server: Server) -> None:
    pod = server.create_pod("web")
    server.patch_pod("web", {"metadata": {"labels": {"a": "b"}}})

    assert server.refused("PUT", server.path(PODS, "web"), pod) == modified("web")


def test_an_update_that_names_no_version_wins(server: Server) -> None:
    pod = server.create_pod("web")
    server.patch_pod("web", {"metadata": {"labels": {"a": "b"}}})
    del pod["metadata"]["resourceVersion"]
    pod["metadata"]["labels"] = {"c": "d"}

    assert put(server, pod)["metadata"]["labels"] == {"c": "d"}


def test_an_update_that_changes_nothing_writes_nothing(server: Server) -> None:
    pod = server.create_pod("web")

    assert put(server, pod)["metadata"]["resourceVersion"] == pod["metadata"]["resourceVersion"]


def test_an_update_of_the_object_leaves_its_status(server: Server) -> None:
    pod = server.create_pod("web")
    pod["metadata"]["labels"] = {"a": "b"}
    pod["status"] = {"phase": "Running"}

    updated = put(server, pod)

    assert updated["metadata"]["labels"] == {"a": "b"}
    assert updated["status"] == {"phase": "Pending", "qosClass": "Burstable"}


def test_an_update_of_the_status_leaves_the_spec(server: Server) -> None:
    pod = server.create_pod("web")
    pod["spec"]["schedulerName"] = "other"
    pod["status"] = {"phase": "Running"}

    updated = put(server, pod, subresource="status")

    assert updated["spec"]["schedulerName"] == "reprise"
    assert updated["status"] == {"phase": "Running", "qosClass": "Burstable"}


def test_generations_count_changes_of_the_spec(server: Server) -> None:
    pod = server.create_pod("web")
    labelled = server.patch_pod("web", {"metadata": {"labels": {"a": "b"}}})
    status = server.patch_pod("web", {"status": {"phase": "Running"}}, subresource="status")
    image = [{"name": pod["spec"]["containers"][0]["name"], "image": "registry.example/app:2"}]
    changed = server.patch_pod("web", {"spec": {"containers": image}}, patch_type="strategic")

    generations = [item["metadata"]["generation"] for item in (pod, labelled, status, changed)]
    assert generations == [1, 1, 1, 2]


@pytest.mark.parametrize(
    "change", [{"schedulerName": "other"}, {"nodeName": "node-x"}, {"nodeSelector": {"a": "b"}}, {"priority": 5}]
)
def test_most_of_a_pods_spec_cannot_be_changed(server: Server, change: Object) -> None:
    pod = server.create_pod("web")
    pod["spec"] |= change

    code, reason, message, _ = server.refused("PUT", server.path(PODS, "web"), pod)

    assert (code, reason) == (422, "Invalid")
    assert "Forbidden: pod updates may not change fields other than `spec.containers[*].image`," in message


def test_tolerations_can_be_added_and_not_taken_away(server: Server) -> None:
    own = {"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}
    pod = server.create_pod("web", tolerations=[own])
    added = {"key": "spare", "operator": "Exists", "effect": "NoSchedule"}
    more, less = copy.deepcopy(pod), copy.deepcopy(pod)
    more["spec"]["tolerations"].append(added)
    less["spec"]["tolerations"].remove(own)

    assert server.refused("PUT", server.path(PODS, "web"), less).code == 422
    assert put(server, more)["spec"]["tolerations"][-1] == added


def test_an_update_that_leaves_out_what_was_filled_in_changes_nothing(server: Server) -> None:
    manifest = server.pod("web")
    pod = server.client.create(manifest)

    assert put(server, manifest)["metadata"]["resourceVersion"] == pod["metadata"]["resourceVersion"]


def test_an_update_cannot_take_the_node_away(server: Server) -> None:
    server.client.create(server.pod("web", nodeName="node-x"))

    assert server.refused("PUT", server.path(PODS, "web"), server.pod("web")).code == 422


def test_a_gate_can_be_taken_away_and_not_added(server: Server) -> None:
    server.create_pod("web", schedulingGates=[{"name": "example.com/a"}])

    path = server.path(PODS, "web")
    patch = {"spec": {"schedulingGates": [{"name": "example.com/b"}]}}
    code, _, message, _ = server.refused("PATCH", path, patch, content_type=PATCH_TYPES["strategic"])

    assert code == 422
    assert "Forbidden: only deletion is allowed, but found new scheduling gate 'example.com/b'" in message
    assert "schedulingGates" not in server.patch_pod("web", {"spec": {"schedulingGates": None}})["spec"]


def test_an_update_of_another_object_of_the_name_is_refused(server: Server) -> None:
    pod = server.create_pod("web")
    uid, pod["metadata"]["uid"] = pod["metadata"]["uid"], OTHER_UID

    code, reason, message, _ = server.refused("PUT", server.path(PODS, "web"), pod)

    assert (code, reason) == (409, "Conflict")
    assert message.endswith(f"Precondition failed: UID in precondition: {OTHER_UID}, UID in object meta: {uid}")


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_the_name_in_an_object_must_be_that_of_the_path(server: Server, method: str) -> None:
    pod = server.create_pod("web")
    pod["metadata"]["name"] = "db"
    kind = "application/json" if method == "PUT" else PATCH_TYPES["merge"]

    found = server.refused(method, server.path(PODS, "web"), pod, content_type=kind)

    assert found == Refusal(
        400, "BadRequest", "the name of the object (db) does not match the name on the URL (web)", None
    )


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_an_object_that_is_missing_is_not_made(server: Server, method: str) -> None:
    kind = "application/json" if method == "PUT" else PATCH_TYPES["merge"]

    found = server.refused(method, server.path(PODS, "web"), server.pod("web"), content_type=kind)

    assert found == Refusal(404, "NotFound", 'pods "web" not found', {"name": "web", "kind": "pods"})


# --------------------------------------------------------------------------------------------------------------- patches


def test_a_merge_patch_sets_and_takes_away(server: Server) -> None:
    server.create_pod("web", labels={"a": "1", "b": "2"})

    patched = server.patch_pod("web", {"metadata": {"labels": {"a": None, "c": "3"}}})

    assert patched["metadata"]["labels"] == {"b": "2", "c": "3"}


def test_a_merge_patch_replaces_lists(server: Server) -> None:
    server.create_pod("web")
    ready, scheduled = (
        {"status": {"conditions": [{"type": kind, "status": "False"}]}} for kind in ("Ready", "PodScheduled")
    )
    server.patch_pod("web", ready, subresource="status")

    patched = server.patch_pod("web", scheduled, subresource="status")

    assert conditions(patched) == [("PodScheduled", "False")]


def test_a_strategic_patch_merges_conditions_by_type(server: Server) -> None:
    server.create_pod("web")
    first = {"status": {"conditions": [{**UNSCHEDULED, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}
    server.patch_pod("web", first, subresource="status", patch_type="strategic")
    second = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    server.patch_pod("web", second, subresource="status", patch_type="strategic")
    third = {"status": {"conditions": [{"type": "PodScheduled", "message": "still no node"}]}}

    patched = server.patch_pod("web", third, subresource="status", patch_type="strategic")

    assert patched["status"]["conditions"] == [
        {"type": "Ready", "status": "False", "lastProbeTime": None, "lastTransitionTime": None},
        {
            **UNSCHEDULED,
            "message": "still no node",
            "lastProbeTime": None,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        },
    ]


def test_a_strategic_patch_deletes_a_condition_when_told_so(server: Server) -> None:
    server.create_pod("web")
    both = {"status": {"conditions": [UNSCHEDULED, {"type": "Ready", "status": "False"}]}}
    server.patch_pod("web", both, subresource="status", patch_type="strategic")
    patch = {"status": {"conditions": [{"type": "Ready", "$patch": "delete"}]}}

    patched = server.patch_pod("web", patch, subresource="status", patch_type="strategic")

    assert conditions(patched) == [("PodScheduled", "False")]


def test_a_strategic_patch_orders_as_told(server: Server) -> None:
    server.create_pod("web")
    both = {"status": {"conditions": [UNSCHEDULED, {"type": "Ready", "status": "False"}]}}
    server.patch_pod("web", both, subresource="status", patch_type="strategic")
    order = [{"type": kind} for kind in ("Initialized", "Ready", "PodScheduled")]
    new = {"$setElementOrder/conditions": order, "conditions": [{"type": "Initialized", "status": "True"}]}

    patched = server.patch_pod("web", {"status": new}, subresource="status", patch_type="strategic")

    assert conditions(patched) == [("Initialized", "True"), ("Ready", "False"), ("PodScheduled", "False")]


def test_a_patch_that_changes_nothing_writes_nothing(server: Server) -> None:
    server.create_pod("web")
    patch = {"status": {"conditions": [UNSCHEDULED]}}
    first = server.patch_pod("web", patch, subresource="status", patch_type="strategic")

    second = server.patch_pod("web", patch, subresource="status", patch_type="strategic")

    assert second == first


def test_a_patch_of_the_status_sets_and_clears_the_nominated_node(server: Server) -> None:
    server.create_pod("web")

    patches = ({"status": {"nominatedNodeName": node}} for node in ("node-x", None))
    named, cleared = (server.patch_pod("web", patch, subresource="status", patch_type="strategic") for patch in patches)

    assert named["status"]["nominatedNodeName"] == "node-x"
    assert "nominatedNodeName" not in cleared["status"]


def test_a_patch_of_the_status_leaves_the_spec_and_takes_labels(server: Server) -> None:
    server.create_pod("web")
    patch = {"metadata": {"labels": {"a": "b"}}, "spec": {"schedulerName": "other"}, "status": {"phase": "Running"}}

    patched = server.patch_pod("web", patch, subresource="status", patch_type="strategic")

    assert patched["metadata"]["labels"] == {"a": "b"}
    assert patched["spec"]["schedulerName"] == "reprise"
    assert patched["status"]["phase"] == "Running"


def test_a_patch_of_the_object_leaves_the_status(server: Server) -> None:
    server.create_pod("web")

    assert server.patch_pod("web", {"status": {"phase": "Failed"}})["status"]["phase"] == "Pending"


def test_a_strategic_patch_replaces_taints_and_merges_the_rest_of_a_node(server: Server) -> None:
    name = f"node-{server.namespace}"
    spec = {"taints": [{"key": "old", "effect": "NoSchedule"}], "unschedulable": True}
    resources = {"cpu": "4", "pods": "110"}
    status = {"capacity": resources, "allocatable": resources}
    server.client.create(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": spec, "status": status}
    )
    taints = {"spec": {"taints": [{"key": "new", "effect": "NoExecute"}], "unschedulable": None}}

    first = server.client.patch(NODES, name, taints, patch_type="strategic")
    second = server.client.patch(
        NODES, name, {"status": {"allocatable": {"cpu": "3"}}}, subresource="status", patch_type="strategic"
    )
    server.client.delete(NODES, name)

    assert first["spec"] == {"taints": [{"key": "new", "effect": "NoExecute"}]}
    assert second["status"]["allocatable"] == {"cpu": "3", "pods": "110"}


def test_a_json_patch_is_applied_in_order(server: Server) -> None:
    server.create_pod("web", labels={"a": "1"})
    operations = [
        {"op": "test", "path": "/metadata/labels/a", "value": "1"},
        {"op": "replace", "path": "/metadata/labels/a", "value": "2"},
        {"op": "add", "path": "/metadata/annotations", "value": {"x/y": "z"}},
        {"op": "replace", "path": "/metadata/annotations/x~1y", "value": "w"},
        {"op": "copy", "from": "/metadata/labels/a", "path": "/metadata/labels/b"},
    ]

    patched = server.patch_pod("web", operations, patch_type="json")

    assert patched["metadata"]["labels"] == {"a": "2", "b": "2"}
    assert patched["metadata"]["annotations"] == {"x/y": "w"}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/metadata/name", "value": "db"},
        {"op": "remove", "path": "/metadata/nothing"},
        {"op": "invent", "path": "/metadata/name"},
    ],
)
def test_a_json_patch_that_does_not_apply_is_refused(server: Server, operation: Object) -> None:
    server.create_pod("web")

    found = server.refused("PATCH", server.path(PODS, "web"), [operation], content_type=PATCH_TYPES["json"])

    assert found == Refusal(422, "Invalid", "the server rejected our request due to an error in our request", {})


def test_a_patch_that_names_a_version_that_is_gone_is_refused(server: Server) -> None:
    server.create_pod("web")
    patch = {"metadata": {"resourceVersion": "1", "labels": {"a": "b"}}}

    found = server.refused("PATCH", server.path(PODS, "web"), patch, content_type=PATCH_TYPES["merge"])

    assert found == modified("web")


@pytest.mark.parametrize("subresource", [None, "status"])
def test_a_patch_that_means_another_object_of_the_name_is_refused(server: Server, subresource: str | None) -> None:
    server.create_pod("web")
    patch = {"metadata": {"uid": OTHER_UID}, "status": {"nominatedNodeName": "node-x"}}

    path = server.path(PODS, "web", subresource)
    found = server.refused("PATCH", path, patch, content_type=PATCH_TYPES["strategic"])

    problem = f'Invalid value: "{OTHER_UID}": field is immutable'
    cause = {"reason": "FieldValueInvalid", "message": problem, "field": "metadata.uid"}
    details = {"name": "web", "kind": "Pod", "causes": [cause]}
    assert found == Refusal(422, "Invalid", f'Pod "web" is invalid: metadata.uid: {problem}', details)


def test_a_label_that_is_none_is_refused(server: Server) -> None:
    server.create_pod("web")
    patch = {"metadata": {"labels": {"a": "b c"}}}

    found = server.refused("PATCH", server.path(PODS, "web"), patch, content_type=PATCH_TYPES["merge"])

    assert found[:2] == (422, "Invalid")
    assert found.message.startswith(
        'Pod "web" is invalid: metadata.labels: Invalid value: "b c": a valid label must be'
    )


@pytest.mark.parametrize("member", ["labels", "annotations"])
def test_a_key_that_is_none_is_refused(server: Server, member: str) -> None:
    server.create_pod("web")
    patch = {"metadata": {member: {"a b": "c"}}}

    found = server.refused("PATCH", server.path(PODS, "web"), patch, content_type=PATCH_TYPES["merge"])

    assert found[:2] == (422, "Invalid")
    assert found.message.startswith(f'Pod "web" is invalid: metadata.{member}: Invalid value: "a b": name part must')


@pytest.mark.parametrize("kind", ["application/json", "text/x-patch"])
def test_an_unknown_kind_of_patch_is_refused(server: Server, kind: str) -> None:
    server.create_pod("web")

    found = server.refused("PATCH", server.path(PODS, "web"), {}, content_type=kind)

    assert found == Refusal(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def test_a_broken_patch_is_refused(server: Server) -> None:
    server.create_pod("web")

    found = server.refused("PATCH", server.path(PODS, "web"), b'{"metadata"', content_type=PATCH_TYPES["merge"])

    assert found == Refusal(400, "BadRequest", "invalid JSON patch", None)
