"""The differences that are meant: each is one of a script, has a line in docs/differences.md and a test that shows it."""

import re
from dataclasses import dataclass

from tests.parity.comparison import Difference

MOST = 4


@dataclass(frozen=True)
class Listed:
    """A meant difference: in this script, of facts whose path matches."""

    script: str
    what: str
    """A regular expression that the whole path matches."""
    why: str
    shown_by: str
    """The test, as docs/differences.md names it."""

    def covers(self, script: str, difference: Difference) -> bool:
        return self.script == script and re.fullmatch(self.what, difference.what) is not None


LISTED: tuple[Listed, ...] = (
    Listed(
        "a namespace is labelled",
        r"web( / .*)?",
        "labels of a Namespace make an affinity term one about other pods: kube-scheduler wakes nobody",
        "tests/unit/core/test_node_handlers.py::test_a_guarded_pod_wakes_when_its_namespace_is_labelled_otherwise",
    ),
    Listed(
        "a guard that others must keep away from",
        r"web( / .*)?",
        "a node comes that the anti-affinity of another pod does not reach: kube-scheduler does not wake the one it keeps off",
        "tests/unit/core/test_node_handlers.py::test_a_guarded_pod_wakes_when_a_node_comes_that_the_guard_does_not_reach",
    ),
    Listed(
        "nodes come back from an extender without their pods",
        r"next: equally good nodes",
        "nodes that an extender answers with whole: kube-scheduler scores them as if no pod were on them",
        "tests/unit/core/test_extending.py::test_pods_on_the_nodes_count_in_their_scores_after_an_extender",
    ),
)
