"""The comparison with the oracle finds differences, makes them small, and says the same for the same seed."""

import copy
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.oracle import cases as kept_cases
from tests.oracle.builders import line, node, pod
from tests.oracle.compare import differences
from tests.oracle.comparison import Comparison, kind_of
from tests.oracle.draw import Draw
from tests.oracle.floors import LOWEST_FLOORS, MUST, Part, known, table
from tests.oracle.generate import Case, case, cases, cluster, encode, sequences
from tests.oracle.program import Program
from tests.oracle.rare import RECIPES
from tests.oracle.scene import Scene
from tests.oracle.shrink import shrink

ANSWER: dict[str, Any] = {
    "prefilter": {"code": "Success"},
    "filter": {
        "a": {"code": "Success"},
        "b": {"code": "Unschedulable", "plugin": "NodeResourcesFit", "reasons": ["Insufficient cpu", "Too many pods"]},
    },
    "scored": False,
    "scores": {"a": {"ImageLocality": {"raw": 3, "weighted": 3}}},
    "totals": {"a": 3},
    "best": ["a"],
}


def changed(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    made = copy.deepcopy(ANSWER)
    inner = made
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = value
    return made


def test_an_answer_is_the_same_as_itself() -> None:
    assert differences(ANSWER, copy.deepcopy(ANSWER)) == []


def test_the_order_of_reasons_and_an_empty_plugin_make_no_difference() -> None:
    other = changed(("filter", "b", "reasons"), ["Too many pods", "Insufficient cpu"])
    other["filter"]["a"] |= {"plugin": None, "reasons": []}
    assert differences(ANSWER, other) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("prefilter", "code"), "Unschedulable"),
        (("filter", "b", "code"), "UnschedulableAndUnresolvable"),
        (("filter", "b", "plugin"), "NodePorts"),
        (("filter", "b", "reasons"), ["Insufficient cpu"]),
        (("filter", "c"), {"code": "Success"}),
        (("scored",), True),
        (("scores", "a", "ImageLocality", "raw"), 4),
        (("scores", "a", "ImageLocality", "weighted"), 6),
        (("scores", "a", "ImageLocality", "raw"), 3.0),
        (("scores", "a", "NodeAffinity"), {"raw": 0, "weighted": 0}),
        (("scores", "a"), {}),
        (("totals", "a"), 4),
        (("best",), []),
    ],
    ids=lambda value: ".".join(value) if isinstance(value, tuple) else "",
)
def test_every_part_of_an_answer_counts(path: tuple[str, ...], value: Any) -> None:
    assert differences(ANSWER, changed(path, value)) != []


@pytest.mark.parametrize(("given", "right"), [("b is missing", True), ("c is missing", True), ("d is missing", False)])
def test_of_reasons_that_a_plugin_gives_by_chance_each_is_right(given: str, right: bool) -> None:
    expected = changed(
        ("filter", "b"), {"code": "Unschedulable", "plugin": "NodeVolumeLimits", "reasons": ["b is missing"]}
    )
    actual = copy.deepcopy(expected)
    expected["filter"]["b"]["either"] = ["b is missing", "c is missing"]
    actual["filter"]["b"]["reasons"] = [given]
    assert (differences(expected, actual) == []) is right


def test_of_two_errors_the_text_makes_no_difference_but_an_error_against_an_answer_does() -> None:
    assert differences({"error": "this"}, {"error": "that"}) == []
    assert differences({"error": "this"}, ANSWER) != []
    assert differences(ANSWER, {"error": "this"}) != []


def test_a_pod_that_must_be_refused_must_give_an_error_whatever_the_oracle_says() -> None:
    assert differences(ANSWER, {"error": "no rule for it"}, "refused") == []
    assert differences(ANSWER, ANSWER, "refused") != []


def test_no_answer_is_a_difference_also_where_an_error_is_expected() -> None:
    assert differences({"error": "this"}, {"missing": "ended with code 1"}) != []


def test_a_seed_names_the_same_cases_in_whatever_number_they_are_made() -> None:
    made = list(cases(5, 30))
    assert made[17] == case(5, 17) == next(cases(5, 1, start=17))
    assert list(sequences(5, 2)) == list(sequences(5, 2))
    assert made != list(cases(6, 30))


def test_sequences_of_a_length_go_on_as_those_of_any_length_do() -> None:
    for made, longer in zip(sequences(5, 10), sequences(5, 10, exactly=20), strict=True):
        assert len(longer.lines) == 21
        assert longer.lines[: len(made.lines)] == made.lines


def test_a_step_never_applies_and_deletes_one_object() -> None:
    for made in sequences(8, 20):
        for text in made.lines[1:]:
            step = json.loads(text)
            applied = {(one["kind"], one["metadata"]["uid"]) for one in step.get("apply", [])}
            deleted = {(one["kind"], one["metadata"]["uid"]) for one in step.get("delete", [])}
            assert not applied & deleted, made.name


def test_a_shrunk_case_keeps_what_differs_and_little_else() -> None:
    """The stand-in for a difference: a node with 2Gi is left and some later line asks for port 80."""
    wanted = pod({"name": "c", "image": "app:v1", "ports": [{"hostPort": 80, "protocol": "TCP"}, {"hostPort": 81}]})
    first = line(
        pod(), *(node(f"n{i}", memory=f"{i}Gi", labels={"disk": "ssd"}) for i in range(8)), config={"a": {"b": 1}}
    )
    steps: list[dict[str, Any]] = [
        {"apply": [node("n9")], "pod": pod()},
        {"apply": [], "pod": wanted},
        {"apply": [], "pod": pod()},
    ]
    one = Case("made", tuple(encode(text) for text in (first, *steps)))

    def still_differs(made: list[Case] | Any) -> list[bool]:
        return [
            '"2Gi"' in small.lines[0] and any('"hostPort":80' in text for text in small.lines[1:]) for small in made
        ]

    small = shrink(one, still_differs)
    assert still_differs([small]) == [True]
    assert len(small.lines) == 2
    lines = [json.loads(text) for text in small.lines]
    assert [one["metadata"]["name"] for one in lines[0]["objects"]] == ["n2"]
    assert lines[0]["objects"][0]["status"] == {"allocatable": {"memory": "2Gi"}}
    assert lines[0]["config"] is None
    assert lines[1]["pod"]["spec"] == {"containers": [{"name": "c", "ports": [{"hostPort": 80}]}]}


def stand_in(folder: Path, body: str) -> Program:
    """A program that answers each line with what `body` makes of `line`."""
    script = folder / "stand_in.py"
    script.write_text(f"import json, sys\nfor line in sys.stdin:\n    {body}\n")
    return Program("stand-in", [sys.executable, "-I", script])


def right(folder: Path) -> Program:
    folder.mkdir()
    return stand_in(folder, "print(json.dumps({'prefilter': {'code': 'Success'}, 'totals': {'n': len(line)}}))")


def test_programs_that_agree_have_no_difference(tmp_path: Path) -> None:
    comparison = Comparison(right(tmp_path / "a"), right(tmp_path / "b"))
    comparison.run(one for one in cases(1, 20) if not any(one.expect))  # these would have to be refused
    assert comparison.different == 0


def test_a_difference_is_shrunk_and_kept_with_the_oracles_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program under test goes wrong for a pod with overhead."""
    monkeypatch.setattr(kept_cases, "FOLDER", tmp_path / "kept")
    wrong = "print(json.dumps({'prefilter': {'code': 'Success'}, 'totals': {'n': len(line) + ('overhead' in line)}}))"
    comparison = Comparison(right(tmp_path / "right"), stand_in(tmp_path, wrong), shrink=1)
    wanted = pod(overhead={"cpu": "1"}, nodeSelector={"disk": "ssd"})
    comparison.run([Case("odd", (encode(line(wanted, node("n0"), node("n1"))),)), Case("even", (encode(line(pod())),))])
    assert comparison.different == 1
    (kept,) = kept_cases.read_all()
    (text,) = kept.case.lines
    assert "overhead" in text
    assert "nodeSelector" not in text
    assert json.loads(text)["objects"] == []
    assert kept.answers == ({"prefilter": {"code": "Success"}, "totals": {"n": len(text) + 1}},)
    assert kept_cases.read(kept_cases.path_of(kept.case.name)) == kept


def test_a_line_that_ends_the_program_costs_only_its_own_answer(tmp_path: Path) -> None:
    program = stand_in(tmp_path, "'bad' in line and sys.exit(3); print(json.dumps({'got': line.strip()}), flush=True)")
    answers = program.answer(["1", "bad", "3"])
    assert [answers[0], answers[2]] == [{"got": "1"}, {"got": "3"}]
    assert "ended with code 3" in answers[1]["missing"]


def test_a_kept_case_is_read_as_it_was_written_also_an_unreadable_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_cases, "FOLDER", tmp_path)
    one = Case("some", ('{"pod":', '{"a": 1.50}', encode({"a": 1})), ("", "refused", ""))
    kept = kept_cases.KeptCase(one, "a reason", "0" * 64, ({"error": "x"}, None, {"best": ["ü"]}))
    assert kept_cases.read(kept_cases.write(kept)) == kept


def test_differences_of_one_cause_are_of_one_kind() -> None:
    first, second = (kind_of(f"scores.{name}.NodeAffinity.raw: 1 expected, not {i}") for i, name in enumerate("ab"))
    assert first == second == "scores.node.NodeAffinity.raw"


def test_what_is_reached_too_seldom_is_marked() -> None:
    plenty = dict.fromkeys(known()["cases"], 10**6)
    assert table([Part("cases", 1.0, plenty)])[1] == []
    text, below = table([Part("cases", 0.1, plenty | {"best/tie": 0})])
    assert below == ["cases: best/tie"]
    assert any("<" in row and row.endswith("  best/tie") for row in text.splitlines())


@pytest.mark.parametrize("part", ["cases", "sequences"])
def test_a_full_run_must_reach_everything_fifty_times(part: str) -> None:
    just_too_few = dict.fromkeys(known()[part], MUST - 1)
    assert len(table([Part(part, 1.0, just_too_few)])[1]) == len(just_too_few) > 500


def test_a_smaller_run_is_held_to_what_chance_does_not_miss() -> None:
    floors = Part("cases", 0.05, {}).floors()
    assert 50 < len(floors) < len(known()["cases"])
    assert min(floors.values()) >= LOWEST_FLOORS["cases"]


def test_the_oracle_is_built_from_the_versions_of_the_control_plane() -> None:
    """So both share what is compiled, and the answers are those of the scheduler that the cluster tests run."""
    root = Path(__file__).parents[2]

    def versions(module: str) -> set[str]:
        return set(re.findall(r"^\t(\S+ (?:=> \S+ )?v\S+)", (root / module / "go.mod").read_text(), re.MULTILINE))

    oracle = versions("tests/oracle")
    assert "k8s.io/kubernetes v1.37.2" in oracle
    assert oracle <= versions("tools/control-plane")


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.__name__)
def test_a_recipe_leaves_one_object_of_a_name_and_says_the_same_for_the_same_seed(
    recipe: Callable[[Scene], None],
) -> None:
    def made(seed: int) -> Scene:
        draw = Draw(str(seed))
        _, nodes, pods, others, config, wanted = cluster(draw, 4, 5, 0.0)
        scene = Scene(draw, nodes, pods, others, config, wanted)
        recipe(scene)
        return scene

    for seed in range(20):
        scene = made(seed)
        objects = [*scene.nodes, *scene.pods, *scene.others]
        names = [(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in objects]
        assert len(set(names)) == len(names)
        again = made(seed)
        assert encode({"a": [*objects, scene.wanted, scene.config]}) == encode(
            {"a": [*again.nodes, *again.pods, *again.others, again.wanted, again.config]}
        )
