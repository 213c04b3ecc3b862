"""RepriseConfiguration, version reprise.dev/v1alpha1: what kube-scheduler's document has no field for."""

from __future__ import annotations

import ipaddress
from typing import Literal

import msgspec

from scheduler.api.field_errors import invalid
from scheduler.config.decoding import Int32, Seconds
from scheduler.config.duration import format_duration
from scheduler.config.report import Report

API_VERSION = "reprise.dev/v1alpha1"
KIND = "RepriseConfiguration"


class _Section(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A part of the document: camelCase there, snake_case here."""


class Batching(_Section, frozen=True):
    """Reuse of one pod's verdicts and scores for the next pod of the same signature."""

    enabled: bool = True
    max_signatures: Int32 = 16
    max_batch_age_seconds: Seconds = msgspec.field(name="maxBatchAge", default=0.5)
    verify_fraction: float = 0.01


class Serving(_Section, frozen=True):
    """Where ``/livez``, ``/readyz``, ``/metrics`` and ``/configz`` are served, and whether ``/debug/`` is too."""

    bind_address: str = "127.0.0.1"
    port: Int32 = 10259
    debug: bool = False


class Logging(_Section, frozen=True):
    format: Literal["json", "console"] = "json"
    level: Literal["debug", "info", "warning", "error"] = "info"


class RepriseConfiguration(_Section, frozen=True):
    batching: Batching = Batching()
    serving: Serving = Serving()
    logging: Logging = Logging()


def validate(document: RepriseConfiguration, report: Report) -> None:
    """Report what breaks a rule, and what is accepted without an effect."""
    batching = document.batching
    if batching.max_signatures < 1:
        report.error(invalid("batching.maxSignatures", batching.max_signatures, "must be greater than 0"))
    if batching.max_batch_age_seconds < 0:
        shown = format_duration(batching.max_batch_age_seconds)
        report.error(invalid("batching.maxBatchAge", shown, "must be zero or positive"))
    if not 0 <= batching.verify_fraction <= 1:
        report.error(invalid("batching.verifyFraction", batching.verify_fraction, "not in valid range [0, 1]"))
    serving = document.serving
    if not _is_loopback(serving.bind_address):
        report.error(
            invalid(
                "serving.bindAddress",
                serving.bind_address,
                "only a loopback address such as 127.0.0.1 or ::1 can be served yet, because requests are not authenticated",
            )
        )
    if not 0 <= serving.port <= 65535:
        report.error(invalid("serving.port", serving.port, "must be between 0 and 65535"))


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
