#include "certify/best_of_runs.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "certify/finder.h"
#include "certify/proof.h"

namespace dpledger::certify {
namespace {

constexpr slong kBits = 192;
constexpr double kMostRuns = 0x1p53;
constexpr long kCounts[] = {100, 400, 1600, 6400};  // of points, one try after the other
constexpr double kCells[] = {0.08, 0.02, 0.005, 0.002};
constexpr size_t kRough = 2;  // tries for the end that is not asked about
// Parts of δ that need no digits: of one run's, and of a search's.
constexpr double kLeast = 1e-5, kNegligible = 1e-7;
constexpr double kTolerance = 1e-9, kSmoothing = 1e-8, kGood = 1e-6;  // of a line
constexpr double kRoughly = 1e-3;
constexpr long kMostNodes = 4000;
constexpr int kMostFailures = 10;
constexpr size_t kMostLines = 40;

}  // namespace

// One run's δ in one direction, from lines and orders that are kept.
class BestOfRuns::Profile {
 public:
  Profile(const Composition& of, Direction direction)
      : of_(of),
        direction_(direction),
        mass_(InfiniteMass(of, direction)),
        greatest_(GreatestLoss(of, direction)),
        // Closed forms of all outcomes take too long to be asked for often.
        closed_(of.pairs.empty() || (of.pairs.size() == 1 && of.pairs[0].count == 1)) {}

  // Where it is below `least`, the digits do not matter.
  Bounds At(double epsilon, double least) {
    if (CertainlyAtMost(greatest_, epsilon)) return {mass_, mass_};
    if (closed_) {
      const Ball exact = ClosedDelta(of_, direction_, epsilon);
      if (exact.IsFinite()) return {exact, exact};
    }
    const Ball upper = Chernoff(epsilon);
    if (CertainlyLess(upper, mass_ + least)) return {mass_, upper};
    const auto above = lines_.lower_bound(epsilon);
    if (above != lines_.end() && Good(above->second.At(epsilon), least)) return found_;
    if (above != lines_.begin() && Good(std::prev(above)->second.At(epsilon), least)) return found_;
    for (double ahead = ahead_;
         failures_<kMostFailures; ahead = ahead> ahead_ / 9 ? ahead / 3 : 0) {
      const Finder finder(of_, direction_, epsilon + ahead);
      const std::optional<Line> line = finder.FindLine(kTolerance, kSmoothing);
      if (line && line->last < kMostNodes &&
          Good(LineSum(of_, direction_, *line).At(epsilon), least)) {
        lines_.try_emplace(epsilon + ahead, of_, direction_, *line);
        if (ahead > 0) ahead_ = 2 * ahead;
        return found_;
      }
      if (ahead > 0) continue;
      ++failures_;
      const std::optional<Line> rough = finder.FindLine(kRoughly, kRoughly);
      if (!rough) break;
      found_ = OnLine(of_, direction_, epsilon, *rough);
      return {Max(found_.lower, mass_), Min(found_.upper, upper)};
    }
    return {mass_, upper};
  }
  bool IsSmall(double epsilon, double least) {
    return CertainlyLess(At(epsilon, 1).upper, mass_ + least);
  }
  // What lies on [0, end] is asked for.
  void SetEnd(double end) { near_ = end / 64, ahead_ = end / 8; }
  // Chernoff's bound at an order for an ε nearby.
  Ball Chernoff(double epsilon) {
    auto order = orders_.lower_bound(epsilon - near_);
    if (order == orders_.end() || order->first > epsilon + near_) {
      const Order best = Finder(of_, direction_, epsilon).BestOrder();
      const Ball at_zero = LogChernoff(of_, direction_, 0.0, best);
      order = orders_.try_emplace(epsilon, Tangent{at_zero, best.r}).first;
    }
    const Ball upper = Exp(order->second.at_zero - Ball(order->second.r) * epsilon) + mass_;
    return upper.IsFinite() ? Min(upper, 1.0) : Ball(1.0);
  }

 private:
  struct Tangent {
    Ball at_zero;
    double r;
  };
  bool Good(const Bounds& bounds, double least) {
    found_ = bounds;
    return CertainlyLess(bounds.upper - bounds.lower, bounds.upper * kGood + least);
  }

  const Composition& of_;
  Direction direction_;
  Ball mass_, greatest_;
  bool closed_;
  double ahead_ = 0.25, near_ = 0;
  int failures_ = 0;  // to find a good line
  Bounds found_;
  std::map<double, LineSum> lines_;   // by their own ε
  std::map<double, Tangent> orders_;  // too
};

BestOfRuns::BestOfRuns(const Composition& run, const Trials& trials) : trials_(trials) {
  const Bits enough(kBits);
  for (const Direction direction : {Direction::kRemove, Direction::kAdd})
    profiles_.push_back(std::make_unique<Profile>(run, direction));
}
BestOfRuns::~BestOfRuns() = default;

std::optional<Composition> AllOf(const Composition& run, double times) {
  Composition all = run;
  all.variance = all.variance * times;
  const auto repeat = [&](auto& steps) {
    for (auto& step : steps) {
      if (!(step.count <= std::floor(kMostRuns / times))) return false;
      step.count *= times;
    }
    return true;
  };
  if (!repeat(all.sampled) || !repeat(all.pairs) || !repeat(all.curves)) return std::nullopt;
  return all;
}

const Lattice& BestOfRuns::Points(long count, double least) {
  if (end_ == 0) {
    const auto small = [&](double epsilon) {
      return std::all_of(profiles_.begin(), profiles_.end(),
                         [&](const auto& profile) { return profile->IsSmall(epsilon, least); });
    };
    for (end_ = 1; !small(end_) && end_ < 1e6;) end_ *= 1.5;
    while (end_ > 1e-6 && small(end_ / 1.5)) end_ /= 1.5;
    for (const auto& profile : profiles_) profile->SetEnd(end_);
  }
  Lattice& points = lattices_[count];
  points.spacing = end_ / static_cast<double>(count);
  for (long i = points.size(); i < count; ++i) {
    const double epsilon = points.spacing * static_cast<double>(i);
    points.remove.push_back(profiles_[0]->At(epsilon, least));
    points.add.push_back(profiles_[1]->At(epsilon, least));
  }
  return points;
}

Bounds BestOfRuns::Against(double delta, Direction direction, double epsilon, bool for_upper) {
  const Bits enough(kBits);
  Bounds best;
  const double least = kLeast * delta / std::fmax(1, trials_.mean.Middle());
  for (size_t i = 0; i < std::size(kCounts); ++i) {
    const Lattice& run = Points(kCounts[i], least);
    if (for_upper || i < kRough) {
      const Ball upper =
          SelectedAbove(trials_, run, direction, epsilon, {kCells[i], kNegligible * delta});
      if (upper.IsFinite()) best.upper = Min(best.upper, upper);
    }
    if (!for_upper || i < kRough)
      best.lower = Max(best.lower, SelectedBelow(trials_, run, direction, epsilon));
    if (CertainlyAtMost(best.upper, delta) || CertainlyLess(delta, best.lower)) break;
  }
  return best;
}

}  // namespace dpledger::certify
