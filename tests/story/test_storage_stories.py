"""Objects of storage in a story: what was read is written down, and replays to the same decisions."""

from __future__ import annotations

import msgspec
import pytest

from scheduler.api.storage import StorageObject
from scheduler.core.stimulus import NodeApplied, PodApplied, StorageObjectApplied, StorageObjectDeleted
from scheduler.core.story import Header, RecordingScheduler, Step, replay
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core
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

OBJECTS: list[StorageObject] = [
    make_claim(volume_name="pv", annotations={"pv.kubernetes.io/bind-completed": "yes"}),
    make_volume("pv", csi=("d", "h"), claim="default/data", labels={"topology.kubernetes.io/zone": "b"}),
    make_class(),
    make_csi_node("n1"),
    make_driver(),
    make_capacity("c"),
    make_attachment("a", "n1", "pv"),
]


@pytest.mark.parametrize("subject", OBJECTS, ids=lambda subject: type(subject).__name__)
def test_an_object_is_written_down_whole(subject: StorageObject) -> None:
    step = Step(stimulus=StorageObjectApplied(now=1.0, subject=subject))

    assert msgspec.json.decode(msgspec.json.encode(step), type=Step) == step


def test_a_decision_on_volumes_replays() -> None:
    lines: list[bytes] = []
    recording = RecordingScheduler(Core(seed=7).scheduler, Header(seed=7), lines.append)
    zones = {"n1": "a", "n2": "b"}
    for name, zone in zones.items():
        recording.handle(NodeApplied(now=0.0, node=make_node(name, labels={"topology.kubernetes.io/zone": zone})))
    for subject in OBJECTS:
        recording.handle(StorageObjectApplied(now=0.0, subject=subject))
    recording.handle(PodApplied(now=1.0, pod=make_pod("first", volumes=[claim_volume()])))
    first = recording.schedule_one(1.0)
    recording.handle(StorageObjectDeleted(now=2.0, kind="PersistentVolume", namespace="", name="pv", uid="pv-uid"))
    recording.handle(PodApplied(now=2.0, pod=make_pod("second", volumes=[claim_volume()])))
    second = recording.schedule_one(2.0)

    assert first is not None
    assert second is not None
    assert first.node_name == "n2"
    assert (second.outcome, second.plugins) == ("unschedulable", ("VolumeZone",))
    assert list(replay(lines, lambda header: Core(seed=header.seed).scheduler)) == []
