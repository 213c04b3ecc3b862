"""Which pods no rule can tell apart."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scheduler.api.objects import ImageVolumeSource, Pod, Volume
from scheduler.api.volume_sources import PersistentVolumeClaimVolumeSource
from scheduler.framework.likeness import traits_of
from tests.support.builders import make_container, make_pod


def pod(**fields: Any) -> Pod:
    return make_pod("web", labels={"app": "web"}, containers=[make_container(requests={"cpu": "1"})], **fields)


def with_metadata(**fields: Any) -> Pod:
    made = pod()
    return msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, **fields))


OWN: dict[str, Any] = {
    "name": "other",
    "uid": "other",
    "resource_version": "9",
    "generation": 3,
    "creation_timestamp": "2026-01-01T00:00:00Z",
}


@pytest.mark.parametrize("field", OWN)
def test_what_is_each_pods_own_is_no_difference(field: str) -> None:
    assert traits_of(with_metadata(**{field: OWN[field]})) == traits_of(pod())


@pytest.mark.parametrize(
    "field",
    [
        {"labels": {"app": "db"}},
        {"namespace": "other"},
        {"annotations": {"a": "b"}},
        {"owner_references": []},
        {"deletion_timestamp": "2026-01-01T00:00:00Z"},
    ],
    ids=str,
)
def test_everything_else_of_the_metadata_is_one(field: dict[str, Any]) -> None:
    assert traits_of(with_metadata(**field)) != traits_of(pod())


@pytest.mark.parametrize("field", [field for field in Pod().spec.__struct_fields__ if field != "volumes"])
def test_every_field_of_the_spec_is_one(field: str) -> None:
    made = pod()
    other = msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, **{field: object()}))
    assert traits_of(other) != traits_of(made)


@pytest.mark.parametrize("field", Pod().status.__struct_fields__)
def test_every_field_of_the_status_is_one(field: str) -> None:
    made = pod()
    other = msgspec.structs.replace(made, status=msgspec.structs.replace(made.status, **{field: object()}))
    assert traits_of(other) != traits_of(made)


def test_a_volume_that_no_rule_looks_at_may_have_a_name_of_its_own() -> None:
    tokens = [pod(volumes=[Volume(name=f"kube-api-access-{suffix}")]) for suffix in ("x7", "q2")]
    assert traits_of(tokens[0]) == traits_of(tokens[1]) == traits_of(pod())


@pytest.mark.parametrize(
    "volume",
    [
        Volume(name="data", persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name="data")),
        Volume(name="model", image=ImageVolumeSource(reference="model:1")),
    ],
    ids=["claim", "image"],
)
def test_a_volume_that_a_rule_looks_at_is_a_difference(volume: Volume) -> None:
    assert traits_of(pod(volumes=[volume])) != traits_of(pod())
