"""A mounted file that changes, on virtual time: read when it is another one, and not while it is being written."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from scheduler.app.config_file import ConfigFile

pytestmark = pytest.mark.looptime


class Watching:
    """How often the file was to be read."""

    def __init__(self, path: Path) -> None:
        self.file = ConfigFile(path, look_seconds=0.5)
        self.reads: list[float] = []
        self._task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        async for _ in self.file.changes():
            self.reads.append(asyncio.get_running_loop().time())

    async def after(self, seconds: float) -> int:
        await asyncio.sleep(seconds)
        return len(self.reads)

    async def end(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])


async def test_a_file_that_stays_is_never_read(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a")
    watching = Watching(tmp_path / "f")
    assert await watching.after(5.0) == 0
    await watching.end()


async def test_a_file_that_is_being_written_is_read_when_it_is_whole(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a")
    watching = Watching(tmp_path / "f")
    for number in range(6):
        await asyncio.sleep(0.4)
        (tmp_path / "f").write_text("b" * (number + 2))
        assert watching.reads == []
    assert await watching.after(1.1) == 1
    assert await watching.after(5.0) == 1
    await watching.end()


async def test_a_swapped_link_is_read_at_once(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "f").write_text(name)
    (tmp_path / "..data").symlink_to("one")
    (tmp_path / "f").symlink_to("..data/f")
    watching = Watching(tmp_path / "f")
    await asyncio.sleep(0.9)
    (tmp_path / "..new").symlink_to("two")
    (tmp_path / "..new").rename(tmp_path / "..data")
    assert await watching.after(0.2) == 1
    await watching.end()


async def test_a_file_of_the_same_size_and_time_under_another_inode_is_another_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a")
    (tmp_path / "new").write_text("b")
    watching = Watching(tmp_path / "f")
    (tmp_path / "new").rename(tmp_path / "f")
    assert await watching.after(1.1) == 1
    await watching.end()


async def test_one_that_vanishes_is_read_and_so_found_to_be_gone(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a")
    watching = Watching(tmp_path / "f")
    (tmp_path / "f").unlink()
    assert await watching.after(1.1) == 1
    await watching.end()


async def test_it_is_read_again_when_somebody_asks_for_it(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a")
    watching = Watching(tmp_path / "f")
    watching.file.read_again()
    assert await watching.after(0.1) == 1
    assert await watching.after(5.0) == 1
    await watching.end()
