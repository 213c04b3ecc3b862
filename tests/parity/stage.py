"""Performs scripts on a real API server for one scheduler, and notes what it did."""

import re
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any, Self

from tests.parity.account import Account, Snapshot
from tests.parity.placement import Placement
from tests.parity.story import (
    PATIENCE_SECONDS,
    Action,
    Bind,
    Change,
    Create,
    CreateInTurn,
    Delete,
    EndTerminating,
    Script,
    Step,
)
from tests.support.api_client import ApiClient, ApiError
from tests.support.cluster_reset import reset_cluster
from tests.support.resources import (
    EVENTS,
    LEASES,
    NAMESPACES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    PRIORITY_CLASSES,
    Object,
)
from tests.support.watch import Watch

# How long the API must be silent before a step has settled. A decision takes milliseconds; what the clock alone brings
# (backing off) is told apart by the scheduler's own gauge.
QUIET_SECONDS = 0.5
# A first back-off is of one second, and ends with the next whole one after it.
REST_SECONDS = 2.2
WAITING_ROOMS = ("active", "backoff")
_GAUGE = re.compile(r'^scheduler_pending_pods\{[^}]*queue="(\w+)"[^}]*\} (\S+)$', re.MULTILINE)
KEPT = (EVENTS, LEASES, PRIORITY_CLASSES)


class NotSettled(Exception):
    """A step did not come to rest in time."""


@dataclass
class Performance:
    """What one scheduler made of one script."""

    snapshots: list[Snapshot] = field(default_factory=list)
    placements: list[Placement] = field(default_factory=list)
    problem: str = ""


class Stage:
    """A cluster with its watches, for one scheduler and many scripts; use it in a `with`."""

    def __init__(self, admin: ApiClient, page: Callable[[str], str]) -> None:
        """`page` reads a page of the scheduler's."""
        self._admin = admin
        self._page = page
        self._stack = ExitStack()
        self._pods: Watch
        self._events: Watch
        self._pause = threading.Event()  # never set: a poll needs an interval

    def __enter__(self) -> Self:
        self._pods = self._stack.enter_context(self._admin.watch(PODS))
        self._events = self._stack.enter_context(self._admin.watch(EVENTS))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def perform(self, script: Script) -> Performance:
        """Empty the cluster, then do one step after the other; what does not come to rest is the performance's problem."""
        made = Performance()
        try:
            self._clear()
        except (NotSettled, ApiError, OSError) as error:
            made.problem = f"before its first step: {error}"
            return made
        account = Account(self._pods, self._events, script.tries_vary)
        world: dict[tuple[str, str, str], Object] = {}
        for namespace in self._admin.list_objects(NAMESPACES):
            _note(world, {"kind": "Namespace", **namespace})
        try:
            for number, step in enumerate(script.steps, 1):
                try:
                    self._take(step, account, world)
                except NotSettled as error:
                    raise NotSettled(f"step {number}: {error}") from None
                made.snapshots.append(account.snapshot())
                self._note_controllers_work(world)
                account.settled(world)
        except (NotSettled, ApiError, OSError) as error:  # the last: the scheduler has ended
            made.problem = str(error)
        made.placements = account.placements()
        return made

    def _take(self, step: Step, account: Account, world: dict[tuple[str, str, str], Object]) -> None:
        account.read()
        for action in step.actions:
            self._act(action, account, world)
        account.surroundings(world)
        if step.bound:
            self._wait(lambda: account.are_bound(step.bound), f"{', '.join(step.bound)} bound")
        if step.until_told:
            self._wait(account.all_told, "every pod is bound or told why not")
            return
        self._settle(account, seconds=REST_SECONDS if step.rests else QUIET_SECONDS)

    def _act(self, action: Action, account: Account, world: dict[tuple[str, str, str], Object]) -> None:
        match action:
            case Create(manifests, claims):
                others = [manifest for manifest in manifests if manifest["kind"] != "Pod"]
                pods = [manifest for manifest in manifests if manifest["kind"] == "Pod"]
                for manifest in others:
                    _note(world, self._admin.create(manifest))
                self._wait(lambda: self._claims_are_bound(claims), f"claims {', '.join(claims)} bound")
                if others and pods:
                    self._settle(account)
                    self._note_controllers_work(world)
                account.surroundings(world)
                for manifest in pods:
                    account.expect(self._admin.create(manifest)["metadata"]["uid"])
            case CreateInTurn(pods):
                account.surroundings(world)
                for manifest in pods:
                    account.read()
                    uid = self._admin.create(manifest)["metadata"]["uid"]
                    self._wait(partial(account.is_told, uid), f"{manifest['metadata']['name']} is decided on")
            case Change(resource, name, patch, namespace, subresource):
                form: Any = "json" if isinstance(patch, list) else "merge"
                changed = self._admin.patch(
                    resource, name, patch, namespace=namespace, subresource=subresource, patch_type=form
                )
                if resource is not PODS:
                    _note(world, changed)
                    account.surroundings(world)
            case Delete(resource, name, namespace, gracefully):
                grace = 30 if gracefully else 0
                self._admin.delete(resource, name, namespace, grace_seconds=grace if resource is PODS else None)
                if resource is not PODS:
                    world.pop((resource.kind, namespace or "", name), None)
                    account.surroundings(world)
            case Bind(name, node):
                account.bound_by_others(name)
                self._admin.bind("default", name, node)
            case EndTerminating():
                for each in self._admin.list_objects(PODS):
                    if each["metadata"].get("deletionTimestamp"):
                        metadata = each["metadata"]
                        self._admin.delete(PODS, metadata["name"], metadata["namespace"], grace_seconds=0)

    # -------------------------------------------------------------------------------------------------------- settling

    def _settle(self, account: Account, *, seconds: float = QUIET_SECONDS) -> None:
        """Wait until the API has been silent for so long and no pod waits to be tried."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        seen, since = -1, time.monotonic()
        waiting: dict[str, float] = {}
        while time.monotonic() < deadline:
            if (now_seen := account.heard()) != seen:
                seen, since = now_seen, time.monotonic()
            elif time.monotonic() - since >= seconds:
                waiting = self._waiting()
                if not any(waiting.values()) and account.heard() == seen:
                    return
            self._pause.wait(0.02)
        raise NotSettled(f"not at rest after {PATIENCE_SECONDS:g} s; pods waiting: {waiting}")

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            if time.monotonic() > deadline:
                raise NotSettled(f"not seen in {PATIENCE_SECONDS:g} s: {what}")
            self._pause.wait(0.005)

    def _claims_are_bound(self, names: Sequence[str]) -> bool:
        claims = (self._admin.get(PERSISTENT_VOLUME_CLAIMS, name, "default") for name in names)
        return all(claim["status"].get("phase") == "Bound" for claim in claims)

    def _waiting(self) -> dict[str, float]:
        rooms = {room: float(count) for room, count in _GAUGE.findall(self._page("/metrics"))}
        return {room: rooms.get(room, 0.0) for room in WAITING_ROOMS}

    def _clear(self) -> None:
        reset_cluster(self._admin, keep=KEPT)
        self._settle(Account(self._pods, self._events))

    def _note_controllers_work(self, world: dict[tuple[str, str, str], Object]) -> None:
        """Claims and volumes are changed by the controller that binds them, and by the scheduler."""
        if any(kind == "PersistentVolumeClaim" for kind, _, _ in world):
            for resource in (PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES):
                for item in self._admin.list_objects(resource):
                    _note(world, {"apiVersion": resource.api_version, "kind": resource.kind, **item})


def _note(world: dict[tuple[str, str, str], Object], given: Object) -> None:
    metadata = given["metadata"]
    world[given["kind"], metadata.get("namespace") or "", metadata["name"]] = given
