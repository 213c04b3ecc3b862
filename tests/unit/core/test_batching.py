"""When a decision is taken from an entry, when it is not, and how that counts."""

from __future__ import annotations

import gc
from typing import Any

import msgspec
import pytest

from scheduler.api.objects import (
    Affinity,
    ContainerPort,
    LabelMapSpec,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectMeta,
    Pod,
    PodCondition,
    PodStatus,
    Service,
)
from scheduler.batch.entries import REMEMBERED_SHAPES
from scheduler.batch.options import BatchOptions
from scheduler.core.batching import TEMPLATES
from scheduler.core.stimulus import SelectingObjectApplied
from scheduler.framework.facet import Input
from scheduler.framework.plugin import ClusterSignPlugin, Unsignable
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.view import NodeView
from tests.support.builders import make_container, make_node, make_pod
from tests.support.core_run import Core, changed, default_profiles, on_node
from tests.support.scripted_plugins import Filter, make_profile, named, named_nodes
from tests.support.signed_plugins import FOREVER, SignedFilter, SignedPreFilter, batch_of

HALF_A_SECOND = BatchOptions(max_age_seconds=0.5, verify_fraction=0.0)


def run(batching: BatchOptions = FOREVER, nodes: int = 3) -> Core:
    core = Core(batching=batching)
    core.nodes(*(make_node(f"n{number}") for number in range(nodes)))
    return core


def place(core: Core, *pods: Pod, at: float = 0.0) -> list[str]:
    """All of them wait, then each is decided on."""
    core.pods(*pods, at=at)
    return [core.decide(at).batch for _ in pods]


def one(name: str, *, at: float = 0.0, core: Core, **fields: Any) -> str:
    """One pod comes and is decided on before anything else comes."""
    return place(core, make_pod(name, **fields), at=at)[0]


def flushed(core: Core) -> dict[str, int]:
    found: dict[str, int] = core.state.batching.counters.as_document()["flushed"]
    return found


def pinned(*nodes: str) -> Affinity:
    """To one of these nodes; to a single one, as the DaemonSet controller does it."""
    fields = [[NodeSelectorRequirement(key="metadata.name", operator="In", values=[node])] for node in nodes]
    required = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=one) for one in fields])
    return Affinity(node_affinity=NodeAffinity(required=required))


# Whether an entry is there


def test_pods_of_one_shape_that_wait_together_share_one_evaluation() -> None:
    core = run()

    assert place(core, *(make_pod(f"p{number}") for number in range(5))) == ["no_hint", *["hint_used"] * 4]
    assert batch_of(core) == {"no_hint": 1, "hint_used": 4}


def test_a_shape_that_comes_one_by_one_is_kept_from_the_second_pod_on() -> None:
    core = run()

    assert [one(f"p{number}", core=core) for number in range(4)] == ["no_hint", "no_hint", "hint_used", "hint_used"]


def test_a_shape_that_came_once_and_waits_no_more_is_not_kept() -> None:
    core = run()
    one("p", core=core)

    assert len(core.state.batching.entries) == 0


def test_a_shape_that_comes_again_after_the_maximum_age_was_not_seen() -> None:
    core = run(HALF_A_SECOND)

    assert [one(f"p{number}", core=core, at=number * 0.6) for number in range(3)] == ["no_hint"] * 3
    assert len(core.state.batching.entries) == 0


def test_two_shapes_in_turn_hit_as_one_does() -> None:
    core = run()
    pods = [make_pod(f"p{number}", requests={"cpu": f"{1 + number % 2}m"}) for number in range(8)]

    assert place(core, *pods) == ["no_hint"] * 2 + ["hint_used"] * 6


def test_more_shapes_than_are_kept_evict_each_other() -> None:
    core = run(BatchOptions(max_signatures=2, max_age_seconds=0.0, verify_fraction=0.0))
    pods = [make_pod(f"p{number}", requests={"cpu": f"{1 + number % 3}m"}) for number in range(6)]

    assert place(core, *pods) == ["no_hint"] * 6
    # The last pod of each shape leaves nobody behind it, but the shape was seen.
    assert flushed(core) == {"evicted": 4}


def test_an_entry_that_is_too_old_is_made_anew() -> None:
    core = run(HALF_A_SECOND)
    core.pods(*(make_pod(f"p{number}") for number in range(4)))

    assert [core.decide(at).batch for at in (0.0, 0.5, 0.6, 0.7)] == ["no_hint", "hint_used", "no_hint", "hint_used"]
    assert flushed(core) == {"expired": 1}


def test_a_clock_that_was_set_back_drops_the_entry() -> None:
    core = run(HALF_A_SECOND)
    core.pods(*(make_pod(f"p{number}") for number in range(3)))

    assert [core.decide(at).batch for at in (100.0, 99.9, 99.9)] == ["no_hint", "no_hint", "hint_used"]
    assert flushed(core) == {"expired": 1}


def test_pods_for_one_named_node_of_several_leave_nothing_behind() -> None:
    core = run()
    pods = [make_pod(f"p{number}", affinity=pinned("n1")) for number in range(3)]

    assert place(core, *pods) == ["no_hint"] * 3
    assert len(core.state.batching.entries) == 0


def test_pods_for_the_only_node_are_kept() -> None:
    core = run(nodes=1)
    pods = [make_pod(f"p{number}", affinity=pinned("n0")) for number in range(3)]

    assert place(core, *pods) == ["no_hint", "hint_used", "hint_used"]


def test_pods_that_prefilter_refuses_leave_nothing_behind() -> None:
    """There is no node in question at all."""
    core = Core([make_profile(SignedPreFilter())], batching=FOREVER)
    core.state.profiles["reprise"].pre_filter[0].result = named_nodes(())  # type: ignore[attr-defined]
    core.nodes(make_node("n1"), make_node("n2"))

    assert place(core, *(make_pod(f"p{number}") for number in range(3))) == ["no_hint"] * 3
    assert len(core.state.batching.entries) == 0


@pytest.mark.long
def test_5000_daemonset_pods_leave_the_other_shape_its_hits() -> None:
    core = Core(batching=FOREVER)
    core.nodes(*(make_node(f"n{number}", allocatable={"pods": "1000"}) for number in range(50)))
    pods = []
    for number in range(5000):
        pods += [make_pod(f"d{number}", requests={"cpu": "0"}, affinity=pinned(f"n{number % 50}"))]
        pods += [make_pod(f"p{number}", requests={"cpu": "1m"})] if number % 5 == 0 else []
    core.pods(*pods)
    results = [core.decide() for _ in pods]
    of_shape = [result.batch for result in results if result.pod.startswith("default/p")]

    assert len(of_shape) == 1000
    assert of_shape.count("hint_used") >= 990
    assert {result.outcome for result in results} == {"assumed"}


# Who does not use an entry


def test_a_pod_with_a_nomination_tries_that_node_first_and_drops_nothing() -> None:
    """kube-scheduler 1.37: evaluateNominatedNode. n1 is the worst choice, and it fits."""
    core = run()
    core.pods(on_node(make_pod("big", requests={"cpu": "3"}), "n1"))
    place(core, make_pod("a"), make_pod("b"), make_pod("c"))
    entry = next(iter(core.state.batching.entries))
    core.pods(make_pod("p", status=PodStatus(nominated_node_name="n1")))
    result = core.decide()

    assert (result.node_name, result.batch) == ("n1", "pod_nominated")
    assert list(core.state.batching.entries) == [entry]
    assert one("d", core=core) == "hint_used"
    assert batch_of(core) == {"no_hint": 1, "hint_used": 3, "bypassed": {"pod_nominated": 1}}


def test_a_pod_whose_nominated_node_does_not_fit_goes_where_it_fits() -> None:
    core = run()
    core.nodes(make_node("n1", allocatable={"cpu": "0"}))
    core.pods(make_pod("p", status=PodStatus(nominated_node_name="n1")))

    assert core.decide().node_name in ("n0", "n2")


@pytest.mark.parametrize("name", ["gone", "n3"])
def test_a_pod_whose_nominated_node_is_gone_goes_elsewhere(name: str) -> None:
    core = run()
    core.pods(make_pod("p", status=PodStatus(nominated_node_name=name)))

    assert core.decide().node_name in ("n0", "n1", "n2")


def test_switched_off_it_is_not_used() -> None:
    core = run(BatchOptions(enabled=False))

    assert place(core, make_pod("a"), make_pod("b")) == ["disabled", "disabled"]
    assert batch_of(core) == {"bypassed": {"disabled": 2}}
    assert core.state.batching.off == {"reprise": "batching.enabled is false"}


def test_a_plugin_that_does_not_sign_switches_it_off_for_its_profile_and_is_named() -> None:
    core = Core(
        [make_profile(named(Filter, "Strange")), make_profile(named(SignedFilter, "Signs"), scheduler_name="other")],
        batching=FOREVER,
    )
    core.nodes(make_node("n1"))
    others = [make_pod(f"o{number}", scheduler_name="other") for number in range(2)]

    assert place(core, make_pod("a"), make_pod("b")) == ["disabled", "disabled"]
    assert place(core, *others) == ["no_hint", "hint_used"]
    assert core.state.batching.off == {"reprise": "plugin Strange does not sign pods", "other": ""}


@pytest.mark.parametrize("fragment", [Unsignable("has claims"), ValueError("cannot be read"), (["a", "list"],)])
def test_a_pod_that_a_plugin_does_not_sign_is_decided_on_without_an_entry(fragment: Any) -> None:
    signing = named(SignedFilter, "Signs", fragment=fragment)
    core = Core([make_profile(signing)], batching=FOREVER)
    core.nodes(make_node("n1"))

    assert place(core, make_pod("a"), make_pod("b")) == ["pod_not_batchable"] * 2
    assert batch_of(core) == {"bypassed": {"pod_not_batchable": 2}}
    failures = core.state.measurements.plugin_failures
    assert failures == ({} if isinstance(fragment, Unsignable) else {"Signs": 2})


class Selected(SignedFilter, ClusterSignPlugin):
    """Tells pods apart by the selector that Services make of them."""

    name = "Selected"
    inputs = frozenset((Input.SELECTING_OBJECTS,))

    def sign_cluster(self, pod: PodInfo, nodes: NodeView) -> tuple[Any, ...]:
        if isinstance(self.fragment, Exception):
            raise self.fragment
        return (nodes.deduced_selector(pod).matcher,)


def serve(core: Core, app: str, *, name: str = "web") -> None:
    metadata = ObjectMeta(name=name, namespace="default")
    service = Service(metadata=metadata, spec=LabelMapSpec(selector={"app": app}))
    core.scheduler.handle(SelectingObjectApplied(now=0.0, subject=service))


def test_pods_that_other_objects_make_something_else_of_have_entries_of_their_own() -> None:
    core = Core([make_profile(Selected())], batching=FOREVER)
    core.nodes(make_node("n1"), make_node("n2"))
    serve(core, "web")
    pods = [make_pod(f"p{number}", labels={"app": app}) for number, app in enumerate(("web", "db") * 2)]

    assert place(core, *pods) == ["no_hint", "no_hint", "hint_used", "hint_used"]
    serve(core, "db", name="db")
    assert place(core, make_pod("q0", labels=pods[0].metadata.labels)) == ["hint_used"]
    assert place(core, *(make_pod(f"d{number}", labels={"app": "db"}) for number in range(2))) == [
        "no_hint",
        "hint_used",
    ]


def test_what_other_objects_make_of_a_pod_is_nothing_to_a_profile_that_does_not_look() -> None:
    core = Core([make_profile(SignedFilter())], batching=FOREVER)
    core.nodes(make_node("n1"), make_node("n2"))
    serve(core, "web")
    pods = [make_pod(f"p{number}", labels={"app": app}) for number, app in enumerate(("web", "db") * 2)]

    assert place(core, *pods) == ["no_hint", "hint_used", "hint_used", "hint_used"]


def test_a_plugin_that_cannot_tell_what_others_make_of_a_pod_fails_its_cycle() -> None:
    plugin = Selected()
    core = Core([make_profile(plugin)], batching=FOREVER)
    core.nodes(make_node("n1"))
    core.pods(make_pod("a"))
    plugin.fragment = ValueError("cannot be read")
    result = core.decide()

    assert (result.outcome, result.message) == ("error", 'running Sign plugin "Selected": cannot be read')


def test_a_bypass_counts_although_the_evaluation_fails() -> None:
    core = Core([make_profile(named(Filter, "Broken", error=RuntimeError("no")))], batching=FOREVER)
    core.nodes(make_node("n1"))
    core.pods(make_pod("a"))

    assert core.decide().outcome == "error"
    assert batch_of(core) == {"bypassed": {"disabled": 1}}


def test_a_cold_attempt_counts_although_it_fails() -> None:
    core = Core([make_profile(named(SignedFilter, "Broken", error=RuntimeError("no")))], batching=FOREVER)
    core.nodes(make_node("n1"))
    core.pods(make_pod("a"))

    assert core.decide().outcome == "error"
    assert batch_of(core) == {"no_hint": 1}


# What an entry says


def test_an_entry_answers_that_no_node_fits() -> None:
    core = run()
    core.pods(*(make_pod(f"p{number}", requests={"cpu": "9"}) for number in range(3)))
    results = [core.decide() for _ in range(3)]

    assert [result.batch for result in results] == ["no_hint", "fit_error", "fit_error"]
    assert {result.message for result in results} == {"0/3 nodes are available: 3 Insufficient cpu."}
    assert {result.plugins for result in results} == {("NodeResourcesFit",)}
    # Nothing has changed, so it is not worked out again.
    assert results[1].message is results[0].message
    assert core.state.batching.counters.hit_ratio() == pytest.approx(2 / 3)


def test_an_entry_s_refusal_is_brought_up_to_date() -> None:
    core = run()
    core.pods(*(make_pod(f"p{number}", requests={"cpu": "9"}) for number in range(4)))
    core.decide()
    core.decide()
    core.nodes(make_node("n1", unschedulable=True))
    assert core.decide().message == "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu."
    core.nodes(make_node("n2", allocatable={"cpu": "16"}))
    result = core.decide()

    assert (result.node_name, result.batch) == ("n2", "hint_used")


def test_a_pod_that_fails_between_two_of_a_shape_leaves_their_entry() -> None:
    core = run()
    pods = [make_pod("a"), make_pod("big", requests={"cpu": "9"}), make_pod("b")]

    assert place(core, *pods) == ["no_hint", "no_hint", "hint_used"]
    assert flushed(core) == {}


def test_a_new_node_drops_an_entry_for_named_nodes() -> None:
    core = run()
    core.pods(*(make_pod(f"p{number}", affinity=pinned("n0", "n1", "n9")) for number in range(4)))
    assert [core.decide().batch for _ in range(2)] == ["no_hint", "hint_used"]
    core.nodes(make_node("n9", allocatable={"cpu": "64", "memory": "256Gi"}))
    result = core.decide()

    assert (result.node_name, result.batch) == ("n9", "no_hint")
    assert flushed(core) == {"node_event": 1}


def test_a_node_that_came_back_under_its_name_drops_an_entry_for_named_nodes() -> None:
    core = run()
    core.pods(*(make_pod(f"p{number}", affinity=pinned("n0", "n1")) for number in range(3)))
    core.decide()
    core.nodes(make_node("n1", uid="another"))

    assert core.decide().batch == "no_hint"
    assert flushed(core) == {"node_event": 1}


def test_an_update_of_a_node_drops_nothing() -> None:
    core = run()
    core.pods(*(make_pod(f"p{number}") for number in range(3)))
    core.decide()
    core.nodes(make_node("n1", labels={"new": "label"}, allocatable={"cpu": "1"}))

    assert core.decide().batch == "hint_used"
    assert flushed(core) == {}


def test_heartbeats_cost_an_entry_nothing() -> None:
    """5,000 node heartbeats and 10,000 pod status updates between two pods: a hit, and no row is looked at again."""
    core = run(nodes=20)
    seated = [on_node(make_pod(f"s{number}", requests={"cpu": "1m"}), f"n{number % 20}") for number in range(100)]
    core.pods(*seated)
    core.pods(*(make_pod(f"p{number}") for number in range(3)))
    core.decide()
    before = core.state.cache.table.position
    for beat in range(5000):
        node = make_node(f"n{beat % 20}")
        metadata = msgspec.structs.replace(node.metadata, annotations={"beat": str(beat)})
        core.nodes(msgspec.structs.replace(node, metadata=metadata))
    for beat in range(10_000):
        pod = seated[beat % 100]
        core.pods(
            msgspec.structs.replace(
                changed(pod, version=f"v{beat}"),
                status=PodStatus(phase="Running", conditions=[PodCondition(type="Ready", status=f"{beat}")]),
            )
        )

    assert core.state.cache.table.position == before
    assert core.decide().batch == "hint_used"


def signatures_of(core: Core) -> int:
    gc.collect()
    signer: Any = core.state.queue._sign
    return len(signer.__self__._signatures)


def test_the_signatures_of_pods_that_are_gone_are_forgotten_but_for_the_templates_signed_last() -> None:
    core = run(HALF_A_SECOND)
    pods = [make_pod(f"p{number}", requests={"cpu": f"{number}m"}) for number in range(3000)]
    core.pods(*pods)
    assert signatures_of(core) == 3000
    for pod in pods:
        core.pod_gone(pod)

    assert core.scheduler.schedule_one(0.0) is None
    assert signatures_of(core) == TEMPLATES


def test_pods_of_one_template_are_signed_once_however_many_templates_take_turns() -> None:
    asked: list[str] = []

    class Signs(SignedFilter):
        def sign(self, pod: PodInfo) -> tuple[Any, ...]:
            asked.append(pod.key)
            return ()

    core = Core([make_profile(Signs())], batching=FOREVER)
    for number in range(12):
        core.pods(make_pod(f"p{number}", labels={"app": "abc"[number % 3]}))

    assert asked == ["default/p0", "default/p1", "default/p2"]


def test_a_pod_of_a_known_template_has_what_was_worked_out_of_the_first() -> None:
    core = run(HALF_A_SECOND)
    serving = [make_container(ports=[ContainerPort(host_port=80)])]
    core.pods(make_pod("a", containers=serving), make_pod("b", containers=serving))
    first, second = (queued.pod for queued in core.state.queue.waiting())

    assert second.host_ports is first.host_ports
    assert (first.pod.metadata.name, second.pod.metadata.name) == ("a", "b")


@pytest.mark.long
def test_the_signatures_of_pods_that_were_decided_on_are_remembered_up_to_a_bound() -> None:
    core = run(BatchOptions(max_signatures=16, max_age_seconds=0.0))
    for number in range(REMEMBERED_SHAPES + 100):
        pod = make_pod(f"p{number}", requests={"cpu": f"{number}m"})
        core.pods(pod)
        core.bound(pod, core.decide().node_name)
        core.pod_gone(pod)
        core.pod_read(pod)

    assert REMEMBERED_SHAPES <= signatures_of(core) <= REMEMBERED_SHAPES + 16


def test_what_there_is_to_know_is_a_document_of_plain_values() -> None:
    document = {"profiles": [{"schedulerName": "reprise"}, {"schedulerName": "second"}]}
    core = Core(default_profiles(document).values(), batching=HALF_A_SECOND)
    core.state.batching.off["second"] = "for this test"
    core.nodes(make_node("n1"), make_node("n2", unschedulable=True))
    core.pods(*(make_pod(f"p{number}") for number in range(4)))
    assert [core.decide(at).batch for at in (10.0, 11.0, 11.25)] == ["no_hint", "no_hint", "hint_used"]
    found = msgspec.json.decode(msgspec.json.encode(core.state.batching.as_document(11.5)))
    (entry,) = found.pop("entries")

    assert entry.pop("signature")["NodeName"] == "('',)"
    assert entry == {"profile": "reprise", "ageSeconds": 0.5, "hits": 1, "feasibleNodes": 1}
    assert found == {
        "profiles": {
            "reprise": {"enabled": True, "reason": ""},
            "second": {"enabled": False, "reason": "for this test"},
        },
        "hitRatio": 0.3333,
        "counts": core.state.batching.counters.as_document(),
        "lastFlushes": [
            {"secondsAgo": 0.5, "profile": "reprise", "reason": "expired", "ageSeconds": 1.0, "hits": 0},
        ],
    }


def test_profiles_do_not_share_entries() -> None:
    document = {"profiles": [{"schedulerName": "reprise"}, {"schedulerName": "second"}]}
    core = Core(default_profiles(document).values(), batching=FOREVER)
    core.nodes(make_node("n1"))
    pods = [make_pod(f"p{number}", scheduler_name=name) for number, name in enumerate(("reprise", "second") * 2)]

    assert place(core, *pods) == ["no_hint", "no_hint", "hint_used", "hint_used"]
