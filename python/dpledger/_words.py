"""The words that people think in, and those of other libraries: batch sizes, epochs, names of
schemes, hints."""
from __future__ import annotations

import functools
import math
import types
from typing import (TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple, TypeVar,
                    Union, cast)

from . import _wire, messages
from .errors import InvalidArgument, WrongType
from .messages import (AccountingOptions, DisjointBatches, Event, FullBatch, Poisson,
                       RandomAllocation, RoundsEvent, SamplingEvent, SamplingScheme, SumQuery,
                       SumQueryEvent, WithoutReplacement)

if TYPE_CHECKING:
    from fractions import Fraction  # it is slow to import, and few questions need it

MOST_SINGLE_ROUNDS = 100_000  # of an unfinished epoch: each is two events
SCHEMES = ("poisson", "fixed-size", "shuffled", "allocated", "full-batch")

# What other libraries call an argument: the first name here that the function has is meant.
_HINTS: Dict[str, Tuple[str, ...]] = {}
for _ours, _theirs in {
        "delta": "target_delta deltas d",
        "epsilon target_epsilon": "epsilon target_epsilon eps target_eps epsilons",
        "noise_multiplier": "sigma noise noise_scale noise_std noise_stddev stddev std z "
        "noise_multipliers nm",
        "sample_rate": "sampling_probability sampling_prob sampling_rate q probability p "
        "sample_probability",
        "population": "n N population_size dataset_size data_size num_examples num_samples "
        "number_of_examples num_records size sample_size_total n_samples train_size",
        "batch_size": "batch expected_batch_size batchsize sample_size lot_size B bs",
        "steps": "num_steps iterations num_iterations rounds num_rounds n_steps T count "
        "num_updates compositions num_compositions max_steps",
        "epochs": "num_epochs n_epochs max_epochs",
        "adjacency": "neighboring_relation neighbouring_relation relation neighbors "
        "neighbours adjacency_relation",
        "method": "accountant accountant_type mechanism",
        "relative_gap": "epsilon_tolerance eps_error tolerance tol error",
        "scheme": "sampling sampler sampling_scheme poisson_sampling",
        "group_size": "max_examples_per_user", "max_examples_per_user": "group_size",
        "events": "event mechanisms", "deltas": "delta", "epsilons": "epsilon",
        "probability": "sample_rate sampling_probability sampling_prob sampling_rate q p",
        "population_size": "population n N dataset_size data_size num_examples "
        "number_of_examples",
        "sample_size": "batch_size batch expected_batch_size lot_size",
        "noise_stddev": "noise_multiplier sigma noise noise_scale noise_std stddev std z",
        "l2_norm_bound": "l2_norm_clip max_grad_norm clip_norm clipping_norm sensitivity"}.items():
    for _word in _theirs.split():
        _HINTS[_word] = _HINTS.get(_word, ()) + tuple(_ours.split())
_NOT_NEEDED = {**dict.fromkeys(
    "l2_norm_clip max_grad_norm clip_norm clipping_norm l2_norm_bound sensitivity".split(),
    "noise_multiplier is the noise's standard deviation over it"),
               **dict.fromkeys("orders alphas".split(),
                               'method="rdp" answers by Rényi DP, and chooses its orders'),
               **dict.fromkeys("value_discretization_interval used_microbatching".split(),
                               "leave it out")}

_Function = TypeVar("_Function", bound=Callable[..., Any])


def options_of(method: Any, adjacency: Any, parameters: Any, relative_gap: Any,
               group_size: Any, as_planned: bool = False) -> AccountingOptions:
    """Refuses a zero, which the message takes for an argument that was left out."""
    for name, value in (("relative_gap", relative_gap), ("group_size", group_size)):
        if not hasattr(value, "__len__") and value == 0:
            raise InvalidArgument("%s: must not be 0" % name, field=name)
    return AccountingOptions(method, adjacency, parameters, relative_gap, group_size,
                             as_planned)


def hinted(*, many: str = "") -> Callable[[_Function], _Function]:
    """A decorator: arguments that the function does not have, or lacks, are an Error that says
    which it has; a sequence in the keyword argument `many` gives a list of the answers for each of
    its numbers."""
    def decorate(function: _Function) -> _Function:
        @functools.wraps(function)
        def called(*arguments: Any, **named: Any) -> Any:
            try:
                if many and type(named.get(many)) not in _NUMBERS and _wire.is_many(named[many]):
                    return [function(*arguments, **{**named, many: one}) for one in named[many]]
                return function(*arguments, **named)
            except TypeError:
                found = explained(function, arguments, named)
                if found is None:
                    raise
                raise found from None
        return cast(_Function, called)
    return decorate


_Class = TypeVar("_Class", bound=type)


def explains(kind: _Class) -> _Class:
    """A class decorator: the constructor and the methods that users call are `hinted`."""
    for name, member in list(vars(kind).items()):
        if isinstance(member, types.FunctionType) and (name == "__init__" or name[0] != "_"):
            setattr(kind, name, hinted()(member))
    return kind


_NUMBERS = (float, int, type(None))


def explained(function: Any, arguments: Sequence[Any], named: Dict[str, Any],
              called: str = "") -> Optional[WrongType]:
    """What is wrong with the arguments of a call that Python refused. `called` is what a user calls
    the function, if its own name is not that."""
    import inspect
    found = dict(inspect.signature(function).parameters)
    if found.pop("self", None) is not None:
        if function.__name__ != "__init__":
            called = called or "%s.%s" % (type(arguments[0]).__name__, function.__name__)
        arguments = arguments[1:]
    called = called or function.__qualname__.replace(".__init__", "")
    kinds = {parameter.kind for parameter in found.values()}
    parameters = {name: parameter for name, parameter in found.items()
                  if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)}
    by_place = [name for name, parameter in parameters.items()
                if parameter.kind is not parameter.KEYWORD_ONLY]
    for name in named:
        if name in by_place[:len(arguments)]:
            return WrongType("%s: is given twice" % name, field=name)
        if name not in parameters and inspect.Parameter.VAR_KEYWORD not in kinds:
            return WrongType("%s: is no argument of %s%s" % (name, called,
                                                             _hint(name, list(parameters))),
                             field=name)
    if len(arguments) > len(by_place) and inspect.Parameter.VAR_POSITIONAL not in kinds:
        others = [name for name in parameters if name not in by_place and name not in named][:3]
        return WrongType("%s: takes %s without a name%s" % (
            called, ", ".join(by_place) or "nothing",
            "; write the others as %s=..." % "=..., ".join(others) if others else ", and no more"))
    for name, parameter in parameters.items():
        if parameter.default is parameter.empty and name not in named and name not in by_place[
                :len(arguments)]:
            return WrongType("%s: %s needs it: write %s=..." % (name, called, name), field=name)
    return None


def _hint(name: str, known: List[str]) -> str:
    meant = [word for word in _HINTS.get(name, ()) if word in known and word != name]
    if not meant and name in _NOT_NEEDED:
        return ": " + _NOT_NEEDED[name]
    if not meant:
        import difflib
        meant = difflib.get_close_matches(name.lower(), known, 1)
    return "; did you mean %s?" % meant[0] if meant else ", which has " + (
        ", ".join(known) or "none")


_CASES = {case: getattr(held, "__name__", "") for kind in messages.FOLDED.values()
          for case, held in kind.values()}
_CONSTANTS = [word.upper().replace("-", "_")
              for kind in ("Adjacency", "Parameters", "Method", "NoiseKind")
              for word in messages.ENUMS[kind] if "-" in word or kind == "Parameters" and word]
_CONSTANT = r"\b(?:%s|FAIL_CLOSED|SPOOL)\b" % "|".join(_CONSTANTS)
# Where a path of the API begins, which is no file's name.
_PATH = (r"(?<![\w./-])(?:(?:subject|options|declaration|mechanism|sampling|scheme|filter|trials)\."
         r"|(?:\w*events|plan|queries)\[\d+\]\.)[\w.\[\]]*\w\]?")
_OUTER = ("subject", "options", "declaration", "sampling")
_ARGUMENTS = {"unit_of_privacy": "unit", "spool_policy": "policy", "scheme.kind": "scheme"}


def in_python(text: str) -> str:
    """A message, or a field, in the words of this package: give adjacency="zero-out" for declare
    ZERO_OUT, events[0].noise_multiplier for events[0].mechanism.gaussian.noise_multiplier. What is
    in these words already stays as it is."""
    import re

    def spelled(found: "re.Match[str]") -> str:
        return '"%s"' % _wire.spelled(found[0])

    def given(found: "re.Match[str]") -> str:
        return "give " + re.sub(_CONSTANT, lambda one: "adjacency=" + spelled(one), found[1])

    def path(found: "re.Match[str]") -> str:
        first, *parts = found[0].split(".")
        if first == "subject" and parts[0].startswith("events") or first not in _OUTER:
            parts.insert(0, "event" if first == "mechanism" else first)
        return ".".join(part for part in parts if part not in _CASES)

    text = re.sub(r"\bdeclare (%s(?:(?:,| or|, or) %s)*)" % (_CONSTANT, _CONSTANT), given, text)
    text = re.sub(_PATH, path, re.sub(_CONSTANT, spelled, text))
    text = re.sub(r"\b(sampling scheme|mechanism) (\w+)",
                  lambda found: "%s %s" % (found[1], _CASES.get(found[2]) or found[2]), text)
    text = text.replace("must not be NULL", "must be given, got None")
    text = text.replace("does not declare plan_independent",
                        "was made without Recorder(..., plan_independent=True)")
    text = re.sub(r"\b(?:the option )?(plan_independent|plan_varies)\b(?![:=])", r"\1=True", text)
    text = re.sub(r"\b(\w+_timeout)_seconds\b", r"\1", text)
    return re.sub(r"\b(?:%s)\b" % "|".join(map(re.escape, _ARGUMENTS)),
                  lambda found: _ARGUMENTS[found[0]], text)


def whole(value: Any, name: str) -> int:
    """`value` as a whole number in [1, 2^53]."""
    return _wire.whole(value, name, 1, 1 << 53)


def rate(value: Any) -> Any:
    """A sampling probability; "256/60000" as the number."""
    parts = _wire.quotient(value) if isinstance(value, str) else None
    return value if parts is None else parts[0] / parts[1]


def exact(value: Any, name: str) -> Fraction:
    """A number > 0 as it was written: 0.1 is a tenth."""
    from fractions import Fraction
    parts = _wire.quotient(value)
    if parts is not None:
        value = Fraction(*parts)
    if isinstance(value, (int, Fraction)):
        found = Fraction(value)
    else:
        number = _wire.real(value, name)
        if not math.isfinite(number):
            raise InvalidArgument("%s: must be finite and > 0, got %r" % (name, number), field=name)
        found = Fraction(repr(number))
    if found <= 0:
        raise InvalidArgument("%s: must be finite and > 0, got %s" % (name, value), field=name)
    return found


def _up(count: Fraction) -> int:
    """The least whole number that is not less, but for what a rounded sampling rate adds."""
    nearest = round(count)
    return max(1, nearest if abs(count - nearest) <= abs(count) / 10 ** 12 else math.ceil(count))


def word_of(scheme: Any) -> Optional[str]:
    """One of SCHEMES; None for a SamplingScheme."""
    if scheme is None:
        return "poisson"
    if not isinstance(scheme, str):
        return None
    word = _wire.spelled(scheme)
    if word not in SCHEMES:
        raise InvalidArgument(
            'scheme: must be one of %s, or a SamplingScheme such as Poisson(0.01), got "%s"'
            % (", ".join('"%s"' % known for known in SCHEMES), scheme),
            field="scheme")
    return word


def scheme_of(scheme: Union[SamplingScheme, str, None], sample_rate: Any, batch_size: Any,
              population: Any) -> SamplingScheme:
    """The sampling scheme that the arguments describe."""
    if scheme is not None and not isinstance(scheme, str):
        for name, value in (("sample_rate", sample_rate), ("batch_size", batch_size),
                            ("population", population)):
            if value is not None:
                raise InvalidArgument("%s: is part of scheme; give one of the two" % name,
                                      field=name)
        return scheme
    word = word_of(scheme)
    if sample_rate is not None and word != "poisson":
        raise InvalidArgument(
            'sample_rate: is for scheme="poisson"; give batch_size and population with "%s"'
            % word,
            field="sample_rate")
    size = 0 if population is None else whole(population, "population")
    if word == "full-batch":
        if batch_size is not None:
            raise InvalidArgument(
                'batch_size: is no part of scheme="full-batch", whose batches have all records',
                field="batch_size")
        return FullBatch(size)
    if sample_rate is not None:
        if batch_size is not None:
            raise InvalidArgument("sample_rate: is batch_size / population; give it, or these two",
                                  field="sample_rate")
        return Poisson(rate(sample_rate), size)
    if batch_size is None or population is None:
        missing = "batch_size" if batch_size is None else "population"
        if batch_size is None and population is None and word == "poisson":
            raise InvalidArgument(
                "sample_rate: give it, or batch_size and population, or a scheme that has them",
                field="sample_rate")
        raise InvalidArgument(
            "%s: give it too: batches come from batch_size and population" % missing, field=missing)
    batch = whole(batch_size, "batch_size")
    if batch > size:
        raise InvalidArgument("batch_size: must be at most population (%d), got %d" % (size, batch),
                              field="batch_size")
    if word == "poisson":
        return Poisson(batch / size, size)
    if word == "fixed-size":
        return WithoutReplacement(batch, size)
    rounds = -(-size // batch)
    return DisjointBatches(
        rounds, 0, size) if word == "shuffled" else RandomAllocation(rounds, population_size=size)


def rounds_per_epoch(scheme: Any) -> int:
    """Of a scheme whose epochs are whole; else 0."""
    if isinstance(scheme, DisjointBatches):
        return whole(scheme.batches_per_epoch, "scheme.batches_per_epoch")
    if isinstance(scheme, RandomAllocation):
        return whole(scheme.rounds_per_epoch, "scheme.rounds_per_epoch")
    return 0


def steps_of(scheme: Any, steps: Any, epochs: Any) -> int:
    """How many rounds there are. `epochs` of samples that come one by one are the least number of
    rounds that draw that many times the population, on average."""
    if epochs is None:
        if steps is None:
            raise InvalidArgument("steps: give it, or epochs", field="steps")
        return whole(steps, "steps")
    if steps is not None:
        raise InvalidArgument("epochs: is part of steps; give one of the two", field="epochs")
    passes = exact(epochs, "epochs")
    if isinstance(scheme, FullBatch):
        return _up(passes)
    in_one = rounds_per_epoch(scheme)
    if in_one:
        return _up(passes * in_one)
    if hasattr(scheme, "probability"):
        return _up(passes / exact(scheme.probability, "sample_rate"))
    if not scheme.population_size:
        raise InvalidArgument("scheme.population_size: epochs need it",
                              field="scheme.population_size")
    return _up(passes * scheme.population_size / exact(scheme.sample_size, "scheme.sample_size"))


def run(noise_multiplier: Any, sample_rate: Any, steps: Any, scheme: Any, batch_size: Any,
        population: Any, epochs: Any) -> List[Event]:
    """The events of one run. An epoch that it leaves unfinished is told round by round."""
    unknown = scheme is batch_size is population is epochs is None
    if unknown and sample_rate is not None and steps is not None:
        return [RoundsEvent(Poisson(rate(sample_rate)), (SumQuery(1.0, noise_multiplier),),
                            whole(steps, "steps"))]
    scheme = scheme_of(scheme, sample_rate, batch_size, population)
    count = steps_of(scheme, steps, epochs)
    query = SumQuery(1.0, noise_multiplier)
    in_one = rounds_per_epoch(scheme)
    begun, rest = divmod(count, in_one) if in_one else (0, 0)
    if not rest:
        return [RoundsEvent(scheme, (query,), count)]
    if rest > MOST_SINGLE_ROUNDS:
        raise InvalidArgument(
            "steps: must be within %d of whole epochs, each of %d rounds, got %d; "
            "steps=%d, which finishes the last one, costs no less"
            % (MOST_SINGLE_ROUNDS, in_one, count, (begun + 1) * in_one),
            field="steps")
    events: List[Event] = [RoundsEvent(scheme, (query,), count - rest)] if begun else []
    last = in_epoch(scheme, scheme.epoch + begun)
    for number in range(rest):
        events += (SamplingEvent(number, last), SumQueryEvent(number, query))
    return events


def in_epoch(scheme: Any, epoch: int) -> Any:
    """The same scheme in that epoch."""
    import copy
    again = copy.copy(scheme)
    again.epoch = epoch
    return again


# ---- Paths ----

def _chain(folded: str, value: Any) -> Optional[List[str]]:
    """The cases that lead from a folded message to what it holds: ["mechanism", "gaussian"]."""
    names: List[str] = []
    while folded:
        found = _wire.cases(folded).get(type(value))
        if found is None:
            return None
        names.append(found[0])
        folded = found[2]
    return names


def api_path(path: str, events: Sequence[Any]) -> str:
    """A path as Python's names have it, "events[0].queries[0].noise_stddev", in the API's names,
    which name each case of a oneof too: "events[0].rounds.queries[0].noise_stddev". A path that is
    none in Python's names as it is."""
    import re
    parts = [re.match(r"(\w+)(?:\[(\d+)\])?$", part) for part in path.split(".")]
    if parts[0] is None or parts[
            0][1] != "events" or parts[0][2] is None or int(parts[0][2]) >= len(events):
        return path
    found, value = [parts[0][0]], events[int(parts[0][2])]
    chain = _chain("Event", value)
    for part in parts[1:]:
        if part is None or chain is None or not isinstance(value, _wire.Message):
            return path
        kinds = {name: kind for _, name, kind, _ in value._wire}
        if part[1] in kinds:
            found += chain
        elif any(part[1] == name for _, name, _, _ in value._beside):
            found += chain[:-1]
        else:
            return path
        found.append(part[0])
        kind = kinds.get(part[1], "uint64")
        value = getattr(value, part[1])
        if part[2] is not None:
            if isinstance(value, (str, _wire.Message)) or not int(part[2]) < len(value):
                return path
            value = value[int(part[2])]
        chain = _chain(kind, value) if kind in messages.FOLDED else []
    return ".".join(found)


def numbers(events: Sequence[Any]) -> List[str]:
    """The paths, in Python's names, of the numbers that are sought most."""
    found: List[str] = []

    def visit(path: str, value: Any) -> None:
        for _, name, kind, _ in getattr(value, "_wire", ()):
            held = getattr(value, name)
            if kind in ("double", "uint64") and not isinstance(held,
                                                               (tuple, list)) and held is not None:
                found.append("%s.%s" % (path, name))
            elif isinstance(held, _wire.Message):
                visit("%s.%s" % (path, name), held)
            elif isinstance(held, (tuple, list)):
                for index, one in enumerate(held):
                    visit("%s.%s[%d]" % (path, name, index), one)
    for index, event in enumerate(events):
        visit("events[%d]" % index, event)
    return found
