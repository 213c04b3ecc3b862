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
    failure = _reserve(state, cycle, now) or _permit(state, cycle, now) or _pre_flight(state, cycle, now)
    if failure is not None:
        unreserve(state, cycle, now)
    return failure


def unreserve(state: State, cycle: BindingCycle, now: float) -> None:
    """Let every plugin give back what it has kept, in reverse order, also one that failed or was not asked."""
    for plugin in reversed(list(cycle.taking_part(cycle.profile.reserve))):
        ask(state, cycle, plugin, Stage.UNRESERVE, plugin.unreserve, now)


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


def _refused_flight(plugin: PreBindPlugin, status: Status) -> str:
    if status.code is Code.ERROR:
        return f'running PreBindPreFlight "{plugin.name}": {status.message}'
    return (
        f'PreBindPreFlight {plugin.name} returned "{status.code.label}", which is unsupported. '
        "It is supposed to return Success, Skip, or Error status"
    )
