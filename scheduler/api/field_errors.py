"""Errors of validation, written as ``path: kind: detail`` (apimachinery 0.37: validation/field)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any


def child(path: str, name: str) -> str:
    """The path of a field of the object at ``path``; "" is the root."""
    return f"{path}.{name}" if path else name


def element(path: str, subscript: int | str) -> str:
    """The path of an element of the list or map at ``path``."""
    return f"{path}[{subscript}]"


def _shown(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def invalid(path: str, value: Any, detail: str) -> str:
    return f"{path}: Invalid value: {_shown(value)}: {detail}"


def required(path: str, detail: str) -> str:
    return f"{path}: Required value: {detail}"


def forbidden(path: str, detail: str) -> str:
    return f"{path}: Forbidden: {detail}"


def duplicate(path: str, value: Any) -> str:
    return f"{path}: Duplicate value: {_shown(value)}"


def not_supported(path: str, value: Any, supported: Iterable[str]) -> str:
    choices = ", ".join(_shown(choice) for choice in supported)
    return f"{path}: Unsupported value: {_shown(value)}: supported values: {choices}"


def aggregate(messages: Iterable[str]) -> str:
    """Several errors as one text: each once, in order, in brackets when there are more than one."""
    distinct = list(dict.fromkeys(messages))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
