"""Faults on demand: what networks and busy servers do to a client, at the moment a test or a demo wants it."""

from collections.abc import Callable
from dataclasses import dataclass

from scheduler.sim.errors import ApiError
from scheduler.sim.messages import Answer, Request, error_answer, text_answer

Match = Callable[[Request], bool]


@dataclass(slots=True)
class Fault:
    """What happens to the next `times` requests that match.

    `answer`: it is sent in place of the real one. `processed`: the request does its work all the same. `cut`: the connection
    is cut in place of an answer. `delay_seconds`: what happens, happens that much later.
    """

    matches: Match
    times: int
    answer: Answer | None = None
    processed: bool = False
    cut: bool = False
    delay_seconds: float = 0.0


class Faults:
    """The faults that are waiting for their requests; the first that matches takes one."""

    def __init__(self) -> None:
        self.hits = 0
        self._waiting: list[Fault] = []

    def fail(
        self,
        status: int,
        *,
        times: int = 1,
        method: str = "",
        path: str = "",
        retry_after_seconds: int = 1,
        processed: bool = False,
    ) -> None:
        """Answer requests with an error: 429 and 503 with a Retry-After, 500, 504; `processed` ones did their work before."""
        answer = _failure(status, retry_after_seconds)
        self._waiting.append(Fault(matching(method, path), times, answer=answer, processed=processed))

    def lose_answer(self, *, times: int = 1, method: str = "", path: str = "") -> None:
        """Do what the request asks for, and cut the connection in place of an answer."""
        self._waiting.append(Fault(matching(method, path), times, processed=True, cut=True))

    def cut(self, *, times: int = 1, method: str = "", path: str = "") -> None:
        """Cut the connection; the request has no effect."""
        self._waiting.append(Fault(matching(method, path), times, cut=True))

    def delay(self, seconds: float, *, times: int = 1, method: str = "", path: str = "") -> None:
        """Let requests wait before they are processed."""
        self._waiting.append(Fault(matching(method, path), times, processed=True, delay_seconds=seconds))

    def clear(self) -> None:
        """Forget the faults that wait."""
        self._waiting.clear()

    def take(self, request: Request) -> Fault | None:
        """The fault that a request meets."""
        for fault in self._waiting:
            if fault.matches(request):
                self.hits += 1
                fault.times -= 1
                if fault.times <= 0:
                    self._waiting.remove(fault)
                return fault
        return None


def matching(method: str = "", path: str = "") -> Match:
    """Requests of a method, when one is given, whose path holds `path`."""
    return lambda request: (not method or request.method == method) and path in request.path


def _failure(status: int, retry_after_seconds: int) -> Answer:
    match status:
        case 429:
            # A server that is too busy says so before it looks at what is asked, hence in plain text.
            answer = text_answer(429, "Too many requests, please try again later.\n")
            return Answer(429, answer.body, answer.content_type, (("Retry-After", str(retry_after_seconds)),))
        case 503:
            text = "the server is currently unable to handle the request"
            details = {"retryAfterSeconds": retry_after_seconds}
            return error_answer(ApiError(503, "ServiceUnavailable", text, details=details))
        case 504:
            text = "Timeout: request did not complete within the allotted timeout"
            return error_answer(ApiError(504, "Timeout", text, details={}))
        case _:
            return error_answer(ApiError(status, "InternalError", "Internal error occurred: injected", details={}))
