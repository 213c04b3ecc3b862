"""Fields that take effect only when a process starts."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler.config.configuration import Configuration, ConfigurationError, from_documents
from scheduler.config.restart import process_sections, restart_fields

KUBE, REPRISE = "KubeSchedulerConfiguration", "RepriseConfiguration"
PROFILE = {"schedulerName": "reprise"}
EXTENDER = {"urlPrefix": "http://e", "filterVerb": "filter"}


def made(kube: dict[str, Any] | None = None, reprise: dict[str, Any] | None = None, **defaults: Any) -> Configuration:
    return from_documents({KUBE: kube or {}, REPRISE: reprise or {}}, defaults=defaults)


@pytest.mark.parametrize(
    ("kube", "reprise", "named"),
    [
        ({"leaderElection": {"leaseDuration": "30s"}}, {}, ["leaderElection.leaseDuration"]),
        ({"leaderElection": {"resourceName": "x", "retryPeriod": "1s"}}, {}, None),
        ({"clientConnection": {"kubeconfig": "/k"}}, {}, ["clientConnection.kubeconfig"]),
        ({"delayCacheUntilActive": True}, {}, ["delayCacheUntilActive"]),
        ({"extenders": [EXTENDER]}, {}, ["extenders"]),
        ({}, {"serving": {"port": 1234}}, ["serving.port"]),
        ({}, {"logging": {"format": "console", "level": "debug"}}, ["logging.format", "logging.level"]),
    ],
)
def test_these_are_named(kube: dict[str, Any], reprise: dict[str, Any], named: list[str] | None) -> None:
    expected = ["leaderElection.retryPeriod", "leaderElection.resourceName"] if named is None else named
    assert restart_fields(made(), made(kube, reprise)) == expected


@pytest.mark.parametrize(
    "kube",
    [
        {"profiles": [{"schedulerName": "a"}, {"schedulerName": "b"}]},
        {"podInitialBackoffSeconds": 2, "podMaxBackoffSeconds": 20},
        {"percentageOfNodesToScore": 100, "parallelism": 4, "enableProfiling": False},
    ],
)
def test_these_take_effect_at_once(kube: dict[str, Any]) -> None:
    assert restart_fields(made(), made(kube)) == []
    assert restart_fields(made(), made({}, {"batching": {"enabled": False}, "typoWarnings": {"enabled": False}})) == []


def test_with_extenders_a_new_profile_takes_a_restart() -> None:
    """Pods are kept whole for extenders from the first list on, and only those of known profiles."""
    before = made({"extenders": [EXTENDER], "profiles": [PROFILE]})
    after = made({"extenders": [EXTENDER], "profiles": [{"schedulerName": "second"}, PROFILE]})
    assert restart_fields(before, after) == ["profiles[0].schedulerName"]


def test_a_document_that_does_not_say_is_as_the_process_was_started() -> None:
    election = {"leaseDuration": "30s", "resourceNamespace": "here"}
    running = made({"leaderElection": election}, {"serving": {"port": 1234}})
    kube, reprise = process_sections(running)
    document = {"profiles": [PROFILE], "leaderElection": {"renewDeadline": "10s"}, "clientConnection": None}
    later = from_documents({KUBE: document}, defaults={KUBE: kube, REPRISE: reprise})

    assert restart_fields(running, later) == []
    assert later.kube.leader_election.lease_duration_seconds == 30.0
    assert later.reprise.serving.port == 1234


@pytest.mark.parametrize("document", [[], "text", 5])
def test_what_is_no_document_is_refused(document: Any) -> None:
    with pytest.raises(ConfigurationError, match="a KubeSchedulerConfiguration must be an object"):
        from_documents({KUBE: document}, defaults={})
