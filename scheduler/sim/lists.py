"""Lists: which objects, at which version, in pages."""

import base64
import binascii
from collections.abc import Mapping
from typing import Literal

import msgspec

from scheduler.sim import errors
from scheduler.sim.objects import Object
from scheduler.sim.resources import Resource
from scheduler.sim.selectors import Selector, parse_selector
from scheduler.sim.store import Shelf, Version

Query = Mapping[str, str]

_INCONSISTENT = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the "
    "continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing "
    "with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the "
    "time the first chunk was returned and now may show up in the list."
)
# A page that goes on from here is of the state as it is now, whatever the first page was of.
NO_VERSION = -1


class _Token(msgspec.Struct):
    """Where the next page begins: behind a key, in the state of a version."""

    v: Literal["meta.k8s.io/v1"]
    rv: int
    start: str


def parse_number(query: Query, name: str) -> int:
    """A parameter that is a number; 0 when it is not given.

    Raises:
        ApiError: it is no number.
    """
    text = query.get(name, "")
    if not text:
        return 0
    try:
        return int(text)
    except ValueError:
        raise errors.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def selector_of(resource: Resource, query: Query) -> Selector:
    """The selector of a list or watch.

    Raises:
        ApiError: it cannot be read.
    """
    return parse_selector(query.get("labelSelector", ""), query.get("fieldSelector", ""), resource.fields)


def parse_version(text: str) -> int | None:
    """A resourceVersion, or None when the text is none."""
    return int(text) if text.isascii() and text.isdecimal() else None


def list_objects(
    resource: Resource, shelf: Shelf, namespace: str, query: Query, current: int
) -> tuple[list[Version], Object]:
    """The objects that a list asks for, and the metadata of the list; `current` is the version of the state.

    Raises:
        ApiError: 400 and 422 for parameters that make no sense, 410 for a state that is forgotten, 504 for one to come.
    """
    selector, limit = selector_of(resource, query), max(0, parse_number(query, "limit"))
    prefix = f"{namespace}/" if namespace and resource.namespaced else ""
    start, asked, exact = "", query.get("resourceVersion", ""), False
    version = current
    if token := query.get("continue", ""):
        if asked:
            raise errors.bad_request("specifying resource version is not allowed when using continue")
        start, wanted = _read_token(token)
        version = current if wanted == NO_VERSION else wanted
        start = prefix + start
    else:
        exact = _check_match(query, asked, current)
        if exact:
            version = int(asked)
        elif asked == "0":
            limit = 0  # served from a cache that knows no pages
    try:
        state = shelf.versions if version == current else shelf.as_of(version)
    except errors.ApiError:
        if token:
            raise errors.expired(_INCONSISTENT, continue_token=_token(NO_VERSION, start, prefix)) from None
        raise errors.expired("The resourceVersion for the provided list is too old.") from None
    keys = sorted(key for key in state if key > start and key.startswith(prefix))
    if not selector.everything:
        keys = [key for key in keys if selector.matches(state[key].object)]
    metadata: Object = {"resourceVersion": str(version)}
    if limit and len(keys) > limit:
        metadata["continue"] = _token(version, keys[limit - 1], prefix)
        if selector.everything:
            metadata["remainingItemCount"] = len(keys) - limit
        keys = keys[:limit]
    return [state[key] for key in keys], metadata


def _check_match(query: Query, asked: str, current: int) -> bool:
    """Whether exactly the version asked for is wanted."""
    match = query.get("resourceVersionMatch", "")
    if query.get("sendInitialEvents"):
        text = "sendInitialEvents is forbidden for list"
        raise errors.invalid_options(errors.forbidden_value("sendInitialEvents", text))
    if match:
        check_match(match, asked)
    number = parse_version(asked or "0")
    if number is None:
        text = f'invalid resource version: resourceVersion: Invalid value: "{asked}": '
        raise errors.bad_request(f'{text}strconv.ParseUint: parsing "{asked}": invalid syntax')
    if number > current:
        raise errors.version_too_large(number, current)
    return match == "Exact"


def check_match(match: str, asked: str) -> None:
    """See whether a resourceVersionMatch goes with the resourceVersion of a list.

    Raises:
        ApiError: 422, when it does not.
    """
    if match not in ("Exact", "NotOlderThan"):
        text = f'Unsupported value: "{match}": supported values: "Exact", "NotOlderThan", ""'
        cause = errors.Cause("FieldValueNotSupported", "resourceVersionMatch", text)
    elif not asked:
        text = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        cause = errors.forbidden_value("resourceVersionMatch", text)
    elif match == "Exact" and asked == "0":
        text = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        cause = errors.forbidden_value("resourceVersionMatch", text)
    else:
        return
    raise errors.invalid_options(cause)


def _token(version: int, key: str, prefix: str) -> str:
    """The token of the page behind a key; within one namespace it does not name it."""
    token = msgspec.json.encode(_Token("meta.k8s.io/v1", version, key.removeprefix(prefix)))
    return base64.urlsafe_b64encode(token).decode().rstrip("=")


def _read_token(token: str) -> tuple[str, int]:
    try:
        padded = token + "=" * (-len(token) % 4)
        read = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=_Token)
    except (binascii.Error, ValueError) as error:
        raise errors.bad_request(f"invalid continue token: continue key is not valid: {error}") from error
    return read.start, read.rv
