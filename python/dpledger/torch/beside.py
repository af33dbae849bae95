"""Whether what a loop makes of records is of each one by itself: made again with other records beside
it, what a record gives must stay.

Of a batch before the model is given it: each of the model's rows must be of one record, as it was,
though sorted by their lengths, say. Of a loss: the gradient of a record. It changes where records
are taken together, however that is written, and where a mean is over what the batch's labels,
weights or masks leave of it.

Nothing is said where what was noted cannot be made again as it was: of operations that torch does
not show, of numbers that were taken out of tensors and changed, of random bits that another thread
draws too; nor of what is made of a batch that no loader of ours gave.
"""
from __future__ import annotations

from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import torch

from .tape import Tape, Values

_PART = 4096  # numbers of a row that are compared with other rows
# By what outputs in others' places are multiplied: what is chosen of all is another one then.
_SCALES = (1.0, 8.0, -8.0, 0.125)


class Found(NamedTuple):
    """How a record's gradient is another one beside other records."""

    operation: str  # the first that gives the record something else; empty where none is seen to
    by_factor: bool  # it is longer or shorter, and only beside other labels or masks


class Earlier:
    """What tensors were like that no operation gave, of the tapes of one model before: those that
    are as long as each batch, and change, are of records. Others may be as long by chance."""

    def __init__(self) -> None:
        self.leaves: Dict[int, Tuple[Any, ...]] = {}


# ---- A batch ----

def inputs_mix(tape: Tape) -> Optional[str]:
    """The operation by which the model was given rows that are made of several records; None if it
    is not seen to be. Empty where it is not known."""
    given = [each for each in tape.inputs if len(each) == tape.examples]
    batch = [each for each, _ in tape.batch.values() if len(each) == tape.examples]
    if tape.examples < 3 or not batch or not tape.reads_to_pass():
        return None
    with tape.lent():
        first = _rows(tape.made_again({}), {}, given)
        if first is None or not all(map(tape.alike, first, given)):
            return None
        for record, other in ((tape.examples // 2, 0), (0, tape.examples // 2 + 1)):
            instead = {key: beside(each, record, each[other])
                       for key, (each, _) in tape.batch.items() if len(each) == tape.examples}
            changed = _rows(tape.made_again(instead), instead, given)
            if changed is not None and not all(
                    tape.alike(one[record], two[record]) for one, two in zip(first, changed)) and any(
                        _is_new(first, changed, place) for place in (record, other)):
                return tape.first_to_differ(instead, record)
    return None


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
        if one.shape != two.shape:
            return False
        rows, row = (each.reshape(len(each), -1)[:, :_PART].double() for each in (
            one, two[place:place + 1]))
        near = (rows - row).abs().amax(1) <= 1e-3 * rows.abs().max()
        there = near if there is None else there & near.to(there.device)
    return there is not None and not bool(there.any())


# ---- A loss ----

def loss_mixes(tape: Tape, earlier: Earlier, losses: Sequence[torch.Tensor], place: int,
               gradient: torch.Tensor) -> Optional[Found]:
    """How the gradient of `losses` by the output in a place depends, for some record, on other
    records; None where it is not seen to."""
    tape.is_used = True
    if tape.examples < 2 or not tape.reads_to(losses):
        return None
    gradient = gradient.detach()
    sizes = gradient.reshape(tape.examples, -1).double().norm(dim=1)
    if not bool(torch.isfinite(sizes).all()) or not bool((sizes > 0).any()):
        return None
    output = tape.outputs[place]
    with tape.lent():
        again = _gradient(tape.made_again({}), losses, output)
        if again is None or not tape.alike(again, gradient):
            return None
        labels = _labels(tape, earlier)
        for record, instead, has_labels in _others(tape, labels, output, gradient, sizes):
            changed = _gradient(tape.made_again(instead), losses, output)
            if changed is None or tape.alike(changed[record], gradient[record]):
                continue
            if not has_labels:
                return Found(tape.first_to_differ(instead, record), False)
            # By a factor: else a label may be one of several (where a record's begin, say).
            if tape.alike(*(row / row.norm() for row in (changed[record], gradient[record]))):
                return Found("", True)
    return None


def _gradient(values: Optional[Values], losses: Sequence[torch.Tensor],
              output: torch.Tensor) -> Optional[torch.Tensor]:
    try:
        return None if values is None else torch.autograd.grad(
            [values.of(loss) for loss in losses], values.of(output))[0]
    except Exception:  # it does not depend on it any more, say
        return None


def _others(tape: Tape, labels: List[torch.Tensor], output: torch.Tensor, gradient: torch.Tensor,
            sizes: torch.Tensor) -> Iterator[Tuple[int, Dict[int, torch.Tensor], bool]]:
    """A record, what stands for the tensors that have others, and whether labels are among them.
    The record is that with the largest gradient, or the smallest that has one."""
    most, least = int(sizes.argmax()), int(sizes.masked_fill(sizes == 0, torch.inf).argmin())
    pairs = ((most, most), (most, least), (least, most))
    for record, other in pairs:
        for scale in _SCALES if record == other else _SCALES[:1]:
            yield record, {id(each): beside(each, record, each.detach()[other] * scale)
                           for each in tape.outputs}, False
    now = output.detach()
    for scale in (8.0, -8.0):  # all others' losses become larger, or smaller
        far = now + gradient * (scale * now.norm() / gradient.norm())
        yield most, {id(output): beside(now, most, far.to(now.dtype))}, False
    for record, other in pairs if labels else ():
        instead = {id(each): beside(each, record, each.detach()[other]) for each in tape.outputs}
        for each in labels:
            value = tape.batch.get(id(each), (each, 0))[0].detach()
            instead[id(each)] = beside(value, record, value[other])
        yield record, instead, True


def _labels(tape: Tape, earlier: Earlier) -> List[torch.Tensor]:
    """Tensors that no operation gave and that have something of each record in its row."""
    found, before = [], earlier.leaves
    earlier.leaves = {}
    inputs, outputs = set(map(id, tape.inputs)), set(map(id, tape.outputs))
    for number, each in enumerate(tape.leaves):
        if (id(each) in outputs or each.requires_grad or each.is_complex() or not each.dim()
                or len(each) != tape.examples or each.shape[1:2] == each.shape[:1]):
            continue
        if id(each) in tape.batch:
            found.append(each)
            continue
        wide = each.detach().double().flatten()
        whole = not each.is_floating_point()
        if whole and len(wide) > 1 and len(wide.unique()) == len(wide):
            continue  # places, perhaps, of records
        now = earlier.leaves[number] = (
            each.dtype, each.shape[1:], len(each), float(wide.sum()),
            float((wide * torch.arange(len(wide), device=wide.device)).sum()))
        was = before.get(number)
        if (whole or id(each) in inputs
                or was is not None and was[:2] == now[:2] and was[2:] != now[2:]):
            found.append(each)
    return found


def beside(tensor: torch.Tensor, record: int, others: torch.Tensor) -> torch.Tensor:
    """A copy with others in the places of all records but one."""
    found = tensor.detach().clone()
    found[:] = others
    found[record] = tensor.detach()[record]
    return found
