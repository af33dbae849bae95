"""Each example's gradient, by hooks or by torch.func."""
from __future__ import annotations

import weakref
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from .._words import hinted
from ..errors import InvalidArgument, WrongType
from . import functional, guards, sequences, tape
from .layers import Rows, Rule, called, known, least_dimensions, rule_of
from .trial import Forward

nn = torch.nn
_NORMALISATIONS = nn.modules.batchnorm._NormBase  # of batches and of instances
_HOLDERS = (nn.ParameterList, nn.ParameterDict)  # have parameters, and no forward pass


@hinted()
def check_model(model: torch.nn.Module) -> None:
    """InvalidArgument where a layer couples records, or writes what it saw of them into the model,
    so that no bound on one record's part can hold."""
    if not isinstance(model, nn.Module):
        raise WrongType("model: must be a torch.nn.Module, got %s" % type(model).__name__,
                        field="model")
    for name, layer in model.named_modules():
        wrong = None
        if isinstance(layer, nn.modules.batchnorm._BatchNorm):
            wrong = ("mixes the records of a batch; use group or layer normalisation%s" % (
                "" if layer.training else ", or, since it is in eval mode, put its statistics "
                "into the layer before it: torch.nn.utils.fusion.fuse_conv_bn_eval, "
                "fuse_linear_bn_eval"))
        elif isinstance(layer, _NORMALISATIONS) and layer.track_running_stats:
            wrong = ("writes its inputs' statistics into the model; make it with "
                     "track_running_stats=False")
        elif getattr(layer, "max_norm", None) is not None and isinstance(
                layer, (nn.Embedding, nn.EmbeddingBag)):
            wrong = ("shortens the rows that it looks up, which shows them; make it with "
                     "max_norm=None")
        elif getattr(layer, "scale_grad_by_freq", False):
            wrong = "mixes the records of a batch; make it with scale_grad_by_freq=False"
        if wrong:
            raise InvalidArgument("model: %s %s" % (called(name, layer), wrong), field="model")


@hinted()
def per_example(model: torch.nn.Module, *, loss_reduction: str = "mean") -> Callable[[], None]:
    """Makes every backward pass leave each example's gradient in `parameter.grad_sample`: [B,
    *shape].

    model: called with examples in the first dimension of its input and of every layer's. Linear
        layers, convolutions, embeddings, layer, group and instance normalisation, attention, RNN,
        LSTM and GRU have rules of their own; for other layers, and parameters that a module holds
        itself, that module's forward pass is made again, one example at a time (torch.func, or
        functorch on torch 1.13). A layer may be used several times in one call of the model
    loss_reduction: "mean" or "sum" over examples, as the loss has it

    A layer that would take something else for an example is refused by name, here or in the model's
    first call. So are a model that mixes records, which is called twice more for that, in eval mode
    and without gradients, in the first 8 steps and some later ones; what is made of several records
    before it, and a loss that is seen to mix them, in the same steps, or to be reduced otherwise;
    and state that a forward pass writes into the model. Called again, it takes the place of the
    call before. Copies of the model (copy.deepcopy, torch.save) have hooks of their own, and are
    watched from their first pass on. Returns what takes the hooks off again.
    """
    if loss_reduction not in ("mean", "sum"):
        raise InvalidArgument('loss_reduction: must be "mean" or "sum", got %r' % (loss_reduction,),
                              field="loss_reduction")
    check_model(model)
    if any(isinstance(part, torch.jit.ScriptModule) for part in model.modules()):
        raise WrongType("model: is compiled by torch.jit, which takes no hooks: give the module "
                        "that it was made of", field="model")
    plan = list(_plan("", model, set()))
    _remove(model)
    passes = _Passes(loss_reduction == "mean")
    for name, layer, rule, parameters in plan:
        if rule is not None:
            layer.register_forward_hook(_Hook(passes, name, rule, least_dimensions(layer)))
        else:
            layer.forward = _Layer(passes, name, layer, parameters)
    model.forward = _Model(passes, model)
    passes.watch(model)

    def remove() -> None:
        if isinstance(model.__dict__.get("forward"), _Model) and model.__dict__[
                "forward"].passes is passes:
            _remove(model)
    return remove


def _remove(model: nn.Module) -> None:
    for layer in model.modules():
        while isinstance(layer.__dict__.get("forward"), (_Model, _Layer)):
            layer.__dict__["forward"].remove()
        for key, hook in list(layer._forward_hooks.items()):
            if isinstance(hook, _Hook):
                del layer._forward_hooks[key]


def _plan(name: str, layer: Any, seen: set) -> Iterator[Tuple[str, nn.Module, Optional[Rule],
                                                              List[Any]]]:
    """What takes the gradients of which parameters: each layer, its rule or None, and parameters if
    it has none."""
    if id(layer) in seen:
        return
    seen.add(id(layer))
    whole = known(layer, sequences.RULES) is not None or "parametrizations" in layer._modules
    own = [p for p in (layer.parameters() if whole else _own(layer)) if p.requires_grad]
    if any(isinstance(p, nn.parameter.UninitializedTensorMixin) for p in own):
        raise InvalidArgument(
            "model: %s has no sizes yet; call the model once, on a made-up input, before this"
            % called(name, layer),
            field="model")
    if own and getattr(layer, "batch_first", True) is False:
        raise InvalidArgument(
            "model: %s has time in its first dimension, where examples must be; make it "
            "with batch_first=True" % called(name, layer),
            field="model")
    if own and not isinstance(layer, _HOLDERS):
        yield name, layer, None if whole else rule_of(layer), own
    if not whole:
        for key, child in layer.named_children():
            yield from _plan(name + "." * bool(name) + key, child, seen)


def _own(layer: nn.Module) -> Iterator[Any]:
    """Parameters that the module itself uses: its own, and those in its lists."""
    yield from layer.parameters(recurse=False)
    for child in layer.children():
        if isinstance(child, _HOLDERS):
            yield from _own(child)


class _Passes:
    """Forward and backward passes of a model that has been called."""

    def __init__(self, mean: bool) -> None:
        self.mean = mean
        self.tried = False
        self._forget()

    def _forget(self) -> None:
        self.call: Any = None  # of the model, that is running
        # the call that made the rows of a parameter, in a backward pass
        self._of: Dict[int, Any] = {}
        self._pass: Callable[[], Any] = lambda: None  # that backward pass, while it runs
        self.end: Optional[Callable[[], None]] = None  # of what watches the model

    def watch(self, model: nn.Module, is_running: bool = False) -> None:
        """Watches the model; what watched the one that it is a copy of does not."""
        self.end = guards.watch(model, loss_reduction="mean" if self.mean else "sum",
                                is_running=is_running)

    def __getstate__(self) -> Dict[str, Any]:
        return dict(mean=self.mean, tried=self.tried)

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def seen(self, name: str, layer: nn.Module, rows: int) -> Any:
        """The call in which a layer has been given so many rows: InvalidArgument if they are not
        the examples, or if there is none."""
        if self.call is None and not name:
            return object()  # the model is this layer
        if self.call is None:
            raise InvalidArgument(
                "model: %s was called outside the forward pass of the model that per_example was "
                "given, where nothing shows what is made of its output: call the model, with a "
                "forward that does all of it, or give per_example the module that you call"
                % called(name, layer), field="model")
        if rows != self.call.examples and self.call.examples is not None:
            raise InvalidArgument(
                "model: %s was given %d rows where the model was given %d examples: each "
                "row must be one example, whole. Keep examples in the first dimension "
                "(indices [B, T], not [T] or [B * T]), or use dpledger.torch.gradients"
                % (called(name, layer), rows, self.call.examples),
                field="model")
        return self.call

    def errors(self, errors: torch.Tensor, examples: int) -> torch.Tensor:
        """Of each example's own loss."""
        errors = errors.detach()
        return errors * examples if self.mean else errors

    def keep(self, name: str, call: Any, rows: Rows, kind: torch.dtype) -> None:
        """Rows of one use of a layer, of numbers of this kind. Those of several uses in one call of
        the model, that one backward pass finds, are the same examples', and are added."""
        if self._pass() is None:
            self._of.clear()
            # The engine alone holds it, until the pass has ended or failed.
            running = _Running()
            guards.note_reached()
            torch.autograd.Variable._execution_engine.queue_callback(running)
            self._pass = weakref.ref(running)
        for parameter, found in rows:
            if not parameter.requires_grad:
                continue
            before = getattr(parameter, "grad_sample", None)
            if before is None:
                parameter.grad_sample = kept = found.detach()
            elif self._of.get(id(parameter)) is not call:
                # Added to those, two examples would share a row, and one of them could change it by
                # 2 C.
                raise InvalidArgument(
                    "grad_sample: holds gradients already (at layer %s): call the "
                    "optimizer's accumulate() after every backward pass, or its zero_grad() "
                    "after one that is not meant for it (of other data, of another model's loss, "
                    "of a loop that was stopped); if several calls on the same examples make one "
                    "loss, make them in one module's forward; a gradient's own gradient (a penalty "
                    "on it) takes dpledger.torch.gradients"
                    % (name or "it"),
                    field="grad_sample")
            elif before.shape != found.shape:
                raise InvalidArgument(
                    "grad_sample: layer %s has rows of %d examples, and of %d before; "
                    "use dpledger.torch.gradients" % (name or "it", len(found), len(before)),
                    field="grad_sample")
            else:
                parameter.grad_sample = kept = before + found
            # Of the losses' gradients, which autocast has in 16 bits: the rows are no finer.
            kept.made_of, kept.version = kind, parameter._version
            self._of[id(parameter)] = call


class _Running:
    """A backward pass that runs; does nothing at its end."""

    def __call__(self) -> None:
        pass


class _Call:
    """One call of the model."""

    def __init__(self, examples: Optional[int]) -> None:
        self.examples = examples


class _Hook:
    """On a layer with a rule. The hook of a backward pass is on each output, with the inputs that
    made it: another forward pass in between, over other records, can then not be mistaken for
    it."""

    def __init__(self, passes: _Passes, name: str, rule: Rule, dimensions: int) -> None:
        self.passes, self.name, self.rule, self.dimensions = passes, name, rule, dimensions

    def __call__(
            self, layer: nn.Module, inputs: Any, output: torch.Tensor) -> Optional[torch.Tensor]:
        passes = self.passes
        if functional.running() or not (torch.is_grad_enabled() and output.requires_grad):
            return None
        if not inputs or not isinstance(inputs[0], torch.Tensor):
            raise InvalidArgument(
                "model: %s must be called with its input as the first argument, not by name"
                % called(self.name, layer),
                field="model")
        seen = inputs[0].detach()
        if seen.dim() < self.dimensions:
            raise InvalidArgument(
                "model: %s was given an input of shape %s, which has no dimension of "
                "examples; give it a batch of one" % (called(self.name, layer), list(seen.shape)),
                field="model")
        call = passes.seen(self.name, layer, seen.shape[0])
        changed = None
        if output._is_view():
            # A view that is changed in place later (ReLU(inplace=True)) loses its hooks. Nobody
            # else has its base.
            output = changed = torch.ops.aten._unsafe_view(output, output.shape)

        def backward(errors: torch.Tensor) -> None:
            with torch.no_grad():
                passes.keep(self.name, call,
                            self.rule(layer, seen, passes.errors(errors, len(seen))), errors.dtype)
        output.register_hook(backward)
        tape.layer_gave(output)
        return changed


class _Model(Forward):
    """Of the whole model: counts its examples. At its first call it tries the model on one of them,
    without gradients: layers then have one row, or their rows are not examples, though they may be
    as many by chance."""

    def __init__(self, passes: _Passes, layer: nn.Module) -> None:
        super().__init__(layer)
        self.passes = passes

    def remove(self) -> None:
        super().remove()
        if self.passes.end is not None:
            self.passes.end()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if functional.running() or not torch.is_grad_enabled() or self.passes.call is not None:
            return self.plain(*arguments, **named)
        if self.passes.end is None:
            self.passes.watch(self.layer, is_running=True)
        first = arguments[0] if arguments else None
        if not (isinstance(first, torch.Tensor) and first.dim()):
            first = next(iter(functional.split((arguments, named))[0]), None)
        examples = None if first is None else first.shape[0]
        if examples and not self.passes.tried:
            self._try(examples, (arguments, named))
            self.passes.tried = True
        self.refuse_mixing(arguments, named)
        self.passes.call = _Call(examples)
        try:
            return self.plain(*arguments, **named)
        finally:
            self.passes.call = None

    def _try(self, examples: int, arguments: Any) -> None:
        tensors, rebuilt = functional.split(arguments, examples)
        fewer = [x[:1].detach().clone() if examples > 1 else torch.cat([x, x]).detach()
                 for x in tensors]
        positional, named = rebuilt(fewer)
        self.passes.call = _Call(len(fewer[0]))
        try:
            with torch.random.fork_rng(devices={p.device for p in self.layer.parameters()
                                                if p.is_cuda}):
                self.plain(*positional, **named)
        except InvalidArgument:
            raise
        except Exception:  # a model that wants a batch of one size, and says so its own way
            pass
        finally:
            self.passes.call = None


class _Layer(Forward):
    """Of a layer without a rule on its input and errors alone: its forward pass is made again for
    its gradients."""

    def __init__(self, passes: _Passes, name: str, layer: nn.Module, parameters: List[Any]) -> None:
        super().__init__(layer)
        self.passes, self.name, self.parameters = passes, name, parameters

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if functional.running() or not torch.is_grad_enabled():
            return self.plain(*arguments, **named)
        surroundings = functional.Surroundings(self.layer)
        kept = functional.detached((arguments, named))
        output = self.plain(*arguments, **named)
        examples = self._examples(kept)
        call = self.passes.seen(self.name, self.layer, examples)
        leaves, shape = tree_flatten(output)
        numbers = [index for index, part in enumerate(leaves) if isinstance(part, torch.Tensor)
                   and part.requires_grad]
        for number in numbers:
            leaves[number] = self._watch(leaves[number], number, call, examples, kept, surroundings,
                                         len(numbers) > 1)
        return tree_unflatten(leaves, shape) if len(numbers) > 1 else output

    def _examples(self, arguments: Any) -> int:
        if known(self.layer, sequences.RULES) is not None:
            given = list(arguments[0]) + list(arguments[1].values())
            sequences.check_input(self.name, self.layer, given[0] if given else None)
        tensors, _ = functional.split(arguments)
        if not tensors:
            raise InvalidArgument(
                "model: %s has parameters of its own, and is called without a tensor: "
                "its forward pass must be given the examples, and give something for "
                "each; let it add its parameter to its input" % called(self.name, self.layer),
                field="model")
        return int(tensors[0].shape[0])

    def _watch(self, part: torch.Tensor, number: int, call: Any, examples: int, arguments: Any,
               surroundings: functional.Surroundings, copied: bool) -> torch.Tensor:
        """Watches an output, or a copy of it, and gives what it watches."""
        rule = sequences.RULES.get(known(self.layer, sequences.RULES))  # type: ignore[arg-type]
        if rule is None and (part.is_leaf or not part.dim() or part.shape[0] != examples):
            raise InvalidArgument(
                "model: %s gives something that has no rows of examples, shape %s for %d "
                "examples; let it add its parameter to its input"
                % (called(self.name, self.layer), list(part.shape), examples),
                field="model")
        before = part.detach().clone()
        # Of several outputs one may be made of another (an LSTM cell's h of its c), whose errors
        # would then have those of both. Nothing in the layer is made of a copy.
        part = part.clone() if copied else part

        def backward(errors: torch.Tensor) -> None:
            errors = self.passes.errors(errors, examples)
            if examples == 0:
                rows = [(p, p.new_zeros((0,) + tuple(p.shape))) for p in self.parameters]
            else:
                rows, found = self._rows(rule, arguments, number, errors, surroundings)
                self._compare(found, before, surroundings.precision(before))
            self.passes.keep(self.name, call, rows, errors.dtype)
        part.register_hook(backward)
        if rule is None or number == 0:
            tape.layer_gave(part)
        return part

    def _rows(self, rule: Optional[Callable[..., Any]], arguments: Any, number: int,
              errors: torch.Tensor, surroundings: functional.Surroundings) -> Tuple[Rows,
                                                                                    torch.Tensor]:
        if rule is not None:
            products = sequences.Products()
            with surroundings.restored(autocast=False):
                positional, named = arguments
                output = tree_flatten(rule(products, self.layer, *positional, **named))[0][number]
            return products.rows([output], [errors]), output.detach()
        try:
            with surroundings.restored():
                rows, output = functional.rows_of_layer(self.layer, self.parameters, arguments,
                                                        number, errors)
        except RuntimeError as failed:
            raise InvalidArgument(
                "model: torch cannot differentiate %s one example at a time (%s); put the "
                "parameters that it holds itself into a small module of their own, or take their "
                "gradients yourself, into grad_sample"
                % (called(self.name, self.layer), str(failed).split("\n")[0]),
                field="model") from failed
        return rows, output

    def _compare(self, found: torch.Tensor, before: torch.Tensor, precision: float) -> None:
        wide = before.to(torch.float64)
        greatest = torch.nan_to_num(wide, 0.0, 0.0, 0.0).abs().max().item() if wide.numel() else 0.0
        near = greatest * precision ** 0.5
        if found.shape != before.shape or not torch.allclose(found.to(torch.float64), wide, rtol=0,
                                                             atol=near, equal_nan=True):
            raise InvalidArgument(
                "model: %s, made again, does not give for each example what it gave: it "
                "mixes the records of a batch, or has dropout that cannot be repeated "
                "(dropout=0)" % called(self.name, self.layer),
                field="model")


@hinted()
def gradients(model: torch.nn.Module, loss: Callable[[Any, Any], torch.Tensor], inputs: Any,
              targets: Any, *, chunk_size: Optional[int] = None) -> List[torch.Tensor]:
    """Each example's gradient of loss(model(x), y) for every parameter that requires one, and in
    its `grad_sample`: [B, *shape]. By torch.func, or functorch on torch 1.13, and recurrent layers
    by their rules; for any model those can differentiate.

    loss: of the outputs [1, ...] and targets [1, ...] of one example; one number
    inputs: a tensor, or a tuple of the model's positional arguments, or a dict of those by name;
        tensors in them have examples in their first dimension, anything else is passed on
    targets: a tensor, tuple or dict likewise
    chunk_size: how many examples at a time, to bound the memory that a forward pass takes; all by
        default

    Dropout falls on each example alone. InvalidArgument where the forward pass writes a buffer.
    """
    check_model(model)
    found = functional.gradients_of(model, loss, inputs, targets, chunk_size)
    for parameter, rows in zip([p for p in model.parameters() if p.requires_grad], found):
        rows.version = parameter._version  # type: ignore[attr-defined]
        parameter.grad_sample = rows  # type: ignore[attr-defined]
    return found
