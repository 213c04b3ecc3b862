"""JSON merge patch (RFC 7386) and JSON patch (RFC 6902). Neither changes the document it is given."""

import copy
from typing import Any

from scheduler.sim.objects import Object


class PatchError(ValueError):
    """The patch is malformed, or does not fit the document."""


def merge_patch(document: Any, patch: Any) -> Any:
    """The document with the members of the patch put in, and those that the patch has as null taken out."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def json_patch(document: Object, operations: Any) -> Any:
    """The document after all operations, in their order.

    Raises:
        PatchError: an operation is malformed or does not apply, or a test fails.
    """
    if not isinstance(operations, list):
        raise PatchError("a JSON patch is a list of operations")
    result = copy.deepcopy(document)
    for operation in operations:
        try:
            result = _apply(result, operation)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise PatchError(f"{operation}: {error}") from error
    return result


def _apply(document: Any, operation: Any) -> Any:
    path = _pointer(operation["path"])
    match operation["op"]:
        case "add":
            return _add(document, path, operation["value"])
        case "remove":
            return _remove(document, path)
        case "replace":
            _find(document, path)
            return _add(_remove(document, path), path, operation["value"]) if path else operation["value"]
        case "move":
            source = _pointer(operation["from"])
            value = _find(document, source)
            return _add(_remove(document, source), path, value)
        case "copy":
            return _add(document, path, copy.deepcopy(_find(document, _pointer(operation["from"]))))
        case "test":
            if _find(document, path) != operation["value"]:
                raise ValueError("the test failed")
            return document
        case other:
            raise ValueError(f"unknown operation {other}")


def _pointer(text: str) -> list[str]:
    if not text:
        return []
    if not text.startswith("/"):
        raise ValueError(f"{text} is no JSON pointer")
    return [part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/")]


def _find(document: Any, path: list[str]) -> Any:
    for key in path:
        document = document[_index(document, key)] if isinstance(document, list) else document[key]
    return document


def _add(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent, key = _find(document, path[:-1]), path[-1]
    if isinstance(parent, list):
        at = len(parent) if key == "-" else _index(parent, key, end=len(parent))
        parent.insert(at, value)
    else:
        parent[key] = value
    return document


def _remove(document: Any, path: list[str]) -> Any:
    if not path:
        return None
    parent, key = _find(document, path[:-1]), path[-1]
    del parent[_index(parent, key) if isinstance(parent, list) else key]
    return document


def _index(items: list[Any], key: str, *, end: int | None = None) -> int:
    """The index a pointer means; `end` is the largest that is allowed, by default the last item's."""
    last = len(items) - 1 if end is None else end
    if not (key.isdecimal() and str(int(key)) == key and int(key) <= last):
        raise IndexError(f"{key} is no index of a list of {len(items)}")
    return int(key)
