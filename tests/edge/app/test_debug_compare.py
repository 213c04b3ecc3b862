"""`reprise debug compare`: what it prints and how it ends, against pages on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from scheduler.app.cli import main


class _Page(BaseHTTPRequestHandler):
    status = 200
    body = b""

    def do_GET(self) -> None:
        self.send_response(self.status if self.path == "/debug/compare" else 404)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serving(body: object, status: int = 200) -> Iterator[str]:
    answer = type(
        "Page", (_Page,), {"status": status, "body": body if isinstance(body, bytes) else json.dumps(body).encode()}
    )
    with HTTPServer(("127.0.0.1", 0), answer) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def ask(url: str, *options: str) -> int:
    return main(["debug", "compare", "--url", url, *options])


def test_nothing_differs(capsys: pytest.CaptureFixture[str]) -> None:
    with serving({"nodes": 3, "pods": 5}) as url:
        assert ask(url) == 0
    assert capsys.readouterr().out == "3 nodes and 5 pods listed\nwhat the scheduler knows is what there is\n"


def test_what_differs_is_listed_and_the_exit_code_is_1(capsys: pytest.CaptureFixture[str]) -> None:
    document = {
        "nodes": 3,
        "pods": 5,
        "missedPods": ["default/a (1)"],
        "redundantNodes": ["n (2)"],
        "leftOut": ["b (3)"],
    }
    with serving(document) as url:
        assert ask(url + "/") == 1
    assert capsys.readouterr().out.splitlines() == [
        "3 nodes and 5 pods listed",
        "1 nodes that only the scheduler knows:",
        "  n (2)",
        "1 pods that the scheduler does not know:",
        "  default/a (1)",
        "1 left out because they cannot be understood:",
        "  b (3)",
    ]


def test_the_document_is_printed_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    with serving({"nodes": 3, "pods": 5}) as url:
        assert ask(url, "--output", "json") == 0
    assert json.loads(capsys.readouterr().out) == {"nodes": 3, "pods": 5}


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (404, b"", "has no page /debug/compare: it takes `serving.debug: true` in its configuration"),
        (
            503,
            b"nodes and pods cannot be listed: forbidden\n",
            "answers 503: nodes and pods cannot be listed: forbidden",
        ),
        (200, b"<html>", "JSON is malformed"),
    ],
)
def test_what_cannot_be_asked_says_what_to_do(
    status: int, body: bytes, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(body, status) as url:
        assert ask(url) == 2
    assert said in capsys.readouterr().err


def test_who_does_not_answer_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with serving({}) as url:
        pass
    assert ask(url) == 2
    assert f"{url} does not answer: " in capsys.readouterr().err


def test_an_address_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask("file:///etc/passwd") == 2
    assert "expected an address such as https://127.0.0.1:10259" in capsys.readouterr().err


def test_a_process_is_sent_the_signal(capsys: pytest.CaptureFixture[str]) -> None:
    received: list[int] = []
    before = signal.signal(signal.SIGUSR2, lambda number, _: received.append(number))
    try:
        assert main(["debug", "compare", "--pid", str(os.getpid())]) == 0
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert received == [signal.SIGUSR2]
    assert "writes the comparison to its log" in capsys.readouterr().out


def test_a_process_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert main(["debug", "compare", "--pid", str(ended.pid)]) == 2
    assert f"process {ended.pid} cannot be sent SIGUSR2: No such process" in capsys.readouterr().err
