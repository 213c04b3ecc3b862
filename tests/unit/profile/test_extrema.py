"""Lowest and highest score of a set of rows that rows enter and leave one at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scheduler.profile.extrema import Extrema


def found(*scores: int) -> Extrema:
    extrema = Extrema()
    extrema.find(np.array(scores, np.int64), np.ones(len(scores), np.bool_))
    return extrema


def test_rows_that_are_not_feasible_do_not_count() -> None:
    extrema = Extrema()
    extrema.find(np.array([9, 3, 5, -2], np.int64), np.array([False, True, True, False]))

    assert extrema.values == (3, 5)


def test_without_a_feasible_row_both_are_0_and_have_to_be_looked_for() -> None:
    extrema = Extrema()
    extrema.find(np.array([7], np.int64), np.array([False]))

    assert (extrema.values, extrema.is_lost) == ((0, 0), True)


def test_the_last_holder_that_leaves_loses_the_value_and_no_other_does() -> None:
    extrema = found(1, 1, 5, 9, 9)
    extrema.leave(5)
    extrema.leave(1)
    extrema.leave(9)
    assert (extrema.values, extrema.is_lost) == ((1, 9), False)
    extrema.leave(9)
    assert extrema.is_lost


def test_a_row_that_enters_beyond_an_extremum_is_the_new_one_alone() -> None:
    extrema = found(3, 3, 5)
    extrema.enter(2)
    extrema.enter(8)
    assert (extrema.values, extrema.is_lost) == ((2, 8), False)
    extrema.leave(2)
    assert extrema.is_lost


def test_a_row_that_enters_at_an_extremum_holds_it_too() -> None:
    extrema = found(3, 5)
    extrema.enter(3)
    extrema.enter(5)
    extrema.leave(3)
    extrema.leave(5)

    assert (extrema.values, extrema.is_lost) == ((3, 5), False)


def test_a_score_that_moves_outwards_and_takes_its_value_along() -> None:
    """The only row leaves with 5 and enters with 7: the lowest value has no holder, although 7 is one."""
    extrema = found(5)
    extrema.leave(5)
    extrema.enter(7)

    assert extrema.is_lost


SCORES = st.integers(-3, 3)


@given(st.lists(SCORES, min_size=1, max_size=6), st.lists(st.tuples(st.booleans(), st.integers(0, 5), SCORES)))
def test_unless_they_are_lost_they_are_what_a_search_finds(
    scores: list[int], moves: list[tuple[bool, int, int]]
) -> None:
    extrema, held = found(*scores), list(scores)
    for enters, index, score in moves:
        if enters:
            held.append(score)
            extrema.enter(score)
        elif held:
            extrema.leave(held.pop(index % len(held)))
        if extrema.is_lost:
            extrema.find(np.array(held, np.int64), np.ones(len(held), np.bool_))
        elif held:
            assert extrema.values == (min(held), max(held))
