"""A core whose profile preempts, and short names for what it asks of the outside world then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from scheduler.api.disruption import PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus
from scheduler.api.objects import LabelSelector, ObjectMeta, Pod, PodCondition, PodStatus
from scheduler.core.instruction import Instruction, PatchPodStatus, PreemptPod, RecordEvent
from scheduler.core.stimulus import DisruptionBudgetApplied, PodPreempted, PreemptPodFailed
from scheduler.framework.plugin import BindingCyclePlugin, PermitPlugin, PreBindPlugin, ReservePlugin
from scheduler.plugins.default_preemption import DefaultPreemption, DefaultPreemptionArgs
from scheduler.profile.profile import Profile
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core, changed, default_profiles

GOING_AT = "2026-01-01T00:00:00Z"
CPU = "4"
"""What a node of ``make_node`` has."""


def preempting(*others: BindingCyclePlugin, **args: int) -> Profile:
    """The default profile with DefaultPreemption, and with these plugins in the binding cycle."""
    plugin = DefaultPreemption(DefaultPreemptionArgs(**args))
    (profile,) = default_profiles().values()
    gates = tuple(one for one in profile.pre_enqueue if one.name != plugin.name)
    return replace(
        profile,
        pre_enqueue=(*gates, plugin),
        post_filter=(plugin,),
        reserve=(*profile.reserve, *(one for one in others if isinstance(one, ReservePlugin))),
        permit=(*profile.permit, *(one for one in others if isinstance(one, PermitPlugin))),
        pre_bind=(*profile.pre_bind, *(one for one in others if isinstance(one, PreBindPlugin))),
    )


class PreemptingCore(Core):
    """A scheduler that preempts, on nodes of 4 CPUs."""

    def __init__(self, *others: BindingCyclePlugin, nodes: Iterable[str] = ("n1",), **args: int) -> None:
        super().__init__([preempting(*others, **args)])
        self.nodes(*(make_node(name) for name in nodes))

    def deleted(self, instruction: PreemptPod, *, at: float = 0.0, is_gone: bool = False) -> list[Instruction]:
        """The API server has taken the deletion."""
        return self.scheduler.handle(PodPreempted(now=at, number=instruction.number, is_gone=is_gone))

    def not_deleted(self, instruction: PreemptPod, error: str = "forbidden", *, at: float = 0.0) -> list[Instruction]:
        return self.scheduler.handle(PreemptPodFailed(now=at, number=instruction.number, error=error))

    def budget(self, subject: PodDisruptionBudget, *, at: float = 0.0) -> None:
        self.scheduler.handle(DisruptionBudgetApplied(now=at, budget=subject))

    def gate_of(self, pod: Pod) -> str:
        """The plugin that keeps the waiting pod out of the active queue."""
        queued = self.state.queue.get(pod.metadata.uid)
        assert queued is not None
        return queued.gating_plugin

    def nominated_to(self, pod: Pod) -> str:
        """The node on which room is kept for the pod."""
        return self.state.queue.nominator.node_of.get(pod.metadata.uid, "")


def seated(name: str, node: str = "n1", *, cpu: str = CPU, priority: int = 0, start: str = "", **fields: Any) -> Pod:
    """A pod that runs on a node."""
    status = PodStatus(phase="Running", start_time=start or None)
    pod = make_pod(name, requests={"cpu": cpu}, priority=priority, node_name=node, status=status, **fields)
    return changed(pod, version="1")


def urgent(name: str = "urgent", *, cpu: str = CPU, priority: int = 10, **fields: Any) -> Pod:
    """A pod that waits and may preempt others."""
    return changed(make_pod(name, requests={"cpu": cpu}, priority=priority, **fields), version="1")


def going(pod: Pod, *, by_preemption: bool = True) -> Pod:
    """The pod on its way out, with its grace period."""
    told = PodCondition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
    status = PodStatus(phase=pod.status.phase, conditions=[told] if by_preemption else None)
    return replace_status(changed(pod, version="going", metadata={"deletion_timestamp": GOING_AT}), status)


def replace_status(pod: Pod, status: PodStatus) -> Pod:
    return Pod(metadata=pod.metadata, spec=pod.spec, status=status)


def make_budget(
    name: str = "budget",
    *,
    allowed: int = 0,
    labels: Mapping[str, str] | None = None,
    disrupted: Iterable[str] = (),
    namespace: str = "default",
    selector: LabelSelector | None = None,
) -> PodDisruptionBudget:
    """A budget over the pods with these labels; a ``selector`` of its own takes their place."""
    chosen = LabelSelector(match_labels=dict(labels)) if labels is not None else selector
    return PodDisruptionBudget(
        metadata=ObjectMeta(name=name, namespace=namespace, uid=f"{name}-uid"),
        spec=PodDisruptionBudgetSpec(selector=chosen),
        status=PodDisruptionBudgetStatus(disruptions_allowed=allowed, disrupted_pods=dict.fromkeys(disrupted, "")),
    )


def victims(instructions: Iterable[Instruction]) -> list[str]:
    """Names of the pods that are to be deleted, in order."""
    return [one.pod.name for one in instructions if isinstance(one, PreemptPod)]


def deletions(instructions: Iterable[Instruction]) -> list[PreemptPod]:
    return [one for one in instructions if isinstance(one, PreemptPod)]


def notes(instructions: Iterable[Instruction], reason: str) -> list[str]:
    """What Events of this reason say."""
    return [one.note for one in instructions if isinstance(one, RecordEvent) and one.reason == reason]


def nominations(instructions: Iterable[Instruction]) -> dict[str, str]:
    """By pod, the nomination that is to be written."""
    return {
        one.pod.name: one.nominated_node_name
        for one in instructions
        if isinstance(one, PatchPodStatus) and one.nominated_node_name is not None
    }
