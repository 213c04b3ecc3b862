"""What users run: a Deployment, a Job and a DaemonSet in containers, and many pods that spread over zones and nodes."""

from collections import Counter
from pathlib import Path

from tools.e2e import manifests
from tools.e2e.cluster import Object, require, wait_until
from tools.e2e.manifests import ZONES
from tools.e2e.run import SCHEDULER, WORK, Run

EXAMPLES = Path(__file__).parents[2] / "deploy" / "examples"
REPLICAS, COMPLETIONS = 3, 4
POD_SECONDS = 90.0


def containers(run: Run) -> str:
    """A Deployment, a Job and a DaemonSet get their pods Running in containers, and it was Reprise that bound them."""
    image = run.workload_image
    serving = manifests.deployment("serving", REPLICAS, manifests.template("serving", image, "echo I run; sleep 1d"))
    # Its pods must be seen running, so they end when they are told to and not before.
    batch = manifests.job("batch", COMPLETIONS, manifests.template("batch", image, _UNTIL_TOLD, restartPolicy="Never"))
    everywhere = manifests.daemon_set("everywhere", manifests.template("everywhere", image, "sleep 1d"))
    run.cluster.apply(serving, batch, everywhere)
    nodes = len(run.cluster.all("nodes", selector="!type"))
    wanted = {"serving": REPLICAS, "batch": COMPLETIONS, "everywhere": nodes}
    took = wait_until(f"pods run: {wanted}", lambda: _running(run) == wanted, seconds=POD_SECONDS)
    for pod in _pods(run):
        [status] = pod["status"]["containerStatuses"]
        require("://" in status["containerID"], f"pod {pod['metadata']['name']} has no container: {status}")
    require(
        run.cluster.kubectl("logs", "deployment/serving", f"--namespace={WORK}") == "I run\n",
        "the Deployment's container did not print what it was told to",
    )
    events = run.cluster.all("events.v1.events.k8s.io", namespace=WORK, fields="reason=Scheduled")
    binders = Counter(
        event.get("reportingController") or event.get("deprecatedSource", {}).get("component") for event in events
    )
    require(set(binders) == {SCHEDULER}, f"pods were to be bound by {SCHEDULER} alone, Events name {dict(binders)}")
    for pod in _pods(run, "batch"):
        run.cluster.kubectl("exec", pod["metadata"]["name"], f"--namespace={WORK}", "--", "touch", "/done")
    wait_until("the Job is complete", lambda: _completed(run, "batch"), seconds=POD_SECONDS)
    return f"{sum(wanted.values())} pods run after {took:.1f} s, the Job is complete"


def spread(run: Run, pods: int) -> str:
    """Many pods spread over the simulated nodes: as many in each zone and on each node, to one."""
    run.cluster.apply(manifests.deployment("spread", pods, manifests.spread("spread")))
    took = wait_until(
        f"{pods} pods of the spread Deployment run", lambda: _running(run)["spread"] == pods, seconds=POD_SECONDS
    )
    zones = {
        node["metadata"]["name"]: node["metadata"]["labels"].get("topology.kubernetes.io/zone")
        for node in run.cluster.all("nodes")
    }
    nodes = Counter({name: 0 for name, zone in zones.items() if zone})
    nodes.update(pod["spec"]["nodeName"] for pod in _pods(run, "spread"))
    each_zone: Counter[str | None] = Counter()
    for name, count in nodes.items():
        each_zone[zones[name]] += count
    require(set(each_zone) == set(ZONES), f"pods are in the zones {dict(each_zone)}")
    for what, counts in (("zones", each_zone.values()), ("nodes", nodes.values())):
        require(max(counts) - min(counts) <= 1, f"the pods of {what} differ by more than one: {sorted(counts)}")
    run.cluster.delete(manifests.deployment("spread", pods, manifests.spread("spread")))
    return f"{pods} pods on {len(nodes)} nodes in {len(each_zone)} zones after {took:.1f} s"


def examples(run: Run) -> str:
    """The workloads of deploy/examples run as they are."""
    files = [EXAMPLES / f"{name}.yaml" for name in ("batch-burst", "priorities", "spread-deployment")]
    for file in files:
        run.cluster.kubectl("apply", "--server-side", f"--namespace={WORK}", "-f", str(file))

    def settled() -> bool:
        chosen = [
            each
            for each in run.cluster.all("deployments,jobs", namespace=WORK)
            if each["metadata"]["name"].endswith("-example")
        ]
        return bool(chosen) and all(_reached(each) for each in chosen)

    took = wait_until(
        "Deployments of deploy/examples are available, and the Job is complete", settled, seconds=POD_SECONDS
    )
    for file in files:
        run.cluster.kubectl("delete", f"--namespace={WORK}", "-f", str(file))
    return f"{len(files)} files, after {took:.1f} s"


def _reached(each: Object) -> bool:
    status, spec = each.get("status", {}), each["spec"]
    if each["kind"] == "Job":
        return bool(status.get("succeeded", 0) == spec["completions"])
    return bool(status.get("availableReplicas", 0) == spec["replicas"])


_UNTIL_TOLD = "until [ -e /done ]; do sleep 1; done"


def _pods(run: Run, app: str = "") -> list[Object]:
    selector = f"app={app}" if app else "app in (serving,batch,everywhere)"
    return [
        pod
        for pod in run.cluster.all("pods", namespace=WORK, selector=selector)
        if "deletionTimestamp" not in pod["metadata"]
    ]


def _running(run: Run) -> Counter[str]:
    """How many pods of each app run and are ready."""
    pods = run.cluster.all("pods", namespace=WORK, fields="status.phase=Running")
    ready = [
        pod
        for pod in pods
        if any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"]["conditions"])
    ]
    return Counter(pod["metadata"]["labels"]["app"] for pod in ready if "deletionTimestamp" not in pod["metadata"])


def _completed(run: Run, name: str) -> bool:
    job = run.cluster.get("job", name, namespace=WORK)
    return job is not None and job["status"].get("succeeded") == COMPLETIONS
