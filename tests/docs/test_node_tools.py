"""What the tools of a real node and its checks decide by themselves: which process is theirs, and what an audit log says."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.e2e.cluster import CheckFailure, Cluster
from tools.e2e.rights import nothing_was_forbidden
from tools.e2e.run import Run
from tools.realnode.documents import write_documents
from tools.realnode.process import NodeProcess
from tools.realnode.settings import Settings


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends when its standard input does."""
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as running:
        yield running


def test_the_recorded_process_is_found_again_and_ended(tmp_path: Path, process: subprocess.Popen[bytes]) -> None:
    settings = Settings(folder=tmp_path)
    NodeProcess.of(process.pid).record(settings)

    found = NodeProcess.recorded(settings)

    assert found == NodeProcess.of(process.pid)
    assert found is not None
    assert found.runs()
    found.end()
    assert process.wait() == -9


def test_another_process_under_the_same_pid_is_left_alone(process: subprocess.Popen[bytes]) -> None:
    gone = NodeProcess(process.pid, "1")

    gone.end()

    assert not gone.runs()
    assert process.poll() is None


@pytest.mark.parametrize("text", [None, "", "12", "x y"])
def test_without_a_sound_record_there_is_no_node(tmp_path: Path, text: str | None) -> None:
    settings = Settings(folder=tmp_path)
    if text is not None:
        settings.pid_file.write_text(text)

    assert NodeProcess.recorded(settings) is None


def test_a_pid_that_nobody_has_is_refused() -> None:
    with pytest.raises(ProcessLookupError, match="there is no process 0"):
        NodeProcess.of(0)


def test_every_json_document_of_a_node_can_be_read_and_names_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "node"
    folder.mkdir()

    write_documents(Settings(folder=folder))

    kubelet = json.loads((folder / "kubelet.json").read_text())
    kubeconfig = json.loads((folder / "admin.kubeconfig").read_text())
    assert kubelet["containerRuntimeEndpoint"] == f"unix://{folder}/run/containerd.sock"
    assert kubelet["cgroupRoot"] == "/reprise-node"
    assert kubeconfig["clusters"][0]["cluster"]["server"] == "https://10.231.0.2:6443"
    assert f'root = "{folder}/containerd"' in (folder / "containerd.toml").read_text()


def audit(user: str, verb: str, resource: str, code: int) -> str:
    group, _, subresource = resource.partition("/")
    reference = {"resource": group, **({"subresource": subresource} if subresource else {})}
    entry = {"user": {"username": user}, "verb": verb, "objectRef": reference, "responseStatus": {"code": code}}
    return json.dumps(entry)


def run_with(tmp_path: Path, *lines: str) -> Run:
    log = tmp_path / "audit.log"
    log.write_text("".join(f"{line}\n" for line in lines))
    cluster = Cluster(Path(os.devnull), Path(os.devnull), Path(os.devnull))
    return Run(cluster, Path("chart"), "reprise", "1", "busybox:1", log)


US = "system:serviceaccount:reprise-e2e:reprise"


def test_an_audit_log_without_a_refusal_passes(tmp_path: Path) -> None:
    run = run_with(
        tmp_path,
        audit(US, "create", "pods/binding", 201),
        audit(US, "watch", "nodes", 200),
        audit("system:serviceaccount:other:one", "list", "secrets", 403),
    )

    assert nothing_was_forbidden(run) == f"2 requests by {US} of 2 kinds, none forbidden"


def test_a_refusal_is_told_by_verb_and_resource(tmp_path: Path) -> None:
    run = run_with(
        tmp_path, audit(US, "create", "pods/binding", 201), *(audit(US, "patch", "pods/status", 403) for _ in range(2))
    )

    with pytest.raises(CheckFailure, match=r"refused to .*: \{'patch pods/status': 2\}"):
        nothing_was_forbidden(run)


def test_an_audit_log_of_somebody_else_is_no_proof(tmp_path: Path) -> None:
    run = run_with(tmp_path, audit("someone", "create", "pods/binding", 201))

    with pytest.raises(CheckFailure, match="knows of no bind"):
        nothing_was_forbidden(run)
