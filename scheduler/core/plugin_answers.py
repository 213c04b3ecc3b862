"""Whether what a plugin answers is made of what it should be made of; its outer type alone does not say that.

All of this runs where the plugin is asked, so that an answer that nobody can work with is that plugin's failure.
"""

from __future__ import annotations

import math

from scheduler.framework.binding import PermitAnswer, PreBindFailed, PreFlight
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.post_filter import Candidate, PostFilterResult, Preemption
from scheduler.framework.status import Code, Status, check_status


def check_answer(answer: object) -> None:
    """See to it that an answer of the binding cycle can be worked with.

    Raises:
        TypeError: it cannot.
    """
    if isinstance(answer, Status):
        check_status(answer)
    elif isinstance(answer, PermitAnswer | PreFlight | PreBindFailed):
        check_status(answer.status)
        if isinstance(answer, PermitAnswer):
            check_seconds("timeout_seconds", answer.timeout_seconds)
        elif isinstance(answer, PreBindFailed) and answer.status.code is Code.SUCCESS:
            raise TypeError("it answered PreBindFailed with a success")


def check_seconds(what: str, seconds: object) -> None:
    """Raises: TypeError, when this is no number that a time could be compared with."""
    if not isinstance(seconds, int | float) or math.isnan(seconds):
        raise TypeError(f"it answered with {what} {seconds!r}, which is no number of seconds")


def check_post_filter(result: object) -> None:
    """Raises: TypeError, when this is no PostFilterResult with everything in it as it should be."""
    if not isinstance(result, PostFilterResult):
        raise TypeError(f"it answered {result!r} where a PostFilterResult was expected")
    check_status(result.status)
    if not isinstance(result.nominated_node_name, str | None):
        raise TypeError(f"it nominates the pod to {result.nominated_node_name!r}, which is no name of a node")
    preemption: object = result.preemption
    if preemption is not None and not (
        isinstance(preemption, Preemption) and _are_victims(preemption.node_name, preemption.victims)
    ):
        raise TypeError(f"it answered {preemption!r} where a Preemption of pods was expected")
    candidates: object = result.candidates
    if not isinstance(candidates, tuple) or not all(
        isinstance(one, Candidate) and _are_victims(one.node_name, one.pods) for one in candidates
    ):
        raise TypeError(f"it answered {candidates!r} where a tuple of Candidates was expected")


def _are_victims(node_name: object, pods: object) -> bool:
    if not isinstance(node_name, str) or not isinstance(pods, tuple | list):
        return False
    return all(isinstance(pod, PodInfo) for pod in pods)
