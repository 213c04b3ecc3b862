"""Plain values to structs, strictly and to the end: one bad field does not hide the next.

What is accepted is what Go's JSON decoder accepts in strict mode: no unknown field, no number for a string, no fraction
for an integer, nothing out of the range of its type; null is the same as absent.
"""

from __future__ import annotations

import difflib
import json
import math
from functools import lru_cache
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import inspect

from scheduler.api.field_errors import child, element
from scheduler.config.duration import format_duration, parse_duration
from scheduler.config.report import Report

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Seconds = Annotated[float, msgspec.Meta(extra={"form": "duration"})]
"""Seconds here, a Go duration such as ``15s`` in a file."""

_T = TypeVar("_T", bound=msgspec.Struct)
_INT64 = (-(2**63), 2**63 - 1)


def decode(value: Any, into: type[_T], path: str, report: Report) -> _T:
    """The struct that ``value`` describes. What cannot be read is reported, and has its default in the result."""
    decoded: _T = _decode(value, _type_of(into), path, report)
    return decoded


def encode(value: Any) -> Any:
    """Plain values for JSON, the inverse of ``decode``: every field is written, also one that has its default."""
    if isinstance(value, msgspec.Struct):
        return {
            field.encode_name: _encode_field(getattr(value, field.name), field.type)
            for field in _type_of(type(value)).fields
        }
    if isinstance(value, list | tuple):
        return [encode(one) for one in value]
    if isinstance(value, dict):
        return {key: encode(one) for key, one in value.items()}
    return value


def _encode_field(value: Any, type_: inspect.Type) -> Any:
    if value is not None and _is_duration(_optional(type_)):
        return format_duration(value)
    return encode(value)


@lru_cache(maxsize=256)
def _type_of(cls: type[msgspec.Struct]) -> inspect.StructType:
    described = inspect.type_info(cls)
    assert isinstance(described, inspect.StructType)
    return described


def _decode(value: Any, type_: inspect.Type, path: str, report: Report) -> Any:
    type_ = _optional(type_)
    if value is None:
        return _zero(type_)
    match type_:
        case inspect.AnyType():
            return value
        case inspect.StructType():
            return _struct(value, type_, path, report)
        case inspect.ListType() | inspect.VarTupleType():
            return _sequence(value, type_, path, report)
        case inspect.DictType():
            return _mapping(value, type_, path, report)
        case inspect.LiteralType(values=values):
            return value if value in values else _unread(_one_of(values), value, type_, path, report)
    return _scalar(value, type_, path, report)


def _scalar(value: Any, type_: inspect.Type, path: str, report: Report) -> Any:
    if _is_duration(type_):
        return _duration(value, path, report)
    match type_:
        case inspect.IntType():
            return _integer(value, type_, path, report)
        case inspect.FloatType():
            is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            return float(value) if is_number else _unread("a number", value, type_, path, report)
        case inspect.BoolType():
            return value if isinstance(value, bool) else _unread("true or false", value, type_, path, report)
        case inspect.StrType():
            return value if isinstance(value, str) else _unread("a string", value, type_, path, report)
    raise TypeError(f"configuration structs cannot hold {type_}")


def _one_of(values: tuple[Any, ...]) -> str:
    return " or ".join(json.dumps(one) for one in values)


def _struct(value: Any, type_: inspect.StructType, path: str, report: Report) -> Any:
    if not isinstance(value, dict):
        return _unread("an object", value, type_, path, report)
    fields = {field.encode_name: field for field in type_.fields}
    given: dict[str, Any] = {}
    for key, one in value.items():
        field = fields.get(key)
        if field is None:
            report.unread(child(path, key), "unknown field" + _suggestion(key, fields))
        elif one is not None:
            given[field.name] = _decode(one, field.type, child(path, key), report)
    return type_.cls(**given)


def _suggestion(key: str, known: dict[str, Any]) -> str:
    by_lower_case = {name.lower(): name for name in known}
    close = difflib.get_close_matches(key.lower(), by_lower_case, n=1)
    return f"; did you mean {by_lower_case[close[0]]}?" if close else ""


def _sequence(value: Any, type_: Any, path: str, report: Report) -> Any:
    if not isinstance(value, list):
        return _unread("a list", value, type_, path, report)
    items = [_decode(one, type_.item_type, element(path, index), report) for index, one in enumerate(value)]
    return _CONTAINERS[type(type_)](items)


_CONTAINERS: dict[type[inspect.Type], Any] = {
    inspect.ListType: list,
    inspect.VarTupleType: tuple,
}


def _mapping(value: Any, type_: inspect.DictType, path: str, report: Report) -> Any:
    if not isinstance(value, dict):
        return _unread("an object", value, type_, path, report)
    return {key: _decode(one, type_.value_type, element(path, key), report) for key, one in value.items()}


def _integer(value: Any, type_: inspect.IntType, path: str, report: Report) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        report.unread(path, f"expected an integer, got {described(value)}")
        return 0
    low = _INT64[0] if type_.ge is None else int(type_.ge)
    high = _INT64[1] if type_.le is None else int(type_.le)
    if not low <= value <= high:
        report.unread(path, f"{value} is out of range: expected an integer from {low} to {high}")
        return 0
    return value


def _duration(value: Any, path: str, report: Report) -> float:
    if not isinstance(value, str):
        report.unread(path, f'expected a duration such as "15s", got {described(value)}')
        return 0.0
    try:
        return parse_duration(value)
    except ValueError as error:
        report.unread(path, str(error))
        return 0.0


def _unread(expected: str, value: Any, type_: inspect.Type, path: str, report: Report) -> Any:
    report.unread(path, f"expected {expected}, got {described(value)}")
    return _zero(type_)


def described(value: Any) -> str:
    """A value in an error: what kind of thing it is, and which when it is short."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return f"the string {json.dumps(value, ensure_ascii=False)}" if isinstance(value, str) else json.dumps(value)


def _zero(type_: inspect.Type) -> Any:
    """What stands in for a value that is null or unreadable: as in Go, the empty value of its type."""
    match type_:
        case inspect.StructType(cls=cls):
            return cls()
        case inspect.LiteralType(values=values):
            return values[0]
        case inspect.DictType():
            return {}
        case inspect.Metadata():
            return 0.0
    return _ZEROS[type(type_)]() if type(type_) in _ZEROS else None


_ZEROS: dict[type[inspect.Type], Any] = {
    **_CONTAINERS,
    inspect.IntType: int,
    inspect.FloatType: float,
    inspect.BoolType: bool,
    inspect.StrType: str,
}


def _optional(type_: inspect.Type) -> inspect.Type:
    """The type of a field that may be null, without the null."""
    if isinstance(type_, inspect.UnionType):
        (only,) = (one for one in type_.types if not isinstance(one, inspect.NoneType))
        return only
    return type_


def _is_duration(type_: inspect.Type) -> bool:
    return isinstance(type_, inspect.Metadata) and (type_.extra or {}).get("form") == "duration"
