"""The Events about a Lease that tell who led and when (kube-scheduler 1.37: leader election)."""

from __future__ import annotations

import time

import msgspec
import structlog

from scheduler.api.micro_time import micro_time
from scheduler.kube.lease import LeaseLock
from scheduler.kube.transport import Transport, TransportFailure, error_of

log = structlog.get_logger(__name__)

_LONGEST_INSTANCE = 128  # the API server refuses longer ones


async def record_event(transport: Transport, lock: LeaseLock, *, note: str, reporter: str, hostname: str) -> None:
    """Record one, if that can be done at once: nothing depends on it."""
    now = time.time()
    metadata = lock.metadata
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{lock.name}.{int(now * 1e9):x}", "namespace": lock.namespace},
        "eventTime": micro_time(now),
        "reportingController": reporter,
        "reportingInstance": f"{reporter}-{hostname}"[:_LONGEST_INSTANCE],
        "action": "LeaderElection",
        "reason": "LeaderElection",
        "type": "Normal",
        "note": note,
        "regarding": {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "namespace": lock.namespace,
            "name": lock.name,
            "uid": metadata.get("uid", ""),
            "resourceVersion": metadata.get("resourceVersion", ""),
        },
    }
    path = f"/apis/events.k8s.io/v1/namespaces/{lock.namespace}/events"
    try:
        response = await transport.post(path, msgspec.json.encode(event))
    except TransportFailure as failure:
        log.info("the Event about the Lease was not recorded", note=note, error=failure.message)
        return
    if response.status != 201:
        log.info("the Event about the Lease was not recorded", note=note, error=error_of(response).message)
