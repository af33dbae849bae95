// The odometer of runs that nothing was declared of: its numbers against an oracle, and what it
// claims against adversaries that choose every step, and when to look, after the outputs before.
#include "accountant/filter/odometer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <utility>

#include "accountant/filter/mixture.h"
#include "accountant/rdp/rdp.h"
#include "base/status.h"
#include "tests/support/json_file.h"

namespace dpledger::accountant::filter {
namespace {

using ::dpledger::testing::ListAt;
using ::dpledger::testing::NumberAt;
using ::dpledger::testing::ReadJsonFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// With mass p under P it shows an outcome that is `ratio` times less probable under Q.
Pair Reveal(double p, double ratio) { return {{{p, p / ratio}, {1 - p, 1 - p / ratio}}, {}, 0}; }

Pair Swapped(Pair pair) {
  for (Atom& atom : pair.atoms) std::swap(atom.p, atom.q);
  return pair;
}

void AddPair(Pair pair, uint64_t count, Composition& into) {
  into.pairs.push_back({pair, pair, std::nullopt, count});
}

double EpsilonAt(const Composition& composition, double delta) {
  const auto answer = OdometerEpsilon(composition, delta, {});
  EXPECT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->value.lower(), 0);
  return answer->value.upper();
}

double DeltaAt(const Composition& composition, double epsilon) {
  return OdometerDelta(composition, epsilon, {})->value.upper();
}

// Three numbers: of a step and how many.
template <typename Use>
void ForEach(const google::protobuf::Struct& run, const char* key, const Use& use) {
  for (const auto& value : ListAt(run, key)) {
    const auto& step = value.list_value().values();
    use(step[0].number_value(), step[1].number_value(),
        static_cast<uint64_t>(step[2].number_value()));
  }
}

TEST(Odometer, AgreesWithTheOracleFromAbove) {
  const auto oracle = ReadJsonFile("tests/data/odometer_oracle.json");
  ASSERT_EQ(ListAt(oracle, "runs").size(), 9);
  for (const auto& value : ListAt(oracle, "runs")) {
    const auto& run = value.struct_value();
    Composition composition;
    ForEach(run, "gaussians", [&](double q, double z, uint64_t count) {
      composition.steps.push_back({q, {z, z}, count});
    });
    ForEach(run, "reveals", [&](double p, double ratio, uint64_t count) {
      AddPair(Reveal(p, ratio), count, composition);
    });
    const auto numbers = [&](const char* key, int i) { return ListAt(run, key)[i].number_value(); };
    for (int i = 0; i < ListAt(run, "deltas").size(); ++i) {
      const double epsilon = numbers("epsilons", i),
                   found = EpsilonAt(composition, numbers("deltas", i));
      EXPECT_GE(found, epsilon * (1 - 2e-16)) << run.DebugString();
      EXPECT_LE(found, epsilon * (1 + 1e-9)) << run.DebugString();
    }
    for (int i = 0; i < ListAt(run, "asked_epsilons").size(); ++i) {
      const double delta = numbers("found_deltas", i),
                   found = DeltaAt(composition, numbers("asked_epsilons", i));
      EXPECT_GE(found, delta * (1 - 2e-16)) << run.DebugString();
      EXPECT_LE(found, delta * (1 + 1e-6) + 1e-300) << run.DebugString();
    }
  }
}

TEST(Odometer, DeltaIsTheInverseOfEpsilon) {
  Composition composition;
  composition.steps.push_back({.01, {1, 1}, 2000});
  for (const double delta : {.1, 1e-5, 1e-12}) {
    const double epsilon = EpsilonAt(composition, delta);
    EXPECT_NEAR(DeltaAt(composition, epsilon) / delta, 1, 1e-9);
    EXPECT_GT(DeltaAt(composition, epsilon - .01), delta);
  }
  EXPECT_EQ(DeltaAt(composition, 0), 1);
}

TEST(Odometer, IsAtMostTheSumOfBoundedLosses) {
  Composition composition;
  AddPair(Reveal(.6, 1.5), 2, composition);
  const double certain = 2 * std::log(.6 / .4);  // of the other outcome, under Q
  for (const double delta : {0., 1e-30, 1e-6}) {
    EXPECT_NEAR(EpsilonAt(composition, delta), certain, 1e-12);
  }
  EXPECT_LT(EpsilonAt(composition, .9), certain);
  EXPECT_EQ(DeltaAt(composition, certain + 1e-9), 0);
  EXPECT_GT(DeltaAt(composition, certain - 1e-9), 1e-6);
  composition.steps.push_back({1, {50, 50}, 1});
  EXPECT_EQ(EpsilonAt(composition, 0), kInfinity);
  // Of the direction that shows more.
  for (const Pair& pair : {Reveal(.5, 30), Swapped(Reveal(.5, 30))}) {
    Composition one_way;
    AddPair(pair, 1, one_way);
    EXPECT_NEAR(EpsilonAt(one_way, 0), std::log(30), 1e-12);
  }
}

TEST(Odometer, AnEpochCountsAsWholeFromItsFirstRound) {
  Composition begun, whole;
  begun.allocations.push_back({10, {1, 1}, 1, 9});
  whole.allocations.push_back({10, {1, 1}, 1, 0});
  EXPECT_EQ(EpsilonAt(begun, 1e-6), EpsilonAt(whole, 1e-6));
}

TEST(Odometer, NothingAndEverything) {
  EXPECT_EQ(EpsilonAt(Composition(), 1e-6), 0);
  EXPECT_EQ(DeltaAt(Composition(), 0), 0);
  Composition open;
  open.non_private = true;
  EXPECT_EQ(EpsilonAt(open, 1e-6), kInfinity);
  EXPECT_EQ(DeltaAt(open, 5), 1);
  EXPECT_THAT(OdometerEpsilon(Composition(), 1e-6, {})->warnings,
              ElementsAre("an odometer gives no lower bound"));
}

TEST(Odometer, RefusesWrongNumbersByName) {
  for (const double delta : {-.1, 1., std::nan("")}) {
    const auto refused = OdometerEpsilon(Composition(), delta, {});
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("delta: must be in [0, 1)"));
  }
  for (const double epsilon : {-.1, kInfinity, std::nan("")}) {
    const auto refused = OdometerDelta(Composition(), epsilon, {});
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(refused.status().message()),
                HasSubstr("epsilon: must be finite and >= 0"));
  }
}

// Its ratio is infinite on what fails; and a delta that outputs choose cannot be taken from the
// delta that is asked about.
TEST(Odometer, RefusesWhatMayFail) {
  Composition failing;
  failing.steps.push_back({1, {5, 5}, 1});
  AddPair(Pair{{{0.999, 0.999}, {0.001, 0}, {0, 0.001}}, {}, 0}, 1, failing);
  for (const auto& status :
       {OdometerEpsilon(failing, .1, {}).status(), OdometerDelta(failing, 50, {}).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(ReasonOf(status).reason, "ODOMETER_CANNOT_COUNT");
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("odometer: a mechanism that may fail with a probability delta"));
  }
}

// ---- Adversaries ----

// What the worst adversary reaches who chooses up to `steps` steps of the menu, each after the
// outputs before, by enumeration of all choices and outputs. The bound on the loss is a function of
// how often each mechanism was run.
class Adversary {
 public:
  using Counts = std::vector<uint64_t>;
  using Bound = std::function<double(const Counts&)>;
  Adversary(std::vector<Pair> menu, Bound bound)
      : menu_(std::move(menu)), bound_(std::move(bound)) {}

  // The P-probability that at some time the loss exceeds the bound of that time.
  double ProbabilityToExceed(int steps) { return Exceed(Counts(menu_.size()), 1, 1, steps); }
  // The greatest E_Q[(x - e^bound)_+] at an end that the outputs decide.
  double DeltaAtAnEnd(int steps) { return AtAnEnd(Counts(menu_.size()), 1, 1, steps); }

 private:
  double Exceed(const Counts& counts, double p, double q, int steps) {
    if (p > RatioAt(counts) * q * (1 + 1e-12)) return p;
    return BestStep(counts, steps, [&](const Counts& next, const Atom& atom) {
      return Exceed(next, p * atom.p, q * atom.q, steps - 1);
    });
  }
  double AtAnEnd(const Counts& counts, double p, double q, int steps) {
    const double stopped = std::fmax(0, p - RatioAt(counts) * q);
    return std::fmax(stopped, BestStep(counts, steps, [&](const Counts& next, const Atom& atom) {
                       return AtAnEnd(next, p * atom.p, q * atom.q, steps - 1);
                     }));
  }
  template <typename Value>
  double BestStep(const Counts& counts, int steps, const Value& value) {
    double best = 0;
    for (size_t i = 0; steps > 0 && i < menu_.size(); ++i) {
      Counts next = counts;
      ++next[i];
      double sum = 0;
      for (const Atom& atom : menu_[i].atoms) sum += value(next, atom);
      best = std::fmax(best, sum);
    }
    return best;
  }
  double RatioAt(const Counts& counts) {
    const auto [at, fresh] = known_.try_emplace(counts, 0);
    if (fresh) at->second = std::exp(bound_(counts));
    return at->second;
  }

  std::vector<Pair> menu_;
  Bound bound_;
  std::map<Counts, double> known_;
};

Composition Counted(const std::vector<Pair>& menu, const Adversary::Counts& counts) {
  Composition composition;
  for (size_t i = 0; i < menu.size(); ++i)
    if (counts[i] > 0) AddPair(menu[i], counts[i], composition);
  return composition;
}

constexpr double kDelta = .1;
// Two ledgers' mechanisms. A rare outcome, a little rarer than delta, shows much: the bound is
// nearly an equality there. One in the other direction. One that is no rare outcome, and would be
// exceeded by it if the weights of the orders had a greater sum than one.
std::vector<Pair> Menu() {
  return {Reveal(.95 * kDelta, 1e4), Swapped(Reveal(.3, 40)), Reveal(.5, 30)};
}
std::vector<Pair> Others() {
  std::vector<Pair> others;
  for (const Pair& pair : Menu()) others.push_back(Swapped(pair));
  return others;
}

TEST(Odometer, NoAdversaryExceedsItWithMoreThanDelta) {
  double greatest = 0;
  // The true data set may be the one or the other: the number is the same.
  for (const auto& menu : {Menu(), Others()}) {
    Adversary adversary(menu, [&](const Adversary::Counts& counts) {
      return EpsilonAt(Counted(Menu(), counts), kDelta);
    });
    const double exceeds = adversary.ProbabilityToExceed(6);
    EXPECT_LE(exceeds, kDelta);
    EXPECT_LE(adversary.DeltaAtAnEnd(6), kDelta);
    greatest = std::fmax(greatest, exceeds);
  }
  EXPECT_GT(greatest, .9 * kDelta);  // the enumeration does not pass for nothing
}

// The same adversaries against odometers that are wrong: the enumeration notices each.
TEST(Odometer, AdversariesExceedABrokenOne) {
  const std::vector<Pair> menu = Menu();
  // A ledger left out.
  Adversary without_first(menu, [&](Adversary::Counts counts) {
    counts[0] = 0;
    return EpsilonAt(Counted(menu, counts), kDelta);
  });
  EXPECT_GT(without_first.ProbabilityToExceed(6), 1.5 * kDelta);
  EXPECT_GT(without_first.DeltaAtAnEnd(6), 1.5 * kDelta);
  // Every order with a weight of one.
  Adversary unweighted(menu, [&](const Adversary::Counts& counts) {
    return EpsilonAt(Counted(menu, counts), .99);  // what twelve times kDelta is nearly
  });
  EXPECT_GT(unweighted.ProbabilityToExceed(6), 3 * kDelta);
  // Only the direction in which the second mechanism shows less.
  const std::vector<Pair> one_way = {Swapped(Reveal(.3, 40))};
  const auto lesser_of = [](const std::vector<Pair>& of, const Adversary::Counts& counts) {
    if (counts[0] == 0) return 0.;
    const auto curve = rdp::CurveOf(Counted(of, counts));
    std::vector<double> divergences, orders;
    for (const double order : kOdometerOrders) {
      orders.push_back(order);
      divergences.push_back(std::fmin(curve.remove(order), curve.add(order)));
    }
    return MixtureOdometer(orders, divergences, kDelta);
  };
  const std::vector<Pair> other_way = {Reveal(.3, 40)};
  const auto exceeds = [&](const std::vector<Pair>& of) {
    return Adversary(of, [&](const Adversary::Counts& counts) { return lesser_of(of, counts); })
        .ProbabilityToExceed(4);
  };
  EXPECT_GT(std::fmax(exceeds(one_way), exceeds(other_way)), 1.5 * kDelta);
}

// Gaussian rounds, sampled and not, of two ledgers in turns: the next one's noise follows from the
// loss so far. The share of runs that are ever above the bound.
class GaussianRuns {
 public:
  // `left_out`: a kind whose rounds the bound does not count; -1: none.
  explicit GaussianRuns(int left_out) : left_out_(left_out) {}

  double ShareAbove(int runs) {
    std::mt19937_64 random(20261123);
    int above = 0;
    for (int i = 0; i < runs; ++i) above += IsEverAbove(random) ? 1 : 0;
    return static_cast<double>(above) / runs;
  }

 private:
  struct Kind {
    double q, z;
  };
  static constexpr Kind kKinds[] = {{1, 8}, {.2, .7}, {1, 1.2}};

  bool IsEverAbove(std::mt19937_64& random) {
    std::normal_distribution<double> normal;
    std::bernoulli_distribution coin(.5);
    std::vector<uint64_t> counts(3);
    double loss = 0;
    for (int round = 0; round < 12; ++round) {
      // What shows little, until it is at hand to push the loss over the bound.
      const double gap = BoundAt(counts) - loss;
      const int kind = gap > 3 ? 0 : gap > 1.5 || coin(random) ? 1 : 2;
      const Kind& step = kKinds[kind];
      const double mu = 1 / step.z;
      std::bernoulli_distribution joins(step.q);
      const double t = normal(random) + (joins(random) ? mu : 0);  // the record is in
      loss += std::log1p(step.q * std::expm1(mu * t - mu * mu / 2));
      ++counts[static_cast<size_t>(kind)];
      if (loss > BoundAt(counts)) return true;
    }
    return false;
  }

  double BoundAt(const std::vector<uint64_t>& counts) {
    const auto [at, fresh] = known_.try_emplace(counts, 0);
    if (!fresh) return at->second;
    Composition composition;
    for (int i = 0; i < 3; ++i) {
      const uint64_t count = counts[static_cast<size_t>(i)];
      if (count == 0 || i == left_out_) continue;
      composition.steps.push_back({kKinds[i].q, {kKinds[i].z, kKinds[i].z}, count});
    }
    return at->second = EpsilonAt(composition, kDelta);
  }

  const int left_out_;
  std::map<std::vector<uint64_t>, double> known_;
};

TEST(Odometer, AdaptiveGaussianRunsAreAboveItWithAtMostDelta) {
  constexpr int kRuns = 20'000;
  const double slack = 4 * std::sqrt(kDelta * (1 - kDelta) / kRuns);
  EXPECT_LE(GaussianRuns(-1).ShareAbove(kRuns), kDelta + slack);
  // The control: a kind of rounds that nobody counted.
  EXPECT_GT(GaussianRuns(2).ShareAbove(kRuns), kDelta + slack);
}

}  // namespace
}  // namespace dpledger::accountant::filter
