"""Faults in habits of kube-scheduler that stories of the whole core must notice by themselves, without tests of parts."""

from __future__ import annotations

from tests.mutations.mutant import mutants

WAITING = "tests/story/test_waiting_habits.py"
BINDING = "tests/story/test_binding_habits.py"
TELLING = "tests/story/test_telling_habits.py"
NODES = "tests/story/test_node_habits.py"
PREEMPTING = "tests/story/test_preempting_habits.py"
FIELD_CASES = "tests/story/test_queue_field_cases.py"
REPEATED = "tests/story/test_binds_that_are_repeated.py"
NOT_FOLLOWED = "tests/story/test_habits_not_followed.py"

MUTANTS = (
    *mutants(
        "scheduler/queue/backoff.py",
        WAITING,
        ("expiration >= math.floor(now)", "expiration > math.floor(now)"),
        ("queued.consecutive_errors or queued.unschedulable_count", "queued.unschedulable_count"),
    ),
    *mutants(
        "scheduler/queue/scheduling_queue.py",
        WAITING,
        # Who was woken waits for its back-off though nobody else is there.
        ("            queued = self._backing_off.pop()\n", "            queued = None\n"),
        ("            queued.consecutive_errors = 0\n", ""),
        (
            "            queued.consecutive_errors += 1\n",
            "            queued.consecutive_errors += 1\n            queued.unschedulable_count = 0\n",
        ),
        # Errors are popped early, as rejections are.
        (
            "        if queued.unschedulable_plugins:\n            self._push(self._backing_off,",
            "        if True:\n            self._push(self._backing_off,",
        ),
        # A pod in flight is queued a second time when it changes.
        (
            "        if pod.uid in self._in_flight:\n            self.record_own",
            "        if False:\n            self.record_own",
        ),
        ("        if len(self._in_flight) and self._hearing.is_of_interest(event):\n", "        if False:\n"),
        # PreEnqueue is asked once.
        ("        if not self._is_admitted(queued, label):\n", "        if False:\n"),
        ("        self._sign_anew(queued)\n        if waits:\n", "        if waits:\n"),
        # PreEnqueue is asked on the way out of the back-off too.
        (
            "                self._enter_active(queued, BACKOFF_COMPLETE, now)\n",
            "                self._requeue(queued, BACKOFF_COMPLETE, now)\n",
        ),
    ),
    *mutants(
        "scheduler/queue/hearing.py",
        WAITING,
        # A gated pod hears of everything that those hear of who rejected it.
        ("        if not gating or event.is_wildcard:\n", "        if True:\n"),
    ),
    *mutants(
        "scheduler/framework/cluster_event.py",
        WAITING,
        (" and incoming.action <= self.action", ""),
        ("bool(self.action & incoming.action)", "self.action == incoming.action"),
        ("incoming.resource in _POD_KINDS", "incoming.resource is EventResource.TARGET_POD"),
    ),
    *mutants(
        "scheduler/core/handlers.py",
        WAITING,
        # A pod that is no profile's is decided on.
        ("    if state.profile_of(pod) is None and state.tries(pod.uid):\n", "    if False:\n"),
        # A pod that somebody else has bound stays queued, unless it names us.
        (
            "    nominated = _nominated(state, pod.uid)\n    state.queue.delete(pod.uid)\n",
            "    nominated = None\n    if state.profile_of(pod) is not None:\n        state.queue.delete(pod.uid)\n",
        ),
        # What changes while extenders are asked about a pod is lost.
        ("        events = () if decided_on is None else pod_events(", "        events = () if True else pod_events("),
    ),
    *mutants(
        "scheduler/core/cycle.py",
        WAITING,
        # The failure is told of the pod as it was.
        ("        state.queue.take_newer(queued, latest)\n", "        pass\n"),
    ),
    *mutants(
        "scheduler/core/handlers.py",
        BINDING,
        ("        if newly_deleted:\n            _forget_assumed(state, pod.uid, now)\n", ""),
        # Whoever is assumed is taken for a new pod when it changes.
        (
            "    if binding is not None:\n        before = binding.latest\n",
            "    if False:\n        before = binding.latest\n",
        ),
    ),
    *mutants(
        "scheduler/core/binding.py",
        BINDING,
        # The answer to the bind ends what the watch should end.
        (
            "    instructions = _look_after(state, binding, stimulus.now)\n",
            "    state.cache.forget(stimulus.uid)\n    instructions = _look_after(state, binding, stimulus.now)\n",
        ),
        ("    controller = pod.spec.scheduler_name\n", '    controller = "first"\n'),
    ),
    *mutants(
        "scheduler/core/cycle.py",
        BINDING,
        # An attempt counts when the pod is assumed.
        (
            "    state.bindings[uid] = Binding(",
            "    state.measurements.attempts[ASSUMED, profile.scheduler_name] += 1\n    state.bindings[uid] = Binding(",
        ),
    ),
    *mutants(
        "scheduler/core/binding_cycle.py",
        BINDING,
        # Events are kept for a pod whose failure nothing of the past can mend.
        ("    state.queue.done(cycle.pod.uid)\n    return _work", "    return _work"),
        ("    if takes_time and pod.pod", "    if pod.pod"),
        ("cycle.wait is not None or bool(cycle.work.running)", "bool(cycle.work.running)"),
        ("cycle.wait is not None or bool(cycle.work.running)", "cycle.wait is not None"),
        ("    if is_freed and not is_rejected:\n", "    if False:\n"),
        ("    if is_freed and is_rejected:\n", "    if False:\n"),
        ("old=freed, except_uid=uid)", "old=freed)"),
        ("    if latest is None or (known is not None and not is_freed):\n", "    if latest is None:\n"),
    ),
    *mutants(
        "scheduler/core/reserving.py",
        BINDING,
        (
            "in reversed(list(cycle.taking_part(cycle.profile.reserve))):",
            "in cycle.taking_part(cycle.profile.reserve):",
        ),
    ),
    *mutants(
        "scheduler/core/failure.py",
        BINDING,
        ('"0/1 nodes are available:"', '"0/3 nodes are available:"'),
    ),
    *mutants(
        "scheduler/core/failure.py",
        TELLING,
        ("(old.status, old.reason, old.message) == (status, reason, message)", "False"),
        (
            "if old is not None and (old.status,",
            "if old is not None and old.observed_generation == pod.metadata.generation and (old.status,",
        ),
        ("None if old is not None and old.status == status else now", "now"),
    ),
    *mutants(
        "scheduler/core/changes.py",
        NODES,
        ("old.spec.unschedulable and not new.spec.unschedulable", "old.spec.unschedulable != new.spec.unschedulable"),
        ("    if old.spec.unschedulable and not new.spec.unschedulable:\n", "    if False:\n"),
        ("    if _conditions(old) != _conditions(new):\n", "    if False:\n"),
        ("    if _conditions(old) != _conditions(new):\n", "    if True:\n"),
    ),
    *mutants(
        "scheduler/core/handlers.py",
        TELLING,
        # What becomes of a pod that is gone becomes of the one that has its name.
        ("        binding.latest = None\n", ""),
        ("        state.extending.latest = None\n", "        pass\n"),
    ),
    *mutants(
        "scheduler/plugins/default_preemption/plugin.py",
        PREEMPTING,
        ("        return Hint.SKIP\n", "        return Hint.QUEUE\n"),
        # It hears of nothing, so that nothing opens its gate.
        ("        return (ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE),)\n", "        return ()\n"),
    ),
    *mutants(
        "scheduler/core/preemptions.py",
        PREEMPTING,
        ("        return _WAITING\n", "        return SUCCESS\n"),
    ),
    *mutants(
        "scheduler/core/cycle.py",
        TELLING,
        # Without nodes a pod is refused as by all plugins, and others are looked for that could make room.
        ("    if state.cache.table.node_count == 0:\n", "    if False:\n"),
        # It waits for an event that helps.
        ("Failure(REASON_UNSCHEDULABLE, NO_NODES)", "Failure(REASON_UNSCHEDULABLE, NO_NODES, (MISSING_RULE,))"),
    ),
    *mutants(
        "scheduler/queue/hearing.py",
        TELLING,
        ("            if plugin in pending:\n", "            if False:\n"),
        ("            if plugin in pending:\n", "            if True:\n"),
    ),
    *mutants(
        "scheduler/queue/hearing.py",
        FIELD_CASES,
        ("            if plugin in pending:\n", "            if False:\n"),
    ),
    *mutants(
        "scheduler/kube/retry.py",
        REPEATED,
        ("ATTEMPTS = 4\n_FIRST", "ATTEMPTS = 3\n_FIRST"),
        ("ATTEMPTS = 4\n_FIRST", "ATTEMPTS = 5\n_FIRST"),
    ),
    *mutants(
        "scheduler/kube/checked_write.py",
        REPEATED,
        ("error.message, status != 409", "error.message, True"),
    ),
    *mutants(
        "scheduler/core/handlers.py",
        NOT_FOLLOWED,
        # The end of a node is heard of before it is gone.
        (
            "        removed = state.cache.remove_node(stimulus.name)\n        heard(state, NODE_DELETE, stimulus.now, old=removed)\n",
            "        heard(state, NODE_DELETE, stimulus.now, old=state.cache.table.node(row))\n",
        ),
    ),
    *mutants(
        "scheduler/cache/node_table.py",
        NOT_FOLLOWED,
        # Equals are decided by the order in which they came.
        ("self._tie_keys.cells[row] = tie_key(self.seed, name)", "self._tie_keys.cells[row] = row"),
    ),
)
