"""``reprise bench preempt``: how long a decision takes that makes room for a pod by preemption, without any API server.

All nodes are full of pods of lower priority, and each pod that comes finds victims on as many nodes as are enough to choose from.
What it decides is answered and taken back again, so that each pod finds the same cluster. Batching is off: every pod is of a shape
that was not seen before, and its decision begins with a look at all nodes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
from rich import box
from rich.console import Console
from rich.table import Table

from scheduler.api.disruption import PodDisruptionBudget
from scheduler.api.objects import Pod
from scheduler.app.allocator import keep_freed_blocks
from scheduler.app.bench_cases import NAMESPACE, Case, build_node, build_pod
from scheduler.app.garbage import spare_what_is_loaded
from scheduler.batch.options import BatchOptions
from scheduler.config.configuration import load
from scheduler.core.instruction import Instruction, PreemptPod
from scheduler.core.scheduler import Scheduler
from scheduler.core.stimulus import DisruptionBudgetApplied, NodeApplied, PodApplied, PodDeleted, PodPreempted
from scheduler.plugins.default_preemption import DefaultPreemptionArgs

NOW = 1_800_000_000.0
SEED = 1
PRIORITIES = 3
"""Of the pods that are there: they differ in priority, and in when they started."""
APPS = 20
_NODE = Case(name="", steps=lambda _nodes, _pods, _now: iter(()), cpu="30", pods_per_node=110)
_FIGURES = ("case", "pods_a_node", "candidates", "victims", "ms_p50", "ms_p99", "cpu_ms_p50")


@dataclass(frozen=True, kw_only=True)
class PreemptCase:
    """``pods_a_node`` share the CPUs of each node, and the pod that comes wants half of them.

    ``fields``: of the pod that comes; ``is_budgeted``: half of the apps that are there have a budget with nothing left.
    """

    name: str
    pods_a_node: int
    fields: dict[str, Any] = field(default_factory=dict)
    is_budgeted: bool = False


def _apart() -> dict[str, Any]:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "app-0"}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


CASES = (
    PreemptCase(name="cpu and memory", pods_a_node=4),
    PreemptCase(name="cpu and memory", pods_a_node=10),
    PreemptCase(name="cpu and memory", pods_a_node=30),
    PreemptCase(name="with disruption budgets", pods_a_node=30, is_budgeted=True),
    PreemptCase(name="with anti-affinity to other pods", pods_a_node=10, fields={"affinity": _apart()}),
)


def run(options: argparse.Namespace) -> int:
    """Prints one line a case as it is done."""
    keep_freed_blocks()
    table = Table(*(name.replace("_", " ").upper() for name in _FIGURES), box=box.SIMPLE)
    for case in CASES:
        print(
            f"bench preempt: {case.name}, {options.nodes} nodes of {case.pods_a_node} pods each",
            file=sys.stderr,
        )
        result = measure(case, options.nodes, options.pods)
        if options.output == "json":
            print(msgspec.json.encode(result).decode(), flush=True)
        else:
            table.add_row(*(str(result[name]) for name in _FIGURES))
    if options.output != "json":
        Console().print(table)
    return 0


def measure(case: PreemptCase, nodes: int, pods: int) -> dict[str, Any]:
    """Milliseconds of a decision, all of it: from the queue to the victims.

    ``candidates``: nodes that are enough to choose from; ``victims``: the most that one pod had. ``cpu_ms``: of the thread that
    decides, which is what a decision takes where nobody else wants the CPU.
    """
    scheduler = _cluster(case, nodes)
    took: list[int] = []
    worked: list[int] = []
    most = 0
    for index in range(pods):
        elapsed, cpu, victims = _decide(scheduler, _coming(case, index))
        took.append(elapsed)
        worked.append(cpu)
        most = max(most, victims)
    return {
        "case": case.name,
        "nodes": nodes,
        "pods_a_node": case.pods_a_node,
        "candidates": DefaultPreemptionArgs().enough_of(nodes),
        "victims": most,
        "ms_p50": _quantile(took, 0.5),
        "ms_p99": _quantile(took, 0.99),
        "cpu_ms_p50": _quantile(worked, 0.5),
    }


def _cluster(case: PreemptCase, nodes: int) -> Scheduler:
    configuration = load(None)
    profiles = {one.scheduler_name: one for one in configuration.profiles}
    scheduler = Scheduler(profiles, seed=SEED, backoff=configuration.backoff, batching=BatchOptions(enabled=False))
    for index in range(nodes):
        scheduler.handle(NodeApplied(now=NOW, node=build_node(index, _NODE)))
    for pod in _there(case, nodes):
        scheduler.handle(PodApplied(now=NOW, pod=pod))
    for number in range(0, APPS if case.is_budgeted else 0, 2):
        scheduler.handle(DisruptionBudgetApplied(now=NOW, budget=_budget(f"app-{number}")))
    spare_what_is_loaded()
    return scheduler


def _there(case: PreemptCase, nodes: int) -> Iterator[Pod]:
    for index in range(nodes * case.pods_a_node):
        plain = build_pod(
            index,
            prefix="there",
            cpu=f"{30_000 // case.pods_a_node}m",
            labels={"app": f"app-{index % APPS}"},
            priority=index % PRIORITIES,
            nodeName=f"node-{index % nodes:06}",
        )
        started = f"2026-01-{index % 28 + 1:02}T{index % 24:02}:{index % 60:02}:{index // 60 % 60:02}Z"
        yield msgspec.structs.replace(plain, status=msgspec.structs.replace(plain.status, start_time=started))


def _coming(case: PreemptCase, index: int) -> Pod:
    return build_pod(index, prefix="coming", cpu="15", priority=1000, labels={"app": "urgent"}, **case.fields)


def _budget(app: str) -> PodDisruptionBudget:
    raw = {
        "metadata": {"name": app, "namespace": NAMESPACE, "uid": f"uid-{app}"},
        "spec": {"selector": {"matchLabels": {"app": app}}},
        "status": {"disruptionsAllowed": 0},
    }
    return msgspec.convert(raw, PodDisruptionBudget)


def _decide(scheduler: Scheduler, pod: Pod) -> tuple[int, int, int]:
    """Nanoseconds of the decision on a pod, on the clock and of CPU, and the number of its victims; all is as before when it returns."""
    clock, cpu_clock = time.perf_counter_ns, time.thread_time_ns
    scheduler.handle(PodApplied(now=NOW, pod=pod))
    cpu_began, began = cpu_clock(), clock()
    result = scheduler.schedule_one(NOW)
    elapsed, cpu = clock() - began, cpu_clock() - cpu_began
    victims = 0
    todo: list[Instruction] = [] if result is None else list(result.instructions)
    while todo:
        one = todo.pop()
        if isinstance(one, PreemptPod):
            victims += 1
            todo += scheduler.handle(PodPreempted(now=NOW, number=one.number))
    metadata = pod.metadata
    scheduler.handle(PodDeleted(now=NOW, namespace=metadata.namespace, name=metadata.name, uid=metadata.uid))
    if not victims:
        raise RuntimeError(f"pod {pod.metadata.name} found no victims")
    return elapsed, cpu, victims


def _quantile(took: list[int], share: float) -> float:
    ordered = sorted(took)
    return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))] / 1e6, 2)
