"""Cases of one plugin alone, for what another step of the pipeline answers first."""

from collections.abc import Iterator

from tests.oracle import rare_storage
from tests.oracle.draw import Draw, Json
from tests.oracle.generate import Case, cluster, encode
from tests.oracle.rare import touch
from tests.oracle.rare_terms import named_nodes
from tests.oracle.scene import GROUP, Scene
from tests.oracle.storage import BIND_COMPLETED

UU = "UnschedulableAndUnresolvable"
QUEUE = "the queue: a pod with spec.nodeName is bound and never comes there"
NO_CLAIM = "VolumeRestrictions' PreFilter, which asks for every claim first"
UNBOUND = "VolumeBinding's PreFilter: the pod has unbound immediate claims"

ANSWERED_BEFORE: dict[str, str] = {
    f"preenqueue/SchedulingGates/{UU}/waiting for scheduling gates": "none: it comes before any evaluation",
    "sort/by priority": "none: it comes before any evaluation",
    "sort/by time": "none: it comes before any evaluation",
    "sort/alike": "none: it comes before any evaluation",
    f"filter//{UU}/node(s) didn't satisfy plugin(s) [NodeName]": QUEUE,
    f"filter//{UU}/node(s) didn't satisfy plugin(s) [NodeAffinity NodeName]": QUEUE,
    f"prefilter//{UU}/node(s) didn't satisfy plugin(s) [NodeAffinity NodeName] simultaneously": QUEUE,
    f"filter/NodeName/{UU}/node(s) didn't match the requested node name": "NodeName's PreFilter, which leaves its node only",
    f"filter/NodeVolumeLimits/{UU}/looking up NAME: persistentvolumeclaim NAME not found": NO_CLAIM,
    'error/cycle/running "NodeVolumeLimits" filter plugin: PersistentVolumeClaim had no name': NO_CLAIM,
    'error/cycle/running "NodeVolumeLimits" filter plugin: was not created for': (
        "VolumeBinding's PreFilter: the claim was not created for the pod"
    ),
    f"prefilter/VolumeBinding/{UU}/persistentvolumeclaim NAME not found": NO_CLAIM,
    f"prefilter/VolumeZone/{UU}/persistentvolumeclaim NAME not found": NO_CLAIM,
    f"prefilter/VolumeZone/{UU}/PersistentVolumeClaim had no name": NO_CLAIM,
    f"prefilter/VolumeZone/{UU}/PersistentVolumeClaim had no pv name and storageClass name": UNBOUND,
    f"prefilter/VolumeZone/{UU}/storageclass.storage.k8s.io NAME not found": UNBOUND,
    f"prefilter/VolumeZone/{UU}/VolumeBindingMode not set for StorageClass NAME": (
        "VolumeBinding's PreFilter, which fails the cycle for such a class"
    ),
    f"prefilter/VolumeZone/{UU}/PersistentVolume had no name": UNBOUND,
}
"""What only a plugin alone answers, by its name in the counts, and the step that answers before it in the pipeline."""

# The first are those of the table; the others are alone for once as well.
PLUGINS: dict[str, float] = {
    "SchedulingGates": 8,
    "PrioritySort": 8,
    "NodeName": 25,
    "NodeVolumeLimits": 22,
    "VolumeBinding": 14,
    "VolumeZone": 40,
    "NodeUnschedulable": 3,
    "TaintToleration": 3,
    "NodeAffinity": 3,
    "NodePorts": 3,
    "NodeResourcesFit": 3,
    "VolumeRestrictions": 3,
    "PodTopologySpread": 3,
    "InterPodAffinity": 3,
    "NodeResourcesBalancedAllocation": 3,
    "ImageLocality": 3,
    "NodeDeclaredFeatures": 3,
}
OF_STORAGE = ("NodeVolumeLimits", "VolumeBinding", "VolumeZone")


def cases(seed: int, count: int) -> Iterator[Case]:
    for index in range(count):
        yield case(seed, index)


def case(seed: int, index: int) -> Case:
    """Case `index` of a seed: a small cluster, and a configuration that enables one plugin at each of its points."""
    draw = Draw(f"{seed}/alone/{index}")
    plugin = draw.weighted(PLUGINS)
    _, nodes, pods, others, config, wanted = cluster(draw, 4, 5, 0.0)
    scene = Scene(draw, nodes, pods, others, config, wanted)
    plugins = [plugin]
    if plugin == "NodeName" and draw.chance(0.65):
        plugins.append("NodeAffinity")
    if plugin in OF_STORAGE:
        claims(scene)
    elif len(plugins) > 1:
        named_nodes(scene)
    elif draw.chance(0.6):
        touch(scene)
    args = [entry for entry in scene.profile().get("pluginConfig", ()) if entry["name"] == plugin]
    profile: Json = {"schedulerName": "default-scheduler", "pluginConfig": args, "plugins": only(*plugins)}
    if plugin == "NodeName":
        wanted["spec"]["nodeName"] = draw.pick((*scene.names, "gone"))
        if len(plugins) == 1 and draw.chance(0.6):
            profile["plugins"]["preFilter"] = {"disabled": [{"name": plugin}]}
    elif plugin == "SchedulingGates":
        names = draw.some(("quota", "example.com/image", "a"), 0 if draw.chance(0.3) else 1, 3)
        wanted["spec"]["schedulingGates"] = [{"name": name} for name in names]
    elif plugin == "PrioritySort":
        queue(scene)
    config = {"apiVersion": GROUP, "kind": "KubeSchedulerConfiguration", "profiles": [profile]}
    line = {"objects": [*nodes, *scene.pods, *scene.others], "pod": wanted, "config": config, "alone": plugin}
    return Case(f"s{seed}-alone{index}-{plugin.lower()}", (encode(line),))


def only(*plugins: str) -> Json:
    """The plugins of a profile that has, besides those it cannot be without, only these."""
    names = dict.fromkeys(("PrioritySort", *plugins, "DefaultBinder"))
    return {"multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": name} for name in names]}}


def claims(scene: Scene) -> None:
    """A claim in one of the states that VolumeRestrictions or VolumeBinding stop at."""
    scene.calm()
    if scene.draw.chance(0.2):
        rare_storage.odd_claims(scene)
        return
    rare_storage.classes(scene)
    match scene.draw.pick(
        ("unknown", "unknown", "", "classless", "absent", "modeless", "slow", "bound", "ephemeral", "stranger")
    ):
        case "unknown":
            scene.mount({"persistentVolumeClaim": {"claimName": "unknown"}})
        case "":
            scene.mount({"persistentVolumeClaim": {"claimName": ""}})
        case "classless":
            rare_storage.mounted(scene, "rare", scene.draw.pick((None, "")))
        case "bound":
            spec: Json = {"volumeName": "vanished"}
            rare_storage.mounted(scene, "rare", "dynamic", spec=spec, metadata={"annotations": {BIND_COMPLETED: "yes"}})
        case "ephemeral":
            rare_storage.ephemeral(scene)
        case "stranger":
            scene.mount({"ephemeral": {"volumeClaimTemplate": {"spec": {}}}})
            volume = scene.wanted["spec"]["volumes"][-1]["name"]
            rare_storage.claim_of(scene, f"{scene.wanted['metadata']['name']}-{volume}", "dynamic")
        case named:
            rare_storage.mounted(scene, "rare", named)


def queue(scene: Scene) -> None:
    """Pods of few priorities and times, so that some are alike; the name decides between those, as nothing else does."""
    while len(scene.pods) < 4:
        scene.run(scene.names[0])
    for pod in scene.pods:
        pod["metadata"]["creationTimestamp"] = scene.draw.pick(("2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"))
        if (priority := scene.draw.pick((None, 0, 5, -3, 2_000_000_000))) is not None:
            pod["spec"]["priority"] = priority


def floors() -> dict[str, int]:
    """How often of 1,000 cases each answer of the table must be there."""
    return {f"alone/{what}": 5 for what in ANSWERED_BEFORE}
