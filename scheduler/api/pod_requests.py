"""What a pod asks for: containers, sidecars, init containers, pod-level requests, overhead and in-place resizes.

Every figure is summed in exact units and rounded once (component-helpers 0.37: resource.PodRequests).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from scheduler.api.objects import Container, ContainerStatus, Pod, ResourceList
from scheduler.api.quantity import nano, nano_amount
from scheduler.api.resources import CPU, MEMORY, is_pod_level

Requests: TypeAlias = dict[str, int]
"""Amount by resource name: cpu in milli, every other in whole units. A resource that nobody asks for has no key."""

DEFAULT_MILLI_CPU = 100
DEFAULT_MEMORY = 200 * 1024 * 1024

_Nanos: TypeAlias = dict[str, int]
_DEFAULTS: _Nanos = {CPU: DEFAULT_MILLI_CPU * 10**6, MEMORY: DEFAULT_MEMORY * 10**9}
_NO_DEFAULTS: _Nanos = {}


def _nanos(resources: ResourceList | None) -> _Nanos:
    return {name: nano(quantity) for name, quantity in resources.items()} if resources else {}


def _add(total: _Nanos, more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: _Nanos, more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        if name not in total or amount > total[name]:
            total[name] = amount


def _maximum(lists: Iterable[Mapping[str, int]]) -> _Nanos:
    result: _Nanos = {}
    for resources in lists:
        _raise_to(result, resources)
    return result


def resize_is_infeasible(pod: Pod) -> bool:
    """The first PodResizePending condition says so: the spec's requests do not count then."""
    for condition in pod.status.conditions or ():
        if condition.type == "PodResizePending":
            return condition.reason == "Infeasible"
    return False


def _aggregate(
    pod: Pod, of_container: Mapping[str, _Nanos] | None, defaults: Mapping[str, int]
) -> _Nanos:
    """Containers and sidecars run together; an init container runs beside the sidecars started before it."""

    def resources_of(container: Container) -> _Nanos:
        found = (
            _nanos(container.resources.requests) if of_container is None else dict(of_container.get(container.name, {}))
        )
        for name, amount in defaults.items():
            found.setdefault(name, amount)
        return found

    running: _Nanos = {}
    for container in pod.spec.containers:
        _add(running, resources_of(container))
    sidecars: _Nanos = {}
    starting: _Nanos = {}
    for container in pod.spec.init_containers or ():
        resources = resources_of(container)
        if container.restart_policy == "Always":
            _add(running, resources)
            _add(sidecars, resources)
            _raise_to(starting, sidecars)
        else:
            _add(resources, sidecars)
            _raise_to(starting, resources)
    _raise_to(running, starting)
    return running


def _statuses(pod: Pod) -> dict[str, ContainerStatus]:
    found: dict[str, ContainerStatus] = {}
    for status in (*(pod.status.container_statuses or ()), *(pod.status.init_container_statuses or ())):
        found.setdefault(status.name, status)
    return found


def _with_status(pod: Pod, defaults: Mapping[str, int]) -> _Nanos:
    """The maximum of what is asked for, allocated and in effect, a resource at a time."""
    infeasible = resize_is_infeasible(pod)
    whole = pod.status.resources
    if pod.status.allocated_resources is not None and whole is not None and whole.requests is not None:
        allocated, actuated = _nanos(pod.status.allocated_resources), _nanos(whole.requests)
    else:
        statuses = _statuses(pod)
        allocated_by_name: dict[str, _Nanos] = {}
        actuated_by_name: dict[str, _Nanos] = {}
        for container in (*pod.spec.containers, *(pod.spec.init_containers or ())):
            status = statuses.get(container.name)
            spec = None if infeasible else container.resources.requests
            granted = status.allocated_resources if status and status.allocated_resources is not None else spec
            effective = status.resources.requests if status and status.resources is not None else None
            allocated_by_name[container.name] = _nanos(granted)
            actuated_by_name[container.name] = _nanos(effective if effective is not None else granted)
        allocated = _aggregate(pod, allocated_by_name, defaults)
        actuated = _aggregate(pod, actuated_by_name, defaults)
    counted = [actuated, allocated]
    if not infeasible:
        counted.insert(0, _aggregate(pod, None, defaults))
    return _maximum(counted)


def has_pod_level_requests(pod: Pod) -> bool:
    resources = pod.spec.resources
    return resources is not None and any(is_pod_level(name) for name in resources.requests or ())


def _pod_level(pod: Pod, use_status: bool) -> _Nanos:
    assert pod.spec.resources is not None
    spec = _nanos(pod.spec.resources.requests)
    if not use_status or pod.status.resources is None:
        return spec
    return _maximum(
        (
            {} if resize_is_infeasible(pod) else spec,
            _nanos(pod.status.resources.requests),
            _nanos(pod.status.allocated_resources),
        )
    )


def _requests(pod: Pod, use_status: bool, pod_level: bool, defaults: Mapping[str, int]) -> Requests:
    total = _with_status(pod, defaults) if use_status and _has_resize_status(pod) else _aggregate(pod, None, defaults)
    if pod_level and has_pod_level_requests(pod):
        for name, amount in _pod_level(pod, use_status).items():
            if is_pod_level(name):
                total[name] = amount
    _add(total, _nanos(pod.spec.overhead))
    return {name: nano_amount(name, amount) for name, amount in total.items()}


def _has_resize_status(pod: Pod) -> bool:
    # Without any of these all three aggregates are the spec's, and most pods have none of them.
    status = pod.status
    return (
        status.allocated_resources is not None
        or status.resources is not None
        or bool(status.container_statuses)
        or bool(status.init_container_statuses)
        or resize_is_infeasible(pod)
    )


def pod_requests(pod: Pod, *, use_status: bool, pod_level: bool, non_missing: bool = False) -> Requests:
    """The pod's requests.

    Args:
        use_status: count what is allocated and in effect too, as for pods that sit on a node.
        pod_level: let ``spec.resources.requests`` replace the containers' sum, a resource at a time.
        non_missing: a container without a request for cpu or memory counts 100m or 200Mi; an explicit 0 stays 0.

    Raises:
        QuantityError: a quantity of the pod cannot be read.
    """
    return _requests(pod, use_status, pod_level, _DEFAULTS if non_missing else _NO_DEFAULTS)


def non_zero_requests(pod: Pod) -> Requests:
    """cpu and memory as counted on a node when it is scored (kube-scheduler 1.37: PodInfo.CalculateResource).

    Without pod-level requests both defaults apply to each container; with them, only to a resource that the whole pod
    does not ask for.
    """
    requests = _requests(pod, True, True, _NO_DEFAULTS)
    defaults = _DEFAULTS
    if has_pod_level_requests(pod):
        defaults = {name: amount for name, amount in _DEFAULTS.items() if name not in requests}
    if defaults:
        requests = _requests(pod, True, True, defaults)
    return {CPU: requests.get(CPU, 0), MEMORY: requests.get(MEMORY, 0)}
