"""Bodies and codes: those of Kubernetes components' health endpoints."""

from scheduler.serving.health import Note, ping, report

CHECKS = {"ping": ping, "shutdown": lambda: True, "sched-handler-sync": lambda: False}


def test_success_is_a_plain_ok() -> None:
    assert report("livez", {"ping": ping}) == (200, "ok")


def test_verbose_success_lists_each_check() -> None:
    assert report("livez", {"ping": ping}, verbose=True) == (200, "[+]ping ok\nlivez check passed\n")


def test_a_failure_lists_every_check_and_says_which_failed() -> None:
    assert report("readyz", CHECKS) == (
        500,
        "[+]ping ok\n[+]shutdown ok\n[-]sched-handler-sync failed: reason withheld\nreadyz check failed\n",
    )


def test_an_excluded_check_does_not_fail_the_endpoint() -> None:
    assert report("readyz", CHECKS, excluded=["sched-handler-sync"]) == (200, "ok")


def test_what_is_worth_knowing_is_in_the_long_answer_and_fails_nothing() -> None:
    checks = {"configuration": lambda: Note("the resource is not there")}
    assert report("readyz", checks) == (200, "ok")
    assert report("readyz", checks, verbose=True) == (
        200,
        "[+]configuration ok: the resource is not there\nreadyz check passed\n",
    )
