"""Which PersistentVolume a claim gets on each node (component-helpers 0.37: FindMatchingVolume)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scheduler.api.storage import PersistentVolume
from scheduler.framework.ops import IntArray
from scheduler.framework.ranking import NONE
from scheduler.framework.reach import Reach, is_reached
from scheduler.framework.view import NodeView
from scheduler.framework.volume_facts import ClassVolumes, VolumeKind, read_volume
from scheduler.plugins.volume_binding.facts import Claim, is_bound_to


class Candidates:
    """The volumes that one claim can have, whatever the node.

    Args:
        volumes: all of the claim's class.
        held: those of any class that name the claim, in the order in which they are preferred.
    """

    def __init__(self, claim: Claim, volumes: ClassVolumes, held: Sequence[PersistentVolume]) -> None:
        self._pre_bound: list[tuple[int, Reach]] = []
        for one in held:
            number = volumes.number_of(one.metadata.name)
            volume = read_volume(one)
            if number is None or not is_bound_to(one, claim.object):
                continue
            if volume.size < claim.size or volume.is_terminating:
                continue
            if volume.kind.mode == claim.mode and volume.kind.attributes_class == claim.attributes_class:
                self._pre_bound.append((number, volume.reach))

        def is_suitable(kind: VolumeKind) -> bool:
            return (
                kind.mode == claim.mode
                and kind.attributes_class == claim.attributes_class
                and claim.access_modes <= kind.access_modes
            )

        self._free = volumes.smallest_first(claim.size, is_suitable, claim.selector)

    def choose(self, nodes: NodeView, taken: Sequence[IntArray]) -> IntArray:
        """The number of the volume for each node, NONE where there is none; shape ``(len(nodes),)``.

        A volume that was bound to the claim beforehand is the only choice, also where it cannot be used.

        Args:
            taken: for each earlier claim of the class what it chose.
        """
        chosen = self._free.best(nodes, taken)
        is_open = np.ones(len(nodes), dtype=np.bool_)
        for number, reach in self._pre_bound:
            here = is_open.copy()
            for gone in taken:
                here &= gone != number
            reached = is_reached(reach, nodes)
            chosen = np.where(here, np.where(reached, number, NONE), chosen)
            is_open &= ~here
            if not is_open.any():
                break
        return chosen
