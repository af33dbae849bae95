"""What goes wrong, as Python exceptions."""
from __future__ import annotations

CODES = ("OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
         "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
         "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
         "UNAUTHENTICATED")


class Error(Exception):
    """Why a call failed: its text names the argument and the rule, in this package's words,
    whichever library, server or file it comes from.

    code: gRPC's name of the kind of failure, such as "INVALID_ARGUMENT" or "UNAVAILABLE"
    field: the argument, or the part of an event, that is wrong:
        "events[0].noise_multiplier"; empty if none is
    reason: for programs, such as "INVALID_FIELD"; empty if there is none
    """

    code: str
    field: str
    reason: str

    def __init__(self, message: str, code: str = "UNKNOWN", field: str = "",
                 reason: str = "") -> None:
        from ._words import in_python  # which needs this module
        super().__init__(in_python(message))
        self.code, self.field, self.reason = code, in_python(field), reason


class InvalidArgument(Error, ValueError):
    """An argument is out of its domain."""

    def __init__(self, message: str, code: str = "INVALID_ARGUMENT", field: str = "",
                 reason: str = "INVALID_FIELD") -> None:
        super().__init__(message, code, field, reason)


class WrongType(Error, TypeError):
    """An argument is of a type that has no meaning here."""

    def __init__(self, message: str, code: str = "INVALID_ARGUMENT", field: str = "",
                 reason: str = "INVALID_FIELD") -> None:
        super().__init__(message, code, field, reason)


class LibraryNotFound(Error, OSError):
    """The package's shared library is missing, or does not serve this package."""


def error(code: int, message: str, field: str = "", reason: str = "") -> Error:
    """The exception for gRPC's `code`."""
    name = CODES[code] if 0 <= code < len(CODES) else "UNKNOWN"
    kind = InvalidArgument if name == "INVALID_ARGUMENT" else Error
    return kind(message, name, field, reason)
