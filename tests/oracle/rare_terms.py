"""Recipes for terms of affinity that are seldom seen: odd selectors, odd operators, names of nodes (rare.py)."""

from collections.abc import Callable

from tests.oracle.affinity import broken_requirement, preferred, term
from tests.oracle.draw import Json
from tests.oracle.nodes import HOSTNAME, ZONE
from tests.oracle.pod_affinity import PREFERRED, REQUIRED
from tests.oracle.scene import Scene
from tests.oracle.selectors import BROKEN, RACK, namespace

WEB: Json = {"matchLabels": {"app": "web"}}


def _pod_term(scene: Scene, kind: str) -> Json:
    """A term whose selector of namespaces, or of pods, is of the kind."""
    draw = scene.draw
    made: Json = {"topologyKey": draw.pick((ZONE, HOSTNAME, RACK)), "labelSelector": WEB}
    if kind == "nil":
        del made["labelSelector"]
    elif kind == "empty":
        made["namespaceSelector"] = {}
    elif kind == "broken":
        made["namespaceSelector"] = {"matchExpressions": [draw.pick(BROKEN)]}
    elif kind == "broken pods":
        made["labelSelector"] = {"matchExpressions": [draw.pick(BROKEN)]}
    elif kind == "labels":
        made["namespaceSelector"] = {"matchLabels": {"team": draw.pick(("red", "blue"))}}
    else:
        made["namespaceSelector"] = {"matchExpressions": [{"key": "team", "operator": kind}]}
    if draw.chance(0.15):
        made["namespaces"] = [draw.pick(("default", "shop"))]
    return made


def pod_terms(scene: Scene) -> None:
    """Terms of all four kinds, with selectors that are absent, empty, or tell namespaces apart by whether they have a label."""
    scene.calm()
    scene.put(*(namespace(scene.draw, name) for name in ("default", "shop", "batch")))
    affinity: Json = {"podAffinity": {}, "podAntiAffinity": {}}
    for rules in affinity.values():
        for requirement in (REQUIRED, PREFERRED):
            terms = [
                _pod_term(scene, scene.draw.pick(("nil", "empty", "Exists", "DoesNotExist", "labels")))
                for _ in range(2)
            ]
            if requirement == PREFERRED:
                terms = [{"weight": scene.draw.whole(1, 100), "podAffinityTerm": one} for one in terms]
            if scene.draw.chance(0.6):
                rules[requirement] = terms
    scene.wanted["spec"]["affinity"] = affinity
    if scene.draw.chance(0.3):
        scene.pods.append(_running_with(scene, affinity))


def _running_with(scene: Scene, affinity: Json) -> Json:
    made = scene.run(scene.draw.pick(scene.names), affinity=affinity)
    scene.pods.pop()
    return made


def broken_pod_terms(scene: Scene) -> None:
    """One kind of term that cannot be parsed, or several, of the pod; of a running pod they count for nothing."""
    scene.calm()
    kinds = scene.draw.some(
        [(rules, need) for rules in ("podAffinity", "podAntiAffinity") for need in (REQUIRED, PREFERRED)],
        1,
        scene.draw.pick((1, 1, 1, 3, 3)),
    )
    affinity: Json = {}
    for rules, need in kinds:
        broken = _pod_term(scene, scene.draw.pick(("broken", "broken", "broken pods")))
        one = {"weight": 5, "podAffinityTerm": broken} if need == PREFERRED else broken
        affinity.setdefault(rules, {})[need] = [one]
    if scene.draw.chance(0.32):
        scene.run(scene.draw.pick(scene.names), affinity=affinity)
    else:
        scene.wanted["spec"]["affinity"] = affinity


def first_of_its_kind(scene: Scene) -> None:
    """The pod is to be near pods like itself; none, or few, are there."""
    scene.calm()
    scene.wanted["metadata"]["labels"] = {"app": "web"}
    selector = scene.draw.pick((WEB, WEB, {}))
    key = scene.draw.pick((ZONE, HOSTNAME))
    required = [{"topologyKey": key, "labelSelector": selector}]
    scene.wanted["spec"]["affinity"] = {"podAffinity": {REQUIRED: required}}
    for pod in scene.pods:
        if scene.draw.chance(0.95):
            pod["metadata"]["labels"] = {"app": "db"}
        if scene.draw.chance(0.95):
            pod["spec"].pop("affinity", None)


def expression(key: str, operator: str, values: list[str]) -> Json:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}


def node_terms(scene: Scene) -> None:
    """Node affinity of operators that no rule knows, of fields with operators for labels, of terms without anything."""
    draw = scene.draw
    odd: tuple[Callable[[], Json], ...] = (
        lambda: {"matchExpressions": [{"key": "disk", "operator": "Matches", "values": ["ssd"]}]},
        lambda: {"matchExpressions": [{"key": "disk", "operator": "Matches", "values": ["ssd"]}]},
        lambda: {"matchFields": [{"key": "metadata.name", "operator": "Exists"}]},
        lambda: {"matchFields": [{"key": "metadata.name", "operator": "Gt", "values": ["1"]}]},
        lambda: {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": [draw.pick(scene.names)]}]},
        lambda: {"matchExpressions": [{"key": "cores", "operator": "Lt", "values": ["8"]}]},
        lambda: {"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["4"]}]},
        lambda: {"matchExpressions": [{"key": "disk", "operator": draw.pick(("Exists", "DoesNotExist"))}]},
        lambda: {"matchExpressions": [{"key": "disk", "operator": "NotIn", "values": ["hdd"]}]},
        dict,
    )
    affinity: Json = {}
    if draw.chance(0.6):
        terms = [draw.pick(odd)() for _ in range(draw.whole(2, 4))]
        if draw.chance(0.5):
            terms.append(expression(HOSTNAME, "In", scene.names))
        if draw.chance(0.25):
            terms = []
        affinity[REQUIRED] = {"nodeSelectorTerms": terms}
    if not affinity or draw.chance(0.4):
        weight = draw.pick((0, 5, 5))
        affinity[PREFERRED] = [{"weight": weight, "preference": draw.pick(odd)()} for _ in range(draw.whole(2, 3))]
    scene.wanted["spec"].setdefault("affinity", {})["nodeAffinity"] = affinity


def named_nodes(scene: Scene) -> None:
    """Node affinity by name: for one node or two, or for two names that no node has at once."""
    scene.calm()
    names = [*scene.names, "elsewhere"]
    conflict = scene.draw.chance(0.45)
    counts = [2 if conflict else scene.draw.pick((1, 1, 2)) for _ in range(scene.draw.whole(1, 2))]
    terms = [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]} for name in names[:count]]}
        for count in counts
    ]
    scene.wanted["spec"]["affinity"] = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}


def broken_preferences(scene: Scene) -> None:
    """A preferred term that cannot be parsed."""
    scene.calm()
    broken = {"weight": 5, "preference": {"matchExpressions": [broken_requirement(scene.draw)]}}
    scene.wanted["spec"]["affinity"] = {"nodeAffinity": {PREFERRED: [broken]}}


def one_node(scene: Scene) -> None:
    """A single node that cannot be scored, which kube-scheduler does not do anyway."""
    broken_preferences(scene)
    del scene.nodes[1:]


def added_terms(scene: Scene) -> None:
    """Preferred terms of the pod and of its profile."""
    scene.calm()
    draw = scene.draw
    added = [{"weight": draw.whole(1, 100), "preference": term(draw, scene.names, broken=0, fields=0)} for _ in "ab"]
    scene.arguments("NodeAffinity", {"addedAffinity": {PREFERRED: [one for one in added if one["preference"]]}})
    if draw.chance(0.7):
        scene.wanted["spec"]["affinity"] = {"nodeAffinity": {PREFERRED: preferred(draw, scene.names, broken=0.0)}}
