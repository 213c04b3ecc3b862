"""Definitions of the Prometheus operator's kinds, as far as a server needs them to take an object in; its own check the fields too."""

from tests.support.resources import Object

GROUP = "monitoring.coreos.com"


def definition(kind: str, plural: str) -> Object:
    """The real group, version and kind, with any content."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


DEFINITIONS = (definition("ServiceMonitor", "servicemonitors"), definition("PrometheusRule", "prometheusrules"))
