"""What `kubectl get` prints: the columns of a resource and a row for each object."""

from datetime import datetime

from scheduler.sim.objects import Object, dig
from scheduler.sim.resources import Resource

_NAME = {"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}
_NONE = "<none>"

# Plural -> the titles between Name and Age, and those that only `-o wide` shows.
_COLUMNS = {
    "pods": (("Ready", "Status", "Restarts"), ("IP", "Node", "Nominated Node")),
    "nodes": (("Status", "Roles"), ("Version",)),
    "namespaces": (("Status",), ()),
}


def columns_of(resource: Resource) -> list[Object]:
    """The columns of a resource."""
    titles, wide = _COLUMNS.get(resource.plural, ((), ()))
    return [_NAME, *(_column(title) for title in (*titles, "Age")), *(_column(title, priority=1) for title in wide)]


def row_of(resource: Resource, item: Object, now: datetime) -> list[str]:
    """The cells of an object, in the order of the columns."""
    metadata = item["metadata"]
    age = duration_text((now - datetime.fromisoformat(metadata["creationTimestamp"])).total_seconds())
    match resource.plural:
        case "pods":
            return [metadata["name"], *_pod(item), age, *_pod_wide(item)]
        case "nodes":
            version = dig(item, ("status", "nodeInfo", "kubeletVersion")) or ""
            return [metadata["name"], _node_status(item), _roles(metadata), age, version]
        case "namespaces":
            return [metadata["name"], dig(item, ("status", "phase")) or "", age]
        case _:
            return [metadata["name"], age]


def duration_text(seconds: float) -> str:
    """An age as kubectl writes it: the two largest units where the first is small, else one."""
    whole = max(0, int(seconds))
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if minutes < 2:
        return f"{whole}s"
    if minutes < 10:
        return f"{minutes}m" + (f"{whole % 60}s" if whole % 60 else "")
    if hours < 3:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h" + (f"{minutes % 60}m" if minutes % 60 else "")
    if days < 2:
        return f"{hours}h"
    if days < 8:
        return f"{days}d" + (f"{hours % 24}h" if hours % 24 else "")
    return f"{days}d"


def _column(title: str, *, priority: int = 0) -> Object:
    return {"name": title, "type": "string", "format": "", "description": "", "priority": priority}


def _pod(item: Object) -> tuple[str, str, str]:
    containers = item["spec"].get("containers") or []
    statuses = item["status"].get("containerStatuses") or []
    ready = sum(1 for status in statuses if status.get("ready"))
    restarts = sum(status.get("restartCount", 0) for status in statuses)
    shown = item["status"].get("reason") or item["status"].get("phase", "")
    conditions = item["status"].get("conditions") or []
    if any(condition.get("reason") == "SchedulingGated" for condition in conditions):
        shown = "SchedulingGated"
    if "deletionTimestamp" in item["metadata"]:
        shown = "Terminating"
    return f"{ready}/{len(containers)}", shown, str(restarts)


def _pod_wide(item: Object) -> tuple[str, str, str]:
    status = item["status"]
    return status.get("podIP") or _NONE, item["spec"].get("nodeName") or _NONE, status.get("nominatedNodeName") or _NONE


def _node_status(item: Object) -> str:
    ready = next((c["status"] for c in dig(item, ("status", "conditions")) or [] if c["type"] == "Ready"), "")
    status = {"True": "Ready", "": "Unknown"}.get(ready, "NotReady")
    return f"{status},SchedulingDisabled" if dig(item, ("spec", "unschedulable")) else status


def _roles(metadata: Object) -> str:
    prefix = "node-role.kubernetes.io/"
    roles = sorted(key.removeprefix(prefix) for key in metadata.get("labels") or {} if key.startswith(prefix))
    return ",".join(roles) or _NONE
