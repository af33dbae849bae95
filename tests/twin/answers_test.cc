// The accountant's answers by each method, held against the twin.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <iostream>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "accountant/accountant.h"
#include "tests/support/sampled_cases.h"
#include "tests/twin/profile.h"
#include "tests/twin/settings.h"

namespace dpledger::twin {
namespace {

using accountant::Composition;
using accountant::Interval;
using accountant::Method;
using accountant::Options;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What the twin says of δ(ε), remove and add.
class Truth {
 public:
  explicit Truth(const Setting& setting) : setting_(setting) {}

  // A ball that contains δ(ε) where it is near `delta`. It may reach down to 0 in the add
  // direction, where Chernoff's bound is small enough to show what is asked. `sharp`: more work.
  Ball DeltaAt(bool add, double epsilon) {
    const std::vector<Kind> kinds = setting_.Kinds(add);
    if (setting_.count == 1 || setting_.q == 1) {
      const Ball mu = kinds[0].mu * Sqrt(static_cast<double>(setting_.count));
      return DeltaOfOneStep(kinds[0].q, mu, add, epsilon);
    }
    const Ball above = DeltaUpByChernoff(kinds, epsilon);
    if (Upper(above) <= setting_.delta) return Around(above);
    std::optional<Profile>& laid = laid_[add];
    if (!laid.has_value() && !out_of_reach_[add]) {
      Effort effort;
      effort.most_products = 1e7;
      // Windows are for the losses above 0 alone.
      effort.one_line = add;
      laid = Profile::Lay(kinds, epsilon, std::log(setting_.delta), effort);
      out_of_reach_[add] = !laid.has_value();
    }
    if (!laid.has_value()) return Around(above);
    const Ball found = laid->DeltaAt(epsilon);
    return arb_is_finite(found.get()) ? found : Around(above);
  }

 private:
  static Ball Around(const Ball& above) {
    const Ball half = above / 2.0;
    return half.Widened(half);
  }

  const Setting setting_;
  std::optional<Profile> laid_[2];
  bool out_of_reach_[2] = {};
};

// What became of an interval for ε: whether the truth is outside; is shown to be inside.
struct Verdict {
  bool wrong = false, proved_lower = false, proved_upper = false;
};

Verdict JudgeEpsilon(const Setting& setting, Truth& truth, const Interval& epsilon) {
  Verdict verdict;
  const Ball delta = setting.delta;
  if (epsilon.upper() < kInfinity) {
    const Ball remove = truth.DeltaAt(false, epsilon.upper()),
               add = truth.DeltaAt(true, epsilon.upper());
    verdict.wrong = CertainlyLess(delta, remove) || CertainlyLess(delta, add);
    verdict.proved_upper =
        !CertainlyLess(delta, remove.Greatest()) && !CertainlyLess(delta, add.Greatest());
  } else {
    verdict.proved_upper = true;
  }
  if (epsilon.lower() > 0) {
    const Ball remove = truth.DeltaAt(false, epsilon.lower());
    verdict.proved_lower = !CertainlyLess(remove.Least(), delta);
    if (!verdict.proved_lower) {
      const Ball add = truth.DeltaAt(true, epsilon.lower());
      verdict.proved_lower = !CertainlyLess(add.Least(), delta);
      verdict.wrong |= CertainlyLess(remove, delta) && CertainlyLess(add, delta);
    }
  } else {
    verdict.proved_lower = true;
  }
  return verdict;
}

// What the answers to many settings came to.
struct Count {
  int answers = 0, wrong = 0, proved = 0, wide = 0;
  double seconds = 0;
};

class Answers : public ::testing::Test {
 protected:
  void Judge(const Setting& setting, Method method, Count& count) {
    Options options;
    options.method = method;
    const auto answer = ComputeEpsilon(setting.Steps(), setting.delta, options);
    ASSERT_TRUE(answer.ok()) << answer.status() << setting.Name();
    const auto start = std::chrono::steady_clock::now();
    Truth truth(setting);
    const Verdict verdict = JudgeEpsilon(setting, truth, answer->value);
    EXPECT_FALSE(verdict.wrong) << accountant::MethodName(method) << " [" << answer->value.lower()
                                << ", " << answer->value.upper() << "] of " << setting.Name();
    ++count.answers;
    count.wrong += verdict.wrong;
    count.proved += verdict.proved_lower && verdict.proved_upper;
    count.wide += method != Method::kRdp && answer->value.RelativeGap() > 1e-3;
    count.seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (kWanted != nullptr && !(verdict.proved_lower && verdict.proved_upper)) {
      std::cout << "not shown " << verdict.proved_lower << verdict.proved_upper << " "
                << accountant::MethodName(method) << " [" << answer->value.lower() << ", "
                << answer->value.upper() << "] " << setting.Name() << "\n";
    }
  }
  static void Report(const char* name, const Count& count) {
    std::cout << name << ": " << count.answers << " answers, " << count.wrong << " wrong, "
              << count.proved << " shown to contain the truth, " << count.wide
              << " wider than 1e-3, " << count.seconds << " s of the twin\n";
  }
};

TEST_F(Answers, ContainTheTruthOverTheWholeBox) {
  Settings settings(20261123);
  Count best, rdp, pld, contour;
  for (size_t i = 0; i < SettingsOf(8); ++i) {
    const Setting setting = settings.Wide();
    Judge(setting, Method::kBest, best);
    Judge(setting, Method::kRdp, rdp);
    if (i % 4 == 0) Judge(setting, Method::kPld, pld);
    if (i % 4 == 1) Judge(setting, Method::kContour, contour);
  }
  Report("best", best), Report("rdp", rdp), Report("pld", pld), Report("contour", contour);
  EXPECT_GE(best.proved, best.answers / 2);
  EXPECT_GE(rdp.proved, rdp.answers * 9 / 10);
}

TEST_F(Answers, ContainTheTruthWhereFewJumpsDecide) {
  Settings settings(7);
  Count best;
  for (size_t i = 0; i < SettingsOf(1); ++i) Judge(settings.FewJumps(), Method::kBest, best);
  Report("best, few jumps", best);
}

TEST_F(Answers, ContainTheTruthAtTheCorners) {
  Count best, rdp, pld;
  testing::SampledCases sampled(2);
  for (const double q : {1e-12, 1e-6, 0.01, 1 - 1e-9, 1 - 0x1p-53, 1.0}) {
    for (const double z : {0.5, 20.0}) {
      for (const uint64_t count : {uint64_t{1}, uint64_t{1000}}) {
        if (kWanted == nullptr && count > 1 && z > 1) continue;  // one step is closed, and cheap
        for (const double delta : {1e-300, 1e-5, 1 - 1e-9}) {
          if (!sampled.Next()) continue;
          const Setting setting{q, z, count, delta};
          Judge(setting, Method::kBest, best);
          if (delta == 1e-5 || kWanted != nullptr) Judge(setting, Method::kRdp, rdp);
          if (count == 1 && delta == 1e-5) Judge(setting, Method::kPld, pld);
        }
      }
    }
  }
  Report("best", best), Report("rdp", rdp), Report("pld", pld);
  EXPECT_GE(best.proved, best.answers * 3 / 4);
  EXPECT_GE(rdp.proved, rdp.answers * 3 / 4);
}

// Two kinds of steps in one composition: a term of the second that counts as the first, or not at
// all, is seen.
TEST(AnswersOfTwoKinds, ContainTheTruth) {
  for (const auto& [q, z, count] : {std::tuple(0.01, 1.0, 2000.0), std::tuple(0.3, 4.0, 50.0)}) {
    const double delta = 1e-7;
    Composition composition;
    std::vector<Kind> kinds;
    for (const double times : {1.0, 2.0}) {
      const Interval noise{times * z, times * z};
      composition.steps.push_back({q, noise, static_cast<uint64_t>(times * count)});
      kinds.push_back({Ball(q), Ball(1.0) / (times * z), times * count, false});
    }
    for (const Method method : {Method::kContour, Method::kPld, Method::kRdp}) {
      Options options;
      options.method = method;
      const auto answer = ComputeEpsilon(composition, delta, options);
      ASSERT_TRUE(answer.ok()) << answer.status();
      const Interval& epsilon = answer->value;
      const auto profile = Profile::Lay(kinds, epsilon.upper(), std::log(delta));
      ASSERT_TRUE(profile.has_value());
      EXPECT_LE(Upper(profile->DeltaAt(epsilon.upper())), delta) << accountant::MethodName(method);
      if (method == Method::kRdp) continue;
      EXPECT_GE(Lower(profile->DeltaAt(epsilon.lower())), delta) << accountant::MethodName(method);
      EXPECT_GT(Lower(profile->DeltaAt(epsilon.upper() * 0.999)), delta) << "it is not wide";
    }
  }
}

// A control: intervals that are moved by a part in a hundred thousand are found to be wrong.
TEST_F(Answers, ThatAreOffAreFound) {
  Settings settings(3);
  int moved = 0, found = 0;
  for (int i = 0; i < 8; ++i) {
    const Setting setting = settings.Wide();
    const auto answer = ComputeEpsilon(setting.Steps(), setting.delta, {});
    ASSERT_TRUE(answer.ok());
    const Interval& epsilon = answer->value;
    if (!(epsilon.lower() > 0) || epsilon.RelativeGap() > 1e-8) continue;
    Truth truth(setting);
    moved += 2;
    found += JudgeEpsilon(setting, truth, {0, epsilon.upper() * (1 - 1e-5)}).wrong;
    found += JudgeEpsilon(setting, truth, {epsilon.lower() * (1 + 1e-5), kInfinity}).wrong;
  }
  EXPECT_GE(moved, 8);
  EXPECT_GE(found, moved * 3 / 4);
}

}  // namespace
}  // namespace dpledger::twin
