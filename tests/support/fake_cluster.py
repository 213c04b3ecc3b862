"""An API server in a few lines: pods and nodes, watches that may lag behind, and binds that are answered late or refused.

It is the truth that a scheduler runs after. ``Follower`` is a scheduler on it, with what that scheduler was told so far,
kept as plain objects.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from scheduler.api.objects import Namespace, Node, Pod, PodCondition, SelectingObject
from scheduler.batch.options import BatchOptions
from scheduler.cache.cache import Cache
from scheduler.config.configuration import from_object
from scheduler.core.bind_check import is_touched
from scheduler.core.cycle import CycleResult
from scheduler.core.generation import Generation, Reload
from scheduler.core.instruction import BindPod, Instruction, PatchPodStatus, RecordEvent
from scheduler.core.scheduler import Scheduler
from scheduler.core.stimulus import (
    BindDue,
    BindFailed,
    ConfigurationChanged,
    NamespaceApplied,
    NamespaceDeleted,
    NodeApplied,
    NodeDeleted,
    PodApplied,
    PodBound,
    PodDeleted,
    SelectingObjectApplied,
    SelectingObjectDeleted,
    Stimulus,
    Tick,
)
from scheduler.core.story import Header, RecordingScheduler
from scheduler.framework.pod_info import PodInfo
from scheduler.profile.profile import Profile
from tests.support.core_run import changed

DELETED_AT = "2026-01-01T00:00:00Z"


class FakeCluster:
    """Objects as the API server has them, and what its watches have not delivered yet; in order for each kind."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.pod_news: deque[PodApplied | PodDeleted] = deque()
        self.node_news: deque[NodeApplied | NodeDeleted] = deque()
        self._version = 0

    def next_version(self) -> str:
        self._version += 1
        return str(self._version)

    def put_node(self, node: Node) -> None:
        before = self.nodes.get(node.metadata.name)
        if before is not None and before.metadata.uid != node.metadata.uid:
            self.remove_node(node.metadata.name)
        self.nodes[node.metadata.name] = node
        self.node_news.append(NodeApplied(now=0.0, node=node))

    def remove_node(self, name: str) -> None:
        node = self.nodes.pop(name, None)
        if node is not None:
            self.node_news.append(NodeDeleted(now=0.0, name=name, uid=node.metadata.uid))

    def put_pod(self, pod: Pod) -> None:
        """A new pod, or a new state of one, under a version of its own."""
        pod = changed(pod, version=self.next_version())
        self.pods[pod.metadata.uid] = pod
        self.pod_news.append(PodApplied(now=0.0, pod=pod))

    def remove_pod(self, uid: str) -> None:
        pod = self.pods.pop(uid, None)
        if pod is not None:
            metadata = pod.metadata
            self.pod_news.append(PodDeleted(now=0.0, namespace=metadata.namespace, name=metadata.name, uid=uid))

    def terminate(self, uid: str) -> None:
        pod = self.pods[uid]
        self.put_pod(changed(pod, metadata={"deletion_timestamp": DELETED_AT}))

    def bind(self, uid: str, node_name: str) -> str | None:
        """Why the pod cannot be bound; None when it was."""
        pod = self.pods.get(uid)
        if pod is None:
            return f'pods "{uid}" not found'
        if pod.spec.node_name:
            return f"pod is already assigned to node {pod.spec.node_name}"
        if pod.metadata.deletion_timestamp is not None:
            return "pod is being deleted, cannot be assigned to a host"
        self.put_pod(changed(pod, node_name=node_name))
        return None

    def patch(self, instruction: PatchPodStatus) -> None:
        pod = self.pods.get(instruction.pod.uid)
        if pod is None:
            return
        conditions = {condition.type: condition for condition in pod.status.conditions or ()}
        status: dict[str, Any] = {}
        if instruction.condition is not None:
            written = instruction.condition
            conditions[written.type] = PodCondition(
                type=written.type,
                status=written.status,
                reason=written.reason,
                message=written.message,
                observed_generation=written.observed_generation,
            )
            status["conditions"] = [conditions[name] for name in instruction.condition_order]
        if instruction.nominated_node_name is not None:
            status["nominated_node_name"] = instruction.nominated_node_name
        self.put_pod(msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, **status)))


@dataclass
class Answer:
    """What became of a bind, on its way back."""

    uid: str
    node_name: str
    error: str | None


class Follower:
    """A scheduler that follows a cluster, at a time that only moves when it is told to.

    Attributes:
        nodes, pods, namespaces, selecting_objects: what the scheduler was told, as plain objects.
        assumed: pods by UID that it decided on, with the node, until it is told otherwise.
        skipped: terminating pods that it dropped and was told nothing new of.
        nominated: waiting pods that room is kept for, by UID.
        binds: instructions that the cluster has not seen; ``answers``: what it has answered and not delivered.
        story: everything that happened, as ``reprise replay`` reads it.
    """

    def __init__(self, cluster: FakeCluster, scheduler: Scheduler, header: Header) -> None:
        self.cluster = cluster
        self.now = 1000.0
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.namespaces: dict[str, Namespace] = {}
        self.selecting_objects: dict[tuple[str, str, str], SelectingObject] = {}
        self.assumed: dict[str, tuple[Pod, str]] = {}
        self.skipped: set[str] = set()
        self.nominated: dict[str, Pod] = {}
        self.binds: list[BindPod] = []
        self.checked: Counter[str] = Counter()
        """Binds whose node others had touched, by what came of it."""
        self.answers: list[Answer] = []
        self.story: list[bytes] = []
        self.state = scheduler.state
        self._seed = header.seed
        self._scheduler = RecordingScheduler(scheduler, header, self.story.append)

    # What the scheduler is told

    def _tell(self, stimulus: Stimulus) -> list[Instruction]:
        instructions = self._scheduler.handle(msgspec.structs.replace(stimulus, now=self.now))
        self._carry_out(instructions)
        return instructions

    def hear_of_pods(self, count: int = 1) -> None:
        for _ in range(min(count, len(self.cluster.pod_news))):
            news = self.cluster.pod_news.popleft()
            if isinstance(news, PodApplied):
                self._pod_applied(news.pod)
            else:
                self.pods.pop(news.uid, None)
                self.assumed.pop(news.uid, None)
                self.nominated.pop(news.uid, None)
                self.skipped.discard(news.uid)
            self._tell(news)

    def _pod_applied(self, pod: Pod) -> None:
        uid = pod.metadata.uid
        before = self.pods.get(uid)
        self.pods[uid] = pod
        self.skipped.discard(uid)
        self._note_nomination(pod)
        terminates = pod.metadata.deletion_timestamp is not None
        if pod.spec.node_name or (terminates and before is not None and before.metadata.deletion_timestamp is None):
            self.assumed.pop(uid, None)

    def _note_nomination(self, pod: Pod) -> None:
        uid = pod.metadata.uid
        is_ours = pod.spec.scheduler_name in self.state.profiles
        if pod.status.nominated_node_name and is_ours and not pod.spec.node_name and uid not in self.outstanding():
            self.nominated[uid] = pod
        else:
            self.nominated.pop(uid, None)

    def hear_of_nodes(self, count: int = 1) -> None:
        for _ in range(min(count, len(self.cluster.node_news))):
            news = self.cluster.node_news.popleft()
            if isinstance(news, NodeApplied):
                self.nodes[news.node.metadata.name] = news.node
            else:
                self.nodes.pop(news.name, None)
            self._tell(news)

    def hear_of_namespace(self, namespace: Namespace) -> None:
        self.namespaces[namespace.metadata.name] = namespace
        self._tell(NamespaceApplied(now=0.0, namespace=namespace))

    def hear_of_selecting_object(self, subject: SelectingObject) -> None:
        metadata = subject.metadata
        self.selecting_objects[type(subject).__name__, metadata.namespace, metadata.name] = subject
        self._tell(SelectingObjectApplied(now=0.0, subject=subject))

    def hear_of_selecting_object_gone(self, kind: str, namespace: str, name: str) -> None:
        known = self.selecting_objects.pop((kind, namespace, name), None)
        uid = "" if known is None else known.metadata.uid
        self._tell(SelectingObjectDeleted(now=0.0, kind=kind, namespace=namespace, name=name, uid=uid))

    def hear_of_namespace_gone(self, name: str) -> None:
        self.namespaces.pop(name, None)
        self._tell(NamespaceDeleted(now=0.0, name=name, uid=""))

    def hear_answer(self, index: int = 0) -> None:
        answer = self.answers.pop(index)
        if answer.error is None:
            self._tell(PodBound(now=0.0, uid=answer.uid, node_name=answer.node_name))
        else:
            if not self._is_assigned(answer.uid):
                self.assumed.pop(answer.uid, None)
            self._tell(BindFailed(now=0.0, uid=answer.uid, node_name=answer.node_name, error=answer.error))

    def _is_assigned(self, uid: str) -> bool:
        pod = self.pods.get(uid)
        return pod is not None and bool(pod.spec.node_name)

    def reload(
        self, number: int, configuration: dict[str, Any], profiles: Mapping[str, Profile], batching: BatchOptions
    ) -> Reload:
        """Another configuration; the profiles are what was made of it."""
        before = self.state.profiles.keys()
        backoff = from_object(configuration, any_scheduler_name=True).backoff
        self._scheduler.offer(Generation(number=number, profiles=profiles, backoff=backoff, batching=batching))
        self._tell(
            ConfigurationChanged(now=0.0, generation=number, configuration=configuration, batching=batching),
        )
        for uid, pod in self.pods.items():
            if pod.spec.scheduler_name not in before and uid not in self.skipped:
                self._note_nomination(pod)
        return self.state.reload

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self._tell(Tick(now=0.0))

    # What the scheduler does

    def _carry_out(self, instructions: Iterable[Instruction]) -> None:
        for instruction in instructions:
            match instruction:
                case BindPod():
                    assert instruction.pod.uid not in self.outstanding(), "bound twice at a time"
                    self.binds.append(instruction)
                case PatchPodStatus():
                    self.cluster.patch(instruction)
                case RecordEvent():
                    assert len(instruction.note.encode()) <= 1024

    def outstanding(self) -> set[str]:
        """Pods whose bind the scheduler has not been told the end of."""
        return {bind.pod.uid for bind in self.binds} | {answer.uid for answer in self.answers}

    def serve_bind(self, index: int = 0, error: str | None = None) -> None:
        """Let the cluster carry out a bind, or lose it with this error; unless it is not wanted any more when it is sent."""
        bind = self.binds.pop(index)
        if not self._is_wanted(bind.pod.uid):
            return
        if error is None:
            error = self.cluster.bind(bind.pod.uid, bind.node_name)
        self.answers.append(Answer(bind.pod.uid, bind.node_name, error))

    def _is_wanted(self, uid: str) -> bool:
        """What the edge asks before it sends a bind."""
        if not is_touched(self.state, uid):
            return True
        self._tell(BindDue(now=0.0, uid=uid))
        if uid in self.state.bindings:
            self.checked["fits"] += 1
            return True
        self.checked["refused"] += 1
        self.assumed.pop(uid, None)
        return False

    def decide(self) -> CycleResult | None:
        result = self._scheduler.schedule_one(self.now)
        if result is None:
            return None
        if result.outcome != "skipped":
            # It took a node, or its nomination is being cleared.
            self.nominated.pop(result.uid, None)
        if result.outcome == "assumed":
            self.assumed[result.uid] = (self.pods[result.uid], result.node_name)
        elif result.outcome == "skipped":
            self.skipped.add(result.uid)
        self._carry_out(result.instructions)
        return result

    def settle(self) -> None:
        """Hear everything and decide everything, with all binds carried out; time stands still."""
        while True:
            self.hear_of_nodes(len(self.cluster.node_news))
            self.hear_of_pods(len(self.cluster.pod_news))
            while self.binds:
                self.serve_bind()
            while self.answers:
                self.hear_answer()
            if self.decide() is None and not (self.cluster.pod_news or self.cluster.node_news or self.binds):
                return

    # What the scheduler ought to know

    def cache_made_anew(self) -> Cache:
        """A cache of the plain objects that the scheduler was told of and of what it assumed since."""
        cache = Cache(seed=self._seed)
        for namespace in self.namespaces.values():
            cache.apply_namespace(namespace)
        for subject in self.selecting_objects.values():
            cache.apply_selecting_object(subject)
        for node in self.nodes.values():
            cache.apply_node(node)
        for pod in self.pods.values():
            if pod.spec.node_name:
                cache.apply_pod(PodInfo(pod))
        for pod, node_name in self.assumed.values():
            cache.assume(PodInfo(pod), node_name)
        return cache

    def cache_with_nominated(self, pod: Pod) -> Cache:
        """The same, with the pods on their nominated nodes that this pod has to leave room for."""
        cache = self.cache_made_anew()
        for other in self.ahead_of(pod):
            cache.assume(PodInfo(other), other.status.nominated_node_name)
        return cache

    def ahead_of(self, pod: Pod) -> list[Pod]:
        """Nominated pods of the same priority or a higher one."""
        return [
            other
            for uid, other in self.nominated.items()
            if uid != pod.metadata.uid and (other.spec.priority or 0) >= (pod.spec.priority or 0)
        ]
