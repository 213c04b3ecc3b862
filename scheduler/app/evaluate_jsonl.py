"""``reprise evaluate --jsonl``: a stream of clusters, changes and pods; each line is answered with one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from scheduler.api.objects import Pod
from scheduler.app.cluster_objects import Change, ObjectError, decode, flatten, readable_pod, to_apply, to_delete
from scheduler.app.explanation import answer, as_pending, evaluate, refresh
from scheduler.cache.cache import Cache
from scheduler.config.configuration import ConfigurationError, from_object
from scheduler.framework.pod_info import PodInfo
from scheduler.profile.evaluation import Evaluation
from scheduler.profile.failure import PluginFailure
from scheduler.profile.profile import Profile

SEED = 0
"""Ties do not show in an answer, which lists all of the best nodes."""


class LineError(ValueError):
    """A line that cannot be answered."""


class _Session:
    """State and configuration of the last full line, and the evaluation of the last pod, kept up to date."""

    def __init__(self, cache: Cache, profiles: tuple[Profile, ...]) -> None:
        self.cache = cache
        self._profiles = profiles
        self._pod: PodInfo | None = None
        self._evaluation: Evaluation | None = None

    def answer(self, pod: PodInfo) -> dict[str, Any]:
        """Evaluate one pod, left out of the state while it is looked at."""
        seated = self.cache.remove_pod(pod.uid)
        try:
            return self._evaluate(PodInfo(as_pending(pod.pod)) if pod.pod.spec.node_name else pod)
        finally:
            if seated is not None:
                self.cache.apply_pod(seated.pod)

    def _evaluate(self, pod: PodInfo) -> dict[str, Any]:
        if self._evaluation is not None and self._pod is not None and self._pod.pod == pod.pod:
            refresh(self._evaluation)
        else:
            self._evaluation = None
            self._evaluation = evaluate(pod, self._profile_of(pod), self.cache)
            self._pod = pod
        return answer(self._evaluation, self.cache)

    def _profile_of(self, pod: PodInfo) -> Profile:
        name = pod.pod.spec.scheduler_name
        return next((profile for profile in self._profiles if profile.scheduler_name == name), self._profiles[0])


def answer_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """One JSON line for each line that is not blank; what cannot be answered gives ``{"error": …}``."""
    session: _Session | None = None
    for line in lines:
        if not line.strip():
            continue
        try:
            raw = _read(line)
            if "objects" in raw or session is None:
                # A full line that cannot be read leaves nothing behind that a later line could be answered on.
                session = None
                session = _open(raw)
            else:
                _change(session, raw)
            result: dict[str, Any] = session.answer(_pod(raw))
        except (LineError, ObjectError, ConfigurationError, PluginFailure, ValueError) as error:
            result = {"error": str(error)}
        yield msgspec.json.encode(result) + b"\n"


def _read(line: bytes) -> dict[str, Any]:
    try:
        raw = msgspec.json.decode(line)
    except msgspec.DecodeError as error:
        raise LineError(f"not JSON: {error}") from error
    if not isinstance(raw, dict):
        raise LineError(f"expected an object, got {type(raw).__name__}")
    return raw


def _list(raw: dict[str, Any], field: str) -> list[dict[str, Any]]:
    value = raw.get(field)
    if value is None:
        return []
    if not isinstance(value, list):
        raise LineError(f"{field}: expected a list, got {type(value).__name__}")
    return [item for index, entry in enumerate(value) for item in flatten(entry, f"{field}[{index}]")]


def _pod(raw: dict[str, Any]) -> PodInfo:
    pod = raw.get("pod")
    if not isinstance(pod, dict):
        raise LineError("pod: expected a Pod object")
    pod = {"kind": "Pod", **pod}
    return readable_pod(pod, decode(pod, Pod))


def _open(raw: dict[str, Any]) -> _Session:
    if "objects" not in raw:
        raise LineError("objects: the first line has to bring a cluster, and so has the line after an unreadable one")
    changes = [to_apply(entry) for entry in _list(raw, "objects")]
    configuration = from_object(raw.get("config"), any_scheduler_name=True)
    session = _Session(Cache(seed=SEED), configuration.profiles)
    _carry_out(session.cache, changes)
    return session


def _change(session: _Session, raw: dict[str, Any]) -> None:
    # Deletions come first, so that one line can replace an object by another of its name.
    changes = [to_delete(entry) for entry in _list(raw, "delete")]
    changes += [to_apply(entry) for entry in _list(raw, "apply")]
    _carry_out(session.cache, changes)


def _carry_out(cache: Cache, changes: list[Change | None]) -> None:
    for change in changes:
        if change is not None:
            change(cache)
