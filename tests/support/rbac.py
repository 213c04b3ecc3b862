"""What the users of the test control plane may do: Reprise exactly what deploy/manifests/rbac.yaml grants, the others what they need."""

from pathlib import Path

from ruamel.yaml import YAML

from tests.support.api_client import ApiClient
from tests.support.resources import Object

RBAC_MANIFEST = Path(__file__).parents[2] / "deploy" / "manifests" / "rbac.yaml"
_RBAC = "rbac.authorization.k8s.io"


def reprise_rbac() -> list[Object]:
    """The objects of deploy/manifests/rbac.yaml, which users apply too."""
    with RBAC_MANIFEST.open() as file:
        return list(YAML(typ="safe").load_all(file))


def apply_rbac(admin: ApiClient) -> None:
    """Grant Reprise its own rights, and the foreign binder those of someone who looks and binds.

    The server itself grants system:kube-scheduler what the real scheduler needs.
    """
    for manifest in [*reprise_rbac(), *_foreign_binder()]:
        admin.apply(manifest)


def apply_lease(admin: ApiClient) -> None:
    """Make the Lease of deploy/manifests/rbac.yaml, which Reprise has no right to make, as nobody's."""
    for manifest in reprise_rbac():
        if manifest["kind"] == "Lease":
            admin.apply(manifest)


def _foreign_binder() -> list[Object]:
    metadata = {"name": "foreign-binder"}
    rules = [
        {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["pods/binding"], "verbs": ["create"]},
    ]
    return [
        {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "foreign-binder"},
            "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": "foreign-binder"}],
        },
    ]
