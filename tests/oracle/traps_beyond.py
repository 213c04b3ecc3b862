"""Cases made by hand for rules that look beyond the node: the facts were worked out from the rules."""

from tests.oracle.builders import ABSENT, UU, Fact, Trap, U, container, fits, line, node, pod, raw, refuses
from tests.oracle.builders_beyond import (
    BINDING,
    LIMITS,
    NEAR,
    RESTRICTIONS,
    SPREAD,
    VOLUME_ZONE,
    WEB,
    apart,
    apps,
    attachment,
    capacity,
    claim,
    claiming,
    csi_driver,
    csi_node,
    labelled_pod,
    near,
    preferences,
    service,
    spread,
    storage_class,
    term,
    volume,
)
from tests.oracle.draw import Json
from tests.oracle.nodes import HOSTNAME, ZONE

SKEW = "node(s) didn't match pod topology spread constraints"
NO_KEY = f"{SKEW} (missing required label)"
AFFINITY_RULES = "node(s) didn't match pod affinity rules"
ANTI_RULES = "node(s) didn't match pod anti-affinity rules"
FULL = "node(s) exceed max volume count"
RACK = "example.com/rack"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"


def _zoned(**zones: str) -> list[Json]:
    return [node(name, labels={ZONE: zone} if zone else {}) for name, zone in zones.items()]


def _pods(**counts: int) -> list[Json]:
    """So many pods of app web on each node."""
    return [labelled_pod(f"{name}-{i}", name) for name, count in counts.items() for i in range(count)]


def _scored(number: int, plugin: str, **scores: tuple[int, int]) -> tuple[Fact, ...]:
    """Raw and weighted score of each node."""
    return tuple(
        (number, f"scores/{name}/{plugin}", {"raw": score, "weighted": weighted})
        for name, (score, weighted) in scores.items()
    )


def _constrained(*constraints: Json) -> Json:
    return labelled_pod(topologySpreadConstraints=list(constraints))


SPREADING = (
    Trap(
        "spread-score-of-hosts",
        "3 hosts with 0, 1 and 2 pods, maxSkew 3: 2.00, 3.61 and 5.22 are 2, 4 and 5, then 100 * (5 + 2 - s) // 5",
        (line(_constrained(spread(HOSTNAME, 3, soft=True)), node("n0"), node("n1"), node("n2"), *_pods(n1=1, n2=2)),),
        _scored(0, SPREAD, n0=(2, 200), n1=(4, 120), n2=(5, 80)),
    ),
    Trap(
        "spread-defaults-keep-nodes-without-a-zone",
        "by default a node without a zone lacks that part only; by an own constraint it is ignored and gets 0",
        (
            line(labelled_pod(), *_zoned(na="a", nb="b", nx=""), *_pods(na=1), service(app="web")),
            {"apply": [], "pod": _constrained(spread(ZONE, 5, soft=True))},
        ),
        (
            *_scored(0, SPREAD, na=(9, 44), nb=(6, 110), nx=(2, 200)),
            *_scored(1, SPREAD, na=(5, 160), nb=(4, 200), nx=(0, 0)),
        ),
    ),
    Trap(
        "spread-by-an-empty-selector",
        "{} counts no pod, and none at all matches nothing: neither refuses; app=web does, 5 + 1 - 0 > 1",
        (
            line(_constrained(spread(selector={})), *_zoned(na="a", nb="b"), *_pods(na=5)),
            {"apply": [], "pod": _constrained(spread(selector=None))},
            {"apply": [], "pod": _constrained(spread())},
        ),
        (*fits(0, "na", "nb"), *fits(1, "na", "nb"), *refuses(2, "na", U, SPREAD, SKEW), *fits(2, "nb")),
    ),
    Trap(
        "spread-over-too-few-domains",
        "2 zones with a pod each: 1 + 1 - 1 is no skew, but with minDomains 3 the least is 0",
        (
            line(_constrained(spread(minDomains=3)), *_zoned(na="a", nb="b"), *_pods(na=1, nb=1)),
            {"apply": [], "pod": _constrained(spread())},
        ),
        (*refuses(0, "na", U, SPREAD, SKEW), *refuses(0, "nb", U, SPREAD, SKEW), *fits(1, "na", "nb")),
    ),
    Trap(
        "spread-own-constraints-switch-defaults-off",
        "one hard constraint of its own and the defaults score nothing; nor do they without anything that selects the pod",
        (
            line(_constrained(spread()), *_zoned(na="a", nb="b"), service(app="web")),
            {"apply": [], "pod": labelled_pod("second")},
            {
                "delete": [{"kind": "Service", "metadata": {"name": "web", "namespace": "default"}}],
                "pod": labelled_pod(),
            },
        ),
        (
            (0, f"scores/na/{SPREAD}", ABSENT),
            raw(1, "na", SPREAD, 6),
            (2, f"scores/na/{SPREAD}", ABSENT),
        ),
    ),
    Trap(
        "spread-domains-are-of-eligible-nodes",
        "zone c has no pods, but its node has no rack: it is no domain, so 2 + 1 - 2 is no skew; terminating pods count for nothing",
        (
            line(
                _constrained(spread(), spread(RACK, 5)),
                node("na", labels={ZONE: "a", RACK: "r"}),
                node("nb", labels={ZONE: "b", RACK: "r"}),
                node("nc", labels={ZONE: "c"}),
                *_pods(na=2, nb=2),
                labelled_pod("gone", "na", terminating=True),
            ),
        ),
        (*fits(0, "na", "nb"), *refuses(0, "nc", UU, SPREAD, NO_KEY)),
    ),
)


def _preferring(**terms: dict[str, int]) -> Json:
    return labelled_pod(affinity=preferences(**terms), app="wanted")


AB = [node("n0"), node("n1"), node("n2"), labelled_pod("a", "n1", app="a"), labelled_pod("b", "n2", app="b")]
AFFINITY = (
    Trap(
        "affinity-normalises-through-floats",
        "29 of 100 is 28.999999999999996 and 29 of 50 is 57.99999999999999",
        (
            line(_preferring(affinity={"a": 29, "b": 100}), *AB),
            {"apply": [], "pod": _preferring(affinity={"a": 29, "b": 50})},
        ),
        (
            *_scored(0, NEAR, n0=(0, 0), n1=(29, 56), n2=(100, 200)),
            *_scored(1, NEAR, n0=(0, 0), n1=(29, 114), n2=(50, 200)),
        ),
    ),
    Trap(
        "affinity-scores-below-zero",
        "-30, 0 and 20 become 0, 60 and 100; when all are alike they become 0",
        (
            line(_preferring(anti={"a": 30}, affinity={"b": 20}), *AB),
            {
                "apply": [labelled_pod(f"c{i}", f"n{i}", app="c") for i in range(3)],
                "pod": _preferring(anti={"c": 5}),
            },
        ),
        (
            *_scored(0, NEAR, n0=(0, 120), n1=(-30, 0), n2=(20, 200)),
            *_scored(1, NEAR, n0=(-5, 0), n1=(-5, 0), n2=(-5, 0)),
        ),
    ),
    Trap(
        "affinity-is-unresolvable-and-anti-affinity-is-not",
        "near app=db, apart from app=web: no db in zone b can be mended by no preemption, a web pod in zone a can",
        (
            line(
                labelled_pod(affinity=near(term(selector=apps("db"))) | apart(term()), app="wanted"),
                *_zoned(na="a", nb="b", nc="c"),
                labelled_pod("db-a", "na", app="db"),
                labelled_pod("db-c", "nc", app="db"),
                labelled_pod("web-a", "na"),
            ),
        ),
        (
            *refuses(0, "na", U, NEAR, ANTI_RULES),
            *refuses(0, "nb", UU, NEAR, AFFINITY_RULES),
            *fits(0, "nc"),
        ),
    ),
    Trap(
        "affinity-to-itself-while-nobody-is-there",
        "a pod that needs its own kind may be the first; not when one runs in zone a, but again when it runs without a zone",
        (
            line(labelled_pod(affinity=near(term())), *_zoned(na="a", nb="b", nx="")),
            {"apply": [labelled_pod("first", "na")], "pod": labelled_pod(affinity=near(term()))},
            {"apply": [labelled_pod("first", "nx")], "pod": labelled_pod(affinity=near(term()))},
        ),
        (
            *fits(0, "na", "nb"),
            *refuses(0, "nx", UU, NEAR, AFFINITY_RULES),
            *fits(1, "na"),
            *refuses(1, "nb", UU, NEAR, AFFINITY_RULES),
            *fits(2, "na", "nb"),
        ),
    ),
    Trap(
        "affinity-required-by-others-scores",
        "a running pod that needs app=web beside it: 1 in its zone, 0 elsewhere, magnified to 200 and 0",
        (
            line(
                labelled_pod(),
                *_zoned(na="a", nb="b", nc="a"),
                labelled_pod("holder", "na", app="db", affinity=near(term())),
            ),
        ),
        _scored(0, NEAR, na=(1, 200), nb=(0, 0), nc=(1, 200)),
    ),
    Trap(
        "anti-affinity-of-others",
        "a running pod apart from app=web keeps web pods out of its zone, and only those",
        (
            line(
                labelled_pod(),
                *_zoned(na="a", nb="b"),
                labelled_pod("holder", "na", app="db", affinity=apart(term(selector=WEB))),
            ),
            {"apply": [], "pod": labelled_pod("other", app="cache")},
        ),
        (
            *refuses(0, "na", U, NEAR, "node(s) didn't satisfy existing pods anti-affinity rules"),
            *fits(0, "nb"),
            *fits(1, "na", "nb"),
        ),
    ),
)

HOSTS = [node("n1"), node("n2")]
CAPACITIES = [storage_class(), csi_driver(storageCapacity=True), capacity("c1", "100Gi", host="n1")]
EPHEMERAL = {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
STORAGE = (
    Trap(
        "storage-prefers-much-room",
        "30Gi of 100Gi is 30 % and gives 70, of 300Gi 10 % and 90",
        (line(claiming("data"), *HOSTS, *CAPACITIES, capacity("c2", "300Gi", host="n2"), claim("data", "30Gi")),),
        _scored(0, BINDING, n1=(70, 70), n2=(90, 90)),
    ),
    Trap(
        "storage-capacity-is-of-the-class",
        "two claims of 40Gi use 80 % of one capacity; three fit one by one, but 120 % score as 100 %",
        (
            line(claiming("a", "b"), *HOSTS, *CAPACITIES, *(claim(name, "40Gi") for name in ("a", "b", "c"))),
            {"apply": [], "pod": claiming("a", "b", "c", name="second")},
        ),
        (
            raw(0, "n1", BINDING, 20),
            *refuses(0, "n2", UU, BINDING, "node(s) did not have enough free storage"),
            raw(1, "n1", BINDING, 0),
            *fits(1, "n1"),
        ),
    ),
    Trap(
        "volume-limit-counts-handles-and-attachments",
        "limit 2, one volume of a pod and one that is attached only: a third is too much, the pod's own is free, the other counts twice",
        (
            line(
                claiming("c"),
                node("n1"),
                csi_node("n1", 2),
                storage_class(),
                *(volume(f"pv-{name}") for name in "abc"),
                *(claim(name, bound=f"pv-{name}") for name in "abc"),
                claiming("a", name="user", on="n1"),
                attachment("va", "n1", "pv-b"),
            ),
            {"apply": [], "pod": claiming("a", name="second")},
            {"apply": [], "pod": claiming("b", name="third")},
        ),
        (*refuses(0, "n1", U, LIMITS, FULL), *fits(1, "n1"), *refuses(2, "n1", U, LIMITS, FULL)),
    ),
    Trap(
        "volume-affinity-has-no-fields",
        "a volume's term for the name of a node matches every node; one for its label does not",
        (
            line(
                claiming("data"),
                *HOSTS,
                storage_class(),
                volume("pv", terms=[{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]),
                claim("data", bound="pv"),
            ),
            {
                "apply": [
                    volume("pv", terms=[{"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": ["n1"]}]}])
                ],
                "pod": claiming("data"),
            },
        ),
        (
            *fits(0, "n1", "n2"),
            *fits(1, "n1"),
            *refuses(1, "n2", UU, BINDING, "node(s) didn't match PersistentVolume's node affinity"),
        ),
    ),
    Trap(
        "volume-zone-falls-back-one-way",
        "a volume's beta label is met by a node's present one, not the other way round; nodes without any such label always do",
        (
            line(
                claiming("data"),
                node("ga", labels={ZONE: "a"}),
                node("beta", labels={BETA_ZONE: "a"}),
                node("none"),
                storage_class(),
                volume("pv", labels={BETA_ZONE: "a"}),
                claim("data", bound="pv"),
            ),
            {"apply": [volume("pv", labels={ZONE: "a"})], "pod": claiming("data")},
        ),
        (
            *fits(0, "ga", "beta", "none"),
            *fits(1, "ga", "none"),
            *refuses(1, "beta", UU, VOLUME_ZONE, "node(s) had no available volume zone"),
        ),
    ),
    Trap(
        "who-tells-of-a-missing-claim",
        "VolumeRestrictions of a claim, VolumeBinding of an ephemeral volume's",
        (
            line(claiming("data"), node("n1")),
            {"apply": [], "pod": pod(container(), name="second", volumes=[EPHEMERAL])},
        ),
        (
            (
                0,
                "prefilter",
                {"code": UU, "plugin": RESTRICTIONS, "reasons": ['persistentvolumeclaim "data" not found']},
            ),
            (
                1,
                "prefilter",
                {
                    "code": UU,
                    "plugin": BINDING,
                    "reasons": [
                        'waiting for ephemeral volume controller to create the persistentvolumeclaim "second-e"'
                    ],
                },
            ),
        ),
    ),
)

MOUNTING = container(volumeMounts=[{"name": "v", "mountPath": "/v", "bindMountOptions": ["noexec"]}])
FEATURES = (
    Trap(
        "features-must-be-declared",
        "bind mount options need a node that declares VolumeBindMountOptions; names that nobody knows do no harm",
        (
            line(
                pod(MOUNTING),
                node("plain"),
                node("able")
                | {"status": node("able")["status"] | {"declaredFeatures": ["AAA", "VolumeBindMountOptions"]}},
            ),
        ),
        (
            *refuses(0, "plain", UU, "NodeDeclaredFeatures", "node(s) didn't match Pod's required features"),
            *fits(0, "able"),
        ),
    ),
)

BEYOND: tuple[Trap, ...] = (*SPREADING, *AFFINITY, *STORAGE, *FEATURES)
