"""Questions about privacy loss, answered in this process: no server, no files, no other package.

Every function is thread safe and lets other threads run while it waits for the library.
"""
from __future__ import annotations

from typing import Any, Dict, Optional, Sequence, Union

from . import _decoding, _library, _wire
from .answers import Answer, AuditResult, Calibration, Profile, TuningCost
from .errors import Error, InvalidArgument, WrongType
from .messages import (RESPONSES, AccountingOptions, AuditClaimRequest, CalibrateRequest, ComputeDeltaRequest,
                       ComputeEpsilonRequest, ComputeProfileRequest, ComputeTuningCostRequest, Event, ManyRunsAudit,
                       OneRunAudit, Poisson, RoundsEvent, SamplingScheme, Subject, SumQuery, Trials)

Events = Union[Event, Sequence[Event]]

# Where the arguments of `dp_sgd` stand in a question's first event.
_SHORT = {"rounds.scheme.poisson.probability": "sample_rate", "rounds.queries[0].noise_stddev": "noise_multiplier",
          "rounds.count": "steps", "rounds.scheme": "scheme"}


def dp_sgd(noise_multiplier: float, sample_rate: Optional[float] = None, steps: int = 1, *,
           scheme: Optional[SamplingScheme] = None) -> RoundsEvent:
    """`steps` rounds of DP-SGD: a noised sum over a fresh sample each.

    noise_multiplier: standard deviation of the noise over the clip norm, > 0
    sample_rate: the probability, in (0, 1], with which each record is in a sample, independently (Poisson sampling)
    scheme: how samples are drawn otherwise, in place of sample_rate
    """
    if (sample_rate is None) == (scheme is None):
        raise InvalidArgument("sample_rate: give it or scheme, and not both", field="sample_rate")
    return RoundsEvent(scheme if scheme is not None else Poisson(sample_rate),  # type: ignore[arg-type]
                       (SumQuery(1.0, noise_multiplier),), steps)


def _subject(events: Optional[Events], noise_multiplier: Optional[float], sample_rate: Optional[float],
             steps: Optional[int], scheme: Optional[SamplingScheme]) -> Subject:
    if events is None:
        for name, value in (("noise_multiplier", noise_multiplier), ("steps", steps)):
            if value is None:
                raise InvalidArgument("%s: give it, or events" % name, field=name)
        return Subject(events=(dp_sgd(noise_multiplier, sample_rate, steps, scheme=scheme),))  # type: ignore[arg-type]
    for name, value in (("noise_multiplier", noise_multiplier), ("sample_rate", sample_rate), ("steps", steps),
                        ("scheme", scheme)):
        if value is not None:
            raise InvalidArgument("%s: is part of events; give one of the two" % name, field=name)
    return Subject(events=_listed(events))


def _listed(events: Events) -> Sequence[Any]:
    if isinstance(events, _wire.Message):
        return (events,)
    if isinstance(events, (str, bytes, dict)) or not hasattr(events, "__iter__"):
        raise WrongType("events: must be an event or a sequence of them, got %s" % type(events).__name__,
                        field="events")
    return list(events)


def _renamed(failed: Error, short: bool) -> Error:
    """The same error in the words of the caller's arguments."""
    field = failed.field
    shown = field[len("subject."):] if field.startswith("subject.") else field
    if shown.startswith("options."):
        shown = shown[len("options."):]
    if short and shown.startswith("events[0]."):
        inside = shown[len("events[0]."):]
        shown = _SHORT.get(inside, inside.replace("rounds.", "", 1))
    if shown == field:
        return failed
    text = str(failed)
    text = shown + text[len(field):] if text.startswith(field) else "%s: %s" % (shown, text)
    return type(failed)(text, failed.code, shown, failed.reason)


def _ask(method: str, request: Any, short: bool = False) -> Any:
    try:
        data = _library.ask(method, _wire.encode(request))
    except Error as failed:
        renamed = _renamed(failed, short)
        if renamed is failed:
            raise
        raise renamed from None
    return _decoding.decode(RESPONSES[method], data, ("details",))


def epsilon(events: Optional[Events] = None, *, delta: float, noise_multiplier: Optional[float] = None,
            sample_rate: Optional[float] = None, steps: Optional[int] = None,
            scheme: Optional[SamplingScheme] = None, adjacency: str = "add-or-remove-one", parameters: str = "fixed",
            method: str = "best", relative_gap: float = 1e-4, group_size: int = 1) -> Answer:
    """The ε at which `events` are (ε, delta)-DP; its `epsilon` is an Interval that contains the least such ε.

    events: what was done to the data; or noise_multiplier, sample_rate (or scheme) and steps, as for `dp_sgd`
    delta: in [0, 1)
    adjacency: "add-or-remove-one", "replace-one" or "zero-out"
    parameters: "fixed", if schemes, noise and number of rounds were decided without looking at outputs; else "adaptive"
    method: "best", or one of "rdp", "pld", "contour", "gaussian-closed-form"
    relative_gap: wanted (upper - lower) / upper, in [1e-9, 1]; the answer says what was reached
    group_size: neighbouring data sets differ in up to so many records, in [1, 1024]

    Raises InvalidArgument (a ValueError) or WrongType (a TypeError), which name the argument; Error with code
    UNIMPLEMENTED where no method answers.
    """
    request = ComputeEpsilonRequest(_subject(events, noise_multiplier, sample_rate, steps, scheme), delta,
                                    AccountingOptions(method, adjacency, parameters, relative_gap, group_size))
    return Answer(_ask("ComputeEpsilon", request, events is None), "epsilon")


def delta(events: Optional[Events] = None, *, epsilon: float, noise_multiplier: Optional[float] = None,
          sample_rate: Optional[float] = None, steps: Optional[int] = None, scheme: Optional[SamplingScheme] = None,
          adjacency: str = "add-or-remove-one", parameters: str = "fixed", method: str = "best",
          relative_gap: float = 1e-4, group_size: int = 1) -> Answer:
    """The δ at which `events` are (epsilon, δ)-DP; its `delta` is an Interval that contains the least such δ.

    epsilon: finite, >= 0. Other arguments and errors as those of `epsilon`.
    """
    request = ComputeDeltaRequest(_subject(events, noise_multiplier, sample_rate, steps, scheme), epsilon,
                                  AccountingOptions(method, adjacency, parameters, relative_gap, group_size))
    return Answer(_ask("ComputeDelta", request, events is None), "delta")


def profile(events: Optional[Events] = None, *, epsilons: Sequence[float] = (), deltas: Sequence[float] = (),
            type_one_errors: Sequence[float] = (), priors: Sequence[float] = (), gaussian_least_delta: float = 0.0,
            noise_multiplier: Optional[float] = None, sample_rate: Optional[float] = None,
            steps: Optional[int] = None, scheme: Optional[SamplingScheme] = None,
            adjacency: str = "add-or-remove-one", parameters: str = "fixed", method: str = "best",
            relative_gap: float = 1e-4, group_size: int = 1) -> Profile:
    """Many numbers of one privacy profile in one call: at most 1000 in each list.

    epsilons: each finite and >= 0: δ there
    deltas: each in [0, 1): ε there. One of epsilons and deltas only
    type_one_errors: each in [0, 1]: an attacker's least type II error there
    priors: each in (0, 1): an attacker's chance to tell rightly which of two neighbouring inputs it was
    gaussian_least_delta: in (0, 0.99): the Gaussian that is at least as revealing for δ from there up; 0 for none
    """
    request = ComputeProfileRequest(_subject(events, noise_multiplier, sample_rate, steps, scheme),
                                    AccountingOptions(method, adjacency, parameters, relative_gap, group_size),
                                    epsilons, deltas, type_one_errors, priors, gaussian_least_delta)
    return Profile(_ask("ComputeProfile", request, events is None))


def calibrate(*, target_epsilon: float, delta: float, noise_multiplier: Optional[float] = None,
              sample_rate: Optional[float] = None, steps: Optional[int] = None, events: Optional[Events] = None,
              hole: Optional[str] = None, compare_methods: bool = False, adjacency: str = "add-or-remove-one",
              parameters: str = "fixed", method: str = "best", relative_gap: float = 1e-4,
              group_size: int = 1) -> Calibration:
    """The one number left out, such that `target_epsilon` at `delta` is kept, on the safe side.

    Give two of noise_multiplier, sample_rate and steps; or `events` and the path of the number in them to find, in the
    API's names: hole="events[0].rounds.queries[0].noise_stddev". What stands there is where the search begins.

    target_epsilon: > 0
    compare_methods: also answer by each method alone (`by_method`)
    """
    options = AccountingOptions(method, adjacency, parameters, relative_gap, group_size)
    request = CalibrateRequest(epsilon=target_epsilon, delta=delta, options=options, compare_methods=compare_methods)
    given: Dict[str, Any] = {"noise_multiplier": noise_multiplier, "sampling_probability": sample_rate, "steps": steps}
    if events is not None or hole is not None:
        for name, value in (("events", events), ("hole", hole)):
            if value is None:
                raise InvalidArgument("%s: events and hole go together" % name, field=name)
        if any(value is not None for value in given.values()):
            raise InvalidArgument("events: give them and hole, or two of noise_multiplier, sample_rate and steps",
                                  field="events")
        request.events, request.hole = _listed(events), hole  # type: ignore[arg-type,assignment]
        given["solved"] = hole
    else:
        unknown = [name for name, value in given.items() if value is None]
        if len(unknown) != 1:
            raise InvalidArgument("noise_multiplier: give two of noise_multiplier, sample_rate and steps",
                                  field="noise_multiplier")
        request.solve = unknown[0].replace("_", "-")  # type: ignore[assignment]
        for name, value in given.items():
            if value is not None:
                setattr(request, name, value)
        given["solved"] = "sample_rate" if unknown[0] == "sampling_probability" else unknown[0]
    try:
        return Calibration(_ask("Calibrate", request), given)
    except Error as failed:
        words = {"epsilon": "target_epsilon", "sampling_probability": "sample_rate"}
        if failed.field not in words:
            raise
        named = words[failed.field]
        text = str(failed)
        text = named + text[len(failed.field):] if text.startswith(failed.field) else "%s: %s" % (named, text)
        raise type(failed)(text, failed.code, named, failed.reason) from None


def tuning(events: Events, *, delta: float, trials: Trials, adjacency: str = "add-or-remove-one",
           parameters: str = "fixed", method: str = "best", relative_gap: float = 1e-4,
           group_size: int = 1) -> TuningCost:
    """What releasing the best of several runs of `events` costs.

    trials: how many runs there are: NegativeBinomialTrials, PoissonTrials, FixedTrials, BinomialTrials, or
        LeastCostTrials, which finds the cheapest distribution
    """
    request = ComputeTuningCostRequest(_subject(events, None, None, None, None), delta, trials,
                                       AccountingOptions(method, adjacency, parameters, relative_gap, group_size))
    return TuningCost(_ask("ComputeTuningCost", request))


def audit(*, evidence: Union[OneRunAudit, ManyRunsAudit], delta: float, events: Optional[Events] = None,
          confidence: float = 0.95, adjacency: str = "add-or-remove-one", parameters: str = "fixed",
          method: str = "best", relative_gap: float = 1e-4, group_size: int = 1) -> AuditResult:
    """A lower bound on ε from an attack that was made, and whether it refutes what `events` claim.

    evidence: OneRunAudit (canaries in one run) or ManyRunsAudit (runs with and without one record)
    delta: in [0, 1); in (0, 1) with events
    confidence: in (0, 1)
    """
    if not isinstance(evidence, (OneRunAudit, ManyRunsAudit)):
        raise WrongType("evidence: must be a OneRunAudit or a ManyRunsAudit, got %s" % type(evidence).__name__,
                        field="evidence")
    request = AuditClaimRequest(delta=delta, confidence=confidence,
                                options=AccountingOptions(method, adjacency, parameters, relative_gap, group_size))
    if events is not None:
        request.subject = _subject(events, None, None, None, None)
    if isinstance(evidence, OneRunAudit):
        request.one_run = evidence
    else:
        request.many_runs = evidence
    return AuditResult(_ask("AuditClaim", request))
