"""Which rows are in which domain of a topology label."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler.framework.domain_rows import FEW, DomainRows


def rows_of(*ids: int) -> DomainRows:
    return DomainRows(np.array(ids, np.int32))


def test_rows_are_counted_by_id() -> None:
    rows = rows_of(2, 0, 2, 3)
    assert (rows.size, rows.rows_with.tolist()) == (4, [1, 0, 2, 1])


@pytest.mark.parametrize(("domains", "rows"), [((), []), ((3,), [3]), ((2,), [0, 2]), ((3, 2), [3, 0, 2]), ((1,), [])])
def test_the_rows_of_domains_are_found(domains: tuple[int, ...], rows: list[int]) -> None:
    assert rows_of(2, 0, 2, 3).among(domains) == rows


def test_many_rows_are_not_told_apart() -> None:
    rows = rows_of(*[1] * FEW, 2, *[3] * FEW)
    assert rows.among((1,)) == list(range(FEW))
    assert rows.among((1, 2)) is None


def test_how_many_are_many_grows_with_the_cluster() -> None:
    assert len(rows_of(*[1] * 10, *[2] * 70).among((1,)) or ()) == 10


def test_a_cluster_may_have_no_rows() -> None:
    assert rows_of().size == 1
