"""The contestant `null`: the process that `reprise run` is, with RoundRobin where the core would decide."""

from __future__ import annotations

import argparse
import asyncio
import signal
import socket
import sys
import time
from importlib.metadata import version
from pathlib import Path

import uvloop

from bench.round_robin import RoundRobin
from scheduler.app.garbage import spare_once
from scheduler.app.loop import Loop
from scheduler.app.runtime import BINDS_IN_FLIGHT, Runtime
from scheduler.config.configuration import Configuration, load
from scheduler.core.state import Complaint
from scheduler.kube.client import ApiClient
from scheduler.kube.credentials import load_credentials
from scheduler.kube.transport import Transport
from scheduler.telemetry import logs


class NullRuntime(Runtime):
    """The runtime with another brain; everything else is what `reprise run` has."""

    def __init__(self, configuration: Configuration, transport: Transport) -> None:
        super().__init__(configuration, transport, hostname=socket.gethostname(), seed=0)
        brain = RoundRobin(configuration.profiles[0].scheduler_name)
        self.loop = Loop(
            brain,
            dispatch=self.dispatcher.submit,
            has_room=lambda: len(brain.binding) < BINDS_IN_FLIGHT,
            wall=time.time,
            clock=time.perf_counter,
            on_cycle=self._cycle_done,
            on_complaint=_none_is_bad,
        )


def _none_is_bad(bad: Complaint) -> None:
    raise AssertionError(bad)


async def _serve(configuration: Configuration, kubeconfig: Path) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    credentials = load_credentials(kubeconfig, monotonic=time.monotonic)
    async with ApiClient(credentials, version=version("reprise-scheduler")) as client:
        runtime = NullRuntime(configuration, client)
        sparing = asyncio.create_task(spare_once(runtime.synced))
        try:
            await runtime.run(stop)
        finally:
            sparing.cancel()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.null_scheduler")
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    options = parser.parse_args()
    configuration = load(options.config, replace_kube_scheduler=False)
    logging = configuration.reprise.logging
    logs.configure(form=logging.format, level=logging.level)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(configuration, options.kubeconfig))
    return 0


if __name__ == "__main__":
    sys.exit(main())
