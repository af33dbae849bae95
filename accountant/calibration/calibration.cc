// Calibration on the safe side: every value tried is answered by a certified interval, so the value
// returned is one whose upper bound was seen to meet the target, and the optimum lies between it
// and one whose lower bound was seen to miss it. Claim: calibration/CLAIM.md.
#include <cmath>
#include <functional>
#include <limits>

#include "absl/strings/str_cat.h"
#include "accountant/accountant.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kGreatestCount = 0x1p53;
// Evaluations at most; each narrows a bracket by half or better.
constexpr int kEvaluations = 120;

absl::Status NoSolution(absl::string_view what) {
  return WithReason(absl::FailedPreconditionError(what), {"NO_SOLUTION", {}});
}

absl::Status CheckProblem(const CalibrationTarget& target, const CalibrationParameters& given,
                          Unknown unknown) {
  if (!(target.epsilon > 0 && std::isfinite(target.epsilon))) {
    return FieldError("epsilon", absl::StrCat("must be finite and > 0, got ", target.epsilon));
  }
  if (!(target.delta > 0 && target.delta < 1))
    return FieldError("delta", absl::StrCat("must be in (0, 1), got ", target.delta));
  if (unknown != Unknown::kNoiseMultiplier &&
      !(given.noise_multiplier > 0 && std::isfinite(given.noise_multiplier))) {
    return FieldError("noise_multiplier",
                      absl::StrCat("must be finite and > 0, got ", given.noise_multiplier));
  }
  if (unknown != Unknown::kSamplingProbability &&
      !(given.sampling_probability > 0 && given.sampling_probability <= 1)) {
    return FieldError("sampling_probability",
                      absl::StrCat("must be in (0, 1], got ", given.sampling_probability));
  }
  if (unknown != Unknown::kSteps && !(given.steps >= 1 && given.steps <= (uint64_t{1} << 53))) {
    return FieldError("steps", absl::StrCat("must be in [1, 2^53], got ", given.steps));
  }
  return absl::OkStatus();
}

absl::StatusOr<Composition> CompositionOf(const CalibrationParameters& parameters,
                                          Adjacency adjacency) {
  SamplingScheme scheme;
  if (parameters.sampling_probability < 1) {
    scheme.kind = PoissonSampling{parameters.sampling_probability};
  } else {
    scheme.kind = FullBatch{};
  }
  History history;
  history.Add("",
              RoundsEvent{{scheme, {{"", 1.0, parameters.noise_multiplier}}}, parameters.steps});
  return Resolve(history, adjacency);
}

// The unknown on a scale on which ε falls: x is the value itself, or its reciprocal.
class Scale {
 public:
  Scale(Unknown unknown, CalibrationParameters given) : unknown_(unknown), given_(given) {}

  CalibrationParameters At(double x) const {
    CalibrationParameters parameters = given_;
    switch (unknown_) {
      case Unknown::kNoiseMultiplier:
        parameters.noise_multiplier = x;
        break;
      case Unknown::kSamplingProbability:
        parameters.sampling_probability = std::fmin(1, 1 / x);
        break;
      case Unknown::kSteps:
        parameters.steps =
            static_cast<uint64_t>(std::fmax(1, std::fmin(kGreatestCount, std::nearbyint(1 / x))));
        break;
    }
    return parameters;
  }
  double least() const {
    return unknown_ == Unknown::kNoiseMultiplier ? 1e-6 : unknown_ == Unknown::kSteps ? 0x1p-53 : 1;
  }
  double greatest() const {
    return unknown_ == Unknown::kNoiseMultiplier ? 1e12 : unknown_ == Unknown::kSteps ? 1 : 1e18;
  }
  // The optimum in the unknown's own terms, from a safe x and one that surely misses (0: none
  // seen).
  Interval Optimum(double safe, double missed) const {
    switch (unknown_) {
      case Unknown::kNoiseMultiplier:
        return {missed, safe};
      case Unknown::kSamplingProbability:
        return {1 / safe, missed > 0 ? 1 / missed : 1};
      case Unknown::kSteps:
        break;
    }
    const double most = missed > 0 ? static_cast<double>(At(missed).steps) - 1 : kGreatestCount;
    return {static_cast<double>(At(safe).steps), most};
  }
  // Whether nothing lies between the two.
  bool Adjacent(double safe, double missed, double tolerance) const {
    if (unknown_ == Unknown::kSteps) return At(missed).steps <= At(safe).steps + 1;
    return safe - missed <= tolerance * safe;
  }
  double Between(double safe, double missed) const {
    if (unknown_ != Unknown::kSteps) return std::sqrt(safe * missed);
    const double low = static_cast<double>(At(safe).steps),
                 high = static_cast<double>(At(missed).steps);
    return 1 /
           std::fmin(high - 1, std::fmax(low + 1, std::floor(high - low > 64 ? std::sqrt(low * high)
                                                                             : (low + high) / 2)));
  }

 private:
  Unknown unknown_;
  CalibrationParameters given_;
};

class Search {
 public:
  Search(const CalibrationTarget& target, const Scale& scale, const Options& options)
      : target_(target), scale_(scale), options_(options) {}

  // Tries x and keeps what it shows.
  absl::StatusOr<bool> Meets(double x) {
    RETURN_IF_ERROR(options_.limits.Check());
    ASSIGN_OR_RETURN(const Composition composition, CompositionOf(scale_.At(x), target_.adjacency));
    ASSIGN_OR_RETURN(const Answer answer, ComputeEpsilon(composition, target_.delta, options_));
    if (answer.value.lower > target_.epsilon) surely_missed_ = std::fmax(surely_missed_, x);
    // Below by one gap, so that whoever asks again at the same gap, from an event whose parameters
    // went through other roundings, is not told a hair more than the target.
    const bool meets = answer.value.upper <= target_.epsilon * (1 - options_.relative_gap);
    if (meets && x <= safe_) {
      safe_ = x;
      at_safe_ = answer;
    }
    if (!meets) missed_ = std::fmax(missed_, x);
    return meets;
  }

  // Narrows [missed, safe] to `tolerance`.
  absl::Status Narrow(double tolerance) {
    for (int i = 0; i < kEvaluations && !scale_.Adjacent(safe_, missed_, tolerance); ++i) {
      RETURN_IF_ERROR(Meets(scale_.Between(safe_, missed_)).status());
    }
    return absl::OkStatus();
  }

  // Looks for an x close below the safe one whose lower bound misses the target.
  absl::Status FindMiss() {
    for (double back = 2 * options_.relative_gap; back < 1; back *= 2) {
      const double x = std::fmax(scale_.least(), safe_ * (1 - back));
      if (x <= surely_missed_) break;
      RETURN_IF_ERROR(Meets(x).status());
      if (x <= surely_missed_ || x == scale_.least()) break;
    }
    return absl::OkStatus();
  }

  double safe() const { return safe_; }
  double missed() const { return missed_; }
  double surely_missed() const { return surely_missed_; }
  const Answer& at_safe() const { return at_safe_; }

 private:
  const CalibrationTarget& target_;
  const Scale& scale_;
  const Options& options_;
  double safe_ = kInfinity, missed_ = 0, surely_missed_ = 0;
  Answer at_safe_;
};

// A bracket [missed, safe], by steps of growing factors from `start`.
absl::Status Bracket(Search& search, const Scale& scale, double start, double factor) {
  double x = start;
  ASSIGN_OR_RETURN(bool meets, search.Meets(x));
  for (double step = factor; meets && x > scale.least(); step *= step) {
    x = std::fmax(scale.least(), x / step);
    ASSIGN_OR_RETURN(meets, search.Meets(x));
  }
  for (double step = factor; !meets && search.safe() == kInfinity; step *= step) {
    if (x >= scale.greatest()) return NoSolution("no value of the unknown meets the target");
    x = std::fmin(scale.greatest(), x * step);
    ASSIGN_OR_RETURN(meets, search.Meets(x));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Calibration> Calibrate(const CalibrationTarget& target,
                                      const CalibrationParameters& given, Unknown unknown,
                                      const Options& options) {
  RETURN_IF_ERROR(CheckProblem(target, given, unknown));
  const Scale scale(unknown, given);
  // Rényi DP first: it is fast, its answer is safe, and the true one is rarely more than a third
  // away.
  Options rough = options;
  rough.method = options.method == Method::kBest || options.method == Method::kPld ? Method::kRdp
                                                                                   : options.method;
  Search by_rdp(target, scale, rough);
  double start = std::fmin(std::fmax(1, scale.least()), scale.greatest());
  if (const absl::Status found = Bracket(by_rdp, scale, start, 2); found.ok()) {
    RETURN_IF_ERROR(by_rdp.Narrow(1e-3));
    start = by_rdp.safe();
  } else if (ReasonOf(found).reason != "NO_SOLUTION") {
    return found;  // (its conversion has a floor: a tiny ε may still be met by another method)
  }

  Search search(target, scale, options);
  RETURN_IF_ERROR(Bracket(search, scale, start, 1.1));
  if (search.missed() > 0) RETURN_IF_ERROR(search.Narrow(options.relative_gap / 8));
  RETURN_IF_ERROR(search.FindMiss());
  return Calibration{scale.At(search.safe()), scale.Optimum(search.safe(), search.surely_missed()),
                     search.at_safe()};
}

}  // namespace dpledger::accountant
