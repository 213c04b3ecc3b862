"""Where a volume for a claim can be provisioned, and how much room there is (kube-scheduler 1.37: checkVolumeProvisions)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scheduler.api.storage import StorageClass
from scheduler.framework.ops import BoolArray, IntArray
from scheduler.framework.ranking import NONE, Ranking, rank
from scheduler.framework.reach import is_reached, reach_of_topologies
from scheduler.framework.storage import Storage
from scheduler.framework.view import NodeView
from scheduler.plugins.volume_binding.facts import Capacity, Claim

_NO_PROVISIONER = "kubernetes.io/no-provisioner"


class Provisions(NamedTuple):
    """What a claim meets on each node; arrays of shape ``(len(nodes),)``.

    Attributes:
        is_possible: the class has a provisioner, and its topologies allow the node.
        is_enough: there is room, as far as the driver says.
        capacity: number of the capacity object with that room; NONE when none was looked for, or found.
    """

    is_possible: BoolArray
    is_enough: BoolArray
    capacity: IntArray


class Provisioning:
    """What can be provisioned for one claim, whatever the node.

    Args:
        storage_class: of the claim.
        capacities: all of that class.
    """

    def __init__(
        self, claim: Claim, storage_class: StorageClass, storage: Storage, capacities: Sequence[Capacity]
    ) -> None:
        self._has_provisioner = storage_class.provisioner not in ("", _NO_PROVISIONER)
        self._topologies = reach_of_topologies(storage_class.allowed_topologies)
        self._capacities: Ranking | None = None
        self.room_bytes: IntArray = np.zeros(1, dtype=np.int64)
        """Room by the number of the capacity."""
        size = claim.size_bytes
        if self._has_provisioner and size is not None and _tracks_capacity(storage_class.provisioner, storage):
            enough = [
                number
                for number, one in enumerate(capacities)
                if one.largest_bytes is not None and one.largest_bytes >= size
            ]
            self._capacities = rank(enough, [capacities[number].reach for number in enough])
            self.room_bytes = np.array([one.room_bytes for one in capacities] or [0], dtype=np.int64)

    def check(self, nodes: NodeView) -> Provisions:
        count = len(nodes)
        if not self._has_provisioner:
            none = np.full(count, NONE, dtype=np.int64)
            return Provisions(np.zeros(count, dtype=np.bool_), np.ones(count, dtype=np.bool_), none)
        possible = is_reached(self._topologies, nodes)
        if self._capacities is None:
            return Provisions(possible, np.ones(count, dtype=np.bool_), np.full(count, NONE, dtype=np.int64))
        capacity = self._capacities.best(nodes)
        return Provisions(possible, capacity != NONE, capacity)


def _tracks_capacity(provisioner: str, storage: Storage) -> bool:
    """Only drivers that say so publish capacities; for others there is nothing to check."""
    driver = storage.csi_driver(provisioner)
    return driver is not None and bool(driver.spec.storage_capacity)
