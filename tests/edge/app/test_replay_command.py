"""``reprise replay``: a story is run again, and every step that comes out differently is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scheduler.app.cli import main
from scheduler.config.configuration import from_object
from scheduler.core.scheduler import Scheduler
from scheduler.core.stimulus import BindFailed, NodeApplied, PodApplied, Stimulus
from scheduler.core.story import Header, RecordingScheduler
from tests.support.builders import make_node, make_pod

Captured = pytest.CaptureFixture[str]


def record(file: Path, *stimuli: Stimulus, decisions: int = 0, configuration: dict[str, Any] | None = None) -> None:
    made = from_object(configuration)
    core = Scheduler({one.scheduler_name: one for one in made.profiles}, seed=3, backoff=made.backoff)
    with file.open("wb") as out:
        recording = RecordingScheduler(core, Header(seed=3, configuration=made.as_kube_document()), out.write)
        for stimulus in stimuli:
            recording.handle(stimulus)
        for _ in range(decisions):
            recording.schedule_one(2.0)


STIMULI = (NodeApplied(now=1.0, node=make_node("n1")), PodApplied(now=1.0, pod=make_pod("web")))


@pytest.fixture
def story(tmp_path: Path) -> Path:
    file = tmp_path / "story"
    record(file, *STIMULI, decisions=2)
    return file


def test_a_story_that_comes_out_the_same(story: Path, capsys: Captured) -> None:
    assert main(["replay", str(story)]) == 0
    assert capsys.readouterr().out == "0 steps differ\n"


def test_a_story_holds_its_header_each_stimulus_and_each_decision_that_was_made(story: Path) -> None:
    header, *steps = [json.loads(line) for line in story.read_text().splitlines()]

    assert (header["version"], header["seed"]) == (1, 3)
    assert header["configuration"]["kind"] == "KubeSchedulerConfiguration"
    assert [list(step) for step in steps] == [
        ["stimulus"],
        ["stimulus"],
        ["schedule", "pod", "outcome", "node", "instructions"],
    ]


def test_a_step_that_comes_out_differently_is_shown(story: Path, capsys: Captured) -> None:
    lines = story.read_text().splitlines()
    lines[3] = lines[3].replace('"n1"', '"n2"')
    story.write_text("\n".join(lines))

    assert main(["replay", str(story)]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "line 4:"
    assert printed[1].startswith("  recorded ")
    assert '"n2"' in printed[1]
    assert printed[2].startswith("  replayed ")
    assert '"n1"' in printed[2]
    assert printed[3] == "1 steps differ"


def test_a_decision_that_finds_nobody_waiting_is_a_difference(story: Path, capsys: Captured) -> None:
    lines = story.read_text().splitlines()
    del lines[2]
    story.write_text("\n".join(lines))

    assert main(["replay", str(story)]) == 1
    assert capsys.readouterr().out.splitlines()[2:] == ['  replayed {"schedule":2.0}', "1 steps differ"]


def test_the_recorded_seed_is_used(tmp_path: Path, capsys: Captured) -> None:
    """Of 20 equal nodes another seed takes another one."""
    file = tmp_path / "story"
    nodes = (NodeApplied(now=1.0, node=make_node(f"n{number}")) for number in range(20))
    record(file, *nodes, STIMULI[1], decisions=1)
    assert main(["replay", str(file)]) == 0

    file.write_text(file.read_text().replace('"seed":3', '"seed":4'))
    assert main(["replay", str(file)]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "1 steps differ"


def test_recording_changes_nothing_for_its_user(tmp_path: Path) -> None:
    made = from_object(None)
    profiles = {one.scheduler_name: one for one in made.profiles}
    plain, inner = (Scheduler(profiles, seed=3, backoff=made.backoff) for _ in range(2))
    with (tmp_path / "story").open("wb") as out:
        recording = RecordingScheduler(inner, Header(seed=3), out.write)
        nameless = NodeApplied(now=1.0, node=make_node(""))
        for stimulus in (*STIMULI, nameless, BindFailed(now=1.0, uid="nobody", node_name="n1", error="refused")):
            assert recording.handle(stimulus) == plain.handle(stimulus)
        assert recording.schedule_one(2.0) == plain.schedule_one(2.0)
        failed = BindFailed(now=2.0, uid="default-web", node_name="n1", error="refused")
        answered = recording.handle(failed)
        assert answered == plain.handle(failed)
        assert len(answered) == 2
        assert recording.schedule_one(2.0) is None
        bad = recording.take_complaints()
        assert bad == plain.take_complaints()
        assert len(bad) == 1
    assert recording.state is inner.state


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda lines: [], "line 1: Input data was truncated"),
        (lambda lines: ["nope"], "line 1: JSON is malformed"),
        (lambda lines: [lines[1]], "line 1: Object missing required field `seed`"),
        (
            lambda lines: [lines[0].replace('"version":1', '"version":2')],
            "line 1: story version 2 is not 1: replay it with the release that wrote it",
        ),
        (lambda lines: [lines[0], "", "{}"], "line 3: neither a stimulus nor a schedule step"),
        (lambda lines: [*lines[:2], lines[2][:-5]], "line 3: Input data was truncated"),
        (
            lambda lines: ['{"seed":1,"configuration":{"a":' + "[" * 100_000],
            "line 1: maximum recursion depth exceeded",
        ),
        (lambda lines: [lines[0].replace('"parallelism":16', '"parallelism":0')], "parallelism: Invalid value: 0"),
    ],
)
def test_a_story_that_cannot_be_read_is_refused_with_its_line(
    story: Path, change: Any, text: str, capsys: Captured
) -> None:
    story.write_text("\n".join(change(story.read_text().splitlines())))

    assert main(["replay", str(story)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"reprise replay: {text}")


def test_a_file_that_is_not_there_is_named(tmp_path: Path, capsys: Captured) -> None:
    assert main(["replay", str(tmp_path / "absent")]) == 2
    assert "No such file or directory" in capsys.readouterr().err


def test_the_recorded_configuration_is_used(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "story"
    configuration = {
        "podInitialBackoffSeconds": 5,
        "profiles": [
            {
                "schedulerName": "reprise",
                "plugins": {"filter": {"disabled": [{"name": "NodeUnschedulable"}]}},
                "pluginConfig": [{"name": "NodeResourcesFit", "args": {"ignoredResources": ["example.com/gpu"]}}],
            },
            {"schedulerName": "other"},
        ],
    }
    pod = make_pod("web", requests={"example.com/gpu": "1"})
    cordoned = NodeApplied(now=1.0, node=make_node("n1", unschedulable=True))
    record(file, cordoned, PodApplied(now=1.0, pod=pod), decisions=1, configuration=configuration)

    assert '"node":"n1"' in file.read_text()
    assert main(["replay", str(file)]) == 0
    assert capsys.readouterr().out == "0 steps differ\n"
