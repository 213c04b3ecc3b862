"""Faults in what is taken for pods of one template."""

from __future__ import annotations

from tests.mutations.mutant import mutants

UNIT = "tests/unit/framework/test_likeness.py"

MUTANTS = (
    *mutants(
        "scheduler/framework/likeness.py",
        UNIT,
        ("if field not in _OWN)", 'if field == "labels")'),
        ('_OWN = {"name", "uid", ', '_OWN = {"uid", '),
        ('if field != "volumes")', 'if field not in ("volumes", "tolerations"))'),
        ("if is_storage(volume) or volume.image is not None]", "if is_storage(volume)]"),
        ("if is_storage(volume) or volume.image is not None]", "]"),
        ("pod.status, volumes", "volumes"),
    ),
    *mutants(
        "scheduler/core/batching.py",
        "tests/unit/core/test_batching.py",
        ("            if known == traits:\n", "            if True:\n"),
        ("                pod.take_over(last)\n", ""),
        ("        self._last.appendleft((traits, pod, signature))\n", ""),
    ),
)
