"""2,000 pods in a burst on 200 kwok nodes, while somebody else binds to the same nodes: what was decided was right.

The burst runs once for all tests here; what they look at was recorded from outside the scheduler (tests/support/burst.py).
"""

import json
import os
import statistics
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.integration.conftest import Say
from tests.support.binaries import require_binaries
from tests.support.burst import BYSTANDER_COUNT, FOREIGN_COUNT, NODE_COUNT, POD_COUNT, Burst, run_burst
from tests.support.control_plane import ControlPlane
from tests.support.fresh_evaluation import FreshEvaluations
from tests.support.plain_account import PlainAccount, overcommitted, requests_of
from tests.support.reprise_process import COMMAND
from tests.support.resources import Object

SAMPLED = 20  # each so many decisions are worked out again with scores


@pytest.fixture(scope="module")
def burst(control_plane: ControlPlane) -> Burst:
    require_binaries("kwok")
    control_plane.reset()
    return run_burst(control_plane)


def ours(burst: Burst) -> dict[str, list[tuple[str, int, float]]]:
    """Each time one of our pods got a node, by uid."""
    mine = burst.of("reprise")
    return {uid: steps for uid, steps in burst.assignments().items() if uid in mine}


# ------------------------------------------------------------------------------------------------------------- binding


def test_every_pod_of_the_burst_is_bound_and_none_is_bound_twice(burst: Burst, say: Say):
    nodes_of = ours(burst)
    times = sorted(at for steps in nodes_of.values() for _, _, at in steps)
    seconds = times[-1] - times[0]
    say(f"burst: {len(times)} pods bound in {seconds:.1f} s from first to last, {len(times) / seconds:.0f} pods/s")
    assert len(nodes_of) == POD_COUNT
    assert Counter(len(steps) for steps in nodes_of.values()) == {1: POD_COUNT}


def test_the_server_was_asked_once_for_each_bind_and_refused_none(burst: Burst):
    assert burst.binding_answers == {"201": POD_COUNT + FOREIGN_COUNT}
    assert burst.metrics['scheduler_schedule_attempts_total{profile="reprise",result="scheduled"}'] == POD_COUNT
    assert burst.metrics['scheduler_schedule_attempts_total{profile="reprise",result="error"}'] == 0


def test_our_pods_take_no_node_over_its_allocatable(burst: Burst):
    pods = burst.of("reprise").values()
    assert len(burst.nodes) == NODE_COUNT
    assert overcommitted(burst.nodes, pods) == {}
    taken: Counter[str] = sum((requests_of(pod) for pod in pods), Counter())
    assert taken["cpu"] > 1000 * 1000, "less than half of the cluster's CPU is asked for: no test of room"


def test_every_bind_is_told_by_an_event_or_counted_as_dropped(burst: Burst, say: Say):
    dropped = burst.metrics["scheduler_events_dropped_total"]
    say(f"burst: {len(burst.events)} Events written, {dropped:.0f} dropped")
    assert len(burst.events) + dropped == POD_COUNT
    told = {(event["regarding"]["uid"], event["note"]) for event in burst.events}
    expected = {
        (uid, f"Successfully assigned default/{pod['metadata']['name']} to {pod['spec']['nodeName']}")
        for uid, pod in burst.of("reprise").items()
    }
    assert told <= expected
    assert {(event["type"], event["reason"], event["action"]) for event in burst.events} == {
        ("Normal", "Scheduled", "Binding")
    }


def test_the_scheduler_ended_in_order_and_wrote_nothing_but_log_lines(burst: Burst):
    assert (burst.exit_code, burst.stray_lines) == (0, [])


# -------------------------------------------------------------------------------------------------------------- others


def test_foreign_pods_were_bound_to_our_nodes_after_our_first_bind(burst: Burst, say: Say):
    mine = {uid: steps[0] for uid, steps in ours(burst).items()}
    foreign = {uid: steps[0] for uid, steps in burst.assignments().items() if uid in burst.of("foreign")}
    our_nodes = {node for node, _, _ in mine.values()}
    versions = [version for _, version, _ in mine.values()]
    first, last = min(versions), max(versions)
    on_ours = [version for node, version, _ in foreign.values() if node in our_nodes and version > first]
    within = sum(version < last for version in on_ours)

    account = PlainAccount(burst.originals)
    decided = {each.pod["metadata"]["uid"]: each for each in account.follow(burst.story) if each.node}
    on_node: dict[str, list[tuple[int, int]]] = {}
    for uid, (node, version, _) in foreign.items():
        on_node.setdefault(node, []).append((version, account.delivered[uid]))
    unseen = [
        uid
        for uid, (node, version, _) in mine.items()
        if any(theirs < version and decided[uid].line < shown for theirs, shown in on_node.get(node, ()))
    ]
    over = overcommitted(burst.nodes, [pod for pod in burst.pods.values() if "nodeName" in pod["spec"]])
    say(
        f"burst: {len(on_ours)} foreign pods bound to our nodes after our first bind, {within} before our last; "
        f"{len(unseen)} of our binds came after a foreign one that had not been delivered when they were decided; "
        f"{len(over)} nodes hold more than their allocatable with the foreign pods: {over}"
    )
    assert len(foreign) == FOREIGN_COUNT
    assert len(on_ours) >= 200


def test_pods_without_our_scheduler_name_are_left_untouched(burst: Burst):
    bystanders = burst.of("default-scheduler")
    assert len(bystanders) == BYSTANDER_COUNT
    assert bystanders == {uid: burst.made[uid] for uid in bystanders}
    others = bystanders.keys() | burst.of("foreign").keys()
    assert not [event["note"] for event in burst.events if event["regarding"]["uid"] in others]


# ------------------------------------------------------------------------------------------------------------ deciding


def test_each_decision_was_feasible_for_what_the_watch_had_delivered(burst: Burst, say: Say):
    account = PlainAccount(burst.originals)
    outcomes: Counter[str] = Counter()
    wrong = []
    for decision in account.follow(burst.story):
        outcomes[decision.outcome] += 1
        if decision.node:
            obstacles = account.obstacles(decision.pod, decision.node)
            wrong += [(decision.line, decision.node, obstacles)] if obstacles else []
        else:
            fitting = [name for name in account.nodes if not account.obstacles(decision.pod, name)]
            wrong += [(decision.line, decision.outcome, fitting)] if fitting else []
    say(f"burst: {outcomes.total()} decisions checked by plain accounting: {dict(outcomes)}")
    assert wrong == []
    assert outcomes["assumed"] == POD_COUNT


def test_a_sample_of_decisions_took_a_node_with_the_best_total_worked_out_afresh(burst: Burst, say: Say):
    fresh = FreshEvaluations(burst.story)
    checked, wrong, feasible = 0, [], []
    account = PlainAccount(burst.originals)
    for number, decision in enumerate(account.follow(burst.story)):
        if number % SAMPLED:
            continue
        totals = fresh.totals(account, decision.pod)
        checked += 1
        feasible.append(len(totals))
        if totals.get(decision.node) != max(totals.values()):
            wrong.append((decision.line, decision.node, totals))
    say(f"burst: {checked} decisions worked out afresh, {statistics.median(feasible):.0f} feasible nodes each (median)")
    assert checked == POD_COUNT // SAMPLED
    assert wrong == []


# ------------------------------------------------------------------------------------------------------------- replays


def replay(story: Path, hash_seed: str) -> tuple[int, list[str]]:
    """Exit code and output of `reprise replay` in a new process."""
    done = subprocess.run(
        [COMMAND, "replay", story],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_the_story_replays_to_equal_instructions_in_a_new_process(burst: Burst):
    assert burst.hash_seed != "1"
    assert replay(burst.story, "1") == (0, ["0 steps differ"])


def test_a_replay_shows_the_one_step_of_a_story_that_was_changed(burst: Burst, tmp_path: Path):
    lines = burst.story.read_bytes().splitlines()
    number, step = next(assumed_steps(lines))
    other = next(node["metadata"]["name"] for node in burst.nodes if node["metadata"]["name"] != step["node"])
    changed = tmp_path / "story.jsonl"
    lines = lines[: number + 100]
    changed.write_bytes(
        b"\n".join([*lines[:number], json.dumps({**step, "node": other}).encode(), *lines[number + 1 :]])
    )
    code, said = replay(changed, "1")
    assert (code, said[0], said[-1]) == (1, f"line {number + 1}:", "1 steps differ")


def assumed_steps(lines: list[bytes]) -> Iterator[tuple[int, Object]]:
    """Steps that chose a node, with their index."""
    for number, line in enumerate(lines):
        step = msgspec.json.decode(line)
        if step.get("outcome") == "assumed":
            yield number, step
