"""Tell scripts to kube-scheduler, twice, and to Reprise, on one real API server, and compare what they did.

python -m tests.parity                     all scripts
python -m tests.parity --half 1            one half of them; the other is 0
python -m tests.parity --only preempt      those whose name has the word
python -m tests.parity --list              their names and what they are about
"""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Any

from tests.oracle.program import MissingOracle, oracle
from tests.parity.comparison import Run, Verdict, compare
from tests.parity.configurations import configurations
from tests.parity.extender import Extender
from tests.parity.listed import LISTED, MOST
from tests.parity.placement import equally_good
from tests.parity.scripts import SCRIPTS
from tests.parity.stage import Performance, Stage
from tests.parity.story import Script
from tests.support.binaries import require_binaries
from tests.support.control_plane import ControlPlane
from tests.support.controller_manager import ControllerManager
from tests.support.daemons import DaemonError
from tests.support.kube_scheduler import KubeScheduler
from tests.support.reprise_process import RepriseError, RepriseProcess

HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
PRIORITIES = {"low": 100, "middle": 1000, "high": 10000, "polite": 10000}


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    chosen = [
        script
        for index, script in enumerate(SCRIPTS)
        if (options.half is None or index % 2 == options.half)
        and all(word in script.name for word in options.only.split())
    ]
    if options.list:
        for script in chosen:
            print(f"{script.name}: {script.about}" + (f" [waits for {script.waits_for}]" if script.waits_for else ""))
        return 0
    told = [script for script in chosen if options.all or not script.waits_for]
    if not told:
        print("no script is left")
        return 1
    require_binaries("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager")
    try:
        oracle()
    except MissingOracle as error:
        print(error)
        return 1
    began = time.monotonic()
    shards = [told[index :: options.servers] for index in range(min(options.servers, len(told)))]
    with ThreadPoolExecutor(len(shards)) as pool:
        parts = list(pool.map(partial(_tell, show=options.show), shards))
    verdicts = {script.name: part[script.name] for script in told for part in parts if script.name in part}
    return _report(verdicts, left_out=len(chosen) - len(told), options=options, seconds=time.monotonic() - began)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.parity", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--half", type=int, choices=(0, 1), help="tell this half of the scripts")
    parser.add_argument("--only", default="", metavar="WORDS", help="tell the scripts whose name has all these words")
    parser.add_argument("--all", action="store_true", help="tell those too that wait for a part of the product")
    parser.add_argument(
        "--servers", type=int, default=1, metavar="N", help="deal the scripts out to this many API servers at once (1)"
    )
    parser.add_argument("--list", action="store_true", help="list the scripts and end")
    parser.add_argument("--show", action="store_true", help="show what kube-scheduler did")
    parser.add_argument(
        "--unsteady", action="store_true", help="show what kube-scheduler's own two runs do not agree on"
    )
    return parser.parse_args(arguments)


def _tell(scripts: Sequence[Script], *, show: bool) -> dict[str, Verdict]:
    groups: dict[str, list[Script]] = {}
    for script in scripts:
        groups.setdefault(script.configuration, []).append(script)
    performances: dict[str, list[Performance]] = {script.name: [] for script in scripts}
    with ExitStack() as stack:
        control_plane = stack.enter_context(ControlPlane())
        extender = stack.enter_context(Extender(control_plane.client()))
        known = configurations(extender.url)
        for name, value in PRIORITIES.items():
            control_plane.client().create(_priority_class(name, value))
        stack.enter_context(ControllerManager(control_plane, controllers=("persistentvolume-binder-controller",)))
        for configuration, group in groups.items():
            for contestant in ("kube-scheduler", "kube-scheduler again", "reprise"):
                began = time.monotonic()
                _perform(control_plane, contestant, known[configuration], group, performances)
                count = f"{len(group)} script{'s' * (len(group) != 1)}"
                print(f"{configuration}: {contestant}: {count} in {time.monotonic() - began:.0f} s", flush=True)
    judged = equally_good(
        [
            (performance.placements, {**HEADER, **known[script.configuration]})
            for script in scripts
            for performance in performances[script.name]
        ]
    )
    made = {}
    for index, script in enumerate(scripts):
        runs = [
            Run(performance.snapshots, placed, performance.problem)
            for performance, placed in zip(performances[script.name], judged[3 * index : 3 * index + 3], strict=True)
        ]
        made[script.name] = compare(runs[0], runs[1], runs[2])
        if show:
            _show(script, runs[0])
    return made


def _perform(
    control_plane: ControlPlane,
    contestant: str,
    configuration: Mapping[str, Any],
    scripts: Sequence[Script],
    performances: Mapping[str, list[Performance]],
) -> None:
    scheduler: KubeScheduler | RepriseProcess
    if contestant == "reprise":
        scheduler = RepriseProcess(control_plane, configuration)
    else:
        scheduler = KubeScheduler(control_plane, configuration)

    def page(path: str) -> str:
        read = scheduler.page(path)
        return read if isinstance(read, str) else read.body.decode()

    before = {script.name: len(performances[script.name]) for script in scripts}
    try:
        with scheduler, Stage(control_plane.client(), page) as stage:
            for script in scripts:
                performances[script.name].append(stage.perform(script))
            if isinstance(scheduler, RepriseProcess):
                for message, line in {each["msg"]: each for each in scheduler.complaints()}.items():
                    print(f"reprise complained of {message!r}: {line}", flush=True)
    except (DaemonError, RepriseError, AssertionError) as error:  # it did not start, or knows at the end what is not so
        for script in scripts:
            if len(performances[script.name]) == before[script.name]:
                performances[script.name].append(Performance())
        performances[scripts[-1].name][-1].problem = str(error)


def _report(verdicts: Mapping[str, Verdict], *, left_out: int, options: argparse.Namespace, seconds: float) -> int:
    same = different = 0
    used: set[int] = set()
    facts = 0
    for name, verdict in verdicts.items():
        facts += verdict.compared
        if options.unsteady:
            for line in verdict.unsteady:
                print(f"{name}: not compared, as kube-scheduler differs from itself: {line}")
        left = []
        for difference in verdict.differences:
            covering = [index for index, each in enumerate(LISTED) if each.covers(name, difference)]
            used.update(covering)
            if not covering:
                left.append(difference)
        if left:
            different += 1
            print(f"\n{name}: DIFFERENT")
            for difference in left:
                print(f"    {difference}")
        elif not verdict.differences:
            same += 1
        else:
            print(f"{name}: differs as listed")
    listed = len(verdicts) - same - different
    stale = [each for index, each in enumerate(LISTED) if each.script in verdicts and index not in used]
    for each in stale:
        print(f"{each.script}: listed as different in {each.what!r}, and is not")
    unsteady = sum(len(verdict.unsteady) for verdict in verdicts.values())
    print(f"\n{facts} facts compared, {unsteady} left out, as kube-scheduler differs from itself; {seconds:.0f} s")
    if left_out:
        print(f"{left_out} scripts were not told: they wait for a part of the product")
    if different:
        print(f"{different} scripts are different")
    print(f"{len(verdicts)} scripts, {same} same, {listed} listed differences")
    return 1 if different or stale or len(LISTED) > MOST else 0


def _show(script: Script, run: Run) -> None:
    """What kube-scheduler did, step by step."""
    lines = [f"\n{script.name}: {script.about}"]
    for number, snapshot in enumerate(run.snapshots, 1):
        lines.append(f"  step {number}")
        for name, facts in snapshot.items():
            nominated = f", nominated to {facts['nominated']}" if facts["nominated"] else ""
            lines.append(f"    {name}: {facts['is']}{nominated}")
            lines += [
                f"      {kind}: {condition['status']} {condition['reason']}"
                for kind, condition in facts["conditions"].items()
            ]
            lines += [f"      {event}" for event in facts["events"]]
        lines += [f"    {one.name} on {one.node} of {list(one.best)}" for one in run.placed if one.step == number]
    print("\n".join(lines), flush=True)


def _priority_class(name: str, value: int) -> dict[str, Any]:
    made: dict[str, Any] = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }
    return made | ({"preemptionPolicy": "Never"} if name == "polite" else {})


if __name__ == "__main__":
    sys.exit(main())
