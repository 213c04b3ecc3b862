"""What follows the choice of a node at once: Reserve, Permit and PreBindPreFlight.

kube-scheduler 1.37: prepareForBindingCycle, RunReservePlugins, RunPermitPlugins, RunPreBindPreFlights.
"""

from __future__ import annotations

from scheduler.core.asking import ask, error_of
from scheduler.core.binding_cycles import BindingCycle
from scheduler.core.failure import REASON_ERROR, Failure, unfit
from scheduler.core.permit import PermitWait
from scheduler.core.pre_bind import PreBindWork, Willing
from scheduler.core.state import State
from scheduler.framework.binding import PermitAnswer, PreFlight
from scheduler.framework.plugin import PreBindPlugin
from scheduler.framework.status import Code, Status
from scheduler.profile.failure import Stage


def reserve(state: State, cycle: BindingCycle, now: float) -> Failure | None:
    """Ask Reserve, Permit and PreBindPreFlight; ``cycle`` knows then what the pod waits for. After a failure all is given back."""
    failure = None
    for stage, ask_all in _POINTS:
        began = state.measurements.stopwatch()
        failure = ask_all(state, cycle, now)
        _took(state, cycle, stage, _code_of(stage, cycle, failure), began)
        if failure is not None:
            break
    if failure is not None:
        unreserve(state, cycle, now)
    return failure


def unreserve(state: State, cycle: BindingCycle, now: float) -> None:
    """Let every plugin give back what it has kept, in reverse order, also one that failed or was not asked."""
    began = state.measurements.stopwatch()
    for plugin in reversed(list(cycle.taking_part(cycle.profile.reserve))):
        ask(state, cycle, plugin, Stage.UNRESERVE, plugin.unreserve, now)
    _took(state, cycle, Stage.UNRESERVE, Code.SUCCESS, began)


def _took(state: State, cycle: BindingCycle, stage: Stage, code: Code, began: float) -> None:
    seconds = state.measurements.stopwatch() - began
    state.measurements.point_took(stage, cycle.profile.scheduler_name, code, seconds)


def _code_of(stage: Stage, cycle: BindingCycle, failure: Failure | None) -> Code:
    if failure is not None:
        return failure.code
    if stage is Stage.PERMIT and cycle.wait is not None:
        return Code.WAIT
    if stage is Stage.PRE_BIND_PRE_FLIGHT and not cycle.work.running:
        return Code.SKIP
    return Code.SUCCESS


def _reserve(state: State, cycle: BindingCycle, now: float) -> Failure | None:
    for plugin in cycle.taking_part(cycle.profile.reserve):
        status = ask(state, cycle, plugin, Stage.RESERVE, plugin.reserve, now, Status)
        if status.code.is_rejected:
            return unfit(status._replace(plugin=plugin.name))
        if status.code is not Code.SUCCESS:
            return error_of(state, Stage.RESERVE, plugin, status)
    return None


def _permit(state: State, cycle: BindingCycle, now: float) -> Failure | None:
    timeouts: dict[str, float] = {}
    for plugin in cycle.taking_part(cycle.profile.permit):
        answer = ask(state, cycle, plugin, Stage.PERMIT, plugin.permit, now, PermitAnswer)
        status, timeout = answer if isinstance(answer, PermitAnswer) else (answer, 0.0)
        if status.code.is_rejected:
            return unfit(status._replace(plugin=plugin.name))
        if status.code is Code.WAIT:
            timeouts[plugin.name] = timeout
        elif status.code is not Code.SUCCESS:
            return error_of(state, Stage.PERMIT, plugin, status)
    if timeouts:
        cycle.wait = PermitWait(cycle.pod, cycle.node_name, now, timeouts, state.binding_cycles.settled.append)
    return None


def _pre_flight(state: State, cycle: BindingCycle, now: float) -> Failure | None:
    willing: list[Willing] = []
    for plugin in cycle.taking_part(cycle.profile.pre_bind):
        answer = ask(state, cycle, plugin, Stage.PRE_BIND_PRE_FLIGHT, plugin.pre_bind_pre_flight, now, PreFlight)
        status, allow_parallel = answer if isinstance(answer, PreFlight) else (answer, False)
        if status.code not in (Code.SUCCESS, Code.SKIP):
            return Failure(REASON_ERROR, _refused_flight(plugin, status))
        willing.append(Willing(plugin, status.code is Code.SUCCESS, allow_parallel))
    cycle.work = PreBindWork(willing)
    return None


_POINTS = (
    (Stage.RESERVE, _reserve),
    (Stage.PERMIT, _permit),
    (Stage.PRE_BIND_PRE_FLIGHT, _pre_flight),
)


def _refused_flight(plugin: PreBindPlugin, status: Status) -> str:
    if status.code is Code.ERROR:
        return f'running PreBindPreFlight "{plugin.name}": {status.message}'
    return (
        f'PreBindPreFlight {plugin.name} returned "{status.code.label}", which is unsupported. '
        "It is supposed to return Success, Skip, or Error status"
    )
