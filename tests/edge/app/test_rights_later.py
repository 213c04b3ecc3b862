"""Rights that are taken away, or given back, while the scheduler runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from scheduler.app.runtime import Runtime
from scheduler.config.configuration import from_object
from scheduler.kube.access import AccessReviewError, Right
from scheduler.kube.transport import Transport

BIND = "create pods/binding (all namespaces)"


async def test_what_is_taken_away_later_is_known_and_said_once_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[list[str] | Exception] = [[], [BIND], [BIND], AccessReviewError("away"), [], []]
    known: list[tuple[str, ...]] = []
    nobody: Any = None
    transport: Transport = nobody
    runtime = Runtime(from_object(None), transport, hostname="", seed=0)

    async def missing(_: Transport, rights: Sequence[Right]) -> list[str]:
        known.append(runtime.missing)
        if not answers:
            raise asyncio.CancelledError
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr("scheduler.app.runtime.missing_rights", missing)
    monkeypatch.setattr("scheduler.app.runtime.RIGHTS_AGAIN_SECONDS", 0.0)
    with capture_logs() as lines, pytest.raises(asyncio.CancelledError):
        await runtime._look_after_rights()

    assert known == [(), (), (BIND,), (BIND,), (BIND,), (), ()]
    assert [(line["log_level"], line.get("missing")) for line in lines] == [("error", [BIND]), ("info", None)]
