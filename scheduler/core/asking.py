"""Asking one plugin of the binding cycle: it may raise anything, and must not stop the others' pods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from scheduler.core.binding_cycles import BindingCycle
from scheduler.core.failure import REASON_ERROR, Failure
from scheduler.core.handle import PluginHandle
from scheduler.core.plugin_answers import check_answer
from scheduler.core.state import State
from scheduler.framework.binding import Handle
from scheduler.framework.plugin import BindingCyclePlugin, CycleState
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code, Status
from scheduler.profile.failure import PluginFailure, Stage

AnswerT = TypeVar("AnswerT")


def ask(
    state: State,
    cycle: BindingCycle,
    plugin: BindingCyclePlugin,
    stage: Stage,
    call: Callable[[CycleState, PodInfo, str, Handle], AnswerT],
    now: float,
    *kinds: type[Any],
) -> AnswerT | Status:
    """The plugin's answer, of one of these kinds; an error when it raises or answers anything else, or one that is not made as it should be.

    That is counted, and said once in the log.
    """
    if cycle.is_timed:
        call = state.observers[cycle.profile.scheduler_name].timed(plugin.name, stage, call)
    try:
        answer = call(cycle.states[plugin.name], cycle.pod, cycle.node_name, PluginHandle(state, now))
        if kinds and not isinstance(answer, kinds):
            raise TypeError(f"it answered {answer!r} where {kinds[0].__name__} was expected")
        if kinds:
            check_answer(answer)
        return answer
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything
        text = f'running {stage.value} plugin "{plugin.name}": {error}'
        state.plugin_failed(PluginFailure(text, plugin.name, stage), cycle.pod)
        return Status(Code.ERROR, (str(error),))


def error_of(state: State, stage: Stage, plugin: BindingCyclePlugin, status: Status) -> Failure:
    """Count an answer that is neither a success nor a rejection, and say what is told of it."""
    state.measurements.stage_errors[plugin.name, stage.value] += 1
    return Failure(REASON_ERROR, f'running {stage.value} plugin "{plugin.name}": {status.message}')
