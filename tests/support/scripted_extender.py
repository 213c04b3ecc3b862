"""An extender on loopback that does with each pod what the pod's annotation `case` says."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

CASE = "case"
BIND = Callable[[str, str, str], object]


class ScriptedExtender:
    """Use it in a `with`; `asked` has (verb, case, nodes) of each question, in order."""

    def __init__(self, bind: BIND) -> None:
        """`bind` binds a pod: namespace, name, node."""
        self.asked: list[tuple[str, str, list[str]]] = []
        self.bodies: list[Any] = []
        self.stop = threading.Event()
        self._bind = bind
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, answer = outer.answer(self.path.rpartition("/")[2], body)
                raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/extender"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self._server.shutdown()
        self._server.server_close()

    def answer(self, verb: str, body: Any) -> tuple[int, Any]:
        """Status and body."""
        if verb == "bind":
            return self._answer_bind(body)
        case = body["Pod"]["metadata"]["annotations"][CASE]
        whole = body["Nodes"] is not None
        nodes = body["Nodes"]["items"] if whole else []
        names = [node["metadata"]["name"] for node in nodes] if whole else body["NodeNames"]
        self.asked.append((verb, case, sorted(names)))
        self.bodies.append(body)
        if verb == "prioritize":
            return 200, [{"Host": name, "Score": 10 if case == "scored" and name == "c" else 0} for name in names]
        kept, failed, unresolvable, error = self._filter(case, names)
        if case == "code-500":
            return 500, {}
        if case == "broken":
            return 200, b'{"NodeNames": ['
        if case == "slow":
            self.stop.wait(3.0)
        left = {"items": [node for node in nodes if node["metadata"]["name"] in kept]}
        return 200, {
            "Nodes": left if whole else None,
            "NodeNames": None if whole else [*kept, *(["invented"] if case == "invented" else [])],
            "FailedNodes": failed,
            "FailedAndUnresolvableNodes": unresolvable,
            "Error": error,
        }

    def _filter(self, case: str, names: list[str]) -> tuple[list[str], dict[str, str], dict[str, str], str]:
        match case:
            case "left-one":
                return ["b"], {name: "not b" for name in names if name != "b"}, {}, ""
            case "all-failed":
                return [], dict.fromkeys(names, "too hot"), {}, ""
            case "mixed":
                return [], {"a": "too hot", "b": "too hot"}, {"a": "too old"}, ""
            case "silent":
                return [], {}, {}, ""
            case "error":
                return [], {}, {}, "licence expired"
        return names, {}, {}, ""

    def _answer_bind(self, body: Any) -> tuple[int, Any]:
        name = body["PodName"]
        self.asked.append(("bind", name, [body["Node"]]))
        if name == "bind-error":
            return 200, {"Error": "quota exceeded"}
        self._bind(body["PodNamespace"], name, body["Node"])
        return 200, {}
