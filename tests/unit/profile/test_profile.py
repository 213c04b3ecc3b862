"""What a profile runs, and what it says of its plugins. Expected: kube-scheduler 1.37, framework/runtime and PriorityQueue."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.plugin import CycleState, FilterPlugin, SignPlugin, Unsignable
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SUCCESS, Code, Status
from scheduler.profile.failure import PluginFailure
from tests.support.binding_plugins import scripted
from tests.support.builders import make_pod
from tests.support.core_run import default_profiles
from tests.support.scripted_plugins import (
    Filter,
    Hearing,
    PreEnqueue,
    PreFilter,
    PreScore,
    Score,
    make_profile,
    named,
    rejected,
)

POD = PodInfo(make_pod())
NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)


def test_without_preenqueue_plugins_every_pod_may_enter() -> None:
    assert make_profile().run_pre_enqueue(POD) == SUCCESS


def test_the_first_plugin_that_does_not_admit_a_pod_is_named() -> None:
    profile = make_profile(
        named(PreEnqueue, "A"),
        named(PreEnqueue, "B", status=rejected("b")),
        named(PreEnqueue, "C", status=rejected("c")),
    )

    assert profile.run_pre_enqueue(POD) == Status(Code.UNSCHEDULABLE, ("b",), "B")


@pytest.mark.parametrize("code", [code for code in Code if code is not Code.SUCCESS])
def test_anything_but_success_keeps_a_pod_out(code: Code) -> None:
    profile = make_profile(named(PreEnqueue, "A", status=Status(code, ("why",))))

    assert profile.run_pre_enqueue(POD) == Status(code, ("why",), "A")


def test_a_preenqueue_plugin_that_raises_keeps_a_pod_out() -> None:
    profile = make_profile(named(PreEnqueue, "A", status=RuntimeError("boom")))

    assert profile.run_pre_enqueue(POD) == Status(Code.ERROR, ("boom",), "A")


class Signing(Filter, SignPlugin):
    fragment: Any = ()

    def sign(self, pod: PodInfo) -> Any:
        return self.fragment


def test_a_signature_names_the_profile_and_each_deciding_plugin() -> None:
    profile = make_profile(named(Signing, "A", fragment=(1,)), named(Signing, "B", fragment=("x", 2)))

    assert profile.sign(POD) == (("schedulerName", "reprise"), ("A", (1,)), ("B", ("x", 2)))


def test_two_profiles_never_share_a_signature() -> None:
    first, second = (make_profile(scheduler_name=name) for name in ("a", "b"))

    assert first.sign(POD) != second.sign(POD)


def test_a_plugin_that_does_not_sign_makes_all_pods_unsignable() -> None:
    profile = make_profile(named(Signing, "A"), named(Filter, "B"))

    assert profile.sign(POD) == Unsignable("plugin B does not sign pods")


def test_a_plugin_that_does_not_sign_is_named() -> None:
    assert make_profile(named(Signing, "A"), named(Filter, "B"), named(Filter, "C")).unsigned_plugin() == "B"
    assert make_profile(named(Signing, "A")).unsigned_plugin() == ""


def test_a_plugin_that_raises_while_it_signs_is_named() -> None:
    class Raising(Signing):
        def sign(self, pod: PodInfo) -> Any:
            raise RuntimeError("boom")

    with pytest.raises(PluginFailure, match=r'^running Sign plugin "A": boom$') as failure:
        make_profile(named(Raising, "A")).sign(POD)
    assert failure.value.plugin == "A"


def test_a_plugin_whose_fragment_cannot_be_hashed_is_named() -> None:
    with pytest.raises(PluginFailure, match=r"^running Sign plugin \"B\": unhashable type: 'list'$") as failure:
        make_profile(named(Signing, "A"), named(Signing, "B", fragment=["a", "list"])).sign(POD)
    assert failure.value.plugin == "B"


def test_a_plugin_that_cannot_sign_a_pod_says_why() -> None:
    profile = make_profile(named(Signing, "A", fragment=Unsignable("it is special")))

    assert profile.sign(POD) == Unsignable("it is special")


def test_the_default_profile_signs_a_plain_pod() -> None:
    (default,) = default_profiles().values()

    assert isinstance(default.sign(POD), tuple)
    assert hash(default.sign(POD)) == hash(default.sign(PodInfo(make_pod("other"))))


def test_deciding_plugins_are_those_of_four_points_each_once_and_in_order() -> None:
    class Everything(PreFilter, Filter, PreScore, Score):
        name = "Everything"

    plugins = (named(PreEnqueue, "Gate"), named(Score, "S"), Everything(), named(PreScore, "P"), named(Filter, "F"))
    profile = make_profile(*plugins)

    assert [plugin.name for plugin in profile.deciding_plugins()] == ["Everything", "F", "P", "S"]


def test_a_plugin_hears_of_what_it_registered() -> None:
    profile = make_profile(named(Hearing, "A", events=(NODE_ADD,)))

    assert profile.events_of("A") == (NODE_ADD,)


def test_a_plugin_that_registered_an_empty_list_hears_of_nothing() -> None:
    assert make_profile(named(Hearing, "A", events=())).events_of("A") == ()


def test_an_unknown_plugin_hears_of_nothing() -> None:
    assert make_profile(named(Hearing, "A", events=(NODE_ADD,))).events_of("B") == ()


@pytest.mark.parametrize("kind", [PreEnqueue, PreFilter, Filter])
@pytest.mark.parametrize(
    "resource",
    [
        EventResource.NODE,
        EventResource.ASSIGNED_POD,
        EventResource.UNSCHEDULED_POD,
        EventResource.TARGET_POD,
        EventResource.DEVICE_CLASS,
        EventResource.PERSISTENT_VOLUME,
        EventResource.PERSISTENT_VOLUME_CLAIM,
        EventResource.STORAGE_CLASS,
        EventResource.CSI_NODE,
        EventResource.CSI_DRIVER,
        EventResource.CSI_STORAGE_CAPACITY,
    ],
)
@pytest.mark.parametrize("action", [ActionType.ADD, ActionType.DELETE, ActionType.UPDATE, ActionType.UPDATE_POD_LABEL])
def test_a_plugin_that_says_nothing_hears_of_everything(
    kind: type[Any], resource: EventResource, action: ActionType
) -> None:
    events = make_profile(named(kind, "Silent")).events_of("Silent")

    assert any(event.matches(ClusterEvent(resource, action)) for event in events)


@pytest.mark.parametrize("resource", [EventResource.NAMESPACE, EventResource.VOLUME_ATTACHMENT])
def test_what_is_not_among_everything(resource: EventResource) -> None:
    events = make_profile(named(Filter, "Silent")).events_of("Silent")

    assert not any(event.matches(ClusterEvent(resource, ActionType.DELETE)) for event in events)


def test_plugins_that_can_reject_a_pod_say_what_they_want_to_hear() -> None:
    (default,) = default_profiles().values()
    rejecting = (*default.pre_enqueue, *default.pre_filter, *default.filter)

    assert {plugin.name for plugin in rejecting if not default.events_of(plugin.name)} == set()
    assert isinstance(rejecting[-1], FilterPlugin)
    assert CycleState == dict[str, Any]


def test_plugins_of_the_binding_cycle_are_listed_once_in_order() -> None:
    first, second = scripted("First", []), scripted("Second", [])

    assert make_profile(named(Filter, "F"), first, second).binding_plugins == (first, second)
    assert make_profile(named(Filter, "F")).binding_plugins == ()


def test_the_plugins_say_which_of_them_take_part_for_a_pod() -> None:
    always, never = scripted("Always", []), scripted("Never", [], only="somebody else")

    assert make_profile(never, always).taking_part(POD) == (always,)


def test_kinds_that_prebind_plugins_write_are_named_once() -> None:
    one = scripted("One", [], patches=("PersistentVolumeClaim", "PersistentVolume"))
    other = scripted("Other", [], patches=("PersistentVolume",))

    assert make_profile(one, other).patched_kinds() == ("PersistentVolume", "PersistentVolumeClaim")
    assert make_profile().patched_kinds() == ()


def test_a_plugin_of_the_binding_cycle_that_says_nothing_of_events_hears_of_everything() -> None:
    heard = make_profile(scripted("Held", [])).events_of("Held")

    assert ClusterEvent(EventResource.NODE, ActionType.ALL) in heard
