"""SchedulerConfigurations on a test control plane: the kind itself, the rights, and what becomes of one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from tests.support.api_client import ApiClient, ApiError
from tests.support.resources import Object, Resource

CRD_FILE = Path(__file__).parents[2] / "deploy" / "crds" / "schedulerconfigurations.yaml"
CRDS = Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions")
CONFIGURATIONS = Resource("reprise.dev/v1alpha1", "SchedulerConfiguration", "schedulerconfigurations")
CLUSTER_ROLES = Resource("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles")
NAME = "reprise-configuration"
_RULES = [
    {"apiGroups": ["reprise.dev"], "resources": ["schedulerconfigurations"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["reprise.dev"], "resources": ["schedulerconfigurations/status"], "verbs": ["patch"]},
]


def wait_for(condition: Callable[[], Any], *, seconds: float = 30.0, what: str) -> Any:
    """What the condition gives, once that is something.

    Raises:
        TimeoutError: it was not in time.
    """
    deadline, pause = time.monotonic() + seconds, threading.Event()
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not seen in {seconds:g} s: {what}")
        pause.wait(0.05)
    return found


def install(admin: ApiClient) -> None:
    """Install the kind and grant Reprise what it takes to obey one."""
    admin.apply(YAML(typ="safe").load(CRD_FILE.read_text()))
    metadata = {"name": NAME}
    rbac = "rbac.authorization.k8s.io"
    admin.apply({"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": _RULES})
    admin.apply(
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": NAME},
            "subjects": [{"kind": "ServiceAccount", "name": "reprise", "namespace": "reprise"}],
        }
    )
    wait_for(lambda: _is_served(admin), what="the kind is served")


def _is_served(admin: ApiClient) -> bool:
    try:
        admin.list_objects(CONFIGURATIONS)
    except ApiError:
        return False
    return True


class Configurations:
    """Writes specs and reads what became of them."""

    def __init__(self, admin: ApiClient, name: str = "reprise") -> None:
        self._admin = admin
        self.name = name

    def remove_all(self) -> None:
        for found in self._admin.list_objects(CONFIGURATIONS):
            self._admin.call("DELETE", CONFIGURATIONS.path(name=found["metadata"]["name"]))

    def put(self, spec: Mapping[str, Any], *, name: str | None = None) -> int:
        """Make or replace a resource; its generation."""
        body: Object = {
            "apiVersion": CONFIGURATIONS.api_version,
            "kind": CONFIGURATIONS.kind,
            "metadata": {"name": name or self.name},
            "spec": dict(spec),
        }
        path = CONFIGURATIONS.path(name=name or self.name)
        try:
            found = self._admin.call("GET", path)
        except ApiError:
            made = self._admin.call("POST", CONFIGURATIONS.path(), body)
        else:
            body["metadata"]["resourceVersion"] = found["metadata"]["resourceVersion"]
            made = self._admin.call("PUT", path, body)
        return int(made["metadata"]["generation"])

    def delete(self) -> None:
        self._admin.call("DELETE", CONFIGURATIONS.path(name=self.name))

    def condition(self, name: str | None = None) -> Object | None:
        """The condition Accepted, if it was written."""
        found = self._admin.call("GET", CONFIGURATIONS.path(name=name or self.name))
        conditions = (found.get("status") or {}).get("conditions") or []
        return conditions[0] if conditions else None

    def status(self) -> Object:
        found = self._admin.call("GET", CONFIGURATIONS.path(name=self.name))
        status: Object = found.get("status") or {}
        return status

    def verdict(self, generation: int, *, seconds: float = 30.0) -> tuple[str, str, str]:
        """What became of this generation: status, reason and message of its condition."""

        def answered() -> Object | None:
            condition = self.condition()
            return condition if condition and condition.get("observedGeneration") == generation else None

        found = wait_for(answered, seconds=seconds, what=f"the verdict on generation {generation}")
        return found["status"], found["reason"], found["message"]


def plugins(**points: Any) -> dict[str, Any]:
    """A kubeSchedulerConfiguration with one profile of these plugins."""
    return {"kubeSchedulerConfiguration": {"profiles": [{"schedulerName": "reprise", "plugins": points}]}}


def args(name: str, **given: Any) -> dict[str, Any]:
    """A kubeSchedulerConfiguration with one profile in which this plugin has these arguments."""
    config = [{"name": name, "args": given}]
    return {"kubeSchedulerConfiguration": {"profiles": [{"schedulerName": "reprise", "pluginConfig": config}]}}


def only_on(label: str) -> dict[str, Any]:
    """One in which pods go to nodes with this value of the label ``side`` only, so that each bind tells by which it was decided."""
    term = {"matchExpressions": [{"key": "side", "operator": "In", "values": [label]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return args("NodeAffinity", addedAffinity=required)


def metric(text: str, name: str) -> Iterator[tuple[str, float]]:
    """Samples of a metric, by their labels."""
    for line in text.splitlines():
        if line.startswith((f"{name}{{", f"{name} ")):
            series, _, value = line.rpartition(" ")
            yield series.removeprefix(name), float(value)
