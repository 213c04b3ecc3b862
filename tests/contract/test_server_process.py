"""The embedded server in a process of its own."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from scheduler.sim.process import BATCH, ServerProcess, ServerProcessError
from tests.contract.servers import binding
from tests.support.api_client import ApiClient
from tests.support.manifests import pod_manifest
from tests.support.resources import NODES, PODS


@pytest.fixture
async def process() -> AsyncIterator[ServerProcess]:
    running = ServerProcess(nodes=3, start_delay_seconds=0.0, seed=7)
    await running.start()
    yield running
    await running.stop()


def pid(process: ServerProcess) -> int:
    assert process._process is not None
    return process._process.pid


async def test_it_serves_its_nodes_and_what_is_created(process: ServerProcess) -> None:
    names = [f"web-{number:04}" for number in range(BATCH + 1)]
    await process.create(pod_manifest(name) for name in names)

    with ApiClient(process.url) as client:
        nodes = await asyncio.to_thread(client.list_objects, NODES)
        pods = await asyncio.to_thread(client.list_objects, PODS)

    assert [node["metadata"]["name"] for node in nodes] == ["node-0001", "node-0002", "node-0003"]
    assert [pod["metadata"]["name"] for pod in pods] == names


async def test_it_counts_and_runs_what_is_bound(process: ServerProcess) -> None:
    await process.create([pod_manifest("web")])
    with ApiClient(process.url) as client:
        path = PODS.path("default", "web", "binding")
        await asyncio.to_thread(client.send, "POST", path, binding("web", "node-0002"))
        while (state := await process.state()).running == 0:
            pass
        pod = await asyncio.to_thread(client.get, PODS, "web", "default")

    assert pod["status"]["phase"] == "Running"
    assert (state.counters.binds, state.pods, state.running, state.watches) == (1, 1, 1, 0)


async def test_an_object_that_is_refused_is_named(process: ServerProcess) -> None:
    with pytest.raises(ServerProcessError, match=r'^pods "web" already exists$'):
        await process.create([pod_manifest("web"), pod_manifest("web")])

    assert (await process.state()).pods == 1


async def test_its_kubeconfig_names_it(process: ServerProcess, tmp_path: Path) -> None:
    assert process.url in process.kubeconfig(tmp_path / "kubeconfig").read_text()


async def test_it_is_gone_when_it_was_stopped(process: ServerProcess) -> None:
    number = pid(process)

    await process.stop()
    await process.stop()

    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)
    with pytest.raises(ServerProcessError, match="not started, or was stopped"):
        await process.state()


async def test_an_interrupt_at_the_terminal_is_left_to_who_started_it(process: ServerProcess) -> None:
    os.kill(pid(process), signal.SIGINT)

    assert (await process.state()).pods == 0


async def test_it_ends_when_it_is_asked_to(process: ServerProcess) -> None:
    os.kill(pid(process), signal.SIGTERM)

    async def ask_forever() -> None:
        while True:
            await process.state()

    with pytest.raises(ServerProcessError, match="ended"):
        await ask_forever()


async def test_one_that_cannot_listen_says_so(process: ServerProcess, capfd: pytest.CaptureFixture[str]) -> None:
    second = ServerProcess(port=int(process.url.rpartition(":")[2]))

    with pytest.raises(ServerProcessError, match="ended with code 1"):
        await second.start()
    await second.stop()

    assert "address already in use" in capfd.readouterr().err


async def test_it_ends_with_the_process_that_started_it() -> None:
    program = (
        "import asyncio, os\n"
        "from scheduler.sim.process import ServerProcess\n"
        "async def main():\n"
        "    process = ServerProcess()\n"
        "    await process.start()\n"
        "    os._exit(7)\n"
        "asyncio.run(main())\n"
    )
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    assert parent.stderr is not None

    # The server inherits this pipe, so its end is the end of both.
    said = await parent.stderr.read()

    assert (said, await parent.wait()) == (b"", 7)
