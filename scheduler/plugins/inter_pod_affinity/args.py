"""Arguments of InterPodAffinity (kubescheduler.config.k8s.io/v1: InterPodAffinityArgs)."""

from __future__ import annotations

import msgspec

from scheduler.api.field_errors import child, invalid

HIGHEST_WEIGHT = 100


class InterPodAffinityArgs(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``hard_pod_affinity_weight``: what a required affinity term of a pod on a node adds to the score of pods that it matches.

    ``ignore_preferred_terms_of_existing_pods``: a pod without preferred terms of its own gets no score.
    """

    hard_pod_affinity_weight: int = 1
    ignore_preferred_terms_of_existing_pods: bool = False


def validate(args: InterPodAffinityArgs, path: str) -> list[str]:
    """Every error of the arguments as ``path: message``."""
    weight = args.hard_pod_affinity_weight
    if 0 <= weight <= HIGHEST_WEIGHT:
        return []
    return [invalid(child(path, "hardPodAffinityWeight"), weight, f"not in valid range [0, {HIGHEST_WEIGHT}]")]
