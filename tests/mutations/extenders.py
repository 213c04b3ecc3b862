"""Faults in decisions that extenders take part in."""

from __future__ import annotations

from tests.mutations.mutant import mutants

UNIT = "tests/unit/core/test_"

MUTANTS = (
    *mutants(
        "scheduler/core/extending.py",
        f"{UNIT}extending.py",
        # Scores of extenders count as if they were on the plugins' scale.
        ("SCORE_FACTOR = 10\n", "SCORE_FACTOR = 1\n"),
        # Each extender is asked about all nodes.
        ("            names = tuple(name for name in names if name in kept)\n", ""),
        # An error of an extender that counts is passed over.
        ("            if error and not extender.is_ignorable:\n", "            if False:\n"),
        # What an extender invents is believed.
        ("            if name not in known:\n", "            if False:\n"),
        # Nothing wakes a pod that extenders refused but what wakes it anyway.
        ("(EXTENDER,) if len(left) != len(names) else ()", "()"),
        # The cluster stays as it was when the extender was asked.
        (
            "        self._instead = self._state.batching.renew(pod, self._evaluation, self._instead)\n",
            "",
        ),
        # A node that was not asked about can be chosen.
        ("                refusals[row] = _LEFT_OUT\n", "                pass\n"),
        # What an extender says does not reach the pod.
        ("                refusals[told] = status\n", "                pass\n"),
        # The nominated node is taken unasked.
        ("left = yield from self._filter((nominated,))", "left = (nominated,)"),
        # The best of an entry counts as used although an extender took it.
        ("return replace(decision, batch=Attempt.HINT_NOT_USED)", "return decision"),
        # A node that fits alone is scored.
        ("if sum(name in fitting for name in left) > 1:", "if True:"),
    ),
    *mutants(
        "scheduler/core/extenders.py",
        f"{UNIT}extending.py",
        ("sorted(made, key=lambda one: one.is_ignorable)", "made"),
        ("        if not wanted:\n            return True\n", ""),
        ("(*spec.containers, *(spec.init_containers or ()))", "spec.containers"),
        ("(container.resources.requests, container.resources.limits)", "(container.resources.requests,)"),
        ("        if key in self._failing:\n            return None\n", ""),
    ),
    *mutants(
        "scheduler/core/extend_answers.py",
        f"{UNIT}extending.py",
        # An ignorable extender that does not bind fails the bind.
        ("    if question.extender.is_ignorable:\n", "    if False:\n"),
        # A refused bind counts as done.
        ("    if not answer.error:\n", "    if True:\n"),
    ),
    *mutants(
        "scheduler/core/extend_preemption.py",
        f"{UNIT}extend_preemption.py",
        ("            if not extender.is_ignorable:\n", "            if True:\n"),
        ("            if uid not in on_node:\n", "            if False:\n"),
        ("        if extender.is_ignorable:\n            return None\n", ""),
        ("if not self._left or not self._candidates:", "if not self._left:"),
    ),
    *mutants(
        "scheduler/core/cycle.py",
        f"{UNIT}extending.py",
        # Another pod is decided on while an extender is asked.
        ("    if state.extending is not None:\n        return", "    if False:\n        return"),
        # A pod that changed meanwhile is told as it was.
        ("        state.queue.take_newer(queued, latest)\n", "        pass\n"),
    ),
    *mutants(
        "scheduler/kube/extender.py",
        "tests/edge/kube/test_extender.py",
        ("        if response.status != 200:\n", "        if False:\n"),
        ("is_verified=not tls.insecure", "is_verified=False"),
        ("return size > self._limit", "return False"),
        ("self.url = without_user(configured.url_prefix)", "self.url = configured.url_prefix"),
        (
            "if answer.error and may_have_bound and await self._is_bound(asked):",
            "if False:",
        ),
        # What was not sent is looked for.
        (" and not isinstance(error, _Withdrawn)\n", "\n"),
        # A leader no more goes on as if an extender had refused.
        ("            self._has_closed.set()\n", "            pass\n"),
    ),
)
