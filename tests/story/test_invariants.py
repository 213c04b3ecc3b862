"""Whatever happens to a cluster, and in whatever order it is told: what must hold after each step of a scheduler on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from scheduler.api.objects import (
    Affinity,
    LabelSelector,
    Namespace,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodResourceClaim,
    PodSchedulingGate,
    PodStatus,
)
from scheduler.app.replay_command import build_generation
from scheduler.batch.options import BatchOptions
from scheduler.batch.outcomes import Attempt
from scheduler.cache.cache import Cache
from scheduler.core.scheduler import Scheduler
from scheduler.core.story import Header, replay
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code, Status
from scheduler.profile.evaluation import Evaluation
from scheduler.profile.profile import Profile
from scheduler.profile.refusal import refusal
from scheduler.queue.backoff import Backoff
from scheduler.queue.queued_pod import Room
from tests.support.builders import make_pod
from tests.support.core_run import changed, default_profiles
from tests.support.fake_cluster import FakeCluster, Follower
from tests.support.small_cluster import NODES, small_node, small_pod

SEED = 5
NAMES = tuple(f"p{number}" for number in range(24))
ROOMS = (Room.ACTIVE, Room.BACKOFF, Room.UNSCHEDULABLE, Room.GATED)

# Whose pods have to go is a story of its own.
PEACEFUL = {"multiPoint": {"disabled": [{"name": "DefaultPreemption"}]}}
CONFIGURATION: dict[str, Any] = {
    "profiles": [
        {"schedulerName": "reprise", "plugins": PEACEFUL},
        {"schedulerName": "second", "plugins": {"score": {"disabled": [{"name": "NodeResourcesFit"}]}, **PEACEFUL}},
    ]
}
PROFILES = default_profiles(CONFIGURATION)
_PACKING = {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}
_FIRST: dict[str, Any] = CONFIGURATION["profiles"][0]
LATER_CONFIGURATIONS: tuple[dict[str, Any], ...] = (
    CONFIGURATION,
    {"profiles": [{**_FIRST, "pluginConfig": [_PACKING]}, {**_FIRST, "schedulerName": "second"}]},
    {"profiles": [_FIRST], "podInitialBackoffSeconds": 2},
    {"profiles": [*CONFIGURATION["profiles"], {**_FIRST, "schedulerName": "other"}], "podMaxBackoffSeconds": 3},
)
LATER = [(one, default_profiles(one)) for one in LATER_CONFIGURATIONS]

SEEDS = st.integers(0, 2**16)
STEPS = (
    *("create_pods",) * 5,
    *("end_pod",) * 4,
    *("change_pod",) * 2,
    *("change_node", "reload", "name_the_team", "guard_the_namespace", "bind_behind_our_back", "wait"),
    *("hear_of_pods",) * 6,
    *("hear_of_nodes",) * 2,
    *("serve_bind",) * 3,
    *("hear_answer",) * 3,
    *("decide",) * 5,
)
"""Kinds of steps, each as often as it should come."""

REACHED: Counter[str] = Counter()
"""What the drawn stories came upon."""


# Entries never age and are never checked by the scheduler itself, which would mend what the tests are to find.
BATCHING = BatchOptions(max_signatures=3, max_age_seconds=0.0, verify_fraction=0.0)
HEADER = Header(seed=SEED, configuration=CONFIGURATION, batching=BATCHING)
SHAPES = 6


def new_scheduler() -> Scheduler:
    return Scheduler(PROFILES, seed=SEED, backoff=Backoff(), batching=BATCHING)


def guard() -> Pod:
    """A pod whose required anti-affinity reaches namespaces of team a, so that no pod there fits into its zone for now."""
    selector = LabelSelector(match_labels={"team": "a"})
    term = PodAffinityTerm(topology_key="zone", label_selector=LabelSelector(), namespace_selector=selector)
    affinity = Affinity(pod_anti_affinity=PodAffinity(required=[term]))
    return make_pod("guard", namespace="elsewhere", node_name="n0", affinity=affinity, scheduler_name="other")


def refused_for_others(follower: Follower, pod: PodInfo, profiles: Mapping[str, Profile]) -> dict[str, Status]:
    """By node why it does not take the pod beside those that are nominated to it."""
    nodes = {other.status.nominated_node_name for other in follower.ahead_of(pod.pod)} & set(follower.nodes)
    if not nodes:
        return {}
    cache = follower.cache_with_nominated(pod.pod)
    evaluation = Evaluation(profiles[pod.pod.spec.scheduler_name], pod, cache.table)
    evaluation.refresh()
    rows = {name: row for name in nodes if (row := cache.table.row_of(name)) is not None}
    statuses = {name: evaluation.status(row) for name, row in rows.items()}
    return {name: status for name, status in statuses.items() if status.code is not Code.SUCCESS and status.plugin}


def seen(
    pod: PodInfo, cache: Cache, refused: Mapping[str, Status], profiles: Mapping[str, Profile] = PROFILES
) -> dict[str, Any]:
    """Everything that a decision rests on, from a new evaluation on this cache; ``refused`` nodes hold for it alone."""
    table = cache.table
    missing = refusal(pod, cache)
    if missing is not None:
        return {"refused": missing}
    evaluation = Evaluation(profiles[pod.pod.spec.scheduler_name], pod, table)
    evaluation.refresh()
    names = {table.name_of(row): row for row, live in enumerate(table.live.tolist()) if live}
    instead = {names[name]: status for name, status in refused.items()}
    row = evaluation.select(instead)
    nominated = pod.pod.status.nominated_node_name
    if nominated in names and nominated not in refused and evaluation.status(names[nominated]).code is Code.SUCCESS:
        row = names[nominated]
    found: dict[str, Any] = {
        "node": None if row is None else table.name_of(row),
        "verdicts": {name: evaluation.status(number) for name, number in names.items()},
        "feasible": sorted(table.name_of(number) for number in evaluation.feasible_rows()),
        "message": evaluation.failure_message(instead),
        "rejectors": evaluation.rejectors(instead),
    }
    if evaluation.feasible_count:
        evaluation.refresh_scores()
        found["scores"] = {name: evaluation.scores(names[name]) for name in found["feasible"]}
        found["totals"] = {name: evaluation.total(names[name]) for name in found["feasible"]}
    return found


class Story(RuleBasedStateMachine):
    """Steps are drawn; what a step does in detail is decided by a Random of its own, so that it replays."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = FakeCluster()
        self.follower = Follower(self.cluster, new_scheduler(), HEADER)
        self.made = 0
        self.profiles: Mapping[str, Profile] = PROFILES
        self.generation = 1

    @initialize(seed=SEEDS)
    def begin(self, seed: int) -> None:
        """A few nodes and pods that the scheduler knows."""
        random = Random(seed)
        self.name_the_team(random)
        for name in NODES[: random.choice((0, 2, 4, 5))]:
            self.cluster.put_node(small_node(random, name))
        self.create_pods(random)
        self.follower.hear_of_nodes(5)
        self.follower.hear_of_pods(random.randint(0, 3))

    # One rule, so that Hypothesis never leaves out a kind of step for a whole story: most of them are needed to get anywhere.
    @rule(step=st.sampled_from(STEPS), seed=SEEDS)
    def take(self, step: str, seed: int) -> None:
        getattr(self, step)(Random(seed))

    # What happens to the cluster

    def _pick(self, random: Random, *, assigned: bool | None = None) -> Pod | None:
        pods = [pod for pod in self.cluster.pods.values() if assigned is None or bool(pod.spec.node_name) is assigned]
        return random.choice(pods) if pods else None

    def create_pods(self, random: Random) -> None:
        for name in random.sample(NAMES, random.randint(1, 4)):
            if any(pod.metadata.name == name for pod in self.cluster.pods.values()):
                continue
            self.made += 1
            # Some shapes come again and again, so that decisions are reused.
            shape = Random(random.randrange(SHAPES)) if random.random() < 0.7 else random
            pod = small_pod(shape, name, uid=f"{name}-{self.made}")
            fields: dict[str, Any] = {
                "scheduler_name": random.choice((*("reprise",) * 5, "second", "second", "other")),
                "priority": random.choice((None, 0, 5)),
            }
            if random.random() < 0.1:
                fields["scheduling_gates"] = [PodSchedulingGate(name="g")]
            if random.random() < 0.1:
                fields["node_name"] = random.choice(NODES)
            if random.random() < 0.05:
                fields["resource_claims"] = [PodResourceClaim(name="gpu")]
            if random.random() < 0.15:
                status = PodStatus(nominated_node_name=random.choice(NODES))
                pod = msgspec.structs.replace(pod, status=status)
            self.cluster.put_pod(changed(pod, **fields))

    def change_pod(self, random: Random) -> None:
        pod = self._pick(random)
        if pod is None:
            return
        match random.randint(0, 3):
            case 0:
                self.cluster.put_pod(changed(pod, metadata={"labels": {"app": random.choice("xyz")}}))
            case 1:
                self.cluster.put_pod(changed(pod, scheduling_gates=None))
            case 2:
                sized = small_pod(random, "other").spec.containers[0].resources
                container = msgspec.structs.replace(pod.spec.containers[0], resources=sized)
                self.cluster.put_pod(changed(pod, containers=[container]))
            case _:
                more = small_pod(random, "other").spec.tolerations or []
                self.cluster.put_pod(changed(pod, tolerations=[*(pod.spec.tolerations or []), *more]))

    def end_pod(self, random: Random) -> None:
        pod = self._pick(random, assigned=random.choice((True, True, True, False)))
        if pod is None:
            return
        if random.random() < 0.4 and pod.metadata.deletion_timestamp is None:
            self.cluster.terminate(pod.metadata.uid)
        else:
            self.cluster.remove_pod(pod.metadata.uid)

    def bind_behind_our_back(self, random: Random) -> None:
        pod = self._pick(random, assigned=False)
        if pod is not None:
            self.cluster.bind(pod.metadata.uid, random.choice(NODES))

    def change_node(self, random: Random) -> None:
        if random.random() < 0.2:
            self.cluster.remove_node(random.choice(NODES))
        else:
            self.cluster.put_node(small_node(random, random.choice(NODES)))

    def name_the_team(self, random: Random) -> None:
        labels = {"team": random.choice("abbb")}
        self.follower.hear_of_namespace(Namespace(metadata=ObjectMeta(name="default", labels=labels)))

    def guard_the_namespace(self, random: Random) -> None:
        if guard().metadata.uid in self.cluster.pods:
            self.cluster.remove_pod(guard().metadata.uid)
        else:
            self.cluster.put_pod(guard())

    # What the scheduler is told, and when

    def hear_of_pods(self, random: Random) -> None:
        self.follower.hear_of_pods(random.randint(1, 8))

    def hear_of_nodes(self, random: Random) -> None:
        self.follower.hear_of_nodes(random.randint(1, 3))

    def serve_bind(self, random: Random) -> None:
        if self.follower.binds:
            lost = "etcdserver: request timed out" if random.random() < 0.2 else None
            self.follower.serve_bind(random.randrange(len(self.follower.binds)), lost)

    def hear_answer(self, random: Random) -> None:
        if not self.follower.answers:
            return
        index = random.randrange(len(self.follower.answers))
        answer = self.follower.answers[index]
        pod = self.follower.pods.get(answer.uid)
        seen_at = "gone" if pod is None else "seen on a node" if pod.spec.node_name else "not seen on a node"
        REACHED[f"{'bound' if answer.error is None else 'failed'}, {seen_at}"] += 1
        self.follower.hear_answer(index)

    def wait(self, random: Random) -> None:
        self.follower.wait(random.choice((0.25, 1.0, 3.0, 12.0)))

    # What the scheduler does

    def decide(self, random: Random) -> None:
        for _ in range(random.randint(1, 4)):
            self.decide_once()

    def decide_once(self) -> None:
        """A decision is the one that a new scheduler would make which was told everything at once."""
        follower = self.follower
        waiting = [queued.pod for queued in follower.state.queue.waiting()]
        refused = {pod.uid: refused_for_others(follower, pod, self.profiles) for pod in waiting}
        before = {pod.uid: seen(pod, follower.state.cache, refused[pod.uid], self.profiles) for pod in waiting}
        cache = follower.cache_made_anew()
        result = follower.decide()
        if result is None:
            return
        REACHED[result.outcome] += 1
        REACHED["again"] += result.attempt > 1
        if result.outcome == "skipped":
            return
        pod = PodInfo(follower.pods[result.uid])
        anew = seen(pod, cache, refused[result.uid], self.profiles)
        REACHED["had to leave room"] += bool(refused[result.uid])
        REACHED["was nominated"] += bool(pod.pod.status.nominated_node_name)
        assert before[result.uid] == anew
        if "refused" in anew:
            REACHED["refused"] += 1
            assert (result.outcome, result.message) == ("error", anew["refused"])
        elif not follower.nodes:
            REACHED["no nodes"] += 1
            assert (result.outcome, result.message) == ("unschedulable", "no nodes available to schedule pods")
        elif anew["node"] is None:
            assert (result.outcome, result.message) == ("unschedulable", anew["message"])
            assert result.plugins == anew["rejectors"]
        else:
            assert (result.outcome, result.node_name) == ("assumed", anew["node"])
            assert result.feasible == len(set(anew["feasible"]) - refused[result.uid].keys())
            REACHED["several fit"] += result.feasible > 1

    def reload(self, random: Random) -> None:
        """Another configuration is in force at once, unless a pod would be left that it cannot place."""
        configuration, profiles = random.choice(LATER)
        self.generation += 1
        waiting = [queued.pod.pod for queued in self.follower.state.queue.waiting()]
        binding = [one.queued.pod.pod for one in self.follower.state.bindings.values()]
        left = {pod.spec.scheduler_name for pod in (*waiting, *binding)} - profiles.keys()
        REACHED["a profile is in use"] += bool(left)
        REACHED["a profile is dropped"] += bool(self.profiles.keys() - profiles.keys()) and not left
        REACHED["a profile is new"] += bool(profiles.keys() - self.profiles.keys()) and not left
        reload = self.follower.reload(self.generation, configuration, profiles, BATCHING)
        assert reload.number == self.generation
        assert bool(reload.refused) == bool(left)
        if not left:
            self.profiles = profiles

    # What must hold

    @invariant()
    def the_cache_is_what_it_should_be(self) -> None:
        self.follower.state.cache.validate()

    @invariant()
    def every_pod_is_where_it_belongs_and_nowhere_else(self) -> None:
        follower, state = self.follower, self.follower.state
        outstanding = follower.outstanding()
        assert set(state.bindings) == outstanding
        waiting = {queued.pod.uid: queued.room for queued in state.queue.waiting()}
        assert set(waiting) <= set(follower.pods)
        for uid, pod in follower.pods.items():
            known = state.cache.pod(uid)
            if pod.spec.node_name:
                assert known is not None
                assert (known.node_name, known.assumed) == (pod.spec.node_name, False)
                assert uid not in waiting
            elif uid in outstanding:
                REACHED["forgotten during its bind"] += uid not in follower.assumed
                assumed = follower.assumed.get(uid)
                assert (known is not None) == (assumed is not None)
                assert assumed is None or known is None or (known.node_name, known.assumed) == (assumed[1], True)
                assert uid not in waiting
            else:
                assert known is None or uid in follower.assumed
                ours = pod.spec.scheduler_name in self.profiles and uid not in follower.skipped
                if uid not in follower.assumed:
                    assert (uid in waiting) == ours
        assert state.cache.pod_count == sum(bool(pod.spec.node_name) for pod in follower.pods.values()) + len(
            follower.assumed
        )

    @invariant()
    def the_queue_counts_what_it_holds(self) -> None:
        queue = self.follower.state.queue
        rooms = [queued.room for queued in queue.waiting()]
        assert queue.counts() == {room: rooms.count(room) for room in ROOMS}
        assert not any(queue.is_in_flight(uid) for uid in self.follower.pods)

    def teardown(self) -> None:
        """At the end nobody waits in vain, and the story comes out the same when it is run again."""
        follower = self.follower
        follower.settle()
        for _ in range(25):
            follower.wait(1.0)
            follower.settle()
        for queued in follower.state.queue.waiting():
            REACHED[f"{queued.room} at the end"] += 1
            if queued.room is Room.GATED:
                assert queued.pod.pod.spec.scheduling_gates
                continue
            refused = refused_for_others(follower, queued.pod, self.profiles)
            found = seen(queued.pod, follower.state.cache, refused, self.profiles)
            assert follower.nodes == {} or found.get("node") is None, f"{queued.pod.key} waits for nothing"
        self.the_cache_is_what_it_should_be()
        self.every_pod_is_where_it_belongs_and_nowhere_else()
        assert list(replay(follower.story, lambda header: new_scheduler(), build_generation)) == []
        for (_, attempt), count in follower.state.batching.counters.attempts.items():
            REACHED[attempt.value] += count
        for end, count in follower.checked.items():
            REACHED[f"checked again: {end}"] += count


def test_whatever_happens_the_scheduler_is_right_after_each_step() -> None:
    run_state_machine_as_test(Story, settings=settings(max_examples=60, stateful_step_count=40))


@pytest.mark.long
def test_in_long_stories_too() -> None:
    """These get to what short ones seldom do, and show that they do."""
    REACHED.clear()
    for seed in range(10):
        story, random = Story(), Random(seed)
        story.begin(seed)
        for _ in range(200):
            story.take(random.choice(STEPS), random.getrandbits(32))
            story.the_cache_is_what_it_should_be()
            story.every_pod_is_where_it_belongs_and_nowhere_else()
            story.the_queue_counts_what_it_holds()
        story.teardown()

    wanted = {"assumed", "unschedulable", "error", "skipped", "again", "refused", "no nodes", "several fit"}
    wanted |= {
        f"{end}, {seen_at}"
        for end in ("bound", "failed")
        for seen_at in ("gone", "seen on a node", "not seen on a node")
    }
    wanted |= {"checked again: fits", "checked again: refused"}
    wanted |= {"forgotten during its bind", "unschedulable at the end", "gated at the end"}
    wanted |= {"a profile is in use", "a profile is dropped", "a profile is new"}
    wanted |= {"was nominated", "had to leave room", Attempt.NO_HINT, Attempt.HINT_USED, Attempt.FIT_ERROR}
    assert {name: REACHED[name] for name in wanted if not REACHED[name]} == {}
