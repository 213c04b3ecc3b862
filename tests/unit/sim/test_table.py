"""Ages as kubectl writes them (apimachinery duration.HumanDuration), and the words for pods and nodes."""

from datetime import UTC, datetime
from typing import Any

import pytest

from scheduler.sim.resources import NODES, PODS, RESOURCES
from scheduler.sim.table import columns_of, duration_text, row_of

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
CREATED = "2026-11-30T11:59:30Z"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (599, "9m59s"),
        (600, "10m"),
        (3 * 3600 - 1, "179m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 300, "3h5m"),
        (8 * 3600, "8h"),
        (48 * 3600 - 1, "47h"),
        (48 * 3600, "2d"),
        (50 * 3600, "2d2h"),
        (8 * 86400, "8d"),
        (100 * 86400, "100d"),
    ],
)
def test_an_age_is_written(seconds: float, expected: str) -> None:
    assert duration_text(seconds) == expected


def pod(*, status: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "web", "creationTimestamp": CREATED, **metadata},
        "spec": {"containers": [{"name": "a"}, {"name": "b"}]},
        "status": {"phase": "Pending", **(status or {})},
    }


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (pod(), ["0/2", "Pending", "0"]),
        (
            pod(
                status={"phase": "Running", "containerStatuses": [{"ready": True, "restartCount": 2}, {"ready": False}]}
            ),
            ["1/2", "Running", "2"],
        ),
        (pod(status={"reason": "Evicted", "phase": "Failed"}), ["0/2", "Evicted", "0"]),
        (
            pod(status={"conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]}),
            ["0/2", "SchedulingGated", "0"],
        ),
        (pod(deletionTimestamp=CREATED), ["0/2", "Terminating", "0"]),
    ],
)
def test_a_pod_is_shown_in_a_row(item: dict[str, Any], expected: list[str]) -> None:
    assert row_of(PODS, item, NOW) == ["web", *expected, "30s", "<none>", "<none>", "<none>"]


@pytest.mark.parametrize(
    ("ready", "unschedulable", "expected"),
    [
        ("True", False, "Ready"),
        ("False", False, "NotReady"),
        ("Unknown", False, "NotReady"),
        (None, False, "Unknown"),
        ("True", True, "Ready,SchedulingDisabled"),
    ],
)
def test_a_node_is_shown_in_a_row(ready: str | None, unschedulable: bool, expected: str) -> None:
    conditions = [] if ready is None else [{"type": "Ready", "status": ready}]
    labels = {"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/edge": ""}
    node = {
        "metadata": {"name": "node-x", "creationTimestamp": CREATED, "labels": labels},
        "spec": {"unschedulable": unschedulable},
        "status": {"conditions": conditions, "nodeInfo": {"kubeletVersion": "v1.37.2"}},
    }

    assert row_of(NODES, node, NOW) == ["node-x", expected, "edge,worker", "30s", "v1.37.2"]


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda row: row.plural)
def test_a_row_has_a_cell_for_each_column(resource: Any) -> None:
    assert len(row_of(resource, pod(), NOW)) == len(columns_of(resource))
