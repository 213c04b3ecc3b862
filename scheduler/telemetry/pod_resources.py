"""What each pod asks for and may use (kube-scheduler 1.37: /metrics/resources)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from scheduler.api.objects import Pod
from scheduler.api.pod_requests import pod_amounts, pod_limits
from scheduler.api.quantity import QuantityError
from scheduler.api.resources import CPU, MEMORY

LABELS = ["namespace", "pod", "node", "scheduler", "priority", "resource", "unit"]
_BYTES = (MEMORY, "storage", "ephemeral-storage")
_HUGE_PAGES = "hugepages-"
_ATTACHABLE = "attachable-volumes-"


class PodResourcesCollector(Collector):
    """Of the pods that there are when it collects; those that have ended are not to be among them."""

    def __init__(self, pods: Callable[[], Iterable[Pod]]) -> None:
        self._pods = pods

    def collect(self) -> Iterator[Metric]:
        pods = list(self._pods())
        yield _family(
            "kube_pod_resource_request", "What the pod asks for.", pods, lambda pod: pod_amounts(pod).requests
        )
        yield _family("kube_pod_resource_limit", "What the pod may use at most.", pods, pod_limits)


def _family(name: str, text: str, pods: Iterable[Pod], amounts_of: Callable[[Pod], Mapping[str, int]]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=LABELS)
    for pod in pods:
        try:
            amounts = amounts_of(pod)
        except QuantityError:
            continue  # it has been complained of
        spec, metadata = pod.spec, pod.metadata
        priority = "" if spec.priority is None else str(spec.priority)
        for resource, amount in amounts.items():
            if amount:
                value = amount / 1000 if resource == CPU else float(amount)
                unit = _unit(resource)
                family.add_metric(
                    [metadata.namespace, metadata.name, spec.node_name, spec.scheduler_name, priority, resource, unit],
                    value,
                )
    return family


def _unit(resource: str) -> str:
    if resource == CPU:
        return "cores"
    if resource in _BYTES or resource.startswith(_HUGE_PAGES):
        return "bytes"
    return "integer" if resource.startswith(_ATTACHABLE) else ""
