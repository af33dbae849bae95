// Matrix mechanisms, by when their records take part: mechanism/CLAIM.md, sections 5 and 9.
#include <cmath>
#include <variant>

#include "absl/strings/str_cat.h"
#include "accountant/mechanism/bin_overlaps.h"
#include "accountant/mechanism/matrix_sensitivity.h"
#include "accountant/mechanism/resolver.h"
#include "accountant/numeric/rounding.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

// Additions for the exact sensitivity of a tree: a twentieth of a second.
constexpr double kToBeExact = 3e7;
constexpr char kTooManyParticipations[] =
    "mechanism matrix_mechanism: the encoders together have too many participations to work out";

// Of a vector of this squared norm, with noise z for one of norm one.
absl::StatusOr<Interval> MultiplierOf(Interval squared, Interval z) {
  JointNoise noise;
  RETURN_IF_ERROR(noise.Add({DivDown(z.lower(), NextUp(std::sqrt(squared.upper()))),
                             DivUp(z.upper(), NextDown(std::sqrt(squared.lower())))},
                            1));
  return noise.multiplier();
}

}  // namespace

absl::Status MatrixMechanism::AddTo(Resolver& resolver, uint64_t count) const {
  resolver.Assume(noise);
  return std::visit(
      [&](const auto& kind) { return resolver.AddEncoded(kind, noise_stddev, count); }, encoder);
}

absl::Status Resolver::AddEncoded(const StatedSensitivity& stated, double noise_stddev,
                                  uint64_t count) {
  JointNoise noise;
  RETURN_IF_ERROR(noise.Add(Quotient(noise_stddev, stated.sensitivity), 1));
  return AddUnsampled(noise.multiplier(), count);
}

absl::Status Resolver::AddEncoded(const TreeEncoder& tree, double noise_stddev, uint64_t count) {
  if (const auto* bins = std::get_if<BallsInBins>(&tree.schedule)) {
    return AddBins(tree, *bins, Quotient(noise_stddev, 1), count);
  }
  const auto* participation = std::get_if<Participation>(&tree.schedule);
  RETURN_IF_ERROR(OnlyWhereStepsStay());
  const auto participations = static_cast<double>(participation->max_participations);
  RETURN_IF_ERROR(SpendWork(64 * participations * participations, kTooManyParticipations));
  const double most = std::fmin(kToBeExact, to_be_exact_);
  double left = most;
  const Interval squared = SquaredSensitivity(tree, *participation, left);
  to_be_exact_ -= most - std::fmax(left, 0);
  ASSIGN_OR_RETURN(const Interval noise, MultiplierOf(squared, Quotient(noise_stddev, 1)));
  return AddUnsampled(noise, count);
}

absl::Status Resolver::AddEncoded(const ToeplitzEncoder& toeplitz, double noise_stddev,
                                  uint64_t count) {
  const Interval z = Quotient(noise_stddev, toeplitz.coefficients[0]);
  if (const auto* cyclic = std::get_if<CyclicPoisson>(&toeplitz.schedule)) {
    return AddCyclic(toeplitz, *cyclic, z, count);
  }
  if (const auto* bins = std::get_if<BallsInBins>(&toeplitz.schedule)) {
    return AddBins(toeplitz, *bins, z, count);
  }
  if (std::holds_alternative<MinSeparationSampling>(toeplitz.schedule)) {
    return NoAnalysis(
        "mechanism matrix_mechanism with min_separation_sampling (its cost is only estimated by "
        "simulation, no bound is proved; sample by cyclic_poisson or balls_in_bins)");
  }
  const auto& participation = std::get<Participation>(toeplitz.schedule);
  RETURN_IF_ERROR(OnlyWhereStepsStay());
  RETURN_IF_ERROR(SpendWork(static_cast<double>(participation.max_participations) *
                                static_cast<double>(toeplitz.coefficients.size()),
                            kTooManyParticipations));
  ASSIGN_OR_RETURN(const Interval noise,
                   MultiplierOf(SquaredSensitivity(toeplitz, participation), z));
  return AddUnsampled(noise, count);
}

// The first group's steps are the most, and their columns the longest: it costs the most of all.
absl::Status Resolver::AddCyclic(const ToeplitzEncoder& toeplitz, const CyclicPoisson& cyclic,
                                 Interval z, uint64_t count) {
  composition_.schemes.insert("cyclic_poisson");
  RETURN_IF_ERROR(OnlySingleRecords("mechanism matrix_mechanism with cyclic_poisson"));
  if (neighbours_.adjacency == Adjacency::kAddOrRemoveOne &&
      cyclic.groups == CyclicPoisson::Groups::kOfEqualSize) {
    return NoAnalysis(
        "mechanism matrix_mechanism with cyclic_poisson in groups of equal size (removing a record "
        "moves others to other groups; draw the groups one by one, or declare ZERO_OUT or "
        "REPLACE_ONE)");
  }
  const uint64_t last = (toeplitz.steps - 1) / cyclic.period;  // of its steps, from 0
  // Only the last column can be cut, as no other is within a band of the end.
  ASSIGN_OR_RETURN(const Interval noise, MultiplierOf(SquaredColumn(toeplitz, 0), z));
  if (last > 0) {
    ASSIGN_OR_RETURN(const uint64_t whole, MultiplyCounts(last, count));
    RETURN_IF_ERROR(AddPoisson(cyclic.probability, noise, whole));
  }
  ASSIGN_OR_RETURN(const Interval last_noise,
                   MultiplierOf(SquaredColumn(toeplitz, last * cyclic.period), z));
  return AddPoisson(cyclic.probability, last_noise, count);
}

template <typename Encoder>
absl::Status Resolver::AddBins(const Encoder& encoder, const BallsInBins& bins, Interval z,
                               uint64_t count) {
  composition_.schemes.insert("balls_in_bins");
  const char* const what = "mechanism matrix_mechanism with balls_in_bins";
  if (replaces()) {
    return NoAnalysis(absl::StrCat(what,
                                   " (with a record on each side no bound is proved for what bins "
                                   "have in common; declare ADD_OR_REMOVE_ONE or ZERO_OUT, or "
                                   "sample by cyclic_poisson)"));
  }
  RETURN_IF_ERROR(OnlySingleRecords(what));
  RETURN_IF_ERROR(SpendWork(WorkOfOverlaps(encoder, bins), kTooManyParticipations));
  const BinOverlaps overlaps = OverlapsOf(encoder, bins);
  ASSIGN_OR_RETURN(const Interval noise, MultiplierOf(overlaps.own, z));
  if (bins.bins == 1) return AddUnsampled(noise, count);
  return AddCurve(BracketOfBins(overlaps, z), count);
}

absl::Status Resolver::OnlyWhereStepsStay() const {
  if (neighbours_.adjacency != Adjacency::kAddOrRemoveOne) return absl::OkStatus();
  return NoAnalysis(
      "mechanism matrix_mechanism by steps (removing a record shifts the others; declare ZERO_OUT "
      "or REPLACE_ONE)");
}

}  // namespace dpledger::accountant
