"""Faults in where pods wait and in what wakes them."""

from __future__ import annotations

from tests.mutations.mutant import mutants

UNIT = "tests/unit/queue/test_"

MUTANTS = (
    *mutants(
        "scheduler/queue/scheduling_queue.py",
        f"{UNIT}scheduling_queue.py {UNIT}flush.py",
        # Events of a scheduling attempt are lost.
        ("self._hearing.retry_after(queued, missed)", "Retry.NOT"),
        # An error is parked and waits for an event.
        ("if not plugins or not was_in_flight else", "if not was_in_flight else"),
        ("            queued.unschedulable_count += 1\n", ""),
        ("            queued.consecutive_errors = 0\n", ""),
        # Pods that back off after an error are popped early.
        (
            "            queued = self._backing_off.pop()\n",
            "            queued = self._backing_off.pop() or self._backing_off_after_error.pop()\n",
        ),
        ("        if status.code is Code.SUCCESS:\n", "        if True:\n"),
        ("> self._max_unschedulable_seconds", ">= self._max_unschedulable_seconds"),
        ("        if now - self._flushed_at >= FLUSH_INTERVAL_SECONDS:\n", "        if True:\n"),
        ("                queued.was_flushed = True\n", ""),
        ("        queued.timestamp = now\n", ""),
        ("        queued.attempts += 1\n", ""),
        ("            self._push(self._active, self._sort_key(pod, queued.timestamp), queued)\n", "            pass\n"),
        ("if queued.pod.uid != except_uid and", "if"),
    ),
    *mutants(
        "scheduler/queue/hearing.py",
        f"{UNIT}scheduling_queue.py {UNIT}hints.py",
        # A gated pod hears events of other plugins.
        ("        if not gating or event.is_wildcard:\n", "        if True:\n"),
        ("is Hint.SKIP", "is Hint.QUEUE"),
        ("            if plugin in pending:\n", "            if False:\n"),
        ("            if not pending:\n", "            if True:\n"),
        (
            "            best = max(best, self.retry(queued, event, old, new))\n",
            "            best = self.retry(queued, event, old, new)\n",
        ),
        ("            if best is most:\n", "            if True:\n"),
    ),
    *mutants(
        "scheduler/queue/backoff.py",
        f"{UNIT}backoff.py {UNIT}scheduling_queue.py",
        (
            "queued.consecutive_errors or queued.unschedulable_count",
            "queued.unschedulable_count or queued.consecutive_errors",
        ),
        ("expiration >= math.floor(now)", "expiration > math.floor(now)"),
        ("math.floor(queued.timestamp + duration)", "queued.timestamp + duration"),
        ("shift = min(count - 1, 62)", "shift = min(count, 62)"),
    ),
    *mutants(
        "scheduler/queue/in_flight.py",
        f"{UNIT}in_flight.py",
        ("if sequence >= started and", "if"),
        ("target in (None, uid)", "True"),
        ("        if self._started:\n", "        if True:\n"),
        ("self._events[0][0] < oldest", "self._events[0][0] <= oldest"),
        (
            "next(iter(self._started.values()), self._sequence)",
            "next(reversed(self._started.values()), self._sequence)",
        ),
    ),
    *mutants(
        "scheduler/queue/pod_heap.py",
        f"{UNIT}pod_heap.py {UNIT}scheduling_queue.py {UNIT}flush.py",
        ("return self._live.get(place[2].pod.uid) == place[1]", "return place[2].pod.uid in self._live"),
        ("        if len(self._places) > 2 * len(self._live) + 16:\n", "        if False:\n"),
        ("                del self._live[uid]\n", ""),
        ("            if self._live.get(uid) == ticket:\n", "            if uid in self._live:\n"),
    ),
    *mutants(
        "scheduler/queue/parked.py",
        f"{UNIT}scheduling_queue.py {UNIT}parked.py",
        ("            queued.gating_plugin,\n", '            "",\n'),
        ("            queued.pending_plugins,\n", "            (),\n"),
        ("            self._likeness(queued),\n", "            None,\n"),
        ("        self.remove(uid)\n        group = ", "        group = "),
        ("        self.gated_count -= bool(group.waker.gating_plugin)\n", ""),
        ("for number in sorted(found)]", "for number in found]"),
    ),
    *mutants(
        "scheduler/queue/nominator.py",
        "tests/unit/core/test_nominations.py",
        ("one.uid != pod.uid and one.priority >= pod.priority", "one.priority >= pod.priority"),
        ("one.priority >= pod.priority", "one.priority > pod.priority"),
    ),
)
