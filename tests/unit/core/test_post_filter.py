"""Several PostFilter plugins. Expected: kube-scheduler 1.37, RunPostFilterPlugins."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler.api.objects import Pod, PodStatus
from scheduler.core.cycle import CycleResult
from scheduler.framework.plugin import PostFilterPlugin
from scheduler.framework.pod_info import PodInfo
from scheduler.framework.post_filter import FailedCycle, PostFilterResult
from scheduler.framework.status import SUCCESS, Code, Status
from tests.support.builders import make_node
from tests.support.core_run import Core, default_profiles
from tests.support.preemption import nominations, replace_status, urgent
from tests.support.scripted_plugins import named

NO_ROOM = "0/1 nodes are available: 1 Insufficient cpu."
LARGE = replace_status(urgent("large", cpu="64"), PodStatus(nominated_node_name="n1"))


class Answers(PostFilterPlugin):
    """Answers ``result``, or raises it."""

    name = "Answers"
    result: PostFilterResult | Exception

    def post_filter(self, pod: PodInfo, cycle: FailedCycle) -> PostFilterResult:
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


def refuses(reason: str, nominated: str | None = None, code: Code = Code.UNSCHEDULABLE) -> PostFilterResult:
    return PostFilterResult(Status(code, (reason,)), nominated)


def decided(*results: PostFilterResult | Exception, pod: Pod = LARGE) -> CycleResult:
    """A decision on a pod that fits nowhere, with plugins A, B and so on that answer this."""
    plugins = tuple(
        named(Answers, name, result=result) for name, result in zip("ABC"[: len(results)], results, strict=True)
    )
    (profile,) = default_profiles().values()
    core = Core([replace(profile, post_filter=plugins)])
    core.nodes(make_node("n1"))
    core.pods(pod)
    return core.decide()


def test_what_all_say_that_cannot_help_is_told_in_their_order() -> None:
    assert decided(refuses("one"), refuses("two")).message == f"{NO_ROOM} one, two"


def test_who_can_help_has_the_only_word() -> None:
    result = decided(
        refuses("one", ""), PostFilterResult(SUCCESS._replace(reasons=("helped",)), "n2"), refuses("three")
    )

    assert result.message == f"{NO_ROOM} helped"
    assert nominations(result.instructions) == {"large": "n2"}


@pytest.mark.parametrize(
    ("said", "written"),
    [((None, None), {}), (("", None), {"large": ""}), ((None, ""), {"large": ""}), (("n2", ""), {"large": ""})],
)
def test_the_last_who_says_something_of_the_nomination_is_heard(
    said: tuple[str | None, str | None], written: dict[str, str]
) -> None:
    one, two = said

    assert nominations(decided(refuses("one", one), refuses("two", two)).instructions) == written


def test_nobody_is_asked_after_one_who_says_that_nothing_can_help() -> None:
    never = refuses("never", "", Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
    result = decided(refuses("one", "n2"), never, PostFilterResult(SUCCESS, "n3"))

    assert result.message == f"{NO_ROOM} never"
    assert nominations(result.instructions) == {"large": ""}


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (refuses("broken", "n2", Code.ERROR), "broken"),
        (RuntimeError("boom"), 'running PostFilter plugin "B": boom'),
    ],
    ids=["says so", "raises"],
)
def test_an_error_ends_it_and_leaves_the_nomination_as_it_is(failure: PostFilterResult | Exception, told: str) -> None:
    result = decided(refuses("one", ""), failure, PostFilterResult(SUCCESS, "n3"))

    assert result.message == f"{NO_ROOM} {told}"
    assert nominations(result.instructions) == {}
