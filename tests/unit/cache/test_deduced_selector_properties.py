"""Whatever happens to the objects that select pods: a kept answer is what a fresh index and the long way give."""

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from scheduler.api.objects import LabelSelector, ObjectMeta, SelectingObject
from scheduler.cache.deduced_selectors import DeducedSelectors
from tests.support.selecting_objects import (
    Requirement,
    controlled_by,
    expected_requirements,
    replica_set,
    replication_controller,
    selected_pod,
    selector,
    service,
    stateful_set,
)

CAPACITY = 40
NAMESPACES = st.sampled_from(["default", "default", "other"])
NAMES = st.sampled_from(["x", "y"])
LABELS = st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["a", "b"]), min_size=1)
VALUES = st.lists(st.sampled_from(["a", "b"]), max_size=3)
OPERATORS = st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt"])
EXPRESSIONS = st.tuples(st.sampled_from(["app", "tier", "zone"]), OPERATORS, VALUES)


@st.composite
def selectors(draw: st.DrawFn) -> LabelSelector:
    return selector(draw(st.none() | LABELS), *draw(st.lists(EXPRESSIONS, max_size=2)))


SERVICES = st.builds(
    service, st.sampled_from(["s", "t", "u"]), st.sampled_from([None, {}]) | LABELS | LABELS, NAMESPACES
)
CONTROLLERS = st.one_of(
    st.builds(replication_controller, NAMES, st.none() | LABELS, NAMESPACES),
    st.builds(replica_set, NAMES, st.none() | selectors(), NAMESPACES),
    st.builds(stateful_set, NAMES, st.none() | selectors(), NAMESPACES),
)
PODS = [
    selected_pod(labels, *owners, namespace=namespace)
    for namespace in ("default", "other")
    for labels in (None, {"app": "a"}, {"tier": "b"}, {"app": "a", "tier": "a"}, {"app": "b", "tier": "a", "zone": "a"})
    for owners in (
        (),
        (controlled_by("ReplicationController", "x", "v1"),),
        (controlled_by("ReplicaSet", "x"), controlled_by("ReplicaSet", "y")),
        (controlled_by("StatefulSet", "x", controller=None), controlled_by("StatefulSet", "y")),
        (controlled_by("StatefulSet", "x", "apps/v1beta1"),),
    )
]


def requirements(index: DeducedSelectors, pod: ObjectMeta) -> list[Requirement]:
    found = index.of(pod)
    assert found.is_empty == (not found.matcher.requirements)
    return [(each.key, each.operator, each.values) for each in found.matcher.requirements]


class SelectorMachine(RuleBasedStateMachine):
    """Objects come, change and go in any order; after each step some pods ask, then all."""

    def __init__(self) -> None:
        super().__init__()
        self.index = DeducedSelectors(CAPACITY)
        self.objects: dict[tuple[str, str, str], SelectingObject] = {}
        self.by_id: dict[int, list[Requirement]] = {0: []}

    @rule(subject=SERVICES | CONTROLLERS)
    def apply(self, subject: SelectingObject) -> None:
        self.index.apply(subject)
        self.objects[type(subject).__name__, subject.metadata.namespace, subject.metadata.name] = subject

    @precondition(lambda self: self.objects)
    @rule(draw=st.data())
    def remove(self, draw: st.DataObject) -> None:
        kind, namespace, name = draw.draw(st.sampled_from(sorted(self.objects)))
        self.index.remove(kind, namespace, name)
        del self.objects[kind, namespace, name]

    @rule(kind=st.sampled_from(["Service", "ReplicaSet"]))
    def remove_an_unknown_one(self, kind: str) -> None:
        self.index.remove(kind, "default", "unknown")

    @invariant()
    def answers_are_those_of_a_fresh_index_and_of_the_long_way(self) -> None:
        fresh = DeducedSelectors()
        for each in reversed(self.objects.values()):
            fresh.apply(each)
        for pod in PODS:
            here = requirements(self.index, pod.pod.metadata)
            assert here == requirements(fresh, pod.pod.metadata)
            assert here == expected_requirements(pod, self.objects.values())

    @invariant()
    def an_id_stands_for_one_selector_for_ever(self) -> None:
        for pod in PODS:
            shown = requirements(self.index, pod.pod.metadata)
            assert self.by_id.setdefault(self.index.of(pod.pod.metadata).id, shown) == shown

    @invariant()
    def what_is_kept_has_a_bound(self) -> None:
        assert len(self.index._selectors) <= len(self.index._answers) <= CAPACITY
        assert set(self.index._namespaces) <= {namespace for _, namespace, _ in self.objects}


def test_answers_are_right_after_any_sequence_of_changes() -> None:
    run_state_machine_as_test(SelectorMachine, settings=settings(max_examples=30, stateful_step_count=30))
