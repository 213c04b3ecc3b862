"""Extension points, as classes that a plugin inherits from; names are those of the scheduling framework.

``nodes`` is always the set of rows to answer for. An answer is a column of shape ``(len(nodes),)``, or one Python scalar
for a row view; both come from the same code by way of ``framework.ops``. ``state`` is the plugin's own notebook for one
evaluation: what PreFilter and PreScore work out of the pod, Filter and Score read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

from scheduler.framework.binding import Handle, PatchAnswer, PermitAnswer, PreBindStep, PreFlight
from scheduler.framework.cluster_event import ClusterEvent
from scheduler.framework.facet import Facet, Input
from scheduler.framework.ops import Ints, Masks
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.post_filter import Candidate, FailedCycle, PostFilterResult
from scheduler.framework.queueing_hint import Hint
from scheduler.framework.status import SUCCESS, Reason, Status
from scheduler.framework.view import NodeView

CycleState: TypeAlias = dict[str, Any]
"""One plugin's notebook for one evaluation; nobody else reads it."""

MAX_NODE_SCORE = 100


class Plugin(ABC):
    """A named rule. Anything of a node that it reads is declared here; a view raises on the rest."""

    name: ClassVar[str]
    facets: ClassVar[Facet] = Facet.NONE
    inputs: ClassVar[frozenset[Input]] = frozenset()
    watches: ClassVar[tuple[str, ...]] = ()
    """Kinds of storage objects, or PodDisruptionBudget, that it reads or waits for; one that no enabled plugin names is not watched."""


class PreFilterResult(NamedTuple):
    """``node_names`` not None: only these nodes can be feasible, whether they exist or not."""

    status: Status = SUCCESS
    node_names: frozenset[str] | None = None


class PreFilterPlugin(Plugin):
    @abstractmethod
    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> PreFilterResult:
        """Over all nodes, once an evaluation and again when ``filter_token`` changes. SKIP switches the plugin's Filter off."""


class FilterPlugin(Plugin):
    @abstractmethod
    def reasons(self, state: CycleState, pod: PodInfo) -> tuple[Reason, ...]:
        """What the bits of this pod's masks mean, lowest bit first; at most 64. Several bits may share a text.

        One with Code.ERROR is a failure on the nodes that have the bit: the cycle fails if such a node is reached.
        """

    @abstractmethod
    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Masks:
        """0 where the pod fits as far as this plugin can tell, else a bit for each reason."""

    def filter_inputs(self, state: CycleState, pod: PodInfo) -> frozenset[Input]:
        """Those of ``inputs`` that can change a verdict on this pod, now or later; asked once an evaluation, after PreFilter."""
        return self.inputs

    def filter_token(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> tuple[int, ...]:
        """Versions of the inputs beyond the row that the verdicts depend on.

        When it changes, PreFilter runs anew, and then the rows of ``renewed_rows``.
        """
        return ()

    def renewed_rows(self, state: CycleState) -> Sequence[int] | None:
        """The rows that PreFilter, when it last ran, gave another verdict than the time before; None stands for all rows.

        A row of which something that the plugin reads has changed itself is asked for anyway.
        """
        return None


class PostFilterPlugin(Plugin):
    @abstractmethod
    def post_filter(self, pod: PodInfo, cycle: FailedCycle) -> PostFilterResult:
        """What may help the pod, which fits nowhere as things are: asked in order, until a plugin has an answer."""

    def choose_from(self, candidates: Sequence[Candidate], now: float) -> PostFilterResult:
        """Choose again, after extenders have had their say about the candidates of an answer."""
        raise NotImplementedError(f"{self.name} gives candidates and cannot choose among them")


class PodGroupPostFilterPlugin(Plugin):
    """A marker: pods of a group are scheduled like any others, so the point is never asked (kube-scheduler 1.37: GenericWorkload off)."""


class PreScorePlugin(Plugin):
    @abstractmethod
    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        """When there is something to score, once an evaluation and again when an input of Score beyond the row changes.

        SKIP switches the plugin's Score off for this pod.
        """


class ScorePlugin(Plugin):
    @abstractmethod
    def score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Ints:
        """Raw int64 score of each row. Without a NormalizePlugin it is the final one and lies in 0..100."""

    def score_inputs(self, state: CycleState, pod: PodInfo) -> frozenset[Input]:
        """Those of ``inputs`` that can change a score of this pod, now or later; asked once an evaluation, after PreScore."""
        return self.inputs

    def score_token(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> tuple[int, ...]:
        """Versions of the inputs beyond the row that the scores depend on; when it changes, PreScore and every row run anew.

        Of Input.FEASIBLE no version is needed.
        """
        return ()


class NormalizePlugin(ScorePlugin):
    @abstractmethod
    def normalize(self, state: CycleState, pod: PodInfo, nodes: NodeView, scores: Ints, low: int, high: int) -> Ints:
        """Final scores of these rows in 0..100, given the lowest and highest raw score of the feasible rows."""


class PreEnqueuePlugin(Plugin):
    @abstractmethod
    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Whether the pod may enter the active queue at all."""


class QueueSortPlugin(Plugin):
    @abstractmethod
    def sort_key(self, pod: PodInfo, timestamp: float) -> tuple[Any, ...]:
        """The pod with the lowest key is scheduled first. ``timestamp``: when the pod entered the queue or last failed."""


class BindingCyclePlugin(Plugin):
    """Takes part in what follows once a node is chosen.

    ``state`` is the plugin's notebook for this one binding. It begins as a copy of what its PreFilter, Filter and PreScore
    noted for the evaluation that the choice was read from, and that can have been made for another pod of the same
    signature; what they noted there is to be read only. ``pod`` is the pod as it was decided on, without a node.
    """

    def takes_part(self, pod: PodInfo) -> bool:
        """Whether the plugin can have anything to do for the pod, whatever the node: asked once a decision, so it is quick.

        False: none of the plugin's points from Reserve to PostBind is asked. It depends on the pod's spec alone.
        """
        return True


class ReservePlugin(BindingCyclePlugin):
    @abstractmethod
    def reserve(self, state: CycleState, pod: PodInfo, node_name: str, handle: Handle) -> Status:
        """Keep what the pod needs on the node; in order, the first that fails ends it."""

    @abstractmethod
    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str, handle: Handle) -> None:
        """Give it back: the pod will not be bound there. In reverse order, also when ``reserve`` failed or was never asked."""


class PermitPlugin(BindingCyclePlugin):
    @abstractmethod
    def permit(self, state: CycleState, pod: PodInfo, node_name: str, handle: Handle) -> PermitAnswer:
        """Let the pod go on, hold it back for a while, or reject it."""


class PreBindPlugin(BindingCyclePlugin):
    patches: ClassVar[tuple[str, ...]] = ()
    """Kinds of objects that ``pre_bind`` writes; the scheduler asks for the right to patch them."""

    @abstractmethod
    def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node_name: str, handle: Handle) -> PreFlight:
        """Whether ``pre_bind`` has work for the pod; without any the pod is bound at once."""

    @abstractmethod
    def pre_bind(
        self, state: CycleState, pod: PodInfo, node_name: str, handle: Handle, answers: tuple[PatchAnswer, ...]
    ) -> PreBindStep:
        """One step of the work. It can also be asked again without anything having changed.

        Args:
            answers: to the patches of the last step, in their order, up to the first that failed; empty when that was none.
        """


class PostBindPlugin(BindingCyclePlugin):
    @abstractmethod
    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str, handle: Handle) -> None:
        """The pod is bound."""


class BindPlugin(Plugin):
    """A marker: the binding itself is an instruction that the dispatcher carries out."""


class EnqueueExtensions(Plugin):
    @abstractmethod
    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        """The events that could make a pod schedulable which this plugin rejected."""

    def queueing_hint(self, pod: PodInfo, event: ClusterEvent, old: Any, new: Any, nodes: NodeView) -> Hint:
        """Whether an event that the plugin registered for can help the pod; by default each of them can.

        It is asked once for all pods with one signature, or of one ``hint_key`` besides: see there. What it raises is counted
        and logged, and the pod is tried again.

        Args:
            event: one thing that happened: an action of a single bit, or a plain UPDATE.
            old: the object as it was, None for one that came: a PodInfo for events of pods, else the object of ``scheduler.api``.
                A pod that was assumed on a node has that node.
            new: the object as it is, None for one that went.
            nodes: all nodes as they are now, and what else the plugin declared.
        """
        return Hint.QUEUE

    def hint_key(self, pod: PodInfo) -> Hashable:
        """What of the pod ``queueing_hint`` looks at beyond what the plugin signs it by (SignPlugin), whatever the cluster is like.

        Pods that are alike in both share one answer to an event. A plugin that does not sign pods answers for each alone.
        """
        return ()


class Unsignable(NamedTuple):
    """Why a pod has no signature, so that its decision is never reused."""

    reason: str


class SignPlugin(Plugin):
    @abstractmethod
    def sign(self, pod: PodInfo) -> tuple[Any, ...] | Unsignable:
        """Everything of the pod that this plugin's answers depend on, as a hashable value of plain types (KEP-5598).

        They do not depend on what is each pod's own: of pods that differ in nothing else, as ``likeness.traits_of`` says,
        one is asked about.
        """


class NamespaceReader(Plugin):
    @abstractmethod
    def reads_namespace(self, pod: PodInfo, nodes: NodeView, name: str) -> bool:
        """Whether answers about the pod can change when the namespace of this name comes, goes or gets other labels."""


class ClusterSignPlugin(SignPlugin):
    """A plugin whose answers also depend on what other objects make of the pod: that is not known when the pod is queued."""

    @abstractmethod
    def sign_cluster(self, pod: PodInfo, nodes: NodeView) -> tuple[Any, ...]:
        """That part of the signature, when the pod is decided on; as a hashable value of plain types, () when there is none.

        Pods with equal signatures of both kinds get the same answers from here on, whatever becomes of the cluster: what is
        read here of other objects is not looked at again while the decision is reused.
        """
