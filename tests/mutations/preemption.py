"""Faults in who has to go, and in what follows from it."""

from __future__ import annotations

from tests.mutations.mutant import mutants

RULES = "tests/unit/plugins/test_default_preemption.py"
CORE = "tests/unit/core/test_preemption.py"
BINDINGS = "tests/unit/core/test_preempting_bindings.py"
TRIAL = "tests/unit/profile/test_trial.py"
PREEMPTOR = "tests/edge/kube/test_preemptor.py"
NOMINATOR = "tests/unit/queue/test_nominator.py"

MUTANTS = (
    *mutants(
        "scheduler/plugins/default_preemption/victims.py",
        RULES,
        # The youngest are spared first, or the least important.
        ("(-pod.priority, started_at(pod.pod, now))", "(-pod.priority, -started_at(pod.pod, now))"),
        ("(-pod.priority, started_at(pod.pod, now))", "(pod.priority, started_at(pod.pod, now))"),
        # A budget allows one disruption more.
        ("                if remaining[index] < 0:\n", "                if remaining[index] < -1:\n"),
        # Budgets behind one that is broken are charged too.
        ("                    breaks = True\n                    break\n", "                    breaks = True\n"),
        # Nobody is spared.
        (
            "    trial.restore(pod)\n    if trial.status().code is Code.SUCCESS:\n        return True\n",
            "    trial.restore(pod)\n",
        ),
        # Budgets do not matter for who is spared.
        (
            (
                "    broken = [pod for pod in violating if not _is_spared(pod, trial)]\n"
                "    lost = [pod for pod in others if not _is_spared(pod, trial)]\n"
            ),
            (
                "    lost = [pod for pod in others if not _is_spared(pod, trial)]\n"
                "    broken = [pod for pod in violating if not _is_spared(pod, trial)]\n"
            ),
        ),
        # A pod that goes for whatever reason counts as a victim.
        (
            '            return condition.status == "True" and condition.reason',
            "            return bool(condition.reason) or condition.reason",
        ),
    ),
    *mutants(
        "scheduler/framework/disruption.py",
        RULES,
        ("            bool(metadata.labels)\n            and ", "            "),
        ("            and metadata.namespace == self.namespace\n", ""),
        ("            and not self._matcher.is_empty\n", ""),
        ("            and metadata.name not in self._disrupted\n", ""),
    ),
    *mutants(
        "scheduler/plugins/default_preemption/choice.py",
        RULES,
        (".violations, highest, total,", ".violations, total, highest,"),
        (", -oldest\n", ", oldest\n"),
        ("    oldest = min(", "    oldest = max("),
        (" if pod.priority == highest)", ")"),
        ("pod.priority - _LOWEST_PRIORITY", "pod.priority"),
    ),
    *mutants(
        "scheduler/plugins/default_preemption/args.py",
        RULES,
        (
            "return min(max(share, self.min_candidate_nodes_absolute), nodes)",
            "return max(share, self.min_candidate_nodes_absolute)",
        ),
        ("max(share, ", "min(share, "),
    ),
    *mutants(
        "scheduler/plugins/default_preemption/plugin.py",
        RULES,
        # The search always begins with the first node.
        ("int(cycle.chance() * count)", "0"),
        # It ends with candidates that all break budgets.
        ("            if harmless and len(harmless)", "            if len(harmless)"),
        # It looks at all nodes.
        ("                break\n        return _Search(", "                pass\n        return _Search("),
    ),
    *mutants(
        "scheduler/plugins/default_preemption/plugin.py",
        CORE,
        ('    if pod.pod.spec.preemption_policy == "Never":\n        return NEVER\n', ""),
        # The pod waits at a node that it can never be on.
        ("in (None, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)", "is None"),
        (
            '    return TERMINATING if any(is_terminating_victim(other.pod) for other in lower) else ""\n',
            '    return ""\n',
        ),
        # A pod that nothing helps stays nominated.
        ('(_nowhere(search, cycle.node_count),)), "")', "(_nowhere(search, cycle.node_count),)))"),
        ("        counts[NO_VICTIMS] += search.without_victims\n", "        pass\n"),
        ("    if untried:\n", "    if False:\n"),
    ),
    *mutants(
        "scheduler/core/preemption.py",
        CORE,
        # All victims are deleted at once.
        ("    for victim in staying[:-1]:\n", "    for victim in staying:\n"),
        # Who is on the way out is deleted again.
        (" if victim.pod.metadata.deletion_timestamp is None]", "]"),
        # Lower nominations stay.
        ("        state.queue.nominator.remove(other.uid)\n", ""),
        # The last victim goes though the others stay.
        (" and not running.has_failed and", " and"),
        # Or though nobody needs its room any more.
        (" and _is_wanted(state, running):", ":"),
        # The pod waits for an end that was told before.
        ("        running.must_activate = True\n    else:\n", "        pass\n    else:\n"),
        ("running.has_failed or running.must_activate or is_late", "running.must_activate or is_late"),
        ("running.has_failed or running.must_activate or is_late", "running.has_failed or running.must_activate"),
        # It is tried again in vain while victims end.
        ("    if running.has_failed or running.must_activate or is_late:\n", "    if True:\n"),
        # No room is kept until the API shows the nomination.
        ("        state.queue.nominator.nominate(pod, kept)\n", "        pass\n"),
        # A victim is told twice.
        ("    state.preemptions.finish(running)\n", ""),
        ("        state.measurements.preemption_attempts += plugin.name == GATE\n", ""),
        # The victim's end is told before it is certain.
        ("    else:\n        instructions.append(_event(running, victim, stimulus.now))\n", ""),
    ),
    *mutants(
        "scheduler/core/preemption.py",
        BINDINGS,
        # A pod that was never bound is deleted.
        ("    if instructions is not None:\n        if victim", "    if False:\n        if victim"),
        # Nothing wakes the pod for which another lost its place.
        ("            running.must_activate = True\n        return", "            pass\n        return"),
    ),
    *mutants(
        "scheduler/core/preemptions.py",
        CORE,
        # The gate stays open, or closed.
        ("        return _WAITING\n", "        return SUCCESS\n"),
        ("        if preemption.is_last_sent:\n", "        if False:\n"),
        (" or last.pod.pod.metadata.deletion_timestamp is not None", ""),
        ("        if preemption.is_last_sent:\n", "        if True:\n"),
    ),
    *mutants(
        "scheduler/core/binding_cycle.py",
        BINDINGS,
        ("        elif not verdict.code.is_rejected:\n", "        elif False:\n"),
    ),
    *mutants(
        "scheduler/core/cycle.py",
        CORE,
        ("        nominated_node_name=after.nominated_node_name,\n", ""),
    ),
    *mutants(
        "scheduler/profile/trial.py",
        TRIAL,
        ("        trial.put_all_back()\n", "        pass\n"),
        # What a pod brings is not looked at once the node has held the other.
        ("            self._moved |= pod.facets\n", "            pass\n"),
        ("            if self._ahead:\n", "            if False:\n"),
    ),
    *mutants(
        "scheduler/profile/filtering.py",
        TRIAL,
        ("moved & (column.facets | column.input_facets)", "moved & column.facets"),
        ("if reason.code is not code)", "if False)"),
    ),
    *mutants(
        "scheduler/profile/evaluation.py",
        TRIAL,
        ("np.setdiff1d(rows, list(instead))", "rows"),
        ("            return self._try_beyond_prefilter(row, moved)\n", "            return self.prefilter\n"),
    ),
    *mutants(
        "scheduler/queue/nominator.py",
        NOMINATOR,
        ("            node_name = kept\n", "            pass\n"),
        (" if pod.priority < priority]", " if pod.priority <= priority]"),
    ),
    *mutants(
        "scheduler/kube/preemptor.py",
        PREEMPTOR,
        ("                self._is_told = True\n", "                pass\n"),
        (', "preconditions": {"uid": self.key}', ""),
        ("            self._answer(is_gone=True)\n", "            self._answer(is_gone=False)\n"),
        ("response.status == 404 or is_other", "response.status == 404"),
        ("                self._retries = Retries(self._preemptor.timing.chance)\n", ""),
    ),
    *mutants(
        "scheduler/core/failure.py",
        "tests/unit/core/test_preemption.py",
        ("(status, reason, message):\n        return None\n", "(status, reason, message):\n        pass\n"),
    ),
)
