// Two verifiers that share nothing but docs/formats.md say the same of every bundle: ours, and
// tests/bundle/verify_bundle.py.
#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ledger_store/bundle/difference.h"
#include "ledger_store/bundle/verifier.h"
#include "tests/cli/process.h"
#include "tests/ledger_store/bundle_cases.h"
#include "tests/ledger_store/bundle_sample.h"

namespace dpledger::bundle {
namespace {

std::string OurClass(const BundleCase& bundle_case) {
  VerifierOptions options;
  for (const int key : bundle_case.trusted) options.trusted.push_back(SampleVerifierKey(key));
  if (!bundle_case.older.empty()) options.older.push_back(*merkle::Note::Parse(bundle_case.older));
  Verifier verifier(options);
  StringSource source(bundle_case.bundle);
  const absl::Status status = VerifyBundle(source, verifier);
  EXPECT_EQ(status.ok(), ClassOf(status).empty()) << status;
  return ClassOf(status);
}

// What the second verifier says of each, by one run of it.
std::vector<std::string> TheirClasses(const std::vector<BundleCase>& cases) {
  const dpledger::testing::TemporaryFolder folder;
  std::vector<std::string> questions;
  for (const BundleCase& bundle_case : cases) {
    const std::string number = absl::StrCat(questions.size());
    std::vector<std::string> keys;
    for (const int key : bundle_case.trusted) {
      keys.push_back(absl::StrCat("\"", SampleVerifierKey(key).ToText(), "\""));
    }
    std::string older;
    if (!bundle_case.older.empty()) {
      older = absl::StrCat("\"", folder.Write(number + ".older", bundle_case.older), "\"");
    }
    questions.push_back(absl::StrCat("{\"bundle\":\"", folder.Write(number, bundle_case.bundle),
                                     "\",\"keys\":[", absl::StrJoin(keys, ","), "],\"older\":[",
                                     older, "]}"));
  }
  const std::string list =
      folder.Write("list.json", absl::StrCat("[", absl::StrJoin(questions, ","), "]"));
  const dpledger::testing::RunResult result = dpledger::testing::RunProgram(
      {"/usr/bin/python3",
       absl::StrCat(std::getenv("DPLEDGER_SOURCE"), "/tests/bundle/verify_bundle.py"), "--batch",
       list});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::vector<std::string> classes;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    google::protobuf::Struct answer;
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(line, &answer).ok()) << line;
    classes.push_back(answer.fields().at("class").string_value());
  }
  EXPECT_EQ(classes.size(), cases.size());
  return classes;
}

TEST(SecondVerifier, SaysTheSameOfEveryCase) {
  const std::vector<BundleCase> cases = BundleCases();
  const std::vector<std::string> theirs = TheirClasses(cases);
  ASSERT_EQ(theirs.size(), cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(theirs[i], cases[i].difference_class) << cases[i].name;
  }
}

TEST(SecondVerifier, SaysTheSameOfFlippedBits) {
  SampleLedger ledger;
  ledger.AddRound("t", 1).AddQueries("u", 3).Close("t").Seal({"u"});
  const std::string good = SampleBundle(ledger);
  std::mt19937 random(7);
  std::vector<BundleCase> cases;
  constexpr size_t kParts = 400;
  for (size_t part = 0; part < kParts; ++part) {
    BundleCase bundle_case;
    bundle_case.bundle = good;
    char& byte =
        bundle_case.bundle[good.size() * part / kParts + random() % (good.size() / kParts)];
    byte = static_cast<char>(byte ^ (1 << random() % 8));
    cases.push_back(std::move(bundle_case));
  }
  const std::vector<std::string> theirs = TheirClasses(cases);
  ASSERT_EQ(theirs.size(), cases.size());
  for (size_t i = 0; i < cases.size(); ++i) EXPECT_EQ(theirs[i], OurClass(cases[i])) << i;
}

// Entries that were signed as they are: their bytes alone are what the two may read differently.
TEST(SecondVerifier, SaysTheSameOfSignedNonsense) {
  SampleLedger good;
  good.AddRound("t", 1).AddQueries("u", 2).Close("t").Seal({"u"});
  std::mt19937 random(11);
  std::vector<BundleCase> cases;
  for (int i = 0; i < 400; ++i) {
    SampleLedger ledger = good;
    std::string& entry = ledger.entries[random() % ledger.entries.size()];
    const size_t at = random() % entry.size();
    switch (random() % 3) {
      case 0:
        entry[at] = static_cast<char>(random());
        break;
      case 1:
        entry.erase(at, 1 + random() % 3);
        break;
      default:
        entry.insert(at, 1, static_cast<char>(random()));
    }
    BundleCase bundle_case;
    bundle_case.bundle = SampleBundle(ledger);
    cases.push_back(std::move(bundle_case));
  }
  const std::vector<std::string> theirs = TheirClasses(cases);
  ASSERT_EQ(theirs.size(), cases.size());
  for (size_t i = 0; i < cases.size(); ++i) EXPECT_EQ(theirs[i], OurClass(cases[i])) << i;
}

}  // namespace
}  // namespace dpledger::bundle
