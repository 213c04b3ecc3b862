"""Random affinity and anti-affinity between pods: of the pod to be placed and of those that run."""

from tests.oracle.draw import Draw, Json
from tests.oracle.nodes import HOSTNAME, ZONE
from tests.oracle.selectors import NAMESPACES, RACK, label_selector, namespace_selector

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def term(draw: Draw, broken: float) -> Json:
    made: Json = {"topologyKey": draw.weighted({ZONE: 45, HOSTNAME: 30, RACK: 23, "absent": 2})}
    selector = label_selector(draw, broken=broken)
    if selector is not None:
        made["labelSelector"] = selector
    if draw.chance(0.25):
        made["namespaces"] = draw.some((*NAMESPACES, "elsewhere"), 1, 2)
    if draw.chance(0.3):
        made["namespaceSelector"] = namespace_selector(draw)
    if draw.chance(0.08):
        made[draw.pick(("matchLabelKeys", "mismatchLabelKeys"))] = ["version"]  # the API server has merged them already
    return made


def rules(draw: Draw, required: float, preferred: float, broken: float) -> Json:
    made: Json = {}
    if draw.chance(required):
        made[REQUIRED] = draw.several(1, 2, lambda: term(draw, broken))
    if draw.chance(preferred):
        made[PREFERRED] = draw.several(
            1, 3, lambda: {"weight": draw.pick((1, 2, 5, 29, 50, 100)), "podAffinityTerm": term(draw, broken)}
        )
    return made


def dress_pod(draw: Draw, pod: Json, *, running: bool) -> None:
    """Terms; of running pods fewer, and of either kind."""
    if draw.chance(0.45 if running else 0.12):
        return
    affinity = pod["spec"].setdefault("affinity", {})
    broken = 0.06
    kinds = draw.weighted({"podAffinity": 40, "podAntiAffinity": 40, "both": 20})
    for kind in ("podAffinity", "podAntiAffinity"):
        if kinds in (kind, "both"):
            affinity[kind] = rules(draw, 0.4 if running or kind == "podAntiAffinity" else 0.5, 0.5, broken)


def args(draw: Draw) -> Json:
    """Of InterPodAffinity."""
    made: Json = {}
    if draw.chance(0.8):
        made["hardPodAffinityWeight"] = draw.pick((0, 0, 1, 2, 10, 100))
    if draw.chance(0.5):
        made["ignorePreferredTermsOfExistingPods"] = draw.chance(0.6)
    return made
