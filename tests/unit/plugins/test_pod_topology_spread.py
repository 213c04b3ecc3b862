"""PodTopologySpread's hard constraints (kube-scheduler 1.37: podtopologyspread/filtering.go, common.go)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler.api.objects import (
    Affinity,
    LabelSelector,
    LabelSelectorRequirement,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    Taint,
    Toleration,
    TopologySpreadConstraint,
)
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code
from scheduler.plugins.pod_topology_spread import PodTopologySpread
from scheduler.plugins.pod_topology_spread.constraints import own_constraints
from scheduler.profile.nominated import refusals
from tests.support.builders import HOSTNAME, make_node, make_pod
from tests.support.plugin_runs import judge, table_of
from tests.support.selecting_objects import service
from tests.support.topology_spread import (
    FITS,
    MISSING,
    SKEWED,
    WEB,
    WEBS,
    ZONE,
    Status,
    cluster,
    evaluated,
    hard,
    hostless,
    seated,
    soft,
    spread,
    verdicts,
    with_args,
    zoned,
)

ABC = [zoned("a", "a"), zoned("b", "b"), zoned("c", "c")]
EVERYTHING = LabelSelector()


def alone(nodes: list[Node], pods: list[Pod], pod: Pod) -> dict[str, Status]:
    """What this plugin says by itself, column by column and row by row."""
    return judge(PodTopologySpread(), pod, table_of(nodes, pods))


@pytest.mark.parametrize(
    ("max_skew", "expected"), [(1, [SKEWED, SKEWED, FITS]), (2, [SKEWED, FITS, FITS]), (3, [FITS, FITS, FITS])]
)
def test_a_domain_may_be_max_skew_above_the_least_one_with_the_pod(max_skew: int, expected: list[Status]) -> None:
    found = alone(ABC, seated({"a": 2, "b": 1}), spread(hard(max_skew=max_skew)))
    assert list(found.values()) == expected


def test_a_pod_that_its_own_selector_does_not_match_adds_nothing() -> None:
    """2 + 0 - 1 = 1."""
    nodes, pods = ABC[:2], seated({"a": 2, "b": 1})
    assert alone(nodes, pods, spread(hard(), labels={"app": "other"})) == {"a": FITS, "b": FITS}
    assert alone(nodes, pods, spread(hard())) == {"a": SKEWED, "b": FITS}


def test_pods_of_all_nodes_of_a_domain_are_added_up() -> None:
    nodes = [zoned("a1", "a"), zoned("a2", "a"), zoned("b1", "b")]
    assert alone(nodes, seated({"a1": 1, "a2": 1, "b1": 1}), spread(hard())) == {"a1": SKEWED, "a2": SKEWED, "b1": FITS}


def test_only_pods_of_the_namespace_count_that_are_not_being_deleted() -> None:
    pods = [
        *seated({"a": 3}, namespace="other"),
        *seated({"a": 3}, deletion_timestamp="2026-11-30T00:00:00Z", prefix="ending"),
        *seated({"a": 1}, prefix="live"),
    ]
    assert alone(ABC[:2], pods, spread(hard(max_skew=2))) == {"a": FITS, "b": FITS}
    assert alone(ABC[:2], pods, spread(hard(max_skew=1))) == {"a": SKEWED, "b": FITS}


def test_a_node_without_the_label_is_refused_for_good() -> None:
    assert alone([ABC[0], zoned("none", None)], [], spread(hard())) == {"a": FITS, "none": MISSING}


def test_the_first_constraint_that_refuses_a_node_says_why() -> None:
    nodes = [zoned("a1", "a", labels={"rack": "1"}), zoned("a2", "a"), zoned("b", "b", labels={"rack": "2"})]
    pods = seated({"a1": 1})
    assert alone(nodes, pods, spread(hard(), hard("rack"))) == {"a1": SKEWED, "a2": SKEWED, "b": FITS}
    assert alone(nodes, pods, spread(hard("rack"), hard())) == {"a1": SKEWED, "a2": MISSING, "b": FITS}


def test_an_empty_value_is_a_domain_like_any_other() -> None:
    assert alone([zoned("empty", ""), *ABC[:1]], seated({"a": 1}), spread(hard())) == {"empty": FITS, "a": SKEWED}


# Selectors


def test_an_empty_selector_counts_no_pod() -> None:
    """Zone a has 5 pods, b none: counts are 0 and 0, and the pod itself makes it 1."""
    pod = spread(hard(selector=EVERYTHING))
    assert alone(ABC[:2], seated({"a": 5}), pod) == {"a": FITS, "b": FITS}
    assert [one.self_match for one in own_constraints(PodInfo(pod), "DoNotSchedule")] == [1]


@pytest.mark.parametrize(("selector", "refuses"), [(WEBS, ["a"]), (EVERYTHING, [])], ids=["app=web", "{}"])
def test_an_empty_selector_counts_no_nominated_pod_either(selector: LabelSelector, refuses: list[str]) -> None:
    """With app=web: 1 + 1 - 0. Upstream adds nominated pods to the counts by the selector alone."""
    cache = cluster(ABC[:2])
    evaluation = evaluated(cache, spread(hard(selector=selector)))
    nominated = {"a": [PodInfo(make_pod("ahead", labels=WEB))]}
    assert [cache.table.name_of(row) for row in refusals(evaluation, cache, nominated)] == refuses


def test_without_a_selector_no_pod_matches_not_even_itself() -> None:
    pod = spread(hard(selector=None))
    assert alone(ABC[:2], seated({"a": 5}), pod) == {"a": FITS, "b": FITS}
    assert [one.self_match for one in own_constraints(PodInfo(pod), "DoNotSchedule")] == [0]


def test_match_label_keys_add_the_pods_own_values() -> None:
    """A rolling update: pods of the old ReplicaSet are not counted."""
    old, new = {**WEB, "hash": "old"}, {**WEB, "hash": "new"}
    pods = [*seated({"a": 3}, old), *seated({"b": 1}, new, prefix="new")]
    keyed = spread(hard(match_label_keys=["hash", "absent"]), labels=new)
    assert alone(ABC[:2], pods, keyed) == {"a": FITS, "b": SKEWED}
    assert alone(ABC[:2], pods, spread(hard(), labels=new)) == {"a": SKEWED, "b": FITS}


def test_match_label_keys_make_an_empty_selector_count_and_leave_a_missing_one_alone() -> None:
    pods = seated({"a": 1})
    assert alone(ABC[:2], pods, spread(hard(selector=EVERYTHING, match_label_keys=["app"]))) == {"a": SKEWED, "b": FITS}
    assert alone(ABC[:2], pods, spread(hard(selector=None, match_label_keys=["app"]))) == {"a": FITS, "b": FITS}


def bad(action: str) -> TopologySpreadConstraint:
    expression = LabelSelectorRequirement(key="app", operator="Like", values=["web"])
    return msgspec.structs.replace(
        hard(selector=LabelSelector(match_expressions=[expression])), when_unsatisfiable=action
    )


def test_a_selector_that_cannot_be_read_is_an_error_where_it_is_needed() -> None:
    plugin, table = PodTopologySpread(), table_of(ABC)
    wrong = '"Like" is not a valid label selector operator'
    found = plugin.pre_filter({}, PodInfo(spread(bad("DoNotSchedule"))), table.columns(plugin)).status
    assert (found.code, found.message) == (
        Code.ERROR,
        f"get constraints from pod: obtaining pod's hard topology spread constraints: {wrong}",
    )
    pod = PodInfo(spread(hard(), bad("ScheduleAnyway")))
    assert plugin.pre_filter({}, pod, table.columns(plugin)).status.code is Code.SUCCESS
    scored = plugin.pre_score({}, pod, table.columns(plugin, feasible=table.live))
    assert (scored.code, scored.message) == (
        Code.ERROR,
        f"calculating preScoreState: obtaining pod's soft topology spread constraints: {wrong}",
    )


# Domains


@pytest.mark.parametrize(("min_domains", "expected"), [(None, FITS), (1, FITS), (2, FITS), (3, SKEWED)])
def test_with_fewer_domains_than_asked_for_the_least_one_has_none(min_domains: int | None, expected: Status) -> None:
    """Two zones with one pod each: 1 + 1 - 1 = 1, and 1 + 1 - 0 = 2."""
    found = alone(ABC[:2], seated({"a": 1, "b": 1}), spread(hard(min_domains=min_domains)))
    assert found == {"a": expected, "b": expected}


def test_a_node_that_lacks_any_of_the_keys_makes_no_domain() -> None:
    """Zone c, without a rack, has no pod: it does not count, so the least zone has 2."""
    nodes = [zoned(name, name, labels={"rack": name}) for name in "ab"]
    pod = spread(hard(), hard("rack"))
    assert alone([*nodes, zoned("c", "c")], seated({"a": 2, "b": 2}), pod) == {"a": FITS, "b": FITS, "c": MISSING}


def only(zone: str) -> dict[str, Any]:
    expression = NodeSelectorRequirement(key=ZONE, operator="In", values=[zone])
    term = NodeSelectorTerm(match_expressions=[expression])
    return {"affinity": Affinity(node_affinity=NodeAffinity(required=NodeSelector(node_selector_terms=[term])))}


@pytest.mark.parametrize("asks", [only("a"), {"node_selector": {ZONE: "a"}}], ids=["affinity", "selector"])
@pytest.mark.parametrize(("policy", "expected"), [(None, FITS), ("Honor", FITS), ("Ignore", SKEWED)])
def test_nodes_that_the_pod_may_not_go_to_count_when_told_so(
    asks: dict[str, Any], policy: str | None, expected: Status
) -> None:
    pod = spread(hard(node_affinity_policy=policy), **asks)
    assert verdicts(ABC[:2], seated({"a": 1}), pod)["a"] == expected


HARD_TAINT = Taint(key="dedicated", value="db", effect="NoSchedule")


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
@pytest.mark.parametrize(("policy", "expected"), [(None, SKEWED), ("Ignore", SKEWED), ("Honor", FITS)])
def test_a_tainted_zone_counts_unless_taints_are_honoured(effect: str, policy: str | None, expected: Status) -> None:
    nodes = [ABC[0], zoned("b", "b", taints=[msgspec.structs.replace(HARD_TAINT, effect=effect)])]
    assert verdicts(nodes, seated({"a": 1}), spread(hard(node_taints_policy=policy)))["a"] == expected


def test_a_taint_that_is_soft_or_tolerated_leaves_the_zone_a_domain() -> None:
    constraint = hard(node_taints_policy="Honor")
    tainted = [ABC[0], zoned("b", "b", taints=[HARD_TAINT])]
    tolerating = spread(constraint, tolerations=[Toleration(key="dedicated", operator="Exists")])
    assert verdicts(tainted, seated({"a": 1}), tolerating) == {"a": SKEWED, "b": FITS}
    softly = [ABC[0], zoned("b", "b", taints=[msgspec.structs.replace(HARD_TAINT, effect="PreferNoSchedule")])]
    assert verdicts(softly, seated({"a": 1}), spread(constraint)) == {"a": SKEWED, "b": FITS}


def test_a_cordoned_zone_is_left_out_by_the_taint_that_comes_with_it() -> None:
    cordon = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
    pods = seated({"a": 1})
    honouring = spread(hard(node_taints_policy="Honor"))
    assert verdicts([ABC[0], zoned("b", "b", unschedulable=True, taints=[cordon])], pods, honouring)["a"] == FITS
    assert verdicts([ABC[0], zoned("b", "b", unschedulable=True)], pods, honouring)["a"] == SKEWED
    assert verdicts([ABC[0], zoned("b", "b", unschedulable=True, taints=[cordon])], pods, spread(hard()))["a"] == SKEWED


def test_each_constraint_has_its_own_policies() -> None:
    """Zones: b is tainted and left out. Hosts: it counts, and is the least one."""
    nodes = [ABC[0], zoned("b", "b", taints=[HARD_TAINT])]
    pod = spread(hard(node_taints_policy="Honor"), hard(HOSTNAME, max_skew=2))
    assert verdicts(nodes, seated({"a": 1}), pod)["a"] == FITS
    assert verdicts(nodes, seated({"a": 2}), pod)["a"] == SKEWED


def test_a_node_that_does_not_count_is_judged_by_what_its_domain_has() -> None:
    """By itself the rule refuses no node for a taint; its pods do not count, and its zone has no others."""
    nodes = [ABC[0], zoned("b", "b", taints=[HARD_TAINT])]
    pods = seated({"a": 1, "b": 5})
    assert alone(nodes, pods, spread(hard(node_taints_policy="Honor"))) == {"a": FITS, "b": FITS}


# Which constraints


def test_without_a_hard_constraint_filter_is_skipped() -> None:
    plugin, table = PodTopologySpread(), table_of(ABC)
    for pod in (spread(), spread(soft()), spread(msgspec.structs.replace(hard(), when_unsatisfiable="Other"))):
        assert plugin.pre_filter({}, PodInfo(pod), table.columns(plugin)).status.code is Code.SKIP


DEFAULT: dict[str, Any] = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}


def hard_by_default(**more: Any) -> PodTopologySpread:
    return with_args(defaultingType="List", defaultConstraints=[{**DEFAULT, **more}])


def test_hard_default_constraints_are_about_pods_that_objects_select() -> None:
    plugin, pods = hard_by_default(), seated({"a": 1})
    selected = verdicts(ABC[:2], pods, spread(), plugin, objects=[service("web", WEB)])
    assert selected == {"a": SKEWED, "b": FITS}
    assert verdicts(ABC[:2], pods, spread(), plugin) == {"a": FITS, "b": FITS}
    assert verdicts(ABC[:2], pods, spread(labels=None), plugin, objects=[service("web", WEB)]) == {"a": FITS, "b": FITS}


def test_any_constraint_of_its_own_frees_a_pod_of_the_default_ones() -> None:
    plugin, objects = hard_by_default(), [service("web", WEB)]
    found = verdicts(ABC[:2], seated({"a": 1}), spread(soft(HOSTNAME)), plugin, objects=objects)
    assert found == {"a": FITS, "b": FITS}


def test_the_deduced_selector_takes_the_place_of_match_label_keys() -> None:
    plugin = hard_by_default(matchLabelKeys=["hash"])
    pod, pods = spread(labels={**WEB, "hash": "new"}), seated({"a": 1}, {**WEB, "hash": "old"})
    assert verdicts(ABC[:2], pods, pod, plugin, objects=[service("web", WEB)]) == {"a": SKEWED, "b": FITS}


def test_many_constraints_have_room_in_one_mask() -> None:
    keys = [f"key-{number}" for number in range(40)]
    whole, lacking = dict.fromkeys(keys, "x"), dict.fromkeys(keys[:-1], "x")
    nodes = [make_node("whole", labels=whole), make_node("lacking", labels=lacking)]
    assert alone(nodes, [], spread(*(hard(key) for key in keys))) == {"whole": FITS, "lacking": MISSING}


@pytest.mark.parametrize("min_domains", [None, 40, 41])
def test_many_domains_are_told_apart(min_domains: int | None) -> None:
    """40 hosts, of which one has a pod and another has 2: with too few the least one has none, as here anyway."""
    nodes = [*(make_node(f"n{number}") for number in range(40)), hostless(make_node("none"))]
    found = alone(nodes, seated({"n7": 1, "n8": 2}), spread(hard(HOSTNAME, min_domains=min_domains)))
    assert (found.pop("n7"), found.pop("n8"), found.pop("none")) == (SKEWED, SKEWED, MISSING)
    assert set(found.values()) == {FITS}


def test_the_least_of_many_domains_counts() -> None:
    """Each of 40 hosts has a pod, and one has 2: 1 + 1 - 1 and 2 + 1 - 1; too few of them, and 1 + 1 - 0."""
    names = [f"n{number}" for number in range(40)]
    nodes, pods = [make_node(name) for name in names], seated({**dict.fromkeys(names, 1), "n3": 2})
    found = alone(nodes, pods, spread(hard(HOSTNAME)))
    assert found.pop("n3") == SKEWED
    assert set(found.values()) == {FITS}
    assert set(alone(nodes, pods, spread(hard(HOSTNAME, min_domains=41))).values()) == {SKEWED}


def test_the_least_domain_can_sink_and_rise_while_an_evaluation_is_kept() -> None:
    cache = cluster(ABC, seated({"a": 2, "b": 1, "c": 1}))
    evaluation = evaluated(cache, spread(hard()))
    fitting = [evaluation.feasible_rows()]

    cache.remove_pod("default-there-b-0")
    evaluation.refresh()
    fitting.append(evaluation.feasible_rows())
    for pod in seated({"b": 2}, prefix="new"):
        cache.apply_pod(PodInfo(pod))
        evaluation.refresh()
        fitting.append(evaluation.feasible_rows())

    assert fitting == [[1, 2], [1], [1, 2], [2]]


def test_the_message_counts_the_nodes_by_reason() -> None:
    cache = cluster([*ABC, hostless(make_node("none"))], seated({"a": 1, "b": 1, "c": 1}))
    evaluation = evaluated(cache, spread(hard(min_domains=4)))
    assert evaluation.failure_message() == (
        "0/4 nodes are available: 1 node(s) didn't match pod topology spread constraints (missing required label), "
        "3 node(s) didn't match pod topology spread constraints."
    )
    assert evaluation.rejectors() == ("PodTopologySpread",)


# Signatures and events


def sign(pod: Pod, plugin: PodTopologySpread | None = None) -> Any:
    return (plugin or PodTopologySpread()).sign(PodInfo(pod))


def test_constraints_are_signed_in_canonical_form() -> None:
    written = LabelSelector(
        match_expressions=[LabelSelectorRequirement(key="app", operator="In", values=["web", "db", "web"])]
    )
    sorted_too = LabelSelector(
        match_expressions=[LabelSelectorRequirement(key="app", operator="In", values=["db", "web"])]
    )
    assert sign(spread(hard(selector=written))) == sign(spread(hard(selector=sorted_too)))
    assert sign(spread(hard(min_domains=1))) == sign(spread(hard(node_affinity_policy="Honor")))
    keyed = hard(selector=EVERYTHING, match_label_keys=["app"])
    assert sign(spread(keyed)) == sign(spread(hard()))
    assert sign(spread(hard(), labels={**WEB, "other": "label"})) == sign(spread(hard()))


@pytest.mark.parametrize(
    "other",
    [
        spread(hard(max_skew=2)),
        spread(hard(HOSTNAME)),
        spread(soft()),
        spread(hard(), hard(HOSTNAME)),
        spread(hard(min_domains=2)),
        spread(hard(selector=None)),
        spread(hard(selector=EVERYTHING)),
        spread(hard(node_taints_policy="Honor")),
        spread(hard(node_affinity_policy="Ignore")),
        spread(hard(), namespace="other"),
        spread(hard(), labels={"app": "other"}),
        spread(hard(), node_selector={"a": "b"}),
        spread(hard(), **only("a")),
        spread(hard(match_label_keys=["hash"]), labels={**WEB, "hash": "1"}),
    ],
)
def test_pods_that_are_spread_otherwise_are_signed_otherwise(other: Pod) -> None:
    assert sign(other) != sign(spread(hard()))


def test_the_order_of_constraints_is_signed_as_it_decides_on_the_reason() -> None:
    assert sign(spread(hard(), hard("rack"))) != sign(spread(hard("rack"), hard()))


def test_tolerations_are_signed_where_taints_are_honoured() -> None:
    tolerant: dict[str, Any] = {"tolerations": [Toleration(key="x", operator="Exists")]}
    assert sign(spread(hard(), **tolerant)) == sign(spread(hard()))
    honouring = hard(node_taints_policy="Honor")
    assert sign(spread(honouring, **tolerant)) != sign(spread(honouring))


def test_pods_with_default_constraints_are_told_apart_by_what_is_deduced_for_them() -> None:
    cache = cluster(ABC, objects=[service("web", WEB), service("web", WEB, namespace="other")])
    columns = cache.table.columns(PodTopologySpread)

    def signed(pod: Pod, plugin: PodTopologySpread) -> tuple[Any, ...]:
        return plugin.sign_cluster(PodInfo(pod), columns)

    system, without = PodTopologySpread(), with_args(defaultingType="List")
    assert signed(spread(labels=None), system) == ()
    assert signed(spread(), system) == signed(spread(labels={**WEB, "more": ""}), system) != ()
    assert signed(spread(), system) != signed(spread(namespace="other"), system)
    assert signed(spread(hard()), system) == signed(spread(), without) == ()


def test_a_pod_whose_constraints_cannot_be_read_is_not_signed() -> None:
    assert sign(spread(bad("ScheduleAnyway"))).reason == (
        'a topology spread constraint of the pod cannot be read: "Like" is not a valid label selector operator'
    )


def test_the_events_that_can_help() -> None:
    """kube-scheduler 1.37: PodTopologySpread, EventsToRegister."""
    assert PodTopologySpread().events_to_register() == (
        ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE),
        ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_TOLERATION | ActionType.UPDATE_POD_LABEL),
        ClusterEvent(
            EventResource.NODE,
            ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT,
        ),
    )
