"""Opacus with dpledger's accountant, and with a ledger that has each step before its weights change.

    engine = dpledger.opacus.PrivacyEngine(recorder=ledger)
    model, optimizer, loader = engine.make_private(module=model, optimizer=optimizer, data_loader=loader,
                                                   noise_multiplier=1.1, max_grad_norm=1.0)

Clipping and noise stay Opacus' own floats: answers list the assumption "floating-point noise". dpledger.torch has exact
sums. What is recorded is how batches are really drawn: by default the loader's are replaced by exact Poisson samples.
Tested with Opacus 1.4.0 by hand and with a stand-in in the test suite; several processes (DDP) and other versions were
not run. Needs the package opacus.
"""
from __future__ import annotations

import math
from typing import Any, Dict, List, Optional, Tuple

try:
    import opacus
    from opacus.accountants import IAccountant
except ImportError as missing:
    raise ImportError("dpledger.opacus: needs the package opacus, which is not installed") from missing
import torch

from . import accounting
from .errors import Error, InvalidArgument, WrongType, error
from .messages import DisjointBatches, Poisson, SamplingScheme, SumQuery, WithReplacement
from .recorder import Recorder
from .torch import PoissonBatchSampler, check_model, data_loader as loader_over

MECHANISM = "dpledger"


class Accountant(IAccountant):  # type: ignore[misc]
    """Opacus' accountant interface: upper bounds for Poisson samples, which is what Opacus' steps describe."""

    def __init__(self) -> None:
        super().__init__()
        self.history: List[Tuple[float, float, int]] = []

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """One more step."""
        last = self.history[-1] if self.history else None
        if last is not None and last[:2] == (noise_multiplier, sample_rate):
            self.history[-1] = (noise_multiplier, sample_rate, last[2] + 1)
        else:
            self.history.append((noise_multiplier, sample_rate, 1))

    def get_epsilon(self, delta: float, **options: Any) -> float:
        """An upper bound on ε at `delta`, by dpledger.epsilon, which takes `options`."""
        if not self.history:
            return 0.0
        if any(noise == 0 for noise, _, _ in self.history):
            return math.inf
        run = [accounting.dp_sgd(noise, rate, steps) for noise, rate, steps in self.history]
        return accounting.epsilon(run, delta=delta, **options).upper

    def __len__(self) -> int:
        return sum(steps for _, _, steps in self.history)

    @classmethod
    def mechanism(cls) -> str:
        """The name under which Opacus knows it."""
        return MECHANISM


def register() -> None:
    """Makes `opacus.PrivacyEngine(accountant="dpledger")` known, where Opacus can be told (1.6 and later). Importing
    this module has done it."""
    registry = getattr(opacus.accountants, "register_accountant", None)
    if registry is None:
        registry = getattr(getattr(opacus.accountants, "registry", None), "register_accountant", None)
    if registry is not None:
        try:
            registry(MECHANISM, Accountant)
        except ValueError:
            pass  # it is there already


register()


def drawn_rate(sample_rate: float) -> float:
    """The probability with which Opacus' own Poisson sampler really takes a record: it compares 32-bit uniforms, whole
    multiples of 2^-24, with the rate as a 32-bit float."""
    rounded = float(torch.tensor(sample_rate, dtype=torch.float32))
    return min(1.0, math.ceil(rounded * 2 ** 24) / 2 ** 24)


def scheme_of(loader: Any) -> SamplingScheme:
    """How `loader` really draws its batches. InvalidArgument where that cannot be told: give `scheme` then.

    Shuffled batches are DisjointBatches, whatever Opacus accounts for; batches in a fixed order are no scheme.
    """
    sampler = getattr(loader, "batch_sampler", None)
    while sampler is not None and type(sampler).__name__ == "BatchSplittingSampler":
        sampler = sampler.sampler
    if isinstance(sampler, PoissonBatchSampler):
        return sampler.scheme
    size = len(loader.dataset)
    name = type(sampler).__name__
    if name == "UniformWithReplacementSampler":
        return Poisson(drawn_rate(sampler.sample_rate), size)
    inner = getattr(sampler, "sampler", None)
    if name == "BatchSampler" and type(inner).__name__ == "RandomSampler":
        if inner.replacement:
            return WithReplacement(sampler.batch_size, size)
        return DisjointBatches(len(sampler), 0, size)
    raise InvalidArgument("data_loader: how its sampler (%s over %s) draws batches is not known; give scheme, or leave "
                          "it to the engine's own Poisson sampler" % (name, type(inner).__name__), field="data_loader")


class PrivacyEngine(opacus.PrivacyEngine):  # type: ignore[misc]
    """Opacus' engine, which records each step before the optimizer takes it.

    recorder: of the ledger; in several processes that of rank 0, None in others
    scheme: how batches are drawn, where the loader does not say it
    sampler: "dpledger" replaces the loader's batches by exact Poisson samples of the same expected size; "opacus"
        leaves them to Opacus, and to its poisson_sampling

    Other arguments are Opacus'. If a step cannot be recorded its noised gradients are thrown away, and `step` raises.
    """

    def __init__(self, *, recorder: Optional[Recorder], scheme: Optional[SamplingScheme] = None,
                 sampler: str = "dpledger", **options: Any) -> None:
        if recorder is not None and not isinstance(recorder, Recorder):
            raise WrongType("recorder: must be a dpledger.Recorder, got %s" % type(recorder).__name__,
                            field="recorder")
        if recorder is None and _rank() == 0:
            raise InvalidArgument("recorder: must be given in the process of rank 0", field="recorder")
        if sampler not in ("dpledger", "opacus"):
            raise InvalidArgument('sampler: must be "dpledger" or "opacus", got %r' % (sampler,), field="sampler")
        super().__init__(**dict({"accountant": "rdp"}, **options))
        self.accountant = Accountant()
        self._recorder, self._stated, self._sampler = recorder, scheme, sampler
        self._rounds = 0

    def make_private(self, *, module: Any, optimizer: Any, data_loader: Any, noise_multiplier: float,
                     max_grad_norm: Any, **options: Any) -> Any:
        """As Opacus', with the hook that records; its result too."""
        check_model(module)
        if options.get("clipping", "flat") == "adaptive":
            raise InvalidArgument('clipping: "adaptive" counts examples with noise that no ledger describes; use '
                                  '"flat" or "per_layer"', field="clipping")
        distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
        if self._sampler == "dpledger" and options.get("poisson_sampling", True) and self._stated is None:
            if distributed and torch.distributed.get_world_size() > 1:
                raise InvalidArgument('sampler: with several processes draw the samples yourself, and state scheme',
                                      field="sampler")
            data_loader = _poisson(data_loader)
            options["poisson_sampling"] = False  # it is done
        private = super().make_private(module=module, optimizer=optimizer, data_loader=data_loader,
                                       noise_multiplier=noise_multiplier, max_grad_norm=max_grad_norm, **options)
        wrapped, returned = private[1], private[-1]
        if type(wrapped).__name__ in ("DistributedPerLayerOptimizer", "AdaClipDPOptimizer"):
            raise InvalidArgument("optimizer: %s releases before a ledger can have it" % type(wrapped).__name__,
                                  field="optimizer")
        scheme = self._stated if self._stated is not None else scheme_of(returned)
        wrapped.attach_step_hook(lambda optim: self._before_step(optim, scheme))
        return private

    def make_private_with_epsilon(self, *, module: Any, optimizer: Any, data_loader: Any, target_epsilon: float,
                                  target_delta: float, epochs: int, max_grad_norm: Any, **options: Any) -> Any:
        """As Opacus', with the noise found for Poisson samples by dpledger.calibrate."""
        if self._stated is not None and not isinstance(self._stated, Poisson):
            raise InvalidArgument("target_epsilon: noise is found for Poisson samples only; give noise_multiplier to "
                                  "make_private", field="target_epsilon")
        rate = self._stated.probability if self._stated is not None else _rate(data_loader)
        found = accounting.calibrate(target_epsilon=target_epsilon, delta=target_delta, sample_rate=rate,
                                     steps=int(epochs) * len(data_loader))
        return self.make_private(module=module, optimizer=optimizer, data_loader=data_loader,
                                 noise_multiplier=found.noise_multiplier, max_grad_norm=max_grad_norm, **options)

    def get_epsilon(self, delta: float) -> float:
        """An upper bound on what the ledger has come to, by the server; without a recorder by the steps seen here."""
        if self._recorder is not None:
            return self._recorder.epsilon(delta=delta).epsilon.upper
        return float(self.accountant.get_epsilon(delta))

    def _before_step(self, optim: Any, scheme: SamplingScheme) -> None:
        """Opacus calls it after the noise and before the step."""
        failed: Optional[Error] = None
        try:
            self._record(optim, scheme)
        except Error as refused:
            failed = refused
        failed = _agreed(failed)
        if failed is not None:
            # The gradients are noised already, but no ledger has them.
            for parameter in optim.params:
                parameter.grad = parameter.grad_sample = parameter.summed_grad = None
            raise failed

    def _record(self, optim: Any, scheme: SamplingScheme) -> None:
        if _rank() != 0:
            return
        if optim.accumulated_iterations > 1:
            raise InvalidArgument("optimizer: %d backward passes were accumulated, and a record may be in several of "
                                  "their batches; step after each, or use BatchMemoryManager"
                                  % optim.accumulated_iterations, field="optimizer")
        norms = optim.max_grad_norm
        bound = math.sqrt(math.fsum(float(n) ** 2 for n in norms)) if isinstance(norms, (list, tuple)) else float(norms)
        noise = float(optim.noise_multiplier)
        if isinstance(scheme, DisjointBatches):
            epoch = self._rounds // scheme.batches_per_epoch
            scheme = DisjointBatches(scheme.batches_per_epoch, epoch, scheme.population_size)
        assert self._recorder is not None
        self._recorder.round(scheme, SumQuery(bound, noise * bound, "gradient")).await_releasable()
        self._rounds += 1
        if isinstance(scheme, Poisson):
            self.accountant.step(noise_multiplier=noise, sample_rate=scheme.probability)


def _rate(loader: Any) -> float:
    """The sampling probability with the loader's expected batch size."""
    size = getattr(loader, "batch_size", None) or getattr(loader.batch_sampler, "batch_size", None)
    if size is None:
        sampler = loader.batch_sampler
        if hasattr(sampler, "sample_rate"):
            return float(sampler.sample_rate)
        raise InvalidArgument("data_loader: must have a batch_size", field="data_loader")
    return min(1.0, size / len(loader.dataset))


def _poisson(loader: Any) -> Any:
    """A loader over the same records by exact Poisson samples, as many an epoch."""
    if isinstance(getattr(loader, "batch_sampler", None), PoissonBatchSampler):
        return loader
    sampler = PoissonBatchSampler(len(loader.dataset), _rate(loader), steps=len(loader))
    kept: Dict[str, Any] = {name: getattr(loader, name) for name in (
        "num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn", "multiprocessing_context")}
    return loader_over(loader.dataset, sampler, **kept)


def _rank() -> int:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return int(torch.distributed.get_rank())
    return 0


def _agreed(failed: Optional[Error]) -> Optional[Error]:
    """In several processes all raise or none: rank 0 tells the others by one number."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return failed
    status = torch.tensor([0 if failed is None else 1])
    if torch.distributed.get_backend() == "nccl":
        status = status.cuda()
    torch.distributed.broadcast(status, 0)
    if failed is None and int(status) != 0:
        return error(9, "step: rank 0 could not record it")
    return failed
