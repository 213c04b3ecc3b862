"""Binds pods: no pod is bound twice, and a pod is only reported as not bound when that is known.

kube-scheduler 1.37: binding cycle, DefaultBinder.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec

from scheduler.core.instruction import BindPod
from scheduler.core.stimulus import BindFailed, PodBound, Stimulus
from scheduler.kube.checked_write import CheckedWrite, Found, Reading, WriteCounters
from scheduler.kube.timing import Timing
from scheduler.kube.transport import Response, Transport


@dataclass(slots=True)
class BinderCounters(WriteCounters):
    """What happened so far; for metrics."""

    bound: int = 0


class _BoundPod(msgspec.Struct, frozen=True, gc=False):
    name: str
    namespace: str
    uid: str


class _Target(msgspec.Struct, frozen=True, gc=False):
    name: str
    kind: str = "Node"


class _Binding(msgspec.Struct, frozen=True, rename="camel"):
    """``v1`` Binding."""

    metadata: _BoundPod
    target: _Target
    api_version: str = "v1"
    kind: str = "Binding"


class _Metadata(msgspec.Struct, frozen=True):
    uid: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


class ReadPod(msgspec.Struct):
    """The little of a pod that tells where it is bound."""

    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()


_ENCODER = msgspec.json.Encoder()
READ_POD = msgspec.json.Decoder(ReadPod)


class Binder:
    """Makes a job of each bind; the job delivers PodBound or BindFailed, once.

    Args:
        may_bind: asked with the pod's uid right before its bind is sent. When it says no, the bind is dropped without a word.
    """

    def __init__(
        self,
        transport: Transport,
        deliver: Callable[[Stimulus], None],
        timing: Timing,
        may_bind: Callable[[str], bool] = lambda _uid: True,
    ) -> None:
        self.transport = transport
        self.deliver = deliver
        self.timing = timing
        self.may_bind = may_bind
        self.counters = BinderCounters()
        self.reading = Reading(
            "Cannot read pods whose bind is in doubt; will retry", "Pods whose bind is in doubt can be read again"
        )

    def job(self, instruction: BindPod) -> BindJob:
        return BindJob(self, instruction)


class BindJob(CheckedWrite):
    """One bind, from the first request to the answer."""

    def __init__(self, binder: Binder, instruction: BindPod) -> None:
        pod = instruction.pod
        super().__init__(
            binder.transport,
            binder.timing,
            binder.counters,
            binder.reading,
            key=pod.uid,
            path=f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}",
            name=f"{pod.namespace}/{pod.name}",
        )
        self._binder = binder
        self._instruction = instruction

    def is_wanted(self) -> bool:
        return self._binder.may_bind(self.key)

    def send(self) -> Awaitable[Response]:
        pod = self._instruction.pod
        binding = _Binding(
            metadata=_BoundPod(name=pod.name, namespace=pod.namespace, uid=pod.uid),
            target=_Target(name=self._instruction.node_name),
        )
        return self.transport.post(f"{self.path}/binding", _ENCODER.encode(binding))

    def find(self, body: bytes) -> Found:
        pod, instruction = READ_POD.decode(body), self._instruction
        if pod.metadata.uid != instruction.pod.uid:
            return Found.OTHERWISE
        if not pod.spec.node_name:
            return Found.UNWRITTEN
        return Found.WRITTEN if pod.spec.node_name == instruction.node_name else Found.OTHERWISE

    def written(self, body: bytes) -> None:
        self.outcome = "bound"
        self._binder.counters.bound += 1
        now, instruction = self._binder.timing.now(), self._instruction
        self._binder.deliver(PodBound(now=now, uid=instruction.pod.uid, node_name=instruction.node_name))

    def failed(self, message: str) -> None:
        self.outcome = "failed"
        now, instruction = self._binder.timing.now(), self._instruction
        self._binder.deliver(
            BindFailed(now=now, uid=instruction.pod.uid, node_name=instruction.node_name, error=message)
        )
