"""What pods ask for (component-helpers 0.37: resource.PodRequests; kube-scheduler 1.37: CalculateResource, Fit)."""

import msgspec
import pytest

from scheduler.api.objects import (
    Container,
    ContainerStatus,
    Pod,
    PodCondition,
    PodStatus,
    ResourceRequirements,
)
from scheduler.api.pod_requests import pod_amounts
from scheduler.api.quantity import Quantity, QuantityError
from tests.support.builders import make_container, make_pod

MI = 1024 * 1024
GI = 1024 * MI


def container(name: str = "main", *, sidecar: bool = False, **requests: Quantity) -> Container:
    return make_container(name, requests=requests, restart_policy="Always" if sidecar else None)


def asking(*containers: Container, **fields: object) -> Pod:
    return make_pod(containers=containers, **fields)  # type: ignore[arg-type]


def pod_level(**requests: Quantity) -> ResourceRequirements:
    return ResourceRequirements(requests=requests)


def resized(
    *, spec: Quantity = "1000m", allocated: Quantity | None, in_effect: Quantity | None, condition: str | None = None
) -> Pod:
    """A pod of one container whose status reports CPU for it."""
    status = ContainerStatus(
        name="main",
        allocated_resources=None if allocated is None else {"cpu": allocated},
        resources=None if in_effect is None else pod_level(cpu=in_effect),
    )
    conditions = None if condition is None else [PodCondition(type="PodResizePending", status="True", reason=condition)]
    return asking(container(cpu=spec), status=PodStatus(container_statuses=[status], conditions=conditions))


# Containers, init containers, sidecars


def test_requests_of_containers_add_up() -> None:
    pod = asking(container("a", cpu="250m", memory="1Gi"), container("b", cpu="1", memory="512Mi"))
    assert pod_amounts(pod).requests == {"cpu": 1250, "memory": 1536 * MI}


def test_a_resource_that_no_container_asks_for_is_absent_and_one_asked_for_as_zero_is_not() -> None:
    assert pod_amounts(asking(container(cpu="0"))).requests == {"cpu": 0}


def test_quantities_round_up_after_they_were_summed() -> None:
    assert pod_amounts(asking(container(cpu="1500u", memory="1500m"))).requests == {"cpu": 2, "memory": 2}
    twice = asking(container("a", cpu="1500u", memory="1500m"), container("b", cpu="1500u", memory="1500m"))
    assert pod_amounts(twice).requests == {"cpu": 3, "memory": 3}


def test_an_init_container_counts_where_it_asks_for_more_than_what_runs_later() -> None:
    pod = asking(container(cpu="200m", memory="1Gi"), init_containers=[container("init", cpu="500m", memory="100Mi")])
    assert pod_amounts(pod).requests == {"cpu": 500, "memory": GI}


@pytest.mark.parametrize(
    ("order", "cpu"),
    [(("i1", "sidecar", "i2"), 500), (("sidecar", "i1", "i2"), 600), (("i1", "i2", "sidecar"), 500)],
)
def test_an_init_container_runs_beside_the_sidecars_started_before_it(order: tuple[str, ...], cpu: int) -> None:
    inits = {
        "i1": container("i1", cpu="500m"),
        "sidecar": container("sidecar", sidecar=True, cpu="100m"),
        "i2": container("i2", cpu="300m"),
    }
    pod = asking(container(cpu="200m"), init_containers=[inits[name] for name in order])
    assert pod_amounts(pod).requests == {"cpu": cpu}


def test_sidecars_run_beside_the_containers() -> None:
    pod = asking(container(cpu="200m"), init_containers=[container("s", sidecar=True, cpu="100m", memory="1Mi")])
    assert pod_amounts(pod).requests == {"cpu": 300, "memory": MI}


# Pod-level requests and overhead


def test_pod_level_requests_replace_the_containers_sum_a_resource_at_a_time_and_overhead_comes_on_top() -> None:
    pod = asking(
        container("a", cpu="500m", memory="1Gi"),
        container("b", cpu="500m", memory="1Gi"),
        resources=pod_level(cpu="1500m"),
        overhead={"cpu": "50m"},
    )
    assert pod_amounts(pod).requests == {"cpu": 1550, "memory": 2 * GI}


def test_pod_level_requests_for_anything_but_cpu_memory_and_huge_pages_are_not_looked_at() -> None:
    requests: dict[str, Quantity] = {
        "cpu": "2",
        "hugepages-2Mi": "4Mi",
        "ephemeral-storage": "1Gi",
        "example.com/gpu": "1",
    }
    pod = asking(container(), resources=ResourceRequirements(requests=requests))
    assert pod_amounts(pod).requests == {"cpu": 2000, "hugepages-2Mi": 4 * MI}


def test_the_fit_score_does_not_look_at_pod_level_requests() -> None:
    amounts = pod_amounts(asking(container(), resources=pod_level(cpu="2")))
    assert amounts.requests == {"cpu": 2000}
    assert amounts.score_requests == {"cpu": 100, "memory": 200 * MI}
    assert amounts.accounted_non_zero == {"cpu": 2000, "memory": 200 * MI}


# Defaults for containers that do not say


def test_each_container_without_a_request_scores_as_100m_and_200mi() -> None:
    assert pod_amounts(asking(container())).score_requests == {"cpu": 100, "memory": 200 * MI}
    two = pod_amounts(asking(container("a"), container("b", cpu="1")))
    assert two.score_requests == {"cpu": 1100, "memory": 400 * MI}


def test_an_explicit_zero_gets_no_default() -> None:
    amounts = pod_amounts(asking(container(cpu="0", memory="0")))
    assert amounts.score_requests == {"cpu": 0, "memory": 0}
    assert amounts.accounted_non_zero == {"cpu": 0, "memory": 0}


def test_an_init_container_without_a_request_has_the_default_too() -> None:
    pod = asking(container(cpu="10m", memory="1Mi"), init_containers=[container("init")])
    assert pod_amounts(pod).score_requests == {"cpu": 100, "memory": 200 * MI}


def test_defaults_are_counted_beside_the_real_requests_of_a_pod_on_a_node() -> None:
    amounts = pod_amounts(asking(container("a", cpu="1"), container("b"), overhead={"memory": "1Mi"}))
    assert amounts.accounted_requests == {"cpu": 1000, "memory": MI}
    assert amounts.accounted_non_zero == {"cpu": 1100, "memory": 401 * MI}


def test_with_pod_level_requests_only_what_the_whole_pod_does_not_ask_for_has_a_default() -> None:
    """Overhead counts as asking (kube-scheduler 1.37: getNonMissingContainerRequests)."""
    amounts = pod_amounts(asking(container(), resources=pod_level(cpu="2"), overhead={"memory": "1Mi"}))
    assert amounts.accounted_non_zero == {"cpu": 2000, "memory": MI}


# In-place resizes


def test_a_pod_on_a_node_counts_the_most_of_spec_allocated_and_in_effect() -> None:
    amounts = pod_amounts(resized(allocated="600m", in_effect="800m"))
    assert amounts.accounted_requests == {"cpu": 1000}
    assert pod_amounts(resized(spec="100m", allocated="600m", in_effect="800m")).accounted_requests == {"cpu": 800}
    assert pod_amounts(resized(spec="100m", allocated="900m", in_effect="800m")).accounted_requests == {"cpu": 900}


def test_an_infeasible_resize_does_not_count_and_a_deferred_one_does() -> None:
    infeasible = resized(allocated="600m", in_effect="800m", condition="Infeasible")
    assert pod_amounts(infeasible).accounted_requests == {"cpu": 800}
    deferred = resized(allocated="600m", in_effect="800m", condition="Deferred")
    assert pod_amounts(deferred).accounted_requests == {"cpu": 1000}


def test_filtering_a_pending_pod_looks_at_its_spec_alone() -> None:
    amounts = pod_amounts(resized(spec="100m", allocated="600m", in_effect="800m", condition="Infeasible"))
    assert amounts.requests == {"cpu": 100}
    assert amounts.score_requests == {"cpu": 100, "memory": 200 * MI}


def test_the_first_resize_condition_decides() -> None:
    pod = resized(allocated="600m", in_effect="800m", condition="Deferred")
    later = PodCondition(type="PodResizePending", status="True", reason="Infeasible")
    status = msgspec.structs.replace(pod.status, conditions=[*(pod.status.conditions or []), later])
    assert pod_amounts(msgspec.structs.replace(pod, status=status)).accounted_requests == {"cpu": 1000}


def test_without_a_status_of_its_own_a_container_counts_as_in_its_spec_unless_its_resize_is_infeasible() -> None:
    status = PodStatus(container_statuses=[ContainerStatus(name="other")])
    assert pod_amounts(asking(container(cpu="1"), status=status)).accounted_requests == {"cpu": 1000}
    infeasible = PodStatus(conditions=[PodCondition(type="PodResizePending", reason="Infeasible")])
    assert pod_amounts(asking(container(cpu="1"), status=infeasible)).accounted_requests == {}


def test_what_is_in_effect_defaults_to_what_is_allocated() -> None:
    assert pod_amounts(
        resized(spec="100m", allocated="600m", in_effect=None, condition="Infeasible")
    ).accounted_requests == {"cpu": 600}


def test_an_init_containers_status_is_found_by_name() -> None:
    status = PodStatus(init_container_statuses=[ContainerStatus(name="s", allocated_resources={"cpu": "700m"})])
    pod = asking(container(cpu="1"), init_containers=[container("s", sidecar=True, cpu="100m")], status=status)
    assert pod_amounts(pod).accounted_requests == {"cpu": 1700}


def test_a_complete_pod_level_status_stands_for_the_containers() -> None:
    status = PodStatus(
        container_statuses=[ContainerStatus(name="main", allocated_resources={"cpu": "9"})],
        allocated_resources={"cpu": "600m"},
        resources=pod_level(cpu="800m"),
    )
    assert pod_amounts(asking(container(cpu="100m"), status=status)).accounted_requests == {"cpu": 800}


def test_a_pod_level_request_counts_as_the_most_of_spec_in_effect_and_allocated() -> None:
    def accounted(condition: str | None) -> dict[str, int]:
        conditions = [PodCondition(type="PodResizePending", reason=condition)] if condition else None
        status = PodStatus(allocated_resources={"cpu": "1"}, resources=pod_level(cpu="2"), conditions=conditions)
        pod = asking(container(), resources=pod_level(cpu="3"), status=status)
        return dict(pod_amounts(pod).accounted_requests)

    assert accounted(None) == {"cpu": 3000}
    assert accounted("Infeasible") == {"cpu": 2000}


# What a node is charged, sharing, bad input


def test_a_node_is_charged_what_is_counted_and_not_zero() -> None:
    requests: dict[str, Quantity] = {
        "cpu": "1",
        "memory": "0",
        "ephemeral-storage": "1Mi",
        "example.com/gpu": "2",
        "foo": "3",
        "pods": "4",
    }
    amounts = pod_amounts(asking(make_container(requests=requests)))
    assert amounts.charged == (("cpu", 1000), ("ephemeral-storage", MI), ("example.com/gpu", 2))
    assert amounts.accounted_requests["foo"] == 3


def test_pods_of_one_template_share_their_amounts() -> None:
    one, other = (make_pod(name, labels={"index": name}, requests={"cpu": "123m"}) for name in ("a", "b"))
    assert pod_amounts(one) is pod_amounts(other)


def test_numbers_that_are_equal_in_python_but_written_differently_do_not_get_mixed_up() -> None:
    """A JSON number is read as it is written: 1.152921504606847e+18 is not 2**60, although Python's == says so."""
    as_integer, as_float = 2**60, float(2**60)
    assert as_integer == as_float
    assert pod_amounts(asking(container(memory=as_float))).requests == {"memory": 1_152_921_504_606_847_000}
    assert pod_amounts(asking(container(memory=as_integer))).requests == {"memory": 2**60}


def test_shared_amounts_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        pod_amounts(make_pod()).requests["cpu"] = 1  # type: ignore[index]


@pytest.mark.parametrize(
    ("pod", "field"),
    [
        (asking(container("a"), container("b", cpu="x")), "spec.containers[1].resources.requests[cpu]"),
        (
            asking(container(), init_containers=[container("i", memory="1GB")]),
            "spec.initContainers[0].resources.requests[memory]",
        ),
        (asking(container(), overhead={"cpu": ""}), "spec.overhead[cpu]"),
        (asking(container(), resources=pod_level(cpu="-")), "spec.resources.requests[cpu]"),
        (resized(allocated="?", in_effect=None), "status.containerStatuses[0].allocatedResources[cpu]"),
        (resized(allocated=None, in_effect="?"), "status.containerStatuses[0].resources.requests[cpu]"),
        (
            asking(container(), status=PodStatus(allocated_resources={"memory": "?"})),
            "status.allocatedResources[memory]",
        ),
        (asking(container(), status=PodStatus(resources=pod_level(cpu="?"))), "status.resources.requests[cpu]"),
    ],
)
def test_an_unreadable_quantity_is_named_by_its_field(pod: Pod, field: str) -> None:
    with pytest.raises(QuantityError) as caught:
        pod_amounts(pod)
    assert str(caught.value).startswith(f"{field}: ")
    assert "is not a quantity" in str(caught.value)
