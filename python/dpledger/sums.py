"""Exact clipped sums with exact noise, by the C library: what trainers without torch or numpy call,
and those two build upon.

Each row is one example's gradient. It is clipped to an integer vector whose norm is checked in
integers, the integers are added, and exact noise is added to the sum: docs/formats.md, section 3.
dpledger.torch and dpledger.numpy take their arrays; here a row of numbers is anything with the
buffer protocol.
"""
from __future__ import annotations

import array
import ctypes
from dataclasses import dataclass
from typing import Any, List, Optional, Sequence, Tuple, Union

from . import _client, _wire
from ._client import Handle, call
from ._words import explains
from .errors import InvalidArgument, WrongType
from .messages import SamplingScheme, SumQuery
from .recorder import Recorder, Sampler, scheme_struct

NUMBER_FORMATS = {"f": _client.FLOAT32, "e": _client.FLOAT16}  # of the buffer protocol


@explains
@dataclass(frozen=True)
class ClipGroup:
    """Consecutive coordinates that are clipped on their own.

    name: for people, 1 to 200 bytes; all names differ
    size: coordinates
    clip_norm: the greatest L2 norm, in [1e-30, 1e30]
    """

    name: str
    size: int
    clip_norm: float


def _shapes_of(parameters: Any) -> List[Tuple[int, ...]]:
    """The shapes of arrays, or those given in their places."""
    shapes = []
    for index, parameter in enumerate(_wire.listed(parameters, "parameters", "arrays or shapes")):
        where = "parameters[%d]" % index
        shape = getattr(parameter, "shape", parameter)
        shapes.append(tuple(_wire.whole(size, where)
                            for size in _wire.listed(shape, where, "whole numbers")))
    return shapes


def groups_of(
        sizes: Sequence[int], max_grad_norm: Union[float, Sequence[float]]) -> List[ClipGroup]:
    """One group over parameters of these sizes, or, with a clip norm for each, one for each."""
    if not sizes:
        raise InvalidArgument("parameters: must not be empty", field="parameters")
    if not _wire.is_many(max_grad_norm):
        return [ClipGroup("all", sum(sizes), _client.real(max_grad_norm, "max_grad_norm"))]
    norms = list(max_grad_norm)
    if len(norms) != len(sizes):
        raise InvalidArgument(
            "max_grad_norm: must be one number, or one for each of %d parameters, got %d"
            % (len(sizes), len(norms)),
            field="max_grad_norm")
    return [ClipGroup("parameter %d" % i, size, norm) for i, (size, norm) in enumerate(zip(sizes,
                                                                                           norms))]


def _options(groups: Sequence[ClipGroup], noise_multiplier: float, allocation: str,
             microbatches: bool, threads: int) -> Any:
    listed = _wire.listed(groups, "groups", "ClipGroup")
    structs = (_client.ClipGroup * max(1, len(listed)))()
    for index, group in enumerate(listed):
        where = "groups[%d]" % index
        if not isinstance(group, ClipGroup):
            raise WrongType("%s: must be a ClipGroup, got %s" % (where, type(group).__name__),
                            field=where)
        structs[index] = _client.ClipGroup(name=_client.utf8(group.name, where + ".name"),
                                           size=_client.whole(group.size, where + ".size"),
                                           clip_norm=_client.real(group.clip_norm, where
                                                                  + ".clip_norm"))
    return _client.PrivatizerOptions(
        groups=structs, group_count=len(listed),
        noise_multiplier=_client.real(noise_multiplier, "noise_multiplier"),
        allocation=_client.word(allocation, _client.ALLOCATIONS, "allocation"),
        microbatches=_wire.truth(microbatches, "microbatches"),
        threads=_client.whole(threads, "threads"))


def _doubles(values: Any, name: str) -> ctypes.Array:
    """A C array of `values`: numbers, or a buffer of float64."""
    try:
        view = memoryview(values)
        if view.format == "d" and view.c_contiguous:
            return (ctypes.c_double * (view.nbytes // 8)).from_buffer_copy(view.cast("B"))
    except TypeError:
        pass
    try:
        return (ctypes.c_double * len(values))(*values)
    except Exception:
        raise WrongType("%s: must be a sequence of numbers, got %s" % (name, type(values).__name__),
                        field=name) from None


class _Sums(Handle):
    """What a Privatizer and a Sum have in common."""

    dimension: int
    groups: Tuple[ClipGroup, ...]

    def accumulate(self, rows: Any, norms: Optional[Sequence[float]] = None) -> None:
        """Clips the rows and adds them exactly: how they are split into calls does not matter. A
        row with a NaN or an infinity contributes nothing.

        rows: a buffer of 32- or 16-bit floats in C order, of shape [examples, dimension] or a
            multiple of `dimension`
        norms: norms[r * G + g] is that of row r in group g of the G groups, if they are known
            already
        """
        try:
            view = memoryview(rows)
        except TypeError:
            raise WrongType("rows: must be a buffer of floats, got %s" % type(rows).__name__,
                            field="rows") from None
        if view.format not in NUMBER_FORMATS:
            raise WrongType("rows: must be 32- or 16-bit floats, got numbers of format %r"
                            % view.format,
                            field="rows")
        if not view.c_contiguous:
            raise InvalidArgument("rows: must be in C order", field="rows")
        count = view.nbytes // view.itemsize
        if count % self.dimension or (view.ndim > 1 and view.shape
                                      and view.shape[-1] != self.dimension):
            raise InvalidArgument("rows: must be rows of %d numbers, got shape %s"
                                  % (self.dimension, tuple(view.shape or ())), field="rows")
        if count == 0:
            return
        if view.readonly:
            held: Any = ctypes.c_char_p(bytes(view))
            first = ctypes.cast(held, ctypes.c_void_p).value
        else:
            held = (ctypes.c_char * view.nbytes).from_buffer(view.cast("B"))
            first = ctypes.addressof(held)
        self.accumulate_at(first or 0, count // self.dimension, self.dimension,
                           NUMBER_FORMATS[view.format], norms)

    def accumulate_at(self, address: int, count: int, stride: int, number_format: int,
                      norms: Optional[Sequence[float]] = None) -> None:
        """The same for `count` rows at an address, which the caller keeps alive: `stride` numbers
        from the beginning of one to that of the next."""
        rows = _client.GradientRows(first=address, count=count, stride=stride, format=number_format)
        if norms is None:
            self._call("accumulate", ctypes.byref(rows))
            return
        known = _doubles(norms, "norms")
        self._call("accumulate_with_norms", ctypes.byref(rows), known, ctypes.c_size_t(len(known)))

    def add_sums(self, sums: Any, rows: int) -> None:
        """Adds what a Sum with the same groups and multiplier has summed, or a device has.

        sums: a buffer of signed 64-bit integers
        rows: how many rows they are of (`Sum.rows`). A round on a sampler's draw takes no more rows
            than that has records, so that sums that come twice are refused
        """
        try:
            view = memoryview(sums).cast("B").cast("q")
        except (TypeError, ValueError):
            raise WrongType("sums: must be a buffer of 64-bit integers in C order, got %s"
                            % type(sums).__name__,
                            field="sums") from None
        data = (ctypes.c_int64 * len(view)).from_buffer_copy(view)
        try:
            self.add_sums_at(ctypes.addressof(data), len(view), rows)
        finally:
            ctypes.memset(data, 0, ctypes.sizeof(data))  # it is as secret as the gradients

    def add_sums_at(self, address: int, count: int, rows: int) -> None:
        """The same for `count` integers at an address, which the caller keeps alive."""
        self._call("add_sums_of", ctypes.c_void_p(address), ctypes.c_size_t(count),
                   ctypes.c_uint64(_client.whole(rows, "rows")))


class Privatizer(_Sums):
    """Turns the gradients of one sample into a noised sum that is safe to release, and says so in
    the ledger first.

    groups: ClipGroups, 1 (flat clipping) to 4096
    noise_multiplier: of the whole round; the noise is never less
    allocation: how it is shared among groups: "proportional" to clip norms, or for "least-variance"
    microbatches: each row is the mean over a microbatch of records, which doubles what one record
        can change
    threads: that clip and draw noise, at most 256; 0 is the caller's alone. Results do not depend
        on it
    non_private_seed: noise that anyone can compute, for tests only; the ledger says so, and its ε
        is infinite
    """

    def __init__(self, groups: Sequence[ClipGroup], noise_multiplier: float, recorder: Recorder, *,
                 allocation: str = "proportional", microbatches: bool = False, threads: int = 0,
                 non_private_seed: Optional[int] = None) -> None:
        if not isinstance(recorder, Recorder):
            raise WrongType("recorder: must be a dpledger.Recorder, got %s"
                            % type(recorder).__name__,
                            field="recorder")
        self.groups = tuple(_wire.listed(groups, "groups", "ClipGroup"))
        self.microbatches = microbatches
        options, pointer = _options(groups, noise_multiplier, allocation, microbatches,
                                    threads), ctypes.c_void_p()
        if non_private_seed is None:
            call("privatizer_create", ctypes.byref(options), recorder._pointer(),
                 ctypes.byref(pointer))
        else:
            call("privatizer_create_non_private_for_testing", ctypes.byref(options),
                 recorder._pointer(),
                 ctypes.c_uint64(_client.whole(non_private_seed, "non_private_seed")),
                 ctypes.byref(pointer))
        self._hold("privatizer", pointer)
        self.dimension = int(_client.library().dpledger_privatizer_dimension(pointer))

    def queries(self) -> List[SumQuery]:
        """What the ledger will say of the next step: one sum for each group, in units of its
        integer grid."""
        names = {number: word for word, number in _client.NOISES.items()}
        found = []
        for index in range(_client.library().dpledger_privatizer_query_count(self._pointer())):
            query = _client.SumQuery()
            self._call("query", ctypes.c_size_t(index), ctypes.byref(query))
            # type: ignore[arg-type]
            found.append(SumQuery(query.l2_norm_bound, query.noise_stddev, query.group.decode(),
                                  names[query.noise], query.grid))
        return found

    def begin(self, sample: Union[Sampler, SamplingScheme], draw: Optional[int] = None) -> None:
        """Records and opens a round.

        sample: a Sampler: the round is on its draw, and takes no more rows than that has records.
            Or a scheme by which the trainer draws the sample itself: the ledger says that nothing
            ties the round to it. If it is not drawn so, the ledger lies
        draw: the number of the Sampler's draw, from 1, where draws run ahead of rounds; None is the
            last one. Each has one round, and each round but the first takes the draw behind the
            last one's: Error with the reason SAMPLE_SKIPPED if one was passed over, for whether a
            sample is used must not depend on it. An empty one has a round too
        """
        if isinstance(sample, Sampler):
            number = sample.draws if draw is None else _client.whole(draw, "draw", 1)
            self._call("begin_step_on_draw", sample._pointer(), ctypes.c_uint64(number))
        elif draw is not None:
            raise InvalidArgument(
                "draw: goes with a dpledger.Sampler; a stated scheme has no draws", field="draw")
        else:
            self._call("begin_step_by_scheme", ctypes.byref(scheme_struct(sample, "sample")))

    def finish(self) -> array.array:
        """Waits until the round's event is durable, and returns the noised sum, in the gradients'
        units. Divide by the *expected* batch size: the real one is a secret. After an Error the
        round is lost: begin another one."""
        values = array.array("f", bytes(4 * self.dimension))
        self.finish_at(values.buffer_info()[0])
        return values

    def finish_at(self, address: int) -> None:
        """The same into `dimension` 32-bit floats at an address, which the caller keeps alive. They
        are not to be read before it returns."""
        self._call("finish", ctypes.c_void_p(address), ctypes.c_size_t(self.dimension))


class Sum(_Sums):
    """The exact clipped sums of one process's share of a sample, before any noise: a secret.
    Arguments as those of Privatizer, which adds its `values` and is told its `rows`."""

    def __init__(self, groups: Sequence[ClipGroup], noise_multiplier: float, *,
                 allocation: str = "proportional", microbatches: bool = False,
                 threads: int = 0) -> None:
        self.groups = tuple(_wire.listed(groups, "groups", "ClipGroup"))
        options, pointer = _options(groups, noise_multiplier, allocation, microbatches,
                                    threads), ctypes.c_void_p()
        call("sum_create", ctypes.byref(options), ctypes.byref(pointer))
        self._hold("sum", pointer)
        self.dimension = int(_client.library().dpledger_sum_dimension(pointer))

    @property
    def rows(self) -> int:
        """How many rows are in it, as secret as its values."""
        return int(_client.library().dpledger_sum_rows(self._pointer()))

    def values(self) -> array.array:
        """The sums: signed 64-bit integers. They must travel as secretly as gradients."""
        lent, count = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_size_t()
        self._call("values", ctypes.byref(lent), ctypes.byref(count))
        return array.array("q", ctypes.string_at(lent, 8 * count.value))

    def clear(self) -> None:
        """Wipes the sums, for the next step."""
        self._call("clear")
