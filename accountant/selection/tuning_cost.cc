// The cost of a search by every analysis that applies, and the least of them.
#include "accountant/selection/tuning_cost.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "accountant/mechanism/trials.h"
#include "accountant/numeric/constants.h"
#include "accountant/numeric/rounding.h"
#include "accountant/pair/profile_pair.h"
#include "accountant/rdp/best_of_runs.h"
#include "accountant/rdp/rdp.h"
#include "accountant/selection/run_profile.h"
#include "accountant/selection/selection_profile.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

constexpr char kProfile[] = "profile";
constexpr char kRdp[] = "rdp";
constexpr char kComposition[] = "composition";

double MeanOf(const Trials& trials) {
  struct Mean {
    double operator()(const NegativeBinomialTrials& t) const { return t.mean; }
    double operator()(const PoissonTrials& t) const { return t.mean; }
    double operator()(const FixedTrials& t) const { return static_cast<double>(t.count); }
    double operator()(const BinomialTrials& t) const {
      return static_cast<double>(t.trials) * t.probability;
    }
    double operator()(const LeastCostTrials& t) const { return t.mean; }
  };
  return std::visit(Mean(), trials);
}

// The most runs there can be; nothing where they are not bounded.
std::optional<uint64_t> MostRuns(const Trials& trials) {
  if (const auto* fixed = std::get_if<FixedTrials>(&trials)) return fixed->count;
  if (const auto* binomial = std::get_if<BinomialTrials>(&trials)) return binomial->trials;
  return std::nullopt;
}

// `runs` copies of the run, all released.
absl::StatusOr<Composition> Repeated(const Composition& run, uint64_t runs) {
  Composition all = run;
  const auto repeat = [&](auto& steps) {
    for (auto& step : steps) {
      if (step.count > (uint64_t{1} << 53) / runs) return false;
      step.count *= runs;
    }
    return true;
  };
  if (!(repeat(all.steps) && repeat(all.pairs) && repeat(all.allocations) && repeat(all.curves))) {
    return WithReason(
        absl::FailedPreconditionError("the runs together have more than 2^53 equal rounds"),
        {"COUNT_TOO_LARGE", {}});
  }
  return all;
}

absl::StatusOr<selection::RunProfile> ProfileFor(const Composition& run, double delta,
                                                 const Trials& trials, const Options& options) {
  // Every run has a part of δ; there its profile matters.
  const double share = std::fmax(delta / std::fmax(1, MeanOf(trials)), 1e-300);
  ASSIGN_OR_RETURN(const Answer near, ComputeEpsilon(run, share, {.limits = options.limits}));
  // If a run fails more often than that, ε is infinite, and any value will do.
  const double one_run =
      std::isfinite(near.value.upper()) ? near.value.upper() : kGreatestProfileEpsilon;
  selection::RunProfile profile(run, std::fmax(one_run, 1e-6), share, options.limits);
  RETURN_IF_ERROR(profile.stopped());
  return profile;
}

absl::StatusOr<double> RdpEpsilon(const Composition& composition, double delta,
                                  const Trials& trials, const Options& options) {
  const rdp::ApproximateCurve run = rdp::CurveOf(composition, options.limits);
  const rdp::Curve one_run = rdp::GivenNoFailure(run);
  absl::StatusOr<rdp::Curve> curve;
  if (const auto* nb = std::get_if<NegativeBinomialTrials>(&trials)) {
    curve = rdp::BestOfRuns(one_run, *nb, options.limits);
  } else if (const auto* poisson = std::get_if<PoissonTrials>(&trials)) {
    curve = rdp::BestOfRuns(one_run, *poisson, options.limits);
  } else {
    return kInfinity;  // no theorem
  }
  RETURN_IF_ERROR(curve.status());
  // None of the K runs fails with probability at least 1 - E[K] failure (rdp/CLAIM.md).
  const double failure = run.failure == 0 ? 0 : std::fmin(1, MulUp(MeanOf(trials), run.failure));
  ASSIGN_OR_RETURN(
      const rdp::Converted converted,
      rdp::EpsilonFromCurve({*std::move(curve), failure, run.orders}, delta, options.limits));
  return converted.value;
}

// η from nearly -1 to where the distribution is as narrow as the binomials, in log(1 + η).
constexpr double kLeastEta = -0.999, kGreatestEta = 100;
constexpr int kGoldenSteps = 12;  // to a 300th of the range: ε is flat near its least

// The cheapest distribution found of a wanted mean.
class Search {
 public:
  Search(const LeastCostTrials& wanted,
         const std::function<absl::StatusOr<double>(const Trials&)>& cost)
      : wanted_(wanted), cost_(cost) {}

  bool Allowed(const Trials& trials) const {
    return AtMostOneProbability(trials) <= wanted_.at_most_one_probability;
  }

  // The cost; infinite where it is not allowed.
  absl::StatusOr<double> Try(const Trials& trials) {
    if (!Allowed(trials)) return kInfinity;
    ASSIGN_OR_RETURN(const double epsilon, cost_(trials));
    if (!best_.has_value() || epsilon < least_) {
      best_ = trials;
      least_ = epsilon;
    }
    return epsilon;
  }

  NegativeBinomialTrials At(double log_eta_plus_one) const {
    return {std::expm1(log_eta_plus_one), wanted_.mean};
  }

  // Larger η make few runs less likely: from the least that is allowed, by golden section.
  absl::Status TryNegativeBinomials() {
    double low = std::log1p(kLeastEta), high = std::log1p(kGreatestEta);
    if (!Allowed(At(high))) return absl::OkStatus();
    if (!Allowed(At(low))) {
      double forbidden = low, allowed = high;
      for (int i = 0; i < 50; ++i) {
        const double middle = (forbidden + allowed) / 2;
        (Allowed(At(middle)) ? allowed : forbidden) = middle;
      }
      low = allowed;
    }
    const double golden = (std::sqrt(5.0) - 1) / 2;
    double x1 = high - golden * (high - low), x2 = low + golden * (high - low);
    RETURN_IF_ERROR(Try(At(low)).status());
    ASSIGN_OR_RETURN(double f1, Try(At(x1)));
    ASSIGN_OR_RETURN(double f2, Try(At(x2)));
    for (int i = 0; i < kGoldenSteps; ++i) {
      if (f1 < f2) {
        high = x2;
        x2 = x1;
        f2 = f1;
        x1 = high - golden * (high - low);
        ASSIGN_OR_RETURN(f1, Try(At(x1)));
      } else {
        low = x1;
        x1 = x2;
        f1 = f2;
        x2 = low + golden * (high - low);
        ASSIGN_OR_RETURN(f2, Try(At(x2)));
      }
    }
    return absl::OkStatus();
  }

  absl::Status TryBinomials() {
    for (const double more : {1.0, 1.2, 1.5, 2.0, 4.0}) {
      const double n = std::ceil(wanted_.mean * more);
      RETURN_IF_ERROR(
          Try(BinomialTrials{static_cast<uint64_t>(n), std::fmin(1, wanted_.mean / n)}).status());
    }
    return absl::OkStatus();
  }

  const std::optional<Trials>& best() const { return best_; }

 private:
  const LeastCostTrials& wanted_;
  const std::function<absl::StatusOr<double>(const Trials&)>& cost_;
  std::optional<Trials> best_;
  double least_ = 0;
};

// The cheapest distribution found among truncated negative binomials over η, the Poisson and
// binomials, by the upper bound on ε that `cost` gives. A cheaper one may exist. NO_SOLUTION when
// none meets at_most_one_probability.
absl::StatusOr<Trials> FindLeastCost(
    const LeastCostTrials& wanted,
    const std::function<absl::StatusOr<double>(const Trials&)>& cost) {
  Search search(wanted, cost);
  RETURN_IF_ERROR(search.TryNegativeBinomials());
  RETURN_IF_ERROR(search.Try(PoissonTrials{wanted.mean}).status());
  RETURN_IF_ERROR(search.TryBinomials());
  if (!search.best().has_value()) {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "trials.least_cost: no distribution with mean ", wanted.mean,
            " makes at most one run with probability <= ", wanted.at_most_one_probability)),
        {"NO_SOLUTION", {{"field", "trials.least_cost"}}});
  }
  return *search.best();
}

// The trials that are answered: those asked for, or those found to cost least.
absl::StatusOr<Trials> Settle(const Composition& run, double delta, const Trials& trials,
                              const Options& options) {
  const auto* wanted = std::get_if<LeastCostTrials>(&trials);
  if (wanted == nullptr) return trials;
  if (options.method != Method::kBest || run.Empty() || !selection::RunProfile::Applies(run)) {
    return FindLeastCost(*wanted, [&](const Trials& candidate) {
      return RdpEpsilon(run, delta, candidate, options);
    });
  }
  ASSIGN_OR_RETURN(selection::RunProfile profile, ProfileFor(run, delta, trials, options));
  return FindLeastCost(*wanted, [&](const Trials& candidate) {
    return selection::SelectionEpsilonUp(TrialLaw::Of(candidate), profile, delta);
  });
}

// The analyses of one selection, gathered one by one.
class Costs {
 public:
  Costs(const Composition& run, double delta, const Trials& trials, const Options& options)
      : run_(run), delta_(delta), trials_(trials), options_(options) {}

  absl::Status AddComposition(uint64_t runs) {
    ASSIGN_OR_RETURN(const Composition all, Repeated(run_, runs));
    ASSIGN_OR_RETURN(const Answer answer, ComputeEpsilon(all, delta_, options_));
    Add(kComposition, answer);
    return absl::OkStatus();
  }

  absl::Status AddRdp() {
    ASSIGN_OR_RETURN(const double epsilon, RdpEpsilon(run_, delta_, trials_, options_));
    if (std::isinf(epsilon) && MostRuns(trials_).has_value()) return absl::OkStatus();
    Add(kRdp, {{0, epsilon}, Method::kRdp, {}});
    return absl::OkStatus();
  }

  absl::Status AddProfile(double single_run_lower) {
    if (run_.Empty()) {
      Add(kProfile, {{0, 0}, Method::kGaussian, {}});
      return absl::OkStatus();
    }
    if (!selection::RunProfile::Applies(run_)) return absl::OkStatus();
    // With no run at all nothing is shown of the data.
    const bool always_runs = std::holds_alternative<NegativeBinomialTrials>(trials_) ||
                             std::holds_alternative<FixedTrials>(trials_);
    ASSIGN_OR_RETURN(selection::RunProfile profile, ProfileFor(run_, delta_, trials_, options_));
    ASSIGN_OR_RETURN(const Interval epsilon,
                     selection::SelectionEpsilon(TrialLaw::Of(trials_), profile, delta_,
                                                 always_runs ? single_run_lower : 0));
    Add(kProfile, {epsilon, profile.engine(), {}});
    return absl::OkStatus();
  }

  TuningCost Least() && {
    if (cost_.analysis == kRdp && cost_.epsilon.value.lower() == 0) {
      cost_.epsilon.warnings.push_back("rdp gives no lower bound");
    }
    return std::move(cost_);
  }

 private:
  void Add(const std::string& name, const Answer& answer) {
    // The best run alone may reveal less than all of them.
    const double lower = name == kProfile ? answer.value.lower() : 0;
    const bool least = cost_.analyses.empty() || answer.value.upper() < cost_.epsilon.value.upper();
    const double known = cost_.epsilon.value.lower();
    cost_.analyses.push_back({name, {lower, answer.value.upper()}});
    if (least) {
      cost_.epsilon = answer;
      cost_.analysis = name;
    }
    cost_.epsilon.value = {std::fmax(known, lower), cost_.epsilon.value.upper()};
  }

  const Composition& run_;
  double delta_;
  const Trials& trials_;
  const Options& options_;
  TuningCost cost_;
};

}  // namespace

absl::StatusOr<TuningCost> ComputeTuningCost(const Composition& single_run, double delta,
                                             const Trials& asked, const Options& options) {
  RETURN_IF_ERROR(CheckTrials(asked));
  if (!(delta > 0 && delta < 1)) {
    return FieldError("delta", absl::StrCat("must be in (0, 1), got ", delta));
  }
  ASSIGN_OR_RETURN(Answer single, ComputeEpsilon(single_run, delta, options));
  ASSIGN_OR_RETURN(const Trials trials, Settle(single_run, delta, asked, options));
  const bool best = options.method == Method::kBest;
  Costs costs(single_run, delta, trials, options);
  if (const auto runs = MostRuns(trials); runs.has_value()) {
    RETURN_IF_ERROR(costs.AddComposition(*runs));
  }
  if (best || options.method == Method::kRdp) RETURN_IF_ERROR(costs.AddRdp());
  const absl::Status profile = best ? costs.AddProfile(single.value.lower()) : absl::OkStatus();
  TuningCost cost = std::move(costs).Least();
  if (!profile.ok() && !(absl::IsDeadlineExceeded(profile) && !cost.analyses.empty())) {
    return profile;
  }
  if (!profile.ok()) {
    cost.epsilon.warnings.push_back(
        "the question ran out of its time before the privacy profile was bounded");
  }
  if (cost.analyses.empty()) {
    return WithReason(absl::FailedPreconditionError(
                          absl::StrCat("method ", MethodName(options.method),
                                       ": private selection is analysed by best and rdp only")),
                      {"METHOD_DOES_NOT_APPLY", {{"method", MethodName(options.method)}}});
  }
  if (const auto* nb = std::get_if<NegativeBinomialTrials>(&trials)) {
    cost.gamma = std::exp(-LogInverseGamma(nb->eta, nb->mean));
  }
  cost.single_run = std::move(single);
  cost.trials = trials;
  cost.at_most_one_probability = AtMostOneProbability(trials);
  return cost;
}

}  // namespace dpledger::accountant
