"""The operations of the API on its objects, without HTTP: create, update, patch, delete, bind.

The rules of deletion: a kind without a grace period goes at once; a pod that is bound stays for its grace period, and is
removed when somebody, its node, deletes it again with none; finalizers hold anything.
"""

import functools
import random
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from scheduler.sim import errors
from scheduler.sim.objects import Clock, Object, dig, timestamp
from scheduler.sim.pods import BindingRefusedError, bound, check_binding
from scheduler.sim.resources import NAMESPACES, PODS, Resource
from scheduler.sim.selectors import QUALIFIED_NAME, QUALIFIED_NAME_TEXT
from scheduler.sim.store import Shelf, Store, Version

Change = Callable[[Object], Any]

# What the server sets in metadata: a write takes it from the object as it was.
SYSTEM_METADATA = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
USER_METADATA = ("labels", "annotations", "ownerReferences", "finalizers")
NAME_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"

_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_LABEL_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_NAMESPACE_MISMATCH = "the namespace of the provided object does not match the namespace sent on the request"


@dataclass
class Counters:
    """What was done, since the start."""

    created: int = 0
    updated: int = 0
    deleted: int = 0
    binds: int = 0
    refused_binds: int = 0
    events: int = 0


class Registry:
    """Writes to one store, by the rules of its resources."""

    def __init__(self, store: Store, *, clock: Clock, chance: random.Random) -> None:
        """`clock` stamps objects; `chance` makes UIDs and the names asked for with generateName."""
        self.store = store
        self.counters = Counters()
        self._clock = clock
        self._chance = chance

    def shelf(self, resource: Resource) -> Shelf:
        """Where the objects of a resource are."""
        return self.store.shelves[resource.shelf_name]

    def get(self, resource: Resource, namespace: str, name: str) -> Version:
        """An object as it is now.

        Raises:
            ApiError: there is none.
        """
        version = self.shelf(resource).versions.get(resource.key(namespace, name))
        if version is None:
            raise errors.not_found(resource.group, resource.plural, name)
        return version

    # ---------------------------------------------------------------------------------------------------------- create

    def create(self, resource: Resource, namespace: str, body: Any) -> Version:
        """Create an object from what a client sent; it becomes part of the store.

        Raises:
            ApiError: it is refused.
        """
        item = self._accept(resource, namespace, body)
        given = item["metadata"]
        if given.get("resourceVersion"):
            raise errors.plain_error("resourceVersion should not be set on objects to be created")
        now = self._clock()
        metadata: Object = {}
        name = given.get("name") or ""
        if not name and given.get("generateName"):
            name = given["generateName"] + "".join(self._chance.choices(NAME_ALPHABET, k=5))
        if name:
            metadata["name"] = name
        if given.get("generateName"):
            metadata["generateName"] = given["generateName"]
        if resource.namespaced:
            metadata["namespace"] = namespace
            self._check_namespace(resource, namespace, name)
        metadata["uid"] = str(uuid.UUID(int=self._chance.getrandbits(128), version=4))
        if resource.counts_generations:
            metadata["generation"] = 1
        metadata["creationTimestamp"] = timestamp(now)
        metadata |= {member: given[member] for member in USER_METADATA if given.get(member)}
        self._check_name(resource, name)
        item = resource.rules.created({**item, "metadata": metadata}, now)
        self._check(resource, item, None)
        shelf, key = self.shelf(resource), resource.key(namespace, name)
        if key in shelf.versions:
            raise errors.already_exists(resource.group, resource.plural, name)
        self.counters.created += 1
        self.counters.events += resource.shelf == "events"
        return self.store.write(shelf, key, item)

    def _accept(self, resource: Resource, namespace: str, body: Any) -> Object:
        """What a client sent, in the form in which it is stored, once its kind and namespace are right."""
        kind = resource.kind
        if not isinstance(body, dict):
            raise errors.bad_request(f"the object provided is unrecognized (must be of type {kind})")
        said, version = body.get("kind") or kind, body.get("apiVersion") or resource.api_version
        if said != kind or version != resource.api_version:
            raise errors.bad_request(f'{said} in version "{version.rpartition("/")[2]}" cannot be handled as a {kind}')
        item: Object = {"metadata": {}, **body}
        item.pop("kind", None)
        item.pop("apiVersion", None)
        asked = item["metadata"].get("namespace", "")
        if resource.namespaced and asked and asked != namespace:
            raise errors.bad_request(_NAMESPACE_MISMATCH)
        return resource.form.store(item) if resource.form else item

    def _check_namespace(self, resource: Resource, namespace: str, name: str) -> None:
        found = self.shelf(NAMESPACES).versions.get(namespace)
        if found is None:
            raise errors.not_found("", "namespaces", namespace)
        if "deletionTimestamp" in found.object["metadata"]:
            cause = {
                "reason": "NamespaceTerminating",
                "message": f"namespace {namespace} is being terminated",
                "field": "metadata.namespace",
            }
            text = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise errors.forbidden(resource.group, resource.plural, name, text, [cause])

    @staticmethod
    def _check_name(resource: Resource, name: str) -> None:
        if not name:
            cause = errors.required("metadata.name", "name or generateName is required")
            raise errors.invalid(resource.group, resource.kind, "", [cause])
        if (wrong := resource.rules.name_cause(name)) is not None:
            raise errors.invalid(resource.group, resource.kind, name, [wrong])

    @staticmethod
    def _check(resource: Resource, item: Object, old: Object | None) -> None:
        metadata = item["metadata"]
        causes = [
            errors.invalid_value(f"metadata.{member}", key, QUALIFIED_NAME_TEXT)
            for member in ("labels", "annotations")
            for key in metadata.get(member) or ()
            if not _is_key(key)
        ]
        causes += [
            errors.invalid_value("metadata.labels", str(value), _LABEL_VALUE_TEXT)
            for value in (metadata.get("labels") or {}).values()
            if not (isinstance(value, str) and _is_label_value(value))
        ]
        causes += resource.rules.check(item, old)
        if causes:
            raise errors.invalid(resource.group, resource.kind, metadata.get("name", ""), causes)

    # ---------------------------------------------------------------------------------------------------------- change

    def update(self, resource: Resource, namespace: str, name: str, body: Any, subresource: str = "") -> Version:
        """Replace an object, or what a subresource of it covers, by what a client sent.

        Raises:
            ApiError: it is refused; 409 when the client had seen another version.
        """
        item = self._accept(resource, namespace, body)
        named = item["metadata"].get("name", "")
        if named != name:
            text = f"the name of the object ({named}) does not match the name on the URL ({name})"
            raise errors.bad_request(text)
        old = self.get(resource, namespace, name)
        asked, found = item["metadata"].get("uid", ""), old.object["metadata"]["uid"]
        if asked and asked != found:
            key = resource.storage_key(old.key)
            raise errors.precondition_failed(resource.group, resource.plural, name, key, "UID", asked, found)
        return self._replace(resource, old, item, subresource)

    def patch(self, resource: Resource, namespace: str, name: str, change: Change, subresource: str = "") -> Version:
        """Replace an object by what `change` makes of it, in the form in which the resource shows it.

        Raises:
            ApiError: it is refused; 409 when the patch names a version that is no longer the object's.
        """
        old = self.get(resource, namespace, name)
        shown = resource.form.show(old.object) if resource.form else old.object
        item = self._accept(
            resource, namespace, change({"kind": resource.kind, "apiVersion": resource.api_version, **shown})
        )
        named, uid = item["metadata"].get("name", ""), old.object["metadata"]["uid"]
        if named != name:
            text = f"the name of the object ({named}) does not match the name on the URL ({name})"
            raise errors.bad_request(text)
        if (asked := item["metadata"].get("uid", uid)) != uid:
            cause = errors.invalid_value("metadata.uid", asked, "field is immutable")
            raise errors.invalid(resource.group, resource.kind, name, [cause])
        return self._replace(resource, old, item, subresource)

    def set_status(self, resource: Resource, namespace: str, name: str, status: Object) -> Version:
        """Give an object a status, which must be as it is stored; for what runs in this process.

        Raises:
            ApiError: there is no such object.
        """
        old = self.get(resource, namespace, name)
        return self._replace(resource, old, {**old.object, "status": status}, "status")

    def _replace(self, resource: Resource, old: Version, item: Object, subresource: str) -> Version:
        before, given = old.object, item["metadata"]
        asked = given.get("resourceVersion", "")
        if asked and asked != str(old.number):
            raise errors.stale(resource.group, resource.plural, before["metadata"]["name"])
        after = _merged(resource, item, before, subresource)
        if all(after.get(name) == before.get(name) for name in {**after, **before}):
            return old
        self._check(resource, after, before)
        if resource.counts_generations and _desired(after) != _desired(before):
            after["metadata"]["generation"] += 1
        shelf = self.shelf(resource)
        self.counters.updated += 1
        if after["metadata"].get("deletionTimestamp") and not self._stays(resource, after):
            self.counters.deleted += 1
            self.store.remove(shelf, old.key, before)
            return Version(old.key, old.number, after)
        return self.store.write(shelf, old.key, after)

    @staticmethod
    def _stays(resource: Resource, item: Object) -> bool:
        """Whether an object whose deletion was asked for still has a reason to be there."""
        return resource.rules.held(item) or bool(item["metadata"].get("deletionGracePeriodSeconds"))

    # ---------------------------------------------------------------------------------------------------------- delete

    def delete(
        self, resource: Resource, namespace: str, name: str, options: Object | None = None
    ) -> tuple[Version, bool]:
        """Delete an object, or ask it to end; the second value says whether it is gone.

        Raises:
            ApiError: there is none, or it is not the one that the preconditions describe.
        """
        old = self.get(resource, namespace, name)
        options = options or {}
        _check_preconditions(resource, old, options.get("preconditions") or {})
        metadata, rules = old.object["metadata"], resource.rules
        grace = rules.grace_seconds(old.object, options.get("gracePeriodSeconds"))
        if grace is None and not rules.held(old.object):
            self.counters.deleted += 1
            return self.store.remove(self.shelf(resource), old.key, old.object), True
        ends_no_sooner = "deletionTimestamp" in metadata and (grace or 0) >= metadata.get(
            "deletionGracePeriodSeconds", 0
        )
        if ends_no_sooner and (grace or rules.held(old.object)):
            return old, False
        marked = self._mark_deleted(resource, old, grace)
        if self._stays(resource, marked.object):
            return marked, False
        self.counters.deleted += 1
        return self.store.remove(self.shelf(resource), old.key, marked.object), True

    def _mark_deleted(self, resource: Resource, old: Version, grace: int | None) -> Version:
        metadata = old.object["metadata"]
        end = self._clock() + timedelta(seconds=grace or 0)
        marks: Object = {"deletionTimestamp": timestamp(end)}
        if resource is not NAMESPACES:
            marks["deletionGracePeriodSeconds"] = grace or 0
        if grace is not None and "deletionTimestamp" not in metadata:
            marks["generation"] = metadata.get("generation", 0) + 1
        marked = resource.rules.terminating({**old.object, "metadata": {**metadata, **marks}})
        return self.store.write(self.shelf(resource), old.key, marked)

    # ------------------------------------------------------------------------------------------------------------ bind

    def bind(self, namespace: str, name: str, binding: Any) -> Version:
        """Bind a pod to the node that a Binding names.

        Raises:
            ApiError: 404 without such a pod; 409 when it is bound, being deleted, gated, or another pod than meant.
        """
        if not isinstance(binding, dict):
            raise errors.bad_request("the object provided is unrecognized (must be of type Binding)")
        if (kind := binding.get("kind") or "Binding") != "Binding":
            raise errors.bad_request(f'{kind} in version "v1" cannot be handled as a Binding')
        meant = binding.get("metadata") or {}
        if meant.get("namespace") and meant["namespace"] != namespace:
            raise errors.bad_request(_NAMESPACE_MISMATCH)
        if meant.get("name", "") != name:
            raise errors.bad_request("name in URL does not match name in Binding object")
        node = check_binding(binding)
        try:
            return self._bind(namespace, name, node, binding)
        except errors.ApiError:
            self.counters.refused_binds += 1
            raise

    def _bind(self, namespace: str, name: str, node: str, binding: Object) -> Version:
        old = self.get(PODS, namespace, name)
        key = PODS.storage_key(old.key)
        for what, field in (("UID", "uid"), ("ResourceVersion", "resourceVersion")):
            asked, found = dig(binding, ("metadata", field)) or "", old.object["metadata"][field]
            if asked and asked != found:
                raise errors.precondition_failed("", "pods", name, key, what, asked, found)
        try:
            item = bound(old.object, node, binding, self._clock())
        except BindingRefusedError as refused:
            raise errors.conflict("", "pods/binding", name, str(refused)) from refused
        self.counters.binds += 1
        return self.store.write(self.shelf(PODS), old.key, item)


@functools.lru_cache(maxsize=4096)
def _is_key(key: str) -> bool:
    """Whether a label or an annotation may have this name."""
    return bool(QUALIFIED_NAME.fullmatch(key))


@functools.lru_cache(maxsize=4096)
def _is_label_value(value: str) -> bool:
    return len(value) <= 63 and bool(_LABEL_VALUE.fullmatch(value))


def _merged(resource: Resource, item: Object, before: Object, subresource: str) -> Object:
    """The object after a write: what the write covers from `item`, all else from before."""
    known, given = before["metadata"], item["metadata"]
    users = {member: given[member] for member in USER_METADATA if given.get(member)}
    if subresource:
        users.pop("ownerReferences", None)
        users |= {"ownerReferences": known["ownerReferences"]} if "ownerReferences" in known else {}
    metadata = {name: known[name] for name in SYSTEM_METADATA if name in known} | users
    metadata["resourceVersion"] = known["resourceVersion"]
    if subresource == "finalize":
        return {**before, "metadata": metadata, "spec": item.get("spec") or {}}
    if subresource == "status":
        after = {**before, "metadata": metadata, "status": item.get("status") or {}}
        return resource.rules.status_changed(after, before)
    after = {**item, "metadata": metadata}
    if "status" in resource.subresources:
        after.pop("status", None)
        if "status" in before:
            after["status"] = before["status"]
    return resource.rules.changed(after, before)


def _desired(item: Object) -> Object:
    return {name: value for name, value in item.items() if name not in ("metadata", "status")}


def _check_preconditions(resource: Resource, old: Version, preconditions: Object) -> None:
    metadata = old.object["metadata"]
    asked, found = preconditions.get("uid"), metadata["uid"]
    if asked and asked != found:
        text = (
            f"the UID in the precondition ({asked}) does not match the UID in record ({found}). "
            "The object might have been deleted and then recreated"
        )
        raise errors.conflict(resource.group, resource.kind, metadata["name"], text)
    asked, found = preconditions.get("resourceVersion"), str(old.number)
    if asked and asked != found:
        text = (
            f"the ResourceVersion in the precondition ({asked}) does not match the ResourceVersion in record ({found}). "
            "The object might have been modified"
        )
        raise errors.conflict(resource.group, resource.kind, metadata["name"], text)
