"""PodDisruptionBudgets as the watch shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scheduler.api.disruption import PodDisruptionBudget
from scheduler.framework.disruption import Budget


class Budgets:
    """Budgets by namespace and name, in the order in which they came."""

    def __init__(self) -> None:
        self._budgets: dict[str, dict[str, Budget]] = {}
        self._listed: dict[str, Sequence[Budget]] | None = None

    def apply(self, subject: PodDisruptionBudget) -> None:
        """A budget that is new or has changed. One that cannot be read covers no pod (kube-scheduler 1.37: preemption).

        Raises:
            SelectorError: its selector cannot be read.
        """
        metadata = subject.metadata
        try:
            budget = Budget(subject)
        except ValueError:
            self.remove(metadata.namespace, metadata.name)
            raise
        self._budgets.setdefault(metadata.namespace, {})[metadata.name] = budget
        self._listed = None

    def remove(self, namespace: str, name: str) -> None:
        """The budget is gone, if it was known."""
        of_namespace = self._budgets.get(namespace, {})
        if of_namespace.pop(name, None) is not None:
            if not of_namespace:
                del self._budgets[namespace]
            self._listed = None

    def by_namespace(self) -> Mapping[str, Sequence[Budget]]:
        if self._listed is None:
            self._listed = {
                namespace: tuple(of_namespace.values()) for namespace, of_namespace in self._budgets.items()
            }
        return self._listed
