"""DefaultPreemption: room for a pod by taking it from pods of lower priority (kube-scheduler 1.37: DefaultPreemption)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, ClassVar, NamedTuple

from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.plugin import (
    EnqueueExtensions,
    PodGroupPostFilterPlugin,
    PostFilterPlugin,
    PreEnqueuePlugin,
)
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.post_filter import Candidate, FailedCycle, NodePods, PostFilterResult, Preemption
from scheduler.framework.queueing_hint import Hint
from scheduler.framework.status import SUCCESS, Code, Status
from scheduler.framework.view import NodeView
from scheduler.plugins.default_preemption.args import DefaultPreemptionArgs
from scheduler.plugins.default_preemption.choice import choose
from scheduler.plugins.default_preemption.victims import NO_VICTIMS, Reprieve, is_terminating_victim

NAME = "DefaultPreemption"
NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."
NOT_HELPFUL = "Preemption is not helpful for scheduling"
_PREFIX = "preemption: "
_FEWEST = 16
"""Nodes are looked at so many at a time at least: together they take little longer than one."""


class _Search(NamedTuple):
    """What came of looking at nodes: those where victims make room, why others do not help, and how many have no victims at all."""

    candidates: Sequence[Candidate] = ()
    refusals: Sequence[Status] = ()
    without_victims: int = 0


class _Found:
    """What is found meanwhile.

    Args:
        enough: so many candidates are, if one of them breaks no budget.
    """

    def __init__(self, enough: int) -> None:
        self._enough = enough
        self.harmless: list[Candidate] = []
        self.harmful: list[Candidate] = []
        self.refusals: list[Status] = []
        self.without_victims = 0

    def add(self, found: Candidate | Status) -> None:
        if isinstance(found, Status):
            self.refusals.append(found)
            return
        kept = self.harmful if found.violations else self.harmless
        if len(kept) < self._enough:
            kept.append(found)

    def is_enough(self) -> bool:
        return bool(self.harmless) and len(self.harmless) + len(self.harmful) >= self._enough

    @property
    def missing(self) -> int:
        """How many nodes to look at before there is another look at whether there are enough."""
        missing = self._enough - len(self.harmless) - len(self.harmful)
        return max(missing if missing > 0 else self._enough, _FEWEST)


class DefaultPreemption(PostFilterPlugin, PodGroupPostFilterPlugin, PreEnqueuePlugin, EnqueueExtensions):
    """Finds the pods to remove; to remove them is the core's part, as is to hold the pod back at PreEnqueue meanwhile."""

    name = NAME
    watches: ClassVar[tuple[str, ...]] = ("PodDisruptionBudget",)

    def __init__(self, args: DefaultPreemptionArgs = DefaultPreemptionArgs()) -> None:  # noqa: B008 - frozen
        self.args = args

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Nothing of the pod itself holds it back."""
        return SUCCESS

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE),)

    def queueing_hint(self, pod: PodInfo, event: ClusterEvent, old: Any, new: Any, nodes: NodeView) -> Hint:
        """The event is heard so that PreEnqueue is asked again; when to try is for the plugins to say that refused the pod."""
        return Hint.SKIP

    def post_filter(self, pod: PodInfo, cycle: FailedCycle) -> PostFilterResult:
        result = self._preempt(pod, cycle)
        status = result.status
        if status.code is Code.SUCCESS:
            return result
        return result._replace(status=status._replace(reasons=(_PREFIX + status.message,)))

    def choose_from(self, candidates: Sequence[Candidate], now: float) -> PostFilterResult:
        if not candidates:
            return PostFilterResult(Status(Code.UNSCHEDULABLE, (f"{_PREFIX}no candidate node for preemption",)))
        chosen = choose(candidates, now)
        text = f"found a potential placement for pod on node {chosen.node_name}, preempting {len(chosen.pods)} victims"
        return PostFilterResult(
            Status(Code.SUCCESS, (_PREFIX + text,)),
            chosen.node_name,
            Preemption(chosen.node_name, chosen.pods),
            tuple(candidates),
        )

    def _preempt(self, pod: PodInfo, cycle: FailedCycle) -> PostFilterResult:
        reason = _ineligible(pod, cycle)
        if reason:
            return PostFilterResult(Status(Code.UNSCHEDULABLE, (reason,)))
        search = self._search(pod, cycle)
        if search.candidates:
            return self.choose_from(search.candidates, cycle.now)
        errors = dict.fromkeys(status.message for status in search.refusals if status.code is Code.ERROR)
        if errors:
            text = next(iter(errors)) if len(errors) == 1 else f"[{', '.join(errors)}]"
            return PostFilterResult(Status(Code.ERROR, (text,)))
        return PostFilterResult(Status(Code.UNSCHEDULABLE, (_nowhere(search, cycle.node_count),)), "")

    def _search(self, pod: PodInfo, cycle: FailedCycle) -> _Search:
        """Try nodes, from a place by chance on, until there are enough candidates and one that breaks no budget."""
        count = cycle.resolvable_count
        if not count:
            return _Search()
        if not cycle.has_pods_below(pod.priority):
            return _Search(without_victims=count)
        found = _Found(self.args.enough_of(count))
        reprieve = Reprieve(cycle.budgets(), cycle.now)
        nodes = cycle.resolvable_nodes(int(cycle.chance() * count))
        while not found.is_enough() and (
            turn := list(islice(_with_pods(nodes, cycle, pod.priority, found), found.missing))
        ):
            rooms = cycle.make_room(turn, reprieve.order)
            for node, room in zip(turn, rooms, strict=True):
                helps = room.status.code is Code.SUCCESS
                found.add(reprieve.candidate(node.node_name, room.pods) if helps else room.status)
                if found.is_enough():
                    break
        return _Search([*found.harmless, *found.harmful], found.refusals, found.without_victims)


def _with_pods(nodes: Iterator[str], cycle: FailedCycle, priority: int, found: _Found) -> Iterator[NodePods]:
    """The nodes from which a pod of this priority can make others go, and with which pods; the others are counted."""
    for node_name in nodes:
        lower = cycle.pods_below(node_name, priority)
        if lower:
            yield NodePods(node_name, lower)
        else:
            found.without_victims += 1


def _ineligible(pod: PodInfo, cycle: FailedCycle) -> str:
    """Why the pod may not preempt others; "" when it may."""
    if pod.pod.spec.preemption_policy == "Never":
        return NEVER
    node_name = pod.pod.status.nominated_node_name
    # Nothing that goes from a node helps a pod that can never be there: it looks for another one at once.
    if not node_name or cycle.nominated_node_code() in (None, Code.UNSCHEDULABLE_AND_UNRESOLVABLE):
        return ""
    lower = cycle.pods_below(node_name, pod.priority)
    return TERMINATING if any(is_terminating_victim(other.pod) for other in lower) else ""


def _nowhere(search: _Search, node_count: int) -> str:
    """Why no node helps, in the words in which a pod is told that it fits nowhere (kube-scheduler 1.37: FitError)."""
    counts = Counter(reason for status in search.refusals for reason in status.reasons)
    if search.without_victims:
        counts[NO_VICTIMS] += search.without_victims
    untried = node_count - len(search.refusals) - search.without_victims
    if untried:
        counts[NOT_HELPFUL] += untried
    listed = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    head = f"0/{node_count} nodes are available:"
    return f"{head} {listed}." if listed else head
