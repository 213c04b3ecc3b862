"""Faults in what happens when the clock is set back."""

from __future__ import annotations

from tests.mutations.mutant import mutants

STORY = "tests/story/test_clock_jumps.py"

MUTANTS = (
    *mutants(
        "scheduler/core/clock.py",
        STORY,
        ("return seconds if seconds >= LEAST_SECONDS else 0.0", "return 0.0"),
        ("            self._last = now\n", "            pass\n"),
        ("    state.queue.set_back(seconds)\n", ""),
        ("        binding.queued.set_back(seconds)\n", ""),
        ("            cycle.wait.since -= seconds\n", "            pass\n"),
        ("    state.kubelet_rejections.cooling.set_back(seconds)\n", ""),
    ),
    *mutants(
        "scheduler/core/cooling.py",
        STORY,
        ("until - seconds for name", "until for name"),
        ("cool._replace(until=cool.until - seconds)", "cool"),
    ),
    *mutants(
        "scheduler/queue/queued_pod.py",
        STORY,
        ("        self.timestamp -= seconds\n", ""),
        ("            self.initial_attempt_timestamp -= seconds\n", "            pass\n"),
        ("            self.flushed_at -= seconds\n", "            pass\n"),
    ),
    *mutants(
        "scheduler/queue/scheduling_queue.py",
        STORY,
        ("            self._flushed_at -= seconds\n", "            pass\n"),
        (
            "            queued.set_back(seconds)\n            if queued.room is Room.ACTIVE:\n",
            "            queued.set_back(seconds)\n            if False:\n",
        ),
    ),
)
