"""One volume plugin on a few nodes and objects of storage."""

from collections.abc import Iterable

from scheduler.api.objects import Node, Pod
from scheduler.api.storage import StorageObject
from scheduler.cache.cache import Cache
from scheduler.framework.plugin import PreFilterPlugin
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Status


def cluster_of(nodes: Iterable[Node], pods: Iterable[Pod] = (), storage: Iterable[StorageObject] = ()) -> Cache:
    """A cache of these nodes, the pods that run on them, and the objects."""
    cache = Cache(seed=1)
    for node in nodes:
        cache.apply_node(node)
    for pod in pods:
        assert pod.spec.node_name
        cache.apply_pod(PodInfo(pod))
    for subject in storage:
        cache.apply_storage_object(subject)
    cache.validate()
    return cache


def pre_filtered(plugin: PreFilterPlugin, pod: Pod, cache: Cache) -> Status:
    """What PreFilter says of the pod."""
    return plugin.pre_filter({}, PodInfo(pod), cache.table.columns(plugin)).status
