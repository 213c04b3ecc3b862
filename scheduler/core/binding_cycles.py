"""Pods on their way from the choice of a node to the bind in which plugins take part; a pod without any is not here."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import TypeVar

from scheduler.core.permit import PermitWait
from scheduler.core.pre_bind import PreBindRun, PreBindWork
from scheduler.framework.binding import ObjectKey
from scheduler.framework.plugin import BindingCyclePlugin, CycleState
from scheduler.framework.pod_info import PodInfo
from scheduler.profile.profile import Profile

PluginT = TypeVar("PluginT", bound=BindingCyclePlugin)


class BindingCycle:
    """One pod's binding cycle.

    Attributes:
        states: the notebooks of the plugins that take part, by plugin.
        wait: not None while the pod waits on Permit.
        work: of PreBind, which begins when Permit has let the pod go.
        is_timed: its plugins are timed.
        pre_bind_began: when PreBind was first asked.
        is_nominated: ``status.nominatedNodeName`` was written, so a failure has to clear it.
    """

    def __init__(
        self,
        pod: PodInfo,
        node_name: str,
        profile: Profile,
        states: Mapping[str, CycleState],
        *,
        is_timed: bool = False,
    ) -> None:
        self.pod = pod
        self.node_name = node_name
        self.profile = profile
        self.states = states
        self.wait: PermitWait | None = None
        self.work = PreBindWork(())
        self.is_timed = is_timed
        self.pre_bind_began = 0.0
        self.is_nominated = False

    def taking_part(self, plugins: tuple[PluginT, ...]) -> Iterator[PluginT]:
        """Those of the plugins of one extension point that take part for this pod."""
        return (plugin for plugin in plugins if plugin.name in self.states)


class BindingCycles:
    """All binding cycles that are not at the bind yet, and what each of them waits for."""

    def __init__(self) -> None:
        self.before_bind: dict[str, BindingCycle] = {}
        """By UID, in the order in which they began."""
        self.settled: deque[str] = deque()
        """UIDs of pods that Permit has let go or rejected since somebody last looked."""
        self._awaiting: dict[ObjectKey, dict[PreBindRun, str]] = {}
        self._sent: dict[int, tuple[str, PreBindRun]] = {}
        self._last_number = 0

    def waiting(self) -> Iterator[PermitWait]:
        """Pods that wait on Permit and of which nothing has been said yet, in the order in which they began to wait."""
        waits = (cycle.wait for cycle in self.before_bind.values())
        return (wait for wait in waits if wait is not None and wait.verdict is None)

    def number(self, uid: str, run: PreBindRun) -> int:
        """A number for a patch that is about to be sent: its answer will carry it."""
        self._last_number += 1
        self._sent[self._last_number] = (uid, run)
        run.number = self._last_number
        return self._last_number

    def answered(self, number: int) -> tuple[str, PreBindRun] | None:
        """Whose patch had this number; None when it is not waited for any more."""
        return self._sent.pop(number, None)

    def wait_for(self, uid: str, run: PreBindRun) -> None:
        """Note which objects the run waits for."""
        for key in run.awaited:
            self._awaiting.setdefault(key, {})[run] = uid

    def awaiting(self, key: ObjectKey) -> list[tuple[str, PreBindRun]]:
        """Who waits for a change of the object, with the pods' UIDs, in the order in which they began to."""
        return [(uid, run) for run, uid in self._awaiting.get(key, {}).items()]

    def wake(self, run: PreBindRun) -> None:
        """Something that the run waited for has happened: it is to be asked."""
        self._forget(run)
        run.step = None

    def leave(self, uid: str) -> None:
        """The pod's bind begins, or its cycle has ended."""
        cycle = self.before_bind.pop(uid, None)
        if cycle is not None:
            for run in cycle.work.running:
                self._forget(run)

    def _forget(self, run: PreBindRun) -> None:
        self._sent.pop(run.number, None)
        for key in run.awaited:
            waiting = self._awaiting.get(key, {})
            waiting.pop(run, None)
            if not waiting:
                self._awaiting.pop(key, None)
