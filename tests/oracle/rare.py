"""Recipes for what chance alone reaches too seldom: each turns a drawn case into one that comes close to it.

What a recipe does not touch stays as it was drawn, and what it does is drawn again, so that no two cases are alike.
"""

from collections.abc import Callable

from tests.oracle import rare_storage
from tests.oracle.draw import MI, Json
from tests.oracle.nodes import HOSTNAME, SCALARS, ZONE
from tests.oracle.pod_affinity import PREFERRED
from tests.oracle.rare_terms import (
    WEB,
    added_terms,
    broken_pod_terms,
    broken_preferences,
    expression,
    first_of_its_kind,
    named_nodes,
    node_terms,
    one_node,
    pod_terms,
)
from tests.oracle.scene import Scene
from tests.oracle.selectors import BROKEN


def all_alike(scene: Scene) -> None:
    """What gives points gives every node the same: one taint, one image, one term, one pod in the only zone."""
    draw = scene.draw
    scene.calm()
    for node in scene.nodes:
        node["metadata"]["labels"] |= {ZONE: "a", "disk": "ssd"}
        node["spec"]["taints"] = [{"key": key, "effect": "PreferNoSchedule"} for key in ("dedicated", "level")]
    if draw.chance(0.5):
        tolerated = {"key": "level", "operator": "Exists", "effect": draw.pick(("PreferNoSchedule", "NoSchedule", ""))}
        scene.wanted["spec"]["tolerations"] = [tolerated]
    if draw.chance(0.4):
        scene.wanted["spec"]["initContainers"] = [{"name": "i0", "image": "app:v1", "resources": {}}]
    if draw.chance(0.3):
        scene.mount({"image": {"reference": "app:v1"}})
    near = {
        "weight": draw.pick((100, draw.whole(1, 100))),
        "podAffinityTerm": {"topologyKey": ZONE, "labelSelector": {}},
    }
    some = {"weight": draw.pick((100, draw.whole(1, 100))), "preference": expression("disk", "In", ["ssd"])}
    scene.wanted["spec"]["affinity"] = {
        draw.pick(("podAffinity", "podAntiAffinity")): {PREFERRED: [near]},
        "nodeAffinity": {PREFERRED: [some]},
    }
    image = [{"names": ["app:v1"], "sizeBytes": draw.pick((50, 500, 900)) * MI}]
    for node in scene.nodes:
        node["status"]["images"] = image
    scene.run(draw.pick(scene.names))


def soft_spread(scene: Scene) -> None:
    """A constraint that only gives points, with a selector of any kind."""
    draw = scene.draw
    scene.calm()
    scene.wanted["metadata"]["labels"] = {"app": "web"}
    operator = draw.pick(("Exists", "DoesNotExist", "NotIn"))
    odd: Json = {"key": "tier", "operator": operator} | ({"values": ["back"]} if operator == "NotIn" else {})
    soft: Json = {"maxSkew": draw.pick((1, 3)), "whenUnsatisfiable": "ScheduleAnyway"}
    soft["topologyKey"] = draw.pick((ZONE, HOSTNAME))
    by_tier: Json = {"matchExpressions": [odd]}
    broken: Json = {"matchExpressions": [draw.pick(BROKEN)]}
    selector: Json | None = draw.pick((WEB, WEB, {}, None, by_tier, by_tier, by_tier, broken))
    if draw.chance(0.3):
        soft["nodeAffinityPolicy"] = draw.pick(("Honor", "Ignore"))
    if draw.chance(0.35):
        soft["matchLabelKeys"] = ["app"]
    scene.wanted["spec"]["topologySpreadConstraints"] = [
        soft if selector is None else soft | {"labelSelector": selector}
    ]
    often = draw.pick((0.0, 0.5, 1.0))
    for name in scene.names:
        if draw.chance(often):
            scene.run(name)


def full_nodes(scene: Scene) -> None:
    """Nodes that the pod fills to the last bit, or more than that by what counts for a container that does not ask."""
    scene.calm()
    draw = scene.draw
    cpu, memory = draw.pick(("100m", "500m", "1")), draw.pick(("100Mi", "200Mi", "1Gi"))
    for node in scene.nodes:
        node["status"]["allocatable"] = {"pods": "110", "cpu": cpu, "memory": memory, "example.com/gpu": "2"}
        if draw.chance(0.4):
            node["status"]["allocatable"]["cpu"] = draw.pick(("50m", "1", "2"))
        if draw.chance(0.3):
            node["status"]["allocatable"]["memory"] = draw.pick(("64Mi", "2Gi"))
    wanted = {"cpu": draw.pick((cpu, cpu, "0", "")), "memory": draw.pick((memory, memory, "0", ""))}
    wanted["example.com/gpu"] = draw.pick(("2", "1", "0", ""))
    scene.ask({name: value for name, value in wanted.items() if value})
    for pod in scene.pods:
        if draw.chance(0.9):
            pod["spec"].pop("nodeName", None)
    resources = [{"name": name} for name in draw.some(("cpu", "memory", "example.com/gpu"), 1, 3)]
    kind = draw.pick(("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"))
    strategy: Json = {"type": kind, "resources": resources}
    if kind == "RequestedToCapacityRatio":
        points = ((0, draw.whole(0, 10)), (draw.pick((50, 99, 100)), draw.whole(0, 10)))
        shape = [{"utilization": at, "score": score} for at, score in points]
        strategy["requestedToCapacityRatio"] = {"shape": shape}
    scene.arguments("NodeResourcesFit", {"scoringStrategy": strategy})


def balance(scene: Scene) -> None:
    """Balance from worst to best or back; or a pod that asks for nothing, scored although PreScore would have skipped it."""
    scene.calm()
    draw = scene.draw
    if draw.chance(0.4):
        scene.ask({})
        if draw.chance(0.4):
            scene.arguments("NodeResourcesBalancedAllocation", {"resources": [{"name": "example.com/gpu"}]})
        scene.profile()["plugins"] = {"preScore": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}]}}
        return
    used = draw.pick(("cpu", "memory"))
    rest = [name for name in ("cpu", "memory", "example.com/gpu", "hugepages-2Mi") if name != used]
    resources = [used, *draw.some(rest, 1, draw.pick((1, 1, 2)))]
    scene.arguments("NodeResourcesBalancedAllocation", {"resources": [{"name": name} for name in resources]})
    sizes = {"cpu": "1", "memory": "1Gi", "example.com/gpu": "4", "hugepages-2Mi": "8Mi"}
    for pod in scene.pods:
        pod["spec"].pop("nodeName", None)
    for node in scene.nodes:
        name = node["metadata"]["name"]
        node["status"]["allocatable"] = {"pods": "110", **sizes}
        container = {"name": "c0", "image": "app:v1", "resources": {"requests": {used: sizes[used]}}}
        for _ in range(draw.pick((0, 1, 1, 1, 2))):
            scene.run(name, containers=[container])
    scene.ask({name: sizes[name] for name in resources if name != used} | ({used: "0"} if draw.chance(0.3) else {}))


def scarce(scene: Scene) -> None:
    """A scalar of which there is enough on the node, but not any more."""
    scene.calm()
    requests: Json = {}
    for name in scene.draw.some(("ephemeral-storage", *SCALARS), 1, 3):
        size = {"hugepages-2Mi": 2 * MI, "hugepages-1Gi": 1024 * MI}.get(name, 1)
        requests[name] = str(size * 2)
        for node in scene.nodes:
            node["status"]["allocatable"][name] = str(size * 3)
            container = {"name": "c0", "image": "app:v1", "resources": {"requests": {name: str(size * 2)}}}
            if scene.draw.chance(0.5):
                scene.run(node["metadata"]["name"], containers=[container])
    scene.ask(requests)
    if scene.draw.chance(0.3):
        requests[scene.draw.pick(("shares", "storage", "pods"))] = "1"


def ports(scene: Scene) -> None:
    """The same port on the same address, on another one, on all, or of another protocol."""
    scene.calm()
    addresses = ("", "0.0.0.0", "10.0.0.1", "127.0.0.1", "10.0.0.1", "127.0.0.1", "::", "::1")

    def port() -> Json:
        return {
            "hostPort": 80,
            "hostIP": scene.draw.pick(addresses),
            "protocol": scene.draw.pick(("TCP", "TCP", "UDP")),
        }

    scene.wanted["spec"]["containers"][0]["ports"] = [port()]
    for node in scene.names:
        if scene.draw.chance(0.8):
            scene.run(node, containers=[{"name": "c0", "image": "app:v1", "resources": {}, "ports": [port()]}])


def spread_rules(scene: Scene) -> None:
    """Constraints that refuse: of the profile's defaults, with minDomains, with matchLabelKeys, by a selector that is broken."""
    draw = scene.draw
    scene.calm()
    key = draw.pick((ZONE, HOSTNAME))
    scene.wanted["metadata"]["labels"] = {"app": "web", "version": "1"}
    for name in scene.names:
        for _ in range(draw.whole(0, 2)):
            scene.run(name)
    made: Json = {"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": WEB}
    match draw.weighted({"default": 35, "domains": 24, "keys": 25, "broken": 120, "soft": 20, "owner": 145}):
        case "default":
            plain = {name: value for name, value in made.items() if name != "labelSelector"}
            scene.arguments("PodTopologySpread", {"defaultingType": "List", "defaultConstraints": [plain]})
            _serve(scene)
            return
        case "domains":
            made |= {"minDomains": draw.whole(2, 9), "nodeTaintsPolicy": draw.pick(("Honor", "Ignore"))}
        case "keys":
            made["matchLabelKeys"] = ["version"]
            made["nodeAffinityPolicy"] = draw.pick(("Honor", "Ignore"))
        case "broken":
            made["labelSelector"] = {"matchExpressions": [draw.pick(BROKEN)]}
            made["whenUnsatisfiable"] = draw.pick(("DoNotSchedule", "ScheduleAnyway"))
        case "owner":
            _own(scene)
            return
        case _:
            # By the system's defaults, of which the zone's counts for nothing on a node without a zone.
            for node in scene.nodes:
                if draw.chance(0.4):
                    node["metadata"]["labels"].pop(ZONE, None)
            _serve(scene)
            return
    scene.wanted["spec"]["topologySpreadConstraints"] = [made]


def _serve(scene: Scene) -> None:
    metadata = {"name": "one", "namespace": scene.namespace, "uid": f"uid-Service-{scene.namespace}-one"}
    scene.put({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"selector": {"app": "web"}}})


def _own(scene: Scene) -> None:
    """Owners that do not count: of another group or version, of another kind, or that do not control."""
    draw = scene.draw
    groups = ("apps/v1beta1", "example.com/v1", "apps", "extensions/v1beta1")
    kind = draw.pick(("ReplicaSet", "StatefulSet", "ReplicationController", "Job", "DaemonSet"))
    reference = {"apiVersion": draw.pick(groups), "kind": kind, "name": "one", "uid": "uid-owner", "controller": True}
    if draw.chance(0.33):
        reference |= {"apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": False}
    scene.wanted["metadata"]["ownerReferences"] = [reference]


def unprepared(scene: Scene) -> None:
    """A plugin whose PreFilter or PreScore is disabled, and a pod that it has something to do with."""
    point, name, recipe = scene.draw.pick(UNPREPARED)
    recipe(scene)
    scene.profile()["plugins"] = {point: {"disabled": [{"name": name}]}}


def overflow(scene: Scene) -> None:
    """Sizes that int64 holds, and a hundred times of which it does not: a score may be no score at all."""
    scene.calm()
    for node in scene.nodes:
        sizes = ("92233720368547759", "100Pi", "120Pi", "160Pi", "7Ei", "9223372036854775807")
        node["status"]["allocatable"]["memory"] = scene.draw.pick(sizes)
    strategy = {
        "type": scene.draw.pick(("LeastAllocated", "LeastAllocated", "MostAllocated")),
        "resources": [{"name": "memory"}],
    }
    scene.arguments("NodeResourcesFit", {"scoringStrategy": strategy})
    scene.ask({"memory": scene.draw.pick(("1Gi", "30Pi", "46116860184273879"))})


def feature_mounts(scene: Scene) -> None:
    """Bind mount options of a container, or of one that is only there to debug."""
    scene.calm()
    mount = {"name": "v0", "mountPath": "/data", "bindMountOptions": ["noexec"]}
    if scene.draw.chance(0.4):
        scene.wanted["spec"]["containers"][0]["volumeMounts"] = [mount]
    else:
        scene.wanted["spec"]["ephemeralContainers"] = [{"name": "debug", "image": "tool", "volumeMounts": [mount]}]
    if scene.draw.chance(0.2):
        scene.wanted["spec"] |= {"hostNetwork": True, "hostUsers": False}
    for node in scene.nodes:
        if scene.draw.chance(0.5):
            node["status"]["declaredFeatures"] = ["VolumeBindMountOptions"]


# Those that must fail twice: half of the others only do without what was not prepared.
MUST_FAIL: tuple[tuple[str, str, Callable[[Scene], None]], ...] = (
    ("preFilter", "PodTopologySpread", spread_rules),
    ("preFilter", "InterPodAffinity", pod_terms),
    ("preFilter", "VolumeRestrictions", rare_storage.one_pod_only),
    ("preFilter", "VolumeBinding", rare_storage.room),
    ("preFilter", "NodeDeclaredFeatures", feature_mounts),
    ("preScore", "PodTopologySpread", soft_spread),
    ("preScore", "InterPodAffinity", all_alike),
)
UNPREPARED = (
    *MUST_FAIL,
    *MUST_FAIL,
    ("preFilter", "NodePorts", ports),
    ("preFilter", "NodeResourcesFit", scarce),
    ("preFilter", "NodeResourcesFit", full_nodes),
    ("preFilter", "NodeVolumeLimits", rare_storage.drivers),
    ("preFilter", "VolumeZone", rare_storage.zones),
    ("preFilter", "NodeAffinity", added_terms),
    ("preFilter", "NodePorts", ports),
    ("preScore", "TaintToleration", all_alike),
    ("preScore", "TaintToleration", all_alike),
    ("preScore", "NodeAffinity", broken_preferences),
    ("preScore", "NodeAffinity", broken_preferences),
    ("preScore", "VolumeBinding", rare_storage.room),
)
# How often, of some 9,000 cases.
RECIPES: dict[Callable[[Scene], None], float] = {
    pod_terms: 530,
    broken_pod_terms: 1080,
    first_of_its_kind: 80,
    all_alike: 290,
    node_terms: 1180,
    named_nodes: 200,
    one_node: 110,
    added_terms: 230,
    full_nodes: 620,
    balance: 410,
    overflow: 300,
    scarce: 240,
    ports: 180,
    spread_rules: 820,
    soft_spread: 520,
    unprepared: 2000,
    feature_mounts: 140,
    **rare_storage.RECIPES,
}


def touch(scene: Scene) -> None:
    """Make something rare of the scene."""
    scene.draw.weighted(RECIPES)(scene)
