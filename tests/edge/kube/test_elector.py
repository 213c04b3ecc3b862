"""The elector, against a Lease in memory and on virtual time: who leads, until when, and what it takes to take over."""

import asyncio
from collections.abc import Callable

import pytest
import structlog

from scheduler.kube.elector import Elector, LeadershipLost, Terms
from scheduler.kube.fence import Fence, FenceClosed
from scheduler.kube.lease import LeaseError, LeaseRecord
from scheduler.kube.timing import Timing
from tests.edge.kube.scripted import virtual_timing

pytestmark = pytest.mark.looptime

TERMS = Terms(lease_duration_seconds=15.0, renew_deadline_seconds=10.0, retry_period_seconds=2.0)


class MemoryLock:
    """A Lease of one server: each update must follow the state that its writer saw last."""

    def __init__(self, record: LeaseRecord | None = None) -> None:
        self.record = record
        self.version = 0
        self.writes: list[tuple[float, LeaseRecord]] = []
        self.fails: Callable[[str], Exception | None] = lambda _verb: None
        self.hangs: set[str] = set()

    def seen_by(self) -> "Candidate":
        return Candidate(self)

    def put(self, record: LeaseRecord | None) -> None:
        """Somebody else writes it."""
        self.record = record
        self.version += 1


class Candidate:
    """One candidate's view of the lock."""

    def __init__(self, lock: MemoryLock) -> None:
        self.lock = lock
        self.version = -1

    async def _ask(self, verb: str) -> None:
        if verb in self.lock.hangs:
            await asyncio.Event().wait()
        error = self.lock.fails(verb)
        if error is not None:
            raise error

    async def get(self) -> LeaseRecord | None:
        await self._ask("get")
        self.version = self.lock.version
        return self.lock.record

    async def create(self, record: LeaseRecord) -> None:
        await self._ask("create")
        if self.lock.record is not None:
            raise LeaseError(409, "already exists")
        self._written(record)

    async def update(self, record: LeaseRecord) -> None:
        await self._ask("update")
        if self.version != self.lock.version:
            raise LeaseError(409, "the object has been modified")
        self._written(record)

    def _written(self, record: LeaseRecord) -> None:
        self.lock.put(record)
        self.version = self.lock.version
        self.lock.writes.append((now(), record))


def now() -> float:
    return asyncio.get_running_loop().time()


def elector(lock: MemoryLock, name: str = "a", *, chance: float = 0.0) -> tuple[Elector, Fence]:
    fence = Fence(now)
    timing: Timing = virtual_timing(chance)
    return Elector(lock.seen_by(), TERMS, identity=name, fence=fence, timing=timing), fence


def held_by(name: str, *, seconds: int = 15, renewed: str = "1970-01-01T00:00:00.000000Z") -> LeaseRecord:
    return LeaseRecord(name, seconds, "1970-01-01T00:00:00.000000Z", renewed, transitions=3)


def refuse(*verbs: str) -> Callable[[str], Exception | None]:
    return lambda verb: LeaseError(403, f"cannot {verb}") if verb in verbs else None


# ----------------------------------------------------------------------------------------------------------- to acquire


@pytest.mark.parametrize("record", [None, LeaseRecord(), LeaseRecord("", 1, "then", "then", 7)])
async def test_a_free_lease_is_acquired_at_once(record: LeaseRecord | None) -> None:
    lock = MemoryLock(record)
    candidate, fence = elector(lock)

    await candidate.acquire()

    assert (now(), candidate.is_leader) == (0.0, True)
    assert lock.record == LeaseRecord(
        holder="a",
        duration_seconds=15,
        acquire_time="2026-01-01T00:00:00.000000Z",
        renew_time="2026-01-01T00:00:00.000000Z",
        transitions=0 if record is None else record.transitions + 1,
    )
    assert fence.remaining_seconds == 10.0


async def test_a_lease_is_taken_over_when_it_has_not_changed_for_as_long_as_it_says_whatever_its_times_say() -> None:
    lock = MemoryLock(held_by("b"))  # its times are of the year 1970
    candidate, _ = elector(lock)

    await candidate.acquire()

    # Looked at every 2 s: not yet at 14 s.
    assert now() == 16.0
    assert lock.record is not None
    assert (lock.record.holder, lock.record.transitions) == ("a", 4)


async def test_each_renewal_of_another_starts_the_wait_anew() -> None:
    lock = MemoryLock(held_by("b"))
    candidate, _ = elector(lock)
    asyncio.get_running_loop().call_later(9.0, lock.put, held_by("b", renewed="1970-01-01T00:00:09.000000Z"))

    await candidate.acquire()

    assert now() == 26.0  # seen at 10 s, and 15 s later at 25 s


async def test_the_wait_is_as_long_as_the_lease_says_not_as_long_as_ours() -> None:
    candidate, _ = elector(MemoryLock(held_by("b", seconds=3)))

    await candidate.acquire()

    assert now() == 4.0


async def test_a_released_lease_is_noticed_within_one_retry_period_and_its_jitter() -> None:
    lock = MemoryLock(held_by("b"))
    candidate, _ = elector(lock, chance=0.999)
    asyncio.get_running_loop().call_later(0.1, lock.put, LeaseRecord("", 1, "t", "t", 3))

    await candidate.acquire()

    assert now() == pytest.approx(2.0 * (1 + 1.2 * 0.999))


async def test_a_part_of_a_second_counts_as_one() -> None:
    lock = MemoryLock()
    terms = Terms(lease_duration_seconds=2.1, renew_deadline_seconds=2.0, retry_period_seconds=0.5)
    candidate = Elector(lock.seen_by(), terms, identity="a", fence=Fence(now), timing=virtual_timing())

    await candidate.acquire()

    assert lock.record is not None
    assert lock.record.duration_seconds == 3


async def test_of_two_candidates_one_leads() -> None:
    lock = MemoryLock()
    (first, _), (second, _) = elector(lock, "a"), elector(lock, "b")

    done, pending = await asyncio.wait([asyncio.create_task(one.acquire()) for one in (first, second)], timeout=1.0)

    assert (len(done), len(pending)) == (1, 1)
    assert (first.is_leader, second.is_leader) in {(True, False), (False, True)}
    pending.pop().cancel()


async def test_an_update_that_comes_second_is_refused_and_the_wait_begins_anew() -> None:
    lock = MemoryLock(LeaseRecord())
    candidate, _ = elector(lock)

    def overtake(verb: str) -> Exception | None:
        if verb == "update" and lock.record == LeaseRecord():
            lock.put(held_by("b"))
        return None

    lock.fails = overtake
    await candidate.acquire()

    assert now() == 18.0  # b was seen at 2 s


async def test_a_lease_that_was_acquired_without_an_answer_is_ours_at_the_next_attempt() -> None:
    lock = MemoryLock(LeaseRecord())
    candidate, fence = elector(lock)
    lock.hangs = {"update"}
    acquiring = asyncio.create_task(candidate.acquire())
    await asyncio.sleep(1.0)
    lock.put(held_by("a"))  # it was carried out, and the answer lost
    lock.hangs = set()
    await acquiring

    # Half the deadline for the request that hung, and one pause.
    assert now() == 5.0 + 2.0
    assert fence.remaining_seconds == 10.0
    assert candidate.slow_paths == 1


@pytest.mark.parametrize("verb", ["get", "update"])
async def test_a_candidate_waits_out_what_hangs_and_what_is_refused(verb: str) -> None:
    lock = MemoryLock(LeaseRecord())
    candidate, _ = elector(lock)
    lock.hangs = {verb}
    loop = asyncio.get_running_loop()
    loop.call_later(6.0, lock.hangs.clear)  # one attempt hangs for 5 s, the next begins at 7 s
    lock.fails = lambda asked: LeaseError(0, "no answer") if asked == verb and now() < 8.0 else None

    with structlog.testing.capture_logs() as logs:
        await candidate.acquire()

    assert now() == 9.0
    complaints = [line["error"] for line in logs if line["log_level"] == "warning"]
    assert complaints == ["no answer in time", "no answer"]


# -------------------------------------------------------------------------------------------------------------- to hold


async def test_a_leader_renews_each_retry_period_without_reading() -> None:
    lock = MemoryLock(LeaseRecord())
    candidate, fence = elector(lock, chance=0.7)  # to hold has no jitter
    await candidate.acquire()
    lock.fails = refuse("get")

    holding = asyncio.create_task(candidate.hold())
    await asyncio.sleep(9.0)
    holding.cancel()

    assert [at for at, _ in lock.writes] == [0.0, 2.0, 4.0, 6.0, 8.0]
    assert {record.acquire_time for _, record in lock.writes} == {"2026-01-01T00:00:00.000000Z"}
    assert {record.transitions for _, record in lock.writes} == {1}
    assert lock.writes[-1][1].renew_time == "2026-01-01T00:00:08.000000Z"
    assert fence.remaining_seconds == pytest.approx(8.0 + 10.0 - 9.0)
    assert candidate.slow_paths == 0


async def test_a_leader_whose_lease_somebody_touched_reads_it_and_goes_on() -> None:
    lock = MemoryLock(LeaseRecord())
    candidate, _ = elector(lock)
    await candidate.acquire()
    lock.put(lock.record)  # a label, say

    holding = asyncio.create_task(candidate.hold())
    await asyncio.sleep(3.0)
    holding.cancel()

    assert [at for at, _ in lock.writes] == [0.0, 2.0]
    assert candidate.slow_paths == 1


async def test_a_leader_that_cannot_renew_has_lost_when_the_deadline_since_its_last_renewal_is_over() -> None:
    lock = MemoryLock(LeaseRecord())
    candidate, fence = elector(lock)
    await candidate.acquire()
    asyncio.get_running_loop().call_later(5.0, setattr, lock, "fails", refuse("get", "update"))

    with pytest.raises(LeadershipLost, match="not renewed within 10 s"):
        await candidate.hold()

    assert now() == 4.0 + 10.0
    assert candidate.is_leader is False
    with pytest.raises(FenceClosed):
        fence.check()


async def test_a_deadline_between_two_attempts_is_not_waited_out_to_the_next_attempt() -> None:
    lock, fence = MemoryLock(LeaseRecord()), Fence(now)
    terms = Terms(renew_deadline_seconds=9.0, retry_period_seconds=2.0)
    candidate = Elector(lock.seen_by(), terms, identity="a", fence=fence, timing=virtual_timing(0.0))
    await candidate.acquire()
    lock.fails = refuse("get", "update")

    with pytest.raises(LeadershipLost, match="not renewed within 9 s"):
        await candidate.hold()

    assert now() == 9.0


async def test_renewals_that_hang_do_not_outlast_the_deadline() -> None:
    lock = MemoryLock(LeaseRecord())
    candidate, _ = elector(lock)
    await candidate.acquire()
    lock.hangs = {"get", "update"}

    with pytest.raises(LeadershipLost):
        await candidate.hold()

    assert now() == 10.0


async def test_one_renewal_that_hangs_leaves_time_for_the_next() -> None:
    lock = MemoryLock(LeaseRecord())
    candidate, _ = elector(lock)
    await candidate.acquire()
    lock.hangs = {"update"}
    asyncio.get_running_loop().call_later(6.9, lock.hangs.clear)  # begun at 2 s, given up at 7 s, tried again at once

    holding = asyncio.create_task(candidate.hold())
    await asyncio.sleep(12.0)

    assert not holding.done()
    assert [at for at, _ in lock.writes][:2] == [0.0, 7.0]
    holding.cancel()


@pytest.mark.parametrize("record", [held_by("b"), LeaseRecord("", 1, "t", "t", 5)])
async def test_a_leader_that_sees_another_name_stops_at_once(record: LeaseRecord) -> None:
    lock = MemoryLock(LeaseRecord())
    candidate, fence = elector(lock)
    await candidate.acquire()
    lock.put(record)

    with pytest.raises(LeadershipLost, match=f"held by {record.holder or 'nobody'}"):
        await candidate.hold()

    assert now() == 2.0
    assert lock.record == record
    assert fence.remaining_seconds <= 0.0


async def test_the_fence_counts_from_before_the_renewal_was_sent() -> None:
    lock = MemoryLock(LeaseRecord())
    candidate, fence = elector(lock)
    slow = lock.seen_by()
    original = slow.update

    async def late(record: LeaseRecord) -> None:
        await original(record)
        await asyncio.sleep(3.0)  # the answer is on its way

    slow.update = late  # type: ignore[method-assign]
    candidate._lock = slow

    await candidate.acquire()

    assert now() == 3.0
    assert fence.remaining_seconds == 7.0


async def test_a_leader_that_was_asleep_past_its_deadline_does_not_even_try() -> None:
    lock = MemoryLock(LeaseRecord())
    offset = 0.0
    fence = Fence(lambda: now() + offset)
    timing = virtual_timing()
    clock = Timing(now=timing.now, monotonic=lambda: now() + offset, sleep=timing.sleep, chance=timing.chance)
    candidate = Elector(lock.seen_by(), TERMS, identity="a", fence=fence, timing=clock)
    await candidate.acquire()
    offset = 60.0  # the machine was suspended

    with pytest.raises(LeadershipLost):
        await candidate.hold()

    assert [at for at, _ in lock.writes] == [0.0]


async def test_the_health_check_of_a_leader_fails_long_after_its_lease_has_ended() -> None:
    lock = MemoryLock(LeaseRecord())
    candidate, _ = elector(lock)
    await candidate.acquire()

    await asyncio.sleep(35.0)
    assert candidate.is_well()
    await asyncio.sleep(0.1)
    assert not candidate.is_well()


async def test_a_leader_that_renews_stays_well() -> None:
    candidate, _ = elector(MemoryLock(LeaseRecord()))
    await candidate.acquire()
    holding = asyncio.create_task(candidate.hold())

    await asyncio.sleep(1000.0)
    assert candidate.is_well()
    holding.cancel()


async def test_a_standby_is_always_well() -> None:
    candidate, _ = elector(MemoryLock(held_by("b")))
    await asyncio.sleep(1000.0)
    assert candidate.is_well()


# ------------------------------------------------------------------------------------------------------------ to release


async def test_a_released_lease_has_no_holder_and_ends_in_a_second() -> None:
    lock = MemoryLock(LeaseRecord())
    candidate, fence = elector(lock)
    await candidate.acquire()
    lock.put(lock.record)  # somebody touched it: the release reads it

    assert await candidate.release()

    time = "2026-01-01T00:00:00.000000Z"
    assert lock.record == LeaseRecord("", 1, time, time, 1)
    assert (candidate.is_leader, fence.remaining_seconds <= 0.0) == (False, True)


async def test_the_lease_of_another_is_not_released() -> None:
    lock = MemoryLock(held_by("b"))
    candidate, _ = elector(lock)

    assert await candidate.release()

    assert lock.record == held_by("b")


async def test_a_lease_that_cannot_be_released_is_given_up_after_some_attempts() -> None:
    lock = MemoryLock(LeaseRecord())
    candidate, fence = elector(lock)
    await candidate.acquire()
    lock.fails = refuse("update")

    assert not await candidate.release()
    assert fence.remaining_seconds <= 0.0


# ---------------------------------------------------------------------------------------------------------- what is known


@pytest.mark.parametrize(
    ("first", "then", "was_free"),
    [
        (None, None, True),
        (LeaseRecord(), LeaseRecord(), True),
        (LeaseRecord("", 1, "t", "t", 3), LeaseRecord("", 1, "t", "t", 3), True),
        (LeaseRecord("", 1, "t", "t", 3), LeaseRecord("", 1, "u", "u", 4), False),  # one has led and ended meanwhile
        (held_by("b"), LeaseRecord("", 1, "t", "t", 3), False),
        (held_by("b"), held_by("b"), False),
    ],
)
async def test_whether_anybody_has_led_since_the_first_look(
    first: LeaseRecord | None, then: LeaseRecord | None, was_free: bool
) -> None:
    lock = MemoryLock(first)
    candidate, _ = elector(lock)
    await candidate.look()
    lock.put(then)

    await candidate.acquire()

    assert candidate.was_free is was_free


async def test_without_a_first_look_anybody_may_have_led() -> None:
    lock = MemoryLock(LeaseRecord())
    candidate, _ = elector(lock)
    lock.fails = refuse("get")
    await candidate.look()
    lock.fails = refuse()

    await candidate.acquire()

    assert candidate.was_free is False


async def test_each_change_of_leader_is_one_line() -> None:
    lock = MemoryLock(held_by("b"))
    candidate, _ = elector(lock)
    loop = asyncio.get_running_loop()
    loop.call_later(3.0, lock.put, held_by("b", renewed="later"))
    loop.call_later(5.0, lock.put, held_by("c"))

    with structlog.testing.capture_logs() as logs:
        await candidate.acquire()

    assert [line["holder"] for line in logs if line["event"] == "leader"] == ["b", "c", "a"]
