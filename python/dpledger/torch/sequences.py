"""Recurrent layers and attention: their forward pass is made again, in plain operations whose
products with parameters are watched. One backward pass through it gives the errors of every
product, and those give each example's gradient.
"""
from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from ..errors import InvalidArgument
from .layers import Rows, called, known, of_one_kind, product_rows

nn, functional = torch.nn, torch.nn.functional
ALL = slice(None)


class Products:
    """Products of a forward pass with parameters, or with some rows of one."""

    def __init__(self) -> None:
        self._made: Dict[Tuple[int, Optional[int]], List[Any]] = {}

    def linear(self, inputs: torch.Tensor, weight: Any, bias: Any = None, rows: slice = ALL,
               bias_rows: Optional[slice] = None) -> torch.Tensor:
        """inputs [B, T, in] times some rows of the weight, plus those of the bias (by default the
        same)."""
        bias_rows = rows if bias_rows is None else bias_rows
        inputs, wide = of_one_kind(inputs, weight)
        outputs = functional.linear(inputs, wide[rows], None if bias is None
                                    else bias[bias_rows].to(wide.dtype))
        if weight.requires_grad or (bias is not None and bias.requires_grad):
            call = (weight, rows, bias, bias_rows, inputs.detach(), outputs)
            self._made.setdefault((id(weight), rows.start), []).append(call)
        return outputs

    def repeated(self, parameter: Any, batch: int) -> torch.Tensor:
        """The parameter [1, 1, n] for each example: [B, 1, n]."""
        values = parameter.detach().expand(batch, 1, parameter.shape[-1]).clone()
        if parameter.requires_grad:
            self._made[id(parameter), None] = [(None, ALL, parameter, ALL, None,
                                                values.requires_grad_())]
        return values

    def rows(self, outputs: Sequence[torch.Tensor], errors: Sequence[torch.Tensor]) -> Rows:
        """Each example's gradients, by the errors of some outputs."""
        made = [call[-1] for calls in self._made.values() for call in calls]
        errors = [error.to(output.dtype) for output, error in zip(outputs, errors)]
        found = iter(torch.autograd.grad(outputs, made, errors, allow_unused=True))
        rows: Dict[int, Tuple[Any, torch.Tensor]] = {}

        def add(parameter: Any, of: slice, part: torch.Tensor) -> None:
            if parameter is None or not parameter.requires_grad:
                return
            if of == ALL:
                rows[id(parameter)] = (parameter, part)
                return
            if id(parameter) not in rows:
                rows[id(parameter)] = (parameter,
                                       part.new_zeros((len(part),) + tuple(parameter.shape)))
            rows[id(parameter)][1][:, of] = part
        for calls in self._made.values():
            given = [(call, next(found)) for call in calls]
            error = torch.cat([torch.zeros_like(call[-1]) if of_call is None else of_call
                               for call, of_call in given], 1)
            weight, of, bias, bias_of, inputs, _ = calls[0]
            if inputs is None:
                add(bias, bias_of, error.reshape((len(error),) + tuple(bias.shape)))
                continue
            if weight.requires_grad:
                add(weight, of, product_rows(torch.cat([call[4] for call in calls], 1), error))
            add(bias, bias_of, error.sum(1))
        return list(rows.values())


class Plain(Products):
    """Products that nobody watches."""

    def linear(self, inputs: torch.Tensor, weight: Any, bias: Any = None, rows: slice = ALL,
               bias_rows: Optional[slice] = None) -> torch.Tensor:
        return functional.linear(inputs, weight, bias)


def stepwise(layer: Any, input: torch.Tensor, hx: Any = None) -> Any:
    """A recurrent layer or cell in plain operations, which torch.func can map over examples."""
    if not isinstance(input, torch.Tensor):
        raise InvalidArgument("model: packs sequences, of which none can be taken alone; give %s "
                              "padded tensors" % type(layer).__name__, field="model")
    rule = RULES[known(layer, RULES)]  # type: ignore[index]
    if input.dim() == (1 if rule is cell else 2):  # one sequence, or step, without a batch
        return _of_one(layer, input, hx, 0 if rule is cell or layer.batch_first else 1)
    if rule is cell:
        return cell(Plain(), layer, input, hx)
    if hx is None:
        layer.check_input(input, None)
    else:
        layer.check_forward_args(input, hx, None)
    if layer.batch_first:
        return recurrent(Plain(), layer, input, hx)
    values, last = recurrent(Plain(), layer, input.transpose(0, 1), hx)
    return values.transpose(0, 1), last


def _of_one(layer: Any, input: torch.Tensor, hx: Any, place: int) -> Any:
    """stepwise, with a batch of one in that place of inputs and outputs; of states it is the last
    but one."""
    states, shape = tree_flatten(hx)
    if hx is not None:
        hx = tree_unflatten([state.unsqueeze(-2) for state in states], shape)
    (first, *rest), shape = tree_flatten(stepwise(layer, input.unsqueeze(place), hx))
    return tree_unflatten([first.squeeze(place)] + [state.squeeze(-2) for state in rest], shape)


def recurrent(products: Products, layer: Any, input: torch.Tensor, hx: Any = None) -> Any:
    """torch.nn.RNN, LSTM or GRU with batch_first, step by step: the layer's output."""
    states = [] if hx is None else list(hx) if isinstance(hx, (tuple, list)) else [hx]
    directions = 2 if layer.bidirectional else 1
    last: List[List[torch.Tensor]] = []
    values = input
    for depth in range(layer.num_layers):
        ways = []
        for way in range(directions):
            at = depth * directions + way
            outputs, final = _one_way(products, layer, values,
                                      [state[at][:, None] for state in states], "l%d%s"
                                      % (depth, "_reverse" if way else ""),
                                      way == 1)
            ways.append(outputs)
            last.append(final)
        values = torch.cat(ways, 2)
        if layer.dropout and layer.training and depth + 1 < layer.num_layers:
            # Time first, as torch's own layer has it: the same random bits then fall on the same
            # values.
            values = functional.dropout(values.transpose(0, 1).contiguous(),
                                        layer.dropout).transpose(0, 1)
    ends = tuple(torch.cat(parts, 1).transpose(0, 1) for parts in zip(*last))
    return values, ends if layer.mode == "LSTM" else ends[0]


def _one_way(products: Products, layer: Any, inputs: torch.Tensor, states: List[torch.Tensor],
             suffix: str, backwards: bool) -> Tuple[torch.Tensor, List[torch.Tensor]]:
    """Outputs [B, T, n] and the last states, each [B, 1, n]."""
    def of(name: str) -> Any:
        return getattr(layer, "%s_%s" % (name, suffix), None)
    batch, steps = inputs.shape[:2]
    given = products.linear(inputs, of("weight_ih"), of("bias_ih"))
    width = layer.proj_size or layer.hidden_size
    h = states[0] if states else inputs.new_zeros((batch, 1, width))
    c = states[1] if len(states) > 1 else inputs.new_zeros((batch, 1, layer.hidden_size))
    outputs: List[Any] = [None] * steps
    for step in reversed(range(steps)) if backwards else range(steps):
        h, c = _step(layer.mode, given[:, step:step + 1],
                     products.linear(h, of("weight_hh"), of("bias_hh")), h, c)
        if layer.proj_size:
            h = products.linear(h, of("weight_hr"))
        outputs[step] = h
    return torch.cat(outputs, 1) if steps else inputs.new_zeros(
        (batch, 0, width)), [h, c][:1 + (layer.mode == "LSTM")]


def _step(mode: str, one: torch.Tensor, other: torch.Tensor, h: torch.Tensor,
          c: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    """The next states, by the products of an input and of the state before with their weights."""
    if mode == "LSTM":
        i, f, g, o = (one + other).chunk(4, 2)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c
    if mode == "GRU":
        (r, z, n), (r_, z_, n_) = one.chunk(3, 2), other.chunk(3, 2)
        n = torch.tanh(n + torch.sigmoid(r + r_) * n_)
        return n + torch.sigmoid(z + z_) * (h - n), c
    return (torch.relu if mode == "RNN_RELU" else torch.tanh)(one + other), c


def cell(products: Products, layer: Any, input: torch.Tensor, hx: Any = None) -> Any:
    """torch.nn.RNNCell, LSTMCell or GRUCell: the layer's output."""
    # type: ignore[arg-type]
    mode = {nn.LSTMCell: "LSTM", nn.GRUCell: "GRU"}.get(known(layer, RULES), "")
    if getattr(layer, "nonlinearity", "") == "relu":
        mode = "RNN_RELU"
    zeros = input.new_zeros((input.shape[0], layer.hidden_size))
    h, c = hx if isinstance(hx, (tuple, list)) else (zeros if hx is None else hx, zeros)
    h, c = _step(mode, products.linear(input[:, None], layer.weight_ih, layer.bias_ih),
                 products.linear(h[:, None], layer.weight_hh, layer.bias_hh), h[:, None],
                 c[:, None])
    return (h[:, 0], c[:, 0]) if mode == "LSTM" else h[:, 0]


def attention(products: Products, layer: Any, query: torch.Tensor, key: torch.Tensor,
              value: torch.Tensor, key_padding_mask: Optional[torch.Tensor] = None,
              need_weights: bool = True, attn_mask: Optional[torch.Tensor] = None,
              average_attn_weights: bool = True, is_causal: bool = False) -> Any:
    """torch.nn.MultiheadAttention with batch_first: the layer's output."""
    size, heads, batch = layer.embed_dim, layer.num_heads, query.shape[0]
    given = []
    for number, values in enumerate((query, key, value)):
        part = slice(number * size, (number + 1) * size)
        if layer.in_proj_weight is not None:
            given.append(products.linear(values, layer.in_proj_weight, layer.in_proj_bias, part))
        else:
            weight = (layer.q_proj_weight, layer.k_proj_weight, layer.v_proj_weight)[number]
            given.append(products.linear(values, weight, layer.in_proj_bias, bias_rows=part))
    q, k, v = given
    extra = 0
    if layer.bias_k is not None:
        k = torch.cat([k, products.repeated(layer.bias_k, batch)], 1)
        v = torch.cat([v, products.repeated(layer.bias_v, batch)], 1)
        extra += 1
    if layer.add_zero_attn:
        k, v = (torch.cat([x, x.new_zeros((batch, 1, size))], 1) for x in (k, v))
        extra += 1

    def of_heads(x: torch.Tensor) -> torch.Tensor:
        return x.reshape(batch, x.shape[1], heads, size // heads).transpose(1, 2)
    q, k, v = of_heads(q), of_heads(k), of_heads(v)
    scores = (q / math.sqrt(size // heads)) @ k.transpose(2, 3)
    for mask in (attn_mask, key_padding_mask):
        if mask is None:
            continue
        if mask is key_padding_mask:
            mask = mask[:, None, None, :]
        elif mask.dim() == 3:
            mask = mask.reshape((batch, heads) + tuple(mask.shape[1:]))
        mask = functional.pad(mask, (0, extra))
        scores = scores + mask if mask.is_floating_point() else scores.masked_fill(mask.bool(),
                                                                                   -math.inf)
    shape = (batch, heads) + tuple(scores.shape[2:])
    weights = torch.softmax(scores, 3).reshape((batch * heads,) + tuple(scores.shape[2:]))
    weights = functional.dropout(weights, layer.dropout, layer.training).reshape(shape)
    outputs = (weights @ v).transpose(1, 2).reshape(batch, query.shape[1], size)
    outputs = products.linear(outputs, layer.out_proj.weight, layer.out_proj.bias)
    if not need_weights:
        return outputs, None
    return outputs, weights.mean(1) if average_attn_weights else weights


RULES: Dict[type, Callable[..., Any]] = {nn.RNN: recurrent, nn.LSTM: recurrent, nn.GRU: recurrent,
                                         nn.RNNCell: cell, nn.LSTMCell: cell, nn.GRUCell: cell,
                                         nn.MultiheadAttention: attention}


def check_input(name: str, layer: nn.Module, inputs: Any) -> None:
    """InvalidArgument for an input of one of these layers that is no batch of vectors or
    sequences."""
    cells = RULES.get(known(layer, RULES)) is cell  # type: ignore[arg-type]
    if type(inputs) is not torch.Tensor or inputs.dim() != (2 if cells else 3):
        raise InvalidArgument(
            "model: %s must be given [B, %sfeatures] first, examples filled up to one "
            "length, not packed; got %s"
            % (called(name, layer), "" if cells else "T, ", "shape %s" % list(inputs.shape)
               if type(inputs) is torch.Tensor else type(inputs).__name__),
            field="model")
