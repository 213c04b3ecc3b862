"""A tiny HTTP server on loopback, and certificates for it, to try the real HTTP client on."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from aiohttp import web
from kubernetes.client import Configuration

from scheduler.kube.client import ApiClient
from scheduler.kube.credentials import Credentials

# A connection is gone some turns of the loop after it was cut; a loop that is closed before complains of it much later.
TURNS_TO_CLOSE = 20

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class _Server(web.Server):
    """Remembers its connections, so that they can be cut at the end."""

    def __init__(self, handler: Handler) -> None:
        super().__init__(handler)
        self.made: list[asyncio.Protocol] = []

    def __call__(self) -> Any:
        protocol = super().__call__()
        self.made.append(protocol)
        return protocol


@asynccontextmanager
async def serving(handler: Handler, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Serve every path with one handler; gives the URL."""
    server = _Server(handler)
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    try:
        await site.start()
        port = runner.addresses[0][1]
        yield f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    finally:
        await site.stop()
        for protocol in server.made:
            transport = getattr(protocol, "transport", None)
            if transport is not None:
                transport.abort()  # closing would wait for the client, in TLS
        await runner.cleanup()
        for _ in range(TURNS_TO_CLOSE):
            await asyncio.sleep(0)


@dataclass(frozen=True)
class Authority:
    """A certificate authority of a test, with the files of what it issued."""

    folder: Path
    name: str

    @property
    def certificate(self) -> Path:
        return self.folder / f"{self.name}.crt"

    def issue(self, subject: str, names: str = "IP:127.0.0.1") -> tuple[Path, Path]:
        """A certificate and its key."""
        certificate, key, request = (self.folder / f"{subject}.{suffix}" for suffix in ("crt", "key", "csr"))
        extensions = self.folder / f"{subject}.ext"
        extensions.write_text(f"subjectAltName={names}\n")
        self._openssl("req", *_NEW_KEY, "-keyout", key, "-out", request, "-subj", f"/CN={subject}")
        self._openssl(
            "x509", "-req", "-in", request, "-days", "2", "-out", certificate, "-extfile", extensions,
            "-CA", self.certificate, "-CAkey", self.folder / f"{self.name}.key", "-CAcreateserial",
        )  # fmt: skip
        return certificate, key

    def server_context(self, subject: str = "server", names: str = "IP:127.0.0.1") -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.issue(subject, names))
        return context

    def create(self) -> "Authority":
        key = self.folder / f"{self.name}.key"
        self._openssl(
            "req",
            "-x509",
            *_NEW_KEY,
            "-keyout",
            key,
            "-out",
            self.certificate,
            "-days",
            "2",
            "-subj",
            f"/CN={self.name}",
        )
        return self

    @staticmethod
    def _openssl(*arguments: str | Path) -> None:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=30)


_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def authority(folder: Path, name: str = "cluster") -> Authority:
    """A new authority; the test is skipped where there is no openssl."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is missing: apt-get install openssl")
    return Authority(folder, name).create()


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


def client_of(url: str, **settings: Any) -> ApiClient:
    credentials = Credentials(lambda: configuration(url, **settings), "the test", monotonic=monotonic)
    return ApiClient(credentials, version="1.2.3")


async def read_all(api: ApiClient, path: str) -> None:
    async with api.watch(path) as stream:
        while await stream.lines():
            pass
