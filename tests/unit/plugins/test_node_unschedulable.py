from __future__ import annotations

import pytest

from scheduler.api.objects import Toleration
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.pod_info import PodInfo
from scheduler.plugins.node_unschedulable import NodeUnschedulable
from tests.support.builders import make_node, make_pod
from tests.support.plugin_runs import FITS, judge, table_of

CORDONED = ("UnschedulableAndUnresolvable", ("node(s) were unschedulable",))
KEY = "node.kubernetes.io/unschedulable"


def test_a_cordoned_node_takes_no_pod() -> None:
    table = table_of([make_node("open"), make_node("cordoned", unschedulable=True)])
    assert judge(NodeUnschedulable(), make_pod(), table) == {"open": FITS, "cordoned": CORDONED}


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        (Toleration(key=KEY, operator="Exists", effect="NoSchedule"), True),
        (Toleration(operator="Exists"), True),
        (Toleration(key=KEY), True),
        (Toleration(key=KEY, value="true"), False),
        (Toleration(key=KEY, operator="Exists", effect="NoExecute"), False),
        (Toleration(key="other", operator="Exists"), False),
    ],
)
def test_a_toleration_of_its_taint_opens_a_cordoned_node(toleration: Toleration, tolerated: bool) -> None:
    table = table_of([make_node("cordoned", unschedulable=True)])
    pod = make_pod(tolerations=[toleration])
    assert judge(NodeUnschedulable(), pod, table) == {"cordoned": FITS if tolerated else CORDONED}


def test_only_whether_a_cordon_is_tolerated_is_signed() -> None:
    plain, other, tolerant = (
        NodeUnschedulable().sign(PodInfo(make_pod(tolerations=tolerations)))
        for tolerations in (None, [Toleration(key="x")], [Toleration(operator="Exists")])
    )
    assert plain == other
    assert plain != tolerant


def test_what_wakes_a_rejected_pod() -> None:
    assert NodeUnschedulable().events_to_register() == (
        ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT),
        ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_TOLERATION),
    )
