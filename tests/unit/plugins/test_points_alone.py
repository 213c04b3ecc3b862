"""A configuration can disable PreFilter or PreScore of a plugin alone: what is left does as kube-scheduler's does."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from scheduler.api.objects import Affinity, Toleration
from scheduler.api.storage import StorageObject
from scheduler.framework.plugin import FilterPlugin, PreScorePlugin, ScorePlugin
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import SUCCESS, Code, Status
from scheduler.plugins.inter_pod_affinity import InterPodAffinity
from scheduler.plugins.node_affinity import NodeAffinity
from scheduler.plugins.node_name import NodeName
from scheduler.plugins.node_ports import NodePorts
from scheduler.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from scheduler.plugins.node_resources_fit import NodeResourcesFit
from scheduler.plugins.node_unschedulable import NodeUnschedulable
from scheduler.plugins.node_volume_limits import NodeVolumeLimits
from scheduler.plugins.taint_toleration import TaintToleration
from scheduler.plugins.volume_zone import VolumeZone
from scheduler.profile.evaluation import Evaluation
from tests.support.builders import make_node, make_pod
from tests.support.plugin_runs import ask, table_of
from tests.support.scripted_plugins import make_profile
from tests.support.storage import EBS, claim_volume, make_claim, make_csi_node, make_volume
from tests.support.storage_runs import cluster_of

TERM = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
AFFINITY = msgspec.convert(
    {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [TERM]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": TERM}],
        }
    },
    Affinity,
)
POD = PodInfo(make_pod(affinity=AFFINITY, tolerations=[Toleration(key="x", operator="Exists")]))
NODES = (make_node("n1", labels={"zone": "a"}), make_node("n2"))
ZONE = "topology.kubernetes.io/zone"
BOUND = make_claim(volume_name="pv")


def _refusal(plugin: str, text: str, code: Code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE) -> Status:
    return Status(code, (text,), plugin)


NO_CLAIM = 'persistentvolumeclaim "data" not found'


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [
        (NodeName(), {"n1": 0, "n2": 0}),
        (NodeUnschedulable(), {"n1": 0, "n2": 0}),
        (TaintToleration(), {"n1": 0, "n2": 0}),
        (NodeAffinity(), {"n1": 0, "n2": 2}),
    ],
)
def test_these_filter_without_prefilter(plugin: FilterPlugin, expected: dict[str, int]) -> None:
    assert ask(table_of(NODES), plugin, "filter", {}, POD) == expected


@pytest.mark.parametrize(
    ("plugin", "storage", "expected"),
    [
        (VolumeZone(), [], (_refusal("VolumeZone", NO_CLAIM),) * 2),
        (VolumeZone(), [BOUND], (_refusal("VolumeZone", 'persistentvolume "pv" not found'),) * 2),
        (
            VolumeZone(),
            [BOUND, make_volume("pv", labels={ZONE: "b"})],
            (_refusal("VolumeZone", "node(s) had no available volume zone"), SUCCESS),
        ),
        (NodeVolumeLimits(), [], (_refusal("NodeVolumeLimits", f"looking up PVC default/data: {NO_CLAIM}"),) * 2),
        (
            NodeVolumeLimits(),
            [BOUND, make_volume("pv", csi=(EBS, "h")), make_csi_node("n1", {EBS: 0})],
            (_refusal("NodeVolumeLimits", "node(s) exceed max volume count", Code.UNSCHEDULABLE), SUCCESS),
        ),
    ],
)
def test_what_these_find_without_prefilter_is_told_of_each_node(
    plugin: FilterPlugin, storage: list[StorageObject], expected: tuple[Status, Status]
) -> None:
    nodes = [make_node("n1", labels={ZONE: "a"}), make_node("n2")]
    profile = replace(make_profile(plugin), pre_filter=())
    evaluation = Evaluation(profile, PodInfo(make_pod(volumes=[claim_volume()])), cluster_of(nodes, [], storage).table)
    evaluation.refresh()
    assert (evaluation.status(0), evaluation.status(1)) == expected


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (NodePorts(), 'reading "PreFilterNodePorts" from cycleState: not found'),
        (NodeResourcesFit(), 'error reading "PreFilterNodeResourcesFit" from cycleState: not found'),
        (InterPodAffinity(), 'error reading "PreFilterInterPodAffinity" from cycleState: not found'),
    ],
)
def test_these_need_their_prefilter(plugin: FilterPlugin, message: str) -> None:
    table = table_of(NODES)
    plugin.reasons({}, POD)  # asked before Filter, and no PreFilter of its own
    with pytest.raises(RuntimeError, match=message):
        plugin.filter({}, POD, table.columns(plugin))
    with pytest.raises(RuntimeError, match=message):
        plugin.filter({}, POD, table.row(plugin, 0))


@pytest.mark.parametrize("plugin", [NodeAffinity(), NodeResourcesFit(), NodeResourcesBalancedAllocation()])
def test_these_score_without_prescore_as_with_it(plugin: ScorePlugin) -> None:
    table = table_of(NODES)
    assert isinstance(plugin, PreScorePlugin)
    state: dict[str, object] = {}
    plugin.pre_score(state, POD, table.columns(plugin))
    scores = ask(table, plugin, "score", {}, POD)
    assert scores == ask(table, plugin, "score", state, POD)
    assert set(scores.values()) != {0}


@pytest.mark.parametrize("plugin", [TaintToleration(), InterPodAffinity()])
def test_these_need_their_prescore(plugin: ScorePlugin) -> None:
    with pytest.raises(RuntimeError, match=f'failed to read "PreScore{plugin.name}" from cycleState: not found'):
        plugin.score({}, POD, table_of(NODES).columns(plugin))
