"""Fixtures of the chart ring: the real helm, and a real API server that keeps an audit log."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.binaries import require_binaries
from tests.support.control_plane import ControlPlane
from tests.support.granted_and_seen import AUDIT_POLICY, Request, requests
from tests.support.helm import Helm, require_helm
from tests.support.manifests import namespace_manifest

CRD_FOLDER = Path(__file__).parent / "crds"


@pytest.fixture(scope="session")
def helm_programs() -> Path:
    return require_helm("helm", "helm3", "helm-unittest")


@pytest.fixture(scope="session")
def helm(helm_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Helm 4, without a cluster."""
    return Helm(helm_programs / "helm", tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="session", params=["helm", "helm3"])
def either_helm(request: pytest.FixtureRequest, helm_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Each major version in use."""
    return Helm(helm_programs / request.param, tmp_path_factory.mktemp(request.param))


@dataclass(frozen=True)
class Audited:
    """A control plane and its own account of what ServiceAccounts asked for."""

    control_plane: ControlPlane
    log: Path

    def requests(self, user: str) -> list[Request]:
        return [request for request in requests([self.log]) if request.user == user]


@pytest.fixture(scope="session")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    """Admission as in a cluster of users, but for the taint that nothing here takes away from new nodes.

    Lists are asked for in pages, as by a server that does not know how to stream them: that is what the right to list is for.
    """
    require_binaries("etcd", "kube-apiserver")
    folder = tmp_path_factory.mktemp("audit")
    policy, log = folder / "policy.yaml", folder / "audit.log"
    policy.write_text(AUDIT_POLICY)
    arguments = [
        f"--audit-policy-file={policy}",
        f"--audit-log-path={log}",
        "--audit-log-mode=blocking",
        "--feature-gates=WatchList=false",
    ]
    with ControlPlane(
        apiserver_arguments=arguments, disabled_admission_plugins=["TaintNodesByCondition"]
    ) as control_plane:
        yield Audited(control_plane, log)


@pytest.fixture(scope="session")
def namespaces(audited: Audited) -> list[str]:
    """Where releases go; no controller gives them a default ServiceAccount, so pods in them need one of their own."""
    names = ["one", "two"]
    for name in names:
        audited.control_plane.client().apply(namespace_manifest(name))
    return names
