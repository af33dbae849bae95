"""Rounds of exact sums of per-example gradients, wherever the tensors are."""
from __future__ import annotations

import contextlib
import itertools
import math
import threading
import warnings
from typing import Any, List, Optional, Sequence, Tuple, Union

import torch

from .. import _client, _wire, sums
from .._words import explains
from ..errors import Error, InvalidArgument, WrongType, error
from ..messages import SamplingScheme
from ..recorder import Recorder, Sampler
from .arithmetic import clip_and_sum

FORMATS = {torch.float32: _client.FLOAT32, torch.bfloat16: _client.BFLOAT16,
           torch.float16: _client.FLOAT16}
CHUNK = 1 << 24  # elements of a temporary tensor
# Of rows that are put together for the C library, in memory that is used again: 64 rows of two
# tensors of 500,000 took 33 ms so, and 146 ms in new memory each time.
HOST_CHUNK = 1 << 22


def _clip_groups(given: Any, parameters: int) -> List[Tuple[str, int, float]]:
    """(name, parameters, clip norm) of each group, checked: together all the parameters."""
    found = []
    for index, group in enumerate(_wire.listed(given, "clip_groups", "(name, parameters, norm)")):
        where = "clip_groups[%d]" % index
        one = _wire.listed(group, where, "(name, parameters, norm)")
        if len(one) != 3:
            raise InvalidArgument("%s: must be (name, parameters, norm), got %d values"
                                  % (where, len(one)), field=where)
        found.append((one[0], _wire.whole(one[1], where + "[1]", 1), one[2]))
    if sum(count for _, count, _ in found) != parameters:
        raise InvalidArgument("clip_groups: must be over %d parameters together" % parameters,
                              field="clip_groups")
    return found


def _finish_with(privatizer: Any, sums_: Optional[torch.Tensor], rows: int,
                values: torch.Tensor) -> None:
    """Ends a round with the sums of so many rows besides what it has (none: None), which are wiped.
    If it does not take them it ends without them, and the Error is raised."""
    try:
        if sums_ is not None:
            privatizer.add_sums_at(sums_.data_ptr(), sums_.numel(), rows)
    except Exception:
        with contextlib.suppress(Error):
            privatizer.finish_at(values.data_ptr())
        raise
    finally:
        if sums_ is not None:
            sums_.zero_()
    privatizer.finish_at(values.data_ptr())


@explains
class ExactSum:
    """Sums per-example gradients exactly, round by round, and gives back noised sums. For one
    thread at a time.

    parameters: tensors, or shapes, in the order in which gradients come
    noise_multiplier: of the whole round; the noise is never less
    max_grad_norm: the clip norm C of a whole example, or a sequence with one for each parameter
        (per-layer clipping)
    recorder: of the ledger
    clip_groups: (name, how many parameters, clip norm) of consecutive parameters that are clipped
        together, instead of max_grad_norm
    threads: that clip (CPU tensors) and draw noise; 0 is the caller's alone
    on_device: True sends CPU tensors through `clip_and_sum` too, for tests
    non_private_seed: noise that anyone can compute, for tests only; the ledger says so
    """

    def __init__(self, parameters: Sequence[Any], noise_multiplier: float,
                 max_grad_norm: Union[float, Sequence[float]], recorder: Recorder, *,
                 threads: int = 0, allocation: str = "proportional", on_device: bool = False,
                 clip_groups: Optional[Sequence[Tuple[str, int, float]]] = None,
                 non_private_seed: Optional[int] = None) -> None:
        if self._made is sums.Privatizer and torch.distributed.is_available() and (
                torch.distributed.is_initialized()) and torch.distributed.get_world_size() > 1:
            warnings.warn("recorder: the rounds of each of the %d processes are charged alone; "
                          "dpledger.torch.SharedSum makes one round of all processes' sums"
                          % torch.distributed.get_world_size(), stacklevel=3)
        self.shapes = sums._shapes_of(parameters)
        sizes = [math.prod(shape) for shape in self.shapes]
        if clip_groups is None:
            groups = sums.groups_of(sizes, max_grad_norm)
            counts = [len(sizes) // len(groups)] * len(groups)
        else:
            clip_groups = _clip_groups(clip_groups, len(sizes))
            counts = [count for _, count, _ in clip_groups]
            groups = []
        self._spans = [(end - count, end) for end, count in zip(itertools.accumulate(counts),
                                                                counts)]
        for (name, _, norm), (first, last) in zip(clip_groups or (), self._spans):
            groups.append(sums.ClipGroup(name, sum(sizes[first:last]), norm))
        self._sizes, self._on_device = sizes, on_device
        self._privatizer = self._made(groups, noise_multiplier, recorder, allocation=allocation,
                                      threads=threads, non_private_seed=non_private_seed)
        self._sums: Optional[List[torch.Tensor]] = None
        self._rows_there = 0  # in those sums
        self._room: Optional[torch.Tensor] = None
        self._alone = threading.Lock()
        self._device = torch.device("cpu")

    _made: Any = sums.Privatizer  # SharedSum has another

    @property
    def dimension(self) -> int:
        """Coordinates of an example's gradient."""
        return self._privatizer.dimension

    def queries(self) -> List[Any]:
        """What the ledger will say of the next round."""
        return self._privatizer.queries()

    def begin(self, sample: Union[Sampler, SamplingScheme], draw: Optional[int] = None) -> None:
        """Records and opens a round on a sample: see dpledger.sums.Privatizer.begin."""
        self._sums = None
        self._privatizer.begin(sample, draw)

    def add(self, gradients: Sequence[torch.Tensor], norms: Optional[torch.Tensor] = None,
            examples: Optional[int] = None) -> None:
        """Clips and adds some examples of the round: how they are split into calls does not matter.

        gradients: for each parameter a tensor [B, *shape] of 32- or 16-bit floats, all on one
            device. Rows that are not finite contribute nothing. B may be 0
        norms: [B, groups] float64, if they are known; each a function of its own example and what
            is public
        examples: only the first so many rows are examples; the rest fills a batch of public size

        Raises WrongType or InvalidArgument, naming the argument, and then adds nothing.
        """
        tensors = self._checked(gradients)
        rows = int(tensors[0].shape[0])
        if examples is not None:
            if not 0 <= _client.whole(examples, "examples") <= rows:
                raise InvalidArgument("examples: must be in [0, %d], got %d" % (rows, examples),
                                      field="examples")
            rows = int(examples)
        known = None if norms is None else self._checked_norms(norms, int(tensors[0].shape[0]),
                                                               tensors[0].device)
        on_host = tensors[0].device.type == "cpu" and not self._on_device
        # One tensor alone lies as the C library wants it.
        chunk = HOST_CHUNK if on_host and len(tensors) > 1 else CHUNK
        step = max(1, chunk // self.dimension)
        # Two threads would share the room in which rows are put together, and count an example
        # twice.
        if not self._alone.acquire(blocking=False):
            raise error(9, "sum: is in use by another thread", "", "IN_USE")
        with contextlib.ExitStack() as held, torch.no_grad():
            held.callback(self._alone.release)
            for first in range(0, rows, step):
                last = min(rows, first + step)
                part = [tensor[first:last].detach().reshape(last - first, size)
                        for tensor, size in zip(tensors, self._sizes)]
                some = None if known is None else known[first:last]
                if on_host:
                    self._add_on_host(part, some)
                else:
                    self._add_on_device(part, some)

    def finish(self) -> List[torch.Tensor]:
        """Waits until the round's event is durable, and returns the noised sums: a float32 tensor
        of each parameter's shape, on the gradients' device. Divide by the expected batch size.
        After an Error the round is lost."""
        values = torch.empty(self.dimension, dtype=torch.float32)
        there, self._sums = self._sums, None
        _finish_with(self._privatizer, None if there is None else torch.cat(
            [part.cpu() for part in there]), self._rows_there, values)
        return [part.view(shape).to(self._device) for part, shape in zip(values.split(self._sizes),
                                                                         self.shapes)]

    def _checked(self, gradients: Sequence[torch.Tensor]) -> List[torch.Tensor]:
        if isinstance(gradients, torch.Tensor):
            gradients = [gradients]
        tensors = _wire.listed(gradients, "gradients", "tensors")
        if len(tensors) != len(self.shapes):
            raise InvalidArgument("gradients: must be %d tensors, one for each parameter, got %d"
                                  % (len(self.shapes), len(tensors)), field="gradients")
        for index, (tensor, shape) in enumerate(zip(tensors, self.shapes)):
            where = "gradients[%d]" % index
            if not isinstance(tensor, torch.Tensor):
                raise WrongType("%s: must be a tensor, got %s" % (where, type(tensor).__name__),
                                field=where)
            if tensor.layout != torch.strided or tensor.is_quantized:
                raise WrongType("%s: must be a dense tensor, got layout %s"
                                % (where, tensor.layout),
                                field=where)
            if tensor.dtype not in FORMATS:
                raise WrongType("%s: must be of float32, bfloat16 or float16, got %s%s"
                                % (where, tensor.dtype, "; model.float() and inputs of float32 "
                                   "make such gradients" if tensor.dtype == torch.float64 else ""),
                                field=where)
            if tensor.device.type in ("meta", "mps"):
                raise WrongType("%s: must be on a device with float64 arithmetic, got %s"
                                % (where, tensor.device),
                                field=where)
            if tensor.device != tensors[0].device:
                raise InvalidArgument("%s: must be on %s, as gradients[0] is, got %s"
                                      % (where, tensors[0].device, tensor.device), field=where)
            if tensor.dim() != len(shape) + 1 or tuple(tensor.shape[1:]) != shape:
                raise InvalidArgument("%s: must have the shape [examples, %s], got %s"
                                      % (where, ", ".join(map(str, shape)), list(tensor.shape)),
                                      field=where)
            if tensor.shape[0] != tensors[0].shape[0]:
                raise InvalidArgument("%s: must have %d examples, as gradients[0] has, got %d"
                                      % (where, tensors[0].shape[0], tensor.shape[0]), field=where)
        self._device = tensors[0].device
        return tensors

    def _checked_norms(self, norms: torch.Tensor, rows: int, device: torch.device) -> torch.Tensor:
        groups = len(self._spans)
        if not isinstance(norms, torch.Tensor) or norms.dtype != torch.float64:
            raise WrongType("norms: must be a float64 tensor, got %s"
                            % (norms.dtype if isinstance(norms, torch.Tensor)
                               else type(norms).__name__),
                            field="norms")
        if norms.device != device:
            raise InvalidArgument("norms: must be on %s, as the gradients are, got %s"
                                  % (device, norms.device),
                                  field="norms")
        if groups == 1 and tuple(norms.shape) == (rows,):
            norms = norms[:, None]
        if tuple(norms.shape) != (rows, groups):
            raise InvalidArgument("norms: must have the shape [%d, %d], got %s"
                                  % (rows, groups, list(norms.shape)),
                                  field="norms")
        return norms.detach()

    def _add_on_host(self, part: Sequence[torch.Tensor], norms: Optional[torch.Tensor]) -> None:
        """By the C library, in rows that lie one behind the other."""
        kinds = {tensor.dtype for tensor in part}
        kind = kinds.pop() if len(kinds) == 1 else torch.float32
        if len(part) == 1:
            rows = part[0].contiguous()
        else:
            rows = self._together(kind, part[0].shape[0])
            torch.cat([tensor.to(kind) for tensor in part], 1, out=rows)
        known = None if norms is None else norms.contiguous().view(-1).tolist()
        self._privatizer.accumulate_at(rows.data_ptr(), rows.shape[0], self.dimension,
                                       FORMATS[kind], known)

    def _together(self, kind: torch.dtype, count: int) -> torch.Tensor:
        """Room for `count` rows, of the memory that the call before had."""
        room = self._room
        if room is None or room.dtype != kind or room.shape[0] < count:
            room = self._room = torch.empty((count, self.dimension), dtype=kind)
        return room[:count]

    def _add_on_device(self, part: Sequence[torch.Tensor], norms: Optional[torch.Tensor]) -> None:
        queries = self._privatizer.queries()
        found: List[torch.Tensor] = []
        for g, (first, last) in enumerate(self._spans):
            group, bound = self._privatizer.groups[g], int(queries[g].l2_norm_bound)
            found += clip_and_sum(part[first:last], group.clip_norm, bound, None if norms is None
                                  else norms[:, g])
        if self._sums is None:
            self._sums, self._rows_there = found, 0
        else:
            self._sums = [before + more for before, more in zip(self._sums, found)]
        self._rows_there += int(part[0].shape[0])
