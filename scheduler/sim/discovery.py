"""What the server says about itself: its version, groups, resources, and as much of OpenAPI as kubectl asks for."""

import platform
from collections.abc import Sequence

from scheduler.sim.messages import Answer, Request, json_answer, text_answer
from scheduler.sim.objects import Object
from scheduler.sim.resources import ALL_VERBS, Resource

VERSION = "v1.37.2"
HEALTH_PATHS = ("/healthz", "/livez", "/readyz")
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

SUBRESOURCE_VERBS = {"binding": ("create",), "finalize": ("update",), "status": ("get", "patch", "update")}
_SUBRESOURCE_KINDS = {"binding": "Binding"}
# Reviews: they are answered, and kept nowhere.
REVIEWS_GROUP = "authorization.k8s.io"
REVIEWS = (
    ("selfsubjectaccessreviews", "SelfSubjectAccessReview"),
    ("selfsubjectrulesreviews", "SelfSubjectRulesReview"),
)
REVIEWS_PATH = f"/apis/{REVIEWS_GROUP}/v1"


class Discovery:
    """The documents under /api, /apis, /openapi and /version."""

    def __init__(self, resources: Sequence[Resource]) -> None:
        self._rows = {
            path: [r for r in resources if r.path == path] for path in dict.fromkeys(r.path for r in resources)
        }
        self._groups = [path.removeprefix("/apis/") for path in [*self._rows, REVIEWS_PATH] if path != "/api/v1"]
        self._documents: dict[str, Object] = {
            "/version": _version(),
            "/api": {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []},
            "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(name) for name in self._groups]},
            **{f"/apis/{name.partition('/')[0]}": _api_group(name) for name in self._groups},
            **{path: _resource_list(path, rows) for path, rows in self._rows.items()},
            REVIEWS_PATH: _reviews_list(),
            "/openapi/v3": {
                "paths": {path[1:]: {"serverRelativeURL": f"/openapi/v3{path}"} for path in [*self._rows, REVIEWS_PATH]}
            },
            **{f"/openapi/v3{path}": _openapi(path, rows) for path, rows in self._rows.items()},
            "/openapi/v3" + REVIEWS_PATH: _openapi(REVIEWS_PATH, []),
        }

    def answer(self, request: Request) -> Answer | None:
        """The answer to a question about the server, or None when the request is none."""
        if request.method != "GET":
            return None
        path = request.path.rstrip("/") or "/"
        if path in HEALTH_PATHS:
            return text_answer(200, "ok")
        if path in ("/api", "/apis") and "as=APIGroupDiscoveryList" in request.accept and "v=v2" in request.accept:
            return json_answer(200, self._aggregated(path), content_type=AGGREGATED)
        if path == "/":
            return json_answer(200, {"paths": sorted(self._documents)})
        document = self._documents.get(path)
        return None if document is None else json_answer(200, document)

    def serves(self, path: str) -> bool:
        """Whether a path is below an API version that is served; elsewhere nothing is known of Status objects."""
        return any(path.startswith(f"{known}/") for known in (*self._rows, REVIEWS_PATH))

    def _aggregated(self, path: str) -> Object:
        groups = [("", "v1")] if path == "/api" else [tuple(name.split("/")) for name in self._groups]
        items = []
        for group, version in groups:
            rows = self._rows.get(f"/apis/{group}/{version}" if group else f"/api/{version}", [])
            listed = [_aggregated_row(row) for row in rows] if rows else [_aggregated_review(*row) for row in REVIEWS]
            metadata = {"name": group} if group else {}
            items.append(
                {"metadata": metadata, "versions": [{"version": version, "resources": listed, "freshness": "Current"}]}
            )
        return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _version() -> Object:
    major, minor = VERSION.removeprefix("v").split(".")[:2]
    return {
        "major": major,
        "minor": minor,
        "gitVersion": VERSION,
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": f"linux/{platform.machine()}",
    }


def _group(name: str) -> Object:
    group, version = name.split("/")
    served = {"groupVersion": name, "version": version}
    return {"name": group, "versions": [served], "preferredVersion": served}


def _api_group(name: str) -> Object:
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name)}


def _resource_list(path: str, rows: Sequence[Resource]) -> Object:
    resources = []
    for row in rows:
        scope = {"singularName": row.singular, "namespaced": row.namespaced}
        resources.append({"name": row.plural, **scope, "kind": row.kind, "verbs": list(ALL_VERBS), **_names(row)})
        for name in row.subresources:
            kind = _SUBRESOURCE_KINDS.get(name, row.kind)
            verbs = list(SUBRESOURCE_VERBS[name])
            resources.append(
                {"name": f"{row.plural}/{name}", **scope, "singularName": "", "kind": kind, "verbs": verbs}
            )
    return _api_resource_list(path, resources)


def _names(row: Resource) -> Object:
    names = {"shortNames": list(row.short_names), "categories": list(row.categories)}
    return {name: value for name, value in names.items() if value}


def _reviews_list() -> Object:
    rows = [
        {"name": plural, "singularName": kind.lower(), "namespaced": False, "kind": kind, "verbs": ["create"]}
        for plural, kind in REVIEWS
    ]
    return _api_resource_list(REVIEWS_PATH, rows)


def _api_resource_list(path: str, resources: list[Object]) -> Object:
    version = path.removeprefix("/apis/").removeprefix("/api/")
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": resources}


def _aggregated_row(row: Resource) -> Object:
    subresources = [
        {
            "subresource": name,
            "responseKind": _kind(row, _SUBRESOURCE_KINDS.get(name, row.kind)),
            "verbs": list(SUBRESOURCE_VERBS[name]),
        }
        for name in row.subresources
    ]
    return {
        "resource": row.plural,
        "responseKind": _kind(row, row.kind),
        "scope": "Namespaced" if row.namespaced else "Cluster",
        "singularResource": row.singular,
        "verbs": list(ALL_VERBS),
        **_names(row),
        **({"subresources": subresources} if subresources else {}),
    }


def _aggregated_review(plural: str, kind: str) -> Object:
    response = {"group": REVIEWS_GROUP, "version": "v1", "kind": kind}
    return {
        "resource": plural,
        "responseKind": response,
        "scope": "Cluster",
        "singularResource": kind.lower(),
        "verbs": ["create"],
    }


def _kind(row: Resource, kind: str) -> Object:
    return {"group": row.group, "version": row.version, "kind": kind}


def _openapi(path: str, rows: Sequence[Resource]) -> Object:
    """Enough for kubectl to see that the server checks fields itself, so that it does not ask for schemas."""
    paths: Object = {}
    for row in rows:
        kind = {"x-kubernetes-group-version-kind": _kind(row, row.kind)}
        parameters = [
            {"name": name, "in": "query", "schema": {"type": "string"}}
            for name in ("dryRun", "fieldManager", "fieldValidation")
        ]
        scope = "/namespaces/{namespace}" if row.namespaced else ""
        operation = {"parameters": parameters, "responses": {}}
        paths[f"{path}{scope}/{row.plural}"] = {"post": {**operation, "x-kubernetes-action": "post", **kind}}
        paths[f"{path}{scope}/{row.plural}/{{name}}"] = {"patch": {**operation, "x-kubernetes-action": "patch", **kind}}
    return {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": VERSION}, "paths": paths, "components": {}}
