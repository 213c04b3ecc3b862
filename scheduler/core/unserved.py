"""Pods of schedulers that are not this one, from when they come until they have a node.

A later configuration may serve them. And who has mistyped a schedulerName is told nothing by anybody: the pod stays pending
without a condition and without an Event. When the name is nearly one of ours, and nobody has looked at the pod for five minutes,
an Event says so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable

import msgspec

from scheduler.core.failure import POD_SCHEDULED, note, reference_to
from scheduler.core.instruction import FindEvents, Instruction, RecordEvent
from scheduler.framework.pod_info import PodInfo

SILENT_SECONDS = 300.0
TYPOS = 2
"""Letters that may be wrong, missing or too many."""
WARNINGS_PER_MINUTE = 10
REMEMBERED_NAMES = 1000


class _Waiting(msgspec.Struct):
    """One pod. ``is_done``: Events about it have been looked for, and it is told of once at most."""

    pod: PodInfo
    since: float
    is_asked: bool = False
    is_done: bool = False


class Unserved:
    """Owned by the core. Each pod costs the same, however many there are."""

    def __init__(self) -> None:
        self._pods: dict[str, _Waiting] = {}
        self._names: tuple[str, ...] = ()
        self._due: deque[tuple[float, str]] = deque()
        self._likeness: dict[str, str] = {}
        self._others: set[str] = set()
        self._last: deque[float] = deque(maxlen=WARNINGS_PER_MINUTE)
        self.warnings = 0
        """Events given so far."""

    def __len__(self) -> int:
        return len(self._pods)

    def warn_for(self, names: Iterable[str]) -> None:
        """Tell of names that are nearly one of these from now on; of none when there are none."""
        self._names = tuple(names)
        self._likeness.clear()
        self._due.clear()
        for uid, waiting in self._pods.items():
            self._watch(uid, waiting)

    def apply(self, pod: PodInfo, now: float) -> None:
        """A pod without a node that is not ours, new or changed."""
        waiting = self._pods.get(pod.uid)
        if waiting is not None:
            waiting.pod = pod
            return
        waiting = self._pods[pod.uid] = _Waiting(pod, now)
        self._watch(pod.uid, waiting)

    def placed(self, pod: PodInfo) -> None:
        """A pod has a node: there is a scheduler of that name."""
        self._pods.pop(pod.uid, None)
        if len(self._others) < REMEMBERED_NAMES:
            self._others.add(pod.pod.spec.scheduler_name)

    def remove(self, uid: str) -> None:
        """The pod is gone."""
        self._pods.pop(uid, None)

    def take_served(self, names: Container[str]) -> list[PodInfo]:
        """The pods that these names serve, in the order in which they came; they are not kept here any more."""
        served = [one.pod for one in self._pods.values() if one.pod.pod.spec.scheduler_name in names]
        for pod in served:
            del self._pods[pod.uid]
        return served

    def expire(self, now: float) -> list[Instruction]:
        """Have Events looked for of pods that have waited in silence, as many as may be told of."""
        instructions: list[Instruction] = []
        while self._due and self._due[0][0] <= now:
            waiting = self._pods.get(self._due[0][1])
            if waiting is not None and self._is_silent(waiting.pod):
                if not self._may_warn(now):
                    break
                self._last.append(now)
                waiting.is_asked = waiting.is_done = True
                instructions.append(FindEvents(pod=reference_to(waiting.pod.pod)))
            self._due.popleft()
        return instructions

    def found(self, uid: str, has_events: bool, now: float) -> list[Instruction]:
        """What there is of Events about a pod: the warning when there is none."""
        waiting = self._pods.get(uid)
        if waiting is None or not waiting.is_asked:
            return []
        waiting.is_asked = False
        pod = waiting.pod.pod
        meant = self._nearly(pod.spec.scheduler_name)
        if has_events or not meant or not self._is_silent(waiting.pod):
            return []
        self.warnings += 1
        told = (
            f"No scheduler has looked at this pod for {SILENT_SECONDS / 60:.0f} minutes: spec.schedulerName is "
            f'"{pod.spec.scheduler_name}", and the scheduler that is here is named "{meant}". '
            "If that one is meant, make the pod anew with its name."
        )
        return [
            RecordEvent(
                pod=reference_to(pod),
                type="Warning",
                reason="UnknownSchedulerName",
                action="Scheduling",
                note=note(told),
                controller=meant,
                now=now,
            )
        ]

    def _watch(self, uid: str, waiting: _Waiting) -> None:
        if self._names and not waiting.is_done and self._nearly(waiting.pod.pod.spec.scheduler_name):
            self._due.append((waiting.since + SILENT_SECONDS, uid))

    def _is_silent(self, pod: PodInfo) -> bool:
        """Whether nobody has shown that he looks after the pod, or has placed another one of that name."""
        if pod.pod.metadata.deletion_timestamp is not None or pod.pod.spec.scheduler_name in self._others:
            return False
        return all(condition.type != POD_SCHEDULED for condition in pod.pod.status.conditions or ())

    def _nearly(self, name: str) -> str:
        """Which of our names this one is nearly; "" for none."""
        found = self._likeness.get(name)
        if found is None:
            found = next((ours for ours in self._names if 0 < distance(name, ours, TYPOS) <= TYPOS), "")
            if len(self._likeness) >= REMEMBERED_NAMES:
                self._likeness.clear()
            self._likeness[name] = found
        return found

    def _may_warn(self, now: float) -> bool:
        """Whether fewer than so many have been told of within a minute."""
        return len(self._last) < WARNINGS_PER_MINUTE or not 0.0 <= now - self._last[0] < 60.0


def distance(one: str, other: str, most: int) -> int:
    """Edit distance (Levenshtein); ``most + 1`` for anything above ``most``."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before = list(range(len(other) + 1))
    for row, letter in enumerate(one, start=1):
        line = [row]
        for column, also in enumerate(other, start=1):
            line.append(min(before[column] + 1, line[-1] + 1, before[column - 1] + (letter != also)))
        if min(line) > most:
            return most + 1
        before = line
    return min(before[-1], most + 1)
