"""The SchedulerConfiguration that this release obeys: what it says goes to Reloading, what became of it goes into its status.

Every replica applies it; the leader writes. What is written is written when it changes, and the hit ratio once a minute at most. The
resource is read besides, now and then, as a watch may leave out what vanished.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import structlog

from scheduler.app.reloading import ACCEPTED, Candidate, Reloading, Verdict
from scheduler.config import kube_document, reprise_document
from scheduler.config.configuration import Configuration, ConfigurationError, from_documents
from scheduler.config.restart import process_sections
from scheduler.kube.scheduler_configurations import ConfigurationClient, Unavailable

log = structlog.get_logger(__name__)

KUBE_FIELD = "kubeSchedulerConfiguration"
REPRISE_FIELD = "repriseConfiguration"

READ_AGAIN_SECONDS = 30.0
WRITE_AGAIN_SECONDS = 2.0
HIT_RATIO_SECONDS = 60.0
FIRST_SECONDS = 15.0
"""How long the first decision waits for the resource, once the cluster is known."""
MESSAGE_LIMIT = 32768
NOT_OBEYED = "NotObeyed"


def configuration_of(spec: Any, running: Configuration, *, replace_kube_scheduler: bool) -> Configuration:
    """The configuration that a resource's spec describes. What decides how a process is started is as it is unless the spec says otherwise.

    Raises:
        ConfigurationError: with everything that is wrong.
    """
    if not isinstance(spec, dict):
        raise ConfigurationError(["spec: Required value: an object"])
    unknown = sorted(set(spec) - {KUBE_FIELD, REPRISE_FIELD})
    if unknown:
        raise ConfigurationError([f"spec.{name}: unknown field" for name in unknown])
    kube, reprise = process_sections(running)
    named = {kube_document.KIND: KUBE_FIELD, reprise_document.KIND: REPRISE_FIELD}
    return from_documents(
        {kind: spec[field] for kind, field in named.items() if spec.get(field) is not None},
        defaults={kube_document.KIND: kube, reprise_document.KIND: reprise},
        replace_kube_scheduler=replace_kube_scheduler,
    )


class ConfigurationResource:
    """One resource, by its name; every method is for the main loop.

    Args:
        hit_ratio: of the batch cache, from 0 to 1.
        names: schedulerNames in force.
        wall: seconds since the epoch.
        monotonic: seconds, for how often something is done.
    """

    def __init__(  # noqa: PLR0913 - what a test stands in for
        self,
        name: str,
        client: ConfigurationClient,
        reloading: Reloading,
        *,
        is_leader: Callable[[], bool],
        hit_ratio: Callable[[], float],
        names: Callable[[], list[str]],
        replace_kube_scheduler: bool = False,
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.rules = False
        """The resource has been good once: the file has no say any more."""
        self._client = client
        self._reloading = reloading
        self._is_leader = is_leader
        self._hit_ratio = hit_ratio
        self._names = names
        self._replace = replace_kube_scheduler
        self._wall = wall
        self._monotonic = monotonic
        self._found: dict[str, Any] | None = None
        self._offered: tuple[str, int] | None = None
        self._verdict: tuple[int, Verdict] | None = None
        self._others: dict[str, Mapping[str, Any]] = {}
        self._is_missing = False
        self._written: Any = None
        self._shown_ratio: tuple[float, str] | None = None
        self._news = asyncio.Event()
        self._answered = asyncio.Event()

    @property
    def trouble(self) -> str:
        """What is wrong with the resource, for people; "" when it is in force."""
        if self._found is None:
            return f'SchedulerConfiguration "{self.name}" is not there; the last good configuration stays in force'
        if self._verdict is not None and not self._verdict[1].is_accepted:
            return f'SchedulerConfiguration "{self.name}" was refused: {self._verdict[1].reason}'
        return ""

    # ------------------------------------------------------------------------------------------------------ what is heard

    def heard(self, kind: str, found: Mapping[str, Any]) -> None:
        """A resource was found, changed or (``DELETED``) is gone."""
        metadata = found.get("metadata") or {}
        if metadata.get("name") != self.name:
            self._heard_of_another(kind, metadata, found)
            return
        if kind == "DELETED":
            self._gone()
            return
        seen = (str(metadata.get("uid")), _generation(found))
        if self._offered is not None and seen[0] == self._offered[0] and seen[1] < self._offered[1]:
            return  # read before the watch told of a newer one
        self._found, self._is_missing = dict(found), False
        self._news.set()
        if seen == self._offered:
            return
        self._offered = seen
        spec = found.get("spec")
        self._reloading.offer(
            Candidate(
                source=f"SchedulerConfiguration/{self.name}",
                read=lambda running: configuration_of(spec, running, replace_kube_scheduler=self._replace),
                answer=lambda verdict: self._decided(seen, verdict),
            )
        )

    def _gone(self) -> None:
        self._found = self._offered = self._verdict = self._written = None
        self._answered.set()
        if not self._is_missing:
            self._is_missing = True
            log.error(
                "the SchedulerConfiguration that this release obeys is not there; the last good configuration stays in force",
                resource=self.name,
            )

    def _heard_of_another(self, kind: str, metadata: Mapping[str, Any], found: Mapping[str, Any]) -> None:
        other = str(metadata.get("name"))
        if kind == "DELETED":
            self._others.pop(other, None)
            return
        if other not in self._others:
            log.info("another SchedulerConfiguration is not obeyed by this release", resource=other, obeyed=self.name)
        self._others[other] = found
        self._news.set()

    def _decided(self, seen: tuple[str, int], verdict: Verdict) -> None:
        if seen == self._offered:
            self._verdict = (seen[1], verdict)
            self.rules = self.rules or verdict.is_accepted
            self._answered.set()
            self._news.set()

    # ------------------------------------------------------------------------------------------------------ what is done

    async def first(self) -> None:
        """Wait for the resource to be decided on, or to be known not to be there, before the first pod is decided on."""
        try:
            async with asyncio.timeout(FIRST_SECONDS):
                await self._answered.wait()
        except TimeoutError:
            log.warning("the SchedulerConfiguration has not been decided on; the file goes on", resource=self.name)

    async def read(self) -> None:
        """Read the resource at the start and now and then, until cancelled."""
        while True:
            try:
                found = await self._client.get(self.name)
            except Unavailable as error:
                log.warning("cannot read the SchedulerConfiguration; will retry", resource=self.name, error=str(error))
            else:
                if found is None:
                    self._gone()
                else:
                    self.heard("", found)
            await asyncio.sleep(READ_AGAIN_SECONDS if self._answered.is_set() else WRITE_AGAIN_SECONDS)

    async def write(self) -> None:
        """Write the status whenever it is not what it is to be, while this process leads; until cancelled."""
        while True:
            self._news.clear()
            is_done = await self._write_once()
            try:
                async with asyncio.timeout(WRITE_AGAIN_SECONDS):
                    await self._news.wait()
                    if not is_done:
                        await asyncio.sleep(WRITE_AGAIN_SECONDS)
            except TimeoutError:
                pass

    async def _write_once(self) -> bool:
        if not self._is_leader():
            self._written = None
            return True
        try:
            await self._write_own()
            await self._write_others()
        except Unavailable as error:
            log.warning("cannot write the status of a SchedulerConfiguration; will retry", error=str(error))
            return False
        return True

    async def _write_own(self) -> None:
        if self._found is None or self._verdict is None:
            return
        generation, verdict = self._verdict
        status = self._status(generation, verdict)
        if status == self._written:
            return
        if await self._client.write_status(self.name, status):
            self._written = status

    async def _write_others(self) -> None:
        for name, found in list(self._others.items()):
            status = found.get("status") or {}
            if status.get("conditions"):
                continue  # somebody obeys it, or has said that nobody does
            message = f'this release obeys SchedulerConfiguration "{self.name}"; nobody has said that he obeys this one'
            condition = _condition("Unknown", NOT_OBEYED, message, _generation(found), self._wall())
            version = str((found.get("metadata") or {}).get("resourceVersion") or "")
            self._others[name] = {**found, "status": {"conditions": [condition]}}
            await self._client.write_status(name, {"conditions": [condition]}, resource_version=version)

    def _status(self, generation: int, verdict: Verdict) -> dict[str, Any]:
        state = "True" if verdict.is_accepted else "False"
        condition = _condition(state, verdict.reason, verdict.message, generation, self._since(state))
        return {
            "observedGeneration": generation,
            "conditions": [condition],
            "profiles": ", ".join(self._names()),
            "hitRatio": self._ratio(),
        }

    def _since(self, state: str) -> float:
        """When the condition became what it is: what is written already, as long as it stays so."""
        known = (self._written or (self._found or {}).get("status") or {}).get("conditions") or []
        for condition in known:
            if condition.get("type") == "Accepted" and condition.get("status") == state:
                try:
                    return datetime.fromisoformat(condition["lastTransitionTime"]).timestamp()
                except (KeyError, ValueError, TypeError):
                    break
        return self._wall()

    def _ratio(self) -> str:
        now = self._monotonic()
        if self._shown_ratio is None or now - self._shown_ratio[0] >= HIT_RATIO_SECONDS:
            self._shown_ratio = (now, f"{self._hit_ratio():.2f}")
        return self._shown_ratio[1]


def _generation(found: Mapping[str, Any]) -> int:
    return int((found.get("metadata") or {}).get("generation") or 0)


def _condition(status: str, reason: str, message: str, generation: int, since: float) -> dict[str, Any]:
    return {
        "type": "Accepted",
        "status": status,
        "reason": reason if reason != ACCEPTED else "Applied",
        "message": message[:MESSAGE_LIMIT],
        "observedGeneration": generation,
        "lastTransitionTime": datetime.fromtimestamp(int(since), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
