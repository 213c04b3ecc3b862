"""Deletions: at once, with grace, held by finalizers, and of the object that is meant."""

from typing import Any

import pytest

from tests.contract.servers import Refusal, Server
from tests.support.manifests import namespace_manifest
from tests.support.resources import LEASES, NAMESPACES, NODES, PODS, Object

OTHER_UID = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"


def delete(server: Server, name: str = "web", body: Any = None, **query: Any) -> Object:
    answer = server.send("DELETE", server.path(PODS, name), body, query=query)
    assert answer.status == 200, answer.body
    deleted: Object = answer.json()
    return deleted


def test_a_pod_that_is_not_bound_goes_at_once(server: Server) -> None:
    server.create_pod("web")

    deleted = delete(server)

    assert (deleted["kind"], deleted["metadata"]["name"]) == ("Pod", "web")
    assert deleted["metadata"]["deletionGracePeriodSeconds"] == 0
    assert server.names() == []


def test_the_deletion_of_a_pod_is_seen_as_a_change_and_an_end(server: Server) -> None:
    server.create_pod("web")
    watch = server.watch(resourceVersion=server.version())

    deleted = delete(server)

    changed, gone = watch.take(2)
    assert (changed["type"], gone["type"]) == ("MODIFIED", "DELETED")
    assert "deletionTimestamp" in changed["object"]["metadata"]
    assert gone["object"]["metadata"]["resourceVersion"] == deleted["metadata"]["resourceVersion"]
    assert gone["object"]["metadata"]["generation"] == 2


def test_a_bound_pod_stays_for_its_grace_period(server: Server) -> None:
    server.create_pod("web", nodeName="node-x")

    metadata = delete(server)["metadata"]

    assert server.get_pod("web")["metadata"]["deletionTimestamp"] == metadata["deletionTimestamp"]
    assert metadata["deletionTimestamp"] > metadata["creationTimestamp"]
    assert metadata["deletionGracePeriodSeconds"] == 30
    assert metadata["generation"] == 2


def test_a_grace_period_is_the_pods_own_or_the_one_asked_for(server: Server) -> None:
    for name in ("own", "body", "query"):
        server.create_pod(name, nodeName="node-x", terminationGracePeriodSeconds=7)

    answers = [
        delete(server, "own"),
        delete(server, "body", {"gracePeriodSeconds": 3}),
        delete(server, "query", gracePeriodSeconds=4),
    ]

    assert [pod["metadata"]["deletionGracePeriodSeconds"] for pod in answers] == [7, 3, 4]


def test_deleting_again_changes_nothing_unless_it_is_sooner(server: Server) -> None:
    server.create_pod("web", nodeName="node-x")
    first = delete(server)["metadata"]

    same = delete(server)["metadata"]
    later = delete(server, gracePeriodSeconds=60)["metadata"]
    sooner = delete(server, gracePeriodSeconds=5)["metadata"]

    assert same["resourceVersion"] == later["resourceVersion"] == first["resourceVersion"]
    assert sooner["deletionGracePeriodSeconds"] == 5
    assert sooner["deletionTimestamp"] < first["deletionTimestamp"]
    assert sooner["generation"] == 2


def test_a_bound_pod_is_removed_without_grace(server: Server) -> None:
    server.create_pod("web", nodeName="node-x")
    delete(server)

    delete(server, gracePeriodSeconds=0)

    assert server.names() == []


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_goes_at_once(server: Server, phase: str) -> None:
    server.create_pod("web", nodeName="node-x")
    server.patch_pod("web", {"status": {"phase": phase}}, subresource="status")

    delete(server)

    assert server.names() == []


@pytest.mark.parametrize("node", [None, "node-x"])
def test_finalizers_hold_a_pod(server: Server, node: str | None) -> None:
    manifest = server.pod("web", **({} if node is None else {"nodeName": node}))
    manifest["metadata"]["finalizers"] = ["example.com/hold"]
    server.client.create(manifest)
    watch = server.watch(resourceVersion=server.version())

    delete(server, gracePeriodSeconds=0)
    held = server.names()
    server.patch_pod("web", {"metadata": {"finalizers": None}})

    assert held == ["web"]
    assert server.names() == []
    events = watch.take(2)
    assert [event["type"] for event in events] == ["MODIFIED", "DELETED"]
    assert "finalizers" in events[1]["object"]["metadata"]  # the last state that there was


def test_a_pod_without_finalizers_still_has_its_grace_period(server: Server) -> None:
    manifest = server.pod("web", nodeName="node-x")
    manifest["metadata"]["finalizers"] = ["example.com/hold"]
    server.client.create(manifest)
    delete(server)

    server.patch_pod("web", {"metadata": {"finalizers": None}})

    assert server.names() == ["web"]


def test_finalizers_hold_a_node(server: Server) -> None:
    name = f"node-{server.namespace}"
    manifest = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "finalizers": ["example.com/hold"]}}
    server.client.create(manifest)

    held = server.send("DELETE", NODES.path(None, name)).json()
    released = server.client.patch(NODES, name, {"metadata": {"finalizers": None}})

    assert held["metadata"]["deletionGracePeriodSeconds"] == 0
    assert released["metadata"]["resourceVersion"] == held["metadata"]["resourceVersion"]
    assert server.refused("GET", NODES.path(None, name)).code == 404


@pytest.mark.parametrize("resource", [NODES, LEASES])
def test_most_deletions_are_answered_with_a_status(server: Server, resource) -> None:
    name = f"x-{server.namespace}"
    metadata = {"name": name, **({"namespace": server.namespace} if resource.namespaced else {})}
    manifest = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
    uid = server.client.create(manifest)["metadata"]["uid"]

    answer = server.send("DELETE", server.path(resource, name)).json()

    group = resource.api_version.rpartition("/")[0]
    details = {"name": name, **({"group": group} if group else {}), "kind": resource.plural, "uid": uid}
    assert answer == {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def test_a_pod_that_is_missing_is_not_deleted(server: Server) -> None:
    found = server.refused("DELETE", server.path(PODS, "web"))

    assert found == Refusal(404, "NotFound", 'pods "web" not found', {"name": "web", "kind": "pods"})


def test_a_pod_of_another_uid_is_not_deleted(server: Server) -> None:
    uid = server.create_pod("web")["metadata"]["uid"]

    found = server.refused("DELETE", server.path(PODS, "web"), {"preconditions": {"uid": OTHER_UID}})

    text = (
        f'Operation cannot be fulfilled on Pod "web": the UID in the precondition ({OTHER_UID}) does not match the UID in '
        f"record ({uid}). The object might have been deleted and then recreated"
    )
    assert found == Refusal(409, "Conflict", text, {"name": "web", "kind": "Pod"})
    assert server.names() == ["web"]


def test_a_pod_of_another_version_is_not_deleted(server: Server) -> None:
    version = server.create_pod("web")["metadata"]["resourceVersion"]

    found = server.refused("DELETE", server.path(PODS, "web"), {"preconditions": {"resourceVersion": "1"}})

    text = (
        f'Operation cannot be fulfilled on Pod "web": the ResourceVersion in the precondition (1) does not match the '
        f"ResourceVersion in record ({version}). The object might have been modified"
    )
    assert found == Refusal(409, "Conflict", text, {"name": "web", "kind": "Pod"})


def test_a_pod_of_the_uid_meant_is_deleted(server: Server) -> None:
    uid = server.create_pod("web")["metadata"]["uid"]

    delete(server, body={"preconditions": {"uid": uid}})

    assert server.names() == []


def test_a_selection_is_deleted_together(server: Server) -> None:
    for name, app in (("a", "web"), ("b", "web"), ("c", "db")):
        server.create_pod(name, labels={"app": app})

    answer = server.send("DELETE", server.path(), query={"labelSelector": "app=web"}).json()

    assert answer["kind"] == "PodList"
    assert [item["metadata"]["name"] for item in answer["items"]] == ["a", "b"]
    assert server.names() == ["c"]


def test_a_namespace_that_is_being_deleted_takes_nothing_new(server: Server) -> None:
    name = f"{server.namespace}-ending"
    server.client.create(namespace_manifest(name))

    server.client.delete(NAMESPACES, name)
    namespace = server.client.get(NAMESPACES, name)
    found = server.refused("POST", PODS.path(name), {**server.pod("web"), "metadata": {"name": "web"}})
    server.client.delete_namespace(name)

    assert (namespace["status"]["phase"], namespace["spec"]) == ("Terminating", {"finalizers": ["kubernetes"]})
    text = f"unable to create new content in namespace {name} because it is being terminated"
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {name} is being terminated",
        "field": "metadata.namespace",
    }
    details = {"name": "web", "kind": "pods", "causes": [cause]}
    assert found == Refusal(403, "Forbidden", f'pods "web" is forbidden: {text}', details)
    assert server.refused("GET", NAMESPACES.path(None, name)).code == 404
