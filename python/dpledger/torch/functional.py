"""Each example's gradient by torch.func, or functorch on torch 1.13: of a model, or of a layer
without a rule."""
from __future__ import annotations

import contextlib
import functools
import pickle
import random
import sys
import threading
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_unflatten

from .. import _client
from ..errors import InvalidArgument, WrongType
from .layers import Rows, known
from .sequences import RULES, attention, stepwise

try:
    from torch.func import grad, vmap
except ImportError:
    from functorch import grad, vmap

nn = torch.nn
_local = threading.local()


def running() -> bool:
    """Whether a forward pass is being made again in this thread: hooks have no part in it."""
    return getattr(_local, "depth", 0) > 0


@contextlib.contextmanager
def again() -> Iterator[None]:
    """A forward pass that is made again."""
    _local.depth = getattr(_local, "depth", 0) + 1
    try:
        yield
    finally:
        _local.depth -= 1


class Surroundings:
    """What a forward pass takes from around it, to make it again: random bits and autocast."""

    def __init__(self, layer: nn.Module) -> None:
        self._devices = {p.device for p in layer.parameters() if p.device.type == "cuda"}
        self._bits = torch.get_rng_state() if layer.training else None
        self._cuda_bits = {device: torch.cuda.get_rng_state(device) for device in self._devices
                           if layer.training}
        self._autocast = [("cpu", torch.get_autocast_cpu_dtype(), torch.is_autocast_cpu_enabled())]
        if self._devices:
            self._autocast = [("cuda", torch.get_autocast_gpu_dtype(), torch.is_autocast_enabled())]

    def precision(self, output: torch.Tensor) -> float:
        """Of the output's numbers, as they were computed."""
        kinds = [output.dtype] + [dtype for _, dtype, enabled in self._autocast if enabled]
        return max(torch.finfo(kind).eps for kind in kinds)

    @contextlib.contextmanager
    def restored(self, autocast: bool = True) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            stack.enter_context(again())
            stack.enter_context(torch.enable_grad())
            stack.enter_context(torch.random.fork_rng(devices=list(self._devices)))
            if self._bits is not None:
                torch.set_rng_state(self._bits)
            for device, bits in self._cuda_bits.items():
                torch.cuda.set_rng_state(bits, device)
            for kind, dtype, enabled in self._autocast:
                stack.enter_context(torch.autocast(kind, dtype=dtype, enabled=enabled and autocast))
            yield


class Bits:
    """Where the streams are of the random bits that passes take from."""

    def __init__(self) -> None:
        self._numpy = sys.modules.get("numpy")
        self._devices = range(torch.cuda.device_count() if torch.cuda.is_initialized() else 0)
        self._python, self._torch = random.getstate(), torch.get_rng_state()
        self._arrays = None if self._numpy is None else self._numpy.random.get_state()
        self._cuda = [torch.cuda.get_rng_state(device) for device in self._devices]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bits) and self._python == other._python and (
            pickle.dumps(self._arrays) == pickle.dumps(other._arrays)) and all(map(
                torch.equal, [self._torch] + self._cuda, [other._torch] + other._cuda))

    def put_back(self) -> None:
        random.setstate(self._python)
        torch.set_rng_state(self._torch)
        if self._numpy is not None:
            self._numpy.random.set_state(self._arrays)
        for device, state in zip(self._devices, self._cuda):
            torch.cuda.set_rng_state(state, device)


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


class _Dropout(TorchFunctionMode):  # type: ignore[misc]
    """Dropout by operations that torch 1.13 can map over examples while it differentiates. On the
    CPU it takes the random bits that torch's own dropout takes."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        functional = torch.nn.functional
        if func in (functional.dropout, functional.dropout1d, functional.dropout2d,
                    functional.dropout3d):
            return self._drop(func is not functional.dropout, *args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))

    @staticmethod
    def _drop(channels: bool, values: torch.Tensor, p: float = 0.5, training: bool = True,
              inplace: bool = False) -> torch.Tensor:
        if not training or p == 0:
            return values
        if p == 1:
            return values * 0
        shape = tuple(
            values.shape[:2]) + (1,) * (values.dim() - 2) if channels else tuple(values.shape)
        return values * values.new_empty(shape).bernoulli_(1 - p).div_(1 - p)


@contextlib.contextmanager
def _by_steps(model: nn.Module) -> Iterator[None]:
    """The model with recurrent layers that torch can map over examples; its own it cannot."""
    layers = [layer for layer in model.modules()
              if RULES.get(known(layer, RULES), attention) is not attention  # type: ignore
              and "forward" not in vars(layer)]
    for layer in layers:
        layer.forward = functools.partial(stepwise, layer)  # type: ignore[assignment]
    try:
        yield
    finally:
        for layer in layers:
            del layer.forward


@contextlib.contextmanager
def _standing_in(model: nn.Module, parameters: Sequence[Any], values: Sequence[Any],
                 buffers: bool = False) -> Iterator[Dict[str, torch.Tensor]]:
    """The model with other values of its parameters, and, if wanted, with copies of its buffers,
    which it yields."""
    numbers = {id(parameter): index for index, parameter in enumerate(parameters)}
    before: List[Tuple[Dict[str, Any], str, Any]] = []
    copies: Dict[str, torch.Tensor] = {}
    try:
        for path, layer in model.named_modules():
            for name, parameter in list(layer._parameters.items()):
                if id(parameter) in numbers:
                    before.append((layer._parameters, name, parameter))
                    layer._parameters[name] = values[numbers[id(parameter)]]
            for name, value in layer.__dict__.items():
                if isinstance(value, torch.Tensor):  # that a pass makes anew, as weight_norm's
                    before.append((layer.__dict__, name, value))
            for name, buffer in list(layer._buffers.items()) if buffers else ():
                if buffer is not None:
                    before.append((layer._buffers, name, buffer))
                    layer._buffers[name] = copies[path + "." * bool(path) + name] = buffer.clone()
        yield copies
    finally:
        for table, name, value in before:
            table[name] = value


def split(tree: Any, batch: Optional[int] = None) -> Tuple[List[torch.Tensor],
                                                           Callable[[Sequence[Any]], Any]]:
    """Tensors of the tree that have examples (all those with a dimension, or with `batch` in their
    first), and what puts others in their places."""
    leaves, shape = tree_flatten(tree)
    places = [index for index, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)
              and leaf.dim() and (batch is None or leaf.shape[0] == batch)]

    def rebuilt(tensors: Sequence[Any]) -> Any:
        new = list(leaves)
        for place, tensor in zip(places, tensors):
            new[place] = tensor
        return tree_unflatten(new, shape)
    return [leaves[place] for place in places], rebuilt


def detached(tree: Any) -> Any:
    leaves, shape = tree_flatten(tree)
    return tree_unflatten(
        [leaf.detach() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves], shape)


def rows_of_layer(layer: nn.Module, parameters: Sequence[Any], arguments: Any, number: int,
                  errors: torch.Tensor) -> Tuple[Rows, torch.Tensor]:
    """Each example's gradients of a layer's parameters, by its forward pass over one example at a
    time.

    arguments: (positional, by name) of its call; tensors with the errors' first dimension have
        examples in it
    number: which tensor of its output the errors [B, ...] are of

    Gives that output too, to compare it.
    """
    tensors, rebuilt = split(arguments, len(errors))

    def of_one(values: Any, examples: Any, error: torch.Tensor) -> Any:
        with _standing_in(layer, parameters, values):
            positional, named = rebuilt([x[None] for x in examples])
            output = tree_flatten(layer(*positional, **named))[0][number]
        return (output * error[None]).sum(), output[0]
    with _Dropout():
        found, output = vmap(grad(of_one, has_aux=True), (None, 0, 0), randomness="different")(
            tuple(p.detach() for p in parameters), tuple(tensors), errors)
    return list(zip(parameters, found)), output


def gradients_of(model: nn.Module, loss: Callable[[Any, Any], torch.Tensor], inputs: Any,
                 targets: Any, chunk_size: Optional[int]) -> List[torch.Tensor]:
    """Each example's gradient for every parameter that requires one: see `gradients`."""
    wanted = [p for p in model.parameters() if p.requires_grad]
    if not wanted:
        raise InvalidArgument("model: no parameter requires a gradient", field="model")
    if not callable(loss):
        raise WrongType("loss: must be a function of outputs and targets, got %s"
                        % type(loss).__name__,
                        field="loss")
    batch = _examples(inputs, targets)
    tensors, rebuilt = split((_arguments(inputs), targets))
    step = batch if chunk_size is None else _client.whole(chunk_size, "chunk_size", 1)

    def of_one(values: Any, examples: Any) -> torch.Tensor:
        with _standing_in(model, wanted, values):
            (positional, named), of_targets = rebuilt([x[None] for x in examples])
            found = loss(model(*positional, **named), of_targets)
        if not isinstance(found, torch.Tensor) or found.numel() != 1:
            raise InvalidArgument("loss: must return one number for an example, got %s"
                                  % ("shape %s" % list(found.shape)
                                     if isinstance(found, torch.Tensor) else type(found).__name__),
                                  field="loss")
        return found.reshape(())
    values = tuple(p.detach() for p in wanted)
    frozen = {name: (p, p._version) for name, p in model.named_parameters() if not p.requires_grad}
    every = [p.new_zeros((batch,) + tuple(p.shape))
             for p in wanted] if batch == 0 or step < batch else []
    with again(), _by_steps(model), _standing_in(model, (), (), buffers=True) as buffers:
        for first in range(0, batch, max(step, 1)):
            part = tuple(x[first:first + step] for x in tensors)
            try:
                with _Dropout():
                    found = vmap(grad(of_one), (None, 0), randomness="different")(values, part)
            except RuntimeError as failed:
                # to name the buffer, if it is one
                with contextlib.suppress(Exception), torch.no_grad():
                    positional, named = rebuilt([x[:1] for x in part])[0]
                    model(*positional, **named)
                _refuse_written(model, buffers, frozen)
                raise InvalidArgument(
                    "model: torch cannot differentiate it one example at a time: %s"
                    % str(failed).split("\n")[0],
                    field="model") from failed
            _refuse_written(model, buffers, frozen)
            if not every:
                return [rows.detach() for rows in found]
            for rows, whole in zip(found, every):
                whole[first:first + step] = rows.detach()
    return every


def _refuse_written(model: nn.Module, copies: Dict[str, torch.Tensor],
                    frozen: Dict[str, Any]) -> None:
    now = dict(model.named_buffers())
    written = [name for name, copy in copies.items() if now.get(name) is not copy or copy._version]
    written += [name for name, (parameter, version) in frozen.items()
                if parameter._version != version]
    if written:
        raise InvalidArgument(
            "model: its forward pass writes %s, which would leave without noise; take "
            "the layer out, or call model.eval() if it writes in training alone" % written[0],
            field="model")


def _arguments(inputs: Any) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
    """Positional and by name."""
    if isinstance(inputs, dict):
        return (), inputs
    return (tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)), {}


def _examples(inputs: Any, targets: Any) -> int:
    """How many examples there are: in the first dimension of every tensor."""
    first: Optional[Tuple[str, int]] = None
    for where, tensor in list(_named("inputs", inputs)) + list(_named("targets", targets)):
        if tensor.dim() == 0:
            raise InvalidArgument(
                "%s: must have examples in its first dimension, got a tensor without dimensions"
                % where,
                field=where)
        if first is None:
            first = where, tensor.shape[0]
        elif tensor.shape[0] != first[1]:
            raise InvalidArgument("%s: must have %d examples, as %s has, got %d"
                                  % (where, first[1], first[0], tensor.shape[0]), field=where)
    if first is None or not first[0].startswith("inputs"):
        raise WrongType("inputs: must be a tensor, a tuple of them for the model's positional "
                        "arguments, or a dict for those by name; got %s" % type(inputs).__name__,
                        field="inputs")
    return first[1]


def _named(where: str, tree: Any) -> Iterator[Tuple[str, torch.Tensor]]:
    if isinstance(tree, torch.Tensor):
        yield where, tree
    elif isinstance(tree, dict):
        for key, value in tree.items():
            yield from _named("%s[%r]" % (where, key), value)
    elif isinstance(tree, (tuple, list)):
        for index, value in enumerate(tree):
            yield from _named("%s[%d]" % (where, index), value)
