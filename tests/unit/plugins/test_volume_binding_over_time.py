"""VolumeBinding on volumes that come, change and go gives what kube-scheduler works out anew for each node alone."""

from __future__ import annotations

from random import Random

import pytest

from scheduler.api.objects import LabelSelector, Node, NodeSelector
from scheduler.api.storage import PersistentVolume, PersistentVolumeClaim, StorageObject
from scheduler.cache.cache import Cache
from scheduler.framework.plugin import CycleState
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code
from scheduler.plugins.volume_binding import VolumeBinding
from scheduler.plugins.volume_binding.one_node import view_of
from scheduler.plugins.volume_binding.plan import Plan
from tests.support.builders import HOSTNAME, make_node
from tests.support.plain_volumes import volumes_on
from tests.support.plugin_runs import ask
from tests.support.volumes import make_claim, make_class, make_pod_with, make_volume, node_selector

PLUGIN = VolumeBinding()
NODES = ("n1", "n2", "n3", "n4")
NAMES = tuple(f"pv{number}" for number in range(24))
CLASSES = ("local", "other")
CLAIMS = (
    make_claim("small", size="1Gi"),
    make_claim("middle", size="3Gi"),
    make_claim("block", size="1Gi", volume_mode="Block"),
    make_claim("many", size="2Gi", modes=["ReadWriteOnce", "ReadOnlyMany"]),
    make_claim("ssd", size="1Gi", selector=LabelSelector({"disk": "ssd"})),
    make_claim("elsewhere", size="1Gi", storage_class="other"),
)
USES = (["small"], ["small", "middle", "many"], ["block", "ssd"], ["elsewhere", "small", "small"])


def _required(volume: PersistentVolume) -> NodeSelector | None:
    return None if volume.spec.node_affinity is None else volume.spec.node_affinity.required


class Cluster:
    """A cache, and the volumes as it should show them."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.cache = Cache(seed=1)
        self.nodes: dict[str, Node] = {}
        self.shown: dict[str, PersistentVolume] = {}
        self.assumed: dict[str, PersistentVolume] = {}
        for subject in (make_class(), make_class("other"), *CLAIMS):
            self.cache.apply_storage_object(subject)
        for name in NODES[:3]:
            self.label(name)
        for name in NAMES:
            self.apply(name)

    @property
    def objects(self) -> list[StorageObject]:
        return [make_class(), make_class("other"), *CLAIMS, *{**self.shown, **self.assumed}.values()]

    def label(self, name: str) -> None:
        labels = {HOSTNAME: self.random.choice((name, name, "n9")), "zone": self.random.choice("abc")}
        self.nodes[name] = make_node(name, labels=labels)
        self.cache.apply_node(self.nodes[name])

    def affinity(self) -> NodeSelector | None:
        pick, some = self.random.choice, self.random.sample
        match self.random.randrange(7):
            case 0:
                return None
            case 1 | 2:
                return node_selector((HOSTNAME, "In", [pick((*NODES, "n9"))]))
            case 3:
                return node_selector(("zone", "In", some("abcd", 2)))
            case 4:
                return node_selector((HOSTNAME, "In", some(NODES, 2)), ("zone", "In", some("abcd", 2)))
            case 5:
                return node_selector(("zone", "Exists", []))
            case _:
                return NodeSelector(node_selector_terms=[])

    def apply(self, name: str) -> None:
        """A volume that is new, or another one in all that is looked at, or as it was but for its state."""
        pick = self.random.choice
        before = self.shown.get(name)
        capacity = before.spec.capacity if before is not None else None
        is_same = capacity is not None and self.random.random() < 0.5
        volume = make_volume(
            name,
            affinity=_required(before) if is_same and before is not None else self.affinity(),
            size=capacity["storage"] if is_same and capacity else pick(("1Gi", "2Gi", "3Gi", "5Gi")),
            storage_class=pick((*CLASSES, "local", "local")),
            annotations=pick((None, None, None, {"volume.beta.kubernetes.io/storage-class": "local"})),
            claim=pick((None, None, None, None, None, make_claim("stranger"), *CLAIMS[:2])),
            phase=pick(("Available", "Available", "Available", "Bound")),
            labels=pick((None, {"disk": "ssd"})),
            modes=pick((["ReadWriteOnce"], ["ReadWriteOnce", "ReadOnlyMany"])),
            volume_mode=pick((None, None, "Block")),
            deletion_timestamp=pick((None,) * 8 + ("2026-01-01T00:00:00Z",)),
            version=str(self.random.randrange(10**6)),
        )
        self.shown[name] = volume
        self.assumed.pop(name, None)
        self.cache.apply_storage_object(volume)

    def assume(self, name: str) -> None:
        shown = self.shown.get(name)
        if shown is None:
            return
        if name in self.assumed:
            self.cache.storage.restore(self.assumed.pop(name))
            return
        self.assumed[name] = make_volume(
            name,
            affinity=_required(shown),
            size=(shown.spec.capacity or {})["storage"],
            storage_class=shown.spec.storage_class_name,
            annotations=shown.metadata.annotations,
            claim=make_claim("stranger"),
            version=shown.metadata.resource_version,
        )
        self.cache.storage.assume(self.assumed[name])

    def step(self) -> None:
        name, chance = self.random.choice(NAMES), self.random.random()
        if chance < 0.6:
            self.apply(name)
        elif chance < 0.75:
            self.assume(name)
        elif chance < 0.95:
            self.shown.pop(name, None)
            self.assumed.pop(name, None)
            self.cache.remove_storage_object("PersistentVolume", "", name)
        else:
            self.label(self.random.choice(NODES))


@pytest.mark.parametrize("seed", range(5))
def test_volumes_are_found_as_they_are_now(seed: int) -> None:
    cluster = Cluster(seed)
    held: dict[str, PersistentVolumeClaim] = {claim.metadata.name: claim for claim in CLAIMS}
    bound = 0
    for _ in range(50):
        for _ in range(cluster.random.randrange(6)):
            cluster.step()
        used = cluster.random.choice(USES)
        expected = {
            name: volumes_on(node, [held[claim] for claim in used], cluster.objects)
            for name, node in cluster.nodes.items()
        }
        table, pod = cluster.cache.table, PodInfo(make_pod_with(*used))
        state: CycleState = {}
        assert PLUGIN.pre_filter(state, pod, table.columns(PLUGIN)).status.code is Code.SUCCESS
        masks = ask(table, PLUGIN, "filter", state, pod)
        scores = ask(table, PLUGIN, "score", state, pod)
        plan: Plan = state["plan"]
        for name, answer in expected.items():
            assert tuple(bit for bit in range(4) if masks[name] >> bit & 1) == answer.reasons, name
            if answer.reasons:
                continue
            assert scores[name] == answer.score, name
            found = plan.decide(view_of(cluster.nodes[name])).bindings
            assert tuple((one.volume.metadata.name, one.claim.metadata.name) for one in found) == answer.bindings, name
            current = [cluster.cache.storage.volume(one.volume.metadata.name) for one in found]
            assert all(one.volume is volume for one, volume in zip(found, current, strict=True))
            bound += len(found)
    cluster.cache.validate()
    assert bound
