"""An evaluation that is kept up to date says what a new one says, whatever happened in between."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.cache.cache import Cache
from scheduler.cache.columns import InternedColumn
from scheduler.cache.node_table import NodeTable
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code
from scheduler.profile.changed_rows import FEW_ROWS
from scheduler.profile.evaluation import Evaluation
from scheduler.profile.failure import PluginFailure
from scheduler.profile.profile import Profile
from tests.support.builders import make_node, make_pod
from tests.support.core_run import default_profiles
from tests.support.scripted_plugins import (
    Crowding,
    Normalized,
    Occupancy,
    Parity,
    Score,
    Share,
    Telling,
    make_profile,
    named,
)
from tests.support.small_cluster import small_node, small_pod

JOURNAL_CAPACITY = 40
LABEL_KEYS = 2
NODES = tuple(f"n{number}" for number in range(14))

(DEFAULT,) = default_profiles().values()
CROWDED = make_profile(
    *DEFAULT.filter,
    Parity(),
    Crowding(),
    Share(),
    named(Normalized, "Steps", by_name={name: 9 * (number // 3) for number, name in enumerate(NODES)}),
    weights={"Crowding": 3, "Steps": -2},
)
TOLD = make_profile(
    *DEFAULT.filter,
    named(Telling, "Few"),
    named(Telling, "Many", refused=NODES[2:]),
    named(Normalized, "Steps", by_name={name: 9 * (number // 3) for number, name in enumerate(NODES)}),
)


def facts(evaluation: Evaluation, table: NodeTable) -> dict[str, Any]:
    """All that an evaluation says, by the names of nodes."""
    names = {table.name_of(row): row for row, live in enumerate(table.live.tolist()) if live}
    found: dict[str, Any] = {
        "prefilter": evaluation.prefilter,
        "verdicts": {name: evaluation.status(row) for name, row in names.items()},
        "feasible": {table.name_of(row) for row in evaluation.feasible_rows()},
        "count": evaluation.feasible_count,
        "message": evaluation.failure_message(),
        "rejectors": evaluation.rejectors(),
        "chosen": evaluation.select(),
    }
    if evaluation.feasible_count:
        evaluation.refresh_scores()
        rows = {name: names[name] for name in found["feasible"]}
        found["scores"] = {name: evaluation.scores(row) for name, row in rows.items()}
        found["totals"] = {name: evaluation.total(row) for name, row in rows.items()}
    return found


def new(profile: Profile, pod: PodInfo, table: NodeTable) -> Evaluation:
    evaluation = Evaluation(profile, pod, table)
    evaluation.refresh()
    return evaluation


class Twins:
    """A cluster that changes at random, and evaluations of one pod that are kept while it does."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.cache = Cache(seed=1)
        self.cache.table = NodeTable(1, JOURNAL_CAPACITY, LABEL_KEYS)
        self.profile = random.choice((DEFAULT, CROWDED, TOLD))
        self.pod = PodInfo(small_pod(random, "subject"))
        for name in NODES[: random.randint(0, 12)]:
            self.cache.apply_node(small_node(random, name))
        self.kept = new(self.profile, self.pod, self.cache.table)

    def change(self) -> None:
        random, cache = self.random, self.cache
        match random.randint(0, 9):
            case 0 | 1:
                cache.apply_node(small_node(random, random.choice(NODES)))
            case 2:
                cache.remove_node(random.choice(NODES))
            case 3:
                cache.remove_node("n0")
                cache.apply_node(small_node(random, "n5"))
            case 4:
                # A selector of another pod makes a label column, which may make the table give ids anew.
                other = PodInfo(make_pod(node_selector={f"key{random.randint(0, 5)}": "a"}))
                new(DEFAULT, other, cache.table)
            case 5:
                cache.remove_pod(f"default-p{random.randint(0, 9)}")
            case _:
                name, node = f"p{random.randint(0, 9)}", random.choice(NODES)
                cache.apply_pod(PodInfo(small_pod(random, name, node)))

    def look(self) -> dict[str, Any]:
        """What the kept evaluation says now, after it was compared with a new one."""
        table = self.cache.table
        self.kept.refresh()
        kept, made = facts(self.kept, table), facts(new(self.profile, self.pod, table), table)
        assert kept == made
        return kept


SEEDS = st.integers(0, 2**32)


@given(SEEDS)
@settings(max_examples=25)
def test_a_kept_evaluation_equals_a_new_one(seed: int) -> None:
    random = Random(seed)
    twins = Twins(random)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InternedColumn, "MIN_UNUSED", 2)  # so that ids are given anew every few steps
        for _ in range(30):
            for _ in range(random.choice((0, 1, 1, 1, 2, 3, 15, 60))):
                twins.change()
            # Sometimes it is not asked about scores for a while, as in cycles that find one node or none.
            if random.random() < 0.3:
                twins.kept.refresh()
            else:
                twins.look()


def test_the_random_changes_reach_what_matters() -> None:
    """Otherwise the equality above says little: how many nodes fit, what refuses, ids anew, a lost journal."""
    reached: Counter[str] = Counter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InternedColumn, "MIN_UNUSED", 2)
        for seed in range(20):
            twins = Twins(Random(seed))
            for _ in range(30):
                epoch, position = twins.cache.table.epoch, twins.cache.table.position
                for _ in range(twins.random.choice((1, 1, 2, 15, 60))):
                    twins.change()
                seen = twins.look()
                reached[f"{min(seen['count'], 3)} fit"] += 1
                reached["ids anew"] += twins.cache.table.epoch != epoch
                changes = twins.cache.table.changes_since(position)
                reached["journal lost"] += changes is None
                reached["many rows"] += changes is not None and len(changes.rows) > FEW_ROWS
                reached["row free"] += bool(twins.cache.table.free_rows)
                reached["prefilter"] += seen["prefilter"].code is not Code.SUCCESS
                for status in seen["verdicts"].values():
                    reached[status.plugin or status.code.label] += 1
    wanted = {
        "0 fit",
        "1 fit",
        "2 fit",
        "3 fit",
        "ids anew",
        "journal lost",
        "row free",
        "UnschedulableAndUnresolvable",
    }
    wanted |= {"NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", "Success"}

    assert {name: reached[name] for name in wanted if reached[name] < 10} == {}


def make_twin(profile: Profile = DEFAULT, **pod: Any) -> tuple[Cache, Evaluation, PodInfo]:
    cache = Cache(seed=1)
    subject = PodInfo(make_pod("subject", **pod))
    return cache, Evaluation(profile, subject, cache.table), subject


def assert_equal_to_new(cache: Cache, evaluation: Evaluation, pod: PodInfo, profile: Profile = DEFAULT) -> None:
    evaluation.refresh()
    assert facts(evaluation, cache.table) == facts(new(profile, pod, cache.table), cache.table)


def test_the_table_may_grow_beyond_its_first_arrays() -> None:
    cache, evaluation, pod = make_twin()
    for number in range(300):
        cache.apply_node(make_node(f"n{number}", allocatable={"cpu": str(number % 5)}))
        if number % 7 == 0:
            assert_equal_to_new(cache, evaluation, pod)


def test_a_row_that_another_node_took_over_is_looked_at_anew() -> None:
    cache, evaluation, pod = make_twin()
    cache.apply_node(make_node("n1"))
    cache.apply_node(make_node("n2"))
    assert_equal_to_new(cache, evaluation, pod)
    cache.remove_node("n1")
    cache.apply_node(make_node("other", unschedulable=True))

    assert_equal_to_new(cache, evaluation, pod)
    row = cache.table.row_of("other")
    assert row == 0
    assert evaluation.status(row).plugin == "NodeUnschedulable"


def test_a_row_without_a_node_never_fits() -> None:
    cache, evaluation, _ = make_twin(requests={"cpu": "0"})
    cache.apply_node(make_node("n1"))
    evaluation.refresh()
    cache.remove_node("n1")
    evaluation.refresh()

    assert (evaluation.feasible_count, evaluation.feasible_rows(), evaluation.select()) == (0, [], None)


def test_a_row_that_leaves_moves_the_extremum_of_all_others() -> None:
    steps = named(Normalized, "Steps", by_name={"n1": 10, "n2": 40, "n3": 70})
    profile = make_profile(*DEFAULT.filter, steps)
    cache, evaluation, pod = make_twin(profile)
    for name in ("n1", "n2", "n3"):
        cache.apply_node(make_node(name))
    assert_equal_to_new(cache, evaluation, pod, profile)
    row = cache.table.row_of("n2")
    assert row is not None
    assert evaluation.scores(row)["Steps"] == (40, 30)

    cache.apply_node(make_node("n1", unschedulable=True))
    assert_equal_to_new(cache, evaluation, pod, profile)
    assert evaluation.scores(row)["Steps"] == (40, 0)

    cache.apply_node(make_node("n1"))
    assert_equal_to_new(cache, evaluation, pod, profile)
    assert evaluation.scores(row)["Steps"] == (40, 30)


def test_an_extremum_that_two_rows_hold_stays_until_both_are_gone() -> None:
    steps = named(Normalized, "Steps", by_name={"n1": 10, "n2": 10, "n3": 40, "n4": 40})
    profile = make_profile(*DEFAULT.filter, steps)
    cache, evaluation, pod = make_twin(profile)
    names = ("n0", "n1", "n2", "n3", "n4")
    for name in names:
        cache.apply_node(make_node(name))
    assert_equal_to_new(cache, evaluation, pod, profile)
    for name in ("n3", "n0", "n4", "n1", "n2"):
        cache.apply_node(make_node(name, unschedulable=True))
        assert_equal_to_new(cache, evaluation, pod, profile)
    for name in names:
        cache.apply_node(make_node(name))
        assert_equal_to_new(cache, evaluation, pod, profile)
        # In and out again: the second holder of an extremum must not be counted twice.
        for back in (True, False):
            cache.apply_node(make_node(name, unschedulable=back))
            assert_equal_to_new(cache, evaluation, pod, profile)


def test_an_input_beyond_the_row_scores_all_rows_again() -> None:
    profile = make_profile(Crowding())
    cache, evaluation, pod = make_twin(profile)
    cache.apply_node(make_node("n1"))
    cache.apply_node(make_node("n2"))
    assert_equal_to_new(cache, evaluation, pod, profile)
    cache.apply_node(make_node("n3"))

    assert_equal_to_new(cache, evaluation, pod, profile)
    row = cache.table.row_of("n1")
    assert row is not None
    assert evaluation.scores(row)["Crowding"].raw == 3


def test_an_image_that_reaches_one_more_node_counts_on_all() -> None:
    cache, evaluation, pod = make_twin()
    size = 10**9
    cache.apply_node(make_node("n1", images={"registry.example/app:1": size}))
    cache.apply_node(make_node("n2"))
    evaluation.refresh()
    evaluation.refresh_scores()
    row = cache.table.row_of("n1")
    assert row is not None
    before = evaluation.scores(row)["ImageLocality"].raw
    cache.apply_node(make_node("n2", images={"registry.example/app:1": size}))

    assert_equal_to_new(cache, evaluation, pod)
    assert evaluation.scores(row)["ImageLocality"].raw > before


def test_a_pod_may_fit_on_none_then_one_then_two_nodes_and_back() -> None:
    cache, evaluation, pod = make_twin()
    for cordoned in ((True, True), (True, False), (False, False), (False, True), (True, True), (False, False)):
        for name, unschedulable in zip(("n1", "n2"), cordoned, strict=True):
            cache.apply_node(make_node(name, unschedulable=unschedulable))
        assert_equal_to_new(cache, evaluation, pod)
        assert evaluation.feasible_count == 2 - sum(cordoned)


def test_an_input_beyond_the_row_changes_verdicts_of_nodes_that_many_changes_left_alone() -> None:
    cache = Cache(seed=1)
    for number in range(14):
        cache.apply_node(make_node(f"n{number}"))
    profile, pod = make_profile(Parity()), PodInfo(make_pod())
    cache.remove_node("n13")
    evaluation = new(profile, pod, cache.table)
    assert not {1, 3} & set(evaluation.feasible_rows())

    for number in range(4, 13):
        cache.apply_node(make_node(f"n{number}", labels={"many": "changes"}))
    cache.remove_node("n12")

    assert_equal_to_new(cache, evaluation, pod, profile)
    assert {1, 3} <= set(evaluation.feasible_rows())


def telling(*scores: Any, count: int = 13) -> tuple[Cache, Evaluation, Profile, PodInfo]:
    """n1 and n3 are refused as long as the number of nodes is odd."""
    cache = Cache(seed=1)
    for number in range(count):
        cache.apply_node(make_node(f"n{number}"))
    profile, pod = make_profile(Telling(), *scores), PodInfo(make_pod())
    evaluation = new(profile, pod, cache.table)
    assert not {1, 3} & set(evaluation.feasible_rows())
    return cache, evaluation, profile, pod


def test_rows_that_a_plugin_tells_are_brought_up_to_date_beside_few_that_changed() -> None:
    cache, evaluation, profile, pod = telling()

    cache.remove_node("n12")

    assert_equal_to_new(cache, evaluation, pod, profile)
    assert {1, 3} <= set(evaluation.feasible_rows())


def test_rows_that_a_plugin_tells_are_brought_up_to_date_beside_many_that_changed() -> None:
    cache, evaluation, profile, pod = telling(count=97)

    for number in range(4, 12):
        cache.apply_node(make_node(f"n{number}", labels={"many": "changes"}))
    cache.remove_node("n96")

    assert_equal_to_new(cache, evaluation, pod, profile)
    assert {1, 3} <= set(evaluation.feasible_rows())


def test_scores_follow_nodes_that_entered_and_left_while_nobody_asked_for_scores() -> None:
    by_name = {"n0": 1, "n1": 9, "n2": 5}
    cache, evaluation, profile, pod = telling(named(Normalized, "Steps", by_name=by_name))
    evaluation.refresh_scores()

    cache.remove_node("n12")
    evaluation.refresh()
    cache.apply_node(make_node("n2", labels={"another": "change"}))

    assert_equal_to_new(cache, evaluation, pod, profile)


def test_after_too_many_changes_every_row_is_looked_at_and_not_only_those_that_a_plugin_tells() -> None:
    cache = Cache(seed=1)
    cache.table = NodeTable(16, 4, LABEL_KEYS)
    for number in range(13):
        cache.apply_node(make_node(f"n{number}"))
    profile, pod = make_profile(Telling()), PodInfo(make_pod())
    evaluation = new(profile, pod, cache.table)

    cache.remove_node("n1")
    cache.apply_node(make_node("another in its row"))
    for _ in range(5):
        cache.apply_node(make_node("n12", unschedulable=True))
        cache.apply_node(make_node("n12"))
    cache.remove_node("n12")

    assert_equal_to_new(cache, evaluation, pod, profile)


def test_rows_that_a_plugin_told_before_it_failed_are_not_forgotten() -> None:
    trouble: list[Exception] = []
    cache = Cache(seed=1)
    for number in range(13):
        cache.apply_node(make_node(f"n{number}"))
    profile, pod = make_profile(named(Telling, "Stumbling", trouble=trouble)), PodInfo(make_pod())
    evaluation = new(profile, pod, cache.table)
    cache.remove_node("n12")

    trouble.append(RuntimeError("boom"))
    with pytest.raises(PluginFailure, match="boom"):
        evaluation.refresh()

    assert_equal_to_new(cache, evaluation, pod, profile)


MANY = tuple(f"n{number}" for number in range(FEW_ROWS + 2))


def crowd(*scores: Any) -> tuple[Cache, Evaluation, Profile, PodInfo]:
    """Ten nodes of twelve are refused as soon as there are thirteen, and fit again with one more or less."""
    cache = Cache(seed=1)
    for number in range(12):
        cache.apply_node(make_node(f"n{number}"))
    profile, pod = make_profile(named(Parity, "Crowd", refused=MANY), *scores), PodInfo(make_pod())
    cache.apply_node(make_node("odd"))
    return cache, new(profile, pod, cache.table), profile, pod


def test_many_nodes_that_nothing_happened_to_enter_with_their_scores() -> None:
    scores = {name: 9 * number for number, name in enumerate((*MANY, "n10", "n11"))}
    # The node that leaves is not the lowest or highest, so that these move because of the others alone.
    cache, evaluation, profile, pod = crowd(named(Normalized, "Steps", by_name={**scores, "odd": 95}))
    evaluation.refresh_scores()

    cache.remove_node("odd")

    assert_equal_to_new(cache, evaluation, pod, profile)
    assert evaluation.feasible_count == 12


def test_many_nodes_enter_with_what_happened_to_their_scores_meanwhile() -> None:
    cache, evaluation, profile, pod = crowd(Occupancy())
    evaluation.refresh_scores()
    cache.apply_pod(PodInfo(make_pod("there", node_name="n5")))
    evaluation.refresh()
    evaluation.refresh_scores()

    cache.remove_node("odd")

    assert_equal_to_new(cache, evaluation, pod, profile)
    chosen = evaluation.select()
    assert chosen is not None
    assert cache.table.name_of(chosen) == "n5"


def test_a_score_out_of_range_counts_once_its_node_enters_with_many() -> None:
    cache, evaluation, _, _ = crowd(named(Score, "Wild", by_name={"n1": 200}))
    evaluation.refresh_scores()

    cache.remove_node("odd")
    evaluation.refresh()

    with pytest.raises(PluginFailure, match="invalid score 200"):
        evaluation.refresh_scores()
