"""A decision from the batch cache is the one that a new evaluation of the plain objects gives, to the last score and reason.

Long stories: ``make story-long``.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.support.batch_reached import missing
from tests.support.batch_story import RARE_STEPS, STEPS, BatchStory, tell

SEEDS = st.integers(0, 2**16)


class Machine(RuleBasedStateMachine):
    """Lets Hypothesis choose the steps, so that it can shorten a story that goes wrong."""

    def __init__(self) -> None:
        super().__init__()
        self.story = BatchStory(Counter())

    @initialize(seed=SEEDS)
    def begin(self, seed: int) -> None:
        self.story.begin(Random(seed))

    @rule(step=st.sampled_from((*STEPS, *RARE_STEPS)), seed=SEEDS)
    def take(self, step: str, seed: int) -> None:
        self.story.take(step, Random(seed))


def test_every_decision_is_that_of_a_new_evaluation() -> None:
    run_state_machine_as_test(Machine, settings=settings(max_examples=25, stateful_step_count=30))


@pytest.mark.long
def test_in_longer_stories_too_which_come_upon_everything() -> None:
    assert missing(tell(2000, seed=3), least=1) == {}
