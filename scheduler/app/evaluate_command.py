"""``reprise evaluate``: a table of nodes for one pod of a file, or answers to JSON lines."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import msgspec
from rich import box
from rich.console import Console
from rich.table import Table

from scheduler.app.cluster_objects import ObjectError, flatten, key_of_raw, parse_json, read_object, read_pod
from scheduler.app.evaluate_jsonl import answer_lines
from scheduler.app.explanation import RefusedError, answer, as_pending, evaluate, profile_for
from scheduler.app.plain_cluster import PlainCluster
from scheduler.config.configuration import ConfigurationError, load_for_evaluation
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.status import Code
from scheduler.profile.failure import PluginFailure
from scheduler.profile.profile import Profile

EXIT_BAD_INPUT = 2

_WIDEST = 100_000


def run(options: argparse.Namespace) -> int:
    """Exit code 2 for input that cannot be used, with what to do about it on standard error."""
    if options.jsonl:
        if options.file is not None or options.pod is not None or options.config is not None:
            return _refuse("--jsonl reads everything from standard input: leave out FILE, --pod and --config")
        for line in answer_lines(sys.stdin.buffer):
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
        return 0
    if options.file is None or options.pod is None:
        return _refuse("give FILE and --pod NAMESPACE/NAME, or --jsonl; see `reprise evaluate --help`")
    try:
        return _evaluate_file(options)
    except ConfigurationError as error:
        for problem in error.errors:
            print(problem, file=sys.stderr)
        return EXIT_BAD_INPUT
    except (OSError, ObjectError, RefusedError, PluginFailure) as error:
        if options.output == "json":
            print(msgspec.json.encode({"error": str(error)}).decode())
        return _refuse(str(error))


def _refuse(message: str) -> int:
    print(f"reprise evaluate: {message}", file=sys.stderr)
    return EXIT_BAD_INPUT


def _read(options: argparse.Namespace) -> list[dict[str, Any]]:
    name = "standard input" if str(options.file) == "-" else str(options.file)
    data: bytes = sys.stdin.buffer.read() if str(options.file) == "-" else options.file.read_bytes()
    try:
        raw = parse_json(data)
    except ObjectError as error:
        raise ObjectError(f"{name}: {error}: write it with `kubectl get nodes,pods,namespaces -A -o json`") from error
    return list(flatten(raw, name))


def _find(raws: list[dict[str, Any]], wanted: str) -> PodInfo:
    """The pod of that name; of several the last, as it takes the place of the others."""
    pods = [raw for raw in raws if raw["kind"] == "Pod"]
    for raw in reversed(pods):
        if key_of_raw(raw) == wanted:
            return read_pod(raw, "--pod")
    if "/" not in wanted:
        raise ObjectError(f"--pod {wanted}: expected NAMESPACE/NAME")
    raise ObjectError(f"--pod {wanted}: not among the {len(pods)} pods of the file")


def _evaluate_file(options: argparse.Namespace) -> int:
    configuration = load_for_evaluation(options.config)
    raws = _read(options)
    given = _find(raws, options.pod)
    cluster = PlainCluster()
    for raw in raws:
        item = read_object(raw)
        if item is not None:
            cluster.apply(item)
    pod = as_pending(given)
    profile = profile_for(pod, configuration.profiles)
    with cluster.without(pod.uid):
        result = answer(evaluate(pod, profile, cluster.cache), cluster.cache)
    if options.output == "json":
        print(msgspec.json.encode(result).decode())
    else:
        _print_table(given, profile, result)
    return 0


def _print_table(pod: PodInfo, profile: Profile, result: dict[str, Any]) -> None:
    # Wider than any table: names and reasons are there to be read and searched for, so nothing is cut to fit a terminal.
    console = Console(width=_WIDEST, highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        _render(console, pod, profile, result)
    for line in captured.get().splitlines():
        print(line.rstrip())


def _render(console: Console, pod: PodInfo, profile: Profile, result: dict[str, Any]) -> None:
    console.print(f"pod {pod.key}, profile {profile.scheduler_name}")
    if pod.pod.spec.node_name:
        console.print(f"bound to {pod.pod.spec.node_name}; evaluated as if it were pending")
    gate = profile.run_pre_enqueue(pod)
    if gate.code is not Code.SUCCESS:
        console.print(f"{gate.message} ({gate.plugin}, {gate.code.label}); evaluated as if it were not")
    if result["prefilter"]["code"] != "Success":
        given = result["prefilter"]
        console.print(
            f"no node can fit: {', '.join(given['reasons'])} ({given.get('plugin', 'framework')}, {given['code']})"
        )
        return
    console.print(_node_table(result))
    if not result["best"]:
        console.print("no node fits")
    else:
        unscored = "" if result.get("scored", True) else " (the only one that fits, taken without scoring)"
        console.print(f"best: {', '.join(result['best'])}{unscored}")


def _node_table(result: dict[str, Any]) -> Table:
    plugins = list(dict.fromkeys(plugin for scores in result["scores"].values() for plugin in scores))
    table = Table("NODE", "TOTAL", *plugins, "REFUSED BY", "CODE", "REASONS", box=box.SIMPLE)
    feasible = sorted(result["totals"], key=lambda name: (-result["totals"][name], name))
    for name in feasible:
        scores = result["scores"][name]
        table.add_row(
            name,
            str(result["totals"][name]),
            *(f"{scores[plugin]['raw']} -> {scores[plugin]['weighted']}" for plugin in plugins),
        )
    for name, verdict in result["filter"].items():
        if name not in result["totals"]:
            blanks = [""] * (len(plugins) + 1)
            reasons = ", ".join(verdict.get("reasons", ()))
            if "details" in verdict:
                reasons += f" [{', '.join(verdict['details'])}]"
            table.add_row(name, *blanks, verdict.get("plugin", ""), verdict["code"], reasons)
    return table
