"""Fixtures of the cluster ring: a real etcd and kube-apiserver, emptied for each test, and what runs beside them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.api_client import ApiClient
from tests.support.binaries import require_binaries
from tests.support.cluster_session import shared_control_plane
from tests.support.control_plane import ControlPlane
from tests.support.controller_manager import ControllerManager
from tests.support.kube_scheduler import KubeScheduler
from tests.support.kwok import Kwok
from tests.support.reprise_process import RepriseProcess, take_uncompared

StartKubeScheduler = Callable[..., KubeScheduler]
StartReprise = Callable[..., RepriseProcess]
Say = Callable[[str], None]


@pytest.fixture(autouse=True)
def _what_is_known_at_the_end_is_what_there_is() -> Iterator[None]:
    """No test forgets to look: who was killed is followed by one of whom it is looked at."""
    yield
    left = take_uncompared()
    assert left == [], f"{left} ended and nobody looked at what was known: compare the scheduler that follows"


@pytest.fixture(scope="session")
def control_plane(pytestconfig: pytest.Config) -> ControlPlane:
    """A real etcd and kube-apiserver, with whatever earlier tests left in them."""
    return shared_control_plane(pytestconfig)


@pytest.fixture
def fresh_cluster(control_plane: ControlPlane) -> ControlPlane:
    """The same, empty: no pods, nodes, Events or other objects of earlier tests."""
    control_plane.reset()
    return control_plane


@pytest.fixture
def admin(fresh_cluster: ControlPlane) -> ApiClient:
    """The client of someone who may do everything, on an empty cluster."""
    return fresh_cluster.client("admin")


@pytest.fixture
def kwok(fresh_cluster: ControlPlane) -> Iterator[Kwok]:
    """Kwok runs until the test ends: pods bound to the nodes of `node_manifest` become Running."""
    require_binaries("kwok")
    with Kwok(fresh_cluster) as running:
        yield running


@pytest.fixture
def controller_manager(fresh_cluster: ControlPlane) -> Iterator[ControllerManager]:
    """The real controllers run until the test ends: those that make pods, and the one that binds volumes."""
    require_binaries("kube-controller-manager")
    with ControllerManager(fresh_cluster) as running:
        yield running


@pytest.fixture
def start_kube_scheduler(fresh_cluster: ControlPlane) -> Iterator[StartKubeScheduler]:
    """Start a real kube-scheduler with a configuration, until the test ends; for the flags see `KubeScheduler`."""
    require_binaries("kube-scheduler")
    with ExitStack() as stack:

        def start(configuration: Mapping[str, Any] | Path, **options: Any) -> KubeScheduler:
            return stack.enter_context(KubeScheduler(fresh_cluster, configuration, **options))

        yield start


@pytest.fixture
def start_reprise(fresh_cluster: ControlPlane) -> Iterator[StartReprise]:
    """Start the scheduler, ready, with what `RepriseProcess` takes; it ends with the test if the test did not end it."""
    with ExitStack() as stack:

        def start(*given: Any, **options: Any) -> RepriseProcess:
            return stack.enter_context(RepriseProcess(fresh_cluster, *given, **options))

        yield start


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    """Print a line of figures for whoever watches the run, also when the test passes."""

    def print_line(line: str) -> None:
        with capsys.disabled():
            print(f"\n  {line}", end="", flush=True)

    return print_line
