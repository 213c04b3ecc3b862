"""VolumeBinding's Filter and Score: what each node can do for the claims of a pod."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from scheduler.api.objects import LabelSelector, LabelSelectorRequirement, Node, NodeSelector, Pod
from scheduler.api.storage import CSIStorageCapacity, PersistentVolume, StorageObject
from scheduler.api.volume_sources import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    GCEPersistentDiskVolumeSource,
)
from scheduler.cache.node_table import NodeTable
from scheduler.framework.cluster_event import ActionType, ClusterEvent, EventResource
from scheduler.framework.function_shape import UtilizationShapePoint
from scheduler.framework.plugin import CycleState, Unsignable
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code
from scheduler.plugins.volume_binding import VolumeBinding, VolumeBindingArgs, validate
from tests.support.builders import HOSTNAME, make_node, make_pod
from tests.support.plugin_runs import FITS, Refusal, ask, judge
from tests.support.volumes import (
    claim_volume,
    ephemeral_volume,
    make_capacity,
    make_claim,
    make_class,
    make_csi_node,
    make_driver,
    make_pod_with,
    make_volume,
    node_selector,
    reference_to,
    storage_table,
)

UNRESOLVABLE = "UnschedulableAndUnresolvable"
NODE_CONFLICT = (UNRESOLVABLE, ("node(s) didn't match PersistentVolume's node affinity",))
NO_VOLUME = (UNRESOLVABLE, ("node(s) didn't find available persistent volumes to bind",))
NO_ROOM = (UNRESOLVABLE, ("node(s) did not have enough free storage",))
GONE = (UNRESOLVABLE, ("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",))

ZONE = "topology.kubernetes.io/zone"
GCE_ZONE = "failed to get region from zones: zone in unexpected format, expected: {locale}-{region}-{zone}, got: b"
GCE_REGIONS = "failed to get region from zones: multiple or no regions gotten from zones, got: map[r-1:{} r-2:{}]"
N1 = make_node("n1", labels={ZONE: "a"})
N2 = make_node("n2", labels={ZONE: "b"})
DYNAMIC = make_class("dynamic", provisioner="csi.example")
DRIVER = make_driver("csi.example")


def verdicts(pod: Pod, *objects: StorageObject, nodes: tuple[Node, ...] = (N1, N2)) -> dict[str, Refusal]:
    return judge(VolumeBinding(), pod, storage_table(nodes, *objects))


def scores(pod: Pod, table: NodeTable, plugin: VolumeBinding | None = None) -> dict[str, int]:
    plugin = plugin or VolumeBinding()
    info = PodInfo(pod)
    state: CycleState = {}
    assert plugin.pre_filter(state, info, table.columns(plugin)).status.code in (Code.SUCCESS, Code.SKIP)
    plugin.filter(state, info, table.columns(plugin))
    assert plugin.pre_score(state, info, table.columns(plugin)).code is Code.SUCCESS
    return ask(table, plugin, "score", state, info)


class TestBoundClaims:
    CLAIM = make_claim(volume="pv")

    def test_the_volume_has_to_match_the_node(self) -> None:
        volume = make_volume("pv", node="n1", claim=self.CLAIM, phase="Bound")
        assert verdicts(make_pod_with("data"), self.CLAIM, volume) == {"n1": FITS, "n2": NODE_CONFLICT}

    def test_a_volume_without_affinity_is_for_every_node(self) -> None:
        volume = make_volume("pv", claim=self.CLAIM)
        assert verdicts(make_pod_with("data"), self.CLAIM, volume) == {"n1": FITS, "n2": FITS}

    def test_a_volume_without_a_usable_term_is_for_none(self) -> None:
        volume = make_volume("pv", claim=self.CLAIM, affinity=NodeSelector(node_selector_terms=[]))
        assert verdicts(make_pod_with("data"), self.CLAIM, volume) == {"n1": NODE_CONFLICT, "n2": NODE_CONFLICT}

    def test_a_term_that_cannot_be_read_matches_no_node(self) -> None:
        volume = make_volume("pv", claim=self.CLAIM, affinity=node_selector((ZONE, "Near", ["a"])))
        assert verdicts(make_pod_with("data"), self.CLAIM, volume) == {"n1": NODE_CONFLICT, "n2": NODE_CONFLICT}

    def test_conditions_on_fields_are_ignored(self) -> None:
        volume = make_volume("pv", claim=self.CLAIM, affinity=node_selector(fields=["n1"]))
        assert verdicts(make_pod_with("data"), self.CLAIM, volume) == {"n1": FITS, "n2": FITS}

    def test_a_missing_volume_refuses_every_node(self) -> None:
        assert verdicts(make_pod_with("data"), self.CLAIM) == {"n1": GONE, "n2": GONE}

    def test_the_first_bound_claim_that_is_wrong_is_the_one_that_is_told(self) -> None:
        here = make_claim("here", volume="local")
        gone = make_claim("gone", volume="missing")
        objects = (here, gone, make_volume("local", node="n1"))
        assert verdicts(make_pod_with("here", "gone"), *objects) == {"n1": GONE, "n2": NODE_CONFLICT}
        assert verdicts(make_pod_with("gone", "here"), *objects) == {"n1": GONE, "n2": GONE}

    def test_bound_and_waiting_claims_are_both_told_of_in_upstreams_order(self) -> None:
        objects = (self.CLAIM, make_volume("pv", node="n1", claim=self.CLAIM), make_claim("new"), make_class())
        both = (UNRESOLVABLE, (*NODE_CONFLICT[1], *NO_VOLUME[1]))
        assert verdicts(make_pod_with("new", "data"), *objects) == {"n1": NO_VOLUME, "n2": both}

    def test_missing_and_too_little_come_in_upstreams_order(self) -> None:
        objects = (make_claim("new", storage_class="dynamic"), DYNAMIC, DRIVER, self.CLAIM)
        both = (UNRESOLVABLE, (*NO_ROOM[1], *GONE[1]))
        assert verdicts(make_pod_with("data", "new"), *objects) == {"n1": both, "n2": both}


class TestStaticVolumes:
    """One claim of 10Gi, class ``local``, which provisions nothing."""

    def fitting(self, *volumes: PersistentVolume, **claim: Any) -> list[str]:
        answers = verdicts(make_pod_with("data"), make_class(), make_claim(**claim), *volumes)
        assert set(answers.values()) <= {FITS, NO_VOLUME}
        return [name for name, answer in answers.items() if answer == FITS]

    def test_without_a_volume_no_node_fits(self) -> None:
        assert self.fitting() == []

    def test_a_local_volume_is_for_its_node(self) -> None:
        assert self.fitting(make_volume(node="n2")) == ["n2"]

    @pytest.mark.parametrize(
        ("volume", "claim", "fits"),
        [
            ({"size": "10Gi"}, {}, True),
            ({"size": "10239Mi"}, {}, False),
            ({"size": "10737418240"}, {"size": "10Gi"}, True),
            ({"size": "1"}, {"size": None}, True),
            ({"size": "100m"}, {"size": "200m"}, False),
            ({"storage_class": "other"}, {}, False),
            (
                {"storage_class": "other", "annotations": {"volume.beta.kubernetes.io/storage-class": "local"}},
                {},
                True,
            ),
            ({"volume_mode": "Block"}, {}, False),
            ({"volume_mode": "Filesystem"}, {}, True),
            ({}, {"volume_mode": "Block"}, False),
            ({"volume_mode": "Block"}, {"volume_mode": "Block"}, True),
            ({"volume_attributes_class_name": "gold"}, {}, False),
            ({"volume_attributes_class_name": ""}, {}, True),
            ({}, {"volume_attributes_class_name": "gold"}, False),
            ({"volume_attributes_class_name": "gold"}, {"volume_attributes_class_name": "gold"}, True),
            ({"deletion_timestamp": "2026-01-01T00:00:00Z"}, {}, False),
            ({"phase": "Pending"}, {}, False),
            ({"phase": "Released"}, {}, False),
            ({"modes": ["ReadWriteOnce", "ReadOnlyMany"]}, {}, True),
            ({"modes": ["ReadOnlyMany"]}, {}, False),
            ({"modes": []}, {"modes": []}, True),
            ({"labels": {"disk": "ssd"}}, {"selector": LabelSelector({"disk": "ssd"})}, True),
            ({"labels": {"disk": "hdd"}}, {"selector": LabelSelector({"disk": "ssd"})}, False),
            ({}, {"selector": LabelSelector({"disk": "ssd"})}, False),
            ({}, {"selector": LabelSelector()}, True),
        ],
    )
    def test_which_volume_a_claim_can_have(self, volume: dict[str, Any], claim: dict[str, Any], fits: bool) -> None:
        assert self.fitting(make_volume(**volume), **claim) == (["n1", "n2"] if fits else [])

    def test_a_volume_that_is_held_by_another_claim_is_not_free(self) -> None:
        assert self.fitting(make_volume(claim=make_claim("other"))) == []

    def test_one_held_by_a_claim_of_the_name_elsewhere_is_not_free(self) -> None:
        assert self.fitting(make_volume(claim=make_claim(namespace="other"))) == []

    def test_one_held_by_an_earlier_claim_of_the_name_is_not_free(self) -> None:
        assert self.fitting(make_volume(claim=reference_to(make_claim(), uid="before"))) == []

    @pytest.mark.parametrize("uid", [None, ""], ids=["its UID", "no UID"])
    def test_one_held_for_the_claim_is_the_only_choice_whatever_its_phase(self, uid: str | None) -> None:
        held = make_volume("held", node="n1", claim=reference_to(make_claim(), uid=uid), phase="Released", modes=[])
        assert self.fitting(held, make_volume("free")) == ["n1"]

    @pytest.mark.parametrize(
        "volume",
        [
            {"size": "1Gi"},
            {"volume_mode": "Block"},
            {"volume_attributes_class_name": "gold"},
            {"deletion_timestamp": "2026-01-01T00:00:00Z"},
            {"storage_class": "other"},
        ],
    )
    def test_one_held_for_the_claim_that_does_not_suit_it_leaves_the_choice_to_others(
        self, volume: dict[str, Any]
    ) -> None:
        held = make_volume("held", node="n1", claim=make_claim(), **volume)
        assert self.fitting(held, make_volume("free", node="n2")) == ["n2"]

    def test_a_selector_that_cannot_be_read_is_an_error_of_filter(self) -> None:
        selector = LabelSelector(match_expressions=[LabelSelectorRequirement(key="a", operator="Near")])
        message = (
            "error creating internal label selector for claim: default/data: "
            '"Near" is not a valid label selector operator'
        )
        answers = verdicts(make_pod_with("data"), DYNAMIC, make_claim(storage_class="dynamic", selector=selector))
        assert answers == {"n1": ("Error", (message,)), "n2": ("Error", (message,))}

    def test_the_error_is_that_of_the_nodes_where_the_claim_is_matched(self) -> None:
        selector = LabelSelector(match_expressions=[LabelSelectorRequirement(key="a", operator="Near")])
        objects = (DYNAMIC, make_claim(storage_class="dynamic", selector=selector))
        here = make_claim("here", storage_class="dynamic", selected_node="n2")
        answers = verdicts(make_pod_with("data", "here"), *objects, here)
        assert (answers["n1"], answers["n2"][0]) == (NO_VOLUME, "Error")

    def test_a_claim_that_is_not_matched_is_not_asked_for_its_selector(self) -> None:
        selector = LabelSelector(match_expressions=[LabelSelectorRequirement(key="a", operator="Near")])
        claim = make_claim(storage_class="dynamic", selector=selector, selected_node="n2")
        assert verdicts(make_pod_with("data"), DYNAMIC, claim) == {"n1": NO_VOLUME, "n2": FITS}

    def test_where_another_claim_refuses_every_node_nobody_asks_for_the_selector(self) -> None:
        selector = LabelSelector(match_expressions=[LabelSelectorRequirement(key="a", operator="Near")])
        elsewhere = make_claim("elsewhere", selected_node="n9")
        objects = (make_class(), make_claim(selector=selector), elsewhere)
        assert verdicts(make_pod_with("data", "elsewhere"), *objects) == {"n1": NO_VOLUME, "n2": NO_VOLUME}


class TestSeveralClaims:
    SMALL, LARGE = make_claim("small", size="5Gi"), make_claim("large", size="10Gi")

    def test_two_claims_need_two_volumes(self) -> None:
        objects = (make_class(), self.SMALL, self.LARGE, make_volume("a", node="n1"), make_volume("b", node="n1"))
        answers = verdicts(make_pod_with("small", "large"), *objects, make_volume("c", node="n2"))
        assert answers == {"n1": FITS, "n2": NO_VOLUME}

    def test_the_smaller_claim_gets_the_smaller_volume_whatever_their_order(self) -> None:
        volumes = (make_volume("a-large", size="10Gi"), make_volume("b-small", size="5Gi"))
        for order in (("small", "large"), ("large", "small")):
            assert set(verdicts(make_pod_with(*order), make_class(), self.SMALL, self.LARGE, *volumes).values()) == {
                FITS
            }

    def test_greed_can_leave_a_claim_without_a_volume_as_upstream_does(self) -> None:
        """The smaller claim takes the smallest volume, which alone would do for the other one's selector."""
        ssd = make_claim("large", size="10Gi", selector=LabelSelector({"disk": "ssd"}))
        volumes = (make_volume("a", size="11Gi", labels={"disk": "ssd"}), make_volume("b", size="12Gi"))
        answers = verdicts(make_pod_with("small", "large"), make_class(), self.SMALL, ssd, *volumes)
        assert answers == {"n1": NO_VOLUME, "n2": NO_VOLUME}

    def test_a_volume_is_taken_on_the_node_where_it_is_chosen_only(self) -> None:
        anywhere = make_volume("a", size="6Gi")
        local = make_volume("b", size="5Gi", node="n1")
        objects = (make_class(), self.SMALL, make_claim("large", size="6Gi"), anywhere, local)
        assert verdicts(make_pod_with("small", "large"), *objects) == {"n1": FITS, "n2": NO_VOLUME}

    def test_a_claim_that_two_volumes_name_needs_two_volumes(self) -> None:
        """As upstream: the claim is matched once for each volume of the pod."""
        pod = make_pod_with("small", "small")
        one = (make_class(), self.SMALL, make_volume("a"))
        assert verdicts(pod, *one) == {"n1": NO_VOLUME, "n2": NO_VOLUME}
        assert verdicts(pod, *one, make_volume("b")) == {"n1": FITS, "n2": FITS}

    def test_a_volume_that_is_held_for_the_claim_is_taken_once(self) -> None:
        pod = make_pod_with("small", "small")
        objects = (make_class(), self.SMALL, make_volume("a", claim=self.SMALL))
        assert verdicts(pod, *objects) == {"n1": NO_VOLUME, "n2": NO_VOLUME}
        assert verdicts(pod, *objects, make_volume("b", node="n2")) == {"n1": NO_VOLUME, "n2": FITS}

    def test_claims_of_one_size_are_matched_in_the_order_of_the_pods_volumes(self) -> None:
        """Twenty claims for anything and one that needs the SSD: only if it is first does it get it."""
        claims = [make_claim(f"any{number}") for number in range(20)]
        picky = make_claim("picky", selector=LabelSelector({"disk": "ssd"}))
        volumes = [make_volume("a", labels={"disk": "ssd"}), *(make_volume(f"b{number}") for number in range(20))]
        objects: tuple[Any, ...] = (make_class(), picky, *claims, *volumes)
        names = [claim.metadata.name for claim in claims]
        assert set(verdicts(make_pod_with("picky", *names), *objects).values()) == {FITS}
        assert set(verdicts(make_pod_with(*names, "picky"), *objects).values()) == {NO_VOLUME}

    def test_claims_of_two_classes_do_not_take_each_others_volumes(self) -> None:
        objects = (make_class(), make_class("fast"), self.SMALL, make_claim("quick", storage_class="fast"))
        volumes = (make_volume("a"), make_volume("b", storage_class="fast", node="n2"))
        assert verdicts(make_pod_with("small", "quick"), *objects, *volumes) == {"n1": NO_VOLUME, "n2": FITS}


class TestProvisioning:
    CLAIM = make_claim(storage_class="dynamic", size="10Gi")

    @pytest.mark.parametrize("provisioner", ["", "kubernetes.io/no-provisioner"])
    def test_a_class_without_a_provisioner_makes_nothing(self, provisioner: str) -> None:
        answers = verdicts(make_pod_with("data"), make_class("dynamic", provisioner=provisioner), self.CLAIM)
        assert answers == {"n1": NO_VOLUME, "n2": NO_VOLUME}

    def test_a_volume_can_be_made_anywhere(self) -> None:
        assert verdicts(make_pod_with("data"), DYNAMIC, self.CLAIM) == {"n1": FITS, "n2": FITS}

    @pytest.mark.parametrize(
        ("topologies", "expected"),
        [
            ([], {"n1": FITS, "n2": FITS}),
            ([{ZONE: ["a"]}], {"n1": FITS, "n2": NO_VOLUME}),
            ([{ZONE: ["a", "b"]}], {"n1": FITS, "n2": FITS}),
            ([{ZONE: ["a"]}, {HOSTNAME: ["n2"]}], {"n1": FITS, "n2": FITS}),
            ([{ZONE: ["a"], HOSTNAME: ["n2"]}], {"n1": NO_VOLUME, "n2": NO_VOLUME}),
            ([{}], {"n1": NO_VOLUME, "n2": NO_VOLUME}),
            ([{}, {ZONE: ["b"]}], {"n1": NO_VOLUME, "n2": FITS}),
            ([{ZONE: []}], {"n1": NO_VOLUME, "n2": NO_VOLUME}),
        ],
    )
    def test_allowed_topologies(self, topologies: list[dict[str, list[str]]], expected: dict[str, Refusal]) -> None:
        storage_class = make_class("dynamic", provisioner="csi.example", topologies=topologies)
        assert verdicts(make_pod_with("data"), storage_class, self.CLAIM) == expected

    def test_a_node_that_was_selected_before_is_the_only_one(self) -> None:
        claim = make_claim(storage_class="dynamic", selected_node="n2")
        assert verdicts(make_pod_with("data"), DYNAMIC, claim) == {"n1": NO_VOLUME, "n2": FITS}

    def test_a_claim_with_a_selected_node_gets_no_volume_that_is_there(self) -> None:
        claim = make_claim(selected_node="n2")
        answers = verdicts(make_pod_with("data"), make_class(), claim, make_volume(node="n2"))
        assert answers == {"n1": NO_VOLUME, "n2": NO_VOLUME}

    def test_a_volume_that_is_there_goes_before_provisioning(self) -> None:
        objects = (DYNAMIC, DRIVER, self.CLAIM, make_volume(storage_class="dynamic", node="n1"))
        assert verdicts(make_pod_with("data"), *objects) == {"n1": FITS, "n2": NO_ROOM}


class TestCapacity:
    CLAIM = make_claim(storage_class="dynamic", size="10Gi")

    def answers(self, *capacities: CSIStorageCapacity, **fields: Any) -> dict[str, Refusal]:
        claim = make_claim(storage_class="dynamic", **{"size": "10Gi", **fields})
        return verdicts(make_pod_with("data"), DYNAMIC, DRIVER, claim, *capacities)

    def test_without_any_there_is_no_room(self) -> None:
        assert self.answers() == {"n1": NO_ROOM, "n2": NO_ROOM}

    def test_a_claim_without_a_size_needs_no_room(self) -> None:
        assert self.answers(size=None) == {"n1": FITS, "n2": FITS}

    @pytest.mark.parametrize("tracks", [False, None])
    def test_only_a_driver_that_says_so_is_asked(self, tracks: bool | None) -> None:
        objects = (DYNAMIC, make_driver(storage_capacity=tracks), self.CLAIM)
        assert verdicts(make_pod_with("data"), *objects) == {"n1": FITS, "n2": FITS}

    @pytest.mark.parametrize(
        ("fields", "is_enough"),
        [
            ({"capacity": "10Gi"}, True),
            ({"capacity": "10239Mi"}, False),
            ({}, False),
            ({"maximum": "10Gi"}, True),
            ({"capacity": "100Gi", "maximum": "9Gi"}, False),
            ({"capacity": "1Gi", "maximum": "10Gi"}, True),
            ({"capacity": "10Gi", "storage_class": "other"}, False),
        ],
    )
    def test_the_largest_volume_decides_or_else_the_room(self, fields: dict[str, Any], is_enough: bool) -> None:
        answers = self.answers(make_capacity(topology={ZONE: "a"}, **fields))
        assert answers == {"n1": FITS if is_enough else NO_ROOM, "n2": NO_ROOM}

    @pytest.mark.parametrize(
        ("topology", "expected"),
        [
            (None, {"n1": NO_ROOM, "n2": NO_ROOM}),
            (LabelSelector(), {"n1": FITS, "n2": FITS}),
            ({ZONE: "b"}, {"n1": NO_ROOM, "n2": FITS}),
            ({ZONE: "b", HOSTNAME: "n1"}, {"n1": NO_ROOM, "n2": NO_ROOM}),
            (
                LabelSelector(match_expressions=[LabelSelectorRequirement(key=ZONE, operator="NotIn", values=["a"])]),
                {"n1": NO_ROOM, "n2": FITS},
            ),
            (
                LabelSelector(match_expressions=[LabelSelectorRequirement(key=ZONE, operator="Near")]),
                {"n1": NO_ROOM, "n2": NO_ROOM},
            ),
        ],
    )
    def test_its_topology_says_for_which_nodes_it_is(
        self, topology: dict[str, str] | LabelSelector | None, expected: dict[str, Refusal]
    ) -> None:
        assert self.answers(make_capacity(topology=topology, capacity="10Gi")) == expected

    def test_each_claim_is_checked_alone(self) -> None:
        claims = [make_claim(name, storage_class="dynamic", size="40Gi") for name in ("a", "b", "c")]
        room = make_capacity(topology=LabelSelector(), capacity="100Gi")
        answers = verdicts(make_pod_with("a", "b", "c"), DYNAMIC, DRIVER, room, *claims)
        assert answers == {"n1": FITS, "n2": FITS}

    def test_the_first_claim_that_gets_nothing_says_why(self) -> None:
        """Claims with a selected node come first, then the rest by size."""
        no_topology = make_class("nowhere", provisioner="csi.example", topologies=[{}])
        short = make_claim("short", storage_class="dynamic", size="20Gi")
        nowhere = make_claim("nowhere", storage_class="nowhere", size="10Gi")
        objects = (DYNAMIC, DRIVER, no_topology)
        pod = make_pod_with("short", "nowhere")
        assert verdicts(pod, *objects, short, nowhere) == {"n1": NO_VOLUME, "n2": NO_VOLUME}
        selected = make_claim("short", storage_class="dynamic", size="20Gi", selected_node="n1")
        assert verdicts(pod, *objects, selected, nowhere) == {"n1": NO_ROOM, "n2": NO_VOLUME}


class TestMigratedVolumes:
    """Amazon's in-tree volumes; where a CSI driver has taken over, the zone is in the driver's label."""

    CSI_ZONE = "topology.ebs.csi.aws.com/zone"
    CLAIM = make_claim(volume="pv")
    OLD = make_node("old", labels={ZONE: "a"})
    NEW = make_node("new", labels={"topology.ebs.csi.aws.com/zone": "a"})
    BOTH = make_node("both", labels={ZONE: "b", "topology.ebs.csi.aws.com/zone": "a"})

    def fitting(self, volume: PersistentVolume, *, migrated: str = "kubernetes.io/aws-ebs") -> list[str]:
        nodes = (self.OLD, self.NEW, self.BOTH)
        csi_nodes = [make_csi_node(name, migrated=["kubernetes.io/gce-pd", migrated]) for name in ("new", "both")]
        answers = verdicts(make_pod_with("data"), self.CLAIM, volume, *csi_nodes, nodes=nodes)
        assert set(answers.values()) <= {FITS, NODE_CONFLICT}
        return [name for name, answer in answers.items() if answer == FITS]

    @staticmethod
    def disk(volume_id: str = "vol-1") -> AWSElasticBlockStoreVolumeSource:
        return AWSElasticBlockStoreVolumeSource(volume_id=volume_id)

    def test_the_zone_is_asked_for_by_the_drivers_label(self) -> None:
        volume = make_volume("pv", affinity=node_selector((ZONE, "In", ["a"])), aws_elastic_block_store=self.disk())
        assert self.fitting(volume) == ["old", "new", "both"]

    def test_nodes_where_nothing_was_migrated_keep_the_label(self) -> None:
        volume = make_volume("pv", affinity=node_selector((ZONE, "In", ["a"])), aws_elastic_block_store=self.disk())
        assert self.fitting(volume, migrated="kubernetes.io/cinder") == ["old"]

    def test_zones_in_labels_of_the_volume_count_where_affinity_has_none(self) -> None:
        volume = make_volume("pv", labels={ZONE: "c__ a"}, aws_elastic_block_store=self.disk())
        assert self.fitting(volume) == ["old", "new", "both"]
        volume = make_volume("pv", labels={ZONE: "c"}, aws_elastic_block_store=self.disk())
        assert self.fitting(volume) == ["old"]

    def test_the_beta_label_of_the_volume_counts_too(self) -> None:
        labels = {"failure-domain.beta.kubernetes.io/zone": "c"}
        assert self.fitting(make_volume("pv", labels=labels, aws_elastic_block_store=self.disk())) == ["old"]

    def test_a_label_without_any_zone_says_nothing(self) -> None:
        volume = make_volume("pv", labels={ZONE: " __"}, aws_elastic_block_store=self.disk())
        assert self.fitting(volume) == ["old", "new", "both"]

    def test_the_beta_labels_are_replaced_too(self) -> None:
        selector = node_selector(
            ("failure-domain.beta.kubernetes.io/zone", "In", ["a"]),
            ("failure-domain.beta.kubernetes.io/region", "In", ["r"]),
        )
        volume = make_volume("pv", affinity=selector, aws_elastic_block_store=self.disk())
        node = make_node("n", labels={self.CSI_ZONE: "a", "topology.kubernetes.io/region": "r"})
        csi_node = make_csi_node("n", migrated=["kubernetes.io/aws-ebs"])
        assert verdicts(make_pod_with("data"), self.CLAIM, volume, csi_node, nodes=(node,)) == {"n": FITS}
        assert verdicts(make_pod_with("data"), self.CLAIM, volume, nodes=(node,)) == {"n": NODE_CONFLICT}

    def test_a_disk_that_the_driver_cannot_have_is_an_error_where_it_has_taken_over(self) -> None:
        volume = make_volume("pv", aws_elastic_block_store=self.disk("aws://a/disk-1"))
        csi_node = make_csi_node("n2", migrated=["kubernetes.io/aws-ebs"])
        message = (
            "could not translate pv: failed to translate Kubernetes ID to EBS Volume ID "
            "Invalid format for AWS volume (aws://a/disk-1)"
        )
        answers = verdicts(make_pod_with("data"), self.CLAIM, volume, csi_node)
        assert answers == {"n1": FITS, "n2": ("Error", (message,))}

    def test_a_node_that_is_refused_for_a_volume_before_does_not_fail(self) -> None:
        volume = make_volume("pv", aws_elastic_block_store=self.disk("aws://a/disk-1"))
        csi_node = make_csi_node("n2", migrated=["kubernetes.io/aws-ebs"])
        objects = (self.CLAIM, volume, csi_node, make_claim("first", volume="local"), make_volume("local", node="n1"))
        assert verdicts(make_pod_with("first", "data"), *objects) == {"n1": FITS, "n2": NODE_CONFLICT}

    @pytest.mark.parametrize(
        ("source", "labels", "error"),
        [
            ({"azure_disk": AzureDiskVolumeSource(kind="Managed")}, None, None),
            (
                {"azure_disk": AzureDiskVolumeSource(kind="Shared")},
                None,
                "kind(Shared) is not supported in csi migration",
            ),
            ({"aws_elastic_block_store": AWSElasticBlockStoreVolumeSource(volume_id="aws://a/vol-1")}, None, None),
            ({"gce_persistent_disk": GCEPersistentDiskVolumeSource(pd_name="d")}, {ZONE: "b__c"}, GCE_ZONE),
            ({"gce_persistent_disk": GCEPersistentDiskVolumeSource(pd_name="d")}, {ZONE: "r-1-a__r-2-a"}, GCE_REGIONS),
            ({"gce_persistent_disk": GCEPersistentDiskVolumeSource(pd_name="d")}, {ZONE: "odd"}, None),
        ],
    )
    def test_what_a_driver_cannot_have(
        self, source: dict[str, Any], labels: dict[str, str] | None, error: str | None
    ) -> None:
        node = make_node("n", labels={"topology.gke.io/zone": "odd"})
        plugins = ["kubernetes.io/azure-disk", "kubernetes.io/gce-pd", "kubernetes.io/aws-ebs"]
        objects = (self.CLAIM, make_volume("pv", labels=labels, **source), make_csi_node("n", migrated=plugins))
        expected = FITS if error is None else ("Error", (f"could not translate pv: {error}",))
        assert verdicts(make_pod_with("data"), *objects, nodes=(node,)) == {"n": expected}


class TestScore:
    def test_a_pod_without_claims_scores_zero_everywhere(self) -> None:
        assert scores(make_pod(), storage_table([N1, N2])) == {"n1": 0, "n2": 0}

    def test_bound_claims_score_zero(self) -> None:
        assert scores(make_pod_with("data"), storage_table([N1], make_claim(volume="pv"), make_volume("pv"))) == {
            "n1": 0
        }

    def test_more_free_storage_is_better(self) -> None:
        table = storage_table(
            [N1, N2],
            DYNAMIC,
            DRIVER,
            make_claim(storage_class="dynamic", size="30Gi"),
            make_capacity("c1", topology={ZONE: "a"}, capacity="100Gi"),
            make_capacity("c2", topology={ZONE: "b"}, capacity="300Gi"),
        )
        assert scores(make_pod_with("data"), table) == {"n1": 70, "n2": 90}

    def test_the_shape_can_prefer_full_storage(self) -> None:
        shape = (UtilizationShapePoint(utilization=0, score=0), UtilizationShapePoint(utilization=100, score=10))
        table = storage_table(
            [N1],
            DYNAMIC,
            DRIVER,
            make_claim(storage_class="dynamic", size="30Gi"),
            make_capacity(topology={ZONE: "a"}, capacity="100Gi"),
        )
        assert scores(make_pod_with("data"), table, VolumeBinding(VolumeBindingArgs(shape=shape))) == {"n1": 30}

    @pytest.mark.parametrize(("claims", "expected"), [(2, 20), (3, 0)])
    def test_claims_of_a_class_share_its_room(self, claims: int, expected: int) -> None:
        names = [f"c{number}" for number in range(claims)]
        table = storage_table(
            [N1],
            DYNAMIC,
            DRIVER,
            make_capacity(topology={ZONE: "a"}, capacity="100Gi"),
            *(make_claim(name, storage_class="dynamic", size="40Gi") for name in names),
        )
        assert scores(make_pod_with(*names), table) == {"n1": expected}

    def test_volumes_of_a_class_add_up_their_room(self) -> None:
        table = storage_table(
            [N1],
            make_class(),
            make_claim("a", size="10Gi"),
            make_claim("b", size="20Gi"),
            make_volume("v1", size="40Gi"),
            make_volume("v2", size="60Gi"),
        )
        assert scores(make_pod_with("a", "b"), table) == {"n1": 70}

    def test_volumes_that_are_there_hide_those_to_be_made(self) -> None:
        table = storage_table(
            [N1, N2],
            make_class(),
            make_claim("a", size="10Gi"),
            make_volume("v", size="40Gi", node="n1"),
            make_volume("w", size="20Gi", node="n2"),
            DYNAMIC,
            DRIVER,
            make_claim("b", storage_class="dynamic", size="90Gi"),
            make_capacity(topology=LabelSelector(), capacity="100Gi"),
        )
        assert scores(make_pod_with("a", "b"), table) == {"n1": 75, "n2": 50}

    def test_the_mean_over_classes_is_rounded_half_away_from_zero(self) -> None:
        table = storage_table(
            [N1],
            make_class(),
            make_class("fast"),
            make_claim("a", size="1Gi"),
            make_claim("b", size="10Gi", storage_class="fast"),
            make_volume("v", size="4Gi"),
            make_volume("w", size="25Gi", storage_class="fast"),
        )
        # 75 and 60
        assert scores(make_pod_with("a", "b"), table) == {"n1": 68}

    def test_the_first_capacity_by_name_is_the_one_that_counts(self) -> None:
        table = storage_table(
            [N1],
            DYNAMIC,
            DRIVER,
            make_claim(storage_class="dynamic", size="30Gi"),
            make_capacity("a", topology={ZONE: "a"}, capacity="20Gi"),
            make_capacity("b", topology={ZONE: "a"}, capacity="100Gi"),
            make_capacity("c", topology={ZONE: "a"}, capacity="300Gi"),
        )
        assert scores(make_pod_with("data"), table) == {"n1": 70}

    def test_a_capacity_that_names_the_largest_volume_only_counts_as_full(self) -> None:
        """Upstream follows a null pointer here."""
        table = storage_table(
            [N1],
            DYNAMIC,
            DRIVER,
            make_claim(storage_class="dynamic", size="30Gi"),
            make_capacity(topology={ZONE: "a"}, maximum="100Gi"),
        )
        assert scores(make_pod_with("data"), table) == {"n1": 0}

    def test_a_class_in_the_annotation_alone_counts(self) -> None:
        """Upstream follows a null pointer here too."""
        table = storage_table(
            [N1],
            DYNAMIC,
            DRIVER,
            make_claim(
                storage_class=None, annotations={"volume.beta.kubernetes.io/storage-class": "dynamic"}, size="30Gi"
            ),
            make_capacity(topology={ZONE: "a"}, capacity="100Gi"),
        )
        assert scores(make_pod_with("data"), table) == {"n1": 70}

    def test_no_room_is_full_even_for_a_claim_of_nothing(self) -> None:
        claim, room = make_claim(storage_class="dynamic", size="0"), make_capacity(topology={ZONE: "a"}, capacity="0")
        assert scores(make_pod_with("data"), storage_table([N1], DYNAMIC, DRIVER, claim, room)) == {"n1": 0}

    def test_what_is_made_without_known_room_does_not_count(self) -> None:
        claim = make_claim(storage_class="dynamic", size="30Gi")
        assert scores(make_pod_with("data"), storage_table([N1], DYNAMIC, claim)) == {"n1": 0}

    def test_of_two_fitting_volumes_the_smallest_counts_and_of_equal_ones_the_first_by_name(self) -> None:
        equal = (make_volume("b", size="20Gi", storage_class="x"), make_volume("a", size="20Gi"))
        table = storage_table([N1], make_class(), make_claim(), make_volume("large", size="100Gi"), *equal)
        assert scores(make_pod_with("data"), table) == {"n1": 50}


def test_pods_with_claims_have_no_signature() -> None:
    plugin = VolumeBinding()
    expected = Unsignable("the pod has volumes with claims, which depend on more than nodes and are its own")
    assert plugin.sign(PodInfo(make_pod(volumes=[claim_volume("data")]))) == expected
    assert plugin.sign(PodInfo(make_pod(volumes=[ephemeral_volume("data")]))) == expected
    assert plugin.sign(PodInfo(make_pod(volumes=[replace(claim_volume("x"), persistent_volume_claim=None)]))) == ()
    assert plugin.sign(PodInfo(make_pod())) == ()


def test_it_waits_for_storage_and_for_nodes() -> None:
    either = ActionType.ADD | ActionType.UPDATE
    assert VolumeBinding().events_to_register() == (
        ClusterEvent(EventResource.STORAGE_CLASS, either),
        ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, either),
        ClusterEvent(EventResource.PERSISTENT_VOLUME, either),
        ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
        ClusterEvent(EventResource.CSI_NODE, either),
        ClusterEvent(EventResource.CSI_DRIVER, ActionType.UPDATE),
        ClusterEvent(EventResource.CSI_STORAGE_CAPACITY, either),
    )


def shape(*points: tuple[int, int]) -> tuple[UtilizationShapePoint, ...]:
    return tuple(UtilizationShapePoint(utilization=x, score=y) for x, y in points)


@pytest.mark.parametrize(
    ("args", "errors"),
    [
        (VolumeBindingArgs(), []),
        (VolumeBindingArgs(bind_timeout_seconds=0), []),
        (
            VolumeBindingArgs(bind_timeout_seconds=-1),
            ["bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value"],
        ),
        (
            VolumeBindingArgs(shape=shape((10, 1), (10, 2))),
            ["shape[1].utilization: Invalid value: 10: values must be sorted in increasing order"],
        ),
        (
            VolumeBindingArgs(shape=shape((-1, 0), (101, 11))),
            [
                "shape[0].utilization: Invalid value: -1: not in valid range [0, 100]",
                "shape[1].utilization: Invalid value: 101: not in valid range [0, 100]",
                "shape[1].score: Invalid value: 11: not in valid range [0, 10]",
            ],
        ),
    ],
)
def test_arguments_are_checked_with_the_apis_words(args: VolumeBindingArgs, errors: list[str]) -> None:
    assert validate(args, "") == errors


def test_an_empty_shape_is_the_default_one() -> None:
    assert VolumeBindingArgs(shape=()) == VolumeBindingArgs()


def test_arguments_that_break_a_rule_make_no_plugin() -> None:
    with pytest.raises(ValueError, match="arguments of VolumeBinding: bindTimeoutSeconds: Invalid value: -5"):
        VolumeBinding(VolumeBindingArgs(bind_timeout_seconds=-5))
