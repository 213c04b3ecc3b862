"""What the log says of the batch cache."""

from __future__ import annotations

from typing import Any

from structlog.testing import capture_logs

from scheduler.app.runtime import Runtime, _log_complaint, _log_what_is_not_batched
from scheduler.config.configuration import from_object
from scheduler.core.batching import Mismatch
from scheduler.core.cycle import CycleResult
from scheduler.core.state import PluginFault


def runtime() -> Runtime:
    transport: Any = None  # nothing is sent
    return Runtime(from_object(None), transport, hostname="h", seed=1)


def test_a_profile_that_does_not_reuse_decisions_is_named_with_the_reason() -> None:
    with capture_logs() as logs:
        _log_what_is_not_batched({"reprise": "", "other": "plugin Strange does not sign pods"})

    assert logs == [
        {
            "event": "decisions of a profile are not reused",
            "log_level": "warning",
            "profile": "other",
            "reason": "plugin Strange does not sign pods",
        }
    ]


def test_a_check_that_found_another_decision_is_an_error_with_both() -> None:
    mismatch = Mismatch(pod="default/p", reused="n1", expected="n2", age_seconds=0.25, hits=3)
    result = CycleResult(
        pod="default/p", uid="u", profile="reprise", attempt=1, outcome="assumed", instructions=[], mismatch=mismatch
    )
    with capture_logs() as logs:
        runtime()._cycle_done(result, 0.001)
    (error,) = (line for line in logs if line["log_level"] == "error")

    assert {name: error[name] for name in ("profile", "pod", "reused", "expected", "age_seconds", "hits")} == {
        "profile": "reprise",
        "pod": "default/p",
        "reused": "n1",
        "expected": "n2",
        "age_seconds": 0.25,
        "hits": 3,
    }


def test_a_plugin_that_failed_in_no_cycle_is_an_error_with_plugin_and_pod() -> None:
    with capture_logs() as logs:
        _log_complaint(PluginFault(plugin="Breaks", stage="Sign", pod="default/p", error="no such field"))
    (error,) = logs
    del error["event"]

    assert error == {
        "log_level": "error",
        "plugin": "Breaks",
        "stage": "Sign",
        "pod": "default/p",
        "error": "no such field",
    }
