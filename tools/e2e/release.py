"""The chart as its users meet it: install, upgrade, uninstall."""

import json
import re

from tools.e2e import manifests
from tools.e2e.cluster import CheckFailure, require, wait_until
from tools.e2e.metrics import READER
from tools.e2e.run import NAMESPACE, RELEASE, RESOURCE, WORK, Run

HELM_SECONDS = 90
LEFT_BEHIND = "waits-for-nobody"


def install(run: Run) -> str:
    """`helm install --wait` succeeds, which it does when the Deployment's pods are ready."""
    run.cluster.helm("install", RELEASE, str(run.chart), "--create-namespace", *_arguments(run, replicas=1))
    return f"{len(run.scheduler_pods())} replica, {_revision(run)}"


def upgrade(run: Run) -> str:
    """`helm upgrade` to two replicas succeeds, and both are ready."""
    run.cluster.helm("upgrade", RELEASE, str(run.chart), *_arguments(run, replicas=2))
    pods = run.scheduler_pods()
    require(len(pods) == 2, f"two replicas were asked for, there are {pods}")
    budgets = run.cluster.all("poddisruptionbudgets", namespace=NAMESPACE)
    require(len(budgets) == 1, f"two replicas have a PodDisruptionBudget, there are {len(budgets)}")
    return _revision(run)


def uninstall(run: Run) -> str:
    """`helm uninstall` names the pods that still ask for us, and leaves nothing but CRDs."""
    pod = manifests.template(LEFT_BEHIND, run.workload_image, "true", nodeSelector={"no-node": "has-this"})
    metadata = {"name": LEFT_BEHIND, "namespace": WORK}
    run.cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod["spec"]})
    told = run.cluster.helm("uninstall", RELEASE, f"--namespace={NAMESPACE}", "--wait", f"--timeout={HELM_SECONDS}s")
    require(
        f"{WORK}/{LEFT_BEHIND}" in told, f"the uninstall does not name the pod {WORK}/{LEFT_BEHIND}, it says:\n{told}"
    )
    require(
        f"The SchedulerConfiguration {RESOURCE} stays" in told,
        f"the uninstall does not name the resource, it says:\n{told}",
    )
    # It is not the release's, and neither is its kind, which every other release may use.
    run.cluster.kubectl("delete", "schedulerconfiguration", RESOURCE)
    run.cluster.kubectl("delete", "pod", LEFT_BEHIND, f"--namespace={WORK}")
    kinds, namespaced = _kinds(run), _kinds(run, "--namespaced=true")

    def left() -> list[str]:
        """Everything of the release: by its label, by its names, and all that its namespace holds beyond any namespace's."""
        labelled = run.cluster.all(kinds, selector=f"app.kubernetes.io/instance={RELEASE}")
        named = [
            each for each in run.cluster.all(_CLUSTER_WIDE) if RELEASE in re.split("[:-]", each["metadata"]["name"])
        ]
        own = [
            each
            for each in run.cluster.all(namespaced, namespace=NAMESPACE)
            if not _of_any_namespace(each["kind"], each["metadata"]["name"])
        ]
        found = {f"{each['kind']} {each['metadata']['name']}" for each in (*labelled, *named, *own)}
        return sorted(name for name in found if not name.startswith("CustomResourceDefinition "))

    try:
        wait_until("nothing of the release is left", lambda: not left(), seconds=30)
    except CheckFailure as late:
        raise CheckFailure(f"the uninstall left behind: {', '.join(left())}") from late
    return f"looked at {kinds.count(',') + 1} kinds"


_CLUSTER_WIDE = "clusterroles,clusterrolebindings,validatingwebhookconfigurations,mutatingwebhookconfigurations,apiservices,priorityclasses"


def _arguments(run: Run, *, replicas: int) -> list[str]:
    values = {
        "image.repository": run.repository,
        "image.tag": run.tag,
        "image.pullPolicy": "IfNotPresent",
        "replicas": str(replicas),
        "config.resource": RESOURCE,
        "metrics.scrapers[0].name": READER,
        "metrics.scrapers[0].namespace": WORK,
    }
    settings = [word for key, value in values.items() for word in ("--set", f"{key}={value}")]
    return [f"--namespace={NAMESPACE}", "--wait", f"--timeout={HELM_SECONDS}s", *settings]


def _revision(run: Run) -> str:
    releases = json.loads(run.cluster.helm("list", f"--namespace={NAMESPACE}", "-o", "json"))
    [release] = [each for each in releases if each["name"] == RELEASE]
    return f"revision {release['revision']} {release['status']}"


def _kinds(run: Run, *only: str) -> str:
    """Every kind that can be listed and kept, by its full name. Events tell what was, and are no objects of anybody."""
    names = run.cluster.kubectl("api-resources", "--verbs=list,delete", *only, "-o", "name").split()
    return ",".join(name for name in names if name.partition(".")[0] != "events")


def _of_any_namespace(kind: str, name: str) -> bool:
    """What Kubernetes itself puts into each namespace."""
    return (kind, name) in {("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")}
