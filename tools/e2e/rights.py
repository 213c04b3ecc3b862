"""What the API server's audit log says about the scheduler's rights."""

import json
from collections import Counter
from collections.abc import Iterator

from tools.e2e.cluster import CheckFailure, Object, require
from tools.e2e.run import Run

FORBIDDEN = 403


def nothing_was_forbidden(run: Run) -> str:
    """Of all that the scheduler asked for, nothing was refused for want of a right."""
    asked: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for entry in entries(run):
        target = entry.get("objectRef", {})
        resource = "/".join(part for part in (target.get("resource"), target.get("subresource")) if part)
        what = f"{entry['verb']} {resource or entry['requestURI']}"
        asked[what] += 1
        if entry.get("responseStatus", {}).get("code") == FORBIDDEN:
            refused[what] += 1
    require(asked["create pods/binding"] > 0, f"the audit log knows of no bind by {run.user}: {dict(asked)}")
    require(not refused, f"refused to {run.user}: {dict(refused)}")
    return f"{asked.total()} requests by {run.user} of {len(asked)} kinds, none forbidden"


def entries(run: Run) -> Iterator[Object]:
    """What the scheduler has asked for, in the audit log's words.

    Raises:
        CheckFailure: there is no such log.
    """
    if run.audit_log is None:
        raise CheckFailure("no audit log was named")
    for line in run.audit_log.read_text().splitlines():
        entry: Object = json.loads(line)
        if entry["user"]["username"] == run.user:
            yield entry
