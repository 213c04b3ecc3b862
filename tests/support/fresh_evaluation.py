"""Decisions of a recorded story worked out afresh: the rules are the product's, what they are applied to is made from nothing."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from scheduler.api.objects import Node, Pod, SelectingObject
from scheduler.app.replay_command import build
from scheduler.cache.cache import Cache
from scheduler.core.story import Header
from scheduler.framework.pod_info import PodInfo
from scheduler.profile.evaluation import Evaluation
from tests.support.plain_account import PlainAccount, Version, version_of
from tests.support.resources import Object


class FreshEvaluations:
    """Evaluations by the one profile of a story; each pod is decoded once."""

    def __init__(self, story: Path, selecting: Iterable[SelectingObject] = ()) -> None:
        """Read the head of `story`; `selecting` are the Services and controllers of all of its time."""
        with story.open("rb") as lines:
            header = msgspec.json.decode(next(lines), type=Header)
        [self._profile] = build(header).state.profiles.values()
        self._seed = header.seed
        self._selecting = tuple(selecting)
        self._pods: dict[Version, PodInfo] = {}

    def totals(self, account: PlainAccount, pod: Object) -> Mapping[str, int]:
        """The total of every node that fits the pod, by its name, for what the account knows."""
        cache = self._cache(account)
        evaluation = Evaluation(self._profile, self._decoded(pod), cache.table)
        evaluation.refresh()
        evaluation.refresh_scores()
        return {cache.table.name_of(row): evaluation.total(row) for row in evaluation.feasible_rows()}

    def _decoded(self, plain: Object) -> PodInfo:
        version = version_of(plain)
        if version not in self._pods:
            self._pods[version] = PodInfo(msgspec.convert(plain, Pod))
        return self._pods[version]

    def _cache(self, account: PlainAccount) -> Cache:
        """A cache made of what the account knows."""
        cache = Cache(seed=self._seed)
        for subject in self._selecting:
            cache.apply_selecting_object(subject)
        for node in account.nodes.values():
            cache.apply_node(msgspec.convert(node, Node))
        for pod in account.assigned.values():
            cache.apply_pod(self._decoded(pod))
        for pod, node_name in account.assumed.values():
            cache.assume(self._decoded(pod), node_name)
        return cache
