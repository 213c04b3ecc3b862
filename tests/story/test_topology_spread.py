"""What users of kube-scheduler met when they spread pods, told to the scheduler from the first pod to the last.

Each test names the thread of kubernetes/kubernetes that it comes from.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from scheduler.api.objects import LabelSelector, Pod, Taint
from scheduler.app.explanation import answer, evaluate
from scheduler.core.cycle import CycleResult
from scheduler.core.stimulus import SelectingObjectApplied
from scheduler.framework.pod_info import PodInfo
from tests.support.builders import HOSTNAME, make_node, make_pod
from tests.support.core_run import Core, default_profiles
from tests.support.selecting_objects import service
from tests.support.signed_plugins import FOREVER, batch_of
from tests.support.topology_spread import WEB, ZONE, hard, zoned


def replicas(count: int, *constraints: Any, **fields: Any) -> list[Pod]:
    fields.setdefault("labels", WEB)
    return [
        make_pod(f"web-{number}", topology_spread_constraints=list(constraints) or None, **fields)
        for number in range(count)
    ]


def place(core: Core, *pods: Pod) -> list[CycleResult]:
    core.pods(*pods)
    return [core.decide() for _ in pods]


def zones_of(core: Core, results: list[CycleResult]) -> Counter[str]:
    table = core.state.cache.table
    return Counter((table.node(table.rows[one.node_name]).metadata.labels or {})[ZONE] for one in results)


# kubernetes/kubernetes#109364


def test_two_constraints_leave_the_sixth_replica_pending_and_say_which_of_them_did() -> None:
    """Zone A has two nodes, B one. On hosts 2, 1 and 2 pods, in zones 3 and 2: a sixth pod fits no zone and host at once."""
    core = Core(batching=FOREVER)
    core.nodes(zoned("a1", "A"), zoned("a2", "A"), zoned("b1", "B"))
    pods = replicas(7, hard(), hard(HOSTNAME))
    results = place(core, *pods)

    assert [bool(one.node_name) for one in results] == [True] * 5 + [False] * 2
    assert results[5].message == "0/3 nodes are available: 3 node(s) didn't match pod topology spread constraints."
    (profile,) = default_profiles().values()
    told = answer(evaluate(PodInfo(pods[5]), profile, core.state.cache), core.state.cache)["filter"]
    assert {name: verdict["details"] for name, verdict in told.items()} == {
        "a1": [f"topologyKey {ZONE}, maxSkew 1"],
        "a2": [f"topologyKey {ZONE}, maxSkew 1"],
        "b1": [f"topologyKey {HOSTNAME}, maxSkew 1"],
    }


# kubernetes/kubernetes#86037, #114788


def test_pods_go_on_in_two_zones_when_the_third_is_tainted_and_taints_are_honoured() -> None:
    core = Core(batching=FOREVER)
    taints = [Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")]
    core.nodes(zoned("a", "A"), zoned("b", "B"), zoned("c", "C", unschedulable=True, taints=taints))

    assert zones_of(core, place(core, *replicas(6, hard(node_taints_policy="Honor")))) == {"A": 3, "B": 3}


def test_a_tainted_zone_stays_the_least_one_otherwise() -> None:
    core = Core(batching=FOREVER)
    core.nodes(zoned("a", "A"), zoned("b", "B"), zoned("c", "C", taints=[Taint(key="x", effect="NoSchedule")]))
    results = place(core, *replicas(4, hard()))

    assert [bool(one.node_name) for one in results] == [True, True, False, False]
    assert results[2].message == (
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), "
        "2 node(s) didn't match pod topology spread constraints."
    )


# kubernetes/kubernetes#116629, #134810


def test_replicas_of_a_new_revision_are_spread_by_themselves() -> None:
    """Three pods of the old revision are in zone A; with its hash in the selector the new ones do not see them."""
    core = Core(batching=FOREVER)
    core.nodes(zoned("a", "A"), zoned("b", "B"))
    core.pods(
        *(
            make_pod(f"old-{number}", labels={**WEB, "pod-template-hash": "1"}, node_name="a", scheduler_name="other")
            for number in range(3)
        )
    )
    new = {**WEB, "pod-template-hash": "2"}
    keyed = replicas(4, hard(match_label_keys=["pod-template-hash"]), labels=new)

    assert zones_of(core, place(core, *keyed)) == {"A": 2, "B": 2}


def test_many_deployments_at_once_are_each_spread_evenly() -> None:
    """Pods of ten Deployments come in turns, and each takes the place that its own pods leave."""
    core = Core(batching=FOREVER)
    core.nodes(*(zoned(f"n{number}", "ABC"[number % 3]) for number in range(6)))
    pods = [
        make_pod(
            f"{app}-{number}",
            labels={"app": app},
            topology_spread_constraints=[hard(selector=LabelSelector(), match_label_keys=["app"])],
        )
        for number in range(6)
        for app in "abcdefghij"
    ]
    results = place(core, *pods)
    by_app: dict[str, list[CycleResult]] = {}
    for pod, result in zip(pods, results, strict=True):
        by_app.setdefault((pod.metadata.labels or {})["app"], []).append(result)

    assert all(zones_of(core, found) == {"A": 2, "B": 2, "C": 2} for found in by_app.values())
    assert batch_of(core) == {"no_hint": 10, "hint_used": 50}


# The default configuration


def test_pods_of_a_service_are_spread_from_one_entry() -> None:
    """Softly over hosts and zones, where kube-scheduler makes no batch of them at all."""
    core = Core(batching=FOREVER)
    core.nodes(*(make_node(f"n{number}", labels={ZONE: "ABC"[number % 3]}) for number in range(9)))
    core.scheduler.handle(SelectingObjectApplied(now=0.0, subject=service("web", WEB)))
    results = place(core, *replicas(18))

    assert set(Counter(one.node_name for one in results).values()) == {2}
    assert batch_of(core) == {"no_hint": 1, "hint_used": 17}


def test_pods_of_two_services_each_have_their_entry() -> None:
    core = Core(batching=FOREVER)
    core.nodes(*(make_node(f"n{number}") for number in range(4)))
    for app in ("web", "db"):
        core.scheduler.handle(SelectingObjectApplied(now=0.0, subject=service(app, {"app": app})))
    pods = [make_pod(f"{app}-{number}", labels={"app": app}) for number in range(4) for app in ("web", "db")]
    results = place(core, *pods)

    assert batch_of(core) == {"no_hint": 2, "hint_used": 6}
    for first in (0, 1):
        assert len({one.node_name for one in results[first::2]}) == 4


def test_a_service_that_comes_starts_another_entry() -> None:
    core = Core(batching=FOREVER)
    core.nodes(*(make_node(f"n{number}") for number in range(3)))
    first = place(core, *replicas(3))
    core.scheduler.handle(SelectingObjectApplied(now=0.0, subject=service("web", WEB)))
    more = [make_pod(f"more-{number}", labels=WEB) for number in range(3)]

    assert [one.batch for one in first] == ["no_hint", "hint_used", "hint_used"]
    assert [one.batch for one in place(core, *more)] == ["no_hint", "hint_used", "hint_used"]
