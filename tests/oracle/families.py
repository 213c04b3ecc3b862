"""Rules that look beyond the node, as themes of cases: what each adds to nodes, pods, configuration and other objects."""

from tests.oracle import features, pod_affinity, spread, storage, volumes
from tests.oracle.draw import Draw, Json, Setting
from tests.oracle.nodes import node
from tests.oracle.pods import existing, pod
from tests.oracle.program import missing
from tests.oracle.selectors import NAMESPACES, labels_of_pod, namespace, namespaces, topology_of_node

# The plugins that must exist before a theme's pods are more than refused.
PLUGINS: dict[str, tuple[str, ...]] = {
    "spread": ("PodTopologySpread",),
    "pod affinity": ("InterPodAffinity",),
    "volumes": ("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"),
    "features": ("NodeDeclaredFeatures",),
}
OFTEN = {"spread": 30.0, "pod affinity": 30.0, "volumes": 40.0, "features": 12.0}
ARGS = {
    "spread": ("PodTopologySpread", spread.args),
    "pod affinity": ("InterPodAffinity", pod_affinity.args),
    "volumes": ("VolumeBinding", volumes.args),
}


def available() -> list[str]:
    """The themes whose plugins exist."""
    lacking = set(missing())
    return [theme for theme, plugins in PLUGINS.items() if lacking.isdisjoint(plugins)]


def make_setting(draw: Draw, themes: dict[str, float]) -> Setting:
    """A theme with its family, or a theme of other rules with a family now and then."""
    there = available()
    theme = draw.weighted({**themes, **{family: OFTEN[family] for family in there}})
    if theme in there:
        families = {theme, *(family for family in there if draw.chance(0.08))}
        gaps = draw.pick((0.0, 0.0, 0.1, 0.3))
        return Setting(theme, roomy=draw.chance(0.9), families=frozenset(families), gaps=gaps)
    roomy = draw.chance(0.6)
    families = {family for family in there if draw.chance(0.3 if theme == "mixed" else 0.03)}
    return Setting(theme, roomy=roomy, families=frozenset(families), gaps=0.2)


def make_node(draw: Draw, name: str, uid: str, setting: Setting) -> Json:
    made = node(draw, name, uid, setting)
    if setting.theme in PLUGINS and draw.chance(0.9):
        made["spec"].pop("unschedulable", None)
        if setting.theme != "spread" or draw.chance(0.6):
            made["spec"].pop("taints", None)
    dress_node(draw, setting, made)
    return made


def make_pod(draw: Draw, name: str, uid: str, setting: Setting, nodes: list[str]) -> Json:
    """A pending pod."""
    made = pod(draw, name, uid, setting, nodes)
    quieten(draw, setting, made)
    dress_pod(draw, setting, made, running=False)
    return made


def make_existing(draw: Draw, name: str, uid: str, setting: Setting, nodes: list[str]) -> Json:
    """A pod of the cluster, mostly running; of rules that look beyond the node the more the same."""
    made = existing(draw, name, uid, setting, nodes)
    quieten(draw, setting, made)
    dress_pod(draw, setting, made, running=True)
    return made


def quieten(draw: Draw, setting: Setting, pod: Json) -> None:
    """Of a case about rules that look beyond the node the pods mostly fit by the other rules."""
    if setting.theme not in PLUGINS or draw.chance(0.15):
        return
    spec = pod["spec"]
    for key in ("affinity", "nodeSelector", "initContainers", "overhead", "resources"):
        spec.pop(key, None)
    pod["status"].pop("initContainerStatuses", None)
    spec["containers"] = [
        {"name": f"c{number}", "image": "app:v1", "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}}}
        for number in range(len(spec["containers"]))
    ]
    if draw.chance(0.3):
        del spec["containers"][0]["resources"]["requests"]


def dress_node(draw: Draw, setting: Setting, node: Json) -> None:
    if setting.looks_beyond:
        topology_of_node(draw, node["metadata"]["labels"], setting.gaps)
    if "features" in setting.families:
        features.dress_node(draw, node)
    if setting.families & {"spread", "volumes"} and draw.chance(0.8):
        node["metadata"]["labels"]["disk"] = draw.pick(("ssd", "ssd", "hdd"))
    if "volumes" in setting.families:
        for key, values in ((storage.BETA_ZONE, ("a", "b", "c")), (storage.BETA_REGION, ("north", "south"))):
            if draw.chance(0.2):
                node["metadata"]["labels"][key] = draw.pick(values)


def dress_pod(draw: Draw, setting: Setting, pod: Json, *, running: bool) -> None:
    if setting.looks_beyond:
        pod["metadata"]["labels"] = labels_of_pod(draw)
        pod["metadata"]["namespace"] = draw.pick((*NAMESPACES[:1] * 3, *NAMESPACES))
    if "spread" in setting.families:
        spread.dress_pod(draw, pod)
    if "pod affinity" in setting.families:
        pod_affinity.dress_pod(draw, pod, running=running)
    if "volumes" in setting.families:
        volumes.dress_pod(draw, pod, running=running)
    if "features" in setting.families and not running:
        features.dress_pod(draw, pod)


def objects(draw: Draw, setting: Setting, nodes: list[str], pods: list[Json]) -> list[Json]:
    """Everything but nodes and pods."""
    made: list[Json] = []
    if "pod affinity" in setting.families:
        made += namespaces(draw)
    if "spread" in setting.families:
        made += spread.objects(draw)
    if "volumes" in setting.families:
        made += storage.objects(draw, nodes)
        for pod in pods:
            made += volumes.ephemeral_claims(draw, pod, nodes)
    return list({key_of(one): one for one in made}.values())


def one_object(draw: Draw, setting: Setting, nodes: list[str], known: list[tuple[str, str, str]]) -> Json | None:
    """One new or changed object of the kinds that the setting's rules read; often of a kind that is there.

    Args:
        known: kind, namespace and name of the objects that there are.
    """
    if known and draw.chance(0.4):
        wanted = draw.pick(sorted({kind for kind, _, _ in known}))
        like = draw.pick([key for key in known if key[0] == wanted])
        if like[0] in storage.KINDS:
            return storage.one_object(draw, nodes, like[0])
        return namespace(draw, like[2]) if like[0] == "Namespace" else spread.one_object(draw, like)
    kinds = sorted(setting.families & {"pod affinity", "spread", "volumes"})
    match draw.pick(kinds) if kinds else "":
        case "pod affinity":
            return namespace(draw, draw.pick((*NAMESPACES, "elsewhere")))
        case "spread":
            return spread.one_object(draw)
        case "volumes":
            return storage.one_object(draw, nodes)
    return None


def key_of(one: Json) -> tuple[str, str, str]:
    return one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]


def plugin_args(draw: Draw, setting: Setting) -> list[tuple[str, Json]]:
    return [
        (name, make(draw)) for theme, (name, make) in ARGS.items() if theme in setting.families and draw.chance(0.65)
    ]
