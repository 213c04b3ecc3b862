"""A plain, thread-safe client of the Kubernetes API for tests: HTTP/1.1 over kept connections, objects as dicts.

It shares nothing with the product's client, so what a test reads of the cluster is an independent account of it.
"""

import http.client
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, LifoQueue
from typing import Any, Literal, Self, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec

from tests.support.resources import NAMESPACES, PODS, Object, Resource, resource_of
from tests.support.watch import Watch

PARALLELISM = 8
PATCH_TYPES = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
}
PatchType = Literal["merge", "strategic", "json", "apply"]
METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

# The server closes a connection that was idle for 90 s; one that rested this long is not used again.
IDLE_SECONDS = 30.0
# How long a request that is answered 429 is repeated as told.
PATIENCE_SECONDS = 30.0

Item = TypeVar("Item")
Result = TypeVar("Result")


class ApiError(Exception):
    """The server answered with an error."""

    def __init__(self, request: str, status: int, reason: str, message: str) -> None:
        super().__init__(f"{request}: {status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message


@dataclass(frozen=True, slots=True)
class Answer:
    """A response as it came."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class ApiClient:
    """One user's view of one server. Every method may be called from any thread; async tests use `asyncio.to_thread`."""

    def __init__(
        self,
        url: str,
        *,
        ca_file: Path | None = None,
        token: str | None = None,
        verifies: bool = True,
        timeout_seconds: float = 60.0,
    ) -> None:
        """Speak to `url`; with https the server must prove itself by `ca_file`, unless nothing is verified."""
        self.url = url
        self._address = urlsplit(url)
        self._tls = ssl.create_default_context(cafile=ca_file) if self._address.scheme == "https" else None
        if self._tls is not None and not verifies:
            self._tls.check_hostname, self._tls.verify_mode = False, ssl.CERT_NONE
        self._timeout_seconds = timeout_seconds
        self._headers = {"Accept": "application/json", "User-Agent": "tests"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._idle: LifoQueue[tuple[http.client.HTTPConnection, float]] = LifoQueue()

    # -------------------------------------------------------------------------------------------------------- requests

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        content_type: str = "application/json",
        accept: str | None = None,
    ) -> Answer:
        """One request and its answer, whatever its status."""
        headers = dict(self._headers)
        data = None
        if body is not None:
            data = body if isinstance(body, bytes) else msgspec.json.encode(body)
            headers["Content-Type"] = content_type
        if accept is not None:
            headers["Accept"] = accept
        connection = self._take()
        try:
            connection.request(method, _with_query(path, query), body=data, headers=headers)
            response = connection.getresponse()
            answer = Answer(response.status, response.headers, response.read())
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._idle.put((connection, time.monotonic()))
        return answer

    def call(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """One request and its decoded answer; 429 is repeated as the server asks.

        Raises:
            ApiError: the answer is an error.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        answer = self.send(method, path, body, **options)
        while answer.status == http.HTTPStatus.TOO_MANY_REQUESTS and time.monotonic() < deadline:
            threading.Event().wait(float(answer.headers.get("Retry-After") or 1))
            answer = self.send(method, path, body, **options)
        if answer.status >= http.HTTPStatus.BAD_REQUEST:
            try:
                status = answer.json()
            except msgspec.DecodeError:
                status = {}
            raise ApiError(
                f"{method} {path}",
                answer.status,
                status.get("reason", ""),
                status.get("message") or answer.body.decode(errors="replace"),
            )
        return answer.json() if answer.body else None

    def text(self, path: str) -> str:
        """A page that is no JSON, as /metrics and /readyz are.

        Raises:
            ApiError: the answer is an error.
        """
        answer = self.send("GET", path, accept="*/*")
        if answer.status >= http.HTTPStatus.BAD_REQUEST:
            raise ApiError(f"GET {path}", answer.status, "", answer.body.decode(errors="replace"))
        return answer.body.decode()

    # --------------------------------------------------------------------------------------------------------- reading

    def get(self, resource: Resource, name: str, namespace: str | None = None) -> Object:
        """One object."""
        found: Object = self.call("GET", resource.path(namespace, name))
        return found

    def list_objects(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        labels: str | None = None,
        fields: str | None = None,
        metadata_only: bool = False,
    ) -> list[Object]:
        """All objects of a namespace, or of all, that the selectors choose."""
        return self.list_at(resource, namespace, labels=labels, fields=fields, metadata_only=metadata_only)[0]

    def list_at(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        labels: str | None = None,
        fields: str | None = None,
        metadata_only: bool = False,
    ) -> tuple[list[Object], str]:
        """As `list_objects`, with the resourceVersion that a watch may start from."""
        query = {"labelSelector": labels, "fieldSelector": fields, "limit": 1000, "continue": None}
        accept = METADATA_ONLY if metadata_only else None
        items: list[Object] = []
        while True:
            page = self.call("GET", resource.path(namespace), query=query, accept=accept)
            items += page.get("items") or []
            query["continue"] = page["metadata"].get("continue")
            if not query["continue"]:
                return items, page["metadata"]["resourceVersion"]

    def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        labels: str | None = None,
        fields: str | None = None,
    ) -> Watch:
        """A list and all events since, kept by a thread until the watch is closed: use it in a `with`."""
        items, version = self.list_at(resource, namespace, labels=labels, fields=fields)

        def open_stream(from_version: str) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
            query = {"labelSelector": labels, "fieldSelector": fields, "watch": 1, "resourceVersion": from_version}
            connection = self._connect(timeout_seconds=None)
            connection.request("GET", _with_query(resource.path(namespace), query), headers=self._headers)
            return connection, connection.getresponse()

        return Watch(resource.plural, items, version, open_stream)

    # --------------------------------------------------------------------------------------------------------- writing

    def create(self, manifest: Object) -> Object:
        """Create an object that says its kind; its namespace is `default` when it names none."""
        resource = resource_of(manifest)
        namespace = manifest["metadata"].get("namespace", "default")
        created: Object = self.call("POST", resource.path(namespace), manifest)
        return created

    def create_all(self, manifests: Iterable[Object], *, parallelism: int = PARALLELISM) -> list[Object]:
        """Create many objects over several connections; the answers come in the order of the manifests."""
        return run_all(self.create, manifests, parallelism=parallelism)

    def apply(self, manifest: Object) -> Object:
        """Server-side apply: create the object or make it so."""
        resource = resource_of(manifest)
        metadata = manifest["metadata"]
        path = resource.path(metadata.get("namespace", "default"), metadata["name"])
        query = {"fieldManager": "tests", "force": "true"}
        applied: Object = self.call("PATCH", path, manifest, query=query, content_type=PATCH_TYPES["apply"])
        return applied

    def replace(self, manifest: Object, *, subresource: str | None = None) -> Object:
        """Update an object, or a subresource of it, to the manifest."""
        metadata = manifest["metadata"]
        path = resource_of(manifest).path(metadata.get("namespace"), metadata["name"], subresource)
        replaced: Object = self.call("PUT", path, manifest)
        return replaced

    def patch(
        self,
        resource: Resource,
        name: str,
        patch: Any,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        patch_type: PatchType = "merge",
    ) -> Object:
        """Patch an object or a subresource of it."""
        path = resource.path(namespace, name, subresource)
        patched: Object = self.call("PATCH", path, patch, content_type=PATCH_TYPES[patch_type])
        return patched

    def bind(self, namespace: str, name: str, node: str, *, uid: str | None = None) -> None:
        """Bind a pod to a node, as any scheduler may."""
        metadata = {"name": name} if uid is None else {"name": name, "uid": uid}
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        self.call("POST", PODS.path(namespace, name, "binding"), binding)

    def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        grace_seconds: int | None = None,
        uid: str | None = None,
    ) -> None:
        """Delete one object; a grace of 0 removes a pod at once."""
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        self.call("DELETE", resource.path(namespace, name), options)

    def delete_collection(self, resource: Resource, namespace: str | None = None) -> None:
        """Delete all objects of a resource, in one namespace if it has namespaces, with no grace."""
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
        self.call("DELETE", resource.path(namespace), options)

    def delete_namespace(self, name: str) -> None:
        """Delete a namespace for good. No namespace controller runs, so the caller has removed what is in it."""
        self.delete(NAMESPACES, name)
        namespace = self.get(NAMESPACES, name)
        namespace["spec"]["finalizers"] = []
        self.call("PUT", NAMESPACES.path(name=name, subresource="finalize"), namespace)

    # ----------------------------------------------------------------------------------------------------- connections

    def close(self) -> None:
        """Close the connections at rest."""
        while True:
            try:
                self._idle.get_nowait()[0].close()
            except Empty:
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take(self) -> http.client.HTTPConnection:
        while True:
            try:
                connection, since = self._idle.get_nowait()
            except Empty:
                return self._connect(timeout_seconds=self._timeout_seconds)
            if time.monotonic() - since < IDLE_SECONDS:
                return connection
            connection.close()

    def _connect(self, *, timeout_seconds: float | None) -> http.client.HTTPConnection:
        host, port = self._address.hostname or "", self._address.port
        if self._tls is None:
            return http.client.HTTPConnection(host, port, timeout=timeout_seconds)
        return http.client.HTTPSConnection(host, port, timeout=timeout_seconds, context=self._tls)


def run_all(
    function: Callable[[Item], Result], items: Iterable[Item], *, parallelism: int = PARALLELISM
) -> list[Result]:
    """Call a function for each item from several threads; results in the order of the items, the first error raised."""
    with ThreadPoolExecutor(parallelism) as pool:
        return list(pool.map(function, items))


def _with_query(path: str, query: Mapping[str, Any] | None) -> str:
    given = {key: value for key, value in (query or {}).items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path
