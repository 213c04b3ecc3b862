"""VolumeBinding on columns of nodes says of each node what kube-scheduler works out for that node alone."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from scheduler.api.objects import LabelSelector, Node, NodeSelector
from scheduler.api.storage import CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageObject
from scheduler.framework.plugin import CycleState
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code
from scheduler.plugins.volume_binding import VolumeBinding
from scheduler.plugins.volume_binding.one_node import view_of
from scheduler.plugins.volume_binding.plan import Plan
from tests.support.builders import HOSTNAME, make_node
from tests.support.plain_volumes import Answer, volumes_on
from tests.support.plugin_runs import ask
from tests.support.volumes import (
    make_capacity,
    make_claim,
    make_class,
    make_driver,
    make_pod_with,
    make_volume,
    node_selector,
    storage_table,
)

NODE_NAMES = ("n1", "n2", "n3", "n4")
SIZES = ("1Gi", "2Gi", "3Gi", "10Gi")
CLASSES = ("local", "dynamic", "zonal")
DISKS = st.sampled_from([None, {"disk": "ssd"}, {"disk": "hdd"}])
TOPOLOGIES = st.sampled_from(
    [None, LabelSelector(), {"zone": "a"}, {"zone": "b"}, *({HOSTNAME: name} for name in NODE_NAMES), {"zone": "gone"}]
)


def values(*names: str) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(names), min_size=1, max_size=2)


AFFINITIES: st.SearchStrategy[NodeSelector | None] = st.one_of(
    st.none(),
    values(*NODE_NAMES, "gone").map(lambda names: node_selector((HOSTNAME, "In", names))),
    values("a", "b").map(lambda zones: node_selector(("zone", "In", zones))),
    st.builds(
        lambda names, zones: node_selector((HOSTNAME, "In", names), ("zone", "In", zones)),
        values(*NODE_NAMES),
        values("a", "b"),
    ),
    st.just(node_selector(("zone", "Exists", []))),
    st.just(node_selector(fields=["n1"])),
    st.builds(
        lambda one, other: NodeSelector(
            node_selector_terms=[*(one.node_selector_terms or ()), *(other.node_selector_terms or ())]
        ),
        values(*NODE_NAMES).map(lambda names: node_selector((HOSTNAME, "In", names))),
        values("n1", "a").map(lambda names: node_selector(("zone", "In", names))),
    ),
)


@st.composite
def claims(draw: st.DrawFn, name: str) -> PersistentVolumeClaim:
    bound = draw(st.sampled_from(["", "", "", "", "pv0", "pv1", "missing"]))
    labels = draw(st.sampled_from([None, None, {"disk": "ssd"}]))
    return make_claim(
        name,
        size=draw(st.sampled_from([None, *SIZES])),
        storage_class=draw(st.sampled_from(CLASSES)),
        volume=bound,
        selected_node=draw(st.sampled_from([None, None, None, None, "n1", "gone"])),
        modes=draw(st.sampled_from([["ReadWriteOnce"], ["ReadWriteOnce", "ReadOnlyMany"]])),
        selector=None if labels is None else LabelSelector(labels),
        volume_mode=draw(st.sampled_from([None, None, "Filesystem", "Block"])),
    )


@st.composite
def volumes(draw: st.DrawFn, name: str, holders: Sequence[PersistentVolumeClaim]) -> PersistentVolume:
    return make_volume(
        name,
        affinity=draw(AFFINITIES),
        size=draw(st.sampled_from(SIZES)),
        storage_class=draw(st.sampled_from(CLASSES)),
        claim=draw(st.sampled_from([None, None, None, None, *holders])),
        phase=draw(st.sampled_from(["Available", "Available", "Available", "Bound"])),
        labels=draw(DISKS),
        modes=draw(st.sampled_from([["ReadWriteOnce", "ReadOnlyMany"], ["ReadWriteOnce"]])),
        volume_mode=draw(st.sampled_from([None, None, None, "Block"])),
        deletion_timestamp=draw(st.sampled_from([None, None, None, None, "2026-01-01T00:00:00Z"])),
    )


@st.composite
def capacities(draw: st.DrawFn, name: str) -> CSIStorageCapacity:
    return make_capacity(
        name,
        storage_class=draw(st.sampled_from(["dynamic", "zonal"])),
        topology=draw(TOPOLOGIES),
        capacity=draw(st.sampled_from([None, "1Gi", "5Gi", "20Gi"])),
        maximum=draw(st.sampled_from([None, None, "2Gi", "10Gi"])),
    )


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Node], list[StorageObject], list[str]]:
    """Nodes, objects of storage, and the claims that a pod uses."""
    nodes = [
        make_node(name, labels=draw(st.sampled_from([{}, {"zone": "a"}, {"zone": "b"}])))
        for name in draw(st.lists(st.sampled_from(NODE_NAMES), min_size=1, unique=True))
    ]
    held = [draw(claims(name)) for name in ("c0", "c1", "c2")]
    count = draw(st.integers(0, 6))
    objects: list[StorageObject] = [
        make_class(),
        make_class("dynamic", provisioner="csi.example"),
        make_class("zonal", provisioner="csi.example", topologies=[{"zone": ["a"]}, {HOSTNAME: ["n2"]}]),
        *held,
        *(draw(volumes(f"pv{number}", [*held, make_claim("other")])) for number in range(count)),
        *(draw(capacities(f"room{number}")) for number in range(draw(st.integers(0, 4)))),
    ]
    if draw(st.booleans()):
        objects.append(make_driver("csi.example", storage_capacity=draw(st.booleans())))
    return nodes, objects, draw(st.lists(st.sampled_from(["c0", "c1", "c2"]), min_size=1, max_size=4))


@given(clusters())
def test_each_node_is_answered_for_as_if_it_were_alone(
    cluster: tuple[list[Node], list[StorageObject], list[str]],
) -> None:
    nodes, objects, used = cluster
    held = {one.metadata.name: one for one in objects if isinstance(one, PersistentVolumeClaim)}
    expected = {node.metadata.name: volumes_on(node, [held[name] for name in used], objects) for node in nodes}

    plugin, pod, table = VolumeBinding(), PodInfo(make_pod_with(*used)), storage_table(nodes, *objects)
    state: CycleState = {}
    assert plugin.pre_filter(state, pod, table.columns(plugin)).status.code is Code.SUCCESS
    masks = ask(table, plugin, "filter", state, pod)
    reasons = {name: tuple(bit for bit in range(4) if mask >> bit & 1) for name, mask in masks.items()}
    assert reasons == {name: answer.reasons for name, answer in expected.items()}

    scores = ask(table, plugin, "score", state, pod)
    plan: Plan = state["plan"]
    decided = {}
    for node in nodes:
        name = node.metadata.name
        if reasons[name]:
            decided[name] = Answer(reasons[name])
            continue
        found = plan.decide(view_of(node))
        bindings = tuple((one.volume.metadata.name, one.claim.metadata.name) for one in found.bindings)
        provisions = tuple(claim.metadata.name for claim in found.provisions)
        decided[name] = Answer((), bindings, provisions, scores[name])
    assert decided == expected
