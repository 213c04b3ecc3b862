"""What a pod's claims come to on each node: the volumes that they get, or why they get none.

One Plan is made for a pod, from storage as it is then, and asked for all nodes at once or for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scheduler.api.storage import PersistentVolume, PersistentVolumeClaim
from scheduler.framework.function_shape import FunctionShape
from scheduler.framework.ops import BoolArray, IntArray, MaskArray
from scheduler.framework.ranking import NONE
from scheduler.framework.status import Code, Reason
from scheduler.framework.view import NodeView
from scheduler.framework.volume_facts import VolumeList
from scheduler.plugins.volume_binding.bound import BoundVolume
from scheduler.plugins.volume_binding.facts import Claim
from scheduler.plugins.volume_binding.matching import Candidates
from scheduler.plugins.volume_binding.provisioning import Provisioning
from scheduler.plugins.volume_binding.scoring import ClassUse, mean_score

_UNRESOLVABLE = Code.UNSCHEDULABLE_AND_UNRESOLVABLE

REASONS = (
    Reason("node(s) didn't match PersistentVolume's node affinity", _UNRESOLVABLE),
    Reason("node(s) didn't find available persistent volumes to bind", _UNRESOLVABLE),
    Reason("node(s) did not have enough free storage", _UNRESOLVABLE),
    Reason("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)", _UNRESOLVABLE),
)
"""In the order in which kube-scheduler lists them."""

_MOST_ERRORS = 32
"""More claims of one pod that cannot be looked at are not told apart."""


class WaitingClaim(NamedTuple):
    """A claim that is bound to no volume yet.

    Attributes:
        candidates: the volumes that are there for it; None when one is to be provisioned whatever there is.
        volumes: all of its class.
        provisioning: what can be made for it.
    """

    claim: Claim
    candidates: Candidates | None
    volumes: VolumeList
    provisioning: Provisioning


class _Outcome(NamedTuple):
    """What one waiting claim gets on each node; arrays of shape ``(len(nodes),)``, good where the pod fits.

    Attributes:
        chosen: the number of a volume of its class, or NONE.
        is_provisioned: a volume is to be made for it.
        capacity: the number of the capacity object that has room for it, or NONE.
    """

    waiting: WaitingClaim
    chosen: IntArray
    is_provisioned: BoolArray
    capacity: IntArray


class _Found(NamedTuple):
    masks: MaskArray
    outcomes: list[_Outcome]


class Binding(NamedTuple):
    """A volume that there is, for a claim."""

    volume: PersistentVolume
    claim: PersistentVolumeClaim


class PodVolumes(NamedTuple):
    """What has to be done for the pod's claims on one node: volumes to bind, and claims to provision volumes for."""

    bindings: tuple[Binding, ...] = ()
    provisions: tuple[PersistentVolumeClaim, ...] = ()


class Plan:
    """
    Args:
        bound: for each claim that is bound its volume, None when that is missing.
        waiting: the other claims: those that a node was selected for, then the rest by size.
    """

    def __init__(self, bound: Sequence[BoundVolume | None], waiting: Sequence[WaitingClaim]) -> None:
        self._bound = bound
        self._waiting = waiting
        errors = [volume.error for volume in bound if volume is not None and volume.error]
        self._claim_error = next((one.claim.error for one in waiting if one.candidates and one.claim.error), "")
        if self._claim_error:
            errors.append(self._claim_error)
        self._errors = list(dict.fromkeys(errors))[:_MOST_ERRORS]

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """What the bits of ``masks`` mean: REASONS, and then errors."""
        return (*REASONS, *(Reason(error, Code.ERROR) for error in self._errors))

    def _bit_of(self, error: str) -> np.uint64:
        number = self._errors.index(error) if error in self._errors else _MOST_ERRORS - 1
        return np.uint64(1 << (len(REASONS) + number))

    @property
    def all_bound(self) -> bool:
        """Whether nothing is left to do for any claim, whatever the node."""
        return not self._waiting

    def masks(self, nodes: NodeView) -> MaskArray:
        """Why the pod cannot use its volumes on each node, as bits of ``reasons``; shape ``(len(nodes),)``, also for one row."""
        return self._find(nodes).masks

    def scores(self, nodes: NodeView, line: FunctionShape) -> IntArray:
        """How well the storage that the pod would take suits each node; shape ``(len(nodes),)``.

        Volumes that are there hide those to be provisioned; of these the free room of a class counts once, however many
        claims share it (kube-scheduler 1.37: VolumeBinding Score).
        """
        count = len(nodes)
        outcomes = self._find(nodes).outcomes
        is_static = np.zeros(count, dtype=np.bool_)
        for outcome in outcomes:
            is_static |= outcome.chosen != NONE
        uses: dict[tuple[bool, str], ClassUse] = {}
        for outcome in outcomes:
            _count_volumes(uses, outcome)
            _count_provision(uses, outcome, ~is_static)
        return mean_score(list(uses.values()), line, count)

    def decide(self, node: NodeView) -> PodVolumes:
        """What has to be done on one node that the pod fits on."""
        outcomes = self._find(node).outcomes
        bindings = [
            Binding(outcome.waiting.volumes.volumes[int(outcome.chosen[0])].object, outcome.waiting.claim.object)
            for outcome in outcomes
            if outcome.chosen[0] != NONE
        ]
        provisions = [outcome.waiting.claim.object for outcome in outcomes if outcome.is_provisioned[0]]
        return PodVolumes(tuple(bindings), tuple(provisions))

    def _find(self, nodes: NodeView) -> _Found:
        count = len(nodes)
        is_mismatch, is_missing, failures = self._check_bound(nodes)
        is_elsewhere = np.zeros(count, dtype=np.bool_)
        for waiting in self._waiting:
            if waiting.claim.selected_node is not None:
                is_elsewhere |= ~np.atleast_1d(np.asarray(nodes.is_named(waiting.claim.selected_node)))
        is_open = ~is_elsewhere
        if self._claim_error:
            failures |= np.where(is_open & (failures == 0), self._bit_of(self._claim_error), np.uint64(0))
        is_unmatched = is_elsewhere
        is_short = np.zeros(count, dtype=np.bool_)
        outcomes: list[_Outcome] = []
        for waiting, chosen in zip(self._waiting, self._choose(nodes), strict=True):
            is_provisioned = is_open & (chosen == NONE)
            capacity = np.full(count, NONE, dtype=np.int64)
            if is_provisioned.any():
                is_possible, is_enough, capacity = waiting.provisioning.check(nodes)
                # The first claim that gets nothing says why; the others are not looked at any more.
                is_unmatched = is_unmatched | (is_provisioned & ~is_possible)
                is_short |= is_provisioned & is_possible & ~is_enough
                is_open = is_open & ~(is_provisioned & ~(is_possible & is_enough))
            outcomes.append(_Outcome(waiting, chosen, is_provisioned, capacity))
        masks = failures
        for bit, refused in enumerate((is_mismatch, is_unmatched, is_short, is_missing)):
            masks |= refused.astype(np.uint64) << np.uint64(bit)
        return _Found(masks, outcomes)

    def _check_bound(self, nodes: NodeView) -> tuple[BoolArray, BoolArray, MaskArray]:
        """Where a bound volume cannot be used, where one is missing, and the bits of errors.

        The first claim that is refused decides.
        """
        count = len(nodes)
        is_open = np.ones(count, dtype=np.bool_)
        is_mismatch = np.zeros(count, dtype=np.bool_)
        failures = np.zeros(count, dtype=np.uint64)
        for volume in self._bound:
            if volume is None:
                return is_mismatch, is_open, failures
            reached, failed = volume.look(nodes)
            if volume.error:
                failures[is_open & failed] = self._bit_of(volume.error)
                is_open &= ~failed
            is_mismatch |= is_open & ~reached
            is_open &= reached
        return is_mismatch, np.zeros(count, dtype=np.bool_), failures

    def _choose(self, nodes: NodeView) -> list[IntArray]:
        """For each waiting claim the volume of its class that it gets on each node, the smaller claims first."""
        choices: list[IntArray] = []
        by_class: dict[str, list[IntArray]] = {}
        for claim, candidates, _, _ in self._waiting:
            if candidates is None:
                choices.append(np.full(len(nodes), NONE, dtype=np.int64))
                continue
            taken = by_class.setdefault(claim.storage_class, [])
            chosen = candidates.choose(nodes, taken)
            taken.append(chosen)
            choices.append(chosen)
        return choices


def _count_volumes(uses: dict[tuple[bool, str], ClassUse], outcome: _Outcome) -> None:
    chosen = outcome.chosen
    if not (chosen != NONE).any():
        return
    volumes = outcome.waiting.volumes
    is_there = chosen != NONE
    room = np.where(is_there, volumes.size_bytes[chosen], 0)
    for number, name in enumerate(volumes.fields):
        belongs = is_there & (volumes.field[chosen] == number)
        if belongs.any():
            use = uses.setdefault((True, name), ClassUse(len(chosen)))
            use.add(belongs, outcome.waiting.claim.size_bytes or 0, room, shares=False)


def _count_provision(uses: dict[tuple[bool, str], ClassUse], outcome: _Outcome, is_counted: BoolArray) -> None:
    here = is_counted & outcome.is_provisioned & (outcome.capacity != NONE)
    if not here.any():
        return
    claim = outcome.waiting.claim
    # The field counts, not the annotation that goes before it elsewhere.
    name = claim.object.spec.storage_class_name
    use = uses.setdefault((False, claim.storage_class if name is None else name), ClassUse(len(here)))
    room = outcome.waiting.provisioning.room_bytes[outcome.capacity]
    use.add(here, claim.size_bytes or 0, room, shares=True)
