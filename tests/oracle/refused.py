"""Pods that must be refused as long as the rule they need does not exist: the answer has to be an error."""

from tests.oracle.draw import Draw, Json
from tests.oracle.program import missing

TERM: Json = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}


# What is refused, and the plugin whose rule it needs.
NEEDED = {
    "affinity": "InterPodAffinity",
    "anti-affinity": "InterPodAffinity",
    "preferred": "InterPodAffinity",
    "known anti-affinity": "InterPodAffinity",
    "volume": "VolumeRestrictions",
    "claims": "DynamicResources",
    "device class": "DynamicResources",
}


def features() -> list[str]:
    """What is refused as long as the registry lacks the plugin for it."""
    return [feature for feature, plugin in NEEDED.items() if plugin in missing()]


def refuse(draw: Draw, objects: list[Json], pod: Json) -> str:
    """Give the pod, or the cluster around it, one feature without a rule, and return its name."""
    spec = pod["spec"]
    container = spec["containers"][0]
    volume: Json = draw.pick(
        (
            {"persistentVolumeClaim": {"claimName": "data"}},
            {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
            {"gcePersistentDisk": {"pdName": "d"}},
            {"awsElasticBlockStore": {"volumeID": "v"}},
            {"iscsi": {"targetPortal": "t", "iqn": "i", "lun": 0}},
        )
    )
    feature = draw.pick(features())
    match feature:
        case "affinity":
            spec.setdefault("affinity", {})["podAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}
        case "anti-affinity":
            spec.setdefault("affinity", {})["podAntiAffinity"] = {
                "requiredDuringSchedulingIgnoredDuringExecution": [TERM]
            }
        case "preferred":
            kind = draw.pick(("podAffinity", "podAntiAffinity"))
            term: Json = {"weight": 1, "podAffinityTerm": TERM}
            spec.setdefault("affinity", {})[kind] = {"preferredDuringSchedulingIgnoredDuringExecution": [term]}
        case "claims":
            spec["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "gpu-claim"}]
        case "volume":
            spec.setdefault("volumes", []).append({"name": "refused", **volume})
        case "device class":
            objects.append(
                {
                    "apiVersion": "resource.k8s.io/v1",
                    "kind": "DeviceClass",
                    "metadata": {"name": "gpus", "uid": "uid-gpus"},
                    "spec": {"extendedResourceName": "example.com/tpu"},
                }
            )
            container.setdefault("resources", {}).setdefault("requests", {})["example.com/tpu"] = "1"
        case "known anti-affinity":
            objects.append(guard(draw, pod["metadata"]["namespace"]))
    return feature


def guard(draw: Draw, namespace: str, *, reaching: bool = True) -> Json:
    """A running pod with a required anti-affinity term.

    It reaches the namespace, because it is in it, names it, or selects all of them; or it does not, from another one.
    """
    name = "guard" if reaching else "quiet"
    home = draw.pick((namespace, "elsewhere")) if reaching else "elsewhere"
    term: Json = dict(TERM)
    reach: tuple[Json, ...] = ({"namespaces": [namespace]}, {"namespaceSelector": {}})
    if home != namespace and reaching:
        term |= draw.pick(reach)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": home, "uid": f"uid-{name}", "labels": {"app": "guard"}},
        "spec": {
            "nodeName": "n1",
            "containers": [{"name": "c", "image": "app:v1", "resources": {}}],
            "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
        },
        "status": {"phase": "Running"},
    }
