"""The journal: which rows changed since a position, and what of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.cache.journal import Journal

SIZE = 10
ENTRIES = st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(1, 1023)), max_size=80)


def changes(journal: Journal, position: int) -> dict[int, int] | None:
    found = journal.changes_since(position, SIZE)
    if found is None:
        return None
    assert found.rows.tolist() == sorted(set(found.rows.tolist()))
    return dict(zip(found.rows.tolist(), found.facets.tolist(), strict=True))


def test_the_facets_of_a_row_that_changed_several_times_are_put_together() -> None:
    journal = Journal(8)
    for row, facets in ((3, 1), (0, 2), (3, 4)):
        journal.record(row, facets)
    assert changes(journal, 0) == {0: 2, 3: 5}
    assert changes(journal, 2) == {3: 4}


def test_nothing_changed_since_the_present_position() -> None:
    journal = Journal(8)
    journal.record(3, 1)
    assert changes(journal, journal.position) == {}


def test_a_position_whose_changes_were_overwritten_is_unknown() -> None:
    journal = Journal(2)
    for row in (0, 1, 2):
        journal.record(row, 1)
    assert changes(journal, 0) is None
    assert changes(journal, 1) == {1: 1, 2: 1}


@pytest.mark.parametrize("recorded", [20, 27, 39, 40])
def test_many_changes_are_merged_like_few_wherever_the_oldest_lies(recorded: int) -> None:
    journal = Journal(20)
    for entry in range(recorded):
        journal.record(entry % 3, 1 << entry % 7)
    expected: dict[int, int] = {}
    for entry in range(recorded - 20, recorded):
        expected[entry % 3] = expected.get(entry % 3, 0) | 1 << entry % 7
    assert changes(journal, recorded - 20) == expected


@given(ENTRIES, st.integers(1, 100), st.integers(0, 80))
def test_changes_are_those_recorded_after_the_position_whatever_the_capacity(
    entries: list[tuple[int, int]], capacity: int, position: int
) -> None:
    journal = Journal(capacity)
    for row, facets in entries:
        journal.record(row, facets)
    position = min(position, len(entries))
    expected: dict[int, int] | None = {}
    for row, facets in entries[position:]:
        assert expected is not None
        expected[row] = expected.get(row, 0) | facets
    if len(entries) - position > capacity:
        expected = None
    assert changes(journal, position) == expected


def test_a_position_ahead_of_the_journal_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="position 1 lies ahead of the journal's 0"):
        Journal(8).changes_since(1, SIZE)


def test_a_journal_that_can_hold_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="has to hold at least one change"):
        Journal(0)
