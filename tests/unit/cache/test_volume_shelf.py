"""Volumes of a class as columns: what becomes of their numbers, and that a list taken before stays as it was."""

from __future__ import annotations

from scheduler.cache.volume_shelf import VolumeShelf, VolumeShelves
from scheduler.plugins.volume_binding.one_node import view_of
from tests.support.builders import make_node
from tests.support.volumes import make_claim, make_volume


def names(shelf: VolumeShelf) -> list[str]:
    return [one.metadata.name for one in shelf.objects()]


def smallest(shelf: VolumeShelf, *, size: int = 0) -> str:
    """The volume that a node gets."""
    (number,) = shelf.smallest_first(size, lambda _: True, None).best(view_of(make_node()))
    name: str = shelf.listed().volumes[number].name
    return name


def test_a_volume_keeps_its_number_while_its_size_and_nodes_stay_the_same() -> None:
    shelf = VolumeShelf()
    shelf.put(make_volume("a", node="n1"))
    shelf.put(make_volume("b", node="n1"))
    shelf.put(make_volume("a", node="n1", claim=make_claim(), labels={"x": "y"}, version="2"))
    assert (shelf.number_of("a"), shelf.number_of("b"), shelf.number_of("c")) == (0, 1, None)
    shelf.put(make_volume("a", node="n2"))
    shelf.put(make_volume("b", node="n1", size="11Gi"))
    assert (shelf.number_of("a"), shelf.number_of("b")) == (2, 3)


def test_numbers_are_given_anew_once_most_volumes_are_gone() -> None:
    shelf = VolumeShelf()
    shelf.put(make_volume("kept"))
    for number in range(63):
        shelf.put(make_volume(f"pv{number}"))
        shelf.remove(f"pv{number}")
    shelf.put(make_volume("last"))
    assert (shelf.number_of("last"), len(shelf.listed().volumes)) == (64, 65)
    shelf.remove("last")
    assert (shelf.number_of("kept"), len(shelf.listed().volumes)) == (0, 1)
    assert names(shelf) == ["kept"]


def test_a_list_stays_as_it_was_taken() -> None:
    shelf = VolumeShelf()
    shelf.put(make_volume("a", size="1Gi", storage_class="old"))
    before = shelf.listed()
    shelf.put(make_volume("a", size="1Gi", storage_class="new", version="2"))
    now = shelf.listed()
    assert [one.object.metadata.resource_version for one in (*before.volumes, *now.volumes)] == ["1", "2"]
    assert [one.fields[one.field[0]] for one in (before, now)] == ["old", "new"]
    assert before.size_bytes.tolist() == [2**30]


def test_volumes_that_come_many_at_once_take_their_places_among_the_others() -> None:
    shelf = VolumeShelf()
    shelf.put(make_volume("first", size="5Gi"))
    assert smallest(shelf) == "first"
    for number in range(20):
        shelf.put(make_volume(f"pv{number}", size=f"{6 + number}Gi"))
    assert smallest(shelf) == "first"
    shelf.put(make_volume("small", size="1Gi"))
    assert smallest(shelf) == "small"
    assert smallest(shelf, size=7 * 2**30 * 10**9) == "pv1"


def test_many_volumes_have_room() -> None:
    shelf = VolumeShelf()
    for number in range(100):
        shelf.put(make_volume(f"pv{number:02}", size=f"{number}Gi"))
    assert shelf.listed().size_bytes.tolist() == [number * 2**30 for number in range(100)]


def test_a_volume_whose_class_changes_moves() -> None:
    shelves = VolumeShelves()
    shelves.put(make_volume("a", storage_class="fast"))
    shelves.put(make_volume("a", storage_class="slow"))
    assert (names(shelves.of("fast")), names(shelves.of("slow"))) == ([], ["a"])
    shelves.remove("a")
    shelves.remove("a")
    assert names(shelves.of("slow")) == []
