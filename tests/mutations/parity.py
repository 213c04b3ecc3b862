"""Faults that would have the comparison with kube-scheduler find nothing."""

from __future__ import annotations

from tests.mutations.mutant import mutants

UNIT = "tests/unit/parity/test_"

MUTANTS = (
    *mutants(
        "tests/parity/comparison.py",
        f"{UNIT}comparison.py",
        ("            if facts.get(what) != mine.get(what):\n", "            if False:\n"),
        ("            if facts.get(what) != again.get(what):\n", "            if True:\n"),
        ("sorted({*facts, *again, *mine})", "sorted({*facts} & {*mine})"),
        ("        if run.problem:\n", "        if False:\n"),
        ("            if one.wrong:\n", "            if False:\n"),
        ("        elif not apart:", "        elif False:"),
        ("        apart = apart or same.node != one.node\n", ""),
        ("    if len(made.unsteady) > made.compared * MOST_UNSTEADY:\n", "    if False:\n"),
    ),
    *mutants(
        "tests/parity/placement.py",
        f"{UNIT}placement.py",
        ("    if placement.node in best:\n", "    if True:\n"),
        ("each.step == placement.step and ", ""),
        ('instead = {name: node if before else "" for', "instead = {name: node for"),
    ),
)
