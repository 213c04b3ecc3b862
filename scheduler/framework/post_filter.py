"""What PostFilter plugins are given and answer (kube-scheduler 1.37: RunPostFilterPlugins).

They are asked when a pod fits nowhere. They look at the cluster through FailedCycle and try what if on single nodes; what they want
done is a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, TypeAlias

from scheduler.framework.disruption import Budget
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SUCCESS, Code, Status


class NodeTrial(Protocol):
    """One node as it would be without some of its pods; rules that look beyond the node see it so too."""

    def remove(self, pod: PodInfo) -> None:
        """Take a pod that is on the node away from it."""
        ...

    def restore(self, pod: PodInfo) -> None:
        """Put a pod back that was taken away."""
        ...

    def status(self) -> Status:
        """Whether the node holds the pod of this cycle now, beside the nominated pods that it has to leave room for and without.

        ERROR when a plugin failed.
        """
        ...


class NodePods(NamedTuple):
    """A node with some of its pods."""

    node_name: str
    pods: Sequence[PodInfo]


Order: TypeAlias = Callable[[Sequence[PodInfo]], Sequence[PodInfo]]
"""Puts the pods of one node in order: those that are to stay if any can come first."""


class Room(NamedTuple):
    """The pods that have to go from a node, in the order in which they were looked at.

    ``status``: SUCCESS, or why the pod would not fit there without all of them; ERROR when a plugin failed.
    """

    pods: tuple[PodInfo, ...] = ()
    status: Status = SUCCESS


class FailedCycle(Protocol):
    """The cycle of a pod that fits nowhere."""

    @property
    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    @property
    def node_count(self) -> int:
        """Number of nodes in the cluster."""
        ...

    def chance(self) -> float:
        """Uniform in [0, 1)."""
        ...

    @property
    def resolvable_count(self) -> int:
        """Number of ``resolvable_nodes``."""
        ...

    def resolvable_nodes(self, first: int = 0) -> Iterator[str]:
        """Nodes that refuse the pod with UNSCHEDULABLE and nothing worse: fewer pods there may help. Always in the same order,
        from one of them on, and then those before it.
        """
        ...

    def nominated_node_code(self) -> Code | None:
        """With which code the node refuses the pod that it is nominated to; None when there is no such node."""
        ...

    def has_pods_below(self, priority: int) -> bool:
        """Whether any pod in the cluster has a lower priority."""
        ...

    def pods_below(self, node_name: str, priority: int) -> Sequence[PodInfo]:
        """Pods of a lower priority on the node, assumed ones among them."""
        ...

    def budgets(self) -> Mapping[str, Sequence[Budget]]:
        """PodDisruptionBudgets that can be read, by namespace."""
        ...

    def trial(self, node_name: str) -> AbstractContextManager[NodeTrial]:
        """The node to try things on; all is as before when the context ends."""
        ...

    def make_room(self, nodes: Sequence[NodePods], order: Order) -> Iterator[Room]:
        """Which of their pods have to go from each of these nodes so that the pod of this cycle fits there.

        First all of them go. Then they are put back one at a time, in the order that is given, for as long as the pod still fits;
        what cannot be put back has to go. It is right for every plugin, and it is best asked about many nodes at once; what is not
        taken of the answers, which are in the order of the nodes, may never be worked out.

        Args:
            order: asked once about each node where it helps that all go.
        """
        ...


class Preemption(NamedTuple):
    """Pods that have to go from a node so that another one fits there, the most important first."""

    node_name: str
    victims: tuple[PodInfo, ...]


class Candidate(NamedTuple):
    """A node where room can be made: its pods that have to go, the most important first, and how many of them break a budget."""

    node_name: str
    pods: tuple[PodInfo, ...]
    violations: int = 0


class PostFilterResult(NamedTuple):
    """SUCCESS when the pod can be placed later; UNSCHEDULABLE lets the next plugin try; any other code ends it.

    Attributes:
        nominated_node_name: the node to keep room on for the pod; "" takes a nomination away, None leaves it as it is.
        preemption: what is to be done for it.
        candidates: what it was chosen from, where extenders may have a say: ``choose_from`` is called then with what they left.
    """

    status: Status
    nominated_node_name: str | None = None
    preemption: Preemption | None = None
    candidates: tuple[Candidate, ...] = ()
