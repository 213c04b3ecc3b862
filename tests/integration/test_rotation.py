"""Credentials that are replaced while we run, as kubelets replace those of pods: no restart, and no request is lost."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest
from kubernetes.config import incluster_config

from scheduler.kube.client import ApiClient
from scheduler.kube.credentials import load_credentials
from tests.support.api_client import ApiClient as Admin
from tests.support.control_plane import ControlPlane

ACCOUNT, NAMESPACE = "rotated", "default"
ACCOUNTS = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
SECRETS = f"/api/v1/namespaces/{NAMESPACE}/secrets"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW = msgspec.json.encode({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
REVOKED_SECONDS = 30


@dataclass
class Pod:
    """The files that a kubelet mounts, the token's bound to a Secret: with it, the token ends at once and not in ten minutes."""

    admin: Admin
    token: Path
    now: float = 0.0

    def give(self, bound_to: str) -> None:
        secret = self.admin.call("POST", SECRETS, {"metadata": {"name": bound_to}})
        bound = {"apiVersion": "v1", "kind": "Secret", "name": bound_to, "uid": secret["metadata"]["uid"]}
        request = {"spec": {"expirationSeconds": 600, "boundObjectRef": bound}}
        made = self.admin.call("POST", f"{ACCOUNTS}/{ACCOUNT}/token", request)
        new = self.token.with_suffix(".new")
        new.write_text(made["status"]["token"])
        new.replace(self.token)

    def revoke(self, bound_to: str) -> None:
        self.admin.call("DELETE", f"{SECRETS}/{bound_to}")


@pytest.fixture
def pod(control_plane: ControlPlane, admin: Admin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pod]:
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(control_plane.ca_file))
    address = urlsplit(control_plane.url)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", str(address.hostname))
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(address.port))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    admin.call("POST", ACCOUNTS, {"metadata": {"name": ACCOUNT}})
    found = Pod(admin, tmp_path / "token")
    found.give("first")
    yield found
    for path in (f"{ACCOUNTS}/{ACCOUNT}", f"{SECRETS}/first", f"{SECRETS}/second"):
        admin.send("DELETE", path)


@pytest.fixture
async def client(pod: Pod) -> AsyncIterator[ApiClient]:
    async with ApiClient(load_credentials(monotonic=lambda: pod.now), version="0.0.0") as made:
        yield made


async def status_of(client: ApiClient) -> int:
    return (await client.post(WHO, REVIEW)).status


async def until_refused(pod: Pod, old: str) -> None:
    """The server believes a token for some seconds after it has ended."""
    stranger = Admin(pod.admin.url, token=old, verifies=False)
    for _ in range(REVOKED_SECONDS * 2):
        if (await asyncio.to_thread(stranger.send, "POST", WHO, REVIEW)).status == 401:
            stranger.close()
            return
        await asyncio.sleep(0.5)
    raise AssertionError("the token still works")


async def test_an_ended_token_is_read_anew_and_the_request_repeated(pod: Pod, client: ApiClient):
    old = pod.token.read_text()
    assert await status_of(client) == 201
    pod.revoke("first")
    pod.give("second")
    await until_refused(pod, old)

    pod.now += 20.0
    assert await status_of(client) == 201
    assert client.counts.requests == {("POST", 201): 2, ("POST", 401): 1}
    assert client.counts.retries == {("POST", 401): 1}


async def test_a_token_that_ended_without_a_new_one_is_refused_until_there_is_one(pod: Pod, client: ApiClient):
    old = pod.token.read_text()
    pod.revoke("first")
    await until_refused(pod, old)
    pod.now += 20.0
    assert await status_of(client) == 401

    pod.give("second")
    pod.now += 20.0
    assert await status_of(client) == 201
