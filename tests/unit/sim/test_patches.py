"""Merge patches by the examples of RFC 7386, JSON patches by those of RFC 6902; no patch changes what it is given."""

import copy
from typing import Any

import pytest

from scheduler.sim.patches import PatchError, json_patch, merge_patch
from scheduler.sim.strategic import strategic_merge_patch


# The table of RFC 7386, appendix A.
@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_merge_patch(document: Any, patch: Any, expected: Any) -> None:
    before = copy.deepcopy(document)

    assert merge_patch(document, patch) == expected
    assert document == before


# From RFC 6902, appendix A.
@pytest.mark.parametrize(
    ("document", "operations", "expected"),
    [
        ({"foo": "bar"}, [{"op": "add", "path": "/baz", "value": "qux"}], {"baz": "qux", "foo": "bar"}),
        ({"foo": ["bar", "baz"]}, [{"op": "add", "path": "/foo/1", "value": "qux"}], {"foo": ["bar", "qux", "baz"]}),
        ({"baz": "qux", "foo": "bar"}, [{"op": "remove", "path": "/baz"}], {"foo": "bar"}),
        ({"foo": ["bar", "qux", "baz"]}, [{"op": "remove", "path": "/foo/1"}], {"foo": ["bar", "baz"]}),
        (
            {"baz": "qux", "foo": "bar"},
            [{"op": "replace", "path": "/baz", "value": "boo"}],
            {"baz": "boo", "foo": "bar"},
        ),
        (
            {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
            [{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}],
            {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}},
        ),
        (
            {"foo": ["all", "grass", "cows", "eat"]},
            [{"op": "move", "from": "/foo/1", "path": "/foo/3"}],
            {"foo": ["all", "cows", "eat", "grass"]},
        ),
        (
            {"baz": "qux", "foo": ["a", 2, "c"]},
            [{"op": "test", "path": "/baz", "value": "qux"}, {"op": "test", "path": "/foo/1", "value": 2}],
            {"baz": "qux", "foo": ["a", 2, "c"]},
        ),
        (
            {"foo": "bar"},
            [{"op": "add", "path": "/child", "value": {"grandchild": {}}}],
            {"foo": "bar", "child": {"grandchild": {}}},
        ),
        ({"/": 9, "~1": 10}, [{"op": "test", "path": "/~01", "value": 10}], {"/": 9, "~1": 10}),
        ({"foo": ["bar"]}, [{"op": "add", "path": "/foo/-", "value": ["abc"]}], {"foo": ["bar", ["abc"]]}),
        ({"foo": ["a"]}, [{"op": "replace", "path": "/foo/0", "value": "b"}], {"foo": ["b"]}),
        ({"foo": 1}, [{"op": "replace", "path": "", "value": {"bar": 2}}], {"bar": 2}),
        ({"a": {"b": 1}}, [{"op": "copy", "from": "/a", "path": "/c"}], {"a": {"b": 1}, "c": {"b": 1}}),
    ],
)
def test_a_json_patch(document: Any, operations: Any, expected: Any) -> None:
    before = copy.deepcopy(document)

    assert json_patch(document, operations) == expected
    assert document == before


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/baz", "value": "bar"},
        {"op": "add", "path": "/baz/bat", "value": "qux"},
        {"op": "remove", "path": "/nothing"},
        {"op": "replace", "path": "/nothing", "value": 1},
        {"op": "add", "path": "/list/2", "value": 1},
        {"op": "remove", "path": "/list/1"},
        {"op": "remove", "path": "/list/-1"},
        {"op": "add", "path": "/list/01", "value": 1},
        {"op": "invent", "path": "/baz"},
        {"op": "add", "path": "baz", "value": 1},
        {"op": "add", "path": "/baz"},
        {"path": "/baz"},
        "no operation",
    ],
)
def test_a_json_patch_that_does_not_apply_is_refused(operation: Any) -> None:
    with pytest.raises(PatchError):
        json_patch({"baz": "qux", "list": [0]}, [operation])


def test_a_json_patch_must_be_a_list() -> None:
    with pytest.raises(PatchError, match="a list of operations"):
        json_patch({}, {"op": "remove", "path": "/a"})


def items(*names: str, **members: Any) -> list[dict[str, Any]]:
    return [{"type": name, **members} for name in names]


def merged(original: Any, patch: Any, name: str = "conditions", directives: dict[str, Any] | None = None) -> Any:
    return strategic_merge_patch({name: original}, {name: patch, **(directives or {})}).get(name)


@pytest.mark.parametrize(
    ("original", "patch", "expected"),
    [
        (items("A", status=1), items("A", status=2), items("A", status=2)),
        (items("A", status=1, reason="r"), items("A", status=2), items("A", status=2, reason="r")),
        (items("A", reason="r"), items("A", reason=None), items("A")),
        (items("A"), items("B"), items("B", "A")),
        (items("A", "B", "C"), items("B", status=1), [*items("A"), *items("B", status=1), *items("C")]),
        (items("A", "B"), items("D", "B"), items("D", "A", "B")),
        (items("A", "B"), [{"type": "A", "$patch": "delete"}], items("B")),
        (items("A"), [{"type": "Z", "$patch": "delete"}], items("A")),
        (items("A", "B"), [{"$patch": "replace"}, {"type": "C"}], items("C")),
        ([], items("A"), items("A")),
    ],
)
def test_a_keyed_list_is_merged_by_its_key(original: Any, patch: Any, expected: Any) -> None:
    before = copy.deepcopy(original)

    assert merged(original, patch) == expected
    assert original == before


def test_a_given_order_is_kept() -> None:
    order = {"$setElementOrder/conditions": items("B", "C", "A")}

    assert merged(items("A", "B"), items("C"), directives=order) == items("B", "C", "A")


def test_what_a_given_order_leaves_out_keeps_its_place() -> None:
    order = {"$setElementOrder/conditions": items("C", "B")}

    assert merged(items("A", "B", "C"), items("B"), directives=order) == items("A", "C", "B")


@pytest.mark.parametrize(
    ("name", "key"),
    [("containers", "name"), ("volumeMounts", "mountPath"), ("ports", "containerPort"), ("ports", "port")],
)
def test_each_list_has_its_own_key(name: str, key: str) -> None:
    original = [{key: 1, "x": 1}, {key: 2, "x": 2}]

    assert merged(original, [{key: 2, "x": 3}], name) == [{key: 1, "x": 1}, {key: 2, "x": 3}]


@pytest.mark.parametrize("name", ["tolerations", "taints", "args"])
def test_a_list_without_a_key_is_replaced(name: str) -> None:
    assert merged([{"key": "a"}], [{"key": "b"}], name) == [{"key": "b"}]


def test_finalizers_are_a_set() -> None:
    assert merged(["a", "b"], ["b", "c"], "finalizers") == ["a", "b", "c"]
    assert merged(["a", "b"], [], "finalizers", {"$deleteFromPrimitiveList/finalizers": ["a"]}) == ["b"]


def test_maps_are_merged_to_any_depth_and_nulls_take_away() -> None:
    document = {"a": {"b": {"c": 1, "d": 2}}, "e": 3}

    patched = strategic_merge_patch(document, {"a": {"b": {"c": None, "f": 4}}, "e": None})

    assert patched == {"a": {"b": {"d": 2, "f": 4}}}
    assert document == {"a": {"b": {"c": 1, "d": 2}}, "e": 3}


def test_a_map_can_be_replaced_or_emptied() -> None:
    document = {"a": {"b": 1}}

    assert strategic_merge_patch(document, {"a": {"$patch": "replace", "c": 2}}) == {"a": {"c": 2}}
    assert strategic_merge_patch(document, {"a": {"$patch": "delete"}}) == {"a": {}}


def test_only_the_keys_to_retain_stay() -> None:
    document = {"volumes": [{"name": "v", "emptyDir": {}}]}
    patch = {"volumes": [{"name": "v", "$retainKeys": ["name", "secret"], "secret": {"secretName": "s"}}]}

    assert strategic_merge_patch(document, patch) == {"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}


@pytest.mark.parametrize("patch", [[], {"conditions": [{"status": "True"}]}, {"a": {"$patch": "invent"}}])
def test_a_strategic_patch_that_makes_no_sense_is_refused(patch: Any) -> None:
    with pytest.raises(PatchError):
        strategic_merge_patch({"conditions": []}, patch)
