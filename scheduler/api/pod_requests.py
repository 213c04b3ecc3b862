"""What a pod asks for: containers, sidecars, init containers, pod-level requests, overhead and in-place resizes.

Every figure is summed in exact units and rounded once (component-helpers 0.37: resource.PodRequests). Pods that ask for
the same share one PodAmounts: it is worked out of an encoding of all that it depends on, and kept by that encoding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from operator import attrgetter
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import msgspec

from scheduler.api.field_errors import element
from scheduler.api.objects import Container, ContainerStatus, Pod, ResourceList
from scheduler.api.quantity import Quantity, QuantityError, nano, nano_amount
from scheduler.api.resources import CPU, MEMORY, is_counted, is_pod_level

Requests: TypeAlias = Mapping[str, int]
"""Amount by resource name: cpu in milli, every other in whole units. A resource that nobody asks for has no key."""

DEFAULT_MILLI_CPU = 100
DEFAULT_MEMORY = 200 * 1024 * 1024

_Nanos: TypeAlias = dict[str, int]
_DEFAULTS: _Nanos = {CPU: DEFAULT_MILLI_CPU * 10**6, MEMORY: DEFAULT_MEMORY * 10**9}
_NO_DEFAULTS: _Nanos = {}


class ContainerDemand(msgspec.Struct, frozen=True, array_like=True):
    """A container's requests, and those its status reports: allocated, and in effect."""

    requests: ResourceList | None
    allocated: ResourceList | None = None
    in_effect: ResourceList | None = None
    is_sidecar: bool = False


class Demand(msgspec.Struct, frozen=True, array_like=True):
    """Everything of a pod that its amounts depend on."""

    containers: list[ContainerDemand]
    init_containers: list[ContainerDemand]
    overhead: ResourceList | None
    pod_level: ResourceList | None
    has_status: bool = False
    pod_level_has_status: bool = False
    pod_level_allocated: ResourceList | None = None
    pod_level_in_effect: ResourceList | None = None
    resize_is_infeasible: bool = False


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Demand).decode


def resize_is_infeasible(pod: Pod) -> bool:
    """The first PodResizePending condition says so: the spec's requests do not count then."""
    for condition in pod.status.conditions or ():
        if condition.type == "PodResizePending":
            return condition.reason == "Infeasible"
    return False


def _statuses(pod: Pod) -> dict[str, ContainerStatus]:
    found: dict[str, ContainerStatus] = {}
    for status in (*(pod.status.container_statuses or ()), *(pod.status.init_container_statuses or ())):
        found.setdefault(status.name, status)
    return found


def _container_demand(container: Container, statuses: Mapping[str, ContainerStatus]) -> ContainerDemand:
    status = statuses.get(container.name)
    return ContainerDemand(
        container.resources.requests,
        None if status is None else status.allocated_resources,
        None if status is None or status.resources is None else status.resources.requests,
        container.restart_policy == "Always",
    )


def demand_of(pod: Pod) -> Demand:
    """The parts of a pod that its amounts are worked out of, without its names."""
    spec, status = pod.spec, pod.status
    statuses = _statuses(pod) if status.container_statuses or status.init_container_statuses else {}
    infeasible = resize_is_infeasible(pod) if status.conditions else False
    resources = status.resources
    return Demand(
        [_container_demand(container, statuses) for container in spec.containers],
        [_container_demand(container, statuses) for container in spec.init_containers or ()],
        spec.overhead,
        None if spec.resources is None else spec.resources.requests,
        bool(statuses) or infeasible or status.allocated_resources is not None or resources is not None,
        resources is not None,
        status.allocated_resources,
        None if resources is None else resources.requests,
        infeasible,
    )


class PodAmounts(NamedTuple):
    """What a pod asks for, as each of those who ask counts it. Shared between pods, so nothing of it can be changed.

    Attributes:
        requests: what NodeResourcesFit filters by: pod-level requests honoured, status not (kube-scheduler 1.37: Fit).
        score_requests: what NodeResourcesFit scores by: containers' requests with the defaults for missing cpu and
            memory; pod-level requests are not looked at.
        accounted_requests: what the pod takes from its node: also what is allocated and in effect there
            (kube-scheduler 1.37: NodeInfo.Requested).
        accounted_non_zero: as ``accounted_requests`` for cpu and memory, with the defaults for containers that ask for
            none; with pod-level requests only where the whole pod asks for none (1.37: NodeInfo.NonZeroRequested).
        charged: the items of ``accounted_requests`` that a node keeps sums of and that are not 0.
    """

    requests: Requests
    score_requests: Requests
    accounted_requests: Requests
    accounted_non_zero: Requests
    charged: tuple[tuple[str, int], ...]


def pod_amounts(pod: Pod) -> PodAmounts:
    """What the pod asks for.

    Raises:
        QuantityError: a quantity of the pod cannot be read; the message begins with its field.
    """
    try:
        # 3 us, where working it out takes 11 us for the smallest pod and 40 us for a running one; and equal pods share it.
        return _amounts(_encode(demand_of(pod)))
    except QuantityError as error:
        field = next((field for field, quantity in _quantities(pod) if not _is_readable(quantity)), "a quantity")
        raise QuantityError(f"{field}: {error}") from error


def pod_limits(pod: Pod) -> Requests:
    """The limits of the spec, summed as requests are; overhead is added to those that there are (component-helpers 0.37: resource.PodLimits).

    Raises:
        QuantityError: a quantity of the pod cannot be read.
    """
    spec = pod.spec
    demand = Demand(
        [ContainerDemand(one.resources.limits) for one in spec.containers],
        [
            ContainerDemand(one.resources.limits, is_sidecar=one.restart_policy == "Always")
            for one in spec.init_containers or ()
        ],
        None,
        None if spec.resources is None else spec.resources.limits,
    )
    limits = _amounts(_encode(demand)).requests
    if not spec.overhead:
        return limits
    overhead = _amounts(_encode(Demand([ContainerDemand(spec.overhead)], [], None, None))).requests
    return {name: amount + overhead.get(name, 0) if amount else 0 for name, amount in limits.items()}


@lru_cache(maxsize=4096)
def _amounts(encoded: bytes) -> PodAmounts:
    # Decoded again, so that nothing can be read which the key does not hold.
    demand = _decode(encoded)
    _check(demand)
    plain = _aggregate(demand, _SPEC, _NO_DEFAULTS)
    defaulted = plain if _is_complete(demand) else _aggregate(demand, _SPEC, _DEFAULTS)
    has_pod_level = any(is_pod_level(name) for name in demand.pod_level or ())
    requests = _finished(demand, plain, _spec_pod_level(demand) if has_pod_level else {})
    score_requests = _finished(demand, defaulted, {})
    accounted, non_zero = requests, score_requests
    if demand.has_status or has_pod_level:
        pod_level = _accounted_pod_level(demand) if has_pod_level else {}
        accounted = _finished(demand, _with_status(demand, _NO_DEFAULTS), pod_level)
        missing = {name: each for name, each in _DEFAULTS.items() if not has_pod_level or name not in accounted}
        non_zero = _finished(demand, _with_status(demand, missing), pod_level)
    return PodAmounts(
        requests,
        score_requests,
        accounted,
        MappingProxyType({name: non_zero.get(name, 0) for name in (CPU, MEMORY)}),
        tuple((name, amount) for name, amount in accounted.items() if amount and is_counted(name)),
    )


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


_SPEC: Callable[[ContainerDemand], ResourceList | None] = attrgetter("requests")


def _aggregate(
    demand: Demand, requests_of: Callable[[ContainerDemand], ResourceList | None], defaults: Mapping[str, int]
) -> _Nanos:
    """Containers and sidecars run together; an init container runs beside the sidecars started before it."""

    def nanos_of(container: ContainerDemand) -> _Nanos:
        found = _nanos(requests_of(container))
        for name, amount in defaults.items():
            found.setdefault(name, amount)
        return found

    running: _Nanos = {}
    for container in demand.containers:
        _add(running, nanos_of(container))
    sidecars: _Nanos = {}
    starting: _Nanos = {}
    for container in demand.init_containers:
        resources = nanos_of(container)
        if container.is_sidecar:
            _add(running, resources)
            _add(sidecars, resources)  # less than all that is running, so not compared with it
        else:
            _add(resources, sidecars)
            _raise_to(starting, resources)
    _raise_to(running, starting)
    return running


def _with_status(demand: Demand, defaults: Mapping[str, int]) -> _Nanos:
    """The maximum of what is asked for, allocated and in effect, a resource at a time."""
    if not demand.has_status:
        return _aggregate(demand, _SPEC, defaults)

    def allocated_of(container: ContainerDemand) -> ResourceList | None:
        if container.allocated is not None:
            return container.allocated
        return None if demand.resize_is_infeasible else container.requests

    def in_effect_of(container: ContainerDemand) -> ResourceList | None:
        return allocated_of(container) if container.in_effect is None else container.in_effect

    if demand.pod_level_allocated is not None and demand.pod_level_in_effect is not None:
        allocated, in_effect = _nanos(demand.pod_level_allocated), _nanos(demand.pod_level_in_effect)
    else:
        allocated = _aggregate(demand, allocated_of, defaults)
        in_effect = _aggregate(demand, in_effect_of, defaults)
    counted = [in_effect, allocated]
    if not demand.resize_is_infeasible:
        counted.insert(0, _aggregate(demand, _SPEC, defaults))
    return _maximum(counted)


def _spec_pod_level(demand: Demand) -> _Nanos:
    return {name: each for name, each in _nanos(demand.pod_level).items() if is_pod_level(name)}


def _accounted_pod_level(demand: Demand) -> _Nanos:
    spec = _nanos(demand.pod_level)
    if demand.pod_level_has_status:
        spec = _maximum(
            (
                {} if demand.resize_is_infeasible else spec,
                _nanos(demand.pod_level_in_effect),
                _nanos(demand.pod_level_allocated),
            )
        )
    return {name: each for name, each in spec.items() if is_pod_level(name)}


def _finished(demand: Demand, containers: Mapping[str, int], pod_level: Mapping[str, int]) -> Requests:
    """The containers' sum, replaced by pod-level requests where there are any, plus overhead, rounded."""
    total = {**containers, **pod_level}
    _add(total, _nanos(demand.overhead))
    return MappingProxyType({name: nano_amount(name, amount) for name, amount in total.items()})


def _is_complete(demand: Demand) -> bool:
    """Every container asks for cpu and memory, so that the defaults change nothing."""
    containers = (*demand.containers, *demand.init_containers)
    return all(each.requests is not None and CPU in each.requests and MEMORY in each.requests for each in containers)


def _check(demand: Demand) -> None:
    """Read every quantity once: a pod with a bad one is refused whether or not that one would have counted."""
    for container in (*demand.containers, *demand.init_containers):
        for resources in (container.requests, container.allocated, container.in_effect):
            _nanos(resources)
    for resources in (demand.overhead, demand.pod_level, demand.pod_level_allocated, demand.pod_level_in_effect):
        _nanos(resources)


def _is_readable(quantity: Quantity) -> bool:
    try:
        nano(quantity)
    except QuantityError:
        return False
    return True


def _quantities(pod: Pod) -> Iterator[tuple[str, Quantity]]:
    """Every quantity that amounts are made of, with its field."""
    for field, resources in _resource_lists(pod):
        for name, quantity in (resources or {}).items():
            yield element(field, name), quantity


def _resource_lists(pod: Pod) -> Iterator[tuple[str, ResourceList | None]]:
    spec, status = pod.spec, pod.status
    for kind, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for index, container in enumerate(containers or ()):
            yield f"spec.{kind}[{index}].resources.requests", container.resources.requests
    yield "spec.overhead", spec.overhead
    yield "spec.resources.requests", None if spec.resources is None else spec.resources.requests
    for kind, statuses in (
        ("containerStatuses", status.container_statuses),
        ("initContainerStatuses", status.init_container_statuses),
    ):
        for index, each in enumerate(statuses or ()):
            yield f"status.{kind}[{index}].allocatedResources", each.allocated_resources
            yield (
                f"status.{kind}[{index}].resources.requests",
                None if each.resources is None else each.resources.requests,
            )
    yield "status.allocatedResources", status.allocated_resources
    yield "status.resources.requests", None if status.resources is None else status.resources.requests
