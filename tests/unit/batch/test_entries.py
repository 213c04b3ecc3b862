"""What is kept, for how long, and when it counts as dropped."""

from __future__ import annotations

import pytest

from scheduler.batch.entries import REMEMBERED_FLUSHES, REMEMBERED_SHAPES, Entries, FlushRecord
from scheduler.batch.key import Key
from scheduler.batch.options import BatchOptions
from scheduler.batch.outcomes import BatchCounters, Flush
from scheduler.framework.signature import Signature


class Kept:
    """Stands for an evaluation."""

    def __init__(self, *, is_restricted: bool = False, namespace: str = "") -> None:
        self.is_restricted = is_restricted
        self._namespace = namespace

    def reads_namespace(self, name: str) -> bool:
        return name == self._namespace

    def is_worth_keeping(self) -> bool:
        return True


def key(name: str) -> Key:
    return Key(Signature(name, ()))


class Run:
    def __init__(self, **options: float) -> None:
        self.counters = BatchCounters()
        self.entries: Entries[Kept] = Entries(BatchOptions(**options), self.counters)  # type: ignore[arg-type]

    def flushes(self) -> dict[str, int]:
        return {f"{name} {reason.value}": count for (name, reason), count in self.counters.flushes.items()}


def test_what_was_stored_is_found_under_its_key_only() -> None:
    run, a, b = Run(), key("a"), key("b")
    stored = run.entries.store(a, Kept(), 1.0)

    assert run.entries.get(a, 1.0) is stored
    assert run.entries.get(b, 1.0) is None
    assert run.entries.get(Key(a.pod, (1,)), 1.0) is None
    assert run.flushes() == {}


def test_the_one_that_was_not_used_for_longest_makes_room() -> None:
    run = Run(max_signatures=2)
    a, b, c = key("a"), key("b"), key("c")
    run.entries.store(a, Kept(), 1.0)
    run.entries.store(b, Kept(), 1.1)
    run.entries.get(a, 1.2)
    run.entries.store(c, Kept(), 1.3)

    assert [entry.key for entry in run.entries] == [a, c]
    assert run.flushes() == {"b evicted": 1}


@pytest.mark.parametrize(("now", "is_kept"), [(10.0, True), (10.5, True), (10.501, False), (9.999, False)])
def test_an_entry_lives_for_the_maximum_age_and_not_before_it_was_made(now: float, is_kept: bool) -> None:
    """The wall clock can be set back: then its age is not known."""
    run, a = Run(max_age_seconds=0.5), key("a")
    run.entries.store(a, Kept(), 10.0)

    assert (run.entries.get(a, now) is not None) is is_kept
    assert len(run.entries) == is_kept
    assert run.flushes() == ({} if is_kept else {"a expired": 1})


def test_an_expired_entry_counts_once() -> None:
    run, a = Run(max_age_seconds=0.5), key("a")
    run.entries.store(a, Kept(), 10.0)
    for now in (11.0, 12.0, 13.0):
        assert run.entries.get(a, now) is None

    assert run.flushes() == {"a expired": 1}


@pytest.mark.parametrize("now", [1e12, -1e12])
def test_without_a_maximum_age_nothing_expires(now: float) -> None:
    run, a = Run(max_age_seconds=0.0), key("a")
    run.entries.store(a, Kept(), 10.0)

    assert run.entries.get(a, now) is not None


def test_use_does_not_make_an_entry_younger() -> None:
    """As upstream: the age counts from when all nodes were evaluated."""
    run, a = Run(max_age_seconds=0.5), key("a")
    run.entries.store(a, Kept(), 10.0)

    assert run.entries.get(a, 10.4) is not None
    assert run.entries.get(a, 10.8) is None


@pytest.mark.parametrize(("seconds", "expected"), [(0.0, True), (0.5, True), (0.6, False), (-0.1, False)])
def test_a_shape_was_seen_when_that_is_not_longer_ago_than_an_entry_would_live(seconds: float, expected: bool) -> None:
    run, a = Run(max_age_seconds=0.5), key("a")

    assert not run.entries.was_seen(a, 10.0)
    assert run.entries.was_seen(a, 10.0 + seconds) is expected


def test_without_a_maximum_age_a_shape_was_seen_whenever_that_was() -> None:
    run, a = Run(max_age_seconds=0.0), key("a")
    run.entries.was_seen(a, 10.0)

    assert run.entries.was_seen(a, 1e9)


def test_pods_that_used_an_entry_were_seen_once_it_is_gone() -> None:
    run, a = Run(max_age_seconds=0.5), key("a")
    assert not run.entries.was_seen(a, 10.0)
    run.entries.store(a, Kept(), 10.0)
    run.entries.get(a, 10.4)

    assert run.entries.get(a, 10.8) is None
    assert run.entries.was_seen(a, 10.8)


def test_a_shape_whose_entry_was_last_used_too_long_ago_was_not_seen() -> None:
    run, a = Run(max_age_seconds=0.5), key("a")
    run.entries.store(a, Kept(), 10.0)
    run.entries.get(a, 10.4)

    assert run.entries.get(a, 11.0) is None
    assert not run.entries.was_seen(a, 11.0)


def test_the_memory_of_shapes_has_a_bound() -> None:
    """The one that was not seen for longest is forgotten."""
    run = Run()
    keys = [key(f"k{number}") for number in range(REMEMBERED_SHAPES + 1)]
    for one in keys:
        run.entries.was_seen(one, 1.0)

    assert run.entries.was_seen(keys[1], 1.0)
    assert not run.entries.was_seen(keys[0], 1.0)


def test_dropping_what_is_not_there_counts_nothing() -> None:
    run, a = Run(), key("a")
    run.entries.store(a, Kept(), 1.0)
    run.entries.drop(a, Flush.FILTER_ERROR, 2.0)
    run.entries.drop(a, Flush.FILTER_ERROR, 2.0)
    run.entries.drop(key("b"), Flush.FILTER_ERROR, 2.0)

    assert run.flushes() == {"a filter_error": 1}


def test_a_profile_s_entries_go_together_and_others_stay() -> None:
    run = Run()
    mine = [Key(Signature("mine", (number,))) for number in range(3)]
    other = key("other")
    for one in (*mine, other):
        run.entries.store(one, Kept(), 1.0)
    run.entries.drop_profile("mine", Flush.VERIFICATION_FAILED, 2.0)

    assert [entry.key for entry in run.entries] == [other]
    assert run.flushes() == {"mine verification_failed": 3}


def test_a_new_node_drops_what_is_restricted_to_named_nodes() -> None:
    run, named, free = Run(), key("named"), key("free")
    run.entries.store(named, Kept(is_restricted=True), 1.0)
    run.entries.store(free, Kept(), 1.0)
    run.entries.node_added(2.0)

    assert [entry.key for entry in run.entries] == [free]
    assert run.flushes() == {"named node_event": 1}


def test_people_see_the_last_drops_with_age_and_hits() -> None:
    run, a = Run(), key("a")
    run.entries.store(a, Kept(), 1.0).hits = 7
    run.entries.drop(a, Flush.NODE_EVENT, 1.25)
    assert list(run.entries.flushed) == [FlushRecord(1.25, "a", Flush.NODE_EVENT, 0.25, 7)]

    for _ in range(REMEMBERED_FLUSHES):
        run.entries.store(a, Kept(), 2.0)
        run.entries.drop(a, Flush.EXPIRED, 2.0)
    assert {record.reason for record in run.entries.flushed} == {Flush.EXPIRED}
    assert len(run.entries.flushed) == REMEMBERED_FLUSHES


def test_a_namespace_that_changes_drops_the_entries_that_read_it() -> None:
    run = Run()
    a, b = key("a"), key("b")
    run.entries.store(a, Kept(namespace="red"), 1.0)
    run.entries.store(b, Kept(namespace="blue"), 1.0)
    run.entries.namespace_changed("red", 1.1)
    run.entries.namespace_changed("red", 1.2)

    assert [entry.key for entry in run.entries] == [b]
    assert run.flushes() == {"a cluster_event": 1}
