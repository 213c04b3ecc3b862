"""The CustomResourceDefinition is the one that the code describes, and the API server can take it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from scheduler.operator.crd import definition
from scheduler.operator.descriptions import describe

FILE = Path(__file__).parents[3] / "deploy" / "crds" / "schedulerconfigurations.yaml"


def schemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for inner in (*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])):
        yield from schemas(inner)


def root() -> dict[str, Any]:
    (version,) = definition()["spec"]["versions"]
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return schema


def test_the_file_is_as_it_would_be_written_now() -> None:
    written = YAML(typ="safe").load(FILE.read_text())
    assert written == definition(), (
        "write it anew: python -m scheduler.operator.crd > deploy/crds/schedulerconfigurations.yaml"
    )


def test_every_schema_is_structural() -> None:
    """Each has a type of its own (apiextensions.k8s.io/v1)."""
    assert [schema for schema in schemas(root()) if "type" not in schema] == []


def test_every_field_of_the_spec_says_what_it_is_for() -> None:
    spec = root()["properties"]["spec"]
    nameless = [
        name
        for schema in schemas(spec)
        for name, field in schema.get("properties", {}).items()
        if len(field.get("description", "")) < 5
    ]
    assert nameless == []


def test_unknown_fields_come_to_the_one_who_reads_them() -> None:
    """The API server would drop them without a word where nobody asks it to be strict."""
    spec = root()["properties"]["spec"]
    objects = [schema for schema in schemas(spec) if schema["type"] == "object"]
    assert len(objects) > 50
    assert all(schema.get("x-kubernetes-preserve-unknown-fields") for schema in objects)


def test_columns_for_people() -> None:
    (version,) = definition()["spec"]["versions"]
    names = [column["name"] for column in version["additionalPrinterColumns"]]
    assert names == ["Accepted", "Reason", "Profiles", "Hit-ratio", "Age"]


@pytest.mark.parametrize("word", ["newer version", "deleted", "no other", "not installed", "InUse", "RestartRequired"])
def test_bad_input_is_defined(word: str) -> None:
    assert word in root()["description"]


def test_of_a_field_that_there_is_not_there_is_nothing_to_say() -> None:
    with pytest.raises(KeyError):
        describe("kubeSchedulerConfiguration.profils")
