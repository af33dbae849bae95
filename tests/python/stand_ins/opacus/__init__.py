"""A small stand-in for Opacus, which Debian does not have: the order of its steps (clip, noise, scale, hook, step), its
samplers' names, and nothing of its code."""
import torch

from . import accountants  # noqa: F401


class UniformWithReplacementSampler:
    def __init__(self, num_samples, sample_rate):
        self.num_samples, self.sample_rate = num_samples, sample_rate

    def __len__(self):
        return int(1 / self.sample_rate)

    def __iter__(self):
        for _ in range(len(self)):
            yield (torch.rand(self.num_samples) < self.sample_rate).nonzero().reshape(-1).tolist() or [0]


class Optimizer:
    def __init__(self, optimizer, noise_multiplier, max_grad_norm, batch_size):
        self.original_optimizer, self.noise_multiplier = optimizer, noise_multiplier
        self.max_grad_norm, self.batch_size, self.accumulated_iterations = max_grad_norm, batch_size, 1
        self.params = [p for group in optimizer.param_groups for p in group["params"]]
        self.hook = None

    def attach_step_hook(self, hook):
        self.hook = hook

    def zero_grad(self):
        self.original_optimizer.zero_grad()

    def step(self):
        for p in self.params:
            p.summed_grad = p.grad * self.batch_size
            p.grad = (p.summed_grad + self.noise_multiplier * torch.randn_like(p)) / self.batch_size
        self.hook(self)
        self.original_optimizer.step()


class PrivacyEngine:
    def __init__(self, *, accountant="prv", secure_mode=False):
        self.accountant = None

    def make_private(self, *, module, optimizer, data_loader, noise_multiplier, max_grad_norm, poisson_sampling=True,
                     clipping="flat"):
        if poisson_sampling:
            size = len(data_loader.dataset)
            data_loader = torch.utils.data.DataLoader(
                data_loader.dataset, batch_sampler=UniformWithReplacementSampler(size, 1 / len(data_loader)))
        private = Optimizer(optimizer, noise_multiplier, max_grad_norm, 50)
        private.attach_step_hook(lambda _: None)
        return module, private, data_loader
