"""What a loop makes of a model's outputs, made again beside other records.

From a pass of a watched model to the backward pass behind it, the operations of torch are noted,
with what they were given. Made again on outputs whose other rows are another record's, and with
that record's labels and masks, a loss must give a record the same gradient: so a loss that takes
records together shows, however it is written, and so does a mean over what the batch's labels,
weights or masks leave of it.

Nothing is said where a loss cannot be made again as it was: of operations that torch does not show,
of numbers that were taken out of tensors and changed, of random bits that another thread draws too.
"""
from __future__ import annotations

import contextlib
import threading
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

import torch
from torch.utils import _python_dispatch as dispatch
from torch.utils._pytree import tree_flatten, tree_unflatten

from . import functional

MOST_CALLS = 10000  # of operations that are noted
_MOST_LAYERS = 4  # whose outputs are kept of a model that gives its loss alone
_MARK = "of_records"  # an attribute of tensors
# By what outputs in others' places are multiplied: what is chosen of all is another one then.
_SCALES = (1.0, 8.0, -8.0, 0.125)


class Found(NamedTuple):
    """How a record's gradient is another one beside other records."""

    operation: str  # the first that gives the record something else; empty where none is seen to
    by_factor: bool  # it is longer or shorter, and only beside other labels or masks


class Earlier:
    """What tensors were like that no operation gave, of one model's tape before: those that are as
    long as each batch, and change, are of records. Others may be as long by chance."""

    def __init__(self) -> None:
        self.leaves: Dict[int, Tuple[Any, ...]] = {}


class _Call(NamedTuple):
    operation: Any
    given: List[Any]
    versions: List[int]  # of what is given, where it is a tensor
    shape: Any  # of the arguments' tree
    gave: List[torch.Tensor]
    has_gradients: bool


class Tape(dispatch.TorchDispatchMode):  # type: ignore[misc]
    """Of one model, from a pass to the backward pass behind it."""

    def __init__(self, model: torch.nn.Module, earlier: Earlier) -> None:
        super().__init__()
        self.outputs: List[torch.Tensor] = []  # with records in their rows, where the tape begins
        self.has_ended, self.is_used = False, False
        self._earlier, self._bits, self._thread = earlier, functional.Bits(
            functional.cuda_devices(model)), threading.get_ident()
        self._fails = False
        self._examples = 0
        self._first: Optional[int] = None  # how many records the pass that is going on has
        self._given: List[torch.Tensor] = []  # to the model
        self._before = 0  # calls before the pass that is going on
        self._layers: List[torch.Tensor] = []  # outputs of that pass's layers
        self._calls: List[_Call] = []
        # Once there is a loss: what none of its calls gave.
        self._leaves: Dict[int, torch.Tensor] = {}

    # ---- Noting ----

    @staticmethod
    def begun(model: torch.nn.Module, earlier: Earlier) -> Optional[Tape]:
        """A new one; None within another mode, which might end before it and take it along."""
        found = Tape(model, earlier)
        return found if _put_on(found) else None

    def forget(self) -> None:
        """What it noted; and it notes nothing more."""
        self.has_ended = True
        self.outputs, self._given, self._layers, self._calls, self._leaves = [], [], [], [], {}

    def end(self) -> None:
        """The same, and operations run without it."""
        self.forget()
        if self._thread == threading.get_ident() and not _running.operations:
            _modes_left()

    def __torch_dispatch__(self, operation: Any, types: Any, arguments: Any = (),
                           named: Optional[Dict[str, Any]] = None) -> Any:
        named = named or {}
        if self.has_ended or self.is_used or self._fails or functional.running():
            return operation(*arguments, **named)
        given, shape = tree_flatten((arguments, named))
        versions = [_version(each) for each in given]
        # Bits of a generator are the caller's.
        self._fails |= any(isinstance(each, torch.Generator) for each in given)
        _running.operations += 1
        try:
            found = operation(*arguments, **named)
        finally:
            _running.operations -= 1
        gave = list(functional.tensors(found))
        if gave and not self.has_ended:
            self._fails |= len(self._calls) >= MOST_CALLS
            self._calls.append(_Call(operation, given, versions, shape, gave,
                                     torch.is_grad_enabled()))
        return found

    def pass_begins(self, given: Any) -> None:
        """A pass of the model: what is noted of it counts only where it gives a loss."""
        self._before, self._layers, self._first = len(self._calls), [], None
        _running.tape = self
        self.is_given(given)

    def is_given(self, arguments: Any) -> None:
        """Arguments of that pass; records are in the rows of the first with a dimension."""
        for each in functional.tensors(arguments):
            self._given.append(each)
            if self._first is None and each.dim():
                self._first = len(each)

    def layer_gave(self, output: torch.Tensor) -> None:
        """Within a pass: an output with records in its rows."""
        del self._calls[self._before:]
        self._layers = (self._layers + [output])[-_MOST_LAYERS:]

    def pass_ends(self, output: Any) -> List[torch.Tensor]:
        """The outputs with records in their rows of which the rest is made."""
        _running.tape, examples = None, self._first or 0
        found = [each for each in functional.tensors(output) if each.requires_grad]
        if all(each.dim() and len(each) == examples for each in found):
            del self._calls[self._before:]
        else:  # a loss, perhaps
            found = self._layers
        found = [each for each in found
                 if each.requires_grad and each.dim() and len(each) == examples]
        self._fails |= bool(self.outputs) and examples != self._examples
        self._examples, self._layers = examples, []
        self.outputs += found
        return found

    # ---- Making it again ----

    def mixes(self, losses: Sequence[torch.Tensor], place: int,
              gradient: torch.Tensor) -> Optional[Found]:
        """How the gradient of `losses` by the output in a place depends, for some record, on other
        records; None where it is not seen to."""
        self.is_used = True
        if self.has_ended or self._fails or self._examples < 2 or not self._read(losses):
            return None
        sizes = gradient.detach().reshape(self._examples, -1).double().norm(dim=1)
        if not bool(torch.isfinite(sizes).all()) or not bool((sizes > 0).any()):
            return None
        bits, alone = functional.Bits(self._bits.devices), threading.active_count() == 1
        try:
            with functional.again():
                return self._compared(losses, place, gradient.detach(), sizes)
        finally:
            if alone:  # others draw from the same streams
                bits.put_back()

    def _read(self, losses: Sequence[torch.Tensor]) -> bool:
        """Leaves the calls up to the losses, and finds what they were given besides; whether that
        is as it was."""
        wanted = set(map(id, losses))
        last = max((number for number, call in enumerate(self._calls)
                    if any(id(each) in wanted for each in call.gave)), default=-1)
        del self._calls[last + 1:]
        self._leaves = {id(each): each for each in self.outputs}
        made: Set[Any] = set()
        for call in self._calls:
            for each, version in zip(call.given, call.versions):
                if isinstance(each, torch.Tensor) and id(each) not in made and (
                        _region(each) not in made or id(each) in self._leaves):
                    self._leaves[id(each)] = each
                    if _version(each) != version:
                        return False
            for each in call.gave:
                if id(each) not in self._leaves:
                    made.update((id(each), _region(each)))
        return last >= 0

    def _compared(self, losses: Sequence[torch.Tensor], place: int, gradient: torch.Tensor,
                  sizes: torch.Tensor) -> Optional[Found]:
        again = self._again(losses, place, {})
        if again is None or not self._same(again, gradient):
            return None
        labels = self._labels()
        for record, instead, has_labels in self._others(labels, place, gradient, sizes):
            changed = self._again(losses, place, instead)
            if changed is None or self._same(changed[record], gradient[record]):
                continue
            if not has_labels:
                return Found(self._where(losses, place, instead, record), False)
            # By a factor: else a label may be one of several (where a record's begin, say).
            if self._same(*(row / row.norm() for row in (changed[record], gradient[record]))):
                return Found("", True)
        return None

    def _others(self, labels: List[torch.Tensor], place: int, gradient: torch.Tensor,
                sizes: torch.Tensor) -> Iterator[Tuple[int, Dict[int, torch.Tensor], bool]]:
        """A record, what stands for the tensors that have others, and whether labels are among
        them. The record is that with the largest gradient, or the smallest that has one."""
        most, least = int(sizes.argmax()), int(sizes.masked_fill(sizes == 0, torch.inf).argmin())
        pairs = ((most, most), (most, least), (least, most))
        for record, other in pairs:
            for scale in _SCALES if record == other else _SCALES[:1]:
                yield record, {id(each): _beside(each, record, each.detach()[other] * scale)
                               for each in self.outputs}, False
        output = self.outputs[place].detach()
        for scale in (8.0, -8.0):  # all others' losses become larger, or smaller
            far = output + gradient * (scale * output.norm() / gradient.norm())
            yield most, {id(self.outputs[place]): _beside(output, most, far.to(output.dtype))}, False
        for record, other in pairs if labels else ():
            yield record, {id(each): _beside(each, record, each.detach()[other])
                           for each in self.outputs + labels}, True

    def _labels(self) -> List[torch.Tensor]:
        """Tensors that no operation gave and that have something of each record in its row."""
        found, before = [], self._earlier.leaves
        self._earlier.leaves = {}
        given, outputs = set(map(id, self._given)), set(map(id, self.outputs))
        for number, each in enumerate(self._leaves.values()):
            if (id(each) in outputs or each.requires_grad or each.is_complex() or not each.dim()
                    or len(each) != self._examples or each.shape[1:2] == each.shape[:1]):
                continue
            wide = each.detach().double().flatten()
            whole = not each.is_floating_point()
            if whole and len(wide) > 1 and len(wide.unique()) == len(wide):
                continue  # places, perhaps, of records
            now = self._earlier.leaves[number] = (
                each.dtype, each.shape[1:], len(each), float(wide.sum()),
                float((wide * torch.arange(len(wide), device=wide.device)).sum()))
            earlier = before.get(number)
            if (whole or id(each) in given or getattr(each, _MARK, False)
                    or earlier is not None and earlier[:2] == now[:2] and earlier[2:] != now[2:]):
                found.append(each)
        return found

    def _again(self, losses: Sequence[torch.Tensor], place: int, instead: Dict[int, torch.Tensor],
               rows: Optional[List[Tuple[str, torch.Tensor]]] = None) -> Optional[torch.Tensor]:
        """The gradient of an output, with others in the places of some tensors; and in `rows` what
        each operation gives for all records. None if it fails."""
        values = _Values()
        try:
            if threading.active_count() == 1:
                self._bits.put_back()
            for each in self._leaves.values():  # clones, so that nothing of the loop's is written
                values.put(each, instead.get(id(each), each).detach().clone().requires_grad_(
                    each.requires_grad), by_region=False)
            with _autocast_off():
                for call in self._calls:
                    positional, named = tree_unflatten(
                        [values.of(each) if isinstance(each, torch.Tensor) else each
                         for each in call.given], call.shape)
                    with torch.set_grad_enabled(call.has_gradients):
                        found = call.operation(*positional, **named)
                    for old, new in zip(call.gave, functional.tensors(found)):
                        if id(old) not in self._leaves:  # that it gave back
                            values.put(old, new)
                        if rows is not None and new.dim() and len(new) == self._examples:
                            rows.append((_name(call.operation), new.detach().clone()))
            return torch.autograd.grad([values.of(loss) for loss in losses],
                                       values.of(self.outputs[place]))[0]
        except Exception:  # what it is made of is of another kind, or was freed
            return None

    def _where(self, losses: Sequence[torch.Tensor], place: int, instead: Dict[int, torch.Tensor],
               record: int) -> str:
        first: List[Tuple[str, torch.Tensor]] = []
        other: List[Tuple[str, torch.Tensor]] = []
        self._again(losses, place, {}, first)
        self._again(losses, place, instead, other)
        return next((name for (name, one), (_, two) in zip(first, other)
                     if not self._same(one[record], two[record])), "")

    def _same(self, one: torch.Tensor, other: torch.Tensor) -> bool:
        """Equal but for rounding."""
        kinds = {torch.float32} | {each.dtype for call in self._calls for each in call.gave
                                   if each.is_floating_point()}
        near = max(torch.finfo(kind).eps for kind in kinds) ** 0.5
        a, b = one.detach().double(), other.detach().double()
        return one.shape == other.shape and bool(
            (a - b).abs().max() <= near * a.abs().max() if a.numel() else True)


class _Values:
    """What stands for tensors when calls are made again. Autograd gives views as copies, which are
    known by their region of memory alone; and what is detached has the region of what is not."""

    def __init__(self) -> None:
        self._by_id: Dict[int, torch.Tensor] = {}
        self._by_region: Dict[Any, List[torch.Tensor]] = {}

    def put(self, tensor: torch.Tensor, value: torch.Tensor, by_region: bool = True) -> None:
        self._by_id[id(tensor)] = value
        if by_region:
            self._by_region.setdefault(_region(tensor), []).append(value)

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        found = self._by_id.get(id(tensor))
        if found is not None:
            return found
        there = self._by_region[_region(tensor)]
        alike = [value for value in there if value.requires_grad == tensor.requires_grad]
        return alike[-1] if alike else there[-1].detach()


def _region(tensor: torch.Tensor) -> Any:
    return tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype


def mark(tensor: torch.Tensor) -> None:
    """Says that something of each record is in its row of a tensor."""
    setattr(tensor, _MARK, True)


def _beside(tensor: torch.Tensor, record: int, others: torch.Tensor) -> torch.Tensor:
    """A copy with others in the places of all records but one."""
    found = tensor.detach().clone()
    found[:] = others
    found[record] = tensor.detach()[record]
    return found


def _version(value: Any) -> int:
    """How often a tensor was written, where that is counted."""
    return value._version if isinstance(value, torch.Tensor) and not value.is_inference() else 0


def _name(operation: Any) -> str:
    return str(operation).split(".")[1]


@contextlib.contextmanager
def _autocast_off() -> Iterator[None]:
    """What it casts is among the operations."""
    with torch.autocast("cpu", enabled=False), contextlib.ExitStack() as stack:
        if torch.is_autocast_enabled():
            stack.enter_context(torch.autocast("cuda", enabled=False))
        yield


# Torch 1.13 has one mode beneath a stack of Python's, which an interrupt may leave broken.
_BENEATH = getattr(torch._C, "_set_torch_dispatch_mode", None)


def _put_on(tape: Tape) -> bool:
    """Whether it could be: not within other modes."""
    if _running.operations or not all(isinstance(mode, Tape) for mode in _modes_left()):
        return False
    (_BENEATH or dispatch._push_mode)(tape)
    return True


def _modes_left() -> List[Any]:
    """Takes off the tapes that note nothing more; gives the other modes."""
    modes = []
    while torch._C._len_torch_dispatch_stack():
        modes.append(dispatch._pop_mode())
    left = [mode for mode in reversed(modes)
            if not (isinstance(mode, Tape) and (mode.has_ended or mode.is_used))]
    for mode in left:
        dispatch._push_mode(mode)
    if _BENEATH is not None and not left:
        _BENEATH(None)
    return left


class _Running(threading.local):
    """What is going on in a thread."""

    tape: Optional[Tape] = None  # of which a pass is
    operations = 0  # beneath tapes: what modes are on is not to be changed


_running = _Running()


def layer_gave(output: torch.Tensor) -> None:
    """See Tape."""
    if _running.tape is not None and not functional.running():
        _running.tape.layer_gave(output)


def model_is_given(arguments: Any) -> None:
    """See Tape.is_given."""
    if _running.tape is not None and not functional.running():
        _running.tape.is_given(arguments)
