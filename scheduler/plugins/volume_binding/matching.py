"""Which PersistentVolume a claim gets on each node (component-helpers 0.37: FindMatchingVolume)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scheduler.framework.ops import IntArray
from scheduler.framework.view import NodeView
from scheduler.plugins.volume_binding.facts import Claim, Volume, is_bound_to
from scheduler.plugins.volume_binding.reach import NONE, Ranking, is_reached


class Candidates:
    """The volumes that one claim can have, whatever the node.

    Args:
        volumes: all of the claim's class, in the order in which equal ones are preferred.
        by_size: their numbers, by size and then in that order.
    """

    def __init__(self, claim: Claim, volumes: Sequence[Volume], by_size: Sequence[int]) -> None:
        self._volumes = volumes
        self._pre_bound: list[int] = []
        free: list[int] = []
        for number in by_size:
            volume = volumes[number]
            if volume.size < claim.size or volume.is_terminating:
                continue
            if volume.mode != claim.mode or volume.attributes_class != claim.attributes_class:
                continue
            if volume.object.spec.claim_ref is not None:
                if is_bound_to(volume.object, claim.object):
                    self._pre_bound.append(number)
            elif (
                volume.is_available
                and claim.access_modes <= volume.access_modes
                and (claim.selector is None or claim.selector.matches(volume.object.metadata.labels))
            ):
                free.append(number)
        self._pre_bound.sort()
        self._free = Ranking(free, [volumes[number].reach for number in free])

    def choose(self, nodes: NodeView, taken: Sequence[IntArray]) -> IntArray:
        """The number of the volume for each node, NONE where there is none; shape ``(len(nodes),)``.

        A volume that was bound to the claim beforehand is the only choice, also where it cannot be used.

        Args:
            taken: for each earlier claim of the class what it chose.
        """
        chosen = self._free.best(nodes, taken)
        is_open = np.ones(len(nodes), dtype=np.bool_)
        for number in self._pre_bound:
            here = is_open.copy()
            for gone in taken:
                here &= gone != number
            reached = is_reached(self._volumes[number].reach, nodes)
            chosen = np.where(here, np.where(reached, number, NONE), chosen)
            is_open &= ~here
            if not is_open.any():
                break
        return chosen
