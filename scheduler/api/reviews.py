"""What the API server says of a token and of somebody's rights (``authentication/v1`` TokenReview, ``authorization/v1`` SubjectAccessReview)."""

from __future__ import annotations

import msgspec


class UserInfo(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Somebody whom the API server knows."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class AccessVerdict(msgspec.Struct, frozen=True):
    """Whether somebody may do something. Who is not allowed may not: that it is denied in so many words makes no difference."""

    allowed: bool = False
    denied: bool = False
    reason: str = ""

    @property
    def is_allowed(self) -> bool:
        return self.allowed and not self.denied


class ReviewError(Exception):
    """The API server could not be asked, or did not answer with a review; the text says why, and has no token in it."""
