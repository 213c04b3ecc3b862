"""Strategic merge patch: a merge patch that knows which lists are keyed, and by what.

A list without a key is replaced as a whole, as `tolerations` and `taints` are.
"""

from typing import Any

from scheduler.sim.objects import Object
from scheduler.sim.patches import PatchError

# Name of a list -> the member that its items are keyed by.
MERGE_KEYS = {
    "addresses": "type",
    "conditions": "type",
    "containers": "name",
    "env": "name",
    "ephemeralContainers": "name",
    "hostAliases": "ip",
    "hostIPs": "ip",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "podIPs": "ip",
    "resourceClaims": "name",
    "resourceClaimStatuses": "name",
    "schedulingGates": "name",
    "topologySpreadConstraints": "topologyKey",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
# `ports` of a container and of a Service are keyed by different members.
PORT_KEYS = ("containerPort", "port")
# Lists of plain values that are merged as sets.
MERGED_VALUES = frozenset(("finalizers",))

_ORDER = "$setElementOrder/"
_DELETE_VALUES = "$deleteFromPrimitiveList/"
_RETAIN = "$retainKeys"
_DIRECTIVE = "$patch"


def strategic_merge_patch(document: Any, patch: Any) -> Any:
    """The document with the patch merged in; the document is not changed.

    Raises:
        PatchError: the patch is no object, or an item of a keyed list lacks its key.
    """
    if not isinstance(patch, dict):
        raise PatchError("a strategic merge patch is an object")
    return _merge_object(document if isinstance(document, dict) else {}, patch)


def _merge_object(original: Object, patch: Object) -> Object:
    directive = patch.get(_DIRECTIVE)
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != _DIRECTIVE}
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise PatchError(f"unknown patch directive {directive}")
    merged = dict(original)
    if (retained := patch.get(_RETAIN)) is not None:
        merged = {key: value for key, value in merged.items() if key in retained}
    for key, value in patch.items():
        if key.startswith(_DELETE_VALUES):
            name = key.removeprefix(_DELETE_VALUES)
            merged[name] = [item for item in merged.get(name) or [] if item not in value]
        elif not key.startswith("$"):
            if value is None:
                merged.pop(key, None)
            else:
                merged[key] = _merge_member(key, merged.get(key), value, patch.get(_ORDER + key))
    return merged


def _merge_member(name: str, original: Any, value: Any, order: list[Any] | None) -> Any:
    if isinstance(value, dict):
        return _merge_object(original if isinstance(original, dict) else {}, value)
    if not isinstance(value, list):
        return value
    present = original if isinstance(original, list) else []
    if name in MERGED_VALUES:
        return present + [item for item in value if item not in present]
    key = _merge_key(name, value + present)
    return value if key is None else _merge_list(key, present, value, order)


def _merge_key(name: str, items: list[Any]) -> str | None:
    if name == "ports":
        return next((key for key in PORT_KEYS for item in items if isinstance(item, dict) and key in item), None)
    return MERGE_KEYS.get(name)


def _merge_list(key: str, original: list[Object], patch: list[Object], order: list[Any] | None) -> list[Object]:
    """Merge by key. What the patch names comes first, unless the original list had it behind something it leaves alone."""
    if any(item.get(_DIRECTIVE) == "replace" for item in patch):
        return [item for item in patch if item.get(_DIRECTIVE) != "replace"]
    before = {item[key]: item for item in original if key in item}
    named: dict[Any, Object] = {}
    deleted = set()
    for item in patch:
        if key not in item:
            raise PatchError(f"an item of the patch has no {key}: {item}")
        if item.get(_DIRECTIVE) == "delete":
            deleted.add(item[key])
        else:
            named[item[key]] = _merge_object(before.get(item[key], {}), item)
    wanted = [item[key] for item in order or []]
    wanted += [name for name in named if name not in wanted]
    after = {**before, **named}
    chosen = [name for name in wanted if name in after and name not in deleted]
    untouched = [name for name in before if name not in wanted and name not in deleted]
    place = {name: index for index, name in enumerate(before)}
    names = []
    while chosen and untouched:
        first = chosen[0]
        names.append((untouched if first in place and place[untouched[0]] < place[first] else chosen).pop(0))
    return [after[name] for name in names + chosen + untouched]
