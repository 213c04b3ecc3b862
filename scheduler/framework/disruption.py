"""Budget: how many pods of an application may be disrupted now (kube-scheduler 1.37: preemption, PodDisruptionBudgets)."""

from __future__ import annotations

from scheduler.api.disruption import PodDisruptionBudget
from scheduler.api.objects import Pod
from scheduler.api.selectors import compile_label_selector


class Budget:
    """A PodDisruptionBudget with its selector ready to be asked.

    Attributes:
        allowed: disruptions that it has left.

    Raises:
        SelectorError: the selector cannot be read; kube-scheduler takes the budget to cover no pod then.
    """

    def __init__(self, subject: PodDisruptionBudget) -> None:
        self.namespace = subject.metadata.namespace
        self.name = subject.metadata.name
        self.allowed = subject.status.disruptions_allowed
        self._disrupted = frozenset(subject.status.disrupted_pods or ())
        self._matcher = compile_label_selector(subject.spec.selector)

    def covers(self, pod: Pod) -> bool:
        """Whether the budget is about the pod: pods with the same namespace and labels are alike in it.

        Not so for a pod without labels, nor for a budget that selects nothing or everything by leaving its selector out or empty.
        """
        metadata = pod.metadata
        return (
            bool(metadata.labels)
            and metadata.namespace == self.namespace
            and not self._matcher.is_empty
            and self._matcher.matches(metadata.labels)
        )

    def has_counted(self, pod: Pod) -> bool:
        """Whether the pod's disruption is counted in ``allowed`` already."""
        return pod.metadata.name in self._disrupted

    def charges(self, pod: Pod) -> bool:
        """Whether the loss of the pod takes a disruption from what is left."""
        return self.covers(pod) and not self.has_counted(pod)
