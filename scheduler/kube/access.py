"""Asks the API server, before anything else, whether we may do what we are going to do.

One SelfSubjectRulesReview answers most of it; what it does not list, or everything when it says that it is incomplete, is asked singly
with SelfSubjectAccessReview, whose word is final. Both are open to every authenticated user.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec
import structlog

from scheduler.kube.patcher import PATCHED_KINDS
from scheduler.kube.resources import AnyResource
from scheduler.kube.transport import Transport, error_of

log = structlog.get_logger(__name__)

# A rules review is about one namespace: it lists what cluster-wide bindings grant and what the bindings of that namespace add. No namespace can
# have this name (it is no DNS label), so nothing is added, and what is listed is granted in all namespaces.
NO_NAMESPACE = "-"
_REVIEWS = "/apis/authorization.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class Right:
    """One verb on one resource; in all namespaces unless one is given. ``resource`` can have a subresource: ``pods/binding``."""

    verb: str
    resource: str
    group: str = ""
    namespace: str = ""
    name: str = ""
    is_namespaced: bool = True

    def __str__(self) -> str:
        """For people: ``create pods/binding (all namespaces)``."""
        resource, _, subresource = self.resource.partition("/")
        text = f"{self.verb} {resource}" + (f".{self.group}" if self.group else "")
        text += f"/{subresource}" if subresource else ""
        text += f' "{self.name}"' if self.name else ""
        if self.is_namespaced:
            text += f" (namespace {self.namespace})" if self.namespace else " (all namespaces)"
        return text


def _rights(verbs: str, resource: str, group: str = "", *, is_namespaced: bool = True) -> tuple[Right, ...]:
    return tuple(Right(verb, resource, group, is_namespaced=is_namespaced) for verb in verbs.split())


# kube-scheduler 1.37: RBAC, as far as what is here needs it; `get pods` is for binds whose outcome is in doubt.
REQUIRED: tuple[Right, ...] = (
    *_rights("list watch", "nodes", is_namespaced=False),
    *_rights("list watch", "namespaces", is_namespaced=False),
    *_rights("get list watch", "pods"),
    *_rights("create", "pods/binding"),
    *_rights("patch", "pods/status"),
    *_rights("create patch", "events", "events.k8s.io"),
    *_rights("list watch", "deviceclasses", "resource.k8s.io", is_namespaced=False),
)

RIGHTS_TO_ASK_WHO = (
    *_rights("create", "tokenreviews", "authentication.k8s.io", is_namespaced=False),
    *_rights("create", "subjectaccessreviews", "authorization.k8s.io", is_namespaced=False),
)
"""What it takes to serve pages to those who may see them, beside REQUIRED."""


def rights_to_watch(resources: Iterable[AnyResource]) -> tuple[Right, ...]:
    """What it takes to watch these resources, without what is in REQUIRED."""
    rights = (
        right
        for resource in resources
        for right in _rights("list watch", resource.name, resource.group, is_namespaced=resource.is_namespaced)
    )
    return tuple(right for right in rights if right not in REQUIRED)


RIGHTS_TO_PREEMPT = _rights("delete", "pods")
"""What it takes to preempt pods, beside REQUIRED."""


RIGHTS_TO_WARN = _rights("list", "events")
"""What it takes to warn of mistyped names, beside REQUIRED: nobody is warned of whom there are Events."""


def rights_to_patch(kinds: Iterable[str]) -> tuple[Right, ...]:
    """What it takes to patch objects of these kinds, and to read one when it is in doubt whether it was patched.

    Raises:
        ValueError: there is no way to patch one of the kinds.
    """
    rights: list[Right] = []
    for kind in kinds:
        if kind not in PATCHED_KINDS:
            known = ", ".join(PATCHED_KINDS)
            raise ValueError(
                f"a PreBind plugin patches objects of kind {kind!r}; those that can be patched are {known}"
            )
        group, _, plural, is_namespaced = PATCHED_KINDS[kind]
        rights += _rights("get patch", plural, group, is_namespaced=is_namespaced)
    return tuple(rights)


class AccessReviewError(Exception):
    """The server did not answer what we may do; the text has its message."""


class _Rule(msgspec.Struct, rename="camel"):
    verbs: list[str] = []
    api_groups: list[str] = []
    resources: list[str] = []
    resource_names: list[str] = []

    def grants(self, right: Right) -> bool:
        return (
            _matches(self.verbs, right.verb)
            and _matches(self.api_groups, right.group)
            and _matches_resource(self.resources, right.resource)
            and (not self.resource_names or right.name in self.resource_names)
        )


class _RulesStatus(msgspec.Struct, frozen=True, rename="camel"):
    resource_rules: list[_Rule] = []
    incomplete: bool = False


class _RulesReview(msgspec.Struct):
    status: _RulesStatus = _RulesStatus()


class _AccessStatus(msgspec.Struct, frozen=True):
    allowed: bool = False


class _AccessReview(msgspec.Struct):
    status: _AccessStatus = _AccessStatus()


async def missing_rights(transport: Transport, rights: Sequence[Right] = REQUIRED) -> list[str]:
    """Those of the rights that we do not have, as text, in the order given.

    Raises:
        AccessReviewError: the server refused to say.
        TransportFailure: there was no answer.
    """
    rules = await _rules(transport)
    unlisted = [right for right in rights if not any(rule.grants(right) for rule in rules)]
    return [str(right) for right in unlisted if not await _is_allowed(transport, right)]


async def _rules(transport: Transport) -> Iterable[_Rule]:
    """What is granted in all namespaces; nothing when the server does not know all of it or does not say."""
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": NO_NAMESPACE},
    }
    response = await transport.post(f"{_REVIEWS}/selfsubjectrulesreviews", msgspec.json.encode(body))
    if response.status != 201:
        log.debug("No SelfSubjectRulesReview; asking for each right", error=error_of(response).message)
        return ()
    status = msgspec.json.decode(response.body, type=_RulesReview).status
    return () if status.incomplete else status.resource_rules


async def _is_allowed(transport: Transport, right: Right) -> bool:
    resource, _, subresource = right.resource.partition("/")
    attributes = {
        "verb": right.verb,
        "group": right.group,
        "resource": resource,
        "subresource": subresource,
        "namespace": right.namespace,
        "name": right.name,
    }
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    response = await transport.post(f"{_REVIEWS}/selfsubjectaccessreviews", msgspec.json.encode(body))
    if response.status != 201:
        raise AccessReviewError(f"cannot ask whether we may {right}: {error_of(response).message}")
    return msgspec.json.decode(response.body, type=_AccessReview).status.allowed


def _matches(granted: Sequence[str], wanted: str) -> bool:
    return wanted in granted or "*" in granted


def _matches_resource(granted: Sequence[str], wanted: str) -> bool:
    """``*/scale`` grants that subresource of everything; ``pods`` does not grant ``pods/status``."""
    _, _, subresource = wanted.partition("/")
    return _matches(granted, wanted) or (bool(subresource) and f"*/{subresource}" in granted)
