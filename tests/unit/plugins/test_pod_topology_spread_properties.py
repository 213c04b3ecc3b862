"""PodTopologySpread on random clusters: rows equal columns, and what is kept equals what is worked out anew."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.api.objects import LabelSelector, Node, Pod, Taint, Toleration, TopologySpreadConstraint
from scheduler.cache.cache import Cache
from scheduler.cache.columns import InternedColumn
from scheduler.cache.node_table import NodeTable
from scheduler.framework.plugin import CycleState
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code
from scheduler.plugins.pod_topology_spread import PodTopologySpread
from scheduler.profile.evaluation import Evaluation
from scheduler.profile.profile import Profile
from tests.support.builders import HOSTNAME, make_node, make_pod
from tests.support.core_run import default_profiles
from tests.support.plugin_runs import ask
from tests.support.scripted_plugins import make_profile
from tests.support.selecting_objects import service
from tests.support.topology_spread import ZONE, hard, soft, with_args

NODES = tuple(f"n{number}" for number in range(12))
SEEDS = st.integers(0, 2**32)
LISTED = with_args(
    defaultingType="List",
    defaultConstraints=[
        {"maxSkew": 2, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "nodeTaintsPolicy": "Honor"},
        {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway"},
        {"maxSkew": 3, "topologyKey": HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway"},
    ],
)
(DEFAULT,) = default_profiles().values()
PROFILES = (
    DEFAULT,
    make_profile(*(LISTED if plugin.name == LISTED.name else plugin for plugin in DEFAULT.deciding_plugins())),
)


def random_node(random: Random, name: str) -> Node:
    labels = {key: random.choice(values) for key, values in ((ZONE, ("a", "b", "c", "")), ("rack", ("1", "2", "")))}
    kept = {key: value for key, value in labels.items() if random.random() < 0.85}
    taints = [Taint(key="k", effect=random.choice(("NoSchedule", "PreferNoSchedule")))] if random.random() < 0.3 else []
    node = make_node(
        name, labels=kept, taints=taints, unschedulable=random.random() < 0.1, allocatable={"pods": random.choice("49")}
    )
    if random.random() < 0.1:
        del (node.metadata.labels or {})[HOSTNAME]
    return node


def random_labels(random: Random) -> dict[str, str]:
    return {"app": random.choice(("web", "db")), "hash": random.choice("12")}


def random_constraint(random: Random) -> TopologySpreadConstraint:
    selector = random.choice((None, LabelSelector(), *(LabelSelector(match_labels={"app": "web"}),) * 4))
    return random.choice((hard, hard, soft, soft))(
        random.choice((ZONE, "rack", HOSTNAME)),
        random.choice((1, 1, 2, 3)),
        selector,
        min_domains=random.choice((None, None, 2, 4)),
        node_affinity_policy=random.choice((None, "Honor", "Ignore")),
        node_taints_policy=random.choice((None, "Honor", "Ignore")),
        match_label_keys=random.choice((None, ["hash"])),
    )


def random_subject(random: Random) -> Pod:
    constraints = [random_constraint(random) for _ in range(random.choice((0, 0, 1, 2, 3)))]
    fields: dict[str, Any] = {"topology_spread_constraints": constraints or None}
    if random.random() < 0.3:
        fields["tolerations"] = [Toleration(key="k", operator="Exists")]
    if random.random() < 0.2:
        fields["node_selector"] = {"rack": "1"}
    return make_pod("subject", labels=random_labels(random), **fields)


class Cluster:
    """Nodes, pods and Services that change at random."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.cache = Cache(seed=1)
        self.cache.table = NodeTable(1, journal_capacity=60, label_keys=3)
        for name in NODES[: random.randint(1, 12)]:
            self.cache.apply_node(random_node(random, name))
        for number in range(random.randint(0, 20)):
            self.put_pod(number)
        self.cache.apply_selecting_object(service("web", {"app": "web"}))

    def put_pod(self, number: int) -> None:
        random = self.random
        ending = "2026-11-30T00:00:00Z" if random.random() < 0.1 else None
        namespace = "default" if random.random() < 0.9 else "other"
        pod = make_pod(
            f"p{number}",
            uid=f"p{number}",
            namespace=namespace,
            labels=random_labels(random),
            node_name=random.choice(NODES),
            deletion_timestamp=ending,
        )
        self.cache.apply_pod(PodInfo(pod))

    def change(self) -> None:
        random = self.random
        match random.randint(0, 9):
            case 0:
                self.cache.apply_node(random_node(random, random.choice(NODES)))
            case 1:
                self.cache.remove_node(random.choice(NODES))
            case 2 | 3 | 4:
                self.cache.remove_pod(f"p{random.randint(0, 30)}")
            case _:
                self.put_pod(random.randint(0, 30))


@settings(max_examples=60)
@given(SEEDS)
def test_rows_equal_columns(seed: int) -> None:
    random = Random(seed)
    table, pod = Cluster(random).cache.table, PodInfo(random_subject(random))
    feasible = table.live & (np.array([random.random() for _ in range(table.size)]) < 0.7)
    for plugin in (PodTopologySpread(), LISTED):
        state: CycleState = {}
        if plugin.pre_filter(state, pod, table.columns(plugin)).status.code is Code.SUCCESS:
            ask(table, plugin, "filter", state, pod)
        if plugin.pre_score(state, pod, table.columns(plugin, feasible=feasible)).code is Code.SUCCESS:
            raw = ask(table, plugin, "score", state, pod)
            low, high = min(raw.values()), max(raw.values())
            column = (
                plugin.normalize(state, pod, table.columns(plugin), np.array([*raw.values()]), low, high)
                if len(raw) == table.size
                else None
            )
            rows = [
                plugin.normalize(state, pod, table.row(plugin, table.rows[name]), score, low, high)
                for name, score in raw.items()
            ]
            assert column is None or np.asarray(column).tolist() == [
                rows[[*raw].index(table.name_of(row))] for row in range(table.size)
            ]


def facts(evaluation: Evaluation, table: NodeTable) -> dict[str, Any]:
    names = {table.name_of(row): row for row in table.rows.values()}
    found: dict[str, Any] = {
        "verdicts": {name: evaluation.status(row) for name, row in names.items()},
        "message": evaluation.failure_message(),
        "chosen": evaluation.select(),
    }
    if evaluation.feasible_count:
        evaluation.refresh_scores()
        rows = evaluation.feasible_rows()
        found["scores"] = {table.name_of(row): (evaluation.scores(row), evaluation.total(row)) for row in rows}
    return found


def told(seed: int, reached: Counter[str]) -> None:
    """A story: an evaluation is kept while the cluster changes, and compared with a new one again and again."""
    random = Random(seed)
    cluster, profile = Cluster(random), random.choice(PROFILES)
    pod, table = PodInfo(random_subject(random)), cluster.cache.table
    kept = new(profile, pod, table)
    for _ in range(25):
        for _ in range(random.choice((0, 1, 1, 1, 2, 3, 15, 80))):
            cluster.change()
        kept.refresh()
        if random.random() < 0.2:
            continue
        made = new(profile, pod, table)
        expected = facts(made, table)
        assert facts(kept, table) == expected
        note(reached, made, expected)
        if made.feasible_count and random.random() < 0.5:
            # As the cycle does: the pod, or another one of its shape, is placed.
            row = made.select()
            assert row is not None
            name = f"s{random.randint(0, 20)}"
            cluster.cache.remove_pod(name)
            twin = msgspec.structs.replace(pod.pod, metadata=msgspec.structs.replace(pod.pod.metadata, uid=name))
            cluster.cache.assume(PodInfo(twin), table.name_of(row))


def new(profile: Profile, pod: PodInfo, table: NodeTable) -> Evaluation:
    made = Evaluation(profile, pod, table)
    made.refresh()
    return made


def note(reached: Counter[str], evaluation: Evaluation, found: dict[str, Any]) -> None:
    reached.update(reason for status in found["verdicts"].values() for reason in status.reasons)
    reached["scored"] += any("PodTopologySpread" in scores for scores, _ in found.get("scores", {}).values())
    reached["nothing fits"] += not evaluation.feasible_count


@given(SEEDS)
@settings(max_examples=40)
def test_a_kept_evaluation_equals_a_new_one(seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InternedColumn, "MIN_UNUSED", 2)  # so that ids are given anew every few steps
        told(seed, Counter())


def test_the_stories_reach_what_matters() -> None:
    reached: Counter[str] = Counter()
    for seed in range(25):
        told(seed, reached)
    for wanted in (
        "node(s) didn't match pod topology spread constraints",
        "node(s) didn't match pod topology spread constraints (missing required label)",
        "scored",
        "nothing fits",
    ):
        assert reached[wanted] >= 10, reached
