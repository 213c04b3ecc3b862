"""Pods with affinity terms, and pods that such terms are about, in the batch cache."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler.api.objects import Pod
from scheduler.core.stimulus import NamespaceApplied, NamespaceDeleted
from tests.support.builders import HOSTNAME, make_node, make_pod
from tests.support.core_run import Core
from tests.support.pod_affinity import affinity, namespace, term, weighted
from tests.support.signed_plugins import ALL_CHECKED, FOREVER, batch_of

INDEX = "batch.kubernetes.io/job-completion-index"
WEB = {"app": "web"}
APART = affinity(apart=(term(HOSTNAME),))


def core(nodes: int = 4, **options: Any) -> Core:
    made = Core(**{"batching": FOREVER, **options})
    made.nodes(*(make_node(f"n{number}", labels={"zone": "ab"[number % 2]}) for number in range(nodes)))
    return made


def decide(run: Core, *pods: Pod) -> list[tuple[str, str]]:
    """How each pod was decided on, and where it goes; they wait at the same time."""
    run.pods(*pods)
    results = [run.decide() for _ in pods]
    return [(result.batch, result.node_name) for result in results]


def batches(run: Core, *pods: Pod) -> list[str]:
    return [batch for batch, _ in decide(run, *pods)]


def several(count: int = 3, prefix: str = "p", **fields: Any) -> list[Pod]:
    return [make_pod(f"{prefix}{number}", **fields) for number in range(count)]


def test_pods_that_keep_apart_go_one_to_a_node_from_one_entry() -> None:
    run = core(batching=ALL_CHECKED)
    found = decide(run, *several(5, labels=WEB, affinity=APART))

    assert [batch for batch, _ in found] == ["no_hint", *["hint_used"] * 3, "fit_error"]
    assert sorted(name for _, name in found) == ["", "n0", "n1", "n2", "n3"]
    assert batch_of(run)["verified"] == 4


def test_the_second_of_a_series_goes_to_the_zone_of_the_first() -> None:
    run = core(batching=ALL_CHECKED)
    found = decide(run, *several(4, labels=WEB, affinity=affinity(near=(term(),))))
    zones = {"n0": "a", "n1": "b", "n2": "a", "n3": "b"}

    assert len({zones[name] for _, name in found}) == 1
    assert [batch for batch, _ in found] == ["no_hint", *["hint_used"] * 3]


def test_a_pod_that_came_with_anti_affinity_is_honoured_by_the_next_of_a_shape_that_has_none() -> None:
    run = core(2)
    shape: dict[str, Any] = {"labels": WEB, "requests": {"cpu": "1m"}}
    decide(run, *several(2, **shape))
    guard = make_pod("guard", node_name="n0", affinity=APART)
    run.pods(guard)

    first, second = decide(run, *several(2, "q", **shape))
    assert (first[1], second) == ("n1", ("hint_used", "n1"))
    run.pod_gone(guard)
    assert batches(run, *several(1, "r", **shape)) == ["hint_used"]


def test_pods_of_an_indexed_job_share_an_entry_while_no_term_looks_at_the_index() -> None:
    run = core()
    run.pods(make_pod("guard", node_name="n0", affinity=APART))
    pods = [make_pod(f"j{number}", labels={"job": "j", INDEX: str(number)}) for number in range(4)]

    assert batches(run, *pods) == ["no_hint", "hint_used", "hint_used", "hint_used"]


def test_a_term_that_looks_at_another_label_tells_waiting_pods_apart() -> None:
    """They were signed when they were queued, and are not signed again."""
    run = core()
    pods = [make_pod(f"j{number}", labels={INDEX: str(number % 2)}) for number in range(6)]
    run.pods(*pods)
    assert [run.decide().batch for _ in range(2)] == ["no_hint", "hint_used"]
    looks = affinity(apart=(term(HOSTNAME, {"matchLabels": {INDEX: "0"}}),))
    looking = make_pod("looking", node_name="n1", affinity=looks)
    run.pods(looking)
    results = [run.decide() for _ in range(4)]

    assert [result.batch for result in results] == ["no_hint", "no_hint", "hint_used", "hint_used"]
    assert "n1" not in {result.node_name for result in results if result.pod in ("default/j2", "default/j4")}
    run.pod_gone(looking)
    assert batches(run, make_pod("later", labels={INDEX: "7"})) == ["hint_used"]  # as the first two


def test_a_pod_without_the_label_is_told_from_one_with_any_value() -> None:
    run = core()
    run.pods(make_pod("guard", node_name="n0", affinity=affinity(apart=(term(HOSTNAME, {"matchLabels": {"x": ""}}),))))

    assert batches(run, make_pod("a"), make_pod("b", labels={"x": ""}), make_pod("c")) == [
        "no_hint",
        "no_hint",
        "hint_used",
    ]


def test_equal_values_of_other_labels_are_told_apart() -> None:
    """The entry was made for a pod that the term which looks now is not about."""
    run = core(2)
    before = make_pod("before", node_name="n0", affinity=affinity(apart=(term(HOSTNAME, {"matchLabels": {"a": "2"}}),)))
    run.pods(before)
    assert batches(run, *several(2, labels={"a": "1"})) == ["no_hint", "hint_used"]
    run.pod_gone(before)
    run.pods(make_pod("now", node_name="n0", affinity=affinity(apart=(term(HOSTNAME, {"matchLabels": {"b": "1"}}),))))

    assert decide(run, *several(2, "q", labels={"b": "1"})) == [("no_hint", "n1"), ("hint_used", "n1")]


def test_namespaces_have_entries_of_their_own() -> None:
    run = core()
    run.pods(make_pod("guard", namespace="red", node_name="n0", affinity=affinity(apart=(term(HOSTNAME, {}),))))
    pods = [make_pod(f"p{number}", namespace=("red", "blue")[number % 2]) for number in range(6)]
    found = decide(run, *pods)

    assert [batch for batch, _ in found] == ["no_hint", "no_hint", *["hint_used"] * 4]
    assert "n0" not in {name for _, name in found[::2]}


# Namespaces that change


def label(run: Core, name: str, **labels: str) -> None:
    run.scheduler.handle(NamespaceApplied(now=0.0, namespace=namespace(name, **labels)))


SELECTING = affinity(apart=(term(HOSTNAME, {}, namespaceSelector={"matchLabels": {"team": "a"}}),))
OWN = {"affinity": SELECTING}
PREFERRING = {"affinity": affinity(prefer_near=(weighted(1, term(namespaceSelector={"matchLabels": {"team": "a"}})),))}
LISTING = {"affinity": affinity(apart=(term(HOSTNAME, {}, namespaces=["red"]), term(HOSTNAME, namespaceSelector={})))}


@pytest.mark.parametrize(
    ("shape", "others", "changed", "dropped"),
    [
        (OWN, False, "red", 1),
        (PREFERRING, False, "red", 1),
        (LISTING, False, "red", 0),
        ({}, False, "default", 0),
        ({}, True, "default", 1),
        ({}, True, "red", 0),
    ],
    ids=[
        "own term selects",
        "own preference selects",
        "own term lists or selects all",
        "no term",
        "its own",
        "another",
    ],
)
def test_a_namespace_that_changes_drops_the_entries_that_look_at_it_once(
    shape: dict[str, Any], others: bool, changed: str, dropped: int
) -> None:
    run = core()
    if others:
        run.pods(make_pod("guard", namespace="elsewhere", node_name="n0", affinity=SELECTING))
    run.pods(*several(4, **shape))
    for step in range(2):
        run.decide()
        label(run, changed, team="a")
        assert batch_of(run).get("flushed", {}) == ({"cluster_event": 1} if dropped else {}), step
    run.decide()
    run.scheduler.handle(NamespaceDeleted(now=0.0, name=changed, uid=""))
    run.scheduler.handle(NamespaceDeleted(now=0.0, name=changed, uid=""))

    assert batch_of(run).get("flushed", {}) == ({"cluster_event": 2} if dropped else {})


def test_the_next_pod_meets_the_labels_that_the_namespace_has_now() -> None:
    run = core(2)
    run.pods(make_pod("guard", namespace="elsewhere", node_name="n0", affinity=SELECTING))
    run.pods(*several(4))
    run.decide()
    label(run, "default", team="a")
    assert {run.decide().node_name for _ in range(2)} == {"n1"}
