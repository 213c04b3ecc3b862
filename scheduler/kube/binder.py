"""Binds pods, and finds out what became of a bind whose answer does not tell.

A bind is repeated unread only when it cannot have been processed. In every other doubt the pod is read and compared, by uid and
node. So no pod is bound twice, and a pod is only reported as not bound when that is known. kube-scheduler 1.37: binding cycle, DefaultBinder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import structlog

from scheduler.core.instruction import BindPod
from scheduler.core.stimulus import BindFailed, PodBound, Stimulus
from scheduler.kube.jobs import Lane
from scheduler.kube.retry import Retries
from scheduler.kube.timing import Backoff, Timing
from scheduler.kube.transport import Response, Transport, TransportFailure, error_of

log = structlog.get_logger(__name__)

READ_BACK_SECONDS = 0.1
LONGEST_READ_BACK_SECONDS = 5.0


@dataclass(slots=True)
class BinderCounters:
    """What happened so far; for metrics."""

    requests: int = 0
    bound: int = 0
    failed: int = 0
    repeated: int = 0
    read_back: int = 0


class _Metadata(msgspec.Struct, frozen=True):
    uid: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


class _ReadPod(msgspec.Struct):
    """The little of a pod that tells where it is bound."""

    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()


_READ_POD = msgspec.json.Decoder(_ReadPod)


class Binder:
    """Makes a job of each bind; the job delivers PodBound or BindFailed, once."""

    def __init__(self, transport: Transport, deliver: Callable[[Stimulus], None], timing: Timing) -> None:
        self.transport = transport
        self.deliver = deliver
        self.timing = timing
        self.counters = BinderCounters()
        self._is_blind = False

    def cannot_read(self, instruction: BindPod, message: str) -> None:
        """Say, once, that the server lets us read no pods."""
        if not self._is_blind:
            pod = f"{instruction.pod.namespace}/{instruction.pod.name}"
            log.error("Cannot read pods whose bind is in doubt; will retry", pod=pod, error=message)
        self._is_blind = True

    def can_read(self) -> None:
        if self._is_blind:
            log.info("Pods whose bind is in doubt can be read again")
        self._is_blind = False

    def job(self, instruction: BindPod) -> BindJob:
        return BindJob(self, instruction)


class BindJob:
    """One bind, from the first request to the answer."""

    lane = Lane.BIND

    def __init__(self, binder: Binder, instruction: BindPod) -> None:
        pod = instruction.pod
        self.key = pod.uid
        self.outcome = ""
        self._binder = binder
        self._instruction = instruction
        self._path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
        self._body = msgspec.json.encode(
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
                "target": {"kind": "Node", "name": instruction.node_name},
            }
        )
        self._retries = Retries(binder.timing.chance)
        self._reads = Backoff(
            binder.timing, initial_seconds=READ_BACK_SECONDS, maximum_seconds=LONGEST_READ_BACK_SECONDS, jitter=0.1
        )
        # Set while it is unknown whether the last request was carried out; says what it was answered.
        self._doubt: str | None = None
        self._may_repeat = False
        self._is_repeated = False

    async def attempt(self) -> float | None:
        if self._doubt is None:
            wait_seconds = await self._bind()
            if self._doubt is None:
                return wait_seconds
        return await self._read_back(self._doubt)

    async def _bind(self) -> float | None:
        """Send the bind. Afterwards it is decided, or to be repeated after the returned seconds, or in doubt."""
        counters = self._binder.counters
        counters.requests += 1
        counters.repeated += self._is_repeated
        self._is_repeated = True
        try:
            response = await self._binder.transport.post(f"{self._path}/binding", self._body)
        except TransportFailure as failure:
            if failure.sent:
                self._doubt, self._may_repeat = failure.message, True
                return None
            return self._repeat(failure.message)
        status = response.status
        if status in (200, 201, 202):
            return self._bound()
        error = error_of(response)
        if status == 429:
            wait_seconds = self._retries.after_throttling(error.retry_after_seconds)
            return self._failed(error.message) if wait_seconds is None else wait_seconds
        if status == 503:
            # Whoever stands before the API server may say so of a request that it had passed on, so the last word is the pod's.
            wait_seconds = self._retries.after_failure()
            if wait_seconds is None:
                self._doubt, self._may_repeat = error.message, False
            return wait_seconds
        if status == 409 or status >= 500 or status == 408:
            self._doubt, self._may_repeat = error.message, status != 409
            return None
        return self._failed(error.message)

    async def _read_back(self, doubt: str) -> float | None:
        """Look where the pod is bound. Until that is known the pod stays as it is: assumed to be on its node."""
        self._binder.counters.read_back += 1
        try:
            response = await self._binder.transport.get(self._path)
        except TransportFailure:
            return self._reads.next_seconds()
        if response.status == 200:
            self._binder.can_read()
            return self._compare(response, doubt)
        if response.status == 404:
            return self._failed(doubt)
        # Also a 403 says nothing of the pod: a server that has just started may not know anybody's rights yet.
        error = error_of(response)
        if response.status not in (408, 429) and response.status < 500:
            self._binder.cannot_read(self._instruction, error.message)
        return max(self._reads.next_seconds(), error.retry_after_seconds or 0.0)

    def _compare(self, response: Response, doubt: str) -> float | None:
        pod = _READ_POD.decode(response.body)
        if pod.metadata.uid == self._instruction.pod.uid:
            if pod.spec.node_name == self._instruction.node_name:
                return self._bound()
            if not pod.spec.node_name and self._may_repeat:
                # Should the first request still be under way, it or this one finds the pod bound to this very node.
                self._doubt = None
                return self._repeat(doubt)
        return self._failed(doubt)

    def _repeat(self, message: str) -> float | None:
        wait_seconds = self._retries.after_failure()
        return self._failed(message) if wait_seconds is None else wait_seconds

    def _bound(self) -> float | None:
        self.outcome = "bound"
        self._binder.counters.bound += 1
        now, instruction = self._binder.timing.now(), self._instruction
        self._binder.deliver(PodBound(now=now, uid=instruction.pod.uid, node_name=instruction.node_name))
        return None

    def _failed(self, message: str) -> float | None:
        self.outcome = "failed"
        self._binder.counters.failed += 1
        now, instruction = self._binder.timing.now(), self._instruction
        self._binder.deliver(
            BindFailed(now=now, uid=instruction.pod.uid, node_name=instruction.node_name, error=message)
        )
        return None
