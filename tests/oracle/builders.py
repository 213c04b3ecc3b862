"""Plain builders of nodes, pods, configurations and lines, and of what an answer must have, for cases made by hand."""

from dataclasses import dataclass
from typing import Any

from tests.oracle.configs import GROUP
from tests.oracle.draw import Json
from tests.oracle.generate import Case, encode

# Where in the answer to which line, and what must be there; ABSENT when nothing may be there.
Fact = tuple[int, str, Any]
ABSENT = object()
UU, U = "UnschedulableAndUnresolvable", "Unschedulable"
FIT, BALANCED, IMAGES, TAINTS, AFFINITY = (
    "NodeResourcesFit",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
    "TaintToleration",
    "NodeAffinity",
)


@dataclass(frozen=True)
class Trap:
    name: str
    about: str
    lines: tuple[Json, ...]
    facts: tuple[Fact, ...]

    def case(self) -> Case:
        return Case(f"trap-{self.name}", tuple(encode(line) for line in self.lines))


def node(name: str, cpu: Any = "4", memory: Any = "16Gi", *, labels: Json | None = None, **more: Any) -> Json:
    spec = {key: more[key] for key in ("taints", "unschedulable") if key in more}
    status = {"allocatable": {"cpu": cpu, "memory": memory, "pods": "110"} | more.get("allocatable", {})}
    if "images" in more:
        status["images"] = more["images"]
    metadata = {"name": name, "uid": f"uid-{name}", "labels": {"kubernetes.io/hostname": name} | (labels or {})}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def container(cpu: Any = None, memory: Any = None, *, name: str = "c", **more: Any) -> Json:
    requests = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value is not None}
    return {"name": name, "image": "app:v1", "resources": {"requests": requests} if requests else {}} | more


def pod(*containers: Json, name: str = "wanted", on: str = "", status: Json | None = None, **spec: Any) -> Json:
    made = {"containers": list(containers) or [container()]} | spec
    if on:
        made["nodeName"] = on
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": made,
        "status": {"phase": "Running" if on else "Pending"} | (status or {}),
    }


def line(wanted: Json, *objects: Json, config: Json | None = None) -> Json:
    return {"objects": list(objects), "pod": wanted, "config": config}


def config(*args: tuple[str, Json], **profile: Any) -> Json:
    entries = [{"name": name, "args": value} for name, value in args]
    first = {"schedulerName": "reprise", "pluginConfig": entries} | profile
    return {"apiVersion": GROUP, "kind": "KubeSchedulerConfiguration", "profiles": [first]}


def ratio(points: list[tuple[int, int]], *resources: str) -> Json:
    shape = [{"utilization": at, "score": score} for at, score in points]
    strategy = {
        "type": "RequestedToCapacityRatio",
        "resources": [{"name": name, "weight": 1} for name in resources],
        "requestedToCapacityRatio": {"shape": shape},
    }
    return config((FIT, {"scoringStrategy": strategy}))


def required(*terms: Json) -> Json:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def preferred(*weighted: tuple[int, Json]) -> Json:
    terms = [{"weight": weight, "preference": term} for weight, term in weighted]
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}


def labelled(key: str, operator: str, *values: str) -> Json:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def named(*names: str) -> Json:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]} for name in names]}


def image(size: int, *names: str) -> Json:
    return {"names": list(names), "sizeBytes": size}


def taint(key: str, effect: str, value: str = "") -> Json:
    return {"key": key, "effect": effect, "value": value}


def raw(number: int, name: str, plugin: str, value: Any) -> Fact:
    return (number, f"scores/{name}/{plugin}/raw", value)


def fits(number: int, *names: str) -> tuple[Fact, ...]:
    return tuple((number, f"filter/{name}/code", "Success") for name in names)


def refuses(number: int, name: str, code: str, plugin: str, *reasons: str) -> tuple[Fact, ...]:
    where = f"filter/{name}"
    return (
        (number, f"{where}/code", code),
        (number, f"{where}/plugin", plugin),
        (number, f"{where}/reasons", list(reasons)),
    )
