"""Random nodes."""

from tests.oracle.draw import GI, MI, Draw, Json, Setting, quantity
from tests.oracle.images import node_images

# Names that a scheduler must tell apart: extended (can be ignored by configuration), native scalar, huge pages, attachable
# volumes; `requests.example.com/x` and `shares` are no resource names at all, and `kubernetes.io` names are never extended.
SCALARS = (
    "example.com/gpu",
    "example.com/nic",
    "other.io/fpga",
    "hugepages-2Mi",
    "hugepages-1Gi",
    "attachable-volumes-disk",
    "kubernetes.io/slots",
)
HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"

# Values for Gt and Lt: int64 in base 10 and, besides, what only looks like it.
LABELS: dict[str, tuple[str, ...]] = {
    "disk": ("ssd", "hdd", "nvme", ""),
    "cores": ("4", "8", "16", "08", "1_000", "12345678901234567890", "9223372036854775807", "many", "0x10"),
    "example.com/team": ("red", "blue"),
    "gpu": ("true", "false", ""),
}
TAINT_KEYS = (
    "dedicated",
    "example.com/gpu",
    "node.kubernetes.io/unschedulable",
    "node.kubernetes.io/not-ready",
    "level",
)
TAINT_VALUES = ("", "db", "web", "10", "20")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
UNSCHEDULABLE_TAINT: Json = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def taint(draw: Draw, soft: float) -> Json:
    """A taint; `soft` is how often it only is a preference."""
    made: Json = {
        "key": draw.pick(TAINT_KEYS),
        "effect": "PreferNoSchedule" if draw.chance(soft) else draw.pick(EFFECTS),
    }
    if value := draw.pick(TAINT_VALUES):
        made["value"] = value
    return made


def taints(draw: Draw, often: float, soft: float) -> list[Json]:
    if not draw.chance(often):
        return []
    unique = {(t["key"], t["effect"]): t for t in draw.several(1, 4, lambda: taint(draw, soft))}
    return list(unique.values())


def labels(draw: Draw, name: str) -> dict[str, str]:
    made = {HOSTNAME: name}
    if draw.chance(0.7):
        made[ZONE] = draw.pick(("a", "b", "c"))
    for key, values in LABELS.items():
        if draw.chance(0.55):
            made[key] = draw.pick(values)
    return made


def allocatable(draw: Draw, setting: Setting) -> Json:
    """cpu, memory and pods nearly always; without room a handful of pods fills a node."""
    cpu, memory = (
        draw.pick((500, 1000, 2000, 4000, 3750, 7910)),
        draw.pick((512 * MI, GI, 2 * GI, 4 * GI, 8 * GI, 3_980_000_000)),
    )
    if setting.roomy:
        cpu, memory = (
            draw.pick((8000, 15890, 16000, 31850, 64000)),
            draw.pick((16 * GI, 31_980_000_000, 32 * GI, 64 * GI)),
        )
    made = {"cpu": quantity(draw, "cpu", cpu), "memory": quantity(draw, "memory", memory)}
    if setting.theme == "huge":
        made["memory"] = draw.pick(("100Pi", "1Ei", "7Ei", "9223372036854775807", "92233720368547759", "80Pi"))
    made["pods"] = "110" if setting.roomy else draw.weighted({"110": 40, "10": 20, "4": 14, "2": 9, "1": 5, "0": 3})
    if draw.chance(0.95 if setting.roomy else 0.7):
        made["ephemeral-storage"] = quantity(draw, "ephemeral-storage", draw.pick((5 * GI, 10 * GI, 40 * GI)))
    for name in SCALARS:
        if draw.chance(0.95 if setting.theme == "devices" else 0.9 if setting.roomy else 0.55):
            size = {"hugepages-2Mi": 2 * MI, "hugepages-1Gi": GI}.get(name, 1)
            pieces = (3, 3, 4, 5) if setting.theme == "devices" else (8, 16, 20) if setting.roomy else (0, 1, 2, 4, 8)
            made[name] = quantity(draw, name, size * draw.pick(pieces))
    if draw.chance(0.03):
        made[draw.pick(("requests.example.com/x", "shares", "example.com/a b"))] = "4"
    for name in ("cpu", "memory", "pods"):
        if draw.chance(0.02):
            del made[name]
    if draw.chance(0.01):
        made["cpu"] = "0"
    return made


def node(draw: Draw, name: str, uid: str, setting: Setting) -> Json:
    status: Json = {"allocatable": allocatable(draw, setting)}
    if draw.chance(0.1):
        status["capacity"] = {"cpu": "64", "memory": "256Gi", "pods": "250"}  # must not be read
    if images := node_images(draw, 0.9 if setting.theme == "images" else 0.3):
        status["images"] = images
    if draw.chance(0.3):
        status["conditions"] = [{"type": "Ready", "status": "True"}, {"type": "MemoryPressure", "status": "False"}]
    spec: Json = {}
    unschedulable = draw.chance(0.03 if setting.roomy else 0.2 if setting.theme == "taints" else 0.06)
    made_taints = taints(draw, 0.8 if setting.theme == "taints" else 0.15, 0.9 if setting.roomy else 0.1)
    if unschedulable:
        spec["unschedulable"] = True
        if draw.chance(0.7) and all(t["key"] != UNSCHEDULABLE_TAINT["key"] for t in made_taints):
            made_taints.append(dict(UNSCHEDULABLE_TAINT))
    if made_taints:
        spec["taints"] = made_taints
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": uid, "labels": labels(draw, name)},
        "spec": spec,
        "status": status,
    }
