"""Under which an evaluation is kept for reuse."""

from __future__ import annotations

from typing import Any

import msgspec

from scheduler.framework.signature import Signature


class Key(msgspec.Struct, frozen=True):
    """Equal for pods that get the same decision.

    Attributes:
        pod: the pod's part.
        cluster: what other objects make of the pod, such as the selector of its Services; () when no plugin looks at any.
    """

    pod: Signature
    cluster: tuple[Any, ...] = ()
