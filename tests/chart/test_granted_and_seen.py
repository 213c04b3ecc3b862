"""The comparison of rights with an audit log notices what is missing, what is too much, and a wildcard."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.support.granted_and_seen import Grant, granted, main, requests, unused
from tests.support.resources import Object

USER = "system:serviceaccount:shop:night"
SUBJECT = {"kind": "ServiceAccount", "namespace": "shop", "name": "night"}


def role(kind: str, name: str, rules: list[dict[str, Any]], **metadata: str) -> list[Object]:
    """A role, and a binding of it to the user and to somebody else."""
    reference = {"kind": kind, "name": name, "apiGroup": "rbac.authorization.k8s.io"}
    return [
        {"kind": kind, "metadata": {"name": name, **metadata}, "rules": rules},
        {
            "kind": f"{kind}Binding",
            "metadata": {"name": name, **metadata},
            "roleRef": reference,
            "subjects": [{"kind": "User", "name": "other"}, SUBJECT],
        },
    ]


OBJECTS = [
    *role(
        "ClusterRole", "all", [{"apiGroups": [""], "resources": ["pods", "pods/binding"], "verbs": ["get", "create"]}]
    ),
    *role(
        "Role",
        "lease",
        [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": ["night"], "verbs": ["get"]}],
        namespace="shop",
    ),
]


def entry(
    verb: str,
    resource: str,
    *,
    user: str = USER,
    decision: str = "allow",
    agent: str = "reprise/0.1.0",
    **reference: str,
) -> str:
    return json.dumps(
        {
            "stage": "ResponseComplete",
            "verb": verb,
            "userAgent": agent,
            "user": {"username": user},
            "objectRef": {"resource": resource, **reference},
            "requestURI": f"/{resource}",
            "annotations": {"authorization.k8s.io/decision": decision},
        }
    )


def logged(folder: Path, *entries: str) -> Path:
    log = folder / "audit.log"
    log.write_text("".join(f"{line}\n" for line in entries))
    return log


USED = (
    entry("get", "pods", name="a", namespace="x"),
    entry("create", "pods", namespace="x"),
    entry("create", "pods", subresource="binding", name="a", namespace="x"),
    entry("get", "pods", subresource="binding", name="a", namespace="x"),
    entry("get", "leases", apiGroup="coordination.k8s.io", name="night", namespace="shop"),
)


def test_what_roles_grant_to_one_serviceaccount() -> None:
    assert granted(OBJECTS, USER) == {
        Grant("get", "pods"),
        Grant("create", "pods"),
        Grant("get", "pods/binding"),
        Grant("create", "pods/binding"),
        Grant("get", "leases", "coordination.k8s.io", "shop", "night"),
    }
    assert granted(OBJECTS, "system:serviceaccount:shop:day") == set()


def test_a_wildcard_cannot_be_compared() -> None:
    rule = {"apiGroups": [""], "resources": ["*"], "verbs": ["get"]}
    with pytest.raises(ValueError, match="a wildcard grants get"):
        granted(role("ClusterRole", "all", [rule]), USER)


def test_everything_that_is_used_is_seen(tmp_path: Path) -> None:
    assert unused(granted(OBJECTS, USER), requests([logged(tmp_path, *USED)])) == []


@pytest.mark.parametrize("left_out", range(len(USED)))
def test_what_nobody_has_used_is_left(tmp_path: Path, left_out: int) -> None:
    others = [line for index, line in enumerate(USED) if index != left_out]
    assert len(unused(granted(OBJECTS, USER), requests([logged(tmp_path, *others)]))) == 1


@pytest.mark.parametrize(
    "instead",
    [
        entry("get", "leases", apiGroup="coordination.k8s.io", name="day", namespace="shop"),
        entry("get", "leases", apiGroup="coordination.k8s.io", name="night", namespace="other"),
        entry("get", "leases", name="night", namespace="shop"),
        entry("update", "leases", apiGroup="coordination.k8s.io", name="night", namespace="shop"),
        entry("get", "leases", apiGroup="coordination.k8s.io", name="night", namespace="shop", decision="forbid"),
    ],
)
def test_another_name_place_group_or_verb_is_no_use(tmp_path: Path, instead: str) -> None:
    left = unused(granted(OBJECTS, USER), requests([logged(tmp_path, *USED[:-1], instead)]))
    assert [str(grant) for grant in left] == ['get leases.coordination.k8s.io "night" in shop']


def run(folder: Path, *entries: str, options: Sequence[str] = ()) -> int:
    manifests = folder / "rbac.yaml"
    with manifests.open("w") as file:
        YAML(typ="safe").dump_all(OBJECTS, file)
    return main([str(logged(folder, *entries)), f"--manifests={manifests}", f"--user={USER}", *options])


def test_the_command_is_content_when_both_are_equal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    somebody_else = entry("delete", "nodes", user="somebody", decision="forbid")
    a_test = entry("delete", "nodes", agent="tests", decision="forbid")
    assert run(tmp_path, *USED, somebody_else, a_test) == 0
    assert capsys.readouterr().out == "5 granted, 5 requests, 0 kinds forbidden, 0 granted and not seen\n"


def test_the_command_names_what_was_refused_and_what_was_not_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, *USED[1:], entry("delete", "pods", name="a", namespace="x", decision="forbid")) == 1
    assert capsys.readouterr().out.splitlines()[:-1] == [
        'forbidden: delete pods "a" in x (/pods)',
        "granted and not seen: get pods",
    ]


def test_of_a_part_of_the_tests_only_what_was_refused_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, USED[0], options=["--forbidden-only"]) == 0
    assert capsys.readouterr().out == "5 granted, 1 requests, 0 kinds forbidden\n"
    refused = entry("delete", "pods", decision="forbid")
    assert run(tmp_path, refused, options=["--forbidden-only"]) == 1
