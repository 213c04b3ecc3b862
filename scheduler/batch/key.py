"""Under which an evaluation is kept for reuse."""

from __future__ import annotations

import msgspec

from scheduler.framework.signature import Signature


class Key(msgspec.Struct, frozen=True):
    """Equal for pods that get the same decision.

    Attributes:
        pod: the pod's part.
        cluster: interned id of what other objects make of the pod (its deduced selector).
    """

    pod: Signature
    cluster: int
