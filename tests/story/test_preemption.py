"""Stories of pods that have to make room, on a cluster that does what it is told, late and in any order.

Expected: kube-scheduler 1.37, DefaultPreemption; field reports by their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from scheduler.api.objects import Pod, PodCondition, PodStatus
from scheduler.config.configuration import from_object
from scheduler.core.cycle import CycleResult
from scheduler.core.instruction import BindPod, Instruction, PatchPodStatus, PreemptPod
from scheduler.core.scheduler import Scheduler
from scheduler.core.story import Header, RecordingScheduler, replay
from scheduler.framework.binding import PermitAnswer
from scheduler.framework.status import Code, Status
from scheduler.queue.backoff import Backoff
from tests.support.binding_plugins import scripted
from tests.support.builders import make_node
from tests.support.core_run import changed, on_node
from tests.support.preemption import (
    GOING_AT,
    PreemptingCore,
    make_budget,
    replace_status,
    seated,
    urgent,
)

CPUS = 4


class ObedientCluster:
    """Does what the core asks for; when, is up to the test.

    Attributes:
        pods: as the API server has them, by UID.
        asked: deletions and binds that it has not carried out.
        lost: pods that were deleted because of a preemption, in order.
    """

    def __init__(self, core: PreemptingCore) -> None:
        self.core = core
        self.now = 2_000_000_000.0
        self.pods: dict[str, Pod] = {}
        self.asked: list[PreemptPod | BindPod] = []
        self.lost: list[str] = []
        self._version = 1

    def put(self, *pods: Pod) -> None:
        for pod in pods:
            self._show(pod)

    def _show(self, pod: Pod) -> None:
        self._version += 1
        shown = changed(pod, version=str(self._version))
        self.pods[pod.metadata.uid] = shown
        self._take(self.core.pods(shown, at=self.now))

    def end(self, uid: str) -> None:
        """The pod is gone."""
        pod = self.pods.pop(uid)
        self._take(self.core.pod_gone(pod, at=self.now))

    def _take(self, instructions: Sequence[Instruction]) -> None:
        for instruction in instructions:
            if isinstance(instruction, PreemptPod | BindPod):
                self.asked.append(instruction)
            elif isinstance(instruction, PatchPodStatus) and instruction.nominated_node_name is not None:
                pod = self.pods.get(instruction.pod.uid)
                if pod is not None:
                    nominated = PodStatus(nominated_node_name=instruction.nominated_node_name)
                    self._show(replace_status(pod, nominated))

    def decide(self) -> CycleResult | None:
        result = self.core.scheduler.schedule_one(self.now)
        if result is not None:
            self._take(result.instructions)
        return result

    def decide_all(self) -> list[CycleResult]:
        found = []
        while (result := self.decide()) is not None:
            found.append(result)
        return found

    def carry_out(self, index: int = 0, *, at_once: bool = True) -> None:
        """Bind a pod, or delete one: it goes ``at_once``, or when the test ends it."""
        asked = self.asked.pop(index)
        pod = self.pods.get(asked.pod.uid)
        if isinstance(asked, BindPod):
            if pod is None or pod.metadata.deletion_timestamp is not None:
                self._take(self.core.bind_failed(_ghost(asked), asked.node_name, "gone", at=self.now))
                return
            self._take(self.core.bound(pod, asked.node_name, at=self.now))
            self._show(replace_status(on_node(pod, asked.node_name), PodStatus()))
            return
        if pod is None:
            self._take(self.core.deleted(asked, at=self.now, is_gone=True))
            return
        self.lost.append(pod.metadata.name)
        told = PodCondition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
        terminating = changed(pod, metadata={"deletion_timestamp": GOING_AT})
        self._show(replace_status(terminating, PodStatus(conditions=[told])))
        self._take(self.core.deleted(asked, at=self.now))
        if at_once:
            self.end(pod.metadata.uid)

    def settle(self) -> None:
        """Everything is carried out and decided, and time goes by, until nothing is left to do."""
        for _ in range(60):
            self.decide_all()
            while self.asked:
                self.carry_out()
                self.decide_all()
            self.now += 11.0
            self._take(self.core.tick(self.now))

    def on(self, node: str) -> set[str]:
        return {pod.metadata.name for pod in self.pods.values() if pod.spec.node_name == node}


def _ghost(asked: BindPod) -> Pod:
    return changed(urgent(asked.pod.name), metadata={"uid": asked.pod.uid})


@pytest.fixture
def cluster() -> ObedientCluster:
    """One node of 4 CPUs."""
    return ObedientCluster(PreemptingCore())


def test_the_urgent_get_their_place_and_the_others_wait(cluster: ObedientCluster) -> None:
    """No inversion: what is least important waits, whoever came first."""
    cluster.put(*(urgent(f"low-{number}", cpu="1", priority=1) for number in range(4)))
    cluster.settle()
    assert cluster.on("n1") == {f"low-{number}" for number in range(4)}
    cluster.put(urgent("mid", cpu="2", priority=5), urgent("high", cpu="2", priority=9))
    cluster.settle()

    assert cluster.on("n1") == {"mid", "high"}
    cluster.core.state.cache.validate()


def test_nobody_goes_who_need_not(cluster: ObedientCluster) -> None:
    """kubernetes/kubernetes#70622: pods of four classes fill a node; each urgent pod costs what it needs and no more."""
    start = "2026-01-01T00:00:00Z"
    cluster.put(*(seated(f"p{priority}", cpu="1", priority=priority, start=start) for priority in (100, 200, 300, 400)))
    cluster.put(urgent("new-300", cpu="1", priority=300))
    cluster.settle()
    assert cluster.lost == ["p100"]
    cluster.put(urgent("new-400", cpu="2", priority=400))
    cluster.settle()

    # Of equals the one that runs for longer stays.
    assert cluster.lost == ["p100", "new-300", "p200"]
    assert cluster.on("n1") == {"p300", "p400", "new-400"}


def test_a_budget_turns_the_choice_to_another_node() -> None:
    cluster = ObedientCluster(PreemptingCore(nodes=("n1", "n2")))
    cluster.core.budget(make_budget(labels={"app": "a"}, allowed=1))
    cluster.put(seated("a1", "n1", cpu="2", labels={"app": "a"}), seated("a2", "n1", cpu="2", labels={"app": "a"}))
    cluster.put(seated("free", "n2", priority=5))
    cluster.put(urgent())
    cluster.settle()

    assert cluster.lost == ["free"]
    assert cluster.on("n2") == {"urgent"}


def test_victims_take_long_and_their_room_is_kept(cluster: ObedientCluster) -> None:
    cluster.put(seated("slow"), urgent())
    cluster.decide_all()
    cluster.carry_out(at_once=False)
    cluster.put(urgent("late", cpu="1", priority=9))
    for _ in range(20):
        cluster.now += 30.0
        cluster.core.tick(cluster.now)
        cluster.decide_all()
    assert cluster.asked == []
    cluster.end("default-slow")
    cluster.settle()

    assert cluster.lost == ["slow"]
    assert cluster.on("n1") == {"urgent"}


def test_the_preemptor_is_deleted_and_the_room_is_for_others(cluster: ObedientCluster) -> None:
    """kubernetes/kubernetes#102339: no room is kept for who is gone."""
    cluster.put(seated("slow"), urgent())
    cluster.decide_all()
    cluster.carry_out(at_once=False)
    cluster.end("default-urgent")
    cluster.put(urgent("next", priority=5))
    cluster.decide_all()
    cluster.end("default-slow")
    cluster.settle()

    assert cluster.on("n1") == {"next"}
    assert not cluster.core.state.queue.nominator.node_of


def test_a_victim_that_was_gone_already_does_not_hold_the_pod_back(cluster: ObedientCluster) -> None:
    """kubernetes/kubernetes#141694: there was no event any more, and the preemptor was parked for five minutes."""
    cluster.put(seated("victim"), urgent())
    cluster.decide_all()
    del cluster.pods["default-victim"]  # gone, and the watch has not said so
    cluster.carry_out()
    cluster.now += 1.0
    cluster.core.pod_gone(seated("victim"), at=cluster.now)
    cluster.decide_all()
    cluster.carry_out()

    assert cluster.on("n1") == {"urgent"}


def test_a_victim_that_waits_on_permit_leaves_its_place_at_once() -> None:
    """kubernetes/kubernetes#140082: it was only told in memory to go, so no deletion ever woke the preemptor."""
    wait = PermitAnswer(Status(Code.WAIT), 600.0)
    cluster = ObedientCluster(PreemptingCore(scripted("Slow", [], only="low", permitted=wait)))
    cluster.put(urgent("low", priority=1))
    cluster.decide_all()
    assert cluster.asked == []
    cluster.put(urgent())
    cluster.decide_all()
    cluster.carry_out()

    assert (cluster.on("n1"), cluster.lost) == ({"urgent"}, [])
    cluster.core.state.cache.validate()


def test_two_that_want_one_node_get_it_one_after_the_other(cluster: ObedientCluster) -> None:
    cluster.put(seated("victim"), urgent("one", priority=10), urgent("two", priority=11))
    cluster.settle()
    assert cluster.on("n1") == {"two"}
    cluster.end("default-two")
    cluster.settle()

    assert cluster.on("n1") == {"one"}
    assert cluster.lost == ["victim"]


def test_a_pod_of_a_higher_priority_takes_the_room_over(cluster: ObedientCluster) -> None:
    cluster.put(seated("slow"), urgent("first", priority=5))
    cluster.decide_all()
    cluster.carry_out(at_once=False)
    cluster.put(urgent("second", priority=9))
    cluster.decide_all()
    cluster.end("default-slow")
    cluster.settle()

    assert cluster.on("n1") == {"second"}


def _random_story(seed: int) -> ObedientCluster:
    random = Random(seed)
    cluster = ObedientCluster(PreemptingCore(nodes=("n1", "n2", "n3")))
    cluster.core.state.chance = random.random
    cluster.core.budget(make_budget(labels={"app": "a"}, allowed=1))
    for number in range(80):
        action = random.choice(("create", "create", "decide", "decide", "carry", "carry", "end", "slow", "wait"))
        if action == "create":
            labels = {"app": random.choice("ab")}
            cpu, priority = str(random.randint(1, 4)), random.randint(0, 5)
            cluster.put(urgent(f"p{number}", cpu=cpu, priority=priority, labels=labels))
        elif action == "decide":
            cluster.decide()
        elif action in ("carry", "slow") and cluster.asked:
            cluster.carry_out(random.randrange(len(cluster.asked)), at_once=action == "carry")
        elif action == "end" and cluster.pods:
            cluster.end(random.choice(sorted(cluster.pods)))
        elif action == "wait":
            cluster.now += random.random() * 20
            cluster._take(cluster.core.tick(cluster.now))
        cluster.core.state.cache.validate()
    for uid in [uid for uid, pod in cluster.pods.items() if pod.metadata.deletion_timestamp is not None]:
        cluster.end(uid)
    cluster.settle()
    return cluster


@pytest.mark.parametrize("seed", range(25))
def test_whatever_happens_no_node_is_over_full_and_nobody_waits_below_one_that_runs(seed: int) -> None:
    cluster = _random_story(seed)

    state = cluster.core.state
    state.cache.validate()
    assert not state.preemptions.running
    assert not state.bindings
    waiting = [queued.pod for queued in state.queue.waiting()]
    for node in ("n1", "n2", "n3"):
        seated_there = [known.pod for known in state.cache.pods_on(node)]
        assert sum(_cpus(pod.pod) for pod in seated_there) <= CPUS
        for pod in waiting:
            lower = sum(_cpus(other.pod) for other in seated_there if other.priority < pod.priority)
            free = CPUS - sum(_cpus(other.pod) for other in seated_there)
            assert free + lower < _cpus(pod.pod), f"{pod.key} could have preempted on {node}"


def test_a_story_with_victims_replays() -> None:
    lines: list[bytes] = []
    core = PreemptingCore(nodes=())
    core.scheduler = RecordingScheduler(core.scheduler, Header(seed=1), lines.append)  # type: ignore[assignment]
    core.nodes(*(make_node(f"n{number}") for number in range(4)))
    core.budget(make_budget(labels={"app": "a"}, allowed=1))
    cluster = ObedientCluster(core)
    for number in range(4):
        cluster.put(*(seated(f"p{number}-{cpu}", f"n{number}", cpu=str(cpu), priority=cpu) for cpu in (1, 3)))
    cluster.put(*(urgent(f"u{number}", cpu=str(number), priority=5 + number) for number in range(1, 5)))
    cluster.settle()
    assert len(cluster.lost) >= 4

    assert list(replay(lines, _built)) == []


def _built(header: Header) -> Scheduler:
    profiles = {profile.scheduler_name: profile for profile in from_object(header.configuration).profiles}
    return Scheduler(profiles, seed=header.seed, backoff=Backoff())


def _cpus(pod: Pod) -> int:
    requests = pod.spec.containers[0].resources.requests
    assert requests is not None
    return int(str(requests["cpu"]))
