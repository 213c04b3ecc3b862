"""What a failed attempt is told to users: condition and Event (kube-scheduler 1.37: handleSchedulingFailure)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from scheduler.api.objects import Pod
from scheduler.core.instruction import Condition, Instruction, PatchPodStatus, PodReference, RecordEvent
from scheduler.framework.status import Code, Status

REASON_UNSCHEDULABLE = "Unschedulable"
REASON_ERROR = "SchedulerError"

POD_SCHEDULED = "PodScheduled"
NOTE_LIMIT = 1024
_CUT = " ..."


class Failure(NamedTuple):
    """Why an attempt failed: the condition's reason and message, and the plugins that a change has to convince.

    ``pending``: those of the plugins whose status was Pending. ``code``: of the plugin that ended the attempt, for metrics.
    """

    reason: str
    message: str
    plugins: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    code: Code = Code.ERROR


def unfit(status: Status) -> Failure:
    """The one node that was chosen refuses the pod after all (kube-scheduler 1.37: FitError of Reserve and Permit)."""
    listed = ", ".join(sorted(f"1 {reason}" for reason in status.reasons))
    message = "0/1 nodes are available:" + (f" {listed}." if listed else "")
    plugins = (status.plugin,) if status.plugin else ()
    pending = plugins if status.code is Code.PENDING else ()
    return Failure(REASON_UNSCHEDULABLE, message, plugins, pending, status.code)


def reference_to(pod: Pod) -> PodReference:
    metadata = pod.metadata
    return PodReference(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
    )


def note(message: str) -> str:
    """The message as an Event can carry it: at most 1024 bytes, a cut one ends in `` ...``."""
    encoded = message.encode()
    if len(encoded) <= NOTE_LIMIT:
        return message
    # A character that the cut falls into is dropped whole.
    return encoded[: NOTE_LIMIT - len(_CUT)].decode(errors="ignore") + _CUT


def warning(pod: Pod, message: str, controller: str, now: float) -> RecordEvent:
    return RecordEvent(
        pod=reference_to(pod),
        type="Warning",
        reason="FailedScheduling",
        action="Scheduling",
        note=note(message),
        controller=controller,
        now=now,
    )


def failure_instructions(
    pod: Pod,
    *,
    reason: str,
    message: str,
    controller: str,
    now: float,
    is_nominated: bool = False,
    nominated_node_name: str | None = "",
) -> Iterator[Instruction]:
    """The Event, and the status patch if it would change anything: an equal condition is not written again.

    Args:
        is_nominated: another nomination was written that the pod may not show yet.
        nominated_node_name: what PostFilter plugins say. Without any a nomination is cleared, as kube-scheduler does; None leaves
            it as it is.
    """
    yield warning(pod, message, controller, now)
    condition = news(pod, POD_SCHEDULED, "False", reason, message, now)
    is_news = is_nominated or nominated_node_name != pod.status.nominated_node_name
    nominated = nominated_node_name if is_news else None
    if condition is not None or nominated is not None:
        yield PatchPodStatus(
            pod=reference_to(pod),
            condition=condition,
            condition_order=[] if condition is None else condition_order(pod, POD_SCHEDULED),
            nominated_node_name=nominated,
        )


def condition_order(pod: Pod, written: str) -> list[str]:
    """Conditions stay where they are; a new one goes last (kube-scheduler 1.37: UpdatePodCondition)."""
    types = [condition.type for condition in pod.status.conditions or ()]
    return types if written in types else [*types, written]


def news(pod: Pod, kind: str, status: str, reason: str, message: str, now: float) -> Condition | None:
    """The condition of this type as it is to be written; None when the pod has an equal one.

    The time of the transition stays while the status does (kube-scheduler 1.37: UpdatePodCondition).
    """
    old = next((found for found in pod.status.conditions or () if found.type == kind), None)
    if old is not None and (old.status, old.reason, old.message) == (status, reason, message):
        return None
    return Condition(
        type=kind,
        status=status,
        reason=reason,
        message=message,
        observed_generation=pod.metadata.generation,
        last_transition_time=None if old is not None and old.status == status else now,
    )
