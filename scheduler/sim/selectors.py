"""Label and field selectors of list and watch requests."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from scheduler.sim.errors import ApiError, bad_request
from scheduler.sim.objects import Object, dig

Labels: TypeAlias = Mapping[str, str]
Requirement: TypeAlias = Callable[[Labels], bool]


class Field(NamedTuple):
    """A field that objects can be selected by: where it is, and what an object counts as that lacks it."""

    path: tuple[str, ...]
    absent: str = ""


Fields: TypeAlias = Mapping[str, Field]

_WORD = re.compile(r"\s*(==|!=|[=!<>(),]|[^\s=!<>(),]+)")
QUALIFIED_NAME = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
QUALIFIED_NAME_TEXT = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)

_SYMBOLS = frozenset(("=", "==", "!=", "!", "<", ">", "(", ")", ","))
_ESCAPE = re.compile(r"\\(.)")


class Selector:
    """Which objects of a resource a request is about."""

    __slots__ = ("_fields", "_labels", "everything")

    def __init__(self, labels: Sequence[Requirement] = (), fields: Sequence[tuple[Field, str, bool]] = ()) -> None:
        self._labels = tuple(labels)
        self._fields = tuple(fields)
        self.everything = not self._labels and not self._fields

    def matches(self, item: Object) -> bool:
        """Whether the object is chosen."""
        if self._labels:
            labels = item["metadata"].get("labels") or {}
            if not all(requirement(labels) for requirement in self._labels):
                return False
        return all((_text(item, field) == value) is wanted for field, value, wanted in self._fields)


def parse_selector(label_selector: str, field_selector: str, fields: Fields) -> Selector:
    """The selector of a request; `fields` are those of the resource that may be asked for.

    Raises:
        ApiError: a selector cannot be read, or asks for a field that the resource cannot be selected by.
    """
    return Selector(_parse_labels(label_selector), _parse_fields(field_selector, fields))


def _text(item: Object, field: Field) -> str:
    value = dig(item, field.path)
    if value is None:
        return field.absent
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


# ---------------------------------------------------------------------------------------------------------------- labels


class _Words:
    """The words of a label selector, read one by one; None is the end."""

    def __init__(self, text: str) -> None:
        self._words = _WORD.findall(text)
        self._next = 0

    def peek(self) -> str | None:
        return self._words[self._next] if self._next < len(self._words) else None

    def take(self) -> str | None:
        word = self.peek()
        self._next += 1
        return word


def _parse_labels(text: str) -> list[Requirement]:
    words = _Words(text)
    requirements: list[Requirement] = []
    if words.peek() is None:
        return requirements
    while True:
        requirements.append(_parse_requirement(words))
        match words.take():
            case None:
                return requirements
            case ",":
                continue
            case other:
                raise _unreadable(f"found '{other}', expected: ',' or 'end of string'")


def _parse_requirement(words: _Words) -> Requirement:
    if words.peek() == "!":
        words.take()
        absent = _key(words)
        return lambda labels: absent not in labels
    key = _key(words)
    match words.peek():
        case None | ",":
            return lambda labels: key in labels
        case "=" | "==" | "!=" as operator:
            words.take()
            value = _value(words)
            if operator == "!=":
                return lambda labels: labels.get(key) != value
            return lambda labels: labels.get(key) == value
        case "in" | "notin" as operator:
            words.take()
            values = _values(words)
            if operator == "notin":
                return lambda labels: labels.get(key) not in values
            return lambda labels: key in labels and labels[key] in values
        case "<" | ">" as operator:
            words.take()
            return _ordered(key, operator, _value(words))
        case other:
            raise _unreadable(f"found '{other}', expected: in, notin, =, ==, !=, gt, lt")


def _key(words: _Words) -> str:
    word = words.take()
    if word is None or word in _SYMBOLS:
        raise _unreadable(f"found '{word or ''}', expected: identifier")
    if not QUALIFIED_NAME.fullmatch(word):
        raise _unreadable(f'<nil>: Invalid value: "{word}": {QUALIFIED_NAME_TEXT}')
    return word


def _value(words: _Words) -> str:
    word = words.peek()
    if word is None or word == ",":
        return ""
    words.take()
    if word in _SYMBOLS:
        raise _unreadable(f"found '{word}', expected: identifier")
    return word


def _values(words: _Words) -> frozenset[str]:
    if (word := words.take()) != "(":
        raise _unreadable(f"found '{word or ''}' expected: '('")
    values: set[str] = set()
    while True:
        match words.take():
            case ")":
                return frozenset(values or {""})
            case None:
                raise _unreadable("found '', expected: ',', or ')'")
            case ",":
                values.add("")
            case word:
                values.add(word)
                if words.peek() == ",":
                    words.take()


def _ordered(key: str, operator: str, bound: str) -> Requirement:
    try:
        limit = int(bound)
    except ValueError:
        raise _unreadable(f"for 'Gt', 'Lt' operators, the value must be an integer, found '{bound}'") from None

    def matches(labels: Labels) -> bool:
        try:
            number = int(labels[key])
        except (KeyError, ValueError):
            return False
        return number > limit if operator == ">" else number < limit

    return matches


def _unreadable(detail: str) -> ApiError:
    return bad_request(f"unable to parse requirement: {detail}")


# ---------------------------------------------------------------------------------------------------------------- fields


def _parse_fields(text: str, fields: Fields) -> list[tuple[Field, str, bool]]:
    requirements = []
    for term in re.findall(r"(?:\\.|[^,\\])+", text):
        match = re.match(r"([^=!]*)(==|!=|=)(.*)", term, re.DOTALL)
        if match is None:
            raise bad_request(f"invalid selector: '{term}'; can't understand '{term}'")
        name, operator, value = match.groups()
        if found := re.search(r"(?<!\\)=", value):
            raise bad_request(f"invalid field selector: unescaped character in value: {ord(found[0])}")
        if name not in fields:
            raise bad_request(f"field label not supported: {name}")
        requirements.append((fields[name], _ESCAPE.sub(r"\1", value), operator != "!="))
    return requirements
