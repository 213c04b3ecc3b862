"""Kubeconfig files, written as JSON, which is YAML."""

import base64
import json
from pathlib import Path


def write_kubeconfig(path: Path, *, url: str, ca_file: Path, user: str, token: str) -> Path:
    """Write a kubeconfig for one user of one cluster, with the CA inside so that the file works anywhere."""
    authority = base64.b64encode(ca_file.read_bytes()).decode()
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": url, "certificate-authority-data": authority}}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": user}}],
        "current-context": "test",
    }
    path.write_text(json.dumps(content, indent=2) + "\n")
    path.chmod(0o600)
    return path
