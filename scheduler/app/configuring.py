"""Where configurations come from while the scheduler runs: a mounted file, or the resource that it is told to obey."""

from __future__ import annotations

import asyncio
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import structlog

from scheduler.app.config_file import ConfigFile
from scheduler.app.configuration_resource import ConfigurationResource
from scheduler.app.generations import hash_of
from scheduler.app.own_namespace import own_namespace
from scheduler.app.reloading import REASONS, Candidate, Reloading
from scheduler.app.runtime import Runtime
from scheduler.config.configuration import Configuration, load
from scheduler.kube.credentials import load_credentials
from scheduler.kube.scheduler_configurations import RIGHTS, ConfigurationClient, Unavailable
from scheduler.kube.transport import Transport
from scheduler.operator.watcher import Login, ResourceWatcher
from scheduler.telemetry.configuration_metrics import ConfigurationCollector

log = structlog.get_logger(__name__)

SERVED_AGAIN_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What ``reprise run`` was told.

    Attributes:
        file: watched from the start on; None without one.
        resource: the name of a SchedulerConfiguration, "" for none.
    """

    file: Path | None
    resource: str = ""
    replace_kube_scheduler: bool = False
    kubeconfig: Path | None = None


class Configuring:
    """Joins a runtime that has not been started, and runs beside it."""

    def __init__(self, runtime: Runtime, sources: Sources, *, reader: Transport, writer: Transport) -> None:
        self._runtime = runtime
        self._sources = sources
        self._file = None if sources.file is None else ConfigFile(sources.file)
        self.reloading = Reloading(runtime, reader)
        self.resource: ConfigurationResource | None = None
        self._client = ConfigurationClient(reader, writer)
        self._hashed: tuple[Configuration, str] | None = None
        runtime.companions.append(self.reloading.run)
        if self._file is not None:
            runtime.companions.append(self._watch_file)
        if sources.resource:
            self.resource = ConfigurationResource(
                sources.resource,
                self._client,
                self.reloading,
                is_leader=lambda: runtime.is_leader,
                hit_ratio=runtime.state.batching.counters.hit_ratio,
                names=lambda: list(runtime.state.profiles),
                replace_kube_scheduler=sources.replace_kube_scheduler,
            )
            runtime.rights += RIGHTS
            runtime.before_scheduling = self.resource.first
            runtime.companions += [self.resource.read, self.resource.write, self._watch_resource]

    def collector(self) -> ConfigurationCollector:
        """What became of configurations, as metrics."""
        runtime = self._runtime
        return ConfigurationCollector(
            self.reloading.counts,
            REASONS,
            active=lambda: (runtime.state.generation, self._hash()),
            is_well=lambda: not self.trouble,
        )

    def _hash(self) -> str:
        """Worked out once for each configuration, and not at each scrape."""
        configuration = self._runtime.configuration
        if self._hashed is None or self._hashed[0] is not configuration:
            self._hashed = (configuration, hash_of(configuration))
        return self._hashed[1]

    @property
    def trouble(self) -> str:
        """Why what was found last is not in force; "" when it is."""
        if self.resource is not None and (trouble := self.resource.trouble):
            return trouble
        latest = self.reloading.latest
        return "" if latest.is_accepted else f"the last configuration was refused: {latest.reason}"

    def listen_for_signal(self) -> None:
        """Read the file again at SIGHUP."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._read_again)

    def _read_again(self) -> None:
        if self._file is None:
            log.info("SIGHUP: there is no configuration file to read again")
        else:
            self._file.read_again()

    async def _watch_file(self) -> None:
        file = self._file
        assert file is not None
        async for _ in file.changes():
            if self.resource is not None and self.resource.rules:
                log.info(
                    "the configuration file changed and has no say: a resource is obeyed", resource=self.resource.name
                )
                continue
            self.reloading.offer(
                Candidate(
                    source=str(file.path),
                    read=lambda _running: load(
                        file.path,
                        replace_kube_scheduler=self._sources.replace_kube_scheduler,
                        own_namespace=own_namespace(),
                    ),
                )
            )

    async def _watch_resource(self) -> None:
        """Let kopf watch, once there is something to watch: it looks for the kind of resource at its start only."""
        assert self.resource is not None
        is_told = False
        while not await self._is_served():
            if not is_told:
                is_told = True
                log.error("the API server has no SchedulerConfigurations: install deploy/crds")
            await asyncio.sleep(SERVED_AGAIN_SECONDS)
        watcher = ResourceWatcher(self._login, self.resource.heard)
        try:
            await watcher.run()
        finally:
            await watcher.stop()

    async def _is_served(self) -> bool:
        try:
            return await self._client.is_served()
        except Unavailable:
            return False

    def _login(self) -> Login:
        """Credentials of its own, loaded anew: those of others are refreshed on other loops."""
        credentials = load_credentials(self._sources.kubeconfig, monotonic=time.monotonic)
        endpoint = credentials.endpoint
        scheme, _, token = (credentials.authorization() or "").partition(" ")
        return Login(
            server=endpoint.url,
            ca_pem=endpoint.ca_pem.decode(),
            is_verified=endpoint.is_verified,
            scheme=scheme,
            token=token,
            identity_pem=endpoint.identity_pem.decode(),
            proxy=endpoint.proxy,
        )
