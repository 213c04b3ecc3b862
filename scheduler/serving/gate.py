"""Who may see a page: a bearer token is shown to the API server, and then asked what its owner may see.

As kube-scheduler does (1.37: delegated authentication and authorization): TokenReview and SubjectAccessReview on path and verb, the
answers kept for 10 s, ``system:masters`` always allowed. Unlike it nobody is let in as ``system:anonymous``, and questions are rationed.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import msgspec

from scheduler.api.reviews import AccessVerdict, ReviewError, UserInfo
from scheduler.serving.kept_answers import KeptAnswers
from scheduler.serving.pace import Pace

KEPT_SECONDS = 10.0
ALWAYS_ALLOWED_GROUP = "system:masters"
LONGEST_TOKEN = 64 * 1024
# Tokens that nobody knows yet: per peer, and altogether. A known one is asked about again without being counted.
UNKNOWN_TOKENS_PER_SECOND, UNKNOWN_TOKENS_AT_ONCE = 5.0, 10
ALL_UNKNOWN_TOKENS_PER_SECOND, ALL_UNKNOWN_TOKENS_AT_ONCE = 25.0, 50
# Pages that a known user has not asked for lately.
PAGES_PER_SECOND, PAGES_AT_ONCE = 10.0, 20
_Answer = TypeVar("_Answer")
_ENCODE = msgspec.json.Encoder(order="sorted").encode


class Reviewer(Protocol):
    """Asks the API server. Both raise ReviewError when there is no answer."""

    async def user_of(self, token: str) -> UserInfo | None:
        """Whose token it is; None when it is nobody's."""

    async def may(self, user: UserInfo, verb: str, path: str) -> AccessVerdict:
        """Whether the user may do this to a path that is no resource."""


class Refusal(Exception):
    """The request is refused, with this status; the text may be shown to who asked."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message


UNAUTHORIZED = "Unauthorized"


@dataclass
class GateCounts:
    """How often what became of requests that were not open to all."""

    allowed: int = 0
    unauthorized: int = 0
    forbidden: int = 0
    throttled: int = 0
    failed: int = 0


class Gate:
    """Lets requests in or raises Refusal. One event loop uses it.

    Args:
        monotonic: seconds, for what is kept and for pace.
        complain: told why the API server could not be asked, once until it answers again, when it is told "".
    """

    def __init__(
        self, reviewer: Reviewer, *, monotonic: Callable[[], float], complain: Callable[[str], object] = lambda _: None
    ) -> None:
        self.counts = GateCounts()
        self._reviewer = reviewer
        self._complain = complain
        self._key = secrets.token_bytes(32)
        self._users: KeptAnswers[UserInfo | None] = KeptAnswers(KEPT_SECONDS, monotonic)
        self._verdicts: KeptAnswers[AccessVerdict] = KeptAnswers(KEPT_SECONDS, monotonic)
        self._unknown = Pace(UNKNOWN_TOKENS_PER_SECOND, UNKNOWN_TOKENS_AT_ONCE, monotonic)
        self._all_unknown = Pace(ALL_UNKNOWN_TOKENS_PER_SECOND, ALL_UNKNOWN_TOKENS_AT_ONCE, monotonic)
        self._pages = Pace(PAGES_PER_SECOND, PAGES_AT_ONCE, monotonic)
        self._is_failing = False

    async def admit(self, authorization: str, *, method: str, path: str, peer: str) -> UserInfo:
        """Whoever asks, when it may.

        Args:
            authorization: the header; empty for none.
            peer: the address of whoever asks.

        Raises:
            Refusal: 401 without a token that is somebody's, 403 when the user may not, 429 when too many unknown ones came, 500 when the
                API server cannot be asked.
        """
        token = bearer_token(authorization)
        if not token:
            self.counts.unauthorized += 1
            raise Refusal(401, UNAUTHORIZED, UNAUTHORIZED)
        user = await self._user_of(token, peer, path)
        if user is None:
            self.counts.unauthorized += 1
            raise Refusal(401, UNAUTHORIZED, UNAUTHORIZED)
        if ALWAYS_ALLOWED_GROUP not in user.groups:
            verb = method.lower()
            verdict = await self._may(user, verb, path)
            if not verdict.is_allowed:
                self.counts.forbidden += 1
                raise Refusal(403, "Forbidden", _forbidden(user.username, verb, path, verdict.reason))
        self.counts.allowed += 1
        return user

    async def _user_of(self, token: str, peer: str, path: str) -> UserInfo | None:
        key = hmac.digest(self._key, token.encode(errors="surrogateescape"), "sha256")
        if not self._users.holds(key):
            known = self._users.last(key) is not None
            if not known and not (self._unknown.take(peer) and self._all_unknown.take("")):
                raise self._throttled()
        return await self._ask(self._users, key, lambda: self._reviewer.user_of(token), path)

    async def _may(self, user: UserInfo, verb: str, path: str) -> AccessVerdict:
        who = hashlib.sha256(_ENCODE(user)).digest()
        key = hashlib.sha256(who + f"\0{verb}\0{path}".encode(errors="surrogateescape")).digest()
        if not self._verdicts.holds(key) and self._verdicts.last(key) is None and not self._pages.take(who):
            raise self._throttled()
        return await self._ask(self._verdicts, key, lambda: self._reviewer.may(user, verb, path), path)

    async def _ask(
        self, kept: KeptAnswers[_Answer], key: Hashable, ask: Callable[[], Awaitable[_Answer]], path: str
    ) -> _Answer:
        try:
            answer = await kept.get(key, ask)
        except ReviewError as error:
            self.counts.failed += 1
            if not self._is_failing:
                self._is_failing = True
                self._complain(str(error))
            raise Refusal(500, "InternalError", f'Internal Server Error: "{path}": {error}') from error
        if self._is_failing:
            self._is_failing = False
            self._complain("")
        return answer

    def _throttled(self) -> Refusal:
        self.counts.throttled += 1
        return Refusal(429, "TooManyRequests", "too many requests that the API server would have to be asked about")


def bearer_token(authorization: str) -> str:
    """The token in an Authorization header; empty when there is none."""
    parts = authorization.strip().split(" ", 2)
    if len(parts) < 2 or parts[0].lower() != "bearer" or len(parts[1]) > LONGEST_TOKEN:
        return ""
    return parts[1]


def _forbidden(username: str, verb: str, path: str, reason: str) -> str:
    """kube-scheduler 1.37: the generic API server's message."""
    shown = f'User "{username}" cannot {verb} path "{path}"'
    for character, harmless in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        shown = shown.replace(character, harmless)
    return f"forbidden: {shown}" + (f": {reason}" if reason else "")
