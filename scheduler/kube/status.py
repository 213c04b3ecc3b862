"""Writes pod conditions and nominations as strategic-merge patches of the ``status`` subresource.

The pod's uid is part of each patch, so a pod recreated under the same name is left alone. kube-scheduler 1.37: failure handling.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
import structlog

from scheduler.core.instruction import Condition, PatchPodStatus
from scheduler.kube.jobs import Lane
from scheduler.kube.retry import Retries
from scheduler.kube.timing import Timing
from scheduler.kube.transport import STRATEGIC_MERGE_PATCH, Transport, TransportFailure, error_of

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class StatusCounters:
    """What happened so far; for metrics."""

    written: int = 0
    merged: int = 0  # into one that had not been sent yet
    pod_gone: int = 0
    failed: int = 0


class StatusWriter:
    """Makes a job of each status patch. A patch that cannot be written is counted and, if the last one could, logged."""

    def __init__(self, transport: Transport, timing: Timing) -> None:
        self.transport = transport
        self.timing = timing
        self.counters = StatusCounters()
        self._is_failing = False

    def job(self, instruction: PatchPodStatus) -> StatusJob:
        return StatusJob(self, instruction)

    def written(self) -> None:
        self.counters.written += 1
        if self._is_failing:
            log.info("Pod status can be written again", failed=self.counters.failed)
        self._is_failing = False

    def failed(self, pod: str, message: str) -> None:
        self.counters.failed += 1
        if not self._is_failing:
            log.error("Cannot write pod status", pod=pod, error=message)
        self._is_failing = True


class StatusJob:
    """One patch. Until it is sent, later ones for the same pod can be merged into it."""

    lane = Lane.STATUS

    def __init__(self, writer: StatusWriter, instruction: PatchPodStatus) -> None:
        pod = instruction.pod
        self.key = pod.uid
        self.is_started = False
        self.outcome = ""
        self._writer = writer
        self._pod = pod
        self._conditions: dict[str, Condition] = {}
        self._condition_order: list[str] = []
        self._nominated_node_name: str | None = None
        self._retries = Retries(writer.timing.chance)
        self._take(instruction)

    def merge(self, instruction: PatchPodStatus) -> bool:
        """Take a later patch of the same pod into this one; False when this one is under way."""
        if self.is_started:
            return False
        self._take(instruction)
        self._writer.counters.merged += 1
        return True

    def _take(self, instruction: PatchPodStatus) -> None:
        condition = instruction.condition
        if condition is not None:
            before = self._conditions.get(condition.type)
            if condition.last_transition_time is None and before is not None and before.status == condition.status:
                # The earlier patch, which was not sent, carried the time of the transition.
                condition = msgspec.structs.replace(condition, last_transition_time=before.last_transition_time)
            self._conditions[condition.type] = condition
            self._condition_order = instruction.condition_order
        if instruction.nominated_node_name is not None:
            self._nominated_node_name = instruction.nominated_node_name

    async def attempt(self) -> float | None:
        self.is_started = True
        pod, writer = self._pod, self._writer
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/status"
        try:
            response = await writer.transport.patch(path, self._body(), STRATEGIC_MERGE_PATCH)
        except TransportFailure as failure:
            # The patch says what shall be, so it does no harm to write it twice.
            return self._repeat(failure.message)
        if response.status in (200, 201):
            self.outcome = "written"
            writer.written()
            return None
        error = error_of(response)
        # 422 is what the server says to a patch that would change the uid: the pod is another one by now.
        if response.status == 404 or (response.status == 422 and "metadata.uid" in error.message):
            self.outcome = "pod_gone"
            writer.counters.pod_gone += 1
            return None
        if response.status == 429:
            wait_seconds = self._retries.after_throttling(error.retry_after_seconds)
            return self._failed(error.message) if wait_seconds is None else wait_seconds
        if response.status >= 500 or response.status in (408, 409):
            return self._repeat(error.message)
        return self._failed(error.message)

    def _body(self) -> bytes:
        status: dict[str, Any] = {}
        if self._conditions:
            status["conditions"] = [condition_fields(condition) for condition in self._conditions.values()]
        if self._condition_order:
            # Without it the server puts what the patch names before everything else.
            status["$setElementOrder/conditions"] = [{"type": name} for name in self._condition_order]
        if self._nominated_node_name is not None:
            status["nominatedNodeName"] = self._nominated_node_name or None
        return msgspec.json.encode({"metadata": {"uid": self._pod.uid}, "status": status})

    def _repeat(self, message: str) -> float | None:
        wait_seconds = self._retries.after_failure()
        return self._failed(message) if wait_seconds is None else wait_seconds

    def _failed(self, message: str) -> float | None:
        self.outcome = "failed"
        self._writer.failed(f"{self._pod.namespace}/{self._pod.name}", message)
        return None


def condition_fields(condition: Condition) -> dict[str, Any]:
    """The fields of a condition; ``type`` is the key by which the server merges it into the others."""
    fields: dict[str, Any] = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "observedGeneration": condition.observed_generation,
    }
    if condition.last_transition_time is not None:
        moment = datetime.fromtimestamp(condition.last_transition_time, UTC)
        fields["lastTransitionTime"] = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return fields
