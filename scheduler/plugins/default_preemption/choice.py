"""Which node's victims hurt least (kube-scheduler 1.37: pickOneNodeForPreemption)."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler.framework.post_filter import Candidate
from scheduler.plugins.default_preemption.victims import started_at

_LOWEST_PRIORITY = -(2**31)


def choose(candidates: Sequence[Candidate], now: float) -> Candidate:
    """The best of the candidates, of which there is at least one; the first of equally good ones."""
    return min(candidates, key=lambda victims: _harm(victims, now))


def _harm(victims: Candidate, now: float) -> tuple[int, int, int, int, float]:
    """What is compared, in this order: each only between those that are equal in all before it.

    Broken budgets; the priority of the most important victim; the sum of all priorities, counted from the lowest there is, so that few
    victims of a negative priority are not worse than many; their number; and how long the most important ones have been at work.
    """
    highest = victims.pods[0].priority
    oldest = min(started_at(pod.pod, now) for pod in victims.pods if pod.priority == highest)
    total = sum(pod.priority - _LOWEST_PRIORITY for pod in victims.pods)
    return victims.violations, highest, total, len(victims.pods), -oldest
