"""Any torch optimizer, stepped by noised sums."""
from __future__ import annotations

import math
from typing import Any, Optional, Sequence, Union

import torch

from .. import _client
from ..errors import InvalidArgument, WrongType
from ..messages import SamplingScheme
from ..recorder import Recorder, Sampler
from .exact_sum import ExactSum


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
        self._forget()
        noised = self.sums.finish()
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
