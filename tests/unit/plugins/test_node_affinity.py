from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest

from scheduler.api.objects import Affinity, Pod
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SKIP, SUCCESS, Code, Status
from scheduler.plugins.node_affinity import NodeAffinity, NodeAffinityArgs, validate
from tests.support.builders import make_node, make_pod
from tests.support.plugin_runs import FITS, final_scores, judge, raw_scores, table_of

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
MISMATCH = ("UnschedulableAndUnresolvable", ("node(s) didn't match Pod's node affinity/selector",))
NOT_ENFORCED = ("UnschedulableAndUnresolvable", ("node(s) didn't match scheduler-enforced node affinity",))

Term = dict[str, Any]


def has(key: str, operator: str = "Exists", *values: str) -> Term:
    expression: Term = {"key": key, "operator": operator}
    return {"matchExpressions": [{**expression, "values": list(values)} if values else expression]}


def named(*values: str, operator: str = "In") -> Term:
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": list(values)}]}


def rules(required: list[Term] | None = None, preferred: list[tuple[int, Term]] | None = None) -> dict[str, Any]:
    affinity: dict[str, Any] = {}
    if required is not None:
        affinity[REQUIRED] = {"nodeSelectorTerms": required}
    if preferred is not None:
        affinity[PREFERRED] = [{"weight": weight, "preference": term} for weight, term in preferred]
    return affinity


def with_affinity(
    required: list[Term] | None = None, preferred: list[tuple[int, Term]] | None = None, **spec: Any
) -> Pod:
    return make_pod(affinity=msgspec.convert({"nodeAffinity": rules(required, preferred)}, Affinity), **spec)


def plugin(required: list[Term] | None = None, preferred: list[tuple[int, Term]] | None = None) -> NodeAffinity:
    return NodeAffinity(msgspec.convert({"addedAffinity": rules(required, preferred)}, NodeAffinityArgs))


def fitting(pod: Pod, affinity: NodeAffinity | None = None) -> set[str]:
    """The nodes that fit among: n1 in zone a with 8 cores, n2 in zone b with "1_000" cores, n3 without either."""
    table = table_of(
        [
            make_node("n1", labels={"zone": "a", "cores": "8"}),
            make_node("n2", labels={"zone": "b", "cores": "1_000", "empty": ""}),
            make_node("n3"),
        ]
    )
    verdicts = judge(affinity or NodeAffinity(), pod, table)
    assert set(verdicts.values()) <= {FITS, MISMATCH}
    return {name for name, verdict in verdicts.items() if verdict == FITS}


# --------------------------------------------------------------------------------------------------------------- Filter


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({}, {"n1", "n2", "n3"}),
        ({"zone": "a"}, {"n1"}),
        ({"zone": "a", "cores": "8"}, {"n1"}),
        ({"zone": "a", "cores": "9"}, set()),
        ({"zone": "nowhere"}, set()),
        ({"unknown": ""}, set()),
        ({"empty": ""}, {"n2"}),
        ({"zone": "not a label value!"}, set()),
    ],
)
def test_a_node_selector_wants_every_label(selector: dict[str, str], expected: set[str]) -> None:
    assert fitting(make_pod(node_selector=selector)) == expected


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ([has("zone", "In", "a", "b")], {"n1", "n2"}),
        ([has("zone", "In", "nowhere", "b")], {"n2"}),
        ([has("zone", "In", *(f"z{number}" for number in range(20)), "a")], {"n1"}),
        ([has("zone", "NotIn", "a")], {"n2", "n3"}),
        ([has("zone", "NotIn", "nowhere")], {"n1", "n2", "n3"}),
        ([has("zone")], {"n1", "n2"}),
        ([has("empty")], {"n2"}),
        ([has("zone", "DoesNotExist")], {"n3"}),
        ([has("cores", "Gt", "7")], {"n1"}),
        ([has("cores", "Gt", "8")], set()),
        ([has("cores", "Lt", "9")], {"n1"}),
        ([has("zone", "Gt", "1")], set()),
        ([has("zone", "In", "b"), has("zone", "In", "a")], {"n1", "n2"}),
        ([{"matchExpressions": has("zone")["matchExpressions"] + has("cores", "Gt", "7")["matchExpressions"]}], {"n1"}),
        ([], set()),
        ([{}], set()),
        ([{}, has("zone", "In", "a")], {"n1"}),
        ([has("zone", "Foo"), has("zone", "In", "a")], {"n1"}),
        ([has("zone", "Foo")], set()),
        ([has("zone", "Exists", "a")], set()),
        ([has("zone", "In")], set()),
        ([named("n2")], {"n2"}),
        ([named("n2", operator="NotIn")], {"n1", "n3"}),
        ([named("n1"), named("n3")], {"n1", "n3"}),
        ([named("n1", "n2")], set()),
        ([{**has("zone"), **named("n1", operator="NotIn")}], {"n2"}),
        ([{"matchFields": [{"key": "spec.unknown", "operator": "In", "values": ["x"]}]}], set()),
        ([{"matchFields": [{"key": "spec.unknown", "operator": "NotIn", "values": ["x"]}]}], {"n1", "n2", "n3"}),
    ],
)
def test_one_required_term_must_hold_with_all_its_conditions(terms: list[Term], expected: set[str]) -> None:
    assert fitting(with_affinity(terms)) == expected


def test_node_selector_and_affinity_must_both_hold() -> None:
    assert fitting(with_affinity([has("zone")], node_selector={"zone": "b"})) == {"n2"}


def test_an_enforced_affinity_is_judged_first_and_names_itself() -> None:
    table = table_of([make_node("n1", labels={"zone": "a"}), make_node("n2", labels={"zone": "b"}), make_node("n3")])
    enforced = plugin([has("zone")])
    assert judge(enforced, make_pod(node_selector={"zone": "a"}), table) == {
        "n1": FITS,
        "n2": MISMATCH,
        "n3": NOT_ENFORCED,
    }
    assert judge(enforced, make_pod(), table) == {"n1": FITS, "n2": FITS, "n3": NOT_ENFORCED}


def test_an_enforced_affinity_without_terms_refuses_every_node() -> None:
    assert judge(plugin([]), make_pod(), table_of([make_node("n1")])) == {"n1": NOT_ENFORCED}


# ------------------------------------------------------------------------------------------------------------ PreFilter


def pre_filter(pod: Pod, affinity: NodeAffinity | None = None) -> Any:
    affinity = affinity or NodeAffinity()
    return affinity.pre_filter({}, PodInfo(pod), table_of([make_node()]).columns(affinity))


def test_a_pod_that_asks_for_nothing_skips_the_rule() -> None:
    assert pre_filter(make_pod()).status == SKIP
    assert pre_filter(with_affinity(preferred=[(1, has("zone"))])).status == SKIP
    assert pre_filter(make_pod(), plugin(preferred=[(1, has("zone"))])).status == SKIP


def test_a_selector_a_required_affinity_or_an_enforced_one_switch_the_rule_on() -> None:
    for result in (
        pre_filter(make_pod(node_selector={"a": "b"})),
        pre_filter(with_affinity([has("zone")])),
        pre_filter(with_affinity([])),
        pre_filter(make_pod(), plugin([has("zone")])),
    ):
        assert result == (SUCCESS, None)


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        ([named("n1")], {"n1"}),
        ([named("n1"), named("n2")], {"n1", "n2"}),
        ([named("n1", "n2")], {"n1", "n2"}),
        ([{"matchFields": named("n1")["matchFields"] * 2}], {"n1"}),
        ([{**has("zone"), **named("n1")}, named("n1")], {"n1"}),
        ([named("n1"), has("zone")], None),
        ([named("n1", operator="NotIn")], None),
        ([named("n1"), {}], None),
        ([{"matchFields": [{"key": "other", "operator": "In", "values": ["n1"]}]}], None),
    ],
)
def test_names_are_intersected_in_a_term_and_united_across_terms(terms: list[Term], names: set[str] | None) -> None:
    assert pre_filter(with_affinity(terms)) == (SUCCESS, names)


def test_terms_that_leave_no_name_are_a_conflict() -> None:
    conflict = {"matchFields": named("n1")["matchFields"] + named("n2")["matchFields"]}
    status = pre_filter(with_affinity([conflict])).status
    assert status == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("pod affinity terms conflict",), "NodeAffinity")
    assert pre_filter(with_affinity([conflict, named("n3")])) == (SUCCESS, {"n3"})


# ---------------------------------------------------------------------------------------------------------------- Score


def scored(pod: Pod, affinity: NodeAffinity | None = None) -> dict[str, int]:
    table = table_of(
        [make_node("n1", labels={"zone": "a", "disk": "ssd"}), make_node("n2", labels={"zone": "a"}), make_node("n3")]
    )
    return raw_scores(affinity or NodeAffinity(), pod, table)


def test_the_weights_of_matching_terms_are_summed() -> None:
    pod = with_affinity(preferred=[(5, has("zone", "In", "a")), (20, has("disk")), (3, named("n3")), (7, has("disk"))])
    assert scored(pod) == {"n1": 32, "n2": 5, "n3": 3}


def test_added_preferences_count_beside_the_pods_own() -> None:
    added = plugin(preferred=[(2, has("zone"))])
    assert scored(with_affinity(preferred=[(5, has("disk"))]), added) == {"n1": 7, "n2": 2, "n3": 0}
    assert scored(make_pod(), added) == {"n1": 2, "n2": 2, "n3": 0}


def test_terms_of_no_weight_and_empty_terms_count_nothing() -> None:
    assert scored(with_affinity(preferred=[(0, has("zone", "Foo")), (9, {})])) == {"n1": 0, "n2": 0, "n3": 0}


def test_the_best_node_gets_100_and_the_others_their_truncated_share() -> None:
    table = table_of([make_node("n1", labels={"a": "", "b": ""}), make_node("n2", labels={"a": ""}), make_node("n3")])
    pod = with_affinity(preferred=[(1, has("a")), (2, has("b"))])
    assert final_scores(NodeAffinity(), pod, table) == {"n1": 100, "n2": 33, "n3": 0}


def test_without_a_match_every_node_gets_0() -> None:
    table = table_of([make_node("n1"), make_node("n2")])
    assert final_scores(NodeAffinity(), with_affinity(preferred=[(1, has("a"))]), table) == {"n1": 0, "n2": 0}


def pre_score(pod: Pod, affinity: NodeAffinity | None = None) -> Any:
    affinity = affinity or NodeAffinity()
    return affinity.pre_score({}, PodInfo(pod), table_of([make_node()]).columns(affinity))


def test_a_pod_without_preferences_skips_the_score() -> None:
    assert pre_score(make_pod()) == SKIP
    assert pre_score(with_affinity([has("zone")])) == SKIP
    assert pre_score(make_pod(), plugin([has("zone")])) == SKIP
    assert pre_score(make_pod(), plugin(preferred=[(1, has("zone"))])) == SUCCESS
    assert pre_score(with_affinity(preferred=[])) == SUCCESS


def test_a_preference_that_cannot_be_read_is_an_error_with_all_its_mistakes() -> None:
    pod = with_affinity(preferred=[(1, has("a", "Foo")), (1, has("b", "In")), (1, has("c"))])
    message = (
        '[[0].matchExpressions[0].operator: Unsupported value: "Foo": supported values: "In", "NotIn", "Exists",'
        ' "DoesNotExist", "Gt", "Lt", [1].matchExpressions[0].values: Invalid value: null:'
        " for 'in', 'notin' operators, values set can't be empty]"
    )
    assert pre_score(pod) == Status(Code.ERROR, (message,), "NodeAffinity")
    affinity = NodeAffinity()
    with pytest.raises(ValueError, match="Unsupported value"):
        affinity.score({}, PodInfo(pod), table_of([make_node()]).columns(affinity))


# ---------------------------------------------------------------------------------------------------- arguments, signing


def test_every_mistake_of_the_added_affinity_is_reported_with_its_path() -> None:
    args = msgspec.convert(
        {
            "addedAffinity": rules(
                [{}, has("a", "Foo"), {"matchFields": [{"key": "metadata.name", "operator": "In"}]}],
                [(1, has("a", "Lt", "1", "2"))],
            )
        },
        NodeAffinityArgs,
    )
    assert validate(args, "args") == [
        (
            f"args.addedAffinity.{REQUIRED}.nodeSelectorTerms[1].matchExpressions[0].operator: Unsupported value:"
            ' "Foo": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'
        ),
        (
            f"args.addedAffinity.{REQUIRED}.nodeSelectorTerms[2].matchFields[0].values: Invalid value: null:"
            " must have one element"
        ),
        (
            f"args.addedAffinity.{PREFERRED}[0].matchExpressions[0].values: Invalid value:"
            " [\"1\",\"2\"]: for 'Gt', 'Lt' operators, exactly one value is required"
        ),
    ]
    with pytest.raises(ValueError, match="arguments of NodeAffinity"):
        NodeAffinity(args)


@pytest.mark.parametrize("affinity", [{}, rules([]), rules(preferred=[]), rules([has("a")], [(1, has("b"))])])
def test_what_can_be_read_is_valid(affinity: dict[str, Any]) -> None:
    assert validate(msgspec.convert({"addedAffinity": affinity}, NodeAffinityArgs), "args") == []


def test_an_unknown_argument_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="addedAffinty"):
        msgspec.convert({"addedAffinty": {}}, NodeAffinityArgs)


def sign(pod: Pod) -> Any:
    return NodeAffinity().sign(PodInfo(pod))


def test_orders_that_mean_nothing_are_not_signed() -> None:
    both = {"matchExpressions": has("a")["matchExpressions"] + has("b", "In", "x", "y")["matchExpressions"]}
    same = {"matchExpressions": has("b", "In", "y", "x")["matchExpressions"] + has("a")["matchExpressions"]}
    assert sign(with_affinity([both, named("n1")])) == sign(with_affinity([named("n1"), same]))
    assert sign(with_affinity(preferred=[(1, both), (2, named("n"))])) == sign(
        with_affinity(preferred=[(2, named("n")), (1, same)])
    )
    assert sign(make_pod(node_selector={"a": "1", "b": "2"})) == sign(make_pod(node_selector={"b": "2", "a": "1"}))


def test_pods_that_can_be_answered_differently_are_signed_differently() -> None:
    signatures = [
        sign(pod)
        for pod in (
            make_pod(),
            make_pod(node_selector={}),
            make_pod(node_selector={"a": ""}),
            with_affinity(preferred=[]),
            with_affinity([]),
            with_affinity([{}]),
            with_affinity([has("a")]),
            with_affinity([has("a", "In", "x")]),
            with_affinity([has("a", "In", "x", "y")]),
            with_affinity([has("a", "NotIn", "x")]),
            with_affinity([named("x")]),
            with_affinity([named("x", "x")]),
            with_affinity(preferred=[(1, has("a"))]),
            with_affinity(preferred=[(1, has("a")), (1, has("a"))]),
            with_affinity(preferred=[(2, has("a"))]),
        )
    ]
    assert all(left != right for left, right in itertools.combinations(signatures, 2))
    assert len({hash(signature) for signature in signatures}) > 1


def test_a_node_with_other_labels_may_fit() -> None:
    assert NodeAffinity().events_to_register() == (
        ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
    )
