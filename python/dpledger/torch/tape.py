"""Operations of torch that a loop makes of a batch, noted with what they were given, and made again
on other tensors. What random bits gave is given again, not drawn.

A tape is of one batch: from where a loader hands it on, or a pass of a watched model begins, to the
backward pass behind it. Of the pass itself only what follows the last layer whose rows are taken is
kept, and only where the model gives its loss.
"""
from __future__ import annotations

import contextlib
import threading
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

import torch
from torch.utils import _python_dispatch as dispatch
from torch.utils._pytree import tree_flatten, tree_unflatten

from . import functional

enabled = True  # False: nothing is noted, as for operations that torch refuses within a mode
MOST_CALLS = 10000  # of operations that are noted
MOST_BYTES, MOST_BYTES_BEFORE = 1 << 32, 1 << 28  # that they gave: from a pass on, and before it
_MOST_LAYERS = 4  # whose outputs are kept of a model that gives its loss alone


class _Call(NamedTuple):
    operation: Any
    given: List[Any]
    versions: List[int]  # of what is given, where it is a tensor
    shape: Any  # of the arguments' tree
    gave: List[torch.Tensor]
    has_gradients: bool
    kept: List[torch.Tensor]  # copies of what it gave that is given again


class Tape:
    """Of one batch."""

    def __init__(self) -> None:
        self.has_ended, self.is_used = False, False
        # Copies of a loader's tensors, which a loop may write, and how often they were written.
        self.batch: Dict[int, Tuple[torch.Tensor, int]] = {}
        self.records: List[torch.Tensor] = []  # those tensors
        self.inputs: List[torch.Tensor] = []  # of the model
        self.outputs: List[torch.Tensor] = []  # with records in their rows
        self.examples = self._examples_now = 0  # of passes, and of the one that is going on
        self.leaves: List[torch.Tensor] = []  # that no operation of those read gave
        self._fails = False
        self._thread = threading.get_ident()
        self._bytes, self._passes = 0, 0
        self._calls: List[_Call] = []
        self._before = 0  # calls before the pass that is going on
        self._layers: List[torch.Tensor] = []  # outputs of that pass's layers
        self._read: List[_Call] = []

    # ---- Noting ----

    @staticmethod
    def begun() -> Optional[Tape]:
        """A new one; None within another mode, which might end before it and take it along."""
        if not _running.is_noted():
            return None
        _running.tapes.append(Tape())
        return _running.tapes[-1]

    def forget(self) -> None:
        """What it noted; and it notes nothing more."""
        self.has_ended, self.batch, self.records = True, {}, []
        self.inputs, self.outputs, self.leaves, self._layers = [], [], [], []
        self._calls, self._read = [], []

    def end(self) -> None:
        """The same, and operations run without it."""
        self.forget()
        if self._thread == threading.get_ident():
            _running.tapes = [tape for tape in _running.tapes if not tape.has_ended]
            if not _running.tapes:
                _running.end()

    def notes(self, call: _Call) -> None:
        if self.has_ended or self.is_used:
            return
        self._calls.append(call)
        self._bytes += sum(each.numel() * each.element_size() for each in call.gave)
        if len(self._calls) > MOST_CALLS or self._bytes > (
                MOST_BYTES if self._passes else MOST_BYTES_BEFORE):
            self.forget()

    def is_given(self, batch: Any) -> None:
        """Tensors of a loader, which have something of each record in their rows."""
        with functional.again():
            for each in _of_records(batch):
                self.batch[id(each)] = each.detach().clone(), _version(each)
                self.records.append(each)

    def pass_begins(self, given: Any) -> None:
        """A pass of the model."""
        if self._passes == 2:  # of an evaluation, perhaps, that has gradients
            self.inputs, self.outputs, self._calls, self._passes = [], [], [], 0
        self._passes += 1
        self._before, self._layers, self._examples_now = len(self._calls), [], 0
        _running.tape = self
        self.model_is_given(given)

    def model_is_given(self, arguments: Any) -> None:
        """Arguments of that pass; records are in the rows of the first with a dimension."""
        known = set(map(id, self.inputs))
        for each in functional.tensors(arguments):
            if each.dim():
                self._examples_now = self._examples_now or len(each)
                self.inputs += [each] if id(each) not in known else []

    def layer_gave(self, output: torch.Tensor) -> None:
        """Within a pass: an output with records in its rows."""
        del self._calls[self._before:]
        self._layers = (self._layers + [output])[-_MOST_LAYERS:]

    def pass_ends(self, output: Any) -> List[torch.Tensor]:
        """The outputs with records in their rows of which the rest is made."""
        _running.tape = None
        self._fails |= self.examples not in (0, self._examples_now)
        self.examples = self._examples_now
        found = [each for each in functional.tensors(output) if each.requires_grad]
        if all(each.dim() and len(each) == self.examples for each in found):
            del self._calls[self._before:]
        else:  # a loss, perhaps
            found = self._layers
        found = [each for each in found
                 if each.requires_grad and each.dim() and len(each) == self.examples]
        self.outputs += found
        return found

    # ---- Making it again ----

    def reads_to(self, losses: Sequence[torch.Tensor]) -> bool:
        """Whether what some losses are made of can be made again, from the outputs: it is as it
        was."""
        ends = set(map(id, losses))
        return self._reads(1 + max((number for number, call in enumerate(self._calls)
                                    if any(id(each) in ends for each in call.gave)), default=-1),
                           self.outputs)

    def reads_to_pass(self) -> bool:
        """The same of what was made before the last pass."""
        return self._reads(self._before, [])

    def _reads(self, count: int, within: List[torch.Tensor]) -> bool:
        self._read, self.leaves = [], list(within)
        if self.has_ended or self._fails or not count:
            return False
        leaves, made = set(map(id, within)), set()  # type: Set[int], Set[Any]
        for call in self._calls[:count]:
            for each, version in zip(call.given, call.versions):
                if not isinstance(each, torch.Tensor) or id(each) in leaves or id(each) in made:
                    continue
                if id(each) in self.batch or _region(each) not in made:
                    leaves.add(id(each))
                    self.leaves.append(each)
                    if version != self.batch.get(id(each), (each, _version(each)))[1]:
                        return False
            made.update(key for each in call.gave if id(each) not in leaves
                        for key in (id(each), _region(each)))
        self._read = self._calls[:count]
        return True

    def has_random_bits(self) -> bool:
        """In what was read."""
        return any(call.kept for call in self._read)

    def has_bits_for_places(self) -> bool:
        """Whether some may be put into places that a mask chooses: of others, other places."""
        return self.has_random_bits() and any(
            _name(call.operation).strip("_") in ("index_put", "masked_scatter")
            or any(each.dim() and len(each) != self.examples for each in call.kept)
            for call in self._read)

    def made_again(self, instead: Dict[int, torch.Tensor],
                   rows: Optional[List[Tuple[str, torch.Tensor]]] = None,
                   in_order: bool = False) -> Optional[Values]:
        """What was read, with others in the places of some leaves, by their ids; and in `rows` what
        each operation gives for all records. `in_order`: with the rows in the order that they were
        sorted in. None if it fails."""
        values = Values()
        try:
            for each in self.leaves:  # clones, so that nothing of the loop's is written
                value = instead.get(id(each), self.value_of(each))
                values.put(each, value.detach().clone().requires_grad_(each.requires_grad),
                           by_region=False)
            leaves = set(map(id, self.leaves))
            with _autocast_off():
                for call in self._read:
                    positional, named = tree_unflatten(
                        [values.of(each) if isinstance(each, torch.Tensor) else each
                         for each in call.given], call.shape)
                    with torch.set_grad_enabled(call.has_gradients):
                        found = _made(call, positional, named, in_order)
                    for old, new in zip(call.gave, functional.tensors(found)):
                        if id(old) not in leaves:  # that it gave back
                            values.put(old, new)
                        if rows is not None and new.dim() and len(new) == self.examples and (
                                "empty" not in _name(call.operation)):  # which gives any numbers
                            rows.append((_name(call.operation), new.detach().clone()))
        except Exception:  # what it is made of is of another kind, or was freed
            return None
        return values

    def value_of(self, leaf: torch.Tensor) -> torch.Tensor:
        """Its numbers as they were before the loop wrote them."""
        return self.batch.get(id(leaf), (leaf, 0))[0].detach()

    def first_to_differ(self, instead: Dict[int, torch.Tensor], record: int) -> str:
        """The name of the first operation that gives a record something else; empty where what they
        give has no records in its rows."""
        one: List[Tuple[str, torch.Tensor]] = []
        two: List[Tuple[str, torch.Tensor]] = []
        self.made_again({}, one)
        self.made_again(instead, two)
        return next((name for (name, a), (_, b) in zip(one, two)
                     if not self.alike(a[record], b[record])), "")

    def near(self) -> float:
        """What rounding may come to, of 1."""
        kinds = {torch.float32} | {each.dtype for call in self._read for each in call.gave
                                   if each.is_floating_point()}
        return float(max(torch.finfo(kind).eps for kind in kinds) ** 0.5)

    def alike(self, one: torch.Tensor, other: torch.Tensor) -> bool:
        """Equal but for rounding."""
        if one.shape != other.shape or not one.numel():
            return one.shape == other.shape
        wide = torch.float32 if one.is_floating_point() and one.element_size() < 8 else torch.double
        a, b = one.detach().to(wide), other.detach().to(wide)
        return bool((a - b).abs_().max() <= self.near() * a.abs().max())


class Values:
    """What stands for tensors when operations are made again. Autograd gives views as copies, which
    are known by their region of memory alone; and what is detached has the region of what is
    not."""

    def __init__(self) -> None:
        self._by_id: Dict[int, torch.Tensor] = {}
        self._by_region: Dict[Any, List[torch.Tensor]] = {}

    def put(self, tensor: torch.Tensor, value: torch.Tensor, by_region: bool = True) -> None:
        self._by_id[id(tensor)] = value
        if by_region:
            self._by_region.setdefault(_region(tensor), []).append(value)

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        found = self.get(tensor)
        if found is None:
            raise KeyError("a tensor that nothing gave")
        return found

    def get(self, tensor: torch.Tensor) -> Optional[torch.Tensor]:
        found, there = self._by_id.get(id(tensor)), self._by_region.get(_region(tensor))
        if found is not None or there is None:
            return found
        alike = [value for value in there if value.requires_grad == tensor.requires_grad]
        return alike[-1] if alike else there[-1].detach()


def _region(tensor: torch.Tensor) -> Any:
    try:
        return tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype
    except RuntimeError:  # sparse, say
        return id(tensor)


def _of_records(batch: Any, within: Optional[int] = None) -> Iterator[torch.Tensor]:
    """Tensors of a batch that may have records in their rows: not those of a list of one for each
    record, nor those with as many columns, whose rows may be times."""
    if isinstance(batch, torch.Tensor):
        if batch.dim() and len(batch) != within and batch.shape[1:2] != batch.shape[:1]:
            yield batch
    elif isinstance(batch, (list, tuple)):
        for part in batch:
            yield from _of_records(part, len(batch))
    elif callable(getattr(batch, "values", None)):
        for part in batch.values():
            yield from _of_records(part)


def _name(operation: Any) -> str:
    return str(operation).split(".")[1]


def is_plain(batch: Any) -> bool:
    """Torch 1.13 refuses its subclasses' operations within a mode."""
    return all(type(each) in (torch.Tensor, torch.nn.Parameter)
               for each in functional.tensors(batch))


def _made(call: _Call, positional: Any, named: Any, in_order: bool) -> Any:
    if in_order and _name(call.operation) == "sort" and call.gave[1].dim() == 1:
        return positional[0][call.gave[1]], call.gave[1].clone()
    if not call.kept:
        return call.operation(*positional, **named)
    if call.gave[0] is call.given[0]:
        return positional[0].copy_(call.kept[0])
    return [each.clone() for each in call.kept]


def _version(value: Any) -> int:
    """How often a tensor was written, where that is counted."""
    return value._version if isinstance(value, torch.Tensor) and not value.is_inference() else 0


@contextlib.contextmanager
def _autocast_off() -> Iterator[None]:
    """What it casts is among the operations."""
    with torch.autocast("cpu", enabled=False), contextlib.ExitStack() as stack:
        if torch.is_autocast_enabled():
            stack.enter_context(torch.autocast("cuda", enabled=False))
        yield


class OwnBits:
    """What torch's random operations take bits from in place of its streams, which are other
    threads' too. Each time it begins it gives the same."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self._generators: Dict[torch.device, torch.Generator] = {}
        self._gave: List[Any] = []

    def drawn(self) -> List[Any]:
        """What was drawn since it began, as far as shapes and the number of bits tell; empty where
        nothing was."""
        return self._gave + [bits.get_state().tolist() for bits in self._generators.values()]

    def made(self, operation: Any, arguments: Any, named: Dict[str, Any]) -> Any:
        if torch.Tag.nondeterministic_seeded not in getattr(operation, "tags", ()):
            return operation(*arguments, **named)
        device = named.get("device") or next(
            (each.device for each in functional.tensors((arguments, named))), torch.device("cpu"))
        bits = self._generators.setdefault(device, torch.Generator(device))
        if _name(operation) in ("rand_like", "randn_like"):  # which take no bits of one's own
            found = torch.empty_like(*arguments, **named)
            found = (found.uniform_ if _name(operation) == "rand_like" else found.normal_)(
                generator=bits)
        else:
            found = _with_generator(operation)(*arguments, **dict(named, generator=bits))
        self._gave += [each.shape for each in functional.tensors(found)]
        return found


def _with_generator(operation: Any) -> Any:
    """The operation, or another of its kind that takes one more argument, a generator. RuntimeError
    if there is none."""
    wanted = {each.name for each in operation._schema.arguments} | {"generator"}
    packet = operation.overloadpacket
    for each in [operation] + [getattr(packet, name) for name in packet.overloads()]:
        if {argument.name for argument in each._schema.arguments} == wanted:
            return each
    raise RuntimeError("%s takes no bits of one's own" % operation)


# ---- Of a thread ----

class _Mode(dispatch.TorchDispatchMode):  # type: ignore[misc]
    """Notes what operations a thread makes."""

    def __torch_dispatch__(self, operation: Any, types: Any, arguments: Any = (),
                           named: Optional[Dict[str, Any]] = None) -> Any:
        named = named or {}
        if _running.bits is not None:
            return _running.bits.made(operation, arguments, named)
        if functional.running() or _running.is_paused or torch.is_inference_mode_enabled() or all(
                tape.has_ended or tape.is_used for tape in _running.tapes):
            return operation(*arguments, **named)
        given, shape = tree_flatten((arguments, named))
        versions = [_version(each) for each in given]
        _running.operations += 1
        try:
            found = operation(*arguments, **named)
        finally:
            _running.operations -= 1
        gave = list(functional.tensors(found))
        if gave:
            kept = []
            if torch.Tag.nondeterministic_seeded in getattr(operation, "tags", ()):
                with functional.again():
                    kept = [each.detach().clone() for each in gave]
            call = _Call(operation, given, versions, shape, gave, torch.is_grad_enabled(), kept)
            for tape in _running.tapes:
                tape.notes(call)
        return found


# Torch 1.13 has one mode beneath a stack of Python's, which an interrupt may leave broken.
_BENEATH = getattr(torch._C, "_set_torch_dispatch_mode", None)


class _Running(threading.local):
    """What is going on in a thread."""

    def __init__(self) -> None:
        self.delivered: Optional[Tape] = None  # that no pass has yet
        self.tape: Optional[Tape] = None  # of which a pass is
        self.tapes: List[Tape] = []
        self.bits: Optional[OwnBits] = None  # in place of torch's
        self.is_paused = False  # within a pass without gradients
        self.operations = 0  # that are being noted: the mode cannot be taken off then
        self._mode = _Mode()

    def is_noted(self) -> bool:
        """Whether operations are noted, from now on if they were not."""
        others = torch._C._len_torch_dispatch_stack()
        if not enabled or self.operations or (others and _BENEATH is not None):
            return False
        if _BENEATH is not None:
            _BENEATH(self._mode)
        elif others == 0:
            dispatch._push_mode(self._mode)
        return others == 0 or self._mode in dispatch._get_current_dispatch_mode_stack()

    def end(self) -> None:
        others = torch._C._len_torch_dispatch_stack()
        if self.operations:
            return
        if _BENEATH is not None:
            if not others:
                _BENEATH(None)
        elif others and dispatch._get_current_dispatch_mode() is self._mode:
            dispatch._pop_mode()


_running = _Running()


def batch_is_given(batch: Any, is_looked_at: bool) -> Optional[Tape]:
    """A loader hands on a batch: its tape begins, if it is looked at."""
    delivered()
    if is_looked_at and torch.is_grad_enabled() and is_plain(batch):
        _running.delivered = Tape.begun()
        if _running.delivered is not None:
            _running.delivered.is_given(batch)
    return _running.delivered


@contextlib.contextmanager
def drawing_from(bits: OwnBits, given: Any) -> Iterator[bool]:
    """Operations on what is given take these bits where they are random, if it is True: torch may
    have no place for a mode."""
    if not is_plain(given) or not _running.is_noted():
        yield False
        return
    _running.bits = bits
    try:
        yield True
    finally:
        _running.bits = None
        if not _running.tapes:
            _running.end()


def is_left(tape: Optional[Tape]) -> None:
    """A loader hands on no more: the last batch's tape ends, if no pass has it."""
    if tape is not None and tape is _running.delivered:
        delivered()


def pause(is_paused: bool) -> None:
    """Notes nothing while a pass without gradients goes on."""
    _running.is_paused = is_paused


def delivered(is_wanted: bool = False) -> Optional[Tape]:
    """That tape, for a pass; ended, if it is not wanted."""
    found, _running.delivered = _running.delivered, None
    if found is not None and (not is_wanted or found.has_ended):
        found.end()
        return None
    return found


def layer_gave(output: torch.Tensor) -> None:
    """See Tape."""
    if _running.tape is not None and not functional.running():
        _running.tape.layer_gave(output)


def model_is_given(arguments: Any) -> None:
    """See Tape."""
    if _running.tape is not None and not functional.running():
        _running.tape.model_is_given(arguments)
