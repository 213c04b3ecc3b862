"""What makes two answers to one line the same."""

from collections.abc import Iterator
from typing import Any

from tests.oracle.generate import REFUSED


def differences(expected: Any, actual: Any, expect: str = "") -> list[str]:
    """Where `actual` is not the oracle's answer `expected`; each with its path in the answer, none when they are the same.

    With `expect` "refused" the oracle's answer is of no interest: there must be an error.
    """
    if not isinstance(actual, dict):
        return [f"answer: {actual!r} is no object"]
    if "missing" in actual:
        return [f"answer: {actual['missing']}"]
    if expect == REFUSED:
        return [] if "error" in actual else ["error: the pod must be refused, and was evaluated"]
    if "error" in expected or "error" in actual:
        if "error" in expected and "error" in actual:
            return []
        return [f"error: {expected.get('error', 'none')!r} expected, not {actual.get('error', 'none')!r}"]
    return list(_differ("", _comparable(_settled(expected, actual)), _comparable(actual)))


def _settled(expected: dict[str, Any], actual: dict[str, Any]) -> dict[str, Any]:
    """The oracle's answer; where a plugin gives one of several reasons by chance, with the one that was given."""
    settled = dict(_dict(expected.get("filter")))
    for node, status in settled.items():
        given = _dict(_dict(actual.get("filter")).get(node)).get("reasons")
        if isinstance(given, list) and len(given) == 1 and given[0] in status.get("either", ()):
            settled[node] = status | {"reasons": given}
    return expected | {"filter": settled} if settled else expected


def _comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """The parts that count, with what may be left out filled in."""
    made: dict[str, Any] = {"prefilter": _status(answer.get("prefilter"))}
    if made["prefilter"].get("code") != "Success":
        return made | {key: answer[key] for key in ("filter", "scores", "totals", "best") if answer.get(key)}
    made["filter"] = {node: _status(status) for node, status in _dict(answer.get("filter")).items()}
    made["scored"] = answer.get("scored", True)
    made["scores"] = {node: _dict(scores) for node, scores in _dict(answer.get("scores")).items()}
    made["totals"] = _dict(answer.get("totals"))
    made["best"] = answer.get("best") or []
    return made


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _status(status: Any) -> dict[str, Any]:
    known = _dict(status)
    return {
        "code": known.get("code"),
        "plugin": known.get("plugin") or "",
        "reasons": sorted(str(reason) for reason in known.get("reasons") or []),
    }


def _differ(path: str, expected: Any, actual: Any) -> Iterator[str]:
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted({*expected, *actual}):
            name = f"{path}.{key}" if path else str(key)
            if key not in actual:
                yield f"{name}: {expected[key]!r} is missing"
            elif key not in expected:
                yield f"{name}: {actual[key]!r} is too much"
            else:
                yield from _differ(name, expected[key], actual[key])
    elif expected != actual or type(expected) is not type(actual):
        yield f"{path}: {expected!r} expected, not {actual!r}"
