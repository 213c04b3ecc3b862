"""Another configuration, put in force between two cycles.

::

    built outside --offer--> ConfigurationChanged --pods wait for a name that would go--> refused, nothing has changed
                                  `--> in force: the next pod that is popped is decided on under it

Whoever is decided on or bound at that moment ends under the configuration with which that began: each cycle holds its Profile.
Pods that are parked are tried once more, after their back-off; pods in the queue are signed anew when they are popped.
Nominations, assumed pods and what nodes hold stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator

from scheduler.core.generation import Generation, Reload
from scheduler.core.state import State
from scheduler.core.stimulus import ConfigurationChanged
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.pod_info import PodInfo

CONFIGURATION_CHANGED = ClusterEvent(EventResource.WILDCARD, ActionType.ALL, "ConfigurationChanged")


def configuration_changed(state: State, stimulus: ConfigurationChanged) -> None:
    """Put the generation in force that was handed over for this stimulus, or say in ``state.reload`` why not.

    Raises:
        LookupError: none was handed over with this number.
    """
    offered, state.offered = state.offered, None
    if offered is None or offered.number != stimulus.generation:
        raise LookupError(
            f"no configuration of generation {stimulus.generation} was built before it was to be in force"
        )
    in_use = _in_use(state, offered)
    state.reload = Reload(offered.number, in_use)
    if in_use:
        return
    state.take(offered, stimulus.now)
    state.queue.move_all(CONFIGURATION_CHANGED, stimulus.now)
    for pod in state.unserved.take_served(offered.profiles):
        state.queue.update(pod, (), stimulus.now)


def _in_use(state: State, offered: Generation) -> str:
    """Why a profile cannot go: pods that only it can place; "" when all can."""
    dropped = [name for name in state.profiles if name not in offered.profiles]
    if not dropped:
        return ""
    waiting: dict[str, list[PodInfo]] = {name: [] for name in dropped}
    for pod in _unplaced(state):
        name = pod.pod.spec.scheduler_name
        if name in waiting:
            waiting[name].append(pod)
    return "; ".join(
        f'profiles: schedulerName "{name}" is missing while {len(pods)} pod{"s wait" if len(pods) > 1 else " waits"} '
        f"for it, such as {min(pod.key for pod in pods)}: keep the profile until they are placed or deleted"
        for name, pods in waiting.items()
        if pods
    )


def _unplaced(state: State) -> Iterator[PodInfo]:
    """Pods that wait, that are decided on, and whose bind has not been answered."""
    for queued in state.queue.waiting():
        yield queued.pod
    if state.extending is not None:
        yield state.extending.queued.pod
    for binding in state.bindings.values():
        yield binding.queued.pod
