"""docs/running-beside-kube-scheduler.md says what was measured."""

from bench import crowd
from tests.docs.checkout import text
from tests.support.crowded_nodes import PAIRS

DOCUMENT = "docs/running-beside-kube-scheduler.md"


def test_the_figures_on_the_page_are_those_of_the_kept_result() -> None:
    assert crowd.render(crowd.read()) in text(DOCUMENT), "put there what `python -m bench crowd` prints"


def test_the_page_says_that_places_can_be_taken_twice_and_how_to_split_nodes() -> None:
    """kubernetes-sigs/scheduler-plugins#382: a second scheduler is only told of as not for production; here it is told how often and what helps."""
    page = text(DOCUMENT)
    assert all(
        each in page for each in ("twice", "nodeSelector", "taint", "scheduler_kubelet_rejections_total", "Split")
    ), page


def test_the_kept_result_is_of_both_pairs_for_as_many_rounds() -> None:
    kept = crowd.read()
    assert kept.pairs.keys() == PAIRS.keys()
    (rounds,) = {len(rounds) for rounds in kept.pairs.values()}
    assert rounds >= 20


def test_reprise_took_no_more_places_twice_than_a_second_kube_scheduler() -> None:
    too_many = {name: sum(one.too_many for one in rounds) for name, rounds in crowd.read().pairs.items()}
    assert too_many["Reprise beside kube-scheduler"] <= too_many["two kube-schedulers"]
