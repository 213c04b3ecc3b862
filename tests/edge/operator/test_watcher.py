"""kopf on its own thread: its end is the process's end."""

from __future__ import annotations

import asyncio
import getpass
import logging
import threading
from typing import Any

import kopf
import pytest
import structlog.testing

from scheduler.operator.watcher import Login, OperatorFailed, ResourceWatcher


def nobody() -> Login:
    return Login(server="https://127.0.0.1:1")


@pytest.mark.parametrize(
    ("fails", "error"), [(True, "RuntimeError: no more"), (False, "it ended by itself")], ids=["raises", "returns"]
)
async def test_when_kopf_ends_it_is_raised_on_the_loop_of_the_process(
    monkeypatch: pytest.MonkeyPatch, fails: bool, error: str
) -> None:
    seen: list[str] = []

    async def operator(**_: Any) -> None:
        seen.append(threading.current_thread().name)
        if fails:
            raise RuntimeError("no more")

    monkeypatch.setattr(kopf, "operator", operator)
    watcher = ResourceWatcher(nobody, lambda _kind, _found: None)
    with pytest.raises(OperatorFailed) as raised:
        await watcher.run()
    await watcher.stop()

    assert str(raised.value) == f"the watch of schedulerconfigurations.reprise.dev ended: {error}"
    assert seen == ["operator"]


async def test_kopf_is_started_so_that_it_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    async def operator(**options: Any) -> None:
        given.update(options)

    monkeypatch.setattr(kopf, "operator", operator)
    watcher = ResourceWatcher(nobody, lambda _kind, _found: None)
    with pytest.raises(OperatorFailed):
        await watcher.run()

    settings = given["settings"]
    assert (given["standalone"], settings.scanning.disabled, settings.posting.enabled) == (True, True, False)


async def test_a_user_without_a_name_can_run_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container: its user is a number that no list of users has."""

    def nobody_knows() -> str:
        raise KeyError("getpwuid(): uid not found: 65532")

    monkeypatch.setattr(getpass, "getuser", nobody_knows)
    ended: list[str] = []

    async def watch() -> None:
        try:
            await watcher.run()
        except OperatorFailed as failure:
            ended.append(str(failure))

    asked = threading.Event()

    def login() -> Login:
        asked.set()
        return nobody()

    watcher = ResourceWatcher(login, lambda _kind, _found: None)
    task = asyncio.create_task(watch())
    await asyncio.to_thread(asked.wait, 10.0)
    task.cancel()
    await asyncio.wait([task])
    await watcher.stop()
    assert (asked.is_set(), ended) == (True, [])


async def test_what_kopf_complains_of_is_a_line_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    async def operator(**_: Any) -> None:
        logging.getLogger("kopf.activities").warning("no %s", "credentials")
        logging.getLogger("kopf.activities").info("all is well")

    monkeypatch.setattr(kopf, "operator", operator)
    watcher = ResourceWatcher(nobody, lambda _kind, _found: None)
    with structlog.testing.capture_logs() as lines, pytest.raises(OperatorFailed):
        await watcher.run()
    assert lines == [{"event": "kopf", "detail": "no credentials", "log_level": "warning"}]
