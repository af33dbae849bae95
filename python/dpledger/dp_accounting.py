"""dp_accounting's accountant interface, answered by dpledger: certified upper bounds in place of
estimates.

    from dpledger.dp_accounting import LedgerAccountant
    LedgerAccountant().compose(dp_event.GaussianDpEvent(1.0), 10).get_epsilon(1e-5)

`from_dp_event` and `to_dp_event` carry events over and back. Needs the package dp_accounting.
"""
from __future__ import annotations

import copy
import math
from fractions import Fraction
from statistics import NormalDist
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

try:
    from dp_accounting import dp_event, privacy_accountant
except ImportError as missing:
    raise ImportError("dpledger.dp_accounting: needs the package dp_accounting, which is not "
                      "installed") from missing

from . import accounting, messages
from .errors import Error, InvalidArgument, WrongType

Relation = privacy_accountant.NeighboringRelation
_ADJACENCY = {Relation.ADD_OR_REMOVE_ONE: "add-or-remove-one", Relation.REPLACE_ONE: "replace-one",
              Relation.REPLACE_SPECIAL: "zero-out"}

# Events bear the messages' names: GaussianDpEvent is Gaussian. So do their fields.
_KINDS = {"NoOp", "NonPrivate", "Unsupported", "Gaussian", "Laplace", "DiscreteLaplace",
          "DiscreteGaussian", "RandomizedResponse", "EpsilonDelta", "ZCDp", "ExponentialMechanism",
          "PermuteAndFlip", "MixtureOfGaussians", "PoissonSampled", "SampledWithoutReplacement",
          "SampledWithReplacement", "TruncatedSubsampledGaussian", "SingleEpochTreeAggregation",
          "RepeatAndSelect", "SelfComposed", "Composed"}
_CLASSES = {(kind[:-2] if kind == "ZCDp" else kind) + "DpEvent": getattr(messages, kind)
            for kind in _KINDS}
# With no noise the data is released; dp_accounting allows it, and the API does not.
_NOISE = {"Gaussian": "noise_multiplier", "Laplace": "noise_multiplier",
          "DiscreteLaplace": "noise_parameter", "DiscreteGaussian": "sigma",
          "MixtureOfGaussians": "standard_deviation",
          "TruncatedSubsampledGaussian": "noise_multiplier",
          "SingleEpochTreeAggregation": "noise_multiplier"}
_SAMPLED = ("PoissonSampled", "SampledWithoutReplacement", "SampledWithReplacement")


class UnknownEvent(WrongType):
    """An event that has no meaning here."""

    def __init__(self, event: Any) -> None:
        super().__init__("event: Unsupported event: %r" % (event,), field="event")
        self.event = event


def from_dp_event(event: Any) -> messages.MechanismEvent:
    """The same mechanism as a dpledger event. Degenerate parameters become what they are: no noise
    NonPrivate, nothing sampled, one bucket or nothing composed NoOp.

    Raises UnknownEvent (a TypeError) for classes that dp_accounting does not have, InvalidArgument
    for a sensitivity that is no whole number where noise is on whole numbers.
    """
    held = _CLASSES.get(type(event).__name__)
    if held is None or not isinstance(event, dp_event.DpEvent):
        raise UnknownEvent(event)
    kind = held.__name__
    if kind == "Unsupported":
        return messages.Unsupported("dp_accounting's UnsupportedDpEvent")
    trivial = _trivial(kind, event)
    if trivial is not None:
        return trivial
    values: Dict[str, Any] = {}
    for _, name, of, label in held._wire:
        value = getattr(event, name)
        if of == "MechanismEvent":
            value = [
                from_dp_event(part) for part in value] if label == "*" else from_dp_event(value)
        elif label == "*":
            value = [value] if isinstance(value, (int, float)) else list(value)
        elif of == "uint64" and isinstance(value, float):
            if not value.is_integer():
                raise InvalidArgument("%s.%s: must be a whole number, got %r"
                                      % (type(event).__name__, name, value),
                                      field=name)
            value = int(value)
        values[name] = value
    inner = values.get("event")
    if isinstance(inner, messages.NonPrivate) and kind in _SAMPLED:
        return inner
    if isinstance(inner, messages.NoOp):
        return inner
    return held(**values)


def _trivial(kind: str, event: Any) -> Optional[messages.MechanismEvent]:
    """What an event with degenerate parameters is; None for the others."""
    if kind == "PoissonSampled" and event.sampling_probability == 0:
        return messages.NoOp()
    if kind in ("SampledWithoutReplacement", "SampledWithReplacement") and event.sample_size == 0:
        return messages.NoOp()
    if kind == "TruncatedSubsampledGaussian" and 0 in (
            event.sampling_probability, event.truncated_batch_size, event.dataset_size):
        return messages.NoOp()
    if kind == "RandomizedResponse" and event.num_buckets == 1:
        return messages.NoOp()
    if kind == "MixtureOfGaussians" and all(s == 0 for s in event.sensitivities):
        return messages.NoOp()
    if kind == "Composed" and not list(event.events):
        return messages.NoOp()
    if kind == "EpsilonDelta" and event.epsilon == 0 and event.delta == 0:
        return messages.NoOp()
    if kind in ("ExponentialMechanism", "PermuteAndFlip") and event.epsilon == 0:
        return messages.NoOp()
    if kind in ("DiscreteLaplace", "DiscreteGaussian") and event.sensitivity == 0:
        return messages.NoOp()
    if kind in _NOISE and getattr(event, _NOISE[kind]) == 0:
        return messages.NonPrivate()
    return None


def to_dp_event(event: messages.Event) -> Any:
    """A dpledger event as dp_accounting's: RoundsEvent too. What dp_accounting has no class for
    (schemes with epochs, MatrixMechanism, RenyiCurve, ReportNoisyMax, Shuffled, SparseVector) is an
    UnsupportedDpEvent."""
    count = getattr(event, "count", 1)
    if isinstance(event, messages.RoundsEvent):
        return _counted(_of_round(event.scheme, event.queries), count)
    kind = type(event).__name__
    if isinstance(event, messages.SelfComposed):
        return dp_event.SelfComposedDpEvent(to_dp_event(event.event), count)
    if kind not in _KINDS:
        return dp_event.UnsupportedDpEvent()
    values: Dict[str, Any] = {}
    for _, name, of, label in type(event)._wire:
        value = getattr(event, name)
        if of == "MechanismEvent":
            value = [to_dp_event(part) for part in value] if label == "*" else to_dp_event(value)
        elif label == "*":
            value = list(value)
        if kind != "Unsupported":
            values[name] = value
    name = "ZCDpEvent" if kind == "ZCDp" else kind + "DpEvent"
    return _counted(getattr(dp_event, name)(**values), count)


def _counted(event: Any, count: int) -> Any:
    if count == 1 or isinstance(event, dp_event.UnsupportedDpEvent):
        return event
    return dp_event.SelfComposedDpEvent(event, count)


def _of_round(scheme: messages.SamplingScheme, queries: Sequence[messages.SumQuery]) -> Any:
    multipliers = [query.noise_stddev / query.l2_norm_bound for query in queries]
    # Noised sums of one sample are one Gaussian vector.
    one = dp_event.GaussianDpEvent(1 / math.sqrt(math.fsum(z ** -2 for z in multipliers)))
    if any(query.noise == "discrete-gaussian" for query in queries):
        return dp_event.UnsupportedDpEvent()
    if isinstance(scheme, messages.Poisson):
        return dp_event.PoissonSampledDpEvent(scheme.probability, one)
    if isinstance(scheme, messages.WithoutReplacement):
        return dp_event.SampledWithoutReplacementDpEvent(scheme.population_size, scheme.sample_size,
                                                         one)
    if isinstance(scheme, messages.WithReplacement):
        return dp_event.SampledWithReplacementDpEvent(scheme.population_size, scheme.sample_size,
                                                      one)
    if isinstance(scheme, messages.TruncatedPoisson):
        return dp_event.TruncatedSubsampledGaussianDpEvent(
            scheme.population_size, scheme.probability, scheme.max_sample_size,
            one.noise_multiplier)
    return one if isinstance(scheme, messages.FullBatch) else dp_event.UnsupportedDpEvent()


class LedgerAccountant(privacy_accountant.PrivacyAccountant):
    """A PrivacyAccountant whose numbers are upper bounds, certified by dpledger's library.

    neighboring_relation: REPLACE_SPECIAL is dpledger's "zero-out"
    value_discretization_interval: taken where PLDAccountant's is, and not used: `relative_gap` says
        how tight
    relative_gap: wanted (upper - lower) / upper of an answer, in [1e-9, 1]
    method: "best", or one of "rdp", "pld", "contour", "gaussian-closed-form"
    """

    def __init__(self, neighboring_relation: Any = Relation.ADD_OR_REMOVE_ONE,
                 value_discretization_interval: Optional[float] = None, *,
                 relative_gap: float = 5e-8, method: str = "best") -> None:
        super().__init__(neighboring_relation)
        if neighboring_relation not in _ADJACENCY:
            raise InvalidArgument("neighboring_relation: must be one of %s, got %r"
                                  % (", ".join(r.name for r in _ADJACENCY), neighboring_relation),
                                  field="neighboring_relation")
        self._options: Dict[str, Any] = dict(adjacency=_ADJACENCY[neighboring_relation],
                                             relative_gap=relative_gap, method=method)
        self._events: List[messages.MechanismEvent] = []
        self._supported: List[bytes] = []

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
        # Composition is walked here, so that an error names the part that is wrong.
        name = type(event).__name__
        if name == "SelfComposedDpEvent":
            return self._maybe_compose(event.event, event.count * count, do_compose)
        if name == "ComposedDpEvent":
            for part in event.events:
                refused = self._maybe_compose(part, count, do_compose)
                if refused is not None:
                    return refused
            return None
        try:
            message = from_dp_event(event)
        except UnknownEvent as unknown:
            return self.CompositionErrorDetails(unknown.event, "Unsupported event.")
        except InvalidArgument as wrong:
            return self.CompositionErrorDetails(event, str(wrong))
        if isinstance(message, messages.Unsupported):
            return self.CompositionErrorDetails(event, "Unsupported event.")
        if do_compose:
            if count < 1:
                raise ValueError("count: must be at least 1, got %r" % (count,))
            if not isinstance(message, messages.NoOp):
                self._events.append(_times(message, count))
            return None
        if isinstance(message, (messages.NoOp, messages.NonPrivate)):
            return None
        refusal = self._refusal(message, self._options["adjacency"])
        if refusal is None:
            return None
        if refusal.code == "INVALID_ARGUMENT" and "adjacency" not in str(refusal).lower():
            # as PLDAccountant does for parameters out of their domain
            raise ValueError(str(refusal))
        others = [relation for relation, adjacency in _ADJACENCY.items()
                  if relation != self._neighboring_relation
                  and self._refusal(message, adjacency) is None]
        text = str(refusal)
        if others:
            text = "neighboring_relation must be %s for `%s`. Found %s: %s" % (
                " or ".join("`%s`" % relation.name for relation in others), name,
                self._neighboring_relation, text)
        return self.CompositionErrorDetails(event, text)

    def _refusal(self, message: messages.MechanismEvent, adjacency: Any) -> Optional[Error]:
        """Why no method answers for this event alone; None if one does."""
        try:
            accounting.delta(message, epsilon=1.0, adjacency=adjacency, relative_gap=1.0,
                             method=self._options["method"])
        except Error as failed:
            return failed
        return None

    @property
    def _contains_non_dp_event(self) -> bool:
        return any(isinstance(event, messages.NonPrivate) for event in self._events)

    def get_epsilon(self, target_delta: float) -> float:
        """An upper bound on ε at `target_delta`, in [0, 1]; infinite where no ε holds."""
        if self._contains_non_dp_event:
            return math.inf
        if not self._events or target_delta >= 1:
            return 0.0
        found = accounting.epsilon(self._events, delta=target_delta, **self._options).upper
        statements = self._statements()
        if statements is not None and target_delta >= statements[1]:
            found = min(found, _up(statements[0]))
        return found

    def get_delta(self, target_epsilon: float) -> float:
        """An upper bound on δ at `target_epsilon` >= 0, which may be infinite."""
        if self._contains_non_dp_event:
            return 1.0
        if not self._events:
            return 0.0
        # δ falls with ε: what holds at this one holds at infinity.
        at = min(target_epsilon, 1e9)
        found = accounting.delta(self._events, epsilon=at, **self._options).upper
        statements = self._statements()
        if statements is not None and target_epsilon >= statements[0]:
            found = min(found, _up(statements[1]))
        return found

    def _statements(self) -> Optional[Tuple[Fraction, Fraction]]:
        """Of (ε, δ) statements alone, a few of them: the sum of ε and 1 - Π(1 - δ), which hold
        together (Kairouz, Oh, Viswanath 2015, theorem 3.3) and are met there: exact, where the
        library's bounds are 1e-13 apart. Else None."""
        epsilon, kept, count = Fraction(0), Fraction(1), 0
        for event in self._events:
            if not isinstance(event, (messages.EpsilonDelta, messages.ExponentialMechanism)):
                return None
            count += event.count
            if count > 1000 or not math.isfinite(event.epsilon):
                return None
            epsilon += Fraction(event.epsilon) * event.count
            kept *= (1 - Fraction(getattr(event, "delta", 0))) ** event.count
        return epsilon, 1 - kept

    def _least_type_two(
            self, type_one: Sequence[float], deltas: Optional[Sequence[float]]) -> List[float]:
        """Lower bounds on an attacker's type II errors at type I errors: of each pair (ε, δ) that
        holds, at type I error a, max(1 - δ - e^ε a, e^-ε (1 - δ - a)) is one (Wasserman, Zhou 2010,
        theorem 2.4; Kairouz, Oh, Viswanath 2015, theorem 2.1). The greatest of them, over `deltas`,
        or else over 1000 values of ε up to where δ is 1e-13."""
        if deltas is not None:
            within = [float(delta) for delta in deltas if 0 < delta < 1]
            pairs = [
                (point.epsilon.upper, point.delta.upper) for first in range(0, len(within), 1000)
                for point in accounting.profile(self._events, deltas=within[first:first + 1000],
                                                **self._options).points]
        else:
            top = accounting.epsilon(self._events, delta=1e-13, **self._options).upper
            top = min(top, 700.0) if math.isfinite(top) else 50.0
            grid = [top * i / 999 for i in range(1000)] if top > 0 else [0.0]
            pairs = [(point.epsilon.upper, point.delta.upper)
                     for point in accounting.profile(self._events, epsilons=grid,
                                                     **self._options).points]
        # Three roundings of numbers of at most 1, and exp to within 2 units in the last place.
        lines = [(math.exp(epsilon), math.exp(-epsilon), delta) for epsilon, delta in pairs
                 if epsilon <= 700]
        found = [max(max(
            1 - delta - up * rate * (1 + 2.0 ** -50), down * (1 - delta - rate) * (1 - 2.0 ** -50))
                     for up, down, delta in lines) * (1 - 2.0 ** -52) - 2.0 ** -52 if rate > 0
                 else 1 - min(delta for _, _, delta in lines) for rate in type_one]
        if deltas is None:  # the library's own curve has its bends where it has to
            for first in range(0, len(type_one), 1000):
                curve = accounting.profile(
                    self._events, type_one_errors=type_one[first:first + 1000], **self._options)
                for index, rates in enumerate(curve.trade_off, first):
                    found[index] = max(found[index], rates.symmetric.lower)
        return [max(0.0, error) for error in found]

    def get_true_positive_rates(self, false_positive_rates: Union[float, Sequence[float]],
                                deltas: Optional[Sequence[float]] = None) -> Any:
        """An upper bound on an attacker's true positive rate at each false positive rate: a float
        for a float, else a numpy array. By (ε, δ) at these `deltas`, or on a finer grid of the
        library's."""
        one = isinstance(false_positive_rates, (int, float))
        rates = [float(false_positive_rates)] if one else [  # type: ignore[arg-type]
            float(rate) for rate in false_positive_rates]  # type: ignore[union-attr]
        if self._contains_non_dp_event:
            found = [1.0] * len(rates)
        elif not self._events:
            found = list(rates)
        else:
            found = [_one_minus_up(error) for error in self._least_type_two(rates, deltas)]
        if one:
            return found[0]
        import numpy
        return numpy.array(found)

    def get_gdp_parameter_estimate(self, false_positive_rates: Optional[Sequence[float]] = None,
                                   deltas: Optional[Sequence[float]] = None) -> float:
        """The least μ of a Gaussian that is as revealing at the false positive rates given, or at
        500 from 1e-12 to a half: by its definition in dp_accounting an estimate, no bound
        (`dpledger.profile(gaussian_least_delta=...)` is one). Infinite if the loss is with more
        probability than the least rate."""
        if self._contains_non_dp_event:
            return math.inf
        if not self._events:
            return 0.0
        if false_positive_rates is None:
            low, high = math.log10(1e-12), math.log10(0.5)
            false_positive_rates = [10 ** (low + (high - low) * i / 499) for i in range(500)]
        rates = [float(rate) for rate in false_positive_rates]
        if self.get_delta(math.inf) > min(rates):
            return math.inf
        normal, most = NormalDist(), 0.0
        for rate, error in zip(rates, self._least_type_two(rates, deltas)):
            if not 0 < rate < 1:
                continue
            if error <= 0:
                return math.inf
            if error < 1:
                most = max(most, -normal.inv_cdf(error) - normal.inv_cdf(rate))
        return most


def _up(value: Fraction) -> float:
    """The least double that is not below `value`, or the one after it."""
    found = float(value)
    if Fraction(found) < value:
        found += max(found * 2.0 ** -52, 5e-324)
    return found


def _one_minus_up(value: float) -> float:
    """1 - value, rounded up."""
    return _up(1 - Fraction(value))


def _times(message: messages.MechanismEvent, count: int) -> messages.MechanismEvent:
    if count == 1:
        return message
    if isinstance(message, messages.SelfComposed):
        return messages.SelfComposed(message, count)
    repeated = copy.copy(message)
    repeated.count *= count
    return repeated
