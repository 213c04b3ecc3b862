"""What the ``extenders`` of a KubeSchedulerConfiguration must keep to, and how they are shown (kube-scheduler 1.37: validateExtenders).

Upstream's rules come with upstream's words. A scheduler that runs besides refuses an address or certificates of which it is
certain that no extender can be asked with them; upstream finds out at the start, or with the first pod.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from typing import Any

from scheduler.api.field_errors import child, element, invalid, required
from scheduler.api.label_syntax import label_key_errors
from scheduler.api.resources import is_extended
from scheduler.config.duration import format_duration
from scheduler.config.kube_document import Extender, ExtenderTLSConfig
from scheduler.config.report import Report

DEFAULT_TIMEOUT_SECONDS = 5.0
HIDDEN = "(hidden)"
"""Stands for a secret where a configuration is shown."""

_SERVER = re.compile(
    r"https?://(?:[^\s/?#]*@)?(?:\[[0-9a-fA-F:.]+\]|[\w.-]+)(?::(?P<port>\d{1,5}))?(?:[/?#]\S*)?", re.ASCII
).fullmatch
_HIGHEST_PORT = 65535
_DATA = {"certData": "cert_data", "keyData": "key_data", "caData": "ca_data"}


def timeout_seconds(extender: Extender) -> float:
    """How long an extender may take for an answer."""
    return extender.http_timeout_seconds or DEFAULT_TIMEOUT_SECONDS


def without_user(url: str) -> str:
    """The URL as it may be shown: without the user name and password that it can hold."""
    head, separator, rest = url.partition("://")
    if not separator:
        return url
    authority, slash, path = rest.partition("/")
    return f"{head}://{authority.rpartition('@')[2]}{slash}{path}"


def hide_secrets(shown: dict[str, Any]) -> None:
    """Take keys and passwords out of an extender's plain values."""
    shown["urlPrefix"] = without_user(shown["urlPrefix"])
    tls = shown["tlsConfig"]
    if tls is not None and tls["keyData"]:
        tls["keyData"] = HIDDEN


def validate(extenders: Sequence[Extender], report: Report, *, runs: bool) -> None:
    """Report every rule that the extenders break; with ``runs`` also why one can never be asked."""
    binders = sum(1 for extender in extenders if extender.bind_verb)
    managed: set[str] = set()
    for index, extender in enumerate(extenders):
        path = element("extenders", index)
        if extender.prioritize_verb and extender.weight <= 0:
            wanted = "must have a positive weight applied to it"
            report.error(invalid(child(path, "weight"), extender.weight, wanted))
        for position, resource in enumerate(extender.managed_resources):
            at = child(element(child(path, "managedResources"), position), "name")
            report.error(*_extended_resource_errors(at, resource.name))
            if resource.name in managed:
                report.error(invalid(at, resource.name, "duplicate extender managed resource name"))
            managed.add(resource.name)
        if runs:
            report.error(*_address_errors(path, extender))
            if extender.tls_config is not None:
                report.error(*_tls_errors(child(path, "tlsConfig"), extender.tls_config))
    if binders > 1:
        found = f"found {binders} extenders implementing bind"
        report.error(invalid("extenders", found, "only one extender can implement bind"))


def _extended_resource_errors(path: str, name: str) -> list[str]:
    syntax = [invalid(path, name, message) for message in label_key_errors(name)]
    if syntax:
        return syntax
    return [] if is_extended(name) else [invalid(path, name, "is an invalid extended resource name")]


def _address_errors(path: str, extender: Extender) -> list[str]:
    errors = []
    shown = without_user(extender.url_prefix)
    at = child(path, "urlPrefix")
    if not extender.url_prefix:
        errors.append(required(at, "the URL at which the extender is asked, such as http://127.0.0.1:8888/scheduler"))
    elif not _is_server(extender.url_prefix):
        errors.append(invalid(at, shown, "must be the URL of an http or https server"))
    elif "?" in extender.url_prefix or "#" in extender.url_prefix:
        errors.append(invalid(at, shown, "must end in a path: a verb is appended to it"))
    if extender.http_timeout_seconds < 0:
        wanted = "must not be negative; 0 means 5s"
        errors.append(invalid(child(path, "httpTimeout"), format_duration(extender.http_timeout_seconds), wanted))
    return errors


def _is_server(url: str) -> bool:
    found = _SERVER(url)
    return found is not None and (found["port"] is None or 0 < int(found["port"]) <= _HIGHEST_PORT)


def _tls_errors(path: str, tls: ExtenderTLSConfig) -> list[str]:
    errors = []
    for name, field in _DATA.items():
        try:
            base64.b64decode(getattr(tls, field), validate=True)
        except (binascii.Error, ValueError):
            # Not shown: it may be the key, also under another name by mistake.
            errors.append(f"{child(path, name)}: Invalid value: {HIDDEN}: must be base64")
    if tls.insecure and (tls.ca_file or tls.ca_data):
        wanted = "must not be set together with caFile or caData: nothing is verified then"
        errors.append(invalid(child(path, "insecure"), True, wanted))
    if bool(tls.cert_file or tls.cert_data) != bool(tls.key_file or tls.key_data):
        missing = ("keyFile", "keyData") if tls.cert_file or tls.cert_data else ("certFile", "certData")
        errors.append(
            required(child(path, missing[0]), f"{missing[0]} or {missing[1]}: certificate and key go together")
        )
    return errors
