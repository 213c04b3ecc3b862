"""/metrics as Prometheus meets it: from a pod, through the Service, with the token of a ServiceAccount."""

import json

from tools.e2e import manifests
from tools.e2e.cluster import Object, require, wait_until
from tools.e2e.run import NAMESPACE, RELEASE, WORK, Run

READER, STRANGER = "metrics-reader", "metrics-stranger"
EXPECTED = (
    "scheduler_schedule_attempts_total",
    "scheduler_pending_pods",
    "leader_election_master_status",
    "rest_client_requests_total",
)
POD_SECONDS = 60.0

# Runs in the image itself: what a container has of Python is what Reprise has.
_ASK = """
import json, pathlib, ssl, sys, urllib.error, urllib.request
url, token = sys.argv[1], pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount/token").read_text()
context = ssl._create_unverified_context()  # the certificate is the scheduler's own
def ask(path, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(url + path, headers=headers), context=context, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
status, text = ask("/metrics", Authorization="Bearer " + token)
print(json.dumps({
    "own": status,
    "names": sorted({line.split()[2] for line in text.splitlines() if line.startswith("# TYPE ")}) if status == 200 else text,
    "none": ask("/metrics")[0],
    "wrong": ask("/metrics", Authorization="Bearer wrong")[0],
    "livez": ask("/livez")[0],
}))
"""


def through_the_service(run: Run) -> str:
    """With a token that may: 200 and the metrics; with one that may not: 403; without a token or with a wrong one: 401."""
    for account in (READER, STRANGER):
        metadata = {"name": account, "namespace": WORK}
        run.cluster.apply(
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}, _asking_pod(run, account)
        )
    reader, stranger = (_answer(run, account) for account in (READER, STRANGER))
    require(reader["own"] == 200, f"with the token of {READER}: {reader}")
    missing = sorted(set(EXPECTED) - set(reader["names"]))
    require(not missing, f"/metrics lacks {missing}, it has {reader['names']}")
    require(stranger["own"] == 403, f"with the token of {STRANGER}, which may not: {stranger}")
    for who in (reader, stranger):
        seen = {key: who[key] for key in ("none", "wrong", "livez")}
        require(
            seen == {"none": 401, "wrong": 401, "livez": 200}, f"without a token, with a wrong one, of /livez: {seen}"
        )
    run.cluster.delete(*(_asking_pod(run, account) for account in (READER, STRANGER)))
    return f"200 with {len(reader['names'])} metrics, 403, 401, 401"


def _asking_pod(run: Run, account: str) -> Object:
    url = f"https://{RELEASE}.{NAMESPACE}.svc.cluster.local:10259"
    pod = manifests.template(
        account, f"{run.repository}:{run.tag}", "", restartPolicy="Never", serviceAccountName=account
    )
    pod["spec"]["containers"][0]["command"] = ["python3", "-c", _ASK, url]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": account, "namespace": WORK}, "spec": pod["spec"]}


def _answer(run: Run, account: str) -> Object:
    def ended() -> bool:
        pod = run.cluster.get("pod", account, namespace=WORK)
        return pod is not None and pod["status"].get("phase") in ("Succeeded", "Failed")

    wait_until(f"the pod {account} has asked", ended, seconds=POD_SECONDS)
    text = run.cluster.kubectl("logs", account, f"--namespace={WORK}")
    require(text.lstrip().startswith("{"), f"the pod {account} could not ask: {text}")
    answer: Object = json.loads(text)
    return answer
