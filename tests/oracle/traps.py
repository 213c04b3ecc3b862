"""Cases made by hand: the facts were worked out from the rules, and no program was asked for them."""

from tests.oracle.builders import (
    ABSENT,
    AFFINITY,
    BALANCED,
    FIT,
    IMAGES,
    TAINTS,
    UU,
    Trap,
    U,
    config,
    container,
    fits,
    image,
    labelled,
    line,
    named,
    node,
    pod,
    preferred,
    ratio,
    raw,
    refuses,
    required,
    taint,
)
from tests.oracle.draw import MI, Json
from tests.oracle.traps_bad_storage import BAD_INPUT
from tests.oracle.traps_beyond import BEYOND
from tests.oracle.traps_field import FIELD

UP = [(0, 0), (100, 10)]
PORT: Json = {"containerPort": 80, "hostPort": 80}


def _port_of(address: str) -> Json:
    return container(ports=[PORT | {"hostIP": address}])


def _images(*counts: bool) -> list[Json]:
    shown = [image(500 * MI, "big:v1")]
    return [node(f"n{i}", images=shown if count else []) for i, count in enumerate(counts)]


SCORES = (
    Trap(
        "pod-level-resources-do-not-score",
        "Fit's Score looks at containers only: 97 for cpu although 2 of 4 cores are asked; bound, the 2 cores count",
        (
            line(pod(resources={"requests": {"cpu": "2"}}), node("n0"), node("n1", cpu="1500m")),
            {"apply": [pod(name="bound", on="n0", resources={"requests": {"cpu": "2"}})], "pod": pod(name="second")},
        ),
        # Empty: (4000-100)*100//4000 = 97 and (16384-200)*100//16384 = 98. Then (4000-2000-100) -> 47, (16384-400) -> 97.
        (raw(0, "n0", FIT, 97), *refuses(0, "n1", UU, FIT, "Insufficient cpu"), raw(1, "n0", FIT, 72)),
    ),
    Trap(
        "shape-truncates-toward-zero",
        "100 + (-100*33)//70 is 53 with Go's division and 52 with one that floors",
        (line(pod(container("330m")), node("n0", cpu="1"), config=ratio([(0, 10), (70, 0)], "cpu")),),
        (raw(0, "n0", FIT, 53),),
    ),
    Trap(
        "ratio-rounds-half-away-from-zero",
        "resource scores 50 and 55 give 52.5, which is 53 and not the even 52",
        (line(pod(container("500m", "550Mi")), node("n0", "1", "1000Mi"), config=ratio(UP, "cpu", "memory")),),
        (raw(0, "n0", FIT, 53),),
    ),
    Trap(
        "ratio-drops-resources-that-score-0",
        "memory at 0 % has no part in the mean: 50 and not 25",
        (line(pod(container("500m")), node("n0", "1", "64Gi"), config=ratio(UP, "cpu", "memory")),),
        (raw(0, "n0", FIT, 50),),
    ),
    Trap(
        "defaults-are-per-container",
        "a best-effort container counts 100m and 200Mi in Fit's Score: 90 and 80; two of them 80 and 60; Balanced skips",
        (
            line(pod(), node("n0", "1", "1Gi"), node("n1")),
            {"pod": pod(container(), container(name="d"), name="two"), "apply": []},
        ),
        (
            raw(0, "n0", FIT, 85),
            raw(1, "n0", FIT, 70),
            raw(0, "n1", FIT, 97),  # 97.5 and 98.78 are cut before the mean and after it
            (0, f"scores/n0/{BALANCED}", ABSENT),
        ),
    ),
    Trap(
        "balance-is-before-against-after",
        "4 cores, 8Gi, a quarter of both used; with the pod .75 and .375: 50 + (50+81-100)//2; alike it would be 75",
        (
            line(pod(container("2", "1Gi")), node("n0", "4", "8Gi"), pod(container("1", "2Gi"), name="first", on="n0")),
            {"apply": [], "pod": pod(container("1", "2Gi"), name="even")},
        ),
        (raw(0, "n0", BALANCED, 65), raw(1, "n0", BALANCED, 75)),
    ),
    Trap(
        "balance-keeps-float-order",
        "fractions .1 and .8 leave 64.99999999999999 and not 65; before they were .02 and 0: 50 + (50+64-99)//2",
        (
            line(
                pod(container("80m", "800Mi")), node("n0", "1", "1000Mi"), pod(container("20m", "0"), name="f", on="n0")
            ),
        ),
        (raw(0, "n0", BALANCED, 57),),
    ),
    Trap(
        "normalise-taints-in-reverse",
        "intolerable counts 0, 1, 3 give 100, 67 (100 - 100//3) and 0, times 3; with no such taint anywhere all have 300",
        (
            line(
                pod(tolerations=[{"key": "a", "operator": "Exists", "effect": "NoSchedule"}]),
                node("n0"),
                node("n1", taints=[taint("a", "PreferNoSchedule")]),
                node("n2", taints=[taint(key, "PreferNoSchedule") for key in "abc"]),
            ),
            {
                "delete": [{"kind": "Node", "metadata": {"name": name}} for name in ("n1", "n2")],
                "pod": pod(name="other"),
            },
        ),
        (
            # The toleration is of effect NoSchedule, so it does not count in the Score.
            *(
                (0, f"scores/n{i}/{TAINTS}", {"raw": r, "weighted": w})
                for i, (r, w) in enumerate([(0, 300), (1, 201), (3, 0)])
            ),
            (1, f"scores/n0/{TAINTS}", {"raw": 0, "weighted": 300}),
        ),
    ),
    Trap(
        "normalise-affinity-forward",
        "matched weights 0, 10 and 30 give 0, 33 and 100, times 2; when nothing matches all have 0",
        (
            line(
                pod(affinity=preferred((10, labelled("disk", "Exists")), (20, labelled("disk", "In", "ssd")), (0, {}))),
                node("n0"),
                node("n1", labels={"disk": "hdd"}),
                node("n2", labels={"disk": "ssd"}),
            ),
            {"apply": [], "pod": pod(affinity=preferred((10, labelled("absent", "Exists"))), name="other")},
        ),
        (
            *(
                (0, f"scores/n{i}/{AFFINITY}", {"raw": r, "weighted": w})
                for i, (r, w) in enumerate([(0, 0), (10, 66), (30, 200)])
            ),
            (1, f"scores/n2/{AFFINITY}", {"raw": 0, "weighted": 0}),
        ),
    ),
    Trap(
        "image-threshold-grows-with-images",
        "500Mi on 2 of 4 nodes: 100*(262144000-24117248)//1024458752; with an absent init image over 2073034752",
        (
            line(pod({"name": "c", "image": "big:v1"}), *_images(True, True, False, False)),
            {
                "apply": [],
                "pod": pod(
                    {"name": "c", "image": "big:v1"}, initContainers=[{"name": "i", "image": "absent"}], name="b"
                ),
            },
        ),
        (raw(0, "n0", IMAGES, 23), raw(0, "n2", IMAGES, 0), raw(1, "n0", IMAGES, 11)),
    ),
    Trap(
        "image-names",
        "no tag means :latest, a port is no tag, a digest stays as it is, an image volume counts, the last size of a name wins",
        (
            line(
                pod(
                    {"name": "a", "image": "localhost:5000/tool"},
                    {"name": "b", "image": "app@sha256:" + "0" * 64},
                    volumes=[{"name": "v", "image": {"reference": "data"}}],
                ),
                node(
                    "n0",
                    images=[
                        image(9000 * MI, "localhost:5000/tool:latest"),
                        image(1000 * MI, "localhost:5000/tool:latest"),
                    ],
                ),
                node("n1", images=[image(1000 * MI, "data:latest"), image(1000 * MI, "app@sha256:" + "0" * 64)]),
                node("n2", images=[image(9000 * MI, "localhost:5000/tool", "data")]),
            ),
        ),
        # 1 of 3 nodes: 349525333 of hi 3145728000, lo 24117248: 100*325408085//3121610752; twice that sum: 674933418.
        (raw(0, "n0", IMAGES, 10), raw(0, "n1", IMAGES, 21), raw(0, "n2", IMAGES, 0)),
    ),
    Trap(
        "one-feasible-node-is-not-scored",
        "its scores stand there with scored false, even when they cannot be worked out; with two nodes that is an error",
        (
            line(pod(container("2")), node("n0"), node("n1", cpu="1")),
            line(pod(affinity=preferred((1, labelled("a", "Gt", "many")))), node("n0")),
            line(pod(affinity=preferred((1, labelled("a", "Gt", "many")))), node("n0"), node("n1")),
        ),
        (
            (0, "scored", False),
            (0, "best", ["n0"]),
            raw(0, "n0", FIT, 74),  # 50 and 98
            (1, "scored", False),
            (1, "scores", {}),
            (1, "best", ["n0"]),
            (2, "prefilter", ABSENT),
        ),
    ),
)

RESOURCES = (
    Trap(
        "sidecar-position",
        "container 200m, I1 500m, sidecar 100m, I2 300m need 500m; with the sidecar first max(300, 600, 400)",
        tuple(
            line(
                pod(container("200m"), initContainers=[init[key] for key in order]),
                *(node(f"n{size}", cpu=f"{size}m") for size in (499, 500, 599, 600)),
            )
            for init in [
                {
                    "1": container("500m", name="i1"),
                    "s": container("100m", name="s", restartPolicy="Always"),
                    "2": container("300m", name="i2"),
                }
            ]
            for order in ("1s2", "s12")
        ),
        (
            *refuses(0, "n499", UU, FIT, "Insufficient cpu"),
            *fits(0, "n500", "n599", "n600"),
            *refuses(1, "n599", UU, FIT, "Insufficient cpu"),
            *fits(1, "n600"),
        ),
    ),
    Trap(
        "pod-level-replaces-and-overhead-adds",
        "500m+500m and 1Gi+1Gi under pod-level cpu 1500m and overhead 50m need 1550m and 2Gi",
        (
            line(
                pod(
                    container("500m", "1Gi"),
                    container("500m", "1Gi", name="d"),
                    resources={"requests": {"cpu": "1500m"}},
                    overhead={"cpu": "50m"},
                ),
                node("exact", "1550m", "2Gi"),
                node("cpu", "1549m", "2Gi"),
                node("memory", "1550m", 2147483647),
            ),
        ),
        (
            *fits(0, "exact"),
            *refuses(0, "cpu", UU, FIT, "Insufficient cpu"),
            *refuses(0, "memory", UU, FIT, "Insufficient memory"),
        ),
    ),
    Trap(
        "resize-counts-the-largest",
        "spec 1000m, allocated 600m, actual 800m count 1000m of 2000m, and 800m when the resize is infeasible",
        tuple(
            line(
                pod(container(asked)),
                node("n0", cpu="2"),
                pod(
                    container("1"),
                    name="resized",
                    on="n0",
                    status={
                        "containerStatuses": [
                            {
                                "name": "c",
                                "allocatedResources": {"cpu": "600m"},
                                "resources": {"requests": {"cpu": "800m"}},
                            }
                        ],
                        "conditions": [{"type": "PodResizePending", "status": "True", "reason": reason}],
                    },
                ),
            )
            for reason, asked in [
                ("Deferred", "1000m"),
                ("Deferred", "1001m"),
                ("Infeasible", "1200m"),
                ("Infeasible", "1201m"),
            ]
        ),
        (
            *fits(0, "n0"),
            *refuses(1, "n0", U, FIT, "Insufficient cpu"),
            *fits(2, "n0"),
            *refuses(3, "n0", U, FIT, "Insufficient cpu"),
        ),
    ),
    Trap(
        "one-impossible-request-makes-all-unresolvable",
        "4000m and 8Gi with 3500m used: 1000m and 16Gi can never fit, 1000m and 6Gi can after a preemption",
        tuple(
            line(pod(container("1", memory)), node("n0", "4", "8Gi"), pod(container("3500m"), name="f", on="n0"))
            for memory in ("16Gi", "6Gi")
        ),
        (
            *refuses(0, "n0", UU, FIT, "Insufficient cpu", "Insufficient memory"),
            *refuses(1, "n0", U, FIT, "Insufficient cpu"),
        ),
    ),
    Trap(
        "what-is-not-requested-is-not-checked",
        "500m over-committed, memory asked: fits; the number of pods always counts and is never unresolvable",
        (
            line(pod(container(None, "1Gi")), node("n0"), pod(container("4500m"), name="f", on="n0")),
            line(
                pod(),
                node("n0", allocatable={"pods": "1"}),
                pod(name="f", on="n0"),
                node("n1", allocatable={"pods": "0"}),
            ),
        ),
        (
            *fits(0, "n0"),
            *refuses(1, "n0", U, FIT, "Too many pods"),
            *refuses(1, "n1", U, FIT, "Too many pods"),
        ),
    ),
    Trap(
        "quantities-round-up",
        "1500u of cpu are 2m, 1500m of memory 2 bytes; a node's 1500u are 2m as well",
        (
            line(
                pod(container("1500u", "1500m")),
                node("two", "2m", "2"),
                node("one", "1m", "2"),
                node("byte", "2m", "1"),
                node("micro", "1500u", "1500m"),
            ),
        ),
        (
            *fits(0, "two", "micro"),
            *refuses(0, "one", UU, FIT, "Insufficient cpu"),
            *refuses(0, "byte", UU, FIT, "Insufficient memory"),
        ),
    ),
    Trap(
        "ended-pods-and-the-pod-itself",
        "Succeeded and Failed pods and an older version of the pod are left out, a terminating one counts; bound is as pending",
        (
            line(
                pod(container("3"), on="n1"),
                node("n0"),
                node("n1"),
                pod(container("3"), on="n1"),
                pod(container("3"), name="done", on="n0", status={"phase": "Succeeded"}),
                pod(container("3"), name="failed", on="n0", status={"phase": "Failed"}),
                pod(container("3"), name="lost", on="unknown"),
            ),
            {
                "apply": [
                    pod(container("3"), name="done", on="n0")
                    | {
                        "metadata": {
                            "name": "done",
                            "namespace": "default",
                            "uid": "again",
                            "deletionTimestamp": "2026-01-02T03:04:05Z",
                        }
                    }
                ],
                "pod": pod(container("3")),
            },
        ),
        (*fits(0, "n0", "n1"), *refuses(1, "n0", U, FIT, "Insufficient cpu"), *fits(1, "n1")),
    ),
    Trap(
        "ignored-resources",
        "an ignored extended resource is not checked, by name or by group; hugepages cannot be ignored",
        (
            line(
                pod(
                    {
                        "name": "c",
                        "resources": {"requests": {"example.com/gpu": 1, "other.io/fpga": 1, "hugepages-2Mi": "2Mi"}},
                    }
                ),
                node("n0"),
                node("n1", allocatable={"hugepages-2Mi": "2Mi"}),
                config=config(
                    (
                        FIT,
                        {
                            "ignoredResources": ["example.com/gpu", "hugepages-2Mi"],
                            "ignoredResourceGroups": ["other.io"],
                        },
                    )
                ),
            ),
        ),
        (*refuses(0, "n0", UU, FIT, "Insufficient hugepages-2Mi"), *fits(0, "n1")),
    ),
)

UNTOLERATED = "node(s) had untolerated taint(s)"
MISMATCH = "node(s) didn't match Pod's node affinity/selector"
NODES = [node("n1"), node("n2"), node("n3")]
NODE_SELECTION = (
    Trap(
        "node-names-of-affinity",
        "names are intersected within a term and united over terms; a conflict ends it; two values cannot be parsed by Filter",
        (
            line(pod(affinity=required(named("n1"), named("n2"))), *NODES),
            line(pod(affinity=required(named("n1", "n2"))), *NODES),
            line(
                pod(
                    affinity=required(
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1", "n2"]}]}
                    )
                ),
                *NODES,
            ),
            line(pod(affinity=required(named("n1"), labelled("disk", "DoesNotExist"))), *NODES),
        ),
        (
            *fits(0, "n1", "n2"),
            (0, "filter/n3", {"code": UU, "reasons": ["node(s) didn't satisfy plugin(s) [NodeAffinity]"]}),
            (1, "prefilter", {"code": UU, "plugin": AFFINITY, "reasons": ["pod affinity terms conflict"]}),
            (1, "filter", ABSENT),
            *refuses(2, "n1", UU, AFFINITY, MISMATCH),
            (2, "filter/n3", {"code": UU, "reasons": ["node(s) didn't satisfy plugin(s) [NodeAffinity]"]}),
            *fits(3, "n1", "n2", "n3"),
        ),
    ),
    Trap(
        "gt-is-int64-in-base-10",
        "1_000 and 20 digits are no numbers, 08 is 8, an absent label is none, and neither is a value below zero",
        (
            line(
                pod(affinity=required(labelled("cores", "Gt", "7"))),
                *(
                    node(f"n{i}", labels={} if value is None else {"cores": value})
                    for i, value in enumerate(("1_000", "12345678901234567890", "08", None, "7", "9223372036854775807"))
                ),
            ),
            line(pod(affinity=required(labelled("cores", "Gt", "-1"))), node("n0", labels={"cores": "8"})),
        ),
        (
            *fits(0, "n2", "n5"),
            *(fact for i in (0, 1, 3, 4) for fact in refuses(0, f"n{i}", UU, AFFINITY, MISMATCH)),
            *refuses(1, "n0", UU, AFFINITY, MISMATCH),
        ),
    ),
    Trap(
        "terms-that-match-nothing",
        "no terms, an empty term and a broken term match nothing; a broken term does not spoil a good one; NotIn takes an absent key",
        (
            line(pod(affinity=required()), node("n0")),
            line(pod(affinity=required({})), node("n0")),
            line(pod(affinity=required(labelled("disk", "In", "not a value"))), node("n0")),
            line(
                pod(affinity=required(labelled("disk", "In", "not a value"), labelled("disk", "NotIn", "ssd"))),
                node("n0"),
            ),
            line(pod(nodeSelector={}), node("n0")),
        ),
        (
            *(fact for number in (0, 1, 2) for fact in refuses(number, "n0", UU, AFFINITY, MISMATCH)),
            *fits(3, "n0"),
            *fits(4, "n0"),
        ),
    ),
    Trap(
        "added-affinity-comes-first",
        "a node that meets neither is refused by the scheduler-enforced affinity",
        (
            line(
                pod(nodeSelector={"disk": "ssd"}),
                node("n0", labels={"disk": "ssd", "team": "red"}),
                node("n1", labels={"disk": "ssd"}),
                node("n2", labels={"team": "red"}),
                node("n3"),
                config=config((AFFINITY, {"addedAffinity": required(labelled("team", "Exists"))["nodeAffinity"]})),
            ),
        ),
        (
            *fits(0, "n0"),
            *refuses(0, "n1", UU, AFFINITY, "node(s) didn't match scheduler-enforced node affinity"),
            *refuses(0, "n2", UU, AFFINITY, MISMATCH),
            *refuses(0, "n3", UU, AFFINITY, "node(s) didn't match scheduler-enforced node affinity"),
        ),
    ),
    Trap(
        "first-plugin-that-refuses",
        "cordoned before tainted before too small; tolerating the cordon's taint is enough for NodeUnschedulable",
        (
            line(
                pod(container("9"), tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]),
                node("n0", unschedulable=True, taints=[taint("a", "NoExecute")]),
                node("n1", unschedulable=True),
            ),
            {"apply": [], "pod": pod(container("9"), name="plain")},
        ),
        (
            *refuses(0, "n0", UU, TAINTS, UNTOLERATED),
            *refuses(0, "n1", UU, FIT, "Insufficient cpu"),
            *refuses(1, "n0", UU, "NodeUnschedulable", "node(s) were unschedulable"),
        ),
    ),
    Trap(
        "host-addresses",
        "only 0.0.0.0 and no address stand for all; :: is an address like any other; protocols and plain init containers are apart",
        (
            line(
                pod(_port_of("0.0.0.0")),
                node("ten"),
                pod(_port_of("10.0.0.1"), name="a", on="ten"),
                node("six"),
                pod(_port_of("::"), name="b", on="six"),
                node("udp"),
                pod(container(ports=[PORT | {"protocol": "UDP"}]), name="c", on="udp"),
                node("init"),
                pod(initContainers=[_port_of("10.0.0.1")], name="d", on="init"),
                node("sidecar"),
                pod(initContainers=[_port_of("10.0.0.1") | {"restartPolicy": "Always"}], name="e", on="sidecar"),
            ),
            {"apply": [], "pod": pod(_port_of("10.0.0.2"), name="second")},
            {"apply": [pod(_port_of(""), name="f", on="udp")], "pod": pod(_port_of("10.0.0.2"), name="third")},
        ),
        (
            *(
                fact
                for name in ("ten", "six", "sidecar")
                for fact in refuses(
                    0, name, U, "NodePorts", "node(s) didn't have free ports for the requested pod ports"
                )
            ),
            *fits(0, "udp", "init"),
            *fits(1, "ten", "six", "udp", "init", "sidecar"),
            *refuses(2, "udp", U, "NodePorts", "node(s) didn't have free ports for the requested pod ports"),
        ),
    ),
)

PROFILES = (
    Trap(
        "profile-by-name-else-first",
        "the first profile scores with most allocated, the second with nothing but images; an unknown name has the first",
        tuple(
            line(
                pod(container("2", "8Gi"), schedulerName=name),
                node("n0"),
                config={
                    "apiVersion": "kubescheduler.config.k8s.io/v1",
                    "kind": "KubeSchedulerConfiguration",
                    "profiles": [
                        config((FIT, {"scoringStrategy": {"type": "MostAllocated"}}))["profiles"][0],
                        {
                            "schedulerName": "second",
                            "plugins": {
                                "score": {"disabled": [{"name": "*"}], "enabled": [{"name": IMAGES, "weight": 7}]}
                            },
                        },
                    ],
                },
            )
            for name in ("reprise", "second", "unknown")
        ),
        (
            raw(0, "n0", FIT, 50),
            (1, "scores/n0", {IMAGES: {"raw": 0, "weighted": 0}}),
            raw(2, "n0", FIT, 50),
        ),
    ),
    Trap(
        "best-is-every-node-with-the-highest-total",
        "two empty nodes of one size tie; 300 for taints, 97 for Fit of a best-effort pod, no Balanced, no image",
        (line(pod(), node("b"), node("a"), node("c", cpu="1", memory="1Gi")),),
        ((0, "best", ["a", "b"]), (0, "totals", {"a": 397, "b": 397, "c": 385})),
    ),
)

TRAPS: tuple[Trap, ...] = (*SCORES, *RESOURCES, *NODE_SELECTION, *PROFILES, *BEYOND, *BAD_INPUT, *FIELD)
