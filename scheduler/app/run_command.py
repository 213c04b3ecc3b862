"""``reprise run``: the scheduler as a process, with its signals, health pages and metrics."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import secrets
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import structlog
import uvloop

from scheduler.app.allocator import keep_freed_blocks
from scheduler.app.configuring import Configuring, Sources
from scheduler.app.debugging import CacheDebugger
from scheduler.app.edge_counters import edge_counters
from scheduler.app.garbage import spare_once
from scheduler.app.leadership import Candidacy, Leadership
from scheduler.app.own_namespace import own_namespace
from scheduler.app.runtime import Runtime
from scheduler.app.serving import Delegate, Heartbeat, is_served, make_server, pods_known, start
from scheduler.config.configuration import Configuration, ConfigurationError, load
from scheduler.kube.client import ApiClient
from scheduler.kube.credentials import CredentialsError, load_credentials
from scheduler.kube.elector import LeadershipLost, Terms
from scheduler.kube.fence import FenceClosed
from scheduler.serving.health import Note, ping
from scheduler.serving.pages import Pages
from scheduler.serving.server import ServingError
from scheduler.telemetry import logs
from scheduler.telemetry.election_metrics import LeaderElectionCollector
from scheduler.telemetry.exposition import take
from scheduler.telemetry.freshness_metrics import FreshnessCollector
from scheduler.telemetry.metrics import SchedulerCollector, registry
from scheduler.telemetry.process_metrics import LimitsCollector, UnderWayCollector

log = structlog.get_logger(__name__)

EXIT_FAILURE = 1
EXIT_BAD_INPUT = 2


def run(options: argparse.Namespace) -> int:
    """Exit code 0 after SIGTERM or SIGINT, 2 for input that cannot be used (nothing was started), 1 for a failure."""
    keep_freed_blocks()
    try:
        configuration = load(
            options.config, replace_kube_scheduler=options.replace_kube_scheduler, own_namespace=own_namespace()
        )
    except ConfigurationError as error:
        for line in error.errors:
            print(line, file=sys.stderr)
        return EXIT_BAD_INPUT
    logging = configuration.reprise.logging
    logs.configure(form=logging.format, level=logging.level)
    for warning in configuration.warnings:
        log.warning("configuration", detail=warning)
    kubeconfig = options.kubeconfig or _kubeconfig_of(configuration)
    try:
        credentials = load_credentials(kubeconfig, monotonic=time.monotonic)
        leadership = _leadership(configuration, kubeconfig)
        delegate = Delegate(kubeconfig) if configuration.reprise.serving.port else None
    except CredentialsError as error:
        print(f"reprise run: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    seed = secrets.randbits(31) if options.seed is None else options.seed
    log.info(
        "starting",
        version=version("reprise-scheduler"),
        profiles=[one.scheduler_name for one in configuration.profiles],
        credentials=credentials.source,
        seed=seed,
    )
    try:
        with _story(options.story) as write_story, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            client = ApiClient(credentials, version=version("reprise-scheduler"))
            sources = Sources(
                file=options.config,
                resource=options.config_resource,
                replace_kube_scheduler=options.replace_kube_scheduler,
                kubeconfig=kubeconfig,
            )
            return runner.run(_serve(configuration, client, seed, write_story, leadership, delegate, sources))
    except ServingError as error:
        print(f"reprise run: {error}", file=sys.stderr)
    except CredentialsError as error:
        print(f"reprise run: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except OSError as error:
        print(f"reprise run: {error}", file=sys.stderr)
    except ExceptionGroup as failures:
        _, others = failures.split((LeadershipLost, FenceClosed))
        if others is None:
            log.error("Leaderelection lost")
        else:
            log.exception("a part of the scheduler failed; the process ends")
    return EXIT_FAILURE


def _leadership(configuration: Configuration, kubeconfig: Path | None) -> Leadership | None:
    """The candidacy that the configuration asks for, with credentials and connections of its own.

    Raises:
        CredentialsError: see ``load_credentials``.
    """
    election = configuration.kube.leader_election
    if not election.leader_elect:
        return None
    candidacy = Candidacy(
        namespace=election.resource_namespace,
        name=election.resource_name,
        terms=Terms(
            lease_duration_seconds=election.lease_duration_seconds,
            renew_deadline_seconds=election.renew_deadline_seconds,
            retry_period_seconds=election.retry_period_seconds,
        ),
        hostname=socket.gethostname(),
        reporter=configuration.profiles[0].scheduler_name,
    )
    client = ApiClient(
        load_credentials(kubeconfig, monotonic=time.monotonic), version=version("reprise-scheduler"), reads_small=True
    )
    return Leadership(candidacy, client)


def _kubeconfig_of(configuration: Configuration) -> Path | None:
    path = configuration.kube.client_connection.kubeconfig
    return Path(path) if path else None


@contextlib.contextmanager
def _story(path: Path | None) -> Iterator[Callable[[bytes], object] | None]:
    if path is None:
        yield None
        return
    with path.open("wb") as file:
        yield file.write


async def _serve(
    configuration: Configuration,
    client: ApiClient,
    seed: int,
    write_story: Callable[[bytes], object] | None,
    leadership: Leadership | None,
    delegate: Delegate | None,
    sources: Sources,
) -> int:
    stop = asyncio.Event()
    _stop_on_signals(stop)
    async with client:
        writer = client if leadership is None else client.fenced(leadership.fence)
        runtime = Runtime(
            configuration,
            client,
            hostname=socket.gethostname(),
            seed=seed,
            writer=writer,
            leadership=leadership,
            write_story=write_story,
        )
        configuring = Configuring(runtime, sources, reader=client, writer=writer)
        debugger = CacheDebugger(runtime, client)
        heartbeat = Heartbeat(time.monotonic)
        serving = configuration.reprise.serving
        server = None
        if is_served(serving):
            server = make_server(
                serving, _pages(configuration, runtime, leadership, debugger, heartbeat, configuring), delegate
            )
            await start(server, serving)
        beating = asyncio.create_task(heartbeat.run())
        sparing = asyncio.create_task(spare_once(runtime.synced))
        debugger.listen_for_signal()
        configuring.listen_for_signal()
        try:
            await runtime.run(stop)
        finally:
            sparing.cancel()
            beating.cancel()
            await debugger.stop()
            if server is not None:
                await server.stop(before_end=None if delegate is None else delegate.client.close)
            if leadership is not None:
                leadership.close()
    return 0


def _stop_on_signals(stop: asyncio.Event) -> None:
    """The first signal asks for an orderly end, a second one does not wait for it."""

    def handle(name: str) -> None:
        if stop.is_set():
            log.warning("second signal: not waiting", signal=name)
            raise SystemExit(EXIT_FAILURE)
        log.info("stopping", signal=name)
        stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, handle, number.name)


def _pages(
    configuration: Configuration,
    runtime: Runtime,
    leadership: Leadership | None,
    debugger: CacheDebugger,
    heartbeat: Heartbeat,
    configuring: Configuring,
) -> Pages:
    def writes() -> dict[str, int]:
        return runtime.dispatcher.unfinished._asdict()

    def in_force() -> dict[str, Any]:
        return runtime.configuration.as_kube_document()

    watchdog = {} if leadership is None else {"leaderElection": leadership.is_well}
    collectors = registry(
        *_election_metrics(leadership),
        SchedulerCollector(runtime.state),
        configuring.collector(),
        FreshnessCollector(
            silences=lambda: {one.resource.name: one.silence_seconds() for one in runtime.reflectors},
            lag_seconds=runtime.loop.lag_seconds,
            waiting=runtime.loop.waiting,
        ),
        LimitsCollector(),
        UnderWayCollector(tasks=lambda: len(asyncio.all_tasks()), jobs=writes),
        edge_counters(runtime),
    )
    return Pages(
        health=watchdog or {"ping": ping},
        live={"ping": ping, "scheduling-loop": heartbeat.is_well},
        ready={
            "ping": ping,
            **watchdog,
            "shutdown": lambda: not runtime.is_stopping,
            "sched-handler-sync": runtime.synced.is_set,
            "configuration": lambda: Note(configuring.trouble) or True,
            "rights": lambda: not runtime.missing or f"missing: {'; '.join(runtime.missing)}",
        },
        metrics={
            "/metrics": lambda: take(collectors),
            "/metrics/resources": pods_known(runtime.state, lambda: leadership is None or leadership.is_leader),
        },
        configuration=in_force,
        debug={"batch": lambda: runtime.state.batching.as_document(time.time()), "compare": debugger.document}
        if configuration.reprise.serving.debug
        else {},
        owner=asyncio.get_running_loop(),
    )


def _election_metrics(leadership: Leadership | None) -> list[LeaderElectionCollector]:
    if leadership is None:
        return []
    return [
        LeaderElectionCollector(
            leadership.candidacy.name,
            is_leader=lambda: leadership.is_leader,
            slow_paths=lambda: leadership.slow_paths,
        )
    ]
