"""The access self-check against a scripted API server."""

from typing import Any

import pytest

from scheduler.kube.access import REQUIRED, AccessReviewError, Right, missing_rights, rights_to_patch
from scheduler.kube.transport import Response
from tests.edge.kube.scripted import Request, ScriptedTransport, ok, refusal


def rule(verbs: str, resources: str, group: str = "", names: tuple[str, ...] = ()) -> dict[str, Any]:
    made = {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split()}
    return made | ({"resourceNames": list(names)} if names else {})


EVERYTHING = (
    rule("list watch", "nodes namespaces"),
    rule("get list watch", "pods"),
    rule("create", "pods/binding"),
    rule("patch", "pods/status"),
    rule("create patch", "events", "events.k8s.io"),
    rule("list watch", "services replicationcontrollers"),
    rule("list watch", "replicasets statefulsets", "apps"),
    rule("list watch", "deviceclasses", "resource.k8s.io"),
)


class Authorizer:
    """Lists some rules, and allows some rights when asked for them singly."""

    def __init__(self, *rules: dict[str, Any], allowed: tuple[Right, ...] = (), incomplete: bool = False) -> None:
        self.rules = list(rules)
        self.allowed = allowed
        self.incomplete = incomplete
        self.asked: list[str] = []
        self.namespaces: list[str] = []
        self.transport = ScriptedTransport(otherwise=self.answer)

    def answer(self, request: Request) -> Response:
        assert request.method == "POST"
        spec = request.body["spec"]
        if request.body["kind"] == "SelfSubjectRulesReview":
            self.namespaces.append(spec["namespace"])
            status = {"resourceRules": self.rules, "nonResourceRules": [], "incomplete": self.incomplete}
            return ok({"kind": "SelfSubjectRulesReview", "status": status}, 201)
        wanted = spec["resourceAttributes"]
        resource = "/".join(filter(None, (wanted["resource"], wanted["subresource"])))
        self.asked.append(f"{wanted['verb']} {resource}")
        is_allowed = any(
            (right.verb, right.resource, right.group, right.namespace)
            == (wanted["verb"], resource, wanted["group"], wanted["namespace"])
            for right in self.allowed
        )
        return ok({"kind": "SelfSubjectAccessReview", "status": {"allowed": is_allowed}}, 201)


async def test_all_rights_are_found_with_one_question() -> None:
    authorizer = Authorizer(*EVERYTHING)
    assert await missing_rights(authorizer.transport) == []
    assert len(authorizer.transport.requests) == 1


async def test_what_is_missing_is_listed_by_name_in_order() -> None:
    authorizer = Authorizer(*(rule for rule in EVERYTHING if rule["resources"] not in (["pods/binding"], ["events"])))
    assert await missing_rights(authorizer.transport) == [
        "create pods/binding (all namespaces)",
        "create events.events.k8s.io (all namespaces)",
        "patch events.events.k8s.io (all namespaces)",
    ]


async def test_what_is_not_listed_is_asked_singly_and_that_answer_is_final() -> None:
    authorizer = Authorizer(*EVERYTHING[:-1], allowed=REQUIRED)
    assert await missing_rights(authorizer.transport) == []
    assert authorizer.asked == ["list deviceclasses", "watch deviceclasses"]


async def test_an_incomplete_list_is_not_relied_on() -> None:
    authorizer = Authorizer(*EVERYTHING, incomplete=True)
    assert len(await missing_rights(authorizer.transport)) == len(REQUIRED)
    assert len(authorizer.asked) == len(REQUIRED)


async def test_rules_are_asked_for_in_a_namespace_that_cannot_exist() -> None:
    """What a binding grants in one namespace only must not pass for a right in all of them."""
    authorizer = Authorizer(*EVERYTHING)
    await missing_rights(authorizer.transport)
    assert authorizer.namespaces == ["-"]


@pytest.mark.parametrize(
    ("granted", "is_enough"),
    [
        (rule("*", "*", "*"), True),
        (rule("patch", "*"), True),
        (rule("patch", "*/status"), True),
        (rule("patch", "pods/*"), False),
        (rule("patch", "pods"), False),
        (rule("get", "pods/status"), False),
        (rule("patch", "pods/status", "apps"), False),
        (rule("patch", "pods/status", names=("one-pod",)), False),
    ],
)
async def test_a_rule_grants_what_its_wildcards_say(granted: dict[str, Any], is_enough: bool) -> None:
    authorizer = Authorizer(granted)
    missing = await missing_rights(authorizer.transport, [Right("patch", "pods/status")])
    assert missing == ([] if is_enough else ["patch pods/status (all namespaces)"])


async def test_a_rule_for_a_name_grants_that_name() -> None:
    right = Right("get", "leases", "coordination.k8s.io", namespace="reprise", name="reprise")
    authorizer = Authorizer(rule("get update", "leases", "coordination.k8s.io", names=("reprise",)))
    assert await missing_rights(authorizer.transport, [right]) == []
    assert str(right) == 'get leases.coordination.k8s.io "reprise" (namespace reprise)'


async def test_a_server_that_lists_no_rules_is_asked_singly() -> None:
    authorizer = Authorizer(allowed=REQUIRED)
    authorizer.transport.answers = [refusal(403, "forbidden")]
    assert await missing_rights(authorizer.transport) == []
    assert len(authorizer.asked) == len(REQUIRED)


async def test_a_server_that_does_not_say_is_an_error() -> None:
    transport = ScriptedTransport(refusal(403, "no rules"), refusal(403, "no reviews"))
    with pytest.raises(AccessReviewError, match="cannot ask whether we may list nodes: no reviews"):
        await missing_rights(transport)


async def test_a_right_on_a_cluster_wide_resource_is_named_without_namespaces() -> None:
    assert str(Right("list", "deviceclasses", "resource.k8s.io", is_namespaced=False)) == (
        "list deviceclasses.resource.k8s.io"
    )


def test_what_plugins_patch_has_to_be_read_and_patched() -> None:
    assert [str(right) for right in rights_to_patch(["PersistentVolume", "PersistentVolumeClaim"])] == [
        "get persistentvolumes",
        "patch persistentvolumes",
        "get persistentvolumeclaims (all namespaces)",
        "patch persistentvolumeclaims (all namespaces)",
    ]
    assert rights_to_patch(()) == ()


def test_a_kind_that_cannot_be_patched_is_named() -> None:
    with pytest.raises(ValueError, match="patches objects of kind 'Secret'; those that can be patched are Persist"):
        rights_to_patch(["Secret"])
