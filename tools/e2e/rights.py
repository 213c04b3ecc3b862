"""What the API server's audit log says about the scheduler's rights."""

import json
from collections import Counter

from tools.e2e.cluster import CheckFailure, require
from tools.e2e.run import Run

FORBIDDEN = 403


def nothing_was_forbidden(run: Run) -> str:
    """Of all that the scheduler asked for, nothing was refused for want of a right."""
    if run.audit_log is None:
        raise CheckFailure("no audit log was named")
    asked: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for line in run.audit_log.read_text().splitlines():
        entry = json.loads(line)
        if entry["user"]["username"] != run.user:
            continue
        target = entry.get("objectRef", {})
        resource = "/".join(part for part in (target.get("resource"), target.get("subresource")) if part)
        what = f"{entry['verb']} {resource or entry['requestURI']}"
        asked[what] += 1
        if entry.get("responseStatus", {}).get("code") == FORBIDDEN:
            refused[what] += 1
    require(asked["create pods/binding"] > 0, f"the audit log knows of no bind by {run.user}: {dict(asked)}")
    require(not refused, f"refused to {run.user}: {dict(refused)}")
    return f"{asked.total()} requests by {run.user} of {len(asked)} kinds, none forbidden"
