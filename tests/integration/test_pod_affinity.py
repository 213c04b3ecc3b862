"""Pods that keep near and apart, on a real API server, which merges matchLabelKeys into the selectors of their terms."""

from typing import Any

from tests.integration.conftest import StartReprise
from tests.support.api_client import ApiClient
from tests.support.manifests import namespace_manifest, node_manifest, pod_manifest
from tests.support.resources import NAMESPACES, PODS, Object
from tests.support.watch import Watch

HOSTNAME = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def apart(name: str, labels: dict[str, str], *, namespace: str = "default", **term: Any) -> Object:
    """A pod that shares no node with pods of the label app=web, or of another selector."""
    rule = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "web"}}, **term}
    return pod_manifest(name, namespace=namespace, labels=labels, affinity={"podAntiAffinity": {REQUIRED: [rule]}})


def nodes_of(pods: Watch) -> dict[str, str]:
    """By pod, of those that are bound."""
    every = pods.objects.values()
    return {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in every if "nodeName" in pod["spec"]}


def refusal_of(pods: Watch, name: str) -> str:
    """Why a pod is not bound; "" when that was not told."""
    named = (pod for pod in pods.objects.values() if pod["metadata"]["name"] == name)
    told = (one for pod in named for one in pod["status"].get("conditions", ()) if one["type"] == "PodScheduled")
    return next((one.get("message", "") for one in told), "")


def test_each_revision_keeps_apart_from_itself_alone(admin: ApiClient, start_reprise: StartReprise) -> None:
    for name in ("a", "b"):
        admin.create(node_manifest(name))
    start_reprise()
    with admin.watch(PODS) as pods:
        for revision in ("1", "2"):
            for number in range(3):
                labels = {"app": "web", "revision": revision}
                admin.create(apart(f"r{revision}-{number}", labels, matchLabelKeys=["revision"]))
        pods.wait_until(lambda watch: len(nodes_of(watch)) == 4, what="two pods of each revision are bound")
        pods.wait_until(
            lambda watch: all(refusal_of(watch, name) for name in waiting(watch)), what="the others are told why"
        )
        found = nodes_of(pods)

        for revision in ("1", "2"):
            assert sorted(node for name, node in found.items() if name.startswith(f"r{revision}")) == ["a", "b"]
        for name in waiting(pods):
            assert refusal_of(pods, name) == (
                "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules. "
                "preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."
            )


def waiting(pods: Watch) -> set[str]:
    return {pod["metadata"]["name"] for pod in pods.objects.values()} - nodes_of(pods).keys()


def test_a_pod_that_another_namespace_keeps_out_is_bound_once_that_does_not_select_it(
    admin: ApiClient, start_reprise: StartReprise
) -> None:
    admin.create(node_manifest("a"))
    for name in ("guarding", "guarded"):
        admin.create(namespace_manifest(name, labels={"team": "a"}))
    start_reprise()
    with admin.watch(PODS) as pods:
        selector = {"matchLabels": {"team": "a"}}
        admin.create(apart("guard", {"app": "guard"}, namespace="guarding", namespaceSelector=selector))
        pods.wait_until(lambda watch: "guard" in nodes_of(watch), what="the guard is bound")
        admin.create(pod_manifest("web", namespace="guarded", labels={"app": "web"}))
        refused = (
            "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules. "
            "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
        )
        pods.wait_until(lambda watch: refusal_of(watch, "web") == refused, what="the pod is told why it waits")

        admin.patch(NAMESPACES, "guarded", {"metadata": {"labels": {"team": "b"}}})
        pods.wait_until(lambda watch: nodes_of(watch).get("web") == "a", what="the pod is bound")
