"""Metrics of the batch cache, read back from the exposition text."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from scheduler.batch.outcomes import Attempt, Bypass, Flush
from scheduler.telemetry.metrics import SchedulerCollector, registry, render
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core
from tests.support.scripted_plugins import Filter, make_profile, named
from tests.support.signed_plugins import FOREVER, SignedFilter


def batch_samples(core: Core) -> dict[str, float]:
    """By name and the last label, of the profile ``reprise``."""
    text = render(registry(SchedulerCollector(core.state))).decode()
    return {
        " ".join((sample.name, *(value for name, value in sample.labels.items() if name != "profile"))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("scheduler_batch") and sample.labels["profile"] == "reprise"
    }


def test_all_labels_are_there_at_0_before_anything_happened() -> None:
    expected = {"scheduler_batch_enabled": 1.0, "scheduler_batch_entries": 0.0}
    expected |= {f"scheduler_batch_attempts_total {label}": 0.0 for label in Attempt}
    expected |= {f"scheduler_batch_bypass_total {label}": 0.0 for label in Bypass}
    expected |= {f"scheduler_batch_cache_flushed_total {label}": 0.0 for label in Flush}
    expected |= {f"scheduler_batch_verifications_total {label}": 0.0 for label in ("match", "mismatch")}

    assert batch_samples(Core()) == expected


def test_decisions_and_drops_are_counted() -> None:
    core = Core([make_profile(SignedFilter())], batching=FOREVER)
    core.nodes(make_node("n"))
    core.pods(make_pod("a"), make_pod("b"))
    core.decide()
    core.decide()
    assert batch_samples(core)["scheduler_batch_entries"] == 1.0
    core.state.batching.entries.drop_profile("reprise", Flush.VERIFICATION_FAILED, 0.0)
    core.state.batching.off["reprise"] = "for this test"
    core.pods(make_pod("c"))
    core.decide()

    assert {name: value for name, value in batch_samples(core).items() if value} == {
        "scheduler_batch_attempts_total no_hint": 1.0,
        "scheduler_batch_attempts_total hint_used": 1.0,
        "scheduler_batch_cache_flushed_total verification_failed": 1.0,
        "scheduler_batch_bypass_total disabled": 1.0,
    }
    assert batch_samples(core)["scheduler_batch_enabled"] == 0.0


def test_how_long_decisions_took_shows_by_how_they_were_come_to() -> None:
    core = Core()
    core.state.measurements.decision_took("reprise", "hint_used", 0.00001)
    core.state.measurements.decision_took("reprise", "hint_used", 0.00003)
    core.state.measurements.decision_took("reprise", "checked", 0.5)
    found = batch_samples(core)

    name = "scheduler_batch_decision_duration_seconds"
    assert found[f"{name}_sum hint_used"] == pytest.approx(0.00004)
    assert found[f"{name}_bucket 1e-05 hint_used"] == 1
    assert found[f"{name}_bucket 4e-05 hint_used"] == 2
    assert found[f"{name}_bucket 0.32768 checked"] == 0
    assert found[f"{name}_count checked"] == 1


def test_a_profile_with_a_plugin_that_does_not_sign_is_off_from_the_start() -> None:
    core = Core([make_profile(named(Filter, "Strange"))], batching=FOREVER)

    assert batch_samples(core)["scheduler_batch_enabled"] == 0.0
