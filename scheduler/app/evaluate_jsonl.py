"""``reprise evaluate --jsonl``: a stream of clusters, changes and pods; each line is answered with one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from scheduler.app.cluster_objects import (
    ClusterObject,
    ObjectError,
    Reference,
    flatten,
    parse_json,
    read_object,
    read_pod,
    read_reference,
    type_of,
)
from scheduler.app.explanation import RefusedError, answer, as_pending, evaluate, profile_for
from scheduler.app.plain_cluster import PlainCluster
from scheduler.config.configuration import Configuration, ConfigurationError, from_object
from scheduler.framework.plugin import Unsignable
from scheduler.framework.pod_info import PodInfo
from scheduler.profile.evaluation import Evaluation
from scheduler.profile.failure import PluginFailure
from scheduler.profile.profile import Profile

CONFIGURATIONS = 64
"""Configurations that are remembered, as lines tend to repeat them."""


class LineError(ValueError):
    """A line that cannot be answered."""


class _Session:
    """State and configuration of the last full line, and the evaluation of the last pod, kept up to date."""

    def __init__(self, cluster: PlainCluster, profiles: tuple[Profile, ...]) -> None:
        self.cluster = cluster
        self._profiles = profiles
        self._pod: PodInfo | None = None
        self._signed: tuple[Any, ...] = ()
        self._evaluation: Evaluation | None = None

    def answer(self, pod: PodInfo) -> dict[str, Any]:
        """Evaluate one pod, left out of the state while it is looked at."""
        pod = as_pending(pod)
        profile = profile_for(pod, self._profiles)
        with self.cluster.without(pod.uid):
            # What other objects make of the pod is asked once an evaluation.
            signed = profile.sign_cluster(pod, self.cluster.cache.table)
            is_same = self._pod is not None and self._pod.pod == pod.pod and self._signed == signed
            kept = self._evaluation if is_same and _is_kept_up_to_date(pod, profile) else None
            # One that fails half-way is not used again.
            self._evaluation = None
            evaluation = evaluate(pod, profile, self.cluster.cache, kept)
            self._evaluation, self._pod, self._signed = evaluation, pod, signed
            return answer(evaluation, self.cluster.cache)


def _is_kept_up_to_date(pod: PodInfo, profile: Profile) -> bool:
    """Whether changes of the cluster reach an evaluation of the pod: so it is with pods that have a signature, and no others."""
    try:
        return not isinstance(profile.sign(pod), Unsignable)
    except PluginFailure:
        return False


def answer_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """One JSON line for each line that is not blank; what cannot be answered gives ``{"error": …}``.

    A line that brings changes and cannot be read changes nothing; a line that brings a cluster and cannot be read
    leaves none, so that no later line is answered on another cluster than its writer thinks.
    """
    session: _Session | None = None
    configurations = _Configurations()
    for line in lines:
        if not line.strip():
            continue
        try:
            raw = _read(line)
            if "objects" in raw or session is None:
                session = None
                pod, session = _open(raw, configurations)
            else:
                pod = _change(session, raw)
            result = session.answer(pod)
        except ConfigurationError as error:
            result = {"error": "; ".join(error.errors)}
        except (LineError, ObjectError, RefusedError, PluginFailure) as error:
            result = {"error": str(error)}
        except Exception as error:  # noqa: BLE001 - an error of ours on one line must not end the stream
            session = None
            result = {"error": f"internal error, please report it: {error!r}"}
        yield msgspec.json.encode(result) + b"\n"


def _read(line: bytes) -> dict[str, Any]:
    raw = parse_json(line)
    if not isinstance(raw, dict):
        raise LineError(f"expected an object, got {type_of(raw)}")
    return raw


def _list(raw: dict[str, Any], field: str) -> Iterator[dict[str, Any]]:
    value = raw.get(field)
    if value is None:
        return
    if not isinstance(value, list):
        raise LineError(f"{field}: expected a list of objects, got {type_of(value)}")
    for index, entry in enumerate(value):
        yield from flatten(entry, f"{field}[{index}]")


def _objects(raw: dict[str, Any], field: str) -> list[ClusterObject]:
    return [item for entry in _list(raw, field) if (item := read_object(entry)) is not None]


def _references(raw: dict[str, Any], field: str) -> list[Reference]:
    return [item for entry in _list(raw, field) if (item := read_reference(entry)) is not None]


class _Configurations:
    """Configurations by what they were read from."""

    def __init__(self) -> None:
        self._known: dict[bytes, Configuration] = {}

    def of(self, value: Any) -> Configuration:
        key = msgspec.json.encode(value)
        known = self._known.get(key)
        if known is None:
            known = from_object(value, any_scheduler_name=True)
            if len(self._known) >= CONFIGURATIONS:
                del self._known[next(iter(self._known))]
            self._known[key] = known
        return known


def _open(raw: dict[str, Any], configurations: _Configurations) -> tuple[PodInfo, _Session]:
    if "objects" not in raw:
        raise LineError("objects: the first line has to bring a cluster, and so has the line after an unreadable one")
    pod = read_pod(raw.get("pod"), "pod")
    objects = _objects(raw, "objects")
    session = _Session(PlainCluster(), configurations.of(raw.get("config")).profiles)
    for item in objects:
        session.cluster.apply(item)
    return pod, session


def _change(session: _Session, raw: dict[str, Any]) -> PodInfo:
    # All of the line is read before anything is changed.
    pod = read_pod(raw.get("pod"), "pod")
    references, objects = _references(raw, "delete"), _objects(raw, "apply")
    # Deletions come first, so that one line can replace an object by another of its name.
    for reference in references:
        session.cluster.delete(reference)
    for item in objects:
        session.cluster.apply(item)
    return pod
