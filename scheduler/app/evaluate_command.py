"""``reprise evaluate``: a table of nodes for one pod of a file, or answers to JSON lines."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import msgspec
from rich import box
from rich.console import Console
from rich.table import Table

from scheduler.api.objects import Pod
from scheduler.app.cluster_objects import ObjectError, decode, flatten, named, readable_pod, to_apply
from scheduler.app.evaluate_jsonl import SEED, answer_lines
from scheduler.app.explanation import RefusedError, answer, as_pending, evaluate
from scheduler.cache.cache import Cache
from scheduler.config.configuration import ConfigurationError, load_for_evaluation
from scheduler.framework.pod_info import PodInfo
from scheduler.profile.failure import PluginFailure

EXIT_BAD_INPUT = 2


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
        for line in error.errors:
            print(line, file=sys.stderr)
        return EXIT_BAD_INPUT
    except (OSError, ObjectError, RefusedError, PluginFailure) as error:
        if options.output == "json":
            print(msgspec.json.encode({"error": str(error)}).decode())
        return _refuse(str(error))


def _refuse(message: str) -> int:
    print(f"reprise evaluate: {message}", file=sys.stderr)
    return EXIT_BAD_INPUT


def _read(options: argparse.Namespace) -> list[dict[str, Any]]:
    data = sys.stdin.buffer.read() if str(options.file) == "-" else options.file.read_bytes()
    try:
        raw = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise ObjectError(
            f"{options.file}: not JSON ({error}): write it with `kubectl get nodes,pods -A -o json`"
        ) from error
    return list(flatten(raw, str(options.file)))


def _find(raws: list[dict[str, Any]], wanted: str) -> tuple[dict[str, Any], Pod]:
    pods = [raw for raw in raws if raw.get("kind") == "Pod"]
    for raw in pods:
        if named(raw) == f"Pod {wanted}":
            return raw, decode(raw, Pod)
    if "/" not in wanted:
        raise ObjectError(f"--pod {wanted}: expected NAMESPACE/NAME")
    raise ObjectError(f"--pod {wanted}: not among the {len(pods)} pods of the file")


def _evaluate_file(options: argparse.Namespace) -> int:
    configuration = load_for_evaluation(options.config)
    raws = _read(options)
    raw, pod = _find(raws, options.pod)
    cache = Cache(seed=SEED)
    for entry in raws:
        change = to_apply(entry)
        if change is not None:
            change(cache)
    info = readable_pod(raw, as_pending(pod))
    cache.remove_pod(info.uid)
    profiles = configuration.profiles
    profile = next((one for one in profiles if one.scheduler_name == pod.spec.scheduler_name), profiles[0])
    result = answer(evaluate(info, profile, cache), cache)
    if options.output == "json":
        print(msgspec.json.encode(result).decode())
    else:
        _print_table(info, pod.spec.node_name, profile.scheduler_name, result)
    return 0


def _print_table(info: PodInfo, bound_to: str, profile: str, result: dict[str, Any]) -> None:
    # A table that is piped somewhere must not be folded to the width of no terminal.
    console = Console(width=None if sys.stdout.isatty() else 200, highlight=False)
    console.print(f"pod {info.key}, profile {profile}")
    if bound_to:
        console.print(f"bound to {bound_to}; evaluated as if it were pending")
    if result["prefilter"]["code"] != "Success":
        given = result["prefilter"]
        console.print(f"no node can fit: {', '.join(given['reasons'])} ({given.get('plugin', 'framework')}, {given['code']})")
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
            table.add_row(
                name, *blanks, verdict.get("plugin", ""), verdict["code"], ", ".join(verdict.get("reasons", ()))
            )
    return table
