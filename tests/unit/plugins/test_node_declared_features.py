from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler.api.objects import Pod, PodSpec
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code
from scheduler.plugins.node_declared_features import NodeDeclaredFeatures, known_features, required_features
from tests.support.builders import make_node, make_pod
from tests.support.plugin_runs import FITS, Refusal, ask, judge, table_of

LACKS: Refusal = ("UnschedulableAndUnresolvable", ("node(s) didn't match Pod's required features",))
RESTART = "RestartAllContainersOnContainerExits"
USERS = "UserNamespacesHostNetworkSupport"
MOUNT = "VolumeBindMountOptions"
RESTARTING = {"name": "c", "restartPolicyRules": [{"action": "Restart"}, {"action": "RestartAllContainers"}]}
MOUNTING = {"name": "c", "volumeMounts": [{"name": "v"}, {"name": "w", "bindMountOptions": ["nosuid"]}]}


def spec(**fields: Any) -> PodSpec:
    """As ``kubectl get -o json`` writes it."""
    return msgspec.convert({"containers": [{"name": "c"}], **fields}, PodSpec)


def pod(**fields: Any) -> Pod:
    return msgspec.structs.replace(make_pod(), spec=spec(**fields))


@pytest.mark.parametrize(
    ("fields", "needed"),
    [
        ({}, ()),
        ({"containers": [RESTARTING]}, (RESTART,)),
        ({"initContainers": [RESTARTING]}, (RESTART,)),
        ({"ephemeralContainers": [RESTARTING]}, ()),
        ({"containers": [{"name": "c", "restartPolicyRules": [{"action": "Restart"}]}]}, ()),
        ({"hostNetwork": True, "hostUsers": False}, (USERS,)),
        ({"hostNetwork": True, "hostUsers": True}, ()),
        ({"hostNetwork": True}, ()),
        ({"hostUsers": False}, ()),
        ({"containers": [MOUNTING]}, (MOUNT,)),
        ({"initContainers": [MOUNTING]}, (MOUNT,)),
        ({"ephemeralContainers": [MOUNTING]}, (MOUNT,)),
        ({"containers": [{"name": "c", "volumeMounts": [{"name": "v", "bindMountOptions": []}]}]}, ()),
        (
            {"containers": [MOUNTING], "initContainers": [RESTARTING], "hostNetwork": True, "hostUsers": False},
            (RESTART, USERS, MOUNT),
        ),
    ],
)
def test_what_of_a_pod_needs_a_feature(fields: dict[str, Any], needed: tuple[str, ...]) -> None:
    assert required_features(spec(**fields)) == needed


def test_a_node_must_declare_every_feature_that_the_pod_needs() -> None:
    table = table_of(
        [
            make_node("none"),
            make_node("one", declared_features=[RESTART]),
            make_node("both", declared_features=[RESTART, MOUNT]),
            make_node("more", declared_features=["Aaa", RESTART, USERS, MOUNT, "Zzz"]),
        ]
    )
    needing = pod(containers=[RESTARTING, MOUNTING])

    assert judge(NodeDeclaredFeatures(), needing, table) == {"none": LACKS, "one": LACKS, "both": FITS, "more": FITS}


def test_a_pod_that_needs_no_feature_skips_the_plugin() -> None:
    table = table_of([make_node()])
    plugin = NodeDeclaredFeatures()

    assert plugin.pre_filter({}, PodInfo(make_pod()), table.columns(plugin)).status.code is Code.SKIP


@pytest.mark.parametrize(
    ("declared", "known"),
    [
        ([], set()),
        (["Aaa", MOUNT, "Zzz"], {MOUNT}),
        ([MOUNT, RESTART], {MOUNT}),
        ([RESTART, RESTART, MOUNT], {RESTART, MOUNT}),
        (["Zzz", RESTART], set()),
    ],
)
def test_names_that_are_unknown_or_out_of_order_are_not_seen(declared: list[str], known: set[str]) -> None:
    """The list is sorted where the API server has let it pass; kube-scheduler reads it in one go along the names it knows."""
    assert known_features(declared) == known


def test_a_filter_whose_pre_filter_is_disabled_fails_the_cycle() -> None:
    table = table_of([make_node()])
    plugin = NodeDeclaredFeatures()

    with pytest.raises(RuntimeError, match='error reading "PreFilterNodeDeclaredFeatures" from cycle-state'):
        plugin.filter({}, PodInfo(make_pod()), table.columns(plugin))


def test_nodes_are_judged_by_what_they_declare_now() -> None:
    plugin, info = NodeDeclaredFeatures(), PodInfo(pod(containers=[MOUNTING]))
    state: dict[str, Any] = {}
    before = table_of([make_node("n0"), make_node("n1", declared_features=[MOUNT])])
    plugin.pre_filter(state, info, before.columns(plugin))
    assert ask(before, plugin, "filter", state, info) == {"n0": 1, "n1": 0}

    before.apply_node(make_node("n0", declared_features=["New", MOUNT]), ())
    before.apply_node(make_node("n1"), ())

    assert ask(before, plugin, "filter", state, info) == {"n0": 0, "n1": 1}


def test_only_the_needed_features_are_signed() -> None:
    plugin = NodeDeclaredFeatures()
    plain, other, needing = (
        plugin.sign(PodInfo(one)) for one in (pod(), pod(hostNetwork=True), pod(hostNetwork=True, hostUsers=False))
    )

    assert plain == other
    assert plain != needing


def test_what_wakes_a_rejected_pod() -> None:
    assert NodeDeclaredFeatures().events_to_register() == (
        ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_DECLARED_FEATURE),
        ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE),
    )
