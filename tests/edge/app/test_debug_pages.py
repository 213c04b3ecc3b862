"""`reprise debug` over HTTPS: what it shows of who asks, and to whom."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from scheduler.app.cli import main
from scheduler.serving.certificates import Pair, self_signed, server_context, utc_now
from tests.support.kubeconfig import write_kubeconfig


class Page(BaseHTTPRequestHandler):
    seen: list[str | None]

    def do_GET(self) -> None:
        self.seen.append(self.headers.get("Authorization"))
        self.send_response(200 if self.headers.get("Authorization") == "Bearer good" else 401)
        self.end_headers()
        self.wfile.write(json.dumps({"nodes": 1, "pods": 2}).encode())

    def log_message(self, *_: Any) -> None:
        pass


class Quiet(HTTPServer):
    def handle_error(self, *_: Any) -> None:
        """Who does not trust the certificate goes in the middle of the handshake."""


@contextmanager
def serving(pair: Pair | None) -> Iterator[tuple[str, list[str | None]]]:
    seen: list[str | None] = []
    with Quiet(("127.0.0.1", 0), type("Seeing", (Page,), {"seen": seen})) as server:
        if pair is not None:
            server.socket = server_context(pair).wrap_socket(server.socket, server_side=True)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"{'http' if pair is None else 'https'}://127.0.0.1:{server.server_port}", seen
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def pair() -> Pair:
    return self_signed(["127.0.0.1"], utc_now())


@pytest.fixture(autouse=True)
def no_kubeconfig(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))


def ask(url: str, *options: str) -> int:
    return main(["debug", "compare", "--url", url, *options])


def token_file(folder: Path) -> str:
    (folder / "token").write_text("good\n")
    return f"--token-file={folder / 'token'}"


def test_a_certificate_is_verified_by_the_authority_that_is_given(pair: Pair, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(pair.certificate)
    with serving(pair) as (url, seen):
        assert ask(url, token_file(tmp_path), f"--certificate-authority={tmp_path / 'ca.crt'}") == 0
    assert seen == ["Bearer good"]


def test_a_certificate_that_nobody_vouches_for_is_refused_before_a_token_is_shown(
    pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(pair) as (url, seen):
        assert ask(url, token_file(tmp_path)) == 2
    assert seen == []
    assert "give --certificate-authority FILE" in capsys.readouterr().err


def test_whoever_says_so_verifies_nothing(pair: Pair, tmp_path: Path) -> None:
    with serving(pair) as (url, _):
        assert ask(url, token_file(tmp_path), "--insecure-skip-tls-verify") == 0


def test_the_token_of_a_kubeconfig_is_shown(pair: Pair, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(pair.certificate)
    file = write_kubeconfig(
        tmp_path / "kubeconfig", url="https://example.com", ca_file=tmp_path / "ca.crt", user="u", token="good"
    )
    with serving(pair) as (url, seen):
        assert ask(url, f"--kubeconfig={file}", "--insecure-skip-tls-verify") == 0
    assert seen == ["Bearer good"]


def test_a_token_is_not_shown_over_plain_http(tmp_path: Path) -> None:
    with serving(None) as (url, seen):
        ask(url, token_file(tmp_path))
    assert seen == [None]


def test_without_a_token_it_says_what_is_wanted(pair: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(pair) as (url, _):
        assert ask(url, "--insecure-skip-tls-verify") == 2
    assert "give --token-file FILE or --kubeconfig FILE" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--token-file", "--kubeconfig", "--certificate-authority"])
def test_a_file_that_is_not_there_is_named(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask("https://127.0.0.1:1", f"{option}=/no/such/file") == 2
    assert "/no/such/file" in capsys.readouterr().err
