"""``reprise``: the command line."""

from __future__ import annotations

import argparse
import atexit
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn, TypeAlias

EXIT_FAILURE = 1
EXIT_INTERRUPTED = 130

HIGHEST_SEED = 2**63 - 1
DEFAULT_URL = "https://127.0.0.1:10259"

HIGHEST_COUNT = 1_000_000
"""Of nodes or pods: more would only fill the memory."""

Command: TypeAlias = Callable[[argparse.Namespace], int]

_DESCRIPTION = """\
A second scheduler for Kubernetes. Pods opt in with spec.schedulerName; kube-scheduler's rules, words and
configuration format are kept."""


def parser() -> argparse.ArgumentParser:
    """The whole command line; each subcommand sets ``run``."""
    root = argparse.ArgumentParser(prog="reprise", description=_DESCRIPTION)
    root.add_argument("--version", action="version", version=f"reprise {version('reprise-scheduler')}")
    commands = root.add_subparsers(metavar="COMMAND", required=True)
    _add_run(commands)
    _add_demo(commands)
    _add_evaluate(commands)
    _add_check_config(commands)
    _add_replay(commands)
    _add_bench(commands)
    _add_debug(commands)
    _add_pods_left(commands)
    return root


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, summary: str, details: str, run: Command
) -> argparse.ArgumentParser:
    command = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}. {details}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    return command


def _positive(text: str) -> int:
    # The length first: Python reads no number of thousands of digits.
    if text.isdecimal() and (len(text) > 18 or int(text) > HIGHEST_COUNT):
        raise argparse.ArgumentTypeError(f"at most {HIGHEST_COUNT} are possible, got {text:.20}")
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number above 0, got {text!r}")
    return int(text)


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) > HIGHEST_SEED:
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 to {HIGHEST_SEED}, got {text!r}")
    return int(text)


def _configuration_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--config", type=Path, metavar="FILE", help="KubeSchedulerConfiguration (YAML or JSON); defaults without it"
    )


def _replace_option(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--replace-kube-scheduler",
        action="store_true",
        help="allow the schedulerName default-scheduler and kube-scheduler's Lease, which are refused otherwise",
    )


def _add_run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = _command(commands, "run", "start the scheduler", "It binds the pods that name one of its profiles.", _run)
    _configuration_options(command)
    command.add_argument("--kubeconfig", type=Path, metavar="FILE", help="how to reach the API server")
    command.add_argument(
        "--seed", type=_seed, metavar="N", help="decides ties between equally good nodes (default: random, logged)"
    )
    command.add_argument(
        "--config-resource",
        default="",
        metavar="NAME",
        help="obey the SchedulerConfiguration of this name, and the file only until that has been good once",
    )
    command.add_argument("--story", type=Path, metavar="FILE", help="write every stimulus and instruction to FILE")
    _replace_option(command)


def _run(options: argparse.Namespace) -> int:
    from scheduler.app import run_command

    return run_command.run(options)


def _add_demo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = _command(
        commands,
        "demo",
        "schedule a burst of pods on an embedded API server",
        "No cluster is needed: simulated nodes run what is bound to them.",
        _demo,
    )
    command.add_argument("--nodes", type=_positive, default=200, metavar="N", help="simulated nodes (default: 200)")
    command.add_argument("--pods", type=_positive, default=2000, metavar="N", help="pods to schedule (default: 2000)")
    command.add_argument("--no-live", action="store_true", help="no live view, only the summary")
    command.add_argument("--output", choices=("text", "json"), default="text", help="form of the summary")
    command.add_argument("--seed", type=_seed, default=0, metavar="N", help="decides shapes and ties (default: 0)")


def _demo(options: argparse.Namespace) -> int:
    from scheduler.app import demo

    return demo.run(options)


def _add_evaluate(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = _command(
        commands,
        "evaluate",
        "decide on a pod without a cluster",
        "FILE is a List as `kubectl get nodes,pods,namespaces -A -o json` writes it.",
        _evaluate,
    )
    command.add_argument("file", nargs="?", type=Path, metavar="FILE", help="the cluster; - reads standard input")
    command.add_argument("--pod", metavar="NAMESPACE/NAME", help="the pod of FILE to decide on")
    _configuration_options(command)
    command.add_argument("--output", choices=("text", "json"), default="text", help="form of the answer")
    command.add_argument(
        "--jsonl", action="store_true", help="read clusters, changes and pods as JSON lines from standard input instead"
    )


def _evaluate(options: argparse.Namespace) -> int:
    from scheduler.app import evaluate_command

    return evaluate_command.run(options)


def _add_check_config(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = _command(
        commands,
        "check-config",
        "check a configuration file",
        "Every error is printed with its path; the exit code is 2 when there is one.",
        _check_config,
    )
    command.add_argument("file", type=Path, metavar="FILE", help="KubeSchedulerConfiguration (YAML or JSON)")
    _replace_option(command)


def _check_config(options: argparse.Namespace) -> int:
    from scheduler.app import check_config

    return check_config.run(options)


def _add_replay(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = _command(
        commands,
        "replay",
        "replay a story that `reprise run --story` wrote",
        "Every step that answers something else is printed; the exit code is 1 when there is one.",
        _replay,
    )
    command.add_argument("file", type=Path, metavar="FILE", help="the story")


def _replay(options: argparse.Namespace) -> int:
    from scheduler.app import replay_command

    return replay_command.run(options)


def _add_bench(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    bench = commands.add_parser("bench", help="measure this machine", description="Measure this machine.")
    kinds = bench.add_subparsers(metavar="WHAT", required=True)
    command = _command(
        kinds,
        "decide",
        "measure decisions, without any API server",
        "Cold: every node is evaluated. Warm: with the batch cache. Microseconds.",
        _bench_decide,
    )
    command.add_argument("--nodes", type=_positive, default=5000, metavar="N", help="nodes (default: 5000)")
    command.add_argument("--pods", type=_positive, default=2000, metavar="N", help="pods a case (default: 2000)")
    command.add_argument("--output", choices=("text", "json"), default="text", help="json prints one line a case")
    command = _command(
        kinds,
        "queue",
        "measure parked pods and the events that wake them, without any API server",
        "Each event helps one shape. Hints: plugins asked for an event. Times from the event to decisions.",
        _bench_queue,
    )
    command.add_argument("--pods", type=_positive, default=50_000, metavar="N", help="parked pods (default: 50000)")
    command.add_argument("--shapes", type=_positive, default=100, metavar="N", help="shapes of them (default: 100)")
    command.add_argument("--nodes", type=_positive, default=100, metavar="N", help="nodes (default: 100)")
    command.add_argument("--output", choices=("text", "json"), default="text", help="json prints one line")
    command = _command(
        kinds,
        "preempt",
        "measure decisions that make room for a pod, without any API server",
        "All nodes are full of pods of lower priority. Milliseconds.",
        _bench_preempt,
    )
    command.add_argument("--nodes", type=_positive, default=5000, metavar="N", help="nodes (default: 5000)")
    command.add_argument("--pods", type=_positive, default=50, metavar="N", help="decisions a case (default: 50)")
    command.add_argument("--output", choices=("text", "json"), default="text", help="json prints one line a case")


def _bench_preempt(options: argparse.Namespace) -> int:
    from scheduler.app import bench_preempt

    return bench_preempt.run(options)


def _bench_queue(options: argparse.Namespace) -> int:
    from scheduler.app import bench_queue

    return bench_queue.run(options)


def _bench_decide(options: argparse.Namespace) -> int:
    from scheduler.app import bench_decide

    return bench_decide.run(options)


def _add_debug(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    debug = commands.add_parser(
        "debug", help="look into a running scheduler", description="Look into a running scheduler."
    )
    kinds = debug.add_subparsers(metavar="WHAT", required=True)
    command = _command(
        kinds,
        "compare",
        "compare what a running scheduler knows of nodes and pods with what there is",
        "Asks the scheduler's page /debug/compare, which `serving.debug: true` serves; with --pid it is sent SIGUSR2 instead, "
        "and writes\nthe answer to its log. The exit code is 1 when something differs.",
        _debug_compare,
    )
    command.add_argument(
        "--url", default=DEFAULT_URL, metavar="URL", help=f"where its pages are (default: {DEFAULT_URL})"
    )
    command.add_argument(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="whose token to show (default: that of KUBECONFIG, or of kubectl)",
    )
    command.add_argument("--token-file", type=Path, metavar="FILE", help="the token to show, instead")
    command.add_argument(
        "--certificate-authority", type=Path, metavar="FILE", help="what its certificate is verified by"
    )
    command.add_argument(
        "--insecure-skip-tls-verify",
        action="store_true",
        help="do not verify its certificate, which it may have made itself",
    )
    command.add_argument("--pid", type=_positive, metavar="N", help="the process to send SIGUSR2 to")
    command.add_argument("--output", choices=("text", "json"), default="text", help="form of the answer")


def _debug_compare(options: argparse.Namespace) -> int:
    from scheduler.app import debug_compare

    return debug_compare.run(options)


def _add_pods_left(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = _command(
        commands,
        "pods-left",
        "list the pods that still ask for this scheduler",
        "Look at it before you remove the scheduler: what asks for it then waits for ever.",
        _pods_left,
    )
    _configuration_options(command)
    command.add_argument("--kubeconfig", type=Path, metavar="FILE", help="how to reach the API server")
    command.add_argument(
        "--config-resource",
        default="",
        metavar="NAME",
        help="the SchedulerConfiguration that the scheduler obeys: its profiles too",
    )
    command.add_argument("--output", choices=("text", "json"), default="text", help="form of the list")
    command.add_argument(
        "--always-succeed",
        action="store_true",
        help="exit code 0 even if nobody could be asked: for a hook that may not hold up a removal",
    )


def _pods_left(options: argparse.Namespace) -> int:
    from scheduler.app import pods_left

    return pods_left.run(options)


def _end(code: int) -> NoReturn:
    """End the process, with what is to be done at its end, and without the interpreter's own: the HTTP client's threads (pyreqwest
    0.15) can abort one that ends right after them.
    """
    atexit._run_exitfuncs()  # noqa: SLF001 # files with a client's key are removed there
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 2 for bad usage or input (bad usage raises it), 1 for a failure."""
    options = parser().parse_args(arguments)
    run: Command = options.run
    try:
        code = run(options)
        sys.stdout.flush()
        if arguments is None:
            _end(code)
        return code
    except BrokenPipeError:
        # Whoever read our output has enough of it. What is still buffered goes nowhere, or the interpreter would complain of it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILURE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
