"""Plain builders of what rules beyond the node look at: labelled pods, constraints, terms, claims, volumes, drivers."""

from typing import Any

from tests.oracle.builders import container, pod
from tests.oracle.draw import Json
from tests.oracle.nodes import HOSTNAME, ZONE

SPREAD, NEAR = "PodTopologySpread", "InterPodAffinity"
RESTRICTIONS, LIMITS, BINDING, VOLUME_ZONE = "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"
CSI = "csi.example.com"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def labelled_pod(
    name: str = "wanted", on: str = "", *, app: str = "web", terminating: bool = False, **spec: Any
) -> Json:
    made = pod(container(), name=name, on=on, **spec)
    made["metadata"]["labels"] = {"app": app}
    if terminating:
        made["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
    return made


def apps(name: str) -> Json:
    return {"matchLabels": {"app": name}}


WEB = apps("web")


def spread(key: str = ZONE, skew: int = 1, *, soft: bool = False, selector: Json | None = WEB, **more: Any) -> Json:
    action = "ScheduleAnyway" if soft else "DoNotSchedule"
    made = {"topologyKey": key, "maxSkew": skew, "whenUnsatisfiable": action} | more
    return made if selector is None else made | {"labelSelector": selector}


def term(key: str = ZONE, selector: Json = WEB) -> Json:
    return {"topologyKey": key, "labelSelector": selector}


def near(*terms: Json) -> Json:
    return {"podAffinity": {REQUIRED: list(terms)}}


def apart(*terms: Json) -> Json:
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def preferences(*, affinity: dict[str, int] | None = None, anti: dict[str, int] | None = None) -> Json:
    """Preferred terms by host: the weight of each app."""

    def weighted(wanted: dict[str, int]) -> Json:
        return {PREFERRED: [{"weight": w, "podAffinityTerm": term(HOSTNAME, apps(app))} for app, w in wanted.items()]}

    return {"podAffinity": weighted(affinity or {}), "podAntiAffinity": weighted(anti or {})}


def thing(kind: str, name: str, *, group: str = "v1", namespace: str = "", **fields: Any) -> Json:
    metadata = {"name": name, "uid": f"uid-{kind}-{name}"} | ({"namespace": namespace} if namespace else {})
    metadata |= fields.pop("metadata", {})
    return {"apiVersion": group, "kind": kind, "metadata": metadata} | fields


def service(**selector: str) -> Json:
    return thing("Service", "web", namespace="default", spec={"selector": selector})


def storage_class(name: str = "fast", provisioner: str = CSI) -> Json:
    return thing(
        "StorageClass",
        name,
        group="storage.k8s.io/v1",
        provisioner=provisioner,
        volumeBindingMode="WaitForFirstConsumer",
    )


def claim(name: str, size: str = "1Gi", *, of: str = "fast", bound: str = "") -> Json:
    spec: Json = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": of,
        "resources": {"requests": {"storage": size}},
    }
    metadata: Json = {}
    if bound:
        spec["volumeName"] = bound
        metadata["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    return thing("PersistentVolumeClaim", name, namespace="default", spec=spec, metadata=metadata)


def volume(name: str, *, terms: list[Json] | None = None, labels: Json | None = None) -> Json:
    """A CSI volume, bound."""
    spec: Json = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "csi": {"driver": CSI, "volumeHandle": name},
    }
    if terms is not None:
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return thing("PersistentVolume", name, spec=spec, status={"phase": "Bound"}, metadata={"labels": labels or {}})


def capacity(name: str, size: str, *, host: str) -> Json:
    return thing(
        "CSIStorageCapacity",
        name,
        group="storage.k8s.io/v1",
        namespace="kube-system",
        storageClassName="fast",
        capacity=size,
        nodeTopology={"matchLabels": {HOSTNAME: host}},
    )


def csi_driver(**spec: Any) -> Json:
    return thing("CSIDriver", CSI, group="storage.k8s.io/v1", spec=spec)


def csi_node(name: str, count: int) -> Json:
    drivers = [{"name": CSI, "nodeID": name, "topologyKeys": [], "allocatable": {"count": count}}]
    return thing("CSINode", name, group="storage.k8s.io/v1", spec={"drivers": drivers})


def attachment(name: str, node: str, of: str) -> Json:
    spec = {"attacher": CSI, "nodeName": node, "source": {"persistentVolumeName": of}}
    return thing("VolumeAttachment", name, group="storage.k8s.io/v1", spec=spec)


def claiming(*claims: str, name: str = "wanted", on: str = "") -> Json:
    volumes = [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in claims]
    return pod(container(), name=name, on=on, volumes=volumes)
