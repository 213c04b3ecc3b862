"""Namespaces by the labels that selectors look at."""

from __future__ import annotations

from scheduler.api.objects import LabelSelector, LabelSelectorRequirement
from scheduler.api.selectors import compile_label_selector
from scheduler.cache.namespaces import Namespaces

TEAM_A = compile_label_selector(LabelSelector(match_labels={"team": "a"}))
WITHOUT_TEAM = compile_label_selector(
    LabelSelector(match_expressions=[LabelSelectorRequirement(key="team", operator="DoesNotExist")])
)


def known() -> Namespaces:
    namespaces = Namespaces()
    namespaces.apply("red", {"team": "a"})
    namespaces.apply("blue", {"team": "b"})
    namespaces.apply("plain", {})
    return namespaces


def test_a_selector_matches_known_namespaces_alone() -> None:
    namespaces = known()

    assert namespaces.matching(TEAM_A) == {"red"}
    assert namespaces.matching(WITHOUT_TEAM) == {"plain"}
    assert namespaces.matching(compile_label_selector(LabelSelector())) == {"red", "blue", "plain"}
    assert namespaces.matching(compile_label_selector(None)) == set()


def test_an_answer_follows_what_changes() -> None:
    namespaces = known()
    namespaces.matching(TEAM_A)

    namespaces.apply("blue", {"team": "a"})
    assert namespaces.matching(TEAM_A) == {"red", "blue"}
    namespaces.remove("red")
    assert namespaces.matching(TEAM_A) == {"blue"}
    assert (namespaces.labels("red"), namespaces.labels("blue")) == (None, {"team": "a"})


def test_the_version_moves_with_news_alone() -> None:
    namespaces = known()
    version = namespaces.version

    assert (namespaces.apply("red", {"team": "a"}), namespaces.remove("ghost")) == (False, False)
    assert namespaces.version == version
    assert (namespaces.apply("red", {"team": "c"}), namespaces.remove("red")) == (True, True)
    assert namespaces.version == version + 2


def test_a_namespace_without_labels_is_news_the_first_time() -> None:
    namespaces = known()

    assert (namespaces.apply("new", {}), namespaces.apply("new", {})) == (True, False)
