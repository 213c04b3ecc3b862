from __future__ import annotations

import itertools

import pytest

from scheduler.api.objects import Taint, Toleration
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.pod_info import PodInfo
from scheduler.plugins.taint_toleration import TaintToleration
from tests.support.builders import make_node, make_pod
from tests.support.plugin_runs import FITS, final_scores, judge, normalized, raw_scores, table_of

TAINTED = ("UnschedulableAndUnresolvable", ("node(s) had untolerated taint(s)",))
DEDICATED = Taint(key="dedicated", value="db", effect="NoSchedule")


def soft(*keys: str) -> list[Taint]:
    return [Taint(key=key, effect="PreferNoSchedule") for key in keys]


@pytest.mark.parametrize(
    ("taint", "tolerations", "fits"),
    [
        (DEDICATED, [], False),
        (Taint(key="a", effect="NoExecute"), [], False),
        (Taint(key="a", effect="PreferNoSchedule"), [], True),
        (Taint(key="a", effect="Unknown"), [], True),
        (DEDICATED, [Toleration(key="dedicated", operator="Equal", value="db", effect="NoSchedule")], True),
        (DEDICATED, [Toleration(key="dedicated", value="db")], True),
        (DEDICATED, [Toleration(key="dedicated", value="web")], False),
        (DEDICATED, [Toleration(key="dedicated", operator="Exists", effect="NoExecute")], False),
        (DEDICATED, [Toleration(operator="Exists")], True),
        (DEDICATED, [Toleration(key="x", operator="Exists"), Toleration(key="dedicated", operator="Exists")], True),
        (Taint(key="n", value="5", effect="NoSchedule"), [Toleration(key="n", operator="Gt", value="3")], False),
    ],
)
def test_a_hard_taint_must_be_tolerated(taint: Taint, tolerations: list[Toleration], fits: bool) -> None:
    table = table_of([make_node("tainted", taints=[taint]), make_node("plain")])
    verdict = judge(TaintToleration(), make_pod(tolerations=tolerations), table)
    assert verdict == {"tainted": FITS if fits else TAINTED, "plain": FITS}


def test_every_hard_taint_must_be_tolerated() -> None:
    table = table_of([make_node("both", taints=[DEDICATED, Taint(key="gpu", effect="NoExecute")])])
    tolerations = [Toleration(key="dedicated", operator="Exists")]
    assert judge(TaintToleration(), make_pod(tolerations=tolerations), table) == {"both": TAINTED}


def test_untolerated_soft_taints_are_counted_and_the_fewest_is_best() -> None:
    table = table_of(
        [
            make_node("none"),
            make_node("one", taints=soft("a")),
            make_node("three", taints=[*soft("a", "b", "c"), DEDICATED]),
        ]
    )
    assert raw_scores(TaintToleration(), make_pod(), table) == {"none": 0, "one": 1, "three": 3}
    assert final_scores(TaintToleration(), make_pod(), table) == {"none": 100, "one": 67, "three": 0}


def test_without_soft_taints_every_node_gets_100() -> None:
    table = table_of([make_node("a"), make_node("b", taints=[DEDICATED])])
    assert final_scores(TaintToleration(), make_pod(), table) == {"a": 100, "b": 100}


@pytest.mark.parametrize(
    ("toleration", "count"),
    [
        (Toleration(key="a", operator="Exists", effect="NoSchedule"), 1),
        (Toleration(key="a", operator="Exists", effect="PreferNoSchedule"), 0),
        (Toleration(key="a", operator="Exists"), 0),
        (Toleration(operator="Exists", effect="NoExecute"), 1),
    ],
)
def test_only_tolerations_of_soft_taints_count_for_the_score(toleration: Toleration, count: int) -> None:
    table = table_of([make_node("a", taints=soft("a"))])
    assert raw_scores(TaintToleration(), make_pod(tolerations=[toleration]), table) == {"a": count}


def test_normalisation_truncates_before_it_is_reversed() -> None:
    assert normalized(TaintToleration(), {"a": 1, "b": 2, "c": 3}) == {"a": 67, "b": 34, "c": 0}


def test_the_order_and_repetition_of_tolerations_are_not_signed_and_all_else_is() -> None:
    one, two = Toleration(key="a", operator="Exists"), Toleration(key="b", value="x", effect="NoSchedule")

    def sign(*tolerations: Toleration) -> object:
        return TaintToleration().sign(PodInfo(make_pod(tolerations=list(tolerations))))

    assert sign(one, two) == sign(two, one) == sign(two, one, two)
    assert sign(Toleration(key="a")) == sign(Toleration(key="a", operator="Equal"))
    different = [
        sign(),
        sign(one),
        sign(one, two),
        sign(Toleration(key="a")),
        sign(Toleration(key="a", value="x")),
        sign(Toleration(key="a", effect="NoSchedule")),
        sign(Toleration(key="a", operator="Exists", effect="NoExecute")),
    ]
    assert all(left != right for left, right in itertools.combinations(different, 2))


def test_what_wakes_a_rejected_pod() -> None:
    assert TaintToleration().events_to_register() == (
        ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT),
        ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_TOLERATION),
    )
