"""Whom the HTTP client trusts and who it says it is: against a server on loopback, in real time."""

import ssl
from pathlib import Path

import pytest
import structlog
from aiohttp import web
from kubernetes.client import Configuration

from scheduler.kube.client import ApiClient
from scheduler.kube.credentials import Credentials, CredentialsError
from scheduler.kube.transport import FailureKind, TransportFailure
from tests.edge.kube.local_server import Authority, authority, client_of, configuration, read_all, serving

# --------------------------------------------------------------------------------------------------------------------- TLS


@pytest.fixture
def cluster(tmp_path: Path) -> Authority:
    return authority(tmp_path)


async def answer(_: web.BaseRequest) -> web.Response:
    return web.Response(text="ok")


async def test_a_server_with_a_certificate_of_the_clusters_authority_is_trusted(cluster: Authority) -> None:
    async with (
        serving(answer, tls=cluster.server_context()) as url,
        client_of(url, ssl_ca_cert=str(cluster.certificate)) as api,
    ):
        assert (await api.get("/")).body == b"ok"


async def test_a_server_with_a_certificate_of_another_authority_is_a_clear_error(
    cluster: Authority, tmp_path: Path
) -> None:
    other = authority(tmp_path, "other")
    async with (
        serving(answer, tls=other.server_context()) as url,
        client_of(url, ssl_ca_cert=str(cluster.certificate)) as api,
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
        async with client_of(url, ssl_ca_cert=None) as api:
            assert (await api.get("/")).body == b"ok"  # without an authority of its own the system's are meant
        async with client_of(url, ssl_ca_cert=str(cluster.certificate)) as api:
            with pytest.raises(TransportFailure, match="UnknownIssuer"):
                await api.get("/")


async def test_a_certificate_for_another_name_is_a_clear_error(cluster: Authority) -> None:
    async with (
        serving(answer, tls=cluster.server_context(names="DNS:kubernetes")) as url,
        client_of(url, ssl_ca_cert=str(cluster.certificate)) as api,
    ):
        with pytest.raises(TransportFailure, match="not valid for name") as caught:
            await api.get("/")
    assert caught.value.kind is FailureKind.TLS


async def test_the_name_expected_of_the_server_can_be_given(cluster: Authority) -> None:
    async with (
        serving(answer, tls=cluster.server_context(names="DNS:kubernetes")) as url,
        client_of(url, ssl_ca_cert=str(cluster.certificate), tls_server_name="kubernetes") as api,
    ):
        assert (await api.get("/")).body == b"ok"


async def test_verification_can_be_switched_off_and_that_is_logged(cluster: Authority) -> None:
    with structlog.testing.capture_logs() as logs:
        async with serving(answer, tls=cluster.server_context()) as url, client_of(url, verify_ssl=False) as api:
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
    async with serving(who, tls=context) as url, client_of(url, ssl_ca_cert=str(cluster.certificate), **files) as api:
        assert (await api.get("/")).body == b'["commonName", "reprise"]'


async def test_a_key_that_is_none_is_a_clear_error(cluster: Authority, tmp_path: Path) -> None:
    key = tmp_path / "no.key"
    key.write_text("nothing")
    with pytest.raises(CredentialsError, match=r"^the test: https://127\.0\.0\.1:1: "):
        client_of("https://127.0.0.1:1", cert_file=str(cluster.certificate), key_file=str(key))


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
