"""Faults that the tests must notice: python -m tests.mutations.

Each fault is put into a copy of the checkout, alone, and the tests that stand beside it are run there. A fault that none of
them notices is printed, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from random import Random

# Imported once, so that each of the forks need not.
import hypothesis.stateful  # noqa: F401
import looptime  # noqa: F401
import pytest_asyncio.plugin  # noqa: F401
import rich.table  # noqa: F401
import yaml  # noqa: F401

from tests.mutations.app import MUTANTS as APP
from tests.mutations.batch import MUTANTS as BATCH
from tests.mutations.beside_others import MUTANTS as BESIDE_OTHERS
from tests.mutations.binding_cycle import MUTANTS as BINDING_CYCLE
from tests.mutations.clock import MUTANTS as CLOCK
from tests.mutations.core import MUTANTS as CORE
from tests.mutations.deleted import MUTANTS as DELETED
from tests.mutations.extenders import MUTANTS as EXTENDERS
from tests.mutations.habits import MUTANTS as HABITS
from tests.mutations.hints import MUTANTS as HINTS
from tests.mutations.inter_pod_affinity import MUTANTS as INTER_POD_AFFINITY
from tests.mutations.leader_election import MUTANTS as LEADER_ELECTION
from tests.mutations.likeness import MUTANTS as LIKENESS
from tests.mutations.node_declared_features import MUTANTS as NODE_DECLARED_FEATURES
from tests.mutations.nominated import MUTANTS as NOMINATED
from tests.mutations.observing import MUTANTS as OBSERVING
from tests.mutations.parity import MUTANTS as PARITY
from tests.mutations.pod_topology_spread import MUTANTS as POD_TOPOLOGY_SPREAD
from tests.mutations.preemption import MUTANTS as PREEMPTION
from tests.mutations.profile import MUTANTS as PROFILE
from tests.mutations.queue import MUTANTS as QUEUE
from tests.mutations.reload import MUTANTS as RELOAD
from tests.mutations.runner import (
    HEALTHY_LIMIT_SECONDS,
    PASSED,
    MutantError,
    copy_checkout,
    is_noticed,
    mutated,
    preload,
    run,
)
from tests.mutations.serving import MUTANTS as SERVING
from tests.mutations.volume_binding import MUTANTS as VOLUME_BINDING
from tests.mutations.volumes import MUTANTS as VOLUMES

MUTANTS = (
    *BATCH,
    *BINDING_CYCLE,
    *BESIDE_OTHERS,
    *NOMINATED,
    *OBSERVING,
    *CLOCK,
    *CORE,
    *DELETED,
    *EXTENDERS,
    *QUEUE,
    *RELOAD,
    *HABITS,
    *HINTS,
    *PROFILE,
    *INTER_POD_AFFINITY,
    *LEADER_ELECTION,
    *LIKENESS,
    *NODE_DECLARED_FEATURES,
    *VOLUME_BINDING,
    *VOLUMES,
    *APP,
    *POD_TOPOLOGY_SPREAD,
    *PARITY,
    *PREEMPTION,
    *SERVING,
)


def main() -> int:
    assert "scheduler" not in sys.modules
    parser = argparse.ArgumentParser(prog="python -m tests.mutations")
    parser.add_argument("words", nargs="*", help="only mutants whose line has all of these")
    parser.add_argument("--count", type=int, help="so many of them, by --seed (default: all)")
    parser.add_argument("--seed", type=int, default=Random().getrandbits(32), help="(default: another each time)")
    options = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if all(word in str(mutant) for word in options.words)]
    if not chosen:
        parser.error(f"no mutant's line has all of: {' '.join(options.words)}")
    if options.count is not None and options.count < 1:
        parser.error(f"argument --count: expected a whole number above 0, got {options.count}")
    if options.count is not None:
        print(f"seed {options.seed}", flush=True)
        chosen = Random(options.seed).sample(chosen, min(options.count, len(chosen)))
    try:
        for mutant in chosen:
            mutated(mutant)
    except MutantError as error:
        print(error)
        return 1
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        copy = Path(folder)
        copy_checkout(copy)
        preload(copy, chosen)
        every_test = sorted({test for mutant in chosen for test in mutant.tests})
        if run(every_test, copy, HEALTHY_LIMIT_SECONDS) != PASSED:
            print("the tests fail without any fault: run them by themselves first")
            return 1
        survivors = [mutant for mutant in chosen if not is_noticed(mutant, copy)]
    for mutant in survivors:
        print(f"nothing notices {mutant}\n    tests: {' '.join(mutant.tests)}")
    print(f"in {time.monotonic() - began:.0f} s")
    print(f"{len(chosen)} mutations, {len(chosen) - len(survivors)} killed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
