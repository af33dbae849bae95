"""A small stand-in for Opacus, which Debian does not have: the order of its steps (clip, skip a
part, noise, scale, hook, step), its samplers' names, and nothing of its code. Gradients of examples
are those of linear layers."""
import torch

from . import accountants, utils  # noqa: F401


class UniformWithReplacementSampler:
    def __init__(self, num_samples, sample_rate):
        self.num_samples, self.sample_rate = num_samples, sample_rate
        self.generator = None

    def __len__(self):
        return int(1 / self.sample_rate)

    def __iter__(self):
        for _ in range(len(self)):
            drawn = torch.rand(self.num_samples, generator=self.generator) < self.sample_rate
            yield drawn.nonzero().reshape(-1).tolist() or [0]


def rows_of(layer, inputs, output):
    """Leaves each example's gradient of a mean loss where the optimizer looks for it."""
    seen = inputs[0].detach()

    def of_errors(errors):
        errors = errors * len(errors)
        for parameter, rows in ((layer.weight, errors[:, :, None] * seen[:, None, :]),
                                (layer.bias, errors)):
            before = getattr(parameter, "grad_sample", None)
            parameter.grad_sample = rows if before is None else (
                before + [rows] if isinstance(before, list) else [before, rows])
    if output.requires_grad:
        output.register_hook(of_errors)


class Optimizer:
    def __init__(self, optimizer, noise_multiplier, max_grad_norm, batch_size):
        self.original_optimizer, self.noise_multiplier = optimizer, noise_multiplier
        self.max_grad_norm, self.expected_batch_size = max_grad_norm, batch_size
        self.params = [p for group in optimizer.param_groups for p in group["params"]]
        self.param_groups, self._step_skip_queue = optimizer.param_groups, []
        self._is_last_step_skipped = False
        self.step_hook = self.generator = None
        for p in self.params:
            p.grad_sample = p.summed_grad = None

    def attach_step_hook(self, hook):
        self.step_hook = hook

    def signal_skip_step(self, do_skip=True):
        self._step_skip_queue.append(do_skip)

    @property
    def accumulated_iterations(self):
        return len(self.params[0].grad_sample) if isinstance(self.params[0].grad_sample,
                                                             list) else 1

    @property
    def grad_samples(self):
        return [torch.cat(p.grad_sample) if isinstance(p.grad_sample, list) else p.grad_sample
                for p in self.params]

    def zero_grad(self):
        for p in self.params:
            p.grad_sample = None
            if not self._is_last_step_skipped:
                p.summed_grad = None
        self.original_optimizer.zero_grad()

    def clip_and_accumulate(self):
        rows = self.grad_samples
        norms = torch.stack([r.flatten(1).norm(dim=1) for r in rows]).norm(dim=0)
        for p, r in zip(self.params, rows):
            clipped = (r.flatten(
                1) * (self.max_grad_norm / (norms + 1e-6)).clamp(max=1)[:, None]).sum(0).view_as(p)
            p.summed_grad = clipped if p.summed_grad is None else p.summed_grad + clipped

    def pre_step(self):
        self.clip_and_accumulate()
        self._is_last_step_skipped = bool(self._step_skip_queue) and (
            self._step_skip_queue.pop(0))
        if self._is_last_step_skipped:
            return False
        for p in self.params:
            noise = self.noise_multiplier * self.max_grad_norm * torch.randn(
                p.shape, generator=self.generator)
            p.grad = (p.summed_grad + noise) / self.expected_batch_size
        if self.step_hook:
            self.step_hook(self)
        return True

    def step(self):
        if self.pre_step():
            self.original_optimizer.step()


class PrivacyEngine:
    def __init__(self, *, accountant="prv", secure_mode=False):
        self.accountant = None

    def make_private(self, *, module, optimizer, data_loader, noise_multiplier, max_grad_norm,
                     poisson_sampling=True, clipping="flat"):
        if poisson_sampling:
            size = len(data_loader.dataset)
            data_loader = torch.utils.data.DataLoader(
                data_loader.dataset,
                batch_sampler=UniformWithReplacementSampler(size, 1 / len(data_loader)))
        for layer in module.modules():
            if isinstance(layer, torch.nn.Linear) and not hasattr(layer, "watched"):
                layer.watched = layer.register_forward_hook(rows_of)
        optimizer = getattr(optimizer, "original_optimizer", optimizer)
        private = Optimizer(optimizer, noise_multiplier, max_grad_norm,
                            int(len(data_loader.dataset) / len(data_loader)))
        private.attach_step_hook(lambda _: None)
        return module, private, data_loader
