"""One exact sum over several processes."""
from __future__ import annotations

import ctypes
from typing import Any, Callable, List, Optional, Sequence, Union

import torch
import torch.distributed as distributed

from .. import sums
from .._words import explains
from ..errors import InvalidArgument, WrongType, error
from ..messages import SamplingScheme
from ..recorder import Recorder, Sampler
from .batches import BatchSampler
from .exact_sum import ExactSum, _finish_with


@explains
class SharedSum(ExactSum):
    """An ExactSum that processes make together. Each clips and sums the gradients of its share of a
    sample, exactly; one of them has the ledger, draws the samples and adds the noise, once. All get
    the same noised sums, the bits that one process alone would have.

    parameters, noise_multiplier, max_grad_norm, options: as of ExactSum, the same in every process
    recorder: of the ledger, in one process; None in the others
    group: a torch.distributed group whose backend carries CPU tensors (gloo); None is the default
        group

    `share`, `begin` and `finish` are made by all processes together; an Error in one is an Error in
    all. Shares, and the sums that travel as 64-bit integers before their noise, are as secret as
    the records: the network between the processes must be trusted. torch.distributed does not
    encrypt.
    """

    def __init__(self, parameters: Sequence[Any], noise_multiplier: float,
                 max_grad_norm: Union[float, Sequence[float]], recorder: Optional[Recorder], *,
                 group: Any = None, **options: Any) -> None:
        if not (distributed.is_available() and distributed.is_initialized()):
            raise InvalidArgument("group: torch.distributed must be initialised before, by "
                                  "torch.distributed.init_process_group(\"gloo\", ...)",
                                  field="group")
        if distributed.get_backend(group) == "nccl":
            raise InvalidArgument("group: must carry CPU tensors, got one of nccl: give it "
                                  "torch.distributed.new_group(backend=\"gloo\")", field="group")
        self._group = group
        self._expected: Optional[int] = None  # rows of this process's share
        self._rows = 0
        self._sampler: Optional[BatchSampler] = None
        super().__init__(parameters, noise_multiplier, max_grad_norm,
                         recorder, **options)  # type: ignore[arg-type]

    def _made(self, groups: Sequence[sums.ClipGroup], noise_multiplier: float,
              recorder: Optional[Recorder], **options: Any) -> Any:
        self._share = _Share(groups, noise_multiplier, recorder, self._group, **options)
        return self._share

    def share(self, sampler: Optional[BatchSampler]) -> List[int]:
        """Draws a sample, opens its round, and gives this process's part of it: ascending record
        numbers, one in as many as there are processes. `finish` wants a row for each of them.

        sampler: a batch sampler of dpledger.torch, in the process that has the ledger; None in the
            others. It serves this sum alone
        """
        def drawn() -> List[List[int]]:
            if not isinstance(sampler, BatchSampler):
                raise WrongType("sampler: must be a batch sampler of dpledger.torch in the process "
                                "that has the ledger, got %s" % type(sampler).__name__,
                                field="sampler")
            if self._sampler is None:
                sampler.take()
                self._sampler = sampler
            elif self._sampler is not sampler:
                raise InvalidArgument("sampler: must be the one of the first call", field="sampler")
            records = sampler.draw()
            number = sampler.current()[0]
            self._share.privatizer.begin(sampler.source, number)
            sampler.use(number)
            return [records[place::self._share.processes] for place in range(self._share.processes)]
        self._clear()
        records: List[int] = self._share.scattered(drawn)
        self._expected = len(records)
        return records

    def begin(self, sample: Union[Sampler, SamplingScheme, None],
              draw: Optional[int] = None) -> None:
        """Opens a round on a sample that the processes share in their own way; see
        dpledger.sums.Privatizer.begin. None in the processes that have no ledger."""
        def opened() -> List[None]:
            self._share.privatizer.begin(sample, draw)  # type: ignore[arg-type]
            return [None] * self._share.processes
        self._clear()
        self._share.scattered(opened)

    def add(self, gradients: Sequence[torch.Tensor], norms: Optional[torch.Tensor] = None,
            examples: Optional[int] = None) -> None:
        """As of ExactSum, for examples of this process's share."""
        super().add(gradients, norms, examples)
        first = gradients if isinstance(gradients, torch.Tensor) else gradients[0]
        self._rows += int(first.shape[0] if examples is None else examples)

    def finish(self) -> List[torch.Tensor]:
        """As of ExactSum, in every process."""
        self._share.missing = 0 if self._expected is None else abs(self._rows - self._expected)
        try:
            return super().finish()
        finally:
            self._clear()

    def _clear(self) -> None:
        self._sums, self._expected, self._rows = None, None, 0
        self._share.sum.clear()


class _Share:
    """In the place of an ExactSum's privatizer: this process's sum, and, where the ledger is, that
    privatizer."""

    def __init__(self, groups: Sequence[sums.ClipGroup], noise_multiplier: float,
                 recorder: Optional[Recorder], group: Any, *, allocation: str, threads: int,
                 non_private_seed: Optional[int]) -> None:
        self._group, self.missing = group, 0
        self._records = recorder is not None
        self.processes = distributed.get_world_size(group)
        failed: Optional[Exception] = None
        queries: List[Any] = []
        try:
            self.sum = sums.Sum(groups, noise_multiplier, allocation=allocation, threads=threads)
            self.groups, self.dimension = self.sum.groups, self.sum.dimension
            if recorder is not None:
                self.privatizer = sums.Privatizer(groups, noise_multiplier, recorder,
                                                  allocation=allocation, threads=threads,
                                                  non_private_seed=non_private_seed)
                queries = self.privatizer.queries()
        except Exception as raised:  # the others wait
            failed = raised
        told: List[Any] = [None] * self.processes
        settings = (tuple(groups), noise_multiplier, allocation)
        distributed.all_gather_object(told,
                                      (self._records, distributed.get_rank(), settings, queries,
                                       failed and str(failed)),
                                      group=group)
        if failed is not None:
            raise failed
        for *_, text in told:
            if text is not None:
                raise error(9, "another process failed: %s" % text, "", "PROCESS_FAILED")
        with_ledger = [each for each in told if each[0]]
        if len(with_ledger) != 1:
            raise InvalidArgument("recorder: must be given in one process of the group, got %d"
                                  % len(with_ledger),
                                  field="recorder")
        if any(each[2] != settings for each in told):
            raise InvalidArgument(
                "parameters, noise_multiplier, max_grad_norm: must be the same in every process",
                field="parameters")
        self._source, self._queries = with_ledger[0][1], with_ledger[0][3]

    def queries(self) -> List[Any]:
        return list(self._queries)

    def accumulate_at(self, *arguments: Any) -> None:
        self.sum.accumulate_at(*arguments)

    def add_sums_at(self, address: int, count: int, rows: int) -> None:
        self.sum.add_sums_at(address, count, rows)

    def scattered(self, made: Callable[[], List[Any]]) -> Any:
        """One of the things that the process with the ledger makes; an Error of its own in all of
        them."""
        given: Optional[List[Any]] = None
        failed: Optional[Exception] = None
        if self._records:
            try:
                given = [(True, each) for each in made()]
            except Exception as raised:  # the others wait
                failed = raised
                given = [(False, str(raised))] * self.processes
        mine: List[Any] = [None]
        distributed.scatter_object_list(mine, given, src=self._source, group=self._group)
        if failed is not None:
            raise failed
        good, value = mine[0]
        if not good:
            raise error(9, "the process with the ledger failed: %s" % value, "", "PROCESS_FAILED")
        return value

    def finish_at(self, address: int) -> None:
        values = self.sum.values()
        total = torch.empty(self.dimension + 2, dtype=torch.int64)
        total[:-2] = torch.frombuffer(values, dtype=torch.int64)
        total[-2], total[-1] = self.sum.rows, self.missing
        noised = torch.empty(self.dimension, dtype=torch.float32)
        distributed.reduce(total, self._source, group=self._group)

        def finished() -> List[None]:
            if int(total[-1]):
                self.privatizer.finish()  # without its sum; the ledger keeps the round
                raise InvalidArgument(
                    "gradients: every process must add one row for each record of its "
                    "share, no more and no less",
                    field="gradients")
            _finish_with(self.privatizer, total[:-2], int(total[-2]), noised)
            return [None] * self.processes
        try:
            self.scattered(finished)
        finally:
            total.zero_()
            ctypes.memset(values.buffer_info()[0], 0, 8 * len(values))  # as secret as the gradients
        distributed.broadcast(noised, self._source, group=self._group)
        ctypes.memmove(address, noised.data_ptr(), 4 * self.dimension)
