"""A recorded story comes out the same in another process, whatever its hash seed, and with assertions off."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.story.test_invariants import STEPS, Story

WANTED = (
    *(f'"outcome":"{outcome}"' for outcome in ("assumed", "unschedulable", "error", "skipped")),
    *(f'"type":"{kind}"' for kind in ("PodApplied", "PodDeleted", "NodeApplied", "NodeDeleted", "NamespaceApplied")),
    *(f'"type":"{kind}"' for kind in ("PodBound", "BindFailed", "BindDue", "Tick", "ConfigurationChanged")),
)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A story of some hundred steps on a small cluster, with every outcome and nearly every stimulus."""
    told, random = Story(), Random(1)
    told.begin(1)
    text = ""
    for number in range(3000):
        if number % 400 == 399:
            text = b"".join(told.follower.story).decode()
            if all(wanted in text for wanted in WANTED):
                break
        told.take(random.choice(STEPS), random.getrandbits(32))
    assert [wanted for wanted in WANTED if wanted not in text] == []
    file = tmp_path_factory.mktemp("story") / "story"
    file.write_text(text)
    return file


@pytest.mark.parametrize(("hash_seed", "options"), [("0", []), ("4242", []), ("77", ["-O"])])
def test_a_story_comes_out_the_same_in_another_process(story: Path, hash_seed: str, options: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, *options, "-m", "scheduler.app.cli", "replay", str(story)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.stdout, done.stderr, done.returncode) == ("0 steps differ\n", "", 0)


def test_a_replay_notices_a_scheduler_that_is_configured_otherwise(story: Path, tmp_path: Path) -> None:
    """Equality is not had for nothing."""
    told = story.read_text()
    plugins = '{"schedulerName":"reprise","plugins":{'
    changed = told.replace(plugins, plugins + '"filter":{"disabled":[{"name":"NodeResourcesFit"}]},')
    assert changed != told
    other = tmp_path / "other"
    other.write_text(changed)
    done = subprocess.run(
        [sys.executable, "-m", "scheduler.app.cli", "replay", str(other)], capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].endswith(" steps differ")
