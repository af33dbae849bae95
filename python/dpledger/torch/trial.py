"""Whether a model mixes the records of a batch: then no bound on one record's gradient bounds what
one record moves, and no row of gradients shows it.

Its pass is made on the batch, and on one in which every record but one is another: that one's
outputs must be the same. Both are made in eval mode and in training mode, on random bits of our
own; where these fall otherwise on other records, nothing is said. They are repeated before anything
is, since a model may have bits of its own. What a pass writes into buffers and attributes is put
back. What mixes beside such noise is let pass. So is what a loop does to a batch before it calls a
module: nothing of the model shows it, and dpledger.torch.check does.
"""
from __future__ import annotations

import contextlib
import sys
import threading
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import torch

from ..errors import InvalidArgument
from . import tape
from .functional import (Bits, Surroundings, again, running, split, tensors)
from .layers import called

_Arguments = Tuple[Tuple[Any, ...], Dict[str, Any]]
# The frames of a module's call: self, and its arguments by position and by name.
_CALLS = {torch.nn.Module.__call__.__code__, torch.nn.Module._call_impl.__code__}
_Rows = List[Optional[torch.Tensor]]  # of the record, for each output that may have records in rows
_REPEATS = 8  # of both, before a model is said to mix


class Looks:
    """Which of many passes are looked at closely: of the steps that follow some, the first 8, those
    numbered 16, 32 and so on, and every 64th; and before such a step the passes 1, 2, 4 and so on.
    Counted from the step before, so that other passes (an evaluation, a second one for each step)
    leave none unseen for long."""

    _steps = 0  # of all optimizers

    def __init__(self) -> None:
        self._since = Looks._steps
        self._step, self._passes = 1, 0

    @staticmethod
    def stepped() -> None:
        Looks._steps += 1

    def at_next(self) -> bool:
        """Whether the next pass is one of them."""
        if self._since != Looks._steps:
            self._since = Looks._steps
            self._step, self._passes = self._step + 1, 0
        self._passes += 1
        return _is_power(self._passes) and (
            self._step <= 8 or _is_power(self._step) or self._step % 64 == 0)


def _is_power(number: int) -> bool:
    """Of two."""
    return number & (number - 1) == 0


class Forward:
    """In the place of a module's forward pass: it sees arguments by name, and the end of a call
    that fails."""

    def __init__(self, layer: torch.nn.Module) -> None:
        self.layer = layer
        self.before = layer.__dict__.get("forward")
        self.given: Optional[Tuple[Any, ...]] = None  # a call, before hooks that may change it
        self.calls: Optional[List[_Arguments]] = None  # while they are looked for
        self._looks = Looks()

    def plain(self, *arguments: Any, **named: Any) -> Any:
        if self.calls is not None:
            self.calls.append((arguments, named))
        if self.before is not None:
            return self.before(*arguments, **named)
        return type(self.layer).forward(self.layer, *arguments, **named)

    def refuse_mixing(self, positional: Tuple[Any, ...], named: Dict[str, Any]) -> None:
        """InvalidArgument if the layer, or a module that it is called in, is seen to mix the
        examples, which are in the rows of the first tensor; at calls that Looks says."""
        given, self.given = self.given, None
        tape.model_is_given((positional, named))
        if not self._looks.at_next():
            return
        _Trial(self, self.layer, (positional if given is None else given, named)).run()
        outer = _outermost(self.layer)
        if outer is not None:
            _Trial(self, *outer).run()

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
        self.refuse_mixing(arguments, named)
        return self.plain(*arguments, **named)


def _outermost(layer: torch.nn.Module) -> Optional[Tuple[torch.nn.Module, _Arguments]]:
    """The module that the layer is a part of and is called in, and its arguments; None if it is
    called alone."""
    found, frame = None, sys._getframe().f_back
    while frame is not None:
        if frame.f_code in _CALLS:
            module, *arguments = (frame.f_locals[name] for name in frame.f_code.co_varnames[:3])
            if module is not layer and any(part is layer for part in module.modules()) and not (
                    type(module).__module__.startswith(("torch.nn.parallel", "torch.distributed"))):
                found = module, tuple(arguments)
        frame = frame.f_back
    return found  # type: ignore[return-value]


class _Seen(NamedTuple):
    """One module's call in a pass: what it was given and what it gave for the record."""

    module: torch.nn.Module
    given: _Rows
    gave: _Rows


class _Trial:
    """Of one batch, whose records are in the rows of the first argument with a dimension. The model
    is `forward`'s layer, of which what it gives is compared, or one around it, of which what it
    gives the layer is: the loss's graph has the rest."""

    def __init__(self, forward: Forward, model: torch.nn.Module, arguments: _Arguments) -> None:
        self._forward, self._model = forward, model
        self._first: Any = next((each for each in tensors(arguments) if each.dim()), None)
        self._examples = 0 if self._first is None else self._first.shape[0]
        self._place = 0  # of the record that is looked at
        self._bits, self._drew = tape.OwnBits(), False
        # All arguments that are as long, and what puts others in their places.
        self._found, self._rebuilt = split(arguments, self._examples)

    def run(self) -> None:
        """InvalidArgument if the model is seen to mix records."""
        mixing = self._found_to_mix()
        if mixing is None:
            return
        name, module = mixing
        raise InvalidArgument(
            "model: %s gives a record something else beside other records: it mixes the records of "
            "a batch, so that one of them moves the others' gradients. Let it look at each record "
            "alone (group or layer normalisation in place of a mean over the batch)"
            % called(name, module), field="model")

    def _found_to_mix(self) -> Optional[Tuple[str, torch.nn.Module]]:
        """See _mixing."""
        if self._examples < 2:
            return None
        for training in (False, True)[:1 + self._model.training]:
            # Others are before it and, of three, behind it; where bits are drawn, behind it alone,
            # so that before its own as many are.
            for self._place in (self._examples // 2, 0):
                others, self._drew = self._others(), False
                if others is None:
                    return None
                with self._model_lent(training):
                    mixing = self._mixing(others)
                if mixing is not None and not (self._place and self._drew):
                    return mixing
                if self._examples > 2 and not self._drew:
                    break
        return None

    def _others(self) -> Optional[torch.Tensor]:
        """The batch with the record in others' places too; None of an input of another kind."""
        if self._first is None:
            return None
        try:
            others = self._first.detach().clone()
            others[:] = others[self._place].clone()
            return others
        except Exception:
            return None

    def _mixing(self, others: torch.Tensor) -> Optional[Tuple[str, torch.nn.Module]]:
        """The module that mixes records, and its name; None if none is seen to."""
        found, drawn = self._rows(self._first), self._drawn()
        changed = self._rows(others)
        if self._same(found, changed) or drawn != self._drawn():
            return None
        wanted = self._by_record()
        if self._same(found, changed, wanted):
            return None
        for _ in range(_REPEATS):
            for batch, rows in ((self._first, found), (others, changed)):
                repeated = self._rows(batch)
                if not repeated or not self._same(rows, repeated, wanted):
                    return None
        return self._where(others)

    @contextlib.contextmanager
    def _model_lent(self, training: bool) -> Iterator[None]:
        """Without gradients, and in eval mode unless `training`; afterwards as it was before."""
        modules = list(self._model.modules())
        held = [(part.__dict__, dict(part.__dict__)) for part in modules]
        buffers = [(part._buffers, key, buffer, buffer.detach().clone()) for part in modules
                   for key, buffer in part._buffers.items() if buffer is not None]
        # Other threads draw from the same streams, which cannot be put back then.
        self._alone, self._streams, self._training = threading.active_count() == 1, Bits(), training
        try:
            for part in modules:
                part.training = part.training and training
            self._precision = Surroundings(self._model).precision
            with again(), torch.no_grad():
                yield
        finally:
            if self._alone:
                self._streams.put_back()
            torch.clear_autocast_cache()  # of weights without gradients, which the pass would take
            for attributes, values in held:
                for key in set(attributes) - set(values):
                    del attributes[key]
                attributes.update(values)
            for table, key, buffer, value in buffers:
                table[key] = buffer
                if buffer.shape != value.shape or not torch.equal(buffer, value):
                    buffer.data = value

    def _pass(self, instead: Sequence[torch.Tensor]) -> Any:
        """What is compared of a pass, with other tensors in the places of `_found`; None if it
        fails."""
        calls = self._forward.calls = []
        if self._alone:
            self._streams.put_back()
        before = self._streams if self._alone else Bits()
        self._bits.begin()
        try:
            positional, named = self._rebuilt(instead)
            with tape.drawing_from(self._bits, instead) as is_ours:
                if self._training and not is_ours and not self._alone:
                    return None
                if self._model is self._forward.layer:
                    return self._model(*positional, **named)  # with hooks that others have on it
                self._model.forward(*positional, **named)  # of which those arguments came
                return calls
        except Exception:  # a model that does not take such a batch
            return None
        finally:
            self._forward.calls = None
            self._drew |= bool(self._bits.drawn()) or before != Bits()

    def _drawn(self) -> Tuple[List[Any], Optional[Bits]]:
        """How much the last pass drew."""
        return self._bits.drawn(), Bits() if self._alone else None

    def _rows(self, batch: torch.Tensor) -> _Rows:
        """What a pass with `batch` in the place of `first` gives for the record."""
        return self._of_record(self._pass([batch if each is self._first else each
                                           for each in self._found]))

    def _of_record(self, tree: Any) -> _Rows:
        return [each.detach()[self._place].clone() if self._examples and each.dim()
                and len(each) == self._examples else None for each in tensors(tree)]

    def _by_record(self) -> List[bool]:
        """Which outputs have records in their rows: those that are twice as many in a batch of
        twice the records, and not as many by chance. None, where the model takes no such batch."""
        output = self._pass([torch.cat([each, each]).detach() for each in self._found])
        return [each.dim() > 0 and len(each) == 2 * self._examples for each in tensors(output)]

    def _same(self, found: _Rows, others: _Rows, wanted: Optional[Sequence[bool]] = None) -> bool:
        """Whether the rows of the wanted outputs are equal but for rounding. Of other shapes, and
        of passes that failed, nothing can be said."""
        for one, other, is_wanted in zip(found, others, [True] * len(found) if wanted is None
                                         else wanted):
            if not is_wanted or one is None or other is None or one.shape != other.shape or (
                    not one.numel()):
                continue
            a, b = torch.nan_to_num(one.double()), torch.nan_to_num(other.double())
            rounding = self._precision(one) ** 0.5 if one.is_floating_point() else 0.0
            if float((a - b).abs().max()) > float(a.abs().max()) * rounding:
                return False
        return True

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
            # (What it was given by name is not seen.)
            if one.module is other.module and any(row is not None for row in one.given) and (
                    self._same(one.given, other.given) and not self._same(one.gave, other.gave)):
                return next((name, part) for name, part in self._model.named_modules()
                            if part is one.module)
        return "", self._model
