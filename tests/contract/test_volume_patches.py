"""What a scheduler writes of claims and volumes before it binds a pod: merge patches of the state that it has seen."""

import copy
from collections.abc import Iterator

import pytest

from tests.contract.servers import Refusal, Server, without_managed_fields
from tests.contract.test_storage import CLAIM, VOLUME
from tests.support.api_client import PATCH_TYPES
from tests.support.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, Object, Resource

NAME = "volume-patches"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
OTHER_UID = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"


@pytest.fixture
def claim(server: Server) -> Object:
    """A claim with an annotation of its own."""
    metadata = {"name": NAME, "annotations": {"kept": "yes"}}
    return created(server, PERSISTENT_VOLUME_CLAIMS, {"metadata": metadata, "spec": CLAIM})


@pytest.fixture
def volume(server: Server) -> Iterator[Object]:
    yield created(server, PERSISTENT_VOLUMES, {"metadata": {"name": NAME}, "spec": VOLUME})
    patched(server, PERSISTENT_VOLUMES, {"metadata": {"finalizers": None}})
    server.send("DELETE", server.path(PERSISTENT_VOLUMES, NAME))


def created(server: Server, resource: Resource, manifest: Object) -> Object:
    answer = server.send("POST", server.path(resource), manifest)
    assert answer.status == 201, answer.body
    found: Object = answer.json()
    return found


def meant(seen: Object) -> Object:
    """Which object, and which state of it."""
    return {"uid": seen["metadata"]["uid"], "resourceVersion": seen["metadata"]["resourceVersion"]}


def selected(seen: Object, node: str = "n1") -> Object:
    return {"metadata": {**meant(seen), "annotations": {SELECTED_NODE: node}}}


def claimed(seen: Object, claim: Object) -> Object:
    metadata = claim["metadata"]
    claim_ref = {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "resourceVersion": metadata["resourceVersion"],
    }
    return {"metadata": {**meant(seen), "annotations": {BY_CONTROLLER: "yes"}}, "spec": {"claimRef": claim_ref}}


def patched(server: Server, resource: Resource, patch: Object) -> Object:
    answer = server.send("PATCH", server.path(resource, NAME), patch, content_type=PATCH_TYPES["merge"])
    assert answer.status == 200, answer.body
    found: Object = answer.json()
    return found


def refused(server: Server, resource: Resource, patch: Object) -> Refusal:
    return server.refused("PATCH", server.path(resource, NAME), patch, content_type=PATCH_TYPES["merge"])


def test_a_claim_gets_its_node_and_keeps_the_rest(server: Server, claim: Object) -> None:
    found = patched(server, PERSISTENT_VOLUME_CLAIMS, selected(claim))

    assert found["metadata"]["annotations"] == {"kept": "yes", SELECTED_NODE: "n1"}
    assert found["metadata"]["resourceVersion"] != claim["metadata"]["resourceVersion"]
    assert (found["spec"], found["status"]) == (claim["spec"], claim["status"])


def test_a_volume_gets_its_claim_and_keeps_the_rest(server: Server, claim: Object, volume: Object) -> None:
    patch = claimed(volume, claim)
    found = patched(server, PERSISTENT_VOLUMES, patch)

    assert found["metadata"]["annotations"] == {BY_CONTROLLER: "yes"}
    assert found["spec"] == {**volume["spec"], "claimRef": patch["spec"]["claimRef"]}


@pytest.mark.parametrize("resource", [PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES], ids=lambda one: one.kind)
def test_a_state_that_is_gone_is_not_patched(server: Server, claim: Object, volume: Object, resource: Resource) -> None:
    is_claim = resource is PERSISTENT_VOLUME_CLAIMS
    patch = selected(claim) if is_claim else claimed(volume, claim)
    patched(server, resource, {"metadata": {"labels": {"a": "b"}}})

    text = "the object has been modified; please apply your changes to the latest version and try again"
    message = f'Operation cannot be fulfilled on {resource.plural} "{NAME}": {text}'
    assert refused(server, resource, patch) == Refusal(
        409, "Conflict", message, {"name": NAME, "kind": resource.plural}
    )


def test_another_claim_of_the_name_is_not_patched(server: Server, claim: Object) -> None:
    patch = copy.deepcopy(selected(claim))
    patch["metadata"]["uid"] = OTHER_UID

    code, reason, message, _ = refused(server, PERSISTENT_VOLUME_CLAIMS, patch)

    problem = f'metadata.uid: Invalid value: "{OTHER_UID}": field is immutable'
    assert (code, reason) == (422, "Invalid")
    assert problem in message


def test_a_patch_that_the_claim_shows_already_writes_nothing(server: Server, claim: Object) -> None:
    first = patched(server, PERSISTENT_VOLUME_CLAIMS, selected(claim))

    assert without_managed_fields(patched(server, PERSISTENT_VOLUME_CLAIMS, selected(first))) == without_managed_fields(
        first
    )


def test_a_node_can_be_taken_back(server: Server, claim: Object) -> None:
    """As a provisioner does that cannot serve it there."""
    patched(server, PERSISTENT_VOLUME_CLAIMS, selected(claim))
    found = patched(server, PERSISTENT_VOLUME_CLAIMS, {"metadata": {"annotations": {SELECTED_NODE: None}}})

    assert found["metadata"]["annotations"] == {"kept": "yes"}


def test_a_claim_that_is_not_there_is_not_patched(server: Server) -> None:
    message = f'persistentvolumeclaims "{NAME}" not found'

    assert refused(server, PERSISTENT_VOLUME_CLAIMS, {"metadata": {"annotations": {}}}) == Refusal(
        404, "NotFound", message, {"name": NAME, "kind": "persistentvolumeclaims"}
    )
