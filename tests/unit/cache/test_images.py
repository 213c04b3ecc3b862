"""Images by node (kube-scheduler 1.37: ImageLocality)."""

import pytest

from scheduler.cache.images import ImageIndex

APP, DB = "registry.example/app:1", "registry.example/db:1"


@pytest.fixture
def index() -> ImageIndex:
    index = ImageIndex()
    index.update(0, {}, {APP: 100, DB: 7})
    index.update(2, {}, {APP: 300})
    return index


def test_each_node_has_its_own_size(index: ImageIndex) -> None:
    assert [index.size(APP, row) for row in range(4)] == [100, 0, 300, 0]
    assert index.column(APP, 4).tolist() == [100, 0, 300, 0]
    assert index.holders(APP) == 2


def test_an_image_that_nobody_holds_has_no_size_holders_or_version(index: ImageIndex) -> None:
    assert index.column("other", 3).tolist() == [0, 0, 0]
    assert (index.size("other", 0), index.holders("other"), index.version("other")) == (0, 0, 0)


def test_the_column_follows_a_change_and_more_rows(index: ImageIndex) -> None:
    assert index.column(APP, 4).tolist() == [100, 0, 300, 0]
    index.update(1, {}, {APP: 5})
    assert index.column(APP, 4).tolist() == [100, 5, 300, 0]
    assert index.column(APP, 6).tolist() == [100, 5, 300, 0, 0, 0]


def test_a_column_is_read_only(index: ImageIndex) -> None:
    with pytest.raises(ValueError, match="read-only"):
        index.column(APP, 4)[0] = 1


@pytest.mark.parametrize(
    ("old", "new"),
    [({}, {APP: 1}), ({APP: 300}, {APP: 301}), ({APP: 300}, {}), ({APP: 300}, {DB: 1})],
    ids=["gained", "another size", "lost", "replaced"],
)
def test_the_version_moves_when_a_node_gains_or_loses_the_image_or_its_size_changes(
    index: ImageIndex, old: dict[str, int], new: dict[str, int]
) -> None:
    before = index.version(APP)
    assert index.update(2 if old else 3, old, new)
    assert index.version(APP) != before


def test_the_version_of_another_image_stays(index: ImageIndex) -> None:
    before = index.version(DB)
    index.update(3, {}, {APP: 1})
    assert index.version(DB) == before


def test_an_image_that_vanished_and_came_back_has_a_version_it_never_had(index: ImageIndex) -> None:
    seen = {index.version(DB)}
    index.update(0, {APP: 100, DB: 7}, {APP: 100})
    index.update(0, {APP: 100}, {APP: 100, DB: 7})
    assert index.version(DB) not in seen


def test_equal_images_are_no_change(index: ImageIndex) -> None:
    assert not index.update(2, {APP: 300}, {APP: 300})


def test_columns_that_are_kept_are_bounded() -> None:
    index = ImageIndex()
    index.update(0, {}, {f"image-{number}": number + 1 for number in range(100)})
    assert [int(index.column(f"image-{number}", 1)[0]) for number in range(100)] == list(range(1, 101))
    assert len(index._columns) == 64
