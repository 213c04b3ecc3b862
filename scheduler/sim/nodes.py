"""Nodes that exist only in this process: pods bound to them start, run, and end when they are deleted."""

import asyncio
import heapq
import itertools
from collections.abc import Callable

from scheduler.sim.objects import Clock, Object, timestamp, utc_now
from scheduler.sim.pods import TERMINAL_PHASES, with_condition
from scheduler.sim.resources import NODES, PODS
from scheduler.sim.server import ApiServer
from scheduler.sim.store import Change

Delay = Callable[[Object], float]

# Pods that become due within this time of each other are written together.
BATCH_SECONDS = 0.02
# So many are written before others of the loop have their turn.
MAX_BATCH = 200
# Conditions of a pod whose containers run.
_RUNNING_CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")


class NodeSimulator:
    """What the kubelets of all nodes of a server do, as far as other clients of the API can see it.

    A pod that is bound to a node that exists runs after its start delay, and is gone its stop delay after it was deleted.
    A pod bound to a node that does not exist stays as it is.
    """

    def __init__(
        self,
        server: ApiServer,
        *,
        start_delay: Delay | float = 0.5,
        stop_delay: Delay | float = 0.1,
        clock: Clock = utc_now,
        batch_seconds: float = BATCH_SECONDS,
    ) -> None:
        """`start_delay` and `stop_delay`: seconds, or a function of the pod that gives them; `clock` stamps the status."""
        self.running = 0
        self._server = server
        self._start_delay = _delay(start_delay)
        self._stop_delay = _delay(stop_delay)
        self._clock = clock
        self._batch_seconds = batch_seconds
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._unlisten: Callable[[], None] | None = None
        self._addresses = itertools.count(1)
        # UID -> whether the pod is to end (or else to start): each is planned once.
        self._planned: dict[str, bool] = {}

    def start(self) -> None:
        """Begin, with the pods that are bound already. Needs a running loop; `stop` ends it."""
        assert self._unlisten is None, "the simulator runs already"
        self._unlisten = self._server.listen(PODS, self._pod_changed)
        for pod in self._server.objects(PODS):
            self._plan(pod)

    def stop(self) -> None:
        """Leave all pods as they are."""
        if self._unlisten is not None:
            self._unlisten()
            self._unlisten = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._due.clear()
        self._planned.clear()

    def _pod_changed(self, change: Change) -> None:
        pod = change.current.object
        if change.type == "DELETED":
            self._planned.pop(pod["metadata"]["uid"], None)
        else:
            self._plan(pod)

    def _plan(self, pod: Object) -> None:
        node = pod["spec"].get("nodeName")
        if not node or self._server.find(NODES, "", node) is None:
            return
        uid, ending = pod["metadata"]["uid"], "deletionTimestamp" in pod["metadata"]
        if self._planned.get(uid) is ending or self._planned.get(uid):
            return
        if not ending and pod["status"].get("phase") != "Pending":
            return
        self._planned[uid] = ending
        delay = (self._stop_delay if ending else self._start_delay)(pod)
        act = self._end if ending else self._run
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        self._schedule(delay, lambda: act(namespace, name, uid))

    # ----------------------------------------------------------------------------------------------------------- timing

    def _schedule(self, delay: float, act: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        heapq.heappush(self._due, (loop.time() + delay, next(self._order), act))
        self._wake(loop)

    def _wake(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have the first that is due done on time, together with those that come soon after it."""
        at = self._due[0][0] + self._batch_seconds
        if self._timer is not None:
            if self._timer_at <= at:
                return
            self._timer.cancel()
        self._timer, self._timer_at = loop.call_at(at, self._tick), at

    def _tick(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        now = loop.time()
        for _ in range(MAX_BATCH):
            if not self._due or self._due[0][0] > now:
                break
            heapq.heappop(self._due)[2]()
        if self._due and self._unlisten is not None:
            self._wake(loop)

    # --------------------------------------------------------------------------------------------------------- the work

    def _current(self, namespace: str, name: str, uid: str) -> Object | None:
        pod = self._server.find(PODS, namespace, name)
        return pod if pod is not None and pod["metadata"]["uid"] == uid else None

    def _run(self, namespace: str, name: str, uid: str) -> None:
        pod = self._current(namespace, name, uid)
        if pod is None or "deletionTimestamp" in pod["metadata"] or pod["status"].get("phase") in TERMINAL_PHASES:
            return
        self.running += 1
        self._server.set_status(PODS, namespace, name, self._running_status(pod))

    def _running_status(self, pod: Object) -> Object:
        now = self._clock()
        number = next(self._addresses)
        address = f"10.{64 + (number >> 16) % 64}.{(number >> 8) % 256}.{number % 256}"
        conditions = list(pod["status"].get("conditions") or [])
        for kind in _RUNNING_CONDITIONS:
            conditions = with_condition(conditions, {"type": kind, "status": "True"}, now)
        return {
            **pod["status"],
            "phase": "Running",
            "conditions": conditions,
            "startTime": timestamp(now),
            "podIP": address,
            "podIPs": [{"ip": address}],
            "containerStatuses": [
                _container_status(container, timestamp(now)) for container in pod["spec"]["containers"]
            ],
        }

    def _end(self, namespace: str, name: str, uid: str) -> None:
        pod = self._current(namespace, name, uid)
        if pod is not None:
            self._server.delete(PODS, namespace, name, grace_seconds=0)


def _delay(given: Delay | float) -> Delay:
    if callable(given):
        return given
    seconds = given
    return lambda _: seconds


def _container_status(container: Object, now: str) -> Object:
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": now}},
        "lastState": {},
    }
