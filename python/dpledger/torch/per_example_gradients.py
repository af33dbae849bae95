"""Each example's gradient, by hooks or by torch.func."""
from __future__ import annotations

import math
from typing import Any, Callable, List, Tuple

import torch

from ..errors import InvalidArgument


def _linear(layer: Any, inputs: torch.Tensor, outputs: torch.Tensor) -> List[Tuple[Any, torch.Tensor]]:
    batch = inputs.shape[0]
    inputs = inputs.reshape(batch, -1, inputs.shape[-1]) if inputs.numel() else inputs.new_zeros(
        (batch, 1, inputs.shape[-1]))
    outputs = outputs.reshape(batch, inputs.shape[1], layer.out_features)
    found = [(layer.weight, torch.einsum("nto,nti->noi", outputs, inputs))]
    if layer.bias is not None:
        found.append((layer.bias, outputs.sum(1)))
    return found


def _convolution(layer: Any, inputs: torch.Tensor, outputs: torch.Tensor) -> List[Tuple[Any, torch.Tensor]]:
    """Two dimensions, by unfolding: column l of an example has what its output l saw."""
    functional = torch.nn.functional
    batch, groups = inputs.shape[0], layer.groups
    padding = layer.padding
    if isinstance(padding, str):
        raise InvalidArgument("model: a convolution's padding must be numbers, got %r" % padding, field="model")
    if layer.padding_mode != "zeros":
        raise InvalidArgument("model: a convolution's padding_mode must be \"zeros\", got %r" % layer.padding_mode,
                              field="model")
    if batch == 0:
        columns = inputs.new_zeros((0, inputs.shape[1] * math.prod(layer.kernel_size), outputs[0:1, 0].numel() or 1))
        errors = outputs.reshape(0, layer.out_channels, columns.shape[2])
    else:
        columns = functional.unfold(inputs, layer.kernel_size, dilation=layer.dilation, padding=padding,
                                    stride=layer.stride)
        errors = outputs.reshape(batch, layer.out_channels, -1)
    size = columns.shape[1] // groups
    weight = torch.einsum("ngol,ngil->ngoi", errors.reshape(batch, groups, layer.out_channels // groups, -1),
                          columns.reshape(batch, groups, size, -1))
    found = [(layer.weight, weight.reshape((batch,) + tuple(layer.weight.shape)))]
    if layer.bias is not None:
        found.append((layer.bias, errors.sum(2)))
    return found


def _embedding(layer: Any, inputs: torch.Tensor, outputs: torch.Tensor) -> List[Tuple[Any, torch.Tensor]]:
    batch = inputs.shape[0]
    indices = inputs.reshape(batch, -1)
    errors = outputs.reshape(batch, indices.shape[1], layer.embedding_dim)
    if layer.padding_idx is not None:
        errors = errors * (indices != layer.padding_idx)[:, :, None]
    found = errors.new_zeros((batch,) + tuple(layer.weight.shape))
    found.scatter_add_(1, indices[:, :, None].expand(-1, -1, layer.embedding_dim), errors)
    return [(layer.weight, found)]


def _layer_norm(layer: Any, inputs: torch.Tensor, outputs: torch.Tensor) -> List[Tuple[Any, torch.Tensor]]:
    shape = tuple(layer.normalized_shape)
    normal = torch.nn.functional.layer_norm(inputs, shape, eps=layer.eps)
    batch = inputs.shape[0]
    positions = max(1, math.prod(inputs.shape[1:]) // math.prod(shape))
    found = [(layer.weight, (outputs * normal).reshape((batch, positions) + shape).sum(1))]
    if layer.bias is not None:
        found.append((layer.bias, outputs.reshape((batch, positions) + shape).sum(1)))
    return found


_LAYERS = {torch.nn.Linear: _linear, torch.nn.Conv2d: _convolution, torch.nn.Embedding: _embedding,
           torch.nn.LayerNorm: _layer_norm}
_MIXES_RECORDS = (torch.nn.modules.batchnorm._BatchNorm,)


def check_model(model: torch.nn.Module) -> None:
    """InvalidArgument where a layer couples records, so that no bound on one record's part can hold."""
    for name, layer in model.named_modules():
        if isinstance(layer, _MIXES_RECORDS):
            raise InvalidArgument("model: %s (%s) mixes the records of a batch; use group or layer normalisation"
                                  % (name or "it", type(layer).__name__), field="model")


def per_example(model: torch.nn.Module, *, loss_reduction: str = "mean") -> Callable[[], None]:
    """Makes every backward pass leave each example's gradient in `parameter.grad_sample`: [B, *shape].

    model: of Linear, Conv2d, Embedding and LayerNorm layers, whose input has examples in its first dimension. Others
        with parameters are refused: set grad_sample yourself, by `gradients` or torch.func
    loss_reduction: "mean" or "sum" over examples, as the loss has it

    Returns what takes the hooks off again.
    """
    if loss_reduction not in ("mean", "sum"):
        raise InvalidArgument('loss_reduction: must be "mean" or "sum", got %r' % (loss_reduction,),
                              field="loss_reduction")
    check_model(model)
    hooks: List[Any] = []
    for name, layer in model.named_modules():
        own = [p for p in layer.parameters(recurse=False) if p.requires_grad]
        if not own:
            continue
        compute = _LAYERS.get(type(layer))
        if compute is None:
            raise InvalidArgument("model: %s is a %s, for which there are no per-example gradients here; set "
                                  "grad_sample yourself (dpledger.torch.gradients)"
                                  % (name or "it", type(layer).__name__), field="model")
        hooks.append(_watch(layer, compute, loss_reduction == "mean"))

    def remove() -> None:
        for hook in hooks:
            hook.remove()
    return remove


def _watch(layer: torch.nn.Module, compute: Callable[..., Any], mean: bool) -> Any:
    """The hook is on each output, with the inputs that made it: another forward pass in between, over other records,
    can then not be mistaken for it."""

    def forward(_: Any, inputs: Any, output: torch.Tensor) -> None:
        if not (torch.is_grad_enabled() and output.requires_grad):
            return
        seen = inputs[0].detach()

        def backward(errors: torch.Tensor) -> None:
            with torch.no_grad():
                errors = errors.detach()
                if mean:
                    errors = errors * errors.shape[0]
                for parameter, found in compute(layer, seen, errors):
                    if parameter.requires_grad:
                        _keep(parameter, found)
        output.register_hook(backward)
    return layer.register_forward_hook(forward)


def _keep(parameter: torch.nn.Parameter, found: torch.Tensor) -> None:
    if getattr(parameter, "grad_sample", None) is not None:
        # Added to those, two examples would share a row, and one of them could change it by 2 C.
        raise InvalidArgument("grad_sample: holds gradients already: call the optimizer's accumulate() after every "
                              "backward pass; for layers that one pass uses twice, dpledger.torch.gradients",
                              field="grad_sample")
    parameter.grad_sample = found  # type: ignore[attr-defined]


def gradients(model: torch.nn.Module, loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
              inputs: torch.Tensor, targets: torch.Tensor) -> List[torch.Tensor]:
    """Each example's gradient of loss(model(x)[0], y) for every parameter that wants one, and in its `grad_sample`:
    [B, *shape]. By torch.func, or functorch on torch 1.13; for any model those can differentiate.

    loss: of the outputs [1, ...] and targets [1, ...] of one example
    """
    check_model(model)
    wanted = [p for p in model.parameters() if p.requires_grad]
    if len(wanted) != len(list(model.parameters())):
        raise InvalidArgument("model: every parameter must require a gradient here", field="model")
    if hasattr(torch, "func"):
        from torch.func import functional_call, grad, vmap
        names = [name for name, _ in model.named_parameters()]
        buffers = dict(model.named_buffers())

        def of_one(values: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            given = dict(zip(names, values), **buffers)
            return loss(functional_call(model, given, (x[None],)), y[None])
        values: Any = tuple(p.detach() for p in wanted)
    else:
        from functorch import grad, make_functional_with_buffers, vmap  # type: ignore[import-not-found]
        stateless, values, buffers_ = make_functional_with_buffers(model, disable_autograd_tracking=True)

        def of_one(values: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return loss(stateless(values, buffers_, x[None]), y[None])
    if inputs.shape[0] == 0:
        found = [p.new_zeros((0,) + tuple(p.shape)) for p in wanted]
    else:
        found = list(vmap(grad(of_one), (None, 0, 0))(values, inputs, targets))
    for parameter, of_examples in zip(wanted, found):
        parameter.grad_sample = of_examples.detach()  # type: ignore[attr-defined]
    return found
