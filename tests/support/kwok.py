"""The kwok controller beside a test control plane: it plays the kubelet of every node annotated for it.

A pod bound to such a node becomes Running, and goes away when it is deleted. Nodes are made ready by the test itself.
"""

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from tests.support.binaries import binaries_folder
from tests.support.control_plane import ControlPlane
from tests.support.daemons import Daemon
from tests.support.manifests import KWOK_ANNOTATION, node_manifest
from tests.support.resources import NODES, Object

READY_SECONDS = 30.0
PARALLELISM = 16
READY_NODE = "kwok-probe"

_POD_RUNNING = """\
conditions:
{{ range $kind := list "PodReadyToStartContainers" "Initialized" "Ready" "ContainersReady" }}
- {type: {{ $kind }}, status: "True", lastTransitionTime: {{ Now | Quote }}}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: true
  started: true
  restartCount: 0
  state: {running: {startedAt: {{ Now | Quote }}}}
{{ end }}
phase: Running
startTime: {{ Now | Quote }}
"""

_NODE_READY = """\
conditions:
- {type: Ready, status: "True", reason: KubeletReady, lastTransitionTime: {{ Now | Quote }}, lastHeartbeatTime: {{ Now | Quote }}}
"""


class Kwok:
    """A running kwok controller; use it in a `with`."""

    def __init__(self, control_plane: ControlPlane) -> None:
        self.control_plane = control_plane
        self.start_seconds = 0.0
        self.daemon: Daemon

    def start(self) -> Self:
        """Start kwok and wait until it simulates nodes.

        Raises:
            DaemonError: it ended or was not ready in time.
        """
        folder = Path(tempfile.mkdtemp(prefix="kwok-", dir=self.control_plane.folder))
        configuration = folder / "kwok.json"
        configuration.write_text("\n---\n".join(json.dumps(document) for document in kwok_configuration()))
        command: list[str | Path] = [
            binaries_folder() / "kwok",
            f"--kubeconfig={self.control_plane.kubeconfig('admin', folder / 'kubeconfig')}",
            f"--config={configuration}",
            f"--manage-nodes-with-annotation-selector={KWOK_ANNOTATION}=fake",
            "--v=WARN",
        ]
        # Its home is another one, so that a kwok.yaml of the user's changes nothing.
        self.daemon = Daemon("kwok", command, folder=folder, environment={"HOME": str(folder)})
        try:
            self.start_seconds = self._wait_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End kwok."""
        self.daemon.kill()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _wait_ready(self) -> float:
        """Kwok tells nobody when it watches, so a node that is not ready is shown to it until it is."""
        client = self.control_plane.client()
        probe = node_manifest(READY_NODE)
        probe["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
        client.create(probe)
        try:
            return self.daemon.wait_ready(lambda: _is_ready(client.get(NODES, READY_NODE)), seconds=READY_SECONDS)
        finally:
            client.delete(NODES, READY_NODE)


def create_nodes(control_plane: ControlPlane, manifests: Iterable[Object]) -> list[Object]:
    """Create many nodes at once."""
    return control_plane.client().create_all(manifests, parallelism=PARALLELISM)


def _is_ready(node: Object) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in node["status"]["conditions"])


def kwok_configuration() -> list[Object]:
    """How kwok plays nodes and pods here, as documents."""
    parallel = ("podPlayStageParallelism", "nodePlayStageParallelism", "nodeLeaseParallelism")
    options = dict.fromkeys(parallel, PARALLELISM)
    return [
        {"apiVersion": "config.kwok.x-k8s.io/v1alpha1", "kind": "KwokConfiguration", "options": options},
        _stage(
            "node-ready",
            "Node",
            [_expression('.status.conditions.[] | select( .type == "Ready" ) | .status', "NotIn", "True")],
            [{"patch": {"subresource": "status", "root": "status", "template": _NODE_READY}}],
        ),
        _stage(
            "pod-running",
            "Pod",
            [
                _expression(".metadata.deletionTimestamp", "DoesNotExist"),
                _expression(".status.phase", "In", "Pending"),
            ],
            [{"patch": {"subresource": "status", "root": "status", "template": _POD_RUNNING}}],
        ),
        _stage(
            "pod-deleted",
            "Pod",
            [_expression(".metadata.deletionTimestamp", "Exists")],
            [{"delete": True}],
        ),
    ]


def _stage(name: str, kind: str, expressions: list[Object], steps: list[Object]) -> Object:
    """What kwok does to objects of a kind that match all expressions."""
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": kind},
            "selector": {"matchExpressions": expressions},
            "steps": steps,
        },
    }


def _expression(query: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": query, "operator": operator, **({"values": list(values)} if values else {})}
