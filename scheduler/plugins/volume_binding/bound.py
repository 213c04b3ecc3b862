"""Volumes that the pod's claims are bound to already: each ties the pod to the nodes that it can be used on."""

from __future__ import annotations

import numpy as np

from scheduler.api.storage import PersistentVolume
from scheduler.framework.ops import BoolArray
from scheduler.framework.storage import Storage
from scheduler.framework.view import NodeView
from scheduler.plugins.volume_binding.migration import (
    TranslationError,
    check_translation,
    in_tree_plugin,
    is_migrated,
    migrated_required_of,
    required_of,
)
from scheduler.plugins.volume_binding.reach import is_reached, reach_of_affinity


class BoundVolume:
    """One such volume."""

    def __init__(self, volume: PersistentVolume, storage: Storage) -> None:
        self._storage = storage
        self._reach = reach_of_affinity(required_of(volume))
        self._plugin = in_tree_plugin(volume)
        if self._plugin is not None:
            self._migrated_reach = reach_of_affinity(migrated_required_of(volume))
            self._error = _translation_error(volume)

    def is_reached(self, nodes: NodeView) -> BoolArray:
        """Whether each node can use the volume; shape ``(len(nodes),)``, also for one row.

        Raises:
            TranslationError: a CSI driver has taken over on one of the nodes, and cannot express the volume.
        """
        reached = is_reached(self._reach, nodes)
        if self._plugin is None:
            return reached
        migrated = is_reached(self._migrated_reach, nodes)
        # Which of the two holds has to be asked node by node, and mostly they say the same.
        doubtful = np.flatnonzero(reached != migrated) if self._error is None else np.arange(len(nodes))
        for position in doubtful.tolist():
            if is_migrated(self._plugin, self._storage.csi_node(nodes.node_name(position))):
                if self._error is not None:
                    raise self._error
                reached[position] = migrated[position]
        return reached


def _translation_error(volume: PersistentVolume) -> TranslationError | None:
    try:
        check_translation(volume)
    except TranslationError as error:
        return error
    return None
