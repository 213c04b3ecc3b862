"""The selector of default spread constraints. Expected: kube-scheduler 1.37, DefaultSelector, asked with the same objects."""

import pytest

from scheduler.api.objects import LabelSelector, OwnerReference, SelectingObject
from scheduler.api.selectors import IN, LabelMatcher, LabelRequirement
from scheduler.cache.cache import Cache
from scheduler.cache.deduced_selectors import DeducedSelectors
from scheduler.framework.pod_info import PodInfo
from tests.support.selecting_objects import (
    controlled_by,
    replica_set,
    replication_controller,
    selected_pod,
    selector,
    service,
    stateful_set,
)

WEB = {"app": "web", "tier": "front"}


def cache_of(*objects: SelectingObject) -> Cache:
    cache = Cache(seed=0)
    for each in objects:
        cache.apply_selecting_object(each)
    return cache


def deduced(pod: PodInfo, *objects: SelectingObject) -> str:
    return cache_of(*objects).deduced_selector(pod).text


# Services


@pytest.mark.parametrize(
    ("selects_by", "expected"),
    [
        pytest.param({"app": "web"}, "app=web", id="one label"),
        pytest.param({"tier": "front", "app": "web"}, "app=web,tier=front", id="all labels"),
        pytest.param({"app": "db"}, "", id="another value"),
        pytest.param({"app": "web", "zone": "a"}, "", id="a label that the pod does not have"),
        pytest.param({"zone": ""}, "", id="an empty value is not a missing label"),
        pytest.param({}, "", id="the empty selector matches and adds nothing"),
        pytest.param(None, "", id="a null selector matches nothing"),
    ],
)
def test_a_service_that_matches_the_pod_gives_its_selector(selects_by: dict[str, str] | None, expected: str) -> None:
    assert deduced(selected_pod(WEB), service("s", selects_by)) == expected


def test_the_selectors_of_all_matching_services_are_merged() -> None:
    services = (service("a", {"app": "web"}), service("b", WEB), service("c", {"tier": "back"}))

    assert deduced(selected_pod({**WEB, "index": "7"}), *services) == "app=web,tier=front"


def test_services_of_other_namespaces_do_not_count() -> None:
    assert deduced(selected_pod(WEB), service("s", {"app": "web"}, namespace="other")) == ""


def test_a_pod_without_labels_is_matched_by_no_service() -> None:
    assert deduced(selected_pod(None), service("s", {"app": "web"}), service("all", {})) == ""


def test_a_label_that_no_pod_can_have_is_taken_as_it_is() -> None:
    """The API server lets none pass; kube-scheduler does not check."""
    assert deduced(selected_pod({"a b": "c d"}), service("s", {"a b": "c d"})) == "a b=c d"


# Controllers


def test_the_selector_of_a_replica_set_is_added() -> None:
    owned = selected_pod(WEB, controlled_by("ReplicaSet", "web-1"))
    expressions = ("tier", "In", ["front", "back"]), ("zone", "NotIn", ["a"]), ("app", "Exists", None)
    controller = replica_set("web-1", selector({"app": "web"}, *expressions, ("old", "DoesNotExist", [])))

    assert deduced(owned, controller) == "app,app=web,!old,tier in (back,front),zone notin (a)"


def test_the_selector_of_a_stateful_set_is_added_to_those_of_services() -> None:
    owned = selected_pod(WEB, controlled_by("StatefulSet", "db"))

    assert deduced(owned, service("s", {"app": "web"}), stateful_set("db", selector({"tier": "x"}))) == "app=web,tier=x"


def test_a_replica_set_that_selects_by_another_value_than_a_service_leaves_both() -> None:
    owned = selected_pod(WEB, controlled_by("ReplicaSet", "web-1"))
    objects = service("s", {"app": "web"}), replica_set("web-1", selector({"app": "other"}))

    assert deduced(owned, *objects) == "app=other,app=web"


def test_a_replication_controller_that_selects_by_another_value_than_a_service_wins() -> None:
    owned = selected_pod(WEB, controlled_by("ReplicationController", "web", "v1"))
    objects = service("s", WEB), replication_controller("web", {"app": "other"})

    assert deduced(owned, *objects) == "app=other,tier=front"


@pytest.mark.parametrize(
    ("owners", "expected"),
    [
        pytest.param([controlled_by("ReplicaSet", "x")], "kind=rs", id="ReplicaSet"),
        pytest.param([controlled_by("StatefulSet", "x")], "kind=sts", id="StatefulSet"),
        pytest.param([controlled_by("ReplicationController", "x", "v1")], "kind=rc", id="ReplicationController"),
        pytest.param([controlled_by("ReplicationController", "x", "/v1")], "kind=rc", id="core group, spelled out"),
        pytest.param([controlled_by("ReplicaSet", "y")], "", id="an unknown one"),
        pytest.param([controlled_by("ReplicaSet", "x", "apps/v1beta1")], "", id="another version"),
        pytest.param([controlled_by("ReplicaSet", "x", "extensions/v1beta1")], "", id="another group"),
        pytest.param([controlled_by("ReplicaSet", "x", "v1")], "", id="the core group"),
        pytest.param([controlled_by("ReplicationController", "x", "apps/v1")], "", id="not in apps"),
        pytest.param([controlled_by("ReplicaSet", "x", "apps/v1/x")], "", id="no version at all"),
        pytest.param([controlled_by("replicaset", "x")], "", id="another kind"),
        pytest.param([controlled_by("Job", "x", "batch/v1")], "", id="Job"),
        pytest.param([controlled_by("ReplicaSet", "x", controller=False)], "", id="an owner that does not control"),
        pytest.param([controlled_by("ReplicaSet", "x", controller=None)], "", id="an owner that does not say"),
        pytest.param(
            [controlled_by("ReplicaSet", "x", controller=None), controlled_by("StatefulSet", "x")],
            "kind=sts",
            id="the controller among the owners",
        ),
        pytest.param(
            [controlled_by("Job", "x", "batch/v1"), controlled_by("StatefulSet", "x")],
            "",
            id="only the first controller",
        ),
    ],
)
def test_the_controller_is_found_by_group_version_kind_and_name(owners: list[OwnerReference], expected: str) -> None:
    objects = (
        replica_set("x", selector({"kind": "rs"})),
        stateful_set("x", selector({"kind": "sts"})),
        replication_controller("x", {"kind": "rc"}),
    )

    assert deduced(selected_pod(WEB, *owners), *objects) == expected


def test_a_controller_of_another_namespace_does_not_count() -> None:
    owned = selected_pod(WEB, controlled_by("ReplicaSet", "web-1"))

    assert deduced(owned, replica_set("web-1", selector({"app": "web"}), namespace="other")) == ""


@pytest.mark.parametrize(
    "unusable",
    [
        pytest.param(None, id="null"),
        pytest.param(selector(), id="empty"),
        pytest.param(selector({"app": "web"}, ("tier", "Gt", ["1"])), id="unknown operator"),
        pytest.param(selector({"app": "web"}, ("tier", "In", None)), id="no values"),
        pytest.param(selector({"app": "web"}, ("tier", "Exists", ["front"])), id="too many values"),
        pytest.param(selector({"a b": "web"}), id="no label key"),
        pytest.param(selector({"app": "x" * 64}), id="no label value"),
    ],
)
def test_a_selector_of_a_controller_that_is_empty_or_cannot_be_read_adds_nothing(
    unusable: LabelSelector | None,
) -> None:
    owned = selected_pod(WEB, controlled_by("ReplicaSet", "web-1"))
    controller = replica_set("web-1", unusable)

    assert cache_of(controller).deduced_selector(owned).is_empty
    assert deduced(owned, service("s", {"app": "web"}), controller) == "app=web"


# What an answer is


def test_the_answer_matches_the_pods_to_spread_among() -> None:
    owned = selected_pod(WEB, controlled_by("ReplicaSet", "web-1"))
    controller = replica_set("web-1", selector(None, ("tier", "In", ["front", "back", "front"])))
    found = cache_of(service("s", {"app": "web"}), controller).deduced_selector(owned)

    assert found.matcher == LabelMatcher(
        (LabelRequirement("app", IN, ("web",)), LabelRequirement("tier", IN, ("back", "front")))
    )
    assert [found.matcher.matches({"app": "web", "tier": tier}) for tier in ("front", "back", "x")] == [
        True,
        True,
        False,
    ]


def test_an_empty_selector_has_the_id_0_and_every_other_one_has_not() -> None:
    cache = cache_of(service("s", {"app": "web"}))
    empty, other = cache.deduced_selector(selected_pod({"app": "db"})), cache.deduced_selector(selected_pod(WEB))

    assert (empty.id, empty.is_empty, empty.matcher.is_empty, empty.text) == (0, True, True, "")
    assert (other.id != 0, other.is_empty, other.matcher.is_empty) == (True, False, False)


def test_a_selector_that_is_put_together_in_another_way_has_the_same_id() -> None:
    owned = selected_pod(WEB, controlled_by("ReplicaSet", "web-1"))
    by_services = cache_of(service("a", {"tier": "front"}), service("b", {"app": "web"}))
    by_services.apply_selecting_object(
        replica_set("web-1", selector(None, ("app", "In", ["web", "web"]), ("tier", "In", ["front"])))
    )
    by_service = service("c", WEB, namespace="other")
    by_services.apply_selecting_object(by_service)

    first = by_services.deduced_selector(owned)
    assert by_services.deduced_selector(selected_pod(WEB, namespace="other")) == first
    assert first.text == "app=web,tier=front"


def test_pods_that_differ_in_labels_that_nobody_looks_at_share_one_answer() -> None:
    index = DeducedSelectors()
    index.apply(service("s", {"app": "web"}))
    for number in range(100):
        index.of(selected_pod({**WEB, "index": str(number)}).pod.metadata)

    assert len(index._answers) == 1


# Changes


def test_every_change_of_a_service_shows_at_once() -> None:
    cache, pod = cache_of(), selected_pod(WEB)
    seen = []
    for selects_by in ({"app": "web"}, {"app": "db"}, {"tier": "front"}, WEB, None, {"app": "web"}):
        cache.apply_selecting_object(service("s", selects_by))
        seen.append(cache.deduced_selector(pod).text)
    cache.remove_selecting_object("Service", "default", "s")
    seen.append(cache.deduced_selector(pod).text)

    assert seen == ["app=web", "", "tier=front", "app=web,tier=front", "", "app=web", ""]


def test_of_two_services_one_goes_and_the_other_stays() -> None:
    cache, pod = cache_of(service("both", WEB), service("one", {"app": "web"})), selected_pod(WEB)
    assert cache.deduced_selector(pod).text == "app=web,tier=front"
    cache.apply_selecting_object(service("third", {"app": "other", "tier": "other"}))
    assert cache.deduced_selector(pod).text == "app=web,tier=front"
    cache.remove_selecting_object("Service", "default", "both")

    assert cache.deduced_selector(pod).text == "app=web"


def test_every_change_of_a_controller_shows_at_once() -> None:
    cache, pod = cache_of(), selected_pod(WEB, controlled_by("StatefulSet", "db"))
    seen = []
    for selects_by in (selector({"app": "web"}), selector({"app": "db"}), None, selector({"app": "web"})):
        cache.apply_selecting_object(stateful_set("db", selects_by))
        seen.append(cache.deduced_selector(pod).text)
    cache.remove_selecting_object("StatefulSet", "default", "db")
    seen.append(cache.deduced_selector(pod).text)

    assert seen == ["app=web", "app=db", "", "app=web", ""]


def test_the_end_of_one_object_leaves_others_of_its_name() -> None:
    objects = (
        replica_set("x", selector({"kind": "rs"})),
        stateful_set("x", selector({"kind": "sts"})),
        service("x", {"app": "web"}),
        service("x", {"tier": "front"}, namespace="other"),
    )
    cache = cache_of(*objects)
    cache.remove_selecting_object("StatefulSet", "default", "x")
    cache.remove_selecting_object("ReplicationController", "default", "x")
    cache.remove_selecting_object("Service", "other", "x")
    owned = selected_pod(WEB, controlled_by("ReplicaSet", "x"))

    assert cache.deduced_selector(owned).text == "app=web,kind=rs"
    assert cache.deduced_selector(selected_pod(WEB, namespace="other")).is_empty


def test_a_change_that_leaves_the_selector_as_it_is_leaves_its_id() -> None:
    cache, pod = cache_of(service("s", {"app": "web"})), selected_pod(WEB)
    before = cache.deduced_selector(pod)
    cache.apply_selecting_object(service("twin", {"app": "web"}))
    cache.remove_selecting_object("Service", "default", "s")

    assert cache.deduced_selector(pod) == before


def test_a_selector_that_comes_back_has_the_id_that_it_had() -> None:
    cache, pod = cache_of(service("s", {"app": "web"})), selected_pod(WEB)
    before = cache.deduced_selector(pod)
    cache.remove_selecting_object("Service", "default", "s")
    assert cache.deduced_selector(pod).is_empty
    cache.apply_selecting_object(service("s", {"app": "web"}))

    assert cache.deduced_selector(pod) == before


# What is kept


@pytest.fixture
def warm() -> DeducedSelectors:
    """With one answer for each of two namespaces and one for a pod of a controller."""
    index = DeducedSelectors()
    for each in (service("s", {"app": "web"}), service("s", {"app": "web"}, namespace="other"), OWNER):
        index.apply(each)
    for pod in PODS:
        index.of(pod.pod.metadata)
    return index


OWNER = replica_set("web-1", selector({"tier": "front"}))
PODS = (
    selected_pod(WEB),
    selected_pod(WEB, namespace="other"),
    selected_pod(WEB, controlled_by("ReplicaSet", "web-1")),
)


def worked_out_anew(index: DeducedSelectors) -> int:
    before = len(index._answers)
    for pod in PODS:
        index.of(pod.pod.metadata)
    return len(index._answers) - before


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(service("s", {"app": "web"}), 0, id="a Service as it was"),
        pytest.param(service("s", {"app": "web"}, resource_version="9", labels={"a": "b"}), 0, id="its metadata"),
        pytest.param(replica_set("web-1", selector({"tier": "front"})), 0, id="a ReplicaSet as it was"),
        pytest.param(service("s", {"app": "web"}, namespace="third"), 0, id="a Service of a third namespace"),
        pytest.param(service("new", None), 0, id="a Service that selects by nothing"),
        pytest.param(replica_set("web-2", selector({"tier": "front"})), 0, id="another ReplicaSet"),
        pytest.param(service("new", {"app": "db"}, namespace="other"), 1, id="a Service of the other namespace"),
        pytest.param(replica_set("web-1", selector({"tier": "back"})), 1, id="the ReplicaSet"),
        pytest.param(service("new", {"app": "db"}), 2, id="a Service of the namespace"),
    ],
)
def test_a_change_drops_the_answers_that_depend_on_it_and_no_others(
    warm: DeducedSelectors, change: SelectingObject, expected: int
) -> None:
    warm.apply(change)

    assert worked_out_anew(warm) == expected


def test_no_more_answers_and_selectors_are_kept_than_the_capacity() -> None:
    index = DeducedSelectors(capacity=3)
    pods = [selected_pod({"app": str(number)}).pod.metadata for number in range(10)]
    for number in range(10):
        index.apply(service(str(number), {"app": str(number)}))
    for _ in range(3):
        for number, pod in enumerate(pods):
            assert index.of(pod).text == f"app={number}"
            assert len(index._selectors) <= len(index._answers) <= 3


def test_a_forgotten_id_is_never_given_to_another_selector() -> None:
    index = DeducedSelectors(capacity=2)
    texts: dict[int, str] = {}
    for number in range(6):
        index.apply(service(str(number), {"app": str(number)}))
    for number in (0, 1, 2, 0, 3, 4, 1, 5, 0):
        found = index.of(selected_pod({"app": str(number)}).pod.metadata)
        assert texts.setdefault(found.id, found.text) == found.text == f"app={number}"


def test_keys_of_services_that_are_gone_are_not_looked_at() -> None:
    index = DeducedSelectors()
    for each in (service("both", WEB), service("one", {"app": "web"}), service("none", None)):
        index.apply(each)
    services = index._namespaces["default"].services
    assert services.looked_at({**WEB, "zone": "a"}) == (("app", "web"), ("tier", "front"))
    index.remove("Service", "default", "both")

    assert services.looked_at({**WEB, "zone": "a"}) == (("app", "web"),)


def test_nothing_is_left_of_objects_that_are_gone() -> None:
    index = DeducedSelectors()
    for each in (service("s", WEB), OWNER, replication_controller("web", WEB)):
        index.apply(each)
    for kind, name in (("Service", "s"), ("ReplicaSet", "web-1"), ("ReplicationController", "web")):
        index.remove(kind, "default", name)
        index.remove(kind, "default", name)

    assert index._namespaces == {}


def test_a_pod_is_compared_with_services_of_its_labels_only() -> None:
    """Services that share a label are not looked at one by one."""
    index = DeducedSelectors()
    for number in range(100):
        index.apply(service(str(number), {"part-of": "shop", "app": str(number)}))
    by_label = index._namespaces["default"].services._by_label

    assert max(map(len, by_label.values())) == 1
    assert index.of(selected_pod({"part-of": "shop", "app": "42"}).pod.metadata).text == "app=42,part-of=shop"
