"""Refusals: the Status objects of a kube-apiserver, with its codes, reasons and texts."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from scheduler.sim.objects import Object


class Cause(NamedTuple):
    """What is wrong with one field."""

    reason: str
    field: str
    message: str


def required(field: str, detail: str = "") -> Cause:
    """The field must be given."""
    return Cause("FieldValueRequired", field, f"Required value: {detail}" if detail else "Required value")


def invalid_value(field: str, value: str, detail: str) -> Cause:
    """The field has a value that it may not have."""
    return Cause("FieldValueInvalid", field, f'Invalid value: "{value}": {detail}')


def forbidden_value(field: str, detail: str) -> Cause:
    """The field may not be set, or not be changed in this way."""
    return Cause("FieldValueForbidden", field, f"Forbidden: {detail}")


class ApiError(Exception):
    """A request that is answered with a Status of failure."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Object | None = None,
        metadata: Object | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.metadata = metadata or {}

    @property
    def status(self) -> Object:
        """The body of the answer."""
        status: Object = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status


def _details(name: str, group: str, kind: str, **more: Any) -> Object:
    details: Object = {"name": name, "group": group, "kind": kind}
    return {key: value for key, value in details.items() if value} | more


def not_found(group: str, plural: str, name: str) -> ApiError:
    qualified = f"{plural}.{group}" if group else plural
    return ApiError(404, "NotFound", f'{qualified} "{name}" not found', details=_details(name, group, plural))


def no_such_path() -> ApiError:
    """The path names no resource that is served."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", details={})


def method_not_allowed() -> ApiError:
    return ApiError(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource", details={}
    )


def not_acceptable() -> ApiError:
    return ApiError(
        406, "NotAcceptable", "406: Not Acceptable\n\nAvailable representations: application/json", details={}
    )


def unsupported_media_type(message: str = "415: Unsupported Media Type") -> ApiError:
    return ApiError(415, "UnsupportedMediaType", message, details={})


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def plain_error(message: str) -> ApiError:
    """A failure for which the server has no reason of its own."""
    return ApiError(500, "", message)


def already_exists(group: str, plural: str, name: str) -> ApiError:
    qualified = f"{plural}.{group}" if group else plural
    details = _details(name, group, plural)
    return ApiError(409, "AlreadyExists", f'{qualified} "{name}" already exists', details=details)


def conflict(group: str, what: str, name: str, message: str) -> ApiError:
    qualified = f"{what}.{group}" if group else what
    text = f'Operation cannot be fulfilled on {qualified} "{name}": {message}'
    return ApiError(409, "Conflict", text, details=_details(name, group, what))


def stale(group: str, plural: str, name: str) -> ApiError:
    """The write names a resourceVersion that is no longer the object's."""
    text = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(group, plural, name, text)


def precondition_failed(group: str, plural: str, name: str, key: str, what: str, asked: str, found: str) -> ApiError:
    """A write asked for another UID or resourceVersion than the object has."""
    text = (
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition "
        f"failed: {what} in precondition: {asked}, {what} in object meta: {found}"
    )
    return conflict(group, plural, name, text)


def forbidden(group: str, plural: str, name: str, message: str, causes: Sequence[Object] = ()) -> ApiError:
    """The caller may not do this."""
    qualified = f"{plural}.{group}" if group else plural
    subject = f'{qualified} "{name}"' if name else qualified
    details = _details(name, group, plural, **({"causes": list(causes)} if causes else {}))
    return ApiError(403, "Forbidden", f"{subject} is forbidden: {message}", details=details)


def invalid(group: str, kind: str, name: str, causes: Sequence[Cause]) -> ApiError:
    """Fields of the object, or of the options, that cannot be accepted."""
    parts = [f"{cause.field}: {cause.message}" for cause in causes]
    text = parts[0] if len(parts) == 1 else f"[{', '.join(parts)}]"
    qualified = f"{kind}.{group}" if group else kind
    details = _details(
        name,
        group,
        kind,
        causes=[{"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes],
    )
    return ApiError(422, "Invalid", f'{qualified} "{name}" is invalid: {text}', details=details)


def invalid_options(cause: Cause) -> ApiError:
    """Parameters of a list or watch that do not go together."""
    return invalid("meta.k8s.io", "ListOptions", "", [cause])


def expired(message: str, *, continue_token: str = "") -> ApiError:
    """What the request refers to is no longer in the history."""
    return ApiError(410, "Expired", message, metadata={"continue": continue_token} if continue_token else {})


def version_too_large(asked: int, current: int) -> ApiError:
    """The request wants a state that is not reached yet."""
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    text = f"Timeout: Too large resource version: {asked}, current: {current}"
    return ApiError(504, "Timeout", text, details={"causes": causes, "retryAfterSeconds": 1})
