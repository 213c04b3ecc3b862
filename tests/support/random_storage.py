"""A cluster in which claims, volumes, classes, drivers and attachments come and go at random, and a scheduler that hears of it."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from msgspec.structs import replace

from scheduler.api.objects import (
    LabelSelector,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectMeta,
    Pod,
)
from scheduler.api.storage import (
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeStatus,
    VolumeNodeAffinity,
)
from scheduler.cache.cache import Cache
from scheduler.core.bind_check import is_touched
from scheduler.core.instruction import BindPod, Instruction, PatchObject, PatchPodStatus
from scheduler.core.stimulus import (
    BindDue,
    BindFailed,
    NodeApplied,
    ObjectPatched,
    ObjectPatchFailed,
    PodApplied,
    PodBound,
    PodDeleted,
    Stimulus,
    StorageObjectApplied,
    StorageObjectDeleted,
    Tick,
)
from scheduler.framework.pod_info import PodInfo
from scheduler.profile.evaluation import Evaluation
from scheduler.queue.queued_pod import Room
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core, changed
from tests.support.storage import (
    claim_volume,
    make_attachment,
    make_capacity,
    make_claim,
    make_class,
    make_csi_node,
    make_driver,
    make_volume,
)

NODES = tuple(f"n{number}" for number in range(3))
DRIVERS = ("d1", "d2")
CLAIMS = tuple(f"c{number}" for number in range(8))
ATTACHMENTS = tuple(f"at{number}" for number in range(4))
VOLUMES = tuple(f"pv{number}" for number in range(8))
PROVISIONERS = {"fast": "d1", "now": "d2", "local": "kubernetes.io/no-provisioner"}
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
STEPS = (
    *("pod",) * 3,
    *("pod_gone",) * 2,
    *("node", "class_", "driver", "capacity", "attachment", "tick"),
    *("claim",) * 2,
    *("csi_node", "volume"),
    *("object_gone", "controller"),
    *("hear",) * 6,
    *("serve",) * 5,
    *("decide",) * 6,
)
HELPING = (
    *("csi_node",) * 4,
    *("claim", "volume", "pod_gone", "class_") * 2,
    *("node", "driver", "capacity", "controller", "object_gone"),
)
"""What can let a pod fit."""

Key = tuple[str, str, str]


class World:
    """A cluster with storage, and a scheduler that hears of it late."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.core = Core(seed=seed)
        # Nobody is to be saved by the flush.
        self.core.state.queue._max_unschedulable_seconds = 1e12
        self.now = 1000.0
        self.version = 0
        self.volumes_changed = 0.0
        """When the scheduler last heard of a claim or volume."""
        self.pods: dict[str, Pod] = {}
        self.nodes: dict[str, Any] = {}
        self.objects: dict[Key, Any] = {}
        self.news: list[Stimulus] = []
        self.asked: list[Instruction] = []
        self.reached: Counter[str] = Counter()
        for name in NODES:
            self.node(name)
        for name in PROVISIONERS:
            self.class_(name)

    # What the cluster does

    def _put_object(self, subject: Any) -> None:
        self.version += 1
        subject = replace(subject, metadata=replace(subject.metadata, resource_version=str(self.version)))
        metadata = subject.metadata
        self.objects[type(subject).__name__, metadata.namespace, metadata.name] = subject
        self.news.append(StorageObjectApplied(now=0.0, subject=subject))

    def _put_pod(self, pod: Pod) -> None:
        self.version += 1
        pod = self.pods[pod.metadata.uid] = changed(pod, version=str(self.version))
        self.news.append(PodApplied(now=0.0, pod=pod))

    def node(self, name: str = "") -> None:
        name = name or self.random.choice(NODES)
        labels = {"zone": self.random.choice("ab"), "kubernetes.io/hostname": name}
        self.nodes[name] = make_node(name, labels=labels, allocatable={"cpu": self.random.choice("124"), "pods": "9"})
        self.news.append(NodeApplied(now=0.0, node=self.nodes[name]))

    def class_(self, name: str = "") -> None:
        name = name or self.random.choice(tuple(PROVISIONERS))
        mode = "Immediate" if name == "now" else "WaitForFirstConsumer"
        if ("StorageClass", "", name) in self.objects and self.random.random() < 0.3:
            self._remove_object(("StorageClass", "", name))
        else:
            self._put_object(make_class(name, provisioner=PROVISIONERS[name], mode=mode))

    def _missing(self, kind: str, namespace: str, names: tuple[str, ...]) -> str | None:
        left = [name for name in names if (kind, namespace, name) not in self.objects]
        return self.random.choice(left) if left else None

    def claim(self) -> None:
        name = self._missing("PersistentVolumeClaim", "default", CLAIMS)
        if name is not None:
            modes = ("ReadWriteOncePod",) if self.random.random() < 0.05 else ("ReadWriteOnce",)
            class_name = self.random.choice((*("fast", "local") * 3, "now", ""))
            request = self.random.choice(("1Gi", "3Gi"))
            self._put_object(make_claim(name, class_name=class_name, modes=modes, request=request))

    def _new_volume(self, name: str, class_name: str) -> PersistentVolume:
        random, fields = self.random, dict[str, Any]()
        if random.random() < 0.3:
            key, value = random.choice(
                (("zone", random.choice("ab")), ("kubernetes.io/hostname", random.choice(NODES)))
            )
            wanted = NodeSelectorRequirement(key=key, operator="In", values=[value])
            term = NodeSelectorTerm(match_expressions=[wanted])
            fields["node_affinity"] = VolumeNodeAffinity(required=NodeSelector(node_selector_terms=[term]))
        csi = (random.choice(DRIVERS), f"h-{name}") if random.random() < 0.85 else None
        made = make_volume(name, csi=csi, class_name=class_name, **fields)
        capacity = {"storage": random.choice(("1Gi", "5Gi"))}
        return replace(
            made, spec=replace(made.spec, capacity=capacity), status=PersistentVolumeStatus(phase="Available")
        )

    def volume(self) -> None:
        name = self._missing("PersistentVolume", "", VOLUMES)
        if name is not None:
            self._put_object(self._new_volume(name, self.random.choice(("local", "local", "fast", ""))))

    def csi_node(self) -> None:
        limits = {driver: self.random.choice((0, 0, 1, 2)) for driver in DRIVERS if self.random.random() < 0.9}
        self._put_object(make_csi_node(self.random.choice(NODES), limits=limits))

    def driver(self) -> None:
        told = self.random.choice((None, True, False))
        self._put_object(make_driver(self.random.choice(DRIVERS), storage_capacity=told))

    def capacity(self) -> None:
        made = make_capacity(f"cap{self.random.randrange(3)}", self.random.choice(("fast", "now")))
        topology = self.random.choice((None, LabelSelector(), LabelSelector(match_labels={"zone": "a"})))
        self._put_object(replace(made, capacity=self.random.choice(("1Gi", "10Gi")), node_topology=topology))

    def attachment(self) -> None:
        name = self._missing("VolumeAttachment", "", ATTACHMENTS)
        if name is not None:
            volume, driver = self.random.choice(VOLUMES), self.random.choice(DRIVERS)
            self._put_object(make_attachment(name, self.random.choice(NODES), volume, attacher=driver))

    def object_gone(self) -> None:
        # The end of a CSINode, a CSIDriver or a class wakes nobody (kube-scheduler 1.37: EventsToRegister of NodeVolumeLimits and
        # VolumeBinding): pods whom it helps are left to the flush.
        keys = [key for key in self.objects if key[0] not in ("StorageClass", "CSINode", "CSIDriver")]
        if keys:
            self._remove_object(self.random.choice(keys))

    def _remove_object(self, key: Key) -> None:
        subject = self.objects.pop(key)
        kind, namespace, name = key
        gone = StorageObjectDeleted(now=0.0, kind=kind, namespace=namespace, name=name, uid=subject.metadata.uid)
        self.news.append(gone)

    def controller(self, *, only_asked: bool = False) -> None:
        """The PV controller gives a claim a volume: one that is there, or one that it has made."""
        claims = [one for one in self.objects.values() if isinstance(one, PersistentVolumeClaim)]
        claims = [one for one in claims if not one.spec.volume_name and (not only_asked or self._is_asked(one))]
        if not claims:
            return
        claim = self.random.choice(claims)
        name = claim.metadata.name
        free = [one for one in self.objects.values() if isinstance(one, PersistentVolume)]
        free = [one for one in free if one.spec.claim_ref is None or one.spec.claim_ref.name == name]
        if free and self.random.random() < 0.7:
            volume = self.random.choice(free)
        else:
            volume = self._new_volume(f"made{self.version}", claim.spec.storage_class_name or "")
        reference = ObjectReference(namespace="default", name=name, uid=claim.metadata.uid)
        annotations = {**(claim.metadata.annotations or {}), BIND_COMPLETED: "yes"}
        bound: list[Any] = [
            replace(volume, spec=replace(volume.spec, claim_ref=reference)),
            replace(
                claim,
                metadata=replace(claim.metadata, annotations=annotations),
                spec=replace(claim.spec, volume_name=volume.metadata.name),
            ),
        ]
        self.random.shuffle(bound)
        for subject in bound:
            self._put_object(subject)
        self.reached["given a volume"] += 1

    def _is_asked(self, claim: PersistentVolumeClaim) -> bool:
        volumes = [one for one in self.objects.values() if isinstance(one, PersistentVolume)]
        named = [one.spec.claim_ref.name for one in volumes if one.spec.claim_ref is not None]
        return claim.metadata.name in named or SELECTED_NODE in (claim.metadata.annotations or {})

    def pod(self) -> None:
        self.version += 1
        names = self.random.sample(CLAIMS, self.random.choice((0, 1, 1, 1, 1, 2)))
        volumes = [claim_volume(name, name=f"v-{name}") for name in names]
        made = make_pod(f"p{self.version}", requests={"cpu": self.random.choice(("500m", "1"))})
        self._put_pod(changed(made, volumes=volumes))

    def pod_gone(self) -> None:
        if self.pods:
            pod = self.pods.pop(self.random.choice(list(self.pods)))
            metadata: ObjectMeta = pod.metadata
            gone = PodDeleted(now=0.0, namespace=metadata.namespace, name=metadata.name, uid=metadata.uid)
            self.news.append(gone)

    # What the scheduler hears, and what comes of what it asks for

    def _tell(self, stimulus: Stimulus) -> None:
        if isinstance(stimulus, StorageObjectApplied | StorageObjectDeleted) and _is_of_volume(stimulus):
            self.volumes_changed = self.now
        self.asked += self.core.scheduler.handle(replace(stimulus, now=self.now))

    def hear(self, count: int = 6) -> None:
        told, self.news = self.news[:count], self.news[count:]
        for stimulus in told:
            self._tell(stimulus)

    def tick(self, seconds: float = 3.0) -> None:
        self.now += seconds
        self._tell(Tick(now=0.0))

    def decide(self) -> bool:
        result = self.core.scheduler.schedule_one(self.now)
        if result is not None:
            self.reached[result.outcome] += 1
            self.reached["tried again"] += result.attempt > 1
            self.asked += result.instructions
        return result is not None

    def serve(self, *, well: bool = False) -> None:
        if not self.asked:
            return
        asked = self.asked.pop(0)
        well = well or self.random.random() < 0.8
        if isinstance(asked, BindPod):
            self._bind(asked, well)
        elif isinstance(asked, PatchObject):
            self._patch(asked, well)
        elif isinstance(asked, PatchPodStatus):
            pod = self.pods.get(asked.pod.uid)
            if pod is not None and asked.nominated_node_name is not None:
                self._put_pod(replace(pod, status=replace(pod.status, nominated_node_name=asked.nominated_node_name)))

    def _bind(self, asked: BindPod, well: bool) -> None:
        uid = asked.pod.uid
        if is_touched(self.core.state, uid):
            self._tell(BindDue(now=0.0, uid=uid))
        if uid not in self.core.state.bindings:
            return
        pod = self.pods.get(uid)
        if pod is None or not well:
            self._tell(BindFailed(now=0.0, uid=uid, node_name=asked.node_name, error="refused"))
            return
        assert not pod.spec.node_name
        self._put_pod(changed(pod, node_name=asked.node_name))
        self._tell(PodBound(now=0.0, uid=uid, node_name=asked.node_name))

    def _patch(self, asked: PatchObject, well: bool) -> None:
        patch = asked.patch
        subject = self.objects.get(patch.key)
        if subject is None or not well:
            self._tell(ObjectPatchFailed(now=0.0, number=asked.number, error="conflict"))
            return
        self.reached[f"patched {patch.kind}"] += 1
        if isinstance(subject, PersistentVolumeClaim):
            annotations = {**(subject.metadata.annotations or {}), **patch.patch["metadata"]["annotations"]}
            self._put_object(replace(subject, metadata=replace(subject.metadata, annotations=annotations)))
        else:
            told = patch.patch["spec"]["claimRef"]
            claim = ObjectReference(namespace=told["namespace"], name=told["name"], uid=told.get("uid", ""))
            self._put_object(replace(subject, spec=replace(subject.spec, claim_ref=claim)))
        self._tell(ObjectPatched(now=0.0, number=asked.number, resource_version=str(self.version)))

    # How it ends

    def tell_a_story(self) -> None:
        for name in (*("claim",) * 4, "volume", *("csi_node",) * 3, "driver"):
            getattr(self, name)()
        self.hear(len(self.news))
        for _ in range(self.random.randint(60, 130)):
            getattr(self, self.random.choice(STEPS))()
        self.settle()
        self.check()
        for _ in range(10):
            # One kind of thing happens alone, so that nothing else wakes those whom it helps.
            name = self.random.choice(HELPING)
            for _ in range(2):
                getattr(self, name)()
            self.settle()
            self.check()

    def settle(self) -> None:
        """All is heard of and answered well until nobody has anything to do; who waits for volumes long enough gives up once."""
        still = 0
        for turn in range(200):
            is_still = True
            while self.news or self.asked or self.decide():
                is_still = False
                self.hear(len(self.news))
                while self.asked:
                    self.serve(well=True)
                if turn < 15 or turn > 70:
                    self.controller(only_asked=True)
            still = still + 1 if is_still else 0
            if still > 1 and not self.core.state.bindings:
                return
            self.tick(11.0)

    def fitting(self, pod: PodInfo) -> list[str]:
        """The nodes that take the pod, from a cache that was told everything at once."""
        cache = Cache(seed=1)
        for subject in self.objects.values():
            cache.apply_storage_object(subject)
        for node in self.nodes.values():
            cache.apply_node(node)
        for other in self.pods.values():
            if other.spec.node_name:
                cache.apply_pod(PodInfo(other))
        profile = self.core.state.profile_of(pod)
        assert profile is not None
        evaluation = Evaluation(profile, pod, cache.table)
        evaluation.refresh()
        return [cache.table.name_of(row) for row in evaluation.feasible_rows()]

    def check(self) -> None:
        self.core.validate()
        state = self.core.state
        assert not state.bindings
        waiting = {queued.pod.uid: queued for queued in state.queue.waiting()}
        assert set(waiting) == {uid for uid, pod in self.pods.items() if not pod.spec.node_name}
        for queued in waiting.values():
            by = queued.unschedulable_plugins
            # What claims and volumes turn into is nothing that this one hears of (kube-scheduler 1.37: NodeVolumeLimits,
            # EventsToRegister).
            is_deaf = "NodeVolumeLimits" in by and queued.timestamp <= self.volumes_changed
            if queued.room is Room.UNSCHEDULABLE and not is_deaf:
                self.reached["parked"] += 1
                self.reached["parked for limits"] += "NodeVolumeLimits" in by
                assert self.fitting(queued.pod) == [], f"{queued.pod.key} waits for nothing; refused by {by}"


def _is_of_volume(stimulus: StorageObjectApplied | StorageObjectDeleted) -> bool:
    kind = stimulus.kind if isinstance(stimulus, StorageObjectDeleted) else type(stimulus.subject).__name__
    return kind in ("PersistentVolume", "PersistentVolumeClaim", "CSIDriver", "StorageClass")
