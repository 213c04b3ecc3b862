"""Placements that users of kube-scheduler asked about, by hand; each names the thread of kubernetes/kubernetes."""

from tests.oracle.builders import TAINTS, UU, Trap, U, fits, line, node, refuses, taint
from tests.oracle.builders_beyond import NEAR, SPREAD, apart, labelled_pod, near, spread, term
from tests.oracle.draw import Json
from tests.oracle.nodes import HOSTNAME, ZONE
from tests.oracle.traps_beyond import AFFINITY_RULES, ANTI_RULES, SKEW

RACK = "example.com/rack"
UNTOLERATED = "node(s) had untolerated taint(s)"


def _zones(**zones: str) -> list[Json]:
    return [node(name, labels={ZONE: zone}) for name, zone in zones.items()]


def _front(name: str = "wanted", on: str = "") -> Json:
    """Of app web and tier front, near app=web in its zone and tier=front in its rack."""
    front = {"matchLabels": {"tier": "front"}}
    made = labelled_pod(name, on, affinity=near(term(), term(RACK, front)))
    made["metadata"]["labels"]["tier"] = "front"
    return made


def _revision(name: str, on: str = "", *, revision: str) -> Json:
    made = labelled_pod(name, on, topologySpreadConstraints=[spread(matchLabelKeys=["pod-template-hash"])])
    made["metadata"]["labels"]["pod-template-hash"] = revision
    return made


def _elsewhere(one: Json) -> Json:
    return one | {"metadata": one["metadata"] | {"namespace": "other"}}


FIELD: tuple[Trap, ...] = (
    Trap(
        "first-of-a-series-by-two-terms",
        "#129319: as long as no pod matches both terms, one that does may be the first, on a node with both labels",
        (
            line(
                _front(),
                node("both", labels={ZONE: "a", RACK: "1"}),
                node("same", labels={ZONE: "a", RACK: "1"}),
                node("other", labels={ZONE: "b", RACK: "2"}),
                node("zone", labels={ZONE: "a"}),
                node("rack", labels={RACK: "1"}),
                labelled_pod("half", "zone"),
            ),
            {"apply": [], "pod": labelled_pod("web only", affinity=_front()["spec"]["affinity"])},
            {"apply": [_front("first", "both")], "pod": _front("second")},
            {
                "apply": [_front("first", "zone")],
                "pod": _front("third"),
            },
        ),
        (
            *fits(0, "both", "same", "other"),
            *(fact for name in ("zone", "rack") for fact in refuses(0, name, UU, NEAR, AFFINITY_RULES)),
            *(fact for name in ("both", "other", "rack") for fact in refuses(1, name, UU, NEAR, AFFINITY_RULES)),
            *fits(2, "both", "same"),
            *(fact for name in ("other", "zone", "rack") for fact in refuses(2, name, UU, NEAR, AFFINITY_RULES)),
            # It has a zone and no rack: the series has begun, and no rack has it.
            *(fact for name in ("both", "other", "zone") for fact in refuses(3, name, UU, NEAR, AFFINITY_RULES)),
        ),
    ),
    Trap(
        "anti-affinity-of-the-own-namespace",
        "#45484: without namespaces a term is about the pod's own, for it and for those that run",
        (
            line(
                labelled_pod(affinity=apart(term(HOSTNAME))),
                *_zones(na="a", nb="b"),
                _elsewhere(labelled_pod("theirs", "na", affinity=apart(term(HOSTNAME)))),
                labelled_pod("ours", "nb"),
            ),
        ),
        (*fits(0, "na"), *refuses(0, "nb", U, NEAR, ANTI_RULES)),
    ),
    Trap(
        "zones-of-different-size-and-hosts",
        "#109364: 2 and 1 pods on the hosts of zone A, 2 on that of B: the sixth fits nowhere, and a second host in B takes it",
        (
            line(
                labelled_pod(topologySpreadConstraints=[spread(), spread(HOSTNAME)]),
                *_zones(a1="A", a2="A", b1="B"),
                *(labelled_pod(f"web-{i}", on) for i, on in enumerate(("a1", "a1", "a2", "b1", "b1"))),
            ),
            {
                "apply": _zones(b2="B"),
                "pod": labelled_pod("seventh", topologySpreadConstraints=[spread(), spread(HOSTNAME)]),
            },
        ),
        (
            *(fact for name in ("a1", "a2", "b1") for fact in refuses(0, name, U, SPREAD, SKEW)),
            *(fact for name in ("a1", "a2", "b1") for fact in refuses(1, name, U, SPREAD, SKEW)),
            *fits(1, "b2"),
        ),
    ),
    Trap(
        "tainted-zone-while-pods-are-spread",
        "#86037, #114788: an empty zone with an untolerated taint stops the others, and not where taints are honoured",
        (
            line(
                labelled_pod(topologySpreadConstraints=[spread()]),
                *_zones(na="a", nb="b"),
                node("nc", labels={ZONE: "c"}, taints=[taint("x", "NoSchedule")]),
                labelled_pod("web-a", "na"),
                labelled_pod("web-b", "nb"),
            ),
            {
                "apply": [],
                "pod": labelled_pod("honours", topologySpreadConstraints=[spread(nodeTaintsPolicy="Honor")]),
            },
            {
                "apply": [node("nd", labels={ZONE: "c"}, unschedulable=True)],
                "pod": labelled_pod("cordoned", topologySpreadConstraints=[spread(nodeTaintsPolicy="Honor")]),
            },
        ),
        (
            *(fact for name in ("na", "nb") for fact in refuses(0, name, U, SPREAD, SKEW)),
            *refuses(0, "nc", UU, TAINTS, UNTOLERATED),
            *fits(1, "na", "nb"),
            # spec.unschedulable alone is no taint: the zone counts until the node controller writes one.
            *(fact for name in ("na", "nb") for fact in refuses(2, name, U, SPREAD, SKEW)),
            *refuses(2, "nd", UU, "NodeUnschedulable", "node(s) were unschedulable"),
        ),
    ),
    Trap(
        "rolling-update-by-revision",
        "#116629, #134810: three old pods in zone a are none of the new revision's, one new pod is",
        (
            line(
                _revision("wanted", revision="new"),
                *_zones(na="a", nb="b"),
                *(_revision(f"old-{i}", "na", revision="old") for i in range(3)),
            ),
            {"apply": [_revision("new-0", "nb", revision="new")], "pod": _revision("next", revision="new")},
        ),
        (*fits(0, "na", "nb"), *fits(1, "na"), *refuses(1, "nb", U, SPREAD, SKEW)),
    ),
)
