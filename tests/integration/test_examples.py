"""The examples that users are given are what a real API server takes, and they ask for Reprise."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.binaries import require_binaries
from tests.support.control_plane import ControlPlane

FOLDER = Path(__file__).parents[2] / "deploy" / "examples"
EXAMPLES = [FOLDER / f"{name}.yaml" for name in ("batch-burst", "priorities", "spread-deployment")]


def pod_specs(document: Any) -> Iterator[dict[str, Any]]:
    match document:
        case {"template": {"spec": dict(spec)}}:
            yield spec
        case dict():
            for value in document.values():
                yield from pod_specs(value)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_server_takes_an_example_without_a_warning(fresh_cluster: ControlPlane, example: Path) -> None:
    kubectl = require_binaries("kubectl") / "kubectl"
    command = [str(kubectl), f"--kubeconfig={fresh_cluster.kubeconfig('admin')}", "apply", "--dry-run=server"]

    told = subprocess.run(
        [*command, "--validate=strict", "-f", str(example)], capture_output=True, text=True, check=False, timeout=60
    )

    assert told.stderr == ""
    assert told.stdout.count("(server dry run)") == len(list(yaml.safe_load_all(example.read_text())))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_every_pod_of_an_example_asks_for_reprise(example: Path) -> None:
    specs = [spec for document in yaml.safe_load_all(example.read_text()) for spec in pod_specs(document)]

    assert [spec["schedulerName"] for spec in specs] == ["reprise"] * len(specs)
    assert specs


def test_the_priorities_that_are_used_are_in_the_same_file() -> None:
    documents = list(yaml.safe_load_all((FOLDER / "priorities.yaml").read_text()))
    classes = {each["metadata"]["name"] for each in documents if each["kind"] == "PriorityClass"}

    assert classes == {spec["priorityClassName"] for document in documents for spec in pod_specs(document)}
