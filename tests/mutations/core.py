"""Faults in what stimuli do, in decisions and in what users are told."""

from __future__ import annotations

from tests.mutations.mutant import mutants

UNIT = "tests/unit/core/test_"

MUTANTS = (
    *mutants(
        "scheduler/core/handlers.py",
        f"{UNIT}pod_handlers.py {UNIT}node_handlers.py {UNIT}heard_events.py",
        # The end of an earlier node takes the present one along.
        ("if row is not None and state.cache.table.node(row).metadata.uid == stimulus.uid:", "if row is not None:"),
        # Another node of the same name is taken for an update.
        ("if old is not None and old.metadata.uid == node.metadata.uid:", "if old is not None:"),
        # A pod that has ended keeps its room.
        ("if stimulus.pod.status.phase in _TERMINAL:", 'if stimulus.pod.status.phase == "Succeeded":'),
        # Nobody hears of the room that a pod leaves which is bound elsewhere.
        (
            (
                "        # It is not where it was thought to be: there is room again.\n"
                "        heard(state, ASSIGNED_POD_DELETE, now, old=placed(known.pod, known.node_name))\n"
            ),
            "",
        ),
        # A pod that someone else bound stays queued.
        ("    nominated = _nominated(state, pod.uid)\n    state.queue.delete(pod.uid)\n", "    nominated = None\n"),
        # Pods of other schedulers are queued.
        (
            "        if state.profile_of(pod) is not None:\n            state.queue.update",
            "        if True:\n            state.queue.update",
        ),
        # An old version of a pod replaces a newer one.
        ("or not pod.pod.metadata.resource_version:", "or True:"),
        # A namespace wakes everybody whenever it is seen.
        ("elif before != (metadata.labels or {}):", "else:"),
        # Nobody hears of a pod that is gone.
        (
            "    if known is not None:\n        heard(state, ASSIGNED_POD_DELETE",
            "    if False:\n        heard(state, ASSIGNED_POD_DELETE",
        ),
    ),
    *mutants(
        "scheduler/core/handlers.py",
        f"{UNIT}binding.py {UNIT}bad_objects.py",
        # A pod that begins to terminate during its bind blocks its room.
        ("        if newly_deleted:\n            _forget_assumed(state, pod.uid, now)\n", ""),
        # The failed bind of a deleted pod is repeated.
        ("        binding.latest = None\n", ""),
        # What changed between decision and confirmation is not heard of.
        ("pod_changes(known.pod, pod, EventResource.ASSIGNED_POD)", "()"),
        # A pod without a UID is kept under the empty one.
        ("    if not pod.uid:\n", "    if False:\n"),
    ),
    *mutants(
        "scheduler/core/handlers.py",
        f"{UNIT}nominations.py",
        ("        if nominated and nominated != pod.pod.status.nominated_node_name:\n", "        if False:\n"),
        ("nominated.pod.status.nominated_node_name != pod.pod.spec.node_name", "True"),
    ),
    *mutants(
        "scheduler/core/cycle.py",
        f"{UNIT}cycle.py {UNIT}nominations.py",
        ("    cache.assume(pod, node_name)\n", ""),
        ("    if pod.pod.metadata.deletion_timestamp is not None:\n", "    if False:\n"),
        ("    if state.cache.table.node_count == 0:\n", "    if False:\n"),
        ("    if missing is not None:\n", "    if False:\n"),
        ("missing, (MISSING_RULE,)", "missing, ()"),
        (
            "            evaluation.rejectors(instead) + rejectors,\n",
            "            rejectors,\n",
        ),
        ("    if nominated is not None and kept != node_name:\n", "    if False:\n"),
    ),
    # What a plugin answers is taken as it is.
    *mutants(
        "scheduler/core/asking.py",
        f"{UNIT}plugin_answers.py",
        ("            check_answer(answer)\n", "            pass\n"),
    ),
    *mutants(
        "scheduler/core/preemption.py",
        f"{UNIT}plugin_answers.py",
        ("            check_post_filter(result)\n", ""),
    ),
    *mutants(
        "scheduler/profile/column_answers.py",
        f"{UNIT}plugin_answers.py",
        ('if found.dtype.kind not in "iub":', "if False:"),
        ("if found.shape not in ((size,), ()):", "if False:"),
    ),
    *mutants(
        "scheduler/core/failure.py",
        f"{UNIT}failure.py",
        ("if len(encoded) <= NOTE_LIMIT:", "if len(message) <= NOTE_LIMIT:"),
        ('decode(errors="ignore")', 'decode(errors="replace")'),
        ("None if old is not None and old.status == status else now", "now"),
        (
            "(old.status, old.reason, old.message) == (status, reason, message)",
            "(old.status, old.message) == (status, message)",
        ),
        ("observed_generation=pod.metadata.generation", "observed_generation=0"),
        ("nominated = nominated_node_name if is_news else None", "nominated = None"),
    ),
    *mutants(
        "scheduler/core/changes.py",
        f"{UNIT}changes.py",
        (
            "if old.spec.unschedulable and not new.spec.unschedulable:",
            "if old.spec.unschedulable != new.spec.unschedulable:",
        ),
        ("name not in new or amount > new[name]", "name in new and amount > new[name]"),
        (
            "before.spec.scheduling_gates and not after.spec.scheduling_gates",
            "before.spec.scheduling_gates != after.spec.scheduling_gates",
        ),
        (
            "len(before.spec.tolerations or ()) != len(after.spec.tolerations or ())",
            "before.spec.tolerations != after.spec.tolerations",
        ),
    ),
    *mutants(
        "scheduler/core/state.py",
        f"{UNIT}bad_objects.py {UNIT}cycle.py {UNIT}nominations.py",
        ("        if self._bad.get((kind, key)) != error:\n", "        if True:\n"),
        ("            self._bad.pop((kind, key_of(metadata)), None)\n", "            pass\n"),
        ("old=nominated, up_to_priority=nominated.priority", "old=nominated"),
    ),
    *mutants(
        "scheduler/core/state.py",
        f"{UNIT}batching_failures.py",
        # A plugin that fails for each pod fills the log.
        ("        if (failure.plugin, failure.stage) not in self._failing:\n", "        if True:\n"),
    ),
    *mutants(
        "scheduler/core/measurements.py",
        f"{UNIT}measurements.py",
        ("bisect_left(self.bounds, value)", "bisect_left(self.bounds, value) + 1"),
        ("        if outcome == SKIPPED:\n            return\n", ""),
        ("if attempts < 15", "if attempts <= 15"),
    ),
    *mutants(
        "scheduler/core/story.py",
        "tests/edge/app/test_replay_command.py",
        ("        if replayed != recorded:\n", "        if False:\n"),
        ("        if result is not None:\n            self._put", "        if True:\n            self._put"),
        ("    if header.version != VERSION:\n", "    if False:\n"),
    ),
)
