"""Decisions in which extenders take part, from the first question to the end.

Expected: kube-scheduler 1.37, findNodesThatPassExtenders, prioritizeNodes and extendersBinding.
"""

from __future__ import annotations

import msgspec

from scheduler.api.objects import Container, PodStatus, ResourceRequirements
from scheduler.api.quantity import Quantity
from scheduler.batch.outcomes import Attempt
from scheduler.core.instruction import AskExtender, BindPod, PatchPodStatus, RecordEvent
from scheduler.core.stimulus import BindDue
from tests.support.builders import make_node, make_pod
from tests.support.core_run import BINDING, ON_NODE, changed, on_node, reference
from tests.support.extender_runs import ExtendedCore, extender, scores

POD = make_pod("web")
NODES = ("n1", "n2", "n3")


def asking(*extenders, pod=POD, nodes=NODES, **fields) -> ExtendedCore:
    """The pod was popped at second 1, and whoever is to be asked first has been asked."""
    core = ExtendedCore(*extenders, **fields)
    core.nodes(*(make_node(name) for name in nodes))
    core.pods(pod)
    core.go_on(1.0)
    return core


def outcome(core: ExtendedCore) -> tuple[str, str]:
    assert core.result is not None
    return core.result.outcome, core.result.node_name or core.result.message


# ----------------------------------------------------------------------------------------------------------------- filter


def test_the_nodes_that_fit_are_asked_about_and_the_cycle_waits() -> None:
    core = asking(extender())

    assert core.asked() == [(0, "filter", ["n1", "n2", "n3"])]
    assert outcome(core)[0] == "asking"
    assert core.go_on(2.0) is None


def test_nodes_that_plugins_refuse_are_not_asked_about() -> None:
    core = ExtendedCore(extender())
    core.nodes(make_node("n1"), make_node("full", allocatable={"cpu": "0"}))
    core.pods(POD)
    core.go_on()

    assert core.asked() == [(0, "filter", ["n1"])]


def test_the_only_node_that_is_left_is_taken() -> None:
    core = asking(extender())

    core.answer(node_names=["n2"], failed_nodes={"n1": "no", "n3": "no"})
    core.go_on(2.0)

    assert outcome(core) == ("assumed", "n2")
    assert core.result is not None
    assert core.result.instructions == [BindPod(pod=reference(POD), node_name="n2")]
    assert core.rooms(POD) == [BINDING, ON_NODE]


def test_no_other_pod_is_decided_on_meanwhile() -> None:
    core = asking(extender(managedResources=[{"name": "example.com/gpu"}], nodeCacheCapable=True), pod=gpu_pod())
    core.pods(make_pod("other"))

    assert core.go_on(2.0) is None
    core.answer(node_names=["n1"])
    core.go_on(3.0)
    assert outcome(core) == ("assumed", "n1")
    core.go_on(3.0)
    assert core.result is not None
    assert (core.result.pod, core.result.outcome) == ("default/other", "assumed")


def gpu_pod(name: str = "web", *, init: bool = False, limits: bool = False):
    amounts: dict[str, Quantity] = {"example.com/gpu": "0"}
    resources = ResourceRequirements(limits=amounts) if limits else ResourceRequirements(requests=amounts)
    wants, plain = Container(name="c", resources=resources), Container(name="c")
    return make_pod(name, containers=[plain if init else wants], init_containers=[wants] if init else None)


def test_an_extender_is_asked_about_pods_that_want_what_it_manages() -> None:
    managing = extender(managedResources=[{"name": "example.com/gpu", "ignoredByScheduler": True}])

    assert [len(asking(managing, pod=pod).questions) for pod in (
        gpu_pod(), gpu_pod(init=True), gpu_pod(limits=True), POD,
    )] == [1, 1, 1, 0]  # fmt: skip


def test_the_next_extender_is_asked_about_what_the_first_has_left() -> None:
    core = asking(extender("a"), extender("b"))

    core.answer(node_names=["n3", "n1"])
    core.go_on()

    assert core.asked() == [(1, "filter", ["n1", "n3"])]


def test_ignorable_extenders_are_asked_last() -> None:
    core = asking(extender("a", ignorable=True), extender("b"))

    assert core.asked() == [(1, "filter", ["n1", "n2", "n3"])]
    core.answer(node_names=["n1", "n2"])
    core.go_on()
    assert core.asked() == [(0, "filter", ["n1", "n2"])]


def test_when_nothing_is_left_no_other_extender_is_asked_and_the_pod_is_told_why() -> None:
    core = asking(extender("a"), extender("b"))

    core.answer(failed_nodes={"n1": "too hot", "n2": "too hot"}, unresolvable_nodes={"n3": "too old"})
    core.go_on(2.0)

    assert outcome(core) == ("unschedulable", "0/3 nodes are available: 1 too old, 2 too hot.")
    assert core.result is not None
    assert core.result.plugins == ("Extender",)
    assert core.rooms(POD) == ["unschedulable"]


def test_unresolvable_wins_over_failed() -> None:
    core = asking(extender(), nodes=("n1",))

    core.answer(failed_nodes={"n1": "no"}, unresolvable_nodes={"n1": "never"})
    core.go_on()

    assert outcome(core) == ("unschedulable", "0/1 nodes are available: 1 never.")


def test_a_node_that_is_left_out_without_a_word_has_no_reason() -> None:
    core = asking(extender())

    core.answer(failed_nodes={"n1": "no"})
    core.go_on()

    assert outcome(core) == ("unschedulable", "0/3 nodes are available: 1 no.")


def test_what_an_extender_says_of_nodes_that_there_are_not_counts_for_nothing() -> None:
    core = asking(extender(), nodes=("n1",))

    core.answer(failed_nodes={"n1": "no", "invented": "no"})
    core.go_on()

    assert outcome(core) == ("unschedulable", "0/1 nodes are available: 1 no.")


def test_reasons_of_plugins_and_extenders_are_told_together() -> None:
    core = ExtendedCore(extender())
    core.nodes(make_node("n1"), make_node("full", allocatable={"cpu": "0"}))
    core.pods(POD)
    core.go_on()
    core.answer(failed_nodes={"n1": "no"})
    core.go_on()

    assert outcome(core) == ("unschedulable", "0/2 nodes are available: 1 Insufficient cpu, 1 no.")
    assert core.result is not None
    assert core.result.plugins == ("NodeResourcesFit", "Extender")


def test_any_event_wakes_a_pod_that_an_extender_refused() -> None:
    core = asking(extender(), nodes=("n1",))
    core.answer(failed_nodes={"n1": "no"})
    core.go_on(1.0)

    core.nodes(changed_node("n1"), at=100.0)

    assert core.rooms(POD) == ["active"]


def changed_node(name: str):
    return make_node(name, labels={"new": "label"})


def test_an_event_while_an_extender_is_asked_is_not_lost() -> None:
    core = asking(extender(), nodes=("n1",))
    core.nodes(changed_node("n1"), at=1.5)

    core.answer(failed_nodes={"n1": "no"})
    core.go_on(2.0)

    assert core.rooms(POD) == ["backoff"]


# ------------------------------------------------------------------------------------------------------------- no answer


def test_an_extender_that_does_not_answer_ends_the_attempt_with_its_error() -> None:
    core = asking(extender())

    core.fail("failed filter with extender at URL http://e/filter, code 500", at=1.5)
    core.go_on(2.0)

    message = "failed filter with extender at URL http://e/filter, code 500"
    assert outcome(core) == ("error", message)
    assert core.result is not None
    event, patch = core.result.instructions
    assert isinstance(event, RecordEvent)
    assert isinstance(patch, PatchPodStatus)
    assert patch.condition is not None
    assert (event.reason, event.note) == ("FailedScheduling", message)
    assert (patch.condition.reason, patch.condition.message) == ("SchedulerError", message)
    assert core.rooms(POD) == ["backoff"]


def test_an_error_in_the_answer_is_one_too() -> None:
    core = asking(extender())

    core.answer(error="licence expired", node_names=["n1"])
    core.go_on()

    assert outcome(core) == ("error", "licence expired")


def test_a_node_that_was_not_asked_about_is_an_error() -> None:
    core = asking(extender())

    core.answer(node_names=["n1", "invented"])
    core.go_on()

    assert outcome(core) == (
        "error",
        'extender "http://e" claims a filtered node "invented" which is not found in the input node list',
    )


def test_an_ignorable_extender_that_does_not_answer_is_passed_over_and_complained_of_once() -> None:
    core = asking(extender(ignorable=True), nodes=("n1",))
    core.fail("no answer")
    core.go_on()
    assert outcome(core) == ("assumed", "n1")
    core.pods(make_pod("second"))
    core.go_on()
    core.answer(node_names=["invented"])
    core.go_on()

    assert outcome(core) == ("assumed", "n1")
    [complaint] = core.scheduler.take_complaints()
    assert (complaint.url, complaint.verb, complaint.pod, complaint.error) == (  # type: ignore[union-attr]
        "http://e", "filter", "default/web", "no answer",
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------------------- prioritize


def test_scores_of_extenders_count_ten_times_their_weight() -> None:
    rank = extender("a", filterVerb="", prioritizeVerb="p", weight=2)
    core = asking(rank)
    assert core.asked() == [(0, "prioritize", ["n1", "n2", "n3"])]

    core.answer(scores=scores(n1=1, n2=3, invented=10))
    core.go_on()

    assert outcome(core) == ("assumed", "n2")


def test_an_extender_outweighs_plugins_by_its_score_times_weight_times_ten() -> None:
    """NodeResourcesFit alone scores, and finds n2 better by 25: two points of the extender are 20, three are 30."""
    others = ("TaintToleration", "NodeAffinity", "PodTopologySpread", "InterPodAffinity", "ImageLocality")
    without = (*others, "NodeResourcesBalancedAllocation")
    rank = extender(filterVerb="", prioritizeVerb="p", weight=1)

    def chosen(score: int) -> str:
        core = ExtendedCore(rank, without=without)
        # LeastAllocated, cpu and memory alike: n1 has 100 - 50 = 50 of both, n2 has 100 - 25 = 75 of both.
        core.nodes(
            make_node("n1", allocatable={"cpu": "2", "memory": "2Gi"}),
            make_node("n2", allocatable={"cpu": "4", "memory": "4Gi"}),
        )
        core.pods(make_pod("web", requests={"cpu": "1", "memory": "1Gi"}))
        core.go_on()
        core.answer(scores=scores(n1=score))
        core.go_on()
        return outcome(core)[1]

    assert [chosen(2), chosen(3)] == ["n2", "n1"]


def test_pods_on_the_nodes_count_in_their_scores_after_an_extender() -> None:
    """Least allocated wins: n1 is half full, whatever an extender has left."""
    core = ExtendedCore(extender())
    core.nodes(make_node("n1"), make_node("n2"))
    core.pods(on_node(make_pod("there", requests={"cpu": "2", "memory": "8Gi"}, scheduler_name="other"), "n1"), POD)
    core.go_on()

    core.answer(node_names=["n1", "n2"])
    core.go_on()

    assert outcome(core) == ("assumed", "n2")


def test_all_are_asked_at_once_and_one_that_does_not_answer_adds_nothing() -> None:
    one = extender("a", filterVerb="", prioritizeVerb="p", weight=1)
    core = asking(one, {**one, "urlPrefix": "http://b"})
    first, second = core.questions

    core.fail("no answer", first)
    assert core.go_on() is None
    core.answer(second, scores=scores(n3=10))
    core.go_on()

    assert outcome(core) == ("assumed", "n3")


def test_scores_of_several_extenders_add_up() -> None:
    one = extender("a", filterVerb="", prioritizeVerb="p", weight=1)
    core = asking(one, {**one, "urlPrefix": "http://b", "weight": 3})
    first, second = core.questions

    core.answer(second, scores=scores(n2=2))
    core.answer(first, scores=scores(n1=5, n3=5))
    core.go_on()

    assert outcome(core) == ("assumed", "n2")


def test_scores_of_any_size_are_taken_and_do_not_overflow() -> None:
    core = asking(extender(filterVerb="", prioritizeVerb="p", weight=2**62))

    core.answer(scores=scores(n1=-(2**63), n2=2**63 - 1))
    core.go_on()

    assert outcome(core) == ("assumed", "n2")


def test_one_node_is_not_scored() -> None:
    core = asking(extender(prioritizeVerb="p", weight=1))

    core.answer(node_names=["n3"])
    core.go_on()

    assert outcome(core) == ("assumed", "n3")


# ------------------------------------------------------------------------------------------------------------------- bind


def test_an_extender_binds_the_pods_that_it_is_there_for() -> None:
    core = asking(extender(filterVerb="", bindVerb="b"), nodes=("n1",))

    assert core.asked() == [(0, "bind", ["n1"])]
    [event] = core.answer(at=3.0)
    assert isinstance(event, RecordEvent)
    assert event.note == "Successfully assigned default/web to n1"
    assert core.rooms(POD) == [ON_NODE]


def test_a_bind_that_an_extender_refuses_is_a_failed_bind_with_its_words() -> None:
    core = asking(extender(filterVerb="", bindVerb="b"), nodes=("n1",))

    instructions = core.answer(error="quota exceeded", at=3.0)

    assert isinstance(instructions[0], RecordEvent)
    assert instructions[0].note == "quota exceeded"
    assert core.rooms(POD) == ["backoff"]


def test_a_late_answer_to_a_bind_that_was_given_up_is_not_one_to_the_next() -> None:
    """Someone filled the node before the bind was sent, so it was given up; then the pod was tried again."""
    core = asking(extender(bindVerb="b"), nodes=("n1",))
    core.answer(node_names=["n1"])
    core.go_on()
    [first] = core.questions
    fat = on_node(make_pod("fat", requests={"cpu": "4"}, scheduler_name="other"), "n1")
    core.pods(fat)
    core.scheduler.handle(BindDue(now=1.5, uid=POD.metadata.uid))
    assert core.rooms(POD) == ["backoff"]
    core.pod_gone(fat)
    core.tick(20.0)
    core.go_on(20.0)
    core.answer(node_names=["n1"])
    core.go_on(20.0)

    assert core.fail("the pod is not to be bound any more", first) == []
    assert core.rooms(POD) == [BINDING, ON_NODE]
    assert [event.reason for event in core.answer(at=21.0) if isinstance(event, RecordEvent)] == ["Scheduled"]


def test_a_bind_that_was_given_up_before_it_was_sent_is_no_call() -> None:
    """Whoever waits for a volume meanwhile, or for Permit, must not be bound by what is said of that one."""
    core = asking(extender(filterVerb="", bindVerb="b", ignorable=True), nodes=("n1",))
    [first] = core.questions
    core.pods(on_node(make_pod("fat", requests={"cpu": "4"}, scheduler_name="other"), "n1"))
    core.scheduler.handle(BindDue(now=1.5, uid=POD.metadata.uid))

    assert core.fail("the pod is not to be bound any more", first) == []
    assert core.state.extenders.calls == {}
    assert core.scheduler.take_complaints() == []


def test_an_ignorable_extender_that_does_not_bind_leaves_it_to_us() -> None:
    core = asking(extender(filterVerb="", bindVerb="b", ignorable=True), nodes=("n1",))

    assert core.fail("no answer") == [BindPod(pod=reference(POD), node_name="n1")]
    assert core.rooms(POD) == [BINDING, ON_NODE]


# ------------------------------------------------------------------------------------------------- nominated, batch, news


def nominated(name: str):
    return msgspec.structs.replace(POD, status=PodStatus(nominated_node_name=name))


def test_a_nominated_node_is_asked_about_alone_and_taken_without_scores() -> None:
    core = asking(extender(prioritizeVerb="p", weight=1), pod=nominated("n2"))

    assert core.asked() == [(0, "filter", ["n2"])]
    core.answer(node_names=["n2"])
    core.go_on()
    assert outcome(core) == ("assumed", "n2")


def test_without_the_nominated_node_all_are_looked_at() -> None:
    for without in ("refused", "failed"):
        core = asking(extender(), pod=nominated("n2"))
        if without == "refused":
            core.answer(failed_nodes={"n2": "no"})
        else:
            core.fail("no answer")
        core.go_on()
        assert core.asked() == [(0, "filter", ["n1", "n2", "n3"])]


def test_an_entry_is_used_and_kept_without_what_extenders_say() -> None:
    core = ExtendedCore(extender())
    core.nodes(*(make_node(name) for name in NODES))
    core.pods(make_pod("a"), make_pod("b"), make_pod("c"))
    batches = []
    for refuses_best in (False, False, True):
        core.go_on()
        assert core.asked() == [(0, "filter", list(NODES))]
        best = ""
        if refuses_best:
            [entry] = list(core.state.batching.entries)
            row = entry.evaluation.select()
            assert row is not None
            best = core.state.cache.table.name_of(row)
        core.answer(node_names=[name for name in NODES if name != best])
        core.go_on()
        assert core.result is not None
        batches.append(core.result.batch)

    assert batches == ["no_hint", "hint_used", "hint_not_used"]
    attempts = core.state.batching.counters.attempts
    assert [attempts["reprise", one] for one in (Attempt.NO_HINT, Attempt.HINT_USED, Attempt.HINT_NOT_USED)] == [
        1,
        1,
        1,
    ]


def test_a_node_that_filled_up_or_went_meanwhile_is_not_taken() -> None:
    core = asking(extender())
    core.node_gone("n1")
    core.pods(on_node(make_pod("big", requests={"cpu": "4"}, scheduler_name="other"), "n2"))

    core.answer(node_names=["n1", "n2", "n3"])
    core.go_on()

    assert outcome(core) == ("assumed", "n3")


def test_a_node_that_came_meanwhile_was_not_asked_about_and_is_not_taken() -> None:
    core = asking(extender(), nodes=("n1",))
    core.nodes(make_node("new"))

    core.answer(failed_nodes={"n1": "no"})
    core.go_on(2.0)

    assert outcome(core) == ("unschedulable", "0/2 nodes are available: 1 no.")
    assert core.rooms(POD) == ["backoff"]


def test_a_pod_that_is_gone_or_bound_by_someone_else_is_left_alone() -> None:
    for event in ("gone", "bound"):
        core = asking(extender())
        [question] = core.questions
        if event == "gone":
            core.pod_gone(POD)
        else:
            core.pods(on_node(POD, "n3"))
        core.go_on(2.0)
        assert outcome(core) == ("skipped", "pod default/web needs no node any more")
        assert core.result is not None
        assert core.result.instructions == []
        assert core.answer(question, node_names=["n1"]) == []
        assert core.go_on(3.0) is None
        assert core.rooms(POD) == ([] if event == "gone" else [ON_NODE])
        assert not core.state.queue.is_in_flight(POD.metadata.uid)


def test_a_pod_that_is_being_deleted_is_skipped() -> None:
    core = asking(extender())
    core.pods(changed(POD, version="9", metadata={"deletion_timestamp": "2026-01-01T00:00:00Z"}))

    core.go_on(2.0)

    assert outcome(core) == ("skipped", "skip schedule deleting pod: default/web")


def test_a_pod_that_changed_meanwhile_is_told_as_it_is_now() -> None:
    core = asking(extender(), nodes=("n1",))
    core.pods(changed(POD, version="9"))

    core.answer(failed_nodes={"n1": "no"})
    core.go_on()

    assert core.result is not None
    assert isinstance(core.result.instructions[0], RecordEvent)
    assert core.result.instructions[0].pod.resource_version == "9"


def test_an_answer_to_nobodys_question_changes_nothing() -> None:
    core = asking(extender())
    [question] = core.questions
    stranger = AskExtender(number=99, extender=0, verb=question.verb, pod=question.pod)

    assert core.answer(stranger, node_names=["n1"]) == []
    assert core.go_on() is None
    core.answer(node_names=["n2"])
    core.go_on()
    assert outcome(core) == ("assumed", "n2")
