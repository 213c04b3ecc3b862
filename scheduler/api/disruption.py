"""PodDisruptionBudgets (``policy/v1``), with only the fields that the scheduler reads."""

from __future__ import annotations

from typing import Any

import msgspec

from scheduler.api.objects import LabelSelector, ObjectMeta
from scheduler.api.wire import ApiObject


class PodDisruptionBudgetSpec(ApiObject, frozen=True):
    selector: LabelSelector | None = None


class PodDisruptionBudgetStatus(ApiObject, frozen=True):
    """``disrupted_pods``: by name, pods whose eviction was allowed and that are not gone yet."""

    disruptions_allowed: int = 0
    disrupted_pods: dict[str, Any] | None = None


class PodDisruptionBudget(ApiObject, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = msgspec.field(default_factory=PodDisruptionBudgetStatus)
