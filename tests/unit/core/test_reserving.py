"""Reserve, Permit and PreBindPreFlight right after the choice of a node, and what is given back when one refuses.

Expected: kube-scheduler 1.37, prepareForBindingCycle, RunReservePluginsReserve, RunPermitPlugins, RunPreBindPreFlights.
"""

from __future__ import annotations

from typing import Any

import pytest

from scheduler.api.objects import Pod, PodStatus
from scheduler.core.cycle import CycleResult
from scheduler.core.instruction import BindPod, PatchPodStatus, RecordEvent
from scheduler.framework.binding import PermitAnswer, PreFlight
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.plugin import CycleState, EnqueueExtensions, PreFilterPlugin, PreFilterResult
from scheduler.framework.status import SUCCESS, Code, Status
from tests.support.binding_plugins import Asked, Scripted, scripted
from tests.support.builders import make_node, make_pod
from tests.support.core_run import BINDING, ON_NODE, Core, on_node, reference
from tests.support.scripted_plugins import Filter, make_profile, named, rejected

POD = make_pod("web")


def core_of(*plugins: Any, nodes: tuple[str, ...] = ("n1",)) -> Core:
    core = Core([make_profile(*plugins)])
    core.nodes(*(make_node(name) for name in nodes))
    return core


def decided(core: Core, pod: Pod = POD, at: float = 10.0) -> CycleResult:
    core.pods(pod, at=at)
    return core.decide(at)


def points(diary: list[Asked]) -> list[str]:
    return [str(asked) for asked in diary]


def test_reserve_permit_and_pre_flight_are_asked_in_order_before_the_bind() -> None:
    diary: list[Asked] = []
    core = core_of(scripted("A", diary), scripted("B", diary))
    result = decided(core)

    assert result.instructions == [BindPod(pod=reference(POD), node_name="n1")]
    assert (result.outcome, result.node_name) == ("assumed", "n1")
    assert points(diary) == ["reserve A", "reserve B", "permit A", "permit B", "pre_flight A", "pre_flight B"]
    assert diary[0] == Asked("reserve", "A", "web", "n1", 10.0)
    assert core.rooms(POD) == [BINDING, ON_NODE]


def test_a_pod_that_is_bound_at_once_is_no_longer_in_flight() -> None:
    core = core_of(scripted("A", []))
    decided(core)

    assert not core.state.queue.is_in_flight(POD.metadata.uid)


def test_a_plugin_that_takes_no_part_is_asked_nothing() -> None:
    diary: list[Asked] = []
    core = core_of(scripted("A", diary, only="other"), scripted("B", diary))
    decided(core)
    core.bound(POD, "n1")

    assert points(diary) == ["reserve B", "permit B", "pre_flight B", "post_bind B"]


def test_a_pod_in_which_no_plugin_takes_part_goes_the_short_way() -> None:
    diary: list[Asked] = []
    core = core_of(scripted("A", diary, only="other"))

    assert decided(core).instructions == [BindPod(pod=reference(POD), node_name="n1")]
    assert diary == []
    assert core.state.bindings[POD.metadata.uid].cycle is None


@pytest.mark.parametrize("code", [Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING])
def test_a_rejection_by_reserve_is_told_as_one_node_that_does_not_fit(code: Code) -> None:
    core = core_of(scripted("A", []), scripted("B", [], reserved=Status(code, ("b", "a"))), nodes=("n1", "n2", "n3"))
    result = decided(core)

    assert result.message == "0/1 nodes are available: 1 a, 1 b."
    assert (result.outcome, result.plugins) == ("unschedulable", ("B",))
    assert core.rooms(POD) == ["unschedulable"]
    assert core.state.measurements.attempts == {("unschedulable", "reprise"): 1}


def test_a_rejection_without_a_reason_has_none_in_its_text() -> None:
    assert decided(core_of(scripted("A", [], reserved=rejected()))).message == "0/1 nodes are available:"


# trap: reserve-is-undone-in-reverse
def test_a_failed_reserve_is_undone_by_all_plugins_in_reverse_order() -> None:
    diary: list[Asked] = []
    core = core_of(scripted("A", diary), scripted("B", diary, reserved=rejected("no")), scripted("C", diary))
    decided(core)

    assert points(diary) == ["reserve A", "reserve B", "unreserve C", "unreserve B", "unreserve A"]
    assert {asked.node for asked in diary} == {"n1"}


def test_a_pod_that_reserve_rejects_takes_no_room() -> None:
    core = core_of(scripted("A", [], reserved=rejected("no")))
    decided(core)

    assert core.state.cache.pod_count == 0
    assert core.state.bindings == {}
    core.state.cache.validate()


@pytest.mark.parametrize(
    ("answers", "message", "failures"),
    [
        ({"reserved": Status(Code.ERROR, ("boom",))}, 'running Reserve plugin "A": boom', 0),
        ({"reserved": Status(Code.SKIP, ("odd",))}, 'running Reserve plugin "A": odd', 0),
        ({"raises": ("reserve",)}, 'running Reserve plugin "A": boom', 1),
        ({"reserved": None}, 'running Reserve plugin "A": it answered None where Status was expected', 1),
        ({"permitted": PermitAnswer(Status(Code.ERROR, ("boom",)))}, 'running Permit plugin "A": boom', 0),
        ({"permitted": PermitAnswer(Status(Code.SKIP, ("odd",)))}, 'running Permit plugin "A": odd', 0),
        ({"raises": ("permit",)}, 'running Permit plugin "A": boom', 1),
        ({"flight": PreFlight(Status(Code.ERROR, ("boom",)))}, 'running PreBindPreFlight "A": boom', 0),
        ({"raises": ("pre_flight",)}, 'running PreBindPreFlight "A": boom', 1),
        (
            {"flight": PreFlight(rejected("no"))},
            (
                'PreBindPreFlight A returned "Unschedulable", which is unsupported. '
                "It is supposed to return Success, Skip, or Error status"
            ),
            0,
        ),
    ],
)
def test_an_error_is_told_as_one_and_the_pod_backs_off(answers: dict[str, Any], message: str, failures: int) -> None:
    diary: list[Asked] = []
    core = core_of(scripted("A", diary, **answers))
    result = decided(core)
    event, patch = result.instructions

    assert (result.outcome, result.message, result.plugins) == ("error", message, ())
    assert isinstance(event, RecordEvent)
    assert event.note == message
    assert isinstance(patch, PatchPodStatus)
    assert patch.condition is not None
    assert patch.condition.reason == "SchedulerError"
    assert points(diary)[-1] == "unreserve A"
    assert core.rooms(POD) == ["backoff"]
    assert core.state.measurements.plugin_failures["A"] == failures
    stage = message.split()[1]
    ended = {("A", stage): 1} if stage in ("Reserve", "Permit") else {}
    assert core.state.measurements.stage_errors == ended


def test_a_rejection_by_permit_is_told_as_one_node_that_does_not_fit() -> None:
    diary: list[Asked] = []
    core = core_of(scripted("A", diary, permitted=PermitAnswer(rejected("later"))), scripted("B", diary))
    result = decided(core)

    assert result.message == "0/1 nodes are available: 1 later."
    assert (result.outcome, result.plugins) == ("unschedulable", ("A",))
    assert points(diary) == ["reserve A", "reserve B", "permit A", "unreserve B", "unreserve A"]


def test_a_rejected_pod_is_woken_by_what_happened_during_its_cycle_and_its_plugin_waits_for() -> None:
    """It stays in flight until it is put back, so an event in between is not lost: here, of a plugin that acts in Reserve."""

    class Listening(Scripted, EnqueueExtensions):
        def events_to_register(self) -> tuple[ClusterEvent, ...]:
            return (ClusterEvent(EventResource.NODE, ActionType.ADD),)

    plugin = named(Listening, "A", diary=[], does={}, reserved=rejected("no"))
    core = core_of(plugin)
    plugin.does = {"reserve": lambda pod, handle: core.nodes(make_node("n2"), at=10.0)}
    decided(core)

    assert core.rooms(POD) == ["backoff"]


def test_a_rejected_pod_waits_for_the_events_of_its_plugin() -> None:
    class Listening(Scripted, EnqueueExtensions):
        def events_to_register(self) -> tuple[ClusterEvent, ...]:
            return (ClusterEvent(EventResource.NODE, ActionType.ADD),)

    core = core_of(named(Listening, "A", diary=[], does={}, permitted=PermitAnswer(rejected("no"))))
    decided(core)
    assert core.rooms(POD) == ["unschedulable"]

    core.nodes(make_node("n2"), at=15.0)
    assert core.rooms(POD) == ["active"]


def test_a_plugin_that_fails_to_give_back_keeps_no_other_from_it() -> None:
    diary: list[Asked] = []
    core = core_of(
        scripted("A", diary), scripted("B", diary, raises=("unreserve",)), scripted("C", diary, reserved=rejected("no"))
    )
    decided(core)

    assert points(diary)[-3:] == ["unreserve C", "unreserve B", "unreserve A"]
    assert core.state.measurements.plugin_failures == {"B": 1}


def test_a_plugin_that_cannot_say_whether_it_takes_part_fails_the_cycle_before_anything_is_kept() -> None:
    diary: list[Asked] = []
    core = core_of(scripted("A", diary), scripted("B", diary, raises=("takes_part",)))
    result = decided(core)

    assert result.message == 'asking plugin "B" whether it takes part in binding: boom'
    assert (result.outcome, diary) == ("error", [])
    assert core.state.cache.pod_count == 0


def test_a_rejection_clears_the_nomination_of_the_pod() -> None:
    core = core_of(scripted("A", [], reserved=rejected("no")))
    result = decided(core, make_pod("web", status=PodStatus(nominated_node_name="n1")))
    patch = result.instructions[1]

    assert isinstance(patch, PatchPodStatus)
    assert patch.nominated_node_name == ""
    assert len(core.state.queue.nominator) == 0


class Noting(Scripted, PreFilterPlugin):
    """Reserve sees what PreFilter noted, and notes something itself."""

    seen: list[dict[str, Any]]

    def pre_filter(self, state: CycleState, pod: Any, nodes: Any) -> PreFilterResult:
        state["from"] = "PreFilter"
        return PreFilterResult()

    def reserve(self, state: CycleState, pod: Any, node_name: str, handle: Any) -> Status:
        self.seen.append(dict(state))
        state["reserved"] = True
        return SUCCESS

    def post_bind(self, state: CycleState, pod: Any, node_name: str, handle: Any) -> None:
        self.seen.append(dict(state))


def test_the_notes_of_a_binding_begin_with_those_of_the_evaluation_and_are_its_own() -> None:
    plugin = named(Noting, "A", diary=[], does={}, seen=[])
    core = core_of(plugin)
    first, second = make_pod("first"), make_pod("second")
    for pod in (first, second):
        decided(core, pod)
        core.bound(pod, "n1")

    noted = {"from": "PreFilter"}
    assert plugin.seen == [noted, {**noted, "reserved": True}] * 2


def test_reserve_of_a_pod_is_seen_by_the_next_decision() -> None:
    """The pod is assumed before Reserve, and forgotten after a failure: the room is there for the next one."""
    core = core_of(scripted("A", [], only="web", reserved=rejected("no")))
    decided(core, make_pod("web", requests={"cpu": "4"}))

    assert decided(core, make_pod("next", requests={"cpu": "4"})).outcome == "assumed"


def test_the_handle_shows_nodes_as_they_are() -> None:
    seen: list[Any] = []
    node = make_node("n1", labels={"zone": "a"})
    core = Core(
        [
            make_profile(
                scripted("A", [], does={"reserve": lambda pod, handle: seen.extend(map(handle.node, ("n1", "n2")))})
            )
        ]
    )
    core.nodes(node)
    decided(core)

    assert seen == [node, None]


def test_filter_plugins_of_the_profile_decide_as_ever() -> None:
    core = core_of(named(Filter, "F", refuses=("n1",)), scripted("A", []), nodes=("n1", "n2"))

    assert decided(core).node_name == "n2"


def test_a_pod_bound_by_someone_else_during_its_bind_is_not_given_back() -> None:
    """The bind is under way: its answer says what became of it."""
    diary: list[Asked] = []
    core = core_of(scripted("A", diary))
    decided(core)
    core.pods(on_node(POD, "n1"))

    assert "unreserve A" not in points(diary)
    assert core.rooms(POD) == [BINDING, ON_NODE]
