"""Random objects of storage: classes, claims, volumes, CSI nodes, drivers, capacities, attachments."""

from collections.abc import Callable

from tests.oracle.affinity import node_affinity_terms
from tests.oracle.draw import GI, MI, Draw, Json, amount
from tests.oracle.nodes import HOSTNAME, ZONE
from tests.oracle.selectors import NAMESPACES, REGION, label_selector

CSI, EBS, GCE = "csi.example.com", "ebs.csi.aws.com", "pd.csi.storage.gke.io"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"

# Provisioner and binding mode by name of the class.
CLASSES: dict[str, tuple[str, str | None]] = {
    "local": ("kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
    "bare": ("", "WaitForFirstConsumer"),
    "dynamic": (CSI, "WaitForFirstConsumer"),
    "zonal": (CSI, "WaitForFirstConsumer"),
    "ebs": ("kubernetes.io/aws-ebs", "WaitForFirstConsumer"),
    "slow": (CSI, "Immediate"),
    "modeless": (CSI, None),
}
CLAIMS = ("data", "logs", "cache", "shared", "old")
# What a claim of the name mostly is: the class that it waits with for a consumer, or bound.
USUAL = {"data": "dynamic", "logs": "dynamic", "cache": "local", "shared": "bound"}
VOLUMES = tuple(f"pv{number}" for number in range(7))
SIZES = (GI, 2 * GI, 5 * GI, 5 * GI, 10 * GI, 30 * GI, 100 * GI, 300 * MI)
HUGE = ("4611686018427387904", "4Ei", "7Ei", "-1Gi", "-4611686018427387904", "0")
ACCESS_MODES: tuple[list[str], ...] = (
    ["ReadWriteOnce"],
    ["ReadWriteOnce"],
    ["ReadWriteMany"],
    ["ReadWriteOnce", "ReadOnlyMany"],
    [],
)


def size(draw: Draw) -> str | int | float:
    return draw.pick(HUGE) if draw.chance(0.03) else amount(draw, draw.pick(SIZES))


def meta(kind: str, name: str, namespace: str = "") -> Json:
    made: Json = {"name": name}
    if namespace:
        made["namespace"] = namespace
    return made | {"uid": "-".join(("uid", kind.lower(), *filter(None, (namespace, name))))}


def storage_class(draw: Draw, name: str) -> Json:
    provisioner, mode = CLASSES[name]
    made: Json = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": meta("StorageClass", name),
        "provisioner": provisioner,
    }
    if mode is not None:
        made["volumeBindingMode"] = mode
    if name == "zonal" or draw.chance(0.06):
        made["allowedTopologies"] = draw.several(1, 2, lambda: topology_term(draw))
    return made


def topology_term(draw: Draw) -> Json:
    """Every expression must hold; a term without any matches nothing."""
    if draw.chance(0.06):
        return {}
    keys = draw.some((ZONE, REGION, "disk"), 1, 2 if draw.chance(0.3) else 1)
    values: dict[str, tuple[str, ...]] = {ZONE: ("a", "b", "c"), REGION: ("north", "south"), "disk": ("ssd", "hdd")}
    return {"matchLabelExpressions": [{"key": key, "values": draw.some(values[key], 1, 2)} for key in keys]}


def claim(draw: Draw, name: str, namespace: str, nodes: list[str], owner: Json | None = None) -> Json:
    """A claim of any class: bound, waiting for a consumer, immediate, pre-bound, lost, being deleted."""
    spec: Json = {"accessModes": draw.pick(ACCESS_MODES)}
    annotations: dict[str, str] = {}
    metadata = meta("PersistentVolumeClaim", name, namespace)
    status: Json = {"phase": "Pending"}
    if draw.chance(0.96):
        spec["resources"] = {"requests": {"storage": size(draw)}}
    kind = draw.weighted({"bound": 35, "delayed": 51, "immediate": 5, "prebound": 3, "lost": 6, "deleting": 4})
    usual = USUAL.get(name) if draw.chance(0.6) else None
    if usual is not None:
        kind = "bound" if usual == "bound" else "delayed"
    spec |= {"storageClassName": usual} if usual in CLASSES else class_of_claim(draw, kind, annotations)
    if kind in ("bound", "prebound", "lost"):
        spec["volumeName"] = draw.pick(VOLUMES) if draw.chance(0.96) else "vanished"
    if kind in ("bound", "lost"):
        status["phase"] = "Lost" if kind == "lost" else "Bound"
        if draw.chance(0.96):
            annotations[BIND_COMPLETED] = "yes"
    if kind == "deleting":
        metadata["deletionTimestamp"] = "2026-01-02T03:04:05Z"
    if kind == "delayed" and draw.chance(0.12):
        annotations[SELECTED_NODE] = draw.pick((*nodes, "gone"))
    if draw.chance(0.12):
        spec["volumeMode"] = draw.pick(("Block", "Filesystem"))
    if draw.chance(0.06):
        spec["volumeAttributesClassName"] = draw.pick(("gold", ""))
    if kind == "delayed" and draw.chance(0.12):
        selector = label_selector(draw, broken=0.04, empty=0.1, nil=0.0)
        spec["selector"] = selector
    if draw.chance(0.07):
        spec["accessModes"] = ["ReadWriteOncePod"]
    if annotations:
        metadata["annotations"] = annotations
    if owner is not None:
        metadata["ownerReferences"] = [owner]
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec, "status": status}


def class_of_claim(draw: Draw, kind: str, annotations: dict[str, str]) -> Json:
    """The class in the spec, none, or in the annotation that was there before the field and still wins."""
    names = ("local", "local", "local", *["dynamic"] * 5, "zonal", "zonal", "bare", "ebs")
    wanted = draw.pick(names if kind != "immediate" else ("slow", "modeless", "absent", ""))
    if wanted and draw.chance(0.1):
        annotations[BETA_CLASS] = wanted
        return {"storageClassName": draw.pick((wanted, "slow", "local"))}
    return {"storageClassName": wanted} if wanted or draw.chance(0.5) else {}


def source(draw: Draw, name: str) -> Json:
    match draw.weighted({"csi": 50, "local": 20, "ebs": 12, "gce": 8, "azure": 5, "cinder": 5}):
        case "local":
            return {"local": {"path": "/mnt"}}
        case "ebs":
            return {"awsElasticBlockStore": {"volumeID": draw.pick(("vol-1", "aws://us-east-1a/vol-2", "vol-3"))}}
        case "gce":
            return {"gcePersistentDisk": {"pdName": draw.pick(("disk-1", "disk-2"))}}
        case "azure":
            return {"azureDisk": {"diskName": "d", "diskURI": "/subscriptions/s/d"}}
        case "cinder":
            return {"cinder": {"volumeID": "c-1"}}
    return {"csi": {"driver": draw.pick((CSI, CSI, EBS)), "volumeHandle": draw.pick((name, name, "handle-1"))}}


def volume(draw: Draw, name: str, nodes: list[str]) -> Json:
    spec: Json = {
        "capacity": {"storage": size(draw)},
        "accessModes": draw.pick((*ACCESS_MODES[:4], ["ReadWriteOncePod"])),
    }
    metadata = meta("PersistentVolume", name)
    spec |= source(draw, name)
    spec["storageClassName"] = draw.pick(("local", "local", "local", "dynamic", "zonal", "bare", "ebs", ""))
    if draw.chance(0.5):
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": node_affinity_terms(draw, nodes)}}
    if draw.chance(0.1):
        spec["volumeMode"] = draw.pick(("Block", "Filesystem"))
    if draw.chance(0.06):
        spec["volumeAttributesClassName"] = draw.pick(("gold", ""))
    phase = "Available"
    if draw.chance(0.25):
        phase = draw.pick(("Available", "Bound", "Bound", "Released", ""))
        spec["claimRef"] = {
            "kind": "PersistentVolumeClaim",
            "name": draw.pick(CLAIMS),
            "namespace": draw.pick(NAMESPACES),
        }
        if draw.chance(0.6):
            whose = f"{spec['claimRef']['namespace']}-{spec['claimRef']['name']}" if draw.chance(0.8) else "other"
            spec["claimRef"]["uid"] = f"uid-persistentvolumeclaim-{whose}"
    labels = {}
    for key, values in (
        (ZONE, ("a", "b", "a__b", " a__c ", "a____b")),
        (REGION, ("north", "south")),
        (BETA_ZONE, ("a", "b", "b__c")),
        (BETA_REGION, ("north", "")),
        ("app", ("web", "db")),
    ):
        if draw.chance(0.14 if key != "app" else 0.4):
            labels[key] = draw.pick(values)
    if labels:
        metadata["labels"] = labels
    if draw.chance(0.03):
        metadata["deletionTimestamp"] = "2026-01-02T03:04:05Z"
    made: Json = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec}
    return made | {"status": {"phase": phase}}


def csi_node(draw: Draw, node: str) -> Json:
    drivers = []
    for driver in draw.some((CSI, EBS, GCE), 0 if draw.chance(0.2) else 1, 3):
        made: Json = {"name": driver, "nodeID": node, "topologyKeys": []}
        if draw.chance(0.85):
            made["allocatable"] = (
                {"count": draw.weighted({1: 25, 2: 30, 3: 20, 0: 5, 25: 20})} if draw.chance(0.95) else {}
            )
        drivers.append(made)
    metadata = meta("CSINode", node)
    if draw.chance(0.5):
        plugins = ("kubernetes.io/aws-ebs", "kubernetes.io/gce-pd", "kubernetes.io/azure-disk", "kubernetes.io/cinder")
        metadata["annotations"] = {MIGRATED: ",".join(draw.some(plugins, 0, 4))}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": metadata, "spec": {"drivers": drivers}}


def csi_driver(draw: Draw, name: str) -> Json:
    spec: Json = {}
    if draw.chance(0.9):
        spec["storageCapacity"] = draw.chance(0.9)
    if draw.chance(0.4):
        spec["preventPodSchedulingIfMissing"] = draw.chance(0.5)
    metadata = meta("CSIDriver", name)
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": metadata, "spec": spec}


def capacity(draw: Draw, name: str, nodes: list[str]) -> Json:
    """Without `capacity` nothing fits; kube-scheduler would crash if it scored one that has `maximumVolumeSize` alone."""
    made: Json = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": meta("CSIStorageCapacity", name, "kube-system"),
        "storageClassName": draw.pick((*["dynamic"] * 4, "zonal", "ebs")),
    }
    match draw.weighted({"all": 20, "host": 35, "zone": 38, "none": 4, "broken": 3}):
        case "all":
            made["nodeTopology"] = {}
        case "host":
            made["nodeTopology"] = {"matchLabels": {HOSTNAME: draw.pick(nodes or ["n1"])}}
        case "zone":
            made["nodeTopology"] = {
                "matchExpressions": [{"key": ZONE, "operator": "In", "values": draw.some(("a", "b", "c"), 1, 2)}]
            }
        case "broken":
            made["nodeTopology"] = {"matchExpressions": [{"key": ZONE, "operator": "Matches", "values": ["a"]}]}
    if draw.chance(0.92):
        made["capacity"] = (
            amount(draw, draw.pick((40 * GI, 100 * GI, 100 * GI, 300 * GI))) if draw.chance(0.6) else size(draw)
        )
        if draw.chance(0.2):
            made["maximumVolumeSize"] = size(draw)
    return made


def attachment(draw: Draw, name: str, nodes: list[str]) -> Json:
    spec: Json = {"attacher": draw.pick((CSI, CSI, EBS, "")), "nodeName": draw.pick(nodes or ["n1"]), "source": {}}
    if draw.chance(0.94):
        spec["source"]["persistentVolumeName"] = draw.pick((*VOLUMES, *VOLUMES, "vanished"))
    made: Json = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "spec": spec}
    return made | {"metadata": meta("VolumeAttachment", name)}


KINDS = {
    "StorageClass": "class",
    "PersistentVolumeClaim": "claim",
    "PersistentVolume": "volume",
    "CSINode": "node",
    "CSIDriver": "driver",
    "CSIStorageCapacity": "capacity",
    "VolumeAttachment": "attachment",
}


def one_object(draw: Draw, nodes: list[str], like: str = "") -> Json:
    """Any one object, or one of the kind `like`, under one of the names in use."""
    makers: dict[str, Callable[[], Json]] = {
        "class": lambda: storage_class(draw, draw.pick(tuple(CLASSES))),
        "claim": lambda: claim(draw, draw.pick(CLAIMS), draw.pick(NAMESPACES), nodes),
        "volume": lambda: volume(draw, draw.pick(VOLUMES), nodes),
        "node": lambda: csi_node(draw, draw.pick(nodes or ["n1"])),
        "driver": lambda: csi_driver(draw, draw.pick((CSI, EBS))),
        "capacity": lambda: capacity(draw, draw.pick(tuple(f"c{number}" for number in range(7))), nodes),
        "attachment": lambda: attachment(draw, draw.pick(("a0", "a1", "a2")), nodes),
    }
    likely: dict[str, float] = {
        "class": 16,
        "claim": 35,
        "volume": 25,
        "node": 10,
        "driver": 5,
        "capacity": 10,
        "attachment": 10,
    }
    return makers[KINDS[like] if like else draw.weighted(likely)]()


def objects(draw: Draw, nodes: list[str]) -> list[Json]:
    made = [storage_class(draw, name) for name in CLASSES if draw.chance(0.97)]
    made += [claim(draw, name, space, nodes) for space in NAMESPACES for name in CLAIMS if draw.chance(0.95)]
    made += [volume(draw, name, nodes) for name in VOLUMES if draw.chance(0.93)]
    made += [csi_node(draw, name) for name in nodes if draw.chance(0.85)]
    made += [csi_driver(draw, name) for name in (CSI, EBS) if draw.chance(0.75)]
    made += [capacity(draw, f"c{number}", nodes) for number in range(draw.whole(1, 7))]
    made += [attachment(draw, f"a{number}", nodes) for number in range(draw.whole(0, 3))]
    return made
