"""Asks the API server whose a token is and what somebody may see (kube-scheduler 1.37: delegated authentication and authorization)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from scheduler.api.reviews import AccessVerdict, ReviewError, UserInfo
from scheduler.core.measurements import Histogram
from scheduler.kube.timing import Timing
from scheduler.kube.transport import Response, Transport, TransportFailure, error_of

REVIEWS_OF_TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
REVIEWS_OF_RIGHTS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
PATIENCE_SECONDS = 10.0
ATTEMPTS = 5
FIRST_PAUSE_SECONDS = 0.5
PAUSE_FACTOR = 1.5
PAUSE_JITTER = 0.2
SECONDS_BOUNDS = (0.25, 0.5, 0.7, 1.0, 1.5, 3.0, 5.0, 10.0)
NO_ANSWER = "<error>"


class _TokenStatus(msgspec.Struct):
    authenticated: bool = False
    user: UserInfo = UserInfo()


class _TokenReview(msgspec.Struct):
    status: _TokenStatus = msgspec.field(default_factory=_TokenStatus)


class _AccessReview(msgspec.Struct):
    status: AccessVerdict = AccessVerdict()


_Review = TypeVar("_Review", _TokenReview, _AccessReview)


class ReviewCounts:
    """Answers by code, and how long they took."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.seconds: dict[str, Histogram] = {}

    def seen(self, code: str, seconds: float) -> None:
        self.requests[code] += 1
        self.seconds.setdefault(code, Histogram(SECONDS_BOUNDS)).observe(seconds)


class Reviews:
    """Both kinds of questions, each repeated for a while when the server has trouble."""

    def __init__(self, transport: Transport, timing: Timing) -> None:
        self.tokens = ReviewCounts()
        self.rights = ReviewCounts()
        self._transport = transport
        self._timing = timing

    async def user_of(self, token: str) -> UserInfo | None:
        """Whose token it is, for the API server's own audience; None when it is nobody's.

        Raises:
            ReviewError: there was no answer.
        """
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        status = (await self._ask(REVIEWS_OF_TOKENS, review, _TokenReview, self.tokens)).status
        return status.user if status.authenticated else None

    async def may(self, user: UserInfo, verb: str, path: str) -> AccessVerdict:
        """Whether the user may do this to a path that is no resource.

        Raises:
            ReviewError: there was no answer.
        """
        who: dict[str, Any] = {"user": user.username, "uid": user.uid, "groups": user.groups, "extra": user.extra}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {**who, "nonResourceAttributes": {"path": path, "verb": verb}},
        }
        return (await self._ask(REVIEWS_OF_RIGHTS, review, _AccessReview, self.rights)).status

    async def _ask(self, path: str, review: Mapping[str, Any], form: type[_Review], counts: ReviewCounts) -> _Review:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                response = await self._until_answered(path, msgspec.json.encode(review), counts)
        except TimeoutError as error:
            raise ReviewError(f"{path} was not answered in {PATIENCE_SECONDS:g} s") from error
        if response.status not in (200, 201):
            raise ReviewError(f"{path}: {error_of(response).message}")
        try:
            return msgspec.json.decode(response.body, type=form)
        except msgspec.DecodeError as error:
            raise ReviewError(f"{path}: the answer is no review: {error}") from error

    async def _until_answered(self, path: str, body: bytes, counts: ReviewCounts) -> Response:
        pause = FIRST_PAUSE_SECONDS
        for attempt in range(1, ATTEMPTS + 1):
            began = self._timing.monotonic()
            try:
                response = await self._transport.post(path, body)
            except TransportFailure as failure:
                counts.seen(NO_ANSWER, self._timing.monotonic() - began)
                if attempt == ATTEMPTS:
                    raise ReviewError(failure.message) from failure
            else:
                counts.seen(str(response.status), self._timing.monotonic() - began)
                if attempt == ATTEMPTS or not (response.status == 429 or response.status >= 500):
                    return response
            await self._timing.sleep(pause * (1.0 + PAUSE_JITTER * self._timing.chance()))
            pause *= PAUSE_FACTOR
        raise AssertionError("the last attempt has returned")
