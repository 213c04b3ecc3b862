"""Another configuration between two cycles: what is under way ends under its own, everything else goes by the new one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from scheduler.api.objects import Pod, PodSchedulingGate, PodStatus
from scheduler.batch.options import BatchOptions
from scheduler.batch.outcomes import Attempt, Flush
from scheduler.core.generation import Generation
from scheduler.core.instruction import BindPod
from scheduler.core.stimulus import BindDue, ConfigurationChanged
from scheduler.framework.binding import PermitAnswer
from scheduler.framework.plugin import QueueSortPlugin
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code, Status
from scheduler.profile.profile import Profile
from scheduler.queue.backoff import Backoff
from tests.support.binding_plugins import Asked, scripted
from tests.support.builders import make_node, make_pod
from tests.support.core_run import BINDING, ON_NODE, Core, default_profiles, on_node, reference
from tests.support.extender_runs import FILTER, ExtendedCore, extender
from tests.support.scripted_plugins import Filter, make_profile, named
from tests.support.signed_plugins import SignedScore

WAITS = PermitAnswer(Status(Code.WAIT), 60.0)
ALLOWED = PermitAnswer(Status(Code.SUCCESS), 0.0)
NO_CHECKS = BatchOptions(verify_fraction=0.0)


def reload(core: Core, *profiles: Profile, at: float = 0.0, number: int = 2, **fields: Any) -> str:
    """Put these profiles in force; why they are not, or ""."""
    made = {profile.scheduler_name: profile for profile in profiles} or default_profiles()
    given: dict[str, Any] = {"backoff": Backoff(), "batching": NO_CHECKS, **fields}
    core.scheduler.offer(Generation(number=number, profiles=made, **given))
    assert core.scheduler.handle(ConfigurationChanged(now=at, generation=number, configuration={})) == []
    assert core.state.reload.number == number
    return core.state.reload.refused


def favouring(*names: str, scheduler_name: str = "reprise") -> Profile:
    """A profile that likes these nodes best."""
    score = named(SignedScore, "Score", by_name=dict.fromkeys(names, 50))
    return make_profile(score, scheduler_name=scheduler_name)


def cluster(*profiles: Profile, nodes: Iterable[str] = ("n1", "n2")) -> Core:
    core = Core(profiles or None, batching=NO_CHECKS)
    core.nodes(*(make_node(name) for name in nodes))
    return core


def test_the_next_decision_is_made_by_the_new_profile() -> None:
    core = cluster(favouring("n1"))
    core.pods(make_pod("a"), make_pod("b"))
    assert core.decide().node_name == "n1"

    assert reload(core, favouring("n2")) == ""

    assert core.decide().node_name == "n2"
    assert core.state.generation == 2


def test_nothing_of_the_old_profile_is_reused() -> None:
    """The pods differ in nothing, so the second would have been decided on by what was kept of the first."""
    core = cluster(favouring("n1"))
    core.pods(*(make_pod(f"p{number}") for number in range(6)))
    assert [core.decide().node_name for _ in range(3)] == ["n1"] * 3
    assert core.state.batching.counters.attempts["reprise", Attempt.HINT_USED] == 2

    reload(core, favouring("n2"))

    assert core.state.batching.counters.flushes["reprise", Flush.CONFIG_CHANGED] == 1
    assert [core.decide().batch for _ in range(3)] == ["no_hint", "no_hint", "hint_used"]


def test_pods_in_the_queue_are_signed_anew_when_they_are_popped() -> None:
    """What signs pods is another plugin now, and it tells apart what the first did not."""
    core = cluster()
    core.pods(make_pod("a"), make_pod("b"))
    before = core.state.queue.get("default-b")
    assert before is not None
    old = before.signature

    reload(core)

    assert before.signature is old
    assert core.state.queue.signature_of(before) is None
    core.decide()
    core.decide()
    assert before.signature is not old
    assert before.signature is not None


def test_a_parked_pod_is_tried_again_once_after_its_back_off() -> None:
    core = cluster(make_profile(named(Filter, "Filter", refuses=("n1", "n2"))))
    pod = make_pod("a")
    core.pods(pod)
    assert core.decide(10.0).outcome == "unschedulable"
    assert core.rooms(pod) == ["unschedulable"]

    reload(core, favouring("n1"), at=10.5)

    assert core.rooms(pod) == ["backoff"]
    assert core.state.queue.incoming["backoff", "ConfigurationChanged"] == 1
    assert core.decide(12.0).node_name == "n1"


def test_back_off_lengths_are_those_of_the_new_configuration() -> None:
    refusing = make_profile(named(Filter, "Filter", refuses=("n1", "n2")))
    core = cluster(refusing)
    first, second = make_pod("a", priority=2), make_pod("b", priority=1)
    core.pods(first, second)
    core.decide(10.0)
    core.decide(10.0)
    reload(core, refusing, at=10.0, backoff=Backoff(initial_seconds=30.0, max_seconds=60.0))

    core.tick(35.0)
    assert core.rooms(first) == ["backoff"]
    core.tick(41.0)
    assert core.rooms(first) == core.rooms(second) == ["active"]


def test_a_gated_pod_stays_gated() -> None:
    core = cluster()
    pod = make_pod("a", scheduling_gates=[PodSchedulingGate(name="g")])
    core.pods(pod)

    reload(core)

    assert core.rooms(pod) == ["gated"]
    assert core.scheduler.schedule_one(1.0) is None


def test_a_pod_that_waits_on_permit_ends_under_the_profile_that_chose_its_node() -> None:
    diary: list[Asked] = []
    core = cluster(make_profile(scripted("A", diary, permitted=WAITS)))
    pod = make_pod("a")
    core.pods(pod)
    core.decide()
    other: list[Asked] = []

    assert reload(core, make_profile(scripted("A", other, permitted=ALLOWED))) == ""

    [wait] = core.state.binding_cycles.waiting()
    wait.allow("A")
    [bind] = core.tick(1.0)
    assert isinstance(bind, BindPod)
    core.bound(pod, bind.node_name, at=2.0)
    assert diary[-1].point == "post_bind"
    assert other == []


def test_a_pod_whose_wait_ends_badly_after_a_reload_is_tried_again_by_the_new_profile() -> None:
    """Its rejector may not exist any more, so no event would ever wake it."""
    core = cluster(make_profile(scripted("A", [], permitted=WAITS)))
    pod = make_pod("a")
    core.pods(pod)
    core.decide(10.0)
    reload(core, favouring("n1"), at=11.0)

    core.tick(71.0)

    assert core.rooms(pod) == ["backoff"]
    assert core.decide(80.0).node_name == "n1"


def test_a_bind_that_is_about_to_be_sent_is_checked_by_the_profile_that_chose_its_node() -> None:
    core = cluster(favouring("n1"))
    pod = make_pod("a")
    core.pods(pod)
    core.decide()
    reload(core, make_profile(named(Filter, "Filter", refuses=("n1", "n2"))))
    core.pods(make_pod("other", node_name="n1", scheduler_name="other"))

    assert core.scheduler.handle(BindDue(now=0.0, uid=pod.metadata.uid)) == []
    assert core.rooms(pod) == [BINDING, ON_NODE]


def test_a_decision_that_waits_for_an_extender_ends_under_its_own_profile() -> None:
    core = ExtendedCore(extender())
    core.nodes(make_node("n1"), make_node("n2"))
    core.pods(make_pod("a"), make_pod("b"))
    core.go_on()
    assert core.asked() == [(0, FILTER.value, ["n1", "n2"])]
    refusing = make_profile(named(Filter, "Filter", refuses=("n1", "n2")))

    assert reload(core, refusing) == ""
    core.answer(node_names=["n2"])

    result = core.go_on()
    assert result is not None
    assert (result.pod, result.node_name) == ("default/a", "n2")
    result = core.go_on()
    assert result is not None
    assert (result.pod, result.outcome) == ("default/b", "unschedulable")


def test_nominations_stay() -> None:
    core = cluster(nodes=["n1"])
    status = PodStatus(nominated_node_name="n1")
    kept = make_pod("kept", priority=9, status=status, scheduling_gates=[PodSchedulingGate(name="g")])
    core.pods(kept)

    reload(core)

    assert core.state.queue.nominator.node_of == {kept.metadata.uid: "n1"}


def test_a_profile_that_is_new_gets_the_pods_that_waited_for_it() -> None:
    core = cluster(favouring("n1"))
    pod = make_pod("a", scheduler_name="second")
    core.pods(pod, make_pod("b", scheduler_name="third"))
    assert core.scheduler.schedule_one(0.0) is None

    assert reload(core, favouring("n1"), favouring("n2", scheduler_name="second")) == ""

    result = core.decide()
    assert (result.pod, result.node_name) == ("default/a", "n2")
    assert core.scheduler.schedule_one(0.0) is None


def test_a_profile_for_which_pods_wait_cannot_go_and_nothing_changes() -> None:
    first, second = favouring("n1"), favouring("n1", scheduler_name="second")
    core = cluster(first, second)
    core.pods(make_pod("b", scheduler_name="second"), make_pod("a", scheduler_name="second"))

    assert reload(core, favouring("n2")) == (
        'profiles: schedulerName "second" is missing while 2 pods wait for it, such as default/a: '
        "keep the profile until they are placed or deleted"
    )
    assert core.state.generation == 1
    assert core.decide().node_name == "n1"
    assert core.decide().node_name == "n1"


def test_nor_can_one_that_has_a_bind_under_way() -> None:
    """Should the bind fail, the pod has to be tried again."""
    core = cluster(favouring("n1"), favouring("n1", scheduler_name="second"))
    pod = make_pod("a", scheduler_name="second")
    core.pods(pod)
    core.decide()

    assert reload(core, favouring("n2")) != ""
    core.bound(pod, "n1")
    core.pods(on_node(pod, "n1"))
    assert reload(core, favouring("n2"), number=3) == ""


def test_another_order_of_the_queue_holds_at_once() -> None:
    core = cluster(nodes=["n1"])
    core.pods(make_pod("first"), at=1.0)
    core.pods(make_pod("last"), at=2.0)
    profile = replace(favouring("n1"), queue_sort=_LastFirst())

    reload(core, profile, at=3.0)

    assert [core.decide(3.0).pod for _ in range(2)] == ["default/last", "default/first"]


class _LastFirst(QueueSortPlugin):
    name = "LastFirst"

    def sort_key(self, pod: PodInfo, timestamp: float) -> tuple[int, float]:
        return (0, -timestamp)


def test_batching_that_a_check_has_switched_off_is_on_again() -> None:
    core = cluster()
    core.state.batching.off["reprise"] = "verification found another decision"

    reload(core)

    assert core.state.batching.off == {"reprise": ""}


def test_what_was_not_built_before_it_is_to_be_in_force_ends_the_process() -> None:
    core = cluster()
    with pytest.raises(LookupError, match="generation 2"):
        core.scheduler.handle(ConfigurationChanged(now=0.0, generation=2, configuration={}))


def test_the_bind_of_a_pod_goes_on_across_a_reload() -> None:
    core = cluster(favouring("n1"))
    pod = make_pod("a")
    core.pods(pod)
    [bind] = core.decide().instructions
    assert bind == BindPod(pod=reference(pod), node_name="n1")

    reload(core, favouring("n2"))
    core.bound(pod, "n1")

    assert core.rooms(pod) == [ON_NODE]
    assert core.scheduler.schedule_one(1.0) is None


def refused_by_kubelet(core: Core, pod: Pod, *, at: float = 0.0) -> None:
    """It was bound, left the watch, and was found refused."""
    core.pod_gone(pod, at=at)
    core.pod_read(pod, "Failed", "OutOfcpu", at=at)


def bind_and_leave_pending(core: Core, pod: Pod, *, at: float = 0.0) -> str:
    """Its node."""
    core.pods(pod, at=at)
    node = core.decide(at).node_name
    core.bound(pod, node, at=at)
    core.pods(msgspec.structs.replace(on_node(pod, node), status=PodStatus(phase="Pending")), at=at)
    return node


def test_a_node_that_has_refused_pods_of_a_shape_goes_on_cooling_down() -> None:
    core = cluster(favouring("n1"))
    bind_and_leave_pending(core, make_pod("a"))
    refused_by_kubelet(core, make_pod("a"))

    reload(core, favouring("n1"), at=1.0)

    core.pods(make_pod("b"), make_pod("c"), at=2.0)
    assert core.decide(2.0).node_name == "n2"
    assert core.decide(10.5).node_name == "n1"


def test_a_pod_that_is_refused_after_a_change_cools_its_node_down_as_before_it() -> None:
    core = cluster(favouring("n1"))
    bind_and_leave_pending(core, make_pod("a"))

    reload(core, favouring("n1"), at=1.0)

    refused_by_kubelet(core, make_pod("a"), at=1.0)
    core.pods(make_pod("b"), at=2.0)
    assert core.decide(2.0).node_name == "n2"


def test_a_refusal_after_a_change_doubles_the_time_of_the_one_before_it() -> None:
    core = cluster(favouring("n1"))
    bind_and_leave_pending(core, make_pod("a"))
    refused_by_kubelet(core, make_pod("a"))

    reload(core, favouring("n1"), at=1.0)

    assert bind_and_leave_pending(core, make_pod("b"), at=11.0) == "n1"
    refused_by_kubelet(core, make_pod("b"), at=11.0)
    core.pods(make_pod("c"), make_pod("d"), at=12.0)
    assert core.decide(30.0).node_name == "n2"
    assert core.decide(31.5).node_name == "n1"


def test_a_profile_that_signs_by_other_plugins_tries_the_node_again() -> None:
    """Nobody can say which of its pods are those that were refused."""
    core = cluster(favouring("n1"))
    bind_and_leave_pending(core, make_pod("a"))
    refused_by_kubelet(core, make_pod("a"))

    other = make_profile(named(SignedScore, "OtherScore", by_name={"n1": 50}), scheduler_name="reprise")
    reload(core, other, at=1.0)

    core.pods(make_pod("b"), at=2.0)
    assert core.decide(2.0).node_name == "n1"
