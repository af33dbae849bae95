"""What the accountant answers. Every number is an interval that contains the true value; `upper` is
to be reported."""
from __future__ import annotations

import math
import operator
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, cast

from . import _decoding
from ._wire import Message, whole
from ._words import explains, in_python
from .interval import Interval, formatted, rounded
from .messages import (Adjacency, AnswerDetails, AuditClaimResponse, BayesSuccess,
                       CalibrateResponse, CalibrationByMethod, ComputeDeltaResponse,
                       ComputeEpsilonResponse, ComputeProfileResponse, ComputeTuningCostResponse,
                       CurveAudit, ErrorRateBounds, ErrorRates, GaussianFit, LedgerReference,
                       Parameters, ProfilePoint, Regime, Trials, TuningAnalysis)


@explains
class Detailed:
    """What every answer says of itself. Immutable, but for what is decoded when it is first asked
    for.

    Formatted, f"{answer:.3f}", it is the bound to report, rounded so that it still is one.
    """

    _response: Any
    _shown: Tuple[str, ...] = ()

    def __init__(self, response: Any) -> None:
        self._response = response

    @property
    def details(self) -> AnswerDetails:
        """How the answer was found and what it assumes."""
        details = self._response.details
        if isinstance(details, bytes):
            details = self._response.details = _decoding.decode(AnswerDetails, details)
        return details if details is not None else AnswerDetails()

    @property
    def method(self) -> str:
        """That answered: "rdp", "pld", "contour", "gaussian"."""
        return self.details.method

    @property
    def adjacency(self) -> Adjacency:
        """Which data sets must be hard to tell apart: "add-or-remove-one", "replace-one" or
        "zero-out"."""
        return self.details.adjacency

    @property
    def regime(self) -> Regime:
        """Which guarantee the number is: "fixed-plan" of events, the (ε, δ)-differential privacy of
        a plan; of ledgers also "filter", or "odometer", which is no differential privacy."""
        return self.details.regime

    @property
    def guarantee(self) -> str:
        """The same in words: what the number says about whom, to whom, and what it does not say."""
        return self.details.guarantee

    @property
    def schemes(self) -> Sequence[str]:
        """The sampling schemes that were met."""
        return self.details.schemes

    @property
    def assumptions(self) -> Sequence[str]:
        """What must hold for the answer to."""
        return tuple(map(in_python, self.details.assumptions))

    @property
    def warnings(self) -> Sequence[str]:
        """What a reader of the number must know."""
        return tuple(map(in_python, self.details.warnings))

    def to_dict(self) -> Dict[str, Any]:
        """What the answer says, as plain Python. An interval is two numbers: `epsilon` is the bound
        to report, `epsilon_lower` the other one. pandas.DataFrame([answer.to_dict(), ...]) has them
        as columns."""
        found: Dict[str, Any] = {}
        for name, value in self._rows():
            _put_plain(found, name, value)
        for name in ("method", "adjacency", "regime", "guarantee", "schemes", "assumptions",
                     "warnings"):
            found[name] = _plain(getattr(self, name))
        return found

    def to_json(self, indent: Optional[int] = None) -> str:
        """The API's message in proto JSON, as `dpledger --json` prints it and a server answers by
        HTTP: names are in camelCase, 64-bit whole numbers and infinity are text."""
        from ._json import to_proto_json
        self.details  # it is decoded when it is first asked for
        return _json(to_proto_json(self._response), indent)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.to_dict() == other.to_dict()  # type: ignore

    def __hash__(self) -> int:
        return hash(repr(self))

    def _rows(self) -> List[Tuple[str, Any]]:
        return [(name, getattr(self, name)) for name in self._shown]

    def __repr__(self) -> str:
        return "%s(%s)" % (self._name(),
                           ", ".join("%s=%r" % row for row in self._rows() if row[1] is not None))

    def _name(self) -> str:
        return type(self).__name__

    def __format__(self, spec: str) -> str:
        # type: ignore[arg-type]
        return formatted(float(self), spec, math.inf) if spec else str(self)

    def _repr_html_(self) -> str:
        """A table, for notebooks."""
        import html  # elsewhere it is not needed
        rows = [(name.replace("_", " "), value) for name, value in self._rows()
                if value is not None]
        for name in ("guarantee", "method", "adjacency", "schemes", "assumptions", "warnings"):
            value = getattr(self, name)
            if name not in self._shown:
                rows.append((name, value if isinstance(value, str) else "; ".join(value) or "none"))
        cells = "".join("<tr><th style='text-align:left'>%s</th><td "
                        "style='text-align:left'>%s</td></tr>"
                        % (html.escape(name), html.escape(str(value))) for name, value in rows)
        return "<table>%s</table>" % cells


def _put_plain(into: Dict[str, Any], name: str, value: Any) -> None:
    if isinstance(value, Interval):
        into[name], into[name + "_lower"] = value.upper, value.lower
    else:
        into[name] = _plain(value)


def _plain(value: Any) -> Any:
    """`value` of dicts, lists, numbers and text alone."""
    if isinstance(value, (tuple, list)):
        return [_plain(one) for one in value]
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Message):
        found: Dict[str, Any] = {}
        for _, name, _, _ in value._wire:
            _put_plain(found, name, getattr(value, name))
        return found
    return value


def _json(value: Any, indent: Optional[int]) -> str:
    import json
    indent = None if indent is None else whole(indent, "indent", 0, 100)
    return json.dumps(_finite(value), indent=indent, ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return "Infinity" if value == math.inf else value


class _Number(Detailed):
    """An answer that is a number before all else, and compares as it."""

    def __float__(self) -> float:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return self._ordered(operator.eq, other)

    def __hash__(self) -> int:
        return hash(float(self))

    def __lt__(self, other: Any) -> bool:
        return self._ordered(operator.lt, other)

    def __le__(self, other: Any) -> bool:
        return self._ordered(operator.le, other)

    def __gt__(self, other: Any) -> bool:
        return self._ordered(operator.gt, other)

    def __ge__(self, other: Any) -> bool:
        return self._ordered(operator.ge, other)

    def _ordered(self, order: Callable[[Any, Any], bool], other: Any) -> bool:
        number = self._number_of(other)
        return NotImplemented if number is None else bool(order(float(self), number))

    def _number_of(self, other: Any) -> Any:
        """What `other` is compared by; None: it is not."""
        if isinstance(other, Interval):
            return other.upper
        if isinstance(other, Detailed):
            return float(other) if type(other) is type(self) else None  # type: ignore[arg-type]
        return other if hasattr(other, "__float__") else None


class Answer(_Number):
    """ε at a δ (EpsilonAnswer), or δ at an ε (DeltaAnswer).

    It compares, `answer <= 3`, with numbers and with answers of its kind, by `upper`. Answers do
    not add: one question about both runs has their sum.
    """

    _asked = ""

    @property
    def interval(self) -> Interval:
        """The number that was asked for."""
        return cast(Interval, getattr(self._response, self._asked))

    @property
    def lower(self) -> float:
        """A lower bound on it."""
        return self.interval.lower

    @property
    def upper(self) -> float:
        """An upper bound on it: the one to report."""
        return self.interval.upper

    @property
    def parameters(self) -> Parameters:
        """"fixed": plans were made without looking at outputs; or "adaptive"."""
        return self.details.parameters

    @property
    def group_size(self) -> int:
        """In how many records neighbouring data sets differ, at most."""
        return self.details.group_size

    @property
    def entries(self) -> int:
        """How many events were given, or entries the ledgers have."""
        return self.details.entries

    @property
    def ledgers(self) -> Sequence[LedgerReference]:
        """The ledgers that the answer stands on; none for events alone."""
        return self.details.ledgers

    @property
    def ledger(self) -> str:
        """The full name of the one ledger; empty for events alone."""
        return self.ledgers[0].name if len(self.ledgers) == 1 else ""

    @property
    def root(self) -> str:
        """The hash over the one ledger's entries, in hexadecimal; empty for events alone."""
        return self.ledgers[0].root_hash.hex() if len(self.ledgers) == 1 else ""

    def to_dict(self) -> Dict[str, Any]:
        found = super().to_dict()
        found.update(parameters=self.parameters, group_size=self.group_size)
        if self.ledgers:
            found.update(ledger=self.ledger, entries=self.entries, root=self.root)
        return found

    to_dict.__doc__ = Detailed.to_dict.__doc__

    def __float__(self) -> float:
        """`upper`."""
        return self.interval.upper

    def __round__(self, digits: int = 0) -> float:
        return rounded(self.upper, digits, math.inf)

    def _number_of(self, other: Any) -> Any:
        if isinstance(other, Answer):
            return other.upper if other._asked == self._asked else None
        return super()._number_of(other)

    def _name(self) -> str:
        return "Answer"


class EpsilonAnswer(Answer):
    """ε at a δ."""

    _response: ComputeEpsilonResponse
    _asked = "epsilon"

    @property
    def epsilon(self) -> Interval:
        """Contains the least ε; of a ledger, that of what was spent."""
        return self._response.epsilon or Interval()

    @property
    def delta(self) -> float:
        """That was asked at."""
        return self._response.delta

    @property
    def planned_epsilon(self) -> Optional[Interval]:
        """A ledger's: of the declared plan, while fewer rounds than planned are recorded; else
        None."""
        return self._response.planned_epsilon

    _shown = ("epsilon", "planned_epsilon", "delta", "method")


class DeltaAnswer(Answer):
    """δ at an ε."""

    _response: ComputeDeltaResponse
    _asked = "delta"

    @property
    def epsilon(self) -> float:
        """That was asked at."""
        return self._response.epsilon

    @property
    def delta(self) -> Interval:
        """Contains the least δ; of a ledger, that of what was spent."""
        return self._response.delta or Interval()

    @property
    def planned_delta(self) -> Optional[Interval]:
        """A ledger's: of the declared plan, while fewer rounds than planned are recorded; else
        None."""
        return self._response.planned_delta

    _shown = ("epsilon", "delta", "planned_delta", "method")


class Calibration(_Number):
    """The number that meets the target, on the safe side."""

    _response: CalibrateResponse

    def __init__(self, response: CalibrateResponse, solved: str, given: Dict[str, Any]) -> None:
        super().__init__(response)
        self._solved, self._given = solved, given
        self._shown = ("solved", "value", "epsilon", "delta", "method")

    def _solution(self, name: str) -> Any:
        if name == self._solved:
            return self.value
        if self._given.get(name) is None:
            raise AttributeError("%s: is not known here; `value` is what was found: %s"
                                 % (name, self._solved))
        return self._given[name]

    @property
    def solved(self) -> str:
        """What was looked for: "noise_multiplier", "steps", "sample_rate", "batch_size", or the
        path of the hole."""
        return self._solved

    @property
    def value(self) -> float:
        """The solution, whatever it is of."""
        response = self._response
        found = (response.noise_multiplier, response.steps, response.sampling_probability,
                 response.value)
        value = next(value for value in found if value is not None)
        return int(value) if self._solved in ("steps", "batch_size") else value

    @property
    def noise_multiplier(self) -> float:
        """Noise standard deviation over clip norm: found or given. AttributeError for a hole in
        events, as for the next three."""
        return cast(float, self._solution("noise_multiplier"))

    @property
    def steps(self) -> int:
        """Rounds: found or given, as they were or by epochs."""
        return cast(int, self._solution("steps"))

    @property
    def sample_rate(self) -> float:
        """Poisson sampling probability: found or given, as it was or by a batch size.
        AttributeError for other schemes too."""
        return cast(float, self._solution("sample_rate"))

    @property
    def batch_size(self) -> int:
        """Found or given; rounded down, where sample_rate was found and population given."""
        population = self._given.get("population")
        if self._solved == "sample_rate" and population is not None:
            return int(self.value * int(population))
        return cast(int, self._solution("batch_size"))

    @property
    def optimum(self) -> Interval:
        """Contains the value at which ε equals the target."""
        return self._response.optimum or Interval()

    @property
    def epsilon(self) -> Interval:
        """At the solution; its upper bound is at most the target."""
        return self._response.epsilon or Interval()

    @property
    def delta(self) -> float:
        """That was asked at."""
        return self._response.delta

    @property
    def by_method(self) -> Sequence[CalibrationByMethod]:
        """What each method alone gives, if `compare_methods` asked for it."""
        return self._response.by_method

    def __format__(self, spec: str) -> str:
        """`value`, rounded to the side on which the target is kept."""
        down = self.value <= self.optimum.lower
        return formatted(self.value, spec, -math.inf if down else math.inf) if spec else str(self)

    def __float__(self) -> float:
        """`value`."""
        return float(self.value)


@explains
class Statement:
    """What a run of DP-SGD costs, by how its batches are taken; `str` is the text.

    poisson: if each record is in each batch independently
    unamplified: if each record is in one batch an epoch, whatever the order
    user_poisson, user_unamplified: the same for all records of one user; None if none was asked
        about
    """

    def __init__(self, words: Dict[str, Any], steps: int, max_examples_per_user: Optional[int],
                 poisson: EpsilonAnswer, unamplified: EpsilonAnswer,
                 user_poisson: Optional[EpsilonAnswer],
                 user_unamplified: Optional[EpsilonAnswer]) -> None:
        self._words = dict(words, steps=steps, delta=poisson.delta,
                           max_examples_per_user=max_examples_per_user)
        self.poisson, self.unamplified = poisson, unamplified
        self.user_poisson, self.user_unamplified = user_poisson, user_unamplified

    def to_dict(self) -> Dict[str, Any]:
        """The arguments, `steps`, and the ε of each case."""
        found = dict(self._words)
        for name in ("poisson", "unamplified", "user_poisson", "user_unamplified"):
            answer = getattr(self, name)
            _put_plain(found, name, None if answer is None else answer.epsilon)
        return found

    def to_json(self, indent: Optional[int] = None) -> str:
        """`to_dict` as JSON; an infinite number is the text "Infinity"."""
        return _json(self.to_dict(), indent)

    def __str__(self) -> str:
        words = dict(self._words, poisson=self.poisson, unamplified=self.unamplified)
        lines = ["DP-SGD over {population} records in batches of {batch_size}, noise "
                 "multiplier {noise_multiplier}, {epochs} epochs ({steps} steps), delta "
                 "{delta:g}:",
                 "  each record in each batch independently (Poisson sampling): epsilon "
                 "{poisson:.4f}, adding or removing one record",
                 "  each record in one batch an epoch, in any order (no amplification): "
                 "epsilon {unamplified:.4f}, one record zeroed out"]
        if self.user_poisson is not None:
            words.update(user_poisson=self.user_poisson, user_unamplified=self.user_unamplified)
            lines.append("  all records of a user, who has at most {max_examples_per_user}: "
                         "epsilon {user_poisson:.4f} and {user_unamplified:.4f}")
        lines.append("Assumed: "
                     + "; ".join(sorted({*self.poisson.assumptions, *self.unamplified.assumptions}))
                     + ".")
        return "\n".join(lines).format(**words)

    def __repr__(self) -> str:
        return "Statement(%s)" % ", ".join("%s=%s"
                                           % (name, value if not isinstance(value, Answer)
                                              else "%.4f" % value) for name, value in vars(
                                                  self).items() if name != "_words" and value)


class TuningCost(_Number):
    """What choosing the best of several runs costs."""

    _response: ComputeTuningCostResponse
    _shown = ("epsilon", "single_run_epsilon", "delta", "analysis", "trials")

    @property
    def epsilon(self) -> Interval:
        """Of the whole search."""
        return self._response.epsilon or Interval()

    @property
    def single_run_epsilon(self) -> Interval:
        """Of one run alone."""
        return self._response.single_run_epsilon or Interval()

    @property
    def delta(self) -> float:
        """That was asked at."""
        return self._response.delta

    @property
    def analysis(self) -> str:
        """Whose upper bound `epsilon` has: "profile", "rdp" or "composition"."""
        return self._response.analysis

    @property
    def analyses(self) -> Sequence[TuningAnalysis]:
        """Every bound that was tried."""
        return self._response.analyses

    @property
    def trials(self) -> Optional[Trials]:
        """The distribution of the number of runs: as asked, or the one of least cost."""
        return self._response.trials

    @property
    def gamma(self) -> float:
        """The negative binomial distribution's γ; 0 for others."""
        return self._response.gamma

    @property
    def at_most_one_probability(self) -> float:
        """The probability of making at most one run."""
        return self._response.at_most_one_probability

    def __float__(self) -> float:
        """`epsilon.upper`."""
        return self.epsilon.upper


class Profile(Detailed):
    """More of the privacy profile than one number; lists are in the order asked."""

    _response: ComputeProfileResponse
    _shown = ("points", "advantage", "trade_off", "bayes_success", "gaussian_fit")

    @property
    def points(self) -> Sequence[ProfilePoint]:
        """(ε, δ) at the ε and δ that were asked about; the one asked about has equal bounds."""
        return self._response.points

    @property
    def advantage(self) -> Interval:
        """The most that an attacker's true positive rate exceeds his false positive rate: δ at ε =
        0."""
        return self._response.advantage or Interval()

    @property
    def trade_off(self) -> Sequence[ErrorRates]:
        """The least type II error at each type I error that was asked about."""
        return self._response.trade_off

    @property
    def bayes_success(self) -> Sequence[BayesSuccess]:
        """The chance to tell rightly which of two neighbouring inputs it was, at each prior that
        was asked about."""
        return self._response.bayes_success

    @property
    def gaussian_fit(self) -> Optional[GaussianFit]:
        """The Gaussian that is at least as revealing, if `gaussian_least_delta` asked for it."""
        return self._response.gaussian_fit

    def plot(self, axes: Any = None) -> Any:
        """Draws δ over ε, or the trade-off curve if only that was asked for, as bands between the
        bounds.

        axes: matplotlib's; None makes a figure. Returns the axes. ImportError without matplotlib;
            ValueError if
        neither points nor a trade-off curve was asked for.
        """
        if not self.points and not self.trade_off:
            raise ValueError("profile: has neither points nor a trade-off curve to draw")
        if axes is None:
            try:
                import matplotlib.pyplot
            except ImportError:
                raise ImportError(
                    "axes: matplotlib is not installed, and plots are drawn by it") from None
            axes = matplotlib.pyplot.subplots()[1]
        if self.points:
            curve = sorted((point.epsilon.upper, point.delta.lower, point.delta.upper)
                           for point in self.points if point.epsilon and point.delta)
            labels, log = ("ε", "δ"), True
        else:
            curve = sorted((rates.type_one, rates.symmetric.lower, rates.symmetric.upper)
                           for rates in self.trade_off)
            labels, log = ("type I error", "least type II error"), False
        x, lower, upper = [point[
            0] for point in curve], [point[1] for point in curve], [point[2] for point in curve]
        axes.fill_between(x, lower, upper, alpha=0.3)
        axes.plot(x, upper if self.points else lower)
        axes.set_xlabel(labels[0])
        axes.set_ylabel(labels[1])
        if log:
            axes.set_yscale("log")
        return axes


class AuditResult(Detailed):
    """What an attack that was really made says of a claim."""

    _response: AuditClaimResponse
    _shown = ("epsilon_lower_bound", "claimed_epsilon", "refuted", "delta", "confidence")

    @property
    def epsilon_lower_bound(self) -> float:
        """At the confidence; 0 if the attack shows nothing."""
        return self._response.epsilon_lower_bound

    @property
    def claimed_epsilon(self) -> Optional[Interval]:
        """Of the events; None without them."""
        return self._response.claimed_epsilon

    @property
    def refuted(self) -> bool:
        """The claim cannot be: by the bound or by its trade-off curve, each at that confidence."""
        return self._response.refuted

    @property
    def delta(self) -> float:
        """That was asked at."""
        return self._response.delta

    @property
    def confidence(self) -> float:
        """With which the bound holds."""
        return self._response.confidence

    @property
    def curve(self) -> Optional[CurveAudit]:
        """One run of at most 100,000 guesses: what it shows of trade-off curves."""
        return self._response.curve

    @property
    def observed(self) -> Optional[ErrorRateBounds]:
        """Many runs: upper bounds on the attack's error rates."""
        return self._response.observed

    @property
    def claimed_type_two(self) -> Optional[Interval]:
        """Many runs: the events' least type II error at `observed.type_one`."""
        return self._response.claimed_type_two
