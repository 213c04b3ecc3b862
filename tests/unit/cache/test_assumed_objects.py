"""Objects that are assumed. Expected: kube-scheduler 1.37, VolumeBinding's passive assume cache."""

import msgspec
import pytest

from scheduler.api.storage import PersistentVolume
from scheduler.cache.assumed_objects import AssumedObjects, OutOfSyncError
from tests.support.storage import make_volume


def bound(volume: PersistentVolume, claim: str = "default/data") -> PersistentVolume:
    """A copy with a claim, in the same version."""
    return msgspec.structs.replace(volume, spec=make_volume(claim=claim).spec)


@pytest.fixture
def volumes() -> AssumedObjects[PersistentVolume]:
    known: AssumedObjects[PersistentVolume] = AssumedObjects()
    known.apply(make_volume("pv", version="5"))
    return known


def test_an_assumed_object_stands_for_the_shown_one(volumes: AssumedObjects[PersistentVolume]) -> None:
    shown, assumed = make_volume("pv", version="5"), bound(make_volume("pv", version="5"))
    volumes.assume(assumed)
    assert volumes.get("pv") == assumed
    assert list(volumes) == [assumed]
    assert volumes.shown["pv"] == shown


def test_another_version_from_the_api_ends_it(volumes: AssumedObjects[PersistentVolume]) -> None:
    volumes.assume(bound(make_volume("pv", version="5")))
    newer = make_volume("pv", version="6")
    assert volumes.apply(newer) == make_volume("pv", version="5")
    assert volumes.get("pv") is newer


def test_the_same_version_again_does_not(volumes: AssumedObjects[PersistentVolume]) -> None:
    assumed = bound(make_volume("pv", version="5"))
    volumes.assume(assumed)
    volumes.apply(make_volume("pv", version="5"))
    assert volumes.get("pv") is assumed


def test_a_removed_object_is_not_assumed_any_more(volumes: AssumedObjects[PersistentVolume]) -> None:
    volumes.assume(bound(make_volume("pv", version="5")))
    assert volumes.remove("pv") == make_volume("pv", version="5")
    assert volumes.get("pv") is None
    assert volumes.remove("pv") is None


def test_restoring_shows_the_object_of_the_api_again(volumes: AssumedObjects[PersistentVolume]) -> None:
    shown = make_volume("pv", version="5")
    volumes.assume(bound(shown))
    volumes.restore(shown)
    assert volumes.get("pv") == shown


def test_restoring_an_older_version_changes_nothing(volumes: AssumedObjects[PersistentVolume]) -> None:
    assumed = bound(make_volume("pv", version="5"))
    volumes.assume(assumed)
    volumes.restore(make_volume("pv", version="4"))
    assert volumes.get("pv") is assumed


def test_what_was_made_of_another_version_cannot_be_assumed(volumes: AssumedObjects[PersistentVolume]) -> None:
    with pytest.raises(OutOfSyncError, match=r'^"pv" is out of sync \(stored: 5, assume: 4\)$'):
        volumes.assume(make_volume("pv", version="4"))
    assert volumes.assumed == {}


def test_what_is_not_known_cannot_be_assumed(volumes: AssumedObjects[PersistentVolume]) -> None:
    with pytest.raises(OutOfSyncError, match=r'^"other" not found$'):
        volumes.assume(make_volume("other"))
