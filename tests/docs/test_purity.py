"""Below the edge nothing waits, reads a clock, rolls dice or depends on the process: what imports cannot tell."""

import ast
from collections.abc import Iterator

import pytest

from tests.docs.checkout import PURE, ROOT, modules

CLOCKS = {"now", "utcnow", "today"}
FORBIDDEN_CALLS = {
    "open": "is I/O",
    "input": "is I/O",
    "print": "is I/O",
    "hash": "of a string differs between processes",
}


def offences(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        line = getattr(node, "lineno", 0)
        match node:
            case ast.AsyncFunctionDef() | ast.Await() | ast.AsyncFor() | ast.AsyncWith():
                yield f"{line}: waits"
            case ast.Call(func=ast.Name(id=name)) if name in FORBIDDEN_CALLS:
                yield f"{line}: {name}() {FORBIDDEN_CALLS[name]}"
            case ast.Call(func=ast.Attribute(value=ast.Name(id="datetime" | "date"), attr=name)) if name in CLOCKS:
                yield f"{line}: {name}() reads a clock"
            case ast.For(iter=over) | ast.comprehension(iter=over) if is_set(over):
                yield f"{over.lineno}: the order of a set differs between processes; sort it"


def is_set(over: ast.expr) -> bool:
    """Whether the expression is a set on its face; what a name holds is not known here."""
    match over:
        case ast.Set() | ast.SetComp() | ast.Call(func=ast.Name(id="set" | "frozenset")):
            return True
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr() | ast.Sub() | ast.BitXor(), right=right):
            return is_set(left) or is_set(right)
    return False


def test_the_pure_layers_are_pure() -> None:
    found = [f"{path.relative_to(ROOT)}:{offence}" for path in modules(*PURE) for offence in offences(path.read_text())]

    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "async def f(): pass",
        "from datetime import datetime\ndatetime.now()",
        "open('x')",
        "hash('x')",
        "for x in {1, 2}: pass",
        "[x for x in set(y) | z]",
    ],
)
def test_an_offence_is_noticed(source: str) -> None:
    assert len(list(offences(source))) == 1
