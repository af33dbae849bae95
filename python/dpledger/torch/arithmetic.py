"""Clipping and summing in integers by plain torch operations, exact on any device with float64
arithmetic."""
from __future__ import annotations

import math
from typing import Any, List, Optional, Sequence, Tuple

import torch

from .. import _wire
from .._words import hinted
from ..errors import InvalidArgument, WrongType

MOST_BOUND = 1 << 25  # K; the proofs below need it
_LEAF = 1 << 12  # terms of one exact sum in `row_norms`


def _check_floats(tensor: Any, name: str, dimensions: int) -> None:
    """WrongType or InvalidArgument for anything but a dense tensor of floats and of so many
    dimensions."""
    if not isinstance(tensor, torch.Tensor) or not tensor.is_floating_point() or (
            tensor.layout != torch.strided):
        raise WrongType("%s: must be a dense tensor of floats, got %s"
                        % (name, getattr(tensor, "dtype", type(tensor).__name__)),
                        field=name)
    if tensor.dim() != dimensions:
        raise InvalidArgument("%s: must have %d dimensions, got shape %s"
                              % (name, dimensions, list(tensor.shape)), field=name)


def _bound_and_norm(bound: Any, clip_norm: Any) -> Tuple[int, float]:
    """K and C as numbers in their domains."""
    norm = _wire.real(clip_norm, "clip_norm")
    if not 1e-30 <= norm <= 1e30:
        raise InvalidArgument("clip_norm: must be in [1e-30, 1e30], got %r" % (clip_norm,),
                              field="clip_norm")
    return _wire.whole(bound, "bound", 1, MOST_BOUND), norm


def _checked(blocks: Any) -> List[torch.Tensor]:
    found = _wire.listed(blocks, "blocks", "tensors")
    if not found:
        raise InvalidArgument("blocks: must not be empty", field="blocks")
    for index, block in enumerate(found):
        where = "blocks[%d]" % index
        _check_floats(block, where, 2)
        if block.shape[0] != found[0].shape[0] or block.device != found[0].device:
            raise InvalidArgument("%s: must have the rows and the device of blocks[0]" % where,
                                  field=where)
    return found


@hinted()
def row_norms(blocks: Sequence[torch.Tensor]) -> torch.Tensor:
    """The L2 norm of each row over all blocks, [B] float64, up to a relative 2^-28, at most a
    millionth too small; NaN or infinite where a coordinate is.

    blocks: tensors [B, d_i], widened to float64 exactly from 32- or 16-bit floats

    It is a function of the row's own bits alone. A plain sum is not: how a device adds depends on
    the batch's shape, and with it on other records. Here squares are rounded to a multiple of g =
    2^-40 p, where p is a power of two above the greatest of 4096 of them. Then each is at most 2^40
    g, and all partial sums are at most 2^52 g: exact in any order. The greatest does not depend on
    the order either. The sums of 4096 are added likewise, level by level.
    """
    squares = [leaf_sums(block * block) for block in _checked(blocks)]
    total = torch.cat(squares, 1)
    while total.shape[1] > 1:
        total = leaf_sums(total)
    # A leaf's rounding is at most 4096 · 2^-41 p, and p is at most twice its sum: 2^-28 a level,
    # three levels at most.
    return torch.sqrt(total[:, 0]) * (1 + 2.0 ** -26)


def leaf_sums(values: torch.Tensor) -> torch.Tensor:
    """Sums of consecutive 4096 columns, [B, n] -> [B, ceil(n / 4096)], each rounded before it is
    exact in any order."""
    rows, columns = values.shape
    width = min(_LEAF, max(1, columns))
    missing = -columns % width if columns else 1
    if missing:
        values = torch.nn.functional.pad(values, (0, missing))
    leaves = values.reshape(rows, values.shape[1] // width, width)
    greatest = leaves.amax(2, keepdim=True)  # NaN if one is
    mantissa = torch.frexp(greatest).mantissa
    # exact: a power of two
    power = torch.where(greatest > 0, greatest / mantissa, torch.ones_like(greatest))
    grid = power * 2.0 ** -40
    exact = (torch.round(leaves / grid).sum(2, keepdim=True) * grid)[:, :, 0]
    return torch.where(torch.isfinite(greatest[:, :, 0]), exact, greatest[:, :, 0])


@hinted()
def clip_and_sum(blocks: Sequence[torch.Tensor], clip_norm: float, bound: int,
                 norms: Optional[torch.Tensor] = None) -> List[torch.Tensor]:
    """Each row over all blocks, clipped to an integer vector of norm at most `bound`, summed: int64
    [d_i] a block.

    blocks: tensors [B, d_i] of 32- or 16-bit floats on one device
    clip_norm: C, in [1e-30, 1e30]
    bound: K, in [1, 2^25], at least the square root of the row's dimension D
    norms: [B] float64, if they are known; norms[b] must depend on nothing but row b and what is
        public

    Given norms n, the integers are to the bit those of the C library (docs/formats.md, section
    3.2). The bounds, none of which asks anything of the gradients:

    - Widening to float64 is exact. s <= 2^25 · 1e30 and |x| < 2^128, so |s x| < 1e77: nothing
      overflows.
    - n, s and y = s x matter for accuracy only, as long as they are functions of row b: elementwise
      operations are.
    - A row counts only if all |y| <= K, so that its r = round(y) has r^2 <= K^2 <= 2^50, exact in
      float64, and if the sum q of r^2, as computed, is at most K^2. In any order or tree of
      additions, fused or not, q >= min(true sum, 2^53): rounding is monotone, 2^53 is a float64,
      and whole numbers up to it add exactly (by induction). As K^2 <= 2^50 < 2^53, the comparison
      is that of the integers.
    - NaN and infinite coordinates give s = 0 or |y| <= K false; such a row is replaced by zeros
      (`where`), never multiplied by 0.
    - Sums over rows have partial sums of at most B K <= 2^53 for B <= 2^28: exact in any order.
      Across calls they are 64-bit integers: 2^38 rows.
    - What is checked is what is added: r is private to this call, whatever happens to the gradients
      meanwhile.
    """
    bound, clip_norm = _bound_and_norm(bound, clip_norm)
    blocks = _checked(blocks)
    dimension = sum(block.shape[1] for block in blocks)
    target = bound - math.sqrt(dimension) / 2
    if not target >= bound / 2:
        raise InvalidArgument("bound: must be at least sqrt(%d), got %d" % (dimension, bound),
                              field="bound")
    with torch.no_grad(), _no_autocast(blocks[0].device):
        wide = [block.detach().to(torch.float64) for block in blocks]
        norm = row_norms(wide) if norms is None else norms
        # Two tensors: a number over a tensor is its product with a reciprocal, which is rounded
        # twice.
        scale = torch.full_like(norm, target) / torch.clamp(norm, min=clip_norm)
        scale = torch.nextafter(scale, torch.zeros_like(scale))
        scale = torch.where(torch.isfinite(norm) & (norm >= 0), scale, torch.zeros_like(scale))
        scaled = [block * scale[:, None] for block in wide]
        rounded = [torch.round(y) for y in scaled]
        good = _within(scaled, rounded, bound)
        if not bool(good.all()):  # the one bit of a call that comes to the host
            truncated = [torch.trunc(y) for y in scaled]
            second = _within(scaled, truncated, bound)
            zero = torch.zeros((), dtype=torch.float64, device=scale.device)
            rounded = [torch.where(good[:, None], r, torch.where(second[:, None], t, zero))
                       for r, t in zip(rounded, truncated)]
        return [r.sum(0).to(torch.int64) for r in rounded]


def _within(scaled: Sequence[torch.Tensor], integers: Sequence[torch.Tensor],
            bound: int) -> torch.Tensor:
    """Whether each row's coordinates are within the bound, and its integer vector too: bool [B]."""
    inside = torch.stack([(y.abs() <= bound).all(1) for y in scaled]).all(0)
    squares = torch.stack([(r * r).sum(1) for r in integers])
    # Few parameters: added in their order, in one elementwise sum each.
    total = squares[0]
    for square in squares[1:]:
        total = total + square
    return inside & (total <= float(bound) * float(bound))


def _no_autocast(device: torch.device) -> Any:
    return torch.autocast(device_type=device.type if device.type in ("cuda", "cpu") else "cpu",
                          enabled=False)
