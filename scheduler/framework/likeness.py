"""Pods of one template: they differ in their names and in what the API server gave them, and in nothing that a rule looks at."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, TypeAlias

from scheduler.api.objects import ObjectMeta, Pod, PodSpec, is_storage

_OWN = {"name", "uid", "resource_version", "generation", "creation_timestamp"}
"""What of the metadata is each pod's own."""

_of_metadata = attrgetter(*(field for field in ObjectMeta.__struct_fields__ if field not in _OWN))
_of_spec = attrgetter(*(field for field in PodSpec.__struct_fields__ if field != "volumes"))

Traits: TypeAlias = tuple[Any, ...]


def traits_of(pod: Pod) -> Traits:
    """What a rule can tell pods by: no rule can tell pods apart of which these are equal.

    Volumes that no rule looks at are not among them: that of a service account's token has a name of its own in each pod.
    """
    volumes = [volume for volume in pod.spec.volumes or () if is_storage(volume) or volume.image is not None]
    return _of_spec(pod.spec), _of_metadata(pod.metadata), pod.status, volumes
