"""Tolerations (kube-scheduler 1.37: TaintToleration; component-helpers: ToleratesTaint)."""

import pytest

from scheduler.api.objects import Taint, Toleration
from scheduler.api.taints import UNSCHEDULABLE_TAINT, is_tolerated, tolerates

DB = Taint(key="dedicated", value="db", effect="NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "covers"),
    [
        (Toleration(key="dedicated", operator="Equal", value="db", effect="NoSchedule"), True),
        (Toleration(key="dedicated", value="db", effect="NoSchedule"), True),  # the operator defaults to Equal
        (Toleration(key="dedicated", value="web", effect="NoSchedule"), False),
        (Toleration(key="dedicated", value="db", effect="NoExecute"), False),
        (Toleration(key="dedicated", value="db"), True),  # any effect
        (Toleration(key="dedicated", operator="Exists"), True),
        (Toleration(key="dedicated", operator="Exists", value="web"), True),  # a value is not looked at
        (Toleration(key="other", operator="Exists"), False),
        (Toleration(operator="Exists"), True),  # any key
        (Toleration(operator="Exists", effect="NoExecute"), False),
        (Toleration(value="db"), True),  # any key with this value
        (Toleration(key="dedicated", operator="Gt", value="db"), False),  # numbers are behind a gate that is off
        (Toleration(key="dedicated", operator="Lt", value="db"), False),
        (Toleration(key="dedicated", operator="In", value="db"), False),
    ],
)
def test_a_toleration_covers_a_taint_of_its_effect_key_and_value(toleration: Toleration, covers: bool) -> None:
    assert tolerates(toleration, DB) is covers


def test_one_of_several_tolerations_is_enough() -> None:
    others = [Toleration(key="other", operator="Exists")]
    assert not is_tolerated(DB, others)
    assert is_tolerated(DB, [*others, Toleration(key="dedicated", operator="Exists")])


def test_a_cordoned_node_counts_as_tainted_for_scheduling() -> None:
    assert Taint(key="node.kubernetes.io/unschedulable", value="", effect="NoSchedule") == UNSCHEDULABLE_TAINT
