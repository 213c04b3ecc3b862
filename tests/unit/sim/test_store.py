"""The store: one counter, the changes of late, and states of before."""

from collections.abc import Callable

import pytest

from scheduler.sim.errors import ApiError
from scheduler.sim.store import Change, Shelf, Store


def item(**members: object) -> dict[str, object]:
    return {"metadata": {"name": "x"}, **members}


@pytest.fixture
def store() -> Store:
    return Store(["pods", "nodes"], history=4)


@pytest.fixture
def pods(store: Store) -> Shelf:
    return store.shelves["pods"]


def test_every_change_of_any_shelf_has_the_next_version(store: Store, pods: Shelf) -> None:
    numbers = [
        store.write(pods, "a", item()).number,
        store.write(store.shelves["nodes"], "n", item()).number,
        store.write(pods, "a", item(spec={})).number,
        store.remove(pods, "a", item(spec={})).number,
    ]

    assert numbers == [1, 2, 3, 4]
    assert store.number == 4


def test_an_object_carries_its_version_and_the_one_given_is_left_alone(store: Store, pods: Shelf) -> None:
    given = item()

    version = store.write(pods, "a", given)

    assert version.object == {"metadata": {"name": "x", "resourceVersion": "1"}}
    assert given == {"metadata": {"name": "x"}}


def test_changes_are_told_in_the_write_that_makes_them(store: Store, pods: Shelf) -> None:
    told: list[Change] = []
    stop = pods.listen(told.append)

    first = store.write(pods, "a", item())
    second = store.write(pods, "a", item(spec={}))
    last = store.remove(pods, "a", second.object)
    stop()
    store.write(pods, "b", item())

    assert told == [
        Change("ADDED", first, None),
        Change("MODIFIED", second, first),
        Change("DELETED", last, second),
    ]


def test_a_listener_may_stop_listening_while_it_is_told(store: Store, pods: Shelf) -> None:
    told: list[str] = []
    stops: list[Callable[[], None]] = []

    def once(change: Change) -> None:
        told.append(change.type)
        stops.pop()()

    stops.append(pods.listen(once))
    pods.listen(lambda change: told.append(f"other {change.type}"))

    store.write(pods, "a", item())
    store.write(pods, "b", item())

    assert told == ["ADDED", "other ADDED", "other ADDED"]


def test_changes_since_a_version_are_those_after_it(store: Store, pods: Shelf) -> None:
    for name in "abc":
        store.write(pods, name, item())

    assert [change.current.key for change in pods.since(1)] == ["b", "c"]
    assert pods.since(3) == []
    assert pods.since(99) == []


def test_only_the_latest_changes_are_remembered(store: Store, pods: Shelf) -> None:
    for name in "abcdef":
        store.write(pods, name, item())

    assert [change.current.key for change in pods.since(2)] == ["c", "d", "e", "f"]
    with pytest.raises(ApiError, match=r"^too old resource version: 1 \(2\)$") as expired:
        pods.since(1)
    assert (expired.value.code, expired.value.reason) == (410, "Expired")


def test_a_state_of_before_is_as_it_was(store: Store, pods: Shelf) -> None:
    store.write(pods, "a", item(spec=1))
    store.write(pods, "b", item())
    then = dict(pods.versions)
    store.write(pods, "a", item(spec=2))
    store.remove(pods, "b", item())
    store.write(pods, "c", item())

    assert pods.as_of(2) == then
    assert pods.as_of(5) == pods.versions


def test_expiry_forgets_all_changes_and_keeps_the_objects(store: Store, pods: Shelf) -> None:
    store.write(pods, "a", item())
    store.write(store.shelves["nodes"], "n", item())

    store.expire()

    with pytest.raises(ApiError):
        pods.since(1)
    assert pods.since(2) == []
    assert list(pods.versions) == ["a"]


def test_an_object_is_encoded_once_for_each_form(store: Store, pods: Shelf) -> None:
    version = store.write(pods, "a", item(spec=1))

    shown = version.encoded("other", lambda stored: {"shown": stored["spec"]})

    assert version.encoded() == b'{"metadata":{"name":"x","resourceVersion":"1"},"spec":1}'
    assert shown == b'{"shown":1}'
    assert version.encoded("other", lambda stored: {}) is shown
