from __future__ import annotations

import io
import json
from collections.abc import Iterator

import pytest
import structlog

from scheduler.telemetry import logs


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = structlog.get_config()
    yield
    structlog.configure(**before)


def test_json_is_one_object_a_line_with_the_message_under_msg() -> None:
    stream = io.StringIO()
    logs.configure(form="json", stream=stream)
    structlog.get_logger().info("scheduling cycle", pod="a/b", attempt=2)

    line = json.loads(stream.getvalue())
    assert {key: line[key] for key in ("msg", "level", "pod", "attempt")} == {
        "msg": "scheduling cycle",
        "level": "info",
        "pod": "a/b",
        "attempt": 2,
    }


def test_lower_levels_are_left_out() -> None:
    stream = io.StringIO()
    logs.configure(level="warning", stream=stream)
    structlog.get_logger().info("quiet")

    assert stream.getvalue() == ""


def test_the_console_form_is_for_people() -> None:
    stream = io.StringIO()
    logs.configure(form="console", stream=stream)
    structlog.get_logger().warning("rights are missing", missing=["list pods"])

    assert "rights are missing" in stream.getvalue()
    assert "missing=['list pods']" in stream.getvalue()


def test_an_exception_is_rendered_in_one_json_line() -> None:
    stream = io.StringIO()
    logs.configure(stream=stream)
    try:
        raise ValueError("bad")
    except ValueError:
        structlog.get_logger().exception("failed")

    assert "ValueError: bad" in json.loads(stream.getvalue())["exception"]


def test_what_json_has_no_form_for_is_shown_as_python_shows_it() -> None:
    stream = io.StringIO()
    logs.configure(stream=stream)
    structlog.get_logger().info("odd", kind=int, path="\udcff", share=float("inf"), many=(1, None))

    line = json.loads(stream.getvalue())
    assert (line["kind"], line["many"]) == ("<class 'int'>", [1, None])
    assert line["path"] == "\udcff"
