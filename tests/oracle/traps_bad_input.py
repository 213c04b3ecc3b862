"""Bad input, by hand: selectors that cannot be read, wherever one can stand, and odd numbers.

What the API server refuses can still come from an older one, from a webhook or from etcd. Each thing that cannot be read stands
beside one that can, so that it shows what of the object still counts.
"""

from collections.abc import Iterable, Sequence

from tests.oracle.builders import (
    ABSENT,
    AFFINITY,
    UU,
    Fact,
    Trap,
    U,
    fits,
    labelled,
    line,
    node,
    pod,
    preferred,
    refuses,
    required,
)
from tests.oracle.builders_beyond import (
    NEAR,
    PREFERRED,
    SPREAD,
    apart,
    labelled_pod,
    near,
    service,
    spread,
    term,
    thing,
)
from tests.oracle.draw import Json
from tests.oracle.nodes import HOSTNAME, ZONE

MISMATCH = "node(s) didn't match Pod's node affinity/selector"
LONG = "a" * 64


def asks(key: str, operator: str, *values: str) -> Json:
    return {"key": key, "operator": operator, "values": list(values)}


def of(requirement: Json) -> Json:
    return {"matchExpressions": [requirement]}


# No selector of nodes or of labels takes these.
UNREADABLE: tuple[Json, ...] = (
    asks("a", "Near", "1"),
    asks("a", "in", "1"),
    asks("a", "", "1"),
    asks("a", "In"),
    asks("a", "NotIn"),
    asks("a", "Exists", "1"),
    asks("a", "DoesNotExist", "1"),
    asks("a b", "Exists"),
    asks("", "Exists"),
    asks(LONG, "Exists"),
    asks("a", "In", "a b"),
    asks("a", "In", LONG),
    asks("a", "NotIn", "1", "-"),
)
NO_NUMBERS: tuple[Json, ...] = (
    asks("a", "Gt", "x"),
    asks("a", "Gt", ""),
    asks("a", "Gt"),
    asks("a", "Gt", "0", "1"),
    asks("a", "Lt", "1.5"),
    asks("a", "Lt", "1_000"),
    asks("a", "Lt", "0x10"),
    asks("a", "Lt", "\u0669"),
    asks("a", "Lt", str(2**63)),
)
GOOD = labelled("a", "In", "7")
NODES = (node("n1", labels={"a": "1", ZONE: "one"}), node("n7", labels={"a": "7", ZONE: "seven"}))


def lines(pods: Iterable[Json], *objects: Json) -> tuple[Json, ...]:
    """One pod after the other on one state."""
    first, *rest = (one | {"metadata": one["metadata"] | {"uid": f"uid-{i}"}} for i, one in enumerate(pods))
    return (line(first, *objects), *({"apply": [], "pod": one} for one in rest))


def steps(wanted: Json, changes: Iterable[Sequence[Json]], *objects: Json) -> tuple[Json, ...]:
    """The same pod after each change."""
    return (line(wanted, *objects), *({"apply": list(change), "pod": wanted} for change in changes))


def every(count: int, *facts: Fact, start: int = 0) -> tuple[Fact, ...]:
    return tuple((number, path, value) for number in range(start, count) for _, path, value in facts)


FAILS: Fact = (0, "prefilter", ABSENT)
SEVEN = (*refuses(0, "n1", UU, AFFINITY, MISMATCH), *fits(0, "n7"))
TERMS = [of(one) for one in (*UNREADABLE, *NO_NUMBERS)]

ODD_VALUES = ("1", "007", "+1", str(2**63 - 1), "-1", "", "x", " 1", "1.5", "1_0", "0x10", "\u0661", str(2**63))
FIELDS: tuple[Json, ...] = (
    asks("metadata.name", "In", "n1", "n7"),
    asks("metadata.name", "NotIn", "n1", "n7"),
    asks("metadata.name", "In"),
    asks("metadata.name", "Exists"),
    asks("metadata.name", "Gt", "1"),
    asks("metadata.name", "in", "n1"),
)

NODE_SELECTORS = (
    Trap(
        "bad-required-terms",
        "a term of required node affinity that cannot be read matches nothing, and the other terms count",
        lines((pod(affinity=required(one, GOOD)) for one in TERMS), *NODES),
        every(len(TERMS), *SEVEN),
    ),
    Trap(
        "bad-required-term-alone",
        "a requirement that cannot be read spoils those beside it",
        lines(
            (
                pod(affinity=required({"matchExpressions": [*GOOD["matchExpressions"], *one["matchExpressions"]]}))
                for one in TERMS
            ),
            *NODES,
        ),
        every(len(TERMS), *(fact for name in ("n1", "n7") for fact in refuses(0, name, UU, AFFINITY, MISMATCH))),
    ),
    Trap(
        "bad-preferred-terms",
        "a term of preferred node affinity that cannot be read fails the cycle",
        lines((pod(affinity=preferred((1, GOOD), (1, one))) for one in TERMS), *NODES),
        every(len(TERMS), FAILS),
    ),
    Trap(
        "bad-fields",
        "a field takes In and NotIn with one value, and a name that no field has is no error and matches the empty text",
        lines(
            (
                *(pod(affinity=required({"matchFields": [one]}, GOOD)) for one in FIELDS),
                pod(affinity=required({"matchFields": [asks("metadata.uid", "NotIn", "x")]})),
                pod(affinity=required({"matchFields": [asks("metadata.uid", "In", "uid-n1")]}, GOOD)),
                *(pod(affinity=preferred((1, {"matchFields": [one]}))) for one in FIELDS),
            ),
            *NODES,
        ),
        (
            *every(len(FIELDS), *SEVEN),
            *every(len(FIELDS) + 1, *fits(0, "n1", "n7"), start=len(FIELDS)),
            *every(len(FIELDS) + 2, *SEVEN, start=len(FIELDS) + 1),
            *every(2 * len(FIELDS) + 2, FAILS, start=len(FIELDS) + 2),
        ),
    ),
    Trap(
        "odd-numbers-as-labels",
        "greater than 0 are 1, 007, +1 and the highest int64; what is no int64 is neither greater nor less",
        lines(
            (pod(affinity=required(labelled("a", "Gt", "0"))), pod(affinity=required(labelled("a", "Lt", "0")))),
            *(node(f"n{i}", labels={"a": value}) for i, value in enumerate(ODD_VALUES)),
        ),
        (
            *fits(0, "n0", "n1", "n2", "n3"),
            *(fact for i in range(4, 13) for fact in refuses(0, f"n{i}", UU, AFFINITY, MISMATCH)),
            *fits(1, "n4"),
            *(fact for i in range(13) if i != 4 for fact in refuses(1, f"n{i}", UU, AFFINITY, MISMATCH)),
        ),
    ),
    Trap(
        "bad-node-selector",
        "a node selector that no label can meet is met by no node",
        lines((pod(nodeSelector={"a b": "1"}), pod(nodeSelector={"a": "1 2"}), pod(nodeSelector={"": ""})), *NODES),
        every(3, *(fact for name in ("n1", "n7") for fact in refuses(0, name, UU, AFFINITY, MISMATCH))),
    ),
)

# Selectors of labels know no Gt and Lt at all.
SELECTORS = [of(one) for one in (*UNREADABLE, asks("a", "Gt", "1"), asks("a", "Lt", "9"))]
SELECTORS += [{"matchLabels": {"a b": "1"}}, {"matchLabels": {"a": "1 2"}}]
NEIGHBOUR = labelled_pod("neighbour", "n1")
NAMESPACE = thing("Namespace", "default", metadata={"labels": {"a": "1"}})
OPERATOR = '"Near" is not a valid label selector operator'


def _pod_terms(selector: Json) -> list[Json]:
    """By labels, and by labels of namespaces."""
    return [term(selector=selector), term() | {"namespaceSelector": selector}]


def _weighted(*terms: Json) -> Json:
    return {PREFERRED: [{"weight": 5, "podAffinityTerm": one} for one in terms]}


POD_TERMS = [one for selector in SELECTORS[::4] for one in _pod_terms(selector)]
HOLDERS = [
    labelled_pod("holder", "n1", affinity=rules)
    for bad in POD_TERMS
    for rules in (
        apart(term(), bad),
        near(term(HOSTNAME), bad),
        {"podAffinity": _weighted(term(), bad)},
        {"podAntiAffinity": _weighted(bad, term())},
    )
]

LABEL_SELECTORS = (
    Trap(
        "bad-spread-selectors",
        "a constraint with a selector that cannot be read fails the cycle, a soft one as well",
        lines(
            (
                labelled_pod(topologySpreadConstraints=[spread(skew=5), spread(HOSTNAME, soft=soft, selector=one)])
                for one in SELECTORS
                for soft in (False, True)
            ),
            *NODES,
            NEIGHBOUR,
        ),
        every(2 * len(SELECTORS), FAILS),
    ),
    Trap(
        "bad-spread-numbers-and-policies",
        "policies other than Honor ignore, and an action that nobody knows is none",
        lines(
            (
                labelled_pod(topologySpreadConstraints=[spread(whenUnsatisfiable="Sometimes")]),
                labelled_pod(topologySpreadConstraints=[spread(nodeAffinityPolicy="honor")], nodeSelector={"a": "1"}),
                labelled_pod(topologySpreadConstraints=[spread(minDomains=-1)]),
                labelled_pod(topologySpreadConstraints=[spread(skew=0)]),
                labelled_pod(topologySpreadConstraints=[spread(matchLabelKeys=["", "a b", "nobody"])]),
            ),
            *NODES,
            NEIGHBOUR,
        ),
        (
            *fits(0, "n1", "n7"),
            *refuses(1, "n1", U, SPREAD, "node(s) didn't match pod topology spread constraints"),
            *(
                fact
                for number in (2, 4)
                for fact in (
                    *refuses(number, "n1", U, SPREAD, "node(s) didn't match pod topology spread constraints"),
                    *fits(number, "n7"),
                )
            ),
            *(
                fact
                for name in ("n1", "n7")
                for fact in refuses(3, name, U, SPREAD, "node(s) didn't match pod topology spread constraints")
            ),
        ),
    ),
    Trap(
        "bad-spread-numbers-score",
        "a soft constraint with maxSkew 0 and no pods makes -1 of every node, which is the mark of those that do not count",
        (line(labelled_pod(topologySpreadConstraints=[spread(skew=0, soft=True, selector=None)]), *NODES, NEIGHBOUR),),
        tuple((0, f"scores/{name}/{SPREAD}", {"raw": -1, "weighted": 0}) for name in ("n1", "n7")),
    ),
    Trap(
        "lowest-weight-has-no-opposite",
        "-2^31 of anti-affinity stays what it is in 32 bits",
        lines(
            (
                labelled_pod(affinity={kind: {PREFERRED: [{"weight": -(2**31), "podAffinityTerm": term()}]}})
                for kind in ("podAffinity", "podAntiAffinity")
            ),
            *NODES,
            NEIGHBOUR,
        ),
        every(
            2,
            (0, f"scores/n1/{NEAR}", {"raw": -(2**31), "weighted": 0}),
            (0, f"scores/n7/{NEAR}", {"raw": 0, "weighted": 200}),
        ),
    ),
    Trap(
        "bad-own-pod-terms",
        "a term that cannot be read keeps the pod from all nodes, whatever kind it is of",
        lines(
            (
                labelled_pod(affinity=rules)
                for bad in POD_TERMS
                for rules in (
                    near(bad),
                    apart(bad),
                    {"podAffinity": _weighted(bad)},
                    {"podAntiAffinity": _weighted(term(), bad)},
                )
            ),
            *NODES,
            NAMESPACE,
            NEIGHBOUR,
        ),
        (
            *every(4 * len(POD_TERMS), (0, "prefilter/code", UU), (0, "prefilter/plugin", NEAR)),
            *(
                (number, "prefilter/reasons", [f"parsing pod: {kind}: {OPERATOR}"])
                for number, kind in enumerate(
                    (
                        "requiredAffinityTerms",
                        "requiredAntiAffinityTerms",
                        "preferredAffinityTerms",
                        "preferredAntiAffinityTerms",
                    )
                )
            ),
        ),
    ),
    Trap(
        "bad-terms-of-others",
        "a running pod with a term that cannot be read has none of that kind; good ones would refuse or score",
        steps(labelled_pod(), ([one] for one in HOLDERS), *NODES, NAMESPACE),
        every(len(HOLDERS) + 1, *fits(0, "n1", "n7"), (0, f"scores/n1/{NEAR}", ABSENT)),
    ),
    Trap(
        "bad-selectors-of-owners",
        "the selector of a ReplicaSet or StatefulSet that cannot be read adds nothing to that of a Service",
        steps(
            labelled_pod()
            | {
                "metadata": labelled_pod()["metadata"]
                | {
                    "ownerReferences": [
                        {
                            "apiVersion": "apps/v1",
                            "kind": "ReplicaSet",
                            "name": "rs",
                            "uid": "uid-rs",
                            "controller": True,
                        }
                    ]
                }
            },
            (
                [thing("ReplicaSet", "rs", group="apps/v1", namespace="default", spec={"selector": one})]
                for one in SELECTORS
            ),
            *NODES,
            NEIGHBOUR,
            service(app="web"),
        ),
        every(len(SELECTORS) + 1, (0, f"scores/n1/{SPREAD}/weighted", 132), (0, f"scores/n7/{SPREAD}/weighted", 200)),
    ),
)

BAD_SELECTORS: tuple[Trap, ...] = (*NODE_SELECTORS, *LABEL_SELECTORS)
