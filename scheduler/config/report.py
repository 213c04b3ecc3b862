"""What is wrong with a configuration: every error with the path of its field, and what is worth a warning."""

from __future__ import annotations

from collections.abc import Iterable


class ConfigurationError(Exception):
    """A configuration that cannot be used. ``errors`` holds one ``path: message`` for each thing that is wrong."""

    def __init__(self, errors: Iterable[str]) -> None:
        self.errors = list(errors)
        super().__init__("\n".join(self.errors))


class Report:
    """Collects errors and warnings while a configuration is read."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.warnings: list[str] = []
        self._unread: list[str] = []

    def unread(self, path: str, message: str) -> None:
        """A value that could not be read. Rules about it or what is below are moot: it has a stand-in, not a value."""
        self.errors.append(_line(path, message))
        if path:
            self._unread.append(path)

    def error(self, *lines: str) -> None:
        """Values that were read and break a rule, each as ``path: message`` (``api.field_errors``)."""
        for line in lines:
            path = line.partition(": ")[0]
            if not self.is_unread(path) and line not in self.errors:
                self.errors.append(line)

    def warn(self, path: str, message: str) -> None:
        self.warnings.append(_line(path, message))

    def is_unread(self, path: str) -> bool:
        """Whether the value at this path, or one that it is a part of, could not be read."""
        return any(path == bad or path.startswith((f"{bad}.", f"{bad}[")) for bad in self._unread)


def _line(path: str, message: str) -> str:
    return f"{path}: {message}" if path else message
