"""Objects as the API shows them, and as they will be once our own write of them is done (kube-scheduler 1.37: VolumeBinding,
passive assume cache).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from scheduler.api.objects import ObjectMeta, key_of


class HasMetadata(Protocol):
    @property
    def metadata(self) -> ObjectMeta: ...


ObjectT = TypeVar("ObjectT", bound=HasMetadata)


class OutOfSyncError(ValueError):
    """What was to be assumed is made of another version of the object than the one that is known."""


class AssumedObjects(Generic[ObjectT]):
    """Objects of one kind by key. An assumed one stands before the shown one until the API shows another version."""

    def __init__(self) -> None:
        self.shown: dict[str, ObjectT] = {}
        """As the API last showed them."""
        self.assumed: dict[str, ObjectT] = {}

    def get(self, key: str) -> ObjectT | None:
        """The assumed object, else the shown one."""
        return self.assumed.get(key) or self.shown.get(key)

    def __iter__(self) -> Iterator[ObjectT]:
        return (self.assumed.get(key, shown) for key, shown in self.shown.items())

    def apply(self, subject: ObjectT) -> ObjectT | None:
        """The object as the API shows it; the one that it showed before. The same version again ends no assumption."""
        key = key_of(subject.metadata)
        assumed = self.assumed.get(key)
        if assumed is not None and assumed.metadata.resource_version != subject.metadata.resource_version:
            del self.assumed[key]
        before = self.shown.get(key)
        self.shown[key] = subject
        return before

    def remove(self, key: str) -> ObjectT | None:
        """The object is gone, and what was assumed of it; the one that was shown."""
        self.assumed.pop(key, None)
        return self.shown.pop(key, None)

    def assume(self, subject: ObjectT) -> None:
        """Let the object stand for the shown one, of which it is a changed copy.

        Raises:
            OutOfSyncError: it is not known, or in another version.
        """
        key = key_of(subject.metadata)
        shown = self.shown.get(key)
        if shown is None:
            raise OutOfSyncError(f'"{key}" not found')
        stored, version = shown.metadata.resource_version, subject.metadata.resource_version
        if stored != version:
            raise OutOfSyncError(f'"{key}" is out of sync (stored: {stored}, assume: {version})')
        self.assumed[key] = subject

    def restore(self, subject: ObjectT) -> None:
        """Take back what was assumed of this version of the object; nothing happens when another one has been shown."""
        key = key_of(subject.metadata)
        assumed = self.assumed.get(key)
        if assumed is not None and assumed.metadata.resource_version == subject.metadata.resource_version:
            del self.assumed[key]
