"""client/include/dpledger.h as ctypes: structs, calls, and handles that free themselves.

Structs have the header's names and members in its order, which tests/python/header_test.py
compares.
"""
from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
import weakref
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import _library, _wire, _words
from ._wire import real, whole  # for those that call the library
from .errors import Error, LibraryNotFound, WrongType, error

ABI_MAJOR, ABI_MINOR = 1, 9  # that this module was written against

_text, _size, _number = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_double
_constant, _count, _pointer = ctypes.c_int32, ctypes.c_uint64, ctypes.c_void_p


class Struct(ctypes.Structure):
    """Begins with its own size; what is not given is 0 or NULL."""

    def __init__(self, **members: Any) -> None:
        super().__init__(struct_size=ctypes.sizeof(self), **members)


def _struct(name: str, *members: Tuple[str, Any]) -> Any:
    return type(name, (Struct,), {"_fields_": [("struct_size", _size), *members]})


SamplingScheme = _struct("dpledger_sampling_scheme", ("kind", _constant), ("reserved", _constant),
                         ("population_size", _count), ("probability", _number),
                         ("sample_size", _count), ("rounds_per_epoch", _count), ("epoch", _count),
                         ("contributions", _count), ("fixed_bins", _constant))
Declaration = _struct(
    "dpledger_declaration", ("dataset", _text), ("unit_of_privacy", _text), ("released", _text),
    ("description", _text), ("adjacency", _constant), ("parameters", _constant),
    ("planned_rounds", _count), ("plan_independent", _constant), ("filter", _constant),
    ("filter_order", _number), ("filter_bound", _number), ("filter_delta", _number),
    ("budget", _text), ("blocks", _text))
RunState = _struct("dpledger_run_state", ("folder", _text), ("key_file", _text))
RecorderOptions = _struct(
    "dpledger_recorder_options", ("server", _text), ("ledger", _text), ("writer", _text),
    ("declaration", ctypes.POINTER(Declaration)), ("spool_folder", _text),
    ("spool_bound_bytes", _count), ("policy", _constant), ("plan_varies", _constant),
    ("open_timeout_seconds", _number), ("release_timeout_seconds", _number),
    ("full_spool_timeout_seconds", _number), ("close_timeout_seconds", _number),
    ("stall_timeout_seconds", _number), ("state", ctypes.POINTER(RunState)), ("ca", _text),
    ("certificate", _text), ("certificate_key", _text), ("token_file", _text), ("log_key", _text),
    ("path", _text), ("automatic_grants", _constant), ("new_dataset", _constant))
SumQuery = _struct(
    "dpledger_sum_query", ("group", _text), ("l2_norm_bound", _number), ("noise_stddev", _number),
    ("noise", _constant), ("reserved", _constant), ("grid", _number))
ClipGroup = _struct("dpledger_clip_group", ("name", _text), ("size", _size), ("clip_norm", _number),
                    ("gamma", _number), ("part_sizes", ctypes.POINTER(_size)),
                    ("part_scales", ctypes.POINTER(_number)), ("part_count", _size))
AdaptiveClipNorm = _struct("dpledger_adaptive_clip_norm", ("rule", _constant),
                           ("reserved", _constant), ("alpha", _number), ("beta", _number),
                           ("quantile", _number), ("learning_rate", _number),
                           ("noise_multiplier", _number), ("expected_batch_size", _number))
PrivatizerOptions = _struct(
    "dpledger_privatizer_options", ("groups", ctypes.POINTER(ClipGroup)), ("group_count", _size),
    ("noise_multiplier", _number), ("allocation", _constant), ("microbatches", _constant),
    ("adaptive", ctypes.POINTER(AdaptiveClipNorm)), ("threads", _size))
GradientRows = _struct("dpledger_gradient_rows", ("first", _pointer), ("count", _size),
                       ("stride", _size), ("format", _constant), ("reserved", _constant))

FLOAT32, BFLOAT16, FLOAT16 = 0, 1, 2
SCHEMES = {"poisson": 1, "without_replacement": 2, "with_replacement": 3, "full_batch": 4,
           "disjoint_batches": 5, "random_allocation": 6, "truncated_poisson": 7}
ADJACENCIES = {"add-or-remove-one": 1, "replace-one": 2, "zero-out": 3}
PARAMETERS = {"fixed": 1, "adaptive": 2}
POLICIES = {"fail-closed": 1, "spool": 2}
FILTERS = {"rdp": 1, "zcdp": 2, "gdp": 3, "mixture": 4}
NOISES = {"gaussian": 0, "rounded-gaussian": 1, "discrete-gaussian": 2}
ALLOCATIONS = {"proportional": 0, "least-variance": 1}

# Functions whose result is no status; their arguments are given as ctypes values.
_RESULTS = {"dpledger_abi_version": ctypes.c_uint32, "dpledger_error_new": _pointer,
            "dpledger_error_free": None, "dpledger_error_status": _constant,
            "dpledger_error_message": _text, "dpledger_error_field": _text,
            "dpledger_error_reason": _text, "dpledger_recorder_free": None,
            "dpledger_recorder_ledger": _text, "dpledger_sampler_free": None,
            "dpledger_sampler_draws": _count, "dpledger_privatizer_free": None,
            "dpledger_privatizer_dimension": _size, "dpledger_privatizer_clip_norm": _number,
            "dpledger_privatizer_query_count": _size, "dpledger_sum_free": None,
            "dpledger_sum_dimension": _size, "dpledger_sum_clip_norm": _number,
            "dpledger_sum_rows": _count,
            "dpledger_store_free": None}

_client: Optional[ctypes.CDLL] = None


def library() -> ctypes.CDLL:
    """libdpledger, opened when it is first needed."""
    global _client
    if _client is None:
        opened = None
        for name in ("libdpledger.so.1", "libdpledger.so"):
            try:
                opened = _library.load(name)
                break
            except LibraryNotFound as failed:
                if failed.code != "NOT_FOUND" or name == "libdpledger.so":
                    raise
        assert opened is not None
        for name, result in _RESULTS.items():
            getattr(opened, name).restype = result
        version = opened.dpledger_abi_version()
        if version >> 16 != ABI_MAJOR or version & 0xffff < ABI_MINOR:
            raise LibraryNotFound("libdpledger: must be of version %d.%d or a later %d.x, got %d.%d"
                                  % (ABI_MAJOR, ABI_MINOR, ABI_MAJOR, version >> 16,
                                     version & 0xffff),
                                  "FAILED_PRECONDITION")
        _client = opened
    return _client


# While dpledger.torch.check runs a loop, every call goes through it.
observer: Any = None


def call(name: str, *arguments: Any) -> None:
    """Calls dpledger_`name` with an error object as its last argument. Raises what that says."""
    if observer is None:
        call_library(name, *arguments)
    else:
        observer(name, arguments)


def call_library(name: str, *arguments: Any) -> None:
    """The same, seen by no observer."""
    lib = library()
    held = ctypes.c_void_p(lib.dpledger_error_new())
    try:
        status = getattr(lib, "dpledger_" + name)(*arguments, held)
        if status != 0:
            raise refusal(status, held)
    finally:
        lib.dpledger_error_free(held)


def refusal(status: int, held: ctypes.c_void_p) -> Error:
    """The exception for what the error object `held` says."""
    lib = library()
    texts = [(getattr(lib, "dpledger_error_" + part)(held) or b"").decode("utf-8", "replace")
             for part in ("message", "field", "reason")]
    return error(status, *texts)


def utf8(value: Optional[str], name: str) -> Optional[bytes]:
    """`value` for a C string; None stays NULL."""
    if value is None:
        return None
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, str):
        raise WrongType("%s: must be text, got %s" % (name, type(value).__name__), field=name)
    try:
        data = value.encode()
    except UnicodeEncodeError:
        raise error(3, "%s: must be text that UTF-8 can hold" % name, name,
                    "INVALID_FIELD") from None
    if b"\0" in data:
        raise error(3, "%s: must not hold a NUL" % name, name, "INVALID_FIELD")
    return data


def word(value: Any, table: Dict[str, int], name: str) -> int:
    """The constant of the header that the text `value` stands for."""
    known = value
    if isinstance(value, str) and value not in table:
        known = _wire.spelled(value)  # ADD_OR_REMOVE_ONE
    if not isinstance(value, str) or known not in table:
        raise error(3, "%s: must be one of %s, got %r"
                    % (name, ", ".join('"%s"' % key for key in table), value),
                    name, "INVALID_FIELD")
    return table[known]


def _free(free: Callable[[Any], None], pointer: Any, process: int) -> None:
    # A forked child has none of the threads that the parent's handle would wait for.
    if os.getpid() == process:
        free(pointer)


class uninterrupted:
    """Holds back a Ctrl-C (SIGINT) of the main thread until the block has ended: else what the
    library has done would not be noted here, and nothing could go on from it."""

    def __enter__(self) -> None:
        self._came: List[Any] = []
        self._before: Any = None
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if callable(before):
                signal.signal(signal.SIGINT, lambda *came: self._came.append(came))
                self._before = before

    def __exit__(self, *_: Any) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            if self._came:
                self._before(*self._came[-1])


class Handle:
    """A handle of the library's: freed with its last reference, of use to one thread at a time and
    to one process."""

    _shared = False  # whether several threads may use it at once

    def __init_subclass__(cls) -> None:
        _words.explains(cls)

    def _hold(self, kind: str, pointer: ctypes.c_void_p) -> None:
        """Takes ownership of `pointer`, which dpledger_`kind`_free frees."""
        self._kind, self._held, self._process = kind, pointer, os.getpid()
        self._alone, self._user = threading.Lock(), 0  # the thread that has it
        # Of a shared handle: how many calls are under way, and whether it is given up. A signal's
        # handler may come in between, so the lock may be taken again.
        self._calls, self._given_up, self._counting = 0, False, threading.RLock()
        self._finalize = weakref.finalize(
            self, _free, getattr(library(), "dpledger_%s_free" % kind), pointer, self._process)

    def __copy__(self) -> "Handle":
        return self

    def __reduce_ex__(self, _: Any) -> Any:
        raise error(3, "%s: is of this process, and is neither copied nor saved: make another one "
                    "where it is wanted, and keep numbers and state_dict()s in checkpoints"
                    % type(self).__name__)

    def _pointer(self) -> ctypes.c_void_p:
        """FAILED_PRECONDITION after a fork, and once the handle is freed."""
        if os.getpid() != self._process:
            raise error(9, "%s: belongs to process %d, and this is its fork %d: open another one "
                        "here, or start workers before it"
                        % (self._kind, self._process, os.getpid()),
                        "", "FORKED")
        if self._given_up or not self._finalize.alive:
            raise error(9, "%s: has been freed" % self._kind, "", "FREED")
        return self._held

    def _call(self, name: str, *arguments: Any) -> None:
        """dpledger_`kind`_`name`; a second thread is refused (FAILED_PRECONDITION) unless the
        handle is shared."""
        self._pointer()
        if self._shared:
            return self._call_shared(name, *arguments)
        # This thread, or none that is known, still has it where an interrupt came before a call or
        # after it. (The library itself refuses a second thread, too.)
        own = threading.get_ident()
        if not self._alone.acquire(blocking=False) and self._user not in (0, own):
            raise error(9, "%s: is in use by another thread" % self._kind, "", "IN_USE")
        self._user = own
        try:
            call("%s_%s" % (self._kind, name), self._pointer(), *arguments)
        finally:
            self._user = 0
            with contextlib.suppress(RuntimeError):
                self._alone.release()

    def _call_shared(self, name: str, *arguments: Any) -> None:
        with self._counting:
            pointer = self._pointer()
            self._calls += 1
        try:
            call("%s_%s" % (self._kind, name), pointer, *arguments)
        finally:
            with self._counting:
                self._calls -= 1
                last = self._given_up and self._calls == 0
            if last:
                self._finalize()

    def _give_up(self) -> None:
        """Frees it now, or when the last call of another thread has ended; nothing happens the
        second time."""
        if os.getpid() != self._process:
            return
        if self._shared:
            with self._counting:
                self._given_up = True
                if self._calls > 0:
                    return
        if self._alone.acquire(blocking=False):
            try:
                self._finalize()
            finally:
                self._alone.release()
