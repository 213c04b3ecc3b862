"""RepriseConfiguration, version reprise.dev/v1alpha1: what kube-scheduler's document has no field for."""

from __future__ import annotations

import ipaddress
from typing import Literal

import msgspec

from scheduler.api.field_errors import invalid, required
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
    """Where ``/livez``, ``/readyz``, ``/metrics`` and ``/configz`` are served, and whether ``/debug/`` is too.

    ``port`` speaks HTTPS and asks who wants to know; ``plain_metrics_port`` is for ``/metrics`` alone and ``insecure_port`` for all
    pages to whoever is on this machine: both speak HTTP and ask nobody. A port of 0 is not served.
    """

    bind_address: str = "0.0.0.0"
    port: Int32 = 10259
    cert_file: str = ""
    private_key_file: str = ""
    plain_metrics_port: Int32 = 0
    insecure_bind_address: str = "127.0.0.1"
    insecure_port: Int32 = 0
    debug: bool = False


class TypoWarnings(_Section, frozen=True):
    """Events on pods whose schedulerName is nearly that of a profile, and that nobody looks at."""

    enabled: bool = True


class Logging(_Section, frozen=True):
    format: Literal["json", "console"] = "json"
    level: Literal["debug", "info", "warning", "error"] = "info"


class RepriseConfiguration(_Section, frozen=True):
    batching: Batching = Batching()
    typo_warnings: TypoWarnings = TypoWarnings()
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
    _validate_serving(document.serving, report)


def _validate_serving(serving: Serving, report: Report) -> None:
    if not _is_address(serving.bind_address):
        report.error(
            invalid(
                "serving.bindAddress", serving.bind_address, "must be an IP address, such as 0.0.0.0, :: or 10.9.8.7"
            )
        )
    if not _is_loopback(serving.insecure_bind_address):
        report.error(
            invalid(
                "serving.insecureBindAddress",
                serving.insecure_bind_address,
                "must be a loopback address such as 127.0.0.1 or ::1, because nobody is asked who he is there",
            )
        )
    if bool(serving.cert_file) != bool(serving.private_key_file):
        named, lacking = ("certFile", "privateKeyFile") if serving.cert_file else ("privateKeyFile", "certFile")
        report.error(required(f"serving.{lacking}", f"{named} is set; give both, or none for a certificate of our own"))
    ports = {
        "serving.port": serving.port,
        "serving.plainMetricsPort": serving.plain_metrics_port,
        "serving.insecurePort": serving.insecure_port,
    }
    taken: dict[int, str] = {}
    for path, port in ports.items():
        if not 0 <= port <= 65535:
            report.error(invalid(path, port, "must be between 0 and 65535"))
        elif port and taken.setdefault(port, path) != path:
            report.error(invalid(path, port, f"is that of {taken[port]} already"))


def _is_address(address: str) -> bool:
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return False
    return True


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
