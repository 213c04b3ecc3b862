"""What the store remembers and forgets, where that is not seen in what a reflector delivers."""

from scheduler.kube.store import Gone, Store


def test_what_a_relist_does_not_mention_is_forgotten_readable_or_not() -> None:
    store = Store()
    store.applied("ns", "readable", "1", "5")
    store.undecodable("ns", "broken", "2")
    store.undecodable("ns", "kept", "3")
    store.begin_relist()
    store.undecodable("ns", "kept", "3")
    assert store.end_relist() == [Gone("ns", "readable", "1")]
    assert store.undecodable("ns", "kept", "3") == (False, "")
    assert store.undecodable("ns", "broken", "2") == (True, "")
    assert len(store) == 0


def test_objects_are_gone_in_the_order_in_which_they_became_known() -> None:
    store = Store()
    for name in ("c", "a", "b"):
        store.applied("", name, name, "1")
    store.begin_relist()
    assert [gone.name for gone in store.end_relist()] == ["c", "a", "b"]


def test_objects_of_one_name_in_two_namespaces_are_two() -> None:
    store = Store()
    assert store.applied("one", "a", "1", "1") == ""
    assert store.applied("two", "a", "2", "1") == ""
    assert store.deleted("one", "a", "1")
    assert store.applied("two", "a", "2", "1") is None
