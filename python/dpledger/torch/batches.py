"""Samples for DataLoader, drawn exactly."""
from __future__ import annotations

from typing import Any, Callable, Iterator, List, Optional

import torch

from .. import _client
from ..messages import Poisson
from ..recorder import Sampler


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
