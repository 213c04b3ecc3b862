"""Volumes that the pod's claims are bound to already: each ties the pod to the nodes that it can be used on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scheduler.api.storage import PersistentVolume
from scheduler.framework.ops import BoolArray
from scheduler.framework.reach import is_reached, reach_of_affinity
from scheduler.framework.storage import Storage
from scheduler.framework.view import NodeView
from scheduler.framework.volume_facts import required_of
from scheduler.plugins.volume_binding.migration import (
    in_tree_plugin,
    is_migrated,
    migrated_required_of,
    translation_error,
)


class BoundReach(NamedTuple):
    """What a bound volume says of each node; arrays of shape ``(len(nodes),)``, also for one row.

    Attributes:
        is_reached: the node can use it.
        has_failed: a CSI driver has taken over on the node, and cannot express the volume.
    """

    is_reached: BoolArray
    has_failed: BoolArray


class BoundVolume:
    """One such volume. ``error``: why no CSI driver can express it; "" when one can, or none would have to."""

    def __init__(self, volume: PersistentVolume, storage: Storage) -> None:
        self._storage = storage
        self._reach = reach_of_affinity(required_of(volume))
        self._plugin = in_tree_plugin(volume)
        self._migrated_reach = self._reach
        self.error = ""
        if self._plugin is not None:
            self._migrated_reach = reach_of_affinity(migrated_required_of(volume))
            self.error = translation_error(volume)

    def look(self, nodes: NodeView) -> BoundReach:
        reached = is_reached(self._reach, nodes)
        failed = np.zeros(len(nodes), dtype=np.bool_)
        if self._plugin is None:
            return BoundReach(reached, failed)
        migrated = is_reached(self._migrated_reach, nodes)
        # Which of the two holds has to be asked node by node, and mostly they say the same.
        doubtful = np.arange(len(nodes)) if self.error else np.flatnonzero(reached != migrated)
        for position in doubtful.tolist():
            if is_migrated(self._plugin, self._storage.csi_node(nodes.node_name(position))):
                reached[position] = migrated[position]
                failed[position] = bool(self.error)
        return BoundReach(reached, failed)
