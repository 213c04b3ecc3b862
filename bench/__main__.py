"""``python -m bench``: the command line; ``make bench-compare`` calls it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench import compare, contestants, crowd, decide, parking, preempting, report, soak, workload

QUICK_ROUNDS, ROUNDS = 1, 3
NODES, PODS = 1000, 2000
CROWD_NODES, CROWD_BLOCKS = 60, 5
SOAK_MINUTES = 15
PREEMPT_NODES, PREEMPT_PODS, PREEMPT_ROUNDS = (1000, 5000), 50, 3
QUEUE_PODS, QUEUE_ROUNDS, MEMORY_PODS = 50_000, 3, 10_000
DECIDE_NODES, DECIDE_PODS, DECIDE_ROUNDS = (100, 5000, 15000), 2000, 5


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    root = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measures Reprise: beside kube-scheduler on a real API server, its decisions alone, and over a long time.",
    )
    commands = root.add_subparsers(dest="command", metavar="COMMAND", required=True)
    comparing = commands.add_parser(
        "compare",
        help="let contestants bind the same pods in turn",
        description=f"{workload.NAME}: each contestant in turn finds the pods waiting on a fresh cluster and binds them all. "
        "The exit code is 1 when a pod was bound twice, a node is overcommitted or a contestant failed.",
    )
    comparing.add_argument("--nodes", type=_positive, default=NODES, metavar="N", help=f"nodes (default: {NODES})")
    comparing.add_argument("--pods", type=_positive, default=PODS, metavar="N", help=f"pods to bind (default: {PODS})")
    comparing.add_argument(
        "--rounds", type=_positive, metavar="N", help=f"rounds, of which medians are taken (default: {ROUNDS})"
    )
    comparing.add_argument("--quick", action="store_true", help=f"{QUICK_ROUNDS} round unless --rounds says more")
    comparing.add_argument(
        "--contestants",
        type=_contestants,
        default=list(contestants.NAMES),
        metavar="A,B",
        help=f"of {','.join(contestants.NAMES)} (default: all)",
    )
    comparing.add_argument(
        "--output", choices=("text", "json"), default="text", help="json: the last line is a summary for programs"
    )
    comparing.add_argument(
        "--build", action="store_true", help="build the real API server and its like first if they are missing"
    )
    comparing.add_argument("--results", type=Path, metavar="DIR", help="also write all figures to a file in DIR")
    _add_decide(commands)
    _add_preempt(commands)
    _add_queue(commands)
    _add_crowd(commands)
    _add_soak(commands)
    reporting = commands.add_parser(
        "report",
        help="write docs/benchmarks.md from the results",
        description="Reads bench/results/*.json, so that no figure is written by hand.",
    )
    reporting.add_argument("--check", action="store_true", help="change nothing; exit code 1 if it is not up to date")
    return root


def _add_decide(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    sizes = ",".join(map(str, DECIDE_NODES))
    deciding = commands.add_parser(
        "decide",
        help="time decisions, without any API server",
        description="Runs `reprise bench decide` for each number of nodes in turn, in rounds, each time in a new process; "
        "every figure is the median of the rounds.",
    )
    deciding.add_argument(
        "--nodes", type=_several, default=list(DECIDE_NODES), metavar="N,N", help=f"numbers of nodes (default: {sizes})"
    )
    deciding.add_argument(
        "--pods", type=_positive, default=DECIDE_PODS, metavar="N", help=f"pods a case (default: {DECIDE_PODS})"
    )
    deciding.add_argument(
        "--rounds", type=_positive, default=DECIDE_ROUNDS, metavar="N", help=f"rounds (default: {DECIDE_ROUNDS})"
    )
    deciding.add_argument("--results", type=Path, metavar="DIR", help="also write all figures to a file in DIR")


def _add_preempt(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    sizes = ",".join(map(str, PREEMPT_NODES))
    preempts = commands.add_parser(
        "preempt",
        help="time decisions that make room by preemption, without any API server",
        description="Runs `reprise bench preempt` for each number of nodes in turn, in rounds, each time in a new process; "
        "every figure is the median of the rounds.",
    )
    preempts.add_argument(
        "--nodes",
        type=_several,
        default=list(PREEMPT_NODES),
        metavar="N,N",
        help=f"numbers of nodes (default: {sizes})",
    )
    preempts.add_argument(
        "--pods", type=_positive, default=PREEMPT_PODS, metavar="N", help=f"decisions a case (default: {PREEMPT_PODS})"
    )
    preempts.add_argument(
        "--rounds", type=_positive, default=PREEMPT_ROUNDS, metavar="N", help=f"rounds (default: {PREEMPT_ROUNDS})"
    )
    preempts.add_argument("--results", type=Path, metavar="DIR", help="also write all figures to a file in DIR")


def _add_queue(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parked = commands.add_parser(
        "queue",
        help="time events while very many pods are parked, and weigh parked pods beside kube-scheduler's",
        description="Runs `reprise bench queue` in rounds, each time in a new process; then Reprise and kube-scheduler in turn park "
        "the same pods on a real API server. The exit code is 1 when an event asked more hints than the shapes account for.",
    )
    parked.add_argument(
        "--pods", type=_positive, default=QUEUE_PODS, metavar="N", help=f"parked pods (default: {QUEUE_PODS})"
    )
    parked.add_argument(
        "--rounds", type=_positive, default=QUEUE_ROUNDS, metavar="N", help=f"rounds (default: {QUEUE_ROUNDS})"
    )
    parked.add_argument(
        "--memory-pods",
        type=_whole,
        default=MEMORY_PODS,
        metavar="N",
        help=f"parked pods on the real API server; 0 leaves that out (default: {MEMORY_PODS})",
    )
    parked.add_argument("--results", type=Path, metavar="DIR", help="also write all figures to a file in DIR")


def _add_crowd(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    crowding = commands.add_parser(
        "crowd",
        help="count places that two schedulers take twice",
        description="Two kube-schedulers, and Reprise beside kube-scheduler, fill the last places of the same nodes at once. "
        f"A block is {crowd.BLOCK_ROUNDS} rounds of either pair.",
    )
    crowding.add_argument(
        "--nodes",
        type=_positive,
        default=CROWD_NODES,
        metavar="N",
        help=f"nodes, with one place each (default: {CROWD_NODES})",
    )
    crowding.add_argument(
        "--blocks", type=_positive, default=CROWD_BLOCKS, metavar="N", help=f"blocks (default: {CROWD_BLOCKS})"
    )
    crowding.add_argument("--results", type=Path, metavar="DIR", help="also write all figures to a file in DIR")


def _add_soak(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    soaking = commands.add_parser(
        "soak",
        help="let pods and nodes come and go for a long time and see that nothing is left behind",
        description="One scheduler, a real API server, pods and nodes that come and go. The exit code is 1 when memory grew after "
        "the warm-up, or when anything is still held after everything was deleted.",
    )
    soaking.add_argument(
        "--minutes", type=_positive, default=SOAK_MINUTES, metavar="N", help=f"how long (default: {SOAK_MINUTES})"
    )
    soaking.add_argument(
        "--build", action="store_true", help="build the real API server and its like first if they are missing"
    )


def _several(text: str) -> list[int]:
    return list(dict.fromkeys(_positive(one) for one in text.split(",")))


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number above 0, got {text!r}")
    return int(text)


def _whole(text: str) -> int:
    return 0 if text == "0" else _positive(text)


def _contestants(text: str) -> list[str]:
    names = list(dict.fromkeys(text.split(",")))
    if unknown := [name for name in names if name not in contestants.NAMES]:
        raise argparse.ArgumentTypeError(f"{', '.join(map(repr, unknown))} is none of {', '.join(contestants.NAMES)}")
    return names


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    commands = parser()
    options = commands.parse_args(arguments)
    if options.command == "report":
        return report.run(check=options.check)
    if options.command == "decide":
        return decide.run(options)
    if options.command == "preempt":
        return preempting.run(options)
    if options.command == "queue":
        return parking.run(options)
    if options.command == "crowd":
        return crowd.run(options)
    if options.command == "soak":
        return soak.run(options)
    if options.pods < 2:
        commands.error("--pods: at least 2, for there to be a time between the first bind and the last")
    if options.pods > workload.most_pods(options.nodes):
        commands.error(
            f"--pods: {options.nodes} nodes hold {workload.most_pods(options.nodes)} of them, not {options.pods}"
        )
    if options.rounds is None:
        options.rounds = QUICK_ROUNDS if options.quick else ROUNDS
    return compare.run(options)


if __name__ == "__main__":
    sys.exit(main())
