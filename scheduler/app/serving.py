"""The HTTP server as the configuration wants it, with a client of its own for questions about who asks."""

from __future__ import annotations

import asyncio
import dataclasses
import socket
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path

import structlog

from scheduler.config.reprise_document import Serving
from scheduler.core.state import State
from scheduler.kube.client import ApiClient
from scheduler.kube.credentials import load_credentials
from scheduler.kube.request_counts import all_counts
from scheduler.kube.reviews import Reviews
from scheduler.kube.timing import Timing
from scheduler.serving.certificates import Certificate, CertificateError, FilesOnDisk, SelfSigned, Source, utc_now
from scheduler.serving.gate import Gate
from scheduler.serving.pages import Exposition, Gather, Pages
from scheduler.serving.server import Address, Secure, Server, ServingError
from scheduler.telemetry.exposition import Collector, joined, take
from scheduler.telemetry.health_metrics import HealthCollector
from scheduler.telemetry.pod_resources import PodResourcesCollector
from scheduler.telemetry.rest_client_metrics import DelegationCollector, RestClientCollector

log = structlog.get_logger(__name__)

HEARTBEAT_SECONDS = 1.0
STUCK_SECONDS = 60.0


class Delegate:
    """Asks the API server who asks us; its client is used by the server's thread alone."""

    def __init__(self, kubeconfig: Path | None) -> None:
        """Load the credentials anew: those of others are refreshed on other loops.

        Raises:
            CredentialsError: see ``load_credentials``.
        """
        credentials = load_credentials(kubeconfig, monotonic=time.monotonic)
        self.client = ApiClient(credentials, version=version("reprise-scheduler"), reads_small=True)
        self.reviews = Reviews(self.client, Timing())
        self.gate = Gate(self.reviews, monotonic=time.monotonic, complain=_complain)


def is_served(serving: Serving) -> bool:
    """Whether any port is."""
    return bool(serving.port or serving.plain_metrics_port or serving.insecure_port)


def make_server(serving: Serving, pages: Pages, delegate: Delegate | None) -> Server:
    """The server, not started yet; ``delegate`` is needed for the HTTPS port.

    Raises:
        ServingError: the certificate cannot be used.
    """
    pages = _with_edge_metrics(pages, delegate)
    secure = None
    if serving.port:
        assert delegate is not None, "who asks at the HTTPS port has to be known"
        address = Address(serving.bind_address, serving.port, "serving.port")
        secure = Secure(address, certificate_of(serving), delegate.gate)
    return Server(
        pages,
        secure=secure,
        plain_metrics=_address(serving.bind_address, serving.plain_metrics_port, "serving.plainMetricsPort"),
        insecure=_address(serving.insecure_bind_address, serving.insecure_port, "serving.insecurePort"),
    )


def _with_edge_metrics(pages: Pages, delegate: Delegate | None) -> Pages:
    """The pages with metrics of requests and of health; they are counted on several threads, so nobody owns them."""
    health = HealthCollector(pages.counts)
    edge: list[Collector] = [RestClientCollector(all_counts), health]
    if delegate is not None:
        edge.append(DelegationCollector(delegate.reviews.tokens, delegate.reviews.rights))
    gather = pages.metrics.get("/metrics")
    found = {**pages.metrics, "/metrics/slis": lambda: take(health)}
    if gather is not None:
        found["/metrics"] = lambda: joined(gather(), *map(take, edge))
    return dataclasses.replace(pages, metrics=found)


def pods_known(state: State, is_leader: Callable[[], bool]) -> Gather:
    """/metrics/resources: nothing unless this process leads. The pods are taken at once, their amounts summed where it is written."""

    def gather() -> Callable[[], Exposition]:
        pods = []
        if is_leader():
            pods = [one.pod.pod for one in state.cache.pods()] + [one.pod.pod for one in state.queue.waiting()]

        def write() -> Exposition:
            return take(PodResourcesCollector(lambda: pods))()

        return write

    return gather


async def start(server: Server, serving: Serving) -> None:
    """Listen, and say where in the log.

    Raises:
        ServingError: it cannot listen.
    """
    await server.start()
    ports = server.ports
    log.info(
        "serving",
        address=serving.bind_address,
        port=ports.get("serving.port", 0),
        plain_metrics_port=ports.get("serving.plainMetricsPort", 0),
        insecure_port=ports.get("serving.insecurePort", 0),
        certificate=serving.cert_file or "self-signed",
    )


class Heartbeat:
    """Whether an event loop still turns, told to those on other threads."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._beat_at = monotonic()

    async def run(self, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
        """Beat on the loop that this runs on, until cancelled."""
        while True:
            self._beat_at = self._monotonic()
            await sleep(HEARTBEAT_SECONDS)

    def is_well(self) -> bool:
        """Whether the last one is not too old."""
        return self._monotonic() - self._beat_at < STUCK_SECONDS


def certificate_of(serving: Serving) -> Certificate:
    """That of the files, or one of our own.

    Raises:
        ServingError: it cannot be used.
    """
    source: Source = SelfSigned([socket.gethostname(), "localhost", "127.0.0.1", "::1"], utc_now)
    if serving.cert_file:
        source = FilesOnDisk(Path(serving.cert_file), Path(serving.private_key_file))
    try:
        return Certificate(source)
    except CertificateError as error:
        raise ServingError(str(error)) from error


def _address(host: str, port: int, setting: str) -> Address | None:
    return Address(host, port, setting) if port else None


def _complain(error: str) -> None:
    if error:
        log.error("cannot ask the API server who asks for pages; they are refused", error=error)
    else:
        log.info("the API server says again who asks for pages")
