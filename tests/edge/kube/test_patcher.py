"""Patches of claims and volumes on virtual time, against a scripted API server: repeated, found out, or reported as failed."""

import asyncio
from typing import Any

import pytest
import structlog.testing

from scheduler.core.instruction import PatchObject
from scheduler.core.stimulus import ObjectPatched, ObjectPatchFailed
from scheduler.framework.binding import ObjectPatch
from scheduler.kube.transport import Response
from tests.edge.kube.dispatching import Dispatching, bind, dispatching, reference, status
from tests.edge.kube.scripted import (
    EPOCH,
    LOST,
    REFUSED,
    TIMED_OUT,
    Request,
    ScriptedTransport,
    created,
    ok,
    refusal,
)

pytestmark = pytest.mark.looptime

CLAIM_PATH = "/api/v1/namespaces/default/persistentvolumeclaims/data"
SELECTED = {"volume.kubernetes.io/selected-node": "node-1"}
CONFLICT = "the object has been modified; please apply your changes to the latest version and try again"


def patch(number: int = 1, *, version: str = "5", **fields: Any) -> PatchObject:
    """The claim ``data`` is to be provisioned for node-1, for the pod ``a``."""
    claim = {
        "kind": "PersistentVolumeClaim",
        "namespace": "default",
        "name": "data",
        "uid": "uid-data",
        "resource_version": version,
        "patch": {"metadata": {"annotations": SELECTED}},
        **fields,
    }
    return PatchObject(number=number, pod=reference("a"), patch=ObjectPatch(**claim))


def claim(version: str, *, uid: str = "uid-data", **annotations: str) -> Response:
    metadata = {"name": "data", "uid": uid, "resourceVersion": version, "annotations": annotations}
    return ok({"kind": "PersistentVolumeClaim", "metadata": metadata, "spec": {"volumeName": "pv"}})


def provisioned(version: str = "6", *, uid: str = "uid-data") -> Response:
    return claim(version, uid=uid, other="kept", **SELECTED)


def answers(it: Dispatching) -> list[Any]:
    """Numbers with the new version, or the error."""
    found: list[Any] = []
    for stimulus in it.stimuli:
        assert stimulus.now >= EPOCH
        if isinstance(stimulus, ObjectPatched):
            found.append((stimulus.number, stimulus.resource_version))
        elif isinstance(stimulus, ObjectPatchFailed):
            found.append((stimulus.number, stimulus.error))
    return found


def methods(transport: ScriptedTransport) -> list[str]:
    return [request.method for request in transport.requests]


async def test_a_patch_names_the_uid_and_the_version_that_it_was_made_for() -> None:
    transport = ScriptedTransport(provisioned())
    async with dispatching(transport) as it:
        it.submit(patch(7))
        await asyncio.sleep(0.01)
        (request,) = transport.requests
        assert (request.method, request.path) == ("PATCH", CLAIM_PATH)
        assert request.body == {"metadata": {"annotations": SELECTED, "uid": "uid-data", "resourceVersion": "5"}}
        assert answers(it) == [(7, "6")]
        assert [job[:2] for job in it.observed] == [("bind", "written")]


async def test_a_patch_without_a_version_is_for_any_state() -> None:
    transport = ScriptedTransport(provisioned())
    async with dispatching(transport) as it:
        it.submit(patch(version=""))
        await asyncio.sleep(0.01)
        assert transport.requests[0].body == {"metadata": {"annotations": SELECTED, "uid": "uid-data"}}


async def test_a_volume_has_no_namespace_and_its_spec_is_patched() -> None:
    transport = ScriptedTransport(ok({"metadata": {"uid": "uid-pv", "resourceVersion": "9"}}))
    claim_ref = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "data", "uid": "uid-data"}
    async with dispatching(transport) as it:
        it.submit(
            patch(
                kind="PersistentVolume", namespace="", name="pv", uid="uid-pv", patch={"spec": {"claimRef": claim_ref}}
            )
        )
        await asyncio.sleep(0.01)
        (request,) = transport.requests
        assert request.path == "/api/v1/persistentvolumes/pv"
        assert request.body == {
            "spec": {"claimRef": claim_ref},
            "metadata": {"uid": "uid-pv", "resourceVersion": "5"},
        }
        assert answers(it) == [(1, "9")]


@pytest.mark.parametrize("first", [REFUSED, refusal(503, "starting"), refusal(429, "slow down", retry_after="2")])
async def test_a_patch_that_cannot_have_been_processed_is_repeated_unread(first: Any) -> None:
    transport = ScriptedTransport(first, provisioned())
    async with dispatching(transport) as it:
        it.submit(patch())
        await asyncio.sleep(5)
        assert methods(transport) == ["PATCH", "PATCH"]
        assert answers(it) == [(1, "6")]


async def test_four_attempts_are_made_in_all() -> None:
    transport = ScriptedTransport(otherwise=REFUSED)
    async with dispatching(transport) as it:
        it.submit(patch())
        await asyncio.sleep(10)
        assert [round(request.at, 3) for request in transport.requests] == [0.0, 0.01, 0.06, 0.31]
        assert answers(it) == [(1, 'Post "http://server/": Connection refused (os error 111)')]


IN_DOUBT = [TIMED_OUT, LOST, refusal(500, "boom"), refusal(504, "too slow"), refusal(409, CONFLICT)]


@pytest.mark.parametrize("answer", IN_DOUBT)
async def test_a_patch_in_doubt_that_the_object_shows_was_carried_out(answer: Any) -> None:
    """Whatever else has changed since: its version is the one to go on from."""
    transport = ScriptedTransport(answer, provisioned("8"))
    async with dispatching(transport) as it:
        it.submit(patch())
        await asyncio.sleep(1)
        assert [(request.method, request.path) for request in transport.requests] == [
            ("PATCH", CLAIM_PATH),
            ("GET", CLAIM_PATH),
        ]
        assert answers(it) == [(1, "8")]


@pytest.mark.parametrize("answer", [TIMED_OUT, refusal(500, "boom")])
async def test_a_patch_in_doubt_that_an_unchanged_object_does_not_show_is_repeated(answer: Any) -> None:
    transport = ScriptedTransport(answer, claim("5"), provisioned())
    async with dispatching(transport) as it:
        it.submit(patch())
        await asyncio.sleep(1)
        assert methods(transport) == ["PATCH", "GET", "PATCH"]
        assert answers(it) == [(1, "6")]


@pytest.mark.parametrize("found", [claim("7"), claim("7", **{"volume.kubernetes.io/selected-node": "node-2"})])
@pytest.mark.parametrize("answer", IN_DOUBT)
async def test_an_object_that_has_changed_otherwise_is_left_alone(answer: Any, found: Response) -> None:
    transport = ScriptedTransport(answer, found)
    async with dispatching(transport) as it:
        it.submit(patch())
        await asyncio.sleep(1)
        assert methods(transport) == ["PATCH", "GET"]
        assert [number for number, _ in answers(it)] == [1]
        assert isinstance(it.stimuli[0], ObjectPatchFailed)


async def test_a_conflict_is_told_in_the_servers_words() -> None:
    transport = ScriptedTransport(refusal(409, CONFLICT), claim("7"))
    async with dispatching(transport) as it:
        it.submit(patch())
        await asyncio.sleep(1)
        assert answers(it) == [(1, CONFLICT)]


async def test_a_patch_for_any_state_is_repeated_on_a_changed_object() -> None:
    transport = ScriptedTransport(LOST, claim("7"), provisioned("8"))
    async with dispatching(transport) as it:
        it.submit(patch(version=""))
        await asyncio.sleep(1)
        assert answers(it) == [(1, "8")]


@pytest.mark.parametrize(
    ("held", "is_written"),
    [
        ({"a": None}, True),
        ({"kept": None}, False),
        ({"volume.kubernetes.io/selected-node": "node-1"}, True),
        ({"volume.kubernetes.io/selected-node": "node-1", "a": "b"}, False),
    ],
)
async def test_the_object_has_to_show_every_field_of_the_patch(held: dict[str, Any], is_written: bool) -> None:
    transport = ScriptedTransport(LOST, claim("6", kept="yes", **SELECTED))
    async with dispatching(transport) as it:
        it.submit(patch(patch={"metadata": {"annotations": held}}))
        await asyncio.sleep(1)
        assert isinstance(it.stimuli[0], ObjectPatched) == is_written


async def test_an_object_without_the_patched_part_does_not_show_the_patch() -> None:
    bare = ok({"metadata": {"uid": "uid-data", "resourceVersion": "6"}})
    transport = ScriptedTransport(LOST, bare)
    async with dispatching(transport) as it:
        it.submit(patch())
        await asyncio.sleep(1)
        assert isinstance(it.stimuli[0], ObjectPatchFailed)


@pytest.mark.parametrize("found", [provisioned(uid="another"), refusal(404, "not found")])
async def test_another_object_of_that_name_or_none_is_a_failure(found: Response) -> None:
    transport = ScriptedTransport(LOST, found)
    async with dispatching(transport) as it:
        it.submit(patch())
        await asyncio.sleep(1)
        assert answers(it) == [(1, LOST.message)]


@pytest.mark.parametrize("answer", [refusal(404, "not found"), refusal(403, "forbidden"), refusal(422, "immutable")])
async def test_a_refused_patch_fails_at_once(answer: Response) -> None:
    transport = ScriptedTransport(answer)
    async with dispatching(transport) as it:
        it.submit(patch())
        await asyncio.sleep(1)
        assert methods(transport) == ["PATCH"]
        assert isinstance(it.stimuli[0], ObjectPatchFailed)


async def test_a_server_that_refuses_to_show_the_object_has_not_said_what_it_is_like() -> None:
    forbidden = refusal(403, "cannot get")
    transport = ScriptedTransport(LOST, forbidden, forbidden, provisioned())
    with structlog.testing.capture_logs() as logs:
        async with dispatching(transport) as it:
            it.submit(patch())
            await asyncio.sleep(5)
            assert answers(it) == [(1, "6")]
    assert [(line["event"], line.get("object")) for line in logs] == [
        ("Cannot read objects whose patch is in doubt; will retry", "PersistentVolumeClaim default/data"),
        ("Objects whose patch is in doubt can be read again", None),
    ]


async def test_what_is_written_for_a_pod_is_written_in_order() -> None:
    def answer(request: Request) -> Response:
        return created() if request.method == "POST" else provisioned()

    transport = ScriptedTransport(otherwise=answer, latency_seconds=1.0)
    async with dispatching(transport) as it:
        it.submit(status("a"), patch(), bind("a"))
        await asyncio.sleep(10)
        assert [(request.method, request.path.rpartition("/")[2], request.at) for request in transport.requests] == [
            ("PATCH", "status", 0.0),
            ("PATCH", "data", 1.0),
            ("POST", "binding", 2.0),
        ]
