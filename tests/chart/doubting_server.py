"""Stands before an API server and leaves writes in doubt: the first of each kind is carried out and answered with 500.

It speaks plain HTTP and adds a ServiceAccount's token to what it passes on, so that the server's account is of that identity.
"""

import http.client
import json
import ssl
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Self
from urllib.parse import urlsplit

from tests.support.control_plane import ControlPlane

DOUBTED = {("POST", "binding"), ("PATCH", "persistentvolumes"), ("PATCH", "persistentvolumeclaims")}
PASSED_ON = ("Accept", "Content-Type", "User-Agent")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def _front(self) -> "_Server":
        assert isinstance(self.server, _Server)
        return self.server

    def handle_request(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
        headers = {name: self.headers[name] for name in PASSED_ON if self.headers[name]}
        headers["Authorization"] = f"Bearer {self._front.token}"
        port = urlsplit(self._front.control_plane.url).port
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=self._front.tls)
        try:
            connection.request(self.command, self.path, body=body, headers=headers)
            answer = connection.getresponse()
            if "watch=1" in self.path and answer.status == http.HTTPStatus.OK:
                self._stream(answer)
            else:
                self._answer(answer)
        except (OSError, http.client.HTTPException):
            self.close_connection = True
        finally:
            connection.close()

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = handle_request  # noqa: N815 - so the base class calls them

    def _answer(self, answer: http.client.HTTPResponse) -> None:
        body = answer.read()
        status = answer.status
        if self._front.doubts(self.command, self.path):
            said = {"kind": "Status", "status": "Failure", "reason": "InternalError", "message": "lost", "code": 500}
            status, body = 500, json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", answer.headers.get("Content-Type", "application/json"))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, answer: http.client.HTTPResponse) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while line := answer.readline():
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    control_plane: ControlPlane
    token: str
    tls: ssl.SSLContext
    left: set[tuple[str, str]]

    def doubts(self, method: str, path: str) -> bool:
        words = urlsplit(path).path.split("/")
        found = next((each for each in self.left if each[0] == method and each[1] in words), None)
        self.left.discard(found or ("", ""))
        return found is not None

    def handle_error(self, *_: Any) -> None:
        """A client that has gone is none of a test's concern."""


class DoubtingServer:
    """Use it in a `with`; `left` are the kinds of writes that have not been left in doubt yet."""

    def __init__(self, control_plane: ControlPlane, token: str) -> None:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.control_plane = control_plane
        self._server.token = token
        self._server.tls = ssl.create_default_context(cafile=control_plane.ca_file)
        self._server.left = set(DOUBTED)
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    @property
    def left(self) -> set[tuple[str, str]]:
        return self._server.left

    def kubeconfig(self, path: Path) -> Path:
        """For a client of it."""
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{self._server.server_port}"}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        path.write_text(json.dumps(content))
        return path

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
