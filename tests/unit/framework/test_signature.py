"""Signatures are compared by identity, and forgotten with the last pod that has them."""

from __future__ import annotations

import gc

from scheduler.framework.signature import Signatures


def test_equal_fragments_are_one_signature() -> None:
    signatures = Signatures()

    assert signatures.get("a", (1, ("x",))) is signatures.get("a", (1, ("x",)))
    assert signatures.get("a", (1, ("x",))) is not signatures.get("a", (2, ("x",)))


def test_profiles_do_not_share_signatures() -> None:
    signatures = Signatures()
    mine, other = signatures.get("mine", (1,)), signatures.get("other", (1,))

    assert mine is not other
    assert (mine.scheduler_name, other.scheduler_name) == ("mine", "other")


def test_the_index_does_not_outlive_the_pods() -> None:
    signatures = Signatures()
    held = [signatures.get("a", (number,)) for number in range(1000)]
    assert len(signatures) == 1000
    del held[1:]
    gc.collect()

    assert len(signatures) == 1
