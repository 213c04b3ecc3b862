"""Counters of the edge, as the parts that count them have them."""

from __future__ import annotations

from collections.abc import Callable

from scheduler.app.runtime import Runtime
from scheduler.telemetry.metrics import CountersCollector


def edge_counters(runtime: Runtime) -> CountersCollector:
    """What watches delivered, and what became of binds and Events."""
    return CountersCollector(
        [
            ("scheduler_watch_events", "Objects that a watch delivered.", ["resource"], _watched(runtime, "events")),
            ("scheduler_relists", "Complete lists after the first one.", ["resource"], _watched(runtime, "relists")),
            (
                "scheduler_undecodable_objects",
                "Objects that could not be decoded and were left out.",
                ["resource"],
                _watched(runtime, "undecodable"),
            ),
            (
                "scheduler_bind_conflicts",
                "Binds that the API server refused with 409: the pod was bound by somebody else, changed or is being deleted.",
                [],
                lambda: {(): float(runtime.dispatcher.binder.counters.conflicts)},
            ),
            (
                "scheduler_events_dropped",
                "Events that were not recorded because too many waited.",
                [],
                lambda: {(): float(runtime.dispatcher.events.counters.dropped)},
            ),
        ]
    )


def _watched(runtime: Runtime, field: str) -> Callable[[], dict[tuple[str, ...], float]]:
    return lambda: {
        (reflector.resource.name,): float(getattr(reflector.counters, field)) for reflector in runtime.reflectors
    }
