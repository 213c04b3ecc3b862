"""What users of Kubernetes schedulers have suffered from, by the threads in which they tell of it, and which tests show that it is otherwise here.

A test says that it shows one by naming a thread of it, as ``owner/repository#number``, in its docstring.
`python -m tests.support.field_cases` writes docs/field-cases.md from them.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "field-cases.md"
_THREAD = re.compile(r"\b([\w.-]+/[\w.-]+#\d+)\b")


class Case(NamedTuple):
    """What went wrong elsewhere, and what happens here; ``threads`` as far as they are about one thing."""

    threads: tuple[str, ...]
    elsewhere: str
    here: str


def _of(*numbers: int, also: tuple[str, ...] = ()) -> tuple[str, ...]:
    return (*(f"kubernetes/kubernetes#{number}" for number in numbers), *also)


CASES: Mapping[str, tuple[Case, ...]] = {
    "Several schedulers, and what is known of the cluster": (
        Case(
            _of(60469),
            "A second scheduler went on placing pods on full nodes for minutes.",
            "Every pod with a node counts, whoever placed it, until it has ended.",
        ),
        Case(
            _of(72043),
            "Two schedulers gave one place to two pods; the loser failed in the kubelet, and its Job with it.",
            "A node that others touched is filtered again right before the bind.",
        ),
        Case(
            _of(42433, 106419),
            "A pod refused with OutOfcpu was made anew, placed there again and refused again, over and over.",
            "The node gets no pod of that kind for a while, longer each time, and it is counted and told.",
        ),
        Case(
            ("NVIDIA/KAI-Scheduler#1454",),
            "A view of the cluster made now and then was too old while others placed pods.",
            "Each decision sees what the watch has brought by then, reused decisions too.",
        ),
        Case(
            ("volcano-sh/volcano#2700",),
            "Many jobs ended and began on one node, and the new ones were refused.",
            "Room is free when a pod has ended, not when it is asked to end.",
        ),
        Case(
            _of(136782),
            "A node for 110 pods got 168.",
            "The number of pods is a resource, counted from the decision on.",
        ),
        Case(
            _of(138546),
            "Two replicas that keep apart were bound to one node 3 ms apart.",
            "A pod that was decided on is seen by the next decision.",
        ),
        Case(
            _of(49314),
            "A failed bind could not be forgotten, and the pod stayed Pending.",
            "Pods are known by UID; a failed bind is forgotten and the pod tried again.",
        ),
        Case(
            _of(28883),
            "A bind that timed out was taken for failed, and the pod was placed a second time.",
            "It is in doubt: the pod keeps its room, and is read before anything else is done.",
        ),
        Case(
            _of(134217, 134157),
            "A pod deleted during its bind went on taking room.",
            "Its room is free at once, and who waits for it is tried.",
        ),
        Case(_of(102339), "Room was kept for a preemptor that was gone.", "Its nomination goes with it."),
        Case(
            _of(94437),
            "After one missed update a node was not found for ever.",
            "The next list repairs it, and a comparison names it before that.",
        ),
        Case(
            _of(102790, 104521, also=("volcano-sh/volcano#5025",)),
            "Pods were seen minutes late or never, until a restart.",
            "A silent watch is noticed and resumed, and a list queues pods that were missed.",
        ),
        Case(
            _of(86626),
            "Pods went to cordoned or tainted nodes.",
            "What was missed holds from the next list on, for reused decisions too.",
        ),
        Case(
            _of(129532, 126891),
            "A pod that was resized in place was counted with less than its kubelet keeps for it.",
            "The most of what is asked for, allocated and in effect counts, also between decision and bind.",
        ),
        Case(
            ("kubernetes-sigs/scheduler-plugins#382",),
            "A second scheduler is documented as not for production, because of all this.",
            "How often two schedulers take one place is measured and published, and how to split nodes.",
        ),
    ),
    "Waiting and being tried again": (
        Case(
            _of(141694),
            "The victim was gone already, no event came, and the preemptor waited five minutes.",
            "The end of a preemption has the preemptor tried.",
        ),
        Case(
            _of(140082),
            "A victim on its way to its node was called off in memory, and nobody woke the preemptor.",
            "It is tried at once.",
        ),
        Case(_of(139162), "Gated pods were left out of the flush.", "The flush asks their gate again."),
        Case(
            _of(125223, 125527),
            "Pods rejected at PreEnqueue were not looked at when other objects changed.",
            "A gate registers events as every plugin does.",
        ),
        Case(
            _of(120334, 119105),
            "An error was parked as a rejection, because of who had rejected the pod before.",
            "An error backs off.",
        ),
        Case(
            _of(127427),
            "A pod got the toleration that it lacked, and nobody looked.",
            "A change of the pod has its rejectors asked.",
        ),
        Case(
            _of(72122, 73463),
            "An event came before the pod was back in the queue, and was lost.",
            "What happens during an attempt is looked at when it has failed.",
        ),
        Case(
            ("kubernetes-sigs/scheduler-plugins#682",),
            "A group of pods that fit nowhere held up all others.",
            "Who was refused waits aside.",
        ),
        Case(
            _of(120622, 126962),
            "Events were kept for ever for pods that were skipped.",
            "They go with the pod that they were kept for.",
        ),
    ),
    "Making room, and changing the leader": (
        Case(_of(70622), "More pods were evicted than had to be.", "As few go, and as unimportant ones, as will do."),
        Case(
            _of(119778),
            "Victims were looked for where none could help.",
            "What PreFilter calls unresolvable ends the attempt.",
        ),
        Case(
            _of(107262, 65257),
            "Across a change of the leader pods were placed on what was taken already.",
            "The new leader lists everything anew before it decides.",
        ),
    ),
}


_INTRODUCTION = """# What users of schedulers suffer from, and what shows that it is otherwise here

Public threads about Kubernetes schedulers, what went wrong there, and what happens here. This page is written by
`python -m tests.support.field_cases` from the tests, which name the threads; a test holds it to them.
"""


def shown_by() -> dict[str, list[str]]:
    """By thread, the tests that name it, as `path::name`."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for test, text in _told(path):
            for thread in dict.fromkeys(_THREAD.findall(text)):
                found.setdefault(thread, []).append(f"`{path.relative_to(ROOT)}::{test}`")
    return found


def _told(path: Path) -> Iterator[tuple[str, str]]:
    """Tests of a file with their docstrings."""
    text = path.read_text(encoding="utf-8")
    if not _THREAD.search(text):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.name, ast.get_docstring(node) or ""


def page() -> str:
    """The whole of docs/field-cases.md."""
    found = shown_by()
    parts = [_INTRODUCTION]
    for title, cases in CASES.items():
        rows = "".join(
            f"| {', '.join(case.threads)} | {case.elsewhere} | {case.here} | {_tests(case, found)} |\n"
            for case in cases
        )
        parts.append(
            f"\n## {title}\n\n| threads | what went wrong | here | shown by |\n| --- | --- | --- | --- |\n{rows}"
        )
    return "".join(parts)


def _tests(case: Case, found: Mapping[str, list[str]]) -> str:
    tests = dict.fromkeys(test for thread in case.threads for test in found.get(thread, ()))
    return ", ".join(tests) or "not shown yet"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
