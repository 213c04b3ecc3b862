"""Who may see the pages of a running scheduler: asked of the real API server, with tokens that it made."""

import http.client
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from scheduler.app.metrics_document import names
from scheduler.serving.certificates import self_signed, utc_now
from tests.integration.conftest import Say, StartReprise
from tests.support.api_client import Answer, ApiClient
from tests.support.burst import series
from tests.support.control_plane import ControlPlane, free_ports
from tests.support.manifests import node_manifest, pod_manifest
from tests.support.reprise_process import COMMAND, RepriseProcess
from tests.support.resources import PODS

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
RBAC = "rbac.authorization.k8s.io"
RULES = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
KEPT_SECONDS = 10.0


@pytest.fixture
def token(admin: ApiClient) -> Iterator[str]:
    """That of a service account, which may do nothing yet."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "scraper"}}
    admin.call("POST", ACCOUNTS, account)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
    yield admin.call("POST", f"{ACCOUNTS}/scraper/token", request)["status"]["token"]
    admin.call("DELETE", f"{ACCOUNTS}/scraper")


@pytest.fixture
def granted(admin: ApiClient) -> Iterator[Any]:
    """What lets that account see metrics, when it is called."""
    roles = f"/apis/{RBAC}/v1/clusterroles"
    role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": "tests-scraper"}, "rules": RULES}
    binding = {
        **role,
        "kind": "ClusterRoleBinding",
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "tests-scraper"},
        "subjects": [{"kind": "ServiceAccount", "name": "scraper", "namespace": "default"}],
    }
    binding.pop("rules")

    def grant() -> None:
        admin.call("POST", roles, role)
        admin.call("POST", f"/apis/{RBAC}/v1/clusterrolebindings", binding)

    yield grant
    for path in (roles, f"/apis/{RBAC}/v1/clusterrolebindings"):
        admin.send("DELETE", f"{path}/tests-scraper")


def secure(start_reprise: StartReprise, **serving: Any) -> tuple[RepriseProcess, int]:
    """A scheduler with an HTTPS port, beside the one that everybody may look at."""
    port = free_ports(1)[0]
    return start_reprise(reprise={"serving": {"bindAddress": "127.0.0.1", "port": port, **serving}}), port


def ask(port: int, path: str, token: str | None = None, method: str = "GET") -> Answer:
    client = ApiClient(f"https://127.0.0.1:{port}", token=token, verifies=False)
    try:
        return client.send(method, path, accept="*/*")
    finally:
        client.close()


def test_metrics_are_for_those_whom_the_api_server_lets(start_reprise: StartReprise, token: str, granted: Any):
    _, port = secure(start_reprise)
    assert [ask(port, path).body for path in ("/livez", "/readyz", "/healthz")] == [b"ok"] * 3
    assert ask(port, "/metrics").status == 401
    assert ask(port, "/metrics", "forged").status == 401
    refused = ask(port, "/metrics", token)
    assert (refused.status, refused.json()["message"]) == (
        403,
        'forbidden: User "system:serviceaccount:default:scraper" cannot get path "/metrics"',
    )

    granted()
    deadline = time.monotonic() + KEPT_SECONDS + 10.0
    while (seen := ask(port, "/metrics", token)).status == 403 and time.monotonic() < deadline:
        Event().wait(0.5)  # the refusal is kept for a while
    assert (seen.status, b"scheduler_pending_pods" in seen.body) == (200, True)
    assert ask(port, "/configz", token).status == 403
    assert ask(port, "/metrics", token, "DELETE").status == 403


def test_those_who_may_do_everything_see_everything(control_plane: ControlPlane, start_reprise: StartReprise):
    _, port = secure(start_reprise)
    admin = control_plane.token("admin")

    assert [ask(port, path, admin).status for path in ("/metrics", "/configz", "/readyz/ping", "/nothing")] == [
        200,
        200,
        200,
        404,
    ]
    assert ask(port, "/debug/batch", admin).status == 404


def test_a_new_certificate_is_shown_without_a_restart(start_reprise: StartReprise, tmp_path: Path):
    """As the files of a mounted Secret change: a link is moved to another folder."""
    for version in ("1", "2"):
        (tmp_path / version).mkdir()
        pair = self_signed(["127.0.0.1", version], utc_now())
        (tmp_path / version / "tls.crt").write_bytes(pair.certificate)
        (tmp_path / version / "tls.key").write_bytes(pair.key)
    data = tmp_path / "..data"
    data.symlink_to("1")
    for name in ("tls.crt", "tls.key"):
        (tmp_path / name).symlink_to(f"..data/{name}")
    reprise, port = secure(start_reprise, certFile=str(tmp_path / "tls.crt"), privateKeyFile=str(tmp_path / "tls.key"))
    assert shown(port, tmp_path / "1" / "tls.crt")

    new = tmp_path / "..new"
    new.symlink_to("2")
    new.replace(data)
    reprise.wait_for_line("serving with a new certificate", seconds=30)
    assert shown(port, tmp_path / "2" / "tls.crt")


def shown(port: int, certificate: Path) -> bool:
    """Whether the server proves itself by this certificate."""
    context = ssl.create_default_context(cafile=certificate)
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=10)
    try:
        connection.request("GET", "/livez")
        return connection.getresponse().status == 200
    finally:
        connection.close()


def test_the_command_asks_over_https_with_the_token_of_a_kubeconfig(
    control_plane: ControlPlane, start_reprise: StartReprise, tmp_path: Path
):
    reprise, port = secure(start_reprise, debug=True)
    reprise.wait_until(reprise.is_ready, seconds=10, what="it is ready")
    command: list[str | Path] = [COMMAND, "debug", "compare", "--url", f"https://127.0.0.1:{port}"]
    command += [
        "--insecure-skip-tls-verify",
        "--kubeconfig",
        control_plane.kubeconfig("admin", tmp_path / "kubeconfig"),
    ]

    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "what the scheduler knows is what there is")


def test_each_metric_that_is_served_is_documented(start_reprise: StartReprise):
    reprise = start_reprise()
    pages = [reprise.page(path).body.decode() for path in ("/metrics", "/metrics/resources", "/metrics/slis")]
    served = {line.split()[2] for page in pages for line in page.splitlines() if line.startswith("# HELP")}

    assert {"rest_client_requests_total", "kube_pod_resource_request", "kubernetes_healthcheck"} <= served
    assert served - names() == set()


def test_a_flood_of_forged_tokens_stops_neither_decisions_nor_health_nor_the_api_server(
    admin: ApiClient, start_reprise: StartReprise, say: Say
):
    admin.create_all(node_manifest(f"n{index}", kwok=False) for index in range(5))
    reprise, port = secure(start_reprise)
    reprise.wait_until(reprise.is_ready, seconds=30, what="it is ready")
    flood = Flood(port)
    began = time.monotonic()
    with flood, admin.watch(PODS) as pods:
        for batch in range(5):
            admin.create_all(pod_manifest(f"p{batch}-{index}") for index in range(20))
            assert ask(port, "/livez").body == b"ok"
        pods.wait_until(
            lambda watch: sum("nodeName" in pod["spec"] for pod in watch.objects.values()) == 100,
            seconds=60,
            what="all pods are bound",
        )
    seconds = time.monotonic() - began
    reviews = series(reprise.page("/metrics").body.decode())['apiserver_delegated_authn_request_total{code="201"}']
    say(f"{flood.sent} forged tokens in {seconds:.1f} s came to {reviews:.0f} TokenReviews")
    assert flood.sent > reviews
    assert reviews <= 10 + 5 * seconds + 1


class Flood:
    """Four threads that ask with another token each time, from an address of their own."""

    def __init__(self, port: int) -> None:
        self.sent = 0
        self._port = port
        self._stop = Event()
        self._threads = [Thread(target=self._run, args=(number,)) for number in range(4)]

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, number: int) -> None:
        context = ssl._create_unverified_context()
        count = 0
        while not self._stop.is_set():
            count += 1
            connection = http.client.HTTPSConnection(
                "127.0.0.1", self._port, context=context, timeout=10, source_address=("127.0.0.2", 0)
            )
            try:
                connection.request("GET", "/metrics", headers={"Authorization": f"Bearer forged-{number}-{count}"})
                assert connection.getresponse().status in (401, 429)
                self.sent += 1
            except OSError:
                pass  # turned away
            finally:
                connection.close()
