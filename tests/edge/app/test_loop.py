"""The loop: stimuli first, then decisions for a few milliseconds, then the network; on virtual time, with a brain of straw."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import msgspec
import pytest

from scheduler.app.loop import SLICE_SECONDS, Loop
from scheduler.core.cycle import CycleResult
from scheduler.core.instruction import BindPod, Instruction, PodReference
from scheduler.core.measurements import ASKING
from scheduler.core.state import BadObject, Complaint, PluginFault
from scheduler.core.stimulus import NodeDeleted, PodBound, Stimulus, Tick

pytestmark = pytest.mark.looptime

START = 100.25
"""Seconds since the epoch at the start of each test."""


def bind(name: str) -> BindPod:
    return BindPod(pod=PodReference(namespace="default", name=name, uid=name), node_name="n1")


def decision(name: str) -> CycleResult:
    return CycleResult(pod=name, uid=name, profile="p", attempt=1, outcome="assumed", instructions=[bind(name)])


def news(name: str) -> NodeDeleted:
    return NodeDeleted(now=0.0, name=name, uid="")


class Straw:
    """A brain that does as told and writes down, with everything else that happens, in ``log``.

    Each stimulus and each decision takes ``cost`` seconds of the loop's clock.
    """

    def __init__(self) -> None:
        self.log: list[str] = []
        self.waiting: list[str] = []
        self.complaints: list[Complaint] = []
        self.cost = 0.0
        self.clock = 0.0
        self.room = 1000
        self.error: Exception | None = None
        self.asked = 0
        self.on_stimulus: Callable[[], None] = lambda: None
        self.on_cycle: Callable[[], None] = lambda: None
        self.loop = Loop(
            self,
            dispatch=self.dispatch,
            has_room=lambda: self.room > 0,
            wall=lambda: START + asyncio.get_running_loop().time(),
            clock=lambda: self.clock,
            on_cycle=lambda result, seconds: self.log.append(f"cycle {result.pod} {seconds:.3f}"),
            on_complaint=self.complain,
        )

    def complain(self, about: Complaint) -> None:
        assert isinstance(about, BadObject | PluginFault)
        self.log.append(f"complaint {about.error}")

    def handle(self, stimulus: Stimulus) -> list[Instruction]:
        if self.error is not None:
            raise self.error
        self.clock += self.cost
        if isinstance(stimulus, Tick):
            self.log.append(f"tick {stimulus.now}")
            return []
        assert isinstance(stimulus, NodeDeleted)
        self.log.append(f"handle {stimulus.name}")
        self.on_stimulus()
        return [bind(stimulus.name)] if stimulus.name.startswith("bind") else []

    def schedule_one(self, now: float) -> CycleResult | None:
        self.asked += 1
        if not self.waiting:
            return None
        self.clock += self.cost
        self.log.append(f"decide at {now}")
        self.on_cycle()
        return decision(self.waiting.pop(0))

    def take_complaints(self) -> list[Complaint]:
        taken, self.complaints = self.complaints, []
        return taken

    def dispatch(self, instruction: Instruction) -> None:
        assert isinstance(instruction, BindPod)
        self.room -= 1
        self.log.append(f"dispatch {instruction.pod.name}")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.loop.run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def settle() -> None:
    """Let everything happen that needs no time."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_stimuli_are_handled_in_order_and_their_instructions_go_out_at_once() -> None:
    straw = Straw()
    async with straw.running():
        for name in ("a", "bind b", "c"):
            straw.loop.deliver(news(name))
        await settle()

    assert straw.log == ["handle a", "handle bind b", "dispatch bind b", "handle c"]


async def test_nothing_is_decided_until_scheduling_starts() -> None:
    straw = Straw()
    straw.waiting = ["p"]
    async with straw.running():
        straw.loop.deliver(news("a"))
        await settle()
        assert straw.log == ["handle a"]

        straw.loop.start_scheduling()
        await settle()
    assert straw.log[1:] == [f"decide at {START}", "cycle p 0.000", "dispatch p"]


async def test_a_decision_that_waits_for_extenders_is_one_cycle_that_takes_as_long_as_all_of_it() -> None:
    straw = Straw()
    steps = [
        msgspec.structs.replace(decision("p"), outcome=ASKING, instructions=[bind("question")]),
        None,
        decision("p"),
    ]

    def schedule_one(now: float) -> CycleResult | None:
        straw.clock += 0.001
        return steps.pop(0) if steps else None

    straw.schedule_one = schedule_one  # type: ignore[method-assign]
    straw.loop.start_scheduling()
    async with straw.running():
        await settle()
        assert straw.log == ["dispatch question"]

        straw.clock += 0.5
        straw.loop.deliver(news("an answer"))
        await settle()

    # A millisecond for each of three steps, and the time between them.
    assert straw.log[1:] == ["handle an answer", "cycle p 0.503", "dispatch p"]


async def test_decisions_are_made_after_all_that_is_known() -> None:
    straw = Straw()
    straw.waiting = ["p", "q"]
    straw.loop.start_scheduling()
    for name in ("a", "b"):
        straw.loop.deliver(news(name))
    async with straw.running():
        await settle()

    assert [entry.split()[0] for entry in straw.log] == [
        *("handle", "handle"),
        *("decide", "cycle", "dispatch"),
        *("decide", "cycle", "dispatch"),
    ]


async def test_a_decision_is_told_with_how_long_it_took() -> None:
    straw = Straw()
    straw.waiting, straw.cost, straw.clock = ["p"], 0.002, 50.0
    straw.loop.start_scheduling()
    async with straw.running():
        await settle()

    assert "cycle p 0.002" in straw.log


async def test_the_network_gets_its_turn_between_slices_of_decisions() -> None:
    straw = Straw()
    straw.waiting, straw.cost = [str(number) for number in range(10)], SLICE_SECONDS / 2
    straw.loop.start_scheduling()
    left = []
    async with straw.running():
        for _ in range(6):
            await asyncio.sleep(0)
            left.append(len(straw.waiting))

    assert left == [8, 6, 4, 2, 0, 0]


async def test_the_network_gets_its_turn_between_slices_of_stimuli() -> None:
    straw = Straw()
    straw.cost = SLICE_SECONDS
    for number in range(4):
        straw.loop.deliver(news(str(number)))
    handled = []
    async with straw.running():
        for _ in range(5):
            await asyncio.sleep(0)
            handled.append(len(straw.log))

    assert handled == [1, 2, 3, 4, 4]


async def test_news_that_comes_between_slices_goes_before_the_next_decision() -> None:
    straw = Straw()
    straw.waiting, straw.cost = ["p", "q"], SLICE_SECONDS
    straw.loop.start_scheduling()
    async with straw.running():
        await asyncio.sleep(0)
        straw.loop.deliver(news("a"))
        await settle()

    assert [entry.split()[0] for entry in straw.log] == [
        "decide",
        "cycle",
        "dispatch",
        "handle",
        "decide",
        "cycle",
        "dispatch",
    ]


async def test_with_nothing_to_do_the_loop_sleeps() -> None:
    straw = Straw()
    straw.loop.start_scheduling()
    async with straw.running():
        await settle()
        asked = straw.asked
        await settle()

    assert (asked, straw.asked) == (1, 1)


async def test_without_room_the_loop_sleeps() -> None:
    straw = Straw()
    straw.waiting, straw.room = ["p"], 0
    straw.loop.start_scheduling()
    looked = 0

    def has_room() -> bool:
        nonlocal looked
        looked += 1
        return False

    straw.loop._has_room = has_room
    async with straw.running():
        await settle()

    assert looked == 1


async def test_no_decision_is_made_ahead_of_what_can_be_carried_out() -> None:
    straw = Straw()
    straw.waiting, straw.room = ["p", "q", "r"], 2
    straw.loop.start_scheduling()
    async with straw.running():
        await settle()
        assert straw.waiting == ["r"]

        straw.room = 1
        await settle()
        assert straw.waiting == ["r"]
        straw.loop.wake()
        await settle()
        assert straw.waiting == []


async def test_an_answer_that_makes_room_lets_decisions_go_on() -> None:
    straw = Straw()
    straw.waiting, straw.room = ["p", "q"], 1
    straw.loop.start_scheduling()

    def make_room() -> None:
        straw.room = 1

    straw.on_stimulus = make_room
    async with straw.running():
        await settle()
        assert straw.waiting == ["q"]

        straw.loop.deliver(news("bound"))
        await settle()
    assert straw.waiting == []


async def test_after_the_stop_stimuli_are_still_handled() -> None:
    straw = Straw()
    straw.loop.start_scheduling()
    async with straw.running():
        await settle()
        straw.loop.stop_scheduling()
        straw.waiting = ["p"]
        straw.loop.deliver(news("a"))
        await settle()

    assert straw.log == ["handle a"]
    assert straw.waiting == ["p"]


async def test_bad_objects_are_told_once() -> None:
    straw = Straw()
    straw.complaints = [BadObject(kind="Pod", key="default/a", error="unreadable")]
    async with straw.running():
        straw.loop.deliver(news("a"))
        straw.loop.deliver(news("b"))
        await settle()

    assert straw.log == ["handle a", "handle b", "complaint unreadable"]


async def test_a_plugin_that_failed_in_a_decision_is_told_of_without_waiting_for_news() -> None:
    straw = Straw()
    straw.waiting = ["p"]
    fault = PluginFault(plugin="Breaks", stage="Score", pod="default/p", error="no")
    straw.on_cycle = lambda: straw.complaints.append(fault)
    straw.loop.start_scheduling()
    async with straw.running():
        await settle()

    assert straw.log[-1] == "complaint no"


async def test_deadlines_are_looked_at_on_each_whole_second() -> None:
    straw = Straw()
    async with straw.running():
        await asyncio.sleep(3.0)

    assert straw.log == ["tick 101.0", "tick 102.0", "tick 103.0"]


async def test_whatever_is_raised_ends_the_loop_and_its_ticks() -> None:
    straw = Straw()
    straw.error = RuntimeError("a state that may be wrong")
    straw.loop.deliver(news("a"))

    with pytest.raises(RuntimeError, match="a state that may be wrong"):
        await straw.loop.run()
    await asyncio.sleep(5.0)
    assert straw.log == []
    assert len(asyncio.all_tasks()) == 1


async def test_an_answer_for_which_there_is_no_brain_is_a_stimulus_like_others() -> None:
    """PodBound is what a dispatcher delivers; the loop makes no difference."""
    seen: list[Stimulus] = []

    class Listening(Straw):
        def handle(self, stimulus: Stimulus) -> list[Instruction]:
            seen.append(stimulus)
            return []

    straw = Listening()
    async with straw.running():
        straw.loop.deliver(PodBound(now=1.0, uid="a", node_name="n1"))
        await settle()

    assert seen == [PodBound(now=1.0, uid="a", node_name="n1")]


async def test_what_somebody_has_to_know_at_once_is_handled_before_what_waits() -> None:
    straw = Straw()
    straw.loop.deliver(news("a"))
    straw.loop.handle_now(news("bind b"))
    assert straw.log == ["handle bind b", "dispatch bind b"]

    async with straw.running():
        await settle()
    assert straw.log[2:] == ["handle a"]


async def test_what_waits_is_as_old_as_its_oldest_stimulus() -> None:
    straw = Straw()
    assert (straw.loop.waiting(), straw.loop.lag_seconds()) == (0, 0.0)
    straw.loop.deliver(NodeDeleted(now=START - 3.0, name="a", uid=""))
    straw.loop.deliver(NodeDeleted(now=START - 1.0, name="b", uid=""))
    assert straw.loop.waiting() == 2
    assert straw.loop.lag_seconds() == pytest.approx(3.0)

    async with straw.running():
        await settle()
    assert (straw.loop.waiting(), straw.loop.lag_seconds()) == (0, 0.0)
