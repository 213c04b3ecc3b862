"""Which nodes refuse a pod beside those nominated there. Expected: kube-scheduler 1.37, RunFilterPluginsWithNominatedPods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from scheduler.api.objects import ContainerPort, LabelSelector
from scheduler.api.selectors import compile_label_selector
from scheduler.cache.cache import Cache
from scheduler.cache.node_table import LABEL_KEYS
from scheduler.framework import ops
from scheduler.framework.facet import Facet, Input
from scheduler.framework.ops import Masks
from scheduler.framework.plugin import CycleState, FilterPlugin, PreFilterPlugin, PreFilterResult
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.pod_match import PodMatch, PodSelection
from scheduler.framework.status import SKIP, SUCCESS, Code, Reason, Status
from scheduler.framework.view import NodeView
from scheduler.plugins.node_ports import NodePorts
from scheduler.plugins.node_resources_fit import NodeResourcesFit
from scheduler.profile.evaluation import Evaluation
from scheduler.profile.failure import PluginFailure
from scheduler.profile.filtering import Verdicts
from scheduler.profile.nominated import refusals
from scheduler.profile.profile import Profile
from tests.support.builders import make_container, make_node, make_pod
from tests.support.scripted_plugins import Filter, PreFilter, make_profile, named, named_nodes, rejected

ZONE = "zone"
PROFILE = make_profile(NodeResourcesFit(), NodePorts())
NO_CPU = Status(Code.UNSCHEDULABLE, ("Insufficient cpu",), "NodeResourcesFit")


def info(name: str, cpu: str = "1", **fields: Any) -> PodInfo:
    return PodInfo(make_pod(name, requests={"cpu": cpu}, **fields))


def evaluated(profile: Profile, pod: PodInfo, cache: Cache) -> Evaluation:
    evaluation = Evaluation(profile, pod, cache.table)
    evaluation.refresh()
    return evaluation


def refused(profile: Profile, pod: PodInfo, cache: Cache, nominated: Mapping[str, Sequence[PodInfo]]) -> Verdicts:
    return refusals(evaluated(profile, pod, cache), cache, nominated)


@pytest.fixture
def cache() -> Cache:
    """n0 and n1 with 4 CPUs each, of which 1 is taken on n1; n0 and n2 in zone a, n1 in zone b."""
    cache = Cache(seed=1)
    for name, zone in (("n0", "a"), ("n1", "b"), ("n2", "a")):
        cache.apply_node(make_node(name, labels={ZONE: zone}))
    cache.assume(info("seated"), "n1")
    return cache


def test_a_node_that_holds_all_of_them_does_not_refuse(cache: Cache) -> None:
    assert refused(PROFILE, info("p"), cache, {"n0": [info("a", "2"), info("b", "1")]}) == {}


def test_nominated_pods_are_counted_together_and_with_those_that_are_there(cache: Cache) -> None:
    ahead = [info("a", "2"), info("b", "1")]

    assert refused(PROFILE, info("p"), cache, {"n0": ahead, "n1": ahead}) == {cache.table.row_of("n1"): NO_CPU}


def test_a_nominated_pod_that_is_on_the_node_already_counts_once(cache: Cache) -> None:
    assert refused(PROFILE, info("p", "3"), cache, {"n1": [info("seated")]}) == {}


def test_each_node_is_asked_about_its_own_nominated_pods(cache: Cache) -> None:
    found = refused(PROFILE, info("p", "2"), cache, {"n0": [info("a", "3")], "n1": [info("b", "1")]})

    assert found == {cache.table.row_of("n0"): NO_CPU}


def test_host_ports_of_nominated_pods_are_taken(cache: Cache) -> None:
    web = [make_container(ports=[ContainerPort(host_port=80)])]
    found = refused(
        PROFILE, PodInfo(make_pod("p", containers=web)), cache, {"n0": [PodInfo(make_pod("a", containers=web))]}
    )

    assert {row: status.plugin for row, status in found.items()} == {cache.table.row_of("n0"): "NodePorts"}


# trap: nominated-pods-take-their-room
def test_a_node_that_refuses_the_pod_anyway_is_told_beside_the_nominated_pods(cache: Cache) -> None:
    """It is asked beside them first, and then not again."""
    profile = make_profile(NodeResourcesFit(), named(Filter, "Refusing", refuses=("n0",)))
    found = refused(profile, info("p"), cache, {"n0": [info("a", "4")]})

    assert found == {cache.table.row_of("n0"): NO_CPU}


def test_a_node_that_is_not_there_is_passed_over(cache: Cache) -> None:
    assert refused(PROFILE, info("p"), cache, {"gone": [info("a", "4")]}) == {}


def test_a_node_that_prefilter_leaves_out_is_left_to_it(cache: Cache) -> None:
    """It gives the same reason whether there are nominated pods or not."""
    names = named(PreFilter, "Names", result=named_nodes(["n0"]))

    assert refused(make_profile(names, NodeResourcesFit()), info("p"), cache, {"n1": [info("a", "4")]}) == {}


def test_a_pod_that_prefilter_rejects_is_left_to_it(cache: Cache) -> None:
    nobody = named(PreFilter, "Nobody", result=PreFilterResult(rejected("no")))

    assert refused(make_profile(nobody, NodeResourcesFit()), info("p"), cache, {"n0": [info("a", "4")]}) == {}


def test_the_cache_is_as_before(cache: Cache) -> None:
    known = cache.pod_count, cache.assumed_count
    refused(PROFILE, info("p"), cache, {"n0": [info("a", "4")], "n1": [info("b", "4")]})

    assert [seated.pod.pod.metadata.name for seated in cache.pods_on("n1")] == ["seated"]
    assert (cache.pod_count, cache.assumed_count) == known
    cache.validate()


def test_only_the_nodes_that_were_tried_have_changed_for_others(cache: Cache) -> None:
    position = cache.table.position
    refused(PROFILE, info("p"), cache, {"n0": [info("a", "4")]})
    changes = cache.table.changes_since(position)

    assert changes is not None
    assert changes.rows.tolist() == [cache.table.row_of("n0")]


def test_the_evaluation_is_up_to_date_and_as_before(cache: Cache) -> None:
    evaluation = evaluated(PROFILE, info("p"), cache)
    before = [evaluation.status(row) for row in range(3)]
    assert evaluation.select() is not None
    refusals(evaluation, cache, {"n0": [info("a", "4")], "n1": [info("b", "4")]})

    assert [evaluation.status(row) for row in range(3)] == before
    other = evaluated(PROFILE, info("p"), cache)
    assert evaluation.difference(other, evaluation.select(), other.select()) == ""


def test_a_plugin_that_fails_is_named_and_the_cache_is_as_before(cache: Cache) -> None:
    broken = named(Filter, "Broken")
    evaluation = evaluated(make_profile(broken), info("p"), cache)
    broken.error = RuntimeError("no")
    with pytest.raises(PluginFailure, match='running "Broken" filter plugin: no'):
        refusals(evaluation, cache, {"n0": [info("a")]})

    assert cache.pod_count == 1
    cache.validate()


WEB = PodMatch((PodSelection(None, compile_label_selector(LabelSelector(match_labels={"app": "web"}))),))


class Apart(PreFilterPlugin, FilterPlugin):
    """At most ``most`` web pods in a zone; it has nothing to say while there is none at all. ``asked``: of how many."""

    name = "Apart"
    facets = Facet.LABELS
    inputs = frozenset((Input.POD_COUNTS,))
    most = 1
    asked: list[int]
    fails_at = 99

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult:
        zones, counts = np.asarray(nodes.label(ZONE)), np.asarray(nodes.matching_pods(WEB))
        total = int(counts.sum())
        self.asked.append(total)
        if total >= self.fails_at:
            return self.failing()
        if not total:
            return PreFilterResult(SKIP)
        state["full"] = [zone for zone in np.unique(zones).tolist() if counts[zones == zone].sum() >= self.most]
        return PreFilterResult()

    def failing(self) -> PreFilterResult:
        return PreFilterResult(Status(Code.UNSCHEDULABLE, ("too many",)))

    def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
        return (Reason(f"full: {len(state.get('full', ()))}", Code.UNSCHEDULABLE),)

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        mask: Masks = 0 if nodes.is_row else np.zeros(len(nodes), np.uint64)
        for zone in state["full"]:
            mask = ops.merge(mask, ops.bit(nodes.label(ZONE) == zone, 0))
        return mask

    def filter_token(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> tuple[int, ...]:
        return (nodes.matching_version(WEB),)


def web(name: str) -> PodInfo:
    return info(name, labels={"app": "web"})


def apart(**attributes: Any) -> Any:
    return named(Apart, "Apart", asked=[], **attributes)


def test_a_pod_nominated_to_one_node_can_close_it_by_what_is_on_others(cache: Cache) -> None:
    """A web pod on n2 and one nominated to n0 are two in zone a."""
    cache.assume(web("one"), "n2")
    profile = make_profile(apart(most=2), NodeResourcesFit())

    assert refused(profile, info("p"), cache, {"n0": [web("a")], "n1": [web("b")]}) == {
        cache.table.row_of("n0"): Status(Code.UNSCHEDULABLE, ("full: 1",), "Apart")
    }


def test_only_the_node_that_it_is_nominated_to_is_closed(cache: Cache) -> None:
    """n2 is in the zone too, and is judged without the pods nominated to others."""
    cache.assume(web("one"), "n2")
    evaluation = evaluated(make_profile(apart(most=2)), info("p"), cache)
    instead = refusals(evaluation, cache, {"n0": [web("a")]})

    assert list(instead) == [cache.table.row_of("n0")]
    assert evaluation.status(2).code is Code.SUCCESS


def test_what_prefilter_noted_for_the_evaluation_stays(cache: Cache) -> None:
    cache.assume(web("one"), "n2")
    plugin = apart(most=2)
    evaluation = evaluated(make_profile(plugin), info("p"), cache)
    refusals(evaluation, cache, {"n0": [web("a")]})

    # For the evaluation, for the trial, and for the evaluation again, since counts have changed and changed back.
    assert plugin.asked == [1, 2, 1]
    assert evaluation.state_of("Apart") == {"full": []}
    other = evaluated(make_profile(plugin), info("p"), cache)
    assert evaluation.difference(other, evaluation.select(), other.select()) == ""


def test_a_row_is_tried_as_the_table_is_and_nothing_is_kept_of_it(cache: Cache) -> None:
    cache.assume(web("one"), "n2")
    evaluation = evaluated(make_profile(apart(most=2)), info("p"), cache)
    cache.assume(web("a"), "n0")

    assert evaluation.try_row(0) == Status(Code.UNSCHEDULABLE, ("full: 1",), "Apart")
    assert evaluation.state_of("Apart") == {"full": []}
    assert evaluation.status(0).code is Code.SUCCESS


def test_a_plugin_that_was_skipped_without_the_nominated_pods_stays_skipped(cache: Cache) -> None:
    """What only nominated pods ask for is not asked (kube-scheduler 1.37: AddPod is not called for it)."""
    plugin = apart(most=1)

    assert refused(make_profile(plugin, NodeResourcesFit()), info("p"), cache, {"n0": [web("a")]}) == {}
    assert plugin.asked[0] == 0


def test_a_plugin_that_prefilter_rejects_beside_nominated_pods_refuses_the_node(cache: Cache) -> None:
    cache.assume(web("one"), "n2")

    assert refused(make_profile(apart(most=5, fails_at=2)), info("p"), cache, {"n1": [web("a")]}) == {
        cache.table.row_of("n1"): Status(Code.UNSCHEDULABLE, ("too many",), "Apart")
    }


def raises(self: Any) -> PreFilterResult:
    raise RuntimeError("no")


def answers_an_error(self: Any) -> PreFilterResult:
    return PreFilterResult(Status(Code.ERROR, ("no",)))


@pytest.mark.parametrize("failing", [raises, answers_an_error])
def test_a_plugin_whose_prefilter_fails_beside_nominated_pods_is_named(cache: Cache, failing: Any) -> None:
    cache.assume(web("one"), "n2")
    plugin = apart(most=5, fails_at=2, failing=failing)
    with pytest.raises(PluginFailure, match='running PreFilter plugin "Apart": no'):
        refused(make_profile(plugin), info("p"), cache, {"n1": [web("a")]})

    cache.validate()


class Zoned(PreFilterPlugin, FilterPlugin):
    """Refuses zone b by the id that its label had when PreFilter ran."""

    name = "Zoned"
    facets = Facet.LABELS

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult:
        state["id"] = nodes.label_ids(ZONE).id_of("b")
        return PreFilterResult(SUCCESS)

    def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
        return (Reason("zone b", Code.UNSCHEDULABLE),)

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        return ops.bit(nodes.label(ZONE) == state["id"], 0)


def test_ids_that_are_given_anew_meanwhile_are_looked_up_anew() -> None:
    """To seat a pod is a change of the table, after which it may number labels anew: zone b was the second one seen."""
    cache = Cache(seed=1)
    profile = make_profile(Zoned(), NodeResourcesFit())
    for name, zone in (("n0", "old"), ("n1", "b"), ("n2", "b")):
        cache.apply_node(make_node(name, labels={ZONE: zone}))
    evaluated(profile, info("p"), cache)
    cache.apply_node(make_node("n0", labels={ZONE: "b"}))
    cache.apply_node(make_node("n2", labels={ZONE: "z"}))
    evaluation = evaluated(profile, info("p"), cache)
    epoch = cache.table.epoch
    for number in range(LABEL_KEYS):
        cache.table.label_column(f"key-{number}")
    found = refusals(evaluation, cache, {"n2": [info("a", "1")], "n1": [info("b", "1")]})

    assert cache.table.epoch > epoch
    assert found == {cache.table.row_of("n1"): Status(Code.UNSCHEDULABLE, ("zone b",), "Zoned")}
    assert [evaluation.status(row).code is Code.SUCCESS for row in range(3)] == [False, False, True]
