"""SchedulerConfigurations that break a rule, at least one for each kind of rule, and what the answer has to name."""

from __future__ import annotations

from typing import Any

from tests.support.scheduler_configuration import args, plugins


def kube(**fields: Any) -> dict[str, Any]:
    """A spec with one profile and these fields of its kubeSchedulerConfiguration."""
    return {"kubeSchedulerConfiguration": {"profiles": [{"schedulerName": "reprise"}], **fields}}


def two(**second: Any) -> dict[str, Any]:
    """A spec with a second profile of these fields."""
    return kube(profiles=[{"schedulerName": "reprise"}, second])


def reprise(**fields: Any) -> dict[str, Any]:
    """A spec with these fields of its repriseConfiguration."""
    return {"repriseConfiguration": fields}


_NEAR = {"matchExpressions": [{"key": "a", "operator": "Near"}]}
_AFFINITY = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_NEAR]}}
_NOWHERE = [{"filterVerb": "filter"}]
_TWO_BINDERS = [{"urlPrefix": f"http://{name}.example/x", "bindVerb": "bind"} for name in "ab"]
_NO_LEASE = {"resourceNamespace": "kube-system", "resourceName": "kube-scheduler"}

INVALID: list[tuple[str, dict[str, Any], str]] = [
    # What can be read at all. Types of fields are in the definition's schema, and the API server refuses them; not those of arguments.
    ("a document that there is not", {"schedulerConfiguration": {}}, "spec.schedulerConfiguration: unknown field"),
    ("a field that there is not", kube(profils=[]), "profils: unknown field; did you mean profiles?"),
    ("a newer version", kube(apiVersion="kubescheduler.config.k8s.io/v2"), 'apiVersion: Unsupported value: "kubesch'),
    ("another kind", kube(kind="Other"), 'kind: Unsupported value: "Other"'),
    (
        "a value of another type",
        args("InterPodAffinity", hardPodAffinityWeight="1"),
        "Weight: expected an integer, got",
    ),
    ("a duration without a unit", reprise(batching={"maxBatchAge": "5"}), "maxBatchAge: invalid duration"),
    # Rules of one field, of two, and of a list.
    ("a number out of range", kube(podInitialBackoffSeconds=0), "podInitialBackoffSeconds: Invalid value: 0"),
    ("a value that is left out", two(), "profiles[1].schedulerName: Required value"),
    ("two fields that contradict", kube(podInitialBackoffSeconds=20), "podMaxBackoffSeconds: Invalid value: 10"),
    ("a name given twice", kube(profiles=[{"schedulerName": "r"}] * 2), "profiles[1].schedulerName: Duplicate value"),
    # Names that are kube-scheduler's, and what it can and this one cannot.
    ("a name that is taken", kube(profiles=[{"schedulerName": "default-scheduler"}]), "profiles[0].schedulerName"),
    ("a Lease that is taken", kube(leaderElection=_NO_LEASE), "leaderElection.resourceName: Invalid value"),
    ("a part of the nodes", kube(percentageOfNodesToScore=50), "percentageOfNodesToScore: Invalid value: 50"),
    # Plugins.
    ("a plugin that is not installed", plugins(score={"enabled": [{"name": "Nowhere"}]}), '"Nowhere" does not exist'),
    ("a plugin that was removed", plugins(filter={"enabled": [{"name": "EBSLimits"}]}), "EBSLimits"),
    (
        "a plugin where it does nothing",
        plugins(preFilter={"enabled": [{"name": "ImageLocality"}]}),
        '"ImageLocality" does not extend PreFilterPlugin',
    ),
    (
        "a plugin enabled twice",
        plugins(score={"enabled": [{"name": "NodeResourcesFit"}] * 2}),
        "plugins.score.enabled[1]: plugin",
    ),
    ("nobody who binds", plugins(bind={"disabled": [{"name": "*"}]}), "at least one bind plugin is needed"),
    (
        "weights that pass what can be counted",
        plugins(score={"enabled": [{"name": "NodeResourcesFit", "weight": 2_000_000_000}]}),
        "total score of Score plugins could overflow",
    ),
    (
        "two orders of one queue",
        two(schedulerName="second", plugins={"queueSort": {"disabled": [{"name": "*"}]}}),
        "profiles[1].plugins.queueSort: Invalid value",
    ),
    # Arguments.
    ("arguments out of range", args("InterPodAffinity", hardPodAffinityWeight=101), "hardPodAffinityWeight"),
    ("a word that is none of a choice", args("NodeResourcesFit", scoringStrategy={"type": "Best"}), "Best"),
    (
        "arguments of another plugin",
        args("InterPodAffinity", kind="NodeAffinityArgs"),
        "not of type InterPodAffinityArgs",
    ),
    ("a part of a pod that is wrong", args("NodeAffinity", addedAffinity=_AFFINITY), "matchExpressions[0].operator"),
    # Extenders, and our own document.
    ("an extender that is nowhere", kube(extenders=_NOWHERE), "extenders[0].urlPrefix: Required value"),
    ("two extenders that bind", kube(extenders=_TWO_BINDERS), "only one extender can implement bind"),
    ("a rule of our own document", reprise(batching={"maxSignatures": 0}), "maxSignatures"),
    ("two pages on one port", reprise(serving={"port": 80, "plainMetricsPort": 80}), "serving.plainMetricsPort"),
]
