"""Which pods have to go, rule by rule. Expected: kube-scheduler 1.37, DefaultPreemption, worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from scheduler.api.objects import (
    LabelSelector,
    LabelSelectorRequirement,
    Pod,
    PodCondition,
    PodStatus,
    TopologySpreadConstraint,
)
from scheduler.framework.disruption import Budget
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.post_filter import Candidate
from scheduler.plugins.default_preemption import DefaultPreemptionArgs, validate
from scheduler.plugins.default_preemption.choice import choose
from scheduler.plugins.default_preemption.victims import by_importance, is_terminating_victim, split_by_budgets
from tests.support.builders import make_node
from tests.support.preemption import (
    PreemptingCore,
    going,
    make_budget,
    nominations,
    replace_status,
    seated,
    urgent,
    victims,
)

NOW = 2_000_000_000.0
EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"
APP = {"app": "a"}


def pod(name: str, priority: int = 0, start: str = "", **fields: object) -> PodInfo:
    return PodInfo(seated(name, priority=priority, start=start, **fields))  # type: ignore[arg-type]


def names(pods: Sequence[PodInfo]) -> list[str]:
    return [one.pod.metadata.name for one in pods]


def told(status: str, reason: str) -> Pod:
    """A pod on its way out with this DisruptionTarget condition."""
    condition = PodCondition(type="DisruptionTarget", status=status, reason=reason)
    return replace_status(going(seated("a")), PodStatus(conditions=[condition]))


# Importance


def test_a_higher_priority_is_more_important_than_a_longer_life() -> None:
    assert names(by_importance([pod("old", 1, EARLY), pod("high", 2, LATE)], NOW)) == ["high", "old"]


def test_of_equal_priority_the_older_is_more_important_and_one_without_a_start_is_the_youngest() -> None:
    given = [pod("none"), pod("late", start=LATE), pod("early", start=EARLY)]

    assert names(by_importance(given, NOW)) == ["early", "late", "none"]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("20260101T010000+0200", EARLY),
        (EARLY, "2026-01-01T00:00:00.5Z"),
        ("2026-01-01T00:00:00+00:00", "2026-01-01T00:00:01Z"),
    ],
)
def test_starts_are_compared_as_times_however_they_are_written(earlier: str, later: str) -> None:
    given = [pod("later", start=later), pod("earlier", start=earlier)]

    assert names(by_importance(given, NOW)) == ["earlier", "later"]


def test_a_start_that_cannot_be_read_counts_as_none() -> None:
    assert names(by_importance([pod("odd", start="soon"), pod("late", start=LATE)], NOW)) == ["late", "odd"]


@pytest.mark.parametrize(
    ("subject", "answer"),
    [
        (going(seated("a")), True),
        (going(seated("a"), by_preemption=False), False),
        (replace_status(seated("a"), going(seated("a")).status), False),
        (told("True", "EvictionByEvictionAPI"), False),
        (told("False", "PreemptionByScheduler"), False),
    ],
)
def test_a_terminating_victim_is_one_that_is_deleted_and_says_that_it_was_preempted(subject: Pod, answer: bool) -> None:
    assert is_terminating_victim(subject) is answer


# Budgets


def split(pods: Sequence[PodInfo], *budgets: Budget) -> tuple[list[str], list[str]]:
    violating, others = split_by_budgets(pods, {"default": budgets})
    return names(violating), names(others)


def test_what_a_budget_allows_goes_to_the_most_important_pods() -> None:
    pods = [pod("a", labels=APP), pod("b", labels=APP), pod("c", labels=APP)]

    assert split(pods, Budget(make_budget(allowed=1, labels=APP))) == (["b", "c"], ["a"])


def test_a_budget_does_not_cover_pods_without_labels_of_others_or_that_it_does_not_select() -> None:
    pods = [pod("bare"), pod("other", labels={"app": "b"}), pod("far", namespace="far", labels=APP)]

    assert split(pods, Budget(make_budget(labels=APP))) == ([], ["bare", "other", "far"])


def test_a_budget_covers_no_pod_of_another_namespace() -> None:
    assert not Budget(make_budget(labels=APP)).charges(seated("far", namespace="far", labels=APP))
    assert Budget(make_budget(labels=APP)).charges(seated("near", labels=APP))


def test_a_pod_without_labels_is_covered_by_no_budget_not_even_by_one_that_selects_the_lack_of_a_label() -> None:
    lacking = LabelSelector(match_expressions=[LabelSelectorRequirement(key="x", operator="DoesNotExist")])

    assert split([pod("bare"), pod("other", labels=APP)], Budget(make_budget(selector=lacking))) == (
        ["other"],
        ["bare"],
    )


@pytest.mark.parametrize("selector", [None, LabelSelector()])
def test_a_budget_without_a_selector_or_with_an_empty_one_covers_nobody(selector: LabelSelector | None) -> None:
    assert split([pod("a", labels=APP)], Budget(make_budget(selector=selector))) == ([], ["a"])


def test_a_pod_whose_disruption_the_budget_has_counted_is_not_counted_again() -> None:
    budget = Budget(make_budget(allowed=1, labels=APP, disrupted=["a"]))

    assert split([pod("a", labels=APP), pod("b", labels=APP)], budget) == ([], ["a", "b"])


def test_a_pod_is_charged_to_all_its_budgets_up_to_the_first_that_has_nothing_left() -> None:
    empty = Budget(make_budget("empty", labels=APP))
    one = Budget(make_budget("one", allowed=1, labels={"tier": "t"}))
    both, single = pod("both", labels={**APP, "tier": "t"}), pod("single", labels={"tier": "t"})

    assert split([both, single], empty, one) == (["both"], ["single"])
    assert split([both, single], one, empty) == (["both", "single"], [])


# Candidate of one node


def preempted(core: PreemptingCore, preemptor: Pod) -> tuple[str, list[str]]:
    """The node, and the victims, the most important first: the last one is held back, so all are answered."""
    core.pods(preemptor)
    result = core.decide()
    node = nominations(result.instructions).get(preemptor.metadata.name, "")
    running = core.state.preemptions.running.get(preemptor.metadata.uid)
    last = [] if running is None or running.is_last_sent else [running.last.pod.metadata.name]
    return node, [*victims(result.instructions), *last]


def test_no_pod_goes_that_need_not() -> None:
    """kubernetes/kubernetes#70622: four classes on a node of 8 CPUs; the highest needs 4, and what is least important goes."""
    core = PreemptingCore(nodes=())
    core.nodes(make_node("n1", allocatable={"cpu": "8"}))
    core.pods(
        seated("low", cpu="2", priority=100),
        seated("mid", cpu="2", priority=200),
        seated("high", cpu="2", priority=300),
        seated("top", cpu="2", priority=400),
    )

    assert preempted(core, urgent(cpu="4", priority=400)) == ("n1", ["mid", "low"])


def test_a_small_pod_is_spared_where_a_large_one_has_to_go() -> None:
    core = PreemptingCore()
    core.pods(seated("small", cpu="1", priority=1), seated("large", cpu="3", priority=2))

    assert preempted(core, urgent(cpu="3")) == ("n1", ["large"])


def test_pods_of_the_same_priority_stay() -> None:
    core = PreemptingCore()
    core.pods(seated("equal", cpu="2", priority=10), seated("lower", cpu="2", priority=9))

    assert preempted(core, urgent(cpu="2")) == ("n1", ["lower"])


def test_pods_whose_loss_breaks_a_budget_are_spared_first() -> None:
    core = PreemptingCore()
    core.budget(make_budget(labels=APP))
    core.pods(seated("covered", cpu="2", priority=1, labels=APP), seated("free", cpu="2", priority=2))

    assert preempted(core, urgent(cpu="2")) == ("n1", ["free"])


def test_a_budget_is_broken_when_nothing_else_helps() -> None:
    core = PreemptingCore()
    core.budget(make_budget(labels=APP))
    core.pods(seated("covered", labels=APP))

    assert preempted(core, urgent()) == ("n1", ["covered"])


def test_victims_are_in_order_of_importance_also_when_some_break_budgets() -> None:
    core = PreemptingCore()
    core.budget(make_budget(labels=APP))
    core.pods(
        seated("covered", cpu="2", priority=1, labels=APP),
        seated("free", cpu="2", priority=2),
    )

    assert preempted(core, urgent()) == ("n1", ["free", "covered"])


def test_a_node_that_breaks_no_budget_is_chosen() -> None:
    core = PreemptingCore(nodes=("n1", "n2"))
    core.budget(make_budget(labels=APP))
    core.pods(seated("covered", "n1", priority=1, labels=APP), seated("free", "n2", priority=9))

    assert preempted(core, urgent()) == ("n2", ["free"])


# Choice of the node


def of(node: str, *pods: PodInfo, violations: int = 0) -> Candidate:
    return Candidate(node, pods, violations)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        pytest.param(of("a", pod("x", 9), pod("y", 9)), of("b", pod("z", 1), violations=1), id="fewer broken budgets"),
        pytest.param(of("a", pod("x", 5), pod("y", 5), pod("z", 5)), of("b", pod("w", 6)), id="lower highest priority"),
        pytest.param(
            of("a", pod("x", 5)), of("b", pod("y", 5), pod("z", -100)), id="smaller sum, also of negative ones"
        ),
        pytest.param(of("a", pod("x", 5), pod("y", 3)), of("b", pod("z", 5), pod("w", 4)), id="smaller sum"),
        pytest.param(
            of("a", pod("x", 0, LATE)), of("b", pod("y", 0, EARLY)), id="its most important pods started later"
        ),
        pytest.param(
            of("a", pod("x", 1, LATE), pod("y", 0, EARLY)),
            of("b", pod("z", 1, EARLY), pod("w", 0, LATE)),
            id="only the starts of the most important ones count",
        ),
        pytest.param(
            of("a", pod("x", 1, LATE), pod("y", 1, LATE)),
            of("b", pod("z", 1, LATE), pod("w", 1, EARLY)),
            id="of these the earliest",
        ),
    ],
)
def test_the_node_whose_victims_hurt_least_is_chosen(better: Candidate, worse: Candidate) -> None:
    assert choose([better, worse], NOW) is better
    assert choose([worse, better], NOW) is better


def test_fewer_victims_are_better_where_priorities_sum_up_to_the_same() -> None:
    """The sum counts from the lowest priority there is, so that takes the lowest."""
    lowest = -(2**31)
    few, many = of("a", pod("x", 0)), of("b", pod("y", 0), pod("z", lowest))

    assert choose([many, few], NOW) is few


def test_the_first_of_equally_good_nodes_is_chosen() -> None:
    first, second = of("a", pod("x", 0, EARLY)), of("b", pod("y", 0, EARLY))

    assert choose([first, second], NOW) is first


# How many nodes are tried


@pytest.mark.parametrize(
    ("nodes", "percentage", "absolute", "enough"),
    [(50, 10, 100, 50), (1000, 10, 100, 100), (2000, 10, 100, 200), (1005, 10, 0, 100), (5, 10, 0, 0), (7, 0, 3, 3)],
)
def test_enough_is_the_share_or_the_number_whichever_is_more(
    nodes: int, percentage: int, absolute: int, enough: int
) -> None:
    args = DefaultPreemptionArgs(min_candidate_nodes_percentage=percentage, min_candidate_nodes_absolute=absolute)

    assert args.enough_of(nodes) == enough


def tried(core: PreemptingCore) -> str:
    core.pods(urgent())
    return nominations(core.decide().instructions)["urgent"]


def full_nodes(count: int, offset: float, **args: int) -> PreemptingCore:
    """Nodes that a pod of a lower priority fills: the first has the highest, so that the last one is the best of all."""
    core = PreemptingCore(nodes=[f"n{number}" for number in range(count)], **args)
    core.pods(*(seated(f"p{number}", f"n{number}", priority=9 - number) for number in range(count)))
    core.state.chance = lambda: offset
    return core


@pytest.mark.parametrize(("offset", "node"), [(0.0, "n1"), (0.25, "n2"), (0.99, "n3")])
def test_enough_nodes_are_tried_from_a_place_by_chance_on(offset: float, node: str) -> None:
    """Two of four: n0 and n1, n1 and n2, n3 and n0; the one with the less important victim is chosen."""
    core = full_nodes(4, offset, min_candidate_nodes_percentage=0, min_candidate_nodes_absolute=2)

    assert tried(core) == node


class CountingCore(PreemptingCore):
    """Counts the nodes of which is asked what would be."""

    def __init__(self, **args: int) -> None:
        names = [f"n{number}" for number in range(40)]
        super().__init__(nodes=names, **args)
        self.pods(*(seated(f"p-{name}", name) for name in names))
        self.tried: list[str] = []
        cache = self.state.cache
        pods_below = cache.pods_below

        def noted(node_name: str, priority: int) -> list[PodInfo]:
            self.tried.append(node_name)
            return pods_below(node_name, priority)

        cache.pods_below = noted  # type: ignore[method-assign]


@pytest.mark.parametrize(("enough", "tries"), [(2, 16), (20, 20)])
def test_no_more_nodes_are_tried_than_enough_or_than_cost_next_to_nothing_together(enough: int, tries: int) -> None:
    core = CountingCore(min_candidate_nodes_percentage=0, min_candidate_nodes_absolute=enough)
    core.state.chance = lambda: 0.0
    tried(core)

    assert core.tried == [f"n{number}" for number in range(tries)]


def test_no_node_is_tried_for_a_pod_that_no_other_is_below() -> None:
    core = CountingCore()
    core.pods(urgent(priority=0))
    result = core.decide()

    assert core.tried == []
    assert result.message.endswith(
        "preemption: 0/40 nodes are available: 40 No preemption victims found for incoming pod."
    )


def test_all_are_tried_when_there_are_no_more_than_enough() -> None:
    assert tried(full_nodes(4, 0.5)) == "n3"


def test_the_search_goes_on_while_every_candidate_breaks_a_budget() -> None:
    core = PreemptingCore(nodes=("n0", "n1", "n2"), min_candidate_nodes_percentage=0, min_candidate_nodes_absolute=1)
    core.budget(make_budget(labels=APP))
    core.pods(seated("a", "n0", labels=APP), seated("b", "n1", labels=APP), seated("c", "n2", priority=9))
    core.state.chance = lambda: 0.0

    assert tried(core) == "n2"


# Rules that look beyond the node


def test_the_end_of_a_pod_elsewhere_in_the_zone_is_no_help_and_on_the_node_it_is() -> None:
    """A spread over zones: a pod has to go from the node that the new one is to be on."""
    core = PreemptingCore(nodes=())
    core.nodes(make_node("n1", labels={"zone": "a"}), make_node("n2", labels={"zone": "b"}))
    spread = TopologySpreadConstraint(
        max_skew=1,
        topology_key="zone",
        when_unsatisfiable="DoNotSchedule",
        label_selector=LabelSelector(match_labels=APP),
    )
    core.pods(seated("one", "n1", cpu="1", labels=APP), seated("full", "n2", priority=10))
    result = preempted(core, urgent(cpu="1", labels=APP, topology_spread_constraints=[spread]))

    assert result == ("n1", ["one"])


# Arguments


@pytest.mark.parametrize(
    ("args", "errors"),
    [
        ({}, []),
        ({"min_candidate_nodes_percentage": 100, "min_candidate_nodes_absolute": 0}, []),
        (
            {"min_candidate_nodes_percentage": 101},
            ["args.minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]"],
        ),
        (
            {"min_candidate_nodes_percentage": -1, "min_candidate_nodes_absolute": -2},
            [
                "args.minCandidateNodesPercentage: Invalid value: -1: not in valid range [0, 100]",
                "args.minCandidateNodesAbsolute: Invalid value: -2: not in valid range [0, inf)",
            ],
        ),
        (
            {"min_candidate_nodes_percentage": 0, "min_candidate_nodes_absolute": 0},
            [
                (
                    "args.minCandidateNodesPercentage: Invalid value: 0: "
                    "cannot be zero at the same time as minCandidateNodesAbsolute"
                ),
                (
                    "args.minCandidateNodesAbsolute: Invalid value: 0: "
                    "cannot be zero at the same time as minCandidateNodesPercentage"
                ),
            ],
        ),
    ],
)
def test_arguments_are_checked(args: dict[str, int], errors: list[str]) -> None:
    assert validate(DefaultPreemptionArgs(**args), "args") == errors
