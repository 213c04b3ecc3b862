"""Pods that look alike and are not, and pods that look different and are alike, by the default plugins.

kube-scheduler 1.37 signs some of the first alike (see ``docs/differences.md``); each pair is decided on differently.
"""

from __future__ import annotations

from typing import Any

import pytest

from scheduler.api.objects import (
    Affinity,
    ContainerPort,
    ImageVolumeSource,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    ResourceRequirements,
    Toleration,
    Volume,
)
from scheduler.framework.plugin import Unsignable
from scheduler.framework.pod_info import PodInfo
from tests.support.builders import make_container, make_pod
from tests.support.core_run import default_profiles
from tests.support.pod_affinity import affinity, term, weighted

PROFILE = default_profiles()["reprise"]
SMALL = {"cpu": "100m", "memory": "200Mi"}


def signature(pod: Pod) -> Any:
    found = PROFILE.sign(PodInfo(pod))
    assert not isinstance(found, Unsignable)
    return found


def of(*containers: Any, **spec: Any) -> Pod:
    return make_pod(containers=containers, **spec)


def port(**fields: Any) -> Pod:
    return of(make_container(ports=[ContainerPort(host_port=8080, **fields)]))


def sized(requests: dict[str, Any] | None) -> ResourceRequirements:
    return ResourceRequirements(requests=requests)


NEAR_WEB = affinity(near=(term(),))

DIFFERENT = {
    "namespaces, which affinity terms of others are about": (make_pod(), make_pod(namespace="other")),
    "own required affinity": (make_pod(), make_pod(affinity=NEAR_WEB)),
    "own required anti-affinity": (make_pod(affinity=NEAR_WEB), make_pod(affinity=affinity(apart=(term(),)))),
    "own preferred affinity": (
        make_pod(affinity=affinity(prefer_near=(weighted(1, term()),))),
        make_pod(affinity=affinity(prefer_near=(weighted(2, term()),))),
    ),
    "preferred affinity and anti-affinity": (
        make_pod(affinity=affinity(prefer_near=(weighted(1, term()),))),
        make_pod(affinity=affinity(prefer_apart=(weighted(1, term()),))),
    ),
    "a term twice": (
        make_pod(affinity=affinity(prefer_near=(weighted(1, term()),))),
        make_pod(affinity=affinity(prefer_near=(weighted(1, term()), weighted(1, term())))),
    ),
    "whether the pod is one that its own terms are about": (
        make_pod(affinity=NEAR_WEB, labels={"app": "web"}),
        make_pod(affinity=NEAR_WEB),
    ),
    "what is wrong with a selector": (
        make_pod(affinity=affinity(near=(term(selector={"matchExpressions": [{"key": "a", "operator": "Up"}]}),))),
        make_pod(affinity=affinity(near=(term(selector={"matchExpressions": [{"key": "a", "operator": "Down"}]}),))),
    ),
    "two containers without a request count twice the default in scores": (
        of(make_container("a"), make_container("b")),
        of(make_container("a", image="registry.example/app:1"), make_container("b", requests=SMALL)),
    ),
    "one container without a request, and two": (of(make_container("a")), of(make_container("a"), make_container("b"))),
    "a request of nothing and no request": (
        of(make_container(requests={"cpu": "0", "memory": "0"})),
        of(make_container()),
    ),
    "the pod's own request, and a container's": (
        of(make_container(requests={"memory": "1Gi"}), resources=sized({"cpu": "1", "memory": "1Gi"})),
        of(make_container(requests={"cpu": "1", "memory": "1Gi"})),
    ),
    "one image twice, and the other": (
        of(*(make_container(f"c{number}", image=image) for number, image in enumerate(("db:1", "app:1", "db:1")))),
        of(*(make_container(f"c{number}", image=image) for number, image in enumerate(("db:1", "app:1", "app:1")))),
    ),
    "an image in a volume": (
        of(make_container(image="app:1")),
        of(make_container(image="app:1"), volumes=[Volume(name="v", image=ImageVolumeSource(reference="db:1"))]),
    ),
    "another protocol": (port(protocol="TCP"), port(protocol="UDP")),
    "another host IP": (port(host_ip="10.0.0.1"), port(host_ip="10.0.0.2")),
    "another host IP than all": (port(host_ip="10.0.0.1"), port()),
    "ports that differ by 256": (
        of(make_container(ports=[ContainerPort(host_port=8080)])),
        of(make_container(ports=[ContainerPort(host_port=8336)])),
    ),
    "a sidecar, and an init container that ends": (
        of(
            make_container(requests=SMALL),
            init_containers=[make_container("i", requests=SMALL, restart_policy="Always")],
        ),
        of(make_container(requests=SMALL), init_containers=[make_container("i", requests=SMALL)]),
    ),
    "the host port of a sidecar, and of an init container that ends": (
        of(
            make_container(requests=SMALL),
            init_containers=[make_container("i", ports=[ContainerPort(host_port=80)], restart_policy="Always")],
        ),
        of(make_container(requests=SMALL), init_containers=[make_container("i", ports=[ContainerPort(host_port=80)])]),
    ),
    "overhead": (of(make_container(requests=SMALL)), of(make_container(requests=SMALL), overhead={"cpu": "1m"})),
    "a toleration's effect": (
        make_pod(tolerations=[Toleration(key="k", operator="Exists")]),
        make_pod(tolerations=[Toleration(key="k", operator="Exists", effect="NoSchedule")]),
    ),
    "an empty node selector term, and none": (
        make_pod(affinity=Affinity(node_affinity=NodeAffinity(required=NodeSelector(node_selector_terms=[])))),
        make_pod(),
    ),
    "scheduler": (make_pod(), make_pod(scheduler_name="reprise", node_selector={"a": "b"})),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_pods_that_are_decided_on_differently_have_different_signatures(name: str) -> None:
    one, other = DIFFERENT[name]

    assert signature(one) != signature(other)


def requirement(key: str, *values: str) -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key=key, operator="In", values=list(values))


def required(*terms: list[NodeSelectorRequirement]) -> Affinity:
    selector = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_expressions=one) for one in terms])
    return Affinity(node_affinity=NodeAffinity(required=selector))


T1, T2 = Toleration(key="a", operator="Exists"), Toleration(key="b", operator="Equal", value="x")
INDEX = "batch.kubernetes.io/job-completion-index"

ALIKE = {
    "labels that nobody looks at": (
        make_pod(affinity=NEAR_WEB, labels={"app": "web", "x": "1"}),
        make_pod(affinity=NEAR_WEB, labels={"app": "web", "x": "2"}),
    ),
    "the order of affinity terms": (
        make_pod(
            affinity=affinity(apart=(term("a"), term("b")), prefer_near=(weighted(1, term()), weighted(2, term())))
        ),
        make_pod(
            affinity=affinity(apart=(term("b"), term("a")), prefer_near=(weighted(2, term()), weighted(1, term())))
        ),
    ),
    "name and UID": (make_pod("a"), make_pod("b", uid="x")),
    "priority": (make_pod(priority=1), make_pod(priority=2)),
    "the index of an Indexed Job": (make_pod("j-0", labels={INDEX: "0"}), make_pod("j-1", labels={INDEX: "1"})),
    "the order of labels": (make_pod(labels={"a": "1", "b": "2"}), make_pod(labels={"b": "2", "a": "1"})),
    "the order of tolerations": (make_pod(tolerations=[T1, T2]), make_pod(tolerations=[T2, T1])),
    "a toleration twice": (make_pod(tolerations=[T1]), make_pod(tolerations=[T1, T1])),
    "an operator that is not written out": (
        make_pod(tolerations=[Toleration(key="b", operator="", value="x")]),
        make_pod(tolerations=[T2]),
    ),
    "the order of node selector labels": (
        make_pod(node_selector={"a": "1", "b": "2"}),
        make_pod(node_selector={"b": "2", "a": "1"}),
    ),
    "the order of terms, requirements and values": (
        make_pod(affinity=required([requirement("a", "1", "2"), requirement("b", "3")], [requirement("c", "4")])),
        make_pod(affinity=required([requirement("c", "4")], [requirement("b", "3"), requirement("a", "2", "1")])),
    ),
    "the order and names of containers": (
        of(make_container("a", image="app:1", requests=SMALL), make_container("b", image="db:1")),
        of(make_container("x", image="db:1"), make_container("y", image="app:1", requests=SMALL)),
    ),
    "the tag of an image that has none": (
        of(make_container(image="app")),
        of(make_container(image="app:latest")),
    ),
    "how a quantity is written": (
        make_pod(requests={"cpu": "1", "memory": "1Gi"}),
        make_pod(requests={"cpu": "1000m", "memory": "1024Mi"}),
    ),
    "a port that is not the host's": (
        of(make_container(requests=SMALL)),
        of(make_container(requests=SMALL, ports=[ContainerPort(container_port=80)])),
    ),
}


@pytest.mark.parametrize("name", ALIKE)
def test_pods_that_are_decided_on_alike_share_a_signature(name: str) -> None:
    one, other = ALIKE[name]

    assert signature(one) == signature(other)
