"""How a pod's node is found: from an entry of the batch cache where there is one, from all nodes where there is none.

Both ways end in the same Evaluation and the same selection. What an entry gives is checked now and then against an
evaluation from scratch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from scheduler.batch.entries import Entries, Entry
from scheduler.batch.key import Key
from scheduler.batch.options import BatchOptions
from scheduler.batch.outcomes import Attempt, BatchCounters, Bypass, Flush
from scheduler.cache.cache import Cache
from scheduler.core.chance import until_next
from scheduler.core.cooling import Cooling
from scheduler.core.kubelet_rejections import COOLING, COOLING_REASON, shape_of
from scheduler.core.observing import EVERY, Observers
from scheduler.framework.likeness import Traits, traits_of
from scheduler.framework.plugin import Unsignable
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.signature import Signature, Signatures
from scheduler.framework.status import Code, Status
from scheduler.profile.evaluation import NOTHING_INSTEAD, Evaluation
from scheduler.profile.failure import PluginFailure, Stage
from scheduler.profile.filtering import Verdicts
from scheduler.profile.nominated import refusals
from scheduler.profile.profile import Profile
from scheduler.queue.queued_pod import QueuedPod
from scheduler.queue.scheduling_queue import SchedulingQueue

OnFailure: TypeAlias = Callable[[PluginFailure, PodInfo], object]

TEMPLATES = 8
"""How many kinds of pods can take turns with each signed once."""

Avoided: TypeAlias = tuple[str, ...]
"""Names of nodes that a pod is kept from for a while."""

# To make room on such a node would not help.
_COOLING_NODE = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (COOLING_REASON,), COOLING)

_HINT_USED = Attempt.HINT_USED  # to look a member of an Enum up takes as long as a call

_FLUSH_OF_STAGE = {
    Stage.PRE_FILTER: Flush.FILTER_ERROR,
    Stage.FILTER: Flush.FILTER_ERROR,
    Stage.PRE_SCORE: Flush.PRESCORE_ERROR,
    Stage.SCORE: Flush.RESCORE_ERROR,
    Stage.NORMALIZE: Flush.NORMALIZE_ERROR,
}


class Mismatch(NamedTuple):
    """A reused decision that was not the one of a full evaluation. The pod got ``expected``."""

    pod: str
    reused: str
    expected: str
    age_seconds: float
    hits: int


class Decision(msgspec.Struct, frozen=True):
    """What was found for one pod.

    Attributes:
        row: of the node, or None when none fits.
        evaluation: what the answer was read from.
        instead: refusals because of nominated pods, by row.
        batch: an Attempt, or a Bypass when the cache was not used at all.
        is_checked: whether all nodes were evaluated as well, to check what an entry gave.
    """

    row: int | None
    evaluation: Evaluation
    instead: Verdicts
    batch: Attempt | Bypass
    mismatch: Mismatch | None = None
    is_checked: bool = False


class Batching:
    """The batch cache of one scheduler, and why a profile does not use it.

    Args:
        chance: uniform in [0, 1): how many reused decisions go by until the next one that is checked.
        on_failure: told when a plugin failed while an entry was brought up to date.
        cooling: nodes that pods are kept from.
        observers: told of the plugins at work.

    Attributes:
        is_timed: whether plugins were timed in the last decision, as they are in one of ``EVERY``.
    """

    def __init__(  # noqa: PLR0913 - what decisions are made from
        self,
        profiles: Mapping[str, Profile],
        cache: Cache,
        queue: SchedulingQueue,
        options: BatchOptions,
        chance: Callable[[], float],
        on_failure: OnFailure,
        cooling: Cooling,
        *,
        observers: Observers,
    ) -> None:
        self.counters = BatchCounters(profiles)
        self.entries: Entries[Evaluation] = Entries(options, self.counters)
        self.off: dict[str, str] = {name: self._why_off(profile, options) for name, profile in profiles.items()}
        """By schedulerName why batching is off; "" where it is on."""
        self._cache = cache
        self._queue = queue
        self._nominator = queue.nominator
        self._verify_fraction = options.verify_fraction
        self._chance = chance
        self._on_failure = on_failure
        self._cooling = cooling
        self._observers = observers
        self._until_timed = 0
        self.is_timed = False
        self._until_check = until_next(options.verify_fraction, chance())

    def change(self, profiles: Mapping[str, Profile], options: BatchOptions, now: float) -> None:
        """Another configuration: all entries are dropped, and a profile that a check has switched off is on again."""
        self.counters.add(profiles)
        self.entries.change(options, now)
        self.off = {name: self._why_off(profile, options) for name, profile in profiles.items()}
        self._verify_fraction = options.verify_fraction
        self._until_check = until_next(options.verify_fraction, self._chance())

    @staticmethod
    def _why_off(profile: Profile, options: BatchOptions) -> str:
        if not options.enabled:
            return "batching.enabled is false"
        unsigned = profile.unsigned_plugin()
        return f"plugin {unsigned} does not sign pods" if unsigned else ""

    def as_document(self, now: float) -> dict[str, Any]:
        """What there is to know of the cache, for people: plain values, entries in the order in which they leave."""
        return {
            "profiles": {name: {"enabled": not why, "reason": why} for name, why in self.off.items()},
            "hitRatio": round(self.counters.hit_ratio(), 4),
            "counts": self.counters.as_document(),
            "entries": [
                {
                    "profile": entry.key.pod.scheduler_name,
                    "ageSeconds": round(now - entry.created, 3),
                    "hits": entry.hits,
                    "feasibleNodes": entry.evaluation.feasible_count,
                    "signature": {name: repr(fragment) for name, fragment in entry.key.pod.fragments},
                }
                for entry in self.entries
            ],
            "lastFlushes": [
                {
                    "secondsAgo": round(now - record.at, 3),
                    "profile": record.scheduler_name,
                    "reason": record.reason.value,
                    "ageSeconds": round(record.age_seconds, 3),
                    "hits": record.hits,
                }
                for record in reversed(self.entries.flushed)
            ],
        }

    def decide(self, queued: QueuedPod, profile: Profile, now: float, *, counts: bool = True) -> Decision:
        """Find the pod's node.

        Args:
            counts: False when the answer of an entry is not the last word: ``count`` is called then, once it is known.

        Raises:
            PluginFailure: a plugin failed while all nodes were evaluated.
        """
        self.is_timed = not self._until_timed
        if self._until_timed:
            self._until_timed -= 1
            return self._decide(queued, profile, now, counts=counts)
        self._until_timed = EVERY - 1
        with self._observers[profile.scheduler_name].timing():
            decision = self._decide(queued, profile, now, counts=counts)
        decision.evaluation.observe()
        return decision

    def _decide(self, queued: QueuedPod, profile: Profile, now: float, *, counts: bool) -> Decision:
        pod, key = queued.pod, self._key(queued, profile)
        avoided = tuple(self._cooling.nodes_of(shape_of(queued), now)) if self._cooling.active else ()
        if not isinstance(key, Key):
            # Counted first: a pod whose evaluation fails did not use the cache either.
            self.counters.bypasses[profile.scheduler_name, key] += 1
            return replace(self._evaluate_all(pod, profile, avoided), batch=key)
        entry = self.entries.get(key, now)
        if entry is not None:
            decision = self._from_entry(pod, profile, entry, avoided, now, counts=counts)
            if decision is not None:
                if self._until_check:
                    self._until_check -= 1
                    return decision
                self._until_check = until_next(self._verify_fraction, self._chance())
                return self._verified(pod, profile, entry, decision, avoided, now)
        return self._without_entry(pod, profile, key, avoided, now)

    def _key(self, queued: QueuedPod, profile: Profile) -> Key | Bypass:
        if self.off[profile.scheduler_name]:
            return Bypass.DISABLED
        if queued.pod.pod.status.nominated_node_name:
            return Bypass.POD_NOMINATED
        signature = queued.signature
        if signature is None:
            return Bypass.POD_NOT_BATCHABLE
        return Key(signature, profile.sign_cluster(queued.pod, self._cache.table))

    def _without_entry(self, pod: PodInfo, profile: Profile, key: Key, avoided: Avoided, now: float) -> Decision:
        was_seen = self.entries.was_seen(key, now)
        self.counters.attempts[profile.scheduler_name, Attempt.NO_HINT] += 1
        decision = self._evaluate_all(pod, profile, avoided)
        is_expected_again = was_seen or self._queue.is_waiting(key.pod)
        if is_expected_again and decision.evaluation.is_worth_keeping():
            self.entries.store(key, decision.evaluation, now)
        return decision

    def _from_entry(
        self, pod: PodInfo, profile: Profile, entry: Entry[Evaluation], avoided: Avoided, now: float, *, counts: bool
    ) -> Decision | None:
        """The entry's answer, brought up to date; None when that failed, and then the entry is gone."""
        evaluation = entry.evaluation
        try:
            evaluation.take(pod)
            if self.is_timed:
                evaluation.observe()
            evaluation.refresh()
            instead = (
                self._refusals(pod, evaluation, avoided) if self._nominator.node_of or avoided else NOTHING_INSTEAD
            )
            row = evaluation.select(instead)
            if row is None:
                attempt = Attempt.FIT_ERROR
            elif instead and row != evaluation.select():
                attempt = Attempt.HINT_NOT_USED
            else:
                attempt = _HINT_USED
        except PluginFailure as failure:
            self._on_failure(failure, pod)
            self.entries.drop(entry.key, _FLUSH_OF_STAGE[failure.stage], now)
            return None
        entry.hits += 1
        if counts:
            self.counters.attempts[profile.scheduler_name, attempt] += 1
        return Decision(row, evaluation, instead, attempt)

    def _evaluate_all(self, pod: PodInfo, profile: Profile, avoided: Avoided) -> Decision:
        evaluation = Evaluation(profile, pod, self._cache.table, self._observers[profile.scheduler_name])
        evaluation.refresh()
        instead = self._refusals(pod, evaluation, avoided)
        row = self._nominated_row(pod, evaluation, instead)
        if row is None:
            row = evaluation.select(instead)
        return Decision(row, evaluation, instead, Attempt.NO_HINT)

    def count(self, profile: Profile, decision: Decision) -> None:
        """A decision that ``decide`` did not count has come to its end."""
        if isinstance(decision.batch, Attempt) and decision.batch is not Attempt.NO_HINT:
            self.counters.attempts[profile.scheduler_name, decision.batch] += 1

    def renew(self, pod: PodInfo, evaluation: Evaluation, before: Verdicts) -> Verdicts:
        """Bring an evaluation up to date that a decision was made from some time ago; what nominated pods keep from the pod now.

        Raises:
            PluginFailure: a plugin failed.
        """
        evaluation.refresh()
        cooling = {row: status for row, status in before.items() if status.plugin == COOLING}
        return {**cooling, **self._refusals(pod, evaluation, ())}

    def _refusals(self, pod: PodInfo, evaluation: Evaluation, avoided: Avoided) -> Verdicts:
        """What nominated pods, and kubelets that refused, keep from the pod; the evaluation is up to date, before and after."""
        ahead = self._nominator.ahead_of(pod)
        refused = refusals(evaluation, self._cache, ahead) if ahead else NOTHING_INSTEAD
        if not avoided or evaluation.prefilter.code is not Code.SUCCESS:
            return refused
        rows = (self._cache.table.row_of(name) for name in avoided)
        cooling = (row for row in rows if row is not None and evaluation.status(row).code is Code.SUCCESS)
        return {**dict.fromkeys(cooling, _COOLING_NODE), **refused}

    def _nominated_row(self, pod: PodInfo, evaluation: Evaluation, instead: Verdicts) -> int | None:
        """The node that the pod itself is nominated to, if it fits there: it is taken without scoring."""
        name = pod.pod.status.nominated_node_name
        row = self._cache.table.row_of(name) if name else None
        if row is None or row in instead or evaluation.status(row).code is not Code.SUCCESS:
            return None
        return row

    def _verified(
        self,
        pod: PodInfo,
        profile: Profile,
        entry: Entry[Evaluation],
        decision: Decision,
        avoided: Avoided,
        now: float,
    ) -> Decision:
        """The decision, or that of a full evaluation when a check finds another one: then batching of the profile ends.

        Raises:
            PluginFailure: a plugin failed in the check. Without an entry the pod would have met that too.
        """
        try:
            fresh = self._evaluate_all(pod, profile, avoided)
        except PluginFailure as failure:
            self.entries.drop(entry.key, _FLUSH_OF_STAGE[failure.stage], now)
            raise
        self.counters.verified[profile.scheduler_name] += 1
        difference = decision.evaluation.difference(fresh.evaluation, decision.row, fresh.row)
        if not difference:
            return replace(decision, is_checked=True)
        name = profile.scheduler_name
        self.counters.mismatched[name] += 1
        self.off[name] = f"verification found another decision: {difference}"
        self.entries.drop_profile(name, Flush.VERIFICATION_FAILED, now)
        mismatch = Mismatch(
            pod=pod.key,
            reused=self._name(decision.row),
            expected=self._name(fresh.row),
            age_seconds=now - entry.created,
            hits=entry.hits,
        )
        return replace(fresh, batch=decision.batch, mismatch=mismatch, is_checked=True)

    def _name(self, row: int | None) -> str:
        return "" if row is None else self._cache.table.name_of(row)


class Signer:
    """Signs pods when they enter the queue. A plugin that raises leaves the pod unsigned, and ``on_failure`` is told."""

    def __init__(self, profiles: Mapping[str, Profile], on_failure: OnFailure, observers: Observers) -> None:
        self._profiles = profiles
        self._observers = observers
        self._signatures = Signatures()
        self._on_failure = on_failure
        self._last: deque[tuple[Traits, PodInfo, Signature | None]] = deque(maxlen=TEMPLATES)
        """Pods that were signed last, one of each template."""

    def change(self, profiles: Mapping[str, Profile]) -> None:
        """Other profiles sign from now on: no signature is equal to one from before."""
        self._profiles = profiles
        self._signatures = Signatures()
        self._last.clear()

    def counterpart(self, signature: Signature) -> Signature:
        """The one from before a change as it is given out now, if the same is: each fragment names the plugin that signs so."""
        return self._signatures.get(signature.scheduler_name, signature.fragments)

    def sign(self, pod: PodInfo) -> Signature | None:
        """The pod's part of its signature; None when its decision is not to be reused."""
        profile = self._profiles.get(pod.pod.spec.scheduler_name)
        if profile is None:
            return None
        traits = traits_of(pod.pod)
        for known, last, signature in self._last:
            if known == traits:
                # Pods come by the thousand of one template: to sign each anew takes as long as to decide on it.
                pod.take_over(last)
                return signature
        try:
            fragments = self._observers[profile.scheduler_name].timed_point(Stage.SIGN, profile.sign)(pod)
        except PluginFailure as failure:
            self._on_failure(failure, pod)
            return None
        signature = None
        if not isinstance(fragments, Unsignable):
            signature = self._signatures.get(profile.scheduler_name, fragments)
        self._last.appendleft((traits, pod, signature))
        return signature
