"""Random topology spread constraints, and the objects from which default ones deduce their selector."""

from tests.oracle.draw import Draw, Json
from tests.oracle.nodes import HOSTNAME, ZONE
from tests.oracle.selectors import NAMESPACES, RACK, TOPOLOGY_KEYS, label_selector, labels_of_pod

CONTROLLERS = ("ReplicationController", "ReplicaSet", "StatefulSet")
GROUPS = {"ReplicationController": "v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1"}


def constraint(draw: Draw, action: str | None = None) -> Json:
    made: Json = {
        "maxSkew": draw.weighted({1: 60, 2: 25, 3: 10, 5: 5}),
        "topologyKey": draw.weighted({ZONE: 50, HOSTNAME: 25, RACK: 23, "absent": 2}),
        "whenUnsatisfiable": action or draw.pick(("DoNotSchedule", "ScheduleAnyway")),
    }
    selector = label_selector(draw, broken=0.08, empty=0.08, nil=0.09)
    if selector is not None:
        made["labelSelector"] = selector
    if made["whenUnsatisfiable"] == "DoNotSchedule" and draw.chance(0.3):
        made["minDomains"] = draw.whole(1, 4)
    if draw.chance(0.3):
        made["nodeAffinityPolicy"] = draw.pick(("Honor", "Ignore"))
    if draw.chance(0.45):
        made["nodeTaintsPolicy"] = draw.pick(("Honor", "Honor", "Ignore"))
    if draw.chance(0.25):
        made["matchLabelKeys"] = draw.some(("version", "tier", "absent"), 1, 2)
    return made


def constraints(draw: Draw) -> list[Json]:
    """One to three, of one action or of both; a key and an action are together once only, as the API server demands."""
    action = draw.pick(("DoNotSchedule", "ScheduleAnyway", None))
    made = draw.several(1, 3, lambda: constraint(draw, action))
    return list({(one["topologyKey"], one["whenUnsatisfiable"]): one for one in made}.values())


def dress_pod(draw: Draw, pod: Json) -> None:
    """Own constraints, or none so that the default ones apply; the latter mostly with a controller."""
    if draw.chance(0.65):
        pod["spec"]["topologySpreadConstraints"] = constraints(draw)
    if draw.chance(0.6):
        own(draw, pod)
    if draw.chance(0.2):
        # Policies look at the pod's node affinity and tolerations.
        pod["spec"].setdefault("nodeSelector", {"disk": draw.pick(("ssd", "hdd"))})


def own(draw: Draw, pod: Json) -> None:
    """Say who controls the pod: one that exists, another kind of object, one of another group, one that does not control."""
    kind = draw.pick(CONTROLLERS)
    reference: Json = {
        "apiVersion": GROUPS[kind],
        "kind": kind,
        "name": draw.pick(("one", "two")),
        "uid": "uid-owner",
        "controller": True,
    }
    match draw.weighted({"": 80, "group": 8, "no": 6, "kind": 6}):
        case "group":
            reference["apiVersion"] = draw.pick(("apps/v1beta1", "example.com/v1", "v1", "apps"))
        case "no":
            reference["controller"] = False
        case "kind":
            reference["kind"] = draw.pick(("Job", "DaemonSet", "Deployment"))
    pod["metadata"]["ownerReferences"] = [reference]


def objects(draw: Draw) -> list[Json]:
    return draw.several(1, 6, lambda: one_object(draw))


def one_object(draw: Draw, like: tuple[str, str, str] | None = None) -> Json:
    """A Service or a controller; its selector may be absent, empty, or (of a ReplicaSet) one that cannot be parsed.

    Args:
        like: kind, namespace and name of the object to make, if they are not to be drawn.
    """
    kind = draw.weighted({"Service": 40, "ReplicationController": 18, "ReplicaSet": 24, "StatefulSet": 18})
    name, namespace = draw.pick(("one", "two")), draw.pick(NAMESPACES)
    if like is not None:
        kind, namespace, name = like
    spec: Json = {}
    if kind in ("Service", "ReplicationController"):
        if draw.chance(0.92):
            labels = labels_of_pod(draw)
            keys = ["app", *draw.some(("tier", "version"), 0, 1)]
            spec["selector"] = {} if draw.chance(0.06) else {key: labels[key] for key in keys if key in labels}
    else:
        selector = label_selector(draw, broken=0.08)
        if selector is not None:
            spec["selector"] = selector
    return {
        "apiVersion": GROUPS.get(kind, "v1"),
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{kind}-{namespace}-{name}"},
        "spec": spec,
    }


def args(draw: Draw) -> Json:
    """Of PodTopologySpread: the system's defaults, none, or a list of one's own."""
    if draw.chance(0.25):
        return {"defaultingType": "System"}
    made = []
    for key in draw.some((*TOPOLOGY_KEYS, "absent"), 0, 3):
        action = draw.pick(("DoNotSchedule", "ScheduleAnyway"))
        made.append({"maxSkew": draw.pick((1, 2, 3)), "topologyKey": key, "whenUnsatisfiable": action})
    return {"defaultingType": "List", "defaultConstraints": made}
