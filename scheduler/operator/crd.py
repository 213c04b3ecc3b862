"""The CustomResourceDefinition of SchedulerConfiguration: ``python -m scheduler.operator.crd`` writes deploy/crds."""

from __future__ import annotations

import sys
from typing import Any

from ruamel.yaml import YAML

from scheduler.config.kube_document import KubeSchedulerConfiguration
from scheduler.config.reprise_document import RepriseConfiguration
from scheduler.operator.descriptions import describe
from scheduler.operator.resource import GROUP, KIND, PLURAL, SINGULAR, VERSION
from scheduler.operator.schema import schema_of

ABOUT = (
    "What a release of Reprise does, changed while it runs. A release obeys the one resource whose name it was started with "
    "(--config-resource) and no other; from the moment that one has been good for the first time, its configuration file has no say. "
    "Each replica puts a change in force between two decisions; the leader says in the status what became of it. A change takes effect as "
    "a whole or not at all: when Accepted is False, the last good configuration stays in force. Reasons: Invalid (what `reprise "
    "check-config` says of it, such as a plugin that is not installed, a field or an apiVersion that this release does not know), "
    "RestartRequired (a field that takes effect only when a process starts), InUse (a profile is missing while pods wait for it; tried "
    "again every two seconds), MissingPermission (a plugin reads or writes what this identity may not; asked again every ten seconds). "
    "When the resource is deleted the last good configuration stays in force until the process ends, which is logged and shown in "
    "metrics and in /readyz?verbose; made again, it is obeyed again. A resource that no release obeys gets Accepted Unknown, NotObeyed, from a "
    "leader that obeys another one. A resource written in a newer version of this API is read in this one as long as the API server "
    "serves it; what this one does not know is Invalid."
)

_CONDITION = {
    "type": "object",
    "required": ["type", "status", "lastTransitionTime", "reason", "message"],
    "properties": {
        "type": {"type": "string", "description": "Accepted."},
        "status": {"type": "string", "enum": ["True", "False", "Unknown"], "description": "Whether it is in force."},
        "reason": {
            "type": "string",
            "description": "Applied, Invalid, RestartRequired, InUse, MissingPermission or NotObeyed.",
        },
        "message": {"type": "string", "description": "What is wrong, with the fields or rights by name."},
        "observedGeneration": {
            "type": "integer",
            "format": "int64",
            "description": "Of the spec that this is about.",
        },
        "lastTransitionTime": {"type": "string", "format": "date-time", "description": "When status changed last."},
    },
}

_STATUS = {
    "type": "object",
    "description": "What became of the spec; written by the leader of the release that obeys the resource.",
    "properties": {
        "observedGeneration": {
            "type": "integer",
            "format": "int64",
            "description": "Of the spec that was looked at last.",
        },
        "conditions": {
            "type": "array",
            "description": "One, of the type Accepted.",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
            "items": _CONDITION,
        },
        "profiles": {"type": "string", "description": "schedulerNames that are served, from whatever configuration."},
        "hitRatio": {
            "type": "string",
            "description": "Share of the leader's decisions that came from the batch cache; once a minute at most.",
        },
    },
}


def definition() -> dict[str, Any]:
    """The CustomResourceDefinition as JSON values."""
    spec = {
        "type": "object",
        "description": "Two documents, each with the fields of the file, apiVersion and kind left out or as in the file.",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {
            "kubeSchedulerConfiguration": {
                "description": "The fields of a kubescheduler.config.k8s.io/v1 KubeSchedulerConfiguration.",
                **schema_of(KubeSchedulerConfiguration, "kubeSchedulerConfiguration", describe),
            },
            "repriseConfiguration": {
                "description": "The fields of a reprise.dev/v1alpha1 RepriseConfiguration.",
                **schema_of(RepriseConfiguration, "repriseConfiguration", describe),
            },
        },
    }
    schema = {
        "type": "object",
        "description": ABOUT,
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": f"{GROUP}/{VERSION}."},
            "kind": {"type": "string", "description": f"{KIND}."},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": _STATUS,
        },
    }
    columns = [
        ("Accepted", "string", '.status.conditions[?(@.type=="Accepted")].status'),
        ("Reason", "string", '.status.conditions[?(@.type=="Accepted")].reason'),
        ("Profiles", "string", ".status.profiles"),
        ("Hit-ratio", "string", ".status.hitRatio"),
        ("Age", "date", ".metadata.creationTimestamp"),
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {"kind": KIND, "listKind": f"{KIND}List", "plural": PLURAL, "singular": SINGULAR},
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [
                        {"name": name, "type": kind, "jsonPath": path} for name, kind, path in columns
                    ],
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def main() -> None:
    """Write it as YAML."""
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.width = 120
    sys.stdout.write("# Written by `python -m scheduler.operator.crd`.\n")
    yaml.dump(definition(), sys.stdout)


if __name__ == "__main__":
    main()
