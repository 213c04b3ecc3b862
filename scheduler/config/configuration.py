"""Configuration: what a file, or an object, says this scheduler should be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scheduler.api.field_errors import not_supported, required
from scheduler.batch.options import BatchOptions
from scheduler.config import kube_document, kube_rules, reprise_document
from scheduler.config.configz import as_kube_document
from scheduler.config.decoding import decode
from scheduler.config.documents import read_documents
from scheduler.config.kube_document import KubeSchedulerConfiguration, with_defaults
from scheduler.config.kube_rules import Purpose
from scheduler.config.profiles import ProfileConfiguration, ProfileReader
from scheduler.config.report import ConfigurationError, Report
from scheduler.config.reprise_document import RepriseConfiguration
from scheduler.profile.registry import IN_TREE, Registry
from scheduler.queue.backoff import Backoff

__all__ = ["Configuration", "ConfigurationError", "from_documents", "from_object", "load", "load_for_evaluation"]

_VERSIONS = {kube_document.KIND: kube_document.API_VERSION, reprise_document.KIND: reprise_document.API_VERSION}


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """A configuration without errors.

    Attributes:
        profiles: in the order of the file, each with the plugins that it runs; at least one.
        kube: the KubeSchedulerConfiguration, defaults filled in.
        reprise: the RepriseConfiguration, defaults filled in.
        warnings: what was accepted and has no effect, each as ``path: message``.
    """

    profiles: tuple[ProfileConfiguration, ...]
    kube: KubeSchedulerConfiguration
    reprise: RepriseConfiguration
    warnings: tuple[str, ...] = ()

    @property
    def backoff(self) -> Backoff:
        """How long pods wait after a failed attempt."""
        return Backoff(
            initial_seconds=float(self.kube.pod_initial_backoff_seconds),
            max_seconds=float(self.kube.pod_max_backoff_seconds),
        )

    @property
    def batching(self) -> BatchOptions:
        """How decisions are reused."""
        batching = self.reprise.batching
        return BatchOptions(
            enabled=batching.enabled,
            max_signatures=batching.max_signatures,
            max_age_seconds=batching.max_batch_age_seconds,
            verify_fraction=batching.verify_fraction,
        )

    def as_kube_document(self) -> dict[str, Any]:
        """The KubeSchedulerConfiguration as JSON values, everything defaulted and merged, as ``/configz`` shows it."""
        return as_kube_document(self.kube, self.profiles)


def load(
    path: Path | None,
    *,
    replace_kube_scheduler: bool = False,
    own_namespace: str = "",
    registry: Registry = IN_TREE,
) -> Configuration:
    """The configuration of a scheduler that runs: of a file in YAML or JSON, or the default one without a file.

    Args:
        path: a file with a KubeSchedulerConfiguration, a RepriseConfiguration or both, as documents of their own.
        replace_kube_scheduler: also accept kube-scheduler's profile name and Lease.
        own_namespace: where this scheduler runs, and so where its Lease is when the file does not say.
        registry: the plugins there are.

    Raises:
        ConfigurationError: with everything that is wrong.
    """
    return _load(path, Purpose.REPLACE if replace_kube_scheduler else Purpose.RUN, registry, own_namespace)


def load_for_evaluation(path: Path | None, *, registry: Registry = IN_TREE) -> Configuration:
    """As ``load``, for deciding without a cluster: what matters only to a scheduler that runs is not refused.

    Raises:
        ConfigurationError: with everything that is wrong.
    """
    return _load(path, Purpose.EVALUATE, registry)


def from_object(value: Any, *, any_scheduler_name: bool = False, registry: Registry = IN_TREE) -> Configuration:
    """The configuration that a KubeSchedulerConfiguration as JSON values describes; None is the default one.

    ``apiVersion`` and ``kind`` may be absent. With ``any_scheduler_name`` the rules are those of ``load_for_evaluation``.

    Raises:
        ConfigurationError: with everything that is wrong.
    """
    report = Report()
    found: dict[str, Any] = {}
    if value is not None:
        typed = {"apiVersion": kube_document.API_VERSION, "kind": kube_document.KIND}
        _sort({**typed, **value} if isinstance(value, dict) else value, found, report)
    purpose = Purpose.EVALUATE if any_scheduler_name else Purpose.RUN
    return _configuration(found, purpose, registry, report)


def from_documents(
    documents: Mapping[str, Any],
    *,
    defaults: Mapping[str, Mapping[str, Any]],
    replace_kube_scheduler: bool = False,
    registry: Registry = IN_TREE,
) -> Configuration:
    """The configuration of a scheduler that runs, from documents by kind, as JSON values; ``apiVersion`` and ``kind`` may be absent.

    Args:
        defaults: fields by kind, at any depth, that are taken where a document does not have them.

    Raises:
        ConfigurationError: with everything that is wrong.
    """
    report = Report()
    found: dict[str, Any] = {}
    for kind, document in documents.items():
        if isinstance(document, dict):
            typed = {"apiVersion": _VERSIONS[kind], "kind": kind, **defaults.get(kind, {})}
            _sort(_laid_over(typed, document), found, report)
        else:
            report.unread("", f"a {kind} must be an object")
    for kind, fields in defaults.items():
        found.setdefault(kind, dict(fields))
    purpose = Purpose.REPLACE if replace_kube_scheduler else Purpose.RUN
    return _configuration(found, purpose, registry, report)


def _laid_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """What both say, field by field; the upper one wins. A null says nothing, as everywhere."""
    merged = dict(below)
    for key, value in above.items():
        if isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = _laid_over(merged[key], value)
        elif value is not None or key not in merged:
            merged[key] = value
    return merged


def _load(path: Path | None, purpose: Purpose, registry: Registry, own_namespace: str = "") -> Configuration:
    report = Report()
    found: dict[str, Any] = {}
    if path is not None:
        documents = read_documents(_text(path), report)
        if not documents and not report.errors:
            report.unread("", f"{path} is empty: a {kube_document.KIND} is expected")
        for document in documents:
            _sort(document, found, report)
    return _configuration(found, purpose, registry, report, own_namespace)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigurationError([f"{path}: {error.strerror or error}"]) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError([f"{path}: not UTF-8 at byte {error.start}"]) from error


def _sort(document: Any, found: dict[str, Any], report: Report) -> None:
    """Put a document under its kind, without apiVersion and kind."""
    if not isinstance(document, dict):
        report.unread("", f"a {kube_document.KIND} must be an object")
        return
    kind, version = document.get("kind"), document.get("apiVersion")
    if not kind:
        report.error(required("kind", f"{kube_document.KIND} or {reprise_document.KIND}"))
    elif not isinstance(kind, str) or kind not in _VERSIONS:
        report.error(not_supported("kind", kind, _VERSIONS))
    elif not version:
        report.error(required("apiVersion", f"{_VERSIONS[kind]} for a {kind}"))
    elif version != _VERSIONS[kind]:
        report.error(not_supported("apiVersion", version, [_VERSIONS[kind]]))
    elif kind in found:
        report.error(f'kind: Duplicate value: "{kind}": the file holds more than one {kind}')
    else:
        found[kind] = {key: value for key, value in document.items() if key not in ("kind", "apiVersion")}


def _configuration(
    found: Mapping[str, Any], purpose: Purpose, registry: Registry, report: Report, own_namespace: str = ""
) -> Configuration:
    document = decode(found.get(kube_document.KIND, {}), KubeSchedulerConfiguration, "", report)
    kube = with_defaults(document, own_namespace)
    reprise = decode(found.get(reprise_document.KIND, {}), RepriseConfiguration, "", report)
    kube_rules.validate(kube, purpose, report)
    ignored = tuple(
        resource.name
        for extender in kube.extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )
    reader = ProfileReader(registry, report, ignored)
    profiles = [
        reader.read(profile, f"profiles[{index}]", kube.percentage_of_nodes_to_score)
        for index, profile in enumerate(kube.profiles)
    ]
    reprise_document.validate(reprise, report)
    if report.errors:
        raise ConfigurationError(report.errors)
    return Configuration(
        profiles=tuple(profile for profile in profiles if profile is not None),
        kube=kube,
        reprise=reprise,
        warnings=tuple(report.warnings),
    )
