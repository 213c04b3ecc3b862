"""Random pods, pending and bound."""

from tests.oracle.affinity import node_affinity, node_selector, toleration
from tests.oracle.draw import GI, MI, Draw, Json, Setting, quantity
from tests.oracle.images import reference
from tests.oracle.nodes import SCALARS, UNSCHEDULABLE_TAINT

NAMESPACES = ("default", "shop", "batch")
CPU_SIZES = (0, 1, 50, 100, 100, 200, 250, 500, 500, 800, 1000, 1500, 2000)
MEMORY_SIZES = (0, 1, 64 * MI, 128 * MI, 200 * MI, 256 * MI, 300_000_001, 512 * MI, 700_000_001, GI, 2 * GI)
EPHEMERAL_SIZES = (0, 1, 500 * MI, GI, GI, 2 * GI, 15 * GI)
UNKNOWN = ("requests.example.com/x", "shares", "pods", "storage")


def requests(draw: Draw, setting: Setting) -> Json:
    """A resource list: absent, zero and small or large quantities of everything a scheduler counts or must not count."""
    made: Json = {}
    if draw.chance(0.75):
        made["cpu"] = quantity(draw, "cpu", draw.pick(CPU_SIZES) if draw.chance(0.97) else 9000)
    if draw.chance(0.7):
        made["memory"] = quantity(draw, "memory", draw.pick(MEMORY_SIZES) if draw.chance(0.97) else 20 * GI)
        if setting.theme == "huge":
            made["memory"] = draw.pick(("1Gi", "30Pi", "9007199254740993", "46116860184273879"))
    if draw.chance(0.2):
        made["ephemeral-storage"] = quantity(draw, "ephemeral-storage", draw.pick(EPHEMERAL_SIZES))
    often = {"resources": 0.13, "strategy": 0.13, "balanced": 0.13, "devices": 0.45}.get(setting.theme, 0.03)
    for name in SCALARS:
        if draw.chance(often):
            size = {"hugepages-2Mi": 2 * MI, "hugepages-1Gi": GI}.get(name, 1)
            made[name] = quantity(draw, name, size * draw.pick((0, 1, 1, 2, 3)))
    if draw.chance(0.09):
        made[draw.pick(UNKNOWN)] = "3"
    return made


def port(draw: Draw) -> Json:
    number = draw.pick((80, 443, 8080))
    made: Json = {"containerPort": number}
    if draw.chance(0.85):
        made["hostPort"] = number
    if protocol := draw.weighted({"TCP": 50, "": 25, "UDP": 18, "SCTP": 18}):
        made["protocol"] = protocol
    if address := draw.weighted({"": 55, "0.0.0.0": 15, "127.0.0.1": 12, "10.0.0.1": 12, "::": 13, "::1": 15}):
        made["hostIP"] = address
    return made


def container(draw: Draw, name: str, setting: Setting) -> Json:
    made: Json = {"name": name, "image": reference(draw), "resources": {}}
    if setting.theme != "besteffort" and (wanted := requests(draw, setting)):
        made["resources"]["requests"] = wanted
        if draw.chance(0.15):
            made["resources"]["limits"] = {"cpu": "8", "memory": "16Gi"}  # must not be read
    if draw.chance(0.8 if setting.theme == "ports" else 0.08):
        made["ports"] = draw.several(1, 2, lambda: port(draw))
    return made


def init_container(draw: Draw, name: str, setting: Setting) -> Json:
    made = container(draw, name, setting)
    if restart := draw.weighted({"Always": 45, "": 50, "OnFailure": 5}):
        made["restartPolicy"] = restart
    return made


def volumes(draw: Draw, setting: Setting) -> list[Json]:
    """The kinds that need no rule of a volume plugin."""
    kinds: list[Json] = [
        {"emptyDir": {}},
        {"configMap": {"name": "settings"}},
        {"secret": {"secretName": "key"}},
        {"hostPath": {"path": "/var/log"}},
        {"downwardAPI": {"items": []}},
        {"projected": {"sources": []}},
        {"image": {"reference": reference(draw), "pullPolicy": "IfNotPresent"}},
        {"image": {"reference": reference(draw)}},
    ]
    chosen = draw.some(kinds, 1, 3) if draw.chance(0.25) else []
    if setting.theme == "images" and draw.chance(0.3):
        chosen.append({"image": {"reference": reference(draw)}})
    return [{"name": f"v{i}", **kind} for i, kind in enumerate(chosen)]


def pod_level(draw: Draw, setting: Setting) -> Json:
    """spec.resources: cpu, memory and huge pages replace the containers' sum, any other name is not supported there."""
    made = {
        key: value
        for key, value in requests(draw, setting).items()
        if key in ("cpu", "memory") or key.startswith("huge")
    }
    if draw.chance(0.05):
        made["ephemeral-storage"] = "1Gi"
    level: Json = {"requests": made} if made else {}
    if draw.chance(0.3):
        level["limits"] = {"cpu": "8", "memory": "16Gi"}
    return level


def spec(draw: Draw, setting: Setting, node_names: list[str]) -> Json:
    init = [init_container(draw, f"i{i}", setting) for i in range(draw.weighted({0: 72, 1: 12, 2: 10, 3: 6}))]
    containers = [container(draw, f"c{i}", setting) for i in range(draw.weighted({1: 60, 2: 28, 3: 12}))]
    made: Json = {"containers": containers}
    if init:
        made["initContainers"] = init
    if draw.chance(0.5 if setting.theme == "levels" else 0.05):
        made["resources"] = pod_level(draw, setting)
    if draw.chance(0.4 if setting.theme == "levels" else 0.06):
        made["overhead"] = {
            "cpu": quantity(draw, "cpu", draw.pick((10, 50, 250))),
            "memory": quantity(draw, "memory", 120 * MI),
        }
    if draw.chance(0.8 if setting.theme == "affinity" else 0.15):
        made["affinity"] = {"nodeAffinity": node_affinity(draw, node_names, setting)}
    if draw.chance(0.3 if setting.theme == "affinity" else 0.07):
        made["nodeSelector"] = node_selector(draw)
    if draw.chance(0.85 if setting.theme == "taints" else 0.2):
        made["tolerations"] = draw.several(1, 4, lambda: toleration(draw))
    if draw.chance(0.15):
        made.setdefault("tolerations", []).append({**UNSCHEDULABLE_TAINT, "operator": "Exists"})
    if mounted := volumes(draw, setting):
        made["volumes"] = mounted
    return made


def pod(draw: Draw, name: str, uid: str, setting: Setting, node_names: list[str]) -> Json:
    """A pending pod."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": draw.pick(NAMESPACES),
            "uid": uid,
            "labels": {"app": draw.pick(("web", "db"))},
        },
        "spec": spec(draw, setting, node_names),
        "status": {"phase": "Pending"},
    }


def existing(draw: Draw, name: str, uid: str, setting: Setting, node_names: list[str]) -> Json:
    """A pod that is bound to one of the nodes or to one that is unknown, or is still pending; it may end or be terminating."""
    made = pod(draw, name, uid, setting, node_names)
    if draw.chance(0.93):
        made["spec"]["nodeName"] = draw.pick(node_names) if node_names and draw.chance(0.95) else "gone"
    made["status"]["phase"] = draw.weighted({"Running": 80, "Pending": 8, "Succeeded": 5, "Failed": 5, "Unknown": 2})
    if draw.chance(0.07):
        made["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
    if draw.chance(0.06):
        made["spec"].setdefault("affinity", {})["podAntiAffinity"] = {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 5, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}}
            ]
        }
    if draw.chance(0.7 if setting.theme == "resize" else 0.05):
        resized(draw, made, setting)
    return made


def resized(draw: Draw, made: Json, setting: Setting) -> None:
    """In-place resize under way: what the kubelet has allocated and what is in force may differ from the spec."""

    def statuses(containers: list[Json]) -> list[Json]:
        result = []
        for one in containers:
            entry: Json = {"name": one["name"]}
            if draw.chance(0.7):
                entry["allocatedResources"] = requests(draw, setting)
            if draw.chance(0.7):
                entry["resources"] = {} if draw.chance(0.1) else {"requests": requests(draw, setting)}
            if draw.chance(0.85):
                result.append(entry)
        return result

    made["status"]["containerStatuses"] = statuses(made["spec"]["containers"])
    if "initContainers" in made["spec"]:
        made["status"]["initContainerStatuses"] = statuses(made["spec"]["initContainers"])
    if draw.chance(0.5):
        reason = draw.weighted({"Infeasible": 60, "Deferred": 30, "": 10})
        made["status"]["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": reason}]
        if draw.chance(0.2):
            # Only the first condition of the type counts.
            made["status"]["conditions"].append({"type": "PodResizePending", "status": "True", "reason": "Infeasible"})
    if draw.chance(0.3):
        made["spec"].setdefault("resources", pod_level(draw, setting))
        if draw.chance(0.8):
            made["status"]["resources"] = {"requests": requests(draw, setting)}
        if draw.chance(0.8):
            made["status"]["allocatedResources"] = requests(draw, setting)
