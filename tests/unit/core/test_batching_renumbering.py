"""Interned ids are given out anew once most of them are out of use: an entry starts over, PreFilter included."""

from __future__ import annotations

from scheduler.api.objects import Taint
from scheduler.cache.columns import InternedColumn
from tests.support.builders import make_node, make_pod
from tests.support.core_run import Core
from tests.support.scripted_plugins import make_profile
from tests.support.signed_plugins import FOREVER, SignedFilter, SignedPreFilter, batch_of


def renumber(core: Core) -> None:
    """So many different taints come and go on a node that their ids are given out anew."""
    before = core.state.cache.table.epoch
    for number in range(InternedColumn.MIN_UNUSED + 1):
        core.nodes(make_node("n1", taints=[Taint(key=f"k{number}", effect="NoSchedule")]))
    assert core.state.cache.table.epoch > before


def run(prefilter: SignedPreFilter) -> Core:
    core = Core([make_profile(prefilter, SignedFilter())], batching=FOREVER)
    core.nodes(make_node("n1"), make_node("n2"))
    core.pods(*(make_pod(f"p{number}") for number in range(4)))
    assert [core.decide().batch for _ in range(2)] == ["no_hint", "hint_used"]
    return core


def test_an_entry_is_used_after_ids_were_given_out_anew() -> None:
    core = run(SignedPreFilter())
    renumber(core)

    assert core.decide().batch == "hint_used"


def test_prefilter_that_fails_when_an_entry_starts_over_ends_the_entry() -> None:
    prefilter = SignedPreFilter()
    core = run(prefilter)
    renumber(core)
    prefilter.result = RuntimeError("no")
    result = core.decide()

    assert (result.outcome, result.message) == ("error", 'running PreFilter plugin "PreFilter": no')
    assert batch_of(core) == {"no_hint": 2, "hint_used": 1, "flushed": {"filter_error": 1}}
    assert core.state.measurements.plugin_failures == {"PreFilter": 2}, "while the entry was renewed, and without it"
