"""Objects of ten thousand parts: the answer is kube-scheduler's, and it takes no time that others would notice.

The answers were compared with the oracle's; they are too large to be kept.
"""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from scheduler.app.evaluate_jsonl import answer_lines
from tests.oracle.builders import UU, U, labelled, line, node, pod, preferred, required
from tests.oracle.builders_beyond import (
    apart,
    apps,
    capacity,
    claim,
    claiming,
    csi_driver,
    labelled_pod,
    near,
    service,
    spread,
    storage_class,
    term,
    volume,
)
from tests.oracle.draw import Json
from tests.oracle.generate import encode
from tests.oracle.nodes import HOSTNAME, ZONE

COUNT = 10_000
SECONDS = 30.0  # the slowest takes four; what is quadratic would take minutes
MANY = {f"k{i}": str(i) for i in range(COUNT)}
ALL_OF_THEM = {"matchLabels": MANY}
ONE_OF_MANY = labelled("k5", "In", *MANY.values())
BIG, SMALL = node("big", labels=MANY | {ZONE: "a"}), node("small", labels={ZONE: "b"})

MISMATCH = "node(s) didn't match Pod's node affinity/selector"
SKEW = "node(s) didn't match pod topology spread constraints"
AFFINITY_RULES = "node(s) didn't match pod affinity rules"
ANTI_RULES = "node(s) didn't match pod anti-affinity rules"
EXISTING_RULES = "node(s) didn't satisfy existing pods anti-affinity rules"
FITS = ("Success", "")


def with_labels(name: str = "wanted", on: str = "", **spec: Any) -> Json:
    made = labelled_pod(name, on, **spec)
    made["metadata"]["labels"] |= MANY
    return made


def selecting() -> Json:
    made = claim("data")
    return made | {"spec": made["spec"] | {"selector": ALL_OF_THEM}}


def free(one: Json) -> Json:
    return one | {"status": {"phase": "Available"}}


NEIGHBOUR = with_labels("neighbour", "big")
CROWD = [labelled_pod(f"p{i}", "big") for i in range(COUNT)]


@pytest.mark.long
@pytest.mark.parametrize(
    ("asked", "big", "small"),
    [
        pytest.param(line(pod(nodeSelector=MANY), BIG, SMALL), FITS, (UU, MISMATCH), id="node selector"),
        pytest.param(line(pod(affinity=required(ONE_OF_MANY)), BIG, SMALL), FITS, (UU, MISMATCH), id="values"),
        pytest.param(
            line(
                pod(affinity=required(*(labelled(key, "In", "x") for key in MANY), labelled("k5", "In", "5"))),
                BIG,
                SMALL,
            ),
            FITS,
            (UU, MISMATCH),
            id="required terms",
        ),
        pytest.param(
            line(pod(affinity=preferred(*((1, labelled(key, "Exists")) for key in MANY))), BIG, SMALL),
            FITS,
            FITS,
            id="preferred terms",
        ),
        pytest.param(
            line(with_labels(topologySpreadConstraints=[spread(selector=ALL_OF_THEM)]), BIG, SMALL, NEIGHBOUR),
            (U, SKEW),
            FITS,
            id="labels of a spread constraint",
        ),
        pytest.param(
            line(with_labels(topologySpreadConstraints=[spread(matchLabelKeys=list(MANY))]), BIG, SMALL, NEIGHBOUR),
            (U, SKEW),
            FITS,
            id="matchLabelKeys",
        ),
        pytest.param(
            line(with_labels(affinity=near(term(selector=ALL_OF_THEM))), BIG, SMALL, NEIGHBOUR),
            FITS,
            (UU, AFFINITY_RULES),
            id="labels of an affinity term",
        ),
        pytest.param(
            line(
                with_labels(),
                BIG,
                SMALL,
                labelled_pod("holder", "big", affinity=apart(term() | {"namespaces": ["default", *MANY]})),
            ),
            (U, EXISTING_RULES),
            FITS,
            id="namespaces of a term of another pod",
        ),
        pytest.param(line(with_labels(), BIG, SMALL, NEIGHBOUR, service(**MANY)), FITS, FITS, id="service"),
        pytest.param(
            line(
                claiming("data"),
                BIG,
                SMALL,
                storage_class(),
                volume("pv", terms=[ONE_OF_MANY]),
                claim("data", bound="pv"),
            ),
            FITS,
            (UU, "node(s) didn't match PersistentVolume's node affinity"),
            id="affinity of a volume",
        ),
        pytest.param(
            line(claiming("data"), BIG, SMALL, storage_class(), free(volume("pv", labels=MANY)), selecting()),
            FITS,
            FITS,
            id="selector of a claim",
        ),
        pytest.param(
            line(
                claiming("data"),
                BIG,
                SMALL,
                storage_class(),
                csi_driver(storageCapacity=True),
                capacity("c", "1Ti", host="big") | {"nodeTopology": ALL_OF_THEM},
                claim("data"),
            ),
            FITS,
            (UU, "node(s) did not have enough free storage"),
            id="topology of a capacity",
        ),
        pytest.param(
            line(
                labelled_pod(topologySpreadConstraints=[spread()], affinity=apart(term(HOSTNAME, apps("db")))),
                BIG,
                SMALL,
                *CROWD,
            ),
            (U, "Too many pods"),
            FITS,
            id="pods of a node",
        ),
        pytest.param(
            line(
                labelled_pod(),
                node("big", labels={ZONE: "a"}, allocatable={"pods": "20k", "cpu": "20k", "memory": "1Pi"}),
                SMALL,
                *(labelled_pod(f"p{i}", "big", affinity=apart(term(HOSTNAME, apps(f"x{i}")))) for i in range(COUNT)),
            ),
            FITS,
            FITS,
            id="different terms of pods",
        ),
    ],
)
def test_ten_thousand_of_anything_get_their_answer_in_seconds(
    asked: Json, big: tuple[str, str], small: tuple[str, str]
) -> None:
    text = encode(asked).encode()
    began = time.process_time()
    (answer,) = (json.loads(one) for one in answer_lines(iter([text])))
    took = time.process_time() - began

    told = {name: (one["code"], "".join(one.get("reasons", ()))) for name, one in answer["filter"].items()}
    assert told == {"big": big, "small": small}
    assert took < SECONDS
