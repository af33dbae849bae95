"""Whether a model mixes the records of a batch: then no bound on one record's gradient bounds what
one record moves, and no row of gradients shows it.

Its pass is made on the batch, and on one in which every record but one is another: that one's
outputs must be the same. Both are made in eval mode, since dropout's bits may fall otherwise on
other records, and repeated before anything is said, since a model may have bits of its own. What a
pass writes into buffers and attributes is put back. What mixes in training mode alone, or
beside noise, is let pass.
"""
from __future__ import annotations

import contextlib
import random
import sys
import threading
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import torch

from ..errors import InvalidArgument
from .functional import again, running, split
from .layers import called

_Arguments = Tuple[Tuple[Any, ...], Dict[str, Any]]
_Rows = List[Optional[torch.Tensor]]  # of the record, for each output that may have records in rows
_REPEATS = 8  # of both, before a model is said to mix


class Forward:
    """In the place of a module's forward pass: it sees arguments by name, and the end of a call
    that fails."""

    def __init__(self, layer: torch.nn.Module) -> None:
        self.layer = layer
        self.before = layer.__dict__.get("forward")
        self._calls = 0

    def plain(self, *arguments: Any, **named: Any) -> Any:
        if self.before is not None:
            return self.before(*arguments, **named)
        return type(self.layer).forward(self.layer, *arguments, **named)

    def refuse_mixing(self, first: Optional[torch.Tensor], arguments: _Arguments) -> None:
        """InvalidArgument if the layer is seen to mix the examples, which are in the rows of
        `first`; at calls 1, 2, 4, 8 and so on."""
        self._calls += 1
        if first is not None and self._calls & (self._calls - 1) == 0:
            _Trial(self, first, arguments).run()

    def remove(self) -> None:
        if self.before is None:
            del self.layer.__dict__["forward"]
        else:
            self.layer.__dict__["forward"] = self.before


class Tried(Forward):
    """That of a model whose rows another library takes."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if running() or not torch.is_grad_enabled():
            return self.plain(*arguments, **named)
        first = next((each for each in tensors((arguments, named)) if each.dim()), None)
        self.refuse_mixing(first, (arguments, named))
        return self.plain(*arguments, **named)


class _Seen(NamedTuple):
    """One module's call in a pass: what it was given and what it gave for the record."""

    module: torch.nn.Module
    given: _Rows
    gave: _Rows


class _Trial:

    def __init__(self, forward: Forward, first: torch.Tensor, arguments: _Arguments) -> None:
        self._forward, self._model = forward, forward.layer
        self._arguments, self._first = arguments, first
        self._examples = first.shape[0]
        self._place = self._examples // 2  # has records before it and, of three, behind it

    def run(self) -> None:
        """InvalidArgument if the model is seen to mix records."""
        try:
            others = self._first.detach().clone()
            if self._examples:
                others[:] = others[self._place:self._place + 1]
            _, rebuilt = split(self._arguments, self._examples)
        except Exception:  # an input of another kind
            return
        with self._model_as_it_is():
            found, changed = self._rows(self._first), self._rows(others)
            if self._examples < 2 or found is None or changed is None or _same(found, changed):
                return
            wanted = self._by_record(rebuilt)
            if _same(found, changed, wanted):
                return
            for _ in range(_REPEATS):
                for batch, rows in ((self._first, found), (others, changed)):
                    repeated = self._rows(batch)
                    if repeated is None or not _same(rows, repeated, wanted):
                        return
            name, module = self._where(others)
        raise InvalidArgument(
            "model: %s gives a record something else beside other records: it mixes the records of "
            "a batch, so that one of them moves the others' gradients. Let it look at each record "
            "alone (group or layer normalisation in place of a mean over the batch)"
            % called(name, module), field="model")

    @contextlib.contextmanager
    def _model_as_it_is(self) -> Iterator[None]:
        """In eval mode, and afterwards as it was before."""
        modules = list(self._model.modules())
        held = [(part.__dict__, dict(part.__dict__)) for part in modules]
        buffers = [(part._buffers, key, buffer, buffer.detach().clone()) for part in modules
                   for key, buffer in part._buffers.items() if buffer is not None]
        try:
            for part in modules:
                part.training = False
            with again(), torch.no_grad(), _bits_kept(self._model):
                yield
        finally:
            torch.clear_autocast_cache()  # of weights without gradients, which the pass would take
            for attributes, values in held:
                for key in set(attributes) - set(values):
                    del attributes[key]
                attributes.update(values)
            for table, key, buffer, value in buffers:
                table[key] = buffer
                if buffer.shape != value.shape or not torch.equal(buffer, value):
                    buffer.data = value

    def _pass(self, instead: Any) -> Any:
        """The output of a pass, on other tensors than those of its examples; None if it fails."""
        try:
            positional, named = instead
            return self._forward.plain(*positional, **named)
        except Exception:  # a model that does not take such a batch
            return None

    def _rows(self, batch: torch.Tensor) -> Optional[_Rows]:
        found, rebuilt = split(self._arguments, self._examples)
        output = self._pass(rebuilt([batch if each is self._first else each for each in found]))
        return None if output is None else self._of_record(output)

    def _of_record(self, tree: Any) -> _Rows:
        return [each.detach()[self._place].clone() if self._examples and each.dim()
                and len(each) == self._examples else None for each in tensors(tree)]

    def _by_record(self, rebuilt: Any) -> List[bool]:
        """Which outputs have records in their rows: those that are twice as many in a batch of
        twice the records, and not as many by chance."""
        found, _ = split(self._arguments, self._examples)
        output = self._pass(rebuilt([torch.cat([each, each]).detach() for each in found]))
        return [each.dim() > 0 and len(each) == 2 * self._examples for each in tensors(output)]

    def _where(self, others: torch.Tensor) -> Tuple[str, torch.nn.Module]:
        """The first module that is given the same for the record, and gives something else."""
        passes: List[List[_Seen]] = []
        for batch in (self._first, others):
            seen: List[_Seen] = []
            hooks = [part.register_forward_hook(
                lambda module, given, gave, seen=seen: seen.append(  # type: ignore[misc]
                    _Seen(module, self._of_record(given), self._of_record(gave))))
                for part in self._model.modules() if part is not self._model]
            try:
                self._rows(batch)
            finally:
                for hook in hooks:
                    hook.remove()
            passes.append(seen)
        for one, other in zip(*passes):
            if one.module is other.module and _same(one.given, other.given) and not _same(
                    one.gave, other.gave):
                return next((name, part) for name, part in self._model.named_modules()
                            if part is one.module)
        return "", self._model


@contextlib.contextmanager
def _bits_kept(model: torch.nn.Module) -> Iterator[None]:
    """Puts the streams of random bits back that passes take from. Not beside other threads, which
    draw from the same ones."""
    if threading.active_count() > 1:
        yield
        return
    numpy = sys.modules.get("numpy")
    held = random.getstate(), numpy and numpy.random.get_state()
    devices = {parameter.device for parameter in model.parameters() if parameter.is_cuda}
    with torch.random.fork_rng(devices=list(devices)):
        try:
            yield
        finally:
            random.setstate(held[0])
            if numpy is not None:
                numpy.random.set_state(held[1])


def _same(found: _Rows, others: _Rows, wanted: Optional[Sequence[bool]] = None) -> bool:
    """Whether the rows of those outputs are equal but for rounding; of other shapes nothing can be
    said."""
    for index, (one, other) in enumerate(zip(found, others)):
        if one is None or other is None or one.shape != other.shape or not one.numel() or (
                wanted is not None and not (index < len(wanted) and wanted[index])):
            continue
        a, b = torch.nan_to_num(one.double()), torch.nan_to_num(other.double())
        near = float(a.abs().max()) * _precision(one) ** 0.5
        if float((a - b).abs().max()) > near:
            return False
    return True


def _precision(tensor: torch.Tensor) -> float:
    """Of its numbers, as they were computed."""
    if not tensor.is_floating_point():
        return 0.0
    kinds = [tensor.dtype]
    if torch.is_autocast_cpu_enabled():
        kinds.append(torch.get_autocast_cpu_dtype())
    if torch.is_autocast_enabled():
        kinds.append(torch.get_autocast_gpu_dtype())
    return max(torch.finfo(kind).eps for kind in kinds)


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """The tensors of an output, whatever holds them."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from tensors(part)
    elif callable(getattr(value, "values", None)):
        for part in value.values():
            yield from tensors(part)
