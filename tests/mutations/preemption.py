"""Faults in who has to go, and in what follows from it."""

from __future__ import annotations

from tests.mutations.mutant import mutants

RULES = "tests/unit/plugins/test_default_preemption.py"
CORE = "tests/unit/core/test_preemption.py"
BINDINGS = "tests/unit/core/test_preempting_bindings.py"
TRIAL = "tests/unit/profile/test_trial.py"
ROOM = "tests/unit/profile/test_making_room.py"
PREEMPTOR = "tests/edge/kube/test_preemptor.py"
NOMINATOR = "tests/unit/queue/test_nominator.py"
OVERTAKEN = "tests/unit/core/test_overtaken_preemptions.py"
POST_FILTER = "tests/unit/core/test_post_filter.py"

MUTANTS = (
    *mutants(
        "scheduler/plugins/default_preemption/victims.py",
        RULES,
        # The youngest are spared first, or the least important.
        (
            "    return [started_at(pod.pod, now) for pod in pods]\n",
            "    return [-started_at(pod.pod, now) for pod in pods]\n",
        ),
        ("[-(pod.pod.spec.priority or 0) for", "[(pod.pod.spec.priority or 0) for"),
        # Texts are compared though they are written in another way.
        (' and text[-1] == "Z" for', " for"),
        ("len(text) == _WRITTEN_LENGTH and text", "text"),
        # A budget allows one disruption more.
        ("                if remaining[place] < 0:\n", "                if remaining[place] < -1:\n"),
        # Budgets behind one that is broken are charged too.
        ("                    breaks = True\n                    break\n", "                    breaks = True\n"),
        # Budgets do not matter for who is spared.
        ("        return [*violating, *others]\n", "        return [*others, *violating]\n"),
        # Nor for which node is chosen.
        ("        violations = sum(", "        violations = 0 * sum("),
        # Those whose loss breaks a budget come first among the victims.
        ("            lost = tuple(by_importance(lost, self._now))\n", "            pass\n"),
        # What was found out about pods of a kind is taken for another one's.
        ("known[kind] = tuple(covers)", "known[kind] = tuple(covers)[:1]"),
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
        ("        return pod.metadata.name in self._disrupted\n", "        return False\n"),
    ),
    *mutants(
        "scheduler/plugins/default_preemption/choice.py",
        RULES,
        (".violations, pods[0].priority, total,", ".violations, total, pods[0].priority,"),
        ("-_oldest(victims, now))", "_oldest(victims, now))"),
        ("    return min(started_at", "    return max(started_at"),
        (" if pod.priority == highest)", ")"),
        (" - len(pods) * _LOWEST_PRIORITY", ""),
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
        ("        return bool(self.harmless) and len", "        return len"),
        # It looks at all nodes.
        ("and len(self.harmless) + len(self.harmful) >= self._enough", "and False"),
        ("        return max(missing if missing > 0 else self._enough, _FEWEST)\n", "        return 1000\n"),
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
        ("            found.without_victims += 1\n", "            pass\n"),
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
        "scheduler/core/preemption.py",
        OVERTAKEN,
        # A pod that was refused since is tried again in vain.
        ("queued is not None and queued.gating_plugin == GATE and", "queued is not None and"),
        # The last victim goes for a pod that terminates.
        ("    return queued.pod.pod.metadata.deletion_timestamp is None\n", "    return True\n"),
    ),
    *mutants(
        "scheduler/core/preemption.py",
        POST_FILTER,
        # The last plugin is heard on the nomination though it says nothing of it.
        ("        if result.nominated_node_name is not None:\n", "        if True:\n"),
        # Who says that nothing can help, or fails, does not end it.
        ("        if status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:\n", "        if False:\n"),
        ("        if not status.code.is_rejected:\n", "        if False:\n"),
    ),
    *mutants(
        "scheduler/core/preemptions.py",
        OVERTAKEN,
        # The answer to one preemption ends the next one.
        ("if self.running.get(uid) is preemption:", "if uid in self.running:"),
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
        "scheduler/core/cycle.py",
        OVERTAKEN,
        # A nomination that the API does not show yet stays for ever.
        ("is_nominated=bool(written) and written != after.nominated_node_name", "is_nominated=False"),
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
        "scheduler/profile/trial_filters.py",
        TRIAL,
        ("self.hears = column.facets | column.input_facets", "self.hears = column.facets"),
        # What PreFilter noted before pods were moved is taken for what it would note now.
        (" or self._token != self._column.token_with(state, self._pod)", ""),
    ),
    *mutants(
        "scheduler/profile/trial_filters.py",
        ROOM,
        # Sums are taken for all that there is to know of pods.
        ("        return not moved & self._beyond_sums\n", "        return True\n"),
        # PreFilter, which refused the pod, is believed without being asked again.
        ("if anew or column.plugin.inputs else None", "if column.plugin.inputs else None"),
    ),
    *mutants(
        "scheduler/profile/filter_column.py",
        TRIAL,
        (
            "        if status.code is Code.SKIP:\n            return SUCCESS\n",
            "        if False:\n            return SUCCESS\n",
        ),
    ),
    *mutants(
        "scheduler/profile/making_room.py",
        ROOM,
        ("                trial.remove(pod)\n                lost", "                lost"),
        ("        if status.code is not Code.SUCCESS:\n            return Room(status=status)\n", ""),
        ("(*node.pods, *ahead.get(node.node_name, ()))", "(*node.pods,)"),
    ),
    *mutants(
        "scheduler/profile/summed_trial.py",
        ROOM,
        # A pod takes its ports along unseen.
        (
            "        key: object = (id(amounts), ports) if ports else id(amounts)\n",
            "        key: object = id(amounts)\n",
        ),
        # What could not stay stays, or what stays is away.
        ("np.where(stays, values[self._back], 0)", "values[self._back]"),
        ("            np.subtract(away, np.where(stays, values[self._back], 0), out=away)\n", "            pass\n"),
        ("        self._away[self._step][stays] = False\n", ""),
        ("values[self._back] - away", "-away"),
        # Nominated pods take no room, or take it always.
        ("        return shift + ahead if self.counts_ahead else shift\n", "        return shift\n"),
        ("        return shift + ahead if self.counts_ahead else shift\n", "        return shift + ahead\n"),
        (" if cache.pod(pod.uid) is None]", "]"),
        ("self._ahead[:, chosen]", "self._ahead"),
        # The first to refuse a node is not the one that is told.
        ("            if statuses[index].code is Code.SUCCESS:\n", "            if True:\n"),
        ("wanted = HostPort(host_ip or ANY_IP", "wanted = HostPort(host_ip"),
    ),
    *mutants(
        "scheduler/cache/summed_view.py",
        ROOM,
        ("        return counts + self._shift.pod_count\n", "        return counts\n"),
        (" + self._shift.requested(resource)", ""),
        (" + self._shift.non_zero_requested(resource)", ""),
        ("np.fromiter(counts.values(), np.int64, len(counts))", "1"),
        (" + self._shift.port_users(host_ip, protocol, port)", ""),
        (
            "SummedView.requested(self, resource)\n\n    def non_zero_usage",
            "ColumnView.requested(self, resource)\n\n    def non_zero_usage",
        ),
    ),
    *mutants(
        "scheduler/profile/filtering.py",
        TRIAL,
        ("if reason.code is not code)", "if False)"),
    ),
    *mutants(
        "scheduler/profile/evaluation.py",
        TRIAL,
        ("np.setdiff1d(rows, list(instead))", "rows"),
        (
            "        if self.prefilter.code is Code.UNSCHEDULABLE:\n            filtering",
            "        if False:\n            filtering",
        ),
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
