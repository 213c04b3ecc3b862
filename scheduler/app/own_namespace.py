"""The namespace that this scheduler runs in, which is where its Lease is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

SERVICE_ACCOUNT_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
OUTSIDE_OF_PODS = "reprise"
"""The namespace of deploy/manifests/rbac.yaml."""


def own_namespace(environ: Mapping[str, str] = os.environ, file: Path = SERVICE_ACCOUNT_NAMESPACE) -> str:
    """What POD_NAMESPACE says, else the pod's service account; outside of pods the one that deploy/manifests/rbac.yaml makes."""
    if named := environ.get("POD_NAMESPACE", "").strip():
        return named
    try:
        return file.read_text(encoding="utf-8").strip() or OUTSIDE_OF_PODS
    except (OSError, UnicodeDecodeError):
        return OUTSIDE_OF_PODS
