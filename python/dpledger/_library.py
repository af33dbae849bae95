"""The two shared libraries: where they are, and the one call of the accounting one."""
from __future__ import annotations

import ctypes
import os
from typing import Any, List, Optional, Tuple

from . import _decoding
from .errors import Error, LibraryNotFound, error

# A folder in which the libraries are looked for before the package's own: that of a build, for
# tests.
LIBRARY_PATH = "DPLEDGER_LIBRARY_PATH"
BINARY = 0  # encoding of dpledger_accounting_call


def load(name: str) -> ctypes.CDLL:
    """Opens `name`, which is beside this file in an installed package. LibraryNotFound if it cannot
    be opened."""
    stated = os.environ.get(LIBRARY_PATH)
    folders = [stated] if stated else []
    folders.append(os.path.dirname(os.path.realpath(__file__)))
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            try:
                return ctypes.CDLL(path)
            except OSError as failed:
                raise LibraryNotFound("%s cannot be opened: %s" % (path, failed),
                                      "FAILED_PRECONDITION") from None
    raise LibraryNotFound(
        "%s is not in %s; a wheel of dpledger holds it, and %s names a folder that does"
        % (name, " or ".join(folders), LIBRARY_PATH),
        "NOT_FOUND")


_accounting: Optional[ctypes.CDLL] = None


def _open_accounting() -> ctypes.CDLL:
    library = load("libdpledger_accounting.so")
    library.dpledger_accounting_call.restype = ctypes.c_int32
    library.dpledger_accounting_call.argtypes = [ctypes.c_int32, ctypes.c_char_p, ctypes.c_char_p,
                                                 ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p),
                                                 ctypes.POINTER(ctypes.c_size_t)]
    library.dpledger_accounting_version.restype = ctypes.c_char_p
    library.dpledger_accounting_free.restype = None
    library.dpledger_accounting_free.argtypes = [ctypes.c_void_p]
    return library


def accounting() -> ctypes.CDLL:
    """libdpledger_accounting, opened when it is first needed."""
    global _accounting
    if _accounting is None:
        _accounting = _open_accounting()
    return _accounting


def version() -> str:
    """The software's version, which every answer states too."""
    return str(accounting().dpledger_accounting_version().decode())


def ask(method: str, question: bytes) -> bytes:
    """The serialised answer of AccountingService.`method`. Lets other threads run meanwhile. Raises
    Error."""
    library = accounting()
    answer, size = ctypes.c_void_p(), ctypes.c_size_t()
    code = library.dpledger_accounting_call(BINARY, method.encode(), question, len(question),
                                            answer, size)
    try:
        data = ctypes.string_at(answer, size.value) if answer else b""
    finally:
        library.dpledger_accounting_free(answer)
    if code != 0:
        raise _refusal(code, data)
    return data


def _entries(data: bytes) -> List[Tuple[int, Any]]:
    return [(number, value) for number, _, value in _decoding.fields(data)]


def _refusal(code: int, status: bytes) -> Error:
    """google.rpc.Status: message 2, details 3 (Any: value 2), of which ErrorInfo has reason 1 and
    metadata 3."""
    message, field, reason = "", "", ""
    for number, value in _entries(status):
        if number == 2:
            message = value.decode("utf-8", "replace")
        if number != 3:
            continue
        packed = dict(_entries(value))
        if not packed.get(1, b"").endswith(b"google.rpc.ErrorInfo"):
            continue
        for part, held in _entries(packed.get(2, b"")):
            if part == 1:
                reason = held.decode("utf-8", "replace")
            elif part == 3:
                entry = dict(_entries(held))
                if entry.get(1) == b"field":
                    field = entry.get(2, b"").decode("utf-8", "replace")
    return error(code, message, field, reason)
