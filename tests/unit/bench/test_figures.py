"""What rounds come to: medians, ratios, and sums of what must not happen."""

from typing import Any

import msgspec

from bench.figures import Result, Round, medians, summarize
from bench.machine import Machine

MACHINE = Machine(cpu="c", cores=2, memory_gib=1.0, system="s", python="3", reprise="0", kubernetes="v1")


def make_round(contestant: str, number: int = 1, **figures: Any) -> Round:
    defaults: dict[str, Any] = {
        "ready_seconds": 1.0,
        "startup_cpu_seconds": 0.5,
        "bind_seconds": 10.0,
        "event_seconds": 20.0,
        "events": 101,
        "cpu_ms_per_pod": 1.0,
        "apiserver_cpu_ms_per_pod": 2.0,
        "etcd_cpu_ms_per_pod": 0.5,
        "rss_mb": 100.0,
        "bound_twice": 0,
        "overcommitted_nodes": 0,
        "others_cores": 0.0,
    }
    return Round(contestant=contestant, number=number, **{**defaults, **figures})


def make_result(*rounds: Round, pods: int = 101) -> Result:
    return Result(
        workload="SchedulingBasic",
        nodes=1000,
        pods=pods,
        command="make bench-compare",
        recorded_on="2026-01-01",
        machine=MACHINE,
        rounds=list(rounds),
    )


def test_the_rate_to_the_last_bind_counts_the_steps_between_binds() -> None:
    found = medians(make_result(make_round("reprise", bind_seconds=2.0)))

    assert found["reprise"].pods_per_second == 50.0


def test_each_figure_is_the_median_of_the_rounds() -> None:
    rounds = (
        make_round("null", number, bind_seconds=seconds, rss_mb=rss)
        for number, (seconds, rss) in enumerate([(1.0, 70.0), (4.0, 10.0), (2.0, 30.0)], start=1)
    )

    found = medians(make_result(*rounds))["null"]

    assert (found.pods_per_second, found.rss_mb) == (50.0, 30.0)


def test_what_must_not_happen_is_added_up_over_rounds_and_contestants() -> None:
    result = make_result(
        make_round("reprise", 1, bound_twice=1),
        make_round("reprise", 2, bound_twice=2, overcommitted_nodes=1),
        make_round("tuned", 1, bound_twice=4),
    )

    assert (summarize(result).bound_twice, summarize(result).overcommitted_nodes) == (7, 1)


def test_a_ratio_is_how_many_times_as_fast_reprise_is() -> None:
    result = make_result(
        make_round("reprise", bind_seconds=2.0, event_seconds=5.0),
        make_round("default", bind_seconds=8.0, event_seconds=10.0),
        make_round("tuned", bind_seconds=5.0, event_seconds=5.0),
        make_round("null", bind_seconds=1.0),
    )

    found = summarize(result)

    assert (found.ratio_default, found.ratio_tuned, found.ratio_null) == (4.0, 2.5, 0.5)
    assert (found.ratio_default_events, found.ratio_tuned_events) == (2.0, 1.0)


def test_without_one_of_the_two_there_is_no_ratio() -> None:
    only_ours = summarize(make_result(make_round("reprise")))
    only_theirs = summarize(make_result(make_round("default")))

    assert only_ours.ratio_default is None
    assert only_theirs.ratio_default is None


def test_the_last_line_has_the_promised_keys_in_their_order() -> None:
    result = make_result(*(make_round(name) for name in ("reprise", "default", "tuned", "null")))

    line = msgspec.json.decode(msgspec.json.encode(summarize(result)))

    assert list(line) == [
        *("workload", "nodes", "pods", "ratio_default", "ratio_tuned", "ratio_null"),
        *(
            "ratio_default_events",
            "ratio_tuned_events",
            "cpu_ms_per_pod",
            "rss_mb",
            "bound_twice",
            "overcommitted_nodes",
        ),
    ]
    assert line["cpu_ms_per_pod"] == {"reprise": 1.0, "default": 1.0, "tuned": 1.0, "null": 1.0}
    assert line["rss_mb"] == {"reprise": 100.0, "default": 100.0, "tuned": 100.0, "null": 100.0}
