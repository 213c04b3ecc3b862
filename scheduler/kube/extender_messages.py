"""What extenders are sent and what they answer (kube-scheduler 1.37: extender/v1).

Upstream's types have no JSON names, so keys are written as Go's fields are and read whatever their case. Of an answer only what
decides is read, and texts are cut: whoever answers is not to fill the memory, nor a pod's condition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from scheduler.core.instruction import AskExtender, ExtenderVerb, Victims
from scheduler.core.stimulus import ExtenderAnswered, HostScore

TEXT_LIMIT = 1024
T = TypeVar("T")

_encode = msgspec.json.Encoder().encode


class MalformedAnswer(Exception):
    """An answer that does not have the form of what was asked for."""


def _object(members: Mapping[str, bytes]) -> bytes:
    return b"{" + b",".join(_encode(name) + b":" + value for name, value in members.items()) + b"}"


def _list(values: list[bytes]) -> bytes:
    return b"[" + b",".join(values) + b"]"


def candidates_body(pod: bytes, *, names: list[str] | None = None, nodes: list[bytes] | None = None) -> bytes:
    """ExtenderArgs, with the names of the candidates or with whole nodes; ``pod`` and ``nodes`` are JSON."""
    listed = b"null" if nodes is None else _object({"metadata": b"{}", "items": _list(nodes)})
    return _object({"Pod": pod, "Nodes": listed, "NodeNames": _encode(names)})


def bind_body(asked: AskExtender) -> bytes:
    """ExtenderBindingArgs."""
    pod = asked.pod
    return _encode({"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": asked.node_names[0]})


def preempt_body(pod: bytes, victims: Mapping[str, Victims], pod_of: Callable[[str], bytes | None] | None) -> bytes:
    """ExtenderPreemptionArgs: with whole pods as ``pod_of`` knows them by UID, or with UIDs alone."""

    def listed(uid: str) -> bytes:
        known = None if pod_of is None else pod_of(uid)
        return known or _object({"metadata" if pod_of else "UID": _encode({"uid": uid} if pod_of else uid)})

    by_node = {
        name: _object(
            {"Pods": _list([listed(uid) for uid in one.pods]), "NumPDBViolations": _encode(one.pdb_violations)}
        )
        for name, one in victims.items()
    }
    whole, meta = (b"null", _object(by_node)) if pod_of is None else (_object(by_node), b"null")
    return _object({"Pod": pod, "NodeNameToVictims": whole, "NodeNameToMetaVictims": meta})


def read_answer(asked: AskExtender, body: bytes, now: float, *, by_name: bool) -> ExtenderAnswered:
    """The answer as a stimulus.

    Args:
        by_name: the extender is ``nodeCacheCapable``: it answers with the names of nodes.

    Raises:
        MalformedAnswer: it is not JSON, or not what was asked for.
    """
    try:
        match asked.verb:
            case ExtenderVerb.FILTER:
                return _filter_answer(asked.number, _members(body), now, by_name=by_name)
            case ExtenderVerb.PRIORITIZE:
                return ExtenderAnswered(now=now, number=asked.number, scores=_scores(body))
            case ExtenderVerb.PREEMPT:
                return ExtenderAnswered(now=now, number=asked.number, victims=_victims(_members(body)))
            case ExtenderVerb.BIND:
                return ExtenderAnswered(now=now, number=asked.number, error=_text(_members(body), "error"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedAnswer(str(error)) from error


def _filter_answer(number: int, members: Mapping[str, msgspec.Raw], now: float, *, by_name: bool) -> ExtenderAnswered:
    names = _member(members, "nodenames", list[str] | None) if by_name else None
    if names is None:
        listed = _member(members, "nodes", dict[str, msgspec.Raw] | None)
        items = _member(_folded(listed or {}), "items", list[msgspec.Raw] | None)
        names = [_name_of(item) for item in items or ()]
    return ExtenderAnswered(
        now=now,
        number=number,
        error=_text(members, "error"),
        node_names=names,
        failed_nodes=_reasons(members, "failednodes"),
        unresolvable_nodes=_reasons(members, "failedandunresolvablenodes"),
    )


def _name_of(node: bytes) -> str:
    metadata = _member(_members(node), "metadata", dict[str, msgspec.Raw] | None)
    return _member(_folded(metadata or {}), "name", str | None) or ""


def _scores(body: bytes) -> list[HostScore]:
    found = []
    for one in _decode(body, list[msgspec.Raw] | None) or ():
        members = _members(one)
        score = _member(members, "score", int | None) or 0
        if not -(2**63) <= score < 2**63:
            raise MalformedAnswer(f"score {score} does not fit 64 bits")
        found.append(HostScore(_member(members, "host", str | None) or "", score))
    return found


def _victims(members: Mapping[str, msgspec.Raw]) -> dict[str, Victims]:
    by_node = _member(members, "nodenametometavictims", dict[str, msgspec.Raw] | None) or {}
    found = {}
    for name, raw in by_node.items():
        one = _members(raw)
        pods = _member(one, "pods", list[msgspec.Raw] | None) or ()
        found[name] = Victims(
            pods=[_member(_members(pod), "uid", str | None) or "" for pod in pods],
            pdb_violations=_member(one, "numpdbviolations", int | None) or 0,
        )
    return found


def _reasons(members: Mapping[str, msgspec.Raw], key: str) -> dict[str, str]:
    reasons = _member(members, key, dict[str, str | None] | None) or {}
    return {name: (reason or "")[:TEXT_LIMIT] for name, reason in reasons.items()}


def _text(members: Mapping[str, msgspec.Raw], key: str) -> str:
    return (_member(members, key, str | None) or "")[:TEXT_LIMIT]


def _members(raw: bytes | msgspec.Raw) -> dict[str, msgspec.Raw]:
    return _folded(_decode(raw, dict[str, msgspec.Raw] | None) or {})


def _folded(members: Mapping[str, msgspec.Raw]) -> dict[str, msgspec.Raw]:
    return {name.lower(): value for name, value in members.items()}


def _member(members: Mapping[str, msgspec.Raw], key: str, kind: Any) -> Any:
    raw = members.get(key)
    try:
        return None if raw is None else _decode(raw, kind)
    except msgspec.ValidationError as error:
        raise MalformedAnswer(f"{key}: {error}") from error


def _decode(raw: bytes | msgspec.Raw, kind: Any) -> Any:
    return msgspec.json.decode(raw, type=kind)
