"""Our own connections, over which writes go: against servers on loopback, in real time."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvloop
from aiohttp import web

from scheduler.kube.connections import Connections
from scheduler.kube.credentials import CredentialsError, Endpoint
from scheduler.kube.tls import tls_context
from scheduler.kube.transport import FailureKind, Response, TransportFailure
from tests.edge.kube.local_server import Authority, authority, serving

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
Speak = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def speaking(speak: Speak) -> AsyncIterator[str]:
    """A server that says what a test tells it to, whether it is HTTP or not; its connections end with the test."""
    writers: list[asyncio.StreamWriter] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        await speak(reader, writer)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for writer in writers:
            writer.close()
        await server.wait_closed()
        await asyncio.sleep(0.01)


@asynccontextmanager
async def connecting(url: str, **endpoint: str | bytes | bool) -> AsyncIterator[Connections]:
    connections = Connections(Endpoint(url=url, **endpoint), "reprise/1")  # type: ignore[arg-type]  # whatever a test names
    try:
        yield connections
    finally:
        connections.close()
        await asyncio.sleep(0.01)


async def post(connections: Connections, path: str = "/x", *, seconds: float = 5.0, token: str = "t") -> Response:
    return await connections.send("POST", path, b"{}", "application/json", f"Bearer {token}", seconds)


async def read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    return head + await reader.readexactly(2)


def answering(*answers: bytes) -> Speak:
    """Answer the requests of a connection with these bytes, one after the other, then close it."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            await read_request(reader)
            writer.write(answer)
            await writer.drain()
        writer.close()

    return speak


class Ports:
    """A handler that remembers from which port of ours each request came: so many ports, so many connections."""

    def __init__(self, *, hold: int = 0, close: bool = False) -> None:
        self.seen: list[int] = []
        self._hold = asyncio.Barrier(hold) if hold else None
        self._close = close

    async def __call__(self, request: web.BaseRequest) -> web.Response:
        assert request.transport is not None
        self.seen.append(request.transport.get_extra_info("peername")[1])
        if self._hold is not None:
            await self._hold.wait()
        response = web.Response(text="ok")
        if self._close:
            response.force_close()
        return response


# ------------------------------------------------------------------------------------------------------- use of connections


async def test_requests_one_after_the_other_share_a_connection() -> None:
    ports = Ports()
    async with serving(ports) as url, connecting(url) as connections:
        for _ in range(5):
            assert (await post(connections)).body == b"ok"
    assert len(ports.seen) == 5
    assert len(set(ports.seen)) == 1


async def test_requests_at_once_have_a_connection_each_and_later_ones_use_these() -> None:
    ports = Ports(hold=4)
    async with serving(ports) as url, connecting(url) as connections:
        for _ in range(2):
            async with asyncio.timeout(5):
                await asyncio.gather(*(post(connections) for _ in range(4)))
    assert len(set(ports.seen[:4])) == 4
    assert set(ports.seen[4:]) == set(ports.seen[:4])


async def test_a_connection_that_rested_too_long_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduler.kube.connections.IDLE_SECONDS", 0.0)
    ports = Ports()
    async with serving(ports) as url, connecting(url) as connections:
        await post(connections)
        await post(connections)
    assert len(set(ports.seen)) == 2


async def test_a_connection_that_the_server_ends_with_its_answer_is_not_used_again() -> None:
    ports = Ports(close=True)
    async with serving(ports) as url, connecting(url) as connections:
        for _ in range(3):
            assert (await post(connections)).status == 200
    assert len(set(ports.seen)) == 3


async def test_a_connection_that_the_server_closed_meanwhile_is_not_used_again() -> None:
    async with speaking(answering(OK)) as url, connecting(url) as connections:
        await post(connections)
        await asyncio.sleep(0.05)
        assert (await post(connections)).body == b"ok"


@pytest.mark.parametrize("header", [b"Connection: close", b"connection: close"])
@pytest.mark.parametrize("is_last", [False, True])
async def test_an_answer_that_announces_the_end_of_its_connection_is_believed(header: bytes, is_last: bool) -> None:
    """Wherever it says so, and though this server does not do what it says."""
    lines = [b"Content-Length: 2", header] if is_last else [header, b"Content-Length: 2"]
    final = b"\r\n".join((b"HTTP/1.1 200 OK", *lines, b"", b"ok"))
    served: list[int] = []

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.append(0)
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                await read_request(reader)
                served[-1] += 1
                writer.write(final)

    async with speaking(speak) as url, connecting(url) as connections:
        for _ in range(2):
            assert (await post(connections)).body == b"ok"
        assert served == [1, 1]


async def test_retired_connections_close_when_they_have_answered() -> None:
    ports = Ports(hold=2)
    async with serving(ports) as url, connecting(url) as connections:
        under_way = asyncio.create_task(post(connections))
        while not ports.seen:
            await asyncio.sleep(0.001)
        connections.retire()
        await asyncio.gather(under_way, post(connections))
        await asyncio.sleep(0.01)
        assert not connections._open


async def test_closing_fails_what_is_under_way() -> None:
    ports = Ports(hold=2)
    async with serving(ports) as url, connecting(url) as connections:
        under_way = asyncio.create_task(post(connections))
        while not ports.seen:
            await asyncio.sleep(0.001)
        connections.close()
        with pytest.raises(TransportFailure) as caught:
            await under_way
    assert (caught.value.kind, caught.value.sent) == (FailureKind.LOST, True)


# ----------------------------------------------------------------------------------------------------------------- messages


async def test_a_path_and_a_token_cannot_become_more_than_they_are() -> None:
    requests: list[bytes] = []

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await read_request(reader))
        writer.write(OK)

    async with speaking(speak) as url, connecting(url) as connections:
        await post(connections, "/pods/a b\r\nX: 1?limit=5&labelSelector=a%3Db", token="secret\r\nX: 2")
    (request,) = requests
    host = url.removeprefix("http://")
    assert request.decode().split("\r\n") == [
        "POST /pods/a%20b%0D%0AX:%201?limit=5&labelSelector=a%3Db HTTP/1.1",
        f"Host: {host}",
        "User-Agent: reprise/1",
        "Accept: application/json",
        "Authorization: Bearer secretX: 2",
        "Content-Type: application/json",
        "Content-Length: 2",
        "",
        "{}",
    ]


async def test_a_new_token_is_used_from_the_next_request_on() -> None:
    tokens: list[str] = []

    async def handler(request: web.BaseRequest) -> web.Response:
        tokens.append(request.headers["Authorization"])
        return web.Response()

    async with serving(handler) as url, connecting(url) as connections:
        for token in ("old", "old", "new"):
            await post(connections, token=token)
    assert tokens == ["Bearer old", "Bearer old", "Bearer new"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (OK, b"ok"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n", b"ok"),
        (b"HTTP/1.1 200 OK\r\n\r\nok", b"ok"),  # it ends with the connection
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", b"ok"),
        (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK, b"ok"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 201 Created\r\nDate: x\r\nContent-Length: 2\r\nAudit-Id: y\r\n\r\nok", b"ok"),
        (b"HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\nok", b"ok"),
    ],
)
async def test_an_answer_is_understood_in_each_of_its_forms(answer: bytes, expected: bytes) -> None:
    async with speaking(answering(answer)) as url, connecting(url) as connections:
        assert (await post(connections)).body == expected


async def test_an_answer_is_whole_however_it_arrives() -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        for byte in b"HTTP/1.1 429 Too Many Requests\r\nretry-AFTER: 17\r\nContent-Length: 4\r\n\r\nslow":
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0)

    async with speaking(speak) as url, connecting(url) as connections:
        assert await post(connections) == Response(429, {"retry-after": "17"}, b"slow")


# ----------------------------------------------------------------------------------------------------------------- failures


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok", b"HTTP/1.1 200 OK\r\nConten", b"SSH-2.0-x\r\n"]
)
async def test_without_a_whole_answer_the_request_may_have_been_carried_out(answer: bytes) -> None:
    async with speaking(answering(answer)) as url, connecting(url) as connections:
        with pytest.raises(TransportFailure) as caught:
            await post(connections)
    assert (caught.value.kind, caught.value.sent) == (FailureKind.LOST, True)
    assert str(caught.value).startswith(f'Post "{url}/x": ')


async def test_what_comes_unasked_is_nobodys_answer() -> None:
    async with speaking(answering(OK + OK.replace(b"ok", b"no"), OK)) as url, connecting(url) as connections:
        assert (await post(connections)).body == b"ok"
        assert (await post(connections)).body == b"ok"


async def test_each_request_has_a_deadline_of_its_own() -> None:
    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await read_request(reader)

    failed: list[float] = []

    async def wait(connections: Connections, seconds: float) -> None:
        with pytest.raises(TransportFailure) as caught:
            await post(connections, seconds=seconds)
        assert caught.value.kind is FailureKind.TIMEOUT
        failed.append(seconds)

    async with speaking(silent) as url, connecting(url) as connections, asyncio.timeout(5):
        await asyncio.gather(*(wait(connections, seconds) for seconds in (0.3, 0.1, 0.2)))
    assert failed == [0.1, 0.2, 0.3]


async def test_a_late_answer_is_nobodys_answer() -> None:
    arrived = asyncio.Event()

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        if not arrived.is_set():
            arrived.set()
            await asyncio.sleep(0.2)
            writer.write(OK.replace(b"ok", b"no"))
        writer.write(OK)

    async with speaking(speak) as url, connecting(url) as connections:
        with pytest.raises(TransportFailure) as caught:
            await post(connections, seconds=0.05)
        assert (caught.value.kind, caught.value.sent) == (FailureKind.TIMEOUT, True)
        assert str(caught.value) == f'Post "{url}/x": timed out'
        await asyncio.sleep(0.3)
        assert (await post(connections)).body == b"ok"


async def test_a_cancelled_requests_answer_is_nobodys() -> None:
    arrived = asyncio.Event()

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        if not arrived.is_set():
            arrived.set()
            await asyncio.sleep(0.05)
            writer.write(OK.replace(b"ok", b"no"))
        writer.write(OK)

    async with speaking(speak) as url, connecting(url) as connections:
        under_way = asyncio.create_task(post(connections))
        await arrived.wait()
        under_way.cancel()
        await asyncio.gather(under_way, return_exceptions=True)
        assert under_way.cancelled()
        await asyncio.sleep(0.1)
        assert (await post(connections)).body == b"ok"


async def test_a_server_that_does_not_take_the_connection_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("scheduler.kube.connections.CONNECT_SECONDS", 0.05)

    async def silent(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
        """Takes the connection and says nothing, so that TLS does not begin."""

    async with speaking(silent) as url, connecting(url.replace("http:", "https:")) as connections:
        with pytest.raises(TransportFailure) as caught:
            await post(connections)
    assert (caught.value.kind, caught.value.sent) == (FailureKind.UNREACHABLE, False)


# ---------------------------------------------------------------------------------------------------------------------- TLS


@pytest.fixture
def cluster(tmp_path: Path) -> Authority:
    return authority(tmp_path)


async def answer(_: web.BaseRequest) -> web.Response:
    return web.Response(text="ok")


def trusting(cluster: Authority) -> bytes:
    return cluster.certificate.read_bytes()


async def test_the_clusters_authority_is_trusted_and_no_other(cluster: Authority, tmp_path: Path) -> None:
    other = authority(tmp_path, "other")
    async with serving(answer, tls=cluster.server_context()) as url, connecting(url, ca_pem=trusting(cluster)) as ours:
        assert (await post(ours)).body == b"ok"
    async with serving(answer, tls=other.server_context()) as url, connecting(url, ca_pem=trusting(cluster)) as ours:
        with pytest.raises(TransportFailure) as caught:
            await post(ours)
    assert (caught.value.kind, caught.value.sent) == (FailureKind.TLS, False)
    assert str(caught.value).startswith(f'Post "{url}/x": invalid peer certificate: ')


async def test_without_an_authority_the_systems_are_meant(cluster: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(cluster.certificate))
    async with serving(answer, tls=cluster.server_context()) as url, connecting(url) as connections:
        assert (await post(connections)).body == b"ok"


async def test_a_certificate_must_be_for_the_name_that_is_expected(cluster: Authority) -> None:
    tls = cluster.server_context(names="DNS:kubernetes")
    async with serving(answer, tls=tls) as url:
        async with connecting(url, ca_pem=trusting(cluster)) as connections:
            with pytest.raises(TransportFailure, match=r"invalid peer certificate: .*127\.0\.0\.1") as caught:
                await post(connections)
        async with connecting(url, ca_pem=trusting(cluster), server_name="kubernetes") as connections:
            assert (await post(connections)).body == b"ok"
    assert caught.value.kind is FailureKind.TLS


async def test_verification_can_be_switched_off(cluster: Authority) -> None:
    async with (
        serving(answer, tls=cluster.server_context()) as url,
        connecting(url, is_verified=False) as connections,
    ):
        assert (await post(connections)).body == b"ok"


async def test_a_client_certificate_is_shown(cluster: Authority) -> None:
    context = cluster.server_context()
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cluster.certificate)
    certificate, key = cluster.issue("reprise")

    async def who(request: web.BaseRequest) -> web.Response:
        assert request.transport is not None
        return web.json_response(request.transport.get_extra_info("peercert")["subject"][0][0])

    identity = certificate.read_bytes() + b"\n" + key.read_bytes()
    async with (
        serving(who, tls=context) as url,
        connecting(url, ca_pem=trusting(cluster), identity_pem=identity) as connections,
    ):
        assert (await post(connections)).body == b'["commonName", "reprise"]'


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_later_connections_go_on_with_the_tls_session_of_the_first(
    cluster: Authority, new_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    resumed: list[bool] = []

    async def closing(request: web.BaseRequest) -> web.Response:
        assert request.transport is not None
        resumed.append(request.transport.get_extra_info("ssl_object").session_reused)
        response = web.Response(text="ok")
        response.force_close()
        return response

    async def ask() -> None:
        async with (
            serving(closing, tls=cluster.server_context()) as url,
            connecting(url, ca_pem=trusting(cluster)) as connections,
        ):
            for _ in range(3):
                assert (await post(connections)).body == b"ok"

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(ask())
    assert resumed == [False, True, True]


async def test_a_session_that_the_server_does_not_know_is_no_obstacle(cluster: Authority) -> None:
    known, other = cluster.server_context(), cluster.server_context()
    async with (
        serving(answer, tls=known) as first,
        serving(answer, tls=other) as second,
        connecting(first, ca_pem=trusting(cluster)) as connections,
    ):
        assert (await post(connections)).body == b"ok"
        connections.retire()
        connections._port = int(second.rpartition(":")[2])
        assert (await post(connections)).body == b"ok"


def test_an_identity_that_is_none_is_a_clear_error() -> None:
    with pytest.raises(CredentialsError, match=r"^https://server: "):
        tls_context(Endpoint(url="https://server", identity_pem=b"nothing"))


def test_it_works_on_the_event_loop_that_the_scheduler_runs_on(cluster: Authority) -> None:
    """Transports of uvloop are not those of asyncio."""

    async def ask() -> list[bytes]:
        async with (
            serving(answer, tls=cluster.server_context()) as url,
            connecting(url, ca_pem=trusting(cluster)) as connections,
        ):
            answers = await asyncio.gather(*(post(connections) for _ in range(3)))
            return [one.body for one in answers] + [(await post(connections)).body]

    async def refused() -> tuple[FailureKind, bool, str]:
        async with (
            serving(answer, tls=cluster.server_context(names="DNS:other")) as url,
            connecting(url, ca_pem=trusting(cluster)) as connections,
        ):
            with pytest.raises(TransportFailure) as caught:
                await post(connections)
        async with connecting(url) as connections:
            with pytest.raises(TransportFailure) as gone:
                await post(connections)
        assert gone.value.kind is FailureKind.REFUSED
        return caught.value.kind, caught.value.sent, str(gone.value).removeprefix(f'Post "{url}/x": ')

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(ask()) == [b"ok"] * 4
        assert runner.run(refused()) == (FailureKind.TLS, False, "Connection refused (os error 111)")
