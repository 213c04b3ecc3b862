"""The garbage collector, set for a process that holds a whole cluster in memory.

What it holds is reached by references and freed by them. Left alone, the collector walks through all of it now and then, and in
that time nothing is decided: with 10,000 pods bound in a row it took 30 us a pod, and so set it takes 1.
"""

from __future__ import annotations

import asyncio
import gc

YOUNGEST = 20_000
"""Objects made, less those freed, after which the youngest are looked at; Python's own 700 is a few pods' worth."""


async def spare_once(loaded: asyncio.Event) -> None:
    """``spare_what_is_loaded``, once everything is."""
    await loaded.wait()
    spare_what_is_loaded()


def spare_what_is_loaded() -> None:
    """Never look through what there is, and look less often at what comes later.

    It is not looked through a last time either: that takes 70 ms or more, and finds nothing.
    """
    gc.freeze()
    gc.set_threshold(YOUNGEST, *gc.get_threshold()[1:])
