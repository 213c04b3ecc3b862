"""Volume limits on a cluster that changes: what is kept of each node gives what a new cluster of the same objects gives."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from scheduler.api.objects import Pod, Volume
from scheduler.api.storage import StorageObject
from scheduler.api.volume_sources import AWSElasticBlockStoreVolumeSource
from scheduler.cache.cache import Cache
from scheduler.framework.pod_info import PodInfo
from scheduler.plugins.node_volume_limits import NodeVolumeLimits
from tests.support.builders import make_node, make_pod
from tests.support.storage import (
    EBS,
    claim_volume,
    ephemeral_volume,
    make_attachment,
    make_claim,
    make_class,
    make_csi_node,
    make_volume,
)

PLUGIN = NodeVolumeLimits()
NODES = ("n0", "n1", "n2")
CLAIMS = ("a", "b", "c", "p0-scratch", "p1-scratch")
VOLUMES = ("pv0", "pv1", "pv2")
DRIVERS = (EBS, "other")


class Cluster:
    """A cache, and the objects that it was given last."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.cache = Cache(seed=1)
        self.pods: dict[str, Pod] = {}
        self.objects: dict[tuple[str, str, str], StorageObject] = {}
        for name in NODES:
            self.cache.apply_node(make_node(name))

    def step(self) -> None:
        """One object comes, changes or goes."""
        if self.random.random() < 0.25:
            self._move_pod()
            return
        subject = self._object()
        kind, metadata = type(subject).__name__, subject.metadata
        key = (kind, metadata.namespace, metadata.name)
        if key in self.objects and self.random.random() < 0.3:
            del self.objects[key]
            self.cache.remove_storage_object(*key)
        else:
            self.objects[key] = subject
            self.cache.apply_storage_object(subject)

    def _object(self) -> StorageObject:
        pick = self.random.choice
        match self.random.randrange(6):
            case 0 | 1:
                volume_name, class_name = pick(("", *VOLUMES)), pick((None, "fast"))
                owner = pick(("default-p0", "default-p1"))
                return make_claim(pick(CLAIMS), volume_name=volume_name, class_name=class_name, owner_uid=owner)
            case 2:
                return make_volume(pick(VOLUMES), csi=(pick(DRIVERS), pick(("h0", "h1", "h2"))))
            case 3:
                return make_class("fast", provisioner=pick((*DRIVERS, "kubernetes.io/aws-ebs")))
            case 4:
                return make_csi_node(pick(NODES), {driver: pick((None, 0, 1, 2, 3)) for driver in DRIVERS})
            case _:
                return make_attachment(pick(("x", "y", "z")), pick(NODES), pick(VOLUMES), attacher=pick(DRIVERS))

    def _move_pod(self) -> None:
        name = self.random.choice(("p0", "p1", "p2", "p3"))
        if name in self.pods:
            self.cache.remove_pod(self.pods.pop(name).metadata.uid)
            return
        aws = Volume(name="w", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id="h1"))
        choices = [*(claim_volume(claim) for claim in CLAIMS[:3]), aws]
        volumes = self.random.sample(choices, 2) + ([ephemeral_volume()] if name in ("p0", "p1") else [])
        self.pods[name] = make_pod(name, node_name=self.random.choice(NODES), volumes=volumes)
        self.cache.apply_pod(PodInfo(self.pods[name]))

    def again(self) -> Cache:
        """A new cache of the same objects."""
        made = Cache(seed=1)
        for name in NODES:
            made.apply_node(make_node(name))
        for subject in self.objects.values():
            made.apply_storage_object(subject)
        for pod in self.pods.values():
            made.apply_pod(PodInfo(pod))
        return made


def answers(cache: Cache, pod: PodInfo) -> Any:
    state: dict[str, Any] = {}
    PLUGIN.pre_filter(state, pod, cache.table.columns(PLUGIN))
    reasons = [reason.text for reason in PLUGIN.reasons(state, pod)]
    masks = PLUGIN.filter(state, pod, cache.table.columns(PLUGIN))
    rows = [PLUGIN.filter(state, pod, cache.table.row(PLUGIN, row)) for row in range(len(NODES))]
    assert masks.tolist() == rows  # type: ignore[union-attr]
    return rows, sorted(reasons)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_kept_of_a_node_is_what_its_objects_make_of_it(seed: int) -> None:
    cluster = Cluster(seed)
    wanted = [
        PodInfo(make_pod("wanted", volumes=[claim_volume(name) for name in names]))
        for names in (("a",), ("b", "c"), ("a", "b", "c"))
    ]
    refused = 0
    for _ in range(100):
        cluster.step()
        cluster.cache.validate()
        again = cluster.again()
        for pod in wanted:
            kept, new = answers(cluster.cache, pod), answers(again, pod)
            assert kept == new
            refused += any(mask == 1 for mask in kept[0])
    assert refused
