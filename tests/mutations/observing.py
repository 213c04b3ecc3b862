"""Faults in what is counted and timed of plugins, extension points and events."""

from __future__ import annotations

from tests.mutations.mutant import mutants

OBSERVING = "tests/unit/core/test_observing.py"
EVENTS = "tests/unit/core/test_event_durations.py"
RENDERED = "tests/edge/telemetry/test_plugin_metrics.py"

MUTANTS = (
    *mutants(
        "scheduler/profile/filter_column.py",
        OBSERVING,
        ("                    self._rows.count += table.size\n", ""),
        ("                self._rows.count += len(rows)\n", ""),
        ("                self._rows.count += 1\n", ""),
        ("    if result.status.code is not Code.SKIP:\n        observer", "    if True:\n        observer"),
        ("mask = self._filter(self._state", "mask = self.plugin.filter(self._state"),
    ),
    *mutants(
        "scheduler/profile/score_column.py",
        OBSERVING,
        ("                self._rows.count += table.size\n", ""),
        ("            self._rows.count += len(rows)\n", ""),
        ("            self._rows.count += 1\n", ""),
        ("    if status.code is not Code.SKIP:\n        observer", "    if True:\n        observer"),
        (
            "self._final = self._normalize_method.now()",
            "self._final = self.normalizer.normalize",
        ),
    ),
    *mutants(
        "scheduler/profile/observing.py",
        OBSERVING,
        ('status = getattr(answer, "status", answer)', "status = answer"),
        ("return code if isinstance(code, Code) else Code.ERROR", "return Code.SUCCESS"),
    ),
    *mutants(
        "scheduler/core/observing.py",
        OBSERVING,
        ("EVERY = 10", "EVERY = 9"),
        ("        code = Code.ERROR\n", "        code = Code.SUCCESS\n"),
        ("        finally:\n            self.is_timing = False", "        finally:\n            pass"),
        ("return self.timed_point(stage, call) if self.is_timing else call", "return self.timed_point(stage, call)"),
        ("took(code, measurements.stopwatch() - began)", "took(code, measurements.stopwatch())"),
    ),
    *mutants(
        "scheduler/core/batching.py",
        OBSERVING,
        # A kept evaluation is not timed, or goes on being timed.
        ("            if self.is_timed:\n                evaluation.observe()\n", ""),
        ("        decision.evaluation.observe()\n", ""),
        ("        self._until_timed = EVERY - 1\n", "        self._until_timed = EVERY\n"),
        ("        self._until_timed = 0\n", "        self._until_timed = EVERY - 1\n"),
    ),
    *mutants(
        "scheduler/core/asking.py",
        OBSERVING,
        ("    if cycle.is_timed:\n", "    if True:\n"),
    ),
    *mutants(
        "scheduler/core/reserving.py",
        OBSERVING,
        ("        return failure.code\n", "        return Code.ERROR\n"),
        ("        return Code.WAIT\n", "        return Code.SUCCESS\n"),
        ("        return Code.SKIP\n", "        return Code.SUCCESS\n"),
        ("    _took(state, cycle, Stage.UNRESERVE, Code.SUCCESS, began)\n", ""),
    ),
    *mutants(
        "scheduler/core/binding_cycle.py",
        OBSERVING,
        ("    cycle.pre_bind_began = now\n", ""),
        ("                _pre_bind_ended(state, cycle, failure.code, now)\n", ""),
        ("status.message, code=status.code)", "status.message)"),
    ),
    *mutants(
        "scheduler/core/preemption.py",
        OBSERVING,
        ("        if state.batching.is_timed:\n", "        if True:\n"),
        ("return AfterFilter(text, None, status=Status(Code.ERROR))", "return AfterFilter(text, None)"),
    ),
    *mutants(
        "scheduler/core/handlers.py",
        EVENTS,
        ("    state.measurements.taken_up = state.measurements.stopwatch()\n", ""),
        ("    if was_tried:\n        state.measurements", "    if True:\n        state.measurements"),
        ("            state.measurements.event_handled(UNSCHEDULED_POD_ADD)\n", ""),
    ),
    *mutants(
        "scheduler/core/state.py",
        OBSERVING,
        ("            self._until_timed -= 1\n", ""),
        ("        self._until_timed = EVERY - 1\n", ""),
    ),
    *mutants(
        "scheduler/core/heard.py",
        EVENTS,
        ("    state.measurements.event_handled(event)\n", ""),
    ),
    *mutants(
        "scheduler/core/measurements.py",
        RENDERED,
        ("[1.5] * 19", "[1.5] * 18"),
        ("tuple(0.0001 * 2**power for power in range(12))", "tuple(0.0001 * 2**power for power in range(13))"),
    ),
    *mutants(
        "scheduler/telemetry/plugin_metrics.py",
        RENDERED,
        ("return _NAMES.get(point, point.value)", "return point.value"),
    ),
)
