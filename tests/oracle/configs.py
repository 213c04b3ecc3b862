"""Random scheduler configurations, valid and broken."""

import copy
from typing import Any

from tests.oracle.affinity import preferred, requirement, term
from tests.oracle.draw import Draw, Json, Setting
from tests.oracle.families import plugin_args

GROUP = "kubescheduler.config.k8s.io/v1"
FILTERS = ("NodeName", "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit")
SCORERS = ("TaintToleration", "NodeAffinity", "NodeResourcesFit", "NodeResourcesBalancedAllocation", "ImageLocality")
# These may be disabled by name although one of the two sides has taken them out already.
ABSENT = ("PodTopologySpread", "InterPodAffinity", "VolumeBinding", "NodeVolumeLimits", "DefaultPreemption")
RESOURCES = (
    "cpu",
    "memory",
    "ephemeral-storage",
    "example.com/gpu",
    "example.com/nic",
    "other.io/fpga",
    "hugepages-2Mi",
    "kubernetes.io/slots",
    "shares",
)


def resource_specs(draw: Draw, *, weights: bool) -> list[Json]:
    def spec(name: str) -> Json:
        made: Json = {"name": name}
        if draw.chance(0.8):
            made["weight"] = draw.pick((0, 1, 2, 3, 5, 10, 100)) if weights else 1
        return made

    chosen = list(draw.some(RESOURCES, 1, 4))
    if draw.chance(0.5):
        chosen = ["cpu", "memory", *draw.some(RESOURCES[2:], 0, 2)]
    if weights and draw.chance(0.05):
        chosen.append(chosen[0])
    return [spec(name) for name in chosen]


def shape(draw: Draw) -> list[Json]:
    match draw.weighted({"up": 20, "down": 20, "odd": 60}):
        case "up":
            return [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
        case "down":
            return [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]
    points = sorted(draw.some(range(101), 1, 4))
    return [{"utilization": point, "score": draw.whole(0, 10)} for point in points]


def fit_args(draw: Draw) -> Json:
    made: Json = {}
    if draw.chance(0.35):
        made["ignoredResources"] = draw.some(("example.com/gpu", "other.io/fpga", "hugepages-2Mi", "cpu"), 1, 2)
    if draw.chance(0.3):
        made["ignoredResourceGroups"] = draw.some(("example.com", "other.io", "kubernetes.io"), 1, 2)
    if draw.chance(0.9):
        kind = draw.pick(("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"))
        strategy: Json = {"type": kind}
        if draw.chance(0.8):
            strategy["resources"] = resource_specs(draw, weights=True) if draw.chance(0.95) else []
        if kind == "RequestedToCapacityRatio":
            strategy["requestedToCapacityRatio"] = {"shape": shape(draw)}
        made["scoringStrategy"] = strategy
    return made


def added_affinity(draw: Draw, nodes: list[str]) -> Json:
    """addedAffinity is parsed strictly, so its terms are all good ones; a single matchFields value is still legal."""
    made: Json = {}
    if draw.chance(0.6):
        terms = draw.several(1, 2, lambda: term(draw, nodes, broken=0.0, fields=0.0))
        if draw.chance(0.2):
            terms.append(
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [draw.pick(nodes or ["n1"])]}]}
            )
        if draw.chance(0.5):
            terms.append(
                {
                    "matchExpressions": [
                        {"key": "kubernetes.io/hostname", "operator": "Exists"},
                        requirement(draw, nodes),
                    ]
                }
            )
        made["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if not made or draw.chance(0.5):
        terms = preferred(draw, nodes, broken=0.0)
        made["preferredDuringSchedulingIgnoredDuringExecution"] = [
            t for t in terms if "matchFields" not in t["preference"] and t["weight"]
        ]
    return made


def plugin_config(draw: Draw, setting: Setting, nodes: list[str]) -> list[Json]:
    made: list[tuple[str, Json]] = []
    if setting.theme == "strategy" or draw.chance(0.4):
        made.append(("NodeResourcesFit", fit_args(draw)))
    if setting.theme == "balanced" or draw.chance(0.25):
        args: Json = {"resources": resource_specs(draw, weights=False)} if draw.chance(0.95) else {}
        made.append(("NodeResourcesBalancedAllocation", args))
    if draw.chance(0.4 if setting.theme == "affinity" else 0.12):
        made.append(("NodeAffinity", {"addedAffinity": added_affinity(draw, nodes)}))
    made += plugin_args(draw, setting)
    entries = []
    for name, args in made:
        typed: Json = {"apiVersion": GROUP, "kind": f"{name}Args"} if draw.chance(0.4) else {}
        entries.append({"name": name, "args": typed | args})
    return entries


def weighted(draw: Draw, name: str) -> Json:
    made: Json = {"name": name}
    if draw.chance(0.85):
        made["weight"] = draw.pick((0, 1, 2, 3, 7, 20, 100, 1000))
    return made


def plugins(draw: Draw) -> Json:
    made: Json = {}
    if draw.chance(0.3):
        made["multiPoint"] = multi_point(draw)
    if draw.chance(0.5):
        made["score"] = score_point(draw)
    if draw.chance(0.3):
        made["filter"] = {"disabled": [{"name": name} for name in draw.some((*FILTERS, *ABSENT), 1, 2)]}
        if draw.chance(0.4):
            disabled = {entry["name"] for entry in made["filter"]["disabled"]}
            first = [name for name in draw.some(FILTERS, 1, 3) if name not in disabled]
            made["filter"]["enabled"] = [{"name": name} for name in first]  # these go first, in this order
    if draw.chance(0.05):
        made["preFilter"] = {
            "disabled": [{"name": draw.pick(("NodeName", "NodeUnschedulable", "TaintToleration", "NodeAffinity"))}]
        }
    if draw.chance(0.05):
        made["preScore"] = {"disabled": [{"name": draw.pick(("NodeAffinity", "NodeResourcesFit"))}]}
    if draw.chance(0.09):
        # What a plugin reads was not prepared: the pod's whole cycle fails where the plugin has no way around.
        point, name = draw.pick(
            (
                ("preFilter", "NodeResourcesFit"),
                ("preFilter", "NodePorts"),
                ("preScore", "TaintToleration"),
                ("preScore", "NodeResourcesBalancedAllocation"),
            )
        )
        made[point] = {"disabled": [{"name": name}]}
    return made


def multi_point(draw: Draw) -> Json:
    if draw.chance(0.15):
        needed = [{"name": "PrioritySort"}, {"name": "DefaultBinder"}]
        chosen = [weighted(draw, name) for name in draw.some(tuple(dict.fromkeys((*FILTERS, *SCORERS))), 2, 7)]
        return {"disabled": [{"name": "*"}], "enabled": [*needed, *chosen]}
    made: Json = {"disabled": [{"name": name} for name in draw.some((*FILTERS[:5], *SCORERS, *ABSENT), 0, 3)]}
    if draw.chance(0.5):
        disabled = {entry["name"] for entry in made["disabled"]}
        made["enabled"] = [weighted(draw, name) for name in draw.some(SCORERS, 1, 2) if name not in disabled]
    return made


def score_point(draw: Draw) -> Json:
    if draw.chance(0.2):
        return {
            "disabled": [{"name": "*"}],
            "enabled": [weighted(draw, name) for name in draw.some(SCORERS, 0, draw.pick((0, 0, 4, 4, 4)))],
        }
    names = draw.some(SCORERS, 1, 3)
    made: Json = {"enabled": [weighted(draw, name) for name in names]}
    if draw.chance(0.5):
        # Disabled and enabled at once is how a default's weight was once changed, and still means that.
        made["disabled"] = [
            {"name": name} for name in (names if draw.chance(0.4) else draw.some((*SCORERS, *ABSENT), 1, 2))
        ]
    return made


def profile(draw: Draw, setting: Setting, nodes: list[str], name: str | None) -> Json:
    made: Json = {} if name is None else {"schedulerName": name}
    if draw.chance(0.7) and (sets := plugins(draw)):
        made["plugins"] = sets
    if entries := plugin_config(draw, setting, nodes):
        made["pluginConfig"] = entries
    if draw.chance(0.05):
        made["percentageOfNodesToScore"] = 1
    return made


def configuration(draw: Draw, setting: Setting, nodes: list[str]) -> tuple[Json | None, list[str]]:
    """A configuration and the scheduler names in it; None is the defaults."""
    if draw.chance(0.1 if setting.theme in ("strategy", "balanced", "profiles") else 0.55):
        return None, ["default-scheduler"]
    names = draw.some(("reprise", "second", "third", "default-scheduler"), 1, 3 if setting.theme == "profiles" else 1)
    unnamed = len(names) == 1 and draw.chance(0.15)
    made: Json = {
        "apiVersion": GROUP,
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile(draw, setting, nodes, None if unnamed else name) for name in names],
    }
    if draw.chance(0.1):
        made |= {"parallelism": 4, "percentageOfNodesToScore": draw.pick((0, 1, 100))}
    return made, names


def _args(name: str, args: Json) -> Json:
    return {"pluginConfig": [{"name": name, "args": args}]}


def _fit(**strategy: Any) -> Json:
    plain: Json = {"type": "LeastAllocated", "resources": [{"name": "cpu", "weight": 1}]}
    return _args("NodeResourcesFit", {"scoringStrategy": plain | strategy})


def _ratio(shape: list[Json]) -> Json:
    return _fit(type="RequestedToCapacityRatio", requestedToCapacityRatio={"shape": shape})


def _added(requirement: Json) -> Json:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
    return _args("NodeAffinity", {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}})


# Each replaces keys of the configuration.
BROKEN: tuple[Json, ...] = (
    {"profilez": []},
    {"apiVersion": "kubescheduler.config.k8s.io/v1beta3"},
    {"kind": "SchedulerConfiguration"},
    {"parallelism": 0},
    {"parallelism": "many"},
    {"percentageOfNodesToScore": 101},
    {"percentageOfNodesToScore": -1},
    {"podInitialBackoffSeconds": 0},
    {"podInitialBackoffSeconds": 5, "podMaxBackoffSeconds": 4},
    {"profiles": [{"schedulerName": "one"}, {"schedulerName": "one"}]},
    {"profiles": [{"schedulerName": "one"}, {}]},
)
# Each replaces keys of the first profile.
BROKEN_PROFILE: tuple[Json, ...] = (
    {"plugin": {}},
    {"percentageOfNodesToScore": 101},
    {"plugins": {"scores": {}}},
    {"plugins": {"score": {"enabled": [{"name": "NoSuchPlugin"}]}}},
    {"plugins": {"score": {"enabled": [{"name": "NodePorts"}]}}},
    {"plugins": {"score": {"enabled": [{"name": "ImageLocality"}, {"name": "ImageLocality"}]}}},
    {"plugins": {"multiPoint": {"enabled": [{"name": "ImageLocality"}, {"name": "ImageLocality"}]}}},
    {"plugins": {"filter": {"enabled": [{"name": "EBSLimits"}]}}},
    {"plugins": {"queueSort": {"disabled": [{"name": "*"}]}}},
    {"plugins": {"bind": {"disabled": [{"name": "DefaultBinder"}]}}},
    {"pluginConfig": [{"name": "NodeAffinity", "args": {}}, {"name": "NodeAffinity", "args": {}}]},
    _fit(type=""),
    _fit(type="Random"),
    _fit(type="RequestedToCapacityRatio"),
    _fit(requestedToCapacityRatio={"shape": [{"utilization": 0, "score": 1}]}),
    _fit(resources=[{"name": "cpu", "weight": -1}]),
    _fit(resources=[{"name": "cpu", "weight": 101}]),
    _fit(typo=1),
    _ratio([]),
    _ratio([{"utilization": 5, "score": 1}, {"utilization": 5, "score": 2}]),
    _ratio([{"utilization": 5, "score": 11}]),
    _ratio([{"utilization": 101, "score": 1}]),
    _args("NodeResourcesFit", {"ignoredResourceGroups": ["a/b"]}),
    _args("NodeResourcesFit", {"ignoredResources": ["-x"]}),
    _args("NodeResourcesBalancedAllocation", {"resources": [{"name": "cpu", "weight": 2}]}),
    _args("NodeResourcesBalancedAllocation", {"resources": [{"name": "cpu"}, {"name": "cpu"}]}),
    _args("NodeAffinity", {"apiVersion": GROUP, "kind": "NodeResourcesFitArgs"}),
    _added({"key": "cores", "operator": "Gt", "values": ["4", "8"]}),
    _added({"key": "cores", "operator": "In"}),
)


def broken(draw: Draw, config: Json) -> Json:
    """The configuration with one error that kube-scheduler refuses to start with."""
    made = copy.deepcopy(config)
    if draw.chance(len(BROKEN) / (len(BROKEN) + len(BROKEN_PROFILE))):
        return made | draw.pick(BROKEN)
    made["profiles"][0].pop("plugins", None)  # arguments of a plugin that is not enabled are not looked at
    made["profiles"][0] |= draw.pick(BROKEN_PROFILE)
    return made
