"""Binding a pod: what it writes, and when it is refused."""

import pytest

from tests.contract.servers import Refusal, Server, binding, without_managed_fields
from tests.support.resources import PODS, Object

OTHER_UID = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"


def refused_binding(server: Server, name: str, node: str = "node-x", **metadata: str) -> Refusal:
    return server.refused("POST", server.path(PODS, name, "binding"), binding(name, node, **metadata))


def conflict(name: str, message: str) -> Refusal:
    text = f'Operation cannot be fulfilled on pods/binding "{name}": {message}'
    return Refusal(409, "Conflict", text, {"name": name, "kind": "pods/binding"})


def test_a_binding_is_answered_with_a_status(server: Server) -> None:
    server.create_pod("web")

    answer = server.bind("web")

    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    assert (answer.status, answer.json()) == (201, status)


def test_a_bound_pod_has_its_node_and_is_scheduled_and_is_otherwise_as_it_was(server: Server) -> None:
    before = without_managed_fields(server.create_pod("web"))

    server.bind("web", "node-x")

    after = server.get_pod("web")
    (condition,) = after["status"].pop("conditions")
    assert condition == {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": condition["lastTransitionTime"],
    }
    assert condition["lastTransitionTime"] is not None
    assert after["spec"].pop("nodeName") == "node-x"
    assert int(after["metadata"].pop("resourceVersion")) > int(before["metadata"].pop("resourceVersion"))
    assert after == before


def test_a_binding_needs_no_node_of_that_name(server: Server) -> None:
    server.create_pod("web")

    assert server.bind("web", "no-such-node").status == 201


def test_binding_turns_the_condition_of_a_pod_that_could_not_be_scheduled(server: Server) -> None:
    server.create_pod("web")
    unscheduled = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1 nodes are available",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    ready = {"type": "Ready", "status": "False"}
    status = {"status": {"conditions": [unscheduled, ready], "nominatedNodeName": "node-y"}}
    server.patch_pod("web", status, subresource="status", patch_type="strategic")

    server.bind("web")

    after = server.get_pod("web")["status"]
    assert "nominatedNodeName" not in after
    assert [(condition["type"], condition["status"]) for condition in after["conditions"]] == [
        ("PodScheduled", "True"),
        ("Ready", "False"),
    ]
    scheduled = after["conditions"][0]
    assert set(scheduled) == {"type", "status", "lastProbeTime", "lastTransitionTime"}
    assert scheduled["lastTransitionTime"] > "2026-01-01T00:00:00Z"


def test_a_binding_brings_labels_and_annotations(server: Server) -> None:
    server.create_pod("web", labels={"app": "web", "zone": "old"})

    server.bind("web", labels={"zone": "new"}, annotations={"example.com/by": "reprise"})

    metadata = server.get_pod("web")["metadata"]
    assert metadata["labels"] == {"app": "web", "zone": "new"}
    assert metadata["annotations"] == {"example.com/by": "reprise"}


@pytest.mark.parametrize("node", ["node-x", "node-y"])
def test_a_bound_pod_is_not_bound_again(server: Server, node: str) -> None:
    server.create_pod("web")
    server.bind("web", "node-x")

    assert refused_binding(server, "web", node) == conflict("web", 'pod web is already assigned to node "node-x"')


def test_a_pod_created_with_a_node_is_bound(server: Server) -> None:
    server.create_pod("web", nodeName="node-x")

    assert refused_binding(server, "web") == conflict("web", 'pod web is already assigned to node "node-x"')


def test_a_pod_that_is_missing_is_not_bound(server: Server) -> None:
    found = refused_binding(server, "web")

    assert found == Refusal(404, "NotFound", 'pods "web" not found', {"name": "web", "kind": "pods"})


def test_a_pod_of_another_uid_is_not_bound(server: Server) -> None:
    uid = server.create_pod("web")["metadata"]["uid"]

    found = refused_binding(server, "web", uid=OTHER_UID)

    text = (
        'Operation cannot be fulfilled on pods "web": StorageError: invalid object, Code: 4, Key: '
        f"/registry/pods/{server.namespace}/web, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in "
        f"precondition: {OTHER_UID}, UID in object meta: {uid}"
    )
    assert found == Refusal(409, "Conflict", text, {"name": "web", "kind": "pods"})


def test_the_uid_is_looked_at_before_the_node(server: Server) -> None:
    server.create_pod("web")
    server.bind("web")

    assert "Precondition failed: UID" in refused_binding(server, "web", uid=OTHER_UID).message


def test_a_pod_of_another_version_is_not_bound(server: Server) -> None:
    version = server.create_pod("web")["metadata"]["resourceVersion"]

    found = refused_binding(server, "web", resourceVersion="1")

    text = f"Precondition failed: ResourceVersion in precondition: 1, ResourceVersion in object meta: {version}"
    assert (found.code, found.reason) == (409, "Conflict")
    assert found.message.endswith(text)


def test_a_pod_of_the_uid_and_version_meant_is_bound(server: Server) -> None:
    metadata = server.create_pod("web")["metadata"]

    assert server.bind("web", uid=metadata["uid"], resourceVersion=metadata["resourceVersion"]).status == 201


def test_a_pod_that_is_being_deleted_is_not_bound(server: Server) -> None:
    manifest = server.pod("web")
    manifest["metadata"]["finalizers"] = ["example.com/hold"]
    server.client.create(manifest)
    server.client.delete(PODS, "web", server.namespace)

    found = refused_binding(server, "web")
    server.patch_pod("web", {"metadata": {"finalizers": None}})

    assert found == conflict("web", "pod web is being deleted, cannot be assigned to a host")


def test_a_gated_pod_is_not_bound(server: Server) -> None:
    server.create_pod("web", schedulingGates=[{"name": "example.com/wait"}])

    assert refused_binding(server, "web") == conflict("web", "pod web has non-empty .spec.schedulingGates")


def test_a_pod_whose_gates_were_taken_away_is_bound(server: Server) -> None:
    server.create_pod("web", schedulingGates=[{"name": "example.com/wait"}])
    server.patch_pod("web", {"spec": {"schedulingGates": None}})

    assert server.bind("web").status == 201


@pytest.mark.parametrize(
    ("body", "code", "reason", "message"),
    [
        (binding("db"), 400, "BadRequest", "name in URL does not match name in Binding object"),
        ({"target": {"name": "node-x"}}, 400, "BadRequest", "name in URL does not match name in Binding object"),
        ({"metadata": {"name": "web"}}, 500, "", "target.name: Required value"),
        ({"metadata": {"name": "web"}, "target": {"kind": "Node"}}, 500, "", "target.name: Required value"),
        (
            {"metadata": {"name": "web"}, "target": {"kind": "Pod", "name": "x"}},
            500,
            "",
            'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
        ),
        (
            binding("web", namespace="default"),
            400,
            "BadRequest",
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
    ],
)
def test_a_binding_that_says_something_else_is_refused(
    server: Server, body: Object, code: int, reason: str, message: str
) -> None:
    server.create_pod("web")

    found = server.refused("POST", server.path(PODS, "web", "binding"), body)

    assert found == Refusal(code, reason, message, None)
    assert "nodeName" not in server.get_pod("web")["spec"]
