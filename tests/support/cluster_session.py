"""The one control plane of a test run, started by the first test that wants it and shared by every folder of tests."""

import pytest

from tests.support.binaries import require_binaries
from tests.support.control_plane import ControlPlane

_CONTROL_PLANE = pytest.StashKey[ControlPlane]()


def shared_control_plane(config: pytest.Config) -> ControlPlane:
    """The control plane of this run; it ends with the run. Fails in CI, and skips elsewhere, when its parts are missing."""
    require_binaries("etcd", "kube-apiserver")
    if _CONTROL_PLANE not in config.stash:
        control_plane = ControlPlane().start()
        config.add_cleanup(control_plane.stop)
        config.stash[_CONTROL_PLANE] = control_plane
    return config.stash[_CONTROL_PLANE]
