"""The PreBind plugins of one pod at work: each a step at a time, those that allow it side by side.

kube-scheduler 1.37: RunPreBindPlugins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from scheduler.api.storage import STORAGE_KINDS
from scheduler.core.plugin_answers import check_seconds
from scheduler.framework.binding import (
    ObjectKey,
    ObjectPatch,
    PatchAnswer,
    PreBindDone,
    PreBindStep,
    PreBindWaits,
    PreBindWrites,
)
from scheduler.framework.plugin import PreBindPlugin


class Willing(NamedTuple):
    """A plugin whose PreBindPreFlight was asked: whether it has work, and whether others may work meanwhile."""

    plugin: PreBindPlugin
    has_work: bool
    allows_parallel: bool


class PreBindRun:
    """One plugin's work, and the step that it is at; None before the first one."""

    def __init__(self, plugin: PreBindPlugin) -> None:
        self.plugin = plugin
        self.step: PreBindStep | None = None
        self.answers: list[PatchAnswer] = []
        """To the patches of the present step."""
        self.number = 0
        """Of the last patch that was sent."""

    def take(self, step: PreBindStep) -> None:
        """The plugin was asked, and this is what comes next."""
        self.step = step
        self.answers = []

    @property
    def is_done(self) -> bool:
        return isinstance(self.step, PreBindDone)

    @property
    def is_due(self) -> bool:
        """Whether the plugin is to be asked: for the first time, or because all its patches are answered."""
        return self.step is None or (isinstance(self.step, PreBindWrites) and self.patch_to_send is None)

    @property
    def patch_to_send(self) -> ObjectPatch | None:
        """The next patch of the present step: the one before is answered, and has not failed."""
        if not isinstance(self.step, PreBindWrites) or (self.answers and self.answers[-1].error):
            return None
        left = self.step.patches[len(self.answers) :]
        return left[0] if left else None

    @property
    def awaited(self) -> tuple[ObjectKey, ...]:
        return self.step.objects if isinstance(self.step, PreBindWaits) else ()

    def is_overdue(self, now: float) -> bool:
        return isinstance(self.step, PreBindWaits) and self.step.deadline is not None and now >= self.step.deadline


class PreBindWork:
    """All PreBind plugins that have work for one pod, as groups that follow one another."""

    def __init__(self, willing: Sequence[Willing]) -> None:
        self._groups = list(_groups(willing))

    @property
    def running(self) -> list[PreBindRun]:
        """The plugins of the present group that are not done; nobody when all groups are."""
        while self._groups:
            left = [run for run in self._groups[0] if not run.is_done]
            if left:
                return left
            del self._groups[0]
        return []


OBSERVED_KINDS = frozenset({"Node", *STORAGE_KINDS})
"""Kinds of objects that PreBind can wait for."""


def check_step(plugin: PreBindPlugin, step: PreBindStep) -> None:
    """See to it that what the plugin wants to write can be written, and that what it waits for can happen.

    Raises:
        ValueError: it is something else.
        TypeError: it is not made of patches, or of objects and a time.
    """
    if isinstance(step, PreBindWrites):
        _check_tuple(step.patches, ObjectPatch)
        for patch in step.patches:
            _check_patch(patch)
            if patch.kind not in plugin.patches:
                raise ValueError(f"it patches a {patch.kind}, and does not have that kind in its patches")
        if not step.patches:
            raise ValueError("it waits for nothing that could happen")
    elif isinstance(step, PreBindWaits):
        _check_tuple(step.objects, ObjectKey)
        if step.deadline is not None:
            check_seconds("the deadline", step.deadline)
        for key in step.objects:
            if not all(isinstance(part, str) for part in key):
                raise TypeError(f"it waits for {key!r}, of which something is no text")
            if key.kind not in OBSERVED_KINDS:
                raise ValueError(
                    f"it waits for a {key.kind}, and can wait for {', '.join(sorted(OBSERVED_KINDS))} only"
                )
        if not step.objects and step.deadline is None:
            raise ValueError("it waits for nothing that could happen")


def _check_tuple(found: object, kind: type[Any]) -> None:
    if not isinstance(found, tuple) or not all(isinstance(one, kind) for one in found):
        raise TypeError(f"it answered {found!r} where a tuple of {kind.__name__} was expected")


def _check_patch(patch: ObjectPatch) -> None:
    texts = (patch.kind, patch.name, patch.uid, patch.namespace, patch.resource_version)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(f"it patches {texts!r}, of which something is no text")
    content: object = patch.patch
    if not isinstance(content, dict) or not isinstance(content.get("metadata", {}), dict):
        raise TypeError(f"its patch of {patch.name} is {patch.patch!r}, and has to be a dict, as has its metadata")
    msgspec.json.encode(patch.patch)  # what cannot be sent fails here, where the plugin is known


def _groups(willing: Sequence[Willing]) -> Iterator[list[PreBindRun]]:
    """Neighbours that allow it form a group; one without work parts nobody if it would have allowed it too."""
    group: list[PreBindRun] = []
    for plugin, has_work, allows_parallel in willing:
        if allows_parallel:
            if has_work:
                group.append(PreBindRun(plugin))
            continue
        if group:
            yield group
        group = []
        if has_work:
            yield [PreBindRun(plugin)]
    if group:
        yield group
