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


def told(entries: list[tuple[int, int]]) -> dict[int, int]:
    """Facets by row of these entries, put together."""
    merged: dict[int, int] = {}
    for row, facets in entries:
        merged[row] = merged.get(row, 0) | facets
    return merged


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
    assert journal.recent(0, 3) is None
    assert changes(journal, 1) == {1: 1, 2: 1}


@pytest.mark.parametrize("recorded", [20, 27, 39, 40])
def test_many_changes_are_merged_like_few_wherever_the_oldest_lies(recorded: int) -> None:
    journal = Journal(20)
    for entry in range(recorded):
        journal.record(entry % 3, 1 << entry % 7)
    expected = told([(entry % 3, 1 << entry % 7) for entry in range(recorded - 20, recorded)])
    assert changes(journal, recorded - 20) == expected


@given(ENTRIES, st.integers(1, 100), st.integers(0, 80))
def test_changes_are_those_recorded_after_the_position_whatever_the_capacity(
    entries: list[tuple[int, int]], capacity: int, position: int
) -> None:
    journal = Journal(capacity)
    for row, facets in entries:
        journal.record(row, facets)
    position = min(position, len(entries))
    expected = told(entries[position:]) if len(entries) - position <= capacity else None
    assert changes(journal, position) == expected


def test_recent_changes_are_pairs_of_ints_ascending_by_row_each_row_once() -> None:
    journal = Journal(8)
    for row, facets in ((3, 1), (0, 2), (3, 4)):
        journal.record(row, facets)
    assert journal.recent(0, 3) == [(0, 2), (3, 5)]
    assert journal.recent(2, 3) == [(3, 4)]
    assert journal.recent(3, 3) == []
    recent = journal.recent(0, 3)
    assert recent is not None
    assert {type(number) for pair in recent for number in pair} == {int}


def test_more_entries_than_asked_for_are_not_recent_even_when_the_rows_are_few() -> None:
    journal = Journal(8)
    for _ in range(3):
        journal.record(5, 1)
    assert journal.recent(0, 2) is None
    assert journal.recent(1, 2) == [(5, 1)]
    assert journal.recent(2, 0) is None
    assert journal.recent(3, 0) == []


@given(ENTRIES, st.integers(1, 100), st.integers(0, 80), st.integers(0, 80))
def test_recent_changes_are_all_those_after_the_position_or_none_of_them(
    entries: list[tuple[int, int]], capacity: int, position: int, most: int
) -> None:
    journal = Journal(capacity)
    for row, facets in entries:
        journal.record(row, facets)
    position = min(position, len(entries))
    is_known = len(entries) - position <= min(capacity, most)
    assert journal.recent(position, most) == (sorted(told(entries[position:]).items()) if is_known else None)


@pytest.mark.parametrize("most", [0, 16])
def test_no_recent_changes_lie_ahead_of_the_journal(most: int) -> None:
    with pytest.raises(ValueError, match="position 1 lies ahead of the journal's 0"):
        Journal(8).recent(1, most)


def test_a_position_ahead_of_the_journal_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="position 1 lies ahead of the journal's 0"):
        Journal(8).changes_since(1, SIZE)


def test_a_journal_that_can_hold_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="has to hold at least one change"):
        Journal(0)
