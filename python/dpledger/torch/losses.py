"""What the graph of a loss says of it: whether it takes records together, and whether it is their
mean or their sum. Rows of per-example gradients show neither: they are those of each record, given
the others, and by a constant factor all of them are right.

From the loss down to the outputs there is one sum or mean over records: only linear operations may
be above it, and none below it may take records together. An operation that is not known here is let
pass.
"""
from __future__ import annotations

import sys
import threading
from typing import Any, Dict, List, Optional, Set, Tuple

import torch

from ..errors import InvalidArgument
from .trial import tensors

MOST_NODES = 10000  # of a loss's graph that are looked at
LIKE = 1e-3  # two factors, up to rounding
_SOME = 64  # cross entropies that are looked at, of one batch
_MARK = "dpledger: an output with records in its rows"
# Operations, by the names that autograd has for them. Each number by itself, not linearly:
_CURVED = frozenset("Sqrt Rsqrt Exp Expm1 Log Log1P Log2 Log10 Pow Square Reciprocal Abs Relu "
                    "Clamp ClampMin ClampMax Sigmoid LogSigmoid Tanh Softplus Gelu Silu".split())
# Numbers along a dimension together: linearly, and not.
_SUMS = frozenset("Sum Mean Cumsum".split())
_TOGETHER = frozenset("Softmax LogSoftmax Logsumexp Logcumsumexp Std Var Norm LinalgVectorNorm Max "
                      "Min Amax Amin Prod Topk Sort Kthvalue Median Nanmedian".split())
_BINARY = frozenset("Add Sub Rsub Mul Div".split())
_BY_NUMBER = _CURVED | _BINARY | frozenset("Neg Clone ToCopy Where Expand".split())
_MOVE = frozenset("View UnsafeView ReshapeAlias Permute Transpose T Squeeze Unsqueeze Cat Stack "
                  "MaskedFill".split())
_SELECT = frozenset("Select Slice Gather IndexSelect".split())
_ELSEWHERE = frozenset("Flip Gather IndexSelect".split())  # put other rows in the places of records
_END = (1 << 63) - 1  # of a slice that has none
# Each row with each other one:
_PAIRS = frozenset("Mm Pdist".split())
_PRODUCTS = frozenset("Mm Addmm".split())
_OWN = frozenset("Diag Diagonal Trace".split())  # of those, what each row has with itself
# What is known of a node's numbers: that records are in its rows (others in their places; each in
# its own; with a new dimension behind them), or behind a new first dimension; or only that all are
# in it; or that each record is with others.
_OTHERS, _ROWS, _FIRST, _SECOND, _ALL, _UNKNOWN, _CROSSED = 5, 4, 3, 2, 1, 0, -1
_PLACES = {_OTHERS: 0, _ROWS: 0, _FIRST: 0, _SECOND: 1}  # of the records' dimension
_SAY = 'say loss_reduction="%s" to per_example, or make_private'
WEIGHTED, IGNORING = "mean of weighted classes", "mean of what is not ignored"


class Earlier:
    """What losses before, of one model, were like: by what each record's cross entropy counts, by
    the batch's size, and the numbers of those that a mean was over."""

    def __init__(self) -> None:
        self.factors: Dict[int, float] = {}
        self.counted: Set[int] = set()


class Check:
    """A hook on an output's gradient, which refuses losses that take records together, and compares
    how the loss is reduced with what was said, if it was. Per-example gradients cannot show it: by
    a constant factor all of them are right. It holds no tensor with a graph, so that none is
    kept."""

    def __init__(self, said: Optional[str], output: torch.Tensor, earlier: Earlier,
                 examples: Optional[int] = None) -> None:
        self.said, self.output, self.earlier = said, output, earlier
        self.examples = examples if examples is not None else len(output) if output.dim() else 1

    def __call__(self, gradient: torch.Tensor) -> None:
        for loss in _losses():
            operation = mixes(loss, self.examples)
            if operation is not None:
                raise InvalidArgument(
                    "loss: takes the rows of the model's output together (%s): they must be "
                    "records, and one of them would move the others' gradients. Make it a sum or a "
                    "mean of losses that are each of one record" % operation, field="loss")
            if self.said is None:
                continue
            found = reduction_of(loss)
            counted = _counted(loss, self.output, gradient)
            if counted:  # a constant is one over their number in one batch, by chance
                self.earlier.counted.add(counted)
            if (found == "mean" and _ignores(loss, self.output, gradient)
                    or counted and len(self.earlier.counted) > 1):
                found = IGNORING
            if found in (WEIGHTED, IGNORING):
                raise InvalidArgument(
                    "loss_reduction: the loss is a mean over %s, so that a row depends on the "
                    'other records: take reduction="none", a mean for each record, and then '
                    '.mean(), or the sum'
                    % ("the weights of the batch's classes" if found == WEIGHTED else
                       "those labels of the batch that are not ignored (ignore_index, a mask)"),
                    field="loss_reduction")
            if found is not None and found != self.said:
                raise InvalidArgument(
                    'loss_reduction: is "%s", but the loss is a %s over examples: each '
                    'row would be its gradient %s the batch\'s size, which is a secret: %s'
                    % (self.said, found, "times" if self.said == "mean" else "over", _SAY % found),
                    field="loss_reduction")
            if found is None and gradient.dim():
                self._compare_factors(loss, gradient)

    def _compare_factors(self, loss: torch.Tensor, gradient: torch.Tensor) -> None:
        """Of a sum that is multiplied by a number: whether that follows the size of the batch, as
        it did in earlier ones."""
        size, factor = len(gradient), factor_of(loss, self.output, gradient)
        if factor is None:
            return
        others = [(other, before) for other, before in self.earlier.factors.items()
                  if other != size]
        follow = [abs(factor / before * (size / other if self.said == "sum" else 1.0) - 1) < LIKE
                  for other, before in others]
        if len(follow) > 1 and all(follow):  # by chance a schedule's numbers may follow one
            raise InvalidArgument(
                'loss_reduction: is "%s", but the loss is a sum %s: %s'
                % ((self.said, "over the batch's size", "take the sum alone, or " + _SAY % "mean")
                   if self.said == "sum" else
                   (self.said, "over a number that is not the batch's size", _SAY % "sum")),
                field="loss_reduction")
        self.earlier.factors[size] = factor


def factor_of(loss: torch.Tensor, output: torch.Tensor, gradient: torch.Tensor) -> Optional[float]:
    """By what each record's cross entropy counts in `loss`, from the gradient of the scores
    `output`; None where the records differ, or where it is another loss."""
    kinds = {_kind(node) for node in _known(loss.grad_fn)}
    wide, scores = gradient.double(), output.double()
    if "NllLoss" in kinds and "LogSoftmax" in kinds and scores.dim() == 2:
        found = _factors(wide, scores)[0]
    elif kinds & {"BinaryCrossEntropyWithLogits", "LogSigmoid"}:
        found = torch.where(wide > 0, wide / scores.sigmoid(), -wide / (-scores).sigmoid())
    else:
        return None
    found = found[torch.isfinite(found) & (found > 0)]
    if not len(found) or float(found.max() - found.min()) > LIKE * float(found.max()):
        return None
    return float(found.median())


def _below(node: Any) -> Any:
    """What a node is of, but for other views of it; None if that cannot be told."""
    below = node.next_functions[0][0]
    while below is not None and "View" in below.name():
        below = below.next_functions[0][0]
    return below


def _ignores(loss: torch.Tensor, output: torch.Tensor, gradient: torch.Tensor) -> bool:
    """Whether the loss is a cross entropy that leaves out labels of its mean: their outputs'
    gradient is 0 over all classes, as another one's is only if it is as good as certain."""
    node: Any = loss.grad_fn
    while node is not None and not node.name().startswith("NllLoss"):
        following = [one for one, _ in node.next_functions if one is not None]
        node = following[0] if len(following) == 1 else None  # a view of it, say
    if (node is None or node._saved_reduction != 1 or gradient.dim() < 2 or not gradient.numel()
            or gradient.dtype == torch.float16):  # which rounds to 0
        return False
    inner = _below(node)
    of_scores = inner is not None and inner.name().startswith("LogSoftmax")
    classes = -1
    if node.name().startswith("NllLoss2D"):
        if not of_scores or gradient.dim() < 3:
            return False
        before = _below(inner)
        moved = before is not None and before.name().startswith(("Transpose", "Permute"))
        classes = -1 if moved else 1
    left_out = (gradient == 0).all(dim=classes)
    if of_scores:
        left_out &= output.float().softmax(classes).amax(classes) < 0.999
    return bool(left_out.any())


def _counted(loss: torch.Tensor, output: torch.Tensor, gradient: torch.Tensor) -> int:
    """How many cross entropies of the batch count, as a mask has it, if the loss is like their
    mean, and records have not as many; else 0. Each then counts by one over their number, which is
    seen of some of them."""
    kinds = {_kind(node) for node in _known(loss.grad_fn)}
    if gradient.dim() < 2 or gradient.dtype != torch.float32 or "LogSoftmax" not in kinds:
        return 0
    for classes in {1, gradient.dim() - 1}:
        count = (gradient != 0).any(classes)
        of_records = count.flatten(1).sum(1) if count.dim() > 1 else count
        some = [place.flatten()[:_SOME] for place in count.nonzero(as_tuple=True)]
        if bool((of_records == of_records[:1]).all()) or not len(some[0]):
            continue
        wide, scores = (tensor.movedim(classes, -1)[tuple(some)].double()
                        for tensor in (gradient, output))
        factors, others = _factors(wide, scores)
        factors = factors[others > 0.1]
        if len(factors) and float(factors.max() - factors.min()) < LIKE * float(factors.max()) and (
                abs(1 / float(factors.median()) - int(count.sum())) < 0.25):
            return int(count.sum())
    return 0


def _factors(gradient: torch.Tensor, scores: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    """By what each row's cross entropy counts, from its gradient, which is f (p - 1) at the label
    and f p elsewhere; and the p of what is not the label, at which f is read."""
    at, label = gradient.min(1)
    others = 1 - scores.softmax(1).gather(1, label[:, None])[:, 0]
    return -at / others, others


def mark(output: torch.Tensor) -> None:
    """Lets `mixes` know an output whose rows are records."""
    if output.grad_fn is not None:
        output.grad_fn.metadata[_MARK] = output.dim()


def mixes(loss: torch.Tensor, examples: int) -> Optional[str]:
    """The name of an operation by which `loss` makes one record's gradient depend on others; None
    if none is seen. `examples` are in the rows of marked outputs."""
    known = _known(loss.grad_fn) if examples > 1 else {}
    waiting: List[Tuple[Any, bool]] = [(loss.grad_fn, False)]  # and if what comes after is curved
    seen: Set[Any] = set()
    own: Set[Any] = set()
    while waiting:
        node, curved = waiting.pop()
        if node not in known or (node, curved) in seen or node.metadata.get(_MARK):
            continue
        seen.add((node, curved))
        kind = _kind(node)
        below = [one for one, _ in node.next_functions if one in known]
        over = _is_over_records(node, min((known[one] for one in below), default=_UNKNOWN))
        crossed = known[node] == _CROSSED and all(known[one] != _CROSSED for one in below)
        if over and (curved or kind in _TOGETHER) or crossed or below and _is_of_batch(node):
            return kind
        for one in below:
            if _is_of_pairs(one, node, known, examples):
                return _kind(one)
        pairs = kind in _PAIRS and len(below) == len(node.next_functions)
        if pairs and all(known[one] for one in below) and node not in own:
            return kind
        if kind in _OWN:
            own.update(below)
        curved |= (kind in _CURVED or kind in _TOGETHER or pairs
                   or (_reduction(node) is not None and kind != "NllLoss")
                   or (kind == "Mul" and len(below) > 1)
                   or (kind == "Div" and node.next_functions[1][0] in known))
        waiting += [(one, curved) for one in below]
    return None


def _is_of_pairs(node: Any, above: Any, known: Dict[Any, int], examples: int) -> bool:
    """Whether a node takes each record with each other one: a product of matrices without a batch
    (einsum's), which the view above it shows; distances between rows."""
    if not all(one in known for one, _ in node.next_functions):
        return False
    if _kind(node) in ("Cdist", "EuclideanDist"):
        marks = [one.metadata[_MARK] for one in known if _MARK in one.metadata]
        return max(marks) <= 2 and all(known[one] >= _ROWS for one, _ in node.next_functions)
    sizes = getattr(above, "_saved_self_sym_sizes", ())
    return (_kind(node) == "Bmm" and len(sizes) == 3 and sizes[0] == 1
            and all(size % examples == 0 for size in sizes[1:]))


def _is_of_batch(node: Any) -> bool:
    """Whether a node puts other rows beside each one: by the batch's statistics, or in turn."""
    return (getattr(node, "_saved_training", False) is True and "BatchNorm" in _kind(node)
            or _kind(node) == "Roll" and 0 in getattr(node, "_saved_dims", (0,)))


def _kind(node: Any) -> str:
    return str(node.name().split("Backward")[0])


def _known(top: Any) -> Dict[Any, int]:
    """The nodes from `top` down to marked ones, with what is known of the numbers of each; nothing
    of a graph with too many."""
    found: Dict[Any, int] = {}
    waiting: List[Tuple[Any, bool]] = [(top, False)]
    seen: Set[Any] = set()
    while waiting:
        node, done = waiting.pop()
        marked = node is not None and bool(node.metadata.get(_MARK))
        if done or marked:
            below = [found[one] for one, _ in node.next_functions if one in found]
            if marked:
                found[node] = _ROWS
            elif _kind(node) in _BINARY and {_FIRST, _SECOND} <= set(below) or (
                    _kind(node) not in _MOVE and {_OTHERS, _ROWS} <= set(below)):
                found[node] = _CROSSED
            elif below and _kind(node) in _PRODUCTS:  # with what is no output, on the right
                right = node.next_functions[-1][0] in found
                found[node] = min(below) if not right else min(min(below), _ALL)
            elif below:
                found[node] = _numbers(node, min(below))
        elif node is not None and node not in seen:
            seen.add(node)
            if len(seen) > MOST_NODES:
                return {}
            waiting.append((node, True))
            waiting += [(one, False) for one, _ in node.next_functions]
    return found


def _numbers(node: Any, below: int) -> int:
    """What is known of a node's numbers, from the least that is known of those it is made of."""
    kind = _kind(node)
    if kind in _BINARY and len(node.next_functions) > sum(
            one is not None for one, _ in node.next_functions):
        return min(below, _ALL)  # a tensor that is no output may bring dimensions in front
    if kind in _BY_NUMBER or _reduction(node) == 0:
        return below
    if kind in _ELSEWHERE and below >= _ROWS and 0 in _dimensions(node):
        return _OTHERS
    if kind == "Unsqueeze" and below >= _ROWS and node._saved_dim in (0, 1):
        return _FIRST if node._saved_dim else _SECOND
    if kind in _SUMS or kind in _TOGETHER:
        return _ALL if _is_over_records(node, below) else below
    if kind in _MOVE or _reduction(node) in (1, 2):
        return min(below, _ALL)
    if kind in _SELECT and below >= _ROWS and (0 not in _dimensions(node) or (
            kind == "Slice" and node._saved_start == 0 and node._saved_end == _END)):
        return below
    return _UNKNOWN


def _reduction(node: Any) -> Optional[int]:
    """Of a loss: 0 is none, 1 the mean and 2 the sum. None where a node is none."""
    found: Optional[int] = getattr(node, "_saved_reduction", None)
    return found


def _is_over_records(node: Any, below: int) -> bool:
    """Whether a node takes numbers together over the records, as far as that is known."""
    kind = _kind(node)
    if kind not in _SUMS and kind not in _TOGETHER:
        return _reduction(node) in (1, 2) and below != _UNKNOWN
    dimensions = _dimensions(node)
    return below != _UNKNOWN if not dimensions else _PLACES.get(below) in dimensions


def _dimensions(node: Any) -> List[int]:
    """Along which a node works, counted from the first where that is known; none: along all."""
    saved = getattr(node, "_saved_dim", getattr(node, "_saved_dims", None))
    dimensions = [saved] if isinstance(saved, int) else list(saved or ())
    sizes = getattr(node, "_saved_self_sym_sizes", getattr(node, "_saved_self_sizes", ()))
    signed = [d - (1 << 64) if d >= 1 << 63 else d for d in dimensions]
    return [d + len(sizes) if d < 0 else d for d in signed]


def reduction_of(loss: torch.Tensor) -> Optional[str]:
    """"mean", "sum" or WEIGHTED: how `loss` is made of its examples, by the first reduction on each
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
    if reduction == 1 and kind.startswith("NllLoss"):
        try:
            weighted = node._saved_weight is not None
        except RuntimeError:  # there was one, and it is freed by now
            weighted = True
        if weighted:
            return WEIGHTED
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
