"""Answers for one plugin alone from Reprise: python -m tests.oracle.direct reads lines that have "alone" (README.md).

Such a line is evaluated as by `reprise evaluate --jsonl`, except that the pod keeps its spec.nodeName; SchedulingGates and
PrioritySort, which no evaluation asks, are called here.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime

from scheduler.app.cluster_objects import read_object, read_pod
from scheduler.app.explanation import answer, evaluate, profile_for
from scheduler.app.plain_cluster import PlainCluster
from scheduler.config.configuration import from_object
from scheduler.framework.status import Code
from scheduler.plugins.priority_sort import PrioritySort
from scheduler.plugins.scheduling_gates import SchedulingGates
from scheduler.profile.failure import PluginFailure
from tests.oracle.draw import Json


def answer_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    for line in lines:
        asked = json.loads(line)
        match asked["alone"]:
            case "SchedulingGates":
                yield json.dumps(_gates(asked)).encode() + b"\n"
            case "PrioritySort":
                yield json.dumps(_sorted(asked)).encode() + b"\n"
            case _:
                yield json.dumps(_evaluated(asked)).encode() + b"\n"


def _evaluated(asked: Json) -> Json:
    cluster, pod = PlainCluster(), read_pod(asked["pod"], "pod")
    for raw in asked["objects"]:
        if (item := read_object(raw)) is not None:
            cluster.apply(item)
    profile = profile_for(pod, from_object(asked["config"], any_scheduler_name=True).profiles)
    try:
        with cluster.without(pod.uid):
            return answer(evaluate(pod, profile, cluster.cache, None), cluster.cache)
    except PluginFailure as failure:
        return {"error": str(failure)}


def _gates(asked: Json) -> Json:
    status = SchedulingGates().pre_enqueue(read_pod(asked["pod"], "pod"))
    if status.code is Code.SUCCESS:
        return {"prefilter": {"code": status.code.label}}
    return {"prefilter": {"code": status.code.label, "plugin": status.plugin, "reasons": list(status.reasons)}}


def _sorted(asked: Json) -> Json:
    """The names of the pods in the order of the queue, each as if it had come there at its creation."""
    pods = [one for one in asked["objects"] if one["kind"] == "Pod"]
    queued = [(PrioritySort().sort_key(read_pod(one, "pod"), _created(one)), one["metadata"]["name"]) for one in pods]
    return {"prefilter": {"code": "Success"}, "filter": {}, "best": [name for _, name in sorted(queued)]}


def _created(one: Json) -> float:
    return datetime.fromisoformat(one["metadata"]["creationTimestamp"]).timestamp()


def main() -> None:
    for made in answer_lines(sys.stdin.buffer):
        sys.stdout.buffer.write(made)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
