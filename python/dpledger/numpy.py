"""Exact private sums of numpy arrays.

    total = dpledger.numpy.ExactSum([weights, bias], noise_multiplier=1.1, max_grad_norm=1.0,
    recorder=ledger) total.begin(sampler)
    total.add([weight_gradients, bias_gradients])   # [examples, *shape] each
    noised = total.finish()
"""
from __future__ import annotations

import math
from typing import Any, List, Optional, Sequence, Union

import numpy

from . import _wire, sums
from ._words import explains
from .errors import InvalidArgument, WrongType
from .messages import SamplingScheme
from .recorder import Recorder, Sampler

CHUNK = 1 << 24  # numbers of a temporary array


@explains
class ExactSum:
    """Sums per-example gradients exactly, round by round, and gives back noised sums.

    parameters: arrays, or shapes, in the order in which gradients come
    noise_multiplier: of the whole round; the noise is never less
    max_grad_norm: the clip norm of a whole example, or a sequence with one for each parameter
        (per-layer clipping)
    threads: that clip and draw noise; 0 is the caller's alone
    non_private_seed: noise that anyone can compute, for tests only; the ledger says so
    """

    def __init__(self, parameters: Sequence[Any], noise_multiplier: float,
                 max_grad_norm: Union[float, Sequence[float]], recorder: Recorder, *,
                 threads: int = 0, allocation: str = "proportional",
                 non_private_seed: Optional[int] = None) -> None:
        self.shapes = sums._shapes_of(parameters)
        self._sizes = [math.prod(shape) for shape in self.shapes]
        self._privatizer = sums.Privatizer(sums.groups_of(self._sizes, max_grad_norm),
                                           noise_multiplier, recorder, allocation=allocation,
                                           threads=threads, non_private_seed=non_private_seed)

    @property
    def dimension(self) -> int:
        """Coordinates of an example's gradient."""
        return self._privatizer.dimension

    def begin(self, sample: Union[Sampler, SamplingScheme], draw: Optional[int] = None) -> None:
        """Records and opens a round on a sample: see dpledger.sums.Privatizer.begin."""
        self._privatizer.begin(sample, draw)

    def add(self, gradients: Sequence[numpy.ndarray],
            norms: Optional[numpy.ndarray] = None) -> None:
        """Clips and adds some examples of the round: how they are split into calls does not matter.

        gradients: for each parameter an array [B, *shape] of 32- or 16-bit floats. Rows that are
            not finite contribute nothing. B may be 0
        norms: [B, groups] float64, if they are known; each a function of its own example and what
            is public

        Raises WrongType or InvalidArgument, naming the argument, and then adds nothing.
        """
        arrays = self._checked(gradients)
        rows = arrays[0].shape[0]
        known = None if norms is None else self._checked_norms(norms, rows)
        step = max(1, CHUNK // self.dimension)
        kinds = {array.dtype for array in arrays}
        kind = kinds.pop() if len(kinds) == 1 else numpy.dtype(numpy.float32)
        for first in range(0, rows, step):
            part = [array[first:first + step].reshape(-1, size) for array, size in zip(arrays,
                                                                                       self._sizes)]
            together = numpy.ascontiguousarray(
                part[0] if len(part) == 1 else numpy.concatenate(part, 1), dtype=kind)
            some = None if known is None else known[first:first + step].ravel().tolist()
            self._privatizer.accumulate_at(together.ctypes.data, together.shape[0], self.dimension,
                                           sums.NUMBER_FORMATS[kind.char], some)

    def finish(self) -> List[numpy.ndarray]:
        """Waits until the round's event is durable, and returns the noised sums: a float32 array of
        each parameter's shape. Divide by the expected batch size. After an Error the round is
        lost."""
        values = numpy.empty(self.dimension, numpy.float32)
        self._privatizer.finish_at(values.ctypes.data)
        cuts = numpy.cumsum(self._sizes)[:-1]
        return [part.reshape(shape) for part, shape in zip(numpy.split(values, cuts), self.shapes)]

    def _checked(self, gradients: Sequence[numpy.ndarray]) -> List[numpy.ndarray]:
        arrays = ([gradients] if isinstance(gradients, numpy.ndarray)
                  else _wire.listed(gradients, "gradients", "arrays"))
        if len(arrays) != len(self.shapes):
            raise InvalidArgument("gradients: must be %d arrays, one for each parameter, got %d"
                                  % (len(self.shapes), len(arrays)), field="gradients")
        for index, (array, shape) in enumerate(zip(arrays, self.shapes)):
            where = "gradients[%d]" % index
            if not isinstance(array, numpy.ndarray):
                raise WrongType("%s: must be an array, got %s" % (where, type(array).__name__),
                                field=where)
            if array.dtype.char not in sums.NUMBER_FORMATS or not array.dtype.isnative:
                raise WrongType("%s: must be of float32 or float16, got %s" % (where, array.dtype),
                                field=where)
            if array.ndim != len(shape) + 1 or array.shape[1:] != shape:
                raise InvalidArgument("%s: must have the shape [examples, %s], got %s"
                                      % (where, ", ".join(map(str, shape)), list(array.shape)),
                                      field=where)
            if array.shape[0] != arrays[0].shape[0]:
                raise InvalidArgument("%s: must have %d examples, as gradients[0] has, got %d"
                                      % (where, arrays[0].shape[0], array.shape[0]), field=where)
        return arrays

    def _checked_norms(self, norms: numpy.ndarray, rows: int) -> numpy.ndarray:
        groups = len(self._privatizer.groups)
        if not isinstance(norms, numpy.ndarray) or norms.dtype != numpy.float64:
            raise WrongType("norms: must be a float64 array, got %s"
                            % getattr(norms, "dtype", type(norms).__name__),
                            field="norms")
        if groups == 1 and norms.shape == (rows,):
            norms = norms[:, None]
        if norms.shape != (rows, groups):
            raise InvalidArgument("norms: must have the shape [%d, %d], got %s"
                                  % (rows, groups, list(norms.shape)),
                                  field="norms")
        return norms
