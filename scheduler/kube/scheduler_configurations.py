"""Reads a SchedulerConfiguration and writes its status, and nothing else of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from scheduler.kube.access import Right
from scheduler.kube.transport import MERGE_PATCH, Transport, TransportFailure, error_of

GROUP = "reprise.dev"
PLURAL = "schedulerconfigurations"
_PATH = f"/apis/{GROUP}/v1alpha1/{PLURAL}"

RIGHTS = (
    *(Right(verb, PLURAL, GROUP, is_namespaced=False) for verb in ("get", "list", "watch")),
    Right("patch", f"{PLURAL}/status", GROUP, is_namespaced=False),
)
"""What it takes to obey one."""


class Unavailable(Exception):
    """The API server did not do it; the text says why."""


class ConfigurationClient:
    """Requests for SchedulerConfigurations.

    Args:
        reader: where reads go.
        writer: where status goes; one that is fenced does not write when the process does not lead.
    """

    def __init__(self, reader: Transport, writer: Transport) -> None:
        self._reader = reader
        self._writer = writer

    async def get(self, name: str) -> dict[str, Any] | None:
        """The resource; None when there is none of this name, or no such kind of resource.

        Raises:
            Unavailable: there was no answer, or another one.
        """
        try:
            response = await self._reader.get(f"{_PATH}/{quote(name)}")
        except TransportFailure as failure:
            raise Unavailable(failure.message) from failure
        if response.status == 404:
            return None
        if response.status != 200:
            raise Unavailable(error_of(response).message)
        found: dict[str, Any] = msgspec.json.decode(response.body, type=dict[str, Any])
        return found

    async def is_served(self) -> bool:
        """Whether the API server knows this kind of resource in the version that is read here.

        Raises:
            Unavailable: there was no answer.
        """
        try:
            response = await self._reader.get(f"{_PATH}?limit=1")
        except TransportFailure as failure:
            raise Unavailable(failure.message) from failure
        return response.status == 200

    async def write_status(self, name: str, status: Mapping[str, Any], *, resource_version: str = "") -> bool:
        """Patch the status; False when the resource is gone, or is another one than that of ``resource_version``.

        Raises:
            Unavailable: it is not written.
        """
        body: dict[str, Any] = {"status": status}
        if resource_version:
            body["metadata"] = {"resourceVersion": resource_version}
        try:
            response = await self._writer.patch(f"{_PATH}/{quote(name)}/status", msgspec.json.encode(body), MERGE_PATCH)
        except TransportFailure as failure:
            raise Unavailable(failure.message) from failure
        if response.status in (404, 409):
            return False
        if response.status != 200:
            raise Unavailable(error_of(response).message)
        return True
