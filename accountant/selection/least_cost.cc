#include "accountant/selection/least_cost.h"

#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "accountant/mechanism/trials.h"
#include "base/status.h"

namespace dpledger::accountant::selection {
namespace {

// η from nearly -1 to where the distribution is as narrow as the binomials, in log(1 + η).
constexpr double kLeastEta = -0.999, kGreatestEta = 100;
constexpr int kGoldenSteps = 12;  // to a 300th of the range: ε is flat near its least

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
    if (!Allowed(trials)) return std::numeric_limits<double>::infinity();
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

}  // namespace

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

}  // namespace dpledger::accountant::selection
