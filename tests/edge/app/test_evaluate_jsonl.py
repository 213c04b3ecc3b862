"""``reprise evaluate --jsonl``: what a line may bring, what it leaves behind, and what is said of one that cannot be read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.app.evaluate_jsonl import answer_lines

Json = dict[str, Any]
SUCCESS = {"code": "Success"}


def node(name: str = "n1", uid: str = "", cpu: str = "4", **fields: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": uid or f"{name}-uid", **fields.pop("metadata", {})},
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}, **fields.pop("status", {})},
        **fields,
    }


def pod(name: str = "web", uid: str | None = None, cpu: str = "1", node_name: str = "", **spec: Any) -> Json:
    found: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"{name}-uid" if uid is None else uid},
        "spec": {"containers": [{"name": "c", "image": "app", "resources": {"requests": {"cpu": cpu}}}], **spec},
    }
    if node_name:
        found["spec"]["nodeName"] = node_name
    return found


def reference(kind: str, name: str, uid: str = "", namespace: str = "") -> Json:
    metadata = {"name": name, **({"uid": uid} if uid else {}), **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata}


def full(*objects: Json, subject: Json | None = None, config: Json | None = None) -> Json:
    return {"objects": list(objects), "pod": subject or pod(), "config": config}


def step(*apply: Json, delete: list[Json] | None = None, subject: Json | None = None) -> Json:
    return {"apply": list(apply), "delete": delete or [], "pod": subject or pod()}


def ask(*lines: Json | str | bytes) -> list[Json]:
    encoded = (
        line if isinstance(line, bytes) else (line if isinstance(line, str) else json.dumps(line)).encode()
        for line in lines
    )
    return [json.loads(answer) for answer in answer_lines(encoded)]


def last(*lines: Json | str) -> Json:
    return ask(*lines)[-1]


def fits(answer: Json) -> list[str]:
    """Names of the nodes that the pod fits on."""
    assert "error" not in answer, answer
    return [name for name, status in answer["filter"].items() if status == SUCCESS]


def cpu_left(*lines: Json | str) -> int:
    """The most whole CPUs that a pod can still get on n1 after these lines."""
    fitting = [count for count in range(1, 5) if fits(last(*lines, step(subject=pod("probe", cpu=str(count)))))]
    return max(fitting, default=0)


# Answers


def test_a_full_answer() -> None:
    answer = last(full(node("n1"), node("n2", cpu="0"), node("n3", spec={"unschedulable": True}), node("n4", cpu="8")))

    assert answer["prefilter"] == SUCCESS
    assert answer["filter"] == {
        "n1": SUCCESS,
        "n2": {"code": "UnschedulableAndUnresolvable", "plugin": "NodeResourcesFit", "reasons": ["Insufficient cpu"]},
        "n3": {
            "code": "UnschedulableAndUnresolvable",
            "plugin": "NodeUnschedulable",
            "reasons": ["node(s) were unschedulable"],
        },
        "n4": SUCCESS,
    }
    # Least allocated, by hand: n1 (75 + 97) // 2, n4 (87 + 97) // 2; the other plugins see no difference.
    assert answer["scores"]["n1"]["NodeResourcesFit"] == {"raw": 86, "weighted": 86}
    assert answer["scores"]["n4"]["NodeResourcesFit"] == {"raw": 92, "weighted": 92}
    assert answer["scores"]["n1"]["TaintToleration"] == {"raw": 0, "weighted": 300}
    assert "NodeAffinity" not in answer["scores"]["n1"]
    assert answer["totals"] == {
        name: sum(score["weighted"] for score in answer["scores"][name].values()) for name in ("n1", "n4")
    }
    assert answer["best"] == ["n4"]
    assert "scored" not in answer


def test_all_of_the_best_are_listed_by_name() -> None:
    assert last(full(node("b"), node("a"), node("c", cpu="2")))["best"] == ["a", "b"]


def test_a_single_node_is_scored_here_though_a_cycle_would_not() -> None:
    answer = last(full(node("n1")))

    assert answer["scored"] is False
    assert answer["scores"]["n1"]["NodeResourcesFit"]["raw"] == 86
    assert answer["best"] == ["n1"]


def test_a_single_node_that_cannot_be_scored_is_the_best() -> None:
    affinity = {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Nope"}]}}
            ]
        }
    }
    subject = pod(affinity=affinity)
    answer = last(full(node("n1"), subject=subject))
    assert {key: answer[key] for key in ("scored", "scores", "totals", "best")} == {
        "scored": False,
        "scores": {},
        "totals": {},
        "best": ["n1"],
    }

    assert last(full(node("n1"), node("n2"), subject=subject))["error"].startswith(
        'running PreScore plugin "NodeAffinity": '
    )


def test_nothing_fits() -> None:
    answer = last(full(node("n1", cpu="0")))

    assert (answer["scores"], answer["totals"], answer["best"]) == ({}, {}, [])
    assert "scored" not in answer


def test_without_nodes() -> None:
    assert last(full()) == {"prefilter": SUCCESS, "filter": {}, "scores": {}, "totals": {}, "best": []}


def named_by_affinity(*names: str) -> Json:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": list(names)}]}] if names else []
    twice = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]} for name in ("a", "b")]}
    required = {"nodeSelectorTerms": terms or [twice]}
    return pod(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}})


def test_a_prefilter_that_rejects_is_the_whole_answer() -> None:
    assert last(full(node("n1"), subject=named_by_affinity())) == {
        "prefilter": {
            "code": "UnschedulableAndUnresolvable",
            "plugin": "NodeAffinity",
            "reasons": ["pod affinity terms conflict"],
        }
    }


def test_a_node_outside_of_the_prefilter_result_is_refused_by_no_plugin() -> None:
    answer = last(full(node("n1"), node("n2"), subject=named_by_affinity("n2")))

    assert answer["filter"]["n1"] == {
        "code": "UnschedulableAndUnresolvable",
        "reasons": ["node(s) didn't satisfy plugin(s) [NodeAffinity]"],
    }
    assert answer["best"] == ["n2"]


def test_a_pod_that_must_be_refused_is_an_error_that_names_the_rule() -> None:
    spread = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]

    assert last(full(node(), subject=pod(topologySpreadConstraints=spread))) == {
        "error": "pod needs spec.topologySpreadConstraints, and PodTopologySpread is not implemented yet: "
        "use another scheduler for this pod"
    }


# State


def test_a_bound_pod_is_evaluated_as_if_it_were_pending_and_restored_afterwards() -> None:
    large = pod("large", cpu="3", node_name="n1")
    answers = ask(full(node("n1"), large, subject=large), step(subject=pod("other", cpu="2")), step(subject=large))

    assert [fits(answer) for answer in answers] == [["n1"], [], ["n1"]]


def test_a_bound_pod_is_restored_after_it_was_refused() -> None:
    refused = pod("large", cpu="3", node_name="n1", resourceClaims=[{"name": "gpu"}])
    answers = ask(full(node("n1"), refused, subject=refused), step(subject=pod("other", cpu="2")))

    assert "error" in answers[0]
    assert fits(answers[1]) == []


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_pods_that_have_ended_take_no_room(phase: str) -> None:
    ended = {**pod("old", cpu="4", node_name="n1"), "status": {"phase": phase}}

    assert cpu_left(full(node("n1"), ended)) == 4


def test_a_pod_on_an_unknown_node_takes_room_when_the_node_comes() -> None:
    assert cpu_left(full(pod("early", cpu="3", node_name="n1")), step(node("n1"))) == 1


def test_the_last_object_of_a_name_counts() -> None:
    first, second = pod("a", uid="1", cpu="1", node_name="n1"), pod("a", uid="2", cpu="2", node_name="n1")

    assert cpu_left(full(node("n1", cpu="2"), node("n1", uid="other"), first, second)) == 2
    assert cpu_left(full(node("n1")), step(first), step(second)) == 2


def test_the_last_object_of_a_uid_counts() -> None:
    first, second = pod("a", uid="1", cpu="1", node_name="n1"), pod("b", uid="1", cpu="2", node_name="n1")

    assert cpu_left(full(node("n1"), first, second)) == 2
    # The first name stands for nothing any more.
    assert cpu_left(full(node("n1"), first, second), step(delete=[reference("Pod", "a", namespace="default")])) == 2


def test_a_pod_without_uid_is_known_by_its_name() -> None:
    hand_written = pod("a", uid="", cpu="3", node_name="n1")

    assert fits(last(full(node("n1"), hand_written, subject=pod("a", uid="", cpu="2")))) == ["n1"]
    assert fits(last(full(node("n1"), hand_written, subject=pod("b", uid="", cpu="2")))) == []


def test_a_pod_that_lost_its_node_or_ended_takes_no_room_any_more() -> None:
    bound = pod("a", cpu="3", node_name="n1")
    ended = {**bound, "status": {"phase": "Succeeded"}}

    assert cpu_left(full(node("n1"), bound), step(pod("a", cpu="3"))) == 4
    assert cpu_left(full(node("n1"), bound), step(ended)) == 4


def test_lists_are_taken_apart() -> None:
    typed = {"kind": "PodList", "apiVersion": "v1", "items": [{**pod("a", cpu="3", node_name="n1"), "kind": "Pod"}]}
    untyped = {"kind": "NodeList", "items": [{key: value for key, value in node("n1").items() if key != "kind"}]}
    nested = {"kind": "List", "items": [typed, {"kind": "List", "items": None}, untyped]}

    assert cpu_left(full(nested)) == 1


def test_other_kinds_are_passed_over() -> None:
    service = {"kind": "Service", "metadata": "whatever", "spec": 7}
    answers = ask(full(service, node("n1")), step(service, delete=[{"kind": "Service"}]))

    assert [fits(answer) for answer in answers] == [["n1"], ["n1"]]


def test_blank_lines_are_passed_over_and_other_keys_ignored() -> None:
    assert [fits(answer) for answer in ask(b"\n", b"  \n", json.dumps({**full(node()), "id": 7}))] == [["n1"]]


# Deletions


@pytest.mark.parametrize("uid", ["", "n1-uid"])
def test_a_node_is_deleted_by_name_or_as_this_incarnation(uid: str) -> None:
    assert last(full(node("n1")), step(delete=[reference("Node", "n1", uid)]))["filter"] == {}


@pytest.mark.parametrize("uid", ["", "a-uid"])
def test_a_pod_is_deleted_by_name_or_as_this_incarnation(uid: str) -> None:
    bound = pod("a", cpu="3", node_name="n1")
    deletion = reference("Pod", "a", uid, namespace="default")

    assert cpu_left(full(node("n1"), bound), step(delete=[deletion])) == 4


def test_another_incarnation_is_not_deleted() -> None:
    bound = pod("a", cpu="3", node_name="n1")
    deletions = [reference("Pod", "a", "old", namespace="default"), reference("Node", "n1", "old")]

    assert cpu_left(full(node("n1"), bound), step(delete=deletions)) == 1


def test_a_pod_of_another_namespace_or_that_is_not_there_is_not_deleted() -> None:
    bound = pod("a", cpu="3", node_name="n1")
    deletions = [
        reference("Pod", "a", namespace="other"),
        reference("Pod", "a"),
        reference("Pod", "b", namespace="default"),
        reference("Node", "n2"),
    ]

    assert cpu_left(full(node("n1"), bound), step(delete=deletions)) == 1


def test_deletions_come_before_what_is_applied() -> None:
    """So that one line can replace an object by another of its name."""
    again = step(node("n1", uid="again"), delete=[reference("Node", "n1")])

    assert fits(last(full(node("n1")), again)) == ["n1"]


def test_pods_stay_known_while_their_node_is_away() -> None:
    bound = pod("a", cpu="3", node_name="n1")

    assert cpu_left(full(node("n1"), bound), step(delete=[reference("Node", "n1")]), step(node("n1"))) == 1


REACHES_ALL = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", "namespaceSelector": {}}]
    }
}


def test_namespaces_and_device_classes_come_and_go() -> None:
    device_class = {
        "kind": "DeviceClass",
        "metadata": {"name": "gpus", "uid": "u"},
        "spec": {"extendedResourceName": "a.b/c"},
    }
    subject = pod()
    subject["spec"]["containers"][0]["resources"]["requests"]["a.b/c"] = "1"
    capable = node("n1", status={"allocatable": {"cpu": "4", "pods": "9", "a.b/c": "1"}})
    selective = {"matchLabels": {"team": "a"}}
    guard = pod("guard", node_name="n1", affinity=json.loads(json.dumps(REACHES_ALL)))
    guard["metadata"]["namespace"] = "elsewhere"
    term = guard["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]
    term["namespaceSelector"] = selective
    namespace = {"kind": "Namespace", "metadata": {"name": "default", "labels": {"team": "b"}}}
    answers = ask(
        full(capable, device_class, subject=subject),
        step(subject=subject, delete=[reference("DeviceClass", "gpus", "other")]),
        step(subject=subject, delete=[reference("DeviceClass", "gpus", "u")]),
        step(guard, subject=subject),
        step(namespace, subject=subject),
        step(subject=subject, delete=[reference("Namespace", "default")]),
    )

    assert ["error" in answer for answer in answers] == [True, True, False, True, False, True]


# The pod of the line before is evaluated again from what is kept of it.


def test_a_pod_that_is_asked_about_again_must_be_refused_when_a_rule_came_to_reach_it() -> None:
    guard = pod("guard", node_name="n1", affinity=REACHES_ALL)
    answers = ask(full(node("n1")), step(guard), step(delete=[reference("Pod", "guard", namespace="default")]))

    assert [("error" in answer) for answer in answers] == [False, True, False]


def test_an_evaluation_that_failed_is_not_built_upon() -> None:
    config = {"profiles": [{"plugins": {"preFilter": {"disabled": [{"name": "NodePorts"}]}}}]}
    ports = pod()
    ports["spec"]["containers"][0]["ports"] = [{"hostPort": 80, "containerPort": 80}]
    cordoned = node("n1", spec={"unschedulable": True})
    answers = ask(
        full(cordoned, subject=ports, config=config),
        step(node("n1"), subject=ports),
        step(cordoned, subject=ports),
    )

    assert ["error" in answer for answer in answers] == [False, True, False]
    assert answers[0] == answers[2]


def test_another_pod_is_not_taken_for_the_one_before() -> None:
    small, large = pod(cpu="1"), pod(cpu="9")

    assert [fits(answer) for answer in ask(full(node("n1"), subject=small), step(subject=large))] == [["n1"], []]


# Configuration


def test_the_profile_is_the_one_that_the_pod_names_else_the_first() -> None:
    disabled = {
        "plugins": {
            "filter": {"disabled": [{"name": "*"}]},
            "multiPoint": {"disabled": [{"name": "NodeUnschedulable"}]},
        }
    }
    config = {"profiles": [{"schedulerName": "a"}, {"schedulerName": "b", **disabled}]}
    cordoned = node("n1", spec={"unschedulable": True})
    answers = [
        last(full(cordoned, subject=pod(schedulerName=name), config=config))
        for name in ("a", "b", "c", "default-scheduler")
    ]

    assert [fits(answer) for answer in answers] == [[], ["n1"], [], []]


def test_steps_keep_the_configuration_of_the_cluster() -> None:
    config = {"profiles": [{"plugins": {"filter": {"disabled": [{"name": "NodeUnschedulable"}]}}}]}
    cordoned = node("n1", spec={"unschedulable": True})
    answers = ask(full(config=config), step(cordoned), full(cordoned), step())

    assert [fits(answer) for answer in answers] == [[], ["n1"], [], []]


def test_a_bad_configuration_names_every_error() -> None:
    answer = last(full(node(), config={"parallelism": 0, "profiles": [{"schedulerName": 5}]}))

    assert answer["error"].split("; ") == [
        "profiles[0].schedulerName: expected a string, got 5",
        "parallelism: Invalid value: 0: should be an integer value greater than zero",
    ]


# Lines that cannot be read


BAD_LINES: dict[str, tuple[str, str]] = {
    "not JSON": ("{", "not JSON: "),
    "nested": ("[" * 100_000, "not JSON that a cluster could have written: it is nested too deeply"),
    "not an object": ("[]", "expected an object, got a list"),
    "a number": ("7", "expected an object, got a number"),
    "null": ("null", "expected an object, got null"),
    "first step": ('{"apply":[]}', "objects: the first line has to bring a cluster"),
    "no pod": ('{"objects":[]}', "pod: expected a Pod object, got null"),
    "pod is a list": ('{"objects":[],"pod":[]}', "pod: expected a Pod object, got a list"),
    "pod is a node": ('{"objects":[],"pod":{"kind":"Node"}}', "pod.kind: expected Pod, got 'Node'"),
    "pod without name": ('{"objects":[],"pod":{}}', "Pod (without a name): metadata.name is required"),
    "objects is an object": (
        '{"objects":{},"pod":{"metadata":{"name":"p"}}}',
        "objects: expected a list of objects, got an object",
    ),
    "entry is a string": (
        '{"objects":["n"],"pod":{"metadata":{"name":"p"}}}',
        "objects[0]: expected a Kubernetes object, got a string",
    ),
    "entry without kind": (
        '{"objects":[{"metadata":{"name":"n"}}],"pod":{"metadata":{"name":"p"}}}',
        'objects[0].kind: expected a kind such as "Pod", got null',
    ),
    "kind is a boolean": (
        '{"objects":[{"kind":true}],"pod":{"metadata":{"name":"p"}}}',
        'objects[0].kind: expected a kind such as "Pod", got a boolean',
    ),
    "items is an object": (
        '{"objects":[{"kind":"List","items":{"a":1}}],"pod":{"metadata":{"name":"p"}}}',
        "objects[0].items: expected a list, got an object",
    ),
    "item is a number": (
        '{"objects":[{"kind":"List","items":[{"kind":"List","items":[1]}]}],"pod":{"metadata":{"name":"p"}}}',
        "objects[0].items[0].items[0]: expected a Kubernetes object, got a number",
    ),
    "node without name": (
        '{"objects":[{"kind":"Node"}],"pod":{"metadata":{"name":"p"}}}',
        "Node (without a name): metadata.name is required",
    ),
    "metadata is a list": (
        '{"objects":[{"kind":"Node","metadata":[]}],"pod":{"metadata":{"name":"p"}}}',
        "Node (without a name): Expected `object`, got `array` - at `$.metadata`",
    ),
    "wrong type": (
        '{"objects":[{"kind":"Node","metadata":{"name":"n1"},"spec":{"taints":[{"key":1}]}}],"pod":{"metadata":{"name":"p"}}}',
        "Node n1: Expected `str`, got `int` - at `$.spec.taints[0].key`",
    ),
    "bad quantity of a node": (
        '{"objects":[{"kind":"Node","metadata":{"name":"n1"},"status":{"allocatable":{"cpu":"lots"}}}],"pod":{"metadata":{"name":"p"}}}',
        "node n1: status.allocatable[cpu]: ",
    ),
    "huge image": (
        '{"objects":[{"kind":"Node","metadata":{"name":"n1"},"status":{"images":[{"names":["a"],"sizeBytes":1%s}]}}],"pod":{"metadata":{"name":"p"}}}'
        % ("0" * 30),
        "node n1: status.images[0].sizeBytes: ",
    ),
    "bad quantity of a pod": (
        '{"objects":[],"pod":{"metadata":{"name":"p","namespace":"d"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"lots"}}}]}}}',
        "Pod d/p: spec.containers[0].resources.requests[cpu]: ",
    ),
    "bad quantity of another pod": (
        '{"objects":[{"kind":"Pod","metadata":{"name":"q","namespace":"d"},"spec":{"overhead":{"cpu":"lots"}}}],"pod":{"metadata":{"name":"p"}}}',
        "Pod d/q: spec.overhead[cpu]: ",
    ),
    "huge int where a string is due": (
        '{"objects":[],"pod":{"metadata":{"name":1%s}}}' % ("0" * 200),
        "Pod 1",
    ),
    "config is a list": (
        '{"objects":[],"pod":{"metadata":{"name":"p"}},"config":[]}',
        "a KubeSchedulerConfiguration must be an object",
    ),
}


@pytest.mark.parametrize("case", BAD_LINES)
def test_a_line_that_cannot_be_read_is_answered_with_what_is_wrong(case: str) -> None:
    line, text = BAD_LINES[case]
    (answer,) = ask(line)

    assert list(answer) == ["error"]
    assert answer["error"].startswith(text), answer


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        (step(node("n2"), subject={"metadata": {}}), "Pod (without a name): metadata.name is required"),
        (step(node("n2"), {"kind": "Node", "metadata": {"name": 5}}), "Node 5: Expected `str`"),
        (step(node("n2"), delete=[{"kind": "Node"}]), "Node (without a name): metadata.name is required"),
        (
            step(node("n2"), delete=[{"kind": "Node", "metadata": {"name": "n1", "uid": 5}}]),
            "Node n1: Expected `str`, got `int` - at `$.metadata.uid`",
        ),
        (
            step(node("n2"), delete=[{"kind": "Pod", "metadata": 7}]),
            "Pod (without a name): Expected `object`, got `int` - at `$.metadata`",
        ),
        (step(node("n2"), delete=[{}]), 'delete[0].kind: expected a kind such as "Pod", got null'),
        ({**step(node("n2")), "delete": {}}, "delete: expected a list of objects, got an object"),
        (step(node("n2"), node("n3", cpu="many")), "node n3: status.allocatable[cpu]: "),
        (
            step(node("n2"), pod("b", cpu="many", node_name="n1")),
            "Pod default/b: spec.containers[0].resources.requests[cpu]: ",
        ),
        (
            step(node("n2"), delete=[reference("Node", "n1")], subject=pod(cpu="many")),
            "Pod default/web: spec.containers[0].resources.requests[cpu]: ",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_step_that_cannot_be_read_changes_nothing(bad: Json, text: str) -> None:
    before, error, after = ask(full(node("n1"), pod("a", cpu="3", node_name="n1")), bad, step())

    assert error["error"].startswith(text)
    assert after == before


@pytest.mark.parametrize("bad", ["{", full(node("n1", cpu="many")), full(node("n1"), config={"nope": 1})])
def test_a_cluster_that_cannot_be_read_leaves_none(bad: Json | str) -> None:
    """No later line is answered on an earlier cluster than its writer thinks; a line that is not even JSON may be a step."""
    answers = ask(full(node("n1")), bad, step())

    if bad == "{":
        assert fits(answers[2]) == ["n1"]
    else:
        assert answers[2]["error"].startswith("objects: the first line has to bring a cluster")


def test_after_an_error_the_next_cluster_is_answered() -> None:
    assert fits(last("{", full(node("n1")))) == ["n1"]


def test_one_answer_a_line_and_each_ends_it() -> None:
    answers = list(answer_lines([json.dumps(full(node())).encode(), b"{", json.dumps(step()).encode()]))

    assert len(answers) == 3
    assert all(answer.endswith(b"\n") and answer.count(b"\n") == 1 for answer in answers)


JUNK: list[Any] = [
    *(None, True, -1, 0, 10**30, -(10**30), 2**63, 1.5, 1e300, "", "x", "9" * 50, "-1", "1e1000", "1" * 400),
    *([], {}, [None], [{}], {"a": 1}, [[1]], {"kind": "Pod"}),
]
RICH = full(
    node("n1", metadata={"labels": {"zone": "a"}}, spec={"taints": [{"key": "a", "effect": "NoSchedule"}]}),
    node("n2", status={"images": [{"names": ["app:latest"], "sizeBytes": 10**9}]}),
    {"kind": "DeviceClass", "metadata": {"name": "d"}, "spec": {"extendedResourceName": "a.b/c"}},
    {"kind": "Namespace", "metadata": {"name": "default", "labels": {"a": "b"}}},
    pod("a", node_name="n1", overhead={"cpu": "1m"}, initContainers=[{"name": "i", "restartPolicy": "Always"}]),
    subject=pod(
        priority=1,
        nodeSelector={"zone": "a"},
        tolerations=[{"key": "a", "operator": "Exists"}],
        affinity={
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 5,
                        "preference": {"matchExpressions": [{"key": "zone", "operator": "Gt", "values": ["1"]}]},
                    }
                ]
            }
        },
    ),
    config={
        "profiles": [
            {"schedulerName": "reprise", "plugins": {"score": {"enabled": [{"name": "ImageLocality", "weight": 5}]}}}
        ]
    },
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in inner for place in places(each, (*path, key)))]


PLACES = places(RICH)[1:]


@given(st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(JUNK)), min_size=1, max_size=2), st.booleans())
@settings(max_examples=300)
def test_whatever_stands_in_a_line_it_has_an_answer(changes: list[tuple[tuple[Any, ...], Any]], as_step: bool) -> None:
    line = json.loads(json.dumps(RICH))
    for path, junk in changes:
        inside: Any = line
        for key in path[:-1]:
            inside = inside[key] if isinstance(inside, dict | list) and _has(inside, key) else None
        if isinstance(inside, dict | list) and _has(inside, path[-1]):
            inside[path[-1]] = junk
    lines = [RICH, {"apply": line["objects"], "delete": line["objects"], "pod": line["pod"]}] if as_step else [line]

    for answer in ask(*lines, step(subject=RICH["pod"])):
        assert set(answer) == {"error"} or {"prefilter"} <= set(answer)
        assert "internal error" not in answer.get("error", "")


def _has(inside: Any, key: Any) -> bool:
    return key in inside if isinstance(inside, dict) else isinstance(key, int) and key < len(inside)
