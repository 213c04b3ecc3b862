"""What commands that run in the tests' own process set for all of it is set back."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _garbage_collection_as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)
