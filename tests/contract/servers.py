"""The servers that the contract is checked on, and a client that sees what they really send."""

import asyncio
import http.client
import itertools
import os
import ssl
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec
import uvloop

from scheduler.sim.server import ApiServer
from tests.support.api_client import PATCH_TYPES, Answer, ApiClient, PatchType
from tests.support.manifests import namespace_manifest, pod_manifest
from tests.support.resources import EVENTS, PODS, Object, Resource

# How long a line of a watch may take; a server that has it sends it at once.
PATIENCE_SECONDS = 20.0

Result = TypeVar("Result")
_numbers = itertools.count(1)


class Refusal(NamedTuple):
    """What a Status of failure says."""

    code: int
    reason: str
    message: str
    details: Object | None


def refusal(answer: Answer) -> Refusal:
    """The Status of an answer that must be a refusal."""
    status = answer.json()
    assert (status["kind"], status["apiVersion"], status["status"]) == ("Status", "v1", "Failure"), status
    assert status["code"] == answer.status
    return Refusal(status["code"], status.get("reason", ""), status["message"], status.get("details"))


def without_managed_fields(item: Object) -> Object:
    """The object without the book-keeping of who wrote which field, which only the real server does."""
    metadata = {name: value for name, value in item["metadata"].items() if name != "managedFields"}
    return {**item, "metadata": metadata}


class EventLines:
    """The events of one watch, in the order in which they come."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.response = response

    def next(self) -> Object:
        """The next event."""
        line = self.response.readline()
        assert line, "the watch ended"
        event: Object = msgspec.json.decode(line)
        return event

    def take(self, count: int) -> list[Object]:
        """The next few events."""
        return [self.next() for _ in range(count)]

    def briefly(self, count: int) -> list[tuple[str, str]]:
        """Type and name of the next few events."""
        return [(event["type"], event["object"]["metadata"]["name"]) for event in self.take(count)]

    def rest(self) -> list[Object]:
        """All events until the server ends the watch."""
        return [msgspec.json.decode(line) for line in iter(self.response.readline, b"")]


@dataclass
class Server:
    """A server, as a test uses it: with a namespace that only this test has."""

    client: ApiClient
    namespace: str
    open_connection: Callable[[], http.client.HTTPConnection]
    headers: dict[str, str]
    # Makes the server forget the history of Events before a version.
    forget_events: Callable[[int], None]
    write_kubeconfig: Callable[[Path], Path]
    connections: list[http.client.HTTPConnection]

    def path(self, resource: Resource = PODS, name: str | None = None, subresource: str | None = None) -> str:
        """A path in the test's namespace."""
        return resource.path(self.namespace, name, subresource)

    def send(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        """One request."""
        return self.client.send(method, path, body, **options)

    def refused(self, method: str, path: str, body: Any = None, **options: Any) -> Refusal:
        """One request that must be refused."""
        return refusal(self.send(method, path, body, **options))

    def pod(self, name: str, **options: Any) -> Object:
        """A manifest of a pod in the test's namespace."""
        return pod_manifest(name, namespace=self.namespace, **options)

    def create_pod(self, name: str, **options: Any) -> Object:
        """Create a pod in the test's namespace."""
        return self.client.create(self.pod(name, **options))

    def get_pod(self, name: str) -> Object:
        """A pod of the test's namespace."""
        return without_managed_fields(self.client.get(PODS, name, self.namespace))

    def patch_pod(
        self, name: str, patch: Any, *, subresource: str | None = None, patch_type: PatchType = "merge"
    ) -> Object:
        """Patch a pod of the test's namespace."""
        path = self.path(PODS, name, subresource)
        answer = self.send("PATCH", path, patch, content_type=PATCH_TYPES[patch_type])
        assert answer.status == 200, answer.body
        return without_managed_fields(answer.json())

    def bind(self, name: str, node: str = "node-x", **metadata: Any) -> Answer:
        """Ask for a binding; `metadata` goes into that of the Binding."""
        return self.send("POST", self.path(PODS, name, "binding"), binding(name, node, **metadata))

    def listed(self, path: str | None = None, **query: Any) -> Object:
        """A list with its metadata; without a path, of the pods in the test's namespace."""
        answer = self.send("GET", path or self.path(), query=query)
        assert answer.status == 200, answer.body
        listed: Object = answer.json()
        return listed

    def names(self, path: str | None = None, **query: Any) -> list[str]:
        """The names in a list."""
        return [item["metadata"]["name"] for item in self.listed(path, **query)["items"]]

    def version(self) -> str:
        """The resourceVersion that a list of pods has now."""
        found: str = self.listed()["metadata"]["resourceVersion"]
        return found

    def watch(self, path: str | None = None, **query: Any) -> EventLines:
        """Open a watch; without a path, of the pods in the test's namespace."""
        connection = self.open_connection()
        self.connections.append(connection)
        connection.request("GET", f"{path or self.path()}?{urlencode({'watch': 1, **query})}", headers=self.headers)
        response = connection.getresponse()
        assert response.status == 200, response.read()
        return EventLines(response)


def binding(name: str, node: str = "node-x", **metadata: Any) -> Object:
    """A Binding of a pod to a node."""
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, **metadata},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }


def event_manifest(namespace: str, name: str, **members: Any) -> Object:
    """An Event as a scheduler reports it."""
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "eventTime": "2026-11-30T11:43:04.123456Z",
        "reportingController": "reprise",
        "reportingInstance": "reprise-0",
        "action": "Binding",
        "reason": "Scheduled",
        "type": "Normal",
        "note": "Successfully assigned",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": "web"},
        **members,
    }


# -------------------------------------------------------------------------------------------------- the embedded server


class EmbeddedServer:
    """The embedded server on a loop of its own, in a thread of its own."""

    def __init__(self, make: Callable[[], ApiServer] = ApiServer) -> None:
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="embedded-server")
        self._thread.start()
        self.server = self.call(make)
        self.url = self.await_(self.server.start())

    def call(self, function: Callable[[], Result]) -> Result:
        """Call a function on the server's loop."""

        async def run() -> Result:
            return function()

        return self.await_(run())

    def await_(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Await something on the server's loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE_SECONDS)

    def stop(self) -> None:
        """Stop the server, its loop and its thread."""
        self.await_(self.server.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@contextmanager
def served(
    client: ApiClient,
    *,
    tls: ssl.SSLContext | None = None,
    headers: dict[str, str] | None = None,
    forget_events: Callable[[int], None],
    write_kubeconfig: Callable[[Path], Path],
) -> Iterator[Server]:
    """A server for one test, with a namespace of its own; its watches are cut at the end."""
    namespace = f"test-{os.getpid()}-{next(_numbers)}"
    address = urlsplit(client.url)

    def connect() -> http.client.HTTPConnection:
        host, port = address.hostname or "", address.port
        if tls is None:
            return http.client.HTTPConnection(host, port, timeout=PATIENCE_SECONDS)
        return http.client.HTTPSConnection(host, port, timeout=PATIENCE_SECONDS, context=tls)

    client.create(namespace_manifest(namespace))
    server = Server(client, namespace, connect, headers or {}, forget_events, write_kubeconfig, [])
    try:
        yield server
    finally:
        for connection in server.connections:
            connection.close()
        client.delete_collection(PODS, namespace)
        client.delete_collection(EVENTS, namespace)
        client.delete_namespace(namespace)
