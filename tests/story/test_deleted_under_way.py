"""A pod, or its node, is deleted at each step of the way: nothing is left of it, nobody is bound twice, and others go on.

::

    gated - active - asked of an extender - waits on Permit - PreBind - bind sent - carried out - answered - seen
               |  '- backoff, unschedulable                    (by this scheduler, or by an extender)
               '---- victims asked of an extender - victims being deleted - nominated
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from scheduler.api.objects import PodSchedulingGate
from scheduler.core.instruction import AskExtender, BindPod, ExtenderVerb, PatchObject, PreemptPod
from scheduler.core.state import BadObject, PluginFault
from scheduler.framework.binding import ObjectKey, PermitAnswer, PreBindWaits, PreBindWrites
from scheduler.framework.status import Code, Status
from tests.support.answering_cluster import AnsweringCluster, traces
from tests.support.binding_plugins import DONE, claim_patch, scripted
from tests.support.builders import make_node
from tests.support.core_run import Core, changed
from tests.support.extender_runs import ExtendedCore, extender
from tests.support.preemption import GOING_AT, PreemptingCore, seated, urgent

POD = urgent("p", cpu="3")
UID = POD.metadata.uid
NEXT = urgent("next", cpu="3", priority=5)
WAIT = PermitAnswer(Status(Code.WAIT), 600.0)
CLAIM = ObjectKey("PersistentVolumeClaim", "default", "data")
DEADLINE = 1300.0


def begin(core: Core | None = None, *others: Any) -> AnsweringCluster:
    cluster = AnsweringCluster(core or PreemptingCore())
    if isinstance(core, ExtendedCore):
        core.nodes(make_node("n1"))
    cluster.put(*others, POD)
    return cluster


def slow(**answers: Any) -> AnsweringCluster:
    cluster = begin(PreemptingCore(scripted("Slow", [], only="p", **answers)))
    cluster.decide()
    return cluster


def extended(*answered: ExtenderVerb, victim: bool = False) -> AnsweringCluster:
    """Until an extender is asked something that is not among those that it answers."""
    verbs: dict[str, Any] = {"prioritizeVerb": "p", "weight": 1, "bindVerb": "b", "preemptVerb": "v"}
    core = ExtendedCore(extender(**verbs), without=())
    core.nodes(make_node("n2"))
    # Two nodes, or nothing is scored; the second is full when there is to be a victim.
    others = [seated("large", "n2", priority=100), seated("victim", "n1")] if victim else []
    cluster = begin(core, *others)
    cluster.decide()
    while isinstance(asked := cluster.asked[-1], AskExtender) and asked.verb in answered:
        cluster.answer(cluster.asked.pop(), well=True)
        cluster.decide()
    return cluster


def active() -> AnsweringCluster:
    cluster = begin()
    assert cluster.core.rooms(POD) == ["active"]
    return cluster


def gated() -> AnsweringCluster:
    cluster = AnsweringCluster(PreemptingCore())
    cluster.put(changed(POD, scheduling_gates=[PodSchedulingGate(name="g")]))
    assert cluster.core.rooms(POD) == ["gated"]
    return cluster


def backoff() -> AnsweringCluster:
    cluster = begin()
    cluster.decide()
    cluster.answer(cluster.asked.pop(), well=False)
    assert cluster.core.rooms(POD) == ["backoff"]
    return cluster


def unschedulable() -> AnsweringCluster:
    cluster = begin(None, seated("large", priority=100))
    cluster.decide()
    assert cluster.core.rooms(POD) == ["unschedulable"]
    return cluster


def asked_filter() -> AnsweringCluster:
    return at_question(extended(), ExtenderVerb.FILTER)


def asked_prioritize() -> AnsweringCluster:
    return at_question(extended(ExtenderVerb.FILTER), ExtenderVerb.PRIORITIZE)


def asked_bind() -> AnsweringCluster:
    return at_question(extended(ExtenderVerb.FILTER, ExtenderVerb.PRIORITIZE), ExtenderVerb.BIND)


def asked_preempt() -> AnsweringCluster:
    return at_question(extended(victim=True), ExtenderVerb.PREEMPT)


def at_question(cluster: AnsweringCluster, verb: ExtenderVerb) -> AnsweringCluster:
    (asked,) = cluster.asked
    assert isinstance(asked, AskExtender)
    assert asked.verb is verb
    return cluster


def bound_by_extender() -> AnsweringCluster:
    cluster = asked_bind()
    cluster.carry_out_bind()
    return cluster


def waits_on_permit() -> AnsweringCluster:
    cluster = slow(permitted=WAIT)
    assert [wait.pod.uid for wait in cluster.core.state.binding_cycles.waiting()] == [UID]
    return cluster


def pre_bind_patch_sent() -> AnsweringCluster:
    cluster = slow(steps=(PreBindWrites((claim_patch(),)), DONE))
    assert [type(one) for one in cluster.asked] == [PatchObject]
    return cluster


def pre_bind_waits() -> AnsweringCluster:
    cluster = slow(steps=(PreBindWaits((CLAIM,), DEADLINE), DONE))
    assert traces(cluster.core.state, UID)[:3] == ["bindings", "binding cycles", "awaited"]
    return cluster


def bind_sent() -> AnsweringCluster:
    cluster = begin()
    cluster.decide()
    assert [type(one) for one in cluster.asked] == [BindPod]
    return cluster


def bind_carried_out() -> AnsweringCluster:
    cluster = bind_sent()
    cluster.carry_out_bind()
    return cluster


def bind_answered() -> AnsweringCluster:
    """And not seen in the watch."""
    cluster = bind_carried_out()
    bind = cluster.unseen.pop()
    assert isinstance(bind, BindPod)
    cluster.take(cluster.core.bound(POD, bind.node_name, at=cluster.now))
    return cluster


def seen_on_its_node() -> AnsweringCluster:
    cluster = bind_answered()
    cluster.put(cluster.pods[UID])
    return cluster


def preempting() -> AnsweringCluster:
    cluster = begin(None, seated("victim"))
    cluster.decide()
    assert [type(one) for one in cluster.asked] == [PreemptPod]
    return cluster


def nominated() -> AnsweringCluster:
    """The victim is on its way out, with its grace period."""
    cluster = preempting()
    deletion = cluster.asked.pop()
    assert isinstance(deletion, PreemptPod)
    victim = cluster.pods["default-victim"]
    cluster.put(changed(victim, metadata={"deletion_timestamp": GOING_AT}))
    cluster.take(PreemptingCore.deleted(cluster.core, deletion, at=cluster.now))  # type: ignore[arg-type]
    assert cluster.core.state.queue.nominator.node_of == {UID: "n1"}
    return cluster


STEPS: tuple[Callable[[], AnsweringCluster], ...] = (
    gated,
    active,
    backoff,
    unschedulable,
    asked_filter,
    asked_prioritize,
    asked_preempt,
    asked_bind,
    bound_by_extender,
    waits_on_permit,
    pre_bind_patch_sent,
    pre_bind_waits,
    bind_sent,
    bind_carried_out,
    bind_answered,
    seen_on_its_node,
    preempting,
    nominated,
)
BY_EXTENDER = ["bindings", "questions", "binds of extenders"]
STILL_ANSWERED: dict[Callable[[], AnsweringCluster], list[str]] = {
    asked_bind: BY_EXTENDER,
    bound_by_extender: BY_EXTENDER,
    bind_sent: ["bindings"],
    bind_carried_out: ["bindings"],
    bind_answered: ["looked after"],
    seen_on_its_node: ["looked after"],
    preempting: ["preemptions", "deletions"],
}
"""What is known of a pod that is gone, until the answer comes that is on its way: to its bind, to deletions, or how it ended."""

by_step = pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__.replace("_", " "))
answered = pytest.mark.parametrize("well", [True, False], ids=["answered well", "answered badly"])


def others_end(cluster: AnsweringCluster) -> None:
    for uid in [uid for uid in cluster.pods if uid not in (UID, NEXT.metadata.uid)]:
        cluster.end(uid)


def check(cluster: AnsweringCluster) -> None:
    """What holds when a story has come to its end."""
    state = cluster.core.state
    state.cache.validate()
    assert max(cluster.binds.values(), default=0) <= 1, "bound twice"
    assert (state.extending, state.bindings, state.preemptions.running) == (None, {}, {})
    assert (len(state.queue._in_flight), state.queue._in_flight.event_count) == (0, 0)
    assert [
        each for each in cluster.core.scheduler.take_complaints() if isinstance(each, BadObject | PluginFault)
    ] == []


@by_step
@answered
@pytest.mark.parametrize("asked_first", [False, True], ids=["at once", "asked to end first"])
def test_nothing_is_left_of_a_pod_that_is_deleted_and_the_next_gets_its_place(
    step: Callable[[], AnsweringCluster], well: bool, asked_first: bool
) -> None:
    cluster = step()
    if asked_first:
        cluster.put(changed(cluster.pods[UID], metadata={"deletion_timestamp": GOING_AT}))
        cluster.tick(1.0)
    cluster.end(UID)
    cluster.decide_all()
    left = [] if asked_first and step in (bind_answered, seen_on_its_node) else STILL_ANSWERED.get(step, [])
    assert traces(cluster.core.state, UID) == left
    before = cluster.binds.get(UID, 0)
    cluster.answer_all(well=well)
    cluster.decide_all()
    cluster.answer_all(well=well)
    others_end(cluster)
    cluster.put(NEXT)
    cluster.settle()

    assert traces(cluster.core.state, UID) == []
    assert cluster.binds.get(UID, 0) == before, "it was bound when it was gone"
    assert cluster.binds == {NEXT.metadata.uid: 1} | ({UID: 1} if before else {})
    assert cluster.pods.keys() == {NEXT.metadata.uid}
    check(cluster)


@by_step
@answered
@pytest.mark.parametrize("anew", [False, True], ids=["gone", "made anew"])
def test_a_pod_whose_node_is_deleted_is_bound_once_where_there_is_a_node(
    step: Callable[[], AnsweringCluster], well: bool, anew: bool
) -> None:
    cluster = step()
    core = cluster.core
    was_bound = UID in cluster.binds
    node = core.state.bindings[UID].node_name if UID in core.state.bindings else "n1"
    cluster.take(core.node_gone(node, at=cluster.now))
    if anew:
        cluster.take(core.nodes(make_node(node, uid="another"), at=cluster.now))
    cluster.answer_all(well=well)
    cluster.decide_all()
    others_end(cluster)
    if "gated" in core.rooms(POD) and cluster.pods[UID].spec.scheduling_gates:
        cluster.put(changed(cluster.pods[UID], scheduling_gates=None))
    cluster.take(core.nodes(make_node("spare"), at=cluster.now))
    cluster.settle()

    assert cluster.binds == {UID: 1}
    assert traces(core.state, UID) == ["cache", "looked after"]
    check(cluster)
    place = cluster.pods[UID].spec.node_name
    assert place == node if was_bound else core.state.cache.table.row_of(place) is not None
    cluster.end(UID)
    cluster.settle()
    assert traces(core.state, UID) == []
