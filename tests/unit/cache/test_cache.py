"""Cache: pods assumed, confirmed, updated, removed, and what their nodes are charged (kube-scheduler 1.37: backend/cache)."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from scheduler.api.objects import (
    ContainerPort,
    ContainerStatus,
    Pod,
    PodCondition,
    PodStatus,
    ResourceRequirements,
    Taint,
    Volume,
)
from scheduler.api.volume_sources import EphemeralVolumeSource
from scheduler.cache.cache import Cache, CachedPod
from scheduler.framework.facet import Facet
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.pod_match import PodMatch
from tests.support.builders import make_container, make_node, make_pod
from tests.support.view_plugins import Everything

PRESENCE = Facet.RESOURCES | Facet.PODS


@pytest.fixture
def cache() -> Cache:
    cache = Cache(seed=1)
    for name in ("n0", "n1"):
        cache.apply_node(make_node(name))
    return cache


def pod(name: str = "p", node_name: str = "", **fields: object) -> PodInfo:
    """A pod that asks for 1 CPU."""
    return PodInfo(make_pod(name, node_name=node_name, **{"requests": {"cpu": "1"}, **fields}))  # type: ignore[arg-type]


def requested_cpu(cache: Cache, node_name: str = "n0") -> int:
    row = cache.table.row_of(node_name)
    assert row is not None
    amount = cache.table.row(Everything, row).requested("cpu")
    assert isinstance(amount, int)
    return amount


def changed_facets(cache: Cache, action: Callable[[], object]) -> dict[int, Facet]:
    position = cache.table.position
    action()
    cache.validate()
    changes = cache.table.changes_since(position)
    assert changes is not None
    return {row: Facet(facets) for row, facets in zip(changes.rows.tolist(), changes.facets.tolist(), strict=True)}


# Assume, confirm, forget


def test_an_assumed_pod_takes_room_at_once(cache: Cache) -> None:
    assumed = pod()
    assert changed_facets(cache, lambda: cache.assume(assumed, "n0")) == {0: PRESENCE}
    assert requested_cpu(cache) == 1000
    assert cache.pod(assumed.uid) == CachedPod(assumed, "n0", assumed=True)
    assert (cache.pod_count, cache.assumed_count) == (1, 1)


@pytest.mark.parametrize("known", ["assumed", "confirmed"])
def test_a_known_pod_cannot_be_assumed(cache: Cache, known: str) -> None:
    if known == "assumed":
        cache.assume(pod(), "n0")
    else:
        cache.apply_pod(pod(node_name="n0"))
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        cache.assume(pod(), "n1")
    assert str(caught.value) == "pod default-p(default/p) is in the cache, so can't be assumed"
    assert requested_cpu(cache, "n1") == 0


def test_the_api_confirms_an_assumed_pod_and_no_plugin_could_tell(cache: Cache) -> None:
    assumed = pod()
    cache.assume(assumed, "n0")
    shown = pod(node_name="n0", status=PodStatus(phase="Running"))
    assert changed_facets(cache, lambda: cache.apply_pod(shown)) == {}
    assert cache.pod(assumed.uid) == CachedPod(shown, "n0", assumed=False)
    assert (cache.pod_count, cache.assumed_count) == (1, 0)


def test_a_pod_that_the_api_shows_elsewhere_than_assumed_is_there(cache: Cache) -> None:
    cache.assume(pod(), "n0")
    changes = changed_facets(cache, lambda: cache.apply_pod(pod(node_name="n1")))
    assert changes == {0: PRESENCE, 1: PRESENCE}
    assert (requested_cpu(cache, "n0"), requested_cpu(cache, "n1")) == (0, 1000)
    assert ([each.pod.uid for each in cache.pods_on("n1")], cache.pods_on("n0")) == (["default-p"], [])


def test_forgetting_an_assumed_pod_gives_its_room_back(cache: Cache) -> None:
    assumed = pod()
    cache.assume(assumed, "n0")
    assert changed_facets(cache, lambda: cache.forget(assumed.uid)) == {0: PRESENCE}
    assert requested_cpu(cache) == 0
    assert (cache.pod(assumed.uid), cache.assumed_count) == (None, 0)


def test_forgetting_gives_back_what_was_known(cache: Cache) -> None:
    assumed = pod()
    cache.assume(assumed, "n0")
    assert cache.forget(assumed.uid) == CachedPod(assumed, "n0", assumed=True)
    assert cache.forget(assumed.uid) is None


def test_a_confirmed_pod_cannot_be_forgotten(cache: Cache) -> None:
    cache.apply_pod(pod(node_name="n0"))
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        cache.forget("default-p")
    assert str(caught.value) == "pod default-p(default/p) is not assumed, so it cannot be removed or forgotten"
    assert requested_cpu(cache) == 1000


def test_a_pod_of_the_same_name_and_another_uid_is_another_pod(cache: Cache) -> None:
    cache.assume(pod(uid="old"), "n0")
    cache.apply_pod(pod(uid="new", node_name="n0"))
    assert requested_cpu(cache) == 2000
    cache.remove_pod("old")
    assert [each.pod.uid for each in cache.pods_on("n0")] == ["new"]


# Watch events


def test_a_pod_bound_by_someone_else_takes_room(cache: Cache) -> None:
    shown = pod(node_name="n0")
    assert changed_facets(cache, lambda: cache.apply_pod(shown)) == {0: PRESENCE}
    assert cache.pod(shown.uid) == CachedPod(shown, "n0", assumed=False)


def test_applying_a_pod_gives_back_what_was_known(cache: Cache) -> None:
    first, second = pod(node_name="n0"), pod(node_name="n0")
    assert cache.apply_pod(first) is None
    assert cache.apply_pod(second) == CachedPod(first, "n0", assumed=False)


def running(requests: str | None) -> PodStatus:
    resources = None if requests is None else ResourceRequirements(requests={"cpu": requests})
    return PodStatus(phase="Running", container_statuses=[ContainerStatus(name="main", resources=resources)])


@pytest.mark.parametrize(
    ("update", "facets"),
    [
        ({"labels": {"app": "web"}}, Facet.PODS),
        ({"deletion_timestamp": "2026-01-01T00:00:00Z"}, Facet.PODS),
        ({"requests": {"cpu": "2"}}, Facet.RESOURCES),
        ({"requests": {"cpu": "1", "memory": "1Gi"}}, Facet.RESOURCES),
        ({"requests": {"cpu": "1", "memory": "0"}}, Facet.RESOURCES),
        ({"status": running("3")}, Facet.RESOURCES),
        (
            {"containers": [make_container(requests={"cpu": "1"}, ports=[ContainerPort(host_port=80)])]},
            Facet.PORTS,
        ),
        ({"volumes": [Volume(name="data")]}, Facet.VOLUMES),
        ({"labels": {"app": "web"}, "requests": {"cpu": "2"}}, Facet.PODS | Facet.RESOURCES),
    ],
    ids=[
        "labels",
        "terminating",
        "resized",
        "memory too",
        "no default",
        "resized in effect",
        "ports",
        "volumes",
        "two",
    ],
)
def test_an_update_changes_the_facets_that_differ(cache: Cache, update: dict[str, Any], facets: Facet) -> None:
    before, after = pod(node_name="n0"), pod(node_name="n0", **update)
    cache.apply_pod(before)
    assert changed_facets(cache, lambda: cache.apply_pod(after)) == {0: facets}
    assert changed_facets(cache, lambda: cache.apply_pod(before)) == {0: facets}


@pytest.mark.parametrize(
    "update",
    [
        {},
        {"status": running(None)},
        {"status": running("1")},
        {"status": PodStatus(conditions=[PodCondition(type="Ready", status="True")])},
        {"labels": {}},
        {"requests": {"cpu": "1000m"}},
        {"priority": 7},
    ],
    ids=["nothing", "running", "in effect", "conditions", "empty labels", "other spelling", "priority"],
)
def test_an_update_that_no_plugin_can_see_is_no_change(cache: Cache, update: dict[str, Any]) -> None:
    cache.apply_pod(pod(node_name="n0"))
    after = pod(node_name="n0", **update)
    assert changed_facets(cache, lambda: cache.apply_pod(after)) == {}
    known = cache.pod(after.uid)
    assert known is not None
    assert known.pod is after


def test_a_pod_whose_deletion_deadline_moves_is_as_terminating_as_before(cache: Cache) -> None:
    cache.apply_pod(pod(node_name="n0", deletion_timestamp="2026-01-01T00:00:30Z"))
    sooner = pod(node_name="n0", deletion_timestamp="2026-01-01T00:00:01Z")
    assert changed_facets(cache, lambda: cache.apply_pod(sooner)) == {}


def test_a_terminating_pod_takes_room_until_it_is_gone(cache: Cache) -> None:
    cache.apply_pod(pod(node_name="n0", deletion_timestamp="2026-01-01T00:00:00Z"))
    assert requested_cpu(cache) == 1000
    cache.remove_pod("default-p")
    assert requested_cpu(cache) == 0


def test_removing_a_pod_undoes_what_it_was_last_charged(cache: Cache) -> None:
    cache.apply_pod(pod(node_name="n0"))
    cache.apply_pod(pod(node_name="n0", status=running("3")))
    assert requested_cpu(cache) == 3000
    assert changed_facets(cache, lambda: cache.remove_pod("default-p")) == {0: PRESENCE}
    assert requested_cpu(cache) == 0


def test_an_assumed_pod_that_was_deleted_is_removed_like_any_other(cache: Cache) -> None:
    cache.assume(pod(), "n0")
    known = cache.remove_pod("default-p")
    assert known is not None
    assert known.assumed
    assert (cache.pod_count, cache.assumed_count, requested_cpu(cache)) == (0, 0, 0)


def test_removing_an_unknown_pod_changes_nothing(cache: Cache) -> None:
    assert changed_facets(cache, lambda: cache.remove_pod("other")) == {}
    assert cache.remove_pod("other") is None


def test_a_pod_with_host_ports_or_volumes_changes_those_too(cache: Cache) -> None:
    container = make_container(ports=[ContainerPort(host_port=80)])
    with_port = pod(containers=[container])
    assert changed_facets(cache, lambda: cache.assume(with_port, "n0")) == {0: PRESENCE | Facet.PORTS}
    assert cache.table.row(Everything, 0).port_conflicts("0.0.0.0", "TCP", 80) is True
    with_volumes = pod("q", volumes=[Volume(name="tmp"), Volume(name="data", ephemeral=EphemeralVolumeSource())])
    assert changed_facets(cache, lambda: cache.assume(with_volumes, "n0")) == {0: PRESENCE | Facet.VOLUMES}
    plain_volumes = pod("r", volumes=[Volume(name="tmp")])
    assert changed_facets(cache, lambda: cache.assume(plain_volumes, "n0")) == {0: PRESENCE}


def test_overhead_and_defaults_are_charged(cache: Cache) -> None:
    cache.assume(pod(requests={}, overhead={"cpu": "50m"}), "n0")
    node = cache.table.row(Everything, 0)
    assert (node.requested("cpu"), node.non_zero_requested("cpu"), node.non_zero_requested("memory")) == (
        50,
        150,
        200 * 2**20,
    )


def test_sums_beyond_int64_wrap_and_come_back(cache: Cache) -> None:
    cache.assume(pod("small"), "n0")
    for name in ("a", "b"):
        cache.assume(pod(name, requests={"cpu": "9223372036854775807"}), "n0")
        cache.validate()
    for name in ("a", "b"):
        cache.forget(f"default-{name}")
    assert requested_cpu(cache) == 1000


# Nodes that come and go


def test_pods_on_an_unknown_node_are_charged_when_it_comes(cache: Cache) -> None:
    early = pod(node_name="n9")
    assert changed_facets(cache, lambda: cache.apply_pod(early)) == {}
    assert [each.pod for each in cache.pods_on("n9")] == [early]
    cache.apply_node(make_node("n9"))
    assert requested_cpu(cache, "n9") == 1000
    cache.validate()


def test_pods_of_a_removed_node_stay_known_and_are_charged_when_it_is_back(cache: Cache) -> None:
    cache.apply_pod(pod("a", node_name="n0"))
    cache.assume(pod("b"), "n0")
    cache.remove_node("n0")
    cache.validate()
    assert (cache.pod_count, len(cache.pods_on("n0"))) == (2, 2)
    cache.remove_pod("default-a")
    cache.apply_node(make_node("n0"))
    assert requested_cpu(cache) == 1000
    cache.validate()


def test_the_next_node_in_a_row_is_not_charged_for_the_pods_of_the_one_before(cache: Cache) -> None:
    cache.apply_pod(pod(node_name="n0"))
    cache.remove_node("n0")
    cache.apply_node(make_node("n7"))
    assert cache.table.row_of("n7") == 0
    assert requested_cpu(cache, "n7") == 0
    cache.validate()


def test_a_node_replaced_under_its_name_keeps_the_pods_known_on_it(cache: Cache) -> None:
    old = cache.table.node(0)
    cache.apply_pod(pod(node_name="n0"))
    assert cache.apply_node(make_node("n0", uid="new")) is old
    assert requested_cpu(cache) == 1000
    cache.validate()


def test_pods_on_a_node_are_in_the_order_they_came_whatever_their_updates(cache: Cache) -> None:
    for name in ("c", "a", "b"):
        cache.apply_pod(pod(name, node_name="n0"))
    cache.apply_pod(pod("c", node_name="n0", labels={"x": "y"}))
    assert [each.pod.pod.metadata.name for each in cache.pods_on("n0")] == ["c", "a", "b"]
    assert cache.pods_on("other") == []


# Bad input


def bad(**fields: object) -> Pod:
    return make_pod("bad", **{"requests": {"cpu": "lots"}, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize("known", [False, True])
def test_a_pod_that_cannot_be_read_changes_nothing(cache: Cache, known: bool) -> None:
    if known:
        cache.apply_pod(pod("bad", node_name="n0"))
    message = r"^pod default/bad: spec\.containers\[0\]\.resources\.requests\[cpu\]: 'lots' is not a quantity"
    with pytest.raises(ValueError, match=message):
        cache.apply_pod(PodInfo(bad(node_name="n1")))
    with pytest.raises(ValueError, match=message):
        cache.assume(PodInfo(bad()), "n1")
    assert (cache.pod_count, requested_cpu(cache, "n1")) == (int(known), 0)
    cache.validate()


def test_a_pod_without_a_node_or_uid_takes_no_room(cache: Cache) -> None:
    with pytest.raises(ValueError, match=r"^pod default/p: spec\.nodeName is empty"):
        cache.apply_pod(pod())
    with pytest.raises(ValueError, match=r"^pod default/p: metadata\.uid is empty"):
        cache.apply_pod(pod(uid="", node_name="n0"))
    with pytest.raises(ValueError, match=r"^pod default/p: metadata\.uid is empty"):
        cache.assume(pod(uid=""), "n0")
    assert cache.pod_count == 0


# The journal is bounded


def test_after_more_changes_than_the_journal_holds_everything_has_to_be_read_again() -> None:
    cache = Cache(seed=1, journal_capacity=4)
    cache.apply_node(make_node("n0"))
    position = cache.table.position
    for number in range(4):
        cache.assume(pod(str(number)), "n0")
    assert cache.table.changes_since(position) is not None
    cache.assume(pod("4"), "n0")
    assert cache.table.changes_since(position) is None


# validate


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda cache: cache.table.resources.pod_count.add(0, 1), "number of pods"),
        (lambda cache: cache.table.resources.requested.get("cpu").add(0, 1), "requested cpu"),
        (lambda cache: cache.table.resources.non_zero["memory"].add(0, 1), "non-zero requested memory"),
        (lambda cache: cache.table.taints.column.cells.__setitem__(0, 0), "taints"),
        (lambda cache: cache.table.unschedulable.cells.__setitem__(0, True), "unschedulable"),
        (lambda cache: cache.table.label_column("zone").column.cells.__setitem__(0, 0), "label zone"),
        (lambda cache: cache.table.host_ports._ports.clear(), "host ports"),
        (lambda cache: cache.table.images._sizes.clear(), "images"),
        (lambda cache: cache.table.pods._kinds.clear(), "pods by kind"),
        (lambda cache: cache.table.pods.column(PodMatch(())).column.add(0, 1), "pods that PodMatch"),
        (lambda cache: cache._by_node.clear(), "pods by node"),
        (lambda cache: cache.table.free_rows.append(7), "used rows"),
        (lambda cache: setattr(cache, "assumed_count", 3), "number of assumed pods"),
    ],
)
def test_validation_finds_what_is_wrong(cache: Cache, damage: Callable[[Cache], object], message: str) -> None:
    cache.apply_node(make_node("n0", taints=[Taint(key="a")], labels={"zone": "z"}, images={"app": 1}))
    container = make_container(requests={"cpu": "1"}, ports=[ContainerPort(host_port=80)])
    cache.apply_pod(pod(node_name="n0", containers=[container]))
    cache.table.label_column("zone")
    cache.validate()
    damage(cache)
    with pytest.raises(AssertionError, match=message):
        cache.validate()


def test_pods_may_share_what_they_ask_for_and_are_still_charged_each(cache: Cache) -> None:
    shared = [pod(name) for name in ("a", "b")]
    assert shared[0].amounts is shared[1].amounts
    for each in shared:
        cache.assume(each, "n0")
    cache.forget(shared[0].uid)
    assert requested_cpu(cache) == 1000


def test_a_pod_object_may_be_replaced_by_an_equal_one_and_undone_by_it(cache: Cache) -> None:
    first = pod()
    cache.assume(first, "n0")
    equal = PodInfo(msgspec.structs.replace(first.pod, spec=msgspec.structs.replace(first.pod.spec, node_name="n0")))
    cache.apply_pod(equal)
    cache.remove_pod(equal.uid)
    assert requested_cpu(cache) == 0
