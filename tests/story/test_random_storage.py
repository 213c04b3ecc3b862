"""Claims, volumes, classes, drivers and attachments come and go in whatever order: at the end no pod waits in vain.

Hints of VolumeBinding and NodeVolumeLimits are what wakes these pods: the five-minute flush is not reached.
"""

from __future__ import annotations

from collections import Counter

from tests.support.random_storage import World

STORIES = 45


def test_whatever_happens_to_storage_no_pod_waits_for_what_is_there() -> None:
    reached: Counter[str] = Counter()
    for seed in range(STORIES):
        world = World(seed)
        world.tell_a_story()
        reached += world.reached
    wanted = {"assumed", "unschedulable", "parked", "parked for limits", "tried again", "given a volume"}
    wanted |= {"patched PersistentVolume", "patched PersistentVolumeClaim"}
    assert wanted <= reached.keys(), reached
