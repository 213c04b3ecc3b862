"""Who is let in, and how often the API server is asked."""

from __future__ import annotations

import asyncio

import pytest

from scheduler.api.reviews import AccessVerdict, ReviewError, UserInfo
from scheduler.serving.gate import Gate, Refusal, bearer_token
from scheduler.serving.kept_answers import KeptAnswers
from scheduler.serving.pace import Pace


class Reviewer:
    """Whose token is ``good-NAME`` is NAME, in the groups given; each may see /metrics."""

    def __init__(self, *groups: str) -> None:
        self.tokens: list[str] = []
        self.rights: list[tuple[str, str, str]] = []
        self.error = ""
        self.verdict = AccessVerdict(allowed=True)
        self._groups = groups

    async def user_of(self, token: str) -> UserInfo | None:
        self.tokens.append(token)
        await asyncio.sleep(0)
        if self.error:
            raise ReviewError(self.error)
        name = token.removeprefix("good-")
        return UserInfo(username=name, groups=self._groups) if name != token else None

    async def may(self, user: UserInfo, verb: str, path: str) -> AccessVerdict:
        self.rights.append((user.username, verb, path))
        return self.verdict


class Door:
    """A gate with a clock that stands still."""

    def __init__(self, reviewer: Reviewer) -> None:
        self.now = 100.0
        self.complaints: list[str] = []
        self.gate = Gate(reviewer, monotonic=lambda: self.now, complain=self.complaints.append)

    async def knock(self, token: str, path: str = "/metrics", *, method: str = "GET", peer: str = "10.0.0.1") -> int:
        try:
            await self.gate.admit(f"Bearer {token}", method=method, path=path, peer=peer)
        except Refusal as refusal:
            return refusal.status
        return 200


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("Bearer abc", "abc"),
        ("bearer abc", "abc"),
        ("  Bearer abc  ", "abc"),
        ("Bearer abc def", "abc"),
        ("Bearer ", ""),
        ("Bearer", ""),
        ("Basic abc", ""),
        ("", ""),
        ("Bearer " + "x" * 70000, ""),
    ],
)
def test_the_token_is_read_from_the_header(header: str, token: str) -> None:
    assert bearer_token(header) == token


@pytest.mark.parametrize("header", ["", "Basic abc", "Bearer "])
async def test_nobody_is_asked_about_a_request_without_a_token(header: str) -> None:
    reviewer = Reviewer()

    with pytest.raises(Refusal) as caught:
        await Door(reviewer).gate.admit(header, method="GET", path="/metrics", peer="")
    assert (caught.value.status, reviewer.tokens) == (401, [])


async def test_answers_are_kept_for_ten_seconds() -> None:
    reviewer = Reviewer()
    door = Door(reviewer)
    assert [await door.knock("good-a") for _ in range(3)] == [200] * 3
    door.now += 9.9
    assert await door.knock("good-a") == 200
    assert (len(reviewer.tokens), len(reviewer.rights)) == (1, 1)

    door.now += 0.2
    assert await door.knock("good-a") == 200
    assert (len(reviewer.tokens), len(reviewer.rights)) == (2, 2)


async def test_that_a_token_is_nobodys_is_kept_too() -> None:
    reviewer = Reviewer()
    door = Door(reviewer)

    assert [await door.knock("forged") for _ in range(50)] == [401] * 50
    assert reviewer.tokens == ["forged"]


async def test_who_asks_at_the_same_time_shares_an_answer() -> None:
    reviewer = Reviewer()
    door = Door(reviewer)

    assert await asyncio.gather(*(door.knock("good-a") for _ in range(20))) == [200] * 20
    assert len(reviewer.tokens) == 1


async def test_the_path_and_the_verb_in_lower_case_are_asked_about_each() -> None:
    reviewer = Reviewer()
    door = Door(reviewer)
    await door.knock("good-a", "/metrics")
    await door.knock("good-a", "/metrics", method="HEAD")
    await door.knock("good-a", "/configz")
    await door.knock("good-b", "/metrics")

    assert reviewer.rights == [
        ("a", "get", "/metrics"),
        ("a", "head", "/metrics"),
        ("a", "get", "/configz"),
        ("b", "get", "/metrics"),
    ]


async def test_the_masters_are_not_asked_about() -> None:
    reviewer = Reviewer("system:masters")
    reviewer.verdict = AccessVerdict(allowed=False)

    assert await Door(reviewer).knock("good-a") == 200
    assert reviewer.rights == []


async def test_who_is_allowed_and_denied_is_denied() -> None:
    reviewer = Reviewer()
    reviewer.verdict = AccessVerdict(allowed=True, denied=True)

    assert await Door(reviewer).knock("good-a") == 403


async def test_a_refusal_has_its_reason_and_nothing_that_a_browser_would_run() -> None:
    reviewer = Reviewer()
    reviewer.verdict = AccessVerdict(reason="no role")

    with pytest.raises(Refusal) as caught:
        await Door(reviewer).gate.admit("Bearer good-<b>", method="GET", path="/a&b", peer="")
    assert caught.value.message == 'forbidden: User "&lt;b&gt;" cannot get path "/a&amp;b": no role'


async def test_errors_are_not_kept_and_said_once_until_it_works_again() -> None:
    reviewer = Reviewer()
    door = Door(reviewer)
    reviewer.error = "connection refused"
    assert [await door.knock("good-a") for _ in range(3)] == [500] * 3
    reviewer.error = ""
    assert await door.knock("good-a") == 200

    assert len(reviewer.tokens) == 4
    assert door.complaints == ["connection refused", ""]


async def test_a_flood_of_one_peer_keeps_nobody_else_out() -> None:
    reviewer = Reviewer()
    door = Door(reviewer)
    flood = [await door.knock(f"forged-{index}", peer="10.0.0.9") for index in range(1000)]

    assert flood == [401] * 10 + [429] * 990
    assert await door.knock("good-a", peer="10.0.0.1") == 200


async def test_a_flood_of_many_peers_is_bounded_and_does_not_keep_out_who_is_known() -> None:
    reviewer = Reviewer()
    door = Door(reviewer)
    assert await door.knock("good-a") == 200
    for index in range(1000):
        await door.knock(f"forged-{index}", peer=f"10.1.{index // 250}.{index % 250}")
    assert len(reviewer.tokens) == 50

    door.now += 10.0
    for index in range(1000):
        await door.knock(f"again-{index}", peer=f"10.2.{index // 250}.{index % 250}")
    assert await door.knock("good-a") == 200


async def test_one_user_does_not_ask_for_any_number_of_paths() -> None:
    reviewer = Reviewer()
    door = Door(reviewer)
    found = [await door.knock("good-a", f"/{index}") for index in range(100)]

    assert found == [200] * 20 + [429] * 80
    assert await door.knock("good-b", "/0") == 200


async def test_no_more_answers_are_kept_than_there_may_be() -> None:
    kept: KeptAnswers[int] = KeptAnswers(10.0, lambda: 0.0, at_most=3)

    async def one() -> int:
        return 1

    for key in ("a", "b", "c"):
        await kept.get(key, one)
    await kept.get("a", one)
    await kept.get("d", one)

    assert (len(kept), [key for key in "abcd" if kept.holds(key)]) == (3, ["a", "c", "d"])


def test_a_pace_is_so_many_at_once_and_so_many_a_second_for_each_key() -> None:
    now = [0.0]
    pace = Pace(2.0, 3, lambda: now[0], at_most=2)
    assert [pace.take("a") for _ in range(4)] == [True, True, True, False]
    assert pace.take("b")
    now[0] += 0.5
    assert [pace.take("a") for _ in range(2)] == [True, False]
    now[0] += 100.0
    assert [pace.take("a") for _ in range(4)] == [True, True, True, False]
