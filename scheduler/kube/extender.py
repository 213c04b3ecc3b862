"""Asks extenders, over HTTP (kube-scheduler 1.37: HTTPExtender).

Whatever an extender does, its question is answered: with its answer, or with the reason why there is none. An answer is bounded in
time and in size. Certificates are verified unless the configuration says otherwise; user names, passwords and keys are in no text.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from scheduler.config.extenders import timeout_seconds, without_user
from scheduler.config.kube_document import Extender, ExtenderTLSConfig
from scheduler.core.instruction import AskExtender, ExtenderVerb
from scheduler.core.stimulus import ExtenderAnswered, ExtenderFailed, NodeDeleted, PodDeleted, Stimulus
from scheduler.kube.binder import READ_POD, ReadPod
from scheduler.kube.bounded_connection import bounded
from scheduler.kube.connections import Connections
from scheduler.kube.credentials import CredentialsError, Endpoint
from scheduler.kube.extender_messages import (
    TEXT_LIMIT,
    MalformedAnswer,
    bind_body,
    candidates_body,
    preempt_body,
    read_answer,
)
from scheduler.kube.fence import Fence, FenceClosed
from scheduler.kube.kept_objects import KeptObjects, ListeningTransport, nodes_by_name, pods_by_uid
from scheduler.kube.resources import NODES, PODS, AnyResource
from scheduler.kube.timing import Timing
from scheduler.kube.transport import Transport, TransportFailure

USER_AGENT = "reprise"
ANSWER_BYTES = 16 << 20
"""An answer may be this large, and as large as twice its question, which it may repeat."""


class _Withdrawn(Exception):
    """A bind that was not sent."""


class ExtenderClient:
    """One extender of the configuration.

    Args:
        path: of the extender in the configuration, for errors.

    Raises:
        CredentialsError: a certificate or key cannot be used.
    """

    def __init__(self, configured: Extender, path: str) -> None:
        self.url = without_user(configured.url_prefix).rstrip("/")
        self.is_by_name = configured.node_cache_capable
        self._seconds = timeout_seconds(configured)
        self._verbs = {
            ExtenderVerb.FILTER: configured.filter_verb,
            ExtenderVerb.PRIORITIZE: configured.prioritize_verb,
            ExtenderVerb.PREEMPT: configured.preempt_verb,
            ExtenderVerb.BIND: configured.bind_verb,
        }
        self._authorization = _authorization(configured.url_prefix)
        try:
            self._connections = Connections(
                _endpoint(self.url, configured.tls_config or ExtenderTLSConfig()),
                USER_AGENT,
                connection=bounded(self._is_too_large),
            )
        except (CredentialsError, OSError, ValueError) as error:
            reason = f"{error.strerror}: {error.filename}" if isinstance(error, OSError) else str(error)
            raise CredentialsError(f"{path}.tlsConfig: {reason}") from error
        self._limit = ANSWER_BYTES

    def _is_too_large(self, size: int) -> bool:
        return size > self._limit

    async def ask(self, verb: ExtenderVerb, body: bytes, fence: Fence | None = None) -> bytes:
        """The body of the answer. To bind is to write: a fence is asked when there is a connection.

        Raises:
            FenceClosed: nothing was sent.
            TransportFailure: there was none in time, or it was too large.
            MalformedAnswer: it is not 200 OK.
        """
        name = self._verbs[verb]
        url = f"{self.url}/{name}"
        self._limit = max(self._limit, 2 * len(body) + ANSWER_BYTES)
        try:
            async with asyncio.timeout(self._seconds):
                response = await self._connections.send(
                    "POST",
                    f"/{name}",
                    body,
                    "application/json",
                    self._authorization,
                    self._seconds,
                    fence if verb is ExtenderVerb.BIND else None,
                )
        except TimeoutError as error:
            raise MalformedAnswer(f'Post "{url}": no answer within {self._seconds:g}s (httpTimeout)') from error
        if response.status != 200:
            raise MalformedAnswer(f"failed {name} with extender at URL {url}, code {response.status}")
        return response.body

    def close(self) -> None:
        self._connections.close()


class ExtenderCaller:
    """Carries out AskExtender instructions and delivers an answer to each, once.

    Args:
        extenders: those of the configuration, in its order.
        scheduler_names: whose pods may be asked about.
        deliver: receives ExtenderAnswered or ExtenderFailed.
        transport: to the API server, where a pod is looked at whose bind is in doubt.
        may_bind: asked with a pod's UID before its bind is sent.
        fence: what binds have to pass, for one that takes part in an election.

    Raises:
        CredentialsError: a certificate or key of an extender cannot be used.
    """

    def __init__(
        self,
        extenders: Sequence[Extender],
        scheduler_names: frozenset[str],
        deliver: Callable[[Stimulus], None],
        transport: Transport,
        *,
        may_bind: Callable[[str], bool] = lambda _uid: True,
        fence: Fence | None = None,
        timing: Timing | None = None,
    ) -> None:
        self._deliver = deliver
        self._transport = transport
        self._may_bind = may_bind
        self._fence = fence
        self._timing = timing or Timing()
        self._clients = [ExtenderClient(one, f"extenders[{index}]") for index, one in enumerate(extenders)]
        whole = [one for one in extenders if not one.node_cache_capable]
        self.pods = pods_by_uid(scheduler_names, also_bound=any(one.preempt_verb for one in whole))
        self.nodes: KeptObjects | None = nodes_by_name() if whole else None
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed: FenceClosed | None = None
        self._has_closed = asyncio.Event()

    async def run(self) -> None:
        """Watch over binds until cancelled.

        Raises:
            FenceClosed: one was held back, as this process does not lead any more. Its question stays without an answer.
        """
        await self._has_closed.wait()
        assert self._closed is not None
        raise self._closed

    def submit(self, asked: AskExtender) -> None:
        """Ask, without waiting."""
        task = asyncio.get_running_loop().create_task(self._carry_out(asked))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def drain(self, seconds: float) -> None:
        """Wait for what is under way, for so long at most."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)

    async def close(self) -> None:
        """Ask no more; what is under way is given up."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for client in self._clients:
            client.close()

    def heard(self, stimulus: Stimulus) -> None:
        """Look at what a reflector has delivered: it finds out what vanished unseen."""
        if isinstance(stimulus, PodDeleted):
            self.pods.forget(stimulus.uid, stimulus.uid)
        elif isinstance(stimulus, NodeDeleted) and self.nodes is not None:
            self.nodes.forget(stimulus.name, stimulus.uid)

    def listening(self, transport: Transport, resource: AnyResource) -> Transport:
        """The transport for a reflector: what extenders are told of whole is kept as it passes by."""
        if resource is PODS:
            return ListeningTransport(transport, self.pods)
        if resource is NODES and self.nodes is not None:
            return ListeningTransport(transport, self.nodes)
        return transport

    async def _carry_out(self, asked: AskExtender) -> None:
        may_have_bound = asked.verb is ExtenderVerb.BIND
        answer: ExtenderAnswered | ExtenderFailed
        try:
            answer = await self._ask(asked)
        except FenceClosed as closed:
            self._closed = self._closed or closed
            self._has_closed.set()
            return
        except Exception as error:  # noqa: BLE001 - a question that is never answered would hold up all pods
            may_have_bound = may_have_bound and not isinstance(error, _Withdrawn)
            known = isinstance(error, TransportFailure | MalformedAnswer | _Withdrawn)
            text = str(error) if known else f"{type(error).__name__}: {error}"
            answer = ExtenderFailed(now=self._timing.now(), number=asked.number, error=text[:TEXT_LIMIT])
        if answer.error and may_have_bound and await self._is_bound(asked):
            answer = ExtenderAnswered(now=self._timing.now(), number=asked.number)
        self._deliver(answer)

    async def _is_bound(self, asked: AskExtender) -> bool:
        """Whether a pod is on its node although its bind seems to have failed: the answer alone may have been lost."""
        pod = asked.pod
        try:
            response = await self._transport.get(f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}")
            read = READ_POD.decode(response.body) if response.status == 200 else ReadPod()
        except (TransportFailure, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        return read.metadata.uid == pod.uid and read.spec.node_name == asked.node_names[0]

    async def _ask(self, asked: AskExtender) -> ExtenderAnswered:
        client = self._clients[asked.extender]
        raw = await client.ask(asked.verb, self._body(client, asked), self._fence)
        try:
            return read_answer(asked, raw, self._timing.now(), by_name=client.is_by_name)
        except MalformedAnswer as error:
            text = f"extender at URL {client.url} did not answer {asked.verb.value} as it should: {error}"
            raise MalformedAnswer(text) from error

    def _body(self, client: ExtenderClient, asked: AskExtender) -> bytes:
        if asked.verb is ExtenderVerb.BIND:
            if not self._may_bind(asked.pod.uid):
                raise _Withdrawn("the pod is not to be bound any more")
            return bind_body(asked)
        pod = self.pods.get(asked.pod.uid)
        if pod is None:
            raise MalformedAnswer(f"pod {asked.pod.namespace}/{asked.pod.name} is gone")
        if asked.verb is ExtenderVerb.PREEMPT:
            return preempt_body(pod, asked.victims, None if client.is_by_name else self.pods.get)
        if client.is_by_name or self.nodes is None:
            return candidates_body(pod, names=asked.node_names)
        nodes = (self.nodes.get(name) for name in asked.node_names)
        return candidates_body(pod, nodes=[node for node in nodes if node is not None])


def _authorization(url: str) -> str | None:
    """The user name and password of a URL, as a header."""
    parts = urlsplit(url)
    if parts.username is None:
        return None
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _endpoint(url: str, tls: ExtenderTLSConfig) -> Endpoint:
    """Data goes before files, as in every client's configuration; ``enableHTTPS`` is the URL's scheme."""
    certificate = _pem(tls.cert_data, tls.cert_file)
    return Endpoint(
        url=url,
        ca_file=tls.ca_file,
        ca_pem=_pem(tls.ca_data, tls.ca_file),
        identity_pem=certificate + b"\n" + _pem(tls.key_data, tls.key_file) if certificate else b"",
        server_name=tls.server_name,
        is_verified=not tls.insecure,
    )


def _pem(data: str, file: str) -> bytes:
    if data:
        try:
            return base64.b64decode(data, validate=True)
        except binascii.Error as error:
            raise ValueError("certificate data is not base64") from error
    return Path(file).read_bytes() if file else b""
