"""NodeResourcesFit: what a pod requests must be free on the node, and what stays free makes the score.

Source: kube-scheduler 1.37: NodeResourcesFit.
"""

from scheduler.framework.function_shape import UtilizationShapePoint
from scheduler.plugins.node_resources_fit.args import (
    NodeResourcesFitArgs,
    RequestedToCapacityRatio,
    ScoringStrategy,
    validate,
)
from scheduler.plugins.node_resources_fit.plugin import NodeResourcesFit

__all__ = [
    "NodeResourcesFit",
    "NodeResourcesFitArgs",
    "RequestedToCapacityRatio",
    "ScoringStrategy",
    "UtilizationShapePoint",
    "validate",
]
