"""Nodes as a cloud would give them: a few sizes, three zones, two architectures, some set aside."""

from collections.abc import Iterator
from typing import NamedTuple

from scheduler.sim.objects import Object

ZONES = ("zone-a", "zone-b", "zone-c")
REGION = "region-1"
# Every so many nodes, one is kept for batch work by a taint, and one is cordoned.
DEDICATED_EVERY = 12
CORDONED_EVERY = 50
DEDICATED_TAINT = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}
UNSCHEDULABLE_TAINT = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


class InstanceType(NamedTuple):
    """A size of node: CPUs, memory in GiB, and its architecture."""

    name: str
    cpus: int
    memory_gib: int
    architecture: str


# In the order in which the fleet takes them, over and over.
INSTANCE_TYPES = (
    InstanceType("general-4", 4, 16, "amd64"),
    InstanceType("general-8", 8, 32, "amd64"),
    InstanceType("compute-16", 16, 32, "amd64"),
    InstanceType("general-8-arm", 8, 32, "arm64"),
    InstanceType("memory-8", 8, 64, "amd64"),
)
MAX_PODS = 110


def build_nodes(count: int, *, prefix: str = "node") -> Iterator[Object]:
    """`count` ready nodes, the same each time: `node-0001` and so on."""
    width = max(4, len(str(count)))
    for index in range(count):
        yield build_node(f"{prefix}-{index + 1:0{width}}", index)


def build_node(name: str, index: int) -> Object:
    """The node at a place of the fleet, which decides its zone, size, architecture and taints."""
    zone = ZONES[index % len(ZONES)]
    kind = INSTANCE_TYPES[index // len(ZONES) % len(INSTANCE_TYPES)]
    taints: list[Object] = []
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": kind.architecture,
        "node.kubernetes.io/instance-type": kind.name,
        "topology.kubernetes.io/region": REGION,
        "topology.kubernetes.io/zone": zone,
    }
    spec: Object = {"providerID": f"sim:///{zone}/{name}"}
    if index % DEDICATED_EVERY == DEDICATED_EVERY - 1:
        labels["dedicated"] = "batch"
        taints.append(DEDICATED_TAINT)
    if index % CORDONED_EVERY == CORDONED_EVERY - 1:
        spec["unschedulable"] = True
        taints.append(UNSCHEDULABLE_TAINT)
    if taints:
        spec["taints"] = taints
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": _status(name, index, kind),
    }


def _status(name: str, index: int, kind: InstanceType) -> Object:
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}
    pressures = ({"type": f"{what}Pressure", "status": "False"} for what in ("Memory", "Disk", "PID"))
    capacity = {
        "cpu": str(kind.cpus),
        "memory": f"{kind.memory_gib}Gi",
        "ephemeral-storage": "100Gi",
        "pods": str(MAX_PODS),
    }
    # The system keeps 80 mCPU, half a GiB and a tenth of the disk for itself.
    allocatable = {
        **capacity,
        "cpu": f"{kind.cpus * 1000 - 80}m",
        "memory": f"{kind.memory_gib * 1024 - 512}Mi",
        "ephemeral-storage": "90Gi",
    }
    return {
        "capacity": capacity,
        "allocatable": allocatable,
        "conditions": [ready, *pressures],
        "addresses": [
            {"type": "InternalIP", "address": f"10.{index >> 16 & 31}.{index >> 8 & 255}.{index & 255}"},
            {"type": "Hostname", "address": name},
        ],
        "nodeInfo": {
            "architecture": kind.architecture,
            "operatingSystem": "linux",
            "osImage": "simulated",
            "kernelVersion": "",
            "kubeletVersion": "v1.37.2",
            "containerRuntimeVersion": "simulated://1.0",
        },
    }
