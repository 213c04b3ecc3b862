"""What holds for every ring: its marker, its time limit, and Hypothesis without clocks."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

TESTS = Path(__file__).parent

# Folder of a ring -> its marker and the limit of one test, in seconds. A limit is for a machine that is busy with other
# work: a unit test that comes near it is wrong long before, save for a property with many examples.
RINGS = {
    "unit": ("unit", 30),
    "story": ("story", 60),
    "edge": ("edge", 30),
    "contract": ("contract", 60),
    "conformance": ("conformance", 60),
    "docs": ("docs", 60),
    "chart": ("chart", 120),
    "prometheus": ("prometheus", 240),
    "integration": ("cluster", 240),
}

# A deadline would make the machine's load a test result. Examples stay random: the seed of a failure is printed.
settings.register_profile("reprise", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("reprise")

# Where no loop was ever set, pytest-asyncio's question for the current one makes one that nothing closes.
asyncio.set_event_loop(None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with its ring, so that `-m` and the folders never disagree."""
    for item in items:
        ring = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""
        if ring not in RINGS:
            message = (
                f"{item.nodeid}: {ring or item.path} is no ring; tests live in {', '.join(RINGS)} (docs/testing.md)"
            )
            raise pytest.UsageError(message)
        marker, limit = RINGS[ring]
        item.add_marker(marker)
        if item.get_closest_marker("timeout") is None:
            limit = 240 if item.get_closest_marker("cluster") else limit
            item.add_marker(pytest.mark.timeout(limit))
