"""What a server says about itself, and about who may do what."""

import pytest

from scheduler.sim.resources import RESOURCES, Resource
from tests.contract.servers import Refusal, Server
from tests.support.resources import Object

REVIEWS = "/apis/authorization.k8s.io/v1"


def test_the_version_is_that_of_the_real_server(server: Server) -> None:
    version = server.send("GET", "/version").json()

    assert (version["major"], version["minor"], version["gitVersion"]) == ("1", "37", "v1.37.2")


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_a_server_that_runs_is_healthy(server: Server, path: str) -> None:
    answer = server.send("GET", path)

    assert (answer.status, answer.body) == (200, b"ok")


@pytest.mark.parametrize("row", RESOURCES, ids=lambda row: f"{row.plural}.{row.group}")
def test_a_resource_is_described_alike(server: Server, row: Resource) -> None:
    described = server.send("GET", row.path).json()

    assert (described["kind"], described["groupVersion"]) == ("APIResourceList", row.api_version)
    found: dict[str, Object] = {resource["name"]: resource for resource in described["resources"]}
    expected = {
        "name": row.plural,
        "singularName": row.singular,
        "kind": row.kind,
        "namespaced": row.namespaced,
        "verbs": sorted(found[row.plural]["verbs"]),
        **({"shortNames": list(row.short_names)} if row.short_names else {}),
        **({"categories": list(row.categories)} if row.categories else {}),
    }
    assert {name: value for name, value in found[row.plural].items() if name != "storageVersionHash"} == expected
    assert {"create", "delete", "get", "list", "patch", "update", "watch"} <= set(found[row.plural]["verbs"])
    for name in row.subresources:
        assert found[f"{row.plural}/{name}"]["namespaced"] is row.namespaced


@pytest.mark.parametrize("path", ["/api", "/apis"])
def test_aggregated_discovery_describes_the_same_resources(server: Server, path: str) -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

    answer = server.send("GET", path, accept=accept)

    assert answer.headers["Content-Type"] == accept
    found = {
        (group["metadata"].get("name", ""), version["version"], resource["resource"]): resource
        for group in answer.json()["items"]
        for version in group["versions"]
        for resource in version["resources"]
    }
    for row in RESOURCES:
        if (path == "/apis") == bool(row.group):
            resource = found[row.group, row.version, row.plural]
            assert resource["responseKind"]["kind"] == row.kind
            assert resource["scope"] == ("Namespaced" if row.namespaced else "Cluster")
            names = {sub["subresource"] for sub in resource.get("subresources", [])}
            assert names >= set(row.subresources)


def test_groups_are_listed(server: Server) -> None:
    groups = {group["name"]: group for group in server.send("GET", "/apis").json()["groups"]}

    version = {"groupVersion": "apps/v1", "version": "v1"}
    assert groups["apps"] == {"name": "apps", "versions": [version], "preferredVersion": version}
    assert {row.group for row in RESOURCES if row.group} | {"authorization.k8s.io"} <= set(groups)


def test_somebody_who_may_do_everything_is_told_so(server: Server) -> None:
    attributes = {"namespace": "default", "verb": "create", "resource": "pods", "subresource": "binding"}

    answer = server.send("POST", f"{REVIEWS}/selfsubjectaccessreviews", {"spec": {"resourceAttributes": attributes}})

    assert (answer.status, answer.json()["status"]["allowed"]) == (201, True)
    assert answer.json()["spec"] == {"resourceAttributes": attributes}


def test_the_rules_of_somebody_who_may_do_everything_say_so(server: Server) -> None:
    answer = server.send("POST", f"{REVIEWS}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}})

    status = answer.json()["status"]
    assert (answer.status, status["incomplete"]) == (201, False)
    assert {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]} in status["resourceRules"]
    assert {"verbs": ["*"], "nonResourceURLs": ["*"]} in status["nonResourceRules"]


def test_rules_are_asked_for_in_a_namespace(server: Server) -> None:
    found = server.refused("POST", f"{REVIEWS}/selfsubjectrulesreviews", {"spec": {}})

    assert found == Refusal(400, "BadRequest", "no namespace on request", None)
