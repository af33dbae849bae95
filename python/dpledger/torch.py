"""Exact private sums beside PyTorch: per-example gradients stay on their device, integers come to the host.

    sampler = dpledger.torch.PoissonBatchSampler(len(data), 0.01, steps=1000)
    optimizer = dpledger.torch.PrivateOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.5), recorder=ledger, scheme=sampler.scheme, noise_multiplier=1.1,
        max_grad_norm=1.0, expected_batch_size=sampler.expected_batch_size)
    dpledger.torch.per_example(model, loss_reduction="sum")
    for x, y in dpledger.torch.data_loader(data, sampler):
        torch.nn.functional.cross_entropy(model(x), y, reduction="sum").backward()
        optimizer.step()

CPU tensors are clipped and summed by the C library, where they lie. Those of other devices go through `clip_and_sum`,
plain torch operations whose results are exact whatever the order in which a device adds. What an example's gradient
*is* stays the trainer's part: it must depend on its own record and on what is public. Layers that mix records (batch
normalisation) are refused; that a matrix product may round a row differently beside other rows is an assumption, which
batches of one public size (`add(..., examples=n)`) avoid.
"""
from __future__ import annotations

import math
from typing import Any, Callable, Iterator, List, Optional, Sequence, Tuple, Union

import torch

from . import _client, sums
from .errors import Error, InvalidArgument, WrongType
from .messages import Poisson, SamplingScheme
from .recorder import Recorder, Sampler

FORMATS = {torch.float32: _client.FLOAT32, torch.bfloat16: _client.BFLOAT16, torch.float16: _client.FLOAT16}
CHUNK = 1 << 24  # elements of a temporary tensor
MOST_BOUND = 1 << 25  # K; the proofs below need it
_LEAF = 1 << 12  # terms of one exact sum in `row_norms`

# ------------------------------------------------------------------------------------------------- the exact arithmetic


def row_norms(blocks: Sequence[torch.Tensor]) -> torch.Tensor:
    """The L2 norm of each row over all blocks, [B] float64, up to a relative 2^-28, at most a millionth too small; NaN
    or infinite where a coordinate is.

    blocks: tensors [B, d_i], widened to float64 exactly from 32- or 16-bit floats

    It is a function of the row's own bits alone. A plain sum is not: how a device adds depends on the batch's shape,
    and with it on other records. Here squares are rounded to a multiple of g = 2^-40 p, where p is a power of two above
    the greatest of 4096 of them. Then each is at most 2^40 g, and all partial sums are at most 2^52 g: exact in any
    order. The greatest does not depend on the order either. The sums of 4096 are added likewise, level by level.
    """
    squares = [_leaf_sums(block * block) for block in blocks]
    total = torch.cat(squares, 1)
    while total.shape[1] > 1:
        total = _leaf_sums(total)
    # A leaf's rounding is at most 4096 · 2^-41 p, and p is at most twice its sum: 2^-28 a level, three levels at most.
    return torch.sqrt(total[:, 0]) * (1 + 2.0 ** -26)


def _leaf_sums(values: torch.Tensor) -> torch.Tensor:
    """Sums of consecutive 4096 columns, [B, n] -> [B, ceil(n / 4096)], each rounded before it is exact in any order."""
    rows, columns = values.shape
    width = min(_LEAF, max(1, columns))
    missing = -columns % width if columns else 1
    if missing:
        values = torch.nn.functional.pad(values, (0, missing))
    leaves = values.view(rows, -1, width)
    greatest = leaves.amax(2, keepdim=True)  # NaN if one is
    mantissa = torch.frexp(greatest).mantissa
    power = torch.where(greatest > 0, greatest / mantissa, torch.ones_like(greatest))  # exact: a power of two
    grid = power * 2.0 ** -40
    exact = (torch.round(leaves / grid).sum(2, keepdim=True) * grid)[:, :, 0]
    return torch.where(torch.isfinite(greatest[:, :, 0]), exact, greatest[:, :, 0])


def clip_and_sum(blocks: Sequence[torch.Tensor], clip_norm: float, bound: int,
                 norms: Optional[torch.Tensor] = None) -> List[torch.Tensor]:
    """Each row over all blocks, clipped to an integer vector of norm at most `bound`, summed: int64 [d_i] for each block.

    blocks: tensors [B, d_i] of 32- or 16-bit floats on one device
    clip_norm: C, in [1e-30, 1e30]
    bound: K, in [1, 2^25], at least the square root of the row's dimension D
    norms: [B] float64, if they are known; norms[b] must depend on nothing but row b and what is public

    Given norms n, the integers are to the bit those of the C library (docs/formats.md, section 3.2). The bounds, none
    of which asks anything of the gradients:

    - Widening to float64 is exact. s <= 2^25 · 1e30 and |x| < 2^128, so |s x| < 1e77: nothing overflows.
    - n, s and y = s x matter for accuracy only, as long as they are functions of row b: elementwise operations are.
    - A row counts only if all |y| <= K, so that its r = round(y) has r^2 <= K^2 <= 2^50, exact in float64, and if the
      sum q of r^2, as computed, is at most K^2. In any order or tree of additions, fused or not, q >= min(true sum,
      2^53): rounding is monotone, 2^53 is a float64, and whole numbers up to it add exactly (by induction). As K^2 <=
      2^50 < 2^53, the comparison is that of the integers.
    - NaN and infinite coordinates give s = 0 or |y| <= K false; such a row is replaced by zeros (`where`), never
      multiplied by 0.
    - Sums over rows have partial sums of at most B K <= 2^53 for B <= 2^28: exact in any order. Across calls they are
      64-bit integers: 2^38 rows.
    - What is checked is what is added: r is private to this call, whatever happens to the gradients meanwhile.
    """
    if not 1 <= bound <= MOST_BOUND:
        raise InvalidArgument("bound: must be in [1, 2^25], got %r" % (bound,), field="bound")
    dimension = sum(block.shape[1] for block in blocks)
    target = bound - math.sqrt(dimension) / 2
    if not target >= bound / 2:
        raise InvalidArgument("bound: must be at least sqrt(%d), got %d" % (dimension, bound), field="bound")
    with torch.no_grad(), _no_autocast(blocks[0].device):
        wide = [block.detach().to(torch.float64) for block in blocks]
        norm = row_norms(wide) if norms is None else norms
        # Two tensors: a number over a tensor is its product with a reciprocal, which is rounded twice.
        scale = torch.full_like(norm, target) / torch.clamp(norm, min=clip_norm)
        scale = torch.nextafter(scale, torch.zeros_like(scale))
        scale = torch.where(torch.isfinite(norm) & (norm >= 0), scale, torch.zeros_like(scale))
        scaled = [block * scale[:, None] for block in wide]
        rounded = [torch.round(y) for y in scaled]
        good = _within(scaled, rounded, bound)
        if not bool(good.all()):  # the one bit of a call that comes to the host
            truncated = [torch.trunc(y) for y in scaled]
            second = _within(scaled, truncated, bound)
            zero = torch.zeros((), dtype=torch.float64, device=scale.device)
            rounded = [torch.where(good[:, None], r, torch.where(second[:, None], t, zero))
                       for r, t in zip(rounded, truncated)]
        return [r.sum(0).to(torch.int64) for r in rounded]


def _within(scaled: Sequence[torch.Tensor], integers: Sequence[torch.Tensor], bound: int) -> torch.Tensor:
    """Whether each row's coordinates are within the bound, and its integer vector too: bool [B]."""
    inside = torch.stack([(y.abs() <= bound).all(1) for y in scaled]).all(0)
    squares = torch.stack([(r * r).sum(1) for r in integers])
    # Few parameters: added in their order, in one elementwise sum each.
    total = squares[0]
    for square in squares[1:]:
        total = total + square
    return inside & (total <= float(bound) * float(bound))


def _no_autocast(device: torch.device) -> Any:
    return torch.autocast(device_type=device.type if device.type in ("cuda", "cpu") else "cpu", enabled=False)


# ------------------------------------------------------------------------------------------------------------ ExactSum


class ExactSum:
    """Sums per-example gradients exactly, round by round, and gives back noised sums.

    parameters: tensors, or shapes, in the order in which gradients come
    noise_multiplier: of the whole round; the noise is never less
    max_grad_norm: the clip norm C of a whole example, or a sequence with one for each parameter (per-layer clipping)
    recorder: of the ledger
    threads: that clip (CPU tensors) and draw noise; 0 is the caller's alone
    on_device: True sends CPU tensors through `clip_and_sum` too, for tests
    non_private_seed: noise that anyone can compute, for tests only; the ledger says so
    """

    def __init__(self, parameters: Sequence[Any], noise_multiplier: float,
                 max_grad_norm: Union[float, Sequence[float]], recorder: Recorder, *, threads: int = 0,
                 allocation: str = "proportional", on_device: bool = False,
                 non_private_seed: Optional[int] = None) -> None:
        self.shapes = [tuple(getattr(parameter, "shape", parameter)) for parameter in parameters]
        sizes = [math.prod(shape) for shape in self.shapes]
        groups = sums.groups_of(sizes, max_grad_norm)
        alone = len(groups) > 1 or len(sizes) == 1
        self._spans = [(i, i + 1) for i in range(len(sizes))] if alone else [(0, len(sizes))]
        self._sizes, self._on_device = sizes, on_device
        self._privatizer = sums.Privatizer(groups, noise_multiplier, recorder, allocation=allocation, threads=threads,
                                           non_private_seed=non_private_seed)
        self._sums: Optional[List[torch.Tensor]] = None
        self._device = torch.device("cpu")

    @property
    def dimension(self) -> int:
        """Coordinates of an example's gradient."""
        return self._privatizer.dimension

    def queries(self) -> List[Any]:
        """What the ledger will say of the next round."""
        return self._privatizer.queries()

    def begin(self, sample: Union[Sampler, SamplingScheme]) -> None:
        """Records and opens a round on a sample: see dpledger.sums.Privatizer.begin."""
        self._sums = None
        self._privatizer.begin(sample)

    def add(self, gradients: Sequence[torch.Tensor], norms: Optional[torch.Tensor] = None,
            examples: Optional[int] = None) -> None:
        """Clips and adds some examples of the round: how they are split into calls does not matter.

        gradients: for each parameter a tensor [B, *shape] of 32- or 16-bit floats, all on one device. Rows that are
            not finite contribute nothing. B may be 0
        norms: [B, groups] float64, if they are known; each a function of its own example and what is public
        examples: only the first so many rows are examples; the rest fills a batch of public size

        Raises WrongType or InvalidArgument, naming the argument, and then adds nothing.
        """
        tensors = self._checked(gradients)
        rows = int(tensors[0].shape[0])
        if examples is not None:
            if not 0 <= _client.whole(examples, "examples") <= rows:
                raise InvalidArgument("examples: must be in [0, %d], got %d" % (rows, examples), field="examples")
            rows = int(examples)
        known = None if norms is None else self._checked_norms(norms, int(tensors[0].shape[0]), tensors[0].device)
        step = max(1, CHUNK // self.dimension)
        with torch.no_grad():
            for first in range(0, rows, step):
                last = min(rows, first + step)
                part = [tensor[first:last].detach().reshape(last - first, size)
                        for tensor, size in zip(tensors, self._sizes)]
                some = None if known is None else known[first:last]
                if part[0].device.type == "cpu" and not self._on_device:
                    self._add_on_host(part, some)
                else:
                    self._add_on_device(part, some)

    def finish(self) -> List[torch.Tensor]:
        """Waits until the round's event is durable, and returns the noised sums: a float32 tensor of each parameter's
        shape, on the gradients' device. Divide by the expected batch size. After an Error the round is lost."""
        if self._sums is not None:
            host = torch.cat([part.cpu() for part in self._sums])
            self._sums = None
            self._privatizer.add_sums_at(host.data_ptr(), host.numel())
            host.zero_()
        values = torch.empty(self.dimension, dtype=torch.float32)
        self._privatizer.finish_at(values.data_ptr())
        return [part.view(shape).to(self._device) for part, shape in zip(values.split(self._sizes), self.shapes)]

    def _checked(self, gradients: Sequence[torch.Tensor]) -> List[torch.Tensor]:
        if isinstance(gradients, torch.Tensor):
            gradients = [gradients]
        tensors = list(gradients)
        if len(tensors) != len(self.shapes):
            raise InvalidArgument("gradients: must be %d tensors, one for each parameter, got %d"
                                  % (len(self.shapes), len(tensors)), field="gradients")
        for index, (tensor, shape) in enumerate(zip(tensors, self.shapes)):
            where = "gradients[%d]" % index
            if not isinstance(tensor, torch.Tensor):
                raise WrongType("%s: must be a tensor, got %s" % (where, type(tensor).__name__), field=where)
            if tensor.layout != torch.strided or tensor.is_quantized:
                raise WrongType("%s: must be a dense tensor, got layout %s" % (where, tensor.layout), field=where)
            if tensor.dtype not in FORMATS:
                raise WrongType("%s: must be of float32, bfloat16 or float16, got %s" % (where, tensor.dtype),
                                field=where)
            if tensor.device.type in ("meta", "mps"):
                raise WrongType("%s: must be on a device with float64 arithmetic, got %s" % (where, tensor.device),
                                field=where)
            if tensor.device != tensors[0].device:
                raise InvalidArgument("%s: must be on %s, as gradients[0] is, got %s"
                                      % (where, tensors[0].device, tensor.device), field=where)
            if tensor.dim() != len(shape) + 1 or tuple(tensor.shape[1:]) != shape:
                raise InvalidArgument("%s: must have the shape [examples, %s], got %s"
                                      % (where, ", ".join(map(str, shape)), list(tensor.shape)), field=where)
            if tensor.shape[0] != tensors[0].shape[0]:
                raise InvalidArgument("%s: must have %d examples, as gradients[0] has, got %d"
                                      % (where, tensors[0].shape[0], tensor.shape[0]), field=where)
        self._device = tensors[0].device
        return tensors

    def _checked_norms(self, norms: torch.Tensor, rows: int, device: torch.device) -> torch.Tensor:
        groups = len(self._spans)
        if not isinstance(norms, torch.Tensor) or norms.dtype != torch.float64:
            raise WrongType("norms: must be a float64 tensor, got %s"
                            % (norms.dtype if isinstance(norms, torch.Tensor) else type(norms).__name__),
                            field="norms")
        if norms.device != device:
            raise InvalidArgument("norms: must be on %s, as the gradients are, got %s" % (device, norms.device),
                                  field="norms")
        if groups == 1 and tuple(norms.shape) == (rows,):
            norms = norms[:, None]
        if tuple(norms.shape) != (rows, groups):
            raise InvalidArgument("norms: must have the shape [%d, %d], got %s" % (rows, groups, list(norms.shape)),
                                  field="norms")
        return norms.detach()

    def _add_on_host(self, part: Sequence[torch.Tensor], norms: Optional[torch.Tensor]) -> None:
        """By the C library, in rows that lie one behind the other."""
        kinds = {tensor.dtype for tensor in part}
        kind = kinds.pop() if len(kinds) == 1 else torch.float32
        if len(part) == 1:
            rows = part[0].contiguous()
        else:
            rows = torch.cat([tensor.to(kind) for tensor in part], 1)
        known = None if norms is None else norms.contiguous().view(-1).tolist()
        self._privatizer.accumulate_at(rows.data_ptr(), rows.shape[0], self.dimension, FORMATS[kind], known)

    def _add_on_device(self, part: Sequence[torch.Tensor], norms: Optional[torch.Tensor]) -> None:
        queries = self._privatizer.queries()
        found: List[torch.Tensor] = []
        for g, (first, last) in enumerate(self._spans):
            group, bound = self._privatizer.groups[g], int(queries[g].l2_norm_bound)
            found += clip_and_sum(part[first:last], group.clip_norm, bound, None if norms is None else norms[:, g])
        if self._sums is None:
            self._sums = found
        else:
            self._sums = [before + more for before, more in zip(self._sums, found)]


# ------------------------------------------------------------------------------------------------- samples and batches


class PoissonBatchSampler:
    """A batch sampler for DataLoader: each step's batch has each record with `probability`, independently and exactly.

    size: records of the data set, a public constant
    probability: in (0, 1]
    steps: how many batches there are

    Batches are drawn by the C library from the system's randomness; some may be empty, and are steps all the same:
    `data_loader` hands them on. Workers fetch records; indices are drawn in the process that iterates.
    """

    def __init__(self, size: int, probability: float, *, steps: int, non_private_seed: Optional[int] = None) -> None:
        self.scheme = Poisson(_client.real(probability, "probability"), _client.whole(size, "size", 1))
        self.steps = _client.whole(steps, "steps")
        self._sampler = Sampler(self.scheme, non_private_seed=non_private_seed)

    @property
    def expected_batch_size(self) -> float:
        """What sums are divided by: the real size is a secret."""
        return self.scheme.population_size * self.scheme.probability

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Iterator[List[int]]:
        for _ in range(self.steps):
            yield self._sampler.draw()


def data_loader(dataset: Any, batch_sampler: Any, **options: Any) -> torch.utils.data.DataLoader:
    """A DataLoader over batches of `batch_sampler`; an empty batch comes as tensors of no rows. Options are those of
    DataLoader. Workers are best spawned: a forked one may not touch the ledger, and is refused."""
    from torch.utils.data import DataLoader, default_collate
    collate: Callable[[Any], Any] = options.pop("collate_fn", default_collate)

    def with_empty(batch: List[Any]) -> Any:
        return collate(batch) if batch else _no_rows(collate([dataset[0]]))
    return DataLoader(dataset, batch_sampler=batch_sampler, collate_fn=with_empty, **options)


def _no_rows(batch: Any) -> Any:
    if isinstance(batch, torch.Tensor):
        return batch[:0]
    if isinstance(batch, dict):
        return {key: _no_rows(value) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return type(batch)(_no_rows(value) for value in batch)
    return batch


# ----------------------------------------------------------------------------------------------- per-example gradients


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
        hooks += _watch(layer, compute, loss_reduction == "mean")

    def remove() -> None:
        for hook in hooks:
            hook.remove()
    return remove


def _watch(layer: torch.nn.Module, compute: Callable[..., Any], mean: bool) -> List[Any]:
    seen: List[torch.Tensor] = []

    def forward(_: Any, inputs: Any, output: torch.Tensor) -> None:
        if torch.is_grad_enabled() and output.requires_grad:
            seen.append(inputs[0].detach())

    def backward(_: Any, __: Any, grad_outputs: Any) -> None:
        if not seen:
            return
        with torch.no_grad():
            inputs = seen.pop()
            outputs = grad_outputs[0].detach()
            if mean:
                outputs = outputs * outputs.shape[0]
            for parameter, found in compute(layer, inputs, outputs):
                if not parameter.requires_grad:
                    continue
                if getattr(parameter, "grad_sample", None) is not None:
                    # Added to those, two examples would share a row, and one of them could change it by 2 C.
                    raise InvalidArgument("grad_sample: holds gradients already: call the optimizer's accumulate() "
                                          "after every backward pass; for layers that one pass uses twice, "
                                          "dpledger.torch.gradients", field="grad_sample")
                parameter.grad_sample = found
    return [layer.register_forward_hook(forward), layer.register_full_backward_hook(backward)]


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


# ----------------------------------------------------------------------------------------------------------- optimizer


class PrivateOptimizer:
    """Any torch optimizer, stepped by noised sums of clipped per-example gradients, each in the ledger before it is
    used.

    optimizer: whose parameters have `grad_sample` after a backward pass (see `per_example`, `gradients`)
    recorder: of the ledger
    scheme: how batches are really drawn, such as PoissonBatchSampler's `scheme`, or a dpledger.Sampler that draws them
    noise_multiplier: noise standard deviation over clip norm
    max_grad_norm: the clip norm, or one for each parameter
    expected_batch_size: what the sum is divided by, a public number

    Whatever it does not have itself is the optimizer's.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, *, recorder: Recorder,
                 scheme: Union[SamplingScheme, Sampler], noise_multiplier: float,
                 max_grad_norm: Union[float, Sequence[float]], expected_batch_size: float, threads: int = 0,
                 on_device: bool = False, non_private_seed: Optional[int] = None) -> None:
        if not isinstance(optimizer, torch.optim.Optimizer):
            raise WrongType("optimizer: must be a torch.optim.Optimizer, got %s" % type(optimizer).__name__,
                            field="optimizer")
        size = _client.real(expected_batch_size, "expected_batch_size")
        if not (math.isfinite(size) and size > 0):
            raise InvalidArgument("expected_batch_size: must be finite and > 0, got %r" % size,
                                  field="expected_batch_size")
        self.optimizer, self._scheme, self._size = optimizer, scheme, size
        self._parameters = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
        self.sums = ExactSum(self._parameters, noise_multiplier, max_grad_norm, recorder, threads=threads,
                             on_device=on_device, non_private_seed=non_private_seed)
        self._open = False

    def accumulate(self, examples: Optional[int] = None) -> None:
        """Takes the gradients of a backward pass into the step's sum, for samples that do not fit into one batch; the
        first `examples` rows only, if the batch is filled up to a public size."""
        found = [getattr(p, "grad_sample", None) for p in self._parameters]
        missing = [index for index, tensor in enumerate(found) if tensor is None]
        if missing:
            raise InvalidArgument("grad_sample: parameter %d has none: call dpledger.torch.per_example(model) before "
                                  "the forward pass; for an empty batch step(empty=True)" % missing[0],
                                  field="grad_sample")
        checked = self.sums._checked(found)  # before anything is written down
        self._begin()
        self.sums.add(checked, examples=examples)
        self._forget()

    def step(self, closure: None = None, *, empty: bool = False) -> None:
        """One step: the round goes into the ledger, then the noised mean into `grad`, then the optimizer steps. On an
        Error the weights stay, no gradient is left behind, and the round is lost.

        empty: the sample had no record, and no backward pass was made
        """
        if closure is not None:
            raise InvalidArgument("closure: gradients are taken once a step; must be None", field="closure")
        pending = any(getattr(p, "grad_sample", None) is not None for p in self._parameters)
        if empty and not pending:
            self._begin()
        elif pending or not self._open:
            self.accumulate()
        self._open = False
        try:
            noised = self.sums.finish()
        except Error:
            self._forget()
            raise
        with torch.no_grad():
            for parameter, total in zip(self._parameters, noised):
                parameter.grad = (total / self._size).to(parameter.device, parameter.dtype)
        self.optimizer.step()
        self._forget()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets gradients that are in no sum yet."""
        self._forget()

    def _begin(self) -> None:
        if not self._open:
            self.sums.begin(self._scheme)
            self._open = True

    def _forget(self) -> None:
        """No gradient without noise, and none of an earlier step, is left where it may be used."""
        for parameter in self._parameters:
            parameter.grad = None
            parameter.grad_sample = None

    def __getattr__(self, name: str) -> Any:
        if name == "optimizer":  # not set yet
            raise AttributeError(name)
        return getattr(self.optimizer, name)
