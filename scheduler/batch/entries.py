"""The entries of the batch cache: several signatures at once, the least recently used one leaves first."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Generic, NamedTuple, Protocol, TypeVar

import msgspec

from scheduler.batch.key import Key
from scheduler.batch.options import BatchOptions
from scheduler.batch.outcomes import BatchCounters, Flush

REMEMBERED_FLUSHES = 32
REMEMBERED_SHAPES = 1024


class Reusable(Protocol):
    """An evaluation, as far as the cache looks at it."""

    @property
    def is_restricted(self) -> bool:
        """Whether only named nodes can be feasible, so that a new node may be one of them."""
        ...

    def reads_namespace(self, name: str) -> bool:
        """Whether the namespace of this name can have a say in it."""
        ...

    def is_worth_keeping(self) -> bool:
        """Whether enough nodes are in question for the next pod of the shape to gain from it."""
        ...


ReusableT = TypeVar("ReusableT", bound=Reusable)


class Entry(msgspec.Struct, Generic[ReusableT]):
    """A kept evaluation.

    Attributes:
        created: when all of its nodes were evaluated, in seconds since the epoch.
        used: when a pod last asked for it.
    """

    key: Key
    evaluation: ReusableT
    created: float
    used: float
    hits: int = 0


class FlushRecord(NamedTuple):
    """A dropped entry, for people."""

    at: float
    scheduler_name: str
    reason: Flush
    age_seconds: float
    hits: int


class Entries(Generic[ReusableT]):
    """Owned by the core. Time is an argument; what is dropped is counted with its reason."""

    def __init__(self, options: BatchOptions, counters: BatchCounters) -> None:
        self._max_signatures = options.max_signatures
        self._max_age_seconds = options.max_age_seconds
        self._counters = counters
        self._entries: OrderedDict[Key, Entry[ReusableT]] = OrderedDict()
        self._seen: OrderedDict[Key, float] = OrderedDict()
        self.flushed: deque[FlushRecord] = deque(maxlen=REMEMBERED_FLUSHES)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry[ReusableT]]:
        return iter(self._entries.values())

    def get(self, key: Key, now: float) -> Entry[ReusableT] | None:
        """The entry for a key; one that is too old is dropped instead."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        # The wall clock can be set back: an entry from the future has no known age.
        if self._max_age_seconds and not 0 <= now - entry.created <= self._max_age_seconds:
            self.drop(key, Flush.EXPIRED, now)
            return None
        entry.used = now
        self._entries.move_to_end(key)
        return entry

    def was_seen(self, key: Key, now: float) -> bool:
        """Whether a pod with this key, for which there is no entry, came within the maximum age; notes that one does now."""
        before = self._seen.get(key)
        self._note(key, now)
        if before is None:
            return False
        return not self._max_age_seconds or 0 <= now - before <= self._max_age_seconds

    def _note(self, key: Key, now: float) -> None:
        self._seen[key] = now
        self._seen.move_to_end(key)
        if len(self._seen) > REMEMBERED_SHAPES:
            self._seen.popitem(last=False)

    def store(self, key: Key, evaluation: ReusableT, now: float) -> Entry[ReusableT]:
        """Keep an evaluation that was made now; the least recently used entry leaves when there are too many."""
        entry = self._entries[key] = Entry(key, evaluation, created=now, used=now)
        self._entries.move_to_end(key)
        if len(self._entries) > self._max_signatures:
            self.drop(next(iter(self._entries)), Flush.EVICTED, now)
        return entry

    def drop(self, key: Key, reason: Flush, now: float) -> None:
        """Drop the entry of a key if there is one."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._counters.flushes[key.pod.scheduler_name, reason] += 1
            # While it was there, it alone knew of the pods that came.
            self._note(key, entry.used)
            age = now - entry.created
            self.flushed.append(FlushRecord(now, key.pod.scheduler_name, reason, age, entry.hits))

    def drop_profile(self, scheduler_name: str, reason: Flush, now: float) -> None:
        """Drop all entries of one profile."""
        for key in [key for key in self._entries if key.pod.scheduler_name == scheduler_name]:
            self.drop(key, reason, now)

    def change(self, options: BatchOptions, now: float) -> None:
        """Another configuration: nothing that was evaluated under the one before is of use."""
        for key in list(self._entries):
            self.drop(key, Flush.CONFIG_CHANGED, now)
        self._seen.clear()
        self._max_signatures = options.max_signatures
        self._max_age_seconds = options.max_age_seconds

    def node_added(self, now: float) -> None:
        """A node that was not there before may be one of those that PreFilter named."""
        for key in [key for key, entry in self._entries.items() if entry.evaluation.is_restricted]:
            self.drop(key, Flush.NODE_EVENT, now)

    def namespace_changed(self, name: str, now: float) -> None:
        """A namespace came, went or has other labels."""
        for key in [key for key, entry in self._entries.items() if entry.evaluation.reads_namespace(name)]:
            self.drop(key, Flush.CLUSTER_EVENT, now)
