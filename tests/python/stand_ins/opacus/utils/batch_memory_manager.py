"""BatchMemoryManager: large batches in parts."""
import torch


class BatchSplittingSampler:
    def __init__(self, sampler, most, optimizer):
        self.sampler, self.most, self.optimizer = sampler, most, optimizer

    def __len__(self):
        return len(self.sampler)

    def __iter__(self):
        for batch in self.sampler:
            parts = [batch[i:i + self.most] for i in range(0, len(batch), self.most)] or [batch]
            for part in parts[:-1]:
                self.optimizer.signal_skip_step(True)
                yield part
            self.optimizer.signal_skip_step(False)
            yield parts[-1]


class BatchMemoryManager:
    def __init__(self, *, data_loader, max_physical_batch_size, optimizer):
        self.loader = torch.utils.data.DataLoader(
            data_loader.dataset, collate_fn=data_loader.collate_fn,
            num_workers=data_loader.num_workers,
            batch_sampler=BatchSplittingSampler(data_loader.batch_sampler, max_physical_batch_size,
                                                optimizer))

    def __enter__(self):
        return self.loader

    def __exit__(self, *_):
        pass
