"""Watches: order, versions, selectors, bookmarks, and where they may start."""

import time

import pytest

from tests.contract.servers import EventLines, Server, event_manifest, without_managed_fields
from tests.support.resources import EVENTS, NODES, PODS, Object

END = {"k8s.io/initial-events-end": "true"}


def versions(events: list[Object]) -> list[int]:
    return [int(event["object"]["metadata"]["resourceVersion"]) for event in events]


def test_changes_come_in_their_order_with_rising_versions(server: Server) -> None:
    watch = server.watch(resourceVersion=server.version())

    server.create_pod("web")
    server.patch_pod("web", {"metadata": {"labels": {"a": "b"}}})
    server.create_pod("db")

    events = watch.take(3)
    assert [(event["type"], event["object"]["metadata"]["name"]) for event in events] == [
        ("ADDED", "web"),
        ("MODIFIED", "web"),
        ("ADDED", "db"),
    ]
    assert versions(events) == sorted(set(versions(events)))


def test_an_event_carries_the_object_as_a_read_shows_it(server: Server) -> None:
    watch = server.watch(resourceVersion=server.version())

    server.create_pod("web")

    assert without_managed_fields(watch.next()["object"]) == server.get_pod("web")


def test_a_watch_that_starts_late_tells_what_it_missed(server: Server) -> None:
    version = server.version()
    server.create_pod("web")
    server.bind("web")

    assert server.watch(resourceVersion=version).briefly(2) == [("ADDED", "web"), ("MODIFIED", "web")]


def test_a_watch_does_not_repeat_the_version_it_starts_from(server: Server) -> None:
    version = server.create_pod("web")["metadata"]["resourceVersion"]
    server.create_pod("db")

    assert server.watch(resourceVersion=version).briefly(1) == [("ADDED", "db")]


def test_a_quiet_watch_delivers_at_once(server: Server) -> None:
    watch = server.watch(resourceVersion=server.version())
    began = time.monotonic()

    server.create_pod("web")
    watch.next()

    assert time.monotonic() - began < 1.0


@pytest.mark.parametrize("query", [{}, {"resourceVersion": "0"}])
def test_a_watch_from_anywhere_shows_the_state_first(server: Server, query: dict[str, str]) -> None:
    server.create_pod("web")
    server.create_pod("db")

    watch = server.watch(**query)
    server.create_pod("late")

    assert watch.briefly(3) == [("ADDED", "db"), ("ADDED", "web"), ("ADDED", "late")]


def test_a_watch_of_one_namespace_hears_nothing_of_others(server: Server) -> None:
    watch = server.watch(resourceVersion=server.version())

    name = f"elsewhere-{server.namespace}"
    server.client.create({**server.pod(name), "metadata": {"name": name, "namespace": "default"}})
    server.create_pod("web")
    server.client.delete(PODS, name, "default")

    assert watch.briefly(1) == [("ADDED", "web")]


def test_a_watch_of_all_namespaces_hears_of_each(server: Server) -> None:
    watch = server.watch(PODS.path(), resourceVersion=server.version())

    server.create_pod("web")

    assert ("ADDED", "web") in watch.briefly(1)


def test_an_object_that_leaves_the_selector_is_deleted_and_comes_back_as_new(server: Server) -> None:
    server.create_pod("web", labels={"app": "web"})
    watch = server.watch(resourceVersion=server.version(), labelSelector="app=web")

    for label in ("db", "web"):
        server.patch_pod("web", {"metadata": {"labels": {"app": label}}})

    left, back = watch.take(2)
    assert (left["type"], back["type"]) == ("DELETED", "ADDED")
    assert left["object"]["metadata"]["labels"] == {"app": "web"}  # as it was when it was last seen
    assert versions([left, back]) == [int(server.get_pod("web")["metadata"]["resourceVersion"]) - 1, *versions([back])]


def test_a_pod_that_ends_leaves_the_selection_of_those_that_have_not(server: Server) -> None:
    server.create_pod("web")
    selector = "status.phase!=Succeeded,status.phase!=Failed"
    watch = server.watch(resourceVersion=server.version(), fieldSelector=selector)

    server.patch_pod("web", {"status": {"phase": "Succeeded"}}, subresource="status")

    event = watch.next()
    assert (event["type"], event["object"]["status"]["phase"]) == ("DELETED", "Pending")


def test_an_object_that_enters_the_selector_is_added(server: Server) -> None:
    server.create_pod("web")
    watch = server.watch(resourceVersion=server.version(), fieldSelector="spec.nodeName=node-x")

    server.bind("web", "node-x")

    event = watch.next()
    assert (event["type"], event["object"]["spec"]["nodeName"]) == ("ADDED", "node-x")


def test_what_never_matched_is_not_told(server: Server) -> None:
    watch = server.watch(resourceVersion=server.version(), labelSelector="app=web")

    server.create_pod("db", labels={"app": "db"})
    server.client.delete(PODS, "db", server.namespace)
    server.create_pod("web", labels={"app": "web"})

    assert watch.briefly(1) == [("ADDED", "web")]


def test_a_deletion_carries_the_last_state_under_a_version_of_its_own(server: Server) -> None:
    name = f"node-{server.namespace}"
    node = server.client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"a": "b"}}})
    watch = server.watch(NODES.path(), resourceVersion=node["metadata"]["resourceVersion"])

    server.client.delete(NODES, name)

    event = watch.next()
    assert (event["type"], event["object"]["metadata"]["labels"]) == ("DELETED", {"a": "b"})
    assert versions([event])[0] > int(node["metadata"]["resourceVersion"])


# ------------------------------------------------------------------------------------------------------------ watch-list


def until_end(watch: EventLines) -> list[Object]:
    """The events of a watch up to the bookmark that ends the state."""
    events = [watch.next()]
    while events[-1]["type"] != "BOOKMARK":
        events.append(watch.next())
    return events


WATCH_LIST = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}


@pytest.mark.parametrize("version", ["", "0", None])
def test_a_streamed_list_ends_with_a_bookmark(server: Server, version: str | None) -> None:
    server.create_pod("web")
    last = server.create_pod("db")["metadata"]["resourceVersion"]
    asked = last if version is None else version

    watch = server.watch(**WATCH_LIST, resourceVersion=asked)

    *state, bookmark = until_end(watch)
    assert [(event["type"], event["object"]["metadata"]["name"]) for event in state] == [
        ("ADDED", "db"),
        ("ADDED", "web"),
    ]
    assert bookmark["object"]["kind"] == "Pod"
    assert bookmark["object"]["metadata"]["annotations"] == END
    assert versions([bookmark])[0] >= int(last)


def test_a_streamed_list_goes_on_as_a_watch(server: Server) -> None:
    watch = server.watch(**WATCH_LIST)
    until_end(watch)

    server.create_pod("web")

    assert watch.briefly(1) == [("ADDED", "web")]


def test_a_streamed_list_keeps_to_its_selector(server: Server) -> None:
    server.create_pod("web", labels={"app": "web"})
    server.create_pod("db", labels={"app": "db"})

    events = until_end(server.watch(**WATCH_LIST, labelSelector="app=db"))

    assert [event["object"]["metadata"].get("name") for event in events] == ["db", None]


def test_a_watch_from_version_zero_that_takes_bookmarks_is_told_where_the_state_ends(server: Server) -> None:
    server.create_pod("web")

    events = until_end(server.watch(resourceVersion=0, allowWatchBookmarks="true"))

    assert [event["type"] for event in events] == ["ADDED", "BOOKMARK"]
    assert events[-1]["object"]["metadata"]["annotations"] == END


def test_a_streamed_list_without_bookmarks_ends_without_one(server: Server) -> None:
    server.create_pod("web")
    query = {name: value for name, value in WATCH_LIST.items() if name != "allowWatchBookmarks"}

    watch = server.watch(**query)
    server.create_pod("late")

    assert watch.briefly(2) == [("ADDED", "web"), ("ADDED", "late")]


def test_without_initial_events_a_watch_starts_now(server: Server) -> None:
    server.create_pod("web")

    watch = server.watch(**{**WATCH_LIST, "sendInitialEvents": "false"}, labelSelector="app=late")
    server.create_pod("late", labels={"app": "late"})

    assert watch.briefly(1) == [("ADDED", "late")]


def test_a_watch_list_of_a_resource_without_a_cache_ends_with_a_bookmark_too(server: Server) -> None:
    server.client.create(event_manifest(server.namespace, "web.1"))

    *state, bookmark = until_end(server.watch(server.path(EVENTS), **WATCH_LIST))

    assert [event["object"]["metadata"]["name"] for event in state] == ["web.1"]
    assert bookmark["object"]["metadata"]["annotations"] == END


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        (
            {"sendInitialEvents": "true"},
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
        (
            {"resourceVersionMatch": "NotOlderThan", "resourceVersion": "0"},
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(server: Server, query: dict[str, str], problem: str) -> None:
    code, reason, message, _ = server.refused("GET", server.path(), query={"watch": 1, **query})

    assert (code, reason) == (422, "Invalid")
    assert message == f'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: {problem}'


# --------------------------------------------------------------------------------------------------- bookmarks and ends


def test_a_bookmark_comes_before_the_end_and_says_how_far_the_watch_has_come(server: Server) -> None:
    watch = server.watch(
        resourceVersion=server.version(), allowWatchBookmarks="true", timeoutSeconds=4, labelSelector="app=web"
    )
    unseen = server.create_pod("db", labels={"app": "db"})

    bookmarks = watch.rest()

    assert {event["type"] for event in bookmarks} == {"BOOKMARK"}
    assert "annotations" not in bookmarks[-1]["object"]["metadata"]
    assert versions(bookmarks)[-1] >= int(unseen["metadata"]["resourceVersion"])


def test_a_watch_ends_when_its_time_is_over(server: Server) -> None:
    began = time.monotonic()

    events = server.watch(resourceVersion=server.version(), timeoutSeconds=1).rest()

    assert events == []
    assert 0.9 < time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ({"timeoutSeconds": "x"}, 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ({"fieldSelector": "spec.image=x"}, 400, "field label not supported: spec.image"),
        (
            {"resourceVersion": "abc"},
            500,
            'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
        ),
    ],
)
def test_parameters_that_cannot_be_read_are_named(
    server: Server, query: dict[str, str], code: int, message: str
) -> None:
    found = server.refused("GET", server.path(), query={"watch": 1, **query})

    assert found[:3] == (code, "BadRequest" if code == 400 else "", message)


# ---------------------------------------------------------------------------------------------------------------- expiry


def forgotten(server: Server) -> int:
    """A version of Events whose successors the server has forgotten."""
    created = [server.client.create(event_manifest(server.namespace, f"web.{number}")) for number in (1, 2, 3)]
    version = int(created[-1]["metadata"]["resourceVersion"])
    server.forget_events(version)
    return version - 2


def test_a_watch_from_a_forgotten_version_ends_with_an_error(server: Server) -> None:
    version = forgotten(server)

    (event,) = server.watch(server.path(EVENTS), resourceVersion=version).rest()

    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
    assert event["object"]["message"] == "The resourceVersion for the provided watch is too old."


def test_a_list_of_a_forgotten_version_is_refused(server: Server) -> None:
    query = {"resourceVersion": forgotten(server), "resourceVersionMatch": "Exact"}

    found = server.refused("GET", server.path(EVENTS), query=query)

    assert found[:3] == (410, "Expired", "The resourceVersion for the provided list is too old.")


def test_a_page_of_a_forgotten_list_is_refused_with_a_token_to_go_on(server: Server) -> None:
    server.client.create(event_manifest(server.namespace, "web.0"))
    server.client.create(event_manifest(server.namespace, "web.00"))
    token = server.listed(server.path(EVENTS), limit=1)["metadata"]["continue"]
    forgotten(server)

    answer = server.send("GET", server.path(EVENTS), query={"continue": token})
    status = answer.json()
    rest = server.names(server.path(EVENTS), **{"continue": status["metadata"]["continue"]})

    assert (answer.status, status["reason"]) == (410, "Expired")
    assert status["message"].startswith(
        "The provided continue parameter is too old to display a consistent list result."
    )
    assert rest == ["web.00", "web.1", "web.2", "web.3"]
