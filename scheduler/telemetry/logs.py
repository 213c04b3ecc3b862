"""structlog set-up: one JSON object a line, or a console form for people. Messages are constant, facts are key-values."""

from __future__ import annotations

import logging
import sys
from typing import Any, TextIO

import structlog


def configure(*, form: str = "json", level: str = "info", stream: TextIO | None = None) -> None:
    """Send everything to standard error, or to ``stream``.

    Args:
        form: ``json`` or ``console``.
        level: ``debug``, ``info``, ``warning`` or ``error``.
    """
    output = stream or sys.stderr
    renderer: Any = (
        structlog.dev.ConsoleRenderer(colors=output.isatty())
        if form == "console"
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.EventRenamer("msg"),
            renderer,
        ]
        if form != "console"
        else [
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(file=output),
        cache_logger_on_first_use=False,
    )
