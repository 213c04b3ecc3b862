"""KubeSchedulerConfigurations as users write them, and the plugins that they come to, in order.

The expected orders follow from the rules of kube-scheduler 1.37 (merge into the default multiPoint list, then expansion of
each extension point), less the plugins that are not here yet. tests/integration asks the real one.
"""

from typing import Any, NamedTuple

HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}

FILTERS = (
    "NodeName",
    "NodeUnschedulable",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeDeclaredFeatures",
)
DEFAULT_POINTS: dict[str, tuple[str, ...]] = {
    "preEnqueue": ("SchedulingGates", "DefaultPreemption"),
    "queueSort": ("PrioritySort",),
    "preFilter": FILTERS,
    "filter": FILTERS,
    "postFilter": ("DefaultPreemption",),
    "preScore": (
        "TaintToleration",
        "NodeAffinity",
        "NodeResourcesFit",
        "VolumeBinding",
        "PodTopologySpread",
        "InterPodAffinity",
        "NodeResourcesBalancedAllocation",
    ),
    "score": (
        "TaintToleration*3",
        "NodeAffinity*2",
        "NodeResourcesFit*1",
        "VolumeBinding*1",
        "PodTopologySpread*2",
        "InterPodAffinity*2",
        "NodeResourcesBalancedAllocation*1",
        "ImageLocality*1",
    ),
    "reserve": ("VolumeBinding",),
    "preBind": ("VolumeBinding",),
    "bind": ("DefaultBinder",),
    "podGroupPostFilter": ("DefaultPreemption",),
}


class Sample(NamedTuple):
    """A profile's ``plugins`` and, where they differ from the default, the plugins of its extension points."""

    name: str
    plugins: dict[str, Any]
    expected: dict[str, tuple[str, ...]]


def names(*plugins: str) -> list[dict[str, Any]]:
    """``NodeAffinity*5`` is NodeAffinity with weight 5."""
    split = [plugin.partition("*") if plugin != "*" else ("*", "", "") for plugin in plugins]
    return [{"name": name, "weight": int(weight)} if weight else {"name": name} for name, _, weight in split]


def filters_without(name: str) -> tuple[str, ...]:
    """The filters of the default list, in order, without one."""
    return tuple(plugin for plugin in FILTERS if plugin != name)


def plugins_document(
    **points: Any,
) -> dict[str, Any]:
    """A configuration with one profile; each keyword is an extension point's ``enabled`` and ``disabled``."""
    return {**HEADER, "profiles": [{"schedulerName": "packing", "plugins": points}]}


SAMPLES = (
    Sample("nothing said", {}, {}),
    Sample(
        "no scoring",
        {"preScore": {"disabled": names("*")}, "score": {"disabled": names("*")}},
        {"preScore": (), "score": ()},
    ),
    Sample(
        "a default without its score",
        {"score": {"disabled": names("ImageLocality")}},
        {
            "score": (
                "TaintToleration*3",
                "NodeAffinity*2",
                "NodeResourcesFit*1",
                "VolumeBinding*1",
                "PodTopologySpread*2",
                "InterPodAffinity*2",
                "NodeResourcesBalancedAllocation*1",
            )
        },
    ),
    Sample(
        "a weight changed through multiPoint keeps its place",
        {"multiPoint": {"enabled": names("NodeAffinity*7")}},
        {
            "score": (
                "TaintToleration*3",
                "NodeAffinity*7",
                "NodeResourcesFit*1",
                "VolumeBinding*1",
                "PodTopologySpread*2",
                "InterPodAffinity*2",
                "NodeResourcesBalancedAllocation*1",
                "ImageLocality*1",
            )
        },
    ),
    Sample(
        "a weight changed at the point goes first",
        {"score": {"enabled": names("ImageLocality*10", "NodeAffinity*4")}},
        {
            "score": (
                "ImageLocality*10",
                "NodeAffinity*4",
                "TaintToleration*3",
                "NodeResourcesFit*1",
                "VolumeBinding*1",
                "PodTopologySpread*2",
                "InterPodAffinity*2",
                "NodeResourcesBalancedAllocation*1",
            )
        },
    ),
    Sample(
        "disabled and enabled at the point goes last",
        {"score": {"disabled": names("NodeResourcesFit"), "enabled": names("NodeResourcesFit*5")}},
        {
            "score": (
                "TaintToleration*3",
                "NodeAffinity*2",
                "VolumeBinding*1",
                "PodTopologySpread*2",
                "InterPodAffinity*2",
                "NodeResourcesBalancedAllocation*1",
                "ImageLocality*1",
                "NodeResourcesFit*5",
            )
        },
    ),
    Sample(
        "no weight at the point is 1, whatever multiPoint says",
        {"score": {"enabled": names("TaintToleration")}},
        {
            "score": (
                "TaintToleration*1",
                "NodeAffinity*2",
                "NodeResourcesFit*1",
                "VolumeBinding*1",
                "PodTopologySpread*2",
                "InterPodAffinity*2",
                "NodeResourcesBalancedAllocation*1",
                "ImageLocality*1",
            )
        },
    ),
    Sample(
        "only the score of one",
        {"score": {"disabled": names("*"), "enabled": names("ImageLocality*2")}},
        {"score": ("ImageLocality*2",)},
    ),
    Sample(
        "off everywhere, on at one point",
        {"multiPoint": {"disabled": names("NodeAffinity")}, "filter": {"enabled": names("NodeAffinity")}},
        {
            "preFilter": filters_without("NodeAffinity"),
            "filter": (*filters_without("NodeAffinity"), "NodeAffinity"),
            "preScore": (
                "TaintToleration",
                "NodeResourcesFit",
                "VolumeBinding",
                "PodTopologySpread",
                "InterPodAffinity",
                "NodeResourcesBalancedAllocation",
            ),
            "score": (
                "TaintToleration*3",
                "NodeResourcesFit*1",
                "VolumeBinding*1",
                "PodTopologySpread*2",
                "InterPodAffinity*2",
                "NodeResourcesBalancedAllocation*1",
                "ImageLocality*1",
            ),
        },
    ),
    Sample(
        "disabled and enabled in multiPoint goes last",
        {"multiPoint": {"disabled": names("NodeName"), "enabled": names("NodeName")}},
        {
            "preFilter": (*FILTERS[1:], "NodeName"),
            "filter": (*FILTERS[1:], "NodeName"),
        },
    ),
    Sample(
        "a list of one's own",
        {
            "multiPoint": {
                "disabled": names("*"),
                "enabled": names("DefaultBinder", "NodeResourcesFit*9", "PrioritySort", "NodeName"),
            }
        },
        {
            "preEnqueue": (),
            "postFilter": (),
            "podGroupPostFilter": (),
            "preFilter": ("NodeResourcesFit", "NodeName"),
            "filter": ("NodeResourcesFit", "NodeName"),
            "preScore": ("NodeResourcesFit",),
            "score": ("NodeResourcesFit*9",),
            "reserve": (),
            "preBind": (),
        },
    ),
    Sample(
        "a filter first",
        {"filter": {"enabled": names("NodeResourcesFit")}},
        {"filter": ("NodeResourcesFit", *filters_without("NodeResourcesFit"))},
    ),
    Sample(
        "a disabled point stays off for what multiPoint enables again",
        {"multiPoint": {"enabled": names("ImageLocality*3")}, "score": {"disabled": names("ImageLocality")}},
        {
            "score": (
                "TaintToleration*3",
                "NodeAffinity*2",
                "NodeResourcesFit*1",
                "VolumeBinding*1",
                "PodTopologySpread*2",
                "InterPodAffinity*2",
                "NodeResourcesBalancedAllocation*1",
            )
        },
    ),
    Sample(
        "what is not there yet may be disabled",
        {
            "multiPoint": {"disabled": names("DynamicResources", "GangScheduling")},
            "filter": {"disabled": names("DynamicResources")},
        },
        {},
    ),
)
