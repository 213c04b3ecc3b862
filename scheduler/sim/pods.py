"""Pods: what the server fills in, what may be changed, and binding."""

from datetime import datetime

from scheduler.api.quantity import QuantityError, nano
from scheduler.sim.errors import Cause, forbidden_value, plain_error, required
from scheduler.sim.kinds import Rules
from scheduler.sim.objects import Object, dig, timestamp

TERMINAL_PHASES = ("Succeeded", "Failed")

_SPEC_DEFAULTS: Object = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
    "priority": 0,
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
}
_CONTAINER_DEFAULTS: Object = {
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_DEFAULT_TOLERATIONS = tuple(
    {"key": f"node.kubernetes.io/{state}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for state in ("not-ready", "unreachable")
)
_CONDITION_TIMES: Object = {"lastProbeTime": None, "lastTransitionTime": None}
# Members of the spec that a write may change, each in its own way; and those that it may while the pod is gated.
_MUTABLE = ("activeDeadlineSeconds", "schedulingGates", "terminationGracePeriodSeconds", "tolerations")
_MUTABLE_GATED = ("affinity", "nodeSelector")
_CONTAINER_LISTS = ("containers", "initContainers")
_UPDATABLE_TEXT = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


class PodRules(Rules):
    """Defaults as the API and its standard admission plugins set them. A priority is taken as given: there are no
    PriorityClasses here.
    """

    def created(self, item: Object, now: datetime) -> Object:
        spec = _complete_spec(item.get("spec") or {})
        status: Object = {"phase": "Pending", "qosClass": qos_class(spec)}
        if spec.get("schedulingGates"):
            gated = {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
            status["conditions"] = with_condition([], gated, now)
        return {"metadata": item["metadata"], "spec": spec, "status": status}

    def changed(self, item: Object, old: Object) -> Object:
        return {**item, "spec": _complete_spec(item.get("spec") or {}, old["spec"])}

    def status_changed(self, item: Object, old: Object) -> Object:
        status = dict(item.get("status") or {})
        status.setdefault("qosClass", old["status"].get("qosClass", "BestEffort"))
        if "conditions" in status:
            status["conditions"] = [{**_CONDITION_TIMES, **condition} for condition in status["conditions"]]
        return {**item, "status": status}

    def check(self, item: Object, old: Object | None) -> list[Cause]:
        spec = item["spec"]
        if not spec.get("containers"):
            return [required("spec.containers")]
        return [] if old is None or spec is old["spec"] else _changes(spec, old["spec"])

    def grace_seconds(self, item: Object, asked: int | None) -> int | None:
        if not item["spec"].get("nodeName") or item["status"].get("phase") in TERMINAL_PHASES:
            return 0
        seconds = int(item["spec"].get("terminationGracePeriodSeconds") or 0) if asked is None else asked
        return 1 if seconds < 0 else seconds


def _complete_spec(spec: Object, old: Object | None = None) -> Object:
    kept: Object = {name: old[name] for name in ("priority", "preemptionPolicy") if old and name in old}
    full = {**_SPEC_DEFAULTS, **kept, **spec}
    for name in _CONTAINER_LISTS:
        if name in spec:
            full[name] = [_complete_container(container) for container in spec[name] or []]
    if full.get("hostNetwork"):
        for container in full.get("containers") or []:
            for port in container.get("ports") or []:
                port.setdefault("hostPort", port["containerPort"])
    tolerations = list(full.get("tolerations") or [])
    covered = {
        toleration.get("key")
        for toleration in tolerations
        if toleration.get("effect", "NoExecute") == "NoExecute" and toleration.get("operator") == "Exists"
    }
    if None not in covered:
        tolerations += [toleration for toleration in _DEFAULT_TOLERATIONS if toleration["key"] not in covered]
    full["tolerations"] = tolerations
    return full


def _complete_container(container: Object) -> Object:
    full = {**_CONTAINER_DEFAULTS, **container}
    image = full.get("image") or ""
    if "imagePullPolicy" not in full:
        tag = image.rpartition("/")[2].partition("@")[0].partition(":")[2]
        pinned = "@" in image or tag not in ("", "latest")
        full["imagePullPolicy"] = "IfNotPresent" if pinned else "Always"
    if limits := full["resources"].get("limits"):
        full["resources"] = {**full["resources"], "requests": {**limits, **(full["resources"].get("requests") or {})}}
    if "ports" in full:
        full["ports"] = [{"protocol": "TCP", **port} for port in full["ports"] or []]
    return full


def qos_class(spec: Object) -> str:
    """Guaranteed, Burstable or BestEffort, by the CPU and memory that the containers ask for."""
    guaranteed, best_effort = True, True
    for container in (spec.get("containers") or []) + (spec.get("initContainers") or []):
        requests, limits = container["resources"].get("requests") or {}, container["resources"].get("limits") or {}
        for resource in ("cpu", "memory"):
            asked, limit = requests.get(resource), limits.get(resource)
            if asked is not None or limit is not None:
                best_effort = False
            guaranteed = guaranteed and asked is not None and limit is not None and _same(asked, limit)
    if best_effort:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _same(one: str, other: str) -> bool:
    try:
        return nano(one) == nano(other)
    except QuantityError:
        return False


def _changes(spec: Object, old: Object) -> list[Cause]:
    """What a write of the spec changes and may not."""
    old_gates = {gate["name"] for gate in old.get("schedulingGates") or []}
    for index, gate in enumerate(spec.get("schedulingGates") or []):
        if gate["name"] not in old_gates:
            text = f"only deletion is allowed, but found new scheduling gate '{gate['name']}'"
            return [forbidden_value(f"spec.schedulingGates[{index}].name", text)]
    ignored = _MUTABLE + _MUTABLE_GATED if old_gates else _MUTABLE
    added_only = all(toleration in (spec.get("tolerations") or []) for toleration in old.get("tolerations") or [])
    grace, old_grace = spec["terminationGracePeriodSeconds"], old["terminationGracePeriodSeconds"]
    grace_allowed = grace == old_grace or (old_grace < 0 and grace == 1)
    if added_only and grace_allowed and _fixed_part(spec, ignored) == _fixed_part(old, ignored):
        return []
    return [forbidden_value("spec", _UPDATABLE_TEXT)]


def _fixed_part(spec: Object, ignored: tuple[str, ...]) -> Object:
    fixed = {name: value for name, value in spec.items() if name not in ignored}
    for name in _CONTAINER_LISTS:
        if name in fixed:
            fixed[name] = [{**container, "image": ""} for container in fixed[name]]
    return fixed


class BindingRefusedError(Exception):
    """The pod cannot be bound as it is; the message is that of the conflict."""


def check_binding(binding: Object) -> str:
    """The name of the node that a Binding names.

    Raises:
        ApiError: it names none, or something that is no node.
    """
    kind, name = dig(binding, ("target", "kind")) or "", dig(binding, ("target", "name")) or ""
    if kind not in ("", "Node"):
        raise plain_error(f'target.kind: Unsupported value: "{kind}": supported values: "Node", "<empty>"')
    if not name:
        raise plain_error("target.name: Required value")
    return str(name)


def bound(pod: Object, node: str, binding: Object, now: datetime) -> Object:
    """The pod once it is bound to the node, with the labels and annotations that the Binding carries.

    Raises:
        BindingRefusedError: the pod is being deleted, bound already, or gated.
    """
    metadata, spec, status = pod["metadata"], pod["spec"], pod["status"]
    name = metadata["name"]
    if "deletionTimestamp" in metadata:
        raise BindingRefusedError(f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise BindingRefusedError(f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise BindingRefusedError(f"pod {name} has non-empty .spec.schedulingGates")
    for member in ("labels", "annotations"):
        if given := dig(binding, ("metadata", member)):
            metadata = {**metadata, member: {**(metadata.get(member) or {}), **given}}
    condition = {**_CONDITION_TIMES, "type": "PodScheduled", "status": "True"}
    status = {**status, "conditions": with_condition(status.get("conditions") or [], condition, now)}
    status.pop("nominatedNodeName", None)
    return {"metadata": metadata, "spec": {**spec, "nodeName": node}, "status": status}


def with_condition(conditions: list[Object], condition: Object, now: datetime) -> list[Object]:
    """The conditions with one set; its transition time is kept when its status stays what it was."""
    kind = condition["type"]
    old = next((known for known in conditions if known["type"] == kind), None)
    moved = old is None or old["status"] != condition["status"]
    moment = timestamp(now) if old is None or moved else old.get("lastTransitionTime")
    fresh = {**condition, "lastTransitionTime": moment}
    if old is None:
        return [*conditions, fresh]
    return [fresh if known is old else known for known in conditions]
