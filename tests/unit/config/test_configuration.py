"""Files and objects to a Configuration: documents, defaults that are safe, and what /configz shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scheduler.config.configuration import Configuration, from_object, load, load_for_evaluation
from scheduler.config.kube_document import ClientConnection, LeaderElection
from scheduler.config.report import ConfigurationError
from scheduler.queue.backoff import Backoff
from tests.support.scheduler_configurations import HEADER

KUBE = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
REPRISE = "apiVersion: reprise.dev/v1alpha1\nkind: RepriseConfiguration\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "configuration.yaml"


def errors_of(path: Path) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load(path)
    return caught.value.errors


def test_without_a_file_there_is_one_profile_with_a_name_of_our_own() -> None:
    found = load(None)

    assert [profile.scheduler_name for profile in found.profiles] == ["reprise"]
    assert found.kube.leader_election == LeaderElection(
        leader_elect=True,
        lease_duration_seconds=15.0,
        renew_deadline_seconds=10.0,
        retry_period_seconds=2.0,
        resource_lock="leases",
        resource_name="reprise",
        resource_namespace="",
    )
    assert found.kube.parallelism == 16
    assert found.profiles[0].percentage_of_nodes_to_score == 0
    assert found.backoff == Backoff(initial_seconds=1.0, max_seconds=10.0)


def test_a_single_profile_without_a_name_gets_ours(file: Path) -> None:
    file.write_text(KUBE + "profiles:\n- percentageOfNodesToScore: 100\n")

    (profile,) = load(file).profiles

    assert (profile.scheduler_name, profile.percentage_of_nodes_to_score) == ("reprise", 100)


def test_values_are_honoured(file: Path) -> None:
    file.write_text(
        KUBE
        + "podInitialBackoffSeconds: 2\npodMaxBackoffSeconds: 30\npercentageOfNodesToScore: 100\n"
        + "clientConnection: {kubeconfig: /etc/k, qps: 200.5, burst: 400}\n"
        + "profiles: [{schedulerName: a}, {schedulerName: b, percentageOfNodesToScore: 0}]\n"
    )

    found = load(file)

    assert found.backoff == Backoff(initial_seconds=2.0, max_seconds=30.0)
    assert found.kube.client_connection == ClientConnection(kubeconfig="/etc/k", qps=200.5, burst=400)
    assert [(one.scheduler_name, one.percentage_of_nodes_to_score) for one in found.profiles] == [("a", 100), ("b", 0)]


def test_zero_and_empty_are_absent_where_go_cannot_tell(file: Path) -> None:
    file.write_text(
        KUBE
        + "clientConnection: {qps: 0, burst: 0, contentType: ''}\nleaderElection: {leaseDuration: 0s, resourceName: ''}\n"
    )

    found = load(file).kube

    assert found.client_connection == ClientConnection()
    assert found.leader_election == LeaderElection()


@pytest.mark.parametrize(
    ("profiling", "contention", "expected"),
    [(None, None, (True, True)), (False, None, (False, False)), (True, False, (True, False))],
)
def test_contention_profiling_follows_profiling(
    profiling: bool | None, contention: bool | None, expected: tuple[bool, bool]
) -> None:
    found = from_object({"enableProfiling": profiling, "enableContentionProfiling": contention}).kube

    assert (found.enable_profiling, found.enable_contention_profiling) == expected


DEFAULT_SCHEDULER = "profiles: [{schedulerName: default-scheduler}]\n"
LEASE = "leaderElection: {resourceName: kube-scheduler, resourceNamespace: kube-system}\n"
UNLESS = "or pass --replace-kube-scheduler if no kube-scheduler runs"


def test_what_belongs_to_kube_scheduler_is_refused(file: Path) -> None:
    file.write_text(KUBE + LEASE + DEFAULT_SCHEDULER)

    assert errors_of(file) == [
        (
            'leaderElection.resourceName: Invalid value: "kube-scheduler": this is the Lease of kube-scheduler; '
            f"choose another name or namespace, {UNLESS}"
        ),
        (
            'profiles[0].schedulerName: Invalid value: "default-scheduler": this is the name of kube-scheduler\'s profile; '
            f"choose another, {UNLESS}"
        ),
    ]


def test_what_belongs_to_kube_scheduler_can_be_taken_over(file: Path) -> None:
    file.write_text(KUBE + LEASE + DEFAULT_SCHEDULER)

    found = load(file, replace_kube_scheduler=True)

    assert found.profiles[0].scheduler_name == "default-scheduler"
    assert found.kube.leader_election.resource_name == "kube-scheduler"


def test_an_evaluation_takes_any_name_and_what_only_a_running_scheduler_needs(file: Path) -> None:
    file.write_text(
        KUBE
        + LEASE.replace("{", "{leaderElect: true, ")
        + DEFAULT_SCHEDULER
        + "percentageOfNodesToScore: 40\nextenders: [{urlPrefix: nowhere, filterVerb: f}]\n"
    )

    assert load_for_evaluation(file).profiles[0].scheduler_name == "default-scheduler"
    assert len(errors_of(file)) == 4


def test_a_lease_of_that_name_elsewhere_is_not_kube_schedulers(file: Path) -> None:
    file.write_text(KUBE + "leaderElection: {resourceName: kube-scheduler, resourceNamespace: mine}\n")

    assert load(file).kube.leader_election.resource_namespace == "mine"


def test_the_lease_is_in_the_schedulers_own_namespace_unless_the_file_says_where(file: Path) -> None:
    assert load(None, own_namespace="mine").kube.leader_election.resource_namespace == "mine"
    file.write_text(KUBE + "leaderElection: {resourceNamespace: theirs}\n")
    assert load(file, own_namespace="mine").kube.leader_election.resource_namespace == "theirs"


def test_the_lease_of_kube_scheduler_is_refused_also_where_only_the_namespace_makes_it_so(file: Path) -> None:
    file.write_text(KUBE + "leaderElection: {resourceName: kube-scheduler}\n")

    with pytest.raises(ConfigurationError, match="this is the Lease of kube-scheduler"):
        load(file, own_namespace="kube-system")
    assert load(file, own_namespace="mine").kube.leader_election.resource_name == "kube-scheduler"


@pytest.mark.parametrize("order", [(KUBE, REPRISE), (REPRISE, KUBE)])
def test_both_documents_may_be_in_one_file_in_any_order(file: Path, order: tuple[str, str]) -> None:
    texts = {KUBE: "parallelism: 3\n", REPRISE: "logging: {level: debug}\n"}
    file.write_text("---\n".join(text + texts[text] for text in order))

    found = load(file)

    assert (found.kube.parallelism, found.reprise.logging.level) == (3, "debug")


def test_errors_of_both_documents_come_together(file: Path) -> None:
    file.write_text(KUBE + "parallelism: 0\n---\n" + REPRISE + "serving: {port: -1}\nlogging: {level: 1}\n")

    assert errors_of(file) == [
        'logging.level: expected "debug" or "error" or "info" or "warning", got 1',
        "parallelism: Invalid value: 0: should be an integer value greater than zero",
        "serving.port: Invalid value: -1: must be between 0 and 65535",
    ]


def test_a_file_may_be_json(file: Path) -> None:
    file.write_text(
        '{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","parallelism":5}'
    )

    assert load(file).kube.parallelism == 5


def test_a_byte_order_mark_is_no_content(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + KUBE.encode())

    assert load(file).profiles[0].scheduler_name == "reprise"


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        (
            "kind: KubeSchedulerConfiguration\n",
            ["apiVersion: Required value: kubescheduler.config.k8s.io/v1 for a KubeSchedulerConfiguration"],
        ),
        ("parallelism: 3\n", ["kind: Required value: KubeSchedulerConfiguration or RepriseConfiguration"]),
        (
            KUBE.replace("/v1", "/v1beta3"),
            [
                (
                    'apiVersion: Unsupported value: "kubescheduler.config.k8s.io/v1beta3": '
                    'supported values: "kubescheduler.config.k8s.io/v1"'
                )
            ],
        ),
        (
            KUBE.replace("KubeScheduler", "KubeProxy"),
            [
                (
                    'kind: Unsupported value: "KubeProxyConfiguration": '
                    'supported values: "KubeSchedulerConfiguration", "RepriseConfiguration"'
                )
            ],
        ),
        (
            KUBE + "---\n" + KUBE,
            [
                'kind: Duplicate value: "KubeSchedulerConfiguration": the file holds more than one KubeSchedulerConfiguration'
            ],
        ),
        ("- a\n", ["a KubeSchedulerConfiguration must be an object"]),
        ("just text\n", ["a KubeSchedulerConfiguration must be an object"]),
        (KUBE + "kind: Other\n", ["kind: duplicate key: given on line 2 and on line 3"]),
        (KUBE + "profiles: [\n", ["line 4, column 1: not YAML: expected the node content, but found '<stream end>'"]),
    ],
)
def test_a_file_of_another_kind_is_refused(file: Path, text: str, errors: list[str]) -> None:
    file.write_text(text)

    assert errors_of(file) == errors


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n---\n"])
def test_an_empty_file_is_refused(file: Path, text: str) -> None:
    file.write_text(text)

    assert errors_of(file) == [f"{file} is empty: a KubeSchedulerConfiguration is expected"]


def test_a_file_that_cannot_be_read_is_an_error(file: Path) -> None:
    assert errors_of(file) == [f"{file}: No such file or directory"]

    file.write_bytes(b"a: \xff\n")
    assert errors_of(file) == [f"{file}: not UTF-8 at byte 3"]


def test_an_object_needs_no_type() -> None:
    assert from_object({"parallelism": 2}).kube.parallelism == 2
    assert from_object({**HEADER, "parallelism": 2}).kube.parallelism == 2


@pytest.mark.parametrize("value", [[], "x", 5])
def test_an_object_must_be_one(value: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        from_object(value)

    assert caught.value.errors == ["a KubeSchedulerConfiguration must be an object"]


def configz(found: Configuration) -> dict[str, Any]:
    return found.as_kube_document()


def test_configz_shows_everything_with_its_default() -> None:
    document = configz(load(None))
    (profile,) = document.pop("profiles")

    assert document == {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "parallelism": 16,
        "leaderElection": {
            "leaderElect": True,
            "leaseDuration": "15s",
            "renewDeadline": "10s",
            "retryPeriod": "2s",
            "resourceLock": "leases",
            "resourceName": "reprise",
            "resourceNamespace": "",
        },
        "clientConnection": {
            "kubeconfig": "",
            "acceptContentTypes": "",
            "contentType": "application/json",
            "qps": 50.0,
            "burst": 100,
        },
        "enableProfiling": True,
        "enableContentionProfiling": True,
        "percentageOfNodesToScore": 0,
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 10,
        "delayCacheUntilActive": False,
    }
    assert profile["schedulerName"] == "reprise"
    assert profile["plugins"]["multiPoint"]["enabled"][4:6] == [
        {"name": "TaintToleration", "weight": 3},
        {"name": "NodeAffinity", "weight": 2},
    ]
    assert profile["plugins"]["score"] == {}
    assert {one["name"]: one["args"] for one in profile["pluginConfig"]}["NodeResourcesFit"] == {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "NodeResourcesFitArgs",
        "ignoredResources": [],
        "ignoredResourceGroups": [],
        "scoringStrategy": {
            "type": "LeastAllocated",
            "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
        },
    }


def test_what_configz_shows_is_a_configuration_that_shows_the_same() -> None:
    affinity = {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "pool", "operator": "In", "values": ["a"]}]}]
        }
    }
    profile: dict[str, Any] = {
        "schedulerName": "packing",
        "percentageOfNodesToScore": 30,
        "plugins": {
            "multiPoint": {"disabled": [{"name": "ImageLocality"}], "enabled": [{"name": "NodeAffinity", "weight": 9}]},
            "score": {"enabled": [{"name": "NodeResourcesFit", "weight": 4}]},
        },
        "pluginConfig": [
            {"name": "NodeAffinity", "args": {"addedAffinity": affinity}},
            {"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 10}},
        ],
    }
    document = {
        "podMaxBackoffSeconds": 60,
        "leaderElection": {"renewDeadline": "8500ms"},
        "extenders": [{"urlPrefix": "http://e", "filterVerb": "f", "httpTimeout": "2s"}],
        "profiles": [profile],
    }

    shown = configz(from_object(document, any_scheduler_name=True))

    assert shown["leaderElection"]["renewDeadline"] == "8.5s"
    assert shown["profiles"][0]["pluginConfig"][0]["args"]["addedAffinity"] == affinity
    assert shown["profiles"][0]["pluginConfig"][1] == profile["pluginConfig"][1]
    assert configz(from_object(shown, any_scheduler_name=True)) == shown
