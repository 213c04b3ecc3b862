"""What the scheduler knows of nodes and pods beside what there is (kube-scheduler 1.37: cache debugger, SIGUSR2).

Everything is compared by UID. A pod is known when it is on a node in the cache, waits in the queue or is on its way from
there to a node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from scheduler.core.state import State


class ListedNode(msgspec.Struct, frozen=True):
    """A node as the API server lists it."""

    uid: str
    name: str


class ListedPod(msgspec.Struct, frozen=True):
    """A pod as the API server lists it; none that has ended. ``key``: namespace/name."""

    uid: str
    key: str
    node_name: str
    scheduler_name: str
    is_terminating: bool


class Listed(msgspec.Struct, frozen=True):
    """All nodes, and all pods that have not ended."""

    nodes: list[ListedNode]
    pods: list[ListedPod]


class Comparison(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What is not the same, as texts that name the object and its UID, sorted.

    Attributes:
        missed_nodes, missed_pods: the API server has them, and they are not known.
        redundant_nodes, redundant_pods: known, and the API server does not have them.
        misplaced_pods: known on another node than the one the API server has them on.
        left_out: objects among the missed ones that could not be understood, so that they are left out on purpose; they are
            no difference.
    """

    nodes: int
    pods: int
    missed_nodes: list[str] = []
    redundant_nodes: list[str] = []
    missed_pods: list[str] = []
    redundant_pods: list[str] = []
    misplaced_pods: list[str] = []
    left_out: list[str] = []

    @property
    def is_same(self) -> bool:
        """Whether what is known is what there is."""
        return not any(self.differences().values())

    def differences(self) -> dict[str, list[str]]:
        """What differs, by kind of difference; empty lists are not there."""
        found = {
            "missed_nodes": self.missed_nodes,
            "redundant_nodes": self.redundant_nodes,
            "missed_pods": self.missed_pods,
            "redundant_pods": self.redundant_pods,
            "misplaced_pods": self.misplaced_pods,
        }
        return {name: texts for name, texts in found.items() if texts}

    def also_in(self, other: Comparison) -> Comparison:
        """This one with those differences alone that another one has found too."""
        kept: dict[str, Any] = {
            name: [text for text in texts if text in set(other.differences().get(name, ()))]
            for name, texts in self.differences().items()
        }
        return msgspec.structs.replace(self, **kept)


def compare(state: State, listed: Listed, unreadable: Mapping[str, Iterable[str]]) -> Comparison:
    """Compare the state with a list that was made a moment ago.

    What changed since the list was made shows as a difference: to tell, compare a second time with a new list.

    Args:
        unreadable: keys of objects whose JSON could not be decoded, by kind ("Node", "Pod").
    """
    bad = {(kind, key) for kind, keys in unreadable.items() for key in keys} | state.bad_objects
    missed_nodes, redundant_nodes, bad_nodes = _nodes(state, listed.nodes, bad)
    missed, redundant, misplaced, bad_pods = _pods(state, listed.pods, bad)
    return Comparison(
        nodes=len(listed.nodes),
        pods=len(listed.pods),
        missed_nodes=sorted(missed_nodes),
        redundant_nodes=sorted(redundant_nodes),
        missed_pods=sorted(missed),
        redundant_pods=sorted(redundant),
        misplaced_pods=sorted(misplaced),
        left_out=sorted([*bad_nodes, *bad_pods]),
    )


_Keys = set[tuple[str, str]]


def _named(name: str, uid: str) -> str:
    return f"{name} ({uid})"


def _nodes(state: State, listed: list[ListedNode], bad: _Keys) -> tuple[list[str], list[str], list[str]]:
    table = state.cache.table
    known = {table.node(row).metadata.uid: name for name, row in table.rows.items()}
    actual = {node.uid: node.name for node in listed}
    missed: list[str] = []
    left_out: list[str] = []
    for uid, name in actual.items():
        if uid not in known:
            (left_out if ("Node", name) in bad else missed).append(_named(name, uid))
    # One that cannot be understood any more stays as it was last understood.
    redundant = [_named(name, uid) for uid, name in known.items() if uid not in actual and ("Node", name) not in bad]
    return missed, redundant, left_out


def _pods(state: State, listed: list[ListedPod], bad: _Keys) -> tuple[list[str], list[str], list[str], list[str]]:
    cache, queue = state.cache, state.queue
    missed: list[str] = []
    misplaced: list[str] = []
    left_out: list[str] = []
    actual = {pod.uid for pod in listed}
    for pod in listed:
        text, cached = _named(pod.key, pod.uid), cache.pod(pod.uid)
        if cached is not None:
            node_name = pod.node_name or ("" if not cached.assumed else cached.node_name)
            if cached.node_name != node_name and ("Pod", pod.key) not in bad:
                misplaced.append(f"{text}: on {cached.node_name}, and really on {node_name or 'no node'}")
        elif not _is_ours_to_know(state, pod):
            continue
        elif queue.get(pod.uid) is None and not queue.is_in_flight(pod.uid) and pod.uid not in state.bindings:
            (left_out if ("Pod", pod.key) in bad else missed).append(text)
    known = {cached.pod.uid: cached.pod.key for cached in cache.pods()}
    known |= {queued.pod.uid: queued.pod.key for queued in queue.waiting()}
    known |= {uid: binding.queued.pod.key for uid, binding in state.bindings.items() if binding.latest is not None}
    redundant = [_named(key, uid) for uid, key in known.items() if uid not in actual and ("Pod", key) not in bad]
    return missed, redundant, misplaced, left_out


def _is_ours_to_know(state: State, pod: ListedPod) -> bool:
    """Pods without a node matter if they are ours to place; who is being deleted is placed by nobody."""
    return bool(pod.node_name) or (pod.scheduler_name in state.profiles and not pod.is_terminating)


def queue_summary(state: State) -> dict[str, Any]:
    """How many pods wait, by room, and the first hundred of them."""
    waiting = [queued.pod.key for queued in state.queue.waiting()]
    rooms = {room.value: count for room, count in state.queue.counts().items()}
    return {"summary": rooms, "binding": len(state.bindings), "pods": waiting[:100]}
