"""/metrics/resources: what each pod asks for and may use (kube-scheduler 1.37)."""

from __future__ import annotations

from scheduler.api.objects import Container, Pod, ResourceRequirements
from scheduler.api.pod_requests import pod_limits
from scheduler.telemetry.exposition import take
from scheduler.telemetry.pod_resources import PodResourcesCollector
from tests.support.builders import make_container, make_pod


def lines_of(*pods: Pod) -> list[str]:
    text = take(PodResourcesCollector(lambda: pods))()[0].decode()
    return [line for line in text.splitlines() if not line.startswith("#")]


def limited(name: str = "main", *, restart_policy: str | None = None, **limits: str) -> Container:
    resources = ResourceRequirements(limits=dict(limits))
    return Container(name=name, image="i", resources=resources, restart_policy=restart_policy or "")


def test_each_resource_has_its_unit() -> None:
    requests = {
        "cpu": "250m",
        "memory": "64Mi",
        "ephemeral-storage": "1k",
        "hugepages-2Mi": "2Mi",
        "example.com/gpu": "2",
    }
    pod = make_pod("p", namespace="ns", requests=requests, node_name="n", scheduler_name="reprise", priority=7)

    common = 'namespace="ns",node="n",pod="p",priority="7"'
    assert lines_of(pod) == [
        f'kube_pod_resource_request{{{common},resource="{resource}",scheduler="reprise",unit="{unit}"}} {value}'
        for resource, unit, value in (
            ("cpu", "cores", "0.25"),
            ("memory", "bytes", "6.7108864e+07"),
            ("ephemeral-storage", "bytes", "1000.0"),
            ("hugepages-2Mi", "bytes", "2.097152e+06"),
            ("example.com/gpu", "", "2.0"),
        )
    ]


def test_a_pod_that_waits_has_no_node_and_one_without_priority_none() -> None:
    (line,) = lines_of(make_pod("p", requests={"cpu": "1", "memory": "0"}))

    assert 'node=""' in line
    assert 'priority=""' in line


def test_limits_are_summed_as_requests_are() -> None:
    pod = make_pod(
        containers=[limited("a", cpu="1", memory="1k"), limited("b", cpu="500m")],
        init_containers=[limited("sidecar", cpu="100m", restart_policy="Always"), limited("init", memory="5k")],
    )

    assert pod_limits(pod) == {"cpu": 1600, "memory": 5000}
    assert any(line.startswith("kube_pod_resource_limit") and 'resource="cpu"' in line for line in lines_of(pod))


def test_pod_level_limits_replace_those_of_containers() -> None:
    pod = make_pod(containers=[limited(cpu="1", memory="1k")], resources=ResourceRequirements(limits={"cpu": "2"}))

    assert pod_limits(pod) == {"cpu": 2000, "memory": 1000}


def test_overhead_is_added_to_the_limits_that_there_are() -> None:
    pod = make_pod(containers=[make_container("none"), limited(cpu="1")], overhead={"cpu": "250m", "memory": "1k"})

    assert pod_limits(pod) == {"cpu": 1250}


def test_a_pod_that_cannot_be_read_is_left_out() -> None:
    assert lines_of(make_pod("bad", requests={"cpu": "nonsense"})) == []
