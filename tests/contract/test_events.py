"""Events in both their forms, and what is asked of them."""

from typing import Any

import pytest

from tests.contract.servers import Refusal, Server, event_manifest, without_managed_fields
from tests.support.api_client import PATCH_TYPES
from tests.support.resources import CORE_EVENTS, EVENTS, Object

SERIES = {"count": 2, "lastObservedTime": "2026-11-30T11:44:04.123456Z"}


def invalid(server: Server, *, resource: Any = EVENTS, **members: Any) -> Refusal:
    manifest = {**event_manifest(server.namespace, "web.1"), "apiVersion": resource.api_version, **members}
    return server.refused("POST", server.path(resource), manifest)


def problems(found: Refusal) -> list[tuple[str, str]]:
    assert (found.code, found.reason) == (422, "Invalid")
    assert found.details is not None
    return [(cause["field"], cause["message"]) for cause in found.details["causes"]]


def test_an_event_is_shown_as_it_was_reported(server: Server) -> None:
    manifest = event_manifest(server.namespace, "web.1")

    event = without_managed_fields(server.client.create(manifest))

    metadata = event.pop("metadata")
    del manifest["metadata"]
    assert event == {
        **manifest,
        "deprecatedSource": {},
        "deprecatedFirstTimestamp": None,
        "deprecatedLastTimestamp": None,
    }
    assert "generation" not in metadata


def test_an_event_is_shown_in_the_older_form_too(server: Server) -> None:
    server.client.create(event_manifest(server.namespace, "web.1"))

    event = server.client.get(CORE_EVENTS, "web.1", server.namespace)

    del event["metadata"]
    assert event == {
        "kind": "Event",
        "apiVersion": "v1",
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": server.namespace, "name": "web"},
        "reason": "Scheduled",
        "message": "Successfully assigned",
        "type": "Normal",
        "eventTime": "2026-11-30T11:43:04.123456Z",
        "action": "Binding",
        "reportingComponent": "reprise",
        "reportingInstance": "reprise-0",
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
    }


def test_an_event_of_the_older_form_is_shown_in_the_newer(server: Server) -> None:
    times = {"firstTimestamp": "2026-11-30T11:44:04Z", "lastTimestamp": "2026-11-30T11:44:05Z", "count": 2}
    server.client.create(
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "web.1", "namespace": server.namespace},
            "involvedObject": {"kind": "Pod", "namespace": server.namespace, "name": "web"},
            "message": "failed",
            "reason": "BackOff",
            "type": "Warning",
            "source": {"component": "kubelet", "host": "node-x"},
            **times,
        }
    )

    event = server.client.get(EVENTS, "web.1", server.namespace)

    del event["metadata"]
    assert event == {
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "eventTime": None,
        "reason": "BackOff",
        "regarding": {"kind": "Pod", "namespace": server.namespace, "name": "web"},
        "note": "failed",
        "type": "Warning",
        "deprecatedSource": {"component": "kubelet", "host": "node-x"},
        "deprecatedFirstTimestamp": "2026-11-30T11:44:04Z",
        "deprecatedLastTimestamp": "2026-11-30T11:44:05Z",
        "deprecatedCount": 2,
    }


@pytest.mark.parametrize("patch_type", ["merge", "strategic"])
def test_a_series_is_patched_into_an_event(server: Server, patch_type: str) -> None:
    server.client.create(event_manifest(server.namespace, "web.1"))

    path, kind = server.path(EVENTS, "web.1"), PATCH_TYPES[patch_type]
    first = server.send("PATCH", path, {"series": SERIES}, content_type=kind).json()
    second = server.send("PATCH", path, {"series": {"count": 3}}, content_type=kind).json()

    assert first["series"] == SERIES
    assert second["series"] == {**SERIES, "count": 3}
    assert server.client.get(CORE_EVENTS, "web.1", server.namespace)["series"] == {**SERIES, "count": 3}


def test_a_series_of_an_event_that_is_gone_is_refused(server: Server) -> None:
    path = server.path(EVENTS, "web.1")

    found = server.refused("PATCH", path, {"series": SERIES}, content_type=PATCH_TYPES["strategic"])

    details = {"name": "web.1", "group": "events.k8s.io", "kind": "events"}
    assert found == Refusal(404, "NotFound", 'events.events.k8s.io "web.1" not found', details)


def test_all_but_the_series_stays(server: Server) -> None:
    server.client.create(event_manifest(server.namespace, "web.1"))

    path, kind = server.path(EVENTS, "web.1"), PATCH_TYPES["merge"]
    found = server.refused("PATCH", path, {"note": "else", "series": {"count": 1}}, content_type=kind)

    assert problems(found) == [
        ("series.count", 'Invalid value: "": should be at least 2'),
        ("series.lastObservedTime", "Required value"),
        ("message", 'Invalid value: "else": field is immutable'),
    ]


@pytest.mark.parametrize("field", ["action", "reason", "reportingInstance", "reportingController"])
def test_an_event_needs_its_words(server: Server, field: str) -> None:
    found = problems(invalid(server, **{field: ""}))

    assert (field, "Required value") in found


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"eventTime": None}, ("eventTime", "Required value")),
        ({"type": "Odd"}, ("type", 'Invalid value: "": has invalid value: Odd')),
        ({"note": "x" * 1025}, ("message", 'Invalid value: "": can have at most 1024 characters')),
        ({"reason": "x" * 129}, ("reason", 'Invalid value: "": can have at most 128 characters')),
        ({"action": "x" * 129}, ("action", 'Invalid value: "": can have at most 128 characters')),
        ({"series": {**SERIES, "count": 1}}, ("series.count", 'Invalid value: "": should be at least 2')),
        ({"deprecatedCount": 1}, ("count", 'Invalid value: "": needs to be unset')),
        (
            {"regarding": {"kind": "Node", "name": "x"}},
            ("involvedObject.namespace", 'Invalid value: "": does not match event.namespace'),
        ),
    ],
)
def test_an_event_that_breaks_a_rule_is_refused(server: Server, members: Object, problem: tuple[str, str]) -> None:
    assert problems(invalid(server, **members)) == [problem]


def test_a_note_of_the_longest_allowed_is_accepted(server: Server) -> None:
    manifest = event_manifest(server.namespace, "web.1", note="x" * 1024)

    assert server.client.create(manifest)["note"] == "x" * 1024


def test_an_event_about_an_object_elsewhere_is_accepted(server: Server) -> None:
    regarding = {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "web"}

    created = server.client.create(event_manifest(server.namespace, "web.1", regarding=regarding))

    assert created["regarding"] == regarding


def test_the_older_form_accepts_an_event_without_words(server: Server) -> None:
    involved = {"kind": "Pod", "namespace": server.namespace, "name": "web"}
    manifest = {"metadata": {"name": "web.1"}, "involvedObject": involved}

    answer = server.send("POST", server.path(CORE_EVENTS), manifest)

    assert answer.status == 201


def test_events_are_chosen_by_fields_of_their_form(server: Server) -> None:
    server.client.create(event_manifest(server.namespace, "web.1"))
    server.client.create(event_manifest(server.namespace, "web.2", reason="FailedScheduling"))

    new, old = server.path(EVENTS), server.path(CORE_EVENTS)
    assert server.names(new, fieldSelector="reason=FailedScheduling,regarding.name=web") == ["web.2"]
    assert server.names(old, fieldSelector="involvedObject.name=web,reason=Scheduled") == ["web.1"]
    message = server.refused("GET", new, query={"fieldSelector": "involvedObject.name=web"}).message
    assert message == "field label not supported: involvedObject.name"


def test_a_watch_of_events_shows_them_in_the_form_it_asks_in(server: Server) -> None:
    new, old = (
        server.watch(server.path(resource), resourceVersion=server.version()) for resource in (EVENTS, CORE_EVENTS)
    )

    server.client.create(event_manifest(server.namespace, "web.1"))

    assert new.next()["object"]["note"] == old.next()["object"]["message"] == "Successfully assigned"
