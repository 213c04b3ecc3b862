"""What is lost and what is doubled when the scheduler, or the API server, goes away in the middle of a burst: nothing."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import pairwise

import msgspec
import pytest

from scheduler.kube.resources import DISRUPTION_BUDGETS, SELECTING, STORAGE, WATCHED
from tests.integration.conftest import Say, StartReprise
from tests.support.api_client import ApiClient, ApiError, run_all
from tests.support.burst import Binds, binding_answers
from tests.support.control_plane import ControlPlane
from tests.support.manifests import node_manifest, pod_manifest
from tests.support.plain_account import overcommitted
from tests.support.reprise_process import RepriseProcess
from tests.support.resources import EVENTS, NODES, PODS, Object
from tests.support.watch import Watch

# Room for 650 pods: whoever forgets what was bound before would overfill nodes at once.
NODE_COUNT = 50
POD_COUNT = 600  # up to 256 binds are under way at a time
REQUESTS = {"cpu": "300m", "memory": "100Mi"}
SOME = 40  # binds after which something goes away


def pod_names() -> list[str]:
    return [f"pod-{index:03}" for index in range(POD_COUNT)]


@pytest.fixture
def cluster(admin: ApiClient) -> ApiClient:
    """Nodes, no pods."""
    admin.create_all(node_manifest(f"node-{index:02}", kwok=False) for index in range(NODE_COUNT))
    return admin


@pytest.fixture
def waiting(cluster: ApiClient) -> ApiClient:
    """Nodes, and all pods."""
    cluster.create_all(pod_manifest(name, requests=REQUESTS) for name in pod_names())
    return cluster


def bound_pods(client: ApiClient) -> dict[str, str]:
    """Node by uid."""
    pods = client.list_objects(PODS)
    return {pod["metadata"]["uid"]: pod["spec"]["nodeName"] for pod in pods if "nodeName" in pod["spec"]}


def nodes_in_turn(pods: Watch) -> dict[str, list[str]]:
    """By uid, each node that the watch has shown the pod on."""
    found: dict[str, list[str]] = {}
    for event in pods.events:
        node = event.object["spec"].get("nodeName")
        seen = found.setdefault(event.object["metadata"]["uid"], [])
        if node and seen[-1:] != [node]:
            seen.append(node)
    return found


def wait_for_binds(pods: Watch, count: int) -> None:
    binds = Binds()
    pods.wait_until(lambda watch: binds.count(watch) >= count, seconds=60, what=f"{count} binds")


def assert_all_are_bound_once(client: ApiClient, pods: Watch, before: dict[str, str]) -> None:
    after = bound_pods(client)
    assert len(after) == POD_COUNT
    assert {uid: after[uid] for uid in before} == before
    assert [nodes for nodes in nodes_in_turn(pods).values() if len(nodes) != 1] == []
    assert overcommitted(client.list_objects(NODES), client.list_objects(PODS)) == {}


# ------------------------------------------------------------------------------------------------------- the scheduler


def test_a_killed_scheduler_loses_and_doubles_nothing(waiting: ApiClient, start_reprise: StartReprise, say: Say):
    answered = binding_answers(waiting)
    with waiting.watch(PODS) as pods:
        first = start_reprise()
        wait_for_binds(pods, SOME)
        assert first.kill() == -9
        before = bound_pods(waiting)
        assert SOME <= len(before) < POD_COUNT, "it was not killed half-way"
        start_reprise()
        wait_for_binds(pods, POD_COUNT)
        assert_all_are_bound_once(waiting, pods, before)
    answers = binding_answers(waiting)
    answers.subtract(answered)
    say(
        f"killed after {len(before)} binds of {POD_COUNT}; the rest bound by the next; server's answers {dict(answers)}"
    )
    # Binds whose asker was killed count as 500 or 504 and may have been carried out; none was asked for again after that.
    assert answers["201"] <= POD_COUNT
    assert answers["409"] == 0


def test_a_scheduler_that_is_asked_to_end_finishes_its_binds(waiting: ApiClient, start_reprise: StartReprise, say: Say):
    with waiting.watch(PODS) as pods:
        first = start_reprise(tells_story=True)
        wait_for_binds(pods, SOME)
        code = first.stop(compares=False)
        before = bound_pods(waiting)
        [stopped] = first.lines("stopped")
        assert (code, stopped["unfinished_binds"], stopped["unfinished_events"]) == (0, 0, 0)
        assert SOME <= len(before) < POD_COUNT, "it was not ended half-way"
        assert told_to_bind(first) == before
        assert said_to_be_bound(first) == before
        assert scheduled_events(waiting) == before.keys()
        start_reprise()
        wait_for_binds(pods, POD_COUNT)
        assert_all_are_bound_once(waiting, pods, before)
    say(f"ended by SIGTERM after {len(before)} binds of {POD_COUNT}, none of them lost; the rest bound by the next")


def story_of(process: RepriseProcess) -> Iterator[Object]:
    for line in process.story.read_bytes().splitlines()[1:]:
        yield msgspec.json.decode(line)


def told_to_bind(process: RepriseProcess) -> dict[str, str]:
    instructions = [each for step in story_of(process) for each in step.get("instructions", ())]
    return {each["pod"]["uid"]: each["node_name"] for each in instructions if each["instruction"] == "BindPod"}


def said_to_be_bound(process: RepriseProcess) -> dict[str, str]:
    stimuli = [step["stimulus"] for step in story_of(process) if "stimulus" in step]
    return {each["uid"]: each["node_name"] for each in stimuli if each["type"] == "PodBound"}


def scheduled_events(client: ApiClient) -> set[str]:
    """Uids of the pods that an Event says were bound."""
    return {each["regarding"]["uid"] for each in client.list_objects(EVENTS) if each["reason"] == "Scheduled"}


# ------------------------------------------------------------------------------------------------------ the API server


class Outage:
    """The API server is killed and started again; those who write to it can wait until it is back."""

    def __init__(self, control_plane: ControlPlane) -> None:
        self._control_plane = control_plane
        self._up = threading.Event()
        self._up.set()

    @contextmanager
    def happens(self) -> Iterator[None]:
        self._up.clear()
        self._control_plane.stop_apiserver()
        try:
            yield
        finally:
            self._control_plane.start_apiserver()
            self._up.set()

    def create(self, manifest: Object) -> None:
        """Create an object, after the outage if it comes to that."""
        while True:
            self._up.wait(60)
            try:
                self._control_plane.client().create(manifest)
            except OSError:
                continue
            except ApiError as error:
                if error.status == 409:  # it was created, and the answer was lost
                    return
                if error.status not in (403, 429, 500, 503):  # of a server that has only half started
                    raise
            else:
                return


def test_pods_created_while_the_api_server_restarts_are_bound(
    control_plane: ControlPlane, cluster: ApiClient, start_reprise: StartReprise, say: Say
):
    outage = Outage(control_plane)
    reprise = start_reprise()
    manifests = [pod_manifest(name, requests=REQUESTS) for name in pod_names()]
    with ThreadPoolExecutor(1) as somebody:
        creating = somebody.submit(partial(run_all, outage.create, manifests, parallelism=4))
        with cluster.watch(PODS) as pods:
            wait_for_binds(pods, SOME)
        before = bound_pods(cluster)
        with outage.happens():
            assert reprise.page("/livez").status == 200
    creating.result()
    client = control_plane.client()
    with client.watch(PODS) as pods:
        pods.wait_until(
            lambda watch: sum("nodeName" in pod["spec"] for pod in watch.objects.values()) == POD_COUNT,
            seconds=90,
            what="all pods are bound",
        )
        assert_all_are_bound_once(client, pods, before)
    reprise.wait_until(
        lambda: all(states[-1:] == ["watching"] for states in states_of(reprise).values()),
        seconds=60,
        what="everything is watched again",
    )
    say(f"API server restarted after {len(before)} binds of {POD_COUNT}: all bound; states logged {states_of(reprise)}")
    for states in states_of(reprise).values():
        assert all(state != following for state, following in pairwise(["watching", *states])), (
            "a line without a change"
        )


def states_of(process: RepriseProcess) -> dict[str, list[str]]:
    """By resource, the states that its watch has come to since it was first listed, a log line each."""
    found: dict[str, list[str]] = {
        resource.full_name: [] for resource in (*WATCHED, *SELECTING, *STORAGE, DISRUPTION_BUDGETS)
    }
    for line in process.lines():
        if line["msg"] == "Cannot watch; will retry":
            found[line["resource"]].append(line["state"])
        elif line["msg"] == "API server answers again":
            found[line["resource"]].append("watching")
    return found
