"""Questions about privacy loss, answered in this process: no server, no files, no other package.

Every function is thread safe and lets other threads run while it waits for the library.
"""
from __future__ import annotations

from typing import Any, Iterable, List, Literal, Optional, Sequence, SupportsFloat, Union, overload

from . import _decoding, _library, _wire, _words
from ._sought import Run
from ._words import hinted, options_of
from .answers import (AuditResult, Calibration, DeltaAnswer, EpsilonAnswer, Profile, Statement,
                      TuningCost)
from .errors import Error, InvalidArgument, WrongType
from .messages import (RESPONSES, Adjacency, AuditClaimRequest, CalibrateRequest,
                       ComputeDeltaRequest, ComputeEpsilonRequest, ComputeProfileRequest,
                       ComputeTuningCostRequest, Event, FullBatch, Gaussian, ManyRunsAudit, Method,
                       OneRunAudit, Parameters, RoundsEvent, SamplingScheme, Subject, Trials)

# type checkers take a list of different events for one of Messages
Events = Union[Event, Sequence[_wire.Message]]
Scheme = Union[SamplingScheme,
               Literal["poisson", "fixed-size", "shuffled", "allocated", "full-batch"]]
Probability = Union[SupportsFloat, str]  # a number, a Fraction, or "256/60000"

# Where the arguments of a run stand in a question's events, by the last part of the path.
_SHORT = {"noise_stddev": "noise_multiplier", "count": "steps", "probability": "sample_rate",
          "sample_size": "batch_size", "population_size": "population"}


@hinted()
def dp_sgd(noise_multiplier: float, sample_rate: Optional[Probability] = None,
           steps: Optional[float] = None, *, scheme: Optional[Scheme] = None,
           batch_size: Optional[float] = None, population: Optional[float] = None,
           epochs: Optional[float] = None) -> RoundsEvent:
    """`steps` rounds of DP-SGD: a noised sum over a fresh sample each.

    noise_multiplier: standard deviation of the noise over the clip norm, > 0
    sample_rate: the probability, in (0, 1], with which each record is in a sample, independently
        (Poisson sampling); "256/60000" is one too
    batch_size, population: in place of sample_rate: the (expected) number of records in a sample
        and of all records
    steps: rounds, in [1, 2^53]; 1 if epochs are not given
    epochs: in place of steps. A sample of its own each round: the least number of rounds that draw
        epochs * population records on average (ceil(epochs * population / batch_size)). Shuffled
        and allocated epochs have ceil(population / batch_size) rounds, of which the last batch may
        be smaller; full batches have one
    scheme: how samples are drawn, "poisson" if it is not given: a SamplingScheme, or a word beside
        batch_size and population:
        "poisson": each record with probability batch_size / population, independently
        "fixed-size": batch_size of the population, each set with the same chance
        (WithoutReplacement) "shuffled": in each epoch every record is in one batch
        (DisjointBatches) "allocated": in each epoch every record is in one round, drawn uniformly
        and independently (RandomAllocation) "full-batch": every record, always

    Whole numbers may be floats: 1e4. A run that leaves an epoch unfinished is no single event:
    InvalidArgument here, while `epsilon` and its like answer for it.
    """
    if steps is None and epochs is None:
        steps = 1
    events = _words.run(noise_multiplier, sample_rate, steps, scheme, batch_size, population,
                        epochs)
    if len(events) > 1 or not isinstance(events[0], RoundsEvent):
        last = _words.rounds_per_epoch(_words.scheme_of(scheme, sample_rate, batch_size,
                                                        population))
        raise InvalidArgument(
            "steps: must be whole epochs of %d rounds for one event; epsilon, delta, "
            "profile and tuning take these arguments as they are" % last,
            field="steps")
    return events[0]


def _subject(events: Optional[Events], noise_multiplier: Any, sample_rate: Any, steps: Any,
             scheme: Any, batch_size: Any, population: Any, epochs: Any) -> Subject:
    if events is None:
        if noise_multiplier is None:
            raise InvalidArgument("noise_multiplier: give it, or events", field="noise_multiplier")
        return Subject(events=_words.run(noise_multiplier, sample_rate, steps, scheme, batch_size,
                                         population, epochs))
    for name, value in (("noise_multiplier", noise_multiplier), ("sample_rate", sample_rate),
                        ("steps", steps), ("scheme", scheme), ("batch_size", batch_size),
                        ("population", population), ("epochs", epochs)):
        if value is not None:
            raise InvalidArgument("%s: is part of events; give one of the two" % name, field=name)
    return Subject(events=_listed(events))


def _listed(events: Any, name: str = "events") -> List[Any]:
    if isinstance(events, _wire.Message):
        return [events]
    if not _wire.is_many(events):
        raise WrongType("%s: must be an event or a sequence of them, got %s"
                        % (name, type(events).__name__),
                        field=name)
    return list(events)


def _renamed(failed: Error, scheme: Any, is_run: bool, subject: str) -> Error:
    """The same error in the words of the caller's arguments. `subject` is the name of the
    question's subject there."""
    field = shown = failed.field
    if shown.startswith("subject.events"):
        shown = (subject or "events") + shown[len("subject.events"):]
    if is_run and shown.startswith("events["):
        last = shown.rsplit(".", 1)[-1]
        if scheme is not None and not isinstance(scheme, str) and ".scheme" in shown:
            shown = "scheme" if last == "scheme" else "scheme." + last
        else:
            shown = _SHORT.get(last, "scheme")
    text = str(failed)
    if shown != field:
        text = shown + text[len(field):] if text.startswith(field) else "%s: %s" % (shown, text)
    return failed if text == str(failed) else type(failed)(text, failed.code, shown, failed.reason)


def _ask(method: str, request: Any, scheme: Any = None, is_run: bool = False, subject: str = "",
         store: Any = None) -> Any:
    try:
        if store is not None:
            return store._ask(method, request, None, None)
        data = _library.ask(method, _wire.encode(request))
    except Error as failed:
        renamed = _renamed(failed, scheme, is_run, subject)
        if renamed is failed:
            raise
        raise renamed from None
    return _decoding.decode(RESPONSES[method], data, ("details",))


@overload
def epsilon(events: Optional[Events] = None, *, delta: Probability,
            noise_multiplier: Optional[float] = None, sample_rate: Optional[Probability] = None,
            steps: Optional[float] = None, scheme: Optional[Scheme] = None,
            batch_size: Optional[float] = None, population: Optional[float] = None,
            epochs: Optional[float] = None, adjacency: Adjacency = "add-or-remove-one",
            parameters: Parameters = "fixed", method: Method = "best", relative_gap: float = 1e-4,
            group_size: int = 1) -> EpsilonAnswer:
    ...


@overload
def epsilon(events: None = None, *, delta: Probability, noise_multiplier: Iterable[float],
            sample_rate: Optional[Probability] = None, steps: Optional[float] = None,
            scheme: Optional[Scheme] = None, batch_size: Optional[float] = None,
            population: Optional[float] = None, epochs: Optional[float] = None,
            adjacency: Adjacency = "add-or-remove-one", parameters: Parameters = "fixed",
            method: Method = "best", relative_gap: float = 1e-4, group_size: int = 1) -> List[
                EpsilonAnswer]:
    ...


@hinted(many="noise_multiplier")
def epsilon(events: Optional[Events] = None, *, delta: Probability, noise_multiplier: Any = None,
            sample_rate: Optional[Probability] = None, steps: Optional[float] = None,
            scheme: Optional[Scheme] = None, batch_size: Optional[float] = None,
            population: Optional[float] = None, epochs: Optional[float] = None,
            adjacency: Adjacency = "add-or-remove-one", parameters: Parameters = "fixed",
            method: Method = "best", relative_gap: float = 1e-4, group_size: int = 1) -> Any:
    """The ε at which `events` are (ε, delta)-DP; its `epsilon` is an Interval that contains the
    least such ε.

    events: what was done to the data; or the run's noise_multiplier, sample_rate (or batch_size and
        population, or scheme) and steps (or epochs), as for `dp_sgd`, whole epochs or not
    delta: in [0, 1)
    noise_multiplier: a sequence or an array of them gives a list of answers
    adjacency: "add-or-remove-one", "replace-one" or "zero-out"
    parameters: "fixed", if schemes, noise and number of rounds were decided without looking at
        outputs; else "adaptive"
    method: "best", or one of "rdp", "pld", "contour", "gaussian-closed-form"
    relative_gap: wanted (upper - lower) / upper, in [1e-9, 1]; the answer says what was reached
    group_size: neighbouring data sets differ in up to so many records, in [1, 1024]

    Raises InvalidArgument (a ValueError) or WrongType (a TypeError), which name the argument; Error
    with code FAILED_PRECONDITION and reason NO_ANALYSIS where no method answers, such as fixed-size
    batches under "add-or-remove-one".
    """
    subject = _subject(events, noise_multiplier, sample_rate, steps, scheme, batch_size, population,
                       epochs)
    options = options_of(method, adjacency, parameters, relative_gap, group_size)
    request = ComputeEpsilonRequest(subject, delta, options)  # type: ignore[arg-type]
    return EpsilonAnswer(_ask("ComputeEpsilon", request, scheme, events is None))


@overload
def delta(events: Optional[Events] = None, *, epsilon: float,
          noise_multiplier: Optional[float] = None, sample_rate: Optional[Probability] = None,
          steps: Optional[float] = None, scheme: Optional[Scheme] = None,
          batch_size: Optional[float] = None, population: Optional[float] = None,
          epochs: Optional[float] = None, adjacency: Adjacency = "add-or-remove-one",
          parameters: Parameters = "fixed", method: Method = "best", relative_gap: float = 1e-4,
          group_size: int = 1) -> DeltaAnswer:
    ...


@overload
def delta(events: None = None, *, epsilon: float, noise_multiplier: Iterable[float],
          sample_rate: Optional[Probability] = None, steps: Optional[float] = None,
          scheme: Optional[Scheme] = None, batch_size: Optional[float] = None,
          population: Optional[float] = None, epochs: Optional[float] = None,
          adjacency: Adjacency = "add-or-remove-one", parameters: Parameters = "fixed",
          method: Method = "best", relative_gap: float = 1e-4, group_size: int = 1) -> List[
              DeltaAnswer]:
    ...


@hinted(many="noise_multiplier")
def delta(events: Optional[Events] = None, *, epsilon: float, noise_multiplier: Any = None,
          sample_rate: Optional[Probability] = None, steps: Optional[float] = None,
          scheme: Optional[Scheme] = None, batch_size: Optional[float] = None,
          population: Optional[float] = None, epochs: Optional[float] = None,
          adjacency: Adjacency = "add-or-remove-one", parameters: Parameters = "fixed",
          method: Method = "best", relative_gap: float = 1e-4, group_size: int = 1) -> Any:
    """The δ at which `events` are (epsilon, δ)-DP; its `delta` is an Interval that contains the
    least such δ.

    epsilon: finite, >= 0. Other arguments and errors as those of `epsilon`.
    """
    subject = _subject(events, noise_multiplier, sample_rate, steps, scheme, batch_size, population,
                       epochs)
    request = ComputeDeltaRequest(
        subject, epsilon, options_of(method, adjacency, parameters, relative_gap, group_size))
    return DeltaAnswer(_ask("ComputeDelta", request, scheme, events is None))


@hinted()
def profile(events: Optional[Events] = None, *, epsilons: Sequence[float] = (),
            deltas: Sequence[float] = (), type_one_errors: Sequence[float] = (),
            priors: Sequence[float] = (), gaussian_least_delta: float = 0.0,
            noise_multiplier: Optional[float] = None, sample_rate: Optional[Probability] = None,
            steps: Optional[float] = None, scheme: Optional[Scheme] = None,
            batch_size: Optional[float] = None, population: Optional[float] = None,
            epochs: Optional[float] = None, adjacency: Adjacency = "add-or-remove-one",
            parameters: Parameters = "fixed", method: Method = "best", relative_gap: float = 1e-4,
            group_size: int = 1) -> Profile:
    """Many numbers of one privacy profile in one call: at most 1000 in each list.

    epsilons: each finite and >= 0: δ there
    deltas: each in [0, 1): ε there. One of epsilons and deltas only
    type_one_errors: each in [0, 1]: an attacker's least type II error there
    priors: each in (0, 1): an attacker's chance to tell rightly which of two neighbouring inputs it
        was
    gaussian_least_delta: in (0, 0.99): the Gaussian that is at least as revealing for δ from there
        up; 0 for none

    Other arguments and errors as those of `epsilon`.
    """
    subject = _subject(events, noise_multiplier, sample_rate, steps, scheme, batch_size, population,
                       epochs)
    request = ComputeProfileRequest(
        subject, options_of(method, adjacency, parameters, relative_gap, group_size),
        epsilons, deltas, type_one_errors, priors, gaussian_least_delta)
    return Profile(_ask("ComputeProfile", request, scheme, events is None))


@hinted()
def calibrate(
        *, target_epsilon: float, delta: Probability, noise_multiplier: Optional[float] = None,
        sample_rate: Optional[Probability] = None, steps: Optional[float] = None,
        scheme: Optional[Scheme] = None, batch_size: Optional[float] = None,
        population: Optional[float] = None, epochs: Optional[float] = None, spent: Any = None,
        events: Optional[Events] = None, hole: Optional[str] = None, compare_methods: bool = False,
        adjacency: Optional[Adjacency] = None, parameters: Optional[Parameters] = None,
        method: Method = "best", relative_gap: float = 1e-4, group_size: int = 1) -> Calibration:
    """The one number left out, such that `target_epsilon` at `delta` is kept, on the safe side.

    Leave out one of noise_multiplier, sample_rate (or batch_size and population) and steps (or
    epochs); they and scheme are as for `dp_sgd`. Or give `events` and the path of the number in
    them to find, as their repr shows it: hole="events[0].queries[0].noise_stddev". What stands
    there is where the search begins.

    target_epsilon: > 0
    steps, epochs: of shuffled and allocated epochs an unfinished one counts as whole: no less than
        it costs
    batch_size: found for scheme="fixed-size" and "poisson", where population is given
    spent: what the data have been through already: events, an object that has them as `events`, or
        a Store, all of whose ledgers are meant, as they declare it. The target is for it and the
        run together, and the answer is what is left for the run
    adjacency, parameters: by default what the Store's ledgers declare; without one
        "add-or-remove-one" and "fixed"
    compare_methods: also answer by each method alone (`by_method`)

    Raises as `epsilon` does; Error with code FAILED_PRECONDITION and reason NO_SOLUTION if no value
    meets the target.
    """
    store = spent if hasattr(spent, "_ask") else None
    declared = store is not None  # an empty word is what they declare
    options = options_of(
        method, ("" if declared else "add-or-remove-one") if adjacency is None else adjacency,
        ("" if declared else "fixed") if parameters is None else parameters, relative_gap,
        group_size)
    request = CalibrateRequest(epsilon=target_epsilon, delta=delta,  # type: ignore[arg-type]
                               options=options, compare_methods=compare_methods)
    if spent is not None and not declared:
        request.subject = Subject(events=_spent(spent))
    run = Run(noise_multiplier, sample_rate, steps, scheme, batch_size, population, epochs)
    if events is not None or hole is not None:
        for name, value in (("events", events), ("hole", hole)):
            if value is None:
                raise InvalidArgument("%s: events and hole go together" % name, field=name)
        if run.is_given():
            raise InvalidArgument(
                "events: give them and hole, or a run by noise_multiplier, sample_rate "
                "and steps",
                field="events")
        listed = _listed(events)
        solved, path = str(hole), _words.api_path(str(hole), listed)
        run.known = {}
        request.events, request.hole = listed, path
    else:
        solved = run.unknown()
        if not run.is_plain():
            event, path = run.event_for(solved)
            request.events, request.hole = [event], "events[0].%s" % path
        else:
            run.put_into(request, solved)
    try:
        return Calibration(_ask("Calibrate", request, scheme, hole is None, "spent", store), solved,
                           run.known)
    except Error as failed:
        raise _of_calibration(failed, solved, events) from None


# What to change for a target that is out of reach.
_LESS = {"noise_multiplier": "more noise_multiplier", "sample_rate": "a smaller sample_rate",
         "steps": "fewer steps"}


def _of_calibration(failed: Error, solved: str, events: Any) -> Error:
    text, named = str(failed), failed.field
    words = {"epsilon": "target_epsilon", "sampling_probability": "sample_rate"}
    if named in words:
        text = words[named] + text[
            len(named):] if text.startswith(named) else "%s: %s" % (words[named], text)
        named = words[named]
    elif named == "hole" and events is not None:
        text += "; the numbers there are " + ", ".join(_words.numbers(_listed(events))[:8])
    elif failed.reason == "NO_SOLUTION":
        others = [less for name, less in _LESS.items()
                  if name != solved and (name, solved) != ("sample_rate", "batch_size")]
        text = text.replace("value of the unknown", solved).replace(
            "the target, or lower what the rest costs", "target_epsilon or delta, or %s"
            % ("give " + " or ".join(others) if events is None else "lower what the rest costs"))
    return failed if text == str(failed) else type(failed)(text, failed.code, named, failed.reason)


def _spent(spent: Any) -> List[Any]:
    if not isinstance(spent, _wire.Message) and hasattr(spent, "events"):
        spent = spent.events() if callable(spent.events) else spent.events
    return _listed(spent, "spent")


@hinted()
def tuning(events: Optional[Events] = None, *, delta: Probability, trials: Trials,
           noise_multiplier: Optional[float] = None, sample_rate: Optional[Probability] = None,
           steps: Optional[float] = None, scheme: Optional[Scheme] = None,
           batch_size: Optional[float] = None, population: Optional[float] = None,
           epochs: Optional[float] = None, adjacency: Adjacency = "add-or-remove-one",
           parameters: Parameters = "fixed", method: Method = "best", relative_gap: float = 1e-4,
           group_size: int = 1) -> TuningCost:
    """What releasing the best of several runs of `events` costs.

    events: one run; or its noise_multiplier, sample_rate and steps, as for `epsilon`
    trials: how many runs there are: NegativeBinomialTrials, PoissonTrials, FixedTrials,
        BinomialTrials, or LeastCostTrials, which finds the cheapest distribution
    """
    subject = _subject(events, noise_multiplier, sample_rate, steps, scheme, batch_size, population,
                       epochs)
    options = options_of(method, adjacency, parameters, relative_gap, group_size)
    request = ComputeTuningCostRequest(subject, delta, trials, options)  # type: ignore[arg-type]
    return TuningCost(_ask("ComputeTuningCost", request, scheme, events is None))


@hinted()
def statement(*, population: float, batch_size: float, noise_multiplier: float, epochs: float,
              delta: Probability, max_examples_per_user: Optional[int] = None) -> Statement:
    """What TF Privacy's compute_dp_sgd_privacy_statement says of a run of DP-SGD, as one text,
    `str(statement)`: for Poisson samples, without amplification by sampling, and for users with up
    to so many examples.

    population, batch_size, epochs: as for `dp_sgd`; whole epochs without amplification are rounded
        up
    max_examples_per_user: in [1, 1024]; None for examples alone
    """
    words: Any = dict(population=population, batch_size=batch_size, epochs=epochs,
                      noise_multiplier=noise_multiplier)
    steps = dp_sgd(**words).count
    every: Any = Gaussian(noise_multiplier, count=_words.steps_of(FullBatch(), None, epochs))
    sizes = [1] if max_examples_per_user is None else [
        1, _words.whole(max_examples_per_user, "max_examples_per_user")]
    try:
        pairs = [(epsilon(delta=delta, group_size=size, **words),
                  epsilon(every, delta=delta, group_size=size, adjacency="zero-out"))
                 for size in sizes]
    except Error as failed:
        if failed.field != "group_size":
            raise
        text = str(failed).replace("group_size", "max_examples_per_user")
        raise type(failed)(text, failed.code, "max_examples_per_user", failed.reason) from None
    return Statement(words, steps, max_examples_per_user, *pairs[0],
                     *(pairs[1] if len(pairs) > 1 else (None, None)))


@hinted()
def audit(*, evidence: Union[OneRunAudit, ManyRunsAudit], delta: Probability,
          events: Optional[Events] = None, confidence: float = 0.95,
          adjacency: Adjacency = "add-or-remove-one", parameters: Parameters = "fixed",
          method: Method = "best", relative_gap: float = 1e-4, group_size: int = 1) -> AuditResult:
    """A lower bound on ε from an attack that was made, and whether it refutes what `events` claim.

    evidence: OneRunAudit (canaries in one run) or ManyRunsAudit (runs with and without one record)
    delta: in [0, 1); in (0, 1) with events
    confidence: in (0, 1)
    """
    if not isinstance(evidence, (OneRunAudit, ManyRunsAudit)):
        raise WrongType("evidence: must be a OneRunAudit or a ManyRunsAudit, got %s"
                        % type(evidence).__name__,
                        field="evidence")
    options = options_of(method, adjacency, parameters, relative_gap, group_size)
    request = AuditClaimRequest(delta=delta, confidence=confidence,  # type: ignore[arg-type]
                                options=options)
    if events is not None:
        request.subject = Subject(events=_listed(events))
    if isinstance(evidence, OneRunAudit):
        request.one_run = evidence
    else:
        request.many_runs = evidence
    return AuditResult(_ask("AuditClaim", request))
