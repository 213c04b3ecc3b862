"""The burst: 2,000 pods of ten shapes come at once to 200 nodes, while somebody else binds 220 pods to the same nodes."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.support.api_client import METADATA_ONLY, ApiClient
from tests.support.control_plane import ControlPlane
from tests.support.kwok import Kwok, create_nodes
from tests.support.manifests import node_manifest, pod_manifest
from tests.support.plain_account import Version, version_of
from tests.support.reprise_process import RepriseProcess
from tests.support.resources import EVENTS, NODES, PODS, Object
from tests.support.watch import Watch, WatchEvent

NODE_COUNT, POD_COUNT, FOREIGN_COUNT, BYSTANDER_COUNT = 200, 2000, 220, 40
BOUND_SECONDS = 90.0
_BATCH_TAINT = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}
_SPOT_TAINT = {"key": "spot", "value": "true", "effect": "PreferNoSchedule"}
_SAMPLE = re.compile(r"^(\w+){([^}]*)} (\S+)$", re.MULTILINE)


@dataclass
class Burst:
    """What came of it, as the API server's own watches, lists and counters tell."""

    nodes: list[Object] = field(default_factory=list)
    made: dict[str, Object] = field(default_factory=dict)
    """All pods as they were when created, by uid: ours, the foreign binder's, and those of nobody."""
    pods: dict[str, Object] = field(default_factory=dict)
    """All pods at the end."""
    history: list[WatchEvent] = field(default_factory=list)
    """Every event of every pod."""
    originals: dict[Version, Object] = field(default_factory=dict)
    """Every state of every pod and node."""
    events: list[Object] = field(default_factory=list)
    binding_answers: Counter[str] = field(default_factory=Counter)
    """Requests to bind a pod, whoever's, by the server's answer."""
    metrics: dict[str, float] = field(default_factory=dict)
    """The scheduler's own counters just before its end, by series."""
    story: Path = Path()
    hash_seed: str = "0"
    """PYTHONHASHSEED of the scheduler."""
    exit_code: int | None = None
    stray_lines: list[str] = field(default_factory=list)
    create_seconds: float = 0.0

    def of(self, scheduler_name: str) -> dict[str, Object]:
        """The pods of one scheduler at the end, by uid."""
        return {uid: pod for uid, pod in self.pods.items() if pod["spec"]["schedulerName"] == scheduler_name}

    def assignments(self) -> dict[str, list[tuple[str, int, float]]]:
        """By pod, each time its node changed: to which, at which version of the cluster, and when it was seen."""
        found: dict[str, list[tuple[str, int, float]]] = {uid: [] for uid in self.made}
        for event in self.history:
            metadata, node = event.object["metadata"], event.object["spec"].get("nodeName")
            steps = found[metadata["uid"]]
            if node and (not steps or steps[-1][0] != node):
                steps.append((node, int(metadata["resourceVersion"]), event.at))
        return found


def burst_nodes() -> Iterator[Object]:
    """Nodes of several sizes; some tainted, some cordoned, some that take few pods."""
    for index in range(NODE_COUNT):
        size = {"cpu": ("4", "8", "16")[index % 3], "memory": ("8Gi", "16Gi", "32Gi")[index // 3 % 3]}
        taints = {3: [_BATCH_TAINT], 7: [_SPOT_TAINT]}.get(index % 10, [])
        yield node_manifest(
            f"node-{index:03}",
            allocatable={**size, "pods": "8" if index % 25 == 0 else "110"},
            labels={"disk": "ssd" if index % 2 else "hdd"},
            zone=f"zone-{index % 4}",
            taints=taints,
            unschedulable=index in (50, 150),
        )


def burst_pod(index: int) -> Object:
    """A pod of one of ten shapes."""
    name, shape = f"pod-{index:04}", index % 10
    if shape == 0:
        return pod_manifest(name, requests={"cpu": "500m", "memory": "512Mi"}, nodeSelector={"disk": "ssd"})
    if shape == 1:
        tolerations = [{"key": "dedicated", "operator": "Equal", "value": "batch", "effect": "NoSchedule"}]
        return pod_manifest(name, requests={"cpu": "2", "memory": "1Gi"}, tolerations=tolerations)
    if shape == 2:
        zones = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-1", "zone-2"]}
        required = {"nodeSelectorTerms": [{"matchExpressions": [zones]}]}
        return pod_manifest(name, affinity=_node_affinity(requiredDuringSchedulingIgnoredDuringExecution=required))
    if shape == 3:
        zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-3"]}
        preferred = [{"weight": 7, "preference": {"matchExpressions": [zone]}}]
        return pod_manifest(name, affinity=_node_affinity(preferredDuringSchedulingIgnoredDuringExecution=preferred))
    if shape == 4:
        return pod_manifest(name, requests={})
    if shape == 5 and index % 20 == 5:
        pod = pod_manifest(name)
        pod["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 9000}]
        return pod
    requests = {"cpu": ("250m", "500m", "1")[index % 3], "memory": ("256Mi", "1Gi", "3Gi")[index // 10 % 3]}
    return pod_manifest(name, requests=requests)


def run_burst(control_plane: ControlPlane) -> Burst:
    """Run it on an empty cluster; the scheduler starts before the first pod and is asked to end after the last bind."""
    admin = control_plane.client()
    burst = Burst()
    strangers = [
        *(
            pod_manifest(f"foreign-{i:03}", scheduler_name="foreign", requests={"cpu": "1"})
            for i in range(FOREIGN_COUNT)
        ),
        *(pod_manifest(f"bystander-{i:02}", scheduler_name="default-scheduler") for i in range(BYSTANDER_COUNT)),
    ]
    before = binding_answers(admin)
    with Kwok(control_plane), admin.watch(NODES) as nodes, admin.watch(PODS) as pods:
        create_nodes(control_plane, burst_nodes())
        burst.made = {pod["metadata"]["uid"]: pod for pod in admin.create_all(strangers)}
        environment = {"PYTHONHASHSEED": burst.hash_seed}
        with RepriseProcess(control_plane, seed=20, tells_story=True, environment=environment) as reprise:
            with ThreadPoolExecutor(1) as somebody:
                foreign = somebody.submit(_bind_foreign, control_plane.client("foreign-binder"), pods)
                made = admin.create_all(burst_pod(index) for index in range(POD_COUNT))
            foreign.result()
            burst.made |= {pod["metadata"]["uid"]: pod for pod in made}
            binds = Binds()
            pods.wait_until(
                lambda watch: binds.count(watch) == POD_COUNT, seconds=BOUND_SECONDS, what="2,000 pods are bound"
            )
            pods.wait_until(_all_run, seconds=BOUND_SECONDS, what="every bound pod is Running")
            reprise.wait_until(lambda: _told(admin, reprise) >= POD_COUNT, seconds=30, what="every bind has its Event")
            burst.metrics = series(reprise.page("/metrics").body.decode())
            burst.exit_code = reprise.stop()
            reprise.lines()
            burst.stray_lines = reprise.stray_lines
            burst.story = reprise.story
        burst.history, burst.pods = list(pods.events), dict(pods.objects)
        burst.nodes = list(nodes.objects.values())
        burst.originals = {version_of(event.object): event.object for event in (*pods.events, *nodes.events)}
    burst.events = admin.list_objects(EVENTS)
    burst.binding_answers = binding_answers(admin) - before
    return burst


def binding_answers(client: ApiClient) -> Counter[str]:
    """How many requests to bind a pod the API server has answered since it started, by status code."""
    found: Counter[str] = Counter()
    for name, labels, value in _SAMPLE.findall(client.text("/metrics")):
        if name == "apiserver_request_total" and 'resource="pods"' in labels and 'subresource="binding"' in labels:
            found[re.findall(r'code="(\d+)"', labels)[0]] += int(float(value))
    return found


def series(exposition: str) -> dict[str, float]:
    """The samples of a page of metrics, by name and labels as they are written."""
    samples = (line.rpartition(" ") for line in exposition.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, _, value in samples}


class Binds:
    """The binds of one scheduler's pods as a watch has shown them; looks at each event once."""

    def __init__(self, scheduler_name: str = "reprise") -> None:
        self.nodes: dict[str, str] = {}
        """Node by the pod's uid, in the order they came."""
        self._scheduler_name = scheduler_name
        self._next = 0

    def count(self, watch: Watch) -> int:
        """How many there are by now; for `wait_until`."""
        for event in watch.events[self._next :]:
            spec = event.object["spec"]
            if "nodeName" in spec and spec["schedulerName"] == self._scheduler_name:
                self.nodes[event.object["metadata"]["uid"]] = spec["nodeName"]
        self._next = len(watch.events)
        return len(self.nodes)


def _bind_foreign(binder: ApiClient, pods: Watch) -> None:
    """Bind each foreign pod to a node that one of our pods has just been bound to."""
    binds = Binds()
    for index in range(FOREIGN_COUNT):
        pods.wait_until(partial(_has_more, binds, index), what="our next bind")
        binder.bind("default", f"foreign-{index:03}", list(binds.nodes.values())[index])


def _has_more(binds: Binds, than: int, watch: Watch) -> bool:
    return binds.count(watch) > than


def _all_run(watch: Watch) -> bool:
    return all(pod["status"]["phase"] == "Running" for pod in watch.objects.values() if "nodeName" in pod["spec"])


def _told(client: ApiClient, reprise: RepriseProcess) -> float:
    """Events that were written or dropped."""
    dropped = series(reprise.page("/metrics").body.decode())["scheduler_events_dropped_total"]
    page = client.call("GET", EVENTS.path(), query={"limit": 1}, accept=METADATA_ONLY)
    written: int = len(page["items"]) + page["metadata"].get("remainingItemCount", 0)
    return dropped + written


def _node_affinity(**rules: Mapping[str, object] | list[Object]) -> Object:
    return {"nodeAffinity": rules}
