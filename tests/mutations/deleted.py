"""Faults in what is left of a pod that is deleted on its way."""

from __future__ import annotations

from tests.mutations.mutant import mutants

STORY = "tests/story/test_deleted_under_way.py"

MUTANTS = (
    *mutants(
        "scheduler/core/handlers.py",
        STORY,
        # Its bind goes on, or is tried again when it has failed.
        ("        binding.latest = None\n        abandon(state, uid, now)\n", "        binding.latest = None\n"),
        ("        binding.latest = None\n        abandon(state, uid, now)\n", "        abandon(state, uid, now)\n"),
    ),
    *mutants(
        "scheduler/core/binding_cycle.py",
        STORY,
        ("    unreserve(state, cycle, now)\n    state.queue.done(uid)\n", "    unreserve(state, cycle, now)\n"),
        (
            "    state.binding_cycles.leave(uid)\n    unreserve(state, cycle, now)\n",
            "    unreserve(state, cycle, now)\n",
        ),
    ),
    *mutants(
        "scheduler/core/extending.py",
        STORY,
        # What extenders were asked about it is waited for.
        ("            self._state.extenders.forget(number)\n", "            pass\n"),
    ),
)
