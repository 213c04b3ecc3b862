"""Events: their two forms, and what must hold of them.

They are kept in the form of core/v1 and shown in that of events.k8s.io/v1 as well.
"""

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from scheduler.sim.errors import Cause, invalid_value, required
from scheduler.sim.kinds import Rules
from scheduler.sim.objects import Object, dig
from scheduler.sim.selectors import QUALIFIED_NAME, QUALIFIED_NAME_TEXT

# Longest allowed, in bytes.
MAX_NOTE = 1024
MAX_WORD = 128

# Member in events.k8s.io/v1 -> member in v1, where they differ.
_RENAMED = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_SHOWN_AS = {stored: shown for shown, stored in _RENAMED.items()}
# Members that every v1 Event shows.
_ALWAYS: Object = {
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}
_UNSET = ("firstTimestamp", "lastTimestamp", "count")
_IMMUTABLE = (
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingComponent",
    "reportingInstance",
)


class Form(NamedTuple):
    """Another form of a stored object, and the way back."""

    name: str
    show: Callable[[Object], Object]
    store: Callable[[Object], Object]


def _show(event: Object) -> Object:
    return {_SHOWN_AS.get(name, name): value for name, value in event.items() if value != ""}


def _store(event: Object) -> Object:
    return {_RENAMED.get(name, name): value for name, value in event.items()}


EVENTS_GROUP_FORM = Form("events.k8s.io/v1", _show, _store)


class EventRules(Rules):
    """An Event with an eventTime must say who reports what; events.k8s.io/v1 demands an eventTime, and keeps all but the
    series from being changed.
    """

    def __init__(self, *, strict: bool = False) -> None:
        """`strict`: as of events.k8s.io/v1."""
        self._strict = strict

    def created(self, item: Object, now: datetime) -> Object:
        return {**_ALWAYS, **item}

    def changed(self, item: Object, old: Object) -> Object:
        return {**_ALWAYS, **item}

    def check(self, item: Object, old: Object | None) -> list[Cause]:
        causes = self._words(item) if item.get("eventTime") else _legacy_namespace(item)
        if not self._strict:
            return causes
        if old is None:
            return causes + _series(item) + _strict(item)
        if item.get("series") != old.get("series"):
            causes += _series(item)
        causes += [
            invalid_value(
                _SHOWN_AS.get(name, name) if name.startswith("reporting") else name,
                _value(item, name),
                "field is immutable",
            )
            for name in _IMMUTABLE
            if item.get(name) != old.get(name)
        ]
        return causes

    def _words(self, item: Object) -> list[Cause]:
        causes = []
        namespace = item["metadata"].get("namespace", "")
        if not dig(item, ("involvedObject", "namespace")) and namespace not in ("default", "kube-system"):
            causes.append(invalid_value("involvedObject.namespace", "", "does not match event.namespace"))
        controller, field = (
            item.get("reportingComponent", ""),
            "reportingController" if self._strict else "reportingComponent",
        )
        if not controller:
            causes.append(required(field))
        elif not QUALIFIED_NAME.fullmatch(controller):
            causes.append(invalid_value(field, controller, QUALIFIED_NAME_TEXT))
        for name in ("reportingInstance", "action", "reason"):
            if not item.get(name):
                causes.append(required(name))
            elif len(item[name].encode()) > MAX_WORD:
                causes.append(invalid_value(name, "", f"can have at most {MAX_WORD} characters"))
        if len(item.get("message", "").encode()) > MAX_NOTE:
            causes.append(invalid_value("message", "", f"can have at most {MAX_NOTE} characters"))
        return causes


def _legacy_namespace(item: Object) -> list[Cause]:
    """Without an eventTime the Event must be where the object is that it is about."""
    involved = dig(item, ("involvedObject", "namespace")) or ""
    if (involved or "default") == item["metadata"].get("namespace", "default"):
        return []
    return [invalid_value("involvedObject.namespace", involved, "does not match event.namespace")]


def _series(item: Object) -> list[Cause]:
    series = item.get("series")
    if series is None:
        return []
    causes = []
    if series.get("count", 0) < 2:
        causes.append(invalid_value("series.count", "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        causes.append(required("series.lastObservedTime"))
    return causes


def _strict(item: Object) -> list[Cause]:
    causes = [] if item.get("eventTime") else [required("eventTime")]
    if item.get("type") not in ("Normal", "Warning"):
        causes.append(invalid_value("type", "", f"has invalid value: {item.get('type', '')}"))
    causes += [invalid_value(name, "", "needs to be unset") for name in _UNSET if item.get(name)]
    if item.get("source"):
        causes.append(invalid_value("source", "", "needs to be unset"))
    return causes


def _value(item: Object, name: str) -> str:
    value = item.get(name)
    return "" if value is None else str(value)
