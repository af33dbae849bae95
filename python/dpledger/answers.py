"""What the accountant answers. Every number is an interval that contains the true value; `upper` is to be reported."""
from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

from . import _decoding
from .interval import Interval
from .messages import (AnswerDetails, AuditClaimResponse, BayesSuccess, CalibrateResponse, CalibrationByMethod,
                       CurveAudit,
                       ComputeProfileResponse, ComputeTuningCostResponse, ErrorRateBounds, ErrorRates, GaussianFit,
                       ProfilePoint, Trials, TuningAnalysis)


class Detailed:
    """What every answer says of itself. Immutable, but for what is decoded when it is first asked for."""

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
    def adjacency(self) -> str:
        """Which data sets must be hard to tell apart: "add-or-remove-one", "replace-one" or "zero-out"."""
        return self.details.adjacency

    @property
    def regime(self) -> str:
        """Which guarantee the number is: "fixed-plan" of events, the (ε, δ)-differential privacy of a plan; of ledgers
        also "filter", or "odometer", which is no differential privacy."""
        return self.details.regime

    @property
    def schemes(self) -> Sequence[str]:
        """The sampling schemes that were met."""
        return self.details.schemes

    @property
    def assumptions(self) -> Sequence[str]:
        """What must hold for the answer to."""
        return self.details.assumptions

    @property
    def warnings(self) -> Sequence[str]:
        """What a reader of the number must know."""
        return self.details.warnings

    def _rows(self) -> List[Tuple[str, Any]]:
        return [(name, getattr(self, name)) for name in self._shown]

    def __repr__(self) -> str:
        return "%s(%s)" % (type(self).__name__, ", ".join("%s=%r" % row for row in self._rows() if row[1] is not None))

    def _repr_html_(self) -> str:
        """A table, for notebooks."""
        import html  # elsewhere it is not needed
        rows = [(name.replace("_", " "), value) for name, value in self._rows() if value is not None]
        for name in ("method", "adjacency", "schemes", "assumptions", "warnings"):
            value = getattr(self, name)
            if name not in self._shown:
                rows.append((name, value if isinstance(value, str) else "; ".join(value) or "none"))
        cells = "".join("<tr><th style='text-align:left'>%s</th><td style='text-align:left'>%s</td></tr>"
                        % (html.escape(name), html.escape(str(value))) for name, value in rows)
        return "<table>%s</table>" % cells


class Answer(Detailed):
    """ε at a δ, or δ at an ε: whichever was asked for is an Interval, the other one a number."""

    def __init__(self, response: Any, asked: str) -> None:
        super().__init__(response)
        self._asked = asked
        self._shown = ("epsilon", "delta", "method")

    @property
    def epsilon(self) -> Any:
        """Interval for an answer of `epsilon`; the float that `delta` was asked at."""
        return self._response.epsilon

    @property
    def delta(self) -> Any:
        """Interval for an answer of `delta`; the float that `epsilon` was asked at."""
        return self._response.delta

    @property
    def interval(self) -> Interval:
        """The number that was asked for."""
        return getattr(self._response, self._asked)

    @property
    def lower(self) -> float:
        """A lower bound on it."""
        return self.interval.lower

    @property
    def upper(self) -> float:
        """An upper bound on it: the one to report."""
        return self.interval.upper

    def __float__(self) -> float:
        """`upper`."""
        return self.interval.upper


class Calibration(Detailed):
    """The number that meets the target, on the safe side."""

    _response: CalibrateResponse

    def __init__(self, response: CalibrateResponse, given: Any) -> None:
        super().__init__(response)
        self._given = given
        self._shown = ("solved", "value", "epsilon", "delta", "method")

    def _solution(self, name: str) -> Any:
        found = getattr(self._response, name)
        return found if found is not None else self._given.get(name)

    @property
    def solved(self) -> str:
        """What was looked for: "noise_multiplier", "steps", "sample_rate", or the path of the hole."""
        return str(self._given["solved"])

    @property
    def value(self) -> float:
        """The solution, whatever it is of."""
        response = self._response
        found = (response.noise_multiplier, response.steps, response.sampling_probability, response.value)
        return next(value for value in found if value is not None)

    @property
    def noise_multiplier(self) -> Optional[float]:
        """Noise standard deviation over clip norm: found or given; None for a hole in events."""
        return self._solution("noise_multiplier")

    @property
    def steps(self) -> Optional[int]:
        """Rounds: found or given; None for a hole in events."""
        return self._solution("steps")

    @property
    def sample_rate(self) -> Optional[float]:
        """Poisson sampling probability: found or given; None for a hole in events."""
        return self._solution("sampling_probability")

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

    def __float__(self) -> float:
        """`value`."""
        return float(self.value)


class TuningCost(Detailed):
    """What choosing the best of several runs costs."""

    _response: ComputeTuningCostResponse
    _shown = ("epsilon", "single_run_epsilon", "delta", "analysis")

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
    def trials(self) -> Trials:
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
        """The most that an attacker's true positive rate exceeds his false positive rate: δ at ε = 0."""
        return self._response.advantage or Interval()

    @property
    def trade_off(self) -> Sequence[ErrorRates]:
        """The least type II error at each type I error that was asked about."""
        return self._response.trade_off

    @property
    def bayes_success(self) -> Sequence[BayesSuccess]:
        """The chance to tell rightly which of two neighbouring inputs it was, at each prior that was asked about."""
        return self._response.bayes_success

    @property
    def gaussian_fit(self) -> Optional[GaussianFit]:
        """The Gaussian that is at least as revealing, if `gaussian_least_delta` asked for it."""
        return self._response.gaussian_fit

    def plot(self, axes: Any = None) -> Any:
        """Draws δ over ε, or the trade-off curve if only that was asked for, as bands between the bounds.

        axes: matplotlib's; None makes a figure. Returns the axes. ImportError without matplotlib; ValueError if
        neither points nor a trade-off curve was asked for.
        """
        if not self.points and not self.trade_off:
            raise ValueError("profile: has neither points nor a trade-off curve to draw")
        if axes is None:
            try:
                import matplotlib.pyplot
            except ImportError:
                raise ImportError("axes: matplotlib is not installed, and plots are drawn by it") from None
            axes = matplotlib.pyplot.subplots()[1]
        if self.points:
            curve = sorted((point.epsilon.upper, point.delta.lower, point.delta.upper) for point in self.points
                           if point.epsilon and point.delta)
            labels, log = ("ε", "δ"), True
        else:
            curve = sorted((rates.type_one, rates.symmetric.lower, rates.symmetric.upper) for rates in self.trade_off)
            labels, log = ("type I error", "least type II error"), False
        x, lower, upper = [point[0] for point in curve], [point[1] for point in curve], [point[2] for point in curve]
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
