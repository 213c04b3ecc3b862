"""What only the embedded server has: start and stop, faults on demand, denials, and a door from inside the process."""

import asyncio
import functools
import http.client
import json
import socket
import threading
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest

from scheduler.sim.access import Denial
from scheduler.sim.errors import ApiError as Refused
from scheduler.sim.resources import PODS as POD_ROWS
from scheduler.sim.server import ApiServer
from tests.contract.servers import EmbeddedServer, EventLines, binding, refusal
from tests.support.api_client import ApiClient
from tests.support.manifests import pod_manifest
from tests.support.resources import EVENTS, NAMESPACES, NODES, PODS

DEFAULT_PODS = PODS.path("default")


def open_watch(
    embedded: EmbeddedServer, path: str = DEFAULT_PODS, **query: Any
) -> tuple[http.client.HTTPConnection, EventLines]:
    text = "&".join(f"{name}={value}" for name, value in {"watch": 1, **query}.items())
    connection = http.client.HTTPConnection("127.0.0.1", int(embedded.url.rpartition(":")[2]), timeout=10)
    connection.request("GET", f"{path}?{text}")
    return connection, EventLines(connection.getresponse())


# --------------------------------------------------------------------------------------------------------- start and stop


async def test_a_stopped_server_leaves_no_task_and_no_socket() -> None:
    server = ApiServer()
    url = await server.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
    writer.write(b"GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n")
    await reader.readuntil(b"\r\n\r\n")

    await server.stop()

    assert await reader.read() == b""
    writer.close()
    assert server.watches == 0
    assert asyncio.all_tasks() == {asyncio.current_task()}
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))


async def test_stopping_twice_or_before_the_start_is_harmless() -> None:
    server = ApiServer()
    await server.stop()
    await server.start()
    await server.stop()

    await server.stop()


async def test_what_a_server_knows_outlives_a_restart_on_the_same_port() -> None:
    server = ApiServer()
    url = await server.start()
    server.create(pod_manifest("web"))
    await server.stop()

    assert await server.start(int(url.rpartition(":")[2])) == url

    with ApiClient(url) as client:
        pods = await asyncio.to_thread(client.list_objects, PODS)
    await server.stop()
    assert [pod["metadata"]["name"] for pod in pods] == ["web"]


async def test_a_server_listens_on_loopback_only() -> None:
    server = ApiServer()
    url = await server.start()

    await server.stop()

    assert url.startswith("http://127.0.0.1:")


def test_a_kubeconfig_names_the_server(embedded: EmbeddedServer, tmp_path: Path) -> None:
    written = json.loads(embedded.server.kubeconfig(tmp_path / "kubeconfig").read_text())

    assert written["clusters"][0]["cluster"] == {"server": embedded.url}
    assert written["current-context"] == written["contexts"][0]["name"]


def test_the_first_namespaces_are_there(client: ApiClient) -> None:
    names = [namespace["metadata"]["name"] for namespace in client.list_objects(NAMESPACES)]

    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]


def test_clock_and_chance_decide_stamps_uids_and_names() -> None:
    def clock() -> datetime:
        return datetime(2026, 11, 30, 12, 0, 0, 999_999, tzinfo=UTC)

    manifest = pod_manifest("")
    manifest["metadata"]["generateName"] = "web-"
    one, other = (ApiServer(clock=clock, chance=Random(7)).create(manifest) for _ in range(2))

    assert one == other
    assert one["metadata"]["creationTimestamp"] == "2026-11-30T12:00:00Z"


# ----------------------------------------------------------------------------------------------------- inside the process


def test_objects_made_inside_are_seen_outside(embedded: EmbeddedServer, client: ApiClient) -> None:
    connection, watch = open_watch(embedded, resourceVersion=embedded.server.store.number)

    embedded.call(lambda: embedded.server.create(pod_manifest("web")))

    assert watch.briefly(1) == [("ADDED", "web")]
    assert client.get(PODS, "web", "default")["spec"]["schedulerName"] == "reprise"
    connection.close()


def test_what_a_client_would_be_refused_is_refused_inside(embedded: EmbeddedServer) -> None:
    embedded.call(lambda: embedded.server.create(pod_manifest("web")))

    with pytest.raises(Refused, match=r'^pods "web" already exists$'):
        embedded.call(lambda: embedded.server.create(pod_manifest("web")))
    with pytest.raises(Refused, match=r'^no matches for kind "Widget" in version "example\.com/v1"$'):
        embedded.call(
            lambda: embedded.server.create({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {}})
        )


def test_binds_and_events_are_counted(embedded: EmbeddedServer, client: ApiClient) -> None:
    client.create(pod_manifest("web"))
    path = PODS.path("default", "web", "binding")
    for _ in range(2):
        client.send("POST", path, binding("web"))
    client.send("POST", EVENTS.path("default"), {"metadata": {"name": "x"}})

    counters = embedded.server.counters

    assert (counters.binds, counters.refused_binds, counters.events) == (1, 1, 0)


def test_a_listener_hears_a_change_in_the_write_that_makes_it(embedded: EmbeddedServer) -> None:
    heard: list[tuple[str, str]] = []
    row = embedded.server.resource("v1", "Pod")

    def write() -> list[tuple[str, str]]:
        unlisten = embedded.server.listen(
            row, lambda change: heard.append((change.type, change.current.object["metadata"]["name"]))
        )
        embedded.server.create(pod_manifest("web"))
        heard_by_then = list(heard)
        embedded.server.delete(row, "default", "web")
        unlisten()
        embedded.server.create(pod_manifest("db"))
        return heard_by_then

    assert embedded.call(write) == [("ADDED", "web")]
    assert heard == [("ADDED", "web"), ("MODIFIED", "web"), ("DELETED", "web")]


# ------------------------------------------------------------------------------------------------------------------ faults


@pytest.mark.parametrize(
    ("status", "reason", "retry_after"),
    [(500, "InternalError", None), (503, "ServiceUnavailable", "3"), (504, "Timeout", None)],
)
def test_the_next_requests_fail_and_the_one_after_does_not(
    embedded: EmbeddedServer, client: ApiClient, status: int, reason: str, retry_after: str | None
) -> None:
    embedded.call(lambda: embedded.server.faults.fail(status, times=2, retry_after_seconds=3))

    answers = [client.send("POST", DEFAULT_PODS, pod_manifest("web")) for _ in range(3)]

    assert [answer.status for answer in answers] == [status, status, 201]
    assert refusal(answers[0]).reason == reason
    assert answers[0].headers["Retry-After"] == retry_after


def test_a_server_that_is_too_busy_says_when_to_come_back(embedded: EmbeddedServer, client: ApiClient) -> None:
    embedded.call(lambda: embedded.server.faults.fail(429, retry_after_seconds=2))

    answer = client.send("GET", DEFAULT_PODS)

    assert (answer.status, answer.headers["Retry-After"]) == (429, "2")
    assert answer.body == b"Too many requests, please try again later.\n"


def test_a_fault_waits_for_the_request_that_it_is_for(embedded: EmbeddedServer, client: ApiClient) -> None:
    client.create(pod_manifest("web"))
    embedded.call(lambda: embedded.server.faults.fail(500, method="POST", path="/binding"))

    read = client.send("GET", PODS.path("default", "web"))
    first, second = (client.send("POST", PODS.path("default", "web", "binding"), binding("web")) for _ in range(2))

    assert (read.status, first.status, second.status) == (200, 500, 201)
    assert embedded.server.faults.hits == 1


def test_a_write_can_be_done_and_its_answer_be_an_error(embedded: EmbeddedServer, client: ApiClient) -> None:
    embedded.call(lambda: embedded.server.faults.fail(504, processed=True))

    answer = client.send("POST", DEFAULT_PODS, pod_manifest("web"))

    assert answer.status == 504
    assert client.get(PODS, "web", "default")


def test_a_write_can_be_done_and_its_answer_be_lost(embedded: EmbeddedServer, client: ApiClient) -> None:
    embedded.call(lambda: embedded.server.faults.lose_answer(method="POST"))

    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        client.send("POST", DEFAULT_PODS, pod_manifest("web"))

    assert client.get(PODS, "web", "default")


def test_a_connection_can_be_cut_before_the_write_is_done(embedded: EmbeddedServer, client: ApiClient) -> None:
    embedded.call(lambda: embedded.server.faults.cut(method="POST"))

    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        client.send("POST", DEFAULT_PODS, pod_manifest("web"))

    assert client.send("GET", PODS.path("default", "web")).status == 404


async def test_a_request_can_be_delayed_and_others_go_on() -> None:
    server = ApiServer()
    url = await server.start()
    server.faults.delay(30.0, method="POST")
    server.faults.delay(0.05, method="PUT")
    with ApiClient(url) as client:
        slow = asyncio.create_task(asyncio.to_thread(client.send, "POST", DEFAULT_PODS, pod_manifest("web")))
        while not server.faults.hits:
            await asyncio.to_thread(client.send, "GET", DEFAULT_PODS)
        answer = await asyncio.to_thread(client.send, "PUT", PODS.path("default", "db"), pod_manifest("db"))

        await server.stop()  # what still waits is dropped with its connection

        with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
            await slow
    assert answer.status == 404
    assert server.find(POD_ROWS, "default", "web") is None


@pytest.mark.parametrize("abruptly", [True, False])
def test_watches_are_dropped(embedded: EmbeddedServer, abruptly: bool) -> None:
    connection, watch = open_watch(embedded)

    dropped = embedded.call(lambda: embedded.server.drop_watches(abruptly=abruptly))

    assert dropped == 1
    if abruptly:
        with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
            watch.response.read()
    else:
        assert watch.rest() == []
    connection.close()
    assert embedded.server.watches == 0


def test_only_watches_of_one_resource_are_dropped(embedded: EmbeddedServer) -> None:
    pods, _ = open_watch(embedded)
    nodes, watch = open_watch(embedded, NODES.path())

    embedded.call(lambda: embedded.server.drop_watches(plural="pods"))

    assert embedded.server.watches == 1
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-x"}}
    embedded.call(lambda: embedded.server.create(node))
    assert watch.briefly(1) == [("ADDED", "node-x")]
    pods.close()
    nodes.close()


def test_a_muted_watch_is_silent_and_tells_all_of_it_later(embedded: EmbeddedServer) -> None:
    connection, watch = open_watch(embedded)
    embedded.call(embedded.server.mute_watches)
    embedded.call(lambda: embedded.server.create(pod_manifest("web")))
    assert connection.sock is not None
    connection.sock.setblocking(False)
    with pytest.raises(BlockingIOError):
        connection.sock.recv(1, socket.MSG_PEEK)
    connection.sock.settimeout(10)

    embedded.call(lambda: embedded.server.mute_watches(muted=False))

    assert watch.briefly(1) == [("ADDED", "web")]
    connection.close()


def test_a_watch_from_before_an_expiry_is_told_so_and_one_from_after_is_not(embedded: EmbeddedServer) -> None:
    old = embedded.server.store.number
    embedded.call(lambda: embedded.server.create(pod_manifest("web")))
    embedded.call(embedded.server.expire)
    now = embedded.server.store.number

    first, expired = open_watch(embedded, resourceVersion=old)
    second, alive = open_watch(embedded, resourceVersion=now)
    embedded.call(lambda: embedded.server.create(pod_manifest("db")))

    (event,) = expired.rest()
    assert event["type"] == "ERROR"
    assert event["object"]["message"] == f"too old resource version: {old} ({now})"
    assert (event["object"]["reason"], event["object"]["code"]) == ("Expired", 410)
    assert alive.briefly(1) == [("ADDED", "db")]
    first.close()
    second.close()


def test_only_so_many_changes_are_remembered() -> None:
    embedded = EmbeddedServer(lambda: ApiServer(history=3))
    start = embedded.server.store.number
    for name in ("a", "b", "c", "d"):
        embedded.call(functools.partial(embedded.server.create, pod_manifest(name)))

    gone, expired = open_watch(embedded, resourceVersion=start)
    kept, watch = open_watch(embedded, resourceVersion=start + 1)

    assert expired.next()["object"]["code"] == 410
    assert watch.briefly(3) == [("ADDED", "b"), ("ADDED", "c"), ("ADDED", "d")]
    gone.close()
    kept.close()
    embedded.stop()


def test_bookmarks_come_at_their_interval() -> None:
    embedded = EmbeddedServer(lambda: ApiServer(bookmark_seconds=0.05))
    connection, watch = open_watch(
        embedded, resourceVersion=embedded.server.store.number, allowWatchBookmarks="true", labelSelector="none"
    )

    embedded.call(lambda: embedded.server.create(pod_manifest("web")))

    event = watch.next()
    assert (event["type"], event["object"]["metadata"]) == (
        "BOOKMARK",
        {"resourceVersion": str(embedded.server.store.number)},
    )
    connection.close()
    embedded.stop()


# ----------------------------------------------------------------------------------------------------------------- denials


def test_what_is_denied_is_refused_and_reviews_say_so() -> None:
    embedded = EmbeddedServer(lambda: ApiServer(denied=[Denial("create", "pods/binding"), Denial("*", "nodes")]))
    reviews = "/apis/authorization.k8s.io/v1"

    def review(resource: str, verb: str, subresource: str = "") -> bool:
        attributes = {"resource": resource, "verb": verb, "subresource": subresource}
        body = {"spec": {"resourceAttributes": attributes}}
        allowed: bool = client.call("POST", f"{reviews}/selfsubjectaccessreviews", body)["status"]["allowed"]
        return allowed

    with ApiClient(embedded.url) as client:
        client.create(pod_manifest("web"))
        bind = refusal(client.send("POST", PODS.path("default", "web", "binding"), binding("web")))
        nodes = refusal(client.send("GET", NODES.path()))
        verdicts = [review("pods", "create", "binding"), review("pods", "create"), review("nodes", "list")]
        rules = client.call("POST", f"{reviews}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}})
    embedded.stop()

    assert bind.code == nodes.code == 403
    assert bind.message == (
        'pods "web" is forbidden: User "system:anonymous" cannot create resource "pods/binding" in API group "" in the '
        'namespace "default"'
    )
    assert nodes.message == (
        'nodes is forbidden: User "system:anonymous" cannot list resource "nodes" in API group "" at the cluster scope'
    )
    assert verdicts == [False, True, False]
    allowed = {
        rule["resources"][0]: rule["verbs"] for rule in rules["status"]["resourceRules"] if rule["apiGroups"] == [""]
    }
    assert "pods/binding" not in allowed
    assert "nodes" not in allowed
    assert "create" in allowed["pods"]


# -------------------------------------------------------------------------------------------------------------------- HTTP


def exchange(embedded: EmbeddedServer, data: bytes, answers: int = 1) -> list[http.client.HTTPResponse]:
    """Send bytes over one connection and read so many answers."""
    with socket.create_connection(("127.0.0.1", int(embedded.url.rpartition(":")[2])), timeout=10) as plug:
        plug.sendall(data)
        found = []
        for _ in range(answers):
            response = http.client.HTTPResponse(plug)
            response.begin()
            response.read()
            found.append(response)
        return found


def test_requests_sent_together_are_answered_in_their_order(embedded: EmbeddedServer) -> None:
    with socket.create_connection(("127.0.0.1", int(embedded.url.rpartition(":")[2])), timeout=10) as plug:
        plug.sendall(b"GET /version HTTP/1.1\r\nHost: x\r\n\r\nGET /nothing HTTP/1.1\r\nHost: x\r\n\r\n")
        received = b""
        while received.count(b"HTTP/1.1") < 2 or not received.endswith(b"not found\n"):
            received += plug.recv(1 << 16)

    assert received.index(b"HTTP/1.1 200 OK") < received.index(b"HTTP/1.1 404 Not Found")


def test_a_connection_is_closed_when_the_client_asks(embedded: EmbeddedServer) -> None:
    (response,) = exchange(embedded, b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

    assert response.headers["Connection"] == "close"


def test_what_is_no_http_is_refused(embedded: EmbeddedServer) -> None:
    (response,) = exchange(embedded, b"\x16\x03\x01hello\r\n\r\n")

    assert response.status == 400


def test_a_body_that_is_too_large_is_refused(embedded: EmbeddedServer) -> None:
    size = 3 * 1024 * 1024 + 1
    head = (
        f"POST {DEFAULT_PODS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n\r\n"
    )

    (response,) = exchange(embedded, head.encode() + b" " * size)

    assert response.status == 413


def test_a_client_that_waits_to_send_its_body_is_told_to(embedded: EmbeddedServer) -> None:
    body = json.dumps(pod_manifest("web")).encode()
    head = (
        f"POST {DEFAULT_PODS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", int(embedded.url.rpartition(":")[2])), timeout=10) as plug:
        plug.sendall(head.encode())
        interim = plug.recv(1 << 16)
        plug.sendall(body)
        response = http.client.HTTPResponse(plug)
        response.begin()

    assert interim == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert response.status == 201


def test_a_watcher_that_does_not_read_holds_nobody_up_and_misses_nothing(embedded: EmbeddedServer) -> None:
    connection, watch = open_watch(embedded)
    padding = {"example.com/padding": "x" * 100_000}

    def create(number: int) -> None:
        manifest = pod_manifest(f"web-{number:03}")
        manifest["metadata"]["annotations"] = padding
        embedded.server.create(manifest)

    for number in range(100):
        embedded.call(functools.partial(create, number))

    assert watch.briefly(100) == [("ADDED", f"web-{number:03}") for number in range(100)]
    connection.close()


def test_many_connections_at_once_are_served(embedded: EmbeddedServer) -> None:
    statuses: list[int] = []

    def bind(numbers: range) -> None:
        with ApiClient(embedded.url) as client:
            for number in numbers:
                name = f"web-{number}"
                client.create(pod_manifest(name))
                statuses.append(client.send("POST", PODS.path("default", name, "binding"), binding(name)).status)

    threads = [threading.Thread(target=bind, args=(range(start, 80, 8),)) for start in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert statuses == [201] * 80
    assert embedded.server.counters.binds == 80
