"""Which part of a node a plugin reads, and which part of it changed."""

from __future__ import annotations

import enum


class Facet(enum.IntFlag):
    """A plugin declares the facets it reads; a change of a node names the facets that changed; only their overlap is work.

    PODS stands for the set of pods on the node and their labels, TERMS for the affinity terms of these, RESOURCES for allocatable, requested and pod counts, VOLUMES for
    the volumes of these pods, the limits of the node's CSI drivers and what is attached to it.
    """

    NONE = 0
    NAME = 1
    RESOURCES = 2
    PORTS = 4
    VOLUMES = 8
    PODS = 16
    LABELS = 32
    TAINTS = 64
    UNSCHEDULABLE = 128
    IMAGES = 256
    FEATURES = 512
    NAMESPACES = 1024
    TERMS = 2048


ALL_FACETS = Facet(1023) | Facet.TERMS
"""All of a node; NAMESPACES is none of it: it stands in the journal for a change of a namespace."""


class Input(enum.Enum):
    """What a plugin may read beyond the row of a node, and the facet whose change on any node may change it."""

    NODE_COUNT = ("number of nodes", Facet.NAME)
    IMAGE_HOLDERS = ("nodes that hold an image", Facet.IMAGES)
    FEASIBLE = ("feasible nodes", Facet.NONE)
    DOMAINS = ("nodes that form topology domains", Facet.NAME | Facet.LABELS | Facet.TAINTS)
    POD_COUNTS = ("pods of other nodes that a selector matches", Facet.PODS)
    POD_TERMS = ("affinity terms of pods on nodes", Facet.TERMS | Facet.NAMESPACES)
    NAMESPACES = ("namespaces and their labels", Facet.NAMESPACES)
    SELECTING_OBJECTS = ("objects that select pods", Facet.NONE)
    STORAGE = ("objects of storage", Facet.NONE)

    @property
    def facet(self) -> Facet:
        return self.value[1]


class UndeclaredReadError(RuntimeError):
    """A plugin read a facet or an input that it did not declare: batching could not keep its answer up to date."""

    def __init__(self, plugin: str, what: str) -> None:
        super().__init__(f"plugin {plugin} reads {what} without declaring it; add it to the plugin's facets or inputs")
