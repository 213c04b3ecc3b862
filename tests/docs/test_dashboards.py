"""The dashboards are what the code makes, and a reader of a panel knows what it tells and of whom."""

import json
import re
from itertools import combinations
from typing import Any

import pytest

from tests.docs.checkout import ROOT
from tools.dashboards.__main__ import BOARDS, stale
from tools.dashboards.board import Dashboard, Panel, Query, Row
from tools.dashboards.variables import CHOSEN

FILES = sorted((ROOT / "deploy" / "dashboards").glob("*.json"))
DOCUMENTS: list[dict[str, Any]] = [json.loads(file.read_text()) for file in FILES]
PANELS = [
    pytest.param(panel, id=f"{board['uid']}: {panel['title']}")
    for board in DOCUMENTS
    for panel in board["panels"]
    if panel["type"] != "row"
]
# Grafana knows many more; a unit that is misspelt is shown behind the number as it is.
UNITS = {"none", "short", "ops", "reqps", "s", "bytes", "percentunit"}
SELECTOR = re.compile(r"[a-z_]+\{([^}]*)\}")


def test_the_files_are_what_the_code_makes() -> None:
    assert stale() == []
    assert [file.name for file in FILES] == sorted(BOARDS)


@pytest.mark.parametrize("board", DOCUMENTS, ids=lambda board: str(board["uid"]))
def test_a_board_asks_for_its_data_source_and_narrows_step_by_step(board: dict[str, Any]) -> None:
    variables = board["templating"]["list"]

    assert [one["name"] for one in variables] == ["datasource", "cluster", "namespace", "job", "instance"]
    for index, variable in enumerate(variables[1:], start=1):
        assert variable["datasource"]["uid"] == "${datasource}"
        asked = re.findall(r"\$(\w+)", variable["query"]["query"])
        assert asked == [one["name"] for one in variables[1:index]]
    assert variables[3]["current"]["value"] == ["reprise"]


@pytest.mark.parametrize("board", DOCUMENTS, ids=lambda board: str(board["uid"]))
def test_panels_have_numbers_of_their_own_and_do_not_overlap(board: dict[str, Any]) -> None:
    numbers = [panel["id"] for panel in board["panels"]]
    assert len(set(numbers)) == len(numbers)
    for panel in board["panels"]:
        assert 0 <= panel["gridPos"]["x"] <= 24 - panel["gridPos"]["w"]
    for one, other in combinations([panel["gridPos"] for panel in board["panels"]], 2):
        apart = (
            one["x"] + one["w"] <= other["x"]
            or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"]
            or other["y"] + other["h"] <= one["y"]
        )
        assert apart, f"{one} and {other}"


def test_boards_have_names_of_their_own() -> None:
    for key in ("uid", "title"):
        assert len({board[key] for board in DOCUMENTS}) == len(DOCUMENTS)


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_says_what_it_shows_in_which_unit(panel: dict[str, Any]) -> None:
    assert panel["title"]
    assert panel["description"].endswith(".")
    assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
    assert panel["datasource"]["uid"] == "${datasource}"
    assert panel["targets"]
    legends = [target["legendFormat"] for target in panel["targets"]]
    assert len(set(legends)) == len(legends)


@pytest.mark.parametrize("panel", PANELS)
def test_a_query_looks_at_the_chosen_schedulers_and_keeps_them_apart(panel: dict[str, Any]) -> None:
    for target in panel["targets"]:
        selectors = SELECTOR.findall(target["expr"])
        assert selectors
        assert [one for one in selectors if not one.endswith(CHOSEN)] == []
        groups = re.findall(r"by \(([^)]*)\)", target["expr"])
        assert groups
        for group in groups:
            assert group.split(", ")[:3] == ["cluster", "namespace", "job"]
        # What tells the series apart is in their names; a cluster is chosen above.
        labels = set(groups[0].split(", ")) - {"cluster", "le"}
        assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) == labels


def test_panels_fill_a_line_and_then_begin_another() -> None:
    wide = Panel(title="a", description="b", unit="none", queries=(Query("up", "up"),), width=16, height=3)
    board = Dashboard(uid="u", title="t", description="d", rows=(Row("one", (wide, wide)),) * 2, variables=())
    places = [(one["id"], *one["gridPos"].values()) for one in board.document()["panels"]]

    assert places == [
        (1, 0, 0, 24, 1),
        (2, 0, 1, 16, 3),
        (3, 0, 4, 16, 3),
        (4, 0, 7, 24, 1),
        (5, 0, 8, 16, 3),
        (6, 0, 11, 16, 3),
    ]
