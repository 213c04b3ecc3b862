"""Which changes of a node are events for those who ask for all of them, told through the whole core.

Expected: kube-scheduler 1.37, NodeSchedulingPropertiesChange. No plugin of its own asks for conditions, or is helped by a cordon.
"""

from __future__ import annotations

from typing import Any

import pytest

from scheduler.api.objects import NodeCondition, Taint
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core
from tests.support.scripted_plugins import Hearing, make_profile, named

CONDITIONS = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_CONDITION)
TAINTS = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)
CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def ready(status: str) -> dict[str, Any]:
    return {"conditions": [NodeCondition(type="Ready", status=status)]}


class Waiting:
    """A pod that was refused by a plugin which hears of these events; ``then`` shows the node as it is next."""

    def __init__(self, *events: ClusterEvent, **node: Any) -> None:
        self.core = Core([make_profile(named(Hearing, "Picky", events=events, refuses=("n1",)))])
        self.core.nodes(make_node("n1", **node))
        self.pod = make_pod()
        self.core.pods(self.pod)
        assert self.core.decide().outcome == "unschedulable"
        self.now = 0.0

    def then(self, **node: Any) -> bool:
        """Whether the pod is tried again for it."""
        self.now += 60.0
        self.core.nodes(make_node("n1", **node), at=self.now)
        result = self.core.scheduler.schedule_one(self.now)
        self.core.validate()
        return result is not None


# trap: heartbeats-wake-nobody
@pytest.mark.parametrize(("events", "is_woken"), [((CONDITIONS,), True), ((TAINTS,), False), ((), False)])
def test_a_condition_that_flips_is_an_event_of_its_own_and_a_heartbeat_is_none(
    events: tuple[ClusterEvent, ...], is_woken: bool
) -> None:
    waiting = Waiting(*events, **ready("True"))

    assert [waiting.then(**ready(status)) for status in ("True", "False", "False", "True")] == [
        False,
        is_woken,
        False,
        is_woken,
    ]


# trap: a-cordon-is-no-event
def test_a_cordon_is_no_event_its_end_is_one_and_so_is_each_change_of_the_taint_that_a_controller_adds() -> None:
    waiting = Waiting(TAINTS)
    steps: dict[str, dict[str, Any]] = {
        "cordoned": {"unschedulable": True},
        "and tainted": {"unschedulable": True, "taints": [CORDON]},
        "taken back": {"taints": [CORDON]},
        "and the taint too": {},
    }

    assert {step: waiting.then(**node) for step, node in steps.items()} == {
        "cordoned": False,
        "and tainted": True,
        "taken back": True,
        "and the taint too": True,
    }
