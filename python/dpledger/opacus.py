"""Opacus with dpledger's accountant, and with a ledger that has each step before its weights
change.

    engine = dpledger.opacus.PrivacyEngine(recorder=ledger)
    model, optimizer, loader = engine.make_private(module=model, optimizer=optimizer,
                                                   data_loader=loader, noise_multiplier=1.1,
                                                   max_grad_norm=1.0)

Clipping and noise stay Opacus' own floats: answers list the assumption "floating-point noise".
dpledger.torch has exact sums. The ledger says how batches are really drawn: by default the loader's
are replaced by exact Poisson samples. Each step is tied to one sample of the loader that
make_private returns, and each pass over a shuffled loader is an epoch, also one that the loop
leaves early; of other samples, the next pass begins with those that had no step. Tested with Opacus
1.4.0 by hand and with a stand-in in the test suite; several processes (DDP) and other versions were
not run. Needs the package opacus.
"""
from __future__ import annotations

import copy
import functools
import math
import secrets
import types
import weakref
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

try:
    import opacus
    from opacus.accountants import IAccountant
except ImportError as missing:
    raise ImportError(
        "dpledger.opacus: needs the package opacus, which is not installed") from missing
import torch

from . import _client, accounting
from ._words import explains, hinted
from .errors import Error, InvalidArgument, WrongType, error
from .messages import (DisjointBatches, FullBatch, Poisson, RandomAllocation, SamplingScheme,
                       SumQuery, WithReplacement)
from .recorder import Recorder, _recorder_or_none
from .torch import PoissonBatchSampler, check_model, data_loader as loader_over
from .torch import guards
from .torch.batches import BatchSampler, refuse_repeats
from .torch.optimizer import keep_from_stepping_alone
from .torch.tape import batch_is_given, is_left
from .torch.trial import Looks, Tried

MECHANISM = "dpledger"


@explains
class Accountant(IAccountant):  # type: ignore[misc]
    """Opacus' accountant interface: upper bounds for Poisson samples, which is what Opacus' steps
    describe."""

    def __init__(self) -> None:
        super().__init__()
        self.history: List[Tuple[float, float, int]] = []

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """One more step."""
        noise_multiplier = _client.real(noise_multiplier, "noise_multiplier")
        sample_rate = _client.real(sample_rate, "sample_rate")
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
    """Makes `opacus.PrivacyEngine(accountant="dpledger")` known, where Opacus can be told (1.6 and
    later). Importing this module has done it."""
    registry = getattr(opacus.accountants, "register_accountant", None)
    if registry is None:
        registry = getattr(getattr(opacus.accountants, "registry", None), "register_accountant",
                           None)
    if registry is not None:
        try:
            registry(MECHANISM, Accountant)
        except ValueError:
            pass  # it is there already


register()


@hinted()
def drawn_rate(sample_rate: float) -> float:
    """The probability with which Opacus' own Poisson sampler really takes a record: it compares
    32-bit uniforms, whole multiples of 2^-24, with the rate as a 32-bit float."""
    rate = _client.real(sample_rate, "sample_rate")
    if not 0 < rate <= 1:
        raise InvalidArgument("sample_rate: must be in (0, 1], got %r" % (sample_rate,),
                              field="sample_rate")
    rounded = float(torch.tensor(rate, dtype=torch.float32))
    return min(1.0, math.ceil(rounded * 2 ** 24) / 2 ** 24)


@hinted()
def scheme_of(loader: Any) -> SamplingScheme:
    """How `loader` really draws its batches. InvalidArgument where that cannot be told: give
    `scheme` then.

    Shuffled batches are DisjointBatches, whatever Opacus accounts for; batches in a fixed order are
    no scheme.
    """
    _check_loader(loader, "loader")
    sampler = _innermost(loader.batch_sampler)
    if isinstance(sampler, BatchSampler):
        return sampler.scheme
    size = len(loader.dataset)
    name = type(sampler).__name__
    if name == "UniformWithReplacementSampler":
        return Poisson(drawn_rate(sampler.sample_rate), size)
    inner = getattr(sampler, "sampler", None)
    if name == "BatchSampler" and type(inner).__name__ == "RandomSampler":
        if inner.replacement:  # the loader's records may be more than are drawn from
            return WithReplacement(sampler.batch_size, len(inner.data_source))
        if inner.num_samples > len(inner.data_source):
            raise InvalidArgument(
                "data_loader: its RandomSampler has num_samples=%d over %d records, so "
                "that one pass takes a record several times; leave num_samples out, and "
                "make more passes" % (inner.num_samples, len(inner.data_source)),
                field="data_loader")
        return DisjointBatches(len(sampler), 0, size)
    raise InvalidArgument(
        "data_loader: how its sampler (%s over %s) draws batches is not known; give "
        "scheme, or leave it to the engine's own Poisson sampler" % (name, type(inner).__name__),
        field="data_loader")


def _check_loader(loader: Any, name: str = "data_loader") -> None:
    if not isinstance(loader, torch.utils.data.DataLoader):
        raise WrongType("%s: must be a torch DataLoader, got %s" % (name, type(loader).__name__),
                        field=name)
    refuse_repeats(loader.dataset, name)


_MOST_KEPT = 64  # batches without a step


class _Epoch:
    """Samples that a record is in once, or as often as the scheme says."""

    number: Optional[int] = None  # in the ledger, from its first step on


class _Sample(NamedTuple):
    """The numbers of its records, and its epoch."""

    records: List[int]
    epoch: _Epoch


class _Pass:
    """One iteration over a loader: its samples so far, and which of them had their step."""

    def __init__(self, watched: bool) -> None:
        # batches are seen as the loop gets them, and not only as they are drawn
        self.watched = watched
        # samples that came, and how many had come when the last step was made
        self.handed, self.stepped = 0, 0
        self.drawn: List[_Sample] = []  # that have not come yet
        self.sample = _Sample([], _Epoch())  # that came last
        self.again: List[_Sample] = []  # that it begins with
        self.repeated = 0  # those that another pass had
        self.open: List[_Sample] = []  # that came since the last step, if they are few
        self.ended = False  # the loop had all of it

    def left(self) -> int:
        """How many of its samples had no step after the last that had one. A pass without any step
        that was read to its end is an evaluation, and leaves none; but one new sample may have been
        passed over for what it is."""
        is_evaluation = self.ended and not self.stepped and self.handed > self.repeated + 1
        return 0 if is_evaluation else self.handed - self.stepped


class _Samples:
    """A batch sampler that tells the passes over it apart, and the samples of each.

    Each pass is one iteration, and an epoch of its own, unless dpledger's own sampler draws, which
    counts its epochs over all passes. Where another loader takes the batches (BatchMemoryManager's
    splits them) they count as handed over when they are drawn.
    """

    def __init__(self, batches: Any) -> None:
        self.batches = batches
        own = _innermost(batches)
        self.source = own.source if isinstance(own, BatchSampler) else None
        self.rounds = _rounds_of(own.scheme) if isinstance(own, BatchSampler) else 0  # of an epoch
        self.epoch: Optional[_Epoch] = None  # of the source
        # whether rounds cost less because nobody chooses their samples
        self.amplifies = True
        self.restart: Callable[[], None] = lambda: None  # what the optimizer took of a sample
        self.watched: Optional[_Pass] = None  # the pass that the loader is about to begin
        self.last: Optional[_Pass] = None  # that of the sample that came last

    def __len__(self) -> int:
        return len(self.batches)

    def __getattr__(self, name: str) -> Any:
        if name == "batches":  # not set yet
            raise AttributeError(name)
        return getattr(self.batches, name)

    def begin(self, watched: bool) -> _Pass:
        """A new pass. Which samples have a step must not depend on them: it begins with those that
        the last pass left, whole, where they are there, and counts them as passed over where
        not."""
        begun, last = _Pass(watched), self.last
        self.restart()
        if last is not None and self.amplifies and last.left():
            if len(last.open) == last.left():
                begun.again, begun.repeated = last.open, len(last.open)
            else:
                begun.handed = begun.repeated = last.left()
        return begun

    def __iter__(self) -> Iterator[Any]:
        begun = self.watched or self.begin(watched=False)
        return self._drawn(begun, begun.sample.epoch, iter(self.batches))

    def _drawn(self, begun: _Pass, epoch: _Epoch, batches: Iterator[Any]) -> Iterator[Any]:
        for sample in [] if begun.watched else begun.again:
            begun.drawn.append(sample)
            self.hand_over(begun)
            yield sample.records
        for batch in batches:
            if self.source is not None and self.rounds:
                if self.epoch is None or self.source.draws % self.rounds == 1 % self.rounds:
                    self.epoch = _Epoch()
                epoch = self.epoch
            begun.drawn.append(_Sample(batch, epoch))
            if not begun.watched:
                self.hand_over(begun)
            yield batch
        begun.ended = begun.ended or not begun.watched

    def hand_over(self, begun: _Pass) -> None:
        """The next sample of the pass is the loop's from here on, and kept for the next pass until
        its step."""
        begun.handed += 1
        begun.sample = begun.drawn.pop(0)
        self.last = begun
        if self.amplifies and len(begun.open) < _MOST_KEPT:
            begun.open.append(begun.sample)


def _watched(loader: Any) -> Any:
    """The same loader, of the same class, which tells its `_Samples` what it hands to the loop."""
    if isinstance(loader.batch_sampler, _Samples):
        return loader
    sampler = _innermost(loader.batch_sampler)
    if sampler in _served:
        raise InvalidArgument(
            "data_loader: its sampler serves another optimizer; give make_private the "
            "loader that it returned for that one, or make another sampler",
            field="data_loader")
    if isinstance(sampler, BatchSampler):
        _served.add(sampler)
    kind = type(loader)

    def iterate(self: Any) -> Iterator[Any]:
        samples, looks = self.batch_sampler, Looks()
        begun, noted = samples.begin(watched=True), None
        try:
            for sample in begun.again:
                batch = self.collate_fn([self.dataset[record] for record in sample.records])
                begun.drawn.append(sample)
                samples.hand_over(begun)
                noted = batch_is_given(batch, looks.at_next())
                yield batch
            samples.watched = begun
            # which, with workers, iterates over the sampler twice, and drops the first
            batches = kind.__iter__(self)
            samples.watched = None
            for batch in batches:
                samples.hand_over(begun)
                noted = batch_is_given(batch, looks.at_next())
                yield batch
            begun.ended = True
        finally:
            is_left(noted)
    watched = copy.copy(loader)
    watched.__dict__.update(batch_sampler=_Samples(loader.batch_sampler), _iterator=None)
    watched.__class__ = type(kind.__name__, (kind,), {"__iter__": iterate})
    return watched


def _innermost(sampler: Any) -> Any:
    """What draws the batches, below what counts, splits or announces them."""
    while True:
        if isinstance(sampler, _Samples):
            sampler = sampler.batches
        elif type(sampler).__name__ in ("BatchSplittingSampler", "_Announced"):
            sampler = sampler.sampler
        else:
            return sampler


def _rounds_of(scheme: SamplingScheme) -> int:
    """Rounds of an epoch, 0 for a scheme without."""
    return int(getattr(scheme, "batches_per_epoch", 0) or getattr(scheme, "rounds_per_epoch", 0))


_served: "weakref.WeakSet[BatchSampler]" = weakref.WeakSet()
# how many epochs each has begun
_epochs: "weakref.WeakKeyDictionary[Recorder, int]" = weakref.WeakKeyDictionary()


def _step_of(samples: _Samples, scheme: SamplingScheme, rows: Optional[int],
             recorder: Recorder) -> SamplingScheme:
    """Takes the sample that came last for a step over so many rows of gradients, and says how it
    was drawn. InvalidArgument where the step is not one over that sample, and it alone."""
    taken = samples.last
    if taken is None:
        raise InvalidArgument(
            "optimizer: steps on a batch that make_private's loader did not draw; "
            "iterate over the loader that make_private returned",
            field="optimizer")
    fresh = taken.handed - taken.stepped
    if fresh == 0:
        raise InvalidArgument(
            "optimizer: a second step on one sample: its records would be in two sums, "
            "and the ledger would say one; step once a batch, with one optimizer over "
            "all parameters",
            field="optimizer")
    if fresh > 1 and not taken.watched:
        raise InvalidArgument(
            "data_loader: %d samples were drawn since the last step, so that which of "
            "them this step is over cannot be told; under BatchMemoryManager give the "
            "loader num_workers=0, and step on every batch. A new pass begins with those that had "
            "no step" % fresh,
            field="data_loader")
    if fresh > 1 and samples.amplifies:
        raise InvalidArgument(
            "optimizer: a sample was passed over before this step, and whether a sample is used "
            "must not depend on it or its size; step on every batch, also on an empty one. A new "
            "pass begins with those that had no step",
            field="optimizer")
    if rows is not None and rows != len(taken.sample.records):
        raise InvalidArgument(
            "optimizer: the gradients have not one row for each record of the sample: a "
            "record in several rows counts several times; keep one example a record, and "
            "its batch dimension first (batch_first=False says that it is second); under "
            "BatchMemoryManager step once on every batch, and after a break begin a new pass",
            field="optimizer")
    if isinstance(scheme, (DisjointBatches, RandomAllocation)):
        begun, epoch = _epochs.get(recorder, 0), taken.sample.epoch
        if epoch.number is None:
            epoch.number, _epochs[recorder] = begun, begun + 1
        elif epoch.number != begun - 1:
            raise InvalidArgument(
                "data_loader: another epoch has begun since this one's last step; end "
                "one before the next begins",
                field="data_loader")
        scheme = (DisjointBatches(scheme.batches_per_epoch, epoch.number, scheme.population_size)
                  if isinstance(scheme, DisjointBatches)
                  else RandomAllocation(scheme.rounds_per_epoch, scheme.contributions,
                                        scheme.fixed_bins, epoch.number, scheme.population_size))
    taken.stepped = taken.handed
    taken.open = []
    return scheme


@explains
class PrivacyEngine(opacus.PrivacyEngine):  # type: ignore[misc]
    """Opacus' engine, which records each step before the optimizer takes it.

    recorder: of the ledger; in several processes that of rank 0, None in others
    scheme: how batches are drawn, where the loader does not say it. Epochs are counted by passes of
        the loader
    sampler: "dpledger" replaces the loader's batches by exact Poisson samples of the same expected
        size; "opacus" leaves them to Opacus, and to its poisson_sampling
    population: a constant chosen beforehand, at least the number of records: sampling probability,
        steps a pass and the divisor of sums come from it. None takes the number of records itself,
        which is then public: under add-or-remove-one that is a leak

    Other arguments are Opacus'. If a step cannot be recorded its noised gradients are thrown away,
    and `step` raises: so does a step that is not over one sample of the loader that make_private
    returned, and over it alone.
    """

    def __init__(self, *, recorder: Optional[Recorder], scheme: Optional[SamplingScheme] = None,
                 sampler: str = "dpledger", population: Optional[int] = None,
                 **options: Any) -> None:
        _recorder_or_none(recorder)
        if recorder is None and _rank() == 0:
            raise InvalidArgument("recorder: must be given in the process of rank 0",
                                  field="recorder")
        if sampler not in ("dpledger", "opacus"):
            raise InvalidArgument('sampler: must be "dpledger" or "opacus", got %r' % (sampler,),
                                  field="sampler")
        if population is not None:
            _client.whole(population, "population", 1)
            if sampler != "dpledger" or scheme is not None:
                raise InvalidArgument(
                    'population: is of samples that dpledger draws; leave it out beside '
                    'scheme or sampler="opacus"',
                    field="population")
        super().__init__(**dict({"accountant": "rdp"}, **options))
        self.accountant = Accountant()
        self._recorder, self._stated = recorder, scheme
        self._sampler, self._population = sampler, population

    def make_private(self, *, module: Any, optimizer: Any, data_loader: Any,
                     noise_multiplier: float, max_grad_norm: Any, **options: Any) -> Any:
        """As Opacus', with the hook that records; its result too."""
        check_model(module)
        if not isinstance(optimizer, torch.optim.Optimizer):
            raise WrongType("optimizer: must be a torch.optim.Optimizer, got %s"
                            % type(optimizer).__name__,
                            field="optimizer")
        _check_loader(data_loader)
        stepped = {id(p) for group in optimizer.param_groups for p in group["params"]}
        for name, parameter in module.named_parameters():
            if parameter.requires_grad and id(parameter) not in stepped:
                raise InvalidArgument(
                    "module: %s requires a gradient and is not in the optimizer, so that another "
                    "one could take its raw gradients: put it in, or requires_grad_(False)" % name,
                    field="module")
        if options.get("clipping", "flat") == "adaptive":
            raise InvalidArgument('clipping: "adaptive" counts examples with noise that no ledger '
                                  'describes; use "flat" or "per_layer"',
                                  field="clipping")
        if options.get("noise_generator") is not None:
            raise _repeatable("noise_generator", "is a generator of the caller's own")
        distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
        if self._sampler == "dpledger" and options.get("poisson_sampling",
                                                       True) and self._stated is None:
            if distributed and torch.distributed.get_world_size() > 1:
                raise InvalidArgument(
                    'sampler: with several processes draw the samples yourself, and state '
                    'scheme; or sum by dpledger.torch.SharedSum, which draws for all of them',
                    field="sampler")
            data_loader = _poisson(data_loader, self._population)
            options["poisson_sampling"] = False  # it is done
        private = super().make_private(module=module, optimizer=optimizer, data_loader=data_loader,
                                       noise_multiplier=noise_multiplier,
                                       max_grad_norm=max_grad_norm, **options)
        wrapped, returned = private[1], private[-1]
        if type(wrapped).__name__ in ("DistributedPerLayerOptimizer", "AdaClipDPOptimizer"):
            raise InvalidArgument("optimizer: %s releases before a ledger can have it"
                                  % type(wrapped).__name__,
                                  field="optimizer")
        guards.watch(module, loss_reduction=options.get("loss_reduction", "mean"))
        module.forward = Tried(module)
        _step_by(wrapped, optimizer)
        scheme = self._stated if self._stated is not None else scheme_of(returned)
        own = _innermost(returned.batch_sampler)
        if isinstance(own, BatchSampler):
            # a constant, where Opacus takes the data set's size
            wrapped.expected_batch_size = own.expected_batch_size
        else:
            _draw_anew(own)
        returned = _watched(returned)
        returned.batch_sampler.amplifies = not isinstance(scheme, (DisjointBatches, FullBatch))
        rows, noise = _RowCount(wrapped), _Noise(wrapped)
        returned.batch_sampler.restart = rows.restart
        wrapped.attach_step_hook(lambda optim: None)  # Opacus' own counts for its accountant
        _call_before_steps(wrapped, lambda optim: self._before_step(
            optim, scheme, returned.batch_sampler, rows, noise))
        return tuple(private[:-1]) + (returned,)

    def make_private_with_epsilon(self, *, module: Any, optimizer: Any, data_loader: Any,
                                  target_epsilon: float, target_delta: float, epochs: int,
                                  max_grad_norm: Any, **options: Any) -> Any:
        """As Opacus', with the noise found for Poisson samples by dpledger.calibrate."""
        check_model(module)
        _check_loader(data_loader)
        passes = _client.whole(epochs, "epochs", 1)
        if self._stated is not None and not isinstance(self._stated, Poisson):
            raise InvalidArgument("target_epsilon: noise is found for Poisson samples only; give "
                                  "noise_multiplier to make_private",
                                  field="target_epsilon")
        if self._stated is None and self._sampler == "dpledger" and options.get("poisson_sampling",
                                                                                True):
            data_loader = _poisson(data_loader, self._population)
        rate = self._stated.probability if self._stated is not None else _rate(data_loader, None)
        found = accounting.calibrate(target_epsilon=target_epsilon, delta=target_delta,
                                     sample_rate=rate, steps=passes * len(data_loader))
        return self.make_private(module=module, optimizer=optimizer, data_loader=data_loader,
                                 noise_multiplier=found.noise_multiplier,
                                 max_grad_norm=max_grad_norm, **options)

    def get_epsilon(self, delta: float) -> float:
        """An upper bound on what the ledger has come to, by the server; without a recorder by the
        steps seen here."""
        if self._recorder is not None:
            return self._recorder.epsilon(delta=delta).epsilon.upper
        return float(self.accountant.get_epsilon(delta))

    def _before_step(self, optim: Any, scheme: SamplingScheme, samples: _Samples,
                     rows: "_RowCount", noise: "_Noise") -> None:
        """Opacus calls it after the noise and before the step."""
        failed: Optional[Error] = None
        taken, clipped_to = rows.taken()
        try:
            guards.check_state()
            noise.check(optim)
            self._record(optim, scheme, samples, taken, clipped_to)
        except Error as refused:
            failed = refused
        failed = _agreed(failed)
        if failed is not None:
            # The gradients are noised already, but no ledger has them.
            for parameter in optim.params:
                parameter.grad = parameter.grad_sample = parameter.summed_grad = None
            raise failed

    def _record(self, optim: Any, scheme: SamplingScheme, samples: _Samples,
                rows: Optional[int], clipped_to: float) -> None:
        if _rank() != 0:
            return
        if optim.accumulated_iterations > 1:
            raise InvalidArgument(
                "optimizer: %d backward passes were accumulated, and a record may be in "
                "several of their batches; step after each, or use BatchMemoryManager"
                % optim.accumulated_iterations,
                field="optimizer")
        bound, noise = _norm(optim.max_grad_norm), float(optim.noise_multiplier)
        if clipped_to > bound * (1 + 1e-6):  # Opacus adds up layers' norms in 32 bits
            raise InvalidArgument(
                "optimizer: gradients were clipped to %r, and noise is for max_grad_norm=%r: "
                "change it between steps, not between parts of one sample; under "
                'clipping="per_layer" change max_grad_norms with it' % (clipped_to, bound),
                field="optimizer")
        assert self._recorder is not None
        scheme = _step_of(samples, scheme, rows, self._recorder)
        query = SumQuery(max(bound, clipped_to), noise * bound, "gradient")
        self._recorder.round(scheme, query).await_releasable()
        if _client.observer is not None:
            _client.observer.own_noise([p.summed_grad for p in optim.params],
                                       [p.grad for p in optim.params])
        if isinstance(scheme, Poisson):
            self.accountant.step(noise_multiplier=noise, sample_rate=scheme.probability)


def _step_by(wrapped: Any, inner: Any) -> None:
    """From now on `inner` steps within `wrapped` alone: by itself it would take raw gradients."""
    keep_from_stepping_alone(inner)
    stepped = wrapped.step

    @functools.wraps(stepped)  # as schedulers know a step that they have wrapped
    def step(self: Any, *arguments: Any, **named: Any) -> Any:
        inner._private = True
        try:
            return stepped(*arguments, **named)
        finally:
            inner._private = False
    wrapped.step = types.MethodType(step, wrapped)


def _call_before_steps(wrapped: Any, before: Any) -> None:
    """Calls `before` before the weights change in each step, and before the hook that the loop has
    attached: Opacus keeps one hook only, so this one is none."""
    prepared = wrapped.pre_step

    @functools.wraps(prepared)
    def pre_step(self: Any, *arguments: Any, **named: Any) -> Any:
        theirs = self.step_hook

        def both(optim: Any) -> None:
            before(optim)
            if theirs is not None:
                theirs(optim)
        self.step_hook = both
        try:
            return prepared(*arguments, **named)
        finally:
            self.step_hook = theirs
    wrapped.pre_step = types.MethodType(pre_step, wrapped)


def _generator(device: Any) -> Tuple[torch.Generator, int]:
    """A stream that no seed of the loop's repeats, and its seed."""
    generator, seed = torch.Generator(device=device), secrets.randbits(63)
    generator.manual_seed(seed)
    return generator, seed


def _draw_anew(batches: Any) -> None:
    """Has a loader's sampler draw from a stream of its own: after torch.manual_seed, or a seed of
    the loader's generator, the same samples would be drawn once more, and be recorded as others."""
    for sampler in (batches, getattr(batches, "sampler", None)):
        if hasattr(sampler, "generator"):
            sampler.generator = _generator("cpu")[0]


class _Noise:
    """The stream that an optimizer's noise comes from. One of its own, since after
    torch.manual_seed a script that is run again would add the same noise to another sample's sum;
    in Opacus' secure mode the system's."""

    def __init__(self, optim: Any) -> None:
        self.seed: Optional[int] = None
        if not getattr(optim, "secure_mode", False):
            optim.generator, self.seed = _generator(optim.params[0].device)
        self.generator = optim.generator

    def check(self, optim: Any) -> None:
        """InvalidArgument where the noise was of another stream, or of this one begun anew."""
        if optim.generator is not self.generator or (
                self.seed is not None and self.generator.initial_seed() != self.seed):
            raise _repeatable("optimizer",
                              "its generator was seeded or replaced after make_private")


def _repeatable(field: str, what: str) -> InvalidArgument:
    return InvalidArgument(
        "%s: %s: with its seed the noise can be drawn again, and taken off the sums. Leave the "
        "noise to the generator that make_private makes, and seeds from the system's randomness"
        % (field, what), field=field)


def _norm(norms: Any) -> float:
    """The bound on the whole gradient, of one for each layer."""
    return (math.sqrt(math.fsum(float(n) ** 2 for n in norms))
            if isinstance(norms, (list, tuple)) else float(norms))


class _RowCount:
    """How many rows of gradients an optimizer has clipped since its last step, and the greatest
    norm that it clipped to. Under BatchMemoryManager that is in several parts, each of which is
    announced to the optimizer, and taken once."""

    def __init__(self, optim: Any) -> None:
        self._optim = weakref.ref(optim)
        self.rows: Optional[int] = 0
        self.clipped_to = 0.0
        self.parts = self.announced = 0
        clip, announce = optim.clip_and_accumulate, optim.signal_skip_step

        def clip_and_accumulate() -> None:
            samples = getattr(optim, "grad_samples", None)
            norms = getattr(optim, "max_grad_norms", None)  # under clipping="per_layer"
            self.clipped_to = max(self.clipped_to,
                                  _norm(optim.max_grad_norm if norms is None else norms))
            self.parts += 1
            clip()
            self.rows = None if samples is None or self.rows is None else self.rows + len(
                samples[0])

        def signal_skip_step(do_skip: bool = True) -> None:
            self.announced += 1
            announce(do_skip)
        optim.clip_and_accumulate, optim.signal_skip_step = clip_and_accumulate, signal_skip_step

    def _forget(self) -> None:
        self.rows, self.clipped_to = 0, 0.0
        self.parts = self.announced = 0

    def taken(self) -> Tuple[Optional[int], float]:
        """The rows, None where the optimizer has none to count, and the norm; all begin anew. Parts
        that were not taken once each have -1 rows."""
        is_whole = self.announced in (0, self.parts)
        taken = self.rows if is_whole else -1, self.clipped_to
        self._forget()
        return taken

    def restart(self) -> None:
        """Forgets the parts of a sample that was left in its middle, before it or another one is
        begun."""
        optim = self._optim()
        if optim is None or not (self.parts or self.announced):
            return
        self._forget()
        optim._step_skip_queue.clear()
        optim._is_last_step_skipped = False
        for parameter in optim.params:
            parameter.grad = parameter.grad_sample = parameter.summed_grad = None


def _rate(loader: Any, population: Optional[int]) -> float:
    """The sampling probability with the loader's expected batch size."""
    sampler = _innermost(loader.batch_sampler)
    if isinstance(sampler, PoissonBatchSampler):
        return float(sampler.scheme.probability)
    size = getattr(loader, "batch_size", None) or getattr(sampler, "batch_size", None)
    if size is None:
        if hasattr(sampler, "sample_rate"):
            return float(sampler.sample_rate)
        raise InvalidArgument("data_loader: must have a batch_size", field="data_loader")
    return min(1.0, size / (len(loader.dataset) if population is None else population))


def _poisson(loader: Any, population: Optional[int]) -> Any:
    """A loader over the same records by exact Poisson samples, as many a pass as batches of the
    expected size have."""
    if isinstance(_innermost(loader.batch_sampler), BatchSampler):
        return loader
    if population is not None and population < len(loader.dataset):
        raise InvalidArgument(
            "population: must be at least the data set's number of records, got %d" % population,
            field="population")
    rate = _rate(loader, population)
    sampler = PoissonBatchSampler(len(loader.dataset) if population is None else population, rate,
                                  steps=len(loader) if population is None else math.ceil(1 / rate))
    kept: Dict[str, Any] = {name: getattr(loader, name)
                            for name in ("num_workers", "collate_fn", "pin_memory", "timeout",
                                         "worker_init_fn", "multiprocessing_context")}
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
