"""A run of which one number is sought, as calibration asks about it."""
from __future__ import annotations

from typing import Any, Dict, Tuple

from . import _words
from .errors import InvalidArgument
from .messages import CalibrateRequest, Poisson, RoundsEvent, SumQuery


class Run:
    """The arguments of a run of which one is sought, and what is known of the others."""

    def __init__(self, noise_multiplier: Any, sample_rate: Any, steps: Any, scheme: Any,
                 batch_size: Any, population: Any, epochs: Any) -> None:
        self.noise_multiplier, self.sample_rate = noise_multiplier, sample_rate
        self.steps, self.scheme = steps, scheme
        self.batch_size, self.population, self.epochs = batch_size, population, epochs
        self.known: Dict[str, Any] = {}

    def is_given(self) -> bool:
        return any(value is not None for name, value in vars(self).items() if name != "known")

    def is_plain(self) -> bool:
        """Whether it is one of Poisson samples without a scheme of its own."""
        return _words.word_of(self.scheme) == "poisson"

    def unknown(self) -> str:
        """Which argument is sought."""
        word = _words.word_of(self.scheme)
        given = {"noise_multiplier": self.noise_multiplier is not None,
                 "sample_rate": self.sample_rate is not None or self.batch_size is not None,
                 "steps": self.steps is not None or self.epochs is not None}
        given["sample_rate"] |= word in (None, "full-batch")
        sought = [name for name, is_there in given.items() if not is_there]
        if len(sought) != 1:
            raise InvalidArgument(
                "noise_multiplier: leave out one of noise_multiplier, sample_rate (or "
                "batch_size and population) and steps (or epochs), got %s"
                % ("all of them" if not sought else "no " + " and no ".join(sought)),
                field="noise_multiplier")
        if sought == ["sample_rate"] and word != "poisson":
            if self.population is None or word != "fixed-size":
                raise InvalidArgument(
                    'batch_size: give it; it is found for scheme="poisson", and for '
                    '"fixed-size" ' "with population",
                    field="batch_size")
            sought = ["batch_size"]
        if sought[0] in ("sample_rate", "batch_size") and self.epochs is not None:
            raise InvalidArgument("epochs: need the batch size, which is sought; give steps",
                                  field="epochs")
        return sought[0]

    def put_into(self, request: CalibrateRequest, solved: str) -> None:
        """A run of Poisson samples, by its parameters."""
        known = self.known
        known.update(population=self.population)
        if solved != "sample_rate":
            scheme = _words.scheme_of(self.scheme, self.sample_rate, self.batch_size,
                                      self.population)
            # type: ignore[union-attr]
            known.update(sample_rate=scheme.probability, batch_size=self.batch_size)
            request.sampling_probability = known["sample_rate"]
            if solved != "steps":
                known["steps"] = request.steps = _words.steps_of(scheme, self.steps, self.epochs)
        else:
            known["steps"] = request.steps = _words.whole(self.steps, "steps")
        if solved != "noise_multiplier":
            known["noise_multiplier"] = request.noise_multiplier = self.noise_multiplier
        unknowns = {"noise_multiplier": "noise-multiplier", "steps": "steps",
                    "sample_rate": "sampling-probability"}
        request.solve = unknowns[solved]  # type: ignore[assignment]

    def event_for(self, solved: str) -> Tuple[RoundsEvent, str]:
        """The run as an event, and where in it the number stands that is sought."""
        path = {"noise_multiplier": "rounds.queries[0].noise_stddev", "steps": "rounds.count",
                "sample_rate": "rounds.scheme.poisson.probability",
                "batch_size": "rounds.scheme.without_replacement.sample_size"}[solved]
        known = self.known
        known.update(population=self.population)
        if solved == "sample_rate":
            scheme: Any = Poisson(0.01, 0 if self.population is None
                                  else _words.whole(self.population, "population"))
        else:
            batch = 1 if solved == "batch_size" else self.batch_size
            scheme = _words.scheme_of(self.scheme, self.sample_rate, batch, self.population)
            known.update(sample_rate=scheme.probability if isinstance(scheme, Poisson) else None,
                         batch_size=None if solved == "batch_size" else self.batch_size)
        in_one = _words.rounds_per_epoch(scheme)
        count = in_one or 1
        if solved != "steps":
            count = _words.steps_of(scheme, self.steps, self.epochs)
            count = -(-count // in_one) * in_one if in_one else count
            known["steps"] = count
        if solved != "noise_multiplier":
            known["noise_multiplier"] = self.noise_multiplier
        noise = 1.0 if solved == "noise_multiplier" else self.noise_multiplier
        return RoundsEvent(scheme, (SumQuery(1.0, noise),), count), path
