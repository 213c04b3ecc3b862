"""VolumeShelf: the PersistentVolumes of a class as columns, so that those for a claim are found without a look at each.

A volume has a number while its size and its nodes stay the same. It gets a place in the order, and is put to the values of the
label that it is found by, when it is free for the first time; whether it still is, is a column.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator

import numpy as np

from scheduler.api.selectors import LabelMatcher, Term
from scheduler.api.storage import PersistentVolume, class_of_volume
from scheduler.cache.columns import Column
from scheduler.framework.ops import BoolArray, IntArray
from scheduler.framework.ranking import (
    ByTerms,
    ByValue,
    Group,
    Ranking,
    ValueNumbers,
    asked_by,
    note_values,
)
from scheduler.framework.reach import Reach, Way
from scheduler.framework.volume_facts import Volume, VolumeKind, VolumeList, read_volume

_FIRST_CAPACITY = 16
_FEW = 16
"""So many new volumes are put into the order one by one."""
_MANY_GONE = 64


class _SameTerms:
    """Volumes of one reach that is not found by values."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self.numbers = array("q")

    def group(self, is_wanted: BoolArray, rank: IntArray) -> Group:
        numbers = np.array(self.numbers, np.int64)
        return ByTerms(self._reach, np.sort(rank[numbers[is_wanted[numbers]]]))


class _SameWay:
    """Volumes that are found by values of one label: a number of a volume for each number of a value."""

    def __init__(self, way: Way) -> None:
        self._rest = way.rest
        self.values = ValueNumbers(way.key)
        self.asked = array("q")
        self.numbers = array("q")

    def group(self, is_wanted: BoolArray, rank: IntArray) -> Group:
        numbers = np.array(self.numbers, np.int64)
        wanted = is_wanted[numbers]
        return ByValue(self.values, self._rest, np.array(self.asked, np.int64)[wanted], rank[numbers[wanted]])


class VolumeShelf:
    """Implements framework.volume_facts.ClassVolumes."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._begin(_FIRST_CAPACITY)

    def _begin(self, capacity: int) -> None:
        self._capacity = capacity
        self._volumes: list[Volume] = []
        self._is_placed: list[bool] = []
        self._free = Column(np.bool_, capacity)
        self._size_bytes = Column(np.int64, capacity)
        self._kind = Column(np.int32, capacity)
        self._field = Column(np.int32, capacity)
        self._kinds: dict[VolumeKind, int] = {}
        self._fields: dict[str, int] = {}
        self._to_place: list[int] = []
        self._keys: list[tuple[int, str]] = []
        """Size and name of the volumes in ``_order``."""
        self._order: IntArray = np.zeros(0, np.int64)
        """Numbers by size and then by name; of some the volumes are gone."""
        self._telling: dict[str, set[str]] = {}
        self._by_terms: dict[tuple[Term, ...] | None, _SameTerms] = {}
        self._by_way: dict[Way, _SameWay] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    # Reading

    def number_of(self, name: str) -> int | None:
        return self._numbers.get(name)

    def listed(self) -> VolumeList:
        count = len(self._volumes)
        return VolumeList(
            tuple(self._volumes),
            self._size_bytes.values[:count],  # of a number it stays the same
            self._field.values[:count].copy(),
            tuple(self._fields),
        )

    def objects(self) -> list[PersistentVolume]:
        """The volumes by name."""
        return [self._volumes[number].object for _, number in sorted(self._numbers.items())]

    def smallest_first(
        self, size: int, is_suitable: Callable[[VolumeKind], bool], selector: LabelMatcher | None
    ) -> Ranking:
        self._place()
        count = len(self._volumes)
        rank = np.full(count, -1, np.int64)
        rank[self._order] = np.arange(len(self._order))
        suitable = np.array([is_suitable(kind) for kind in self._kinds], np.bool_)
        is_wanted: BoolArray = self._free.values[:count] & (rank >= bisect_left(self._keys, (size,)))
        if not is_wanted.any():
            return Ranking(self._order, ())
        is_wanted &= suitable[self._kind.values[:count]]
        if selector is not None:
            for number in np.flatnonzero(is_wanted).tolist():
                is_wanted[number] = selector.matches(self._volumes[number].object.metadata.labels)
        groups = [same.group(is_wanted, rank) for same in self._by_terms.values()]
        groups += [same.group(is_wanted, rank) for same in self._by_way.values()]
        return Ranking(self._order, groups)

    # Writing

    def put(self, volume: PersistentVolume) -> None:
        """A volume of the class, new or changed."""
        name = volume.metadata.name
        known = self._numbers.get(name)
        before = None if known is None else self._volumes[known]
        facts = read_volume(volume, before)
        if known is not None and before is not None:
            if facts.size == before.size and facts.reach is before.reach:
                self._write(known, facts)
                return
            self._free.cells[known] = False
        self._add(facts)
        self._tidy()

    def remove(self, name: str) -> None:
        self._free.cells[self._numbers.pop(name)] = False
        self._tidy()

    def _add(self, facts: Volume) -> None:
        number = len(self._volumes)
        if number == self._capacity:
            self._capacity *= 2
            for column in (self._free, self._size_bytes, self._kind, self._field):
                column.grow(self._capacity)
        self._volumes.append(facts)
        self._is_placed.append(False)
        self._numbers[facts.name] = number
        self._write(number, facts)

    def _write(self, number: int, facts: Volume) -> None:
        self._volumes[number] = facts
        self._free.cells[number] = facts.is_free
        self._size_bytes.cells[number] = facts.size_bytes
        self._kind.cells[number] = self._kinds.setdefault(facts.kind, len(self._kinds))
        self._field.cells[number] = self._fields.setdefault(facts.object.spec.storage_class_name, len(self._fields))
        if facts.is_free and not self._is_placed[number]:
            self._is_placed[number] = True
            self._to_place.append(number)
            self._find_by_reach(number, facts.reach)

    def _find_by_reach(self, number: int, reach: Reach) -> None:
        note_values(self._telling, reach)
        asked = asked_by(reach, self._telling)
        if asked is None:
            if reach.terms != ():
                same = self._by_terms.get(reach.terms)
                if same is None:
                    same = self._by_terms[reach.terms] = _SameTerms(reach)
                same.numbers.append(number)
            return
        found = self._by_way.get(asked.way)
        if found is None:
            found = self._by_way[asked.way] = _SameWay(asked.way)
        for value in asked.values:
            found.asked.append(found.values.number(value))
            found.numbers.append(number)

    def _place(self) -> None:
        """Put into the order what was free for the first time since the last look."""
        if len(self._to_place) > _FEW:
            everything = [*self._order.tolist(), *self._to_place]
            placed = sorted((self._volumes[number].size, self._volumes[number].name, number) for number in everything)
            self._keys = [(size, name) for size, name, _ in placed]
            self._order = np.array([number for _, _, number in placed], np.int64)
        else:
            for number in self._to_place:
                key = self._volumes[number].size, self._volumes[number].name
                position = bisect_left(self._keys, key)
                self._keys.insert(position, key)
                self._order = np.insert(self._order, position, number)
        self._to_place = []

    def _tidy(self) -> None:
        """Give numbers anew once most of them are of volumes that are gone."""
        gone = len(self._volumes) - len(self._numbers)
        if gone < max(_MANY_GONE, len(self._numbers)):
            return
        kept = [self._volumes[number] for number in self._numbers.values()]
        self._begin(max(_FIRST_CAPACITY, 2 * len(kept)))
        for facts in kept:
            self._add(facts)


class VolumeShelves:
    """All PersistentVolumes by class."""

    def __init__(self) -> None:
        self._shelves: dict[str, VolumeShelf] = {}
        self._class_of: dict[str, str] = {}

    def of(self, class_name: str) -> VolumeShelf:
        """The volumes of the class ("" for those without one); an empty shelf when there are none."""
        return self._shelves.get(class_name) or VolumeShelf()

    def put(self, volume: PersistentVolume) -> None:
        name, class_name = volume.metadata.name, class_of_volume(volume)
        if self._class_of.get(name, class_name) != class_name:
            self.remove(name)
        shelf = self._shelves.get(class_name)
        if shelf is None:
            shelf = self._shelves[class_name] = VolumeShelf()
        self._class_of[name] = class_name
        shelf.put(volume)

    def items(self) -> Iterator[tuple[str, VolumeShelf]]:
        return iter(self._shelves.items())

    def remove(self, name: str) -> None:
        """Nothing happens if there is no such volume."""
        class_name = self._class_of.pop(name, None)
        if class_name is None:
            return
        shelf = self._shelves[class_name]
        shelf.remove(name)
        if not len(shelf):
            del self._shelves[class_name]
