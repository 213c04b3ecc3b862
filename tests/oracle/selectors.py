"""Random label selectors, and the labels of pods, nodes and namespaces that they can tell apart."""

from tests.oracle.draw import Draw, Json
from tests.oracle.nodes import HOSTNAME, ZONE

REGION, RACK = "topology.kubernetes.io/region", "example.com/rack"
TOPOLOGY_KEYS = (ZONE, HOSTNAME, RACK, REGION)
NAMESPACES = ("default", "shop", "batch")
# `level` holds what only looks like a number, because a label selector has no operator for numbers.
POD_LABELS: dict[str, tuple[str, ...]] = {
    "app": ("web", "db"),
    "tier": ("front", "back", ""),
    "version": ("1", "2"),
    "level": ("4", "08", "1_000", "many"),
}
BROKEN: tuple[Json, ...] = (
    {"key": "app", "operator": "In", "values": []},
    {"key": "app", "operator": "NotIn"},
    {"key": "app", "operator": "Exists", "values": ["web"]},
    {"key": "app", "operator": "Matches", "values": ["web"]},
    {"key": "level", "operator": "Gt", "values": ["3"]},
    {"key": "level", "operator": "Lt", "values": ["many"]},
    {"key": "app", "operator": "In", "values": ["not a value"]},
    {"key": "bad key", "operator": "Exists"},
    {"key": "", "operator": "DoesNotExist"},
    {"key": "app", "operator": "NotIn", "values": ["x" * 64]},
)


def labels_of_pod(draw: Draw) -> dict[str, str]:
    """Mostly `app: web`, so that selectors and pods meet."""
    made = {"app": draw.pick(("web", "web", *POD_LABELS["app"]))}
    for key in ("tier", "version", "level"):
        if draw.chance(0.4):
            made[key] = draw.pick(POD_LABELS[key])
    return {} if draw.chance(0.04) else made


def topology_of_node(draw: Draw, labels: dict[str, str], gaps: float) -> None:
    """Few zones, racks and regions; with gaps every key is missing on some nodes, now and then also that of the host."""
    for key, values in ((ZONE, ("a", "b", "c")), (RACK, ("r1", "r2")), (REGION, ("north", "south"))):
        labels.pop(key, None)
        if not draw.chance(gaps if key != REGION else 0.5):
            labels[key] = draw.pick(values)
    if draw.chance(gaps / 4):
        labels.pop(HOSTNAME, None)
    if draw.chance(gaps / 6):
        labels[HOSTNAME] = "twin"


def label_selector(draw: Draw, *, broken: float = 0.03, empty: float = 0.08, nil: float = 0.05) -> Json | None:
    """A selector of pods; None stands for none at all, which is not the empty one."""
    if draw.chance(nil):
        return None
    if draw.chance(empty):
        return {}
    made: Json = {}
    if draw.chance(0.65):
        made["matchLabels"] = {"app": draw.pick(("web", "web", "db"))}
        if draw.chance(0.2):
            key = draw.pick(("tier", "version"))
            made["matchLabels"][key] = draw.pick(POD_LABELS[key])
    if "matchLabels" not in made or draw.chance(0.2):
        made["matchExpressions"] = draw.several(1, 2, lambda: requirement(draw))
        if draw.chance(broken):
            made["matchExpressions"].append(draw.pick(BROKEN))
    return made


def requirement(draw: Draw) -> Json:
    key = draw.pick((*POD_LABELS, "absent"))
    operator = draw.weighted({"In": 38, "NotIn": 24, "Exists": 22, "DoesNotExist": 19})
    if operator in ("Exists", "DoesNotExist"):
        return {"key": key, "operator": operator}
    return {"key": key, "operator": operator, "values": draw.some(POD_LABELS.get(key, ("x",)), 1, 2)}


def namespaces(draw: Draw) -> list[Json]:
    """Namespaces as objects; one of which pods exist may be unknown."""
    return [namespace(draw, name) for name in (*NAMESPACES, "elsewhere") if draw.chance(0.88)]


def namespace(draw: Draw, name: str) -> Json:
    labels = {"kubernetes.io/metadata.name": name}
    if draw.chance(0.7):
        labels["team"] = draw.pick(("red", "blue"))
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "uid": f"uid-ns-{name}", "labels": labels},
    }


def namespace_selector(draw: Draw) -> Json:
    match draw.weighted({"all": 25, "team": 40, "name": 15, "not": 24, "broken": 7, "nobody": 4}):
        case "all":
            return {}
        case "name":
            return {"matchLabels": {"kubernetes.io/metadata.name": draw.pick(NAMESPACES)}}
        case "not":
            return {"matchExpressions": [{"key": "team", "operator": draw.pick(("DoesNotExist", "Exists"))}]}
        case "broken":
            return {"matchExpressions": [draw.pick(BROKEN)]}
        case "nobody":
            return {"matchLabels": {"team": "green"}}
    return {"matchLabels": {"team": draw.pick(("red", "blue"))}}
