"""What a question says and what an answer holds, as the API's .proto files have them.

Made by python/generate_messages.py from proto/dpledger/v1: change those, and run it.
"""
from __future__ import annotations

from typing import Any, Dict, Literal, Optional, Sequence, Tuple, Union

from .interval import Interval
from ._wire import Message

SampleSource = Literal["sample-stated", "sample-drawn"]
NoiseKind = Literal["gaussian", "rounded-gaussian", "discrete-gaussian"]
NoisyMaxNoise = Literal["laplace-noise", "exponential-noise", "gumbel-noise"]
GroupAssignment = Literal["groups-of-equal-size", "groups-drawn-one-by-one"]
Adjacency = Literal["", "add-or-remove-one", "replace-one", "zero-out"]
Parameters = Literal["", "fixed", "adaptive"]
LedgerState = Literal["", "open", "sealed"]
Method = Literal["", "best", "rdp", "pld", "contour", "gaussian-closed-form"]
Regime = Literal["", "fixed-plan", "filter", "odometer", "as-planned"]
DeclarationSource = Literal["", "declared", "assumed", "stated"]
Unknown = Literal["", "noise-multiplier", "steps", "sampling-probability"]


class SamplingEvent(Message):
    """Opens round `round` of its writer. A second sampling event for the same round, or one for an earlier round
    than the writer's last, is FAILED_PRECONDITION.

    round: Chosen by the writer, never decreasing; a round is (writer, round). Below 2^53.
    """
    round: int
    scheme: SamplingScheme
    source: SampleSource = "sample-stated"
    _wire = (
        (1, "round", "uint64", ""),
        (2, "scheme", "SamplingScheme", ""),
        (3, "source", "SampleSource", ""),)

    def __init__(self, round: int, scheme: SamplingScheme, source: SampleSource = "sample-stated") -> None:
        self.round = round
        self.scheme = scheme
        self.source = source


class SumQueryEvent(Message):
    """A noised sum over the sample of round `round`. Without a sampling event for that round the query counts as
    unsampled (full batch)."""
    round: int
    query: SumQuery
    _wire = (
        (1, "round", "uint64", ""),
        (2, "query", "SumQuery", ""),)

    def __init__(self, round: int, query: SumQuery) -> None:
        self.round = round
        self.query = query


class RoundsEvent(Message):
    """`count` rounds that each drew a fresh sample by `scheme` and released all of `queries` on it.

    queries: at least one
    count: in [1, 2^53]; for epoch schemes a multiple of the epoch's rounds
    """
    scheme: SamplingScheme
    queries: Sequence[SumQuery]
    count: int
    _wire = (
        (1, "scheme", "SamplingScheme", ""),
        (2, "queries", "SumQuery", "*"),
        (3, "count", "uint64", ""),)

    def __init__(self, scheme: SamplingScheme, queries: Sequence[SumQuery], count: int) -> None:
        self.scheme = scheme
        self.queries = queries
        self.count = count


class SumQuery(Message):
    """A noised sum over a sample: what one record can change in it, and its noise. SumQuery(1.0, z) has noise
    multiplier z.

    group: What is summed, e.g. "conv1" or "metrics/accuracy". For people; at most 256 bytes.
    l2_norm_bound: S: what adding or removing one record can change in the released sum (L2 norm), in the sum's
        units. > 0, finite.
    noise_stddev: σ: standard deviation of the noise added to each coordinate of that sum, same units. > 0, finite.
    grid: ROUNDED_GAUSSIAN only: the unit of the integer grid, in the sum's units, > 0; l2_norm_bound and
        noise_stddev are then the integers K and σ_Z in that unit, below 2^53. 0 for the other kinds.
    """
    l2_norm_bound: float
    noise_stddev: float
    group: str = ""
    noise: NoiseKind = "gaussian"
    grid: float = 0.0
    _wire = (
        (1, "group", "string", ""),
        (2, "l2_norm_bound", "double", ""),
        (3, "noise_stddev", "double", ""),
        (4, "noise", "NoiseKind", ""),
        (5, "grid", "double", ""),)

    def __init__(self, l2_norm_bound: float, noise_stddev: float, group: str = "", noise: NoiseKind = "gaussian",
                 grid: float = 0.0) -> None:
        self.l2_norm_bound = l2_norm_bound
        self.noise_stddev = noise_stddev
        self.group = group
        self.noise = noise
        self.grid = grid


class Poisson(Message):
    """each record independently

    probability: in (0, 1]
    population_size: Number of records: a declared public constant, below 2^53. 0 = not stated.
    """
    probability: float
    population_size: int = 0
    _wire = (
        (1, "probability", "double", ""),)
    _beside = (
        (1, "population_size", "uint64", ""),)

    def __init__(self, probability: float, population_size: int = 0) -> None:
        self.probability = probability
        self.population_size = population_size


class WithoutReplacement(Message):
    """A sample of `sample_size` records, each set of so many with the same chance.

    sample_size: in [1, population_size]; population_size must be stated
    population_size: Number of records: a declared public constant, below 2^53. 0 = not stated.
    """
    sample_size: int
    population_size: int = 0
    _wire = (
        (1, "sample_size", "uint64", ""),)
    _beside = (
        (1, "population_size", "uint64", ""),)

    def __init__(self, sample_size: int, population_size: int = 0) -> None:
        self.sample_size = sample_size
        self.population_size = population_size


class WithReplacement(Message):
    """A sample of `sample_size` draws, each of any record: a record may be in it several times.

    sample_size: in [1, population_size]; population_size must be stated
    population_size: Number of records: a declared public constant, below 2^53. 0 = not stated.
    """
    sample_size: int
    population_size: int = 0
    _wire = (
        (1, "sample_size", "uint64", ""),)
    _beside = (
        (1, "population_size", "uint64", ""),)

    def __init__(self, sample_size: int, population_size: int = 0) -> None:
        self.sample_size = sample_size
        self.population_size = population_size


class FullBatch(Message):
    """every record

    population_size: Number of records: a declared public constant, below 2^53. 0 = not stated.
    """
    population_size: int = 0
    _wire = ()
    _beside = (
        (1, "population_size", "uint64", ""),)

    def __init__(self, population_size: int = 0) -> None:
        self.population_size = population_size


class DisjointBatches(Message):
    """shuffled epochs: each record in one batch an epoch

    batches_per_epoch: in [1, 2^53]
    epoch: which epoch this round belongs to, from 0
    population_size: Number of records: a declared public constant, below 2^53. 0 = not stated.
    """
    batches_per_epoch: int
    epoch: int = 0
    population_size: int = 0
    _wire = (
        (1, "batches_per_epoch", "uint64", ""),
        (2, "epoch", "uint64", ""),)
    _beside = (
        (1, "population_size", "uint64", ""),)

    def __init__(self, batches_per_epoch: int, epoch: int = 0, population_size: int = 0) -> None:
        self.batches_per_epoch = batches_per_epoch
        self.epoch = epoch
        self.population_size = population_size


class RandomAllocation(Message):
    """each record into one uniformly chosen round of an epoch

    rounds_per_epoch: in [1, 2^53]
    epoch: which epoch this round belongs to, from 0
    contributions: In how many rounds of an epoch each record is, the set of them drawn uniformly: in [1,
        rounds_per_epoch]; absent = one.
    fixed_bins: Each record is in the same rounds of every epoch of this writer, over all its incarnations and in
        forks: drawn once, before the first one. The i-th round of an epoch stands for the same records in all
        epochs, which therefore state the same population, rounds_per_epoch and contributions (FAILED_PRECONDITION).
        False: drawn again for each epoch.
    population_size: Number of records: a declared public constant, below 2^53. 0 = not stated.
    """
    rounds_per_epoch: int
    contributions: int = 1
    fixed_bins: bool = False
    epoch: int = 0
    population_size: int = 0
    _wire = (
        (1, "rounds_per_epoch", "uint64", ""),
        (2, "epoch", "uint64", ""),
        (3, "contributions", "uint64", ""),
        (4, "fixed_bins", "bool", ""),)
    _beside = (
        (1, "population_size", "uint64", ""),)

    def __init__(self, rounds_per_epoch: int, contributions: int = 1, fixed_bins: bool = False, epoch: int = 0,
                 population_size: int = 0) -> None:
        self.rounds_per_epoch = rounds_per_epoch
        self.contributions = contributions
        self.fixed_bins = fixed_bins
        self.epoch = epoch
        self.population_size = population_size


class TruncatedPoisson(Message):
    """Poisson, with the sample cut to a greatest size

    probability: in (0, 1]
    max_sample_size: in [1, 2^53]; population_size must be stated
    population_size: Number of records: a declared public constant, below 2^53. 0 = not stated.
    """
    probability: float
    max_sample_size: int
    population_size: int = 0
    _wire = (
        (1, "probability", "double", ""),
        (2, "max_sample_size", "uint64", ""),)
    _beside = (
        (1, "population_size", "uint64", ""),)

    def __init__(self, probability: float, max_sample_size: int, population_size: int = 0) -> None:
        self.probability = probability
        self.max_sample_size = max_sample_size
        self.population_size = population_size


class NoOp(Message):
    """Nothing was released.

    count: How often the mechanism ran, in [1, 2^53]; absent = once.
    """
    count: int = 1
    _wire = ()
    _beside = (
        (1, "count", "uint64", "?"),)

    def __init__(self, count: int = 1) -> None:
        self.count = count


class NonPrivate(Message):
    """releases the data: ε is infinite

    count: How often the mechanism ran, in [1, 2^53]; absent = once.
    """
    count: int = 1
    _wire = ()
    _beside = (
        (1, "count", "uint64", "?"),)

    def __init__(self, count: int = 1) -> None:
        self.count = count


class Unsupported(Message):
    """stored; every answer that includes it is refused

    description: at most 1024 bytes
    count: How often the mechanism ran, in [1, 2^53]; absent = once.
    """
    description: str
    count: int = 1
    _wire = (
        (1, "description", "string", ""),)
    _beside = (
        (1, "count", "uint64", "?"),)

    def __init__(self, description: str, count: int = 1) -> None:
        self.description = description
        self.count = count


class Gaussian(Message):
    """A sum, or any vector, with Gaussian noise: noise_multiplier is the noise's standard deviation over what adding
    or removing one record can change (L2 norm).

    noise_multiplier: > 0
    count: How often the mechanism ran, in [1, 2^53]; absent = once.
    """
    noise_multiplier: float
    count: int = 1
    _wire = (
        (1, "noise_multiplier", "double", ""),)
    _beside = (
        (1, "count", "uint64", "?"),)

    def __init__(self, noise_multiplier: float, count: int = 1) -> None:
        self.noise_multiplier = noise_multiplier
        self.count = count


class Laplace(Message):
    """A sum, or any vector, with Laplace noise: noise_multiplier is the noise's scale over what adding or removing
    one record can change (L1 norm).

    noise_multiplier: scale over L1 sensitivity, > 0
    count: How often the mechanism ran, in [1, 2^53]; absent = once.
    """
    noise_multiplier: float
    count: int = 1
    _wire = (
        (1, "noise_multiplier", "double", ""),)
    _beside = (
        (1, "count", "uint64", "?"),)

    def __init__(self, noise_multiplier: float, count: int = 1) -> None:
        self.noise_multiplier = noise_multiplier
        self.count = count


class DiscreteLaplace(Message):
    """A whole number with noise P(k) ∝ e^{-a|k|} on whole numbers (the geometric mechanism).

    noise_parameter: a in P(k) ∝ e^{-a|k|}, > 0
    sensitivity: >= 1
    count: How often the mechanism ran, in [1, 2^53]; absent = once.
    """
    noise_parameter: float
    sensitivity: int
    count: int = 1
    _wire = (
        (1, "noise_parameter", "double", ""),
        (2, "sensitivity", "uint64", ""),)
    _beside = (
        (1, "count", "uint64", "?"),)

    def __init__(self, noise_parameter: float, sensitivity: int, count: int = 1) -> None:
        self.noise_parameter = noise_parameter
        self.sensitivity = sensitivity
        self.count = count


class DiscreteGaussian(Message):
    """Noise P(k) ∝ e^{-k²/2σ²} on each whole-number coordinate. In one dimension its exact privacy loss is used,
    else that it is Δ²/2σ²-zCDP.

    sigma: σ, > 0
    sensitivity: Δ, L2, >= 1
    dimension: >= 1; absent = not stated
    count: How often the mechanism ran, in [1, 2^53]; absent = once.
    """
    sigma: float
    sensitivity: int
    dimension: Optional[int] = None
    count: int = 1
    _wire = (
        (1, "sigma", "double", ""),
        (2, "sensitivity", "uint64", ""),
        (3, "dimension", "uint64", "?"),)
    _beside = (
        (1, "count", "uint64", "?"),)

    def __init__(self, sigma: float, sensitivity: int, dimension: Optional[int] = None, count: int = 1) -> None:
        self.sigma = sigma
        self.sensitivity = sensitivity
        self.dimension = dimension
        self.count = count


class RandomizedResponse(Message):
    """What Randomized answers.

    noise_parameter: probability of a uniformly random answer, in [0, 1]
    num_buckets: >= 2
    count: How often the mechanism ran, in [1, 2^53]; absent = once.
    """
    noise_parameter: float
    num_buckets: int
    count: int = 1
    _wire = (
        (1, "noise_parameter", "double", ""),
        (2, "num_buckets", "uint64", ""),)
    _beside = (
        (1, "count", "uint64", "?"),)

    def __init__(self, noise_parameter: float, num_buckets: int, count: int = 1) -> None:
        self.noise_parameter = noise_parameter
        self.num_buckets = num_buckets
        self.count = count


class EpsilonDelta(Message):
    """Any mechanism that is (ε, δ)-DP, of which nothing else is known.

    epsilon: >= 0
    delta: in [0, 1]
    count: How often the mechanism ran, in [1, 2^53]; absent = once.
    """
    epsilon: float
    delta: float
    count: int = 1
    _wire = (
        (1, "epsilon", "double", ""),
        (2, "delta", "double", ""),)
    _beside = (
        (1, "count", "uint64", "?"),)

    def __init__(self, epsilon: float, delta: float, count: int = 1) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.count = count


class ZCDp(Message):
    """Any mechanism that is (ξ, ρ)-zero-concentrated DP: its Rényi divergence of order α is at most ξ + ρα.

    rho: >= 0
    xi: >= 0
    count: How often the mechanism ran, in [1, 2^53]; absent = once.
    """
    rho: float
    xi: float = 0.0
    count: int = 1
    _wire = (
        (1, "rho", "double", ""),
        (2, "xi", "double", ""),)
    _beside = (
        (1, "count", "uint64", "?"),)

    def __init__(self, rho: float, xi: float = 0.0, count: int = 1) -> None:
        self.rho = rho
        self.xi = xi
        self.count = count


class ExponentialMechanism(Message):
    """The exponential mechanism that is ε-DP: a choice among candidates by noised score.

    epsilon: >= 0
    count: How often the mechanism ran, in [1, 2^53]; absent = once.
    """
    epsilon: float
    count: int = 1
    _wire = (
        (1, "epsilon", "double", ""),)
    _beside = (
        (1, "count", "uint64", "?"),)

    def __init__(self, epsilon: float, count: int = 1) -> None:
        self.epsilon = epsilon
        self.count = count


class PermuteAndFlip(Message):
    """The permute-and-flip mechanism that is ε-DP: a choice among candidates.

    epsilon: >= 0
    count: How often the mechanism ran, in [1, 2^53]; absent = once.
    """
    epsilon: float
    count: int = 1
    _wire = (
        (1, "epsilon", "double", ""),)
    _beside = (
        (1, "count", "uint64", "?"),)

    def __init__(self, epsilon: float, count: int = 1) -> None:
        self.epsilon = epsilon
        self.count = count


class MixtureOfGaussians(Message):
    """A sum with Gaussian noise, to which a record adds one of `sensitivities`, drawn with `sampling_probs`.

    standard_deviation: > 0
    sensitivities: >= 0; as many as probabilities, at least one
    sampling_probs: in [0, 1], summing to 1 within 1e-12
    count: How often the mechanism ran, in [1, 2^53]; absent = once.
    """
    standard_deviation: float
    sensitivities: Sequence[float]
    sampling_probs: Sequence[float]
    count: int = 1
    _wire = (
        (1, "standard_deviation", "double", ""),
        (2, "sensitivities", "double", "*"),
        (3, "sampling_probs", "double", "*"),)
    _beside = (
        (1, "count", "uint64", "?"),)

    def __init__(self, standard_deviation: float, sensitivities: Sequence[float], sampling_probs: Sequence[float],
                 count: int = 1) -> None:
        self.standard_deviation = standard_deviation
        self.sensitivities = sensitivities
        self.sampling_probs = sampling_probs
        self.count = count


class PoissonSampled(Message):
    """A mechanism on a sample in which each record is with `sampling_probability`, independently.

    sampling_probability: in (0, 1]
    count: How often the mechanism ran, in [1, 2^53]; absent = once.
    """
    sampling_probability: float
    event: MechanismEvent
    count: int = 1
    _wire = (
        (1, "sampling_probability", "double", ""),
        (2, "event", "MechanismEvent", ""),)
    _beside = (
        (1, "count", "uint64", "?"),)

    def __init__(self, sampling_probability: float, event: MechanismEvent, count: int = 1) -> None:
        self.sampling_probability = sampling_probability
        self.event = event
        self.count = count


class SampledWithoutReplacement(Message):
    """A mechanism on a sample of a fixed size, each set of so many records with the same chance.

    source_dataset_size: >= 1
    sample_size: in [1, source_dataset_size]
    count: How often the mechanism ran, in [1, 2^53]; absent = once.
    """
    source_dataset_size: int
    sample_size: int
    event: MechanismEvent
    count: int = 1
    _wire = (
        (1, "source_dataset_size", "uint64", ""),
        (2, "sample_size", "uint64", ""),
        (3, "event", "MechanismEvent", ""),)
    _beside = (
        (1, "count", "uint64", "?"),)

    def __init__(self, source_dataset_size: int, sample_size: int, event: MechanismEvent, count: int = 1) -> None:
        self.source_dataset_size = source_dataset_size
        self.sample_size = sample_size
        self.event = event
        self.count = count


class SampledWithReplacement(Message):
    """A mechanism on a fixed number of draws, each of any record.

    source_dataset_size: >= 1
    sample_size: >= 1
    count: How often the mechanism ran, in [1, 2^53]; absent = once.
    """
    source_dataset_size: int
    sample_size: int
    event: MechanismEvent
    count: int = 1
    _wire = (
        (1, "source_dataset_size", "uint64", ""),
        (2, "sample_size", "uint64", ""),
        (3, "event", "MechanismEvent", ""),)
    _beside = (
        (1, "count", "uint64", "?"),)

    def __init__(self, source_dataset_size: int, sample_size: int, event: MechanismEvent, count: int = 1) -> None:
        self.source_dataset_size = source_dataset_size
        self.sample_size = sample_size
        self.event = event
        self.count = count


class TruncatedSubsampledGaussian(Message):
    """A noised sum over a Poisson sample, of which at most `truncated_batch_size` records are kept.

    dataset_size: >= 1
    sampling_probability: in (0, 1]
    truncated_batch_size: >= 1
    noise_multiplier: > 0
    count: How often the mechanism ran, in [1, 2^53]; absent = once.
    """
    dataset_size: int
    sampling_probability: float
    truncated_batch_size: int
    noise_multiplier: float
    count: int = 1
    _wire = (
        (1, "dataset_size", "uint64", ""),
        (2, "sampling_probability", "double", ""),
        (3, "truncated_batch_size", "uint64", ""),
        (4, "noise_multiplier", "double", ""),)
    _beside = (
        (1, "count", "uint64", "?"),)

    def __init__(self, dataset_size: int, sampling_probability: float, truncated_batch_size: int, noise_multiplier:
                 float, count: int = 1) -> None:
        self.dataset_size = dataset_size
        self.sampling_probability = sampling_probability
        self.truncated_batch_size = truncated_batch_size
        self.noise_multiplier = noise_multiplier
        self.count = count


class SingleEpochTreeAggregation(Message):
    """All partial sums of a binary tree over steps, with Gaussian noise: each record is in one leaf of one tree
    (DP-FTRL).

    noise_multiplier: > 0
    step_counts: leaves of each tree, >= 1; at least one
    count: How often the mechanism ran, in [1, 2^53]; absent = once.
    """
    noise_multiplier: float
    step_counts: Sequence[int]
    count: int = 1
    _wire = (
        (1, "noise_multiplier", "double", ""),
        (2, "step_counts", "uint64", "*"),)
    _beside = (
        (1, "count", "uint64", "?"),)

    def __init__(self, noise_multiplier: float, step_counts: Sequence[int], count: int = 1) -> None:
        self.noise_multiplier = noise_multiplier
        self.step_counts = step_counts
        self.count = count


class RepeatAndSelect(Message):
    """Private selection: run `event` a random number of times, release the best result.

    mean: mean number of runs, >= 1 (> 0 for Poisson)
    shape: η of the truncated negative binomial, > -1; infinity = Poisson
    count: How often the mechanism ran, in [1, 2^53]; absent = once.
    """
    event: MechanismEvent
    mean: float
    shape: float
    count: int = 1
    _wire = (
        (1, "event", "MechanismEvent", ""),
        (2, "mean", "double", ""),
        (3, "shape", "double", ""),)
    _beside = (
        (1, "count", "uint64", "?"),)

    def __init__(self, event: MechanismEvent, mean: float, shape: float, count: int = 1) -> None:
        self.event = event
        self.mean = mean
        self.shape = shape
        self.count = count


class SelfComposed(Message):
    """A mechanism, run `count` times.

    count: in [1, 2^53]
    """
    event: MechanismEvent
    count: int
    _wire = (
        (1, "event", "MechanismEvent", ""),
        (2, "count", "uint64", ""),)

    def __init__(self, event: MechanismEvent, count: int) -> None:
        self.event = event
        self.count = count


class Composed(Message):
    """Several mechanisms on the same data.

    events: at least one, at most 4096
    count: How often the mechanism ran, in [1, 2^53]; absent = once.
    """
    events: Sequence[MechanismEvent]
    count: int = 1
    _wire = (
        (1, "events", "MechanismEvent", "*"),)
    _beside = (
        (1, "count", "uint64", "?"),)

    def __init__(self, events: Sequence[MechanismEvent], count: int = 1) -> None:
        self.events = events
        self.count = count


class MatrixMechanism(Message):
    """A linear mechanism with correlated noise: C x + noise is released, or what is computed from it. Where nothing
    is drawn at random, its cost is that of one Gaussian mechanism of the L2 sensitivity of C x to one record over
    the whole run.

    sensitivity: stated: > 0, for unit-norm contributions
    noise_stddev: > 0, for unit-norm contributions
    noise: GAUSSIAN, or ROUNDED_GAUSSIAN: C x is computed in whole multiples of a grid, exactly, and so is the noise.
    count: How often the mechanism ran, in [1, 2^53]; absent = once.
    """
    noise_stddev: float
    sensitivity: Optional[float] = None
    tree: Optional[TreeEncoder] = None
    toeplitz: Optional[ToeplitzEncoder] = None
    noise: NoiseKind = "gaussian"
    count: int = 1
    _wire = (
        (1, "sensitivity", "double", "?"),
        (3, "tree", "TreeEncoder", "?"),
        (4, "toeplitz", "ToeplitzEncoder", "?"),
        (2, "noise_stddev", "double", ""),
        (5, "noise", "NoiseKind", ""),)
    _beside = (
        (1, "count", "uint64", "?"),)

    def __init__(self, noise_stddev: float, sensitivity: Optional[float] = None, tree: Optional[TreeEncoder] = None,
                 toeplitz: Optional[ToeplitzEncoder] = None, noise: NoiseKind = "gaussian", count: int = 1) -> None:
        self.noise_stddev = noise_stddev
        self.sensitivity = sensitivity
        self.tree = tree
        self.toeplitz = toeplitz
        self.noise = noise
        self.count = count


class RenyiCurve(Message):
    """A user-supplied Rényi curve: R(orders[i]) <= epsilons[i]. Valid under the declared adjacency only.

    orders: > 1, increasing; at least one
    epsilons: >= 0 (infinity allowed); as many as orders
    count: How often the mechanism ran, in [1, 2^53]; absent = once.
    """
    orders: Sequence[float]
    epsilons: Sequence[float]
    count: int = 1
    _wire = (
        (1, "orders", "double", "*"),
        (2, "epsilons", "double", "*"),)
    _beside = (
        (1, "count", "uint64", "?"),)

    def __init__(self, orders: Sequence[float], epsilons: Sequence[float], count: int = 1) -> None:
        self.orders = orders
        self.epsilons = epsilons
        self.count = count


class ReportNoisyMax(Message):
    """Adds independent noise to every score and releases the index of the greatest.

    noise_multiplier: noise scale over what one record can change in a score, > 0
    monotonic: adding a record moves every score the same way
    count: How often the mechanism ran, in [1, 2^53]; absent = once.
    """
    noise_multiplier: float
    noise: NoisyMaxNoise = "laplace-noise"
    monotonic: bool = False
    count: int = 1
    _wire = (
        (1, "noise_multiplier", "double", ""),
        (2, "noise", "NoisyMaxNoise", ""),
        (3, "monotonic", "bool", ""),)
    _beside = (
        (1, "count", "uint64", "?"),)

    def __init__(self, noise_multiplier: float, noise: NoisyMaxNoise = "laplace-noise", monotonic: bool = False,
                 count: int = 1) -> None:
        self.noise_multiplier = noise_multiplier
        self.noise = noise
        self.monotonic = monotonic
        self.count = count


class Shuffled(Message):
    """Each of `people` sends one report, made of that person's value alone by one randomizer, the same for all, and
    a shuffler removes who sent which. REPLACE_ONE, and ZERO_OUT where a person of a blank value sends a report of
    it: the number of reports is public.

    local_epsilon: of the randomizer: ε between any two values, a blank one included; >= 0
    people: at least so many, in [1, 2^53]
    count: How often the mechanism ran, in [1, 2^53]; absent = once.
    """
    local_epsilon: float
    people: int
    count: int = 1
    _wire = (
        (1, "local_epsilon", "double", ""),
        (2, "people", "uint64", ""),)
    _beside = (
        (1, "count", "uint64", "?"),)

    def __init__(self, local_epsilon: float, people: int, count: int = 1) -> None:
        self.local_epsilon = local_epsilon
        self.people = people
        self.count = count


class SparseVector(Message):
    """Compares the queries of a stream with one threshold, and stops after `cutoff` answers "above". The threshold
    gets Laplace noise once, each query its own; nothing but "above" or "below" is released.

    threshold_noise: noise scale over what one record can change in a query, > 0
    query_noise: the same of the noise on each query, > 0
    cutoff: in [1, 2^53]
    monotonic: adding a record moves every query the same way
    count: How often the mechanism ran, in [1, 2^53]; absent = once.
    """
    threshold_noise: float
    query_noise: float
    cutoff: int
    monotonic: bool = False
    count: int = 1
    _wire = (
        (1, "threshold_noise", "double", ""),
        (2, "query_noise", "double", ""),
        (3, "cutoff", "uint64", ""),
        (4, "monotonic", "bool", ""),)
    _beside = (
        (1, "count", "uint64", "?"),)

    def __init__(self, threshold_noise: float, query_noise: float, cutoff: int, monotonic: bool = False, count: int =
                 1) -> None:
        self.threshold_noise = threshold_noise
        self.query_noise = query_noise
        self.cutoff = cutoff
        self.monotonic = monotonic
        self.count = count


class Participation(Message):
    """In which steps a record's contributions may be: at most max_participations, any two at least min_separation
    apart. ZERO_OUT and REPLACE_ONE only, as removal would shift the steps of the other records.

    max_participations: in [1, 1024]
    min_separation: >= 1; 1 = no bound
    """
    max_participations: int
    min_separation: int
    _wire = (
        (1, "max_participations", "uint64", ""),
        (2, "min_separation", "uint64", ""),)

    def __init__(self, max_participations: int, min_separation: int) -> None:
        self.max_participations = max_participations
        self.min_separation = min_separation


class CyclicPoisson(Message):
    """Each record is in one of `period` groups for the whole run. Group g may take part in the steps g, g + period,
    ... (from 0) alone, and in each of them every record of it does so with `probability`, independently of all else
    (Choquette-Choo et al. 2023).

    period: in [1, steps], and at least the number of coefficients
    probability: in (0, 1]: of a record of the step's group, so a step samples probability/period of all
    """
    period: int
    probability: float
    groups: GroupAssignment = "groups-of-equal-size"
    _wire = (
        (1, "period", "uint64", ""),
        (2, "probability", "double", ""),
        (3, "groups", "GroupAssignment", ""),)

    def __init__(self, period: int, probability: float, groups: GroupAssignment = "groups-of-equal-size") -> None:
        self.period = period
        self.probability = probability
        self.groups = groups


class BallsInBins(Message):
    """Each record is in one of `bins` bins for the whole run, drawn uniformly, independently of the others, and kept
    secret. Bin i takes part in the steps i, i + bins, ... (from 0). ADD_OR_REMOVE_ONE and ZERO_OUT only.

    bins: in [1, steps]
    """
    bins: int
    _wire = (
        (1, "bins", "uint64", ""),)

    def __init__(self, bins: int) -> None:
        self.bins = bins


class MinSeparationSampling(Message):
    """Each record takes part in a step with `probability`, unless it did in one of the `min_separation` - 1 steps
    before. Stored; every answer that includes it is refused, as no bound on its cost is proved (November 2026), only
    estimates.

    probability: in (0, 1]
    min_separation: in [1, steps]
    """
    probability: float
    min_separation: int
    _wire = (
        (1, "probability", "double", ""),
        (2, "min_separation", "uint64", ""),)

    def __init__(self, probability: float, min_separation: int) -> None:
        self.probability = probability
        self.min_separation = min_separation


class TreeEncoder(Message):
    """The sums over all complete dyadic intervals of the steps (DP-FTRL; Kairouz et al. 2021).

    steps: in [1, 2^53]; with balls_in_bins in [1, 65536]
    balls_in_bins: at most 2048 bins
    """
    steps: int
    participation: Optional[Participation] = None
    balls_in_bins: Optional[BallsInBins] = None
    _wire = (
        (1, "steps", "uint64", ""),
        (2, "participation", "Participation", "?"),
        (3, "balls_in_bins", "BallsInBins", "?"),)

    def __init__(self, steps: int, participation: Optional[Participation] = None, balls_in_bins:
                 Optional[BallsInBins] = None) -> None:
        self.steps = steps
        self.participation = participation
        self.balls_in_bins = balls_in_bins


class ToeplitzEncoder(Message):
    """The lower-triangular Toeplitz matrix of these coefficients, from the diagonal down (banded, where they end).

    steps: in [1, 65536]
    coefficients: >= 0, not increasing, the first > 0; at most steps
    """
    steps: int
    coefficients: Sequence[float]
    participation: Optional[Participation] = None
    cyclic_poisson: Optional[CyclicPoisson] = None
    balls_in_bins: Optional[BallsInBins] = None
    min_separation_sampling: Optional[MinSeparationSampling] = None
    _wire = (
        (1, "steps", "uint64", ""),
        (2, "coefficients", "double", "*"),
        (3, "participation", "Participation", "?"),
        (4, "cyclic_poisson", "CyclicPoisson", "?"),
        (5, "balls_in_bins", "BallsInBins", "?"),
        (6, "min_separation_sampling", "MinSeparationSampling", "?"),)

    def __init__(self, steps: int, coefficients: Sequence[float], participation: Optional[Participation] = None,
                 cyclic_poisson: Optional[CyclicPoisson] = None, balls_in_bins: Optional[BallsInBins] = None,
                 min_separation_sampling: Optional[MinSeparationSampling] = None) -> None:
        self.steps = steps
        self.coefficients = coefficients
        self.participation = participation
        self.cyclic_poisson = cyclic_poisson
        self.balls_in_bins = balls_in_bins
        self.min_separation_sampling = min_separation_sampling


class BlockRange(Message):
    """Blocks of a budget, from `first` to `last`, both included. In a list they ascend and do not touch.

    first: 1 to 10,000
    """
    first: int
    last: int
    _wire = (
        (1, "first", "uint64", ""),
        (2, "last", "uint64", ""),)

    def __init__(self, first: int, last: int) -> None:
        self.first = first
        self.last = last


class BudgetGrant(Message):
    """So much of a budget is set aside for a ledger: in the budget it is counted whole, in the ledger it is what the
    run may cost. It takes the place of what the ledger was granted before.

    budget: name, on this server
    ledger: name, on this server
    plan: What the ledger's own entries may cost in all, from the first one on: at most 64 `rounds` and `mechanism`
        events. None: nothing. Other events are taken too, as long as they cost no more by any measure of the
        budget's filter.
    reason: at most 1024 bytes
    blocks: as the ledger declares them: in others of the budget's blocks this counts nothing
    """
    budget: str
    ledger: str
    plan: Sequence[Event]
    reason: str
    blocks: Sequence[BlockRange]
    _wire = (
        (1, "budget", "string", ""),
        (2, "ledger", "string", ""),
        (3, "plan", "Event", "*"),
        (4, "reason", "string", ""),
        (5, "blocks", "BlockRange", "*"),)

    def __init__(self, budget: str, ledger: str, plan: Sequence[Event], reason: str, blocks:
                 Sequence[BlockRange]) -> None:
        self.budget = budget
        self.ledger = ledger
        self.plan = plan
        self.reason = reason
        self.blocks = blocks


class Subject(Message):
    """What a question is about: one or several ledgers (composed), or events given here, or ledgers or a data set
    plus what-if events."""
    events: Sequence[Event] = ()
    _wire = (
        (2, "events", "Event", "*"),)

    def __init__(self, events: Sequence[Event] = ()) -> None:
        self.events = events


class AccountingOptions(Message):
    """How a question is to be answered.

    adjacency: Unspecified: the ledger's own; ADD_OR_REMOVE_ONE for events alone (with a warning).
    parameters: Events alone only. Unspecified: FIXED, with a warning.
    relative_gap: Wanted (upper - lower) / upper, in [1e-9, 1]; 0 = 1e-4. Not promised: the answer says what was
        reached.
    group_size: Neighbouring data sets differ in up to so many records (user-level privacy), at most 1024; 0 = 1.
        Answered for noise on sums; other mechanisms are refused, never scaled.
    as_planned: What the same events would cost had they been one plan, made without looking at outputs: of ADAPTIVE
        ledgers and of ledgers that nothing bounds together, whose answer is AS_PLANNED then, and no guarantee.
        Others are answered as without it. ComputeEpsilon and ComputeDelta take it, of runs alone: INVALID_ARGUMENT
        elsewhere, and of budgets.
    """
    method: Method = ""
    adjacency: Adjacency = ""
    parameters: Parameters = ""
    relative_gap: float = 0.0
    group_size: int = 0
    as_planned: bool = False
    _wire = (
        (1, "method", "Method", ""),
        (2, "adjacency", "Adjacency", ""),
        (3, "parameters", "Parameters", ""),
        (4, "relative_gap", "double", ""),
        (5, "group_size", "uint64", ""),
        (6, "as_planned", "bool", ""),)

    def __init__(self, method: Method = "", adjacency: Adjacency = "", parameters: Parameters = "", relative_gap:
                 float = 0.0, group_size: int = 0, as_planned: bool = False) -> None:
        self.method = method
        self.adjacency = adjacency
        self.parameters = parameters
        self.relative_gap = relative_gap
        self.group_size = group_size
        self.as_planned = as_planned


class AnswerDetails(Message):
    """What an answer is worth.

    method: that answered: "rdp", "pld", "contour", "gaussian"
    schemes: sampling schemes met
    entries: events given, or entries of the ledgers
    version: of the software
    filter_spending: What each ledger has spent of the filter that holds it. It is no guarantee: the answer is that
        of the bound, or of one FIXED ledger under a budget, of its plan.
    declaration_source: Who says data set, unit, adjacency and parameters.
    group_size: records in which neighbouring data sets differ, at least 1
    regime: which guarantee the answer's number is
    guarantee: The same in words, for people: what the number says about whom, against whom, and what it does not
        say. It begins with what speaks against it (corrections, releases that may be missing).
    population: the greatest that the entries state: δ must be far below 1/population; 0: they state none
    """
    method: str = ""
    adjacency: Adjacency = ""
    parameters: Parameters = ""
    schemes: Sequence[str] = ()
    assumptions: Sequence[str] = ()
    warnings: Sequence[str] = ()
    entries: int = 0
    ledgers: Sequence[LedgerReference] = ()
    version: str = ""
    filter_spending: Sequence[FilterSpending] = ()
    declaration_source: DeclarationSource = ""
    group_size: int = 0
    regime: Regime = ""
    guarantee: str = ""
    population: int = 0
    _wire = (
        (1, "method", "string", ""),
        (2, "adjacency", "Adjacency", ""),
        (3, "parameters", "Parameters", ""),
        (4, "schemes", "string", "*"),
        (5, "assumptions", "string", "*"),
        (6, "warnings", "string", "*"),
        (7, "entries", "uint64", ""),
        (8, "ledgers", "LedgerReference", "*"),
        (9, "version", "string", ""),
        (10, "filter_spending", "FilterSpending", "*"),
        (11, "declaration_source", "DeclarationSource", ""),
        (12, "group_size", "uint64", ""),
        (13, "regime", "Regime", ""),
        (14, "guarantee", "string", ""),
        (15, "population", "uint64", ""),)

    def __init__(self, method: str = "", adjacency: Adjacency = "", parameters: Parameters = "", schemes:
                 Sequence[str] = (), assumptions: Sequence[str] = (), warnings: Sequence[str] = (), entries: int = 0,
                 ledgers: Sequence[LedgerReference] = (), version: str = "", filter_spending:
                 Sequence[FilterSpending] = (), declaration_source: DeclarationSource = "", group_size: int = 0,
                 regime: Regime = "", guarantee: str = "", population: int = 0) -> None:
        self.method = method
        self.adjacency = adjacency
        self.parameters = parameters
        self.schemes = schemes
        self.assumptions = assumptions
        self.warnings = warnings
        self.entries = entries
        self.ledgers = ledgers
        self.version = version
        self.filter_spending = filter_spending
        self.declaration_source = declaration_source
        self.group_size = group_size
        self.regime = regime
        self.guarantee = guarantee
        self.population = population


class FilterSpending(Message):
    """What an adaptive ledger has spent of its filter.

    filter: What it bounds: "epsilon of order 8 (rdp)", "rho (zcdp)", "mu (gdp)", "epsilon at delta 1e-06 (mixture)".
    bound: of that
    spent: of that, rounded up
    odometer: Mixture filters only. With a probability of at least 1 - delta over the run's own outputs, the privacy
        loss of all that the ledger has released was at most `odometer` at every time, rounded up, whatever the
        bound. It speaks of the run that happened; it is no differential privacy.
    budget: Ledgers under a budget: its name, and what the ledger's grant comes to, in the same units, rounded up.
    crossed: By some measure of the filter, more was spent than the bound, or than was granted: what they promise did
        not hold.
    """
    ledger: str = ""
    filter: str = ""
    bound: float = 0.0
    spent: float = 0.0
    odometer: float = 0.0
    delta: float = 0.0
    budget: str = ""
    granted: float = 0.0
    crossed: bool = False
    _wire = (
        (1, "ledger", "string", ""),
        (2, "filter", "string", ""),
        (3, "bound", "double", ""),
        (4, "spent", "double", ""),
        (5, "odometer", "double", ""),
        (6, "delta", "double", ""),
        (7, "budget", "string", ""),
        (8, "granted", "double", ""),
        (9, "crossed", "bool", ""),)

    def __init__(self, ledger: str = "", filter: str = "", bound: float = 0.0, spent: float = 0.0, odometer: float =
                 0.0, delta: float = 0.0, budget: str = "", granted: float = 0.0, crossed: bool = False) -> None:
        self.ledger = ledger
        self.filter = filter
        self.bound = bound
        self.spent = spent
        self.odometer = odometer
        self.delta = delta
        self.budget = budget
        self.granted = granted
        self.crossed = crossed


class LedgerReference(Message):
    """A ledger that an answer stands on, and what it says of itself.

    rounds: that released something
    planned_rounds: 0 = not stated
    corrections: by sequence. They change no number
    missing: Releases that may be missing in it, the first 100. While there is one, the answer may be short.
    missing_count: how many there are, the first 100 included
    """
    name: str = ""
    size: int = 0
    root_hash: bytes = b""
    dataset: str = ""
    unit_of_privacy: str = ""
    state: LedgerState = ""
    rounds: int = 0
    planned_rounds: int = 0
    corrections: Sequence[CorrectionNote] = ()
    missing: Sequence[MissingReleases] = ()
    missing_count: int = 0
    _wire = (
        (1, "name", "string", ""),
        (2, "size", "uint64", ""),
        (3, "root_hash", "bytes", ""),
        (4, "dataset", "string", ""),
        (5, "unit_of_privacy", "string", ""),
        (6, "state", "LedgerState", ""),
        (7, "rounds", "uint64", ""),
        (8, "planned_rounds", "uint64", ""),
        (9, "corrections", "CorrectionNote", "*"),
        (10, "missing", "MissingReleases", "*"),
        (13, "missing_count", "uint64", ""),)

    def __init__(self, name: str = "", size: int = 0, root_hash: bytes = b"", dataset: str = "", unit_of_privacy: str
                 = "", state: LedgerState = "", rounds: int = 0, planned_rounds: int = 0, corrections:
                 Sequence[CorrectionNote] = (), missing: Sequence[MissingReleases] = (), missing_count: int =
                 0) -> None:
        self.name = name
        self.size = size
        self.root_hash = root_hash
        self.dataset = dataset
        self.unit_of_privacy = unit_of_privacy
        self.state = state
        self.rounds = rounds
        self.planned_rounds = planned_rounds
        self.corrections = corrections
        self.missing = missing
        self.missing_count = missing_count


class CorrectionNote(Message):
    """What a correction says of an earlier entry.

    sequence: of the correction itself
    corrected_sequence: of the entry that it speaks of
    """
    sequence: int = 0
    corrected_sequence: int = 0
    text: str = ""
    _wire = (
        (1, "sequence", "uint64", ""),
        (2, "corrected_sequence", "uint64", ""),
        (3, "text", "string", ""),)

    def __init__(self, sequence: int = 0, corrected_sequence: int = 0, text: str = "") -> None:
        self.sequence = sequence
        self.corrected_sequence = corrected_sequence
        self.text = text


class MissingReleases(Message):
    """Why releases of a writer may be missing in a ledger.

    incarnation: the sequence of the entry that opened it; 0: the writer opened none
    reason: in words
    """
    writer: str = ""
    incarnation: int = 0
    reason: str = ""
    _wire = (
        (1, "writer", "string", ""),
        (2, "incarnation", "uint64", ""),
        (3, "reason", "string", ""),)

    def __init__(self, writer: str = "", incarnation: int = 0, reason: str = "") -> None:
        self.writer = writer
        self.incarnation = incarnation
        self.reason = reason


class ComputeEpsilonRequest(Message):
    """What ComputeEpsilon is asked.

    delta: in [0, 1). At 0: the greatest privacy loss, infinite for Gaussian noise
    """
    subject: Optional[Subject] = None
    delta: float = 0.0
    options: Optional[AccountingOptions] = None
    _wire = (
        (1, "subject", "Subject", ""),
        (2, "delta", "double", ""),
        (3, "options", "AccountingOptions", ""),)

    def __init__(self, subject: Optional[Subject] = None, delta: float = 0.0, options: Optional[AccountingOptions] =
                 None) -> None:
        self.subject = subject
        self.delta = delta
        self.options = options


class ComputeEpsilonResponse(Message):
    """What ComputeEpsilon answers.

    epsilon: of what was spent
    planned_epsilon: The cost of the declared plan, present while the ledger has fewer rounds than planned. It covers
        a run that may be stopped early for what it showed; `epsilon` does not.
    """
    epsilon: Optional[Interval] = None
    delta: float = 0.0
    details: Optional[AnswerDetails] = None
    planned_epsilon: Optional[Interval] = None
    _wire = (
        (1, "epsilon", "Interval", ""),
        (2, "delta", "double", ""),
        (3, "details", "AnswerDetails", ""),
        (4, "planned_epsilon", "Interval", ""),)

    def __init__(self, epsilon: Optional[Interval] = None, delta: float = 0.0, details: Optional[AnswerDetails] =
                 None, planned_epsilon: Optional[Interval] = None) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.details = details
        self.planned_epsilon = planned_epsilon


class ComputeDeltaRequest(Message):
    """What ComputeDelta is asked.

    epsilon: >= 0, finite
    """
    subject: Optional[Subject] = None
    epsilon: float = 0.0
    options: Optional[AccountingOptions] = None
    _wire = (
        (1, "subject", "Subject", ""),
        (2, "epsilon", "double", ""),
        (3, "options", "AccountingOptions", ""),)

    def __init__(self, subject: Optional[Subject] = None, epsilon: float = 0.0, options: Optional[AccountingOptions]
                 = None) -> None:
        self.subject = subject
        self.epsilon = epsilon
        self.options = options


class ComputeDeltaResponse(Message):
    """What ComputeDelta answers."""
    delta: Optional[Interval] = None
    epsilon: float = 0.0
    details: Optional[AnswerDetails] = None
    planned_delta: Optional[Interval] = None
    _wire = (
        (1, "delta", "Interval", ""),
        (2, "epsilon", "double", ""),
        (3, "details", "AnswerDetails", ""),
        (4, "planned_delta", "Interval", ""),)

    def __init__(self, delta: Optional[Interval] = None, epsilon: float = 0.0, details: Optional[AnswerDetails] =
                 None, planned_delta: Optional[Interval] = None) -> None:
        self.delta = delta
        self.epsilon = epsilon
        self.details = details
        self.planned_delta = planned_delta


class CalibrateRequest(Message):
    """Either one parameter of `steps` rounds of one Gaussian sum query under Poisson sampling (`solve`; give all but
    the one solved for), or any one number in a list of events (`events` and `hole`).

    epsilon: target, > 0
    delta: target, in (0, 1); 0 too with a hole
    hole: The path of the number to find, "events[0].rounds.queries[0].noise_stddev", in proto or JSON names. What
        stands there is where the search begins. Real numbers are looked for in [1e-9, 1e9], probabilities in (0, 1],
        whole numbers in [1, 2^53] (rounds of an epoch scheme: whole epochs).
    compare_methods: also answer by each method alone
    subject: What the data have been through already: the target is for it and the run together, and the answer is
        what is left for the run. The run's epochs and bins are none of the subject's.
    """
    epsilon: float = 0.0
    delta: float = 0.0
    solve: Unknown = ""
    noise_multiplier: float = 0.0
    sampling_probability: float = 0.0
    steps: int = 0
    options: Optional[AccountingOptions] = None
    events: Sequence[Event] = ()
    hole: str = ""
    compare_methods: bool = False
    subject: Optional[Subject] = None
    _wire = (
        (1, "epsilon", "double", ""),
        (2, "delta", "double", ""),
        (3, "solve", "Unknown", ""),
        (4, "noise_multiplier", "double", ""),
        (5, "sampling_probability", "double", ""),
        (6, "steps", "uint64", ""),
        (7, "options", "AccountingOptions", ""),
        (8, "events", "Event", "*"),
        (9, "hole", "string", ""),
        (10, "compare_methods", "bool", ""),
        (11, "subject", "Subject", ""),)

    def __init__(self, epsilon: float = 0.0, delta: float = 0.0, solve: Unknown = "", noise_multiplier: float = 0.0,
                 sampling_probability: float = 0.0, steps: int = 0, options: Optional[AccountingOptions] = None,
                 events: Sequence[Event] = (), hole: str = "", compare_methods: bool = False, subject:
                 Optional[Subject] = None) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.solve = solve
        self.noise_multiplier = noise_multiplier
        self.sampling_probability = sampling_probability
        self.steps = steps
        self.options = options
        self.events = events
        self.hole = hole
        self.compare_methods = compare_methods
        self.subject = subject


class CalibrationByMethod(Message):
    """What one method alone gives: a value, or why it has none."""
    method: str
    value: float
    optimum: Interval
    epsilon: Interval
    error: str
    _wire = (
        (1, "method", "string", ""),
        (2, "value", "double", ""),
        (3, "optimum", "Interval", ""),
        (4, "epsilon", "Interval", ""),
        (5, "error", "string", ""),)

    def __init__(self, method: str, value: float, optimum: Interval, epsilon: Interval, error: str) -> None:
        self.method = method
        self.value = value
        self.optimum = optimum
        self.epsilon = epsilon
        self.error = error


class CalibrateResponse(Message):
    """What Calibrate answers.

    value: of the hole
    optimum: contains the value at which ε equals the target
    epsilon: at the solution, with the subject; upper <= target
    """
    noise_multiplier: Optional[float] = None
    steps: Optional[int] = None
    sampling_probability: Optional[float] = None
    value: Optional[float] = None
    optimum: Optional[Interval] = None
    epsilon: Optional[Interval] = None
    delta: float = 0.0
    details: Optional[AnswerDetails] = None
    by_method: Sequence[CalibrationByMethod] = ()
    _wire = (
        (1, "noise_multiplier", "double", "?"),
        (2, "steps", "uint64", "?"),
        (3, "sampling_probability", "double", "?"),
        (8, "value", "double", "?"),
        (4, "optimum", "Interval", ""),
        (5, "epsilon", "Interval", ""),
        (6, "delta", "double", ""),
        (7, "details", "AnswerDetails", ""),
        (9, "by_method", "CalibrationByMethod", "*"),)

    def __init__(self, noise_multiplier: Optional[float] = None, steps: Optional[int] = None, sampling_probability:
                 Optional[float] = None, value: Optional[float] = None, optimum: Optional[Interval] = None, epsilon:
                 Optional[Interval] = None, delta: float = 0.0, details: Optional[AnswerDetails] = None, by_method:
                 Sequence[CalibrationByMethod] = ()) -> None:
        self.noise_multiplier = noise_multiplier
        self.steps = steps
        self.sampling_probability = sampling_probability
        self.value = value
        self.optimum = optimum
        self.epsilon = epsilon
        self.delta = delta
        self.details = details
        self.by_method = by_method


class NegativeBinomialTrials(Message):
    """The number of runs has a negative binomial distribution without 0.

    eta: > -1; 0 is the logarithmic distribution, 1 the geometric
    mean: in (1, 1e15]
    """
    eta: float
    mean: float
    _wire = (
        (1, "eta", "double", ""),
        (2, "mean", "double", ""),)

    def __init__(self, eta: float, mean: float) -> None:
        self.eta = eta
        self.mean = mean


class PoissonTrials(Message):
    """The number of runs has a Poisson distribution.

    mean: in (0, 1e15]
    """
    mean: float
    _wire = (
        (1, "mean", "double", ""),)

    def __init__(self, mean: float) -> None:
        self.mean = mean


class FixedTrials(Message):
    """Exactly `count` runs.

    count: in [1, 2^53]
    """
    count: int
    _wire = (
        (1, "count", "uint64", ""),)

    def __init__(self, count: int) -> None:
        self.count = count


class BinomialTrials(Message):
    """Each of `trials` runs takes place with this probability.

    trials: in [1, 2^53]
    probability: in (0, 1]
    """
    trials: int
    probability: float
    _wire = (
        (1, "trials", "uint64", ""),
        (2, "probability", "double", ""),)

    def __init__(self, trials: int, probability: float) -> None:
        self.trials = trials
        self.probability = probability


class LeastCostTrials(Message):
    """Whichever distribution with this mean costs least, among those that make at most one run (no search) with at
    most this probability; the response says which.

    mean: in (1, 1e15]
    at_most_one_probability: in (0, 1]; 0 = 0.5
    """
    mean: float
    at_most_one_probability: float
    _wire = (
        (1, "mean", "double", ""),
        (2, "at_most_one_probability", "double", ""),)

    def __init__(self, mean: float, at_most_one_probability: float) -> None:
        self.mean = mean
        self.at_most_one_probability = at_most_one_probability


class ComputeTuningCostRequest(Message):
    """What ComputeTuningCost is asked.

    subject: one run
    """
    subject: Optional[Subject] = None
    delta: float = 0.0
    trials: Optional[Trials] = None
    options: Optional[AccountingOptions] = None
    _wire = (
        (1, "subject", "Subject", ""),
        (2, "delta", "double", ""),
        (3, "trials", "Trials", ""),
        (4, "options", "AccountingOptions", ""),)

    def __init__(self, subject: Optional[Subject] = None, delta: float = 0.0, trials: Optional[Trials] = None,
                 options: Optional[AccountingOptions] = None) -> None:
        self.subject = subject
        self.delta = delta
        self.trials = trials
        self.options = options


class TuningAnalysis(Message):
    """One way to bound the cost of a search: "profile" (through the privacy profile), "rdp", "composition" (of all
    runs there can be; holds even if every run is released)."""
    name: str
    epsilon: Interval
    _wire = (
        (1, "name", "string", ""),
        (2, "epsilon", "Interval", ""),)

    def __init__(self, name: str, epsilon: Interval) -> None:
        self.name = name
        self.epsilon = epsilon


class ComputeTuningCostResponse(Message):
    """What ComputeTuningCost answers.

    epsilon: Of the whole search: the least upper bound of all analyses. `lower` is what the worst quality score
        shows.
    gamma: negative binomial only: the distribution's γ
    analysis: whose upper bound `epsilon` has
    trials: as asked; for least_cost the ones that were found
    at_most_one_probability: of making at most one run
    planned_epsilon: Of the search if each run costs its declared plan, present while the ledger has fewer rounds
        than planned. A search that stops runs for what they show costs this.
    """
    epsilon: Optional[Interval] = None
    single_run_epsilon: Optional[Interval] = None
    delta: float = 0.0
    gamma: float = 0.0
    details: Optional[AnswerDetails] = None
    analysis: str = ""
    analyses: Sequence[TuningAnalysis] = ()
    trials: Optional[Trials] = None
    at_most_one_probability: float = 0.0
    planned_epsilon: Optional[Interval] = None
    _wire = (
        (1, "epsilon", "Interval", ""),
        (2, "single_run_epsilon", "Interval", ""),
        (3, "delta", "double", ""),
        (4, "gamma", "double", ""),
        (5, "details", "AnswerDetails", ""),
        (6, "analysis", "string", ""),
        (7, "analyses", "TuningAnalysis", "*"),
        (8, "trials", "Trials", ""),
        (9, "at_most_one_probability", "double", ""),
        (10, "planned_epsilon", "Interval", ""),)

    def __init__(self, epsilon: Optional[Interval] = None, single_run_epsilon: Optional[Interval] = None, delta:
                 float = 0.0, gamma: float = 0.0, details: Optional[AnswerDetails] = None, analysis: str = "",
                 analyses: Sequence[TuningAnalysis] = (), trials: Optional[Trials] = None, at_most_one_probability:
                 float = 0.0, planned_epsilon: Optional[Interval] = None) -> None:
        self.epsilon = epsilon
        self.single_run_epsilon = single_run_epsilon
        self.delta = delta
        self.gamma = gamma
        self.details = details
        self.analysis = analysis
        self.analyses = analyses
        self.trials = trials
        self.at_most_one_probability = at_most_one_probability
        self.planned_epsilon = planned_epsilon


class ComputeProfileRequest(Message):
    """Every list has at most 1000 values; at least one list or gaussian_least_delta must be given.

    epsilons: One of the two: each value gives a point. each finite and >= 0
    deltas: each in [0, 1)
    type_one_errors: each in [0, 1]: the trade-off curve there
    priors: each in (0, 1): success at these priors
    gaussian_least_delta: in (0, 0.99): the Gaussian for δ from there up; 0 = none wanted
    """
    subject: Optional[Subject] = None
    options: Optional[AccountingOptions] = None
    epsilons: Sequence[float] = ()
    deltas: Sequence[float] = ()
    type_one_errors: Sequence[float] = ()
    priors: Sequence[float] = ()
    gaussian_least_delta: float = 0.0
    _wire = (
        (1, "subject", "Subject", ""),
        (2, "options", "AccountingOptions", ""),
        (3, "epsilons", "double", "*"),
        (4, "deltas", "double", "*"),
        (5, "type_one_errors", "double", "*"),
        (6, "priors", "double", "*"),
        (7, "gaussian_least_delta", "double", ""),)

    def __init__(self, subject: Optional[Subject] = None, options: Optional[AccountingOptions] = None, epsilons:
                 Sequence[float] = (), deltas: Sequence[float] = (), type_one_errors: Sequence[float] = (), priors:
                 Sequence[float] = (), gaussian_least_delta: float = 0.0) -> None:
        self.subject = subject
        self.options = options
        self.epsilons = epsilons
        self.deltas = deltas
        self.type_one_errors = type_one_errors
        self.priors = priors
        self.gaussian_least_delta = gaussian_least_delta


class ComputeProfileResponse(Message):
    """What ComputeProfile answers.

    points: in the order asked
    advantage: The most that an attacker's true positive rate exceeds the false positive rate: δ at ε = 0.
    """
    points: Sequence[ProfilePoint] = ()
    advantage: Optional[Interval] = None
    trade_off: Sequence[ErrorRates] = ()
    bayes_success: Sequence[BayesSuccess] = ()
    gaussian_fit: Optional[GaussianFit] = None
    details: Optional[AnswerDetails] = None
    _wire = (
        (1, "points", "ProfilePoint", "*"),
        (2, "advantage", "Interval", ""),
        (3, "trade_off", "ErrorRates", "*"),
        (4, "bayes_success", "BayesSuccess", "*"),
        (5, "gaussian_fit", "GaussianFit", ""),
        (6, "details", "AnswerDetails", ""),)

    def __init__(self, points: Sequence[ProfilePoint] = (), advantage: Optional[Interval] = None, trade_off:
                 Sequence[ErrorRates] = (), bayes_success: Sequence[BayesSuccess] = (), gaussian_fit:
                 Optional[GaussianFit] = None, details: Optional[AnswerDetails] = None) -> None:
        self.points = points
        self.advantage = advantage
        self.trade_off = trade_off
        self.bayes_success = bayes_success
        self.gaussian_fit = gaussian_fit
        self.details = details


class ProfilePoint(Message):
    """A point of the privacy profile.

    epsilon: the one asked about has equal bounds
    planned: the other, of the declared plan, while the ledger has fewer rounds than planned
    """
    epsilon: Interval
    delta: Interval
    planned: Interval
    _wire = (
        (1, "epsilon", "Interval", ""),
        (2, "delta", "Interval", ""),
        (3, "planned", "Interval", ""),)

    def __init__(self, epsilon: Interval, delta: Interval, planned: Interval) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.planned = planned


class ErrorRates(Message):
    """The least type II error of a test whose type I error is as given. 1 - β is the true positive rate at false
    positive rate type_one, and bounds the success of reconstructing a record that is guessed without the output with
    that probability.

    remove: null hypothesis: the record is out
    add: null hypothesis: the record is in
    symmetric: the largest convex curve below both
    """
    type_one: float
    remove: Interval
    add: Interval
    symmetric: Interval
    _wire = (
        (1, "type_one", "double", ""),
        (2, "remove", "Interval", ""),
        (3, "add", "Interval", ""),
        (4, "symmetric", "Interval", ""),)

    def __init__(self, type_one: float, remove: Interval, add: Interval, symmetric: Interval) -> None:
        self.type_one = type_one
        self.remove = remove
        self.add = add
        self.symmetric = symmetric


class BayesSuccess(Message):
    """The chance to tell rightly which of two neighbouring inputs it was, one of which had `prior`; the larger over
    which."""
    prior: float
    success: Interval
    _wire = (
        (1, "prior", "double", ""),
        (2, "success", "Interval", ""),)

    def __init__(self, prior: float, success: Interval) -> None:
        self.prior = prior
        self.success = success


class GaussianFit(Message):
    """The smallest μ for which a Gaussian mechanism of noise multiplier 1/μ, run once, is at least as revealing for
    δ in a range.

    mu: upper is the one to report
    regret: The most, over priors, by which the Gaussian of mu.upper overstates an attacker's chance to tell rightly.
    least_delta: the range: for every δ in it the Gaussian's ε is at least the true one
    """
    mu: Interval
    regret: Interval
    least_delta: float
    greatest_delta: float
    _wire = (
        (1, "mu", "Interval", ""),
        (2, "regret", "Interval", ""),
        (3, "least_delta", "double", ""),
        (4, "greatest_delta", "double", ""),)

    def __init__(self, mu: Interval, regret: Interval, least_delta: float, greatest_delta: float) -> None:
        self.mu = mu
        self.regret = regret
        self.least_delta = least_delta
        self.greatest_delta = greatest_delta


class AuditClaimRequest(Message):
    """What AuditClaim is asked.

    subject: whose claim; without it only the bound is answered
    delta: in [0, 1)
    confidence: in (0, 1); 0 = 0.95
    """
    subject: Optional[Subject] = None
    options: Optional[AccountingOptions] = None
    delta: float = 0.0
    confidence: float = 0.0
    one_run: Optional[OneRunAudit] = None
    many_runs: Optional[ManyRunsAudit] = None
    _wire = (
        (1, "subject", "Subject", ""),
        (2, "options", "AccountingOptions", ""),
        (3, "delta", "double", ""),
        (4, "confidence", "double", ""),
        (5, "one_run", "OneRunAudit", "?"),
        (6, "many_runs", "ManyRunsAudit", "?"),)

    def __init__(self, subject: Optional[Subject] = None, options: Optional[AccountingOptions] = None, delta: float =
                 0.0, confidence: float = 0.0, one_run: Optional[OneRunAudit] = None, many_runs:
                 Optional[ManyRunsAudit] = None) -> None:
        self.subject = subject
        self.options = options
        self.delta = delta
        self.confidence = confidence
        self.one_run = one_run
        self.many_runs = many_runs


class OneRunAudit(Message):
    """One run with canaries, each in or out by a fair coin; the auditor guessed which for some (Steinke, Nasr,
    Jagielski 2023).

    canaries: in [1, 2^53]
    guesses: in [1, min(canaries, 1e9)]
    """
    canaries: int
    guesses: int
    correct: int
    _wire = (
        (1, "canaries", "uint64", ""),
        (2, "guesses", "uint64", ""),
        (3, "correct", "uint64", ""),)

    def __init__(self, canaries: int, guesses: int, correct: int) -> None:
        self.canaries = canaries
        self.guesses = guesses
        self.correct = correct


class ManyRunsAudit(Message):
    """Runs with and without one record, and a test of each output.

    with_record: in [1, 1e9]
    """
    with_record: int
    detected_with: int
    without_record: int
    detected_without: int
    _wire = (
        (1, "with_record", "uint64", ""),
        (2, "detected_with", "uint64", ""),
        (3, "without_record", "uint64", ""),
        (4, "detected_without", "uint64", ""),)

    def __init__(self, with_record: int, detected_with: int, without_record: int, detected_without: int) -> None:
        self.with_record = with_record
        self.detected_with = detected_with
        self.without_record = without_record
        self.detected_without = detected_without


class AuditClaimResponse(Message):
    """What AuditClaim answers.

    epsilon_lower_bound: at the confidence; 0 if the attack shows nothing
    claimed_epsilon: of the subject
    refuted: The claim cannot be: claimed_epsilon.upper is below the bound, or observed.type_two below the subject's
        least for observed.type_one, at that confidence; or curve.refuted.
    observed: many runs
    claimed_type_two: many runs: the subject's least type II error at observed.type_one
    curve: one run of at most 100,000 guesses
    """
    epsilon_lower_bound: float = 0.0
    claimed_epsilon: Optional[Interval] = None
    refuted: bool = False
    delta: float = 0.0
    confidence: float = 0.0
    observed: Optional[ErrorRateBounds] = None
    claimed_type_two: Optional[Interval] = None
    details: Optional[AnswerDetails] = None
    curve: Optional[CurveAudit] = None
    _wire = (
        (1, "epsilon_lower_bound", "double", ""),
        (2, "claimed_epsilon", "Interval", ""),
        (3, "refuted", "bool", ""),
        (4, "delta", "double", ""),
        (5, "confidence", "double", ""),
        (6, "observed", "ErrorRateBounds", ""),
        (7, "claimed_type_two", "Interval", ""),
        (8, "details", "AnswerDetails", ""),
        (9, "curve", "CurveAudit", ""),)

    def __init__(self, epsilon_lower_bound: float = 0.0, claimed_epsilon: Optional[Interval] = None, refuted: bool =
                 False, delta: float = 0.0, confidence: float = 0.0, observed: Optional[ErrorRateBounds] = None,
                 claimed_type_two: Optional[Interval] = None, details: Optional[AnswerDetails] = None, curve:
                 Optional[CurveAudit] = None) -> None:
        self.epsilon_lower_bound = epsilon_lower_bound
        self.claimed_epsilon = claimed_epsilon
        self.refuted = refuted
        self.delta = delta
        self.confidence = confidence
        self.observed = observed
        self.claimed_type_two = claimed_type_two
        self.details = details
        self.curve = curve


class CurveAudit(Message):
    """One run against whole trade-off curves (Mahloujifar, Melis, Chaudhuri 2024): where a mechanism's is near a
    Gaussian's it shows about twice the ε of epsilon_lower_bound. Each of the two holds at the confidence; both do at
    1 - 2(1 - confidence).

    gaussian_mu: the largest μ found such that the mechanism is not μ-Gaussian DP; 0 if none
    gaussian_epsilon: ε at delta of the Gaussian mechanism of that μ, rounded down
    refuted: the subject's own trade-off curve cannot be
    """
    gaussian_mu: float
    gaussian_epsilon: float
    refuted: bool
    _wire = (
        (1, "gaussian_mu", "double", ""),
        (2, "gaussian_epsilon", "double", ""),
        (3, "refuted", "bool", ""),)

    def __init__(self, gaussian_mu: float, gaussian_epsilon: float, refuted: bool) -> None:
        self.gaussian_mu = gaussian_mu
        self.gaussian_epsilon = gaussian_epsilon
        self.refuted = refuted


class ErrorRateBounds(Message):
    """Upper bounds on the error rates of the test, both true at the confidence."""
    type_one: float
    type_two: float
    _wire = (
        (1, "type_one", "double", ""),
        (2, "type_two", "double", ""),)

    def __init__(self, type_one: float, type_two: float) -> None:
        self.type_one = type_one
        self.type_two = type_two


class ComputeBudgetRequest(Message):
    """What ComputeBudget is asked.

    plan: as in BudgetGrant: what if this were granted too
    ledger: to this ledger, instead of what it was granted before. Empty: to another one
    blocks: That the plan is for, as in Declaration. None: those of what the ledger was granted, else all.
    """
    budget: str = ""
    plan: Sequence[Event] = ()
    ledger: str = ""
    blocks: Sequence[BlockRange] = ()
    _wire = (
        (1, "budget", "string", ""),
        (2, "plan", "Event", "*"),
        (3, "ledger", "string", ""),
        (4, "blocks", "BlockRange", "*"),)

    def __init__(self, budget: str = "", plan: Sequence[Event] = (), ledger: str = "", blocks: Sequence[BlockRange] =
                 ()) -> None:
        self.budget = budget
        self.plan = plan
        self.ledger = ledger
        self.blocks = blocks


class ComputeBudgetResponse(Message):
    """What ComputeBudget answers.

    budget: as it was read
    spending: `spent` is what is granted, used or not; of a budget with blocks, of the fullest
    grants: by ledger, without those of nothing; at most 1000, and about 1 MiB
    grant_count: all of them
    spent_with_plan: of spending.bound, rounded up
    blocks: of a budget with blocks: ascending, without those of which nothing is granted
    present_grant: what the request's ledger is granted, if it was granted something
    rounds_left: How many rounds of the plan's last event would fit beside the rest of it; absent where that is no
        rounds, or of whole epochs, and of a sealed budget.
    runs: What the ledgers of `grants` have spent, in their order, as far as the server knew a moment ago; without
        what is not known yet, and without events of the question.
    overspent: Ledgers under the budget that have spent more than they were granted (late entries, which are stored
        whatever they cost), at most 100. While there is one, the budget is overspent: questions about it have no
        answer, and nothing is granted to others.
    pace: absent: the budget is sealed, or less than a day old
    retired_blocks: of which nothing more is granted
    retired_block: the first of the plan's blocks that is retired, and so why it does not fit; 0: none
    with_more_noise: A plan that does not fit: its last event with so much more noise that it would, rounded up in
        the fourth digit. Absent where nothing below a million times the noise fits, or no such event was found in a
        second; and for other events than rounds, Gaussian and Laplace mechanisms.
    below_spent: The request's ledger has spent more than the plan, by some measure, and so it does not fit: what is
        spent stays granted. False where the caller may not ask about that ledger.
    """
    budget: Optional[LedgerReference] = None
    spending: Optional[FilterSpending] = None
    grants: Sequence[BudgetGrant] = ()
    grant_count: int = 0
    spent_with_plan: float = 0.0
    fits: bool = False
    blocks: Sequence[BlockSpending] = ()
    present_grant: Optional[BudgetGrant] = None
    rounds_left: Optional[int] = None
    runs: Sequence[FilterSpending] = ()
    overspent: Sequence[str] = ()
    pace: Optional[BudgetPace] = None
    retired_blocks: Sequence[BlockRange] = ()
    retired_block: int = 0
    with_more_noise: Optional[Event] = None
    below_spent: bool = False
    _wire = (
        (1, "budget", "LedgerReference", ""),
        (2, "spending", "FilterSpending", ""),
        (3, "grants", "BudgetGrant", "*"),
        (4, "grant_count", "uint64", ""),
        (5, "spent_with_plan", "double", ""),
        (6, "fits", "bool", ""),
        (8, "blocks", "BlockSpending", "*"),
        (9, "present_grant", "BudgetGrant", ""),
        (7, "rounds_left", "uint64", "?"),
        (11, "runs", "FilterSpending", "*"),
        (12, "overspent", "string", "*"),
        (13, "pace", "BudgetPace", ""),
        (14, "retired_blocks", "BlockRange", "*"),
        (15, "retired_block", "uint64", ""),
        (16, "with_more_noise", "Event", ""),
        (17, "below_spent", "bool", ""),)

    def __init__(self, budget: Optional[LedgerReference] = None, spending: Optional[FilterSpending] = None, grants:
                 Sequence[BudgetGrant] = (), grant_count: int = 0, spent_with_plan: float = 0.0, fits: bool = False,
                 blocks: Sequence[BlockSpending] = (), present_grant: Optional[BudgetGrant] = None, rounds_left:
                 Optional[int] = None, runs: Sequence[FilterSpending] = (), overspent: Sequence[str] = (), pace:
                 Optional[BudgetPace] = None, retired_blocks: Sequence[BlockRange] = (), retired_block: int = 0,
                 with_more_noise: Optional[Event] = None, below_spent: bool = False) -> None:
        self.budget = budget
        self.spending = spending
        self.grants = grants
        self.grant_count = grant_count
        self.spent_with_plan = spent_with_plan
        self.fits = fits
        self.blocks = blocks
        self.present_grant = present_grant
        self.rounds_left = rounds_left
        self.runs = runs
        self.overspent = overspent
        self.pace = pace
        self.retired_blocks = retired_blocks
        self.retired_block = retired_block
        self.with_more_noise = with_more_noise
        self.below_spent = below_spent


class BudgetPace(Message):
    """How fast a budget is granted.

    since: 30 days ago, or when the budget was made
    spent_before: FilterSpending.spent, then
    runs_out: When a block (without blocks: the budget) would be full, if as much were granted in each day to come as
        in those since then, by each measure of the filter. Absent: nothing more was granted, or not within 100
        years.
    """
    since: Timestamp
    spent_before: float
    runs_out: Timestamp
    _wire = (
        (1, "since", "Timestamp", ""),
        (2, "spent_before", "double", ""),
        (3, "runs_out", "Timestamp", ""),)

    def __init__(self, since: Timestamp, spent_before: float, runs_out: Timestamp) -> None:
        self.since = since
        self.spent_before = spent_before
        self.runs_out = runs_out


class BlockSpending(Message):
    """What is granted of each of these blocks.

    spent: as in FilterSpending, rounded up
    """
    blocks: BlockRange
    spent: float
    _wire = (
        (1, "blocks", "BlockRange", ""),
        (2, "spent", "double", ""),)

    def __init__(self, blocks: BlockRange, spent: float) -> None:
        self.blocks = blocks
        self.spent = spent


Trials = Union[
    NegativeBinomialTrials, PoissonTrials, FixedTrials, BinomialTrials, LeastCostTrials]
MechanismEvent = Union[
    NoOp, NonPrivate, Unsupported, Gaussian, Laplace, DiscreteLaplace, DiscreteGaussian, RandomizedResponse,
    EpsilonDelta, ZCDp, ExponentialMechanism, PermuteAndFlip, MixtureOfGaussians, PoissonSampled,
    SampledWithoutReplacement, SampledWithReplacement, TruncatedSubsampledGaussian, SingleEpochTreeAggregation,
    RepeatAndSelect, SelfComposed, Composed, MatrixMechanism, RenyiCurve, ReportNoisyMax, Shuffled, SparseVector]
SamplingScheme = Union[
    Poisson, WithoutReplacement, WithReplacement, FullBatch, DisjointBatches, RandomAllocation, TruncatedPoisson]
Event = Union[
    SamplingEvent, SumQueryEvent, RoundsEvent, MechanismEvent]

# Of each folded message: its cases by number, and the names that the API has for them.
FOLDED: Dict[str, Dict[int, Tuple[str, Any]]] = {
    "Trials": {
        1: ("negative_binomial", NegativeBinomialTrials),
        2: ("poisson", PoissonTrials),
        3: ("fixed", FixedTrials),
        4: ("binomial", BinomialTrials),
        5: ("least_cost", LeastCostTrials),
    },
    "MechanismEvent": {
        2: ("no_op", NoOp),
        3: ("non_private", NonPrivate),
        4: ("unsupported", Unsupported),
        5: ("gaussian", Gaussian),
        6: ("laplace", Laplace),
        7: ("discrete_laplace", DiscreteLaplace),
        8: ("discrete_gaussian", DiscreteGaussian),
        9: ("randomized_response", RandomizedResponse),
        10: ("epsilon_delta", EpsilonDelta),
        11: ("zcdp", ZCDp),
        12: ("exponential_mechanism", ExponentialMechanism),
        13: ("permute_and_flip", PermuteAndFlip),
        14: ("mixture_of_gaussians", MixtureOfGaussians),
        15: ("poisson_sampled", PoissonSampled),
        16: ("sampled_without_replacement", SampledWithoutReplacement),
        17: ("sampled_with_replacement", SampledWithReplacement),
        18: ("truncated_subsampled_gaussian", TruncatedSubsampledGaussian),
        19: ("single_epoch_tree_aggregation", SingleEpochTreeAggregation),
        20: ("repeat_and_select", RepeatAndSelect),
        21: ("self_composed", SelfComposed),
        22: ("composed", Composed),
        23: ("matrix_mechanism", MatrixMechanism),
        24: ("renyi_curve", RenyiCurve),
        25: ("report_noisy_max", ReportNoisyMax),
        26: ("shuffled", Shuffled),
        27: ("sparse_vector", SparseVector),
    },
    "SamplingScheme": {
        2: ("poisson", Poisson),
        3: ("without_replacement", WithoutReplacement),
        4: ("with_replacement", WithReplacement),
        5: ("full_batch", FullBatch),
        6: ("disjoint_batches", DisjointBatches),
        7: ("random_allocation", RandomAllocation),
        8: ("truncated_poisson", TruncatedPoisson),
    },
    "Event": {
        1: ("sampling", SamplingEvent),
        2: ("sum_query", SumQueryEvent),
        3: ("rounds", RoundsEvent),
        4: ("mechanism", "MechanismEvent"),
    },
}
ENUMS: Dict[str, Dict[str, int]] = {
    "SampleSource": {"sample-stated": 0, "sample-drawn": 1},
    "NoiseKind": {"gaussian": 0, "rounded-gaussian": 1, "discrete-gaussian": 2},
    "NoisyMaxNoise": {"laplace-noise": 0, "exponential-noise": 1, "gumbel-noise": 2},
    "GroupAssignment": {"groups-of-equal-size": 0, "groups-drawn-one-by-one": 1},
    "Adjacency": {"": 0, "add-or-remove-one": 1, "replace-one": 2, "zero-out": 3},
    "Parameters": {"": 0, "fixed": 1, "adaptive": 2},
    "LedgerState": {"": 0, "open": 1, "sealed": 2},
    "Method": {"": 0, "best": 1, "rdp": 2, "pld": 3, "contour": 4, "gaussian-closed-form": 5},
    "Regime": {"": 0, "fixed-plan": 1, "filter": 2, "odometer": 3, "as-planned": 4},
    "DeclarationSource": {"": 0, "declared": 1, "assumed": 2, "stated": 3},
    "Unknown": {"": 0, "noise-multiplier": 1, "steps": 2, "sampling-probability": 3},
}
RESPONSES: Dict[str, Any] = {
    "ComputeEpsilon": ComputeEpsilonResponse,
    "ComputeDelta": ComputeDeltaResponse,
    "Calibrate": CalibrateResponse,
    "ComputeTuningCost": ComputeTuningCostResponse,
    "ComputeProfile": ComputeProfileResponse,
    "AuditClaim": AuditClaimResponse,
    "ComputeBudget": ComputeBudgetResponse,
}
