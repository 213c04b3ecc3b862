"""Where users found pods in the wrong place, or nowhere, told to the scheduler from the first pod to the last.

Each test names the thread of kubernetes/kubernetes that it comes from. What pods meet when they are spread is in
``test_topology_spread.py`` as well.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from msgspec.structs import replace

from scheduler.api.objects import Pod, Taint
from scheduler.core.cycle import CycleResult
from scheduler.core.instruction import BindPod, PatchObject, PatchPodStatus
from scheduler.core.stimulus import StorageObjectApplied
from tests.support.builders import HOSTNAME, make_node, make_pod
from tests.support.core_run import Core, on_node
from tests.support.pod_affinity import affinity, term
from tests.support.signed_plugins import FOREVER, batch_of
from tests.support.topology_spread import WEB, hard, zoned
from tests.support.volumes import make_claim, make_class, make_pod_with, make_volume

SKEWED = "node(s) didn't match pod topology spread constraints"
CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
SELECTED = "volume.kubernetes.io/selected-node"


def replicas(count: int, first: int = 0, **fields: Any) -> list[Pod]:
    fields.setdefault("labels", WEB)
    return [make_pod(f"web-{number}", **fields) for number in range(first, first + count)]


def place(core: Core, *pods: Pod, at: float = 0.0) -> list[CycleResult]:
    """Decide on each, and show it as bound when it got a node."""
    core.pods(*pods, at=at)
    results = []
    for pod in pods:
        result = core.decide(at)
        results.append(result)
        if result.node_name:
            core.bound(pod, result.node_name, at=at)
            core.pods(on_node(pod, result.node_name), at=at)
    return results


def nodes_of(results: list[CycleResult]) -> list[str]:
    return [result.node_name for result in results]


def condition_of(result: CycleResult) -> tuple[str, str]:
    """Reason and message of the condition that the pod gets."""
    (patch,) = [one for one in result.instructions if isinstance(one, PatchPodStatus)]
    assert patch.condition is not None
    return patch.condition.reason, patch.condition.message


# kubernetes/kubernetes#129319: who may be the first of pods that need each other, when they have several terms.

FRONT = {**WEB, "tier": "front"}
NEAR_BOTH = affinity(near=(term("zone"), term("rack", {"matchLabels": {"tier": "front"}})))


def racks() -> Core:
    core = Core(batching=FOREVER)
    core.nodes(
        make_node("a1", labels={"zone": "a", "rack": "1"}),
        make_node("a2", labels={"zone": "a", "rack": "2"}),
        make_node("b1", labels={"zone": "b", "rack": "3"}),
        make_node("zone", labels={"zone": "a"}),
        make_node("rack", labels={"rack": "1"}),
    )
    return core


def test_the_first_of_a_series_takes_a_node_with_all_labels_and_the_others_its_zone_and_rack() -> None:
    core = racks()
    core.pods(make_pod("half", labels=WEB, node_name="zone"))  # matches one of the terms, so there is no series yet
    results = place(core, *replicas(4, labels=FRONT, affinity=NEAR_BOTH))

    first = results[0].node_name
    assert first in ("a1", "a2", "b1")
    assert nodes_of(results) == [first] * 4
    assert batch_of(core) == {"no_hint": 1, "hint_used": 3}


def test_a_pod_that_matches_one_of_its_terms_only_never_begins_a_series() -> None:
    core = racks()
    (result,) = place(core, *replicas(1, affinity=NEAR_BOTH))

    assert condition_of(result) == (
        "Unschedulable",
        "0/5 nodes are available: 5 node(s) didn't match pod affinity rules.",
    )


def test_when_the_whole_series_is_gone_the_next_pod_may_be_the_first_again_elsewhere() -> None:
    core = racks()
    (pod,) = replicas(1, labels=FRONT, affinity=NEAR_BOTH)
    (result,) = place(core, pod)
    seat = result.node_name
    full = on_node(make_pod("full", requests={"cpu": "3900m"}), seat)
    core.pods(full)
    (late,) = replicas(1, 1, labels=FRONT, affinity=NEAR_BOTH)
    assert nodes_of(place(core, late)) == [""]

    core.pod_gone(on_node(pod, seat), at=20.0)
    again = core.decide(20.0)
    assert again.node_name in {"a1", "a2", "b1"} - {seat}


# kubernetes/kubernetes#45484: anti-affinity without namespaces.


def test_anti_affinity_without_namespaces_is_about_the_own_namespace() -> None:
    """Two hosts take two pods of each of two namespaces, and no third one of either."""
    core = Core(batching=FOREVER)
    core.nodes(make_node("n1"), make_node("n2"))
    rules = affinity(apart=(term(HOSTNAME),))
    results = {
        name: place(core, *replicas(3, namespace=name, labels=WEB, affinity=rules)) for name in ("blue", "green")
    }

    for found in results.values():
        assert sorted(nodes_of(found)) == ["", "n1", "n2"]
        assert condition_of(found[2])[1] == ("0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules.")


# kubernetes/kubernetes#109364: one constraint over zones and one over hosts, where zones have different numbers of hosts.


def test_the_sixth_and_seventh_replica_wait_with_the_rule_in_their_condition_until_a_host_comes() -> None:
    core = Core(batching=FOREVER)
    core.nodes(zoned("a1", "A"), zoned("a2", "A"), zoned("b1", "B"))
    pods = replicas(7, topology_spread_constraints=[hard(), hard(HOSTNAME)])
    results = place(core, *pods)

    placed = Counter(nodes_of(results))
    assert (placed["a1"] + placed["a2"], placed["b1"], placed[""]) == (3, 2, 2)
    for result in results[5:]:
        assert condition_of(result) == ("Unschedulable", f"0/3 nodes are available: 3 {SKEWED}.")
        assert result.plugins == ("PodTopologySpread",)
    assert [core.rooms(pod) for pod in pods[5:]] == [["unschedulable"]] * 2

    core.nodes(zoned("b2", "B"), at=30.0)
    last = [core.decide(30.0), core.decide(30.0)]
    assert last[0].node_name == "b2"
    assert last[1].node_name in ("a1", "a2", "b2")


# kubernetes/kubernetes#86037, #114788: a zone that is cordoned while pods are spread.


def test_a_zone_that_is_cordoned_midway_counts_no_more_where_taints_are_honoured_and_again_when_it_is_back() -> None:
    core = Core(batching=FOREVER)
    core.nodes(zoned("a", "A"), zoned("b", "B"), zoned("c", "C"))
    rules: dict[str, Any] = {"topology_spread_constraints": [hard(node_taints_policy="Honor")]}
    assert sorted(nodes_of(place(core, *replicas(3, **rules)))) == ["a", "b", "c"]

    core.nodes(zoned("c", "C", unschedulable=True, taints=[CORDON]), at=1.0)
    assert Counter(nodes_of(place(core, *replicas(4, 3, **rules), at=1.0))) == {"a": 2, "b": 2}

    core.nodes(zoned("c", "C"), at=2.0)
    assert nodes_of(place(core, *replicas(2, 7, **rules), at=2.0)) == ["c", "c"]


def test_a_cordoned_zone_stops_the_others_by_default() -> None:
    """The taint is ignored, so its zone stays the one with the fewest pods."""
    core = Core(batching=FOREVER)
    core.nodes(zoned("a", "A"), zoned("b", "B"), zoned("c", "C", unschedulable=True, taints=[CORDON]))
    results = place(core, *replicas(3, topology_spread_constraints=[hard()]))

    assert sorted(nodes_of(results)) == ["", "a", "b"]
    assert condition_of(results[2])[1] == f"0/3 nodes are available: 1 node(s) were unschedulable, 2 {SKEWED}."


def test_a_domain_with_one_node_that_the_pod_tolerates_stays_a_domain_where_taints_are_honoured() -> None:
    """Zone C is tainted whole and zone B in half: B counts, C does not."""
    core = Core(batching=FOREVER)
    mine = Taint(key="team", value="other", effect="NoSchedule")
    core.nodes(zoned("a", "A"), zoned("b1", "B", taints=[mine]), zoned("b2", "B"), zoned("c", "C", taints=[mine]))
    results = place(core, *replicas(4, topology_spread_constraints=[hard(node_taints_policy="Honor")]))

    assert Counter(nodes_of(results)) == {"a": 2, "b2": 2}


# kubernetes/kubernetes#116629, #134810: a rolling update of spread pods.


def test_a_rolling_update_by_revision_ends_evenly_spread() -> None:
    """Two of the new revision come, one of the old goes, until all are new: no zone ever has two more new pods than another."""
    core = Core(batching=FOREVER)
    core.nodes(*(zoned(name, name.upper()) for name in "abc"))

    def revision(name: str, count: int, first: int) -> list[Pod]:
        labels = {**WEB, "pod-template-hash": name}
        constraint = hard(match_label_keys=["pod-template-hash"])
        made = replicas(count, first, labels=labels, topology_spread_constraints=[constraint])
        return [replace(pod, metadata=replace(pod.metadata, name=f"{name}-{pod.metadata.name}")) for pod in made]

    old = revision("old", 6, 0)
    seats = dict(zip([pod.metadata.uid for pod in old], nodes_of(place(core, *old)), strict=True))
    assert Counter(seats.values()) == {"a": 2, "b": 2, "c": 2}
    # The update starts where the scale-down has left the old pods uneven.
    gone = sorted(old, key=lambda pod: seats[pod.metadata.uid])
    new: Counter[str] = Counter()
    for step in range(6):
        leaving = gone[step]
        (result,) = place(core, *revision("new", 1, 10 + step), at=float(step))
        new[result.node_name] += 1
        assert max(new[name] for name in "abc") - min(new[name] for name in "abc") <= 1
        core.pod_gone(on_node(leaving, seats[leaving.metadata.uid]), at=float(step))

    assert new == {"a": 2, "b": 2, "c": 2}


def test_a_pod_that_is_assumed_counts_before_its_bind_is_seen() -> None:
    """Two decisions in a row never take the same place, though the API server has shown neither."""
    core = Core(batching=FOREVER)
    core.nodes(zoned("a", "A"), zoned("b", "B"))
    pods = replicas(2, topology_spread_constraints=[hard()])
    core.pods(*pods)

    assert sorted(core.decide().node_name for _ in pods) == ["a", "b"]


# kubernetes/kubernetes#86262, #79888: volumes that wait for their first consumer, and a scheduler that is not kube-scheduler.

LATE = make_class("late", provisioner="example.com/disks")
CLAIM = make_claim(storage_class="late", version="1")


def storage(*subjects: Any) -> Core:
    core = Core(batching=FOREVER)
    core.nodes(make_node("n1"), make_node("n2"))
    for subject in (LATE, *subjects):
        core.scheduler.handle(StorageObjectApplied(now=0.0, subject=subject))
    return core


def test_the_node_is_written_on_the_claim_before_the_pod_is_bound() -> None:
    core = storage(CLAIM)
    core.pods(make_pod_with("data"))
    result = core.decide()

    (patch,) = [one for one in result.instructions if isinstance(one, PatchObject)]
    assert patch.patch.patch == {"metadata": {"annotations": {SELECTED: result.node_name}}}
    assert not any(isinstance(one, BindPod) for one in result.instructions)

    core.patched(patch.number, "2", at=1.0)
    done = replace(
        CLAIM,
        metadata=replace(
            CLAIM.metadata,
            resource_version="3",
            annotations={SELECTED: result.node_name, "pv.kubernetes.io/bind-completed": "yes"},
        ),
        spec=replace(CLAIM.spec, volume_name="pvc-1"),
    )
    volume = make_volume("pvc-1", node=result.node_name, storage_class="late", claim=CLAIM, phase="Bound")
    shown = [
        one
        for subject in (volume, done)
        for one in core.scheduler.handle(StorageObjectApplied(now=2.0, subject=subject))
    ]
    assert [one.node_name for one in shown if isinstance(one, BindPod)] == [result.node_name]


def test_a_pod_that_names_its_node_itself_is_left_alone_and_its_claim_is_the_next_pods_to_bind() -> None:
    """Nobody schedules such a pod, so nobody writes on its claim: a second pod of the claim does, where it goes itself."""
    core = storage(CLAIM)
    core.pods(on_node(make_pod_with("data", name="by-hand"), "n2"))
    assert core.scheduler.schedule_one(0.0) is None

    core.pods(make_pod_with("data", name="second"))
    result = core.decide()
    (patch,) = [one for one in result.instructions if isinstance(one, PatchObject)]
    assert (patch.patch.name, patch.patch.patch) == (
        "data",
        {"metadata": {"annotations": {SELECTED: result.node_name}}},
    )


def test_a_claim_that_is_missing_is_told_in_the_condition() -> None:
    core = storage()
    core.pods(make_pod_with("data"))

    assert condition_of(core.decide()) == (
        "Unschedulable",
        '0/2 nodes are available: persistentvolumeclaim "data" not found.',
    )


# kubernetes/kubernetes#122362: soft taints, whose raw score is the number of those that are not tolerated.


def test_the_node_with_the_fewest_soft_taints_is_taken_first() -> None:
    """All else is equal; the second node fills up before the third one, with two taints, is taken."""
    core = Core(batching=FOREVER)
    soft = [Taint(key=key, effect="PreferNoSchedule") for key in ("x", "y")]
    core.nodes(
        *(make_node(f"n{count}", taints=soft[:count], allocatable={"pods": "2"}) for count in (2, 0, 1)),
    )

    assert nodes_of(place(core, *replicas(6))) == ["n0", "n0", "n1", "n1", "n2", "n2"]
