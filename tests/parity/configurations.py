"""The configurations that scripts name; both schedulers get the same one."""

from collections.abc import Mapping
from typing import Any

from scheduler.profile.registry import IN_TREE, missing_defaults

# Reprise ignores limits of the client; kube-scheduler's default of 50 requests a second would be what is measured.
PLAIN: Mapping[str, Any] = {
    "parallelism": 1,
    "percentageOfNodesToScore": 100,
    "leaderElection": {"leaderElect": False},
    "clientConnection": {"qps": 5000, "burst": 5000},
}
NAME = "reprise"


def _profile(**fields: Any) -> dict[str, Any]:
    disabled = [{"name": name} for name in missing_defaults(IN_TREE)]
    return {"schedulerName": NAME, "plugins": {"multiPoint": {"disabled": disabled}}, **fields}


def configurations(extender: str = "http://127.0.0.1:1") -> dict[str, dict[str, Any]]:
    """All of them by name, without apiVersion and kind; `extender` is where the extender of the scripts listens."""
    lists = {"name": "PodTopologySpread", "args": {"defaultingType": "List", "defaultConstraints": []}}
    most = {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}
    added = {
        "name": "NodeAffinity",
        "args": {
            "addedAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "pool", "operator": "In", "values": ["ours"]}]}]
                }
            }
        },
    }
    told_names = {"urlPrefix": extender, "nodeCacheCapable": True, "httpTimeout": "10s"}
    managed = [{"name": "example.com/managed", "ignoredByScheduler": True}]
    told_nodes = {"urlPrefix": extender, "filterVerb": "filter", "preemptVerb": "preempt", "bindVerb": "bind"}
    return {
        "an extender that is told names": {
            **PLAIN,
            "profiles": [_profile()],
            "extenders": [
                {**told_names, "filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 7},
                {**told_names, "filterVerb": "broken", "ignorable": True},
                {**told_names, "filterVerb": "managed", "managedResources": managed},
            ],
        },
        "an extender that is told nodes": {**PLAIN, "profiles": [_profile()], "extenders": [told_nodes]},
        "default": {**PLAIN, "profiles": [_profile()]},
        # kube-scheduler's own batching works with this one; the other profiles are decided beside it.
        "several profiles": {
            **PLAIN,
            "profiles": [
                _profile(pluginConfig=[lists]),
                {**_profile(pluginConfig=[most]), "schedulerName": "packs"},
                {**_profile(pluginConfig=[added]), "schedulerName": "stays"},
            ],
        },
    }
