"""Tells pods that they have to make room, and deletes them (kube-scheduler 1.37: preemption, PreemptPod).

Both writes name the pod's uid, so a pod recreated under the same name is left alone, and doing one twice does no harm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from scheduler.core.instruction import PreemptPod
from scheduler.core.stimulus import PodPreempted, PreemptPodFailed, Stimulus
from scheduler.kube.jobs import Lane
from scheduler.kube.retry import Retries
from scheduler.kube.status import condition_fields
from scheduler.kube.timing import Timing
from scheduler.kube.transport import STRATEGIC_MERGE_PATCH, Response, Transport, TransportFailure, error_of


@dataclass(slots=True)
class PreemptorCounters:
    """What happened so far; for metrics."""

    deleted: int = 0
    gone: int = 0
    failed: int = 0


class Preemptor:
    """Makes a job of each pod that has to go; the job delivers PodPreempted or PreemptPodFailed, once."""

    def __init__(self, transport: Transport, deliver: Callable[[Stimulus], None], timing: Timing) -> None:
        self.transport = transport
        self.deliver = deliver
        self.timing = timing
        self.counters = PreemptorCounters()

    def job(self, instruction: PreemptPod) -> PreemptJob:
        return PreemptJob(self, instruction)


class PreemptJob:
    """One pod: its condition first, then its deletion, with the pod's own grace period."""

    lane = Lane.BIND  # somebody's bind waits for it

    def __init__(self, preemptor: Preemptor, instruction: PreemptPod) -> None:
        pod = instruction.pod
        self.key = pod.uid
        self.outcome = ""
        self._preemptor = preemptor
        self._instruction = instruction
        self._path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
        self._is_told = instruction.condition is None
        self._retries = Retries(preemptor.timing.chance)

    async def attempt(self) -> float | None:
        try:
            if not self._is_told:
                response = await self._tell()
                if response.status not in (200, 201):
                    return self._judge(response)
                self._is_told = True
                self._retries = Retries(self._preemptor.timing.chance)
            response = await self._delete()
        except TransportFailure as failure:
            return self._repeat(failure.message)
        if response.status in (200, 202):
            self.outcome = "deleted"
            self._preemptor.counters.deleted += 1
            self._answer(is_gone=False)
            return None
        return self._judge(response)

    async def _tell(self) -> Response:
        condition = self._instruction.condition
        assert condition is not None
        body: dict[str, Any] = {
            "metadata": {"uid": self.key},
            "status": {
                "conditions": [condition_fields(condition)],
                "$setElementOrder/conditions": [{"type": name} for name in self._instruction.condition_order],
            },
        }
        return await self._preemptor.transport.patch(
            f"{self._path}/status", msgspec.json.encode(body), STRATEGIC_MERGE_PATCH
        )

    async def _delete(self) -> Response:
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": self.key}}
        return await self._preemptor.transport.delete(self._path, msgspec.json.encode(options))

    def _judge(self, response: Response) -> float | None:
        error = error_of(response)
        # 422 to the patch and 409 to the deletion: the pod of this name is another one by now.
        is_other = (response.status == 422 and "metadata.uid" in error.message) or (
            response.status == 409 and self._is_told and "UID" in error.message
        )
        if response.status == 404 or is_other:
            self.outcome = "pod_gone"
            self._preemptor.counters.gone += 1
            self._answer(is_gone=True)
            return None
        if response.status == 429:
            wait_seconds = self._retries.after_throttling(error.retry_after_seconds)
            return self._failed(error.message) if wait_seconds is None else wait_seconds
        if response.status >= 500 or response.status in (408, 409):
            return self._repeat(error.message)
        return self._failed(error.message)

    def _repeat(self, message: str) -> float | None:
        wait_seconds = self._retries.after_failure()
        return self._failed(message) if wait_seconds is None else wait_seconds

    def _answer(self, *, is_gone: bool) -> None:
        now = self._preemptor.timing.now()
        self._preemptor.deliver(PodPreempted(now=now, number=self._instruction.number, is_gone=is_gone))

    def _failed(self, message: str) -> float | None:
        self.outcome = "failed"
        self._preemptor.counters.failed += 1
        now = self._preemptor.timing.now()
        self._preemptor.deliver(PreemptPodFailed(now=now, number=self._instruction.number, error=message))
        return None
