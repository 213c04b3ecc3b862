"""Faults between the choice of a node and the end of the bind."""

from __future__ import annotations

from tests.mutations.mutant import mutants

UNIT = "tests/unit/core/test_"
RESERVING = f"{UNIT}reserving.py"
PERMIT = f"{UNIT}permit.py"
PRE_BIND = f"{UNIT}pre_bind.py"

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
        ("add_failed(queued, latest, failure.plugins, now,", "add_failed(queued, queued.pod, failure.plugins, now,"),
    ),
    *mutants(
        "scheduler/core/binding_cycle.py",
        PERMIT,
        # A rejected pod wakes itself by its own room.
        ("old=freed, except_uid=uid)", "old=freed)"),
        ("    if is_freed and is_rejected:\n", "    if False:\n"),
        # The nomination outlives the failure.
        ("is_nominated=cycle is not None and cycle.is_nominated", "is_nominated=False"),
        # A nomination is written again and again.
        ("if takes_time and pod.pod.status.nominated_node_name != cycle.node_name:", "if takes_time:"),
        ("takes_time = cycle.wait is not None or bool(cycle.work.running)", "takes_time = bool(cycle.work.running)"),
        # Who may not wait waits for the next tick.
        ("        cycle.wait.expire(now)\n    else:\n", "        pass\n    else:\n"),
        # A pod that waited stays in flight for ever.
        ("    state.queue.done(cycle.pod.uid)\n", ""),
        # What a pod that is gone was given is never given back.
        (
            "    state.binding_cycles.leave(uid)\n    unreserve(state, cycle, now)\n    state.queue.done(uid)\n",
            "    state.binding_cycles.leave(uid)\n    state.queue.done(uid)\n",
        ),
        ("    unreserve(state, cycle, now)\n    state.queue.done(uid)\n", "    unreserve(state, cycle, now)\n"),
    ),
    *mutants(
        "scheduler/core/binding_cycle.py",
        PRE_BIND,
        # A failure of one does not end the work of the others.
        ("    state.binding_cycles.leave(uid)\n    if cycle is not None:\n", "    if cycle is not None:\n"),
        # The pod is bound while somebody is at work.
        ("        if not due:\n            return instructions\n", "        if not due:\n            break\n"),
        # A rejection is told as an error of the plugin.
        (
            "        if status.code.is_rejected:\n            return Failure(REASON_UNSCHEDULABLE, status.message, code=status.code)\n",
            "",
        ),
        # Who waits for an object waits for ever.
        ("    state.binding_cycles.wait_for(cycle.pod.uid, run)\n", ""),
        # Deadlines pass unseen.
        ("[run for run in cycle.work.running if run.is_overdue(now)]", "[]"),
        # The answers of the last step come again with the next one.
        ("    run.take(step)\n", "    run.step = step\n"),
    ),
    *mutants(
        "scheduler/core/pre_bind.py",
        PRE_BIND,
        # After a failed patch the next one is sent.
        (" or (self.answers and self.answers[-1].error):", ":"),
        # One without work parts its neighbours, or does not.
        (
            "            if has_work:\n                group.append(PreBindRun(plugin))\n            continue\n",
            "            if has_work:\n                group.append(PreBindRun(plugin))\n                continue\n",
        ),
        ("now >= self.step.deadline", "now > self.step.deadline"),
        (
            "left = [run for run in self._groups[0] if not run.is_done]",
            "left = [run for run in self._groups[0][:1] if not run.is_done]",
        ),
    ),
    *mutants(
        "scheduler/core/pre_bind.py",
        PRE_BIND,
        ("            if patch.kind not in plugin.patches:\n", "            if False:\n"),
        ("            if key.kind not in OBSERVED_KINDS:\n", "            if False:\n"),
        ("if not step.objects and step.deadline is None:", "if not step.objects:"),
    ),
    *mutants(
        "scheduler/core/binding_cycles.py",
        PRE_BIND,
        # An answer to an earlier attempt is taken for one of this attempt.
        ("        self._sent.pop(run.number, None)\n", ""),
        ("        return self._sent.pop(number, None)", "        return self._sent.get(number)"),
        # A run that was woken hears of the object again.
        ("            waiting.pop(run, None)\n", ""),
    ),
    *mutants(
        "scheduler/core/permit.py",
        PERMIT,
        ("        if self.verdict is not None:\n            return False\n", ""),
        ("        if not self._timeouts:\n            self._settle(SUCCESS)\n", "        self._settle(SUCCESS)\n"),
        ("min(seconds, LONGEST_WAIT_SECONDS)", "seconds"),
        ("now >= self.since + timeout", "now > self.since + timeout"),
        (
            "plugin = min(self._timeouts, key=self._timeouts.__getitem__)",
            "plugin = next(iter(reversed(self._timeouts)))",
        ),
    ),
    *mutants(
        "scheduler/core/reserving.py",
        RESERVING,
        # What was kept is not given back, or in the wrong order.
        ("    if failure is not None:\n        unreserve(state, cycle, now)\n", ""),
        ("reversed(list(cycle.taking_part(cycle.profile.reserve)))", "cycle.taking_part(cycle.profile.reserve)"),
        # A rejection has no plugin to wait for.
        (
            "        if status.code.is_rejected:\n            return unfit(status._replace(plugin=plugin.name))\n        if status.code is not Code.SUCCESS:\n            return error_of(state, Stage.RESERVE",
            "        if status.code.is_rejected:\n            return unfit(status)\n        if status.code is not Code.SUCCESS:\n            return error_of(state, Stage.RESERVE",
        ),
        # A pre-flight that makes no sense is taken for work.
        ("        if status.code not in (Code.SUCCESS, Code.SKIP):\n", "        if status.code is Code.ERROR:\n"),
    ),
    *mutants(
        "scheduler/core/asking.py",
        RESERVING,
        ("        if kinds and not isinstance(answer, kinds):\n", "        if False:\n"),
        ("        state.plugin_failed(PluginFailure(text, plugin.name, stage), cycle.pod)\n", ""),
    ),
    *mutants(
        "scheduler/core/cycle.py",
        f"{RESERVING} {PERMIT}",
        # The room of a pod that Reserve refused stays taken.
        ("            cache.forget(uid)\n", ""),
        # A pod that waits on Permit is out of flight at once.
        ("    else:\n        queue.done(uid)\n", "    queue.done(uid)\n"),
        # What plugins said of others comes into effect with the next stimulus only.
        ("[*begin(state, cycle, now), *follow_permits(state, now)]", "begin(state, cycle, now)"),
    ),
    *mutants(
        "scheduler/core/binding.py",
        f"{UNIT}binding.py {PRE_BIND}",
        ("state.bindings.pop(stimulus.uid, None)", "state.bindings.get(stimulus.uid)"),
        ("cycle.taking_part(cycle.profile.post_bind)", "()"),
    ),
    *mutants(
        "scheduler/core/handlers.py",
        f"{PERMIT} {PRE_BIND}",
        # A pod that someone else bound keeps what it was given.
        ("    if pod.uid in state.binding_cycles.before_bind:\n        abandon(state, pod.uid, now)\n", ""),
        ("        abandon(state, uid, now)\n\n", "        pass\n\n"),
        ('        cycle.wait.reject("", "removed")\n        return\n', "        pass\n"),
        ("    if state.binding_cycles.settled:\n", "    if False:\n"),
    ),
    *mutants(
        "scheduler/kube/checked_write.py",
        "tests/edge/kube/test_binder.py tests/edge/kube/test_patcher.py",
        (
            "self._doubt, self._may_repeat = error.message, status != 409",
            "self._doubt, self._may_repeat = error.message, True",
        ),
        ("if found is Found.UNWRITTEN and self._may_repeat:", "if found is Found.UNWRITTEN:"),
        ("        if response.status == 404:\n            return self._fail(doubt)\n", ""),
    ),
    *mutants(
        "scheduler/kube/patcher.py",
        "tests/edge/kube/test_patcher.py",
        ("        if metadata.uid != patch.uid:\n            return Found.OTHERWISE\n", ""),
        ('patch.resource_version not in ("", metadata.resource_version)', "False"),
        ("        if patch.resource_version:\n", "        if True:\n"),
        ("(document.get(name) is None) if value is None else", "True if value is None else"),
    ),
    *mutants(
        "scheduler/app/runtime.py",
        "tests/edge/app/test_binding_plugins.py",
        # Pods that wait keep others from being decided on.
        (" - len(self.state.binding_cycles.before_bind)", ""),
    ),
    *mutants(
        "scheduler/app/rights.py",
        "tests/edge/app/test_binding_plugins.py",
        (", *rights_to_patch(patched))", ")"),
    ),
)
