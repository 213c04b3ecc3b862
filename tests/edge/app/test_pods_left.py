"""`reprise pods-left`: what it prints and how it ends, against an API server on loopback that knows one list."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from scheduler.app.cli import main
from scheduler.app.pods_left import MOST_SHOWN, text_of
from scheduler.kube.asking_pods import AskingPod


class _Pods(BaseHTTPRequestHandler):
    pods: tuple[dict[str, Any], ...] = ()
    resource: dict[str, Any] | None = None

    def do_GET(self) -> None:
        if "schedulerconfigurations" in self.path:
            self._answer(200 if self.resource else 404, self.resource or {"kind": "Status"})
            return
        selector = parse_qs(urlsplit(self.path).query)["fieldSelector"][0]
        items = [pod for pod in self.pods if f"spec.schedulerName={pod['spec']['schedulerName']}," in selector]
        self._answer(200, {"kind": "PodList", "items": items, "metadata": {}})

    def _answer(self, code: int, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def api_server(folder: Path, *pods: dict[str, Any], resource: dict[str, Any] | None = None) -> Iterator[Path]:
    """A kubeconfig for it."""
    known = type("Pods", (_Pods,), {"pods": pods, "resource": resource})
    with HTTPServer(("127.0.0.1", 0), known) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield kubeconfig(folder, server.server_port)
        finally:
            server.shutdown()
            thread.join()


def kubeconfig(folder: Path, port: int) -> Path:
    file = folder / "kubeconfig"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file.write_text(json.dumps(content))
    return file


def pod(name: str, scheduler_name: str = "reprise", node: str = "") -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"schedulerName": scheduler_name, "nodeName": node},
    }


def two_profiles(folder: Path) -> Path:
    file = folder / "configuration.yaml"
    file.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles:\n- schedulerName: packing\n- schedulerName: spreading\n"
    )
    return file


def test_the_pods_of_every_profile_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pods = (pod("a", "packing", "node-1"), pod("b", "spreading"), pod("c", "default-scheduler"))
    with api_server(tmp_path, *pods) as file:
        assert main(["pods-left", f"--kubeconfig={file}", f"--config={two_profiles(tmp_path)}"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "2 pods still ask for packing or spreading; 1 of them wait for a node, until a scheduler of that name runs.",
        "The others stay where they are, and what replaces them will wait too. Change spec.schedulerName of what makes them:",
        "  shop/b (spreading): waiting",
        "  shop/a (packing): on node-1",
    ]


def test_nothing_left_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with api_server(tmp_path, pod("c", "default-scheduler")) as file:
        assert main(["pods-left", f"--kubeconfig={file}"]) == 0
    assert capsys.readouterr().out == "no pod asks for reprise\n"


def test_programs_get_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with api_server(tmp_path, pod("a")) as file:
        assert main(["pods-left", f"--kubeconfig={file}", "--output=json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"namespace": "shop", "name": "a", "scheduler_name": "reprise", "node_name": "", "owner": ""}
    ]


def test_a_server_that_does_not_answer_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with HTTPServer(("127.0.0.1", 0), _Pods) as server:
        port = server.server_port
    assert main(["pods-left", f"--kubeconfig={kubeconfig(tmp_path, port)}"]) == 1
    assert capsys.readouterr().err.startswith("reprise pods-left: the pods cannot be listed: ")


def test_a_hook_never_holds_up_a_removal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "nowhere"
    assert main(["pods-left", f"--kubeconfig={missing}"]) == 2
    assert main(["pods-left", f"--kubeconfig={missing}", "--always-succeed"]) == 0
    assert str(missing) in capsys.readouterr().err


def test_what_is_wrong_with_a_configuration_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = two_profiles(tmp_path)
    file.write_text(file.read_text() + "surprise: true\n")
    assert main(["pods-left", f"--config={file}"]) == 2
    assert "surprise" in capsys.readouterr().err


def test_a_long_list_ends_with_a_count() -> None:
    left = [AskingPod("shop", f"pod-{index:03}", "reprise", "", "Job work") for index in range(MOST_SHOWN + 7)]
    lines = text_of(["reprise"], left).splitlines()
    assert lines[2] == "  shop/pod-000 (reprise): waiting, of Job work"
    assert lines[-1] == "  and 7 more"
    assert len(lines) == 2 + MOST_SHOWN + 1


def test_the_profiles_that_a_resource_has_put_in_force_count_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    resource = {"spec": {}, "status": {"profiles": "packing, night"}}
    pods = (pod("a", "packing"), pod("b", "night"), pod("c", "default-scheduler"))
    with api_server(tmp_path, *pods, resource=resource) as file:
        options = [f"--kubeconfig={file}", f"--config={two_profiles(tmp_path)}", "--config-resource=main"]
        assert main(["pods-left", *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("2 pods still ask for packing or spreading or night; 2 of them wait")
    assert lines[-3:] == [
        "  shop/a (packing): waiting",
        "  shop/b (night): waiting",
        (
            "The SchedulerConfiguration main stays, and the kind of it; when no other release obeys it: "
            "kubectl delete schedulerconfiguration main"
        ),
    ]


def test_a_resource_that_is_not_there_any_more_names_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with api_server(tmp_path) as file:
        assert main(["pods-left", f"--kubeconfig={file}", "--config-resource=main"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "no pod asks for reprise"
