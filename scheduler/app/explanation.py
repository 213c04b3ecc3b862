"""One pod against every node, decided without a cluster: the same Evaluation that the scheduling loop uses."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec

from scheduler.cache.cache import Cache
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code, Status
from scheduler.profile.evaluation import Evaluation
from scheduler.profile.failure import PluginFailure
from scheduler.profile.profile import Profile
from scheduler.profile.refusal import refusal


class RefusedError(ValueError):
    """The pod needs a rule that is not there yet; the text names it."""


def as_pending(pod: PodInfo) -> PodInfo:
    """The pod without its node: a bound pod is looked at as if it were still to be placed."""
    if not pod.pod.spec.node_name:
        return pod
    return PodInfo(msgspec.structs.replace(pod.pod, spec=msgspec.structs.replace(pod.pod.spec, node_name="")))


def profile_for(pod: PodInfo, profiles: Sequence[Profile]) -> Profile:
    """The profile that the pod names, else the first."""
    name = pod.pod.spec.scheduler_name
    return next((profile for profile in profiles if profile.scheduler_name == name), profiles[0])


def evaluate(pod: PodInfo, profile: Profile, cache: Cache, kept: Evaluation | None = None) -> Evaluation:
    """Verdicts on all nodes and, if there is a feasible one, scores.

    A single feasible node is taken unscored by a scheduling cycle, so that it cannot be scored is no failure.

    Args:
        kept: an evaluation of the same pod, profile and cache, to be brought up to date instead of a new one.

    Raises:
        RefusedError: the pod needs a rule that is not there yet.
        PluginFailure: a plugin failed where the cycle would have failed; ``kept`` is of no use then.
    """
    missing = refusal(pod, cache)
    if missing is not None:
        raise RefusedError(missing)
    evaluation = Evaluation(profile, pod, cache.table) if kept is None else kept
    evaluation.refresh()
    if evaluation.feasible_count == 1:
        with suppress(PluginFailure):
            evaluation.refresh_scores()
    elif evaluation.feasible_count:
        evaluation.refresh_scores()
    return evaluation


def answer(evaluation: Evaluation, cache: Cache) -> dict[str, Any]:
    """The evaluation as plain data: prefilter, filter, scores, totals and the best nodes."""
    result: dict[str, Any] = {"prefilter": _status(evaluation.prefilter)}
    if evaluation.prefilter.code is not Code.SUCCESS:
        return result
    table = cache.table
    names = {name: row for row, live in enumerate(table.live.tolist()) if live for name in (table.name_of(row),)}
    result["filter"] = {name: _status(evaluation.status(row)) for name, row in sorted(names.items())}
    feasible = {name: row for name, row in sorted(names.items()) if result["filter"][name] == {"code": "Success"}}
    scores = {name: evaluation.scores(row) for name, row in feasible.items()} if evaluation.scored else {}
    totals = {name: evaluation.total(row) for name, row in feasible.items()} if evaluation.scored else {}
    result["scores"] = {
        name: {plugin: {"raw": score.raw, "weighted": score.weighted} for plugin, score in by_plugin.items()}
        for name, by_plugin in scores.items()
    }
    result["totals"] = totals
    highest = max(totals.values(), default=0)
    result["best"] = sorted(name for name in feasible if totals.get(name, highest) == highest)
    if len(feasible) == 1:
        # A scheduling cycle takes a single feasible node unscored.
        result["scored"] = False
    return result


def _status(status: Status) -> dict[str, Any]:
    """``{"code": "Success"}``, or with reasons, details if there are any and, when a plugin gave it, the plugin."""
    if status.code is Code.SUCCESS:
        return {"code": status.code.label}
    given: dict[str, Any] = {"code": status.code.label}
    if status.plugin:
        given["plugin"] = status.plugin
    given["reasons"] = list(status.reasons)
    if status.details:
        given["details"] = list(status.details)
    return given
