"""``reprise evaluate --jsonl``: what is said of a line that cannot be read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.app.evaluate_jsonl import answer_lines
from tests.support.plain_lines import Json, ask, fits, full, last, node, pod, reference, step

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
    "wrong type among nulls": (
        '{"objects":[{"kind":"Node","metadata":{"name":"n1","uid":null},"spec":7}],"pod":{"metadata":{"name":"p"}}}',
        "Node n1: Expected `object`, got `int` - at `$.spec`",
    ),
    "nested too deeply to look for nulls": (
        '{"objects":[{"kind":"Node","metadata":{"name":"n1"},"spec":7,"deep":%s}],"pod":{"metadata":{"name":"p"}}}'
        % ("[" * 700 + "]" * 700),
        "Node n1: ",
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
    "a number written as a string": (
        '{"objects":[],"pod":{"metadata":{"name":"p"},"spec":{"priority":"5"}}}',
        "Pod p: Expected `int | null`, got `str` - at `$.spec.priority`",
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
    {"kind": "Service", "metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": {"a": "b"}}},
    {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "default", "annotations": {"a": "b"}},
        "spec": {"accessModes": ["ReadWriteOncePod"], "volumeName": "v", "resources": {"requests": {"storage": "1Gi"}}},
        "status": {"phase": "Bound"},
    },
    {
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "claimRef": {"namespace": "default", "name": "c"},
            "nodeAffinity": {
                "required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]}
            },
            "csi": {"driver": "d", "volumeHandle": "h"},
        },
    },
    {
        "kind": "StorageClass",
        "metadata": {"name": "c"},
        "provisioner": "d",
        "volumeBindingMode": "Immediate",
        "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}],
    },
    {"kind": "CSINode", "metadata": {"name": "n1"}, "spec": {"drivers": [{"name": "d", "allocatable": {"count": 3}}]}},
    {"kind": "CSIDriver", "metadata": {"name": "d"}, "spec": {"storageCapacity": True}},
    {
        "kind": "CSIStorageCapacity",
        "metadata": {"name": "k", "namespace": "default"},
        "storageClassName": "c",
        "capacity": "1Gi",
        "nodeTopology": {"matchLabels": {"zone": "a"}},
    },
    {
        "kind": "VolumeAttachment",
        "metadata": {"name": "x"},
        "spec": {"attacher": "d", "nodeName": "n1", "source": {"persistentVolumeName": "v"}},
    },
    pod(
        "a",
        node_name="n1",
        overhead={"cpu": "1m"},
        initContainers=[{"name": "i", "restartPolicy": "Always"}],
        volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}, {"name": "r", "rbd": {"monitors": ["m"]}}],
    ),
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
