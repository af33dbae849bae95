"""Events with dp_accounting's names and fields."""
import dataclasses


class DpEvent:
    pass


def _event(name, *fields, **defaults):
    made = [(field, object) for field in fields]
    made += [(field, object, dataclasses.field(default=value)) for field, value in defaults.items()]
    kind = dataclasses.make_dataclass(name, made, bases=(DpEvent,), frozen=True)
    kind.__module__ = __name__
    globals()[name] = kind


_event("NoOpDpEvent")
_event("NonPrivateDpEvent")
_event("UnsupportedDpEvent")
_event("RandomizedResponseDpEvent", "noise_parameter", "num_buckets")
_event("EpsilonDeltaDpEvent", "epsilon", "delta")
_event("GaussianDpEvent", "noise_multiplier")
_event("LaplaceDpEvent", "noise_multiplier")
_event("DiscreteLaplaceDpEvent", "noise_parameter", "sensitivity")
_event("DiscreteGaussianDpEvent", "sigma", sensitivity=1.0, dimension=None)
_event("SelfComposedDpEvent", "event", "count")
_event("ComposedDpEvent", "events")
_event("PoissonSampledDpEvent", "sampling_probability", "event")
_event("SampledWithReplacementDpEvent", "source_dataset_size", "sample_size", "event")
_event("SampledWithoutReplacementDpEvent", "source_dataset_size", "sample_size", "event")
_event("SingleEpochTreeAggregationDpEvent", "noise_multiplier", "step_counts")
_event("RepeatAndSelectDpEvent", "event", "mean", "shape")
_event("MixtureOfGaussiansDpEvent", "standard_deviation", "sensitivities", "sampling_probs")
_event("ZCDpEvent", "rho", xi=0.0)
_event("ExponentialMechanismDpEvent", "epsilon")
_event("PermuteAndFlipDpEvent", "epsilon")
_event("TruncatedSubsampledGaussianDpEvent", "dataset_size", "sampling_probability",
       "truncated_batch_size", "noise_multiplier")
