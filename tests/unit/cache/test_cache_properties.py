"""Whatever happens to nodes and pods: the cache is what it would be if it had been filled at once, and the journal is sound."""

from collections.abc import Callable
from typing import Any, NamedTuple

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from scheduler.api.objects import (
    Affinity,
    ContainerPort,
    LabelSelector,
    Node,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodStatus,
    ResourceRequirements,
    Taint,
)
from scheduler.api.quantity import Quantity
from scheduler.api.selectors import LabelMatcher, compile_label_selector
from scheduler.cache.cache import Cache
from scheduler.cache.columns import InternedColumn
from scheduler.cache.node_table import NodeTable
from scheduler.framework.affinity_terms import REQUIRED_ANTI_AFFINITY, AffinityTerm, HeldTerm
from scheduler.framework.facet import ALL_FACETS, Facet
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.pod_match import PodMatch, PodSelection
from scheduler.framework.view import NodeView
from tests.support.builders import make_container, make_node, make_pod
from tests.support.view_plugins import Everything

JOURNAL_CAPACITY = 6
REMEMBERED = 8
SEED = 7

NODE_NAMES = st.sampled_from(["n0", "n1", "n2", "n3"])
POD_NAMES = st.sampled_from(["p0", "p1", "p2", "p3", "p4"])
RESOURCES = ("cpu", "memory", "ephemeral-storage", "example.com/gpu")
LABEL_KEYS = ("zone", "cores")
IMAGES = ("app", "db")
HOST_PORTS = [("0.0.0.0", "TCP", 80), ("10.0.0.1", "TCP", 80), ("::", "TCP", 80), ("10.0.0.1", "UDP", 53)]
TAINTS = [Taint(key="a", effect="NoSchedule"), Taint(key="b", value="1", effect="PreferNoSchedule")]


def some(elements: Any) -> Any:
    return st.lists(st.sampled_from(list(elements)), max_size=2)


NODES = st.builds(
    make_node,
    NODE_NAMES,
    uid=st.sampled_from(["first", "second"]),
    labels=st.dictionaries(st.sampled_from(LABEL_KEYS), st.sampled_from(["a", "b", "8", ""])),
    allocatable=st.dictionaries(st.sampled_from([*RESOURCES, "pods"]), st.sampled_from(["0", "2", "3500m", "1Gi"])),
    taints=some(TAINTS),
    unschedulable=st.booleans(),
    images=st.dictionaries(st.sampled_from(IMAGES), st.sampled_from([0, 5, 10**9])),
    declared_features=some(["A", "B"]),
)
REQUESTS: st.SearchStrategy[dict[str, Quantity]] = st.dictionaries(
    st.sampled_from(RESOURCES), st.sampled_from(["0", "1", "250m", "9223372036854775807"])
)


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    ports = [ContainerPort(host_ip=ip, protocol=kind, host_port=port) for ip, kind, port in draw(some(HOST_PORTS))]
    in_effect = draw(st.none() | REQUESTS)
    anti_affinity = PodAffinity(required=[PodAffinityTerm()]) if draw(st.booleans()) else None
    return make_pod(
        draw(POD_NAMES),
        node_name=draw(NODE_NAMES),
        labels=draw(st.dictionaries(st.just("app"), st.sampled_from(["web", "db"]))),
        containers=[make_container(requests=draw(REQUESTS), ports=ports)],
        deletion_timestamp=draw(st.none() | st.just("2026-01-01T00:00:00Z")),
        status=PodStatus(resources=None if in_effect is None else ResourceRequirements(requests=in_effect)),
        affinity=Affinity(pod_anti_affinity=anti_affinity),
    )


FACTS: dict[Facet, Callable[[NodeView], dict[str, Any]]] = {
    Facet.RESOURCES: lambda view: {
        **{f"allocatable {name}": view.allocatable(name) for name in RESOURCES},
        **{f"requested {name}": view.requested(name) for name in RESOURCES},
        **{f"non-zero {name}": view.non_zero_requested(name) for name in ("cpu", "memory")},
        "pods": view.pod_count,
        "allowed": view.allowed_pods,
    },
    Facet.PORTS: lambda view: {str(port): view.port_conflicts(*port) for port in HOST_PORTS},
    Facet.IMAGES: lambda view: {name: view.image_size(name) for name in IMAGES},
    Facet.UNSCHEDULABLE: lambda view: {"unschedulable": view.unschedulable},
    Facet.TAINTS: lambda view: {"taints": view.taints},
    Facet.LABELS: lambda view: {key: view.label(key) for key in LABEL_KEYS},
}
"""What a view shows of each facet."""

WEB = PodSelection(frozenset(["default"]), compile_label_selector(LabelSelector(match_labels={"app": "web"})))
HELD = HeldTerm(
    REQUIRED_ANTI_AFFINITY, 0, AffinityTerm("", ("default",), LabelMatcher(nothing=True), LabelMatcher(nothing=True))
)
MATCHES = (PodMatch((WEB,)), PodMatch((WEB,), counts_terminating=False), PodMatch(()))


class Seen(NamedTuple):
    """What somebody saw who looked at the table at some position."""

    position: int
    epoch: int
    facts: dict[int, dict[Facet, Any]]
    ids: dict[int, dict[Facet, Any]]
    taint_sets: list[tuple[Taint, ...]]
    image_versions: dict[str, int]
    image_holders: dict[str, dict[str, int]]


def ids_by_row(table: NodeTable) -> dict[int, dict[Facet, Any]]:
    """All that row views show of live rows, ids as they are."""
    views = {row: table.row(Everything, row) for row in np.flatnonzero(table.live).tolist()}
    return {row: {facet: read(view) for facet, read in FACTS.items()} for row, view in views.items()}


def look(cache: Cache) -> Seen:
    table = cache.table
    ids = ids_by_row(table)
    facts = {}
    for row, shown in ids.items():
        node = table.node(row)
        facts[row] = {
            **shown,
            Facet.NAME: node.metadata.name,
            Facet.FEATURES: tuple(node.status.declared_features or ()),
            Facet.TAINTS: table.taints.items[shown[Facet.TAINTS]["taints"]],
            Facet.LABELS: {key: table.label_column(key).items[number] for key, number in shown[Facet.LABELS].items()},
            Facet.PODS: (
                sorted(
                    (cached.pod.key, tuple((cached.pod.pod.metadata.labels or {}).items()), terminating(cached.pod))
                    for cached in cache.pods_on(node.metadata.name)
                ),
                [table.row(Everything, row).matching_pods(match) for match in MATCHES],
                table.row(Everything, row).term_holders(HELD),
            ),
        }
    return Seen(
        table.position,
        table.epoch,
        facts,
        ids,
        list(table.taints.items),
        {name: table.images.version(name) for name in IMAGES},
        {
            image: {table.name_of(row): size for row, name, size in table.images.held() if name == image}
            for image in IMAGES
        },
    )


def terminating(pod: PodInfo) -> bool:
    return pod.pod.metadata.deletion_timestamp is not None


def by_name(seen: Seen) -> dict[str, dict[Facet, Any]]:
    return {facts[Facet.NAME]: facts for facts in seen.facts.values()}


class CacheMachine(RuleBasedStateMachine):
    """Nodes and pods come, change and go in any order, and a plugin looks now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = Cache(SEED)
        self.cache.table = NodeTable(SEED, JOURNAL_CAPACITY, label_keys=1)
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, tuple[PodInfo, str]] = {}
        self.assumed: set[str] = set()
        self.remembered: list[Seen] = []

    @rule(node=NODES)
    def apply_node(self, node: Node) -> None:
        assert self.cache.apply_node(node) == self.nodes.get(node.metadata.name)
        self.nodes[node.metadata.name] = node

    @rule(name=NODE_NAMES)
    def remove_node(self, name: str) -> None:
        assert self.cache.remove_node(name) == self.nodes.pop(name, None)

    @rule(pod=pods())
    def assume(self, pod: Pod) -> None:
        info = PodInfo(pod)
        if info.uid in self.pods:
            with pytest.raises(ValueError, match="so can't be assumed"):
                self.cache.assume(info, pod.spec.node_name)
            return
        self.cache.assume(info, pod.spec.node_name)
        self.pods[info.uid] = (info, pod.spec.node_name)
        self.assumed.add(info.uid)

    @rule(name=POD_NAMES)
    def forget(self, name: str) -> None:
        uid = f"default-{name}"
        if uid in self.pods and uid not in self.assumed:
            with pytest.raises(ValueError, match="is not assumed"):
                self.cache.forget(uid)
            return
        known = self.cache.forget(uid)
        assert (known is None) == (uid not in self.pods)
        self.pods.pop(uid, None)
        self.assumed.discard(uid)

    @rule(pod=pods())
    def apply_pod(self, pod: Pod) -> None:
        info = PodInfo(pod)
        self.cache.apply_pod(info)
        self.pods[info.uid] = (info, pod.spec.node_name)
        self.assumed.discard(info.uid)

    @rule(name=POD_NAMES)
    def remove_pod(self, name: str) -> None:
        uid = f"default-{name}"
        known = self.cache.remove_pod(uid)
        assert (None if known is None else (known.pod, known.node_name)) == self.pods.pop(uid, None)
        self.assumed.discard(uid)

    @invariant()
    def it_is_what_nodes_and_pods_make_it(self) -> None:
        self.cache.validate()
        assert self.cache.assumed_count == len(self.assumed)

    @invariant()
    def it_equals_a_cache_filled_at_once(self) -> None:
        fresh = Cache(SEED)
        for node in self.nodes.values():
            fresh.apply_node(node)
        for uid, (pod, node_name) in self.pods.items():
            if uid in self.assumed:
                fresh.assume(pod, node_name)
            else:
                fresh.apply_pod(pod)
        here, there = look(self.cache), look(fresh)
        assert by_name(here) == by_name(there)
        assert here.image_holders == there.image_holders
        assert self.cache.table.node_count == fresh.table.node_count
        keys = {name: int(self.cache.table.tie_keys[row]) for name, row in self.cache.table.rows.items()}
        assert keys == {name: int(fresh.table.tie_keys[row]) for name, row in fresh.table.rows.items()}

    @invariant()
    def columns_show_what_rows_show(self) -> None:
        table = self.cache.table
        rows = np.flatnonzero(table.live)[::-1]
        by_row = ids_by_row(table)
        for index, view in ((rows, table.columns(Everything)), (np.arange(len(rows)), table.columns(Everything, rows))):
            for facet, read in FACTS.items():
                for what, column in read(view).items():
                    assert column[index].tolist() == [by_row[row][facet][what] for row in rows.tolist()]

    @invariant()
    def whoever_looked_before_learns_what_changed(self) -> None:
        now = look(self.cache)
        for then in self.remembered:
            changes = self.cache.table.changes_since(then.position)
            if changes is None:
                assert now.position - then.position > JOURNAL_CAPACITY
            else:
                told = dict(zip(changes.rows.tolist(), map(Facet, changes.facets.tolist()), strict=True))
                check_changes(told, then, now)
            if then.epoch == now.epoch:
                assert now.taint_sets[: len(then.taint_sets)] == then.taint_sets
            for image in IMAGES:
                if now.image_holders[image] != then.image_holders[image]:
                    assert now.image_versions[image] != then.image_versions[image]
        self.remembered = [*self.remembered, now][-REMEMBERED:]


def check_changes(told: dict[int, Facet], then: Seen, now: Seen) -> None:
    """The journal told of every row and facet that looks another way than it did."""
    for row in {*then.facts, *now.facts}:
        facets = told.get(row, Facet.NONE)
        if row not in then.facts or row not in now.facts:
            assert facets == ALL_FACETS, f"row {row} came or went"
            continue
        for facet, facts in now.facts[row].items():
            assert facet in facets or facts == then.facts[row][facet], f"row {row}"
            if then.epoch == now.epoch and facet in FACTS:
                assert facet in facets or now.ids[row][facet] == then.ids[row][facet], f"ids of row {row}"


def test_the_cache_is_right_after_any_sequence_of_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InternedColumn, "MIN_UNUSED", 2)  # so that ids are given anew every few steps
    run_state_machine_as_test(CacheMachine, settings=settings(max_examples=30, stateful_step_count=20))
