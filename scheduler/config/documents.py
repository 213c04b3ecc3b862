"""YAML and JSON text to plain values, with every key that is given twice.

Scalars mean what they mean to kube-scheduler's reader, which follows YAML 1.1 (``yes`` is a bool, ``0o17`` and ``017`` are
15, a date is a string), and not what YAML 1.2 says. Of a key given twice the last value is kept, and the file refused.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from scheduler.api.field_errors import child, element
from scheduler.config.report import Report

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_TAG = "tag:yaml.org,2002:"
_TAGGED: dict[str, tuple[type, ...]] = {
    _TAG + "int": (int,),
    _TAG + "float": (int, float),
    _TAG + "bool": (bool,),
    _TAG + "null": (type(None),),
}


def read_documents(text: str, report: Report) -> list[Any]:
    """The documents of a file, empty ones left out. Text that starts with a brace is tried as JSON first."""
    try:
        return _documents(text, report)
    except RecursionError:
        report.unread("", "nested too deeply")
        return []


def _documents(text: str, report: Report) -> list[Any]:
    if text.lstrip().startswith("{"):
        try:
            return [_read_json(text, report)]
        except json.JSONDecodeError:
            pass  # a flow mapping of YAML starts with a brace too
    reader = _YamlReader(report)
    try:
        return reader.documents(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        report.unread(where, f"not YAML: {error.problem or error.context}")
    except YAMLError as error:
        report.unread("", "not YAML: " + " ".join(str(error).split()))
    return []


class _Pairs(list[tuple[str, Any]]):
    """A JSON object before its keys are known to be distinct."""


def _read_json(text: str, report: Report) -> Any:
    def number(word: str) -> Any:
        raise json.JSONDecodeError(f"{word} is no number", text, text.find(word))

    return _distinct(json.loads(text, object_pairs_hook=_Pairs, parse_constant=number), "", report)


def _distinct(value: Any, path: str, report: Report) -> Any:
    if isinstance(value, _Pairs):
        result: dict[str, Any] = {}
        for key, one in value:
            if key in result:
                report.unread(child(path, key), "duplicate key")
            result[key] = _distinct(one, child(path, key), report)
        return result
    if isinstance(value, list):
        return [_distinct(one, element(path, index), report) for index, one in enumerate(value)]
    return value


class _YamlReader:
    """Values built straight from the parser's events: a loader would forget which scalars were quoted, and where keys are."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._anchors: dict[str, Any] = {}

    def documents(self, text: str) -> list[Any]:
        found = []
        events = YAML(typ="safe", pure=True).parse(text)
        for event in events:
            if isinstance(event, DocumentStartEvent):
                self._anchors = {}
                value = self._value(next(events), events, "")
                if value is not None:
                    found.append(value)
        return found

    def _value(self, event: Event, events: Iterator[Event], path: str) -> Any:
        if isinstance(event, AliasEvent):
            if event.anchor not in self._anchors:
                self._fail(event, path, f"unknown anchor {event.anchor}")
            return self._anchors.get(event.anchor)
        value: Any
        if isinstance(event, MappingStartEvent):
            value = self._mapping(events, path)
        elif isinstance(event, SequenceStartEvent):
            value = self._sequence(events, path)
        else:
            assert isinstance(event, ScalarEvent)
            value = self._scalar(event, path)
        if event.anchor is not None:
            self._anchors[event.anchor] = value
        return value

    def _sequence(self, events: Iterator[Event], path: str) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(events), SequenceEndEvent):
            items.append(self._value(event, events, element(path, len(items))))
        return items

    def _mapping(self, events: Iterator[Event], path: str) -> dict[str, Any]:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        lines: dict[str, int] = {}
        while not isinstance(event := next(events), MappingEndEvent):
            if not isinstance(event, ScalarEvent):
                self._fail(event, path, "a key must be a string")
                self._value(event, events, path)
                self._value(next(events), events, path)
                continue
            key = event.value
            value = self._value(next(events), events, child(path, key))
            if key == "<<" and event.implicit[0]:
                for source in reversed(value if isinstance(value, list) else [value]):
                    merged.update(source if isinstance(source, dict) else {})
                continue
            line = event.start_mark.line + 1
            if key in own:
                self._report.unread(child(path, key), f"duplicate key: given on line {lines[key]} and on line {line}")
            own[key] = value
            lines.setdefault(key, line)
        return {**merged, **own}

    def _scalar(self, event: ScalarEvent, path: str) -> Any:
        text: str = event.value
        if event.implicit[0]:
            return plain_scalar(text)
        tag = event.tag
        if tag is None or tag in (_TAG + "str", "!"):
            return text
        value = plain_scalar(text)
        if type(value) not in _TAGGED.get(tag, ()):
            self._fail(event, path, f"cannot read {json.dumps(text)} as {tag.removeprefix(_TAG)}")
        return value

    def _fail(self, event: Event, path: str, message: str) -> None:
        self._report.unread(path, f"{message} (line {event.start_mark.line + 1})")


def plain_scalar(text: str) -> str | int | float | bool | None:
    """The value of an unquoted scalar, as go-yaml v2 resolves it on the way to JSON."""
    if text in _WORDS:
        return _WORDS[text]
    digits = text.replace("_", "")
    if not text[0].isascii() or text[0] not in "+-.0123456789":
        return text
    integer = _INTEGER.fullmatch(digits)
    if integer is not None:
        sign, hexadecimal, binary, octal, decimal = integer.groups()
        for number, radix in ((hexadecimal, 16), (binary, 2), (octal, 8), (decimal, 10)):
            if number is not None:
                value = int(sign + number, radix)
                if -(2**63) <= value < 2**64:
                    return value
    if _FLOAT.fullmatch(digits if text[0] != "." else text):
        real = float(digits)
        if math.isinf(real):
            return text
        # A whole number is written to JSON without a fraction, so `16.0` is as good as `16`.
        return int(real) if real.is_integer() and abs(real) < 1e21 else real
    return text
