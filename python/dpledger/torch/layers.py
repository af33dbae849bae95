"""One rule a layer: each example's gradient from the layer's input and the errors of its output.

A rule is a function of (layer, inputs, errors), with examples in the first dimension of both, and
gives pairs of a parameter and its rows [B, *shape]. Frozen parameters get none. B may be 0.
"""
from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch


nn, functional = torch.nn, torch.nn.functional
Rows = List[Tuple[Any, torch.Tensor]]
Rule = Callable[[Any, torch.Tensor, torch.Tensor], Rows]


def of_one_kind(inputs: torch.Tensor, errors: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    """Both in the wider of their formats: under autocast the input is wider than its layer's
    output. 16-bit floats are widened on the CPU, which would add them one by one in 16 bits."""
    kind = torch.promote_types(inputs.dtype, errors.dtype)
    if kind in (torch.bfloat16, torch.float16) and errors.device.type == "cpu":
        kind = torch.float32
    return inputs.to(kind), errors.to(kind)


def product_rows(inputs: torch.Tensor, errors: torch.Tensor) -> torch.Tensor:
    """[B, T, in] and [B, T, out] -> [B, out, in]: the gradients of a matrix that T positions of an
    example share."""
    if inputs.shape[1] == 1:  # the same bits, up to three times as fast for small layers
        return errors[:, 0, :, None] * inputs[:, 0, None, :]
    return torch.einsum("nto,nti->noi", errors, inputs)


def linear(layer: Any, inputs: torch.Tensor, errors: torch.Tensor) -> Rows:
    batch, width = inputs.shape[0], inputs.shape[-1]
    positions = math.prod(inputs.shape[1:-1])
    inputs, errors = of_one_kind(inputs, errors)
    errors = errors.reshape(batch, positions, layer.out_features)
    found: Rows = []
    if layer.weight.requires_grad:
        found.append((layer.weight, product_rows(inputs.reshape(batch, positions, width), errors)))
    if layer.bias is not None and layer.bias.requires_grad:
        found.append((layer.bias, errors.sum(1)))
    return found


def convolution(layer: Any, inputs: torch.Tensor, errors: torch.Tensor) -> Rows:
    """By unfolding: column l of an example has what its output l saw. Of one, two or three
    dimensions."""
    inputs, errors = of_one_kind(inputs, errors)
    batch, groups, size = inputs.shape[0], layer.groups, tuple(layer.kernel_size)
    positions = math.prod(errors.shape[2:])
    found: Rows = []
    if layer.weight.requires_grad:
        columns = _columns(layer, inputs, size) if batch else inputs.new_zeros(
            (0, inputs.shape[1] * math.prod(size), positions))
        weight = torch.einsum("ngol,ngil->ngoi",
                              errors.reshape(batch, groups, layer.out_channels // groups,
                                             positions),
                              columns.reshape(batch, groups, columns.shape[1] // groups, positions))
        found.append((layer.weight, weight.reshape((batch,) + tuple(layer.weight.shape))))
    if layer.bias is not None and layer.bias.requires_grad:
        found.append((layer.bias, errors.reshape(batch, layer.out_channels, positions).sum(2)))
    return found


def _columns(layer: Any, inputs: torch.Tensor, size: Tuple[int, ...]) -> torch.Tensor:
    """[B, channels * kernel, positions], padded as the layer pads."""
    padding = _padding(layer, size)
    if len(size) == 2 and layer.padding_mode == "zeros" and all(
            before == after for before, after in padding):
        return functional.unfold(inputs, layer.kernel_size, dilation=layer.dilation,
                                 padding=tuple(before for before, _ in padding),
                                 stride=layer.stride)
    mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
    widths = [width for pair in reversed(padding) for width in pair]
    inputs = functional.pad(inputs, widths, mode=mode) if any(widths) else inputs
    if len(size) < 3:
        flat = len(size) == 1
        one = (1,) if flat else ()
        return functional.unfold(inputs[:, :, None] if flat else inputs, one + size, dilation=one
                                 + tuple(layer.dilation),
                                 stride=one + tuple(layer.stride))
    for axis, (width, dilation, stride) in enumerate(zip(size, layer.dilation, layer.stride), 2):
        inputs = inputs.unfold(axis, dilation * (width - 1) + 1, stride)[..., ::dilation]
    # [B, channels, *positions, *kernel]
    inputs = inputs.permute(0, 1, *range(2 + len(size), 2 + 2 * len(size)),
                            *range(2, 2 + len(size)))
    return inputs.reshape(inputs.shape[0], inputs.shape[1] * math.prod(size), -1)


def _padding(layer: Any, size: Tuple[int, ...]) -> List[Tuple[int, int]]:
    """Of each dimension, before and after."""
    if layer.padding == "same":  # the odd one comes after
        totals = [dilation * (width - 1) for width, dilation in zip(size, layer.dilation)]
        return [(total // 2, total - total // 2) for total in totals]
    if layer.padding == "valid":
        return [(0, 0)] * len(size)
    return [(width, width) for width in layer.padding]


def embedding(layer: Any, inputs: torch.Tensor, errors: torch.Tensor) -> Rows:
    batch, positions = inputs.shape[0], math.prod(inputs.shape[1:])
    indices = inputs.reshape(batch, positions)
    errors = errors.reshape(batch, positions, layer.embedding_dim)
    if errors.dtype != layer.weight.dtype or errors.dtype in (torch.bfloat16, torch.float16):
        errors = errors.to(torch.float32)
    if layer.padding_idx is not None:
        errors = errors * (indices != layer.padding_idx)[:, :, None]
    found = errors.new_zeros((batch,) + tuple(layer.weight.shape))
    found.scatter_add_(1, indices.to(torch.int64)[:, :, None].expand(-1, -1, layer.embedding_dim),
                       errors)
    return [(layer.weight, found)]


def layer_norm(layer: Any, inputs: torch.Tensor, errors: torch.Tensor) -> Rows:
    shape = tuple(layer.normalized_shape)
    inputs, errors = of_one_kind(inputs, errors)
    batch, positions = inputs.shape[0], math.prod(inputs.shape[1:inputs.dim() - len(shape)])

    def rows(values: torch.Tensor) -> torch.Tensor:
        return values.reshape((batch, positions) + shape).sum(1)
    return _scale_and_shift(layer, errors,
                            lambda: functional.layer_norm(inputs, shape, eps=layer.eps), rows)


def group_norm(layer: Any, inputs: torch.Tensor, errors: torch.Tensor) -> Rows:
    inputs, errors = of_one_kind(inputs, errors)
    # torch 1.13 has no normalisation of no rows.
    return _scale_and_shift(layer, errors,
                            lambda: functional.group_norm(inputs, layer.num_groups, eps=layer.eps)
                            if len(inputs) else inputs,
                            _of_channels)


def instance_norm(layer: Any, inputs: torch.Tensor, errors: torch.Tensor) -> Rows:
    inputs, errors = of_one_kind(inputs, errors)
    return _scale_and_shift(layer, errors, lambda: functional.instance_norm(inputs, eps=layer.eps)
                            if len(inputs) else inputs, _of_channels)


def prelu(layer: Any, inputs: torch.Tensor, errors: torch.Tensor) -> Rows:
    inputs, errors = of_one_kind(inputs, errors)
    rows = _of_channels(errors * inputs.clamp(max=0))
    return [(layer.weight, rows if layer.num_parameters > 1 else rows.sum(1, keepdim=True))]


def _of_channels(values: torch.Tensor) -> torch.Tensor:
    """[B, C, ...] -> [B, C]"""
    return values.reshape(values.shape[0], values.shape[1], math.prod(values.shape[2:])).sum(2)


def _scale_and_shift(layer: Any, errors: torch.Tensor, normal: Callable[[], torch.Tensor],
                     rows: Callable[[torch.Tensor], torch.Tensor]) -> Rows:
    found: Rows = []
    if layer.weight.requires_grad:
        found.append((layer.weight, rows(errors * normal())))
    if layer.bias is not None and layer.bias.requires_grad:
        found.append((layer.bias, rows(errors)))
    return found


_RULES: Dict[type, Rule] = {nn.Linear: linear, nn.Conv1d: convolution, nn.Conv2d: convolution,
                            nn.Conv3d: convolution, nn.Embedding: embedding,
                            nn.LayerNorm: layer_norm, nn.GroupNorm: group_norm,
                            nn.InstanceNorm1d: instance_norm, nn.InstanceNorm2d: instance_norm,
                            nn.InstanceNorm3d: instance_norm, nn.PReLU: prelu}
_DIMENSIONS = {nn.Conv1d: 3, nn.Conv2d: 4, nn.Conv3d: 5, nn.InstanceNorm1d: 3, nn.InstanceNorm2d: 4,
               nn.InstanceNorm3d: 5, nn.Embedding: 1}


def known(layer: nn.Module, table: Dict[type, Any]) -> Optional[type]:
    """The class of `table` whose forward pass the layer makes: its own, or that of a base class it
    leaves as it is."""
    for kind in type(layer).__mro__:
        if kind in table:
            same = type(layer).forward is kind.forward and all(getattr(type(
                layer), name, None) is getattr(kind, name, None) for name in ("_conv_forward",))
            return kind if same else None
    return None


def rule_of(layer: nn.Module) -> Optional[Rule]:
    """What takes this layer's gradients from its input and its output's errors; None where no rule
    is known."""
    kind = known(layer, _RULES)
    own = {name for name, parameter in layer.named_parameters(recurse=False)}
    if kind is None or not own <= {"weight", "bias"} or list(layer.children()):
        return None
    return _RULES[kind]


def least_dimensions(layer: Any) -> int:
    """How many dimensions an input has that is a batch."""
    kind = known(layer, _RULES)
    if kind is nn.LayerNorm:
        return len(layer.normalized_shape) + 1
    return _DIMENSIONS.get(kind, 2)  # type: ignore[arg-type]


def called(name: str, layer: nn.Module) -> str:
    """The layer, for people."""
    return "%s (%s)" % (name or "it", type(layer).__name__)
