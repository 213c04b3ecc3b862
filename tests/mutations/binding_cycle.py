"""Faults between the choice of a node and the end of the bind."""

from __future__ import annotations

from tests.mutations.mutant import mutants

UNIT = "tests/unit/core/test_"

MUTANTS = (
    *mutants(
        "scheduler/core/binding_cycle.py",
        f"{UNIT}binding.py",
        # The room of a pod that was not bound stays taken.
        ("    if is_freed:\n        state.cache.forget(uid)\n", ""),
        # Nobody hears of the room that is free again.
        ("    if is_freed and not is_rejected:\n", "    if False:\n"),
        # A pod that someone else bound is retried.
        ("latest is None or (known is not None and not is_freed)", "latest is None"),
        # A pod that is gone is retried.
        (
            "    if latest is None or (known is not None and not is_freed):\n",
            "    latest = latest or queued.pod\n    if known is not None and not is_freed:\n",
        ),
        # The state of the pod before the decision is what is retried.
        ("add_failed(queued, latest, failure.plugins, now)", "add_failed(queued, queued.pod, failure.plugins, now)"),
    ),
    *mutants(
        "scheduler/core/binding.py",
        f"{UNIT}binding.py",
        ("state.bindings.pop(stimulus.uid, None)", "state.bindings.get(stimulus.uid)"),
    ),
)
