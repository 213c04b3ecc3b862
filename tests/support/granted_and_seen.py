"""Compares the rights that roles grant with the requests that an API server's audit logs show.

    python -m tests.support.granted_and_seen AUDIT_LOG... [--manifests FILE] [--user NAME] [--forbidden-only]

The exit code is 1 when a request was refused, or when something is granted that no request has used; of a part of the tests one can ask
for what was refused alone.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML

from tests.support.resources import Object

MANIFESTS = Path(__file__).parents[2] / "deploy" / "manifests" / "rbac.yaml"
USER = "system:serviceaccount:reprise:reprise"
AGENT = "reprise/"
AUDIT_VARIABLE = "REPRISE_AUDIT"
"""Names the folder into which the API servers of tests write their audit logs."""
AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts"]
- level: None
"""


class Grant(NamedTuple):
    """One verb on one resource. ``name`` and ``namespace`` are "" where the grant is not limited to one."""

    verb: str
    resource: str
    group: str = ""
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        text = f"{self.verb} {self.resource}" + (f".{self.group}" if self.group else "")
        text += f' "{self.name}"' if self.name else ""
        return text + (f" in {self.namespace}" if self.namespace else "")


class Request(NamedTuple):
    """What somebody has asked for, and whether it was allowed."""

    user: str
    grant: Grant
    is_forbidden: bool
    uri: str


def granted(objects: Iterable[Object], user: str) -> set[Grant]:
    """What the roles among the objects grant to a ServiceAccount by the bindings among them.

    Raises:
        ValueError: something is granted by a wildcard.
    """
    manifests = list(objects)
    rules: dict[tuple[str, str, str], list[Object]] = {
        (each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each["rules"]
        for each in manifests
        if each["kind"] in ("Role", "ClusterRole")
    }
    found: set[Grant] = set()
    for binding in manifests:
        if binding["kind"] not in ("RoleBinding", "ClusterRoleBinding"):
            continue
        if not any(_names(subject, user) for subject in binding["subjects"]):
            continue
        kind, namespace = binding["roleRef"]["kind"], binding["metadata"].get("namespace", "")
        for rule in rules[kind, namespace if kind == "Role" else "", binding["roleRef"]["name"]]:
            found.update(_grants(rule, namespace))
    return found


def _names(subject: Mapping[str, Any], user: str) -> bool:
    return subject["kind"] == "ServiceAccount" and user == (
        f"system:serviceaccount:{subject['namespace']}:{subject['name']}"
    )


def _grants(rule: Mapping[str, Any], namespace: str) -> Iterator[Grant]:
    for group in rule["apiGroups"]:
        for resource in rule["resources"]:
            for verb in rule["verbs"]:
                if "*" in group + resource + verb:
                    raise ValueError(f"a wildcard grants {verb} {resource}.{group}")
                for name in rule.get("resourceNames") or [""]:
                    yield Grant(verb, resource, group, namespace, name)


def requests(logs: Iterable[Path]) -> Iterator[Request]:
    """What audit logs (JSON lines, level Metadata or more) have of the product's requests for resources, in order.

    Tests that play its part, to see what it may do, say in their requests who they are.
    """
    for log in logs:
        for line in log.read_bytes().splitlines():
            entry = json.loads(line)
            reference = entry.get("objectRef") or {}
            if "resource" not in reference or not entry.get("userAgent", "").startswith(AGENT):
                continue
            # To ask what one may do oneself is the server's to grant, which it does a moment after its start.
            if reference["resource"].startswith("selfsubject"):
                continue
            subresource = reference.get("subresource")
            yield Request(
                user=entry["user"]["username"],
                grant=Grant(
                    verb=entry["verb"],
                    resource=reference["resource"] + (f"/{subresource}" if subresource else ""),
                    group=reference.get("apiGroup", ""),
                    namespace=reference.get("namespace", ""),
                    name=reference.get("name", ""),
                ),
                is_forbidden=entry.get("annotations", {}).get("authorization.k8s.io/decision") == "forbid",
                uri=entry["requestURI"],
            )


def unused(grants: Iterable[Grant], asked: Iterable[Request]) -> list[Grant]:
    """Grants that none of the requests has used, sorted."""
    left = set(grants)
    for grant in {request.grant for request in asked if not request.is_forbidden}:
        left -= {
            each
            for each in left
            if each[:3] == grant[:3] and each.namespace in ("", grant.namespace) and each.name in ("", grant.name)
        }
    return sorted(left)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what is wrong, or that nothing is."""
    parser = argparse.ArgumentParser(description="Compare rights granted with rights used.")
    parser.add_argument("logs", nargs="+", type=Path, metavar="AUDIT_LOG", help="audit log of a kube-apiserver")
    parser.add_argument("--manifests", type=Path, default=MANIFESTS, metavar="FILE", help="roles and bindings (YAML)")
    parser.add_argument("--user", default=USER, metavar="NAME", help=f"whose (default: {USER})")
    parser.add_argument("--forbidden-only", action="store_true", help="whatever is granted and not seen")
    options = parser.parse_args(arguments)
    grants = granted(YAML(typ="safe").load_all(options.manifests.read_text()), options.user)
    asked = [request for request in requests(options.logs) if request.user == options.user]
    refused = sorted({f"forbidden: {request.grant} ({request.uri})" for request in asked if request.is_forbidden})
    left = [] if options.forbidden_only else [f"granted and not seen: {grant}" for grant in unused(grants, asked)]
    for line in (*refused, *left):
        print(line)
    counts = f"{len(grants)} granted, {len(asked)} requests, {len(refused)} kinds forbidden"
    print(counts if options.forbidden_only else f"{counts}, {len(left)} granted and not seen")
    return 1 if refused or left else 0


if __name__ == "__main__":
    sys.exit(main())
