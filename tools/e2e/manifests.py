"""The objects of the checks."""

from typing import Any

from tools.e2e.cluster import Object
from tools.e2e.run import SCHEDULER, WORK

SIMULATED_TAINT = {"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}
TOLERATES_SIMULATED = {"key": "kwok.x-k8s.io/node", "operator": "Exists"}
SIMULATED_LABEL = {"type": "kwok"}
ZONES = ("zone-a", "zone-b", "zone-c", "zone-d")


def namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def deployment(name: str, replicas: int, template: Object) -> Object:
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": WORK}, "spec": spec}


def daemon_set(name: str, template: Object) -> Object:
    spec = {"selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name, "namespace": WORK}, "spec": spec}


def job(name: str, completions: int, template: Object) -> Object:
    spec = {"completions": completions, "parallelism": completions, "backoffLimit": 0, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": WORK}, "spec": spec}


def template(app: str, image: str, command: str, **spec: Any) -> Object:
    """Pods of a shell command that ask for Reprise, small and quick to end."""
    container = {
        "name": "main",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", command],
        "resources": {"requests": {"cpu": "10m", "memory": "8Mi"}},
    }
    default = {"schedulerName": SCHEDULER, "terminationGracePeriodSeconds": 0, "containers": [container]}
    return {"metadata": {"labels": {"app": app}}, "spec": default | spec}


def on_simulated_nodes(app: str, **spec: Any) -> Object:
    """Pods that run nowhere but on nodes that kwok plays."""
    pod = template(app, "registry.example/app:1", "sleep 1d", **spec)
    pod["spec"] |= {"nodeSelector": SIMULATED_LABEL, "tolerations": [TOLERATES_SIMULATED]}
    return pod


def spread(app: str) -> Object:
    """As many pods in each zone, and on each node, as elsewhere."""
    selector = {"matchLabels": {"app": app}}
    constraints = [
        {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
        for key in ("topology.kubernetes.io/zone", "kubernetes.io/hostname")
    ]
    return on_simulated_nodes(app, topologySpreadConstraints=constraints)
