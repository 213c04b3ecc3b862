"""Faults in what is done beside other schedulers: nodes filtered again before a bind, and nodes that refuse pods."""

from __future__ import annotations

from tests.mutations.mutant import mutants

UNIT = "tests/unit/core/test_"
BIND_CHECK = f"{UNIT}bind_check.py"
REJECTIONS = f"{UNIT}kubelet_rejections.py"

MUTANTS = (
    *mutants(
        "scheduler/core/bind_check.py",
        BIND_CHECK,
        # A node that is gone is not touched.
        ("return row is None or table.touched_at", "return row is not None and table.touched_at"),
        # The pod stands in its own way.
        ("    cache.forget(pod.uid)\n    try:\n", "    try:\n"),
        ("    finally:\n        cache.assume(pod, node_name)\n", "    finally:\n        pass\n"),
        # A node is filtered again and again for one touch.
        ("    binding.seen = state.cache.table.position\n", ""),
        # A pod that is on its node is taken from it.
        ("known is None or not known.assumed:", "known is None:"),
        # What is wrong is not told.
        ("    if refusal is None:\n        return []\n    state", "    if True:\n        return []\n    state"),
    ),
    *mutants(
        "scheduler/core/bind_check.py",
        f"{UNIT}extending.py",
        # An extender's word on a bind that was given up is taken for one on the next.
        ("    state.extenders.give_up_bind(uid)\n", ""),
    ),
    *mutants(
        "scheduler/cache/node_table.py",
        BIND_CHECK,
        # Our own pods touch nodes, or nobody does.
        ("        if not is_assumed:\n            self._touched", "        if True:\n            self._touched"),
        ("        if not is_assumed:\n            self._touched", "        if False:\n            self._touched"),
        # So do the labels that the API server gives our pods; or nothing else that a confirmed pod has more.
        ("        if is_confirmed and not changed & _BEYOND_LABELS:", "        if False:"),
        ("        if is_confirmed and not changed & _BEYOND_LABELS:", "        if is_confirmed:"),
        ("        if is_confirmed and not changed & _BEYOND_LABELS:", "        if not changed & _BEYOND_LABELS:"),
        (
            "        self._journal.record(row, facets)\n        self._touched.cells[row] = self._journal.position\n",
            "        self._journal.record(row, facets)\n",
        ),
    ),
    *mutants(
        "scheduler/core/cooling.py",
        f"{UNIT}cooling.py",
        ("min(2 * last.seconds, LONGEST_SECONDS)", "2 * last.seconds"),
        ("last.seconds if now < last.until else", "last.seconds if False else"),
        ("if last is not None and now < last.until + FORGOTTEN_SECONDS:", "if last is not None:"),
        (
            "for name, until in self.active.get(shape, {}).items() if now < until)",
            "for name in self.active.get(shape, {}))",
        ),
        ("if until <= now]\n", "if until < now]\n"),
        ("            if not self.active[shape]:\n                del self.active[shape]\n", ""),
    ),
    *mutants(
        "scheduler/core/kubelet_rejections.py",
        REJECTIONS,
        ("return reason.startswith(OUT_OF) or reason in _REASONS", "return reason in _REASONS"),
        ("return reason.startswith(OUT_OF) or reason in _REASONS", "return reason.startswith(OUT_OF)"),
        ('phase != "Failed" or ', ""),
        (" or not is_rejection(reason)", ""),
        ("placed = self.unseen.pop(pod.uid, None)\n", "placed = self.unseen.get(pod.uid)\n"),
        ("if placed is None or is_terminating:", "if placed is None:"),
        ("        if self._tokens < 1.0:\n            return False\n", ""),
        ("        self._tokens -= 1.0\n", ""),
        ("        return signature\n    owners", "        return None\n    owners"),
        ("for owner in owners if owner.controller), None)", "for owner in owners if False), None)"),
        # Who was bound before a restart is a shape of its own, that of no pod that waits.
        ('spec=replace(pod.pod.spec, node_name=""))', "spec=pod.pod.spec)"),
        ("placed.shape if placed.found is None else self._shape_of_found(placed.found)", "placed.shape"),
    ),
    *mutants(
        "scheduler/core/batching.py",
        REJECTIONS,
        # Nobody is kept from any node; or pods of a kept evaluation are not.
        ("if self._cooling.active else ()", "if False else ()"),
        ("if self._nominator.node_of or avoided else", "if self._nominator.node_of else"),
        # The node's own reason is hidden.
        ("if row is not None and evaluation.status(row).code is Code.SUCCESS)", "if row is not None)"),
        ("(row for row in rows if row is not None and evaluation", "(row for row in rows if evaluation"),
    ),
    *mutants(
        "scheduler/core/handlers.py",
        REJECTIONS,
        # Who waits for a node to cool down waits for the five-minute flush.
        ("        state.queue.move_all(COOLED_DOWN, now)\n", "        pass\n"),
        # Running pods are read when they end.
        ("        state.kubelet_rejections.unseen.pop(pod.uid, None)\n", "        pass\n"),
        ("is_terminating = known is not None and", "is_terminating = False and known is not None and"),
        # Who was bound before a restart is not looked after; or whoever is on a node is.
        ("            state.kubelet_rejections.found(pod)\n", "            pass\n"),
        ("phase == PENDING and state.profile_of(pod) is not None:", "phase == PENDING:"),
        ("if pod.pod.status.phase == PENDING and state", "if state"),
    ),
    *mutants(
        "scheduler/core/binding.py",
        REJECTIONS,
        ("    if known is not None and known.pod.pod.status.phase == RUNNING:\n        return []\n", ""),
        ("    state.kubelet_rejections.bound(binding.queued, binding.node_name)\n", ""),
        ("    state.complaints.append(rejection)\n", ""),
    ),
    *mutants(
        "scheduler/app/runtime.py",
        "tests/edge/app/test_extender_binds.py",
        # What extenders bind is not looked at again.
        (
            "                transport,\n                may_bind=self._may_bind,\n",
            "                transport,\n",
        ),
    ),
    *mutants(
        "scheduler/app/runtime.py",
        "tests/edge/app/test_standby.py",
        # Who stands by waits for what it did not ask.
        ("            self._deliver(PodRead(now=time.time(), uid=instruction.pod.uid))\n", "            pass\n"),
    ),
    *mutants(
        "scheduler/kube/checked_write.py",
        "tests/edge/kube/test_binder.py",
        # A bind that may be under way is taken back; or none ever is.
        ("if not self._was_in_doubt and not self.is_wanted():", "if not self.is_wanted():"),
        ("if not self._was_in_doubt and not self.is_wanted():", "if False:"),
    ),
    *mutants(
        "scheduler/core/comparison.py",
        f"{UNIT}comparison.py",
        ("        if uid not in known:\n", "        if False:\n"),
        ('if uid not in actual and ("Node", name) not in bad]', "if uid not in actual]"),
        ('if uid not in actual and ("Pod", key) not in bad]', "if False]"),
        ("if cached.node_name != node_name and", "if False and"),
        ('("" if not cached.assumed else cached.node_name)', "cached.node_name"),
        ('("" if not cached.assumed else cached.node_name)', '""'),
        ("        elif not _is_ours_to_know(state, pod):\n            continue\n", ""),
        (" and not pod.is_terminating)", ")"),
        ("return bool(pod.node_name) or (", "return ("),
        ("elif queue.get(pod.uid) is None and ", "elif "),
        (" and pod.uid not in state.bindings:", ":"),
        (" if binding.latest is not None}", "}"),
        ("for text in texts if text in set(other.differences().get(name, ()))]", "for text in texts]"),
    ),
    *mutants(
        "scheduler/kube/comparing.py",
        "tests/edge/kube/test_comparing.py",
        ("        if found.is_same:\n            break\n", ""),
        ("found = now.also_in(before)", "found = now"),
        ("        if found.differences() == before.differences():\n            break\n", ""),
    ),
    *mutants(
        "scheduler/kube/listing.py",
        "tests/edge/kube/test_comparing.py",
        ("            found, parameters = [], dict(selected)\n", "            parameters = dict(selected)\n"),
        ('        parameters["continue"] = page.metadata.token\n', "        return found\n"),
    ),
    *mutants(
        "scheduler/kube/listing.py",
        "tests/edge/kube/test_asking_pods.py",
        ("found, parameters = [], dict(selected)", "found, parameters = [], {}"),
    ),
)
