"""Names of the SchedulerConfiguration resource."""

from __future__ import annotations

GROUP = "reprise.dev"
VERSION = "v1alpha1"
KIND = "SchedulerConfiguration"
PLURAL = "schedulerconfigurations"
SINGULAR = "schedulerconfiguration"
