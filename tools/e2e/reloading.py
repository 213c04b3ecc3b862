"""A SchedulerConfiguration, written with kubectl while many pods are being scheduled, and invalid ones."""

import json
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tests.support.invalid_configurations import INVALID
from tools.e2e import manifests
from tools.e2e.cluster import Object, require, wait_until
from tools.e2e.manifests import ZONES
from tools.e2e.rights import entries
from tools.e2e.run import NAMESPACE, RESOURCE, SCHEDULER, WORK, Run

KIND = "schedulerconfigurations.reprise.dev"
APP = "changing"
PODS = 2000
UNDER_WAY = 200  # so many are decided on when the change comes
POD_SECONDS = 180.0
ANSWER_SECONDS = 15.0
EFFECT_SECONDS = 1.0
SOME_INVALID = INVALID[::3]  # ten of all kinds; make test-cluster has all of them
FIRST_ZONE, SECOND_ZONE = ZONES[:2]


def change(run: Run) -> str:
    """It takes effect within a second and from one decision to the next; each pod is decided on and bound once."""
    require(_answer(run, _put(run, _only_in(FIRST_ZONE)))["status"] == "True", "a good configuration is refused")
    [pod] = run.scheduler_pods()
    zones = {
        node["metadata"]["name"]: node["metadata"]["labels"].get("topology.kubernetes.io/zone")
        for node in run.cluster.all("nodes")
    }
    workload = manifests.deployment(APP, PODS, manifests.on_simulated_nodes(APP))
    run.cluster.apply(workload)
    wait_until("pods are being scheduled", lambda: len(_decided(_lines(run, pod))) > UNDER_WAY, seconds=POD_SECONDS)
    generation = _put(run, _only_in(SECOND_ZONE))
    written = time.time()
    wait_until(f"{PODS} pods are decided on", lambda: len(_decided(_lines(run, pod))) >= PODS, seconds=POD_SECONDS)
    require(_answer(run, generation)["status"] == "True", "the changed configuration is refused")

    lines = _lines(run, pod)
    since = max(number for number, line in enumerate(lines) if line["msg"] == "a configuration is in force")
    before, after = _decided(lines[:since]), _decided(lines[since:])
    for what, decisions, zone in (("before", before, FIRST_ZONE), ("after", after, SECOND_ZONE)):
        require(len(decisions) > 0, f"no pod was decided on {what} the change")
        strange = {line["node"] for line in decisions if zones[line["node"]] != zone}
        require(not strange, f"pods that were decided on {what} the change went to nodes outside {zone}: {strange}")
    seconds = datetime.fromisoformat(lines[since]["timestamp"]).timestamp() - written
    require(seconds < EFFECT_SECONDS, f"the change took effect {seconds:.2f} s after it was written")
    _nothing_lost_or_doubled(run, before + after)
    run.cluster.delete(workload)
    return f"{len(before)} pods decided on before, {len(after)} after it, in force {max(seconds, 0):.2f} s after kubectl apply"


def refuse(run: Run) -> str:
    """Each kind of invalid one is answered in its status; the last good one goes on deciding."""
    for what, spec, told in SOME_INVALID:
        answer = _answer(run, _put(run, spec))
        require(
            (answer["status"], answer["reason"]) == ("False", "Invalid") and told in answer["message"],
            f"{what}: the answer has to be Invalid and to name {told}, it is {answer}",
        )
    probe = manifests.deployment("last-good", 5, manifests.on_simulated_nodes("last-good"))
    run.cluster.apply(probe)

    def places() -> list[str]:
        pods = run.cluster.all("pods", namespace=WORK, selector="app=last-good")
        return [pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")]

    wait_until("pods are bound under the last good one", lambda: len(places()) == 5, seconds=POD_SECONDS)
    second = {node["metadata"]["name"] for node in run.cluster.all("nodes", selector=f"{_ZONE}={SECOND_ZONE}")}
    require(set(places()) <= second, f"the last good one allows {SECOND_ZONE} only, pods are on {places()}")
    run.cluster.delete(probe)
    require(
        _answer(run, _put(run, _spec()))["status"] == "True", "a good configuration is refused after the invalid ones"
    )
    if run.audit_log:
        _only_status_was_written(run)
    return f"{len(SOME_INVALID)} invalid ones answered"


_ZONE = "topology.kubernetes.io/zone"


def _spec(**profile: Any) -> Object:
    return {"kubeSchedulerConfiguration": {"profiles": [{"schedulerName": SCHEDULER, **profile}]}}


def _only_in(zone: str) -> Object:
    """Pods go to nodes of one zone, so that each place tells by which configuration it was chosen."""
    term = {"matchExpressions": [{"key": _ZONE, "operator": "In", "values": [zone]}]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return _spec(pluginConfig=[{"name": "NodeAffinity", "args": {"addedAffinity": affinity}}])


def _put(run: Run, spec: Mapping[str, Any]) -> int:
    """Apply it with kubectl; the generation that it has then."""
    written = {"apiVersion": "reprise.dev/v1alpha1", "kind": "SchedulerConfiguration", "metadata": {"name": RESOURCE}}
    text = run.cluster.kubectl("apply", "-f", "-", "-o", "json", stdin=json.dumps({**written, "spec": spec}))
    return int(json.loads(text)["metadata"]["generation"])


def _answer(run: Run, generation: int) -> Object:
    """The condition Accepted of this generation."""
    found: list[Object] = []

    def answered() -> bool:
        resource = run.cluster.get(KIND, RESOURCE) or {}
        found[:] = (resource.get("status") or {}).get("conditions") or []
        return bool(found) and found[0].get("observedGeneration") == generation

    wait_until(f"generation {generation} of {RESOURCE} is answered", answered, seconds=ANSWER_SECONDS)
    return found[0]


def _lines(run: Run, pod: str) -> list[Object]:
    text = run.cluster.kubectl("logs", pod, f"--namespace={NAMESPACE}")
    # The last one may not be whole yet.
    return [
        json.loads(line) for line in text.splitlines(keepends=True) if line.startswith("{") and line.endswith("}\n")
    ]


def _decided(lines: list[Object]) -> list[Object]:
    prefix = f"{WORK}/{APP}-"
    return [line for line in lines if line.get("outcome") == "assumed" and line["pod"].startswith(prefix)]


def _nothing_lost_or_doubled(run: Run, decisions: list[Object]) -> None:
    wanted = {line["uid"]: line["node"] for line in decisions}
    require(len(decisions) == len(wanted) == PODS, f"{len(decisions)} decisions about {len(wanted)} pods of {PODS}")

    def bound() -> dict[str, str]:
        pods = run.cluster.all("pods", namespace=WORK, selector=f"app={APP}")
        return {pod["metadata"]["uid"]: pod["spec"].get("nodeName", "") for pod in pods}

    wait_until(f"all {PODS} pods are where they were sent to", lambda: bound() == wanted, seconds=POD_SECONDS)
    if run.audit_log:
        binds = [
            entry["objectRef"]["name"]
            for entry in entries(run)
            if entry["verb"] == "create" and entry.get("objectRef", {}).get("subresource") == "binding"
        ]
        own = [name for name in binds if name.startswith(f"{APP}-")]
        require(len(own) == len(set(own)) == PODS, f"{len(own)} binds of {len(set(own))} pods of {PODS}")


def _only_status_was_written(run: Run) -> None:
    asked = [
        (entry["verb"], entry["objectRef"].get("subresource", ""), "kopf" in entry.get("userAgent", ""))
        for entry in entries(run)
        if entry.get("objectRef", {}).get("resource") == "schedulerconfigurations"
    ]
    written = {each for each in asked if each[0] not in ("get", "list", "watch")}
    require(written == {("patch", "status", False)}, f"of the resource its status alone is written, by us: {written}")
    # Its watch is in the log when it ends, so not yet.
    require(("list", "", True) in asked, f"kopf reads it: {set(asked)}")
