"""Whether what a loop makes of records is of each one by itself: made again with other records
beside it, what a record gives must stay.

Of a batch before the model is given it: each of the model's rows must be of one record, be they
sorted or in any other order. Of a loss: the gradient of a record. It changes where records are
taken together, however that is written, and where a mean is over what the batch's labels, weights
or masks leave of it.

Nothing is said where what was noted cannot be made again as it was: of operations that torch does
not show, of numbers that were taken out of tensors and changed; nor of what is made of a batch that
no loader of ours gave, or of a part of one.
"""
from __future__ import annotations

from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import torch

from . import functional
from .tape import Tape, Values

_SWAPS = 8  # of records, for each of their labels
_PART = 4096  # numbers of a row that are compared with other rows
# By what outputs in others' places are multiplied: what is chosen of all is another one then.
_SCALES = (1.0, 8.0, -8.0, 0.125)


class Found(NamedTuple):
    """How a record's gradient is another one beside other records."""

    operation: str  # the first that gives the record something else; empty where none is seen to
    by_factor: bool  # it is longer or shorter, and only beside other labels or masks


# ---- A batch ----

def inputs_mix(tape: Tape) -> Optional[str]:
    """The operation by which the model was given rows that are made of several records; None if it
    is not seen to be. Empty where it is not known."""
    given = [each for each in tape.inputs if len(each) == tape.examples]
    batch = [each for each in tape.records if len(each) == tape.examples]
    if (tape.examples < 3 or not batch or not tape.reads_to_pass()
            or tape.has_bits_for_places()):
        return None
    with functional.again():
        first = _rows(tape.made_again({}), {}, given)
        if first is None or not all(map(tape.alike, first, given)):
            return None
        for record, other in ((tape.examples // 2, 0), (0, tape.examples // 2 + 1)):
            instead = {id(each): beside(value, record, value[other]) for each in batch
                       for value in (tape.value_of(each),)}
            if _makes_new_rows(tape, given, first, instead, (record, other)):
                return tape.first_to_differ(instead, record)
    return None


def _makes_new_rows(tape: Tape, given: Sequence[torch.Tensor], first: Sequence[torch.Tensor],
                    instead: Dict[int, torch.Tensor], records: Tuple[int, int]) -> bool:
    """Whether a record's row is another one, and in no other place either. (Of a batch where all
    others are one record two rows stay as they were, in any order: with noise by places, that shows
    it. Batches are sorted by what has one number of each record, or by a sum.)"""
    changed = _rows(tape.made_again(instead), instead, given)
    if changed is None or any(a.shape != b.shape for a, b in zip(first, changed)):
        return False
    stay = _stay(tape, first, changed)
    if stay[records[0]] or not any(_is_new(first, changed, row) for row in records):
        return False
    if not tape.has_random_bits() or sum(stay) == 2:
        return sum(stay) != 2
    wide = {key: value for key, value in instead.items() if value.dim() > 1}
    for others in (instead, wide):
        changed = _rows(tape.made_again(others, in_order=True), others, given)
        if changed is not None and sum(_stay(tape, first, changed)) == 2:
            return False
    return True


def _stay(tape: Tape, first: Sequence[torch.Tensor],
          changed: Sequence[torch.Tensor]) -> List[bool]:
    """Which rows are as they were."""
    return [all(tape.alike(a[row], b[row]) for a, b in zip(first, changed))
            for row in range(tape.examples)]


def _rows(values: Optional[Values], instead: Dict[int, torch.Tensor],
          given: Sequence[torch.Tensor]) -> Optional[List[torch.Tensor]]:
    """What the model would be given; None where that could not be made again."""
    if values is None:
        return None
    return [found.detach() if found is not None else instead.get(id(each), each)
            for found, each in ((values.get(each), each) for each in given)]


def _is_new(first: Sequence[torch.Tensor], changed: Sequence[torch.Tensor], place: int) -> bool:
    """Whether what is in a place now was in none before, by a part of it."""
    there = None
    for one, two in zip(first, changed):
        rows, row = (each.reshape(len(each), -1)[:, :_PART].double() for each in (
            one, two[place:place + 1]))
        near = (rows - row).abs().amax(1) <= 1e-3 * rows.abs().max()
        there = near if there is None else there & near.to(there.device)
    return there is not None and not bool(there.any())


# ---- A loss ----

def loss_mixes(tape: Tape, losses: Sequence[torch.Tensor], place: int,
               gradient: torch.Tensor) -> Optional[Found]:
    """How the gradient of `losses` by the output in a place depends, for some record, on other
    records; None where it is not seen to."""
    tape.is_used = True
    if tape.examples < 2 or not tape.reads_to(losses):
        return None
    gradient = gradient.detach()
    sizes = gradient.reshape(tape.examples, -1).float().norm(dim=1)
    if not bool(torch.isfinite(sizes).all()) or not bool((sizes > 0).any()):
        return None
    output = tape.outputs[place]
    with functional.again():
        again = _gradient(tape.made_again({}), losses, output)
        if again is None or not tape.alike(again, gradient):
            return None
        for record, instead in _other_outputs(tape, output, gradient, sizes):
            changed = _gradient(tape.made_again(instead), losses, output)
            if changed is not None and not tape.alike(changed[record], gradient[record]):
                return Found(tape.first_to_differ(instead, record), False)

        def is_by_factor(labels: Sequence[torch.Tensor]) -> bool:
            for record, other in _pairs(sizes):
                instead = _other_labels(tape, labels, record, other)
                changed = _gradient(tape.made_again(instead), losses, output)
                if changed is not None and _is_by_factor(tape, gradient[record], changed[record]):
                    return True
            return False
        labels = _labels(tape)
        if labels and is_by_factor(labels):
            swaps = _Swaps(tape, losses, output, gradient)
            labels = [each for each in labels if swaps.matter(each)]
            if labels and is_by_factor(labels) and swaps.are_of_records(labels):
                return Found("", True)
    return None


def _is_by_factor(tape: Tape, row: torch.Tensor, changed: torch.Tensor) -> bool:
    """Whether it is longer or shorter, and no other: else a label may be one of several (where a
    record's begin, say). By more than what is small beside its rounding may come to."""
    factor = float(changed.norm() / row.norm())
    return abs(factor - 1) > 4 * tape.near() and tape.alike(changed / changed.norm(),
                                                            row / row.norm())


def _gradient(values: Optional[Values], losses: Sequence[torch.Tensor],
              output: torch.Tensor) -> Optional[torch.Tensor]:
    try:
        return None if values is None else torch.autograd.grad(
            [values.of(loss) for loss in losses], values.of(output))[0]
    except Exception:  # it does not depend on it any more, say
        return None


def _pairs(sizes: torch.Tensor) -> Sequence[Tuple[int, int]]:
    """A record and one that is put in others' places: that with the largest gradient, and that with
    the smallest of those that have one."""
    most, least = int(sizes.argmax()), int(sizes.masked_fill(sizes == 0, torch.inf).argmin())
    return (most, most), (most, least), (least, most)


def _other_outputs(tape: Tape, output: torch.Tensor, gradient: torch.Tensor,
                   sizes: torch.Tensor) -> Iterator[Tuple[int, Dict[int, torch.Tensor]]]:
    """A record, and what stands for the outputs."""
    for record, other in _pairs(sizes):
        for scale in _SCALES if record == other else _SCALES[:1]:
            yield record, {id(each): beside(each, record, each.detach()[other] * scale)
                           for each in tape.outputs}
    now, most = output.detach(), int(sizes.argmax())
    for scale in (8.0, -8.0):  # all others' losses become larger, or smaller
        far = now + gradient * (scale * now.norm() / gradient.norm())
        yield most, {id(output): beside(now, most, far.to(now.dtype))}


def _other_labels(tape: Tape, labels: Sequence[torch.Tensor], record: int,
                  other: int) -> Dict[int, torch.Tensor]:
    instead = {id(each): beside(each, record, each.detach()[other]) for each in tape.outputs}
    for each in labels:
        value = tape.value_of(each)
        instead[id(each)] = beside(value, record, value[other])
    return instead


def _labels(tape: Tape) -> List[torch.Tensor]:
    """Tensors that no operation gave and that have something of each record in its row: what the
    loader gave; else those that may."""
    outputs = set(map(id, tape.outputs))
    found = []
    for each in tape.leaves:
        if (id(each) in outputs or each.requires_grad or not each.dim()
                or len(each) != tape.examples):
            continue
        if not each.is_floating_point() and len(each.unique()) == each.numel() > 1:
            continue  # places, perhaps, of records
        found.append(each)
    known = [each for each in found if id(each) in tape.batch]
    return known or (found if tape.examples > 2 else [])


class _Swaps:
    """Of two records that change places."""

    def __init__(self, tape: Tape, losses: Sequence[torch.Tensor], output: torch.Tensor,
                 gradient: torch.Tensor) -> None:
        self._tape, self._losses, self._output, self._gradient = tape, losses, output, gradient

    def matter(self, label: torch.Tensor) -> bool:
        """Whether it matters in which rows it is: a number that is made of all of it is the same
        in any order."""
        return any(changed is not None and not self._tape.alike(changed, self._gradient)
                   for _, changed in self._made(label, [label]))

    def are_of_records(self, labels: Sequence[torch.Tensor]) -> bool:
        """Whether two records that change places with their labels have their gradients in each
        other's, and no other one has another. What is as long by chance would stay where it is: a
        class's weight, say."""
        swaps = [swap for label in labels
                 for swap in self._made(label, [*self._tape.outputs, *labels])]
        return bool(swaps) and all(
            changed is not None and all(self._tape.alike(changed[place], self._gradient[other])
                                        for place, other in enumerate(order))
            for order, changed in swaps)

    def _made(self, label: torch.Tensor, moved: Sequence[torch.Tensor]) -> Iterator[
            Tuple[List[int], Optional[torch.Tensor]]]:
        """Orders that differ in two rows of the label, and the gradient with what is moved so."""
        tape, tried = self._tape, 0
        rows = tape.value_of(label).reshape(tape.examples, -1)
        for one in range(tape.examples - 1):
            others = (rows[one + 1:] != rows[one]).any(1).nonzero()[:, 0]
            if len(others) and tried < _SWAPS:
                tried, two = tried + 1, one + 1 + int(others[0])
                order = list(range(tape.examples))
                order[one], order[two] = two, one
                instead = {id(each): tape.value_of(each)[order] for each in moved}
                yield order, _gradient(tape.made_again(instead), self._losses, self._output)


def beside(tensor: torch.Tensor, record: int, others: torch.Tensor) -> torch.Tensor:
    """A copy with others in the places of all records but one."""
    found = tensor.detach().clone()
    found[:] = others
    found[record] = tensor.detach()[record]
    return found
