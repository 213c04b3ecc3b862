"""Figures as rows, for the terminal and for a document."""

from bench.table import markdown, plain

HEADINGS = ("who", "how fast")
LINES = [["reprise", "5"], ["x", "1234567"]]


def test_columns_of_a_terminal_are_as_wide_as_they_need_to_be() -> None:
    assert plain(HEADINGS, LINES).splitlines() == [
        "who          how",
        "            fast",
        "reprise        5",
        "x        1234567",
    ]


def test_a_document_has_a_table_with_figures_to_the_right() -> None:
    assert markdown(HEADINGS, LINES).splitlines() == [
        "| who | how fast |",
        "| --- | ---: |",
        "| reprise | 5 |",
        "| x | 1234567 |",
    ]
