"""Which node's victims hurt least (kube-scheduler 1.37: pickOneNodeForPreemption)."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler.framework.post_filter import Candidate
from scheduler.plugins.default_preemption.victims import started_at

_LOWEST_PRIORITY = -(2**31)


def choose(candidates: Sequence[Candidate], now: float) -> Candidate:
    """The best of the candidates, of which there is at least one; the first of equally good ones."""
    harms = [_harm(victims) for victims in candidates]
    least = min(harms)
    best = [victims for victims, harm in zip(candidates, harms, strict=True) if harm == least]
    # When pods started is looked at last: it takes longer than all the rest.
    return best[0] if len(best) == 1 else min(best, key=lambda victims: -_oldest(victims, now))


def _harm(victims: Candidate) -> tuple[int, int, int, int]:
    """What is compared, in this order: each only between those that are equal in all before it.

    Broken budgets; the priority of the most important victim; the sum of all priorities, counted from the lowest there is, so that few
    victims of a negative priority are not worse than many; and their number.
    """
    pods = victims.pods
    total = sum([pod.pod.spec.priority or 0 for pod in pods]) - len(pods) * _LOWEST_PRIORITY
    return victims.violations, pods[0].priority, total, len(pods)


def _oldest(victims: Candidate, now: float) -> float:
    """Since when the first of the most important victims has been at work."""
    highest = victims.pods[0].priority
    return min(started_at(pod.pod, now) for pod in victims.pods if pod.priority == highest)
