"""A Grafana dashboard as a value: rows of panels, each with queries, laid out on Grafana's grid of 24 columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

SCHEMA_VERSION = 42
GRID_WIDTH = 24
ROW_HEIGHT = 1
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}

Kind = Literal["stat", "timeseries"]
Document = dict[str, Any]


@dataclass(frozen=True)
class Query:
    """A question in PromQL, and how its series are named."""

    expr: str
    legend: str


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One picture, with what it tells in ``description``; ``unit`` is one of Grafana's names.

    ``warn_at`` and ``bad_at`` colour a number; a panel that is stacked shows parts of a whole.
    """

    title: str
    description: str
    unit: str
    queries: tuple[Query, ...]
    kind: Kind = "timeseries"
    width: int = 8
    height: int = 8
    decimals: int | None = None
    maximum: float | None = None
    is_stacked: bool = False
    steps: tuple[tuple[float | None, str], ...] = ((None, "green"),)

    def document(self, number: int, x: int, y: int) -> Document:
        """As Grafana stores it, at a place of the grid."""
        return {
            "id": number,
            "type": self.kind,
            "title": self.title,
            "description": self.description,
            "datasource": DATASOURCE,
            "gridPos": {"x": x, "y": y, "w": self.width, "h": self.height},
            "fieldConfig": {"defaults": self._field(), "overrides": []},
            "options": _STAT_OPTIONS if self.kind == "stat" else _TIMESERIES_OPTIONS,
            "targets": [
                {
                    "refId": chr(ord("A") + index),
                    "datasource": DATASOURCE,
                    "editorMode": "code",
                    "expr": query.expr,
                    "legendFormat": query.legend,
                    "range": self.kind == "timeseries",
                    "instant": self.kind == "stat",
                }
                for index, query in enumerate(self.queries)
            ],
        }

    def _field(self) -> Document:
        settings: Document = {
            "unit": self.unit,
            "min": 0,
            "thresholds": {
                "mode": "absolute",
                "steps": [{"value": value, "color": color} for value, color in self.steps],
            },
        }
        if self.decimals is not None:
            settings["decimals"] = self.decimals
        if self.maximum is not None:
            settings["max"] = self.maximum
        if self.kind == "timeseries":
            settings["color"] = {"mode": "palette-classic"}
            settings["custom"] = {
                "drawStyle": "line",
                "lineWidth": 1,
                "fillOpacity": 30 if self.is_stacked else 0,
                "showPoints": "never",
                "stacking": {"mode": "normal" if self.is_stacked else "none", "group": "A"},
            }
        return settings


@dataclass(frozen=True)
class Row:
    """Panels under a heading, side by side as far as there is room."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, kw_only=True)
class Dashboard:
    """A page of rows; ``uid`` is what links to it name."""

    uid: str
    title: str
    description: str
    rows: Sequence[Row]
    variables: Sequence[Document]
    links: Sequence[Document] = field(default=())

    def document(self) -> Document:
        """As Grafana imports it."""
        return {
            "uid": self.uid,
            "title": self.title,
            "description": self.description,
            "tags": ["kubernetes", "scheduler", "reprise"],
            "schemaVersion": SCHEMA_VERSION,
            "editable": True,
            "graphTooltip": 1,
            "refresh": "30s",
            "time": {"from": "now-1h", "to": "now"},
            "timezone": "browser",
            "templating": {"list": list(self.variables)},
            "annotations": {"list": []},
            "links": list(self.links),
            "panels": self._panels(),
        }

    def text(self) -> str:
        """The file's content."""
        return json.dumps(self.document(), indent=2) + "\n"

    def _panels(self) -> list[Document]:
        placed: list[Document] = []
        y = 0
        for row in self.rows:
            heading = {"x": 0, "y": y, "w": GRID_WIDTH, "h": ROW_HEIGHT}
            number = len(placed) + 1
            placed.append(
                {"id": number, "type": "row", "title": row.title, "collapsed": False, "gridPos": heading, "panels": []}
            )
            y += ROW_HEIGHT
            x = line_height = 0
            for panel in row.panels:
                if x + panel.width > GRID_WIDTH:
                    x, y, line_height = 0, y + line_height, 0
                placed.append(panel.document(len(placed) + 1, x, y))
                x, line_height = x + panel.width, max(line_height, panel.height)
            y += line_height
        return placed


_TIMESERIES_OPTIONS = {
    "legend": {"displayMode": "table", "placement": "bottom", "showLegend": True, "calcs": ["lastNotNull", "max"]},
    "tooltip": {"mode": "multi", "sort": "desc"},
}
_STAT_OPTIONS = {
    "colorMode": "value",
    "graphMode": "area",
    "justifyMode": "auto",
    "orientation": "auto",
    "textMode": "auto",
    "wideLayout": True,
    "showPercentChange": False,
    "percentChangeColorMode": "standard",
    "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
}
