"""Samples for DataLoader, drawn exactly, and each tied to the step that is made on it."""
from __future__ import annotations

import collections
import weakref
from typing import Any, Callable, Deque, Iterator, List, Mapping, NamedTuple, Optional, Set, Tuple

import torch
from torch.utils.data import DataLoader, Sampler as TorchSampler, default_collate

from .. import _client
from .._words import explains, hinted
from ..errors import InvalidArgument, WrongType, error
from ..messages import (DisjointBatches, FullBatch, Poisson, RandomAllocation, SamplingScheme,
                        WithoutReplacement)
from ..recorder import Recorder, Sampler, _recorder_or_none
from . import tape
from .trial import Looks


class Draw(NamedTuple):
    """A sample: its number among the sampler's draws, from 1, and the records that it has."""

    number: int
    records: List[int]


@explains
class BatchSampler(TorchSampler):
    """What batch samplers have in common. A pass over one (`for batch in sampler`, or a
    DataLoader's) gives lists of record numbers; passes go on where the one before was left.

    scheme: how samples are drawn, as the ledger has it
    expected_batch_size: what sums are divided by: a constant, whatever the data are

    It serves one PrivateOptimizer, which takes the draws in their order, one a step. The samples of
    a pass that is left early, and those that workers fetched ahead, are kept for it: the next pass
    begins with the first that had no step.
    """

    # Whether each record is decided by itself, so that records that the data set does not have may
    # be left out.
    _independent = True

    def __init_subclass__(cls) -> None:
        explains(cls)

    def __init__(self, scheme: Any, steps: int, records: Optional[int],
                 recorder: Optional[Recorder], non_private_seed: Optional[int]) -> None:
        _recorder_or_none(recorder)
        self.scheme: SamplingScheme = scheme
        _BY_SCHEME[id(scheme)] = self
        self.steps = steps
        self.records: Optional[int] = None
        if records is not None:
            self.has_records(records, "records")
        self.source = Sampler(scheme, recorder=recorder, non_private_seed=non_private_seed)
        # the number of a sample of this pass that was handed on, and had no step
        self.skipped: Optional[int] = None
        self._taken = False
        # numbers of draws; up to `_free` they were of no optimizer
        self._drawn = self.used = self._free = 0
        self._waiting: Deque[Draw] = collections.deque()  # for the optimizer; ascending
        self._handed: Optional[Draw] = None
        self._pass: Optional[_Pass] = None

    @property
    def population(self) -> int:
        """Record numbers are below it: a public constant."""
        return self.scheme.population_size

    @property
    def expected_batch_size(self) -> float:
        """What sums are divided by: the real size is a secret."""
        return expected_size(self.scheme)

    def __len__(self) -> int:
        """Batches of a pass."""
        return self.steps

    def __iter__(self) -> Iterator[List[int]]:
        return self._begin(self.steps, announced=False)

    def draw(self) -> List[int]:
        """The next sample, for loops without a DataLoader: ascending record numbers, which are
        secret."""
        running = self._pass
        if running is None or running.left is not None:
            running = self._begin(None, announced=False)
        return next(running)

    def has_records(self, records: int, name: str) -> None:
        """Says how many records the data set has. Fewer than `population` are left out of samples,
        where each record is decided by itself."""
        records = _client.whole(records, name)
        if records > self.population:
            # Messages do not say the number of records: it may be a secret.
            raise InvalidArgument(
                "%s: has more records than the sampler's population of %d: choose a "
                "population, a constant, that no data set of this run exceeds"
                % (name, self.population),
                field=name)
        if records != self.population and not self._independent:
            raise InvalidArgument(
                "%s: has another number of records, but a %s makes samples of a public size from "
                "exactly %d" % (name, type(self).__name__, self.population),
                field=name)
        if self.records is not None and self.records != records:
            raise InvalidArgument(
                "%s: has another number of records than the data set that the sampler "
                "serves; make another sampler for it" % name,
                field=name)
        self.records = records

    # ---- What the optimizer asks ----

    def take(self) -> None:
        """From now on the draws are one optimizer's."""
        serve_one(self.source)
        self._taken = True
        self._free = self._handed.number if self._handed is not None else 0

    def current(self) -> Tuple[int, int]:
        """The number and the size of the sample that was handed on last. FAILED_PRECONDITION if
        there is none, or if one before it was passed over."""
        draw = self._handed
        if draw is None:
            raise error(9, "sampler: has given no sample yet: iterate over data_loader(data, "
                        "sampler), or sampler.draw()",
                        "sampler", "NO_SAMPLE")
        if self.skipped is not None:
            raise skipped(self.skipped, draw.number)
        return draw.number, len(draw.records)

    def use(self, number: int) -> None:
        """The draw has its round."""
        self.used = number
        while self._waiting and self._waiting[0].number <= number:
            self._waiting.popleft()

    # ---- What passes ask ----

    def _begin(self, steps: Optional[int], announced: bool) -> _Pass:
        self.skipped = None
        self._pass = _Pass(self, steps, announced)
        return self._pass

    def _after(self, number: int) -> Draw:
        """The first draw after `number` that had no step yet."""
        for kept in self._waiting:
            if kept.number > number:
                return kept
        bound = self.records
        with _client.uninterrupted():
            records = self.source.draw()
            self._drawn += 1
            draw = Draw(self._drawn, records if bound is None or bound == self.population else
                        [record for record in records if record < bound])
            if self._taken:
                self._waiting.append(draw)
        return draw

    def _hand_on(self, draw: Draw, first: bool) -> None:
        before = self._handed
        if self._taken and before is not None and not first and self.skipped is None and (
                before.number > max(self.used, self._free)):
            self.skipped = before.number
        self._handed = draw


class _Pass:
    """One iteration. Another one ends it."""

    def __init__(self, sampler: BatchSampler, left: Optional[int], announced: bool) -> None:
        self.left = left
        self._sampler, self._announced = sampler, announced
        self._last = self._delivered = 0
        self._ahead: Deque[Draw] = collections.deque()  # drawn, and not delivered yet

    def __iter__(self) -> _Pass:
        return self

    def __next__(self) -> List[int]:
        if self._sampler._pass is not self:
            raise error(9,
                        "sampler: another pass over it has begun, which ended this one: one loop "
                        "at a time",
                        "sampler", "PASS_ENDED")
        if self.left is not None:
            if self.left == 0:
                raise StopIteration
            self.left -= 1
        draw = self._sampler._after(self._last)
        self._last = draw.number
        self._ahead.append(draw)
        if not self._announced:
            self.delivered()
        return draw.records

    def delivered(self) -> None:
        """The first of the samples that are on their way is with the loop now."""
        self._sampler._hand_on(self._ahead.popleft(), first=self._delivered == 0)
        self._delivered += 1


_BY_SCHEME: "weakref.WeakValueDictionary[int, BatchSampler]" = weakref.WeakValueDictionary()


def sampler_of(scheme: Any) -> Optional[BatchSampler]:
    """The batch sampler whose own `scheme` this object is, if there is one."""
    found = _BY_SCHEME.get(id(scheme))
    return found if found is not None and found.scheme is scheme else None


def serve_one(sampler: Sampler) -> None:
    """InvalidArgument if the sampler serves an optimizer already."""
    if getattr(sampler, "_serves", False):
        raise InvalidArgument(
            "sampler: serves another PrivateOptimizer: a sample is used once. Several "
            "optimizers on one sample are one: PrivateOptimizer([first, second], ...); "
            "for another run make another sampler",
            field="sampler")
    sampler._serves = True  # type: ignore[attr-defined]


def skipped(number: int, before: int) -> Exception:
    """The error for a sample that had no step when a later one was given."""
    return error(9, "sampler: sample %d was given and passed over, before sample %d: whether a "
                 "sample is used must not depend on it or its size. Step on each, also on an "
                 "empty one (step(empty=True)), or begin a new pass; DataLoader workers need "
                 "dpledger.torch.data_loader" % (number, before),
                 "sampler", "SAMPLE_SKIPPED")


class PoissonBatchSampler(BatchSampler):
    """Each batch has each record with `probability`, independently and exactly.

    population: a public constant, chosen beforehand, that is at least the number of records: record
        numbers are below it. Under add-or-remove-one the number of records is itself a secret.
        Records that the data set does not have are left out, and the others' samples stay what they
        are
    probability: in (0, 1]
    steps: batches of a pass
    records: how many records there are, where no `data_loader` says it
    recorder: as of dpledger.Sampler; one with state_key carries epochs over a kill
    non_private_seed: samples that anyone can predict, for tests only; the ledger says so, and its ε
        is infinite

    Batches are drawn by the C library from the system's randomness; some may be empty, and are
    steps all the same: `data_loader` hands them on. Workers fetch records; indices are drawn in the
    process that iterates.
    """

    def __init__(self, population: int, probability: float, *, steps: int,
                 records: Optional[int] = None, recorder: Optional[Recorder] = None,
                 non_private_seed: Optional[int] = None) -> None:
        scheme = Poisson(_client.real(probability, "probability"),
                         _client.whole(population, "population", 1))
        super().__init__(scheme, _client.whole(steps, "steps", 1), records, recorder,
                         non_private_seed)


class FixedSizeBatchSampler(BatchSampler):
    """Each batch has `batch_size` records, drawn anew without replacement. `population` is the
    number of records, which replace-one and zero-out make public. Under add-or-remove-one it costs
    what Poisson batches with half the noise do.

    Other arguments are those of PoissonBatchSampler.
    """

    _independent = False

    def __init__(self, population: int, batch_size: int, *, steps: int,
                 recorder: Optional[Recorder] = None,
                 non_private_seed: Optional[int] = None) -> None:
        scheme = WithoutReplacement(_part(batch_size, "batch_size", population),
                                    _client.whole(population, "population", 1))
        super().__init__(scheme, _client.whole(steps, "steps", 1), None, recorder, non_private_seed)


class ShuffledBatchSampler(BatchSampler):
    """Epochs of `batches_per_epoch` batches, of nearly equal size, that have each record once; each
    epoch is shuffled anew. Its adjacencies are replace-one and zero-out, which make the number of
    records public: `population` is that number.

    epochs: of a pass

    Other arguments are those of PoissonBatchSampler. An epoch in whose middle a pass is left goes
    on in the next pass.
    """

    _independent = False

    def __init__(self, population: int, batches_per_epoch: int, *, epochs: int = 1,
                 recorder: Optional[Recorder] = None,
                 non_private_seed: Optional[int] = None) -> None:
        batches = _part(batches_per_epoch, "batches_per_epoch", population)
        scheme = DisjointBatches(batches,
                                 population_size=_client.whole(population, "population", 1))
        super().__init__(scheme, batches * _client.whole(epochs, "epochs", 1), None, recorder,
                         non_private_seed)


class AllocatedBatchSampler(BatchSampler):
    """Epochs of `rounds_per_epoch` batches: each record is in one batch of an epoch, chosen
    uniformly and independently of the others, so that batches differ in size and some may be empty.

    population: as of PoissonBatchSampler
    epochs: of a pass

    Other arguments are those of PoissonBatchSampler. An epoch in whose middle a pass is left goes
    on in the next pass.
    """

    def __init__(self, population: int, rounds_per_epoch: int, *, epochs: int = 1,
                 records: Optional[int] = None, recorder: Optional[Recorder] = None,
                 non_private_seed: Optional[int] = None) -> None:
        rounds = _part(rounds_per_epoch, "rounds_per_epoch", population)
        scheme = RandomAllocation(rounds, contributions=1, fixed_bins=False,
                                  population_size=_client.whole(population, "population", 1))
        super().__init__(scheme, rounds * _client.whole(epochs, "epochs", 1), records, recorder,
                         non_private_seed)


class FullBatchSampler(BatchSampler):
    """Every record in each of `steps` batches. Arguments are those of PoissonBatchSampler."""

    def __init__(self, population: int, *, steps: int, records: Optional[int] = None,
                 recorder: Optional[Recorder] = None) -> None:
        scheme = FullBatch(_client.whole(population, "population", 1))
        super().__init__(scheme, _client.whole(steps, "steps", 1), records, recorder, None)


def _part(value: Any, name: str, population: Any) -> int:
    """A whole number in [1, population]."""
    number, most = _client.whole(value, name), _client.whole(population, "population", 1)
    if not 1 <= number <= most:
        raise InvalidArgument("%s: must be in [1, population = %d], got %d" % (name, most, number),
                              field=name)
    return number


def expected_size(scheme: SamplingScheme) -> float:
    """The expected number of records of a sample, of the scheme's constants alone."""
    population = scheme.population_size
    if isinstance(scheme, Poisson):
        return population * scheme.probability
    if isinstance(scheme, WithoutReplacement):
        return float(scheme.sample_size)
    if isinstance(scheme, DisjointBatches):
        return population / scheme.batches_per_epoch
    if isinstance(scheme, RandomAllocation):
        return population * (scheme.contributions or 1) / scheme.rounds_per_epoch
    return float(population)


@hinted()
def refuse_repeats(dataset: Any, field: str) -> None:
    """InvalidArgument for a Subset that has a record several times: no bound on one row bounds
    it."""
    if not isinstance(dataset, torch.utils.data.Subset):
        return
    seen: Set[Any] = set()
    for index in map(int, dataset.indices):
        if index in seen:
            raise InvalidArgument(
                "%s: its Subset has record %d several times, which then counts several times in a "
                "sum; name each record once" % (field, index), field=field)
        seen.add(index)
    refuse_repeats(dataset.dataset, field)


def data_loader(dataset: Any, sampler: BatchSampler, **options: Any) -> DataLoader:
    """A DataLoader over the batches of a batch sampler of this module, which tells the sampler what
    it hands on.

    dataset: with a length, at most the sampler's population
    options: those of DataLoader, but for those that a batch sampler excludes

    An empty batch comes as tensors of no rows, in the lists, tuples and dicts that `collate_fn`
    makes. With workers, spawned or forked, samples are drawn ahead, and steps are tied to those
    that have arrived. A forked worker may not touch the ledger, and is refused.
    """
    if not isinstance(sampler, BatchSampler):
        raise WrongType("sampler: must be a batch sampler of dpledger.torch, such as "
                        "PoissonBatchSampler, got %s%s"
                        % (type(sampler).__name__, "; for a loop of its own: sampler.draw()"
                           if isinstance(sampler, Sampler) else ""),
                        field="sampler")
    if options.get("in_order", True) is not True:
        raise InvalidArgument(
            "in_order: must be True: samples come in the order in which they were drawn",
            field="in_order")
    try:
        records = len(dataset)
    except TypeError:
        raise WrongType("dataset: must have a length and be read by number, got %s"
                        % type(dataset).__name__,
                        field="dataset") from None
    sampler.has_records(records, "dataset")
    refuse_repeats(dataset, "dataset")
    given = options.pop("collate_fn", None)
    collate = _WithEmpty(default_collate if given is None else given, dataset)
    try:
        return _Loader(dataset, sampler, collate_fn=collate, **options)
    except Exception as refused:
        raise InvalidArgument("options: DataLoader refuses them: %s" % refused,
                              field="options") from refused


class _Announced(TorchSampler):
    """The sampler's batches, for a loader that says itself which of them it hands on."""

    def __init__(self, sampler: BatchSampler) -> None:
        self.sampler = sampler

    def __len__(self) -> int:
        return len(self.sampler)

    def __iter__(self) -> Iterator[List[int]]:
        return self.sampler._begin(self.sampler.steps, announced=True)


class _Loader(DataLoader):
    def __init__(self, dataset: Any, sampler: BatchSampler, **options: Any) -> None:
        super().__init__(dataset, batch_sampler=_Announced(sampler), **options)
        self._tied = sampler

    def __iter__(self) -> Any:
        batches = super().__iter__()
        # It may have begun several passes, and reads from the last one.
        return _Delivered(batches, self._tied._pass)


class _Delivered:
    """The batches of one pass; the sampler knows of each when it is handed on."""

    def __init__(self, batches: Any, running: Any) -> None:
        self._batches, self._running, self._failed = batches, running, False
        self._looks, self._tape = Looks(), None  # type: Looks, Any

    def __iter__(self) -> _Delivered:
        return self

    def __len__(self) -> int:
        return len(self._batches)

    def __next__(self) -> Any:
        if self._failed:
            raise error(9, "data_loader: a batch of this pass could not be read, and none is left "
                        "out: begin a new pass",
                        "dataset", "PASS_ENDED")
        try:
            batch = next(self._batches)
        except StopIteration:
            tape.is_left(self._tape)
            raise
        except BaseException:
            self._failed = True
            raise
        self._running.delivered()
        self._tape = tape.batch_is_given(batch, self._looks.at_next())
        return batch

    def __del__(self) -> None:
        """No pass will come of the last batch."""
        tape.is_left(self._tape)


class _WithEmpty:
    """Collates; of no records it makes a batch of no rows. A class, so that spawned workers can be
    given it."""

    def __init__(self, collate: Callable[[Any], Any], dataset: Any) -> None:
        self._collate, self._dataset = collate, dataset

    def __call__(self, batch: List[Any]) -> Any:
        return self._collate(batch) if batch else _no_rows(self._collate([self._dataset[0]]))


def _no_rows(batch: Any) -> Any:
    """A batch of one record without that record."""
    if isinstance(batch, torch.Tensor):
        return batch[:0] if batch.dim() else batch
    if isinstance(batch, Mapping):
        parts = {key: _no_rows(value) for key, value in batch.items()}
        try:
            return type(batch)(parts)  # type: ignore[call-arg]
        except TypeError:
            return parts
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(_no_rows(value) for value in batch))
    if isinstance(batch, (list, tuple)):
        # Of texts or numbers alone it has one for each record.
        parted = any(isinstance(value, (torch.Tensor, Mapping, list, tuple)) for value in batch)
        return type(batch)(_no_rows(value) for value in batch) if parted else type(batch)()
    if batch is None or isinstance(batch, (str, bytes, int, float)):
        return batch
    raise WrongType(
        "collate_fn: makes a %s, of which no empty batch is known; make tensors, lists, "
        "tuples or dicts of them" % type(batch).__name__,
        field="collate_fn")
