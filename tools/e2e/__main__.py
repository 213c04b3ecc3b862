"""`tools/e2e/checks --kubeconfig FILE`: Reprise in a cluster as its users have it, whichever way the cluster came up.

The chart is installed with the real helm, pods of all kinds get Reprise as their scheduler, the scheduler is restarted,
upgraded, loses its leader, and is uninstalled. The image has to be in the cluster already.
"""

import argparse
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from tools.e2e import manifests, metrics, release, reloading, replicas, rights, workloads
from tools.e2e.cluster import CheckFailure, Cluster
from tools.e2e.run import NAMESPACE, WORK, Run
from tools.e2e.simulated_nodes import simulated_nodes

ROOT = Path(__file__).parents[2]
NODES = 200
SPREAD_PODS = 400


def main() -> int:
    """Run all checks; returns the exit code."""
    options = _options()
    programs = _built("tools/control-plane/build.sh")
    helm = _built("tools/chart/build.sh") / "helm"
    cluster = Cluster(options.kubeconfig.resolve(), programs / "kubectl", helm)
    repository, _, tag = options.image.rpartition(":")
    run = Run(cluster, options.chart, repository, tag, options.workload_image, options.audit_log)
    began = time.monotonic()
    try:
        cluster.apply(manifests.namespace(WORK))
        with simulated_nodes(cluster, programs / "kwok", NODES):
            _all_checks(run)
    except CheckFailure as failure:
        print(f"FAILED  the checks could not go on: {failure}")
        run.failed.append("everything")
    finally:
        if not options.keep:
            _clean(run)
    verdict = f"FAILED: {', '.join(run.failed)}" if run.failed else "all checks passed"
    print(f"e2e: {verdict}, {time.monotonic() - began:.0f} s", flush=True)
    return 1 if run.failed else 0


def _all_checks(run: Run) -> None:
    if run.check("helm install --wait", release.install):
        run.check("a Deployment, a Job and a DaemonSet run in containers", workloads.containers)
        run.check("the examples run", workloads.examples)
        run.check("a changed SchedulerConfiguration decides at once", reloading.change)
        run.check("invalid ones change nothing", reloading.refuse)
        run.check("pods spread over zones and nodes", partial(workloads.spread, pods=SPREAD_PODS))
        run.check("/metrics through the Service", metrics.through_the_service)
        run.check("kubectl rollout restart loses nothing", replicas.restart)
        run.check("helm upgrade to two replicas", release.upgrade)
        run.check("the other replica takes over", replicas.takeover)
        if run.audit_log:
            # Before the uninstall, which takes rights away from pods that are still ending.
            run.check("nothing was forbidden", rights.nothing_was_forbidden)
    run.check("helm uninstall leaves nothing", release.uninstall)


def _clean(run: Run) -> None:
    """Best effort: a cluster that is thrown away needs none of it."""
    try:
        run.cluster.kubectl("delete", "namespace", WORK, NAMESPACE, "--ignore-not-found", "--wait=false")
    except CheckFailure as failure:
        print(f"e2e: could not clean up: {failure}")


def _built(script: str) -> Path:
    done = subprocess.run([ROOT / script], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"e2e: {script} failed")
    return Path(done.stdout.strip().splitlines()[-1])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/e2e/checks", description="check Reprise in a cluster")
    named = os.environ.get("KUBECONFIG")
    parser.add_argument("--kubeconfig", type=Path, required=not named, default=named and Path(named), metavar="FILE")
    parser.add_argument(
        "--image", required=True, metavar="NAME:TAG", help="of the scheduler; the cluster has it already"
    )
    parser.add_argument("--chart", type=Path, default=ROOT / "charts" / "reprise", metavar="FOLDER")
    parser.add_argument("--workload-image", default="docker.io/library/busybox:1.36", metavar="NAME:TAG")
    parser.add_argument("--audit-log", type=Path, metavar="FILE", help="of the API server, to look for refusals in")
    parser.add_argument("--keep", action="store_true", help="leave the namespaces for a look")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
