"""Who may do what: everybody everything, except what is denied.

With nothing denied the server asks nobody who they are. A denial holds for all callers, and both the reviews and the
requests themselves keep to it.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from scheduler.sim import errors
from scheduler.sim.discovery import SUBRESOURCE_VERBS
from scheduler.sim.objects import Object
from scheduler.sim.resources import ALL_VERBS, Resource

ANYBODY = "system:anonymous"


class Denial(NamedTuple):
    """A verb on a resource, such as `pods` or `pods/binding`, that is denied; `*` is every verb."""

    verb: str
    resource: str
    group: str = ""


class Access:
    """The denials, asked one by one or as a review."""

    def __init__(self, denied: Iterable[Denial] = ()) -> None:
        self._denied = frozenset(denied)

    def allows(self, verb: str, resource: str, group: str) -> bool:
        """Whether a verb is allowed on a resource or subresource."""
        return not ({Denial(verb, resource, group), Denial("*", resource, group)} & self._denied)

    def check(self, verb: str, resource: Resource, namespace: str, name: str, subresource: str) -> None:
        """Refuse what is denied.

        Raises:
            ApiError: 403.
        """
        if not self._denied:
            return
        what = f"{resource.plural}/{subresource}" if subresource else resource.plural
        if self.allows(verb, what, resource.group):
            return
        where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
        text = f'User "{ANYBODY}" cannot {verb} resource "{what}" in API group "{resource.group}" {where}'
        raise errors.forbidden(resource.group, resource.plural, name, text)

    def access_review(self, body: Any) -> Object:
        """The answer to a SelfSubjectAccessReview."""
        spec = body.get("spec") if isinstance(body, dict) else None
        asked = (spec or {}).get("resourceAttributes")
        allowed = True
        if asked is not None:
            subresource = asked.get("subresource", "")
            what = f"{asked.get('resource', '')}/{subresource}" if subresource else asked.get("resource", "")
            allowed = self.allows(asked.get("verb", ""), what, asked.get("group", ""))
        return {
            "kind": "SelfSubjectAccessReview",
            "apiVersion": "authorization.k8s.io/v1",
            "metadata": {},
            "spec": spec or {},
            "status": {"allowed": allowed},
        }

    def rules_review(self, body: Any, resources: Iterable[Resource]) -> Object:
        """The answer to a SelfSubjectRulesReview: one rule for all, or one a resource when something is denied.

        Raises:
            ApiError: it names no namespace.
        """
        if not (isinstance(body, dict) and (body.get("spec") or {}).get("namespace")):
            raise errors.bad_request("no namespace on request")
        rules: list[Object] = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
        if self._denied:
            verbs = [
                (resource.group, name, verb)
                for resource in resources
                for name, known in _verbs_of(resource)
                for verb in known
                if self.allows(verb, name, resource.group)
            ]
            allowed: dict[tuple[str, str], list[str]] = {}
            for group, name, verb in verbs:
                allowed.setdefault((group, name), []).append(verb)
            rules = [
                {"verbs": known, "apiGroups": [group], "resources": [name]} for (group, name), known in allowed.items()
            ]
        return {
            "kind": "SelfSubjectRulesReview",
            "apiVersion": "authorization.k8s.io/v1",
            "metadata": {},
            "spec": {},
            "status": {
                "resourceRules": rules,
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
                "incomplete": False,
            },
        }


def _verbs_of(resource: Resource) -> list[tuple[str, tuple[str, ...]]]:
    own = [(resource.plural, ALL_VERBS)]
    return own + [(f"{resource.plural}/{name}", SUBRESOURCE_VERBS[name]) for name in resource.subresources]
