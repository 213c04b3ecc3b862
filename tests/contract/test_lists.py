"""Lists: selectors, pages and versions."""

import pytest

from tests.contract.servers import Refusal, Server
from tests.support.resources import NAMESPACES, NODES, PODS


@pytest.fixture
def pods(server: Server) -> Server:
    """Four pods: a, b and c with labels, c bound, d without labels and for another scheduler."""
    server.create_pod("a", labels={"app": "web", "tier": "1"})
    server.create_pod("b", labels={"app": "db"})
    server.create_pod("c", labels={"app": "web"}, nodeName="node-x")
    server.create_pod("d", scheduler_name="other")
    return server


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("app=web", "ac"),
        ("app==web", "ac"),
        ("app!=web", "bd"),
        ("app", "abc"),
        ("!app", "d"),
        ("app in (web,db)", "abc"),
        ("app in (db)", "b"),
        ("app notin (db)", "acd"),
        ("app=web,tier", "a"),
        ("app=web, !tier", "c"),
        ("app in ()", ""),
        ("tier>0", "a"),
        ("tier<1", ""),
        ("app=", ""),
        ("", "abcd"),
    ],
)
def test_objects_are_chosen_by_labels(pods: Server, selector: str, expected: str) -> None:
    assert pods.names(labelSelector=selector) == list(expected)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("metadata.name=a", "a"),
        ("metadata.name!=a", "bcd"),
        ("spec.nodeName=", "abd"),
        ("spec.nodeName=node-x", "c"),
        ("spec.nodeName!=node-x,spec.schedulerName==reprise", "ab"),
        ("spec.schedulerName=other", "d"),
        ("status.phase=Pending", "abcd"),
        ("status.phase!=Succeeded,status.phase!=Failed", "abcd"),
        ("spec.hostNetwork=false", "abcd"),
        ("status.nominatedNodeName=", "abcd"),
    ],
)
def test_pods_are_chosen_by_fields(pods: Server, selector: str, expected: str) -> None:
    assert pods.names(fieldSelector=selector) == list(expected)


def test_labels_and_fields_must_both_match(pods: Server) -> None:
    assert pods.names(labelSelector="app=web", fieldSelector="spec.nodeName=") == ["a"]


def test_nodes_are_chosen_by_whether_they_are_cordoned(server: Server) -> None:
    open_node, cordoned = f"open-{server.namespace}", f"cordoned-{server.namespace}"
    for name, spec in ((open_node, {}), (cordoned, {"unschedulable": True})):
        server.client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": spec})

    chosen = server.names(NODES.path(), fieldSelector="spec.unschedulable=false")
    for name in (open_node, cordoned):
        server.client.delete(NODES, name)

    assert open_node in chosen
    assert cordoned not in chosen


def test_namespaces_are_chosen_by_phase(server: Server) -> None:
    assert server.namespace in server.names(NAMESPACES.path(), fieldSelector="status.phase=Active")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"fieldSelector": "spec.image=x"}, "field label not supported: spec.image"),
        (
            {"fieldSelector": "metadata.name"},
            "invalid selector: 'metadata.name'; can't understand 'metadata.name'",
        ),
        ({"fieldSelector": "metadata.name=a=b"}, "invalid field selector: unescaped character in value: 61"),
        ({"labelSelector": "a==="}, "unable to parse requirement: found '=', expected: identifier"),
        ({"limit": "x"}, 'strconv.ParseInt: parsing "x": invalid syntax'),
        (
            {"resourceVersion": "abc"},
            (
                'invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": '
                "invalid syntax"
            ),
        ),
    ],
)
def test_parameters_that_cannot_be_read_are_named(server: Server, query: dict[str, str], message: str) -> None:
    assert server.refused("GET", server.path(), query=query) == Refusal(400, "BadRequest", message, None)


def test_pages_together_are_the_list(pods: Server) -> None:
    first = pods.listed(limit=3)
    second = pods.listed(limit=3, **{"continue": first["metadata"]["continue"]})

    assert [item["metadata"]["name"] for item in first["items"] + second["items"]] == ["a", "b", "c", "d"]
    assert first["metadata"]["remainingItemCount"] == 1
    assert set(second["metadata"]) == {"resourceVersion"}


def test_later_pages_are_of_the_state_of_the_first(pods: Server) -> None:
    first = pods.listed(limit=1)
    pods.create_pod("aa")
    pods.client.delete(PODS, "d", pods.namespace)

    second = pods.listed(**{"continue": first["metadata"]["continue"]})

    assert [item["metadata"]["name"] for item in second["items"]] == ["b", "c", "d"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_how_many_remain_is_not_said_of_a_selection(pods: Server) -> None:
    metadata = pods.listed(limit=1, labelSelector="app")["metadata"]

    assert "continue" in metadata
    assert "remainingItemCount" not in metadata


def test_a_list_of_version_zero_knows_no_pages(pods: Server) -> None:
    listed = pods.listed(limit=2, resourceVersion=0)

    assert len(listed["items"]) == 4
    assert "continue" not in listed["metadata"]


def test_a_list_not_older_than_a_version_is_of_now(pods: Server) -> None:
    version = pods.version()
    pods.create_pod("e")

    assert pods.names(resourceVersion=version) == list("abcde")
    assert pods.names(resourceVersion=version, resourceVersionMatch="NotOlderThan") == list("abcde")


def test_a_list_of_exactly_a_version_is_of_then(pods: Server) -> None:
    version = pods.version()
    pods.create_pod("e")
    pods.client.delete(PODS, "a", pods.namespace)

    listed = pods.listed(resourceVersion=version, resourceVersionMatch="Exact")

    assert [item["metadata"]["name"] for item in listed["items"]] == list("abcd")
    assert listed["metadata"]["resourceVersion"] == version


def test_a_version_that_is_not_reached_yet_is_refused(server: Server) -> None:
    code, reason, message, details = server.refused("GET", server.path(), query={"resourceVersion": 10**9})

    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    assert (code, reason) == (504, "Timeout")
    assert message.startswith("Timeout: Too large resource version: 1000000000, current: ")
    assert details == {"causes": causes, "retryAfterSeconds": 1}


@pytest.mark.parametrize(
    ("query", "field", "problem"),
    [
        (
            {"resourceVersionMatch": "Exact"},
            "resourceVersionMatch",
            "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        (
            {"resourceVersionMatch": "Exact", "resourceVersion": "0"},
            "resourceVersionMatch",
            'Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
        ),
        (
            {"resourceVersionMatch": "Newest", "resourceVersion": "1"},
            "resourceVersionMatch",
            'Unsupported value: "Newest": supported values: "Exact", "NotOlderThan", ""',
        ),
        (
            {"sendInitialEvents": "true"},
            "sendInitialEvents",
            "Forbidden: sendInitialEvents is forbidden for list",
        ),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(
    server: Server, query: dict[str, str], field: str, problem: str
) -> None:
    code, reason, message, details = server.refused("GET", server.path(), query=query)

    assert (code, reason) == (422, "Invalid")
    assert message == f'ListOptions.meta.k8s.io "" is invalid: {field}: {problem}'
    assert details is not None
    assert (details["group"], details["kind"]) == ("meta.k8s.io", "ListOptions")
    assert [(cause["field"], cause["message"]) for cause in details["causes"]] == [(field, problem)]


def test_a_token_and_a_version_do_not_go_together(pods: Server) -> None:
    token = pods.listed(limit=1)["metadata"]["continue"]

    found = pods.refused("GET", pods.path(), query={"continue": token, "resourceVersion": 5})

    assert found == Refusal(400, "BadRequest", "specifying resource version is not allowed when using continue", None)


def test_a_token_that_is_none_is_refused(server: Server) -> None:
    code, reason, message, _ = server.refused("GET", server.path(), query={"continue": "zzz"})

    assert (code, reason) == (400, "BadRequest")
    assert message.startswith("invalid continue token: continue key is not valid: ")
