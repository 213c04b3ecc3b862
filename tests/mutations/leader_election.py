"""Faults in the leader election: two leaders, none, or one that writes when it does not lead."""

from __future__ import annotations

from tests.mutations.mutant import mutants

KUBE = "tests/edge/kube/test_"

MUTANTS = (
    *mutants(
        "scheduler/kube/elector.py",
        f"{KUBE}elector.py",
        ("self._observed_at + found.duration_seconds > now", "self._observed_at + found.duration_seconds > now + 60"),
        ("found.duration_seconds > now", "self._terms.lease_duration_seconds > now"),
        ("if self.is_leader or (found.holder and", "if (found.holder and"),
        ("and self._observed.holder != self.identity:", "and False:"),
        ("        if found == self._observed:\n            return\n", ""),
        ("self._fence.open_until(now + self._terms", "self._fence.open_until(self._timing.monotonic() + self._terms"),
        ("            if self._fence.remaining_seconds <= 0.0:\n", "            if False:\n"),
        ("            seconds = min(seconds, self._fence.remaining_seconds)\n", "            pass\n"),
        ("self._request_seconds = terms.renew_deadline_seconds / 2", "self._request_seconds = 1e9"),
        ("(1.0 + JITTER_FACTOR * self._timing.chance())", "1.0"),
        ("transitions=found.transitions + 1", "transitions=found.transitions"),
        ("        self.was_free = False\n        self._observed", "        self._observed"),
        ("self.was_free = record is None or not record.holder", "self.was_free = True"),
        ("        if found is None or found.holder != self.identity:\n            return True\n", ""),
        ("            self.slow_paths += 1\n", ""),
        ("min(pause_seconds, self._fence.remaining_seconds)", "pause_seconds"),
        ("        if found.holder == self.identity:\n            self", "        if False:\n            self"),
        # A leader that renews is taken for one that does not.
        ("        self._renewed_at = now\n", ""),
        ("record._replace(acquire_time=before.acquire_time, transitions=before.transitions)", "record"),
    ),
    *mutants(
        "scheduler/kube/lease.py",
        f"{KUBE}elector.py {KUBE}lease.py",
        ("math.ceil(duration_seconds)", "int(duration_seconds)"),
        ('{**self._lease, "spec": _spec_of(record)}', '{"metadata": {"name": self.name}, "spec": _spec_of(record)}'),
        ("        if response.status == 404:\n            return None\n", ""),
    ),
    *mutants(
        "scheduler/kube/fence.py",
        f"{KUBE}fence.py",
        ("if self._clock() >= self._closes_at:", "if self._clock() > self._closes_at:"),
        (
            '        """Allow nothing any more."""\n        self._closes_at = -math.inf\n',
            '        """Allow nothing any more."""\n',
        ),
    ),
    *mutants(
        "scheduler/kube/connections.py",
        f"{KUBE}fence.py",
        ("                fence.check()  # nothing waits", "                pass  # nothing waits"),
    ),
    *mutants(
        "scheduler/app/runtime.py",
        "tests/edge/app/test_standby.py",
        (
            "            if not await self._lead(group):\n                await self._know(group)\n",
            "            await self._lead(group)\n",
        ),
        ("        if self._leadership.is_leader:\n", "        if True:\n"),
        ("        self._ending = group.create_task(self._leadership.lost())\n", ""),
        ("        if self._knows_when_leading:\n", "        if False:\n"),
    ),
    *mutants(
        "scheduler/app/leadership.py",
        "tests/edge/app/test_leadership.py",
        ("        self._loop.call_later(END_SECONDS, self._end, EXIT_FAILURE)\n", ""),
        ("        await self._stop()\n        try:\n", "        try:\n"),
        ("        return self._elector.was_free\n", "        return True\n"),
    ),
)
