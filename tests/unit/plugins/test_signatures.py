"""Pods of one signature are answered alike, which is what makes a decision reusable (KEP-5598)."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.api.objects import Pod
from scheduler.cache.node_table import NodeTable
from scheduler.framework.plugin import FilterPlugin, PreFilterPlugin, PreScorePlugin, ScorePlugin, SignPlugin
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code
from scheduler.plugins.image_locality import ImageLocality
from scheduler.plugins.node_affinity import NodeAffinity
from scheduler.plugins.node_declared_features import NodeDeclaredFeatures
from scheduler.plugins.node_name import NodeName
from scheduler.plugins.node_ports import NodePorts
from scheduler.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from scheduler.plugins.node_resources_fit import NodeResourcesFit
from scheduler.plugins.node_unschedulable import NodeUnschedulable
from scheduler.plugins.taint_toleration import TaintToleration
from tests.support.plugin_runs import table_of
from tests.support.random_cluster import random_node, random_pod

PLUGINS: tuple[SignPlugin, ...] = (
    NodeName(),
    NodeUnschedulable(),
    TaintToleration(),
    NodeAffinity(),
    NodePorts(),
    NodeResourcesFit(),
    NodeResourcesBalancedAllocation(),
    ImageLocality(),
    NodeDeclaredFeatures(),
)


def answers(plugin: SignPlugin, pod: PodInfo, table: NodeTable) -> list[Any]:
    """Everything that the plugin says of a pod: SKIPs, names, reasons, masks and raw scores of all rows, tokens."""
    said: list[Any] = []
    state: dict[str, Any] = {}
    view = table.columns(plugin)
    if isinstance(plugin, PreFilterPlugin):
        said.append(plugin.pre_filter(state, pod, view))
    if isinstance(plugin, FilterPlugin):
        said += [plugin.reasons(state, pod), plugin.filter(state, pod, view).tolist()]  # type: ignore[union-attr]
    if isinstance(plugin, PreScorePlugin):
        code = plugin.pre_score(state, pod, view).code
        said.append(code)
        if code is Code.ERROR:  # its text counts terms by their place in the pod; a failed evaluation is not reused
            return said
    if isinstance(plugin, ScorePlugin):
        said += [plugin.score(state, pod, view).tolist(), sorted(plugin.score_token(state, pod, view))]  # type: ignore[union-attr]
    return said


def reordered(pod: Pod) -> Pod:
    """The same pod, its containers and tolerations the other way round: mostly of the same signature."""
    spec = msgspec.structs.replace(
        pod.spec, containers=pod.spec.containers[::-1], tolerations=(pod.spec.tolerations or [])[::-1]
    )
    return msgspec.structs.replace(pod, spec=spec)


@settings(max_examples=25)
@given(st.integers(0, 2**32))
def test_pods_of_one_signature_get_the_same_answers(seed: int) -> None:
    random = Random(seed)
    table = table_of([random_node(random, f"n{number}") for number in range(4)], [random_pod(random, "p", "n0")])
    drawn = [random_pod(random, f"pod{number}", random.choice(("", "n0"))) for number in range(8)]
    pods = [PodInfo(pod) for first in drawn for pod in (first, reordered(first))]
    for plugin in PLUGINS:
        by_signature: dict[Any, list[Any]] = {}
        for pod in pods:
            said = answers(plugin, pod, table)
            assert by_signature.setdefault(plugin.sign(pod), said) == said, f"{plugin.name}: {plugin.sign(pod)}"
        assert len(by_signature) < len(pods), plugin.name
