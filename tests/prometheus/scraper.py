"""The identity that Prometheus scrapes with: a ServiceAccount that may see metrics and nothing else, and its token."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scheduler.serving.certificates import self_signed, utc_now
from tests.support.api_client import ApiClient
from tests.support.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, SERVICE_ACCOUNTS

NAME, NAMESPACE = "prometheus", "default"


def token_of_scraper(admin: ApiClient) -> str:
    """Make the account, grant it `get` on /metrics, and ask the API server for its token."""
    metadata = {"name": NAME, "namespace": NAMESPACE}
    admin.apply({"apiVersion": "v1", "kind": SERVICE_ACCOUNTS.kind, "metadata": metadata})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": CLUSTER_ROLES.kind, "name": "tests-prometheus"}
    for resource, fields in (
        (CLUSTER_ROLES, {"rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]}),
        (CLUSTER_ROLE_BINDINGS, {"roleRef": role, "subjects": [{"kind": SERVICE_ACCOUNTS.kind, **metadata}]}),
    ):
        manifest = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": role["name"]}}
        admin.apply({**manifest, **fields})
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
    path = SERVICE_ACCOUNTS.path(NAMESPACE, NAME, "token")
    token: str = admin.call("POST", path, request)["status"]["token"]
    return token


def certified(folder: Path, port: int) -> tuple[dict[str, Any], Path]:
    """The fields of a RepriseConfiguration that serve at a port of loopback, and the certificate to be trusted for it."""
    pair = self_signed(["127.0.0.1"], utc_now())
    certificate, key = folder / "reprise.crt", folder / "reprise.key"
    certificate.write_bytes(pair.certificate)
    key.write_bytes(pair.key)
    serving = {
        "bindAddress": "127.0.0.1",
        "port": port,
        "certFile": str(certificate),
        "privateKeyFile": str(key),
    }
    return {"serving": serving}, certificate
