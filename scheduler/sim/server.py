"""The API server: a store, its routes, and a socket on loopback."""

import asyncio
import functools
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from scheduler.sim.access import Access, Denial
from scheduler.sim.connection import ChunkedStream, Connection
from scheduler.sim.errors import ApiError
from scheduler.sim.faults import Fault, Faults
from scheduler.sim.kubeconfig import write_kubeconfig
from scheduler.sim.messages import Answer, Request, error_answer
from scheduler.sim.objects import Clock, Object, utc_now, without_nulls
from scheduler.sim.registry import Counters, Registry
from scheduler.sim.resources import NAMESPACES, RESOURCES, Resource
from scheduler.sim.routes import Routes, WatchStart
from scheduler.sim.store import DEFAULT_HISTORY, Listener, Store, Version
from scheduler.sim.watch import BOOKMARK_SECONDS, WatchHub

HOST = "127.0.0.1"
FIRST_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
BACKLOG = 1024


class ApiServer:
    """An API server on loopback. All of it runs on the loop that `start` is called on, and is used from there.

    What it knows outlives `stop`: after another `start` on the same port a client finds all as it was.
    """

    def __init__(
        self,
        *,
        clock: Clock = utc_now,
        chance: random.Random | None = None,
        history: int = DEFAULT_HISTORY,
        bookmark_seconds: float = BOOKMARK_SECONDS,
        denied: Iterable[Denial] = (),
        resources: Sequence[Resource] = RESOURCES,
    ) -> None:
        """Prepare a server.

        `clock` stamps objects; `chance` makes UIDs, names and the spread of watch timeouts; `history` is the number of
        changes of each resource that a watch may start from; `denied` is refused to everybody.
        """
        chance = chance or random.Random()
        self.url = ""
        self.store = Store({resource.shelf_name for resource in resources}, history=history)
        self.faults = Faults()
        self._resources = resources
        self._registry = Registry(self.store, clock=clock, chance=chance)
        self._routes = Routes(self._registry, resources, access=Access(denied), clock=clock)
        self._hub = WatchHub(self.store, chance=chance, bookmark_seconds=bookmark_seconds)
        self._streams: set[ChunkedStream] = set()
        self._muted = False
        self._connections: set[Connection] = set()
        self._delayed: set[asyncio.TimerHandle] = set()
        self._server: asyncio.Server | None = None
        self._all_closed = asyncio.Event()
        for name in FIRST_NAMESPACES:
            self._registry.create(NAMESPACES, "", {"metadata": {"name": name}})

    # ------------------------------------------------------------------------------------------------- start and stop

    async def start(self, port: int = 0) -> str:
        """Listen on loopback, on a free port unless one is given; returns the URL."""
        assert self._server is None, "the server runs already"
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Connection(self), HOST, port, backlog=BACKLOG)
        self.url = f"http://{HOST}:{self._server.sockets[0].getsockname()[1]}"
        return self.url

    async def stop(self) -> None:
        """Stop listening, cut all connections, and return when none is left."""
        if self._server is None:
            return
        self._server.close()
        for handle in self._delayed:
            handle.cancel()
        self._delayed.clear()
        for connection in tuple(self._connections):
            connection.cut()
        while self._connections:
            self._all_closed.clear()
            await self._all_closed.wait()
        await self._server.wait_closed()
        self._server = None

    def kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig file for this server, which must have been started."""
        assert self.url, "the server was never started"
        return write_kubeconfig(path, self.url)

    # ------------------------------------------------------------------------------------------------ from this process

    @property
    def counters(self) -> Counters:
        """What was done, by requests and from this process."""
        return self._registry.counters

    @property
    def watches(self) -> int:
        """How many watches are open."""
        return len(self._hub.watchers)

    def create(self, item: Object) -> Object:
        """Create an object that says its kind; its namespace is `default` when it names none.

        Raises:
            ApiError: it is refused, as a client would be.
        """
        resource = self.resource(item["apiVersion"], item["kind"])
        namespace = item["metadata"].get("namespace", "default") if resource.namespaced else ""
        return self._registry.create(resource, namespace, without_nulls(item)).object

    def set_status(self, resource: Resource, namespace: str, name: str, status: Object) -> Object:
        """Give an object a status, which belongs to the server from then on.

        Raises:
            ApiError: there is no such object.
        """
        return self._registry.set_status(resource, namespace, name, status).object

    def delete(self, resource: Resource, namespace: str, name: str, *, grace_seconds: int | None = None) -> None:
        """Delete an object, a pod by default with its own grace period.

        Raises:
            ApiError: there is none.
        """
        options = {} if grace_seconds is None else {"gracePeriodSeconds": grace_seconds}
        self._registry.delete(resource, namespace, name, options)

    def objects(self, resource: Resource) -> list[Object]:
        """All objects of a resource, in the order of a list. They are the server's own: not to be changed."""
        versions = self._registry.shelf(resource).versions
        return [versions[key].object for key in sorted(versions)]

    def find(self, resource: Resource, namespace: str, name: str) -> Object | None:
        """One object; it is the server's own: not to be changed."""
        found: Version | None = self._registry.shelf(resource).versions.get(resource.key(namespace, name))
        return None if found is None else found.object

    def listen(self, resource: Resource, listener: Listener) -> Callable[[], None]:
        """Be told of every change of a resource at once, in the write that makes it; the result ends that."""
        return self._registry.shelf(resource).listen(listener)

    def resource(self, api_version: str, kind: str) -> Resource:
        """The resource of a kind.

        Raises:
            ApiError: it is not served.
        """
        for resource in self._resources:
            if (resource.api_version, resource.kind) == (api_version, kind):
                return resource
        raise ApiError(404, "NotFound", f'no matches for kind "{kind}" in version "{api_version}"')

    # ----------------------------------------------------------------------------------------------------------- faults

    def drop_watches(self, *, plural: str = "", abruptly: bool = True) -> int:
        """End the open watches, or those of one resource: cut their connections, or end their answers in good order."""
        chosen = [watcher for watcher in self._hub.watchers if plural in ("", watcher.resource.plural)]
        for watcher in chosen:
            if abruptly:
                watcher.stream.abort()
            else:
                watcher.stream.finish()
        return len(chosen)

    def mute_watches(self, muted: bool = True) -> None:
        """Keep all watches silent, open ones and new ones, as if their connections had died unnoticed; or no longer."""
        self._muted = muted
        for stream in tuple(self._streams):
            stream.mute(muted)

    def expire(self) -> None:
        """Forget all changes: a watch or a page that goes on from an earlier version is answered 410."""
        self.store.expire()

    # ----------------------------------------------------------------------------------------------- requests come in

    def opened(self, connection: Connection) -> None:
        """A connection was made."""
        self._connections.add(connection)

    def closed(self, connection: Connection) -> None:
        """A connection is gone."""
        self._connections.discard(connection)
        if not self._connections:
            self._all_closed.set()

    def handle(self, request: Request, connection: Connection) -> None:
        """Answer a request, with the fault that waits for it if there is one."""
        fault = self.faults.take(request)
        if fault is None:
            self._process(request, connection)
        elif fault.delay_seconds:
            self._later(fault.delay_seconds, functools.partial(self._process, request, connection))
        else:
            self._fail(request, connection, fault)

    def _later(self, seconds: float, action: Callable[[], None]) -> None:
        def run() -> None:
            self._delayed.discard(handle)
            action()

        handle = asyncio.get_running_loop().call_later(seconds, run)
        self._delayed.add(handle)

    def _fail(self, request: Request, connection: Connection, fault: Fault) -> None:
        if fault.processed and not request.watches:
            self._answer(request)
        if fault.cut or fault.answer is None:
            connection.cut()
        else:
            connection.respond(fault.answer)

    def _process(self, request: Request, connection: Connection) -> None:
        if connection.closing:
            return
        answer = self._answer(request)
        if isinstance(answer, Answer):
            connection.respond(answer)
            return
        stream = connection.stream()
        self._streams.add(stream)
        stream.mute(self._muted)
        close = self._hub.open(answer.resource, answer.options, answer.view, stream)

        def ended() -> None:
            self._streams.discard(stream)
            close()

        stream.when_closed(ended)

    def _answer(self, request: Request) -> Answer | WatchStart:
        try:
            return self._routes.answer(request)
        except Exception as error:  # noqa: BLE001 (a request must be answered, whatever is in it)
            text = f"Internal error occurred: {type(error).__name__}: {error}"
            return error_answer(ApiError(500, "InternalError", text, details={}))
