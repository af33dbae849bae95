"""What a private step must not pass over: state that a forward pass writes into the model, and a
loss that is reduced otherwise than its per-example gradients were told. Both are refused before a
weight moves.

Before and after each forward pass of a watched model its parameters and buffers are compared: which
tensors they are, and how often those were written (`_version`). Some kernels write without counting
(running statistics of torch's own normalisations, all through `.data`), so values are compared too,
at passes that trial.Looks says. So they are once more before the step that takes the gradients of
the pass. What was written is put back: buffers always, parameters at those passes.
"""
from __future__ import annotations

import weakref
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Set, Tuple

import torch

from ..errors import InvalidArgument, WrongType
from . import beside, functional, losses, tape, trial

class _Entered:
    """A hook before forward passes. Where it is copied or saved with its model it does nothing:
    nobody watches that."""

    __slots__ = ("_watch",)

    def __init__(self, watch: Optional["weakref.ref[Watch]"] = None) -> None:
        self._watch = watch

    def __call__(self, part: torch.nn.Module, given: Any) -> None:
        found = self._watch and self._watch()
        if found:
            found.entered(part, given)

    def __reduce__(self) -> Any:
        return type(self), ()


class _Left(_Entered):
    """The same after those of the whole model."""

    __slots__ = ()

    def __call__(self, model: torch.nn.Module, given: Any, output: Any = None) -> None:
        found = self._watch and self._watch()
        if found:
            found.left(given, output)


# Tensors: where each is, its version and, if it is kept, a copy.
_States = List[Tuple[Dict[str, Any], str, torch.Tensor, int, Optional[torch.Tensor]]]


class Watch:
    """Over one model, to which it refers weakly: see `watch`."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._model = weakref.ref(model)
        self.users, self.public = 0, set()  # type: int, Set[str]
        self._factors: Dict[int, float] = {}
        self._tape: Optional[tape.Tape] = None
        self.loss_reduction: Optional[str] = None
        # Of the forward pass that is going on.
        self.before: Optional[_States] = None
        self.since: Optional[_States] = None  # of the last one, until its step
        self._looks = {True: trial.Looks(), False: trial.Looks()}  # by whether it has gradients
        self._by_value = False
        self._tables: List[Tuple[Dict[str, Any], int]] = []  # of parameters, or (1) of buffers
        self._copies: Dict[int, Tuple[torch.Tensor, int, torch.Tensor]] = {}  # of buffers
        entered = _Entered(weakref.ref(self))
        # Parts may be called alone.
        self._hooks = [part.register_forward_pre_hook(entered) for part in model.modules()
                       if part is model or part._parameters or part._buffers]
        before: Any = model._forward_pre_hooks  # some of which may change the batch
        before.move_to_end(self._hooks[0].id, last=False)
        self._hooks.append(model.register_forward_hook(_Left(weakref.ref(self))))

    def remove(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self.before = self.since = None
        self.end_tape()

    def __del__(self) -> None:
        if self._tape is not None:
            self._tape.forget()

    def end_tape(self) -> None:
        if self._tape is not None:
            self._tape.end()
        self._tape = None

    def names(self) -> Dict[int, str]:
        """The name of each parameter, by its id."""
        model = self._model()
        return {} if model is None else {id(p): name for name, p in model.named_parameters()}

    def entered(self, part: torch.nn.Module, given: Any = None) -> None:
        """A forward pass begins, of the model or of a part that is called alone."""
        model = self._model()
        if functional.running():
            return
        if part is model:
            self.check()  # of parts that were called alone
            forward = part.__dict__.get("forward")
            if isinstance(forward, trial.Forward) and torch.is_grad_enabled() and (
                    len(part._forward_pre_hooks) > 1):
                forward.given = given
        elif model is None or self.before is not None or not torch.is_grad_enabled():
            return
        self._by_value = self._looks[torch.is_grad_enabled()].at_next()
        if self._by_value and model is not None:
            tables: List[Any] = [(part._parameters, part._buffers) for part in model.modules()]
            self._tables = [
                (table, of_buffers) for pair in tables for of_buffers, table in enumerate(pair)
                if table]
            self._copies = {}
        with functional.again():  # of which no tape notes anything
            self.before = self._states()
        if part is model and self.before is not None:
            self._begin_tape(given)

    def _states(self) -> Optional[_States]:
        """Those of all parameters and buffers; None of the tensors that torch.func has in their
        places: it refuses writes to shared ones itself."""
        before: List[Any] = []
        for table, of_buffers in self._tables:
            for key, tensor in table.items():
                if tensor is None or torch.nn.parameter.is_lazy(tensor):
                    continue
                if of_buffers:
                    copy = self._copies.get(id(tensor))
                    if copy is None or copy[0] is not tensor or copy[1] != _version(tensor):
                        copy = self._copies[id(tensor)] = (tensor, _version(tensor),
                                                           tensor.detach().clone())
                    before.append((table, key, tensor, copy[1], copy[2]))
                elif type(tensor) is torch.Tensor:
                    return None
                else:
                    before.append((table, key, tensor, _version(tensor),
                                   tensor.detach().clone() if self._by_value else None))
        return before

    def _begin_tape(self, given: Any) -> None:
        tape.pause(not torch.is_grad_enabled())
        if not torch.is_grad_enabled():
            return
        if self._tape is not None and (self._tape.is_used or self._tape.has_ended):
            self.end_tape()
        delivered = tape.delivered(is_wanted=self._tape is None)
        if self._tape is None:
            self._tape = delivered or (tape.Tape.begun() if self._by_value and tape.is_plain(given)
                                       else None)
        if self._tape is not None:
            self._tape.pass_begins(given)

    def left(self, given: Any, output: Any) -> None:
        """A forward pass of the whole model ends."""
        if functional.running():
            return
        self.check()
        tape.pause(False)
        noted = self._tape if torch.is_grad_enabled() else None
        found = [] if noted is None else noted.pass_ends(output)
        mixed = None if noted is None else beside.inputs_mix(noted)
        if mixed is not None:
            raise InvalidArgument(
                "model: is given rows that are made of several records%s: one of them would move "
                "the others' gradients, and no clip norm would bound it. Give it each record by "
                "itself: mix within one record, or with public data"
                % (" (%s)" % mixed if mixed else ""), field="model")
        if noted is None and self._by_value:
            found = [tensor for tensor in functional.tensors(output) if tensor.requires_grad]
        first = 0 if noted is None else len(noted.outputs) - len(found)
        for place, tensor in enumerate(found, first):
            tensor.register_hook(losses.Check(self.loss_reduction, tensor, self._factors, noted,
                                              place))

    def check(self) -> None:
        """Refuses what was written since the pass began, by its name, and puts it back."""
        before, self.before = self.before, None
        if before is not None:
            self.since = before
            self._refuse(before, between=False)

    def check_since(self) -> None:
        """The same of what was written between the last pass and the step on it."""
        since, self.since = self.since, None
        if since is not None:
            self._refuse(since, between=True)

    def _refuse(self, states: _States, between: bool) -> None:
        found = [state for state in states if state[0].get(state[1]) is not state[2]
                 or _version(state[2]) != state[3]
                 or (self._by_value and state[4] is not None and not _same(state[2], state[4]))]
        model = self._model()
        if not found or model is None:
            return
        places = {(id(table), key): (prefix, part) for prefix, part in model.named_modules()
                  for table in (part._parameters, part._buffers) for key in table}
        for state in found:
            prefix, part = places.get((id(state[0]), state[1]), ("", model))
            name = "%s.%s" % (prefix, state[1]) if prefix else state[1]
            if name not in self.public:
                for table, key, tensor, _, value in found:
                    table[key] = tensor
                    if value is not None:
                        tensor.data = value.clone()  # it may have another size by now
                self.since = None
                words = ("%s of %s was written between its backward pass and this step" if between
                         else "a forward pass writes %s of %s")
                raise InvalidArgument(
                    "model: %s, and so puts records into the model without noise: %s"
                    % (words % (name, type(part).__name__), _instead(part, name, between)),
                    field="model")


def _instead(part: Any, name: str, between: bool) -> str:
    if between and name.split(".")[-1] in part._parameters:
        return ("if another optimizer stepped it, let its private optimizer alone do that; else "
                "write it before the pass or after the step")
    if getattr(part, "max_norm", None) is not None:
        return "make it with max_norm=None"
    if getattr(part, "track_running_stats", False):
        return "make it with track_running_stats=False"
    return ("%s. If what is written depends on no record (a counter, the vectors of spectral "
            "normalisation): PrivateOptimizer(..., model=model, public_state=[%r])"
            % ("write it before the pass or after the step" if between
               else "keep it out of the forward pass", name))


_WATCHES: "weakref.WeakKeyDictionary[torch.nn.Module, Watch]" = weakref.WeakKeyDictionary()


def watch(model: torch.nn.Module, *, loss_reduction: Optional[str] = None,
          public_state: Iterable[str] = (), is_running: bool = False) -> Callable[[], None]:
    """Refuses forward passes of `model` that write its parameters or buffers, from now on. It is
    one watch, however often it is called. Returns what ends this call's part in it.

    loss_reduction: "mean" or "sum", where per-example gradients rely on it: a loss that is seen to
        be reduced otherwise is refused in its backward pass
    public_state: names of parameters and buffers that passes may write, as what they write depends
        on no record
    is_running: a forward pass of it has begun, which is watched too
    """
    if not isinstance(model, torch.nn.Module):
        raise WrongType("model: must be a torch.nn.Module, got %s" % type(model).__name__,
                        field="model")
    public = [public_state] if isinstance(public_state, str) else list(public_state)
    known = {
        name for named in (model.named_parameters(), model.named_buffers()) for name, _ in named}
    for name in public:
        if name not in known:
            raise InvalidArgument(
                "public_state: must be names of the model's buffers or parameters, got %r"
                % (name,),
                field="public_state")
    found = _WATCHES.get(model)
    if found is None:
        found = _WATCHES[model] = Watch(model)
    found.public.update(public)
    found.loss_reduction = loss_reduction or found.loss_reduction
    found.users += 1
    parts = [found]
    if is_running:
        found.entered(model)

    def end() -> None:
        if not parts:
            return
        ending = parts.pop()
        ending.users -= 1
        if loss_reduction is not None:
            ending.loss_reduction = None
        if ending.users == 0:
            ending.remove()
            for watched, other in list(_WATCHES.items()):
                if other is ending:
                    del _WATCHES[watched]
    return end


def check_state() -> None:
    """Refuses state of watched models that was written from the beginning of the last pass, of the
    whole model or of a part, to the step that asks."""
    trial.Looks.stepped()
    for found in list(_WATCHES.values()):
        found.end_tape()
        found.check()
        found.check_since()


def names() -> Dict[int, str]:
    """The names that watched models have for their parameters, by the parameters' ids."""
    known: Dict[int, str] = {}
    for found in list(_WATCHES.values()):
        known.update(found.names())
    return known


def _version(tensor: torch.Tensor) -> int:
    """How often it was written, where that is counted."""
    return 0 if tensor.is_inference() else tensor._version


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors have the same values; NaN is NaN."""
    if a.shape != b.shape or a.dtype != b.dtype or a.device != b.device:
        return False
    if torch.equal(a, b):
        return True
    return a.is_floating_point() and torch.equal(torch.isnan(a), torch.isnan(b)) and torch.equal(
        a.masked_fill(torch.isnan(a), 0), b.masked_fill(torch.isnan(b), 0))


# What backward passes gave gradients to, by id, since they were last forgotten.
_REACHED: Dict[int, "weakref.ref[torch.Tensor]"] = {}


def note_reached() -> None:
    """Remembers the leaves that the backward pass which calls this gives gradients to."""
    for backward, inputs in losses.calls():
        for leaf in inputs or _leaves(backward):
            if leaf.is_leaf:
                _REACHED[id(leaf)] = weakref.ref(leaf)


def reached() -> List[torch.Tensor]:
    """Those leaves."""
    return [leaf for leaf in (found() for found in _REACHED.values()) if leaf is not None]


def forget_reached() -> None:
    _REACHED.clear()


def _leaves(ends: Iterable[torch.Tensor]) -> Iterator[torch.Tensor]:
    """What a backward pass of these gives gradients to."""
    waiting: List[Any] = [loss.grad_fn for loss in ends]
    seen: Set[Any] = set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if node.name().endswith("AccumulateGrad"):
            yield node.variable
        waiting += [following for following, _ in node.next_functions]
