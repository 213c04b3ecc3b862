"""Which events each plugin says can help a pod that it rejected.

Expected: kube-scheduler 1.37, the plugins' isSchedulableAfter... functions; where the test says so, what these miss. All of them are
compared with the real plugins by ``python -m tests.oracle.hints``.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler.api.objects import DeviceClass, Namespace, Node, Pod
from scheduler.api.storage import STORAGE_KINDS
from scheduler.cache.cache import Cache
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.queueing_hint import Hint
from scheduler.profile.profile import Profile
from tests.support.core_run import default_profiles

QUEUE, SKIP = Hint.QUEUE, Hint.SKIP
R, A = EventResource, ActionType
KINDS: dict[str, Any] = {"Node": Node, "Pod": Pod, "Namespace": Namespace, "DeviceClass": DeviceClass, **STORAGE_KINDS}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def read(kind: str, raw: dict[str, Any] | None) -> Any:
    if raw is None:
        return None
    if kind in STORAGE_KINDS:
        raw = {"kind": kind, **raw}
    made = msgspec.convert(raw, KINDS[kind])
    return PodInfo(made) if kind == "Pod" else made


def pod(
    namespace: str = "default", labels: dict[str, str] | None = None, node: str = "", **spec: Any
) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": "p",
        "namespace": namespace,
        "uid": f"u-{namespace}-{node}",
        "labels": labels or {},
    }
    if node:
        spec["nodeName"] = node
    return {"metadata": metadata, "spec": {"schedulerName": "reprise", "containers": [{"name": "c"}], **spec}}


def asks(**requests: str) -> dict[str, Any]:
    named = {name.replace("_", "/").replace("EXAMPLE", "example.com"): amount for name, amount in requests.items()}
    return pod(containers=[{"name": "c", "resources": {"requests": named}}])


def node(labels: dict[str, str] | None = None, taints: Any = (), cordoned: bool = False, **has: str) -> dict[str, Any]:
    named = {name.replace("_", "/").replace("EXAMPLE", "example.com"): amount for name, amount in has.items()}
    return {
        "metadata": {"name": "n", "uid": "n", "labels": labels or {}},
        "spec": {"taints": list(taints), "unschedulable": cordoned},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10", **named}},
    }


def volume(**source: Any) -> list[dict[str, Any]]:
    return [{"name": "v", **source}]


CLAIM = {"persistentVolumeClaim": {"claimName": "data"}}
USES_CLAIM = pod(volumes=volume(**CLAIM))
META: dict[str, Any] = {"metadata": {"name": "x"}}
ACTIONS = {(False, True): A.ADD, (True, False): A.DELETE}


def hint(
    profile: Profile,
    plugin: str,
    waiting: dict[str, Any],
    kind: str,
    old: dict[str, Any] | None,
    new: dict[str, Any] | None,
    action: ActionType = A.UPDATE,
    *,
    target: bool = False,
    there: tuple[dict[str, Any], ...] = (),
    namespaces: tuple[Namespace, ...] = (),
) -> Hint:
    """The answer about one change; ``there``: pods that are on nodes meanwhile."""
    resource = {
        "Node": R.NODE,
        "Pod": R.TARGET_POD if target else R.ASSIGNED_POD,
        "Namespace": R.NAMESPACE,
        "DeviceClass": R.DEVICE_CLASS,
        "CSINode": R.CSI_NODE,
        "CSIDriver": R.CSI_DRIVER,
        "CSIStorageCapacity": R.CSI_STORAGE_CAPACITY,
        "StorageClass": R.STORAGE_CLASS,
        "PersistentVolume": R.PERSISTENT_VOLUME,
        "PersistentVolumeClaim": R.PERSISTENT_VOLUME_CLAIM,
        "VolumeAttachment": R.VOLUME_ATTACHMENT,
    }[kind]
    event = ClusterEvent(resource, ACTIONS.get((old is not None, new is not None), action))
    assert any(each.matches(event) for each in profile.events_of(plugin)), (
        f"{plugin} did not register for {event.label}"
    )
    cache = Cache(seed=1)
    cache.apply_node(read("Node", node()))
    for namespace in namespaces:
        cache.apply_namespace(namespace)
    for number, one in enumerate(there):
        metadata = {**one["metadata"], "uid": f"there{number}"}
        cache.apply_pod(read("Pod", {**one, "metadata": metadata}))
    return profile.queueing_hint(plugin, read("Pod", waiting), event, read(kind, old), read(kind, new), cache.table)


DEFAULT = default_profiles()["reprise"]


def ask(
    plugin: str, waiting: dict[str, Any], kind: str, old: Any, new: Any, action: ActionType = A.UPDATE, **more: Any
) -> Hint:
    return hint(DEFAULT, plugin, waiting, kind, old, new, action, **more)


def profile_with(**args: dict[str, Any]) -> Profile:
    """The default profile with other arguments of plugins, as the API names them."""
    entries = [{"name": name, "args": each} for name, each in args.items()]
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "reprise", "pluginConfig": entries}],
    }
    return default_profiles(document)["reprise"]


TAINT = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
SOFT = {**TAINT, "effect": "PreferNoSchedule"}
TOLERANT = pod(tolerations=[{"key": "dedicated", "operator": "Exists"}])
CORDON_TOLERANT = pod(tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}])
PORT = pod(containers=[{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}])
ON_IP = pod(
    node="n", containers=[{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80, "hostIP": "10.0.0.1"}]}]
)
OTHER_PORT = pod(node="n", containers=[{"name": "c", "ports": [{"containerPort": 81, "hostPort": 81}]}])


@pytest.mark.parametrize(
    ("plugin", "waiting", "old", "new", "action", "expected"),
    [
        ("NodeUnschedulable", pod(), None, node(), A.ADD, QUEUE),
        ("NodeUnschedulable", pod(), None, node(cordoned=True), A.ADD, SKIP),
        ("NodeUnschedulable", pod(), node(cordoned=True), node(), A.UPDATE_NODE_TAINT, QUEUE),
        ("NodeUnschedulable", pod(), node(), node(taints=[TAINT]), A.UPDATE_NODE_TAINT, SKIP),
        ("TaintToleration", pod(), None, node(), A.ADD, QUEUE),
        ("TaintToleration", pod(), None, node(taints=[TAINT]), A.ADD, SKIP),
        ("TaintToleration", TOLERANT, None, node(taints=[TAINT]), A.ADD, QUEUE),
        ("TaintToleration", pod(), node(taints=[TAINT]), node(), A.UPDATE_NODE_TAINT, QUEUE),
        ("TaintToleration", pod(), node(taints=[TAINT]), node(taints=[SOFT]), A.UPDATE_NODE_TAINT, QUEUE),
        ("TaintToleration", pod(), node(taints=[SOFT]), node(), A.UPDATE_NODE_TAINT, SKIP),
        ("NodeName", pod(), None, node(), A.ADD, QUEUE),
        ("NodePorts", PORT, None, node(), A.ADD, QUEUE),
        ("NodeAffinity", pod(nodeSelector={"a": "1"}), None, node({"a": "1"}), A.ADD, QUEUE),
        ("NodeAffinity", pod(nodeSelector={"a": "1"}), None, node({"a": "2"}), A.ADD, SKIP),
        ("NodeAffinity", pod(nodeSelector={"a": "1"}), node(), node({"a": "1"}), A.UPDATE_NODE_LABEL, QUEUE),
        ("NodeAffinity", pod(nodeSelector={"a": "1"}), node({"a": "1"}), node({"a": "1", "b": "2"}), A.UPDATE_NODE_LABEL, SKIP),
        ("NodeResourcesFit", asks(cpu="4"), None, node(), A.ADD, QUEUE),
        ("NodeResourcesFit", asks(cpu="4001m"), None, node(), A.ADD, SKIP),
        ("NodeResourcesFit", asks(EXAMPLE_gpu="1"), None, node(), A.ADD, SKIP),
        ("NodeResourcesFit", asks(EXAMPLE_gpu="1"), None, node(EXAMPLE_gpu="1"), A.ADD, QUEUE),
        ("NodeResourcesFit", asks(cpu="1"), None, node(pods="0"), A.ADD, SKIP),
        ("NodeResourcesFit", asks(cpu="1"), node(cpu="2"), node(), A.UPDATE_NODE_ALLOCATABLE, QUEUE),
        ("NodeResourcesFit", asks(cpu="1"), node(memory="4Gi"), node(), A.UPDATE_NODE_ALLOCATABLE, SKIP),
        ("NodeResourcesFit", asks(cpu="1"), node(pods="9"), node(), A.UPDATE_NODE_ALLOCATABLE, QUEUE),
        ("NodeResourcesFit", asks(cpu="8"), node(cpu="2"), node(), A.UPDATE_NODE_ALLOCATABLE, SKIP),
        ("NodeDeclaredFeatures", pod(), None, node(), A.ADD, QUEUE),
        ("VolumeRestrictions", USES_CLAIM, None, node(), A.ADD, QUEUE),
        ("VolumeBinding", USES_CLAIM, node(), node({"a": "1"}), A.UPDATE_NODE_LABEL, QUEUE),
        ("VolumeZone", USES_CLAIM, node(), node({"a": "1"}), A.UPDATE_NODE_LABEL, QUEUE),
    ],
)  # fmt: skip
def test_after_a_change_of_a_node(
    plugin: str, waiting: dict[str, Any], old: Any, new: Any, action: ActionType, expected: Hint
) -> None:
    assert ask(plugin, waiting, "Node", old, new, action) is expected


@pytest.mark.parametrize(
    ("plugin", "waiting", "gone", "expected"),
    [
        ("NodePorts", PORT, ON_IP, QUEUE),
        ("NodePorts", PORT, OTHER_PORT, SKIP),
        ("NodePorts", PORT, pod(node="n"), SKIP),
        ("NodePorts", PORT, PORT, SKIP),
        ("NodePorts", PORT, {**PORT, "status": {"nominatedNodeName": "n"}}, QUEUE),
        ("NodeResourcesFit", asks(cpu="1"), pod("elsewhere", node="n"), QUEUE),
        ("NodeResourcesFit", asks(cpu="1"), pod(), SKIP),
        ("VolumeRestrictions", USES_CLAIM, pod(node="n", volumes=volume(**CLAIM)), QUEUE),
        ("VolumeRestrictions", USES_CLAIM, pod("elsewhere", node="n", volumes=volume(**CLAIM)), SKIP),
        ("VolumeRestrictions", USES_CLAIM, pod(node="n"), SKIP),
        ("NodeVolumeLimits", USES_CLAIM, pod("elsewhere", node="n", volumes=volume(**CLAIM)), QUEUE),
        ("NodeVolumeLimits", USES_CLAIM, pod(node="n", volumes=volume(emptyDir={})), SKIP),
        ("NodeVolumeLimits", USES_CLAIM, USES_CLAIM, SKIP),
    ],
)
def test_after_a_pod_has_left_its_node(
    plugin: str, waiting: dict[str, Any], gone: dict[str, Any], expected: Hint
) -> None:
    assert ask(plugin, waiting, "Pod", gone, None) is expected


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        ({"gcePersistentDisk": {"pdName": "d"}}, {"gcePersistentDisk": {"pdName": "d", "readOnly": True}}, QUEUE),
        ({"gcePersistentDisk": {"pdName": "d", "readOnly": True}},) * 2 + (SKIP,),
        ({"awsElasticBlockStore": {"volumeID": "d"}},) * 2 + (QUEUE,),
        ({"rbd": {"monitors": ["a", "b"], "image": "i"}}, {"rbd": {"monitors": ["b"], "image": "i"}}, QUEUE),
        ({"rbd": {"monitors": ["a"], "image": "i"}}, {"rbd": {"monitors": ["b"], "image": "i"}}, SKIP),
    ],
)  # fmt: skip
def test_a_disk_that_a_pod_leaves_helps_who_cannot_share_it(mine: Any, theirs: Any, expected: Hint) -> None:
    waiting, gone = pod(volumes=volume(**mine)), pod(node="n", volumes=volume(**theirs))

    assert ask("VolumeRestrictions", waiting, "Pod", gone, None) is expected


def scaled(cpu: str, memory: str, name: str = "n") -> dict[str, Any]:
    return pod(node=name, containers=[{"name": "c", "resources": {"requests": {"cpu": cpu, "memory": memory}}}])


def test_a_pod_that_asks_for_less_helps_who_asks_for_the_same() -> None:
    before = scaled("2", "1Gi")

    for after, expected in ((scaled("1", "1Gi"), QUEUE), (scaled("2", "1Mi"), SKIP), (scaled("1", "1Gi", ""), SKIP)):
        assert ask("NodeResourcesFit", asks(cpu="1"), "Pod", before, after, A.UPDATE_POD_SCALE_DOWN) is expected


@pytest.mark.parametrize(
    ("plugin", "old", "new", "action", "expected"),
    [
        ("NodeUnschedulable", pod(), CORDON_TOLERANT, A.UPDATE_POD_TOLERATION, QUEUE),
        ("NodeUnschedulable", pod(), TOLERANT, A.UPDATE_POD_TOLERATION, SKIP),
        ("TaintToleration", pod(), CORDON_TOLERANT, A.UPDATE_POD_TOLERATION, QUEUE),
        ("NodeResourcesFit", asks(cpu="2"), asks(cpu="1"), A.UPDATE_POD_SCALE_DOWN, QUEUE),
        ("InterPodAffinity", pod(labels={"a": "1"}), pod(), A.UPDATE_POD_LABEL, QUEUE),
        ("SchedulingGates", pod(schedulingGates=[{"name": "g"}]), pod(), A.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, QUEUE),
        ("NodeDeclaredFeatures", pod(), pod(), A.UPDATE, SKIP),
        ("NodeDeclaredFeatures", pod(hostNetwork=True, hostUsers=False), pod(hostNetwork=True), A.UPDATE, QUEUE),
    ],
)  # fmt: skip
def test_after_a_change_of_the_pod_itself(
    plugin: str, old: dict[str, Any], new: dict[str, Any], action: ActionType, expected: Hint
) -> None:
    assert ask(plugin, new, "Pod", old, new, action, target=True) is expected


def sc(**fields: Any) -> dict[str, Any]:
    return {**META, **fields}


def csi_node(*drivers: dict[str, Any], **annotations: str) -> dict[str, Any]:
    return {"metadata": {"name": "n", "annotations": annotations}, "spec": {"drivers": list(drivers)}}


def limited(name: str, count: int) -> dict[str, Any]:
    return {"name": name, "allocatable": {"count": count}}


ZONE = "topology.kubernetes.io/zone"
MIGRATED = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}


def in_zones(zones: list[str] | None) -> dict[str, Any]:
    return {"allowedTopologies": [{"matchLabelExpressions": [{"key": ZONE, "values": zones}]}]}


def claim(name: str = "data", namespace: str = "default") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace}}


def pv(**labels: str) -> dict[str, Any]:
    return {"metadata": {"name": "pv", "labels": {ZONE: labels["zone"]} if labels else {}}}


EPHEMERAL = pod(volumes=volume(ephemeral={}))


@pytest.mark.parametrize(
    ("plugin", "waiting", "kind", "old", "new", "expected"),
    [
        ("VolumeRestrictions", USES_CLAIM, "PersistentVolumeClaim", None, claim(), QUEUE),
        ("VolumeRestrictions", USES_CLAIM, "PersistentVolumeClaim", None, claim("other"), SKIP),
        ("VolumeRestrictions", USES_CLAIM, "PersistentVolumeClaim", None, claim(namespace="other"), SKIP),
        ("VolumeRestrictions", EPHEMERAL, "PersistentVolumeClaim", None, claim("p-v"), SKIP),
        ("NodeVolumeLimits", USES_CLAIM, "PersistentVolumeClaim", None, claim(), QUEUE),
        ("NodeVolumeLimits", EPHEMERAL, "PersistentVolumeClaim", None, claim("p-v"), QUEUE),
        ("NodeVolumeLimits", EPHEMERAL, "PersistentVolumeClaim", None, claim("p-v", "other"), SKIP),
        ("NodeVolumeLimits", USES_CLAIM, "CSINode", None, csi_node(), QUEUE),
        ("NodeVolumeLimits", USES_CLAIM, "CSINode", csi_node(limited("d", 1)), csi_node(limited("d", 2)), QUEUE),
        ("NodeVolumeLimits", USES_CLAIM, "CSINode", csi_node(limited("d", 2)), csi_node(limited("d", 1)), SKIP),
        ("NodeVolumeLimits", USES_CLAIM, "CSINode", csi_node(limited("d", 2)), csi_node(limited("d", 2)), SKIP),
        ("NodeVolumeLimits", USES_CLAIM, "VolumeAttachment", sc(spec={"attacher": "d"}), None, QUEUE),
        ("VolumeBinding", USES_CLAIM, "StorageClass", None, sc(), QUEUE),
        ("VolumeBinding", USES_CLAIM, "StorageClass", sc(), sc(**in_zones(["a"])), QUEUE),
        ("VolumeBinding", USES_CLAIM, "StorageClass", sc(), sc(allowedTopologies=[]), SKIP),
        ("VolumeBinding", USES_CLAIM, "StorageClass", sc(**in_zones(None)), sc(**in_zones([])), SKIP),
        ("VolumeBinding", EPHEMERAL, "PersistentVolumeClaim", claim("p-v"), claim("p-v"), QUEUE),
        ("VolumeBinding", USES_CLAIM, "PersistentVolumeClaim", claim("other"), claim("other"), SKIP),
        ("VolumeBinding", USES_CLAIM, "PersistentVolume", pv(), pv(), QUEUE),
        ("VolumeBinding", USES_CLAIM, "CSINode", None, csi_node(), QUEUE),
        ("VolumeBinding", USES_CLAIM, "CSINode", csi_node(), csi_node(**MIGRATED), QUEUE),
        ("VolumeBinding", USES_CLAIM, "CSINode", csi_node(), csi_node(limited("d", 1)), SKIP),
        ("VolumeBinding", USES_CLAIM, "CSIDriver", sc(spec={"storageCapacity": True}), sc(spec={"storageCapacity": True}), SKIP),
        ("VolumeBinding", pod(), "CSIDriver", sc(spec={"storageCapacity": True}), sc(), SKIP),
        ("VolumeBinding", pod(volumes=volume(csi={"driver": "x"})), "CSIDriver", sc(spec={"storageCapacity": True}), sc(), QUEUE),
        ("VolumeBinding", USES_CLAIM, "CSIStorageCapacity", None, sc(), QUEUE),
        ("VolumeBinding", USES_CLAIM, "CSIStorageCapacity", sc(), sc(capacity="1Gi"), QUEUE),
        ("VolumeBinding", USES_CLAIM, "CSIStorageCapacity", sc(capacity="1Gi"), sc(capacity="2Gi"), QUEUE),
        ("VolumeBinding", USES_CLAIM, "CSIStorageCapacity", sc(capacity="1Gi"), sc(capacity="1024Mi"), SKIP),
        ("VolumeBinding", USES_CLAIM, "CSIStorageCapacity", sc(capacity="2Gi"), sc(capacity="2Gi", maximumVolumeSize="1Gi"), SKIP),
        ("VolumeZone", USES_CLAIM, "StorageClass", None, sc(volumeBindingMode="WaitForFirstConsumer"), QUEUE),
        ("VolumeZone", USES_CLAIM, "StorageClass", None, sc(volumeBindingMode="Immediate"), SKIP),
        ("VolumeZone", USES_CLAIM, "PersistentVolumeClaim", claim(), claim(), QUEUE),
        ("VolumeZone", EPHEMERAL, "PersistentVolumeClaim", claim("p-v"), claim("p-v"), SKIP),
        ("VolumeZone", USES_CLAIM, "PersistentVolume", None, pv(), QUEUE),
        ("VolumeZone", USES_CLAIM, "PersistentVolume", pv(zone="a"), pv(zone="a__b"), QUEUE),
        ("VolumeZone", USES_CLAIM, "PersistentVolume", pv(zone="a__b"), pv(zone="b__a"), SKIP),
        ("NodeResourcesFit", asks(EXAMPLE_gpu="1"), "DeviceClass", None, sc(spec={"extendedResourceName": "example.com/gpu"}), QUEUE),
        ("NodeResourcesFit", asks(cpu="1"), "DeviceClass", None, sc(spec={"extendedResourceName": "example.com/gpu"}), SKIP),
        ("NodeResourcesFit", asks(EXAMPLE_gpu="1"), "DeviceClass", sc(), sc(spec={"extendedResourceName": "example.com/gpu"}), QUEUE),
        ("NodeResourcesFit", asks(EXAMPLE_gpu="1"), "DeviceClass", sc(spec={"extendedResourceName": ""}), sc(), SKIP),
    ],
)  # fmt: skip
def test_after_a_change_of_another_object(
    plugin: str, waiting: dict[str, Any], kind: str, old: Any, new: Any, expected: Hint
) -> None:
    assert ask(plugin, waiting, kind, old, new) is expected


def test_an_attachment_of_the_driver_of_an_inline_volume_counts() -> None:
    waiting = pod(volumes=volume(gcePersistentDisk={"pdName": "d"}))

    for attacher, expected in (("pd.csi.storage.gke.io", QUEUE), ("ebs.csi.aws.com", SKIP)):
        assert ask("NodeVolumeLimits", waiting, "VolumeAttachment", sc(spec={"attacher": attacher}), None) is expected


WEB = {"app": "web"}


def spread(**more: Any) -> dict[str, Any]:
    each = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": WEB},
    }
    return pod(labels=WEB, topologySpreadConstraints=[{**each, **more}])


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, pod(labels=WEB, node="n"), QUEUE),
        (None, pod(labels={"app": "db"}, node="n"), SKIP),
        (None, pod("other", WEB, node="n"), SKIP),
        (None, pod(labels=WEB), SKIP),
        (pod(labels=WEB, node="n"), None, QUEUE),
        (pod(labels=WEB, node="n"), pod(labels={**WEB, "v": "2"}, node="n"), SKIP),
        (pod(labels=WEB, node="n"), pod(labels={"v": "2"}, node="n"), QUEUE),
    ],
)
def test_spread_pods_look_at_pods_that_their_constraints_count(old: Any, new: Any, expected: Hint) -> None:
    assert ask("PodTopologySpread", spread(), "Pod", old, new, A.UPDATE_POD_LABEL) is expected


@pytest.mark.parametrize(
    ("old", "new", "action", "expected"),
    [
        (None, node({ZONE: "a"}), A.ADD, QUEUE),
        (None, node(), A.ADD, SKIP),
        (node({ZONE: "a"}), None, A.DELETE, QUEUE),
        (node({ZONE: "a"}), node({ZONE: "b"}), A.UPDATE_NODE_LABEL, QUEUE),
        (node({ZONE: "a"}), node(), A.UPDATE_NODE_LABEL, QUEUE),
        (node({ZONE: "a"}), node({ZONE: "a", "x": "1"}), A.UPDATE_NODE_LABEL, SKIP),
        (node({ZONE: "a"}), node({ZONE: "a"}, [TAINT]), A.UPDATE_NODE_TAINT, QUEUE),
        (node(), node(taints=[TAINT]), A.UPDATE_NODE_TAINT, SKIP),
    ],
)
def test_spread_pods_look_at_nodes_that_form_domains(old: Any, new: Any, action: ActionType, expected: Hint) -> None:
    assert ask("PodTopologySpread", spread(), "Node", old, new, action) is expected


def test_a_toleration_helps_a_spread_pod_only_where_taints_count() -> None:
    for policy, expected in (("Honor", QUEUE), ("Ignore", SKIP)):
        old, new = spread(nodeTaintsPolicy=policy), spread(nodeTaintsPolicy=policy)
        new["spec"]["tolerations"] = [{"operator": "Exists"}]
        assert ask("PodTopologySpread", new, "Pod", old, new, A.UPDATE_POD_TOLERATION, target=True) is expected
    old, new = spread(nodeTaintsPolicy="Honor"), spread(nodeTaintsPolicy="Honor")
    new["metadata"] = {**new["metadata"], "labels": {**WEB, "v": "2"}}
    assert ask("PodTopologySpread", new, "Pod", old, new, A.UPDATE_POD_LABEL, target=True) is SKIP


def near(*selectors: dict[str, str], kind: str = "podAffinity", key: str = ZONE, **term: Any) -> dict[str, Any]:
    terms = [{"topologyKey": key, "labelSelector": {"matchLabels": each}, **term} for each in selectors]
    return pod(labels={"app": "mine"}, affinity={kind: {REQUIRED: terms}})


def apart(*selectors: dict[str, str], **term: Any) -> dict[str, Any]:
    return near(*selectors, kind="podAntiAffinity", **term)


def at(made: dict[str, Any], name: str = "n") -> dict[str, Any]:
    return {**made, "spec": {**made["spec"], "nodeName": name}}


DB_ON, WEB_ON = pod(labels={"app": "db"}, node="n"), pod(labels=WEB, node="n")


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        (near(WEB), None, WEB_ON, QUEUE),
        (near(WEB), None, DB_ON, SKIP),
        (near(WEB), None, pod(labels=WEB), SKIP),
        (near(WEB, {"v": "1"}), None, WEB_ON, SKIP),
        (near(WEB), WEB_ON, None, SKIP),
        (near(WEB), DB_ON, WEB_ON, QUEUE),
        (apart(WEB), WEB_ON, None, QUEUE),
        (apart(WEB), None, WEB_ON, SKIP),
        (apart(WEB), WEB_ON, DB_ON, QUEUE),
        (apart(WEB), DB_ON, None, SKIP),
        (pod(labels=WEB), at(apart(WEB)), None, QUEUE),
        (pod(labels={"app": "db"}), at(apart(WEB)), None, SKIP),
        (pod("other", WEB), at(apart(WEB)), None, SKIP),
    ],
)
def test_affinity_looks_at_pods_that_terms_are_about(waiting: Any, old: Any, new: Any, expected: Hint) -> None:
    assert ask("InterPodAffinity", waiting, "Pod", old, new, A.UPDATE_POD_LABEL) is expected


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        (near(WEB), None, node({ZONE: "a"}), QUEUE),
        (near(WEB), None, node(), SKIP),
        (near(WEB), node(), node({ZONE: "a"}), QUEUE),
        (near(WEB), node({ZONE: "a"}), node({ZONE: "b"}), QUEUE),
        (near(WEB), node({ZONE: "a"}), node(), SKIP),
        (apart(WEB), None, node(), QUEUE),
        (apart(WEB), node(), node({ZONE: "a"}), SKIP),
        (apart(WEB), node({ZONE: "a"}), node(), QUEUE),
        (apart(WEB), node({ZONE: "a"}), node({ZONE: "b"}), QUEUE),
        (pod(), None, node({ZONE: "a"}), SKIP),
    ],
)
def test_affinity_looks_at_the_domains_of_nodes(waiting: Any, old: Any, new: Any, expected: Hint) -> None:
    assert ask("InterPodAffinity", waiting, "Node", old, new, A.UPDATE_NODE_LABEL) is expected


# What kube-scheduler misses.


def test_a_node_that_meets_the_added_affinity_from_now_on_helps_a_pod_that_it_met_before() -> None:
    added = {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "pool", "operator": "Exists"}]}]
        }
    }
    profile = profile_with(NodeAffinity={"addedAffinity": added})

    assert hint(profile, "NodeAffinity", pod(), "Node", node(), node({"pool": "x"}), A.UPDATE_NODE_LABEL) is QUEUE
    assert hint(profile, "NodeAffinity", pod(), "Node", node(), node({"a": "b"}), A.UPDATE_NODE_LABEL) is SKIP
    assert hint(profile, "NodeAffinity", pod(), "Node", None, node()) is SKIP


def test_a_node_need_not_have_resources_that_are_ignored() -> None:
    profile = profile_with(NodeResourcesFit={"ignoredResources": ["example.com/gpu"]})

    assert hint(profile, "NodeResourcesFit", asks(EXAMPLE_gpu="1"), "Node", None, node()) is QUEUE


def test_a_limit_that_falls_away_and_a_new_driver_help() -> None:
    for old, new in (
        (csi_node(limited("d", 1)), csi_node({"name": "d"})),
        (csi_node(limited("d", 1)), csi_node()),
        (csi_node(), csi_node({"name": "d"})),
    ):
        assert ask("NodeVolumeLimits", USES_CLAIM, "CSINode", old, new) is QUEUE
    assert ask("NodeVolumeLimits", USES_CLAIM, "CSINode", csi_node({"name": "d"}), csi_node({"name": "d"})) is SKIP


def test_an_attachment_helps_a_pod_with_an_ephemeral_volume() -> None:
    assert ask("NodeVolumeLimits", EPHEMERAL, "VolumeAttachment", sc(spec={"attacher": "d"}), None) is QUEUE


def test_a_driver_that_no_longer_tells_its_capacity_helps_a_pod_with_a_claim() -> None:
    assert ask("VolumeBinding", USES_CLAIM, "CSIDriver", sc(spec={"storageCapacity": True}), sc()) is QUEUE


def test_a_namespace_selector_means_the_namespaces_that_it_selects() -> None:
    team = Namespace(metadata=msgspec.convert({"name": "blue", "labels": {"team": "x"}}, type(Namespace().metadata)))
    waiting = apart(WEB, namespaceSelector={"matchLabels": {"team": "x"}})
    for namespace, expected in (("blue", QUEUE), ("red", SKIP)):
        gone = pod(namespace, WEB, node="n")
        assert ask("InterPodAffinity", waiting, "Pod", gone, None, namespaces=(team,)) is expected


def test_the_first_of_its_kind_may_come_again_when_the_last_one_goes() -> None:
    first = near({"app": "mine"})
    gone = pod(labels={"app": "mine"}, node="n")

    assert ask("InterPodAffinity", first, "Pod", gone, None) is QUEUE
    assert ask("InterPodAffinity", first, "Pod", gone, DB_ON, A.UPDATE_POD_LABEL) is QUEUE
    assert ask("InterPodAffinity", first, "Node", node({ZONE: "a"}), node(), A.UPDATE_NODE_LABEL) is QUEUE


def test_each_term_of_anti_affinity_counts_for_itself() -> None:
    waiting = apart(WEB, {"v": "1"})
    before, after = pod(labels={**WEB, "v": "1"}, node="n"), pod(labels={"v": "1"}, node="n")

    assert ask("InterPodAffinity", waiting, "Pod", before, after, A.UPDATE_POD_LABEL) is QUEUE


def test_a_node_helps_against_the_anti_affinity_of_others() -> None:
    guarded, guard = pod(labels=WEB), at(apart(WEB))

    assert ask("InterPodAffinity", guarded, "Node", None, node(), there=(guard,)) is QUEUE
    assert (
        ask("InterPodAffinity", guarded, "Node", node({ZONE: "a"}), node(), A.UPDATE_NODE_LABEL, there=(guard,))
        is QUEUE
    )
    assert ask("InterPodAffinity", pod(), "Node", None, node(), there=(guard,)) is SKIP


# One pod answers for others that are alike.


def likeness(profile: Profile, raw: dict[str, Any], *plugins: str) -> Any:
    return profile.likeness(read("Pod", raw), None, plugins)


def test_pods_that_differ_in_what_a_hint_looks_at_are_not_alike() -> None:
    for plugin, one, other in (
        ("NodeResourcesFit", asks(cpu="1"), asks(cpu="2")),
        ("NodeResourcesFit", asks(cpu="1"), asks(cpu="1", EXAMPLE_gpu="0")),
        ("TaintToleration", pod(), TOLERANT),
        ("NodeAffinity", pod(), pod(nodeSelector={"a": "1"})),
        ("NodePorts", pod(), PORT),
        ("InterPodAffinity", pod(labels=WEB), pod()),
        ("InterPodAffinity", pod("a"), pod("b")),
        ("PodTopologySpread", spread(), spread(topologyKey="rack")),
    ):
        assert likeness(DEFAULT, one, plugin) != likeness(DEFAULT, other, plugin)


def test_pods_that_differ_in_nothing_that_the_hints_look_at_are_alike() -> None:
    one, other = pod(labels={"a": "1"}, priority=3), pod("elsewhere", {"b": "2"})
    other["metadata"]["uid"] = "another"

    assert likeness(DEFAULT, one, "NodeResourcesFit", "TaintToleration") == likeness(
        DEFAULT, other, "NodeResourcesFit", "TaintToleration"
    )


def test_a_pod_with_claims_answers_for_itself_to_plugins_of_volumes_only() -> None:
    assert likeness(DEFAULT, USES_CLAIM, "VolumeBinding") == USES_CLAIM["metadata"]["uid"]
    assert likeness(DEFAULT, USES_CLAIM, "NodeAffinity") == likeness(DEFAULT, pod(), "NodeAffinity")


def test_default_constraints_that_are_hard_tell_pods_by_what_a_selector_is_deduced_from() -> None:
    hard = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    profile = profile_with(PodTopologySpread={"defaultingType": "List", "defaultConstraints": [hard]})
    one, other = pod(labels=WEB), pod()

    assert likeness(profile, one, "PodTopologySpread") != likeness(profile, other, "PodTopologySpread")
    assert likeness(DEFAULT, one, "PodTopologySpread") == likeness(DEFAULT, other, "PodTopologySpread")
