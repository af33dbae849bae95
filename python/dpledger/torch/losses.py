"""Whether the gradients of a loss are of each record by itself, and whether it is their mean or
their sum. Rows of per-example gradients show neither: they are those of each record, given the
others, and by a constant factor all of them are right.
"""
from __future__ import annotations

import sys
import threading
import weakref
from typing import Any, Dict, List, Optional, Set, Tuple

import torch

from ..errors import InvalidArgument
from . import beside
from .tape import Tape
from .functional import tensors

MOST_NODES = 10000  # of a loss's graph that are looked at
_NEAR = 32  # nodes to its top
LIKE = 1e-3  # two factors, up to rounding
_SUMS = frozenset("Sum Mean Cumsum".split())
_MOVE = frozenset("View UnsafeView ReshapeAlias Permute Transpose T Squeeze Unsqueeze Cat Stack "
                  "MaskedFill".split())
_SAY = 'say loss_reduction="%s" to per_example, or make_private'


class Check:
    """A hook on an output's gradient, which refuses losses that take records together, and compares
    how the loss is reduced with what was said, if it was.

    factors: by what each record's cross entropy counted in earlier losses, by the batch's size
    tape: of which the output is that in a place. No other is kept, for it would keep its graph
    """

    def __init__(self, said: Optional[str], output: torch.Tensor, factors: Dict[int, float],
                 tape: Optional[Tape], place: int) -> None:
        self.said, self.output, self.factors = said, output.detach(), factors
        self._tape, self._place = None if tape is None else weakref.ref(tape), place

    def __call__(self, gradient: torch.Tensor) -> None:
        losses = _losses()
        self._refuse_mixing(losses, gradient)
        for loss in losses if self.said is not None else ():
            found = reduction_of(loss)
            if found is not None and found != self.said:
                raise InvalidArgument(
                    'loss_reduction: is "%s", but the loss is a %s over examples: each '
                    'row would be its gradient %s the batch\'s size, which is a secret: %s'
                    % (self.said, found, "times" if self.said == "mean" else "over", _SAY % found),
                    field="loss_reduction")
            if found is None and gradient.dim():
                self._compare_factors(loss, gradient)

    def _refuse_mixing(self, losses: List[torch.Tensor], gradient: torch.Tensor) -> None:
        tape = self._tape and self._tape()
        found = tape and beside.loss_mixes(tape, losses, self._place, gradient)
        if found is not None and found.by_factor:
            raise InvalidArgument(
                "loss_reduction: the loss is a mean over those labels of the batch that are not "
                "ignored (ignore_index, a mask), or over their weights, so that a row depends on "
                'the other records: take reduction="none", a mean for each record, and then '
                ".mean(), or the sum", field="loss_reduction")
        if found is not None:
            raise InvalidArgument(
                "loss: takes the rows of the model's output together%s: they must be records, and "
                "one of them would move the others' gradients. Make it a sum or a mean of losses "
                "that are each of one record"
                % (" (%s)" % found.operation if found.operation else ""), field="loss")

    def _compare_factors(self, loss: torch.Tensor, gradient: torch.Tensor) -> None:
        """Of a sum that is multiplied by a number: whether that follows the size of the batch, as
        it did in earlier ones."""
        size, factor = len(gradient), factor_of(loss, self.output, gradient)
        if factor is None:
            return
        others = [(other, before) for other, before in self.factors.items() if other != size]
        follow = [abs(factor / before * (size / other if self.said == "sum" else 1.0) - 1) < LIKE
                  for other, before in others]
        if len(follow) > 1 and all(follow):  # by chance a schedule's numbers may follow one
            raise InvalidArgument(
                'loss_reduction: is "%s", but the loss is a sum %s: %s'
                % ((self.said, "over the batch's size", "take the sum alone, or " + _SAY % "mean")
                   if self.said == "sum" else
                   (self.said, "over a number that is not the batch's size", _SAY % "sum")),
                field="loss_reduction")
        self.factors[size] = factor


def factor_of(loss: torch.Tensor, output: torch.Tensor, gradient: torch.Tensor) -> Optional[float]:
    """By what each record's cross entropy counts in `loss`, from the gradient of the scores
    `output`; None where the records differ, or where it is another loss."""
    kinds = {_kind(node) for node in _first(loss.grad_fn)}
    wide, scores = gradient.double(), output.double()
    if "NllLoss" in kinds and "LogSoftmax" in kinds and scores.dim() == 2:
        # A gradient is f (p - 1) at the label and f p elsewhere.
        at, label = wide.min(1)
        found = -at / (1 - scores.softmax(1).gather(1, label[:, None])[:, 0])
    elif kinds & {"BinaryCrossEntropyWithLogits", "LogSigmoid"}:
        found = torch.where(wide > 0, wide / scores.sigmoid(), -wide / (-scores).sigmoid())
    else:
        return None
    found = found[torch.isfinite(found) & (found > 0)]
    if not len(found) or float(found.max() - found.min()) > LIKE * float(found.max()):
        return None
    return float(found.median())


def _first(top: Any) -> List[Any]:
    """The nodes of a graph that are next to its top."""
    found: List[Any] = [top]
    for node in found:
        found += [one for one, _ in node.next_functions if one is not None and one not in found]
        if len(found) >= _NEAR:
            break
    return found


def _kind(node: Any) -> str:
    return str(node.name().split("Backward")[0])


def _reduction(node: Any) -> Optional[int]:
    """Of a loss: 0 is none, 1 the mean and 2 the sum. None where a node is none."""
    found: Optional[int] = getattr(node, "_saved_reduction", None)
    return found


def _dimensions(node: Any) -> List[int]:
    """Along which a node works, counted from the first where that is known; none: along all."""
    saved = getattr(node, "_saved_dim", getattr(node, "_saved_dims", None))
    dimensions = [saved] if isinstance(saved, int) else list(saved or ())
    sizes = getattr(node, "_saved_self_sym_sizes", getattr(node, "_saved_self_sizes", ()))
    signed = [d - (1 << 64) if d >= 1 << 63 else d for d in dimensions]
    return [d + len(sizes) if d < 0 else d for d in signed]


def reduction_of(loss: torch.Tensor) -> Optional[str]:
    """"mean" or "sum": how `loss` is made of its examples, by the first reduction on each
    way from it; None where that cannot be told."""
    found: Set[Optional[str]] = set()
    waiting: List[Any] = [loss.grad_fn]
    seen: Set[Any] = set()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if len(seen) > MOST_NODES:
            return None
        if _kind(node) in ("Mul", "Div"):
            found.add(None)  # by the batch's size it would turn one into the other
            continue
        here = _reduces(node)
        if here is not None:
            found.add(_of_records(node, here))
        else:
            waiting += [following for following, _ in node.next_functions if following is not None]
    return found.pop() if len(found) == 1 else None


def _of_records(node: Any, word: str) -> Optional[str]:
    """`word`, of the reduction `node`; but that of the one below it which is over the records,
    where this one is over classes alone. None where it is of one record."""
    linear = True
    for _ in range(MOST_NODES):
        following = [one for one, _ in node.next_functions if one is not None]
        if len(following) != 1:
            break
        node = following[0]
        kind = _kind(node)
        if kind in ("Select", "Unbind", "Index") and 0 in (_dimensions(node) or [0]):
            return None
        linear = linear and (kind in _SUMS or kind in _MOVE)
        if linear and kind in ("Sum", "Mean") and 0 in _dimensions(node):
            word = kind.lower()
    return word


def _reduces(node: Any) -> Optional[str]:
    """Whether a node of a graph takes the mean or the sum over the first dimension."""
    kind, reduction = _kind(node), _reduction(node)
    if reduction in (1, 2):
        return "mean" if reduction == 1 else "sum"
    word = {"Mean": "mean", "Sum": "sum"}.get(kind)
    if word is None:
        return None
    sizes = getattr(node, "_saved_self_sizes", getattr(node, "_saved_self_sym_sizes", None))
    if sizes is not None and len(sizes) == 0:
        return None  # of what is reduced already
    dimensions = _dimensions(node)
    return word if not dimensions or 0 in dimensions else None


def _losses() -> List[torch.Tensor]:
    """The losses whose backward pass calls this."""
    return [loss for tensors, _ in calls() for loss in tensors if loss.grad_fn is not None]


def calls() -> List[Tuple[List[torch.Tensor], List[torch.Tensor]]]:
    """The tensors and the inputs of torch.autograd.backward where that calls this: in this thread,
    or in any where a device's own thread does. (No frame is kept: it would keep itself.)"""
    frames = sys._current_frames()
    return _calls_of(frames.pop(threading.get_ident())) or [
        call for frame in frames.values() for call in _calls_of(frame)]


def _calls_of(frame: Any) -> List[Tuple[List[torch.Tensor], List[torch.Tensor]]]:
    found = []  # checkpointing makes one within another
    while frame is not None:
        if frame.f_code is torch.autograd.backward.__code__:
            found.append((list(tensors(frame.f_locals.get("tensors"))),
                          list(tensors(frame.f_locals.get("inputs")))))
        frame = frame.f_back
    return found
