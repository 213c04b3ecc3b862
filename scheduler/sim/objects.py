"""API objects as JSON values, and the small things every part does with them.

An object that is in the store is never changed: a write makes a new one that shares what did not change.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

Object: TypeAlias = dict[str, Any]
Clock: TypeAlias = Callable[[], datetime]


def utc_now() -> datetime:
    """The wall clock."""
    return datetime.now(UTC)


def timestamp(moment: datetime) -> str:
    """As the API writes a time, which is in UTC: RFC 3339, whole seconds."""
    return moment.isoformat()[:19] + "Z"


def dig(item: Any, path: Sequence[str]) -> Any:
    """The value at a path of keys, or None when some part of the path is absent."""
    for key in path:
        if not isinstance(item, dict):
            return None
        item = item.get(key)
    return item


def without_nulls(value: Any) -> Any:
    """The value without members that are null: the API reads them as absent."""
    if isinstance(value, dict):
        return {
            key: without_nulls(member) if type(member) in _CONTAINERS else member
            for key, member in value.items()
            if member is not None
        }
    if isinstance(value, list):
        return [without_nulls(member) if type(member) in _CONTAINERS else member for member in value]
    return value


# Most members are plain values: not calling the function for them makes it three times as fast.
_CONTAINERS = (dict, list)
