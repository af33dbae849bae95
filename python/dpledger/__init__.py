"""Differential privacy's price, and a ledger of it.

    >>> import dpledger
    >>> dpledger.epsilon(noise_multiplier=1.0, sample_rate=0.01, steps=10_000, delta=1e-5).epsilon
    Interval(6.187712, 6.187713)

The numbers come from dpledger's C++ library, which stands beside this package; everything here asks
it. `Recorder` keeps a ledger of a run. Modules that need other packages are imported by name:
dpledger.torch, dpledger.numpy, dpledger.dp_accounting, dpledger.opacus.
"""
from typing import TYPE_CHECKING

from .accounting import audit, calibrate, delta, dp_sgd, epsilon, profile, statement, tuning
from .answers import (Answer, AuditResult, Calibration, DeltaAnswer, EpsilonAnswer, Profile,
                      Statement, TuningCost)
from .errors import Error, InvalidArgument, LibraryNotFound, WrongType
from .interval import Interval
from .recorder import Recorder, Round, Sampler
from .store import LedgerInfo, LedgerStatement, Store, Verification, open as open
from .messages import (
    BallsInBins, BinomialTrials, Composed, CyclicPoisson, DiscreteGaussian, DiscreteLaplace,
    DisjointBatches, EpsilonDelta, ExponentialMechanism, FixedTrials, FullBatch, Gaussian, Laplace,
    LeastCostTrials, ManyRunsAudit, MatrixMechanism, MinSeparationSampling, MixtureOfGaussians,
    NegativeBinomialTrials, NonPrivate, NoOp, OneRunAudit, Participation, PermuteAndFlip, Poisson,
    PoissonSampled, PoissonTrials, RandomAllocation, RandomizedResponse, RenyiCurve,
    RepeatAndSelect, ReportNoisyMax, RoundsEvent, SampledWithoutReplacement, SampledWithReplacement,
    SamplingEvent, SelfComposed, Shuffled, SingleEpochTreeAggregation, SparseVector, SumQuery,
    SumQueryEvent, ToeplitzEncoder, TreeEncoder, TruncatedPoisson, TruncatedSubsampledGaussian,
    Unsupported, WithoutReplacement, WithReplacement, ZCDp)

__version__: str  # the library's, which is of the same build

if not TYPE_CHECKING:
    def __getattr__(name: str) -> str:
        if name != "__version__":
            raise AttributeError("module 'dpledger' has no attribute %r" % name)
        from . import _library
        return _library.version()

# Written out: type checkers do not compute it.
__all__ = ["Answer", "AuditResult", "BallsInBins", "BinomialTrials", "Calibration", "Composed",
           "CyclicPoisson", "DeltaAnswer", "DiscreteGaussian", "DiscreteLaplace", "DisjointBatches",
           "EpsilonAnswer", "EpsilonDelta", "Error", "ExponentialMechanism", "FixedTrials",
           "FullBatch", "Gaussian", "Interval", "InvalidArgument", "Laplace", "LeastCostTrials",
           "LedgerInfo", "LedgerStatement", "LibraryNotFound", "ManyRunsAudit", "MatrixMechanism",
           "MinSeparationSampling", "MixtureOfGaussians", "NegativeBinomialTrials", "NoOp",
           "NonPrivate", "OneRunAudit", "Participation", "PermuteAndFlip", "Poisson",
           "PoissonSampled", "PoissonTrials", "Profile", "RandomAllocation", "RandomizedResponse",
           "Recorder", "RenyiCurve", "RepeatAndSelect", "ReportNoisyMax", "Round", "RoundsEvent",
           "SampledWithReplacement", "SampledWithoutReplacement", "Sampler", "SamplingEvent",
           "SelfComposed", "Shuffled", "SingleEpochTreeAggregation", "SparseVector", "Statement",
           "Store", "SumQuery", "SumQueryEvent", "ToeplitzEncoder", "TreeEncoder",
           "TruncatedPoisson", "TruncatedSubsampledGaussian", "TuningCost", "Unsupported",
           "Verification", "WithReplacement", "WithoutReplacement", "WrongType", "ZCDp", "audit",
           "calibrate", "delta", "dp_sgd", "epsilon", "profile", "statement", "tuning"]
