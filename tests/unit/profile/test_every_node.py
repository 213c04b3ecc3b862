"""By default every node is examined, where kube-scheduler stops at a share of a large cluster."""

from scheduler.cache.cache import Cache
from scheduler.framework.pod_info import PodInfo
from scheduler.profile.evaluation import Evaluation
from tests.support.builders import make_node, make_pod
from tests.support.scripted_plugins import make_profile


def test_of_1000_nodes_that_fit_all_are_candidates() -> None:
    """kube-scheduler 1.37 would stop at 420: 50 - 1000 / 125 percent of them."""
    cache = Cache(seed=1)
    for number in range(1000):
        cache.apply_node(make_node(f"n{number}"))
    evaluation = Evaluation(make_profile(), PodInfo(make_pod()), cache.table)

    evaluation.refresh()

    assert evaluation.feasible_count == 1000
    assert len(evaluation.feasible_rows()) == 1000
