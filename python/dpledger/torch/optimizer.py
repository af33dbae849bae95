"""Any torch optimizers, stepped by noised sums."""
from __future__ import annotations

import contextlib
import functools
import itertools
import math
import sys
import types
import weakref
from typing import (Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple, Union,
                    get_args)

import torch

from .. import _client, _wire
from .._words import explains
from ..errors import Error, InvalidArgument, WrongType, error
from ..messages import (DisjointBatches, RandomAllocation, SamplingScheme, WithoutReplacement,
                        WithReplacement)
from ..recorder import Recorder, Sampler
from . import guards
from .batches import BatchSampler, expected_size, sampler_of, serve_one, skipped
from .exact_sum import ExactSum

_SEVERAL_EVALUATIONS = (torch.optim.LBFGS, torch.optim.SparseAdam)
_TOLERANCE = {torch.float32: 1e-4}  # of rows' sum against the gradient; of 16-bit numbers:
_COARSE = 5e-2


def _constant(name: str) -> Any:
    """What an optimizer was made with."""
    def refuse(_: Any, value: Any) -> None:
        raise InvalidArgument(
            "%s: is a constant of the sum and of its noise, and cannot be set to %r: make another "
            "PrivateOptimizer of the optimizer, with another sampler" % (name, value), field=name)
    return property(lambda self: self._constants[name], refuse)


@explains
class PrivateOptimizer(torch.optim.Optimizer):
    """A torch optimizer whose steps take noised sums of clipped per-example gradients, each in the
    ledger before it is used. One step is on one sample.

    optimizer: a torch optimizer, or several, each over parameters of its own, which then step
        together. Their parameters have `grad_sample` after a backward pass (see `per_example`,
        `gradients`)
    recorder: of the ledger
    sampler: a batch sampler of dpledger.torch, or a dpledger.Sampler. A step is on the sample that
        it gave last, which has had none: it must have as many gradient rows as that has records
    scheme: instead of a sampler, how the trainer draws samples by other means. Nothing ties steps
        to it; the ledger says so, and every answer. A batch sampler's own `scheme` stands for that
        sampler
    noise_multiplier: noise standard deviation over clip norm, of the whole round
    max_grad_norm: the clip norm of a whole example; or of several optimizers one each; or one for
        each parameter
    expected_batch_size: what the sum is divided by; None is the sampler's. It is a constant chosen
        beforehand: under add-or-remove-one it must not be computed from the number of records,
            which is a secret
    model: the model, if neither `per_example` nor `gradients` is given it: forward passes that
        write its state are then refused
    public_state: names of the model's buffers and parameters that forward passes may write, since
        what they write depends on no record
    threads, on_device, non_private_seed: as of ExactSum

    It is made of the parameters that require a gradient when it is made. Schedulers, closures,
    `state_dict` and `param_groups` are the optimizers' own. A wrong loop is refused before a weight
    moves, by an Error or by InvalidArgument: rows that are not the sample's records, a sample that
    was used or passed over, parameters that are stepped and not summed, or that something else
    writes or could step, gradients that do not come through the layers whose rows are summed.
    """

    def __init__(self, optimizer: Union[torch.optim.Optimizer, Sequence[torch.optim.Optimizer]], *,
                 recorder: Recorder, sampler: Union[BatchSampler, Sampler, None] = None,
                 scheme: Optional[SamplingScheme] = None, noise_multiplier: float,
                 max_grad_norm: Union[float, Sequence[float]],
                 expected_batch_size: Optional[float] = None,
                 model: Optional[torch.nn.Module] = None, public_state: Iterable[str] = (),
                 threads: int = 0, on_device: bool = False,
                 non_private_seed: Optional[int] = None) -> None:
        self.optimizers = _optimizers(optimizer)
        self._several = not isinstance(optimizer, torch.optim.Optimizer)
        self._source = _source(sampler, scheme, recorder)
        self._size = _size(expected_batch_size, self._source.scheme)
        self._sizes: List[int] = []  # how many parameters each optimizer has
        self._parameters: List[torch.Tensor] = []
        for inner in self.optimizers:
            own = [p for p in _of(inner) if p.requires_grad]
            if not own:
                raise InvalidArgument(
                    "optimizer: must have parameters that require a gradient, %s has none"
                    % type(inner).__name__,
                    field="optimizer")
            self._parameters += own
            self._sizes.append(len(own))
        if len({id(p) for p in self._parameters}) != len(self._parameters):
            raise InvalidArgument(
                "optimizer: has a parameter twice; each is stepped by one optimizer, once",
                field="optimizer")
        if model is not None:
            guards.watch(model, public_state=_wire.listed(public_state, "public_state", "names"))
        elif _wire.listed(public_state, "public_state", "names"):
            raise InvalidArgument("public_state: needs model", field="public_state")
        norm = _norms(max_grad_norm, len(self._parameters), len(self.optimizers))
        groups = None
        if isinstance(norm, list) and len(norm) != len(self._parameters):
            groups = [("optimizer %d" % i, size, one) for i, (
                size, one) in enumerate(zip(self._sizes, norm))]
        self.sums = ExactSum(self._parameters, noise_multiplier, norm, recorder, threads=threads,
                             on_device=on_device, clip_groups=groups,
                             non_private_seed=non_private_seed)
        self._constants = dict(noise_multiplier=noise_multiplier, max_grad_norm=max_grad_norm,
                               expected_batch_size=self._size)
        # the number of the sample that the open step is on, 0 of a stated scheme
        self._open: Optional[int] = None
        self._error: Any = None  # the last one that had ended a cell when it was opened
        self._rows = self._compared = 0
        self._made = False
        super().__init__(self._parameters, dict(self.optimizers[0].defaults))
        self._made = True
        _MADE.add(self)
        self._source.take()
        for inner in self.optimizers:
            keep_from_stepping_alone(inner)
        self._forget()

    # ---- A step ----

    def accumulate(self, examples: Optional[int] = None) -> None:
        """Takes the gradients of a backward pass into the step's sum, for samples that do not fit
        into one batch; the first `examples` rows only, if the batch is filled up to a public
        size."""
        with _client.uninterrupted():
            try:
                self._take(examples, last=False)
            finally:
                self._forget()

    def step(self, closure: Optional[Callable[[], Any]] = None, *, empty: bool = False) -> Any:
        """One step: the round goes into the ledger, then the noised mean into `grad`, then the
        optimizers step. On an Error the weights stay, no gradient is left behind, and if the round
        was open it is lost.

        closure: makes the backward pass and returns the loss; called once
        empty: the sample had no record, and no backward pass was made

        Returns what the closure returns: the loss of the sample, which nothing covers.
        """
        loss = None
        if closure is not None and not callable(closure):
            raise WrongType("closure: must be a function, got %s" % type(closure).__name__,
                            field="closure")
        try:
            if closure is not None:
                with torch.enable_grad():
                    loss = closure()
            with _client.uninterrupted():
                self._step(empty)
        finally:
            self._forget()
        return loss

    def _step(self, empty: bool) -> None:
        pending = any(getattr(p, "grad_sample", None) is not None for p in self._parameters)
        if pending or (self._open is None and not empty):
            self._take(None, last=True)
        else:
            self._check()
            self._begin(0, last=True)
        self._open = self._error = None
        self._forget()
        noised = self.sums.finish()
        with torch.no_grad():
            for parameter, total in zip(self._parameters, noised):
                parameter.grad = (total / self._size).to(parameter.device, parameter.dtype)
        for inner in self.optimizers:
            inner._private = True  # type: ignore[attr-defined]
            try:
                inner.step()
            finally:
                inner._private = False  # type: ignore[attr-defined]

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets gradients that are in no sum yet, of all parameters."""
        self._forget()

    def _take(self, examples: Optional[int], last: bool) -> None:
        """The rows of a backward pass, into a step that ends with them or goes on."""
        self._check()
        self._check_reached()
        found = self._rows_found()
        checked = self.sums._checked(found)
        rows = int(checked[0].shape[0])
        if examples is not None and not 0 <= _client.whole(examples, "examples") <= rows:
            raise InvalidArgument("examples: must be in [0, %d], got %d" % (rows, examples),
                                  field="examples")
        self._compare(rows)
        self._begin(rows if examples is None else int(examples), last)
        try:
            self.sums.add(checked, examples=examples)
        except BaseException:
            self._lose()
            raise

    def _begin(self, rows: int, last: bool) -> None:
        """Before anything is written down: is this the sample's step?"""
        number, records = self._source.current()
        opened = self._open
        try:
            if opened is not None and number != opened:
                raise error(9,
                            "sampler: sample %d was given before the step on sample %d was made, "
                            "whose sum is lost: one step takes one sample. For larger ones let the "
                            "sampler draw more (probability, batch_size). Where a pass was left "
                            "between parts of a sample, run it once more" % (number, opened),
                            "sampler", "SAMPLE_SKIPPED")
            if opened is not None and self._source.stated and self._error is not _last_error():
                raise error(9, "scheme: an error or Ctrl-C ended a cell after it had taken parts "
                            "of this sample, whose sum is lost: with a stated scheme nothing shows "
                            "that parts taken since are not the same records once more. Begin the "
                            "next sample, or give a sampler", "scheme", "SAMPLE_USED")
            if opened is None and 0 < number <= self._source.used:
                raise error(9, "sampler: sample %d has had its step, and has no other: one step a "
                            "sample. Several optimizers or losses on one sample are one step: "
                            "PrivateOptimizer([first, second], ...)" % number,
                            "sampler", "SAMPLE_USED")
            self._rows = rows + (0 if opened is None else self._rows)
            self._source.check_rows(number, records, self._rows, last)
        except Exception:
            if opened is not None:
                self._lose()
            raise
        if opened is None:
            self._source.begin(self.sums, number)
            self._open, self._error = number, _last_error()

    def _lose(self) -> None:
        """Ends the open round; nothing of it leaves."""
        self._open = self._error = None
        with contextlib.suppress(Error):
            self.sums.finish()

    def _forget(self) -> None:
        """No gradient without noise, and none of an earlier step, is left where it may be used."""
        for inner in self.optimizers:
            for parameter in _of(inner):
                parameter.grad = None
        for parameter in self._parameters:
            parameter.grad = None
            parameter.grad_sample = None  # type: ignore[attr-defined]
        guards.forget_reached()

    # ---- What is refused ----

    def _check(self) -> None:
        """Refuses parameters that would be stepped and are in no sum, or the other way round, and a
        model that a forward pass has written."""
        guards.check_state()
        summed = {id(p) for p in self._parameters}
        for inner in self.optimizers:
            for parameter in _of(inner):
                if parameter.requires_grad and id(parameter) not in summed:
                    raise InvalidArgument(
                        "optimizer: has %s, which requires a gradient and is in no sum: "
                        "it was unfrozen, or put in by add_param_group, since the "
                        "PrivateOptimizer was made; make another one, with another sampler"
                        % self._name(parameter),
                        field="optimizer")
        for parameter in self._parameters:
            if not parameter.requires_grad:
                raise InvalidArgument(
                    "optimizer: %s was frozen since the PrivateOptimizer was made, and "
                    "would be moved by noise alone; make another one, with another sampler"
                    % self._name(parameter),
                    field="optimizer")

    def _check_reached(self) -> None:
        """Refuses what another optimizer could step, or has stepped, with gradients that the
        backward passes left: parameters that got one and are in no sum, and those that were written
        since."""
        summed = {id(p) for made in list(_MADE) for p in made._parameters}
        rows = getattr(next((p for p in self._parameters if getattr(p, "grad_sample", None)
                             is not None), None), "grad_sample", None)
        for leaf in guards.reached():
            # Records may require a gradient themselves.
            if id(leaf) in summed or not (isinstance(leaf, torch.nn.Parameter) or rows is None
                                          or leaf.shape[:1] != rows.shape[:1]):
                continue
            raise InvalidArgument(
                "optimizer: the backward pass gave %s a gradient without noise, and it is in no "
                "sum: let it be stepped with the others, PrivateOptimizer([first, second], ...), "
                "or, if this gradient steps nothing, keep it out of the pass: detach() what comes "
                "of it, or requires_grad_(False)" % self._name(leaf),
                field="optimizer")
        for parameter in self._parameters:
            version = getattr(getattr(parameter, "grad_sample", None), "version", None)
            if version is not None and version != parameter._version:
                raise InvalidArgument(
                    "optimizer: %s was written between its backward pass and this step: by another "
                    "optimizer that took the gradient without noise? It is stepped by its "
                    "PrivateOptimizer alone" % self._name(parameter), field="optimizer")

    def _rows_found(self) -> List[torch.Tensor]:
        """Each parameter's rows; zeros for one that the loss does not depend on."""
        found: List[Any] = [getattr(p, "grad_sample", None) for p in self._parameters]
        given = next((rows for rows in found if isinstance(rows, torch.Tensor) and rows.dim()),
                     None)
        for index, (parameter, rows) in enumerate(zip(self._parameters, found)):
            if rows is not None:
                continue
            if given is None or parameter.grad is not None:
                raise InvalidArgument(
                    "grad_sample: %s has none: call dpledger.torch.per_example(model) "
                    "before the forward pass; for an empty batch step(empty=True)"
                    % self._name(parameter),
                    field="grad_sample")
            found[index] = given.new_zeros(()).expand((given.shape[0],) + tuple(parameter.shape))
        return found

    def _compare(self, rows: int) -> None:
        """Whether rows add up to the gradients, where both are there: at passes 1, 2, 4, 8 and so
        on, of those that can show it. Under loss_reduction="mean" rows are the batch's size times
        as long."""
        if rows < 2:
            return
        self._compared += 1
        if self._compared & (self._compared - 1):
            return
        factors = {1.0, float(rows)}
        both = [p for p in self._parameters if getattr(p, "grad_sample", None) is not None
                and p.grad is not None and not p.grad.is_sparse]
        with torch.no_grad():
            scales = [float(p.grad_sample.float().reshape(rows, -1).norm(dim=1).sum())
                      for p in both]
        # A bias before a normalisation has no gradient but rounding errors of the others'.
        least = 1e-3 * max(scales, default=0.0)
        for parameter, scale in zip(both, scales):
            samples, gradient = parameter.grad_sample, parameter.grad
            with torch.no_grad():
                total, gradient = samples.float().sum(0), gradient.float()
                off = {factor: float((total - factor * gradient).norm()) for factor in factors}
            kinds = (samples.dtype, getattr(samples, "made_of", samples.dtype))
            tolerance = max(scale, least) * max(_TOLERANCE.get(kind, _COARSE) for kind in kinds)
            if not (math.isfinite(scale) and all(map(math.isfinite, off.values()))):
                self._compared -= 1  # says nothing: the next pass is looked at
                return
            factors = {factor for factor in factors if off[factor] <= tolerance}
            if not factors:
                raise InvalidArgument(
                    "grad_sample: %s has rows that do not add up to its gradient (they "
                    "differ by %.3g of it): a part of the loss depends on it past the "
                    "layers whose rows are taken (a penalty in the loss: use the "
                    "optimizer's weight_decay; the weight used by a function: give it a "
                    "layer, or use dpledger.torch.gradients), or an earlier backward "
                    "pass left its gradient: zero_grad() first, or something changed the gradient "
                    "since (clip_grad_norm_: leave it out, max_grad_norm clips each record)"
                    % (self._name(parameter),
                       min(off.values()) / max(float(gradient.norm()), 1e-30)),
                    field="grad_sample")

    def _name(self, parameter: torch.Tensor) -> str:
        """What a user calls it."""
        named = guards.names().get(id(parameter))
        if named is not None:
            return "parameter %s" % named
        for number, inner in enumerate(self.optimizers):
            for index, each in enumerate(_of(inner)):
                if each is parameter:
                    return "parameter %d%s" % (index, " of optimizer %d" % number if self._several
                                               else "")
        return "a parameter of shape %s" % list(parameter.shape)

    # ---- What it was made with ----

    noise_multiplier = _constant("noise_multiplier")
    max_grad_norm = _constant("max_grad_norm")
    expected_batch_size = _constant("expected_batch_size")

    # ---- What it is of the optimizers ----

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """The first of `optimizers`."""
        return self.optimizers[0]

    @property
    def param_groups(self) -> List[Dict[str, Any]]:  # type: ignore[override]
        """The optimizers' own groups, one behind the other: changes of a learning rate are
        theirs."""
        return [group for inner in self.optimizers for group in inner.param_groups]

    @param_groups.setter
    def param_groups(self, _: Any) -> None:
        """The base class sets it when it is made."""

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The optimizers' own states; of several a dict of both."""
        if len(self.optimizers) == 1:
            return self.optimizers[0].state
        return {key: value for inner in self.optimizers for key, value in inner.state.items()}

    @state.setter
    def state(self, _: Any) -> None:
        """The base class sets it when it is made."""

    def add_param_group(self, param_group: Dict[str, Any]) -> None:
        """Refused: the sum, its clip norm and its noise are over the parameters that it was made
        with."""
        if self._made:
            raise InvalidArgument(
                "add_param_group: the sum and its noise are over the parameters that "
                "this PrivateOptimizer was made with; add the group to the optimizer, "
                "and make another PrivateOptimizer of it, with another sampler",
                field="param_group")

    def state_dict(self) -> Dict[str, Any]:
        """That of the optimizer; of several, one with the groups of all."""
        return self.optimizers[0].state_dict() if not self._several else super().state_dict()

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Gives the optimizers back what `state_dict` said of them."""
        if not isinstance(state_dict, dict) or not {"param_groups", "state"} <= set(state_dict):
            raise WrongType("state_dict: must be what state_dict() gave, got %s"
                            % type(state_dict).__name__,
                            field="state_dict")
        groups = list(state_dict["param_groups"])
        counts = [len(inner.param_groups) for inner in self.optimizers]
        if len(groups) != sum(counts):
            raise InvalidArgument("state_dict: must have %d param_groups, got %d"
                                  % (sum(counts), len(groups)),
                                  field="state_dict")
        for inner, count in zip(self.optimizers, counts):
            own, groups = groups[:count], groups[count:]
            places = {place for group in own for place in group["params"]}
            inner.load_state_dict(dict(state_dict, param_groups=own, state={
                place: value for place, value in state_dict["state"].items()
                if place in places or not isinstance(place, int)}))

    def __reduce_ex__(self, _: Any) -> Any:
        raise WrongType(
            "PrivateOptimizer: holds a ledger, and is neither copied nor saved: save its "
            "state_dict()",
            field="optimizer")

    def __repr__(self) -> str:
        said = ", ".join("%s=%r" % constant for constant in self._constants.items())
        return "PrivateOptimizer(%s, %s) of\n%s" % (self._source, said,
                                                    "\n".join(map(repr, self.optimizers)))


def _last_error() -> Any:
    """What ended the last cell of a notebook, or line of a prompt, that did not end by itself."""
    return getattr(sys, "last_value", None)


_MADE: "weakref.WeakSet[PrivateOptimizer]" = weakref.WeakSet()  # that are alive


# ---- Samples ----

class _Source:
    """Where the samples of an optimizer's steps come from."""

    stated = False
    _made = itertools.count()

    def __init__(self, recorder: Recorder) -> None:
        self.recorder, self.made = recorder, next(self._made)

    def take_over(self) -> None:
        """Refuses a step beside another optimizer of the recorder that may be on the same sample:
        one of both has samples that are stated. It may take over from one made before it, for
        good."""
        drawn, stated = _STEPPED.get(self.recorder, (-1, -1))
        if self.made < (max(drawn, stated) if self.stated else stated):
            raise error(9, "scheme: another PrivateOptimizer that was made later has stepped on "
                        "this recorder, and one of both has a stated scheme: nothing shows that "
                        "they are not on one sample, which costs more than two samples do. Let "
                        "them be one, PrivateOptimizer([first, second], ...), or give each a "
                        "sampler", "scheme", "SAMPLE_USED")
        _STEPPED[self.recorder] = ((drawn, max(stated, self.made)) if self.stated
                                   else (max(drawn, self.made), stated))


# Of a recorder, the numbers of those made last that have stepped on it: with samples of a sampler,
# and with stated ones.
_STEPPED: "weakref.WeakKeyDictionary[Recorder, Tuple[int, int]]" = weakref.WeakKeyDictionary()


class _ByBatchSampler(_Source):
    """Steps on the samples of a batch sampler of this package."""

    def __init__(self, sampler: BatchSampler, recorder: Recorder) -> None:
        super().__init__(recorder)
        self.sampler, self.scheme = sampler, sampler.scheme
        self.take, self.current = sampler.take, sampler.current
        self.check_rows = _check_rows

    @property
    def used(self) -> int:
        return self.sampler.used

    def begin(self, sums: ExactSum, number: int) -> None:
        self.take_over()
        sums.begin(self.sampler.source, number)
        self.sampler.use(number)

    def __str__(self) -> str:
        return "sampler=%s(%r)" % (type(self.sampler).__name__, self.scheme)


class _BySampler(_Source):
    """Steps on the samples that a dpledger.Sampler draws, in a loop of the trainer's own."""

    def __init__(self, sampler: Sampler, recorder: Recorder) -> None:
        super().__init__(recorder)
        self.sampler, self.scheme, self.used = sampler, sampler.scheme, 0
        self.check_rows = _check_rows

    def take(self) -> None:
        serve_one(self.sampler)
        self.used = max(0, self.sampler.draws - 1)  # what was drawn last may be the first step's

    def current(self) -> Tuple[int, int]:
        """The number and the size of the sample that was drawn last."""
        number = self.sampler.draws
        if number == 0:
            raise error(9, "sampler: has given no sample yet: sampler.draw()", "sampler",
                        "NO_SAMPLE")
        if number > self.used + 1:
            raise skipped(self.used + 1, number)
        return number, self.sampler._size

    def begin(self, sums: ExactSum, number: int) -> None:
        self.take_over()
        sums.begin(self.sampler, number)
        self.used = number

    def __str__(self) -> str:
        return "sampler=Sampler(%r)" % (self.scheme,)


class _Stated(_Source):
    """Steps on samples that the trainer draws by other means, and says how."""

    stated, used = True, 0

    def __init__(self, scheme: SamplingScheme, recorder: Recorder) -> None:
        super().__init__(recorder)
        self.scheme = scheme

    def take(self) -> None:
        """Nothing is tied."""

    def current(self) -> Tuple[int, int]:
        """No sample is known."""
        return 0, 0

    def check_rows(self, _: int, __: int, rows: int, last: bool) -> None:
        most = getattr(self.scheme, "sample_size",
                       getattr(self.scheme, "max_sample_size", self.scheme.population_size))
        if most and rows > most:
            raise InvalidArgument(
                "grad_sample: has more rows than the %d records that a sample of %r has "
                "at most; each row must be one record, whole" % (most, self.scheme),
                field="grad_sample")
        # (A population is a constant, and all records may be fewer.)
        exact = isinstance(self.scheme, (WithoutReplacement, WithReplacement))
        if exact and last and rows < most:
            raise InvalidArgument(
                "grad_sample: has fewer rows than the %d records of a sample of %r; each record "
                "is one row (the first dimension is that of records), and none is left out"
                % (most, self.scheme),
                field="grad_sample")

    def begin(self, sums: ExactSum, _: int) -> None:
        self.take_over()
        sums.begin(self.scheme)

    def __str__(self) -> str:
        return "scheme=%r" % (self.scheme,)


def _check_rows(number: int, records: int, rows: int, last: bool) -> None:
    if rows == records or (rows < records and not last):
        return
    # The message does not say how many: the size of a sample is a secret.
    raise InvalidArgument(
        "grad_sample: the step on sample %d has %s rows than the sample has records: "
        "each record is one row, whole (tokens of a text are not records; the first "
        "dimension is that of records), and none is left out; accumulate() takes a "
        "sample in parts, and several losses on it are one sum with one backward pass"
        % (number, "more" if rows > records else "fewer"),
        field="grad_sample")


def _source(sampler: Any, scheme: Any, recorder: Recorder) -> Any:
    if (sampler is None) == (scheme is None):
        raise InvalidArgument(
            "sampler: give a batch sampler, which ties each step to its sample "
            "(PoissonBatchSampler(population, probability, steps=...)), or scheme=..., "
            "if samples are drawn by other means; got %s"
            % ("neither" if sampler is None else "both"),
            field="sampler")
    if isinstance(scheme, (BatchSampler, Sampler)):
        raise WrongType("scheme: is a sampler; give it as sampler=...", field="scheme")
    sampler = sampler_of(scheme) or sampler
    if isinstance(sampler, BatchSampler):
        return _ByBatchSampler(sampler, recorder)
    if isinstance(sampler, Sampler):
        return _BySampler(sampler, recorder)
    if sampler is not None:
        raise WrongType("sampler: must be a batch sampler of dpledger.torch or a dpledger.Sampler, "
                        "got %s; if samples are drawn by other means, say how: scheme=..."
                        % type(sampler).__name__,
                        field="sampler")
    if sampler is None and not isinstance(scheme, get_args(SamplingScheme)):
        raise WrongType("scheme: must be how samples are drawn, such as dpledger.Poisson(0.05, "
                        "POPULATION), got %s" % type(scheme).__name__, field="scheme")
    if isinstance(scheme, (DisjointBatches, RandomAllocation)):
        raise InvalidArgument(
            "scheme: states one epoch, and steps go on beyond it; let a sampler count "
            "them: sampler=dpledger.torch.%s"
            % ("ShuffledBatchSampler(population, %d)" % scheme.batches_per_epoch
               if isinstance(scheme, DisjointBatches) else "AllocatedBatchSampler(population, %d)"
               % scheme.rounds_per_epoch),
            field="scheme")
    return _Stated(scheme, recorder)


# ---- Arguments ----

def _optimizers(given: Any) -> List[torch.optim.Optimizer]:
    listed = [given] if isinstance(given, torch.optim.Optimizer) else given
    if not isinstance(listed, (list, tuple)) or not listed:
        raise WrongType("optimizer: must be a torch.optim.Optimizer or a list of some, got %s"
                        % type(given).__name__,
                        field="optimizer")
    for index, inner in enumerate(listed):
        where = "optimizer" if listed is not given else "optimizer[%d]" % index
        if not isinstance(inner, torch.optim.Optimizer):
            raise WrongType("%s: must be a torch.optim.Optimizer, got %s"
                            % (where, type(inner).__name__),
                            field=where)
        if isinstance(inner, (PrivateOptimizer,) + _SEVERAL_EVALUATIONS):
            raise InvalidArgument("%s: must step on one dense gradient, %s does not"
                                  % (where, type(inner).__name__),
                                  field=where)
        if any(isinstance(p, torch.nn.parameter.UninitializedTensorMixin) for p in _of(inner)):
            raise InvalidArgument("%s: has parameters without sizes yet; call the model once, on a "
                                  "made-up input, before this" % where, field=where)
    return list(listed)


def _of(optimizer: torch.optim.Optimizer) -> List[torch.Tensor]:
    return [p for group in optimizer.param_groups for p in group["params"]]


def _size(given: Any, scheme: Any) -> float:
    size = expected_size(scheme) if given is None and scheme is not None and (
        hasattr(scheme, "population_size")) else _client.real(given, "expected_batch_size")
    if not (math.isfinite(size) and size > 0):
        raise InvalidArgument("expected_batch_size: must be finite and > 0, got %r" % size,
                              field="expected_batch_size")
    return size


def _norms(given: Any, parameters: int, optimizers: int) -> Union[float, List[float]]:
    """One number, or one for each of the parameters or of the optimizers."""
    if not _wire.is_many(given):
        return _client.real(given, "max_grad_norm")
    listed = list(given)
    if len(listed) not in (parameters, optimizers):
        raise InvalidArgument(
            "max_grad_norm: must be one number, or one for each of %d parameters, or of "
            "%d optimizers, got %d" % (parameters, optimizers, len(listed)),
            field="max_grad_norm")
    return [_client.real(norm, "max_grad_norm[%d]" % index) for index, norm in enumerate(listed)]


def keep_from_stepping_alone(inner: Any) -> None:
    """From now on a step of `inner` is a private one: called by itself it would take raw
    gradients."""
    if hasattr(inner, "_private"):
        return
    inner._private, stepped = False, inner.step

    @functools.wraps(stepped)  # schedulers know a step that they have wrapped by its attributes
    def step(self: Any, *arguments: Any, **named: Any) -> Any:
        if not self._private:
            raise error(9, "optimizer: %s is stepped by its private optimizer alone; by itself it "
                        "would take gradients without noise" % type(self).__name__,
                        "optimizer", "NOT_PRIVATE")
        return stepped(*arguments, **named)
    inner.step = types.MethodType(step, inner)
