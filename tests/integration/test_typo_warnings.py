"""Whether the real API server finds the Events of a pod, in the way in which they are looked for before anybody is warned."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from scheduler.core.instruction import FindEvents, PodReference
from scheduler.core.stimulus import EventsFound
from scheduler.kube.client import ApiClient as ProductClient
from scheduler.kube.credentials import load_credentials
from scheduler.kube.event_finder import EventFinder
from scheduler.kube.timing import Timing
from tests.integration.conftest import StartReprise
from tests.support.api_client import ApiClient
from tests.support.control_plane import ControlPlane
from tests.support.manifests import pod_manifest
from tests.support.resources import EVENTS, Object
from tests.support.scheduler_configuration import wait_for

pytestmark = pytest.mark.cluster


def look_for_events(control_plane: ControlPlane, user: str, folder: Path, *pods: Object) -> list[bool]:
    """Of each pod whether there are any, as this user finds it."""
    found: list[Any] = []

    async def look() -> None:
        credentials = load_credentials(control_plane.kubeconfig(user, folder / user))
        async with ProductClient(credentials, version="test") as client:
            finder = EventFinder(client, found.append, Timing())
            for pod in pods:
                metadata = pod["metadata"]
                reference = PodReference(namespace="default", name=metadata["name"], uid=metadata["uid"])
                assert await finder.job(FindEvents(pod=reference)).attempt() is None

    asyncio.run(look())
    assert all(isinstance(one, EventsFound) for one in found)
    return [one.has_events for one in found]


def test_events_are_found_by_the_pods_uid_whichever_api_they_were_written_through(
    fresh_cluster: ControlPlane, admin: ApiClient, start_reprise: StartReprise, tmp_path: Path
) -> None:
    start_reprise()
    told = admin.create(pod_manifest("told"))
    silent = admin.create(pod_manifest("silent", scheduler_name="repirse"))
    wait_for(lambda: admin.list_objects(EVENTS), what="there is no node for the pod, which is told")

    assert look_for_events(fresh_cluster, "reprise", tmp_path, told, silent) == [True, False]
    assert look_for_events(fresh_cluster, "nobody", tmp_path, silent) == [True], "who may not look warns of nothing"
