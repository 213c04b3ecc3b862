"""The real HTTP client against a server on loopback, in real time."""

import asyncio
import gzip
import ssl
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import structlog
from aiohttp import web
from kubernetes.client import Configuration
from pyreqwest.bytes import Bytes

from scheduler.kube import client as client_module
from scheduler.kube.client import ApiClient
from scheduler.kube.credentials import Credentials, CredentialsError
from scheduler.kube.transport import ApiError, FailureKind, TransportFailure, error_of
from tests.edge.kube.local_server import Authority, authority, serving

TOKEN = "s3cret-token"


def configuration(url: str, **settings: Any) -> Configuration:
    made: Any = type.__call__(Configuration)
    made.host = url
    made.proxy = None
    made.api_key["BearerToken"] = f"Bearer {TOKEN}"
    for name, value in settings.items():
        setattr(made, name, value)
    assert isinstance(made, Configuration)
    return made


def client(url: str, **settings: Any) -> ApiClient:
    credentials = Credentials(lambda: configuration(url, **settings), "the test", monotonic=monotonic)
    return ApiClient(credentials, version="1.2.3")


# ---------------------------------------------------------------------------------------------------------------- requests


async def test_a_request_says_who_we_are_and_what_we_accept() -> None:
    seen: list[web.BaseRequest] = []

    async def handler(request: web.BaseRequest) -> web.Response:
        seen.append(request)
        return web.json_response({"body": (await request.read()).decode()}, status=201)

    async with serving(handler) as url, client(url) as api:
        response = await api.post("/api/v1/things?limit=5&labelSelector=a%3Db", b'{"a":1}')
    assert (response.status, response.body) == (201, b'{"body": "{\\"a\\":1}"}')
    (request,) = seen
    assert (request.method, request.path_qs) == ("POST", "/api/v1/things?limit=5&labelSelector=a%3Db")
    assert request.headers["User-Agent"] == "reprise/1.2.3"
    assert request.headers["Authorization"] == f"Bearer {TOKEN}"
    assert request.headers["Accept"] == "application/json"
    assert request.headers["Content-Type"] == "application/json"
    assert "Accept-Encoding" not in request.headers


async def test_a_patch_has_its_own_content_type_and_a_get_has_no_body() -> None:
    seen: list[tuple[str, str | None]] = []

    async def handler(request: web.BaseRequest) -> web.Response:
        seen.append((request.method, request.headers.get("Content-Type")))
        return web.Response()

    async with serving(handler) as url, client(url) as api:
        await api.patch("/x", b"{}", "application/strategic-merge-patch+json")
        await api.get("/x")
        await api.delete("/x")
    assert seen == [("PATCH", "application/strategic-merge-patch+json"), ("GET", None), ("DELETE", None)]


async def test_a_base_path_in_front_of_the_api_is_kept() -> None:
    async def handler(request: web.BaseRequest) -> web.Response:
        return web.Response(text=request.path)

    async with serving(handler) as url, client(f"{url}/k8s/clusters/c-1/") as api:
        assert (await api.get("/api/v1/pods")).body == b"/k8s/clusters/c-1/api/v1/pods"


async def test_the_time_to_come_back_is_told() -> None:
    async def handler(_: web.BaseRequest) -> web.Response:
        return web.Response(
            status=429, headers={"Retry-After": "17"}, text="Too many requests, please try again later.\n"
        )

    async with serving(handler) as url, client(url) as api:
        error = error_of(await api.get("/api/v1/pods"))
    assert (error.code, error.retry_after_seconds) == (429, 17.0)
    assert error.message == (
        "the API server answered 429 Too Many Requests: Too many requests, please try again later."
    )


async def test_requests_are_observed_with_their_status() -> None:
    async def handler(request: web.BaseRequest) -> web.Response:
        return web.Response(status=404)

    observed: list[tuple[str, int]] = []
    async with serving(handler) as url:
        credentials = Credentials(lambda: configuration(url), "the test", monotonic=monotonic)
        async with ApiClient(
            credentials, version="0", observe=lambda method, status, _: observed.append((method, status))
        ) as api:
            await api.get("/a")
    with pytest.raises(TransportFailure):
        async with ApiClient(
            credentials, version="0", observe=lambda method, status, _: observed.append((method, status))
        ) as api:
            await api.post("/b", b"{}")
    assert observed == [("GET", 404), ("POST", 0)]


# ---------------------------------------------------------------------------------------------------------------- failures


async def test_a_refused_connection_was_not_sent() -> None:
    async def handler(_: web.BaseRequest) -> web.Response:
        return web.Response()

    async with serving(handler) as url:
        pass
    async with client(url) as api:
        with pytest.raises(TransportFailure) as caught:
            await api.post("/api/v1/x", b"{}")
    assert (caught.value.kind, caught.value.sent) == (FailureKind.REFUSED, False)
    assert str(caught.value) == f'Post "{url}/api/v1/x": Connection refused (os error 111)'


async def test_a_host_that_does_not_exist_was_not_sent_to() -> None:
    async with client("http://no-such-host.invalid:1") as api:
        with pytest.raises(TransportFailure) as caught:
            await api.get("/")
    assert (caught.value.kind, caught.value.sent) == (FailureKind.UNREACHABLE, False)


async def test_a_connection_lost_before_the_answer_may_have_been_sent() -> None:
    async def handler(request: web.BaseRequest) -> web.Response:
        await request.read()
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async with serving(handler) as url, client(url) as api:
        with pytest.raises(TransportFailure) as caught:
            await api.post("/x", b"{}")
    assert (caught.value.kind, caught.value.sent) == (FailureKind.LOST, True)


async def test_an_answer_cut_off_in_the_middle_may_have_been_sent() -> None:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(status=201)
        response.content_length = 1000
        await response.prepare(request)
        await response.write(b"{")
        assert request.transport is not None
        request.transport.abort()
        return response

    async with serving(handler) as url, client(url) as api:
        with pytest.raises(TransportFailure) as caught:
            await api.post("/x", b"{}")
    assert (caught.value.kind, caught.value.sent) == (FailureKind.LOST, True)


async def test_a_request_that_times_out_may_have_been_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    async def handler(_: web.BaseRequest) -> web.Response:
        await asyncio.sleep(30)
        return web.Response()

    monkeypatch.setattr("scheduler.kube.client.WRITE_SECONDS", 0.2)
    async with serving(handler) as url, client(url) as api:
        with pytest.raises(TransportFailure) as caught:
            await api.post("/x", b"{}")
    assert (caught.value.kind, caught.value.sent) == (FailureKind.TIMEOUT, True)


async def test_no_failure_and_no_log_line_shows_the_token() -> None:
    async def handler(request: web.BaseRequest) -> web.Response:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    with structlog.testing.capture_logs() as logs:
        async with serving(handler) as url, client(url) as api:
            with pytest.raises(TransportFailure) as caught:
                await api.get("/x")
    error: BaseException | None = caught.value
    while error is not None:
        assert TOKEN not in repr(error)
        error = error.__cause__
    assert TOKEN not in repr(logs)


# ----------------------------------------------------------------------------------------------------------------- watches


async def read_all(api: ApiClient, path: str) -> None:
    async with api.watch(path) as stream:
        while await stream.lines():
            pass


async def test_a_quiet_watch_delivers_within_a_second() -> None:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b'{"type":"ADDED"}\n')
        await asyncio.sleep(30)
        return response

    async with serving(handler) as url, client(url) as api, asyncio.timeout(1), api.watch("/w") as stream:
        assert await stream.lines() == [b'{"type":"ADDED"}']


async def test_lines_are_whole_however_they_arrive() -> None:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for part in (b"one\ntw", b"o", b"\n", b"three\nfour\nfi", b"ve\n"):
            await response.write(part)
            await asyncio.sleep(0.02)
        return response

    got: list[bytes] = []
    async with serving(handler) as url, client(url) as api, api.watch("/w") as stream:
        while lines := await stream.lines():
            got += lines
    assert got == [b"one", b"two", b"three", b"four", b"five"]


async def test_a_large_event_and_many_small_ones_arrive_unharmed() -> None:
    big = b'{"big":"' + b"x" * 2_000_000 + b'"}'
    small = [b'{"n":%d}' % number for number in range(20_000)]

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(big + b"\n" + b"\n".join(small) + b"\n")
        return response

    got: list[bytes] = []
    async with serving(handler) as url, client(url) as api, api.watch("/w") as stream:
        while lines := await stream.lines():
            got += lines
    assert got == [big, *small]


async def test_a_list_that_has_arrived_already_does_not_keep_others_from_running() -> None:
    class Arrived:
        """A body whose parts are all there: reading it never waits."""

        left = 1000

        async def read_chunk(self) -> Bytes | None:
            self.left -= 1
            return Bytes(b"line\n") if self.left >= 0 else None

    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    reader: Any = Arrived()
    lines = client_module._Lines(reader, "http://server/")
    while await lines.lines():
        pass
    task.cancel()
    assert turns > 50


async def test_no_compression_is_asked_for_on_a_watch() -> None:
    """A server that compresses when asked to shows that it was not asked."""

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        is_asked = "gzip" in request.headers.get("Accept-Encoding", "")
        response = web.StreamResponse(headers={"Content-Encoding": "gzip"} if is_asked else {})
        await response.prepare(request)
        await response.write(gzip.compress(b"line\n") if is_asked else b"line\n")
        return response

    async with serving(handler) as url, client(url) as api, api.watch("/w") as stream:
        assert await stream.lines() == [b"line"]
        assert await stream.lines() is None


async def test_a_refused_watch_is_an_error_with_the_servers_message() -> None:
    async def handler(_: web.BaseRequest) -> web.Response:
        status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version: 1 (5)"}
        return web.json_response(status, status=410)

    async with serving(handler) as url, client(url) as api:
        with pytest.raises(ApiError) as caught:
            await read_all(api, "/w")
    assert (caught.value.code, caught.value.reason, str(caught.value)) == (
        410,
        "Expired",
        "too old resource version: 1 (5)",
    )
    assert caught.value.is_expired


async def test_a_watch_that_breaks_off_is_a_failure() -> None:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one\n")
        await asyncio.sleep(0.05)
        assert request.transport is not None
        request.transport.abort()
        return response

    async with serving(handler) as url, client(url) as api:
        with pytest.raises(TransportFailure) as caught:
            await read_all(api, "/w")
    assert caught.value.kind is FailureKind.LOST


async def test_leaving_a_watch_closes_it_at_the_server() -> None:
    closed = asyncio.Event()

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b"tick\n")
                await asyncio.sleep(0.02)
        except ConnectionResetError:
            closed.set()
            raise

    async with serving(handler) as url, client(url) as api:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(read_all(api, "/w"), 0.3)
        async with asyncio.timeout(5):
            await closed.wait()


# --------------------------------------------------------------------------------------------------------------------- TLS


@pytest.fixture
def cluster(tmp_path: Path) -> Authority:
    return authority(tmp_path)


async def answer(_: web.BaseRequest) -> web.Response:
    return web.Response(text="ok")


async def test_a_server_with_a_certificate_of_the_clusters_authority_is_trusted(cluster: Authority) -> None:
    async with (
        serving(answer, tls=cluster.server_context()) as url,
        client(url, ssl_ca_cert=str(cluster.certificate)) as api,
    ):
        assert (await api.get("/")).body == b"ok"


async def test_a_server_with_a_certificate_of_another_authority_is_a_clear_error(
    cluster: Authority, tmp_path: Path
) -> None:
    other = authority(tmp_path, "other")
    async with (
        serving(answer, tls=other.server_context()) as url,
        client(url, ssl_ca_cert=str(cluster.certificate)) as api,
    ):
        with pytest.raises(TransportFailure) as caught:
            await api.get("/api")
        with pytest.raises(TransportFailure) as caught_watching:
            await read_all(api, "/api")
    assert (caught.value.kind, caught.value.sent) == (FailureKind.TLS, False)
    assert str(caught.value) == f'Get "{url}/api": invalid peer certificate: UnknownIssuer'
    assert caught_watching.value.kind is FailureKind.TLS


async def test_an_authority_that_the_system_trusts_is_not_the_clusters(
    cluster: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = authority(tmp_path, "system")
    monkeypatch.setenv("SSL_CERT_FILE", str(system.certificate))
    async with serving(answer, tls=system.server_context()) as url:
        async with client(url, ssl_ca_cert=None) as api:
            assert (await api.get("/")).body == b"ok"  # without an authority of its own the system's are meant
        async with client(url, ssl_ca_cert=str(cluster.certificate)) as api:
            with pytest.raises(TransportFailure, match="UnknownIssuer"):
                await api.get("/")


async def test_a_certificate_for_another_name_is_a_clear_error(cluster: Authority) -> None:
    async with (
        serving(answer, tls=cluster.server_context(names="DNS:kubernetes")) as url,
        client(url, ssl_ca_cert=str(cluster.certificate)) as api,
    ):
        with pytest.raises(TransportFailure, match="not valid for name") as caught:
            await api.get("/")
    assert caught.value.kind is FailureKind.TLS


async def test_the_name_expected_of_the_server_can_be_given(cluster: Authority) -> None:
    async with (
        serving(answer, tls=cluster.server_context(names="DNS:kubernetes")) as url,
        client(url, ssl_ca_cert=str(cluster.certificate), tls_server_name="kubernetes") as api,
    ):
        assert (await api.get("/")).body == b"ok"


async def test_verification_can_be_switched_off_and_that_is_logged(cluster: Authority) -> None:
    with structlog.testing.capture_logs() as logs:
        async with serving(answer, tls=cluster.server_context()) as url, client(url, verify_ssl=False) as api:
            assert (await api.get("/")).body == b"ok"
    assert [line["event"] for line in logs] == ["The API server's certificate is not verified"]


async def test_a_client_certificate_is_shown(cluster: Authority) -> None:
    context = cluster.server_context()
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cluster.certificate)
    certificate, key = cluster.issue("reprise")

    async def who(request: web.BaseRequest) -> web.Response:
        assert request.transport is not None
        return web.json_response(request.transport.get_extra_info("peercert")["subject"][0][0])

    files = {"cert_file": str(certificate), "key_file": str(key)}
    async with serving(who, tls=context) as url, client(url, ssl_ca_cert=str(cluster.certificate), **files) as api:
        assert (await api.get("/")).body == b'["commonName", "reprise"]'


async def test_a_key_that_is_none_is_a_clear_error(cluster: Authority, tmp_path: Path) -> None:
    key = tmp_path / "no.key"
    key.write_text("nothing")
    with pytest.raises(CredentialsError, match=r"^the test: https://127\.0\.0\.1:1: "):
        client("https://127.0.0.1:1", cert_file=str(cluster.certificate), key_file=str(key))


# ------------------------------------------------------------------------------------------------------------- credentials


async def test_a_token_that_is_refused_is_loaded_anew_and_the_request_repeated() -> None:
    tokens = iter(["old", "new"])
    seen: list[str] = []

    async def handler(request: web.BaseRequest) -> web.Response:
        seen.append(request.headers["Authorization"])
        return web.Response(status=200 if seen[-1] == "Bearer new" else 401)

    now = 0.0
    async with serving(handler) as url:

        def load() -> Configuration:
            made = configuration(url)
            made.api_key["BearerToken"] = f"Bearer {next(tokens)}"
            return made

        credentials = Credentials(load, "the test", monotonic=lambda: now)
        async with ApiClient(credentials, version="0") as api:
            now = 60.0
            assert (await api.get("/")).status == 200
    assert seen == ["Bearer old", "Bearer new"]


async def test_a_token_that_stays_refused_is_not_loaded_for_each_request() -> None:
    loads = 0

    async def handler(_: web.BaseRequest) -> web.Response:
        return web.Response(status=401)

    now = 0.0
    async with serving(handler) as url:

        def load() -> Configuration:
            nonlocal loads
            loads += 1
            return configuration(url)

        credentials = Credentials(load, "the test", monotonic=lambda: now)
        async with ApiClient(credentials, version="0") as api:
            now = 60.0
            for _ in range(5):
                assert (await api.get("/")).status == 401
    assert loads == 2


async def test_a_new_authority_is_taken_into_use_when_the_server_is_no_longer_trusted(
    cluster: Authority, tmp_path: Path
) -> None:
    rotated = authority(tmp_path, "rotated")
    files = iter([cluster.certificate, rotated.certificate])
    now = 0.0
    async with serving(answer, tls=rotated.server_context()) as url:
        credentials = Credentials(
            lambda: configuration(url, ssl_ca_cert=str(next(files))), "the test", monotonic=lambda: now
        )
        async with ApiClient(credentials, version="0") as api:
            now = 60.0
            assert (await api.get("/")).body == b"ok"
