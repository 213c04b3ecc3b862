"""One node by itself, for what is decided on columns of nodes elsewhere."""

from __future__ import annotations

from typing import cast

from scheduler.api.objects import Node
from scheduler.api.selectors import parse_int64
from scheduler.framework.view import NodeView


class _Value:
    """The LabelIds of one label of one node: id 1 is its value."""

    def __init__(self, value: str | None) -> None:
        self.items = [None, value]

    def id_of(self, value: str) -> int:
        return 1 if value == self.items[1] else -1

    def integers(self) -> tuple[list[int], list[bool]]:
        value = self.items[1]
        number = None if value is None else parse_int64(value)
        return [0, number or 0], [False, number is not None]


class _OneNode:
    is_row = True

    def __init__(self, node: Node) -> None:
        self._name = node.metadata.name
        self._labels = node.metadata.labels or {}

    def __len__(self) -> int:
        return 1

    def node_name(self, _position: int) -> str:
        return self._name

    def is_named(self, name: str) -> bool:
        return name == self._name

    def label(self, key: str) -> int:
        return int(key in self._labels)

    def label_ids(self, key: str) -> _Value:
        return _Value(self._labels.get(key))


def view_of(node: Node) -> NodeView:
    """A row view of the node's name and labels, all that VolumeBinding declares; it has nothing else."""
    return cast("NodeView", _OneNode(node))
