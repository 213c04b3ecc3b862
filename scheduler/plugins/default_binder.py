"""DefaultBinder: the node is written through the pod's ``binding`` subresource (kube-scheduler 1.37: DefaultBinder)."""

from __future__ import annotations

from scheduler.framework.plugin import BindPlugin


class DefaultBinder(BindPlugin):
    name = "DefaultBinder"
