"""Faults in where pods wait and in what wakes them."""

from __future__ import annotations

from tests.mutations.mutant import mutants

UNIT = "tests/unit/queue/test_"

MUTANTS = (
    *mutants(
        "scheduler/queue/scheduling_queue.py",
        f"{UNIT}scheduling_queue.py {UNIT}flush.py",
        # Events of a scheduling attempt are lost.
        ("any(self._is_worth_requeuing(queued, event) for event in missed)", "False"),
        # An error is parked and waits for an event.
        ("if not plugins or not was_in_flight", "if not was_in_flight"),
        ("            queued.unschedulable_count += 1\n", ""),
        ("            queued.consecutive_errors = 0\n", ""),
        # Pods that back off after an error are popped early.
        (
            "            queued = self._backing_off.pop()\n",
            "            queued = self._backing_off.pop() or self._backing_off_after_error.pop()\n",
        ),
        # A gated pod hears events of other plugins.
        ("        if not queued.gating_plugin or event.is_wildcard:\n", "        if True:\n"),
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
        ("queued.gating_plugin, queued.unschedulable_plugins)", '"", queued.unschedulable_plugins)'),
        ("        self.remove(uid)\n        self._wakers[uid] = waker\n", "        self._wakers[uid] = waker\n"),
        ("        self.gated_count -= bool(waker.gating_plugin)\n", ""),
    ),
    *mutants(
        "scheduler/queue/nominator.py",
        "tests/unit/core/test_nominations.py",
        ("one.uid != pod.uid and one.priority >= pod.priority", "one.priority >= pod.priority"),
        ("one.priority >= pod.priority", "one.priority > pod.priority"),
    ),
)
