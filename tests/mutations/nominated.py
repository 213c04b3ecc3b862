"""Faults in how a pod is tried beside those nominated to a node."""

from __future__ import annotations

from tests.mutations.mutant import mutants

TESTS = "tests/unit/profile/test_nominated.py"

MUTANTS = (
    *mutants(
        "scheduler/profile/nominated.py",
        TESTS,
        # The pods stay where they were tried.
        ("            cache.forget(pod.uid)\n", "            pass\n"),
        # A pod that is on a node already is seated once more.
        ("            if cache.pod(pod.uid) is None:\n", "            if True:\n"),
        # The evaluation goes on from a table that has changed since.
        ("    evaluation.refresh()\n", ""),
        # Nodes that PreFilter leaves out are told twice.
        (" and status.plugin:", ":"),
        # After a failure nothing is taken out again.
        ("        yield\n    finally:\n", "        yield\n    except ZeroDivisionError:\n        pass\n    else:\n"),
        ("    if evaluation.prefilter.code is not Code.SUCCESS:\n        return {}\n", ""),
    ),
    *mutants(
        "scheduler/profile/filtering.py",
        TESTS,
        # What PreFilter noted without the nominated pods is used with them.
        ("anew=is_renumbered or bool(column.plugin.inputs)", "anew=is_renumbered"),
        # Ids that mean something else by now are looked up.
        ("anew=is_renumbered or bool(column.plugin.inputs)", "anew=bool(column.plugin.inputs)"),
    ),
    *mutants(
        "scheduler/profile/filter_column.py",
        TESTS,
        # A plugin that was skipped is asked about what only nominated pods ask for.
        ("        if self.skipped:\n            return SUCCESS\n", ""),
        # The notes of the evaluation are overwritten by those of the trial.
        ("        state: CycleState = {}\n", "        state: CycleState = self._state\n"),
        # Reasons that hang on what PreFilter noted are those of another state.
        (
            "            reasons = self.reasons if state is None else self.plugin.reasons(state, pod)\n",
            "            reasons = self.reasons\n",
        ),
        (
            "        if status.code.is_rejected:\n            return status._replace(plugin=self.plugin.name)\n",
            "",
        ),
    ),
)
