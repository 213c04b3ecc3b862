"""Whether the API server answers, as a state with one log line a change: retries are counted, not logged."""

from __future__ import annotations

import structlog

from scheduler.kube.timing import Timing
from scheduler.kube.transport import ApiError, FailureKind, TransportFailure

log = structlog.get_logger(__name__)

STARTING = "starting"
WATCHING = "watching"
ABSENT = "absent"


class Link:
    """The state of one watched resource.

    ``state`` is ``starting``, ``watching``, ``absent`` (the server does not serve the resource) or the kind of failure:
    ``unreachable``, ``tls``, ``unauthorized``, ``forbidden``, ``throttled``, ``refused`` (any other answer) or ``broken`` (a stream that fell silent or made no sense).
    """

    def __init__(self, resource: str, timing: Timing) -> None:
        self.state = STARTING
        self._resource = resource
        self._timing = timing
        self._failures = 0
        self._failing_since = 0.0

    def works(self) -> None:
        """The server has answered as it should."""
        if self.state == WATCHING:
            return
        if self._failures:
            log.info(
                "API server answers again",
                resource=self._resource,
                failures=self._failures,
                seconds=round(self._timing.monotonic() - self._failing_since, 3),
            )
            self._failures = 0
        self.state = WATCHING

    def fails(self, error: Exception) -> None:
        """A try has failed and will be repeated."""
        if not self._failures:
            self._failing_since = self._timing.monotonic()
        self._failures += 1
        state, advice = _diagnosis(error, self._resource)
        if state == self.state:
            return
        self.state = state
        log.warning("Cannot watch; will retry", resource=self._resource, state=state, error=str(error), advice=advice)

    def is_absent(self) -> None:
        """The server does not serve the resource."""
        if self.state != ABSENT:
            log.info("Not served by the API server; taken as empty", resource=self._resource)
        self.state = ABSENT
        self._failures = 0


def _diagnosis(error: Exception, resource: str) -> tuple[str, str]:
    """The state that an error means, and what to do about it."""
    if isinstance(error, ApiError):
        if error.code == 401:
            return "unauthorized", "check the credentials: the token or certificate may have expired or been revoked"
        if error.code == 403:
            return "forbidden", f"grant list and watch on {resource} in all namespaces (a ClusterRole)"
        if error.code == 429:
            return "throttled", "the API server is overloaded or a priority level is too small"
        return "refused", "see the API server's log"
    if isinstance(error, TransportFailure):
        if error.kind is FailureKind.TLS:
            return "tls", "check certificate-authority and server in the kubeconfig"
        return "unreachable", "check that the API server runs and that its address is right"
    return "broken", "a load balancer may drop idle connections"
