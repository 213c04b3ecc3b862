"""A Lease as the record of an election: read, created and updated, never blindly.

An update carries the resourceVersion that was read, so of two who want it one is refused. kube-scheduler 1.37: leader election, Lease lock.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import msgspec

from scheduler.api.micro_time import micro_time
from scheduler.kube.transport import Response, Transport, TransportFailure, error_of


class LeaseRecord(NamedTuple):
    """Who leads. Times are as the API writes them and are compared for equality only: they are of somebody else's clock."""

    holder: str = ""
    duration_seconds: int = 0
    acquire_time: str = ""
    renew_time: str = ""
    transitions: int = 0


class LeaseError(Exception):
    """The Lease could not be read or written. ``code`` is the API server's, 0 when there was no answer."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class _Spec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class _Lease(msgspec.Struct):
    spec: _Spec | None = None


class LeaseLock:
    """One Lease of one namespace."""

    def __init__(self, transport: Transport, *, namespace: str, name: str) -> None:
        self.namespace = namespace
        self.name = name
        self._transport = transport
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        # The whole object as it was last seen: what others wrote into it stays.
        self._lease: dict[str, Any] = {}

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def metadata(self) -> dict[str, Any]:
        """Of the Lease as it was last seen."""
        found: dict[str, Any] = self._lease.get("metadata", {})
        return found

    async def get(self) -> LeaseRecord | None:
        """What the Lease says; None when there is none.

        Raises:
            LeaseError: it cannot be read.
        """
        try:
            response = await self._transport.get(f"{self._collection}/{self.name}")
        except TransportFailure as failure:
            raise LeaseError(0, failure.message) from failure
        if response.status == 404:
            return None
        return self._take(response)

    async def create(self, record: LeaseRecord) -> None:
        """Make the Lease.

        Raises:
            LeaseError: it was not created, or nobody knows.
        """
        manifest = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": _spec_of(record),
        }
        try:
            await self._write("post", self._collection, manifest)
        except LeaseError as error:
            if error.code in (403, 404):
                message = f"there is no Lease {self} and it cannot be made; apply deploy/manifests/rbac.yaml, or make it: {error.message}"
                raise LeaseError(error.code, message) from error
            raise

    async def update(self, record: LeaseRecord) -> None:
        """Write the record, unless the Lease has changed since it was last seen here.

        Raises:
            LeaseError: it was not updated, or nobody knows; code 409 when it has changed.
        """
        await self._write("put", f"{self._collection}/{self.name}", {**self._lease, "spec": _spec_of(record)})

    async def _write(self, method: str, path: str, lease: dict[str, Any]) -> None:
        try:
            response: Response = await getattr(self._transport, method)(path, msgspec.json.encode(lease))
        except TransportFailure as failure:
            raise LeaseError(0, failure.message) from failure
        self._take(response)

    def _take(self, response: Response) -> LeaseRecord:
        if response.status not in (200, 201):
            error = error_of(response)
            raise LeaseError(error.code or response.status, error.message)
        try:
            spec = msgspec.json.decode(response.body, type=_Lease).spec or _Spec()
            self._lease = msgspec.json.decode(response.body, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise LeaseError(0, f"the Lease {self} cannot be decoded: {error}") from error
        return LeaseRecord(
            holder=spec.holder_identity or "",
            duration_seconds=spec.lease_duration_seconds or 0,
            acquire_time=spec.acquire_time or "",
            renew_time=spec.renew_time or "",
            transitions=spec.lease_transitions or 0,
        )


def record_of(holder: str, duration_seconds: float, now: float) -> LeaseRecord:
    """The record of a term that begins now; a part of a second counts as one, so that no Lease ends before it should."""
    time = micro_time(now)
    return LeaseRecord(holder, math.ceil(duration_seconds), time, time)


def _spec_of(record: LeaseRecord) -> dict[str, Any]:
    return {
        "holderIdentity": record.holder,
        "leaseDurationSeconds": record.duration_seconds,
        "acquireTime": record.acquire_time,
        "renewTime": record.renew_time,
        "leaseTransitions": record.transitions,
    }
