"""What is easily got wrong when kube-scheduler's behaviour is rebuilt, and which tests and scripts show that it is right here.

A test says that it shows one by a line `# trap: NAME` above its definition, a script of tests/parity by `traps=`.
`python -m tests.support.traps` writes docs/traps.md from them.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.oracle.traps import TRAPS as ORACLE_TRAPS
from tests.parity.scripts import SCRIPTS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "traps.md"
_MARK = re.compile(r"^# trap: (\S+)$")

FOLLOWED = {
    "the-nominated-node-first": "A pod with a nomination is tried on that node first and nothing is scored; its own nomination "
    "takes nothing from it.",
    "nominated-pods-take-their-room": "Where pods of at least its priority are nominated a pod must fit with them and without them.",
    "back-off-in-whole-seconds": "A back-off ends on a whole second, and only later than it; errors wait for it, while what an event "
    "has woken goes at once when nothing else is active.",
    "errors-and-rejections-are-counted-apart": "A rejection resets the count of errors; an error does not reset that of rejections.",
    "no-nodes-is-retried-by-the-clock": "Without any node a pod is Unschedulable to its user, and an error to the queue: tried again "
    "by the clock, with no preemption.",
    "a-name-is-used-again": "A pod that was created again under its name is another pod, also while the old one waits.",
    "judged-by-what-it-was": "An update is judged by what the pod was before: one that waits here and names another scheduler from "
    "then on is dropped without a word.",
    "pods-of-others-count": "Pods that other schedulers have bound take room and wake ours; those that are not bound are not seen.",
    "terminating-pods-are-told": "A pod that is deleted before it has a node is queued, and told that it is skipped.",
    "updates-of-assumed-pods": "Updates of a pod whose bind is under way change nothing, unless it begins to terminate.",
    "a-cordon-is-no-event": "A cordon wakes nobody; the end of one does.",
    "heartbeats-wake-nobody": "Heartbeats and conditions of nodes wake nobody.",
    "specific-and-general-updates": "Who registered for one kind of update does not hear of an update that is of no kind; who "
    "registered for updates hears of every kind.",
    "events-during-an-attempt": "What happens while a pod is tried is looked at when the attempt has failed.",
    "own-updates-of-a-pod-in-flight": "Changes of the pod itself while it is tried do not queue it; they are looked at when the "
    "attempt has failed, which is told of the pod as it is by then.",
    "done-before-pre-bind": "From PreBind on a pod is out of flight: what happens then is not looked at, as a failure is an error.",
    "pending-skips-the-back-off": "What a plugin has called Pending is tried without back-off once that plugin is helped.",
    "a-gated-pod-hears-of-its-gate-only": "A gated pod hears of what its gate registered for; the flush asks the gate again.",
    "pre-enqueue-runs-again": "PreEnqueue is asked each time a pod would become active.",
    "preemption-wakes-nobody-itself": "DefaultPreemption is among those that refused a pod only where it holds it back, and its hint "
    "wakes nobody: those that refused the pod before do.",
    "preemption-helps-only-where-it-can": "Only nodes that called the pod Unschedulable, and not Unresolvable, are looked at for "
    "victims.",
    "the-nested-message": "The message of a preemption that finds nobody is one of its own, with its own period, behind the first.",
    "reasons-are-sorted-as-text": "Reasons are sorted as text with their counts: `10 ...` comes before `2 ...`.",
    "a-prefilter-rejection-has-no-histogram": "What PreFilter says stands alone, without counts of nodes.",
    "outside-of-the-prefilter-result": "Nodes that PreFilter leaves out are counted as not satisfying the plugin that left them out.",
    "all-nodes-are-counted": "The number of nodes in a message is that of all, also of cordoned and tainted ones.",
    "the-note-is-cut": "The condition has the whole message, the Event a note of at most 1024 bytes.",
    "the-same-failure-is-not-written": "A failure with the same words writes an Event and no patch.",
    "own-updates-wake-nobody": "The pod's own patch comes back as an update; it wakes no pod that lacks something else.",
    "a-nomination-is-cleared": "A nomination is cleared by a failure that does not keep it, and by a pod of higher priority that takes "
    "the place; not where the pod waits for its victims.",
    "nominated-on-the-way": "A pod is nominated to its node before its bind only where Permit or PreBind make it wait.",
    "a-nomination-that-goes-wakes-others": "When a pending pod's nomination changes or goes, pods of no higher priority are woken.",
    "a-failed-bind-wakes-others": "When a bind fails others are woken as when a pod is deleted, after a rejection not the pod itself.",
    "assumed-until-seen": "A pod stays assumed until the watch shows it, however long that takes.",
    "reserve-is-undone-in-reverse": "Unreserve is called for all plugins in reverse order, also for those that never came to reserve.",
    "how-binds-are-repeated": "A bind is repeated four times in less than two seconds, and never after a conflict.",
    "the-identity-of-an-event": "A repeated Event is a series only while the pod's resourceVersion is the same.",
    "attempts-end-with-the-bind": "An attempt counts as scheduled only when the pod is bound.",
    "signed-when-queued": "A pod is signed when it enters the queue, and again when it changes.",
    "requests-of-pods-that-ask-for-nothing": "Scores count 100m and 200Mi for a container that asks for nothing; filters do not.",
    "groups-are-off": "A pod of a scheduling group is placed like any other: what is beta and off by default is off.",
    "pods-before-their-node": "A pod may be known before its node: the node counts only once it is there.",
    "a-terminating-victim-is-waited-for": "A pod whose victim is terminating on its nominated node looks for no further ones.",
    "who-preempts-is-held-back": "A pod that preempts is kept out of the queue until its victims are being deleted.",
    "the-api-server-clears-the-nomination": "When a pod is bound the API server clears its nomination, and no patch does.",
}

NOT_FOLLOWED = {
    "Ties are decided by the mechanics of a heap": ("by a keyed hash of the node's name", "ties between nodes"),
    "The index of the node to start from, and where a search for enough nodes stops": (
        "all nodes are evaluated",
        "`percentageOfNodesToScore` unset or 0",
    ),
    "`percentageOfNodesToScore` of 0 is a share that shrinks; a profile's own counts before the one for all": (
        "it is all nodes",
        "`percentageOfNodesToScore` unset or 0",
    ),
    "The order of nodes by zone": ("nothing depends on it where all nodes are evaluated", "order of the nodes"),
    "Keys of the queue are names": ("they are UIDs", "identity of pods"),
    "An update that gives a pod to this scheduler is ignored": (
        "the pod is queued",
        "a pod without a node names this scheduler from now on, and named another one before",
    ),
    "A node is gone from the cache only after its event": (
        "it is gone before anybody is woken",
        "a pod that the end of a node wakes",
    ),
    "Opportunistic batching is inert by default": ("it works", "with the default configuration"),
    "A batch ends with any other pod": ("entries are kept apart", "what is kept"),
    "Of the nodes of a batch only the one that was used last is scored again, and all that are left are ranked for it": (
        "whatever changed is evaluated again, and nothing else",
        "a node that changes while it is kept",
    ),
    "Signatures leave out protocol and host IP of ports": (
        "they have them",
        "signature: images, host ports, init containers, requests that are defaults",
    ),
    "An image has the size that the first node reported": (
        "that of each node",
        "ImageLocality: size of an image, number of nodes that hold it",
    ),
    "Nodes that an extender answers with whole are scored as if no pod were on them": (
        "as they are",
        "nodes that an extender answers with whole",
    ),
    "A `%` in the note of an Event is mangled": ("it is kept", "`%` in the message of an Event"),
}
"""What is otherwise here, how it is, and the beginning of its line in docs/differences.md, which names the test."""

_WHOLE = ("`tests/story/", "script ")
"""Where the whole core is told what happens, or both schedulers are. Tests of parts show how a habit comes about beside that."""


def shown_by() -> dict[str, list[str]]:
    """What shows each trap: tests as `path::name`, then scripts by their names."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name, test in _marked(path):
            found.setdefault(name, []).append(f"`{path.relative_to(ROOT)}::{test}`")
    for script in SCRIPTS:
        for name in script.traps:
            found.setdefault(name, []).append(f'script "{script.name}"')
    return found


def shown_in_parts_only() -> list[str]:
    """Traps that no story and no script shows, but at most tests of parts."""
    found = shown_by()
    return [name for name in FOLLOWED if not any(each.startswith(_WHOLE) for each in found.get(name, ()))]


def _marked(path: Path) -> Iterator[tuple[str, str]]:
    text = path.read_text(encoding="utf-8")
    if "# trap: " not in text:
        return
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)]) - 2
            while first >= 0 and (match := _MARK.match(lines[first].strip())):
                yield match[1], node.name
                first -= 1


def page() -> str:
    """The whole of docs/traps.md."""
    found = shown_by()
    rows = "".join(
        f"| {text} | {', '.join(found.get(name, ())) or 'not shown yet'} |\n" for name, text in FOLLOWED.items()
    )
    others = "".join(f"| {what} | {here} |\n" for what, (here, _) in NOT_FOLLOWED.items())
    return (
        "# What is easily got wrong, and what shows that it is right\n\n"
        "kube-scheduler has habits that its documentation does not tell of and that users, autoscalers or other programs can see.\n"
        "This page is written by `python -m tests.support.traps` from the tests (a line `# trap: NAME` above a test) and from the\n"
        "scripts that are told to both schedulers (`traps=` in `tests/parity/scripts/`); a test holds it to them, and to this: each\n"
        "habit is shown by a script, or by a story (`tests/story/`), in which the whole core hears what happens and says what to do.\n"
        f"Rules of filters and scores have {len(ORACLE_TRAPS)} more of their own, with answers worked out by hand: "
        "`tests/oracle/traps.py`.\n\n"
        f"| habit | shown by |\n| --- | --- |\n{rows}\n"
        "## Not followed\n\n"
        "These are otherwise here on purpose: [docs/differences.md](differences.md) has the reasons and the tests.\n\n"
        f"| kube-scheduler 1.37 | here |\n| --- | --- |\n{others}"
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
