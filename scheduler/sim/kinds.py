"""What the server fills in, keeps and refuses of each kind; pods and Events have modules of their own."""

import re
from datetime import datetime

from scheduler.sim.errors import Cause, invalid_value
from scheduler.sim.objects import Object, dig

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_NODE_INFO = (
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
)


class Rules:
    """The rules of a kind that has none of its own. What a method returns replaces what it was given."""

    def created(self, item: Object, now: datetime) -> Object:
        """A new object, completed; its metadata is set."""
        return item

    def changed(self, item: Object, old: Object) -> Object:
        """An object after a write of its main resource."""
        return item

    def status_changed(self, item: Object, old: Object) -> Object:
        """An object after a write of its status."""
        return item

    def check(self, item: Object, old: Object | None) -> list[Cause]:
        """What is wrong with an object, beside its name."""
        return []

    def name_cause(self, name: str) -> Cause | None:
        """What is wrong with a name."""
        if len(name) > 253:
            return invalid_value("metadata.name", name, "must be no more than 253 bytes")
        return None if _SUBDOMAIN.fullmatch(name) else invalid_value("metadata.name", name, _SUBDOMAIN_TEXT)

    def grace_seconds(self, item: Object, asked: int | None) -> int | None:
        """How long the object is left to end by itself; None: its kind knows no such time and it goes at once."""
        return None

    def terminating(self, item: Object) -> Object:
        """An object whose deletion was asked for, but which something still holds."""
        return item

    def held(self, item: Object) -> bool:
        """Whether something keeps the object from being removed."""
        return bool(item["metadata"].get("finalizers"))


class NodeRules(Rules):
    """Nodes: conditions, nodeInfo and daemonEndpoints are shown whole; allocatable is capacity when it is not given."""

    def created(self, item: Object, now: datetime) -> Object:
        status = dict(item.get("status") or {})
        if "capacity" in status and "allocatable" not in status:
            status["allocatable"] = status["capacity"]
        return self._complete({**item, "spec": item.get("spec") or {}, "status": status})

    def changed(self, item: Object, old: Object) -> Object:
        return {**item, "spec": item.get("spec") or {}}

    def status_changed(self, item: Object, old: Object) -> Object:
        return self._complete(item)

    @staticmethod
    def _complete(item: Object) -> Object:
        status = item.get("status") or {}
        times: Object = {"lastHeartbeatTime": None, "lastTransitionTime": None}
        completed_status = {
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
            **status,
            "nodeInfo": {**dict.fromkeys(_NODE_INFO, ""), **(status.get("nodeInfo") or {})},
        }
        if "conditions" in status:
            completed_status["conditions"] = [{**times, **condition} for condition in status["conditions"]]
        return {**item, "status": completed_status}


class DisruptionBudgetRules(Rules):
    """PodDisruptionBudgets. Nobody counts pods for them: what is allowed is what a write of the status says."""

    def created(self, item: Object, now: datetime) -> Object:
        counts = dict.fromkeys(("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"), 0)
        return {**item, "status": counts}


class NamespaceRules(Rules):
    """Namespaces: their name is a label of theirs too, and a finalizer keeps them until it is taken away."""

    def created(self, item: Object, now: datetime) -> Object:
        metadata = item["metadata"]
        labels = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata["name"]}
        return {
            **item,
            "metadata": {**metadata, "labels": labels},
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        }

    def changed(self, item: Object, old: Object) -> Object:
        return {**item, "spec": old["spec"]}

    def terminating(self, item: Object) -> Object:
        return {**item, "status": {**item["status"], "phase": "Terminating"}}

    def held(self, item: Object) -> bool:
        return bool(item["metadata"].get("finalizers") or dig(item, ("spec", "finalizers")))

    def name_cause(self, name: str) -> Cause | None:
        return None if _LABEL.fullmatch(name) else invalid_value("metadata.name", name, _LABEL_TEXT)
