"""A story whose decisions mostly come from the batch cache, each compared with a new evaluation of the plain objects.

``python -m tests.support.batch_story --steps 40000`` tells long ones and prints what they came upon.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import msgspec

from scheduler.api.objects import (
    Node,
    Pod,
    PodSchedulingGate,
    PodStatus,
    Volume,
)
from scheduler.batch.options import BatchOptions
from scheduler.core.scheduler import Scheduler
from scheduler.core.story import Header
from scheduler.queue.backoff import Backoff
from tests.support.affinity_shapes import GUARD, GUARDED, INDEX, INDEX_TERM, NAMESPACES, random_namespace
from tests.support.affinity_shapes import SHAPES as AFFINITY_SHAPES
from tests.support.batch_comparison import PROFILES, Comparison
from tests.support.batch_reached import Watched, missing
from tests.support.batch_shapes import SHAPES, build_node, with_containers
from tests.support.builders import make_pod
from tests.support.core_run import changed, default_profiles
from tests.support.fake_cluster import FakeCluster, Follower
from tests.support.selecting_objects import service
from tests.support.small_cluster import small_node
from tests.support.topology_spread import SPREAD_SHAPES

SEED = 5
# Checks at run time would mend what the comparison is to find.
BATCHING = BatchOptions(max_signatures=5, max_age_seconds=0.5, verify_fraction=0.0)
GATES = [PodSchedulingGate(name="g")]

STEPS = (
    *("burst",) * 5,
    *("decide",) * 16,
    *("hear",) * 6,
    *("change_node",) * 4,
    *("end_pod",) * 8,
    *("serve_bind",) * 4,
    *("hear_answer",) * 4,
    *("foreign_pod", "label_pod", "end_nomination", "replace_node", "wait"),
    *("nominate", "cordon") * 2,
    *("label_namespace", "affinity_burst") * 2,
    *("spread_burst",) * 3,
    "serve",
)
# Each changes scores, verdicts, signatures or what is kept of them.
# Whose pods have to go is a story of its own.
_PEACEFUL = {"name": "DefaultPreemption"}
_PROFILES: tuple[dict[str, Any], ...] = (
    {"plugins": {"multiPoint": {"disabled": [_PEACEFUL]}}},
    {
        "plugins": {"multiPoint": {"disabled": [_PEACEFUL]}},
        "pluginConfig": [
            {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}},
            {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 50}},
        ],
    },
    {"plugins": {"multiPoint": {"disabled": [_PEACEFUL, {"name": "NodePorts"}, {"name": "InterPodAffinity"}]}}},
    {
        "plugins": {"multiPoint": {"enabled": [{"name": "ImageLocality", "weight": 7}], "disabled": [_PEACEFUL]}},
        "pluginConfig": [{"name": "PodTopologySpread", "args": {"defaultingType": "List"}}],
    },
)
_CONFIGURATIONS = [{"profiles": [{"schedulerName": "reprise", **profile}]} for profile in _PROFILES]
GENERATIONS = [(configuration, default_profiles(configuration)) for configuration in _CONFIGURATIONS]
RARE_STEPS = ("alone", "keep_apart", "remove_node", "add_node", "wait_long", "clock_set_back", "all_nodes", "reload")


class BatchStory:
    """One cluster and one scheduler. ``begin``, then ``take`` steps; each is decided in detail by its own Random."""

    def __init__(self, reached: Counter[str]) -> None:
        self.reached = reached
        self.cluster = FakeCluster()
        scheduler = Scheduler(PROFILES, seed=SEED, backoff=Backoff(), batching=BATCHING)
        self.follower = Follower(self.cluster, scheduler, Header(seed=SEED, batching=BATCHING))
        self.comparison = Comparison(self.follower, reached)
        Watched(scheduler, reached, self.comparison.compare)
        self.generation = 1
        self.made = 0
        self.names: tuple[str, ...] = ()

    def begin(self, random: Random) -> None:
        count = random.choice((1, 2, 2, 20, 20))
        self.reached[f"nodes: {count}"] += 1
        self.names = tuple(f"n{number}" for number in range(count))
        for name in self.names:
            self.cluster.put_node(build_node(random, name))
        self.follower.hear_of_nodes(count)

    def take(self, step: str, random: Random) -> None:
        getattr(self, step)(random)
        self.reached["steps"] += 1
        self.reached["steps with nominated pods"] += bool(len(self.follower.state.queue.nominator))

    # What happens to the cluster

    def _new(self, shape: dict[str, Any], **fields: Any) -> Pod:
        self.made += 1
        return make_pod(f"p{self.made}", **{**shape, **fields})

    def burst(self, random: Random) -> None:
        """Pods of one or two shapes."""
        if len(self.cluster.pods) > 8 * len(self.names) + 30:
            return
        shapes = random.sample(SHAPES, random.choice((1, 1, 2)))
        for _ in range(random.randint(4, 12)):
            priority = random.choice((None, None, 5))
            self.cluster.put_pod(self._new(random.choice(shapes), priority=priority))
        self.follower.hear_of_pods(100)

    def affinity_burst(self, random: Random) -> None:
        """Pods of one shape that keep near or apart, of one namespace, and now and then one that looks at each pod's index."""
        if len(self.cluster.pods) > 8 * len(self.names) + 30:
            return
        shape = random.choice((*AFFINITY_SHAPES, SHAPES[0]))
        place = random.choice(("default", "default", *NAMESPACES))
        for number in range(random.randint(3, 8)):
            labels = {**shape.get("labels", {"app": random.choice("xyz")}), INDEX: str(number)}
            self.cluster.put_pod(self._new({**with_containers(cpu="100m"), **shape, "labels": labels}, namespace=place))
        if random.random() < 0.15:
            fields = {"namespace": place, "affinity": INDEX_TERM, "node_name": random.choice(self.names)}
            self.cluster.put_pod(self._new(SHAPES[0], scheduler_name="other", **fields))
        self.follower.hear_of_pods(100)
        self.decide_once()

    def spread_burst(self, random: Random) -> None:
        """Pods of one or two shapes with spread constraints, or none but the default ones; some are decided on at once."""
        if len(self.cluster.pods) > 8 * len(self.names) + 30:
            return
        shapes = random.sample(SPREAD_SHAPES, random.choice((1, 1, 2)))
        place = random.choice(("default", "default", *NAMESPACES))
        for _ in range(random.randint(3, 8)):
            shape = {**with_containers(cpu="100m"), **random.choice(shapes)}
            self.cluster.put_pod(self._new(shape, namespace=place, priority=random.choice((None, 5))))
        self.follower.hear_of_pods(100)
        for _ in range(random.randint(1, 4)):
            self.decide_once()

    def serve(self, random: Random) -> None:
        """A Service selects pods of the shapes, or none does any more."""
        place, name = random.choice(("default", *NAMESPACES)), random.choice("st")
        if random.random() < 0.3:
            self.follower.hear_of_selecting_object_gone("Service", place, name)
        else:
            self.follower.hear_of_selecting_object(service(name, {"app": random.choice("xy")}, place))

    def keep_apart(self, random: Random) -> None:
        """Pods that keep apart, with room kept for one more; then others, which a pod is against for a while."""
        apart, web = AFFINITY_SHAPES[0], {"app": "x"}
        for _ in range(3):
            self.cluster.put_pod(self._new({**with_containers(cpu="100m"), **apart}, priority=100))
        status = PodStatus(nominated_node_name=random.choice(self.names))
        kept = self._new(SHAPES[0], labels=web, priority=100, scheduling_gates=GATES, status=status)
        self.cluster.put_pod(kept)
        self._hear_and_decide()
        self.cluster.remove_pod(kept.metadata.uid)
        for _ in range(3):
            self.cluster.put_pod(self._new(SHAPES[0], labels=GUARDED, priority=101))
        self._hear_and_decide()
        against = self._new(SHAPES[0], affinity=GUARD, node_name=random.choice(self.names), scheduler_name="other")
        self.cluster.put_pod(against)
        self._hear_and_decide()
        self.cluster.remove_pod(against.metadata.uid)
        self._hear_and_decide()

    def _hear_and_decide(self) -> None:
        self.follower.hear_of_pods(100)
        self.decide_once()

    def label_namespace(self, random: Random) -> None:
        """Or take it away."""
        changed = random_namespace(random)
        if random.random() < 0.2:
            self.follower.hear_of_namespace_gone(changed.metadata.name)
        else:
            self.follower.hear_of_namespace(changed)

    def foreign_pod(self, random: Random) -> None:
        """Bound by another scheduler, to a node that is known or not."""
        fields: dict[str, Any] = {"node_name": random.choice((*self.names, "ghost")), "scheduler_name": "other"}
        if random.random() < 0.4:
            fields |= {**random.choice(AFFINITY_SHAPES), "namespace": random.choice(NAMESPACES)}
        if random.random() < 0.5:
            fields["volumes"] = [Volume(name="claim")]
        self.cluster.put_pod(self._new(random.choice(SHAPES), **fields))

    def _pick(self, random: Random, *, assigned: bool) -> Pod | None:
        pods = [pod for pod in self.cluster.pods.values() if bool(pod.spec.node_name) is assigned]
        return random.choice(pods) if pods else None

    def label_pod(self, random: Random) -> None:
        pod = self._pick(random, assigned=True)
        if pod is not None:
            self.cluster.put_pod(changed(pod, metadata={"labels": {"app": random.choice("xyz")}}))

    def end_pod(self, random: Random) -> None:
        for _ in range(random.randint(1, 9)):
            pod = self._pick(random, assigned=random.random() < 0.8)
            if pod is None:
                continue
            if random.random() < 0.3 and pod.metadata.deletion_timestamp is None:
                self.reached["terminating"] += 1
                self.cluster.terminate(pod.metadata.uid)
            else:
                self.cluster.remove_pod(pod.metadata.uid)

    def nominate(self, random: Random) -> None:
        """A pod that waits behind a gate with room kept for it, or one that takes its turn."""
        favourites = [node_name for _, node_name in self.follower.assumed.values()][-1:]
        status = PodStatus(nominated_node_name=random.choice((*favourites * 3, *self.names[:3])))
        gates = GATES if random.random() < 0.6 else None
        shape = random.choice((SHAPES[0], SHAPES[2], *(with_containers(cpu=cpu) for cpu in ("2", "6", "7", "15"))))
        if random.random() < 0.3:
            shape = {**shape, **random.choice(AFFINITY_SHAPES)}
        pod = self._new(shape, priority=random.choice((0, 5, 9)), scheduling_gates=gates, status=status)
        self.cluster.put_pod(pod)
        self.follower.hear_of_pods(100)

    def end_nomination(self, random: Random) -> None:
        pods = [pod for pod in self.cluster.pods.values() if pod.spec.scheduling_gates]
        for pod in random.sample(pods, max(0, len(pods) - random.choice((0, 0, 1)))):
            self.cluster.remove_pod(pod.metadata.uid)

    def change_node(self, random: Random) -> None:
        """One thing of one node, or everything."""
        node = self.cluster.nodes.get(random.choice(self.names))
        if node is None:
            return
        other = build_node(random, node.metadata.name)
        spec, status, metadata = node.spec, node.status, node.metadata
        replace: Callable[..., Any] = msgspec.structs.replace
        match random.randint(0, 6):
            case 0:
                spec = replace(spec, taints=other.spec.taints)
            case 1:
                spec = replace(spec, unschedulable=not spec.unschedulable)
            case 2:
                metadata = replace(metadata, labels=other.metadata.labels)
            case 3:
                status = replace(status, images=other.status.images)
            case 4:
                status = replace(status, allocatable=other.status.allocatable)
            case 5:
                status = replace(status, declared_features=[random.choice("fg")])
            case _:
                metadata = replace(other.metadata, uid=metadata.uid)
                spec, status = other.spec, other.status
        self.cluster.put_node(Node(metadata=metadata, spec=spec, status=status))

    def cordon(self, random: Random) -> None:
        """Or let pods on it again."""
        node = self.cluster.nodes.get(random.choice(self.names[:3]))
        if node is not None:
            spec = msgspec.structs.replace(node.spec, unschedulable=not node.spec.unschedulable)
            self.cluster.put_node(msgspec.structs.replace(node, spec=spec))
            self.follower.hear_of_nodes(100)
            self.decide_once()

    def alone(self, _random: Random) -> None:
        """For a while there is one node that takes pods, and a shape that comes before all others."""
        for _ in range(4):
            self.cluster.put_pod(self._new(SHAPES[0], priority=100))
        self.follower.hear_of_pods(100)
        self.decide_once()
        for unschedulable in (True, False):
            for node in list(self.cluster.nodes.values())[1:]:
                spec = msgspec.structs.replace(node.spec, unschedulable=unschedulable)
                self.cluster.put_node(msgspec.structs.replace(node, spec=spec))
            self.follower.hear_of_nodes(100)
            self.decide_once()

    def all_nodes(self, random: Random) -> None:
        """So much at once that rows are no longer followed one by one."""
        for name in list(self.cluster.nodes):
            node = self.cluster.nodes[name]
            spec = msgspec.structs.replace(node.spec, taints=small_node(random, name).spec.taints)
            self.cluster.put_node(msgspec.structs.replace(node, spec=spec))
        self.follower.hear_of_nodes(100)

    def replace_node(self, random: Random) -> None:
        """Deleted and made again under its name."""
        name = random.choice(self.names)
        self.cluster.remove_node(name)
        self.cluster.put_node(build_node(random, name))

    def remove_node(self, random: Random) -> None:
        if len(self.cluster.nodes) > 1:
            self.cluster.remove_node(random.choice(self.names))

    def add_node(self, random: Random) -> None:
        missing = [name for name in (*self.names, "n17") if name not in self.cluster.nodes]
        if missing and len(self.names) > 2:
            self.cluster.put_node(build_node(random, random.choice(missing)))

    # What the scheduler is told, and when

    def hear(self, random: Random) -> None:
        self.follower.hear_of_nodes(random.randint(0, 6))
        self.follower.hear_of_pods(random.randint(0, 20))

    def serve_bind(self, random: Random) -> None:
        for _ in range(min(len(self.follower.binds), random.randint(1, 4))):
            failed = random.random() < 0.15
            self.reached["bind failed"] += failed
            self.follower.serve_bind(
                random.randrange(len(self.follower.binds)), "etcdserver: request timed out" if failed else None
            )

    def hear_answer(self, random: Random) -> None:
        for _ in range(min(len(self.follower.answers), random.randint(1, 4))):
            self.follower.hear_answer(random.randrange(len(self.follower.answers)))

    def wait(self, random: Random) -> None:
        self.follower.wait(random.choice((0.01, 0.02)))

    def wait_long(self, random: Random) -> None:
        self.follower.wait(random.choice((0.6, 11.0)))

    def clock_set_back(self, _random: Random) -> None:
        self.follower.wait(-0.05)

    def reload(self, random: Random) -> None:
        """Another configuration, in force for the next decision."""
        self.generation += 1
        configuration, profiles = random.choice(GENERATIONS)
        batching = replace(BATCHING, max_signatures=random.choice((2, 5, 8)))
        self.follower.reload(self.generation, configuration, profiles, batching)
        self.comparison.profile = profiles["reprise"]
        for _ in range(random.randint(0, 4)):
            self.decide_once()

    # What the scheduler does

    def decide(self, random: Random) -> None:
        for _ in range(random.randint(1, 3)):
            self.decide_once()

    def decide_once(self) -> None:
        self.follower.decide()

    def end(self) -> None:
        counters = self.follower.state.batching.counters
        for (_, attempt), count in counters.attempts.items():
            self.reached[f"attempt: {attempt.value}"] += count
        for (_, flush), count in counters.flushes.items():
            self.reached[f"flushed: {flush.value}"] += count
        for (_, bypass), count in counters.bypasses.items():
            self.reached[f"bypassed: {bypass.value}"] += count


def draw_step(random: Random) -> str:
    return random.choice(RARE_STEPS) if random.random() < 0.05 else random.choice(STEPS)


def tell(steps: int, seed: int, *, length: int = 250) -> Counter[str]:
    """Stories of so many steps in all; what they came upon.

    Raises:
        AssertionError: a decision was not that of a new evaluation; a note tells where.
    """
    reached: Counter[str] = Counter()
    for first in range(0, steps, length):
        random = Random(f"{seed} {first}")
        story = BatchStory(reached)
        story.begin(random)
        for number in range(length):
            step = draw_step(random)
            try:
                story.take(step, random)
            except AssertionError as error:
                error.add_note(f"story {seed} {first}, step {number}: {step}")
                raise
        story.end()
    return reached


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40_000)
    parser.add_argument("--seed", type=int, default=Random().getrandbits(32))
    parser.add_argument("--least", type=int, default=50, help="how often each thing has to be come upon")
    options = parser.parse_args()
    if options.steps < 1:
        parser.error(f"argument --steps: expected a whole number above 0, got {options.steps}")
    print(f"seed {options.seed}", flush=True)
    reached = tell(options.steps, options.seed)
    for name, count in sorted(reached.items()):
        print(f"{count:8} {name}")
    lacking = missing(reached, options.least)
    if lacking:
        print(f"too seldom: {lacking}")
    print(f"{reached['steps']} steps, {reached['decisions']} decisions equal, {reached['from an entry']} from an entry")
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(main())
