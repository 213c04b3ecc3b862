"""PodTopologySpread's scores (kube-scheduler 1.37: podtopologyspread/scoring.go).

By hand: a node's raw score is the sum over its topology labels of ``pods * ln(domains + 2) + (maxSkew - 1)``, rounded; the
final one ``100 * (highest + lowest - raw) // highest``. ln 4 = 1.386, ln 5 = 1.609.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
import numpy as np
import pytest

from scheduler.api.objects import LabelSelector, Pod, Taint
from scheduler.framework.plugin import CycleState
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code
from scheduler.plugins.pod_topology_spread import PodTopologySpread
from scheduler.plugins.pod_topology_spread.logarithm import log_of_count
from tests.support.builders import HOSTNAME, make_node, make_pod
from tests.support.plugin_runs import ask
from tests.support.selecting_objects import controlled_by, replica_set, selector, service
from tests.support.topology_spread import (
    WEB,
    ZONE,
    cluster,
    evaluated,
    hard,
    hostless,
    scores,
    seated,
    soft,
    spread,
    with_args,
    zoned,
)

HOSTS = [make_node(name) for name in "abc"]
WEB_SERVICE = [service("web", WEB)]


def test_counts_are_weighed_by_the_logarithm_of_the_number_of_domains() -> None:
    """0, 1 and 2 pods: 2.00, 3.61 and 5.22."""
    found = scores(HOSTS, seated({"b": 1, "c": 2}), spread(soft(HOSTNAME, max_skew=3)))
    assert found == {"a": (2, 100), "b": (4, 60), "c": (5, 40)}


def test_a_zone_has_the_pods_of_all_its_nodes() -> None:
    """3 pods and 1: 3 * 1.386 = 4.16 and 1.39."""
    nodes = [zoned("a1", "a"), zoned("a2", "a"), zoned("b", "b")]
    found = scores(nodes, seated({"a1": 2, "a2": 1, "b": 1}), spread(soft()))
    assert found == {"a1": (4, 25), "a2": (4, 25), "b": (1, 100)}


def test_without_any_pod_every_node_gets_100() -> None:
    assert scores(HOSTS, [], spread(soft(HOSTNAME))) == dict.fromkeys("abc", (0, 100))


def test_several_constraints_are_added_up() -> None:
    """Hosts: ln 5; zones: ln 4. a: 1.609 + 1.386 + 1, b: 0 + 1.386 + 1, c: 0 + 0 + 1."""
    nodes = [zoned("a", "x"), zoned("b", "x"), zoned("c", "y")]
    found = scores(nodes, seated({"a": 1}), spread(soft(HOSTNAME), soft(max_skew=2)))
    assert found == {"a": (4, 25), "b": (2, 75), "c": (1, 100)}


def test_only_domains_of_feasible_nodes_count_and_pods_of_all_of_their_nodes_do() -> None:
    """Zone c is tainted as a whole: 2 domains. a2 is tainted, and its pods are in zone a: 2 * 1.386 = 2.77."""
    taints = [Taint(key="dedicated", effect="NoSchedule")]
    nodes = [
        zoned("a1", "a"),
        zoned("a2", "a", taints=taints),
        zoned("b", "b"),
        zoned("c", "c", taints=taints),
    ]
    assert scores(nodes, seated({"a2": 2, "c": 9}), spread(soft())) == {"a1": (3, 0), "b": (0, 100)}


def test_nodes_that_are_left_out_by_policy_do_not_bring_their_pods() -> None:
    taints = [Taint(key="dedicated", effect="NoSchedule")]
    nodes = [zoned("a1", "a"), zoned("a2", "a", taints=taints), zoned("b1", "b"), zoned("b2", "b")]
    pods = seated({"a2": 2, "b1": 1})
    assert scores(nodes, pods, spread(soft(node_taints_policy="Honor"))) == {
        "a1": (0, 100),
        "b1": (1, 0),
        "b2": (1, 0),
    }
    assert scores(nodes, pods, spread(soft())) == {"a1": (3, 33), "b1": (1, 100), "b2": (1, 100)}


def test_pods_on_the_node_itself_count_for_hostnames_whatever_the_policies_say() -> None:
    """kube-scheduler 1.37: Score counts them anew. The taint is tolerated by no toleration, but for a filter that is off."""
    table = cluster(
        [make_node("a", taints=[Taint(key="x", effect="NoSchedule")]), make_node("b")], seated({"a": 1})
    ).table
    plugin = PodTopologySpread()
    state: CycleState = {}
    pod = PodInfo(spread(soft(HOSTNAME, node_taints_policy="Honor")))
    assert plugin.pre_score(state, pod, table.columns(plugin, feasible=table.live)).code is Code.SUCCESS
    assert ask(table, plugin, "score", state, pod) == {"a": 1, "b": 0}


def test_an_empty_selector_scores_no_pods() -> None:
    assert scores(HOSTS, seated({"a": 5}), spread(soft(HOSTNAME, 2, LabelSelector()))) == dict.fromkeys("abc", (1, 100))
    assert scores(HOSTS[:2], seated({"a": 5}), spread(soft("kubernetes.io/hostname", 2, None))) == dict.fromkeys(
        "ab", (1, 100)
    )


# Nodes without a label


NO_ZONE = [zoned("a", "a"), zoned("b", "b"), zoned("none", None)]


def test_own_constraints_ignore_a_node_without_the_label() -> None:
    """2 domains: 2 * 1.386 = 2.77 and 4 more, and 0 and 4 more; the third node's raw score is no lowest one."""
    found = scores(NO_ZONE, seated({"a": 2, "none": 1}), spread(soft(max_skew=5)))
    assert found == {"a": (7, 57), "b": (4, 100), "none": (0, 0)}


def test_a_node_that_lacks_any_of_the_keys_is_ignored_for_all_constraints() -> None:
    """2 hosts of 3 are scored, and 2 zones, so ln 4 for both: 3 * 1.386 * 2 = 8.32."""
    found = scores(NO_ZONE, seated({"a": 3, "none": 5}), spread(soft(HOSTNAME), soft()))
    assert found == {"a": (8, 0), "b": (0, 100), "none": (0, 0)}


def test_hosts_are_counted_by_node_even_if_two_have_one_name() -> None:
    """3 * ln 5 = 4.83; the pods of the other node of that name do not count."""
    nodes = [make_node("a", labels={HOSTNAME: "same"}), make_node("b", labels={HOSTNAME: "same"}), make_node("c")]
    assert scores(nodes, seated({"a": 3}), spread(soft(HOSTNAME))) == {"a": (5, 0), "b": (0, 100), "c": (0, 100)}


def test_when_all_nodes_are_ignored_all_get_0() -> None:
    nodes = [zoned(name, None) for name in "ab"]
    assert scores(nodes, [], spread(soft())) == {"a": (0, 0), "b": (0, 0)}


def test_system_defaults_keep_a_node_without_a_zone() -> None:
    """3 zones, of which one is none: ln 5 twice. a: 3.22 + 2 + 3.22 + 4, b: 2 + 4, none: 2."""
    found = scores(NO_ZONE, seated({"a": 2}), spread(), objects=WEB_SERVICE)
    assert found == {"a": (12, 16), "b": (6, 66), "none": (2, 100)}


def test_system_defaults_take_a_missing_zone_for_an_empty_one() -> None:
    """One domain besides a: its 2 pods, one of them on a node without a zone, count for the node whose zone is empty.

    Zones: ln 4; hosts: ln 5. a: 2 + 4, empty: 1.609 + 2 + 2.77 + 4, none: 1.609 + 2.
    """
    nodes = [zoned("a", "a"), zoned("empty", ""), zoned("none", None)]
    found = scores(nodes, seated({"empty": 1, "none": 1}), spread(), objects=WEB_SERVICE)
    assert found == {"a": (6, 80), "empty": (10, 40), "none": (4, 100)}


def test_listed_defaults_ignore_a_node_without_the_label() -> None:
    default = {"maxSkew": 5, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}
    plugin = with_args(defaultingType="List", defaultConstraints=[default])
    found = scores(NO_ZONE, seated({"a": 2}), spread(), plugin, objects=WEB_SERVICE)
    assert found == {"a": (7, 57), "b": (4, 100), "none": (0, 0)}


def test_a_node_without_a_hostname_gets_nothing_for_it() -> None:
    """Zones: ln 4; 3 hosts. none: 4; a: 1.609 + 2 + 1.386 + 4; b: 2 + 4."""
    nodes = [zoned("a", "a"), zoned("b", "b"), hostless(zoned("none", "b"))]
    found = scores(nodes, seated({"a": 1}), spread(), objects=WEB_SERVICE)
    assert found == {"a": (9, 44), "b": (6, 77), "none": (4, 100)}


# When there is nothing to score


@pytest.mark.parametrize(
    ("pod", "objects"),
    [
        (spread(), []),
        (spread(labels={"app": "other"}), WEB_SERVICE),
        (spread(namespace="other"), WEB_SERVICE),
        (spread(hard()), WEB_SERVICE),
    ],
    ids=["nothing selects pods", "others are selected", "in another namespace", "a constraint of its own"],
)
def test_a_pod_without_soft_constraints_is_not_scored(pod: Pod, objects: list[Any]) -> None:
    assert scores([zoned("a", "a"), zoned("b", "b")], [], pod, objects=objects) is None


def test_defaults_can_be_switched_off() -> None:
    plugin = with_args(defaultingType="List")
    assert scores(HOSTS, seated({"a": 1}), spread(), plugin, objects=WEB_SERVICE) is None


def test_a_controllers_selector_is_deduced_too() -> None:
    """Pods of the ReplicaSet count, also for one that its selector does not match. Hosts: ln 5."""
    metadata = msgspec.structs.replace(
        make_pod("subject").metadata, owner_references=[controlled_by("ReplicaSet", "web")]
    )
    pod = msgspec.structs.replace(make_pod("subject"), metadata=metadata)
    default = {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway"}
    plugin = with_args(defaultingType="List", defaultConstraints=[default])
    objects = [replica_set("web", selector(WEB))]
    assert scores(HOSTS, seated({"a": 1}), pod, plugin, objects=objects) == {"a": (2, 0), "b": (0, 100), "c": (0, 100)}


def test_score_needs_its_prescore() -> None:
    plugin, table = PodTopologySpread(), cluster(HOSTS).table
    pod = PodInfo(spread(soft()))
    message = 'error reading "PreScorePodTopologySpread" from cycleState: not found'
    with pytest.raises(RuntimeError, match=message):
        plugin.score({}, pod, table.columns(plugin))
    with pytest.raises(RuntimeError, match=message):
        plugin.normalize({}, pod, table.columns(plugin), np.zeros(3, np.int64), 0, 0)


# Fewer feasible nodes for one decision


def test_a_node_that_is_refused_for_this_decision_only_is_no_domain_of_the_others() -> None:
    """3 pods in zone a: 3 * ln 5 + 2 = 6.83 with zone c, and 3 * ln 4 + 2 = 6.16 without it; b has 3.61 or 3.39."""
    nodes, pods = [zoned("a", "a"), zoned("b", "b"), zoned("c", "c")], seated({"a": 3, "b": 1})
    cache = cluster(nodes, pods)
    evaluation = evaluated(cache, spread(soft(max_skew=3)))
    evaluation.refresh_scores()
    assert evaluation._scoring is not None
    kept = evaluation._scoring.totals.tolist()
    # Of the other plugins TaintToleration gives 100.
    assert kept == [100 + 28, 100 + 71, 100 + 100]
    assert evaluation._scoring.totals_over(cache.table, np.array([True, True, False])).tolist()[:2] == [150, 200]
    evaluation.refresh_scores()
    assert evaluation._scoring.totals.tolist() == kept


# The logarithm

GO = {
    2: "0x1.62e42fefa39efp-1",
    3: "0x1.193ea7aad030ap+0",
    4: "0x1.62e42fefa39efp+0",
    5: "0x1.9c041f7ed8d33p+0",
    14: "0x1.51cca16d7bba8p+1",
    48: "0x1.ef8383c50bb74p+1",
    74: "0x1.1375cd6fcab1cp+2",
    176: "0x1.4ae935b3cb89ep+2",
    5002: "0x1.10901f6dc84b9p+3",
    15002: "0x1.33b5c54bb9573p+3",
}
"""What Go 1.26's math.Log gives on amd64; of 3, 14, 48, 74 and 176 the C library's last bit is another."""
ALL_OF_GO = "a1ec63617254dcde23a4a57e3b535f78bb6597c4ef29b38f5f6e3f2fbe04022c"
"""The sha256 of what it gives for 2 to 20,002, written as these are."""


def test_the_logarithm_is_gos_to_the_last_bit() -> None:
    assert {number: log_of_count(number).hex() for number in GO} == GO
    every = "".join(log_of_count(number).hex() for number in range(2, 20_003))
    assert hashlib.sha256(every.encode()).hexdigest() == ALL_OF_GO
