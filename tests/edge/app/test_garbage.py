"""After the caches are synced the garbage collector leaves them alone."""

import asyncio
import gc

from scheduler.app.garbage import YOUNGEST, spare_once


class Cell:
    def __init__(self) -> None:
        self.itself = self


def cells() -> int:
    return sum(isinstance(one, Cell) for one in gc.get_objects())


async def test_what_is_loaded_is_never_looked_at_again_and_what_comes_later_is() -> None:
    loaded = asyncio.Event()
    task = asyncio.create_task(spare_once(loaded))
    await asyncio.sleep(0)
    assert gc.get_freeze_count() == 0

    kept = Cell()
    loaded.set()
    await task

    assert cells() == 0
    assert kept.itself is kept
    _ = Cell()
    assert cells() == 1
    del _
    gc.collect()
    assert cells() == 0
    assert gc.get_threshold()[0] == YOUNGEST
