"""What a KubeSchedulerConfiguration must keep to, in the words of kube-scheduler 1.37 where the rule is its own."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler.config.configuration import from_object
from scheduler.config.report import ConfigurationError


def errors_of(*, evaluate: bool = False, **fields: Any) -> list[str]:
    try:
        from_object(fields, any_scheduler_name=evaluate)
    except ConfigurationError as error:
        return error.errors
    return []


def profile(**fields: Any) -> list[dict[str, Any]]:
    return [{"schedulerName": "one", **fields}]


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"parallelism": 0}, ["parallelism: Invalid value: 0: should be an integer value greater than zero"]),
        ({"parallelism": 1}, []),
        (
            {"clientConnection": {"burst": -1}},
            ["clientConnection.burst: Invalid value: -1: must be non-negative"],
        ),
        ({"clientConnection": {"qps": -1, "burst": 0}}, []),
        (
            {"percentageOfNodesToScore": 101},
            ["percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"],
        ),
        (
            {"profiles": profile(percentageOfNodesToScore=-1)},
            ["profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]"],
        ),
        ({"percentageOfNodesToScore": 100, "profiles": profile(percentageOfNodesToScore=0)}, []),
        ({"podInitialBackoffSeconds": 0}, ["podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"]),
        (
            {"podInitialBackoffSeconds": 3, "podMaxBackoffSeconds": 2},
            ["podMaxBackoffSeconds: Invalid value: 2: must be greater than or equal to PodInitialBackoffSeconds"],
        ),
        (
            {"podInitialBackoffSeconds": 11},
            ["podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds"],
        ),
        ({"podInitialBackoffSeconds": 3, "podMaxBackoffSeconds": 3}, []),
        (
            {"profiles": [{"schedulerName": "one"}, {}]},
            ["profiles[1].schedulerName: Required value: a name that pods give as spec.schedulerName"],
        ),
        (
            {"profiles": [{"schedulerName": ""}]},
            ["profiles[0].schedulerName: Required value: a name that pods give as spec.schedulerName"],
        ),
        (
            {"profiles": [{"schedulerName": "a"}, {"schedulerName": "b"}, {"schedulerName": "a"}]},
            ['profiles[2].schedulerName: Duplicate value: "profiles[0].schedulerName"'],
        ),
        ({"profiles": []}, []),
        ({"profiles": [None]}, []),
        (
            {
                "profiles": profile(
                    plugins={"queueSort": {"enabled": [{"name": "PrioritySort"}, {"name": "PrioritySort"}]}}
                )
            },
            [
                "profiles[0].plugins.queueSort.enabled: Invalid value: 2: only one queue sort plugin can be enabled",
                'profiles[0].plugins.queueSort.enabled[1]: plugin "PrioritySort" already registered as "QueueSortPlugin"',
            ],
        ),
        (
            {
                "profiles": [
                    {"schedulerName": "a"},
                    {"schedulerName": "b", "plugins": {"queueSort": {"enabled": [{"name": "PrioritySort"}]}}},
                ]
            },
            [
                (
                    'profiles[1].plugins.queueSort: Invalid value: {"enabled":[{"name":"PrioritySort","weight":null}],'
                    '"disabled":[]}: must be the same for all profiles'
                )
            ],
        ),
        (
            {
                "profiles": [
                    {
                        "schedulerName": name,
                        "plugins": {"queueSort": {"enabled": [{"name": "PrioritySort"}]}},
                        "pluginConfig": [{"name": "PrioritySort", "args": {"order": name}}],
                    }
                    for name in ("a", "b")
                ]
            },
            [
                (
                    'profiles[1].pluginConfig[0].args: Invalid value: {"order":"b"}: '
                    "queueSort must be the same for all profiles"
                )
            ],
        ),
    ],
)
def test_upstreams_rules(fields: dict[str, Any], errors: list[str]) -> None:
    assert errors_of(**fields) == errors
    assert errors_of(evaluate=True, **fields) == errors


LEADER = {"leaderElect": True}


@pytest.mark.parametrize(
    ("election", "errors"),
    [
        (LEADER, []),
        ({**LEADER, "leaseDuration": "0s"}, []),
        (
            {**LEADER, "leaseDuration": "10s"},
            ['leaderElection.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`'],
        ),
        (
            {**LEADER, "renewDeadline": "6s", "retryPeriod": "5s"},
            ['leaderElection.renewDeadline: Invalid value: "6s": must be greater than `RetryPeriod` * 1.2'],
        ),
        (
            {**LEADER, "retryPeriod": "-1s"},
            ['leaderElection.retryPeriod: Invalid value: "-1s": must be greater than zero'],
        ),
        (
            {**LEADER, "resourceLock": "endpoints"},
            ['leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"'],
        ),
        ({"leaderElect": False, "leaseDuration": "1s", "resourceLock": "endpoints"}, []),
    ],
)
def test_leader_election_has_rules_only_when_it_is_on(election: dict[str, Any], errors: list[str]) -> None:
    assert errors_of(leaderElection=election) == errors
    assert errors_of(evaluate=True, leaderElection=election) == errors


@pytest.mark.parametrize(
    ("extender", "errors"),
    [
        (
            {
                "urlPrefix": "http://e",
                "filterVerb": "f",
                "enableHTTPS": True,
                "httpTimeout": "3s",
                "tlsConfig": {"caFile": "c"},
            },
            [],
        ),
        (
            {"prioritizeVerb": "p"},
            ["extenders[0].weight: Invalid value: 0: must have a positive weight applied to it"],
        ),
        (
            {"managedResources": [{"name": "cpu"}]},
            ['extenders[0].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name'],
        ),
        (
            {"managedResources": [{"name": "example.com/a"}, {"name": "example.com/a"}]},
            [
                (
                    'extenders[0].managedResources[1].name: Invalid value: "example.com/a": '
                    "duplicate extender managed resource name"
                )
            ],
        ),
        ({"urlprefix": "x"}, ["extenders[0].urlprefix: unknown field; did you mean urlPrefix?"]),
    ],
)
def test_extenders_have_upstreams_rules_where_they_are_accepted(extender: dict[str, Any], errors: list[str]) -> None:
    assert errors_of(evaluate=True, extenders=[extender]) == errors


def test_only_one_extender_can_bind() -> None:
    assert errors_of(evaluate=True, extenders=[{"bindVerb": "b"}, {"bindVerb": "b"}]) == [
        'extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind'
    ]


@pytest.mark.parametrize(
    ("extender", "errors"),
    [
        ({"urlPrefix": "https://user:password@e.example:8443/scheduler/", "filterVerb": "f"}, []),
        (
            {"filterVerb": "f"},
            [
                (
                    "extenders[0].urlPrefix: Required value: the URL at which the extender is asked, "
                    "such as http://127.0.0.1:8888/scheduler"
                )
            ],
        ),
        (
            {"urlPrefix": "ftp://user:password@e"},
            ['extenders[0].urlPrefix: Invalid value: "ftp://e": must be the URL of an http or https server'],
        ),
        (
            {"urlPrefix": "http://e:70000"},
            ['extenders[0].urlPrefix: Invalid value: "http://e:70000": must be the URL of an http or https server'],
        ),
        (
            {"urlPrefix": "http://e/?key=1"},
            ['extenders[0].urlPrefix: Invalid value: "http://e/?key=1": must end in a path: a verb is appended to it'],
        ),
        (
            {"urlPrefix": "http://e", "httpTimeout": "-1s"},
            ['extenders[0].httpTimeout: Invalid value: "-1s": must not be negative; 0 means 5s'],
        ),
        (
            {"urlPrefix": "https://e", "tlsConfig": {"keyData": "se/cret!", "certData": "YQ=="}},
            ["extenders[0].tlsConfig.keyData: Invalid value: (hidden): must be base64"],
        ),
        (
            {"urlPrefix": "https://e", "tlsConfig": {"keyFile": "/key"}},
            ["extenders[0].tlsConfig.certFile: Required value: certFile or certData: certificate and key go together"],
        ),
        (
            {"urlPrefix": "https://e", "tlsConfig": {"insecure": True, "caFile": "/ca"}},
            [
                (
                    "extenders[0].tlsConfig.insecure: Invalid value: true: "
                    "must not be set together with caFile or caData: nothing is verified then"
                )
            ],
        ),
    ],
)
def test_an_extender_that_can_never_be_asked_is_refused_by_a_scheduler_that_runs(
    extender: dict[str, Any], errors: list[str]
) -> None:
    assert errors_of(extenders=[extender]) == errors
    assert errors_of(evaluate=True, extenders=[extender]) == []


@pytest.mark.parametrize("percentage", [1, 50, 99])
def test_a_part_of_the_nodes_is_refused_by_a_scheduler_that_runs(percentage: int) -> None:
    fields: dict[str, Any] = {
        "percentageOfNodesToScore": percentage,
        "profiles": profile(percentageOfNodesToScore=percentage),
    }

    wanted = (
        f"Invalid value: {percentage}: "
        "examining a part of the nodes is not implemented yet; use 0 or 100, which both examine every node"
    )
    assert errors_of(**fields) == [
        f"percentageOfNodesToScore: {wanted}",
        f"profiles[0].percentageOfNodesToScore: {wanted}",
    ]
    assert errors_of(evaluate=True, **fields) == []


@pytest.mark.parametrize(
    "path",
    [
        "podInitialBackoffSeconds",
        "podMaxBackoffSeconds",
        "parallelism",
        "percentageOfNodesToScore",
        "clientConnection",
        "leaderElection",
        "profiles",
        "extenders",
        "enableProfiling",
    ],
)
def test_a_field_that_cannot_be_read_is_one_error(path: str) -> None:
    fields: dict[str, Any] = {path: "x"}

    found = errors_of(**fields)

    assert [error.partition(": ")[0] for error in found] == [path]


def test_all_errors_come_at_once() -> None:
    found = errors_of(
        parallelism="four",
        paralelism=4,
        percentageOfNodesToScore=200,
        podInitialBackoffSeconds=0,
        profiles=[
            {"schedulerName": "a", "plugins": {"score": {"enabled": [{"name": "NodeName"}, {"name": "Nope"}]}}},
            {"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "Most"}}}]},
        ],
    )

    assert found == [
        'parallelism: expected an integer, got the string "four"',
        "paralelism: unknown field; did you mean parallelism?",
        "profiles[1].schedulerName: Required value: a name that pods give as spec.schedulerName",
        "percentageOfNodesToScore: Invalid value: 200: not in valid range [0-100]",
        "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0",
        'profiles[0].plugins.score.enabled[1]: ScorePlugin "Nope" does not exist',
        'profiles[0].plugins.score.enabled[0]: plugin "NodeName" does not extend ScorePlugin plugin',
        (
            'profiles[1].pluginConfig[0].args.scoringStrategy.type: Unsupported value: "Most": '
            'supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"'
        ),
    ]
