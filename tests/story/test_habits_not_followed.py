"""What kube-scheduler decides by the order or the form in which it hears of things, and what is decided here by the things alone.

Rows of docs/differences.md name these.
"""

from __future__ import annotations

from itertools import permutations

import pytest

from scheduler.api.objects import Node
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core, changed, on_node
from tests.support.topology_spread import WEB, hard, spread, zoned

NODES = (zoned("n1", "a"), zoned("n2", "b"), zoned("n3", "a"), zoned("n4", None))


@pytest.mark.parametrize("nodes", list(permutations(NODES))[::5], ids=lambda nodes: nodes[0].metadata.name)
def test_the_order_in_which_nodes_and_zones_came_decides_nothing(nodes: tuple[Node, ...]) -> None:
    def decisions(*nodes: Node) -> list[str]:
        core = Core()
        core.nodes(*nodes)
        core.nodes(zoned(nodes[0].metadata.name, "c"), nodes[0])
        core.pods(*(make_pod(f"p{number}", priority=-number, requests={"cpu": "1"}) for number in range(8)))
        made = [core.decide().node_name for _ in range(8)]
        core.validate()
        return made

    assert decisions(*nodes) == decisions(*NODES)


def test_a_pod_that_the_end_of_a_node_wakes_is_not_placed_on_it() -> None:
    """Without the domain of the node that went there is room for one more in the other; on the node itself there was none."""
    core = Core()
    core.nodes(zoned("here", "a"), zoned("full", "b"))
    core.pods(on_node(make_pod("there", labels=WEB), "here"), on_node(make_pod("large", requests={"cpu": "4"}), "full"))
    pod = spread(hard())
    core.pods(pod)
    assert core.decide().plugins == ("NodeResourcesFit", "PodTopologySpread")
    core.node_gone("full", at=9.0)
    assert core.rooms(pod) == ["active"]

    assert core.decide(9.0).node_name == "here"
    core.validate()


def test_a_pod_that_names_this_scheduler_from_now_on_is_queued() -> None:
    """No API server lets it; but what is done about a pod must not depend on whether an older state of it was seen."""
    core = Core()
    core.nodes(make_node("n1"))
    pod = changed(make_pod(scheduler_name="somebody-else"), version="1")
    core.pods(pod)
    assert core.scheduler.schedule_one(0.0) is None
    core.pods(changed(pod, version="2", scheduler_name="reprise"))

    assert core.decide().node_name == "n1"
    core.validate()
