"""What a running scheduler knows beside what the real API server has: SIGUSR2 and `reprise debug compare`."""

import subprocess
from pathlib import Path

from tests.integration.conftest import StartReprise
from tests.support.api_client import ApiClient
from tests.support.control_plane import ControlPlane
from tests.support.manifests import node_manifest, pod_manifest
from tests.support.reprise_process import COMMAND, COMPARED, take_uncompared
from tests.support.resources import NODES


def test_a_signal_compares_and_lists_who_waits(admin: ApiClient, start_reprise: StartReprise) -> None:
    for name in ("n1", "n2"):
        admin.create(node_manifest(name))
    reprise = start_reprise()
    admin.create_all([pod_manifest("web"), pod_manifest("large", requests={"cpu": "1000"})])
    reprise.wait_until(lambda: len(reprise.lines("scheduling cycle")) == 2, seconds=10, what="both are decided on")

    reprise.compare_with_cluster()
    (line,) = reprise.lines(COMPARED)
    assert (line["same"], line["nodes"], line["pods"], line["left_out"]) == (True, 2, 2, [])
    (dump,) = reprise.lines("dump of scheduling queue")
    assert (dump["summary"]["unschedulable"], dump["pods"]) == (1, ["default/large"])


def test_the_command_asks_the_page(fresh_cluster: ControlPlane, admin: ApiClient, start_reprise: StartReprise) -> None:
    admin.create(node_manifest("n1"))
    reprise = start_reprise(reprise={"serving": {"debug": True}})
    reprise.wait_until(reprise.is_ready, seconds=10, what="it is ready")

    command: list[str | Path] = [COMMAND, "debug", "compare", "--url", reprise.url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "1 nodes and 0 pods listed\nwhat the scheduler knows is what there is\n",
        "",
    )
    assert admin.list_objects(NODES)


def test_a_scheduler_is_compared_before_it_is_stopped(start_reprise: StartReprise) -> None:
    reprise = start_reprise()
    assert reprise.stop() == 0

    assert [line["same"] for line in reprise.lines(COMPARED)] == [True]
    assert take_uncompared() == []


def test_of_one_that_was_killed_the_next_has_to_be_compared(start_reprise: StartReprise) -> None:
    first = start_reprise()
    first.kill()
    assert take_uncompared() == ["reprise"]

    start_reprise(name="second").kill()
    start_reprise(name="third").compare_with_cluster()
    assert take_uncompared() == []
