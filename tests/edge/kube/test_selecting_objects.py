"""Services, ReplicationControllers, ReplicaSets and StatefulSets from the API server to the core: their selectors, no more."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scheduler.api.objects import SelectingObject
from scheduler.api.selectors import compile_label_selector
from scheduler.kube.access import missing_rights, rights_to_watch
from scheduler.kube.client import ApiClient
from scheduler.kube.credentials import load_credentials
from scheduler.kube.resources import (
    SELECTING,
    WATCHED,
    AnyResource,
    watched_resources,
)
from scheduler.kube.transport import ApiError
from scheduler.plugins.pod_topology_spread import PodTopologySpread
from scheduler.sim.access import Denial
from scheduler.sim.resources import RESOURCES
from scheduler.sim.server import ApiServer
from tests.edge.kube.scripted import ScriptedTransport, added, bookmark, error_event, page
from tests.edge.kube.watched import streams, watching
from tests.edge.kube.whole_edge import running_edge
from tests.support.selecting_objects import replica_set, replication_controller, selector, service, stateful_set

TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "app"}]}}
BY_LABELS: dict[str, Any] = {"app": "web"}
BY_SELECTOR: dict[str, Any] = {
    "matchLabels": {"app": "web"},
    "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}],
}
MANIFESTS: list[tuple[str, str, dict[str, Any]]] = [
    ("v1", "Service", {"selector": BY_LABELS, "ports": [{"port": 80}], "clusterIP": "10.0.0.1"}),
    ("v1", "ReplicationController", {"selector": BY_LABELS, "replicas": 3, "template": TEMPLATE}),
    ("apps/v1", "ReplicaSet", {"selector": BY_SELECTOR, "replicas": 3, "template": TEMPLATE}),
    ("apps/v1", "StatefulSet", {"selector": BY_SELECTOR, "serviceName": "web", "template": TEMPLATE}),
]
DECODED: tuple[SelectingObject, ...] = (
    service("web", BY_LABELS),
    replication_controller("web", BY_LABELS),
    replica_set("web", selector({"app": "web"}, ("tier", "In", ["a", "b"]))),
    stateful_set("web", selector({"app": "web"}, ("tier", "In", ["a", "b"]))),
)


def manifest(api_version: str, kind: str, spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    named = {"name": "web", "namespace": "default", **metadata}
    return {"apiVersion": api_version, "kind": kind, "metadata": named, "spec": spec, "status": {"replicas": 3}}


def test_each_kind_is_watched_where_the_server_has_it() -> None:
    served = {f"{each.path}/{each.plural}" for each in RESOURCES}

    assert [each.path for each in SELECTING] == [
        "/api/v1/services",
        "/api/v1/replicationcontrollers",
        "/apis/apps/v1/replicasets",
        "/apis/apps/v1/statefulsets",
    ]
    assert {each.path for each in SELECTING} <= served
    assert set(watched_resources(PodTopologySpread.watches)) == {*WATCHED, *SELECTING}


# On virtual time, against a scripted server


@pytest.mark.looptime
@pytest.mark.parametrize(("resource", "sent", "decoded"), list(zip(SELECTING, MANIFESTS, DECODED, strict=True)))
async def test_metadata_and_selector_are_decoded_and_nothing_else(
    resource: AnyResource, sent: tuple[str, str, dict[str, Any]], decoded: SelectingObject
) -> None:
    """A watch names the kind of each object; the items of a typed list leave it out."""
    watched_object = manifest(*sent, uid="default-web", managedFields=[{"manager": "kubectl"}])
    listed_object = {key: value for key, value in watched_object.items() if key not in ("kind", "apiVersion")}
    transport = ScriptedTransport(page(listed_object, version=9))
    (stream,) = streams(transport, 1)
    async with watching(transport, resource) as watched:
        stream.say(added(watched_object), bookmark(2, ends_initial_events=True))
        await asyncio.sleep(1)
        by_watch = watched.stimuli
    transport.watch_answers = [ApiError(422, "Invalid", "no watch-list")]
    async with watching(transport, resource) as watched:
        by_list = watched.stimuli

    assert [each.subject for each in by_watch] == [each.subject for each in by_list] == [decoded]


@pytest.mark.looptime
@pytest.mark.parametrize(("resource", "sent"), list(zip(SELECTING, MANIFESTS, strict=True)))
async def test_a_missing_selector_is_null(resource: AnyResource, sent: tuple[str, str, dict[str, Any]]) -> None:
    transport = ScriptedTransport()
    (stream,) = streams(transport, 1)
    api_version, kind, _ = sent
    async with watching(transport, resource) as watched:
        stream.say(
            added(manifest(api_version, kind, {})), added(manifest(api_version, kind, {"selector": None}, name="b"))
        )
        await asyncio.sleep(1)

        assert [each.subject.spec.selector for each in watched.stimuli] == [None, None]


@pytest.mark.looptime
@pytest.mark.parametrize("resource", SELECTING)
async def test_an_error_event_is_one_although_it_is_of_another_kind(resource: AnyResource) -> None:
    transport = ScriptedTransport()
    first, _ = streams(transport, 2)
    async with watching(transport, resource) as watched:
        first.say(bookmark(5, ends_initial_events=True))
        await asyncio.sleep(60)
        first.say(error_event(410))
        await asyncio.sleep(1)
        assert (watched.reflector.counters.expired, watched.stimuli) == (1, [])


# Against the embedded server


async def test_what_is_there_and_what_comes_changes_and_goes_is_delivered(tmp_path: Path) -> None:
    server = ApiServer()
    await server.start()
    try:
        for sent in MANIFESTS[:2]:
            server.create(manifest(*sent))
        async with running_edge(server.kubeconfig(tmp_path / "kubeconfig"), resources=SELECTING) as edge:
            assert texts(edge.selecting) == {"Service": "app", "ReplicationController": "app"}
            for sent in MANIFESTS[2:]:
                server.create(manifest(*sent))
            await edge.until(lambda: len(edge.selecting) == 4)
            assert texts(edge.selecting) == {
                "Service": "app",
                "ReplicationController": "app",
                "ReplicaSet": "app tier",
                "StatefulSet": "app tier",
            }
            patch = msgspec.json.encode({"spec": {"selector": {"app": None, "tier": "a"}}})
            path = "/api/v1/namespaces/default/services/web"
            assert (await edge.client.patch(path, patch, "application/strategic-merge-patch+json")).status == 200
            await edge.until(lambda: texts(edge.selecting)["Service"] == "tier")
            for each in RESOURCES:
                if each.plural in ("services", "statefulsets"):
                    server.delete(each, "default", "web")
            await edge.until(lambda: len(edge.selecting) == 2)
            assert set(texts(edge.selecting)) == {"ReplicationController", "ReplicaSet"}
    finally:
        await server.stop()


def texts(selecting: dict[tuple[str, str], SelectingObject]) -> dict[str, str]:
    """By kind, the keys that it selects by."""
    found = {}
    for (kind, _), subject in selecting.items():
        selects_by = subject.spec.selector
        assert selects_by is not None
        keys = (
            selects_by
            if isinstance(selects_by, dict)
            else [each.key for each in compile_label_selector(selects_by).requirements]
        )
        found[kind] = " ".join(keys)
    return found


@pytest.mark.parametrize("resource", SELECTING)
@pytest.mark.parametrize("verb", ["list", "watch"])
async def test_a_missing_right_is_named(tmp_path: Path, resource: AnyResource, verb: str) -> None:
    server = ApiServer(denied=[Denial(verb, resource.name, resource.group)])
    await server.start()
    try:
        async with ApiClient(load_credentials(server.kubeconfig(tmp_path / "kubeconfig")), version="0") as client:
            missing = await missing_rights(client, rights_to_watch(SELECTING))
            assert missing == [f"{verb} {resource.full_name} (all namespaces)"]
    finally:
        await server.stop()
