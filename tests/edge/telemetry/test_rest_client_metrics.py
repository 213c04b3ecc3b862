"""Requests to the API server, and questions about who asks, as metrics: names and buckets of client-go and apiserver 0.37."""

from __future__ import annotations

from scheduler.kube.request_counts import RequestCounts
from scheduler.kube.reviews import ReviewCounts
from scheduler.telemetry.exposition import take
from scheduler.telemetry.rest_client_metrics import DelegationCollector, RestClientCollector


def lines_of(counts: list[RequestCounts], start: str) -> list[str]:
    text = take(RestClientCollector(lambda: counts))()[0].decode()
    return [line for line in text.splitlines() if line.startswith(start)]


def test_requests_of_all_clients_to_one_server_are_summed() -> None:
    first, second, other = RequestCounts("a:1"), RequestCounts("a:1"), RequestCounts("b:2")
    for one in (first, second, other):
        one.seen("POST", 201, 0.1, 10, 1000)
    second.seen("GET", 0, 5.0, 0, 0)

    assert lines_of([first, second, other], "rest_client_requests_total") == [
        'rest_client_requests_total{code="201",host="a:1",method="POST"} 2.0',
        'rest_client_requests_total{code="201",host="b:2",method="POST"} 1.0',
        'rest_client_requests_total{code="<error>",host="a:1",method="GET"} 1.0',
    ]
    assert lines_of([first, second], "rest_client_request_size_bytes_sum") == [
        'rest_client_request_size_bytes_sum{host="a:1",verb="GET"} 0.0',
        'rest_client_request_size_bytes_sum{host="a:1",verb="POST"} 20.0',
    ]
    assert lines_of([first], "rest_client_response_size_bytes_count") == [
        'rest_client_response_size_bytes_count{host="a:1",verb="POST"} 1.0'
    ]


def test_times_have_the_buckets_of_client_go() -> None:
    counts = RequestCounts("a:1")
    counts.seen("POST", 201, 0.2, 0, 0)
    bounds = [
        line.partition('le="')[2].partition('"')[0]
        for line in lines_of([counts], "rest_client_request_duration_seconds_bucket")
    ]

    assert bounds == [
        "0.005",
        "0.025",
        "0.1",
        "0.25",
        "0.5",
        "1.0",
        "2.0",
        "4.0",
        "8.0",
        "15.0",
        "30.0",
        "60.0",
        "+Inf",
    ]


def test_retries_are_counted_by_what_led_to_them() -> None:
    counts = RequestCounts("a:1")
    counts.retries["POST", 401] += 1

    assert lines_of([counts], "rest_client_request_retries_total") == [
        'rest_client_request_retries_total{code="401",host="a:1",verb="POST"} 1.0'
    ]


def test_questions_about_who_asks_are_told_by_kind_and_answer() -> None:
    tokens, rights = ReviewCounts(), ReviewCounts()
    tokens.seen("201", 0.6)
    rights.seen("<error>", 20.0)
    text = take(DelegationCollector(tokens, rights))()[0].decode().splitlines()

    assert 'apiserver_delegated_authn_request_total{code="201"} 1.0' in text
    assert 'apiserver_delegated_authn_request_duration_seconds_bucket{code="201",le="0.7"} 1.0' in text
    assert 'apiserver_delegated_authn_request_duration_seconds_bucket{code="201",le="0.5"} 0.0' in text
    assert 'apiserver_delegated_authz_request_total{code="<error>"} 1.0' in text
