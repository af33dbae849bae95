"""Whether a model mixes the records of a batch: then no bound on one record's gradient bounds what
one record moves, and no row of gradients shows it. Its pass is made again on a batch in which every
record but one is another, with the same random bits: that one's outputs must stay what they were.
"""
from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

import torch

from ..errors import InvalidArgument
from .functional import Surroundings, running
from .layers import called

_Arguments = Tuple[Tuple[Any, ...], Dict[str, Any]]


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

    def trial(self, first: Optional[torch.Tensor], arguments: _Arguments) -> Optional[Trial]:
        """Of calls 1, 2, 4, 8 and so on, whose examples are in the rows of `first`."""
        self._calls += 1
        if first is None or self._calls & (self._calls - 1):
            return None
        return Trial(self.plain, self.layer, first, arguments)

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
        trial = self.trial(first, (arguments, named))
        output = self.plain(*arguments, **named)
        if trial is not None:
            trial.compare(output)
        return output


class _Seen(NamedTuple):
    """One module's call in a pass: what it was given and what it gave for the record."""

    module: torch.nn.Module
    given: List[torch.Tensor]
    gave: List[torch.Tensor]


class Trial:
    """A pass of a model on the batch `first` of its arguments with other records in it, made
    before the pass itself. Where that one differs for the record that stayed, and a second one on
    the same batch does not, the model mixes records."""

    def __init__(self, plain: Callable[..., Any], model: torch.nn.Module, first: torch.Tensor,
                 arguments: _Arguments) -> None:
        self._plain, self._model, self._arguments = plain, model, arguments
        self._surroundings = Surroundings(model)
        self._first, self._examples = first, first.shape[0]
        self._place = self._examples // 2  # has records before it and, of three, behind it
        others = first.detach().clone()
        others[:] = others[self._place:self._place + 1]
        self._others = others
        self._rows = self._again(others)

    def compare(self, output: Any) -> None:
        """InvalidArgument if the model's output shows that it mixes records."""
        if self._rows is None or self._examples < 2:
            return
        found = self._of_record(output)
        if self._same(found, self._rows):
            return
        seen: List[_Seen] = []
        control = self._again(self._first, seen)
        if control is None or not self._same(found, control):
            return  # it is not the same twice on one batch, and says nothing
        changed: List[_Seen] = []
        self._again(self._others, changed)
        name, module = "", self._model
        for one, other in zip(seen, changed):
            if one.module is not other.module:
                break
            if self._same(one.given, other.given) and not self._same(one.gave, other.gave):
                module = one.module
                name = next(name for name, part in self._model.named_modules() if part is module)
                break
        raise InvalidArgument(
            "model: %s gives a record something else beside other records: it mixes the records of "
            "a batch, so that one of them moves the others' gradients. Let it look at each record "
            "alone (group or layer normalisation in place of a mean over the batch)"
            % called(name, module), field="model")

    def _again(self, first: torch.Tensor, seen: Optional[List[_Seen]] = None) -> Optional[
            List[torch.Tensor]]:
        """What the pass gives for the record; None where it fails."""
        positional, named = _with(self._arguments, self._first, first)
        hooks = [] if seen is None else [
            part.register_forward_hook(lambda module, given, gave: seen.append(  # type: ignore
                _Seen(module, self._of_record(given), self._of_record(gave))))
            for part in self._model.modules() if part is not self._model]
        try:
            with self._surroundings.restored(), torch.no_grad():
                return self._of_record(self._plain(*positional, **named))
        except Exception:  # a model that does not take such a batch
            return None
        finally:
            for hook in hooks:
                hook.remove()
            torch.clear_autocast_cache()  # of weights without gradients, which the pass would take

    def _of_record(self, tree: Any) -> List[torch.Tensor]:
        """The record's rows of what a pass or a module gives."""
        return [tensor.detach()[self._place].clone() for tensor in tensors(tree)
                if tensor.dim() and tensor.shape[0] == self._examples]

    def _same(self, found: List[torch.Tensor], others: List[torch.Tensor]) -> bool:
        """Whether they are equal but for rounding; of other shapes nothing can be said."""
        for one, other in zip(found, others):
            if one.shape != other.shape or not one.numel():
                continue
            a, b = torch.nan_to_num(one.double()), torch.nan_to_num(other.double())
            near = float(a.abs().max()) * self._surroundings.precision(one) ** 0.5 if (
                one.is_floating_point()) else 0.0
            if float((a - b).abs().max()) > near:
                return False
        return True


def _with(arguments: _Arguments, first: torch.Tensor, instead: torch.Tensor) -> Any:
    """The arguments, with another tensor in the place of one."""
    positional, named = arguments

    def put(value: Any) -> Any:
        if value is first:
            return instead
        if isinstance(value, dict):
            return type(value)((key, put(part)) for key, part in value.items())
        if type(value) in (list, tuple):
            return type(value)(put(part) for part in value)
        return value
    return put(positional), put(named)


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """The tensors of an output, whatever holds them."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict) or hasattr(value, "values"):
        for part in value.values():
            yield from tensors(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from tensors(part)
