"""ImageLocality: nodes that already hold the pod's images are better (kube-scheduler 1.37: ImageLocality).

An image counts its size on the node, scaled by the share of nodes that hold it, so that pods of one image do not heap up
where it was pulled first.
"""

from __future__ import annotations

from collections import Counter

from scheduler.framework import ops
from scheduler.framework.columns import same_score
from scheduler.framework.facet import Facet, Input
from scheduler.framework.ops import Ints
from scheduler.framework.plugin import MAX_NODE_SCORE, CycleState, ScorePlugin, SignPlugin
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.view import NodeView

_MIB = 1024 * 1024
_LOW_THRESHOLD = 23 * _MIB
_HIGH_THRESHOLD_PER_IMAGE = 1000 * _MIB


class ImageLocality(ScorePlugin, SignPlugin):
    name = "ImageLocality"
    facets = Facet.IMAGES
    inputs = frozenset((Input.NODE_COUNT, Input.IMAGE_HOLDERS))

    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Ints:
        total = same_score(nodes, 0)
        for name, times in _images(state, pod).items():
            holders = nodes.image_holders(name)
            if holders:
                spread = holders / nodes.total_nodes
                on_node = ops.to_int(ops.to_float(nodes.image_size(name)) * spread)
                total = ops.add(total, ops.mul(on_node, times))
        high = _HIGH_THRESHOLD_PER_IMAGE * len(pod.images)
        clamped = ops.where(total < _LOW_THRESHOLD, _LOW_THRESHOLD, ops.where(total > high, high, total))
        return ops.div_trunc(ops.mul(ops.sub(clamped, _LOW_THRESHOLD), MAX_NODE_SCORE), high - _LOW_THRESHOLD)

    def score_token(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> tuple[int, ...]:
        return (nodes.total_nodes, *(nodes.image_version(name) for name in _images(state, pod)))

    def sign(self, pod: PodInfo) -> tuple[str, ...]:
        return tuple(sorted(normalized_image_name(name) for name in pod.images))


def _images(state: CycleState, pod: PodInfo) -> Counter[str]:
    images: Counter[str] | None = state.get("images")
    if images is None:
        images = state["images"] = Counter(normalized_image_name(name) for name in pod.images)
    return images


def normalized_image_name(name: str) -> str:
    """With the tag ``latest`` when there is none; registry and digest stay as written."""
    return f"{name}:latest" if name.rfind(":") <= name.rfind("/") else name
