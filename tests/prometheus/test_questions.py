"""A minute of two schedulers' work, scraped over HTTPS by a real Prometheus: whatever a board or a rule asks, there is an answer."""

from __future__ import annotations

import ast
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.docs.checkout import ROOT
from tests.prometheus import load, questions
from tests.prometheus.conditions import CONDITIONS, is_conditional
from tests.prometheus.questions import Question
from tests.prometheus.scraper import certified, token_of_scraper
from tests.support.binaries import require_binaries
from tests.support.cluster_session import shared_control_plane
from tests.support.control_plane import free_ports
from tests.support.kube_scheduler import KubeScheduler
from tests.support.kwok import Kwok
from tests.support.prometheus import Prometheus, Target, promtool
from tests.support.reprise_process import RepriseProcess
from tests.support.resources import Object

LOAD_SECONDS = 60.0
STEP_SECONDS = 2.0
REPRISE, KUBE, BOTH = "reprise", "kube-scheduler", "reprise|kube-scheduler"
KUBE_DOWN = 'absent(up{job="kube-scheduler"})'
# One leads, and the Lease is its own.
CONFIGURATION = {"leaderElection": {"leaderElect": True}}
OF_BOTH = (
    "up",
    "scheduler_pending_pods",
    "scheduler_schedule_attempts_total",
    "scheduler_scheduling_attempt_duration_seconds_bucket",
    "scheduler_scheduling_algorithm_duration_seconds_bucket",
    "scheduler_pod_scheduling_sli_duration_seconds_bucket",
    "scheduler_queue_incoming_pods_total",
    "scheduler_preemption_attempts_total",
    "scheduler_preemption_victims_sum",
    "scheduler_cache_size",
    "rest_client_requests_total",
    "rest_client_request_duration_seconds_bucket",
    "process_resident_memory_bytes",
    "process_cpu_seconds_total",
)
"""What the same panels show of kube-scheduler, under the same names."""


@dataclass(frozen=True)
class Minute:
    """What was scraped, and when both schedulers worked."""

    prometheus: Prometheus
    start: float
    end: float
    absent_before: list[Object]
    metrics: str

    def answer(self, question: Question) -> list[Object]:
        """The series over the minute."""
        return self.prometheus.ask_range(question.expr, self.start, self.end, step_seconds=STEP_SECONDS)


@pytest.fixture(scope="module")
def minute(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Minute]:
    require_binaries("kube-scheduler", "kwok")
    control_plane = shared_control_plane(pytestconfig)
    control_plane.reset()
    admin = control_plane.client()
    token = token_of_scraper(admin)
    [port] = free_ports(1)
    serving, certificate = certified(tmp_path_factory.mktemp("certificate"), port)
    with (
        Kwok(control_plane),
        KubeScheduler(control_plane, {}) as kube,
        RepriseProcess(control_plane, CONFIGURATION, reprise=serving) as reprise,
    ):
        load.prepare(admin)
        targets = [
            Target(REPRISE, f"127.0.0.1:{port}", token, certificate),
            Target(KUBE, kube.port.address, token, kube.port.ca_file),
        ]
        with Prometheus(control_plane.folder, questions.RULES, targets) as prometheus:
            prometheus.scrape(REPRISE)
            wait_for_up(prometheus, REPRISE)
            absent_before = prometheus.ask(KUBE_DOWN)
            prometheus.scrape(REPRISE, KUBE)
            wait_for_up(prometheus, KUBE)
            start = time.time()
            load.work(admin, LOAD_SECONDS)
            metrics = reprise.page("/metrics").body.decode()
            yield Minute(prometheus, start, time.time(), absent_before, metrics)


def wait_for_up(prometheus: Prometheus, job: str) -> None:
    query = f'up{{job="{job}"}} == 1'
    prometheus.wait_until(lambda: bool(prometheus.ask(query)), seconds=20, what=query)


def numbers(series: list[Object]) -> list[float]:
    """All values that are numbers."""
    found = [float(value) for one in series for _, value in one["values"]]
    return [value for value in found if not math.isnan(value)]


def jobs(series: list[Object]) -> set[str]:
    return {one["metric"].get("job", "") for one in series}


def test_every_panel_shows_something_or_says_what_fills_it(minute: Minute) -> None:
    """More than zeros, or a line in the table of conditions."""
    dark = []
    for question in questions.of_panels(job=REPRISE):
        series = minute.answer(question)
        assert jobs(series) <= {REPRISE}, str(question)
        if not any(value > 0 for value in numbers(series)) and not all(map(is_conditional, question.selectors)):
            dark.append(str(question))

    assert dark == []


def test_what_a_healthy_minute_does_not_fill_is_there_all_the_same(minute: Minute) -> None:
    """At 0, so that growth can be seen; but a container's limit only where there is one, and what another language has."""
    absent = {"scheduler_memory_limit_bytes", "go_goroutines"}
    missing = [
        str(question)
        for question in questions.of_panels(job=REPRISE)
        if not question.metrics <= absent and not numbers(minute.answer(question))
    ]

    assert missing == []


def test_numbers_at_the_top_of_a_board_are_there_now(minute: Minute) -> None:
    instant = [one for one in questions.of_panels(job=REPRISE) if one.is_instant]
    assert len(instant) >= 10

    assert [str(one) for one in instant if not minute.prometheus.ask(one.expr, at=minute.end)] == []


def test_with_two_schedulers_each_is_shown_by_itself(minute: Minute) -> None:
    """Chosen together, both are there and apart; chosen alone, nothing of the other is."""
    together = questions.of_panels(job=BOTH)
    for both, one, other in zip(together, questions.of_panels(job=REPRISE), questions.of_panels(job=KUBE), strict=True):
        of_both = minute.answer(both)
        assert jobs(of_both) <= {REPRISE, KUBE}, str(both)
        assert key(of_both) == key([*minute.answer(one), *minute.answer(other)]), str(both)
    shown = {name for each in together if jobs(minute.answer(each)) == {REPRISE, KUBE} for name in each.metrics}
    assert set(OF_BOTH) - shown == set()


def key(series: list[Object]) -> list[str]:
    return sorted(str(sorted(one["metric"].items())) for one in series)


def test_the_variables_offer_what_there_is(minute: Minute) -> None:
    offered = {
        name: minute.prometheus.label_values(label, selector)
        for name, (label, selector) in questions.variable_selectors(job=REPRISE).items()
    }

    assert offered["job"] == [KUBE, REPRISE]
    assert len(offered["instance"]) == 1
    assert offered["cluster"] == offered["namespace"] == []


def test_whatever_a_rule_looks_at_is_there(minute: Minute) -> None:
    missing = [
        selector
        for name, selector in sorted(questions.rule_selectors())
        if name != "scheduler_memory_limit_bytes" and not minute.prometheus.ask(f"last_over_time({selector}[2m])")
    ]

    assert missing == []


def test_the_rules_are_evaluated_and_a_healthy_minute_sets_none_off(minute: Minute) -> None:
    rules = minute.prometheus.rules()

    assert {rule["name"] for rule in rules} == {rule.get("alert", rule.get("record")) for rule in questions.rules()}
    assert [(rule["name"], rule["lastError"]) for rule in rules if rule["health"] != "ok"] == []
    assert {rule["name"]: rule["alerts"] for rule in rules if rule.get("state", "inactive") != "inactive"} == {}


def test_quantiles_are_recorded(minute: Minute) -> None:
    for rule in questions.rules():
        if "record" in rule and "labels" in rule:
            query = f'{rule["record"]}{{quantile="{rule["labels"]["quantile"]}", job="reprise"}}'
            assert [one for one in minute.prometheus.ask(query, at=minute.end) if float(one["value"][1]) > 0], query


def test_a_kube_scheduler_that_is_not_there_is_missed_while_reprise_is(minute: Minute) -> None:
    """Its own alert is not silenced by our job label."""
    assert [one["metric"] for one in minute.absent_before] == [{"job": KUBE}]
    assert minute.prometheus.ask(KUBE_DOWN) == []


def test_the_metrics_have_the_form_that_prometheus_wants(minute: Minute) -> None:
    answer = promtool("check", "metrics", stdin=minute.metrics)

    assert (answer.returncode, answer.stdout + answer.stderr) == (0, "")


@pytest.mark.parametrize("selector", sorted(CONDITIONS))
def test_the_test_that_brings_a_condition_about_exists(selector: str) -> None:
    file, _, name = CONDITIONS[selector].test.partition("::")
    tree = ast.parse((ROOT / file).read_text())

    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_condition_is_of_something_that_is_shown() -> None:
    shown = [selector for question in questions.of_panels(job=REPRISE) for selector in question.selectors]

    assert [one for one in CONDITIONS if not any(selector.startswith(one) for selector in shown)] == []
