"""Many nodes beside the real ones: kwok, a program here, plays their kubelets."""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.support.daemons import Daemon, DaemonError
from tests.support.kwok import kwok_configuration
from tests.support.manifests import KWOK_ANNOTATION, node_manifest
from tools.e2e.cluster import CheckFailure, Cluster
from tools.e2e.manifests import SIMULATED_LABEL, SIMULATED_TAINT, ZONES

SIMULATED = ",".join(f"{key}={value}" for key, value in SIMULATED_LABEL.items())

READY_SECONDS = 60.0


@contextlib.contextmanager
def simulated_nodes(cluster: Cluster, kwok_program: Path, count: int) -> Iterator[None]:
    """Have so many nodes, one zone after the other, for as long as the block lasts."""
    nodes = [
        node_manifest(f"simulated-{i}", labels=SIMULATED_LABEL, taints=[SIMULATED_TAINT], zone=ZONES[i % len(ZONES)])
        for i in range(count)
    ]
    with tempfile.TemporaryDirectory(prefix="e2e-kwok-") as name:
        folder = Path(name)
        configuration = folder / "kwok.json"
        configuration.write_text("\n---\n".join(json.dumps(document) for document in kwok_configuration()))
        command: list[str | Path] = [
            kwok_program,
            f"--kubeconfig={cluster.kubeconfig}",
            f"--config={configuration}",
            f"--manage-nodes-with-annotation-selector={KWOK_ANNOTATION}=fake",
            "--node-lease-duration-seconds=40",  # without its Lease the cluster takes a node for lost
            "--v=WARN",
        ]
        with Daemon("kwok", command, folder=folder, environment={"HOME": name, "PATH": os.environ["PATH"]}) as kwok:
            try:
                cluster.create(*nodes)
                kwok.wait_ready(lambda: _ready(cluster) == count, seconds=READY_SECONDS)
                yield
            except DaemonError as error:
                raise CheckFailure(str(error)) from error
            finally:
                cluster.kubectl("delete", "nodes", f"--selector={SIMULATED}", "--wait=false")


def _ready(cluster: Cluster) -> int:
    """How many of them are ready and are taken for it: the cluster itself removes the taint that says otherwise."""
    nodes = cluster.all("nodes", selector=SIMULATED)
    ready = [node for node in nodes if all(taint["key"] == SIMULATED_TAINT["key"] for taint in node["spec"]["taints"])]
    return len(ready)
