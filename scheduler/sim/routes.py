"""From a request to an operation, and from its result to an answer."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from scheduler.sim import errors
from scheduler.sim.access import Access
from scheduler.sim.discovery import REVIEWS_PATH, Discovery
from scheduler.sim.lists import list_objects, parse_number, selector_of
from scheduler.sim.messages import Answer, Request, error_answer, json_answer, text_answer
from scheduler.sim.objects import Clock, Object, without_nulls
from scheduler.sim.patches import PatchError, json_patch, merge_patch
from scheduler.sim.registry import Registry
from scheduler.sim.resources import Resource
from scheduler.sim.strategic import strategic_merge_patch
from scheduler.sim.views import JSON, View, Views
from scheduler.sim.watch import WatchOptions, parse_watch

_decode = msgspec.json.Decoder().decode

JSON_PATCH = "application/json-patch+json"
_PATCHES: dict[str, Callable[[Any, Any], Any]] = {
    "application/merge-patch+json": merge_patch,
    "application/strategic-merge-patch+json": strategic_merge_patch,
    JSON_PATCH: json_patch,
}
_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_WRITABLE_SUBRESOURCES = ("finalize", "status")


class Target(NamedTuple):
    """What a path names: a collection, an object when it has a name, or a subresource."""

    resource: Resource
    namespace: str
    name: str
    subresource: str


class WatchStart(NamedTuple):
    """The answer to a request that watches: it is to be opened."""

    resource: Resource
    options: WatchOptions
    view: View


class Routes:
    """Answers requests from a registry."""

    def __init__(self, registry: Registry, resources: Sequence[Resource], *, access: Access, clock: Clock) -> None:
        self._registry = registry
        self._resources = resources
        self._access = access
        # By the parts of the path of an API version: its resources by plural.
        self._table: dict[tuple[str, ...], dict[str, Resource]] = {}
        for resource in resources:
            self._table.setdefault(tuple(resource.path[1:].split("/")), {})[resource.plural] = resource
        self._discovery = Discovery(resources)
        self._views = Views(clock)

    def answer(self, request: Request) -> Answer | WatchStart:
        """The answer to a request; every refusal is one too."""
        try:
            if (answer := self._discovery.answer(request)) is not None:
                return answer
            if request.path.startswith(REVIEWS_PATH + "/"):
                return self._review(request)
            if (target := self._find(request.path)) is not None:
                return self._operate(request, target)
            if self._discovery.serves(request.path):
                raise errors.no_such_path()
            return text_answer(404, "404 page not found\n")
        except errors.ApiError as error:
            return error_answer(error)

    # ------------------------------------------------------------------------------------------------------------ paths

    def _find(self, path: str) -> Target | None:
        parts = path.strip("/").split("/")
        size = 2 if parts[0] == "api" else 3
        known, rest = self._table.get(tuple(parts[:size])), parts[size:]
        if known is None:
            return None
        namespace = ""
        if len(rest) > 2 and rest[0] == "namespaces" and rest[2] in known:
            namespace, rest = rest[1], rest[2:]
        if not 1 <= len(rest) <= 3 or (resource := known.get(rest[0])) is None:
            return None
        name, subresource = (*rest[1:], "", "")[:2]
        if (namespace and not resource.namespaced) or (subresource and subresource not in resource.subresources):
            return None
        if resource.namespaced and name and not namespace:
            return None
        return Target(resource, namespace, name, subresource)

    def _operate(self, request: Request, target: Target) -> Answer | WatchStart:
        resource, namespace, name, subresource = target
        verb = _verb(request, target)
        self._access.check(verb, resource, namespace, name, subresource)
        if request.query.get("dryRun"):
            raise errors.bad_request("dryRun is not supported by this server")
        match verb:
            case "list":
                return self._list(request, target)
            case "watch":
                return self._watch(request, target)
            case "get":
                return self._get(request, target)
            case "create" if subresource == "binding":
                self._registry.bind(namespace, name, _body(request, "Binding"))
                return Answer(201, _BOUND)
            case "create":
                version = self._registry.create(resource, namespace, _body(request, resource.kind))
                return Answer(201, self._view(request, resource).one(version))
            case "update":
                body = _body(request, resource.kind)
                version = self._registry.update(resource, namespace, name, body, subresource)
                return Answer(200, self._view(request, resource).one(version))
            case "patch":
                return self._patch(request, target)
            case "delete":
                return self._delete(request, target)
            case _:
                return self._delete_collection(request, target)

    def _view(self, request: Request, resource: Resource) -> View:
        return self._views.of(resource, request.accept)

    # ------------------------------------------------------------------------------------------------------- operations

    def _get(self, request: Request, target: Target) -> Answer:
        view = self._view(request, target.resource)
        current = self._registry.store.number
        asked = request.query.get("resourceVersion", "")
        if asked.isdecimal() and int(asked) > current:
            raise errors.version_too_large(int(asked), current)
        return Answer(200, view.one(self._registry.get(target.resource, target.namespace, target.name)))

    def _list(self, request: Request, target: Target) -> Answer:
        view = self._view(request, target.resource)
        shelf = self._registry.shelf(target.resource)
        current = self._registry.store.number
        versions, metadata = list_objects(target.resource, shelf, target.namespace, request.query, current)
        return Answer(200, view.many(versions, metadata))

    def _watch(self, request: Request, target: Target) -> WatchStart:
        view = self._view(request, target.resource)
        options = parse_watch(target.resource, target.namespace, request.query, self._registry.store.number)
        return WatchStart(target.resource, options, view)

    def _patch(self, request: Request, target: Target) -> Answer:
        apply = _PATCHES.get(request.content_type)
        if apply is None:
            raise errors.unsupported_media_type()
        patch = _patch_body(request, apply)

        def change(document: Object) -> Any:
            try:
                return _without_nulls(request, apply(document, patch))
            except PatchError as error:
                if request.content_type == JSON_PATCH:
                    text = "the server rejected our request due to an error in our request"
                    raise errors.ApiError(422, "Invalid", text, details={}) from error
                raise errors.bad_request(str(error)) from error

        resource, namespace, name, subresource = target
        version = self._registry.patch(resource, namespace, name, change, subresource)
        return Answer(200, self._view(request, resource).one(version))

    def _delete(self, request: Request, target: Target) -> Answer:
        resource = target.resource
        options = _delete_options(request)
        version, gone = self._registry.delete(resource, target.namespace, target.name, options)
        if resource.returns_deleted or not gone:
            return Answer(200, self._view(request, resource).one(version))
        details = {"name": target.name, "group": resource.group, "kind": resource.plural}
        details = {name: value for name, value in details.items() if value}
        details["uid"] = version.object["metadata"]["uid"]
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
        return json_answer(200, status)

    def _delete_collection(self, request: Request, target: Target) -> Answer:
        view = self._view(request, target.resource)
        options = _delete_options(request)
        shelf = self._registry.shelf(target.resource)
        selector = selector_of(target.resource, request.query)
        prefix = f"{target.namespace}/" if target.namespace else ""
        chosen = [
            version
            for key, version in sorted(shelf.versions.items())
            if key.startswith(prefix) and selector.matches(version.object)
        ]
        deleted = []
        for version in chosen:
            metadata = version.object["metadata"]
            namespace = metadata.get("namespace", "")
            deleted.append(self._registry.delete(target.resource, namespace, metadata["name"], options)[0])
        return Answer(200, view.many(deleted, {"resourceVersion": str(self._registry.store.number)}))

    # ---------------------------------------------------------------------------------------------------------- reviews

    def _review(self, request: Request) -> Answer:
        match request.path.removeprefix(REVIEWS_PATH + "/"):
            case "selfsubjectaccessreviews" if request.method == "POST":
                return json_answer(201, self._access.access_review(_body(request, "SelfSubjectAccessReview")))
            case "selfsubjectrulesreviews" if request.method == "POST":
                body = _body(request, "SelfSubjectRulesReview")
                return json_answer(201, self._access.rules_review(body, self._resources))
            case "selfsubjectaccessreviews" | "selfsubjectrulesreviews":
                raise errors.method_not_allowed()
            case _:
                raise errors.no_such_path()


_BOUND = msgspec.json.encode({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})


def _verb(request: Request, target: Target) -> str:
    """What a method means on what the path names.

    Raises:
        ApiError: nothing.
    """
    resource, namespace, name, subresource = target
    verb = _VERBS.get(request.method, "")
    if subresource == "binding":
        allowed = verb == "create"
    elif subresource:
        allowed = verb in ("get", "update", "patch") if subresource in _WRITABLE_SUBRESOURCES else False
    elif name:
        allowed = verb in ("get", "update", "patch", "delete")
    else:
        everywhere = resource.namespaced and not namespace
        allowed = verb == "get" or (verb in ("create", "delete") and not everywhere)
        verb = {"get": "watch" if request.watches else "list", "delete": "deletecollection"}.get(verb, verb)
    if not allowed:
        raise errors.method_not_allowed()
    return verb


def _body(request: Request, kind: str) -> Any:
    """The JSON of a request's body.

    Raises:
        ApiError: it is another format, or broken.
    """
    if request.content_type != JSON:
        text = "the body of the request was in an unknown format - accepted media types include: application/json"
        raise errors.ApiError(415, "UnsupportedMediaType", text)
    try:
        return _without_nulls(request, _decode(request.body))
    except msgspec.DecodeError as error:
        text = f"the object provided is unrecognized (must be of type {kind}): "
        text += f"couldn't get version/kind; json parse error: {error}"
        raise errors.bad_request(text) from error


def _without_nulls(request: Request, value: Any) -> Any:
    """A value made of a request's body, without nulls. Few bodies have one, and looking at the bytes is cheap."""
    return without_nulls(value) if b"null" in request.body else value


def _patch_body(request: Request, apply: Callable[[Any, Any], Any]) -> Any:
    try:
        patch = _decode(request.body)
    except msgspec.DecodeError as error:
        raise errors.bad_request(
            "invalid JSON patch" if apply is not json_patch else f"error decoding patch: {error}"
        ) from error
    wanted = list if apply is json_patch else dict
    if not isinstance(patch, wanted):
        raise errors.bad_request(f"error decoding patch: it must be a JSON {'array' if wanted is list else 'object'}")
    return patch


def _delete_options(request: Request) -> Object:
    options = _body(request, "DeleteOptions") if request.body else {}
    if not isinstance(options, dict):
        raise errors.bad_request("the object provided is unrecognized (must be of type DeleteOptions)")
    if "gracePeriodSeconds" in request.query:
        options["gracePeriodSeconds"] = parse_number(request.query, "gracePeriodSeconds")
    return options
