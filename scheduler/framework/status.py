"""What an extension point answers (kube-scheduler 1.37: framework.Status)."""

from __future__ import annotations

import enum
from typing import NamedTuple


class Code(enum.IntEnum):
    """Outcome of an extension point; ``label`` is the word that upstream prints."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5
    PENDING = 6

    @property
    def label(self) -> str:
        return _LABELS[self]

    @property
    def is_rejected(self) -> bool:
        """The pod cannot be placed as things are, and may be later: not an error."""
        return self in (Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING)


_LABELS = {
    Code.SUCCESS: "Success",
    Code.ERROR: "Error",
    Code.UNSCHEDULABLE: "Unschedulable",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: "UnschedulableAndUnresolvable",
    Code.WAIT: "Wait",
    Code.SKIP: "Skip",
    Code.PENDING: "Pending",
}


class Reason(NamedTuple):
    """One bit of a Filter's answer: the text that users see, and the code that a node refused for it has.

    ``detail`` says more to those who ask about one pod: it is no part of messages, which count nodes by text.
    """

    text: str
    code: Code
    detail: str = ""


class Status(NamedTuple):
    """An outcome with its reasons and the plugin that gave it ("" for the framework itself)."""

    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()
    plugin: str = ""
    details: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)


SUCCESS = Status()
SKIP = Status(Code.SKIP)


def check_status(status: object) -> None:
    """Raises: TypeError, when this is no Status, or one with another code or reasons than those have."""
    if status is SUCCESS or status is SKIP:
        return
    if not isinstance(status, Status):
        raise TypeError(f"it answered {status!r} where a Status was expected")
    if not isinstance(status.code, Code):
        raise TypeError(f"it answered a Status with the code {status.code!r}, which is no Code")
    reasons: object = status.reasons
    if not isinstance(reasons, tuple) or not all(isinstance(reason, str) for reason in reasons):
        raise TypeError(f"it answered a Status with the reasons {reasons!r}, which is no tuple of texts")
