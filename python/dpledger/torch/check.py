"""Whether a training loop lets out what its ledger does not say: run on neighbouring data sets,
compared to the bit; and on other data, on which it keeps the same where releases are the same.

    dpledger.torch.check(make_model, loop, data)     # loop(model, dataset, ledger)

The loop runs on a data set and on neighbours of it, with one record more or another record in the
place of one. Samples are drawn by the same seeds, and every noised sum that the first run released
is released again in the others: a loop that is what its ledger says then sees the same everywhere.
So everything that it keeps must be equal to the bit, and each round's exact sums may differ by what
the round's queries allow, and only where the record is in the sample. With the same releases it
keeps the same on any data, however far from a neighbour: so a number of the data that one record
hardly moves, a threshold or a rounded size, shows on half of the records or on all of them changed.
"""
from __future__ import annotations

import array
import collections
import contextlib
import copy
import ctypes
import functools
import gc
import io
import logging
import math
import random
import re
import secrets
import shutil
import tempfile
import traceback
import types
import warnings
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import torch

try:
    import numpy
except ImportError:
    numpy = None  # type: ignore[assignment]

from .. import _client
from .._words import hinted
from ..errors import Error, InvalidArgument, WrongType, error
from ..recorder import Recorder

# Of a bound. A matrix product may round a row differently beside other rows (client/CLAIM.md,
# assumption 2), which moves a sum by some 1e-7 of the bound a row; every fault that is looked for
# moves it by a record's part.
ROUNDING = 1e-3
# A record's gradient reaches its clip norm if its features are large: only then does a record that
# counts twice show.
LOUD = 100.0
LONG = 8  # times the length of a text
# Rows are compared up to what a matrix product in 16 bits rounds otherwise beside other rows; one
# over the batch's size is noticed in batches of up to 50.
LIKE = 0.02
MOST_ROWS, MOST_NUMBERS = 512, 1 << 22
HALF, EXCHANGED = "half of the records", "data with each record in another one's place"
SEEDS = 512  # that are looked through for one whose samples have the record that changes


class Checked:
    """What a check found where nothing was wrong.

    rounds: of the loop
    neighbours: data sets that it was compared on
    furthest: the largest distance between two rounds' sums, over what their queries allow: at most
        about 1
    """

    def __init__(self, rounds: int, neighbours: int, furthest: float) -> None:
        self.rounds, self.neighbours, self.furthest = rounds, neighbours, furthest

    def __repr__(self) -> str:
        return "Checked(rounds=%d, neighbours=%d, furthest=%.3f)" % (self.rounds, self.neighbours,
                                                                     self.furthest)


@hinted()
def check(make: Any, loop: Callable[[Any, Any, Recorder], Any], dataset: Any, *,
          neighbours: int = 8, adjacency: str = "add-or-remove-one", loud: bool = True,
          seed: int = 0, **recorder: Any) -> Checked:
    """Runs a training loop on `dataset` and on neighbours of it, and compares what it keeps.

    make: a function that returns a new model, or whatever the loop trains; a torch.nn.Module is
        copied for each run
    loop: loop(model, dataset, ledger) trains it, with samplers and optimizers that it makes itself,
        and returns all else that is kept: optimizers, averages, numbers; None if nothing is. A few
        steps are enough
    dataset: a torch Dataset with a length; tensors or arrays with one record in each row, alone, in
        a tuple or in a dict of columns; or a list of records. At least 2 records
    neighbours: how many neighbouring data sets; every other one has a record with large features.
        Four more runs have the first or another record replaced, half of the records, and each
        record in another one's place
    adjacency: the ledger's. Under "add-or-remove-one" the record that comes or goes is the last
        one; in one more run, if sums do not depend on random numbers, the first
    loud: False leaves out records with 100 times the features of another and a third one's labels
        (or 8 times its text, where lengths differ), and features that are multiplied by -3
    seed: of samples, and of the generators of torch, numpy and random at the beginning of each run
    recorder: other arguments of the ledger's Recorder, such as parameters="adaptive"

    What is kept is what `make` and `loop` return: parameters, buffers, gradients, other attributes
    of modules, states of optimizers, tensors, arrays, numbers, texts, in containers and objects;
    and what the loop prints or logs, which is not shown. Files that it writes are not looked at,
    and time is not. A data set that makes an item out of several records (mixup, hard negatives) is
    to be made within the loop: of any other one, items are what is exchanged. Dropout is off, for
    its masks would differ. Random numbers that a loop draws for a whole batch (augmentation) must
    be drawn for each record. What is not looked at: whether samples that the trainer states, or
    that Opacus' loader gives, are those that a step is on, and are drawn so (answers say that they
    are as stated).

    Raises Error, reason SENSITIVITY, that names the round, the group and the distances, or what was
    kept, and InvalidArgument where the loop cannot be compared: if it draws samples by a sampler
    made outside of it, adds noise of its own, or is not the same when it runs twice on the same
    data.
    """
    if _client.observer is not None:
        raise InvalidArgument("loop: must not call check", field="loop")
    _client.whole(neighbours, "neighbours", 1)
    data = _Data(dataset)
    if data.size < 2:
        raise InvalidArgument("dataset: must have at least 2 records, got %d" % data.size,
                              field="dataset")
    options = dict(recorder, adjacency=adjacency)
    _client.word(adjacency, _client.ADJACENCIES, "adjacency")
    generator = random.Random(seed)
    adds = adjacency == "add-or-remove-one"
    first = data.take(data.size - adds)
    base = run(make, loop, first, seed=seed, **options)
    if adds:
        better = base.seed_with(data.size - 1)
        if better != base.samples_seed:
            base = run(make, loop, first, seed=seed, samples_seed=better, **options)
    moved = run(make, loop, first, like=base, **options).differs(base)
    if moved:
        raise InvalidArgument(
            "loop: is not the same when it runs twice on the same data: %s; seed its "
            "randomness, and make what it needs within it" % "; ".join(moved),
            field="loop")
    furthest, met = 0.0, 0
    for number in range(neighbours):
        place = data.size - 1 if adds else base.place(data.size, generator)
        source = data.size - 1 if number == 0 and adds else generator.randrange(data.size)
        record = data.record(source)
        if loud and number % 2 == (0 if neighbours == 1 else 1):
            record = _loud(record, data.record(generator.randrange(data.size)), -LOUD if number % 4
                           == 3 else LOUD)
        changed = data.take(place if adds else data.size, record, place)
        other = run(make, loop, changed, like=base, place=place, factor=1.0 if adds else 2.0,
                    **options)
        _same_kept(other, base, "a neighbouring data set")
        furthest, met = max(furthest, other.furthest), met + other.met
    if adds and _is_alike(make, loop, first, base, options) and not any(
            each.microbatches for each in base.rounds):  # which are by records' numbers
        place = data.size - 1
        changed = data.take(place, data.record(place), 0, instead=False)
        other = run(make, loop, changed, like=base, place=place, factor=1.0, in_front=True,
                    **options)
        _same_kept(other, base, "data with another record in front")
    for at in ([0, base.place(data.size - 1, generator)] if adds else []):
        record = data.record(generator.randrange(data.size))
        if loud and at == 0:
            record = _loud(record, data.record(generator.randrange(data.size)), LOUD)
        other = run(make, loop, data.take(data.size - 1, record, at), like=base, place=at,
                    factor=2.0, **options)
        _same_kept(other, base, "data with another record in a place")
    for what, changed in data.others(data.size - adds, generator, -3.0 if loud else 1.0):
        if adds or what == EXCHANGED:
            other = run(make, loop, changed, like=base, place=0, factor=math.inf, **options)
            _same_kept(other, base, what)
    if met == 0 and base.rounds:
        raise InvalidArgument(
            "loop: the record that changes was in none of its samples, or had no "
            "gradient, so that nothing was compared; make more steps, sample with a "
            "larger probability, or give more neighbours",
            field="loop")
    return Checked(len(base.rounds), neighbours, furthest)


def _is_alike(make: Any, loop: Any, dataset: Any, base: "Run", options: Dict[str, Any]) -> bool:
    """Whether the sums are the same with other random numbers: else those of a record would be
    another one's where a record comes before it."""
    try:
        other = run(make, loop, dataset, like=base, place=0, factor=math.inf, reseeded=True,
                    **options)
    except Exception:
        return False
    return all(torch.equal(one, two) for a, b in zip(base.rounds, other.rounds)
               for one, two in zip(a.sums, b.sums))


def _same_kept(other: "Run", base: "Run", where: str) -> None:
    moved = other.differs(base)
    if moved:
        raise error(9, "loop: lets out what no round of its ledger holds. On %s, with the same "
                    "releases, %s" % (where, "; ".join(moved)), "loop", "SENSITIVITY")


class _Round(NamedTuple):
    sample: Tuple[Any, ...]  # the scheme, field by field
    queries: Tuple[Any, ...]
    sums: List[torch.Tensor]  # before noise, one for each query
    released: List[bytes]
    rows: Optional[torch.Tensor] = None  # what was clipped and summed, where it is seen
    microbatches: bool = False  # a row is of several records


class _Sampler:
    """A sampler of the loop's, and what it drew."""

    def __init__(self, scheme: Any) -> None:
        self.scheme = scheme
        self.draws: List[List[int]] = []


class _Privatizer:
    """A privatizer of the loop's, with a sum that takes the same rows."""

    def __init__(self, sums: ctypes.c_void_p, sizes: List[int], microbatches: bool) -> None:
        self.sums, self.sizes, self.microbatches = sums, sizes, microbatches
        self.sample: Tuple[Any, ...] = ()
        self.records: Optional[List[int]] = None  # of the open round's sample, where it is known
        self.rows: List[Optional[torch.Tensor]] = []  # of the open round, where they are seen


class Run:
    """One run of a loop: its rounds, and what it kept. It sees every call of the library."""

    def __init__(self, like: Optional["Run"], seed: int, samples_seed: int, place: Optional[int],
                 factor: float, in_front: bool) -> None:
        self.like, self.seed, self.samples_seed = like, seed, samples_seed
        self.changed, self.factor, self.in_front = place, factor, in_front
        self.rounds: List[_Round] = []
        self.samplers: List[_Sampler] = []
        self.privatizers: List[_Privatizer] = []
        self.by_address: Dict[int, Any] = {}  # the last one that was made there
        self.kept: Dict[str, Any] = {}
        self.furthest, self.met = 0.0, 0
        # a round with noise of the loop's own that is not answered yet
        self.own: Optional[Tuple[Any, ...]] = None

    # What the library is called with.

    def __call__(self, name: str, arguments: Sequence[Any]) -> None:
        if self.own is not None and name != "recorder_await_releasable":
            self._refuse_own()
        seen = getattr(self, "_" + name, None)
        if seen is not None:
            seen(arguments)
        else:
            _client.call_library(name, *arguments)
            kind, _, what = name.partition("_")
            if kind == "privatizer" and what in ("accumulate", "accumulate_with_norms",
                                                 "add_sums_of"):
                made = self._made(arguments[0])
                _client.call_library("sum_" + what, made.sums, *arguments[1:])
                made.rows.append(None if what == "add_sums_of" else _rows(arguments[1]._obj,
                                                                       sum(made.sizes)))

    def _made(self, pointer: Any) -> Any:
        """The sampler or privatizer of the loop's at an address of the library's."""
        made = self.by_address.get(pointer.value or 0)
        if made is None:
            raise InvalidArgument(
                "loop: uses a sampler or an optimizer that was made outside of it, and "
                "goes on from run to run; make them within the loop",
                field="loop")
        return made

    def _refuse_own(self) -> None:
        raise InvalidArgument(
            "loop: records a round or a mechanism with noise of its own, which check "
            "cannot release again; it compares loops whose noise is dpledger's, or "
            "dpledger.opacus'",
            field="loop")

    def _recorder_open(self, arguments: Sequence[Any]) -> None:
        raise InvalidArgument(
            "loop: opens a dpledger.Recorder; it must use the ledger that it is given",
            field="loop")

    def _sampler_create(self, arguments: Sequence[Any]) -> None:
        seed = self.samples_seed + len(self.samplers)
        _client.call_library("sampler_create_to_compare", arguments[0],
                             ctypes.c_uint64(seed), arguments[-1])
        self.samplers.append(_Sampler(arguments[0]._obj))
        self.by_address[arguments[-1]._obj.value] = self.samplers[-1]

    _sampler_create_resumable = _sampler_create
    _sampler_create_non_private_for_testing = _sampler_create

    def _sampler_draw(self, arguments: Sequence[Any]) -> None:
        sampler = self._made(arguments[0])
        _client.call_library("sampler_draw", *arguments)
        sample, size = arguments[1]._obj, arguments[2]._obj
        drawn = sample[:size.value] if size.value else []
        sampler.draws.append(drawn)
        if self.in_front:  # the record that the data has in front is drawn where it was the last
            last = self.changed or 0
            moved = sorted(0 if at == last else at + (at < last) for at in drawn)
            for index, at in enumerate(moved):
                sample[index] = at

    def _privatizer_create(self, arguments: Sequence[Any]) -> None:
        _client.call_library("privatizer_create", *arguments)
        options, sums = arguments[0]._obj, ctypes.c_void_p()
        _client.call_library("sum_create", arguments[0], ctypes.byref(sums))
        sizes = [int(options.groups[index].size) for index in range(options.group_count)]
        self.privatizers.append(_Privatizer(sums, sizes, bool(options.microbatches)))
        self.by_address[arguments[-1]._obj.value] = self.privatizers[-1]

    def _privatizer_create_non_private_for_testing(self, arguments: Sequence[Any]) -> None:
        self._privatizer_create((arguments[0], arguments[1], arguments[3]))

    def _begun(self, name: str, arguments: Sequence[Any], scheme: Any,
               records: Optional[List[int]]) -> None:
        _client.call_library(name, *arguments)
        made = self._made(arguments[0])
        made.sample, made.records, made.rows = _fields(scheme), records, []
        _client.call_library("sum_clear", made.sums)

    def _privatizer_begin_step(self, arguments: Sequence[Any]) -> None:
        sampler = self._made(arguments[1])
        self._begun("privatizer_begin_step", arguments, sampler.scheme,
                    (sampler.draws or [None])[-1])

    def _privatizer_begin_step_on_draw(self, arguments: Sequence[Any]) -> None:
        sampler, draw = self._made(arguments[1]), arguments[2].value
        records = sampler.draws[draw - 1] if 0 < draw <= len(sampler.draws) else None
        self._begun("privatizer_begin_step_on_draw", arguments, sampler.scheme, records)

    def _privatizer_begin_step_by_scheme(self, arguments: Sequence[Any]) -> None:
        self._begun("privatizer_begin_step_by_scheme", arguments, arguments[1]._obj, None)

    def _privatizer_finish(self, arguments: Sequence[Any]) -> None:
        made = self._made(arguments[0])
        _client.call_library("privatizer_finish", *arguments)
        queries = []
        for index in range(len(made.sizes)):
            query = _client.SumQuery()
            _client.call_library("privatizer_query", arguments[0], ctypes.c_size_t(index),
                                 ctypes.byref(query))
            queries.append(_fields(query))
        lent, count = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_size_t()
        _client.call_library("sum_values", made.sums, ctypes.byref(lent), ctypes.byref(count))
        total = torch.frombuffer(bytearray(ctypes.string_at(lent, 8 * count.value)),
                                 dtype=torch.int64)
        bounds = [dict(query)["l2_norm_bound"] for query in queries]
        address, size = arguments[1].value, 4 * arguments[2].value
        noised = (ctypes.c_char * size).from_address(address)
        seen = [rows for rows in made.rows if rows is not None]
        rows = torch.cat(seen) if seen and len(seen) == len(made.rows) else None
        answer = self._release(_Round(made.sample, tuple(queries), list(total.split(made.sizes)),
                                      [noised.raw], rows, made.microbatches),
                               bounds, made.records)
        noised.raw = answer[0]

    def _recorder_record_round(self, arguments: Sequence[Any]) -> None:
        _client.call_library("recorder_record_round", *arguments)
        self.own = (_fields(arguments[1]._obj),
                    tuple(_fields(arguments[2][i]) for i in range(arguments[3].value)))

    def _recorder_record_mechanism(self, arguments: Sequence[Any]) -> None:
        self._refuse_own()

    def own_noise(self, sums: List[torch.Tensor], noised: List[torch.Tensor]) -> None:
        """What a round with noise of the loop's own, one query over all tensors, releases:
        `noised`, which gets what the other run released."""
        sample, queries = self.own or ((), ())
        self.own = None
        bound = dict(queries[0])["l2_norm_bound"]
        total = torch.cat([part.detach().reshape(-1).double().cpu() for part in sums])
        released = [_bytes(part) for part in noised]
        answer = self._release(_Round(sample, queries, [total], released), [bound], None)
        for part, values in zip(noised, answer):
            part.copy_(torch.frombuffer(bytearray(values), dtype=part.dtype).view(part.shape))

    # Rounds.

    def _release(
            self, made: _Round, bounds: List[float], records: Optional[List[int]]) -> List[bytes]:
        """Keeps a round, and says what it releases."""
        number = len(self.rounds)
        self.rounds.append(made)
        if self.like is None:
            return made.released
        if number >= len(self.like.rounds):
            raise self._leak(
                "is there in one run only: how many rounds there are depends on the data", number)
        before = self.like.rounds[number]
        if before.sample != made.sample:
            raise self._leak("states its sample by %s, and by %s in the other run: population, "
                             "probability and number of steps must be constants chosen beforehand"
                             % (_difference(before.sample, made.sample),
                                _difference(made.sample, before.sample)),
                             number)
        if before.queries != made.queries or len(before.sums) != len(made.sums):
            raise self._leak("has the queries %s, and %s in the other run"
                             % (_difference(_pairs(before.queries), _pairs(made.queries)),
                                _difference(_pairs(made.queries), _pairs(before.queries))), number)
        if self.factor == math.inf:
            return before.released
        inside = records is None or self.changed in records
        allowed = self.factor if inside else 0.0
        for index, (was, now) in enumerate(zip(before.sums, made.sums)):
            distance = float((now - was).double().norm()) / bounds[index]
            if not distance <= allowed + ROUNDING * (1 + allowed):
                raise self._leak(
                    "has a sum of group %r that moves by %.4g of its bound when one "
                    "record changes%s"
                    % (dict(made.queries[index])["group"].decode(), distance,
                       ", and its query allows %.4g" % allowed if inside
                       else ": the record is not in its sample, and has moved something before"),
                    number)
            self.met += distance > 0
            self.furthest = max(self.furthest, distance / max(allowed, 1.0))
        moved = _moved(before.rows, made.rows)
        # The record itself, if it was there before, or the microbatch that has it, is one.
        if moved > (1 if self.factor > 1 or made.microbatches else 0):
            raise self._leak(
                "has rows of other records that move when one record changes (%d), which on other "
                "data may move the sum by more than its bound: a row must depend on its own record "
                "alone, and not on the batch's size, its weights or its mean (for loss.mean() say "
                'loss_reduction="mean")' % moved,
                number)
        return before.released

    def _leak(self, text: str, number: int) -> Error:
        if self.changed is None:
            return InvalidArgument(
                "loop: is not the same when it runs twice on the same data: round %d %s; "
                "seed its randomness, and make what it needs within it" % (number + 1, text),
                field="loop")
        return error(9, "loop: round %d %s" % (number + 1, text), "loop", "SENSITIVITY")

    # What came of it.

    def finish(self) -> None:
        """After the loop: all of the other run's rounds are here too."""
        if self.own is not None:
            self._refuse_own()
        if self.like is not None and len(self.rounds) < len(self.like.rounds):
            raise self._leak(
                "is there in one run only: how many rounds there are depends on the data",
                len(self.rounds))

    def free(self) -> None:
        """Lets go of the sums."""
        for made in self.privatizers:
            _client.library().dpledger_sum_free(made.sums)

    def differs(self, other: "Run") -> List[str]:
        """What was kept and differs, in words; the first five."""
        found = []
        for path in list(self.kept) + [path for path in other.kept if path not in self.kept]:
            if path not in self.kept or path not in other.kept:
                found.append("%s is there in one run only" % path)
            elif self.kept[path] != other.kept[path]:
                found.append("%s %s" % (path, _change(other.kept[path], self.kept[path])))
        return found[:5] + (["and %d more" % (len(found) - 5)] if len(found) > 5 else [])

    def place(self, size: int, generator: random.Random) -> int:
        """A place of a record that was in a sample."""
        drawn = sorted({index for sampler in self.samplers for sample in sampler.draws
                        for index in sample if index < size})
        return generator.choice(drawn) if drawn else generator.randrange(size)

    def seed_with(self, index: int) -> int:
        """A seed with which the loop's samplers draw the record early, if there is one."""
        for tried in range(self.samples_seed, self.samples_seed + SEEDS):
            for number, sampler in enumerate(self.samplers):
                few = (len(sampler.draws) + 1) // 2
                if few and sampler.scheme.population_size > index and any(
                        index in sample
                        for sample in _samples(sampler.scheme, tried + number, few)):
                    return tried
        return self.samples_seed


def run(make: Any, loop: Callable[[Any, Any, Recorder], Any], dataset: Any, *,
        like: Optional[Run] = None, seed: int = 0, samples_seed: Optional[int] = None,
        place: Optional[int] = None, factor: float = 0.0, in_front: bool = False,
        reseeded: bool = False, **recorder: Any) -> Run:
    """One run of a loop, with the samples and the releases of the run `like`, if there is one.

    place: of the record that differs from that run's data, None if none does
    factor: how many times a query's bound that record may change its sum; infinite for any other
        data
    in_front: that record is the first of this run's data, in the place of the last
    reseeded: with other random numbers from the loop on
    """
    if like is not None:
        seed, samples_seed = like.seed, like.samples_seed
    seen = Run(like, seed, seed if samples_seed is None else samples_seed, place, factor, in_front)
    folder = tempfile.mkdtemp(prefix="dpledger-check-")
    printed = io.StringIO()
    try:
        options = dict(dict(dataset="check", unit="record"), **recorder)
        ledger = Recorder(path=folder + "/ledger", **options)
        try:
            with _same_randomness(seed), _no_dropout(), _printed_to(printed):
                model = copy.deepcopy(make) if isinstance(make, torch.nn.Module) else make()
                if reseeded:
                    _seed(seed + 1)
                _client.observer = seen
                try:
                    kept = loop(model, dataset, ledger)
                    seen.finish()
                except Exception as failed:
                    _let_go(failed)
                    if place is None or isinstance(failed,
                                                   Error) and failed.reason == "SENSITIVITY":
                        raise
                    raise error(9, "loop: raises %s on %s data set, and not on the first: %s"
                                % (type(failed).__name__,
                                   "another" if factor == math.inf else "a neighbouring", failed),
                                "loop", "SENSITIVITY") from failed
                finally:
                    _client.observer = None
            _Keeper(seen.kept).keep(dict(model=model, returned=kept))
            for number, line in enumerate(printed.getvalue().splitlines(), 1):
                seen.kept["line %d of what it prints" % number] = _Leaf("text", line.encode(), line)
            del model, kept
        finally:
            seen.free()
            ledger.leave()
            gc.collect()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return seen


@contextlib.contextmanager
def _printed_to(text: io.StringIO) -> Iterator[None]:
    """What is printed, to whichever stream, or logged, goes to `text`; but for warnings, which
    Python shows in the first of several runs alone."""
    handler, root = logging.StreamHandler(text), logging.getLogger()
    root.addHandler(handler)
    try:
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text), \
                warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        root.removeHandler(handler)


def _let_go(failed: Optional[BaseException]) -> None:
    """Of what the loop had, which holds the ledger open."""
    while failed is not None:
        traceback.clear_frames(failed.__traceback__)
        failed = failed.__cause__ or failed.__context__


def _seed(seed: int) -> None:
    random.seed(seed)
    torch.manual_seed(seed)
    if numpy:
        numpy.random.seed(seed % 2 ** 32)


@contextlib.contextmanager
def _same_randomness(seed: int) -> Iterator[None]:
    """torch, numpy, random and secrets begin with `seed`, and go on afterwards as if nothing had
    been."""
    were = random.getstate(), numpy.random.get_state() if numpy else None, secrets.randbits
    with torch.random.fork_rng(devices=[]):
        _seed(seed)
        secrets.randbits = random.Random(seed).getrandbits
        try:
            yield
        finally:
            random.setstate(were[0])
            if numpy:
                numpy.random.set_state(were[1])
            secrets.randbits = were[2]


@contextlib.contextmanager
def _no_dropout() -> Iterator[None]:
    """A mask for a batch of another size is another mask, for all its records."""
    functional: Any = torch.nn.functional
    names = [name for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout",
                               "feature_alpha_dropout") if hasattr(functional, name)]
    were = {name: getattr(functional, name) for name in names}
    for name in names:
        setattr(functional, name, lambda input, *_, **__: input)
    try:
        yield
    finally:
        for name, was in were.items():
            setattr(functional, name, was)


def _samples(scheme: Any, seed: int, count: int) -> List[List[int]]:
    """What a sampler with that seed draws first."""
    pointer, drawn = ctypes.c_void_p(), []
    _client.call_library("sampler_create_to_compare", ctypes.byref(scheme),
                         ctypes.c_uint64(seed), ctypes.byref(pointer))
    try:
        for _ in range(count):
            sample, size = ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_size_t()
            _client.call_library("sampler_draw", pointer, ctypes.byref(sample), ctypes.byref(size))
            drawn.append(sample[:size.value] if size.value else [])
    finally:
        _client.library().dpledger_sampler_free(pointer)
    return drawn


def _rows(given: Any, dimension: int) -> Optional[torch.Tensor]:
    """The rows that the library is given; None of many, which would be slow to compare."""
    if not 0 < given.count * dimension <= MOST_NUMBERS or given.count > MOST_ROWS:
        return None if given.count else torch.empty((0, dimension), dtype=torch.float64)
    kind = {_client.FLOAT32: torch.float32, _client.BFLOAT16: torch.bfloat16,
            _client.FLOAT16: torch.float16}[given.format]
    numbers = (given.count - 1) * given.stride + dimension
    size = numbers * torch.empty((), dtype=kind).element_size()
    held = torch.frombuffer(bytearray(ctypes.string_at(given.first, size)), dtype=kind)
    return held.as_strided((given.count, dimension), (given.stride, 1)).double()


def _moved(before: Optional[torch.Tensor], now: Optional[torch.Tensor]) -> int:
    """How many rows of one run, but those of zeros, have nothing like them in the other."""
    if before is None or now is None or not len(before) or not len(now):
        return 0
    before, now = torch.nan_to_num(before), torch.nan_to_num(now)
    norms = before.norm(dim=1)
    apart = torch.cdist(before, now, compute_mode="donot_use_mm_for_euclid_dist").min(1).values
    least = 1e-5 * norms.max()
    return int(((norms > least) & (apart > LIKE * norms + least)).sum())


def _fields(struct: Any) -> Tuple[Any, ...]:
    return tuple((name, getattr(struct, name)) for name, _ in struct._fields_
                 if name not in ("struct_size", "reserved"))


def _pairs(queries: Sequence[Tuple[Any, ...]]) -> Tuple[Any, ...]:
    return tuple(("queries[%d].%s" % (index, name), value) for index, query in enumerate(queries)
                 for name, value in query)


def _difference(one: Tuple[Any, ...], other: Tuple[Any, ...]) -> str:
    """The members of `one` that `other` has not."""
    return ", ".join("%s=%r" % pair for pair in one if pair not in other) or "no more"


# Data sets and records.


class _View(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """Some records of another data set, with one more in a place."""

    def __init__(self, dataset: Any, records: List[Any]) -> None:
        self.dataset, self.records = dataset, records

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, index: int) -> Any:
        kind, value = self.records[index]
        return self.dataset[value] if kind == "at" else value

    def __getattr__(self, name: str) -> Any:
        if name in ("dataset", "records") or name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self.dataset, name)
        try:
            is_of_records = not isinstance(value, (str, bytes)) and len(value) == len(self.dataset)
        except TypeError:  # it has no length
            is_of_records = False
        if is_of_records:
            raise InvalidArgument(
                "dataset: the loop reads all its records as .%s, in which check can change none; "
                "give tensors or arrays, or make the data set within the loop" % name,
                field="dataset")
        return value


class _Data:
    """A data set in any of the shapes that check takes."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self.columns: Optional[List[Any]] = None  # torch tensors or numpy arrays
        tensors = getattr(dataset, "tensors", None) if isinstance(
            dataset, torch.utils.data.TensorDataset) else dataset
        if hasattr(tensors, "shape") and hasattr(tensors, "dtype"):
            self.columns = [tensors]
        elif isinstance(tensors, dict) and tensors:
            self.columns = list(tensors.values())
        elif isinstance(tensors, tuple) and tensors and all(hasattr(column, "shape")
                                                            for column in tensors):
            self.columns = list(tensors)
        try:
            sizes = {len(column) for column in (self.columns or [dataset])}
        except TypeError:
            raise WrongType("dataset: must have a length and records, got %s"
                            % type(dataset).__name__,
                            field="dataset") from None
        if len(sizes) != 1:
            raise InvalidArgument("dataset: its columns must have one row for each record, got %s"
                                  % sorted(sizes), field="dataset")
        self.size = sizes.pop()

    def record(self, index: int) -> Any:
        """A record: its row of each column, with a dimension of 1 in front, or what the data set
        gives."""
        if self.columns is None:
            return self.dataset[index]
        return tuple(column[index:index + 1] for column in self.columns)

    def others(self, size: int, generator: random.Random,
               factor: float) -> Iterator[Tuple[str, Any]]:
        """Data sets far from that of the first `size` records, with what they are: half of those,
        and each of them in another one's place, its features times `factor`."""
        yield HALF, self.take(max(1, size // 2))
        order = generator.sample(range(size), size)
        if self.columns is None:
            records = [("is", _loud(self.record(at), self.record(at), factor)) for at in order]
            yield EXCHANGED, ([value for _, value in records] if isinstance(self.dataset, list) else
                              _View(self.dataset, records))
            return
        found = [column[order] for column in self.columns]
        yield EXCHANGED, self._shaped(list(_loud(tuple(found), tuple(found), factor)))

    def take(self, size: int, record: Any = None, at: int = 0, instead: bool = True) -> Any:
        """The same kind of data set with the first `size` records, and `record`, if one is given,
        in place `at`: instead of the one there, or before it."""
        if self.columns is None:
            records = [("at", place) for place in range(size)]
            if record is not None:
                records[at:at + instead] = [("is", record)]
            if isinstance(self.dataset, list):
                return [self.dataset[value] if kind == "at" else value for kind, value in records]
            return _View(self.dataset, records)
        found = [column[:size] for column in self.columns]
        if record is not None:
            found = [_joined([rows[:at], row, rows[at + instead:]])
                     for rows, row in zip(found, record)]
        return self._shaped(found)

    def _shaped(self, found: List[Any]) -> Any:
        """Columns, as the data set has them."""
        if isinstance(self.dataset, torch.utils.data.TensorDataset):
            return torch.utils.data.TensorDataset(*found)
        if isinstance(self.dataset, dict):
            return dict(zip(self.dataset, found))
        return tuple(found) if isinstance(self.dataset, tuple) else found[0]


def _joined(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], torch.Tensor):
        return torch.cat(list(parts))
    return numpy.concatenate(parts)


def _loud(record: Any, other: Any, factor: float) -> Any:
    """A record with large features, and what is no float, such as labels or a text, of another
    one."""
    if isinstance(record, dict):
        return {name: _loud(record[name], other[name], factor) for name in record}
    if isinstance(record, (tuple, list)):
        return type(record)(_loud(one, two, factor) for one, two in zip(record, other))
    if isinstance(record, float) or "float" in str(getattr(record, "dtype", "")):
        return record * factor
    if isinstance(other, torch.Tensor) and other.dim() and record.shape[:1] != other.shape[:1]:
        return torch.cat([other] * LONG)  # texts of any length: this is now the longest
    return other


# What is kept.


class _Leaf(NamedTuple):
    kind: str
    value: bytes
    shown: Any

    def __eq__(self, other: Any) -> bool:
        return bool(self[:2] == other[:2])

    def __ne__(self, other: Any) -> bool:
        return not self == other


def _bytes(tensor: torch.Tensor) -> bytes:
    dense = tensor.detach()
    if tensor.layout != torch.strided:
        dense = dense.to_dense()
    dense = dense.cpu().contiguous()
    return ctypes.string_at(
        dense.data_ptr(), dense.numel() * dense.element_size()) if dense.numel() else b""


def _change(was: _Leaf, now: _Leaf) -> str:
    if was.kind != now.kind:
        return "is a %s, and a %s" % (was.kind, now.kind)
    if "float" in str(getattr(was.shown, "dtype", "")):
        return "moves by %.4g" % float(abs(now.shown - was.shown).max())
    return "is another %s" % was.kind if hasattr(
        was.shown, "dtype") else "is %.60r, and %.60r" % (was.shown, now.shown)


# Of a module: these have names of their own, or no values.
_OF_TORCH = frozenset(vars(torch.nn.Module())) | {"_forward_pre_hooks", "_backward_pre_hooks"}
_NOT_KEPT = (torch.utils.data.DataLoader, torch.utils.data.Dataset, torch.utils.data.Sampler,
             torch.Generator, torch.utils.hooks.RemovableHandle)
_OF_CODE = (type, types.ModuleType, types.BuiltinFunctionType)


def _is_ours(value: Any) -> bool:
    return type(value).__module__.split(".")[0] == "dpledger"


class _Keeper:
    """Walks through what a run kept, and writes down each value under its path."""

    def __init__(self, kept: Dict[str, Any]) -> None:
        self.kept = kept
        self.seen: Dict[int, Any] = {}

    def keep(self, named: Dict[str, Any]) -> None:
        for name, value in named.items():
            self._keep(name, value)

    def _keep(self, path: str, value: Any) -> None:
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            self.kept[path] = _Leaf(type(value).__name__, repr(value).encode(), value)
            return
        if isinstance(value, _NOT_KEPT + _OF_CODE) or type(value).__module__ == "typing":
            return
        if id(value) in self.seen:
            return
        self.seen[id(value)] = value  # and stays alive, so that no other has its number
        if isinstance(value, torch.Tensor):
            self._keep_tensor(path, value)
        elif hasattr(value, "dtype") and hasattr(value, "tobytes"):
            self.kept[path] = _Leaf("array of %s, %s" % (value.dtype, getattr(value, "shape", ())),
                                    value.tobytes(), value)
        elif isinstance(value, torch.nn.Module):
            self._keep_module(path, value)
        elif isinstance(value, dict):
            self.kept[path + " (keys)"] = _Leaf("keys", repr(list(map(str, value))).encode(),
                                                list(map(str, value)))
            for key, held in value.items():
                self._keep("%s[%r]" % (path, key), held)
        elif isinstance(value, (list, tuple, set, frozenset, collections.deque)):
            self.kept[path + " (length)"] = _Leaf("length", str(len(value)).encode(), len(value))
            for index, held in enumerate(value):
                self._keep("%s[%d]" % (path, index), held)
        elif isinstance(value, torch.optim.Optimizer):
            self._keep(path, value.state_dict())
            self._keep(path + ".param_groups", value.param_groups)
            if not _is_ours(value):
                for name, held in vars(value).items():
                    if not name.startswith("_") and name not in ("state", "param_groups"):
                        self._keep("%s.%s" % (path, name), held)
        elif _is_ours(value):
            if hasattr(value, "epsilon") and not callable(value.epsilon):
                self._keep(path, repr(value.epsilon))  # of the ledger, which all may see
        else:
            self._keep_object(path, value)

    def _keep_object(self, path: str, value: Any) -> None:
        if isinstance(value, (types.FunctionType, types.MethodType)):
            # What a closure holds, its defaults, and whose method it is.
            if not str(value.__module__).startswith(("dpledger.", "torch.")):
                self._keep(path + "'s values", [cell.cell_contents
                                                for cell in value.__closure__ or ()
                                                if cell != types.CellType()])
                self._keep(path + "'s defaults", (value.__defaults__, value.__kwdefaults__))
                self._keep(path + "'s object", getattr(value, "__self__", None))
        elif isinstance(value, functools.partial):
            self._keep(path, (value.func, value.args, value.keywords))
        elif hasattr(value, "getvalue"):  # a stream in memory
            self._keep(path, value.getvalue())
        elif isinstance(value, (bytearray, memoryview, array.array)):
            self._keep(path, bytes(value))
        elif isinstance(value, io.IOBase) or type(value).__module__.startswith("torch.utils.data"):
            return  # files, and batches that are still to come
        elif hasattr(value, "__next__"):
            raise InvalidArgument(
                "loop: keeps %s, a %s, into which check cannot look; return what it gives as a list"
                % (path, type(value).__name__),
                field="loop")
        else:
            held = dict(getattr(value, "__dict__", {}))
            for kind in type(value).__mro__:
                slots = getattr(kind, "__slots__", ())
                for name in [slots] if isinstance(slots, str) else slots:
                    if hasattr(value, name):
                        held.setdefault(name, getattr(value, name))
            for name, part in held.items():
                self._keep("%s.%s" % (path, name), part)
            if not held and not callable(value):
                self._keep(path, re.sub("0x[0-9a-f]+", "", repr(value)))

    def _keep_tensor(self, path: str, value: torch.Tensor) -> None:
        kind = "tensor of %s, %s" % (value.dtype, list(value.shape))
        self.kept[path] = _Leaf(kind, _bytes(value), value.detach().clone())
        if value.is_leaf and value.grad is not None:
            self._keep(path + ".grad", value.grad)
        for name, held in vars(value).items():
            self._keep("%s.%s" % (path, name), held)

    def _keep_module(self, path: str, module: torch.nn.Module) -> None:
        for name, part in module.named_modules():
            where = "%s.%s" % (path, name) if name else path
            self.seen[id(part)] = part
            for own, tensor in list(part._parameters.items()) + list(part._buffers.items()):
                self._keep("%s.%s" % (where, own), tensor)
            for own, held in vars(part).items():
                if own not in _OF_TORCH:
                    self._keep("%s.%s" % (where, own), held)
