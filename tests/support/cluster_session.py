"""The one control plane of a test run, started by the first test that wants it and shared by every folder of tests."""

import pytest

from tests.support.binaries import require_binaries
from tests.support.control_plane import ControlPlane
from tests.support.kwok import Kwok

_CONTROL_PLANE = pytest.StashKey[ControlPlane]()
_KWOK = pytest.StashKey[Kwok]()


def shared_control_plane(config: pytest.Config) -> ControlPlane:
    """The control plane of this run; it ends with the run. Fails in CI, and skips elsewhere, when its parts are missing."""
    require_binaries("etcd", "kube-apiserver")
    if _CONTROL_PLANE not in config.stash:
        control_plane = ControlPlane().start()
        config.add_cleanup(control_plane.stop)
        config.stash[_CONTROL_PLANE] = control_plane
    return config.stash[_CONTROL_PLANE]


def shared_kwok(config: pytest.Config) -> Kwok:
    """The kwok of this run's control plane."""
    require_binaries("kwok")
    if _KWOK not in config.stash:
        kwok = Kwok(shared_control_plane(config)).start()
        config.add_cleanup(kwok.stop)
        config.stash[_KWOK] = kwok
    return config.stash[_KWOK]
