// What the other code has to know of each kind of mechanism: how it behaves on a sample, what it is
// made of, and how much memory it holds. A kind of mechanism without traits does not compile.
#pragma once

#include <cstddef>
#include <span>

#include "accountant/mechanism/event.h"

namespace dpledger::accountant {

// How a mechanism behaves on a sample. Ordered: a composite has the greatest nature of its parts.
enum class Nature {
  kGaussian,         // Gaussian noise on sums over the sample, or nothing
  kSampledGaussian,  // the same on a Poisson sample of the sample
  kNoiseOnASum,      // other noise on a sum: a null record does not change it
  kOther,
  kOfAPopulation,  // its output's law depends on how many records the sample has
};

template <typename Kind>
struct Traits;

template <Nature nature>
struct Leaf {
  static constexpr Nature kNature = nature;
  static std::span<const Mechanism> Parts(const auto&) { return {}; }
};
template <Nature nature, auto parts>
struct MadeOf {
  static constexpr Nature kNature = nature;
  static std::span<const Mechanism> Parts(const auto& kind) { return kind.*parts; }
};

// clang-format off
template <> struct Traits<NoOp> : Leaf<Nature::kGaussian> {};
template <> struct Traits<NonPrivate> : Leaf<Nature::kOther> {};
template <> struct Traits<Unsupported> : Leaf<Nature::kOther> {};
template <> struct Traits<Gaussian> : Leaf<Nature::kGaussian> {};
template <> struct Traits<Laplace> : Leaf<Nature::kNoiseOnASum> {};
template <> struct Traits<DiscreteLaplace> : Leaf<Nature::kNoiseOnASum> {};
template <> struct Traits<DiscreteGaussian> : Leaf<Nature::kNoiseOnASum> {};
template <> struct Traits<RandomizedResponse> : Leaf<Nature::kOther> {};
template <> struct Traits<EpsilonDelta> : Leaf<Nature::kOther> {};
template <> struct Traits<ZCDp> : Leaf<Nature::kOther> {};
template <> struct Traits<ExponentialMechanism> : Leaf<Nature::kOther> {};
template <> struct Traits<PermuteAndFlip> : Leaf<Nature::kOther> {};
template <> struct Traits<ReportNoisyMax> : Leaf<Nature::kOther> {};
template <> struct Traits<MixtureOfGaussians> : Leaf<Nature::kNoiseOnASum> {};
template <> struct Traits<TruncatedSubsampledGaussian> : Leaf<Nature::kOfAPopulation> {};
// Records have positions, and a sample changes them.
template <> struct Traits<SingleEpochTreeAggregation> : Leaf<Nature::kOther> {};
template <> struct Traits<MatrixMechanism> : Leaf<Nature::kOther> {};
template <> struct Traits<RenyiCurve> : Leaf<Nature::kOther> {};
template <> struct Traits<PoissonSampled>
    : MadeOf<Nature::kSampledGaussian, &PoissonSampled::event> {};
template <> struct Traits<SampledWithoutReplacement>
    : MadeOf<Nature::kOfAPopulation, &SampledWithoutReplacement::event> {};
template <> struct Traits<SampledWithReplacement>
    : MadeOf<Nature::kOfAPopulation, &SampledWithReplacement::event> {};
template <> struct Traits<RepeatAndSelect> : MadeOf<Nature::kOther, &RepeatAndSelect::event> {};
template <> struct Traits<SelfComposed> : MadeOf<Nature::kGaussian, &SelfComposed::event> {};
template <> struct Traits<Composed> : MadeOf<Nature::kGaussian, &Composed::events> {};
// clang-format on

Nature NatureOf(const Mechanism& mechanism);

// The memory of a mechanism and of all that it is made of.
size_t BytesOf(const Mechanism& mechanism);

}  // namespace dpledger::accountant
