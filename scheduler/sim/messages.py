"""Requests and answers, apart from the bytes they travel as."""

from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from scheduler.sim.errors import ApiError
from scheduler.sim.views import JSON, encode

TEXT = "text/plain; charset=utf-8"


@dataclass(slots=True)
class Request:
    """A request. Names of headers are in lower case."""

    method: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def accept(self) -> str:
        return self.headers.get("accept", "")

    @property
    def content_type(self) -> str:
        """The media type of the body, without its parameters."""
        return self.headers.get("content-type", JSON).partition(";")[0].strip()

    @property
    def watches(self) -> bool:
        """Whether a list is to go on as a watch."""
        return self.method == "GET" and self.query.get("watch", "") not in ("", "0", "false")


def split_target(target: str) -> tuple[str, dict[str, str]]:
    """Path and query of a request target."""
    path, _, query = target.partition("?")
    return unquote(path) if "%" in path else path, dict(parse_qsl(query, keep_blank_values=True)) if query else {}


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that is whole."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()


def json_answer(status: int, body: object, *, content_type: str = JSON) -> Answer:
    """An answer with a JSON value."""
    return Answer(status, encode(body), content_type)


def text_answer(status: int, text: str) -> Answer:
    """An answer with plain text."""
    return Answer(status, text.encode(), TEXT)


def error_answer(error: ApiError) -> Answer:
    """The answer that a refusal gets; one that may be repeated says when."""
    seconds = (error.details or {}).get("retryAfterSeconds")
    headers = (("Retry-After", str(seconds)),) if seconds else ()
    return Answer(error.code, encode(error.status), headers=headers)
