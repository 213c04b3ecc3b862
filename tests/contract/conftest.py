"""The contract is checked on the embedded server, and on the real one where its parts are there."""

import functools
import ssl
from collections.abc import Iterator

import pytest

from scheduler.sim.server import ApiServer
from tests.contract.servers import EmbeddedServer, Server, served
from tests.support.api_client import ApiClient
from tests.support.cluster_session import shared_control_plane


@pytest.fixture(scope="session")
def shared_embedded() -> Iterator[EmbeddedServer]:
    """One embedded server for all contract tests, as the real one is one for all."""
    embedded = EmbeddedServer()
    yield embedded
    embedded.stop()


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.cluster)])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server that must behave as kube-apiserver does."""
    if request.param == "embedded":
        embedded: EmbeddedServer = request.getfixturevalue("shared_embedded")

        def forget(version: int) -> None:
            embedded.call(embedded.server.expire)

        with (
            ApiClient(embedded.url) as client,
            served(client, forget_events=forget, write_kubeconfig=embedded.server.kubeconfig) as found,
        ):
            yield found
        return
    control_plane = shared_control_plane(request.config)

    def compact(version: int) -> None:
        with ApiClient(control_plane._etcd_url) as etcd:
            etcd.call("POST", "/v3/kv/compaction", {"revision": str(version), "physical": True})

    headers = {"Authorization": f"Bearer {control_plane.token('admin')}"}
    tls = ssl.create_default_context(cafile=control_plane.ca_file)
    write_kubeconfig = functools.partial(control_plane.kubeconfig, "admin")
    with served(
        control_plane.client("admin"),
        tls=tls,
        headers=headers,
        forget_events=compact,
        write_kubeconfig=write_kubeconfig,
    ) as found:
        yield found


@pytest.fixture
def embedded() -> Iterator[EmbeddedServer]:
    """An embedded server of the test's own, for what no real one does on demand."""
    own = EmbeddedServer(ApiServer)
    yield own
    own.stop()


@pytest.fixture
def client(embedded: EmbeddedServer) -> Iterator[ApiClient]:
    """A client of the test's own server."""
    with ApiClient(embedded.url) as own:
        yield own
