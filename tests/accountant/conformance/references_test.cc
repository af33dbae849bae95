// This accountant beside the others, over the values that were kept of them: whoever is right, both
// cannot be unless the values agree. What does not agree is listed here with its reason. Of each
// kind of question, ./test asks one in three, and all that are listed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/accountant/conformance/judge.h"
#include "tests/support/sampled_cases.h"

namespace dpledger::accountant::conformance {
namespace {

struct Exception {
  const char* id;
  Verdict verdict;
  const char* reason;
};

constexpr char kTheirRounding[] =
    "the rounding of their transform is not in their bound (no caveat in the file, but the value "
    "lies below our certified lower bound)";
constexpr char kMesh[] =
    "looser by 1.2e-6: a finer mesh would take more than a question may (asked for a gap of 1e-7)";
constexpr char kTradeOff[] = "the trade-off curve's own sampling is about 1e-3 wide at small rates";

// Beside the values with the caveat that the rounding of a transform may have left them too small.
constexpr Exception kExceptions[] = {
    {"dpsgd-pld-pess-q0.01-s1-T100000-d1e-08", Verdict::kTheyAreBelow, kTheirRounding},
    {"dpsgd-pld-pess-q0.001-s0.3-T100-d1e-10", Verdict::kTheyAreBelow, kTheirRounding},
    {"dpsgd-pld-pess-q0.001-s0.5-T100-d1e-10", Verdict::kTheyAreBelow, kTheirRounding},
    {"dpsgd-pld-pess-q0.001-s1-T100-d1e-10", Verdict::kTheyAreBelow, kTheirRounding},
    {"dpsgd-pld-pess-q0.0001-s0.3-T100-d1e-10", Verdict::kTheyAreBelow, kTheirRounding},
    {"dpsgd-pld-pess-q0.0001-s0.3-T10000-d1e-08", Verdict::kTheyAreBelow, kTheirRounding},
    {"dpsgd-pld-pess-q0.0001-s0.3-T100000-d1e-08", Verdict::kTheyAreBelow, kTheirRounding},
    {"dpsgd-pld-pess-q0.0001-s0.5-T10000-d1e-08", Verdict::kTheyAreBelow, kTheirRounding},
    {"poisgauss-q0.001-s0.7-T10000-pld-add_or_remove_one-e4", Verdict::kTheyAreBelow,
     kTheirRounding},
    {"poisgauss-q0.001-s0.7-T10000-pld-replace_one-e4", Verdict::kTheyAreBelow, kTheirRounding},
    {"poisgauss-q0.1-s2-T100-pld-add_or_remove_one-e4", Verdict::kTheyAreBelow, kTheirRounding},
    {"poisgauss-q0.00426667-s1.1-T14100-pld-add_or_remove_one-e4", Verdict::kTheyAreBelow,
     kTheirRounding},
    {"disc-h1e-05-q0.00426667-s1.1-T14100-pld-add_or_remove_one-d1e-08", Verdict::kTheyAreBelow,
     kTheirRounding},
    {"trunc-n10000-q0.01-B150-s1-T1000-pld-replace_one-d1e-05", Verdict::kWeAreLooser, kMesh},
    {"tpr-q0.01-s1-T1000-fpr0.0001", Verdict::kWeAreLooser, kTradeOff},
    {"tpr-q0.01-s1-T1000-fpr0.001", Verdict::kWeAreLooser, kTradeOff},
    {"tpr-q0.01-s1-T1000-fpr0.01", Verdict::kWeAreLooser, kTradeOff},
};

std::string NameOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAgrees:
      return "agrees";
    case Verdict::kTheyAreBelow:
      return "their upper bound is below our lower";
    case Verdict::kTheyAreAbove:
      return "their lower bound is above our upper";
    case Verdict::kWeAreLooser:
      return "our upper bound is above theirs";
    case Verdict::kRefused:
      return "refused";
    case Verdict::kFailed:
      return "failed";
  }
  return "";
}

const char* ReasonFor(const ReferenceCase& reference, Verdict verdict) {
  if (verdict == Verdict::kTheyAreBelow && absl::StartsWith(reference.caveat, "fft round-off"))
    return reference.caveat.c_str();
  for (const Exception& exception : kExceptions) {
    if (exception.id == reference.id && exception.verdict == verdict) return exception.reason;
  }
  return nullptr;
}

bool IsListed(const ReferenceCase& reference) {
  return std::any_of(std::begin(kExceptions), std::end(kExceptions),
                     [&](const Exception& exception) { return exception.id == reference.id; });
}

// Prints how many cases there were of each verdict and reason, and returns those that had a reason.
std::set<std::string> JudgeAll(const std::vector<ReferenceCase>& cases) {
  Judge judge;
  std::map<std::string, int> counts;
  std::set<std::string> excused;
  const dpledger::testing::SampledCases one_in_five(5);
  std::map<std::string, dpledger::testing::SampledCases> sampled;
  for (const ReferenceCase& reference : cases) {
    auto& of_its_kind = sampled.try_emplace(reference.kind, one_in_five).first->second;
    if (!of_its_kind.Next() && !IsListed(reference)) continue;
    const Judgement judgement = judge(reference);
    if (judgement.verdict == Verdict::kAgrees) {
      ++counts["agree"];
      continue;
    }
    const char* reason = ReasonFor(reference, judgement.verdict);
    EXPECT_NE(reason, nullptr) << reference.id << " (" << reference.kind << ") "
                               << NameOf(judgement.verdict) << ": " << judgement.why;
    if (reason == nullptr) continue;
    ++counts[NameOf(judgement.verdict) + ", " + reference.kind + ": " + reason];
    excused.insert(reference.id);
  }
  for (const auto& [name, count] : counts) std::cout << count << " " << name << "\n";
  return excused;
}

TEST(References, GoogleDpAgreesOrIsListed) {
  const auto cases = GoogleCases();
  EXPECT_EQ(cases.size(), 1484);
  const std::set<std::string> excused = JudgeAll(cases);
  // No exception outlives its reason.
  for (const Exception& exception : kExceptions)
    EXPECT_EQ(excused.count(exception.id), 1u) << exception.id;
}

TEST(References, PeersAgreeOrAreListed) {
  const auto cases = PeerCases();
  EXPECT_EQ(cases.size(), 89);
  JudgeAll(cases);
}

// The judge is no rubber stamp: a value that is moved by more than rounding is noticed.
TEST(References, JudgeNoticesAWrongValue) {
  Judge judge;
  int moved = 0;
  for (ReferenceCase reference : GoogleCases()) {
    if (reference.kind != "poisson_sampled(gaussian)" || reference.by_renyi ||
        reference.quantity != Quantity::kEpsilon || !std::isfinite(reference.theirs.upper()) ||
        reference.theirs.upper() < 0.1 || moved == 20) {
      continue;
    }
    reference.theirs = {0, reference.theirs.upper() * 0.9};
    EXPECT_EQ(judge(reference).verdict, Verdict::kTheyAreBelow) << reference.id;
    reference.theirs = {reference.theirs.upper() * 1.3, 1e300};
    EXPECT_EQ(judge(reference).verdict, Verdict::kTheyAreAbove) << reference.id;
    ++moved;
  }
  EXPECT_EQ(moved, 20);
}

}  // namespace
}  // namespace dpledger::accountant::conformance
