"""Shapes of pods that keep near or apart, for stories; and the namespaces that their terms are about."""

from __future__ import annotations

from random import Random
from typing import Any

from scheduler.api.objects import Namespace
from tests.support.builders import HOSTNAME
from tests.support.pod_affinity import affinity, namespace, term, weighted

NAMESPACES = ("default", "red", "blue")
X, Y = {"matchLabels": {"app": "x"}}, {"matchLabels": {"app": "y"}}
TEAM_A = {"matchLabels": {"team": "a"}}
INDEX = "batch.kubernetes.io/job-completion-index"

SHAPES: tuple[dict[str, Any], ...] = (
    {"labels": {"app": "x"}, "affinity": affinity(apart=(term(HOSTNAME, X),))},
    {"labels": {"app": "x"}, "affinity": affinity(near=(term("zone", X),))},
    {"labels": {"app": "y"}, "affinity": affinity(near=(term("zone", X), term(HOSTNAME, X)))},
    {
        "labels": {"app": "y"},
        "affinity": affinity(
            prefer_near=(weighted(30, term("zone", X)),), prefer_apart=(weighted(7, term(HOSTNAME, Y)),)
        ),
    },
    {
        "labels": {"app": "z"},
        "affinity": affinity(apart=(term("zone", X, namespaceSelector=TEAM_A), term(HOSTNAME, Y, namespaces=["red"]))),
    },
    {
        "labels": {"app": "z"},
        "affinity": affinity(prefer_apart=(weighted(50, term(HOSTNAME, {}, namespaceSelector=TEAM_A)),)),
    },
)

GUARDED = {"app": "guarded"}
GUARD = affinity(apart=(term("zone", {"matchLabels": GUARDED}), term(HOSTNAME, {"matchLabels": GUARDED})))
"""Against pods that no other term is about, though others look at the same label."""

INDEX_TERM = affinity(
    prefer_near=(weighted(3, term(HOSTNAME, {"matchExpressions": [{"key": INDEX, "operator": "Exists"}]})),)
)
"""Looks at a label that is another one for each pod."""


def random_namespace(random: Random) -> Namespace:
    """One of the namespaces, with one of two labels or none."""
    name = random.choice(NAMESPACES)
    return namespace(name, **random.choice(({"team": "a"}, {"team": "b"}, {})))
