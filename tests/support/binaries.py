"""Where the real etcd, programs of Kubernetes and kwok are, and what to do when they are not."""

import hashlib
import os
from pathlib import Path

import pytest

CONTROL_PLANE_MODULE = Path(__file__).parents[2] / "tools" / "control-plane"


def binaries_folder() -> Path:
    """The folder `make control-plane` builds into, or the one KUBEBUILDER_ASSETS names; it may not exist.

    The key is that of tools/control-plane/build.sh: the pinned versions and the script itself.
    """
    if named := os.environ.get("KUBEBUILDER_ASSETS"):
        return Path(named)
    content = b"".join((CONTROL_PLANE_MODULE / name).read_bytes() for name in ("go.mod", "go.sum", "build.sh"))
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "reprise" / "control-plane" / hashlib.sha256(content).hexdigest()[:16]


def missing_binaries(*names: str) -> list[str]:
    """Those of `names` that cannot be run from the folder."""
    folder = binaries_folder()
    return [name for name in names if not os.access(folder / name, os.X_OK)]


def require_binaries(*names: str) -> Path:
    """The folder of the binaries; without them the test fails in CI and is skipped elsewhere, and says how to get them."""
    missing = missing_binaries(*names)
    if not missing:
        return binaries_folder()
    message = f"needs the real {', '.join(missing)} (run `make control-plane`; looked in {binaries_folder()})"
    if os.environ.get("CI"):
        pytest.fail(message, pytrace=False)
    pytest.skip(message)
