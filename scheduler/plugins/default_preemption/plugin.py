"""DefaultPreemption: room for a pod by taking it from pods of lower priority (kube-scheduler 1.37: DefaultPreemption)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple

from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.plugin import (
    EnqueueExtensions,
    PodGroupPostFilterPlugin,
    PostFilterPlugin,
    PreEnqueuePlugin,
)
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.post_filter import Candidate, FailedCycle, PostFilterResult, Preemption
from scheduler.framework.queueing_hint import Hint
from scheduler.framework.status import SUCCESS, Code, Status
from scheduler.framework.view import NodeView
from scheduler.plugins.default_preemption.args import DefaultPreemptionArgs
from scheduler.plugins.default_preemption.choice import choose
from scheduler.plugins.default_preemption.victims import NO_VICTIMS, is_terminating_victim, select_victims

NAME = "DefaultPreemption"
NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."
NOT_HELPFUL = "Preemption is not helpful for scheduling"
_PREFIX = "preemption: "


class _Search(NamedTuple):
    """What came of looking at nodes: those where victims make room, why others do not help, and how many have no victims at all."""

    candidates: Sequence[Candidate] = ()
    refusals: Sequence[Status] = ()
    without_victims: int = 0


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
        nodes = cycle.resolvable_nodes()
        harmless: list[Candidate] = []
        harmful: list[Candidate] = []
        refusals: list[Status] = []
        without = 0
        enough = self.args.enough_of(count)
        budgets = cycle.budgets()
        for node_name in _from(nodes, int(cycle.chance() * count)):
            lower = cycle.pods_below(node_name, pod.priority)
            if not lower:
                without += 1
                continue
            with cycle.trial(node_name) as trial:
                found = select_victims(node_name, lower, trial, budgets, cycle.now)
            if isinstance(found, Status):
                refusals.append(found)
                continue
            kept = harmful if found.violations else harmless
            if len(kept) < enough:
                kept.append(found)
            if harmless and len(harmless) + len(harmful) >= enough:
                break
        return _Search([*harmless, *harmful], refusals, without)


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


def _from(nodes: Sequence[str], offset: int) -> Iterable[str]:
    yield from nodes[offset:]
    yield from nodes[:offset]


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
