"""Exact sums of linear layers' gradients without the gradients: from each layer's inputs and its
outputs' errors.

An example's gradient of a linear layer is the sum over its positions t of e_t a_t^T, of the errors
of the layer's outputs and of its inputs. "Ghost clipping" (Li et al. 2022, arXiv 2110.05679; Bu et
al. 2022) takes its norm from two small Gram matrices. Done on floats that is not exact: the norm
cancels, and the clipped sum's rounding mixes records. Here errors and inputs are whole numbers
before anything is multiplied, so that norms and sums are exact. That holds for linear layers; for
others sum per-example gradients (`ExactSum`).
"""
from __future__ import annotations

import math
from typing import Any, List, Optional, Sequence, Tuple, Union

import torch

from .. import _wire, sums
from .._words import explains, hinted
from ..errors import InvalidArgument, WrongType
from ..messages import SamplingScheme
from ..recorder import Recorder, Sampler
from .arithmetic import _bound_and_norm, _check_floats, leaf_sums, row_norms
from .exact_sum import _finish_with

MARGIN = 1 - 2.0 ** -8  # of the bound, for the rounding of errors: utility alone
EXACT = 2.0 ** 26  # that sum_t |e_t| |a_t| of whole numbers must stay below


@hinted()
def ghost_clip_and_sum(inputs: torch.Tensor, errors: torch.Tensor, clip_norm: float, bound: int,
                       resolution: float) -> torch.Tensor:
    """The sum over examples of integer vectors q_b = sum_t e_bt a_bt^T of norm at most `bound`:
    int64 [out, in].

    inputs, errors: [B, T, in] and [B, T, out] of 32- or 16-bit floats
    clip_norm: C; q_b is g_b in units of C / (K - sqrt(in out) / 2), shortened where g_b is longer
        than C
    bound: K, in [1, 2^25]
    resolution: inputs are rounded to multiples of 1 / resolution, a power of two and a public
        constant

    Why it is exact, whatever the gradients. With whole numbers a, e and c = sum_t |e_t| |a_t|
    (norms):
    - Every partial sum of |q_b|^2 = sum_tt' <e_t, e_t'> <a_t, a_t'> is at most c^2 < 2^52, and of
      its inner products at most |e_t| |e_t'| or |a_t| |a_t'|, below 2^52 too where no factor is 0
      (Cauchy, Schwarz): exact in any order.
    - Every partial sum of the total's coordinates is at most the sum of c over examples: exact for
      B <= 2^27.
    - c is found from whole numbers whose sums of squares are exact below 2^53, and seen to be too
      large beyond it (they are computed no smaller than min(true, 2^53)); its own sum does not
      depend on the order (`leaf_sums`).
    An example counts only if c < 2^26 and |q_b|^2 <= K^2; what fails, or is not finite, is replaced
    by zeros.
    """
    bound, clip_norm = _bound_and_norm(bound, clip_norm)
    resolution = _resolution(resolution)
    for name, tensor in (("inputs", inputs), ("errors", errors)):
        _check_floats(tensor, name, 3)
    target = bound - math.sqrt(inputs.shape[2] * errors.shape[2]) / 2
    if not target >= bound / 2:
        raise InvalidArgument("bound: must be at least the root of the gradient's size, got %d"
                              % bound,
                              field="bound")
    with torch.no_grad():
        a = torch.round(inputs.detach().to(torch.float64) * resolution)
        e = errors.detach().to(torch.float64)
        # Norms of floats, each a function of its own example: by them alone a first, perhaps too
        # short, vector is made.
        loose = _sum_of_row(_position_norms(a) * _position_norms(e))[:, None]
        most = torch.full_like(loose, target / clip_norm / resolution)
        first = _rounded(e, torch.minimum(most, torch.full_like(loose, bound * MARGIN) / loose))
        good, square = _judge(a, first, bound)
        # Its exact norm says how long the gradient is; by that a second one, as long as it may be.
        scale = torch.minimum(most, torch.full_like(loose, bound * MARGIN) / loose)
        length = torch.sqrt(square)[:, None] / scale
        second = _rounded(e, torch.minimum(most, torch.full_like(loose, target * MARGIN) / length))
        better, _ = _judge(a, second, bound)
        zero = torch.zeros((), dtype=torch.float64, device=a.device)
        chosen = torch.where(better[:, None, None], second,
                             torch.where(good[:, None, None], first, zero))
        kept = torch.where((better | good)[:, None, None], a, zero)
        rows = kept.shape[0] * kept.shape[1]
        total = chosen.reshape(rows, chosen.shape[2]).t() @ kept.reshape(rows, kept.shape[2])
        return total.to(torch.int64)


def _resolution(value: Any) -> float:
    number = _wire.real(value, "resolution")
    if not (2.0 ** -30 <= number <= 2.0 ** 30 and math.frexp(number)[0] == 0.5):
        raise InvalidArgument("resolution: must be a power of two in [2^-30, 2^30], got %r"
                              % (value,),
                              field="resolution")
    return number


def _position_norms(values: torch.Tensor) -> torch.Tensor:
    """[B, T]: the norm of each position's vector, a function of that vector alone."""
    batch, positions, width = values.shape
    return row_norms([values.reshape(batch * positions, width)]).reshape(batch, positions)


def _sum_of_row(values: torch.Tensor) -> torch.Tensor:
    """[B, T] -> [B], in no order: see `leaf_sums`."""
    sums_ = leaf_sums(values)
    while sums_.shape[1] > 1:
        sums_ = leaf_sums(sums_)
    return sums_[:, 0]


def _rounded(errors: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Errors in whole numbers; NaN where the scale is."""
    return torch.round(errors * scale[:, :, None])


def _judge(a: torch.Tensor, e: torch.Tensor, bound: int) -> Tuple[torch.Tensor, torch.Tensor]:
    """Whether each example's q_b is known exactly and within the bound, and the square of its norm
    if it is."""
    of_a, of_e = (a * a).sum(2), (e * e).sum(2)
    small = ((of_a < 2.0 ** 53) & (of_e < 2.0 ** 53)).all(1)
    c = _sum_of_row(torch.sqrt(of_a) * torch.sqrt(of_e))
    exact = small & (c * (1 + 2.0 ** -20) < EXACT)
    zero = torch.zeros((), dtype=torch.float64, device=a.device)
    # Positions where one of the two is all zeros count for nothing, and may be long in the other.
    alive = (of_a > 0) & (of_e > 0) & exact[:, None]
    a, e = torch.where(alive[:, :, None], a, zero), torch.where(alive[:, :, None], e, zero)
    square = ((a @ a.transpose(1, 2)) * (e @ e.transpose(1, 2))).sum((1, 2))
    return exact & (square <= float(bound) * float(bound)), square


@explains
class GhostSum:
    """Rounds of exact noised sums over linear layers, each clipped on its own, from inputs and
    errors.

    layers: torch.nn.Linear modules; a bias counts as one more input that is always 1
    noise_multiplier: of the whole round; the noise is never less
    max_grad_norm: the clip norm of each layer: one number for all of them, or one for each
    recorder: of the ledger
    resolution: inputs are rounded to multiples of 1 / resolution: a power of two, chosen without
        looking at the data. Finer inputs leave coarser errors

    No per-example gradient is made: memory is that of inputs and errors in float64.
    """

    def __init__(self, layers: Sequence[torch.nn.Linear], noise_multiplier: float,
                 max_grad_norm: Union[float, Sequence[float]], recorder: Recorder, *,
                 resolution: float = 2.0 ** 10, threads: int = 0, allocation: str = "proportional",
                 non_private_seed: Optional[int] = None) -> None:
        self.layers = _wire.listed(layers, "layers", "torch.nn.Linear")
        self.resolution = _resolution(resolution)
        for index, layer in enumerate(self.layers):
            if type(layer) is not torch.nn.Linear:
                raise WrongType("layers[%d]: must be a torch.nn.Linear: norms of other layers' "
                                "gradients are not exact without the gradients; got %s"
                                % (index, type(layer).__name__),
                                field="layers[%d]" % index)
        self._widths = [layer.in_features + (layer.bias is not None) for layer in self.layers]
        norms = (list(max_grad_norm) if _wire.is_many(max_grad_norm)  # type: ignore[arg-type]
                 else [_wire.real(max_grad_norm, "max_grad_norm")] * len(self.layers))
        sizes = [layer.out_features * width for layer, width in zip(self.layers, self._widths)]
        self._privatizer = sums.Privatizer(sums.groups_of(sizes, norms), noise_multiplier, recorder,
                                           threads=threads, allocation=allocation,
                                           non_private_seed=non_private_seed)
        self._sums: Optional[List[torch.Tensor]] = None
        self._rows = 0  # in those sums

    def begin(self, sample: Union[Sampler, SamplingScheme], draw: Optional[int] = None) -> None:
        """Records and opens a round on a sample: see dpledger.sums.Privatizer.begin."""
        self._sums, self._rows = None, 0
        self._privatizer.begin(sample, draw)

    def add(self, pairs: Sequence[Tuple[torch.Tensor, torch.Tensor]]) -> None:
        """Some examples of the round: for each layer its inputs [B, ..., in] and its outputs'
        errors [B, ..., out], 32- or 16-bit floats on one device. Errors are those of the examples'
        own losses, not of their mean.

        Raises WrongType or InvalidArgument, naming the argument, and then adds nothing.
        """
        checked = self._checked(pairs)
        queries, found = self._privatizer.queries(), []
        for index, (inputs, errors) in enumerate(checked):
            layer, group = self.layers[index], self._privatizer.groups[index]
            if layer.bias is not None:
                inputs = torch.nn.functional.pad(inputs, (0, 1), value=1.0)
            found.append(ghost_clip_and_sum(inputs, errors, group.clip_norm,
                                            int(queries[index].l2_norm_bound), self.resolution))
        self._sums = found if self._sums is None else [a + b for a, b in zip(self._sums, found)]
        self._rows += len(checked[0][0])

    def finish(self) -> List[Tuple[torch.Tensor, Optional[torch.Tensor]]]:
        """Waits until the round's event is durable, and returns each layer's noised sums: (weight,
        bias or None), float32 on the host. Divide by the expected batch size. After an Error the
        round is lost."""
        values = torch.empty(self._privatizer.dimension, dtype=torch.float32)
        there, self._sums = self._sums, None
        _finish_with(self._privatizer, None if there is None else torch.cat(
            [part.reshape(-1).cpu() for part in there]), self._rows, values)
        noised: List[Tuple[torch.Tensor, Optional[torch.Tensor]]] = []
        sizes = [layer.out_features * width for layer, width in zip(self.layers, self._widths)]
        for layer, width, part in zip(self.layers, self._widths, values.split(sizes)):
            whole = part.view(layer.out_features, width)
            noised.append((whole[:, :layer.in_features].clone(),
                           whole[:, -1].clone() if layer.bias is not None else None))
        return noised

    def _checked(self, pairs: Sequence[Any]) -> List[Tuple[torch.Tensor, torch.Tensor]]:
        pairs = _wire.listed(pairs, "pairs", "(inputs, errors)")
        if len(pairs) != len(self.layers):
            raise InvalidArgument("pairs: must be %d, one for each layer, got %d"
                                  % (len(self.layers), len(pairs)),
                                  field="pairs")
        checked: List[Tuple[torch.Tensor, torch.Tensor]] = []
        for index, (pair, layer) in enumerate(zip(pairs, self.layers)):
            pair, tensors = _wire.listed(pair, "pairs[%d]" % index, "tensors"), []
            if len(pair) != 2:
                raise InvalidArgument("pairs[%d]: must be (inputs, errors), got %d values"
                                      % (index, len(pair)), field="pairs[%d]" % index)
            for part, (tensor, width) in enumerate(zip(pair,
                                                       (layer.in_features, layer.out_features))):
                where = "pairs[%d][%d]" % (index, part)
                if not isinstance(tensor, torch.Tensor) or tensor.dtype not in (
                        torch.float32, torch.bfloat16, torch.float16):
                    raise WrongType("%s: must be a tensor of 32- or 16-bit floats, got %s" % (
                        where, getattr(tensor, "dtype", type(tensor).__name__)), field=where)
                if tensor.dim() < 2 or tensor.shape[-1] != width:
                    raise InvalidArgument("%s: must have the shape [examples, ..., %d], got %s"
                                          % (where, width, list(tensor.shape)), field=where)
                if tensor.device != pair[0].device or (checked
                                                       and tensor.device != checked[0][0].device):
                    raise InvalidArgument("%s: must be on the device of pairs[0][0], got %s"
                                          % (where, tensor.device),
                                          field=where)
                rows = tensor.shape[0]
                tensors.append(tensor.reshape(rows, math.prod(tensor.shape[1:-1]), width))
            if tensors[0].shape[:2] != tensors[
                    1].shape[:2] or (checked and len(tensors[0]) != len(checked[0][0])):
                raise InvalidArgument(
                    "pairs[%d]: inputs and errors must have the same examples and "
                    "positions, those of pairs[0]" % index,
                    field="pairs[%d]" % index)
            checked.append((tensors[0], tensors[1]))
        return checked
