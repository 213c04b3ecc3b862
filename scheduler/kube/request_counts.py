"""What the requests of this process to API servers came to, in plain numbers (client-go 0.37: REST metrics).

As in client-go they are those of the process: each client adds its own. To count one request takes about a microsecond.
"""

from __future__ import annotations

from collections import Counter
from weakref import WeakSet

from scheduler.core.measurements import Histogram

SECONDS_BOUNDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
BYTES_BOUNDS = tuple(
    map(float, (64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216)),
)

_all: WeakSet[RequestCounts] = WeakSet()


class RequestCounts:
    """Of one client, which is used by one thread.

    Attributes:
        host: name and port of the server, as in its URL.
        requests: by (method, status), the status being 0 where there was no answer.
        seconds: by method, until the whole answer was there.
        sent_bytes: by method, bodies of requests.
        received_bytes: by method, bodies of answers.
        retries: by (method, status that led to it): requests that the client repeated with new credentials.
    """

    def __init__(self, host: str) -> None:
        self.host = host
        self.requests: Counter[tuple[str, int]] = Counter()
        self.seconds: dict[str, Histogram] = {}
        self.sent_bytes: dict[str, Histogram] = {}
        self.received_bytes: dict[str, Histogram] = {}
        self.retries: Counter[tuple[str, int]] = Counter()
        _all.add(self)

    def seen(self, method: str, status: int, seconds: float, sent: int, received: int) -> None:
        """A request has been answered, or will not be."""
        self.requests[method, status] += 1
        took = self.seconds.get(method)
        if took is None:
            # The last one first: whoever reads meanwhile, on another thread, looks at methods that have all three.
            self.received_bytes[method] = Histogram(BYTES_BOUNDS)
            self.sent_bytes[method] = Histogram(BYTES_BOUNDS)
            took = self.seconds[method] = Histogram(SECONDS_BOUNDS)
        took.observe(seconds)
        self.sent_bytes[method].observe(sent)
        if status:
            self.received_bytes[method].observe(received)


def all_counts() -> list[RequestCounts]:
    """Those of all clients that there are, in a fixed order."""
    return sorted(_all, key=lambda one: one.host)
