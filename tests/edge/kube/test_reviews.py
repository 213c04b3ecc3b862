"""Questions to the API server about who asks, against a scripted one."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from scheduler.api.reviews import AccessVerdict, ReviewError, UserInfo
from scheduler.kube.reviews import Reviews
from scheduler.kube.timing import Timing
from scheduler.kube.transport import FailureKind, Response, Transport, TransportFailure

USER = {"username": "system:serviceaccount:a:b", "uid": "1", "groups": ["g"], "extra": {"k": ["v"]}}


class Server:
    """Answers POSTs with what it is given, one after the other, and the last one for ever."""

    def __init__(self, *answers: tuple[int, Any] | TransportFailure) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.slept: list[float] = []
        self._answers = list(answers)

    async def post(self, path: str, body: bytes) -> Response:
        self.asked.append((path, json.loads(body)))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, TransportFailure):
            raise answer
        return Response(answer[0], {}, json.dumps(answer[1]).encode())

    async def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 3))

    def reviews(self) -> Reviews:
        transport = cast("Transport", self)  # of which no more is used
        return Reviews(transport, Timing(sleep=self.sleep, chance=lambda: 0.0, monotonic=lambda: 0.0))


async def test_a_token_is_shown_for_the_api_servers_own_audience() -> None:
    server = Server((201, {"status": {"authenticated": True, "user": USER, "audiences": ["api"]}}))
    found = await server.reviews().user_of("secret")

    assert found == UserInfo(username="system:serviceaccount:a:b", uid="1", groups=("g",), extra={"k": ("v",)})
    assert server.asked == [
        (
            "/apis/authentication.k8s.io/v1/tokenreviews",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "secret"}},
        )
    ]


async def test_a_token_that_is_not_authenticated_is_nobodys() -> None:
    assert await Server((201, {"status": {"user": {}, "error": "expired"}})).reviews().user_of("old") is None


async def test_a_right_is_asked_about_with_all_that_is_known_of_the_user() -> None:
    server = Server((201, {"status": {"allowed": True, "reason": "RBAC"}}))
    user = UserInfo(username="u", uid="1", groups=("g",), extra={"k": ("v",)})

    assert await server.reviews().may(user, "get", "/metrics") == AccessVerdict(allowed=True, reason="RBAC")
    assert server.asked[0][1]["spec"] == {
        "user": "u",
        "uid": "1",
        "groups": ["g"],
        "extra": {"k": ["v"]},
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
    }


async def test_a_server_in_trouble_is_asked_five_times_with_growing_pauses() -> None:
    server = Server((503, {}))

    with pytest.raises(ReviewError, match="answered 503"):
        await server.reviews().user_of("secret")
    assert (len(server.asked), server.slept) == (5, [0.5, 0.75, 1.125, 1.688])


async def test_one_that_recovers_has_answered() -> None:
    refused = TransportFailure(FailureKind.REFUSED, "connection refused", sent=False)
    server = Server(refused, (429, {}), (201, {"status": {"authenticated": True, "user": USER}}))
    reviews = server.reviews()

    assert await reviews.user_of("secret") is not None
    assert reviews.tokens.requests == {"<error>": 1, "429": 1, "201": 1}


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_refusal_is_no_answer_and_not_asked_again(status: int) -> None:
    server = Server((status, {"kind": "Status", "message": "you may not", "code": status}))

    with pytest.raises(ReviewError, match="you may not"):
        await server.reviews().user_of("secret")
    assert len(server.asked) == 1


async def test_an_error_has_no_token_in_it() -> None:
    with pytest.raises(ReviewError) as caught:
        await Server((201, [1])).reviews().user_of("secret")

    assert "secret" not in str(caught.value)
