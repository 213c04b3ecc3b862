"""The selector that default spread constraints have for a pod: what the objects that select pods make of it.

kube-scheduler 1.37: PodTopologySpread, default constraints. It has the labels by which the Services that match the pod select,
and the selector of the pod's controller when that is a ReplicationController, ReplicaSet or StatefulSet.
"""

from __future__ import annotations

from typing import NamedTuple

from scheduler.api.objects import LabelSelector, ObjectMeta, SelectingObject, Service
from scheduler.api.selectors import (
    DOES_NOT_EXIST,
    EXISTS,
    IN,
    NOT_IN,
    LabelMatcher,
    LabelRequirement,
    SelectorError,
    compile_label_selector,
)
from scheduler.cache.service_labels import Label, Labels, ServiceLabels

CAPACITY = 10_000
"""How many answers are kept; each takes about half a KB."""

_CONTROLLERS = {
    ("v1", "ReplicationController"),
    ("/v1", "ReplicationController"),  # reads as version v1 of the core group too
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
}
"""The controllers that are looked up, by apiVersion and kind of the owner reference."""

_FORMS = {IN: "{} in ({})", NOT_IN: "{} notin ({})", EXISTS: "{}", DOES_NOT_EXIST: "!{}"}


class DeducedSelector(NamedTuple):
    """``matcher`` has each requirement once, sorted; ``id`` is 0 for the empty selector, with which default constraints drop out.

    An id stands for one selector for ever. A selector that was not asked for in a long time may come back with another id.
    """

    id: int
    matcher: LabelMatcher

    @property
    def is_empty(self) -> bool:
        return self.id == 0

    @property
    def text(self) -> str:
        """As kubectl writes selectors: ``app=web,tier in (a,b)``; "" for the empty one."""
        return ",".join(map(_text, self.matcher.requirements))


EMPTY = DeducedSelector(0, LabelMatcher())


class _Controller:
    """What a controller selects by, read when a pod first asks: most ReplicaSets are old revisions without pods.

    ``state`` is a number that no other one has, and a new one when it selects by something else.
    """

    __slots__ = ("_requirements", "selector", "state")

    def __init__(self, state: int, selector: LabelSelector | dict[str, str] | None) -> None:
        self.state = state
        self.selector = selector
        self._requirements: tuple[LabelRequirement, ...] | None = None

    @property
    def labels(self) -> Labels:
        """Those of a ReplicationController, which count like a Service's and before them."""
        return self.selector if isinstance(self.selector, dict) else {}

    @property
    def requirements(self) -> tuple[LabelRequirement, ...]:
        """Those of a label selector; none when it is null or cannot be read."""
        if self._requirements is None:
            selector = self.selector if isinstance(self.selector, LabelSelector) else None
            try:
                self._requirements = compile_label_selector(selector).requirements
            except SelectorError:
                self._requirements = ()
        return self._requirements


class _Namespace:
    """``state`` is 0 until there is a Service, then a number that no other one has, and a new one at each change of theirs."""

    __slots__ = ("controllers", "services", "state")

    def __init__(self) -> None:
        self.state = 0
        self.services = ServiceLabels()
        self.controllers: dict[tuple[str, str], _Controller] = {}

    def controller_of(self, pod: ObjectMeta) -> _Controller | None:
        for owner in pod.owner_references or ():
            if owner.controller:
                if (owner.api_version, owner.kind) in _CONTROLLERS:
                    return self.controllers.get((owner.kind, owner.name))
                return None
        return None


class DeducedSelectors:
    """The objects that select pods, by namespace, and the answers that were worked out of them.

    An answer is kept under all that it depends on: the state of the namespace's Services, that of the controller, and those of
    the pod's labels that the Services look at. A change makes the state of its namespace or controller a new one, under which
    no answer is kept yet; a change that leads to the same selector leads to the same id. Once ``capacity`` answers are kept,
    they are all forgotten, and the ids with them: so memory has a bound although states and ids count on.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._namespaces: dict[str, _Namespace] = {}
        self._answers: dict[tuple[int, int, tuple[Label, ...]], DeducedSelector] = {}
        self._selectors: dict[tuple[LabelRequirement, ...], DeducedSelector] = {}
        self._last_state = 0
        self._last_id = EMPTY.id

    def apply(self, subject: SelectingObject) -> None:
        """An object as the watch shows it. Nothing happens when it selects by what it did."""
        metadata, selector = subject.metadata, subject.spec.selector
        if isinstance(subject, Service) and not selector:
            self.remove(Service.__name__, metadata.namespace, metadata.name)
            return
        there = self._namespaces.get(metadata.namespace)
        if there is None:
            there = self._namespaces[metadata.namespace] = _Namespace()
        if isinstance(subject, Service):
            if there.services.apply(metadata.name, subject.spec.selector or {}):
                there.state = self._next_state()
        else:
            key = (type(subject).__name__, metadata.name)
            known = there.controllers.get(key)
            if known is None or known.selector != selector:
                there.controllers[key] = _Controller(self._next_state(), selector)

    def remove(self, kind: str, namespace: str, name: str) -> None:
        """The object is gone. Nothing happens when it was not known."""
        there = self._namespaces.get(namespace)
        if there is None:
            return
        if kind != Service.__name__:
            there.controllers.pop((kind, name), None)
        elif there.services.remove(name):
            there.state = self._next_state()
        if not there.services and not there.controllers:
            del self._namespaces[namespace]

    def of(self, pod: ObjectMeta) -> DeducedSelector:
        """The selector for a pod with this metadata."""
        namespace = self._namespaces.get(pod.namespace)
        if namespace is None:
            return EMPTY
        labels = pod.labels or {}
        controller = namespace.controller_of(pod)
        key = (namespace.state, 0 if controller is None else controller.state, namespace.services.looked_at(labels))
        answer = self._answers.get(key)
        if answer is None:
            if len(self._answers) >= self._capacity:
                self._answers.clear()
                self._selectors.clear()
            answer = self._answers[key] = self._interned(_requirements(namespace.services, controller, labels))
        return answer

    def _interned(self, requirements: tuple[LabelRequirement, ...]) -> DeducedSelector:
        if not requirements:
            return EMPTY
        known = self._selectors.get(requirements)
        if known is None:
            self._last_id += 1
            known = self._selectors[requirements] = DeducedSelector(self._last_id, LabelMatcher(requirements))
        return known

    def _next_state(self) -> int:
        self._last_state += 1
        return self._last_state


def _requirements(
    services: ServiceLabels, controller: _Controller | None, labels: Labels
) -> tuple[LabelRequirement, ...]:
    """Each requirement once, sorted, and its values too."""
    merged: dict[str, str] = {}
    for selector in services.matching(labels):
        merged.update(selector)
    found: list[LabelRequirement] = []
    if controller is not None:
        merged.update(controller.labels)
        found += [each._replace(values=tuple(sorted(set(each.values)))) for each in controller.requirements]
    found += [LabelRequirement(key, IN, (value,)) for key, value in merged.items()]
    return tuple(sorted(set(found)))


def _text(requirement: LabelRequirement) -> str:
    if requirement.operator == IN and len(requirement.values) == 1:
        return f"{requirement.key}={requirement.values[0]}"
    return _FORMS[requirement.operator].format(requirement.key, ",".join(requirement.values))
