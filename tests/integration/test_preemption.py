"""Pods of low priority make room on a real API server, as a real kube-scheduler has them do it.

Each script is told to kube-scheduler twice, then to Reprise, with one configuration: victims, conditions, nominations, Events and
places are compared, but for what kube-scheduler's own two runs do not agree on. `make test-parity` tells the others.
"""

from collections.abc import Mapping

import pytest

from tests.integration.conftest import Say
from tests.parity.comparison import Run, compare
from tests.parity.configurations import PLAIN
from tests.parity.scripts.preemption import STORIES
from tests.parity.stage import Stage
from tests.support.binaries import require_binaries
from tests.support.control_plane import ControlPlane
from tests.support.kube_scheduler import KubeScheduler
from tests.support.reprise_process import RepriseProcess
from tests.support.resources import Object

PRIORITIES = {"low": 100, "middle": 1000, "high": 10000, "polite": 10000}
CONFIGURATION = {
    **PLAIN,
    "profiles": [
        {"schedulerName": "reprise", "plugins": {"multiPoint": {"disabled": [{"name": "DynamicResources"}]}}},
    ],
}
SCRIPTS = {
    script.name: script
    for script in STORIES.scripts
    if script.name
    in (
        "a victim goes",
        "only those who must go",
        "a disruption budget",
        "a polite pod",
        "a victim that takes its time",
        "a nomination is taken over",
        "two who preempt at once",
    )
}


def priority_class(name: str) -> Object:
    manifest: Object = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": PRIORITIES[name],
    }
    return manifest | ({"preemptionPolicy": "Never"} if name == "polite" else {})


def perform(control_plane: ControlPlane, scheduler: KubeScheduler | RepriseProcess) -> dict[str, Run]:
    """What one scheduler makes of all scripts, one after the other."""
    runs = {}
    with scheduler:

        def page(path: str) -> str:
            read = scheduler.page(path)
            return read if isinstance(read, str) else read.body.decode()

        with Stage(control_plane.client(), page) as stage:
            for name, script in SCRIPTS.items():
                performance = stage.perform(script)
                runs[name] = Run(performance.snapshots, [], performance.problem)
        if isinstance(scheduler, RepriseProcess):
            assert scheduler.complaints() == []
    return runs


@pytest.fixture(scope="module")
def runs(control_plane: ControlPlane) -> tuple[Mapping[str, Run], ...]:
    """Of kube-scheduler, of kube-scheduler again, and of Reprise."""
    require_binaries("kube-scheduler")
    control_plane.reset()
    admin = control_plane.client()
    for name in PRIORITIES:
        admin.apply(priority_class(name))
    return (
        perform(control_plane, KubeScheduler(control_plane, CONFIGURATION)),
        perform(control_plane, KubeScheduler(control_plane, CONFIGURATION)),
        perform(control_plane, RepriseProcess(control_plane, CONFIGURATION)),
    )


@pytest.mark.parametrize("name", SCRIPTS)
def test_room_is_made_as_kube_scheduler_makes_it(runs: tuple[Mapping[str, Run], ...], name: str, say: Say):
    first, second, ours = (run[name] for run in runs)
    verdict = compare(first, second, ours)
    say(f"{name}: {verdict.compared} facts compared, {len(verdict.unsteady)} left out")

    assert [str(difference) for difference in verdict.differences] == []
    assert verdict.compared > 10


def test_victims_are_really_lost(runs: tuple[Mapping[str, Run], ...]):
    """Otherwise two schedulers that do nothing would be alike."""
    events = [event for facts in runs[2]["a victim goes"].snapshots[-1].values() for event in facts["events"]]

    assert len([event for event in events if "Preempted" in event]) == 1
