"""A cluster that does what a core asks for, well or badly, when a test says so; and where a core still has traces of a pod."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from scheduler.api.objects import Pod, PodStatus
from scheduler.core.bind_check import is_touched
from scheduler.core.cycle import CycleResult
from scheduler.core.instruction import (
    AskExtender,
    BindPod,
    ExtenderVerb,
    Instruction,
    PatchObject,
    PatchPodStatus,
    PreemptPod,
    ReadPod,
)
from scheduler.core.state import State
from scheduler.core.stimulus import BindDue, ExtenderAnswered, ExtenderFailed, HostScore, PodPreempted, PreemptPodFailed
from tests.support.builders import make_pod
from tests.support.core_run import Core, changed, on_node

Asked = AskExtender | BindPod | PatchObject | PreemptPod | ReadPod

PATIENCE_STEPS = 90
STEP_SECONDS = 11.0


class AnsweringCluster:
    """Pods as the API server has them, and what was asked of it and is not answered.

    Attributes:
        now: given to the core; a test may set it, also back.
        asked: in order.
        unseen: binds that were carried out and not answered.
        binds: how often each pod was bound, by UID.
    """

    def __init__(self, core: Core, now: float = 1000.0) -> None:
        self.core = core
        self.now = now
        self.pods: dict[str, Pod] = {}
        self.asked: list[Asked] = []
        self.unseen: list[BindPod | AskExtender] = []
        self.binds: dict[str, int] = {}
        self._version = 1

    # What happens

    def put(self, *pods: Pod) -> None:
        for pod in pods:
            self._version += 1
            shown = changed(pod, version=str(self._version))
            self.pods[pod.metadata.uid] = shown
            self.take(self.core.pods(shown, at=self.now))

    def end(self, uid: str) -> None:
        """The pod is gone."""
        self.take(self.core.pod_gone(self.pods.pop(uid), at=self.now))

    def tick(self, seconds: float = STEP_SECONDS) -> None:
        self.now += seconds
        self.take(self.core.tick(self.now))

    def decide(self) -> CycleResult | None:
        result = self.core.scheduler.schedule_one(self.now)
        if result is not None:
            self.take(result.instructions)
        return result

    def decide_all(self) -> None:
        while self.decide() is not None and not self._must_be_answered():
            pass

    def _must_be_answered(self) -> bool:
        return self.core.state.extending is not None

    def take(self, instructions: Iterable[Instruction]) -> None:
        for one in instructions:
            if isinstance(one, AskExtender | BindPod | PatchObject | PreemptPod | ReadPod):
                self.asked.append(one)
            elif isinstance(one, PatchPodStatus) and one.nominated_node_name is not None:
                pod = self.pods.get(one.pod.uid)
                if pod is not None and not pod.spec.node_name:
                    self.put(replace(pod, status=replace(pod.status, nominated_node_name=one.nominated_node_name)))

    # What is answered

    def answer_all(self, *, well: bool = True) -> None:
        """Also what is asked because of the answers."""
        for bind in self.unseen:
            self._tell_bind(bind, done=True)
        self.unseen.clear()
        while self.asked:
            self.answer(self.asked.pop(0), well=well)

    def answer(self, one: Asked, *, well: bool) -> None:
        match one:
            case BindPod():
                if self._is_wanted(one.pod.uid):
                    self._tell_bind(one, done=self._bind(one, well=well))
            case AskExtender():
                self._answer_extender(one, well=well)
            case PatchObject() if well:
                self.take(self.core.patched(one.number, "9", at=self.now))
            case PatchObject():
                self.take(self.core.patch_failed(one.number, at=self.now))
            case PreemptPod():
                self._preempt(one, well=well)
            case ReadPod():
                phase, reason = ("Failed", "OutOfcpu") if well else ("", "")
                self.take(self.core.pod_read(_named(one.pod.uid), phase, reason, at=self.now))

    def carry_out_bind(self) -> None:
        """Bind the pod whose bind was asked for last; nobody is told."""
        one = self.asked.pop()
        assert isinstance(one, BindPod | AskExtender)
        assert self._bind(one, well=True)
        self.unseen.append(one)

    def _is_wanted(self, uid: str) -> bool:
        """What the edge asks before it sends a bind."""
        if is_touched(self.core.state, uid):
            self.take(self.core.scheduler.handle(BindDue(now=self.now, uid=uid)))
        return uid in self.core.state.bindings

    def _bind(self, one: BindPod | AskExtender, *, well: bool) -> bool:
        """As the API server does: a pod that is gone, terminates or has a node is not bound."""
        pod = self.pods.get(one.pod.uid)
        if not well or pod is None or pod.metadata.deletion_timestamp is not None or pod.spec.node_name:
            return False
        node_name = one.node_name if isinstance(one, BindPod) else one.node_names[0]
        self.binds[one.pod.uid] = self.binds.get(one.pod.uid, 0) + 1
        self.pods[one.pod.uid] = replace(on_node(pod, node_name), status=PodStatus(phase="Pending"))
        return True

    def _tell_bind(self, one: BindPod | AskExtender, *, done: bool) -> None:
        uid = one.pod.uid
        if isinstance(one, AskExtender):
            error = "" if done else "refused"
            self.take(self.core.scheduler.handle(ExtenderAnswered(now=self.now, number=one.number, error=error)))
        elif done:
            self.take(self.core.bound(_named(uid), one.node_name, at=self.now))
        else:
            self.take(self.core.bind_failed(_named(uid), one.node_name, at=self.now))
        if done and uid in self.pods:
            self.put(self.pods[uid])

    def _answer_extender(self, one: AskExtender, *, well: bool) -> None:
        if one.verb is ExtenderVerb.BIND:
            if not self._is_wanted(one.pod.uid):
                self.take(self.core.scheduler.handle(ExtenderFailed(now=self.now, number=one.number, error="unwanted")))
                return
            self._tell_bind(one, done=self._bind(one, well=well))
            return
        answer: ExtenderAnswered | ExtenderFailed = ExtenderFailed(now=self.now, number=one.number, error="no answer")
        if well:
            names = one.node_names
            scores = [HostScore(name, 1) for name in names]
            answer = ExtenderAnswered(
                now=self.now, number=one.number, node_names=names, scores=scores, victims=one.victims
            )
        self.take(self.core.scheduler.handle(answer))

    def _preempt(self, one: PreemptPod, *, well: bool) -> None:
        uid = one.pod.uid
        if not well:
            self.take(self.core.scheduler.handle(PreemptPodFailed(now=self.now, number=one.number, error="forbidden")))
            return
        is_gone = uid not in self.pods
        self.take(self.core.scheduler.handle(PodPreempted(now=self.now, number=one.number, is_gone=is_gone)))
        if not is_gone:
            self.end(uid)

    def settle(self) -> None:
        """Everything is decided and answered well, and time goes by, until nothing is left to do."""
        for _ in range(PATIENCE_STEPS):
            self.decide_all()
            while self.asked or self.unseen:
                self.answer_all()
                self.decide_all()
            for wait in list(self.core.state.binding_cycles.waiting()):
                wait.allow("Slow")
            self.tick()


def _named(uid: str) -> Pod:
    """What answers name of a pod, which may be gone."""
    return make_pod(uid=uid)


def traces(state: State, uid: str) -> list[str]:
    """Every place where the core still has something of the pod."""
    preemptions, cycles, extenders, rejections = (
        state.preemptions,
        state.binding_cycles,
        state.extenders,
        state.kubelet_rejections,
    )
    places = {
        "queue": state.queue.get(uid) is not None,
        "in flight": state.queue.is_in_flight(uid),
        "bindings": uid in state.bindings,
        "binding cycles": uid in cycles.before_bind,
        "patches": uid in {sent for sent, _ in cycles._sent.values()},
        "awaited": uid in {waits for runs in cycles._awaiting.values() for waits in runs.values()},
        "cache": state.cache.pod(uid) is not None,
        "nominations": uid in state.queue.nominator.node_of,
        "preemptions": uid in preemptions.running,
        "deletions": uid in {each.preemptor.uid for each, _ in preemptions._sent.values()},
        "questions": uid in {question.pod.uid for question in extenders._asked.values()},
        "binds of extenders": uid in extenders._binding,
        "asked about": state.extending is not None and state.extending.uid == uid,
        "looked after": uid in rejections.unseen or uid in rejections.being_read,
        "events in flight": state.queue._in_flight.event_count > 0,
    }
    return [place for place, has_it in places.items() if has_it]
