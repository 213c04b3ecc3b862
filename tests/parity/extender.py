"""An extender that both schedulers ask: it answers from the names of nodes, so that a script says what it will answer."""

import json
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.support.api_client import ApiClient

Body = dict[str, Any]
REFUSED, NEVER = "refused", "never"


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A scheduler that ends resets its connections: nothing to tell of."""


class Extender:
    """Listens on loopback; use it in a `with`.

    `filter` refuses nodes with `refused` in their name, and with `never` as something that no preemption changes; a pod
    labelled `extender: fails` gets an error. `prioritize` takes the number at the end of a name. `managed` leaves nodes with
    `managed` in their name. `broken` answers 500. `bind` binds; `preempt` spares the nodes with `spared` in their name.
    """

    def __init__(self, admin: ApiClient) -> None:
        self._admin = admin
        verbs: dict[str, Callable[[Body], tuple[int, Any]]] = {
            "filter": lambda body: (200, _filter(body)),
            "managed": lambda body: (200, _managed(body)),
            "prioritize": lambda body: (200, [{"Host": name, "Score": _score(name)} for name in _names(body)]),
            "broken": lambda body: (500, {"Error": "broken"}),
            "bind": lambda body: (200, self._bind(body)),
            "preempt": lambda body: (200, _preempt(body)),
        }

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, answer = verbs[self.path.strip("/")](body)
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base's
                """Say nothing."""

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _bind(self, body: Body) -> Body:
        self._admin.bind(body["PodNamespace"], body["PodName"], body["Node"], uid=body["PodUID"])
        return {"Error": ""}


def _names(body: Body) -> list[str]:
    if body.get("NodeNames") is not None:
        return list(body["NodeNames"])
    return [node["metadata"]["name"] for node in body["Nodes"]["items"]]


def _filter(body: Body) -> Body:
    if body["Pod"]["metadata"].get("labels", {}).get("extender") == "fails":
        return {"Error": "the extender fails"}
    refused = {name: "refused by the extender" for name in _names(body) if REFUSED in name}
    never = {name: "never, says the extender" for name in _names(body) if NEVER in name}
    return _left(body, lambda name: name not in refused and name not in never) | {
        "FailedNodes": refused,
        "FailedAndUnresolvableNodes": never,
    }


def _managed(body: Body) -> Body:
    failed = {name: "has none of it" for name in _names(body) if "managed" not in name}
    return _left(body, lambda name: name not in failed) | {"FailedNodes": failed}


def _left(body: Body, stays: Callable[[str], bool]) -> Body:
    """The nodes that stay, in the form in which they came."""
    if body.get("NodeNames") is not None:
        return {"NodeNames": [name for name in body["NodeNames"] if stays(name)]}
    items = [node for node in body["Nodes"]["items"] if stays(node["metadata"]["name"])]
    return {"Nodes": {"metadata": {}, "items": items}}


def _score(name: str) -> int:
    number = re.search(r"\d+$", name)
    return min(int(number[0]), 10) if number else 0


def _preempt(body: Body) -> Body:
    if body.get("NodeNameToMetaVictims"):
        given = body["NodeNameToMetaVictims"]
    else:
        given = {
            node: {
                "Pods": [{"UID": pod["metadata"]["uid"]} for pod in victims["Pods"]],
                "NumPDBViolations": victims["NumPDBViolations"],
            }
            for node, victims in body["NodeNameToVictims"].items()
        }
    return {"NodeNameToMetaVictims": {node: victims for node, victims in given.items() if "spared" not in node}}
