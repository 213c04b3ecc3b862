"""PodKind: what selectors can tell pods by."""

from __future__ import annotations

import msgspec

from scheduler.api.objects import Pod


class PodKind(msgspec.Struct, frozen=True, cache_hash=True):
    """``labels``: sorted pairs. A key that is looked up for each pod that comes to a node, so that it keeps its hash."""

    namespace: str
    labels: tuple[tuple[str, str], ...]
    is_terminating: bool


def kind_of(pod: Pod) -> PodKind:
    metadata = pod.metadata
    labels = tuple(sorted((metadata.labels or {}).items()))
    return PodKind(metadata.namespace, labels, metadata.deletion_timestamp is not None)
