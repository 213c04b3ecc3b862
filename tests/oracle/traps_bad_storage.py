"""Bad input, by hand: what claims, volumes, classes, capacities and drivers can have wrong, and sizes beyond all measure."""

from collections.abc import Sequence

from tests.oracle.builders import FIT, UU, Fact, Trap, U, config, fits, line, node, pod, raw, refuses
from tests.oracle.builders_beyond import (
    BINDING,
    LIMITS,
    RESTRICTIONS,
    VOLUME_ZONE,
    capacity,
    claim,
    claiming,
    csi_driver,
    csi_node,
    storage_class,
    volume,
)
from tests.oracle.draw import Json
from tests.oracle.nodes import ZONE
from tests.oracle.traps_bad_input import BAD_SELECTORS, FAILS, GOOD, NODES, SELECTORS, TERMS, every, lines, steps

NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
NO_ROOM = "node(s) did not have enough free storage"
VOLUME_MISMATCH = "node(s) didn't match PersistentVolume's node affinity"
FULL = "node(s) exceed max volume count"
BOTH = ("n1", "n7")
HUGE = str(2**62)
STATIC = "kubernetes.io/no-provisioner"
# VolumeRestrictions and VolumeBinding would tell of it first.
ZONE_ALONE = config(
    plugins={
        "multiPoint": {"disabled": [{"name": name} for name in (RESTRICTIONS, BINDING, LIMITS)]},
        "preFilter": {"disabled": [{"name": VOLUME_ZONE}]},
    }
)


def _free(one: Json, size: str = "1Gi") -> Json:
    return one | {"status": {"phase": "Available"}, "spec": one["spec"] | {"capacity": {"storage": size}}}


def _selecting(selector: Json) -> Json:
    made = claim("data")
    return made | {"spec": made["spec"] | {"selector": selector}}


def _allowing(*topologies: tuple[str, Sequence[str]]) -> Json:
    terms = [{"matchLabelExpressions": [{"key": key, "values": list(values)}]} for key, values in topologies]
    return storage_class() | {"allowedTopologies": terms}


def _refused(number: int, code: str, plugin: str, reason: str, *names: str) -> tuple[Fact, ...]:
    return tuple(fact for name in names or BOTH for fact in refuses(number, name, code, plugin, reason))


TOPOLOGIES = [("a", []), ("a b", ["1"]), ("", ["1"]), ("a", ["1 2"])]

STORAGE_SELECTORS = (
    Trap(
        "bad-affinity-of-a-bound-volume",
        "a term that cannot be read matches no node, and the other terms count",
        steps(
            claiming("data"),
            ([volume("pv", terms=[one, GOOD])] for one in TERMS),
            *NODES,
            storage_class(),
            claim("data", bound="pv"),
            volume("pv", terms=[GOOD]),
        ),
        every(len(TERMS) + 1, *_refused(0, UU, BINDING, VOLUME_MISMATCH, "n1"), *fits(0, "n7")),
    ),
    Trap(
        "bad-affinity-of-a-free-volume",
        "a volume with no term that can be read is bound nowhere",
        steps(
            claiming("data"),
            ([_free(volume("pv", terms=[one]))] for one in TERMS),
            *NODES,
            storage_class(provisioner=STATIC),
            claim("data"),
        ),
        every(len(TERMS) + 1, *_refused(0, UU, BINDING, NO_VOLUME)),
    ),
    Trap(
        "bad-allowed-topologies",
        "a topology that cannot be read allows no node, and the others count",
        steps(
            claiming("data"),
            ([_allowing(one, ("a", ["7"]))] for one in TOPOLOGIES),
            *NODES,
            _allowing(("a", ["7"])),
            claim("data"),
        ),
        every(len(TOPOLOGIES) + 1, *_refused(0, UU, BINDING, NO_VOLUME, "n1"), *fits(0, "n7")),
    ),
    Trap(
        "bad-topology-of-a-capacity",
        "a capacity whose topology cannot be read is nowhere",
        steps(
            claiming("data"),
            ([capacity("c", "1Ti", host="n1") | {"nodeTopology": one}] for one in SELECTORS),
            *NODES,
            storage_class(),
            csi_driver(storageCapacity=True),
            capacity("other", "1Ti", host="n7"),
            claim("data"),
        ),
        every(len(SELECTORS) + 1, *_refused(0, UU, BINDING, NO_ROOM, "n1"), *fits(0, "n7")),
    ),
    Trap(
        "bad-selector-of-a-claim",
        "a claim whose selector cannot be read fails the cycle when it is to be bound, and does no harm when it is",
        (
            *steps(
                claiming("data"),
                ([_selecting(one)] for one in SELECTORS[1:]),
                *NODES,
                storage_class(),
                _free(volume("pv")),
                _selecting(SELECTORS[0]),
            ),
            {
                "apply": [
                    claim("data", bound="pv") | {"spec": _selecting(SELECTORS[0])["spec"] | {"volumeName": "pv"}},
                    volume("pv"),
                ],
                "pod": claiming("data"),
            },
        ),
        (*every(len(SELECTORS), FAILS), *fits(len(SELECTORS), *BOTH)),
    ),
)


def _annotated(**annotations: str) -> Json:
    made = claim("data")
    return made | {"metadata": made["metadata"] | {"annotations": annotations}}


def _told(number: int, plugin: str, reason: str) -> Fact:
    return (number, "prefilter", {"code": UU, "plugin": plugin, "reasons": [reason]})


UNBOUND = "pod has unbound immediate PersistentVolumeClaims"
BETA_CLASS = {"volume.beta.kubernetes.io/storage-class": "slow"}

MISSING = (
    Trap(
        "what-a-claim-can-lack",
        "its class, its volume, a mode of its class; the class in the annotation counts first; being deleted, and lost",
        steps(
            claiming("data"),
            (
                [claim("data", bound="gone")],
                [claim("data", bound="gone", of="slow")],
                [_annotated(**BETA_CLASS)],
                [claim("data", of="")],
                [
                    claim("data")
                    | {"metadata": claim("data")["metadata"] | {"deletionTimestamp": "2026-01-02T03:04:05Z"}}
                ],
                [claim("data", bound="gone") | {"status": {"phase": "Lost"}}],
                [claim("data"), storage_class() | {"volumeBindingMode": None}],
            ),
            *NODES,
            storage_class(),
            claim("data", of="slow"),
        ),
        (
            _told(0, BINDING, UNBOUND),
            _told(1, VOLUME_ZONE, 'persistentvolume "gone" not found'),
            _told(2, VOLUME_ZONE, 'persistentvolume "gone" not found'),
            _told(3, BINDING, UNBOUND),
            _told(4, BINDING, UNBOUND),
            _told(5, BINDING, 'persistentvolumeclaim "data" is being deleted'),
            _told(6, BINDING, 'persistentvolumeclaim "data" bound to non-existent persistentvolume "gone"'),
            *every(8, FAILS, start=7),
        ),
    ),
    Trap(
        "volume-zone-without-its-prefilter",
        "Filter finds the same and tells it of each node",
        (
            line(claiming("data"), *NODES, storage_class(), config=ZONE_ALONE),
            {"apply": [claim("data", bound="pv")], "pod": claiming("data")},
            {"apply": [volume("pv", labels={ZONE: "one"})], "pod": claiming("data")},
        ),
        (
            *_refused(0, UU, VOLUME_ZONE, 'persistentvolumeclaim "data" not found'),
            *_refused(1, UU, VOLUME_ZONE, 'persistentvolume "pv" not found'),
            *_refused(2, UU, VOLUME_ZONE, "node(s) had no available volume zone", "n7"),
            *fits(2, "n1"),
        ),
    ),
    Trap(
        "volume-limits-without-their-prefilter",
        "Filter looks at the volumes itself",
        (
            line(
                claiming("data"),
                *NODES,
                csi_node("n1", 1),
                csi_node("n7", 2),
                *(volume(f"pv-{one}") for one in ("data", "other")),
                *(claim(one, bound=f"pv-{one}") for one in ("data", "other")),
                *(claiming("other", name=f"user-{on}", on=on) for on in BOTH),
                config=config(plugins={"preFilter": {"disabled": [{"name": LIMITS}]}}),
            ),
            {"apply": [], "pod": pod(name="plain")},
        ),
        (*_refused(0, U, LIMITS, FULL, "n1"), *fits(0, "n7"), *fits(1, *BOTH)),
    ),
)

NAMES = ("memory", "ephemeral-storage", "example.com/gpu")
SMALL = {"ephemeral-storage": "8", "example.com/gpu": "8"}


def _asking(name: str, *amounts: str) -> list[Json]:
    return [{"name": f"c{i}", "resources": {"requests": {name: one}}} for i, one in enumerate(amounts)]


def _huge(name: str) -> list[Json]:
    return [
        pod(*_asking(name, HUGE)),
        pod(*_asking(name, "1"), initContainers=_asking(name, HUGE)),
        pod(*_asking(name, "1"), overhead={name: HUGE}),
    ]


def _lacks(number: int, name: str, *nodes: str) -> tuple[Fact, ...]:
    return tuple(fact for one in nodes for fact in refuses(number, one, UU, FIT, f"Insufficient {name}"))


QUANTITIES = (
    Trap(
        "huge-requests",
        "2^62 of a resource fits where there is as much, and one more nowhere",
        lines(
            (one for name in NAMES for one in _huge(name)),
            node("small", allocatable=SMALL),
            node("large", HUGE, HUGE, allocatable=dict.fromkeys(SMALL, HUGE)),
        ),
        tuple(
            fact
            for number, name in enumerate(NAMES)
            for fact in (
                *(
                    fact
                    for i in (0, 1)
                    for fact in (*_lacks(3 * number + i, name, "small"), *fits(3 * number + i, "large"))
                ),
                *_lacks(3 * number + 2, name, "small", "large"),
            )
        ),
    ),
    Trap(
        "requests-beyond-an-int64",
        "2^62 cores are no milli-cores, of a request and of a node; the sum of two such numbers is -2^63, and no node has less",
        lines(
            (
                *_huge("cpu"),
                pod(*_asking("cpu", "1"), resources={"requests": {"cpu": HUGE}}),
                *(pod(*_asking(name, HUGE, HUGE)) for name in ("ephemeral-storage", "example.com/gpu")),
                pod(*_asking("memory", HUGE, HUGE)),
            ),
            node("small", allocatable=SMALL),
            node("large", HUGE, HUGE, allocatable=dict.fromkeys(SMALL, HUGE)),
        ),
        (
            *every(2, *fits(0, "small", "large")),
            *fits(2, "small"),
            *_lacks(2, "cpu", "large"),
            *every(6, *fits(0, "small", "large"), start=3),
            *every(7, FAILS, start=6),  # the share of memory in use makes a score that is none
        ),
    ),
    Trap(
        "requests-below-0",
        "they fit on a full node, and on one with less than nothing; -2^62 is cut to 0; the scores of others are out of bounds",
        lines(
            (
                *(pod(*_asking(name, "-1")) for name in ("example.com/gpu", "ephemeral-storage", "cpu")),
                *(pod(*_asking(name, "1"), overhead={name: "-3"}) for name in ("example.com/gpu", "memory")),
                *(pod(*_asking(name, "-" + HUGE)) for name in ("example.com/gpu", "cpu", "memory")),
            ),
            node("small", allocatable=SMALL),
            node("less", "-1", "-1", allocatable=dict.fromkeys(SMALL, "-1")),
            node("full", "1", "1Gi", allocatable=dict.fromkeys(SMALL, "1")),
            pod(*_asking("cpu", "2"), *_asking("example.com/gpu", "2"), name="full", on="full"),
        ),
        (
            *every(2, *fits(0, "small", "less", "full")),
            *every(3, FAILS, start=2),
            *every(4, *fits(0, "small", "less", "full"), start=3),
            *every(5, FAILS, start=4),
            *every(8, *fits(0, "small", "less", "full"), start=5),
        ),
    ),
    Trap(
        "sizes-of-claims-and-volumes",
        "of 2^62: a volume of that size, a capacity of that size, and neither; a smaller one is none",
        (
            line(
                claiming("data"),
                *NODES,
                storage_class(),
                csi_driver(storageCapacity=True),
                _free(volume("pv", terms=[GOOD]), HUGE),
                capacity("c", HUGE, host="n1"),
                claim("data", HUGE),
            ),
            {"apply": [_free(volume("pv", terms=[GOOD]), str(2**62 - 1))], "pod": claiming("data")},
            {"apply": [capacity("c", str(2**62 - 1), host="n1")], "pod": claiming("data")},
        ),
        (
            *fits(0, *BOTH),
            *fits(1, "n1"),
            raw(1, "n1", BINDING, 100),  # 2^62 * 100 is 0 in 64 bits
            *_refused(1, UU, BINDING, NO_ROOM, "n7"),
            *_refused(2, UU, BINDING, NO_ROOM),
        ),
    ),
    Trap(
        "sizes-below-0",
        "a claim below 0 takes a volume of 0 and a capacity of 0; a volume below 0 is too small for a claim of 0",
        (
            line(
                claiming("data"),
                *NODES,
                storage_class(),
                csi_driver(storageCapacity=True),
                _free(volume("pv", terms=[GOOD]), "0"),
                capacity("c", "0", host="n1"),
                claim("data", "-5"),
            ),
            {"apply": [_free(volume("pv", terms=[GOOD]), "-1"), claim("data", "0")], "pod": claiming("data")},
            {"apply": [capacity("c", "-1", host="n1")], "pod": claiming("data")},
        ),
        (*fits(0, *BOTH), *fits(1, "n1"), *_refused(1, UU, BINDING, NO_ROOM, "n7"), *_refused(2, UU, BINDING, NO_ROOM)),
    ),
    Trap(
        "odd-limits-of-drivers",
        "no volume fits where a driver takes -2^31, -1 or 0 of them; with a volume there a limit of 1 is reached, and one of 2 not",
        tuple(
            line(
                claiming("data"),
                *NODES,
                csi_node("n1", count),
                *(volume(f"pv-{one}") for one in ("data", "other")),
                *(claim(one, bound=f"pv-{one}") for one in ("data", "other")),
                claiming("other", name="user", on="n1"),
            )
            for count in (-(2**31), -1, 0, 1, 2, 2**31 - 1)
        ),
        (*every(4, *_refused(0, U, LIMITS, FULL, "n1"), *fits(0, "n7")), *every(6, *fits(0, *BOTH), start=4)),
    ),
)

BAD_INPUT: tuple[Trap, ...] = (*BAD_SELECTORS, *STORAGE_SELECTORS, *MISSING, *QUANTITIES)
