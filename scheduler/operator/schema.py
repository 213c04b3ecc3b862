"""A structural schema for the API server, from the structs that read a configuration and from what there is to say of their fields.

Types are the API server's to refuse. Unknown fields are kept and so come to the one who reads the resource, who says which field was
meant; and rules are his too, so that they are answered in one place and in one form.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import inspect


def schema_of(struct: type[msgspec.Struct], path: str, describe: Callable[[str], str]) -> dict[str, Any]:
    """An OpenAPI v3 schema of a document.

    Args:
        path: of the document; paths of its fields begin with it.
        describe: what there is to say of the field at a path, in which ``[]`` stands for the items of a list.
    """
    described = inspect.type_info(struct)
    assert isinstance(described, inspect.StructType)
    return _struct(described, path, describe)


def _struct(type_: inspect.StructType, path: str, describe: Callable[[str], str]) -> dict[str, Any]:
    properties = {
        field.encode_name: {
            "description": describe(f"{path}.{field.encode_name}"),
            **_schema(field.type, f"{path}.{field.encode_name}", describe),
        }
        for field in type_.fields
    }
    return {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": properties}


def _schema(type_: inspect.Type, path: str, describe: Callable[[str], str]) -> dict[str, Any]:
    match type_:
        case inspect.UnionType(types=types):
            (only,) = (one for one in types if not isinstance(one, inspect.NoneType))
            return _schema(only, path, describe)
        case inspect.Metadata(extra={"form": "duration"}):
            return {"type": "string"}
        case inspect.Metadata(type=inner):
            return _schema(inner, path, describe)
        case inspect.StructType():
            return _struct(type_, path, describe)
        case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
            return {"type": "array", "items": _schema(item, f"{path}[]", describe)}
        case inspect.AnyType():
            return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        case inspect.LiteralType():
            return {"type": "string"}
    return dict(_SCALARS[type(type_)])


_SCALARS: dict[type[inspect.Type], dict[str, Any]] = {
    inspect.IntType: {"type": "integer", "format": "int64"},
    inspect.FloatType: {"type": "number"},
    inspect.BoolType: {"type": "boolean"},
    inspect.StrType: {"type": "string"},
}
