// The mixture filter: its two searches against an oracle, and what holds of it against adversaries
// that choose every step after the outputs before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "accountant/filter/filter.h"
#include "accountant/filter/mixture.h"
#include "accountant/rdp/rdp.h"
#include "base/status.h"
#include "tests/support/json_file.h"

namespace dpledger::accountant::filter {
namespace {

using ::dpledger::testing::ListAt;
using ::dpledger::testing::NumberAt;
using ::dpledger::testing::ReadJsonFile;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const std::vector<double> kOrders = {2, 3, 4, 5, 6, 8, 12, 24};

Composition Of(const Pair& pair, uint64_t count = 1) {
  Composition composition;
  composition.pairs.push_back({pair, pair, std::nullopt, count});
  return composition;
}

// With mass p under P it shows an outcome that is `ratio` times less probable under Q.
Pair Reveal(double p, double ratio) { return {{{p, p / ratio}, {1 - p, 1 - p / ratio}}, {}, 0}; }

Pair Swapped(Pair pair) {
  for (Atom& atom : pair.atoms) std::swap(atom.p, atom.q);
  return pair;
}

std::vector<double> Numbers(const google::protobuf::Struct& object, const char* key) {
  std::vector<double> numbers;
  for (const auto& value : ListAt(object, key)) numbers.push_back(value.number_value());
  return numbers;
}

TEST(Mixture, AgreesWithTheOracleFromAbove) {
  const auto oracle = ReadJsonFile("tests/data/mixture_oracle.json");
  ASSERT_GE(ListAt(oracle, "mixture").size(), 60);
  for (const auto& value : ListAt(oracle, "mixture")) {
    const auto& c = value.struct_value();
    const auto orders = Numbers(c, "orders"), divergences = Numbers(c, "divergences");
    const double delta = NumberAt(c, "delta");
    // The oracle's values are rounded to doubles.
    const double epsilon = NumberAt(c, "epsilon"), odometer = NumberAt(c, "odometer");
    const double found = MixtureEpsilon(orders, divergences, delta);
    EXPECT_GE(found, epsilon * (1 - 2e-16)) << c.DebugString();
    EXPECT_LE(found, epsilon + 1e-11 * (1 + epsilon)) << c.DebugString();
    const double bounded = MixtureOdometer(orders, divergences, delta);
    EXPECT_GE(bounded, odometer * (1 - 2e-16)) << c.DebugString();
    EXPECT_LE(bounded, odometer + 1e-11 * (1 + odometer)) << c.DebugString();
  }
}

// The inequality itself, point by point; a little less ε breaks it.
TEST(Mixture, HoldsForEveryRatio) {
  const std::vector<double> divergences = {0.3, 0.5, 0.7, 0.9, 1.1, 1.6, 3, 40};
  const long double delta = 1e-6;
  const double epsilon = MixtureEpsilon(kOrders, divergences, delta);
  // The greatest excess of x - e^ε over the mixture, for log x up to 20.
  const auto excess = [&](double at) {
    long double greatest = -kInfinity;
    for (long double u = -5; u < 20; u += 5e-4L) {
      long double mixture = 0;
      for (size_t i = 0; i < kOrders.size(); ++i)
        mixture += delta / 8 * std::exp(kOrders[i] * u - (kOrders[i] - 1) * divergences[i]);
      greatest =
          std::fmax(greatest, std::exp(u) - std::exp(static_cast<long double>(at)) - mixture);
    }
    return greatest;
  };
  EXPECT_LE(excess(epsilon), 0);
  EXPECT_GT(excess(epsilon - 1e-6), 0);
}

TEST(Mixture, OfOneOrderIsTheUsualConversion) {
  for (const double order : {1.5, 2.0, 8.0, 64.0}) {
    // Canonne, Kamath, Steinke 2020, prop. 12.
    const double pointwise =
        3 + std::log1p(-1 / order) - (std::log(1e-5) + std::log(order)) / (order - 1);
    EXPECT_NEAR(MixtureEpsilon({order}, {3}, 1e-5), pointwise, 1e-11);
    EXPECT_NEAR(MixtureOdometer({order}, {3}, 1e-5), 3 - std::log(1e-5) / (order - 1), 1e-11);
  }
}

TEST(Mixture, IsAtMostTheBestOrderAtItsShareOfDelta) {
  const std::vector<double> divergences = {0.3, 0.5, 0.7, 0.9, 1.1, 1.6, 3, 40};
  double split = kInfinity, odometer = kInfinity;
  for (size_t i = 0; i < kOrders.size(); ++i) {
    split = std::fmin(split, MixtureEpsilon({kOrders[i]}, {divergences[i]}, 1e-6 / 8));
    odometer = std::fmin(odometer, divergences[i] + std::log(8e6) / (kOrders[i] - 1));
  }
  EXPECT_LT(MixtureEpsilon(kOrders, divergences, 1e-6), split);
  EXPECT_LT(MixtureOdometer(kOrders, divergences, 1e-6), odometer);
}

TEST(Mixture, AnOrderWithoutADivergenceCountsForNothing) {
  // Its weight is lost: the others keep theirs.
  EXPECT_NEAR(MixtureEpsilon({2, 8}, {1, kInfinity}, 1e-5), MixtureEpsilon({2}, {1}, 5e-6), 1e-12);
  EXPECT_EQ(MixtureEpsilon({2, 8}, {kInfinity, kInfinity}, 1e-5), kInfinity);
  EXPECT_EQ(MixtureOdometer({2}, {kInfinity}, 1e-5), kInfinity);
  EXPECT_GE(MixtureEpsilon({2, 24}, {1e300, 1e307}, 1e-5), 1e300);
}

// Three runs of DP-SGD, each planned after the outputs before: prototype values, in three decimals.
TEST(MixtureFilter, KeepsAmplificationWhereOneOrderIsATrap) {
  const SampledGaussian runs[] = {
      {.01, {1, 1}, 2000}, {.02, {1.3, 1.3}, 1500}, {.005, {.8, .8}, 3000}};
  const double mixture[] = {3.561, 5.287, 6.302}, one_order[] = {3.330, 5.552, 698};
  const double odometer[] = {4.058, 5.929, 7.038};  // the best order alone at δ/8
  Composition so_far;
  for (int i = 0; i < 3; ++i) {
    so_far.steps.push_back(runs[i]);
    EXPECT_NEAR(*Spent(MixtureFilter{9, 1e-6, kOrders}, so_far, {}), mixture[i], 1e-3);
    EXPECT_NEAR(*Spent(MixtureFilter{9, 1e-6, {8}}, so_far, {}), one_order[i], i < 2 ? 1e-3 : 1);
    const double seen = *Odometer({9, 1e-6, kOrders}, so_far, {});
    EXPECT_LT(seen, odometer[i] + 1e-3);
    EXPECT_GT(seen, odometer[i] - .3) << seen;
    EXPECT_GT(seen, mixture[i]);
  }
}

TEST(MixtureFilter, CountsBothDirections) {
  const MixtureFilter filter{1, 1e-3, kOrders};
  const Pair pair = Reveal(0.3, 50);
  const double one_way = *Spent(filter, Of(pair), {}),
               other = *Spent(filter, Of(Swapped(pair)), {});
  EXPECT_EQ(one_way, other);
  // At every order the direction of the greater divergence decides.
  std::vector<double> lesser;
  const auto curve = rdp::CurveOf(Of(pair));
  for (const double order : kOrders)
    lesser.push_back(std::fmin(curve.remove(order), curve.add(order)));
  EXPECT_GT(one_way, MixtureEpsilon(kOrders, lesser, 1e-3) + 0.1);
}

TEST(MixtureFilter, AnEpochSpendsForAllItsRounds) {
  Composition begun, whole;
  begun.allocations.push_back({10, {1, 1}, 1, 9});
  whole.allocations.push_back({10, {1, 1}, 1, 0});
  const MixtureFilter filter{1, 1e-6, kOrders};
  EXPECT_EQ(*Spent(filter, begun, {}), *Spent(filter, whole, {}));
  EXPECT_EQ(*Odometer(filter, begun, {}), *Odometer(filter, whole, {}));
}

TEST(MixtureFilter, NothingAndEverything) {
  const MixtureFilter filter{1, 1e-6, kOrders};
  EXPECT_EQ(*Spent(filter, Composition(), {}), 0);
  EXPECT_EQ(*Odometer(filter, Composition(), {}), 0);
  Composition open;
  open.non_private = true;
  EXPECT_EQ(*Spent(filter, open, {}), kInfinity);
  EXPECT_EQ(*Odometer(filter, open, {}), kInfinity);
  EXPECT_TRUE(Crossed(filter, kInfinity));
  EXPECT_TRUE(Crossed(filter, std::nan("")));
  EXPECT_FALSE(Crossed(filter, 1));
  EXPECT_TRUE(Crossed(filter, 1 + 1e-15));
  const auto failing = Spent(filter, Of(Pair{{{0.999, 0.999}, {0.001, 0}, {0, 0.001}}, {}, 0}), {});
  EXPECT_EQ(failing.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonOf(failing.status()).reason, "FILTER_CANNOT_COUNT");
  EXPECT_THAT(std::string(failing.status().message()),
              HasSubstr("filter epsilon at delta 1e-06 (mixture): a mechanism that may fail"));
}

TEST(MixtureFilter, AnswersWithItsDeclaredNumbersAndNoOthers) {
  const MixtureFilter filter{2, 1e-6, kOrders};
  for (const double delta : {1e-6, 1e-3}) {
    const auto epsilon = EpsilonOf(filter, delta, {});
    EXPECT_EQ(epsilon->value.lower(), 0);
    EXPECT_EQ(epsilon->value.upper(), 2);
  }
  EXPECT_EQ(DeltaOf(filter, 2, {})->value.upper(), 1e-6);
  EXPECT_EQ(DeltaOf(filter, 3, {})->value.upper(), 1e-6);
  for (const double delta : {9.99e-7, 0.0}) {
    const auto refused = EpsilonOf(filter, delta, {});
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(ReasonOf(refused.status()).reason, "FILTER_DELTA");
    EXPECT_THAT(std::string(refused.status().message()),
                HasSubstr("delta: must be at least 1e-06"));
  }
  const auto refused = DeltaOf(filter, 1.99, {});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonOf(refused.status()).reason, "FILTER_EPSILON");
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("epsilon: must be at least 2"));
}

TEST(MixtureFilter, OfSeveralLedgersAddsEpsilonAndDelta) {
  const auto total = Compose({MixtureFilter{1, 1e-6, kOrders}, MixtureFilter{2, 3e-6, {4}}});
  EXPECT_NEAR(EpsilonOf(*total, 1e-5, {})->value.upper(), 3, 1e-15);
  EXPECT_NEAR(DeltaOf(*total, 4, {})->value.upper(), 4e-6, 1e-20);
  EXPECT_EQ(ReasonOf(EpsilonOf(*total, 3.9e-6, {}).status()).reason, "FILTER_DELTA");
  const auto mixed = Compose({MixtureFilter{1, 1e-6, kOrders}, RdpFilter{4, 1}});
  EXPECT_EQ(ReasonOf(mixed.status()).reason, "FILTERS_DIFFER");
}

// ---- Adversaries ----

// The exact δ at `epsilon` of the worst adversary that chooses up to `steps` steps of the menu,
// each after the outputs before, and stops when it likes, but before `spent` would exceed its
// budget: by enumeration of all choices and outputs.
class Adversary {
 public:
  using Counts = std::vector<uint64_t>;  // of each mechanism of the menu
  using Allowed = std::function<bool(const Counts&)>;
  Adversary(std::vector<Pair> menu, double epsilon, Allowed allowed)
      : menu_(std::move(menu)), bound_(std::exp(epsilon)), allowed_(std::move(allowed)) {}

  double WorstDelta(int steps) { return Worst(Counts(menu_.size()), 1, 1, steps); }

 private:
  double Worst(const Counts& counts, double p, double q, int steps) {
    double worst = std::fmax(0, p - bound_ * q);
    if (steps == 0) return worst;
    for (size_t i = 0; i < menu_.size(); ++i) {
      Counts next = counts;
      ++next[i];
      if (!Allows(next)) continue;
      double sum = 0;
      for (const Atom& atom : menu_[i].atoms) sum += Worst(next, p * atom.p, q * atom.q, steps - 1);
      worst = std::fmax(worst, sum);
    }
    return worst;
  }

  bool Allows(const Counts& counts) {
    const auto [at, fresh] = known_.try_emplace(counts, false);
    if (fresh) at->second = allowed_(counts);
    return at->second;
  }

  std::vector<Pair> menu_;
  double bound_;
  Allowed allowed_;
  std::map<Counts, bool> known_;
};

Composition Counted(const std::vector<Pair>& menu, const Adversary::Counts& counts) {
  Composition composition;
  for (size_t i = 0; i < menu.size(); ++i) {
    if (counts[i] > 0) composition.pairs.push_back({menu[i], menu[i], std::nullopt, counts[i]});
  }
  return composition;
}

// At δ = p over the mean order, the rare outcome of a reveal is where the filter's inequality is
// nearly an equality.
constexpr double kDelta = 0.01;
const std::vector<Pair>& Menu() {
  static const std::vector<Pair> menu = {Reveal(8 * kDelta, 1000), Swapped(Reveal(4 * kDelta, 300)),
                                         Reveal(0.6, 1.5)};
  return menu;
}

TEST(MixtureFilter, NoAdaptiveAdversaryExceedsTheDeclaredDelta) {
  for (const auto& budget :
       std::vector<Adversary::Counts>{{1, 0, 0}, {1, 0, 2}, {2, 0, 0}, {1, 1, 1}}) {
    MixtureFilter filter{0, kDelta, kOrders};
    filter.epsilon = *Spent(filter, Counted(Menu(), budget), {});
    const auto within = [&](const Adversary::Counts& counts) {
      return !Crossed(filter, *Spent(filter, Counted(Menu(), counts), {}));
    };
    const double remove = Adversary(Menu(), filter.epsilon, within).WorstDelta(5);
    EXPECT_LE(remove, kDelta);
    EXPECT_GT(remove, kDelta / 4);  // the enumeration does not pass for nothing
    std::vector<Pair> other;
    for (const Pair& pair : Menu()) other.push_back(Swapped(pair));
    EXPECT_LE(Adversary(other, filter.epsilon, within).WorstDelta(5), kDelta);
  }
}

// The same adversaries against filters that are wrong: the enumeration notices each.
TEST(MixtureFilter, AdversariesExceedABrokenFilter) {
  const MixtureFilter right{0, kDelta, kOrders};
  // Weights that sum to two.
  MixtureFilter doubled{0, 2 * kDelta, kOrders};
  const std::vector<Pair> menu = {Reveal(16 * kDelta, 1000)};
  doubled.epsilon = *Spent(doubled, Counted(menu, {1}), {});
  const auto by_doubled = [&](const Adversary::Counts& counts) {
    return !Crossed(doubled, *Spent(doubled, Counted(menu, counts), {}));
  };
  EXPECT_GT(Adversary(menu, doubled.epsilon, by_doubled).WorstDelta(3), 1.5 * kDelta);
  // The curve of one of the mechanisms left out.
  const double epsilon = *Spent(right, Counted(Menu(), {1, 0, 0}), {});
  const auto without_last = [&](Adversary::Counts counts) {
    counts[2] = 0;
    return *Spent(right, Counted(Menu(), counts), {}) <= epsilon;
  };
  EXPECT_GT(Adversary(Menu(), epsilon, without_last).WorstDelta(5), 1.5 * kDelta);
}

// Two ledgers, each within its own filter, whose rounds one adversary interleaves: ε and δ add.
TEST(MixtureFilter, InterleavedLedgersStayWithinTheirSum) {
  const MixtureFilter one{*Spent(MixtureFilter{0, kDelta, kOrders}, Of(Menu()[0]), {}), kDelta,
                          kOrders};
  const MixtureFilter two{
      *Spent(MixtureFilter{0, 2 * kDelta, {3, 9}}, Of(Menu()[0]), {}), 2 * kDelta, {3, 9}};
  // The first three mechanisms are the first ledger's, the others the second's.
  std::vector<Pair> menu = Menu();
  menu.insert(menu.end(), Menu().begin(), Menu().end());
  const auto within = [&](const Adversary::Counts& counts) {
    const Adversary::Counts first(counts.begin(), counts.begin() + 3),
        second(counts.begin() + 3, counts.end());
    return !Crossed(one, *Spent(one, Counted(Menu(), first), {})) &&
           !Crossed(two, *Spent(two, Counted(Menu(), second), {}));
  };
  const MixtureFilter total = std::get<MixtureFilter>(*Compose({one, two}));
  const double worst = Adversary(menu, total.epsilon, within).WorstDelta(4);
  EXPECT_LE(worst, total.delta);
  EXPECT_GT(worst, 0);
}

}  // namespace
}  // namespace dpledger::accountant::filter
