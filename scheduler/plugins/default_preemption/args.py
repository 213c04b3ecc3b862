"""Arguments of DefaultPreemption (kubescheduler.config.k8s.io/v1: DefaultPreemptionArgs)."""

from __future__ import annotations

import msgspec

from scheduler.api.field_errors import child, invalid


class DefaultPreemptionArgs(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """How many nodes with victims are enough to choose from: the larger of a share of the nodes that may help, and a number."""

    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100

    def enough_of(self, nodes: int) -> int:
        """How many of so many nodes are enough."""
        share = nodes * self.min_candidate_nodes_percentage // 100
        return min(max(share, self.min_candidate_nodes_absolute), nodes)


def validate(args: DefaultPreemptionArgs, path: str) -> list[str]:
    """Every error of the arguments as ``path: message``."""
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    at_percentage = child(path, "minCandidateNodesPercentage")
    at_absolute = child(path, "minCandidateNodesAbsolute")
    errors = []
    if not 0 <= percentage <= 100:
        errors.append(invalid(at_percentage, percentage, "not in valid range [0, 100]"))
    if absolute < 0:
        errors.append(invalid(at_absolute, absolute, "not in valid range [0, inf)"))
    if percentage == 0 and absolute == 0:
        zero = "cannot be zero at the same time as"
        errors.append(invalid(at_percentage, percentage, f"{zero} minCandidateNodesAbsolute"))
        errors.append(invalid(at_absolute, absolute, f"{zero} minCandidateNodesPercentage"))
    return errors
