"""Metrics of requests to the API server (names and buckets: client-go 0.37), and of questions about who asks us (apiserver 0.37)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from scheduler.core.measurements import Histogram
from scheduler.telemetry.histograms import add_histogram, sum_of

NO_ANSWER = "<error>"


class Requests(Protocol):
    """See ``kube.request_counts``."""

    host: str
    requests: Counter[tuple[str, int]]
    seconds: dict[str, Histogram]
    sent_bytes: dict[str, Histogram]
    received_bytes: dict[str, Histogram]
    retries: Counter[tuple[str, int]]


class RestClientCollector(Collector):
    """Those of all clients of this process, which may be at work on other threads."""

    def __init__(self, counts: Callable[[], Sequence[Requests]]) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        clients = self._counts()
        yield _by_code(
            "rest_client_requests",
            "Requests to the API server, by answer.",
            "method",
            clients,
            lambda one: one.requests,
        )
        for name, text, choose in (
            ("request_duration_seconds", "Time of a request until its answer is complete.", _seconds),
            ("request_size_bytes", "Bodies of requests.", _sent),
            ("response_size_bytes", "Bodies of answers.", _received),
        ):
            family = HistogramMetricFamily(f"rest_client_{name}", text, labels=["verb", "host"])
            found: dict[tuple[str, str], list[Histogram]] = defaultdict(list)
            for one in clients:
                for verb, histogram in dict(choose(one)).items():
                    found[verb, one.host].append(histogram)
            for labels, histograms in sorted(found.items()):
                add_histogram(family, list(labels), sum_of(histograms))
            yield family
        yield _by_code(
            "rest_client_request_retries",
            "Requests that were repeated with new credentials, by the answer that they had got.",
            "verb",
            clients,
            lambda one: one.retries,
        )


def _by_code(
    name: str,
    text: str,
    method_label: str,
    clients: Sequence[Requests],
    choose: Callable[[Requests], Counter[tuple[str, int]]],
) -> Metric:
    total: Counter[tuple[str, str, str]] = Counter()
    for one in clients:
        for (method, status), count in dict(choose(one)).items():
            total[str(status) if status else NO_ANSWER, method, one.host] += count
    family = CounterMetricFamily(name, text, labels=["code", method_label, "host"])
    for labels, count in sorted(total.items()):
        family.add_metric(labels, count)
    return family


def _seconds(one: Requests) -> Mapping[str, Histogram]:
    return one.seconds


def _sent(one: Requests) -> Mapping[str, Histogram]:
    return one.sent_bytes


def _received(one: Requests) -> Mapping[str, Histogram]:
    return one.received_bytes


class Answers(Protocol):
    """See ``kube.reviews``."""

    requests: Counter[str]
    seconds: dict[str, Histogram]


class DelegationCollector(Collector):
    """TokenReviews (``authn``) and SubjectAccessReviews (``authz``)."""

    def __init__(self, authn: Answers, authz: Answers) -> None:
        self._kinds = (("authn", "TokenReview", authn), ("authz", "SubjectAccessReview", authz))

    def collect(self) -> Iterator[Metric]:
        for short, kind, answers in self._kinds:
            total = CounterMetricFamily(
                f"apiserver_delegated_{short}_request", f"Requests of a {kind}, by answer.", labels=["code"]
            )
            for code, count in sorted(dict(answers.requests).items()):
                total.add_metric([code], count)
            yield total
            seconds = HistogramMetricFamily(
                f"apiserver_delegated_{short}_request_duration_seconds",
                f"Time of a request of a {kind}, by answer.",
                labels=["code"],
            )
            for code, histogram in sorted(dict(answers.seconds).items()):
                add_histogram(seconds, [code], histogram)
            yield seconds
