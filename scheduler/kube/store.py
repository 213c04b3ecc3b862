"""What a reflector remembers of the objects it has seen: their uid and resourceVersion, nothing else.

It decides which changes are news. The objects themselves live in the core, once.
"""

from __future__ import annotations

from typing import NamedTuple

Key = tuple[str, str]


class Gone(NamedTuple):
    """An object that no longer exists."""

    namespace: str
    name: str
    uid: str


class Store:
    """Known objects by namespace and name.

    A relist is bracketed by ``begin_relist`` and ``end_relist``: what was not mentioned in between is gone. One that breaks off is simply begun again.
    """

    def __init__(self) -> None:
        self._known: dict[Key, tuple[str, str]] = {}
        self._undecodable: dict[Key, str] = {}
        self._mentioned: set[Key] | None = None

    def __len__(self) -> int:
        return len(self._known)

    def applied(self, namespace: str, name: str, uid: str, resource_version: str) -> str | None:
        """Remember an object.

        Returns:
            None when it was known just so; "" when it is new or changed; otherwise the uid of another object of that
            name which it replaces and whose deletion was missed.
        """
        key = (namespace, name)
        if self._mentioned is not None:
            self._mentioned.add(key)
        if self._undecodable:
            self._undecodable.pop(key, None)
        before = self._known.get(key)
        after = (uid, resource_version)
        if before == after:
            return None
        self._known[key] = after
        return "" if before is None or before[0] == uid else before[0]

    def undecodable(self, namespace: str, name: str, uid: str) -> tuple[bool, str]:
        """Remember that an object exists and cannot be read; what was known of it stays known.

        Returns:
            Whether this is news, and the uid of another object of that name which it replaces, or "".
        """
        key = (namespace, name)
        if self._mentioned is not None:
            self._mentioned.add(key)
        is_news = self._undecodable.get(key) != uid
        self._undecodable[key] = uid
        before = self._known.get(key)
        if before is None or before[0] == uid:
            return is_news, ""
        del self._known[key]
        return is_news, before[0]

    def undecodable_keys(self) -> list[str]:
        """``namespace/name``, or ``name``, of objects that exist and cannot be read."""
        return [f"{namespace}/{name}" if namespace else name for namespace, name in self._undecodable]

    def deleted(self, namespace: str, name: str, uid: str) -> bool:
        """Forget an object; whether it was known, by this uid."""
        key = (namespace, name)
        if self._undecodable.get(key) == uid:
            del self._undecodable[key]
        before = self._known.get(key)
        if before is None or before[0] != uid:
            return False
        del self._known[key]
        return True

    def begin_relist(self) -> None:
        self._mentioned = set()

    def end_relist(self) -> list[Gone]:
        """The known objects that the relist did not mention, in the order in which they became known; they are forgotten."""
        mentioned, self._mentioned = self._mentioned, None
        assert mentioned is not None, "end_relist without begin_relist"
        gone = [Gone(*key, uid) for key, (uid, _) in self._known.items() if key not in mentioned]
        for namespace, name, _ in gone:
            del self._known[namespace, name]
        for key in [key for key in self._undecodable if key not in mentioned]:
            del self._undecodable[key]
        return gone
