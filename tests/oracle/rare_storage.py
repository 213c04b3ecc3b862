"""Recipes for what storage reaches seldom (rare.py)."""

from collections.abc import Callable

from tests.oracle.draw import Json
from tests.oracle.nodes import HOSTNAME, ZONE
from tests.oracle.scene import Scene
from tests.oracle.storage import (
    BETA_ZONE,
    BIND_COMPLETED,
    CLASSES,
    CSI,
    EBS,
    SELECTED_NODE,
    capacity,
    csi_node,
    meta,
    storage_class,
)


def claim_of(scene: Scene, name: str, of: str | None, *, size: str = "1Gi", **more: Json) -> Json:
    """A claim of a class that waits, which `more` may change; it is mounted."""
    spec: Json = {"accessModes": ["ReadWriteOnce"]} | ({"storageClassName": of} if of is not None else {})
    if size:
        spec["resources"] = {"requests": {"storage": size}}
    made: Json = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": meta("PersistentVolumeClaim", name, scene.namespace) | more.get("metadata", {}),
        "spec": spec | more.get("spec", {}),
        "status": {"phase": "Pending"} | more.get("status", {}),
    }
    scene.put(made)
    return made


def mounted(scene: Scene, name: str, of: str | None, *, size: str = "1Gi", **more: Json) -> None:
    claim_of(scene, name, of, size=size, **more)
    scene.mount({"persistentVolumeClaim": {"claimName": name}})


def classes(scene: Scene) -> None:
    scene.put(*(storage_class(scene.draw, name) for name in CLASSES))


def _bound(scene: Scene, name: str, volume: Json, *, labels: Json | None = None, mode: str = "ReadWriteOnce") -> None:
    """A claim, and the volume that it is bound to; they are not mounted."""
    spec: Json = {"capacity": {"storage": "1Gi"}, "accessModes": [mode], "storageClassName": "dynamic", **volume}
    metadata = meta("PersistentVolume", f"pv-{name}") | {"labels": labels or {}}
    scene.put(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": metadata,
            "spec": spec,
            "status": {"phase": "Bound"},
        }
    )
    claim_of(
        scene,
        name,
        "dynamic",
        spec={"volumeName": f"pv-{name}", "accessModes": [mode]},
        metadata={"annotations": {BIND_COMPLETED: "yes"}},
        status={"phase": "Bound"},
    )


def odd_claims(scene: Scene) -> None:
    """A claim that PreFilter has something to say about, or that only a few classes take."""
    scene.calm()
    classes(scene)
    draw = scene.draw
    kinds: dict[str, float] = {"immediate": 18, "modeless": 18, "none": 16, "prebound": 15, "lost": 15, "deleting": 16}
    kinds |= {"ebs": 12, "bare": 14, "unknown": 8, "sizeless": 10, "chosen": 46}
    match draw.weighted(kinds):
        case "unknown":
            scene.mount({"persistentVolumeClaim": {"claimName": "unknown"}})
        case "immediate":
            mounted(scene, "rare", "slow")
        case "modeless":
            mounted(scene, "rare", "modeless")
        case "none":
            mounted(scene, "rare", draw.pick((None, "absent")))
        case "prebound":
            mounted(scene, "rare", "dynamic", spec={"volumeName": draw.pick(("pv1", "vanished"))})
        case "lost":
            bound = {"annotations": {BIND_COMPLETED: "yes"}}
            mounted(scene, "rare", "local", spec={"volumeName": "pv1"}, metadata=bound, status={"phase": "Lost"})
        case "deleting":
            mounted(scene, "rare", "dynamic", metadata={"deletionTimestamp": "2026-01-02T03:04:05Z"})
        case "ebs":
            mounted(scene, "rare", "ebs")
        case "bare":
            mounted(scene, "rare", "bare")
        case "sizeless":
            _track(scene)
            mounted(scene, "rare", "dynamic", size="")
        case _:
            chosen = {SELECTED_NODE: draw.pick((*scene.names, scene.names[0], "gone"))}
            mounted(
                scene, "rare", draw.pick(("dynamic", "dynamic", "zonal", "local")), metadata={"annotations": chosen}
            )
    _also_running(scene)


def _also_running(scene: Scene) -> None:
    """Now and then a running pod has the claim as well."""
    if scene.draw.chance(0.5):
        source = {"persistentVolumeClaim": {"claimName": "rare"}}
        scene.run(scene.draw.pick(scene.names), volumes=[{"name": "d", **source}])


def ephemeral(scene: Scene) -> None:
    """Claims that a controller makes for the pod: not there yet, of another pod, or bound to what is missing."""
    scene.calm()
    classes(scene)
    kind = scene.draw.pick(("missing", "stranger", "stranger", "vanished", "waiting"))
    scene.mount({"ephemeral": {"volumeClaimTemplate": {"spec": {}}}})
    if kind == "missing":
        return
    meta_of = scene.wanted["metadata"]
    uid = "uid-other" if kind == "stranger" else meta_of["uid"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": meta_of["name"], "uid": uid, "controller": True}
    metadata: Json = {"ownerReferences": [owner]}
    volume = scene.wanted["spec"]["volumes"][-1]["name"]
    if kind == "vanished":
        metadata["annotations"] = {BIND_COMPLETED: "yes"}
    more: Json = {"spec": {"volumeName": "vanished"}, "status": {"phase": "Bound"}} if kind == "vanished" else {}
    claim_of(scene, f"{meta_of['name']}-{volume}", "dynamic", metadata=metadata, **more)


def _track(scene: Scene) -> None:
    spec = {"storageCapacity": True}
    scene.put(
        {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": meta("CSIDriver", CSI), "spec": spec}
    )


def room(scene: Scene) -> None:
    """Capacity that differs by node, for one claim or several of one class or two; some of it of no use."""
    scene.calm()
    classes(scene)
    _track(scene)
    draw = scene.draw
    wanted = draw.pick(
        (("dynamic",), ("dynamic", "dynamic"), ("dynamic", "zonal"), ("dynamic", "local"), ("dynamic", "local"))
    )
    for number, of in enumerate(wanted):
        mounted(scene, f"rare{number}", of, size=draw.pick(("1Gi", "10Gi", "40Gi", "100Gi")))
    if draw.chance(0.3):
        # Bound to a volume of one node, so that other nodes have more than one thing against the pod.
        terms = [{"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [draw.pick(scene.names)]}]}]
        _bound(scene, "held", {"local": {"path": "/mnt"}, "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}})
        scene.mount({"persistentVolumeClaim": {"claimName": "held"}})
    for number, name in enumerate(scene.names):
        for of in dict.fromkeys(wanted):
            if draw.chance(0.75):
                made = capacity(draw, f"rare-{of}-{number}", scene.names)
                made |= {"storageClassName": of, "capacity": draw.pick(("40Gi", "100Gi", "200Gi", "2Ti"))}
                made["nodeTopology"] = {"matchLabels": {HOSTNAME: name}}
                if draw.chance(0.12):
                    del made[draw.pick(("nodeTopology", "capacity"))]
                    made.pop("maximumVolumeSize", None)
                scene.put(made)
            if of == "local" and draw.chance(0.7):
                scene.put(_local(name, draw.pick(("100Gi", "150Gi"))))
    for node in scene.nodes:
        node["metadata"]["labels"] |= {ZONE: draw.pick(("a", "b")), HOSTNAME: node["metadata"]["name"]}


def _local(node: str, size: str) -> Json:
    terms = [{"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [node]}]}]
    spec: Json = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local",
        "local": {"path": "/mnt"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
    }
    metadata = meta("PersistentVolume", f"local-{node}")
    kind = {"apiVersion": "v1", "kind": "PersistentVolume"}
    return {**kind, "metadata": metadata, "spec": spec, "status": {"phase": "Available"}}


def disks(scene: Scene) -> None:
    """One disk for two pods, which may do when both only read."""
    scene.calm()
    kinds: tuple[Json, ...] = (
        {"gcePersistentDisk": {"pdName": "disk-1"}},
        {"awsElasticBlockStore": {"volumeID": "vol-1"}},
        {"iscsi": {"targetPortal": "t", "iqn": "iqn-1", "lun": 0}},
        {"rbd": {"monitors": ["m1", "m2"], "image": "i1", "pool": "rbd"}},
    )
    shared = scene.draw.pick((*kinds, kinds[-1]))  # pods that read one RBD image are the rarest
    (kind,) = shared

    def disk() -> Json:
        read_only = {"readOnly": True} if scene.draw.chance(0.65) else {}
        return {kind: {**shared[kind], **read_only}}

    scene.mount(disk())
    for name in scene.names:
        if scene.draw.chance(0.7):
            scene.run(name, volumes=[{"name": "d", **disk()}])


def zones(scene: Scene) -> None:
    """A bound volume with labels of zones, and nodes with the same, another, an older or no label."""
    scene.calm()
    classes(scene)
    draw = scene.draw
    key = draw.pick((ZONE, BETA_ZONE))
    labels = {key: draw.pick(("a", "b", "a__b", " a__c ", "a____b"))}
    csi = {"csi": {"driver": draw.pick((CSI, EBS)), "volumeHandle": "handle-1"}}
    if draw.chance(0.3):
        volume: Json = {"volumeName": "vanished"}
        mounted(scene, "rare", "dynamic", spec=volume, metadata={"annotations": {BIND_COMPLETED: "yes"}})
        return
    _bound(
        scene,
        "rare",
        draw.pick((csi, {"local": {"path": "/mnt"}}, {"awsElasticBlockStore": {"volumeID": "vol-3"}})),
        labels=labels,
    )
    scene.mount({"persistentVolumeClaim": {"claimName": "rare"}})
    for node in scene.nodes:
        for old in (ZONE, BETA_ZONE):
            node["metadata"]["labels"].pop(old, None)
        if draw.chance(0.75):
            node["metadata"]["labels"][draw.pick((key, ZONE))] = draw.pick(("a", "a", "b"))


def one_pod_only(scene: Scene) -> None:
    """A claim that one pod alone may use, mostly in use."""
    scene.calm()
    classes(scene)
    _bound(scene, "rare", {"csi": {"driver": CSI, "volumeHandle": "h"}}, mode="ReadWriteOncePod")
    source = {"persistentVolumeClaim": {"claimName": "rare"}}
    scene.mount(source)
    if scene.draw.chance(0.8):
        scene.run(scene.draw.pick(scene.names), volumes=[{"name": "d", **source}])


def drivers(scene: Scene) -> None:
    """Drivers that nodes have or lack, and kinds of volumes that are seldom seen."""
    scene.calm()
    classes(scene)
    draw = scene.draw
    for name in (CSI, EBS):
        spec = {"preventPodSchedulingIfMissing": draw.chance(0.7)}
        scene.put(
            {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": meta("CSIDriver", name), "spec": spec}
        )
    for name in scene.names:
        if draw.chance(0.7):
            scene.put(csi_node(draw, name))
    _bound(scene, "rare", {"csi": {"driver": draw.pick((EBS, CSI)), "volumeHandle": "h"}})
    scene.mount({"persistentVolumeClaim": {"claimName": "rare"}})
    others: tuple[Json, ...] = (
        {"csi": {"driver": CSI}},
        {"azureDisk": {"diskName": "d", "diskURI": "/subscriptions/s/d"}},
        {"cinder": {"volumeID": "c-1"}},
        {"azureFile": {"secretName": "s", "shareName": "share"}},
    )
    scene.mount(draw.pick(others))
    if draw.chance(0.5):
        mounted(scene, "waiting", draw.pick(("dynamic", "ebs")))
    if draw.chance(0.6):
        # What a running pod has may be no claim at all, or not its own.
        source: Json = draw.pick(
            ({"persistentVolumeClaim": {"claimName": ""}}, *[{"ephemeral": {"volumeClaimTemplate": {"spec": {}}}}] * 2)
        )
        running = scene.run(draw.pick(scene.names), volumes=[{"name": "d", **source}])
        if "ephemeral" in source:
            claim_of(scene, f"{running['metadata']['name']}-d", "dynamic")


RECIPES: dict[Callable[[Scene], None], float] = {
    odd_claims: 1650,
    ephemeral: 610,
    room: 740,
    disks: 600,
    zones: 480,
    one_pod_only: 60,
    drivers: 510,
}
