"""Random node selectors, node affinity and tolerations, including those that cannot be parsed."""

from tests.oracle.draw import Draw, Json, Setting
from tests.oracle.nodes import EFFECTS, HOSTNAME, LABELS, TAINT_KEYS, TAINT_VALUES, ZONE

KEYS = (*LABELS, ZONE, HOSTNAME, "absent")


def requirement(draw: Draw, nodes: list[str]) -> Json:
    key = draw.pick(KEYS)
    known = {ZONE: ("a", "b", "c", "d"), HOSTNAME: tuple(nodes) or ("n1",)}.get(key, LABELS.get(key, ("x",)))
    operator = draw.weighted({"In": 30, "NotIn": 18, "Exists": 12, "DoesNotExist": 12, "Gt": 8, "Lt": 8})
    if operator in ("Gt", "Lt"):
        key, known = ("cores" if draw.chance(0.9) else key), ("3", "4", "8", "15", "0", "9223372036854775806")
        return {"key": key, "operator": operator, "values": [draw.pick(known)]}
    if operator in ("In", "NotIn"):
        return {"key": key, "operator": operator, "values": draw.some(known, 1, 3)}
    return {"key": key, "operator": operator}


def broken_requirement(draw: Draw) -> Json:
    """What no parser takes, each for a reason of its own; the API server lets some of them through."""
    return draw.pick(
        (
            {"key": "disk", "operator": "In", "values": []},
            {"key": "disk", "operator": "NotIn"},
            {"key": "disk", "operator": "Exists", "values": ["ssd"]},
            {"key": "disk", "operator": "DoesNotExist", "values": ["ssd"]},
            {"key": "cores", "operator": "Gt", "values": ["many"]},
            {"key": "cores", "operator": "Lt", "values": ["4", "8"]},
            {"key": "cores", "operator": "Gt", "values": []},
            {"key": "cores", "operator": "Gt", "values": ["-1"]},
            {"key": "cores", "operator": "Gt", "values": ["12345678901234567890"]},
            {"key": "cores", "operator": "Lt", "values": ["1_000"]},
            {"key": "disk", "operator": "Matches", "values": ["ssd"]},
            {"key": "bad key", "operator": "Exists"},
            {"key": "", "operator": "DoesNotExist"},
            {"key": "disk", "operator": "In", "values": ["s s d"]},
            {"key": "disk", "operator": "NotIn", "values": ["-ssd"]},
            {"key": "disk", "operator": "In", "values": ["ssd", "x" * 64]},
        )
    )


def field_requirement(draw: Draw, nodes: list[str]) -> Json:
    names = [*nodes, "elsewhere"]
    match draw.weighted({"one": 60, "not": 15, "two": 8, "key": 5, "operator": 4, "none": 3}):
        case "not":
            return {"key": "metadata.name", "operator": "NotIn", "values": [draw.pick(names)]}
        case "two":
            return {"key": "metadata.name", "operator": draw.pick(("In", "NotIn")), "values": draw.some(names, 2, 2)}
        case "key":
            return {"key": "metadata.namespace", "operator": draw.pick(("In", "NotIn")), "values": ["x"]}
        case "operator":
            return {"key": "metadata.name", "operator": draw.pick(("Exists", "Gt")), "values": []}
        case "none":
            return {"key": "metadata.name", "operator": "In", "values": []}
    return {"key": "metadata.name", "operator": "In", "values": [draw.pick(names)]}


def term(draw: Draw, nodes: list[str], *, broken: float = 0.06, fields: float = 0.3) -> Json:
    made: Json = {}
    if draw.chance(0.04):
        return made  # selects nothing
    if not draw.chance(fields) or draw.chance(0.3):
        made["matchExpressions"] = draw.several(1, 2, lambda: requirement(draw, nodes))
        if draw.chance(broken):
            made["matchExpressions"].append(broken_requirement(draw))
    if "matchExpressions" not in made or draw.chance(fields / 3):
        made["matchFields"] = draw.several(1, 2 if draw.chance(0.2) else 1, lambda: field_requirement(draw, nodes))
    return made


def node_affinity_terms(draw: Draw, nodes: list[str]) -> list[Json]:
    """Terms of a volume's node affinity: mostly one for a host or a zone; `matchFields` are not looked at there."""
    match draw.weighted({"host": 40, "zone": 35, "any": 18, "fields": 4, "none": 3}):
        case "host":
            values = draw.some(nodes or ["n1"], 1, 2)
            return [{"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": values}]}]
        case "zone":
            return [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": draw.some(("a", "b", "c"), 1, 2)}]}]
        case "fields":
            return [{"matchFields": [field_requirement(draw, nodes)]}]
        case "none":
            return []
    return draw.several(1, 2, lambda: term(draw, nodes, broken=0.05, fields=0.05))


def preferred(draw: Draw, nodes: list[str], *, broken: float = 0.04) -> list[Json]:
    """Preferred terms; weight 0 is dropped unparsed. `broken` fails the pod's whole cycle, so it is rare."""

    def one() -> Json:
        weight = draw.weighted({0: 6, 1: 30, 50: 20, 100: 20, 33: 20})
        return {"weight": weight, "preference": term(draw, nodes, broken=0.5 if weight == 0 else broken, fields=0.15)}

    return draw.several(1, 4, one)


def node_affinity(draw: Draw, nodes: list[str], setting: Setting) -> Json:
    made: Json = {}
    if draw.chance(0.25 if setting.roomy else 0.75):
        fields = draw.pick((0.05, 0.05, 0.9)) if setting.theme == "affinity" else 0.15
        terms = draw.several(1, 3, lambda: term(draw, nodes, fields=fields))
        if draw.chance(0.04):
            terms = []
        elif draw.chance(0.16):
            # Every term asks for two names at once.
            two = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in ("n1", "n2")]
            terms = [{"matchFields": two}] * draw.whole(1, 2)
        made["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if not made or draw.chance(0.5):
        made["preferredDuringSchedulingIgnoredDuringExecution"] = preferred(draw, nodes)
    return made


def node_selector(draw: Draw) -> dict[str, str]:
    """An empty map is not the same as none: with it NodeAffinity's Filter runs."""
    if draw.chance(0.1):
        return {}
    keys = draw.some(("disk", ZONE, "gpu", "example.com/team"), 1, 2)
    return {key: draw.pick(LABELS.get(key, ("a", "b"))) for key in keys}


def toleration(draw: Draw) -> Json:
    made: Json = {"operator": draw.weighted({"Exists": 40, "Equal": 30, "": 20, "Lt": 6, "Gt": 6, "Near": 6})}
    if not made["operator"]:
        del made["operator"]
    if not draw.chance(0.15):
        made["key"] = draw.pick(TAINT_KEYS)
    if made.get("operator") != "Exists" and (value := draw.pick(TAINT_VALUES)):
        made["value"] = value
    if draw.chance(0.6):
        made["effect"] = draw.pick(EFFECTS)
    if made.get("effect") == "NoExecute" and draw.chance(0.3):
        made["tolerationSeconds"] = draw.pick((0, 300))
    return made
