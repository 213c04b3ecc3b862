"""What may be the key or the value of a label (apimachinery 0.37: validate/content)."""

from __future__ import annotations

import re
from functools import lru_cache

_MAX_NAME_BYTES = 63
_MAX_PREFIX_BYTES = 253

_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = rf"({_NAME})?"
_VALUE_PATTERN = re.compile(_VALUE)
_DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"

_NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character "
    f"(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{_VALUE}')"
)
_PREFIX_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character "
    f"(e.g. 'example.com', regex used for validation is '{_DNS_SUBDOMAIN}')"
)


def _too_long(limit: int) -> str:
    return f"must be no more than {limit} bytes"


def _prefix_errors(prefix: str) -> list[str]:
    if not prefix:
        return ["must be non-empty"]
    errors = []
    if len(prefix.encode()) > _MAX_PREFIX_BYTES:
        errors.append(_too_long(_MAX_PREFIX_BYTES))
    if not re.fullmatch(_DNS_SUBDOMAIN, prefix):
        errors.append(_PREFIX_RULE)
    return errors


def label_key_errors(key: str) -> list[str]:
    """Why ``key`` is no label key (nor a qualified name of anything else); empty when it is one."""
    return list(_label_key_errors(key))


@lru_cache(maxsize=4096)  # a cluster has few label keys, and they are in every selector
def _label_key_errors(key: str) -> tuple[str, ...]:
    parts = key.split("/")
    if len(parts) > 2:
        return (
            f"a valid label key {_NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        )
    errors = [f"prefix part {error}" for error in _prefix_errors(parts[0])] if len(parts) == 2 else []
    name = parts[-1]
    if not name:
        errors.append("name part must be non-empty")
    elif len(name.encode()) > _MAX_NAME_BYTES:
        errors.append(f"name part {_too_long(_MAX_NAME_BYTES)}")
    if not re.fullmatch(_NAME, name):
        errors.append(f"name part {_NAME_RULE}")
    return tuple(errors)


def label_value_errors(value: str) -> list[str]:
    """Why ``value`` is no value of a label; empty when it is one."""
    errors = []
    if len(value.encode()) > _MAX_NAME_BYTES:
        errors.append(_too_long(_MAX_NAME_BYTES))
    if not _VALUE_PATTERN.fullmatch(value):
        errors.append(_VALUE_RULE)
    return errors
