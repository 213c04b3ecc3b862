"""What happens to pods while the scheduler restarts, and when its leader goes."""

from tools.e2e import manifests
from tools.e2e.cluster import require, wait_until
from tools.e2e.run import NAMESPACE, RELEASE, WORK, Run

BURST = 300
POD_SECONDS = 90.0
TAKEOVER_SECONDS = 40.0  # leaseDuration and twice what a replica may wait between two looks, and some


def restart(run: Run) -> str:
    """`kubectl rollout restart` in the middle of a burst: every pod is bound once, and none is lost."""
    burst = manifests.deployment("burst", BURST, manifests.on_simulated_nodes("burst"))
    before = run.scheduler_pods()
    run.cluster.apply(burst)
    run.cluster.kubectl("rollout", "restart", f"deployment/{RELEASE}", f"--namespace={NAMESPACE}")
    run.cluster.kubectl("rollout", "status", f"deployment/{RELEASE}", f"--namespace={NAMESPACE}", "--timeout=90s")
    wait_until("the old scheduler is gone", lambda: not set(run.scheduler_pods()) & set(before), seconds=60)
    run.cluster.kubectl("scale", "deployment/burst", f"--namespace={WORK}", f"--replicas={2 * BURST}")
    took = wait_until(f"{2 * BURST} pods are bound", lambda: len(_bound(run)) == 2 * BURST, seconds=POD_SECONDS)
    pods = run.cluster.all("pods", namespace=WORK, selector="app=burst")
    require(len(pods) == 2 * BURST, f"{len(pods)} pods are there, not {2 * BURST}: some were refused or made again")
    run.cluster.delete(burst)
    return f"{2 * BURST} pods bound, {took:.1f} s after the new scheduler was alone"


def takeover(run: Run) -> str:
    """The leader's pod is deleted: the other replica leads, and places pods."""
    # After a rollout nobody may lead yet.
    wait_until("one of the replicas leads", lambda: _leader(run) in run.scheduler_pods(), seconds=TAKEOVER_SECONDS)
    leader = _leader(run)
    run.cluster.kubectl("delete", "pod", leader, f"--namespace={NAMESPACE}", "--wait=false")
    after = manifests.deployment("after", 20, manifests.on_simulated_nodes("after"))
    run.cluster.apply(after)
    took = wait_until(
        f"another one than {leader} leads", lambda: _leader(run) not in ("", leader), seconds=TAKEOVER_SECONDS
    )
    follower = _leader(run)
    wait_until("pods are bound", lambda: len(_bound(run, "after")) == 20, seconds=POD_SECONDS)
    wait_until("two replicas are ready", lambda: _ready(run) == 2, seconds=POD_SECONDS)
    require(_leader(run) == follower, f"{follower} led after {leader}, and now {_leader(run)} does")
    run.cluster.delete(after)
    return f"{follower} leads {took:.1f} s after {leader} was deleted"


def _bound(run: Run, app: str = "burst") -> list[str]:
    pods = run.cluster.all("pods", namespace=WORK, selector=f"app={app}")
    return [pod["metadata"]["uid"] for pod in pods if pod["spec"].get("nodeName")]


def _leader(run: Run) -> str:
    """The pod that holds the Lease; its identity is the host's name and a random part."""
    lease = run.cluster.get("lease", RELEASE, namespace=NAMESPACE)
    require(bool(lease), f"there is no Lease {NAMESPACE}/{RELEASE}")
    assert lease
    return str(lease["spec"].get("holderIdentity") or "").partition("_")[0]


def _ready(run: Run) -> int:
    found = run.cluster.get("deployment", RELEASE, namespace=NAMESPACE)
    return int(found["status"].get("readyReplicas", 0)) if found else 0
