"""Exact private sums beside PyTorch: per-example gradients stay on their device, integers come to
the host.

    POPULATION = 60_000  # a constant, at least the number of records, which is a secret
    sampler = dpledger.torch.PoissonBatchSampler(POPULATION, 0.01, steps=1000)
    optimizer = dpledger.torch.PrivateOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.5), recorder=ledger, sampler=sampler,
        noise_multiplier=1.1, max_grad_norm=1.0)
    dpledger.torch.per_example(model, loss_reduction="sum")
    for x, y in dpledger.torch.data_loader(data, sampler):
        torch.nn.functional.cross_entropy(model(x), y, reduction="sum").backward()
        optimizer.step()

CPU tensors are clipped and summed by the C library, where they lie. Those of other devices go
through `clip_and_sum`, plain torch operations whose results are exact whatever the order in which a
device adds. What an example's gradient *is* stays the trainer's part: it must depend on its own
record and on what is public. Layers that mix records (batch normalisation) are refused; that a
matrix product may round a row differently beside other rows is an assumption, which batches of one
public size (`add(..., examples=n)`) avoid.
"""
from .arithmetic import clip_and_sum, row_norms
from .batches import (AllocatedBatchSampler, BatchSampler, FixedSizeBatchSampler, FullBatchSampler,
                      PoissonBatchSampler, ShuffledBatchSampler, data_loader)
from .check import check
from .exact_sum import ExactSum
from .ghost import GhostSum, ghost_clip_and_sum
from .optimizer import PrivateOptimizer
from .per_example_gradients import check_model, gradients, per_example
from .processes import SharedSum

__all__ = ["AllocatedBatchSampler", "BatchSampler", "ExactSum", "FixedSizeBatchSampler",
           "FullBatchSampler", "GhostSum", "PoissonBatchSampler", "PrivateOptimizer", "SharedSum",
           "ShuffledBatchSampler", "check", "check_model", "clip_and_sum", "data_loader",
           "ghost_clip_and_sum", "gradients", "per_example", "row_norms"]
