// Bundles: what a verifier accepts, and the first thing it names of what it does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ledger_store/bundle/difference.h"
#include "ledger_store/bundle/verifier.h"
#include "ledger_store/bundle/writer.h"
#include "merkle/compact_tree.h"
#include "tests/ledger_store/bundle_cases.h"
#include "tests/ledger_store/bundle_sample.h"

namespace dpledger::bundle {
namespace {

using ::testing::HasSubstr;

absl::Status Verify(const std::string& bundle, VerifierOptions options = {}) {
  Verifier verifier(std::move(options));
  StringSource source(bundle);
  return VerifyBundle(source, verifier);
}

VerifierOptions OptionsOf(const BundleCase& bundle_case) {
  VerifierOptions options;
  for (const int key : bundle_case.trusted) options.trusted.push_back(SampleVerifierKey(key));
  if (!bundle_case.older.empty()) {
    options.older.push_back(*merkle::Note::Parse(bundle_case.older));
  }
  return options;
}

TEST(Bundle, IsAcceptedOrRefusedForItsFirstDifference) {
  for (const BundleCase& bundle_case : BundleCases()) {
    const absl::Status status = Verify(bundle_case.bundle, OptionsOf(bundle_case));
    EXPECT_EQ(ClassOf(status), bundle_case.difference_class) << bundle_case.name << ": " << status;
    if (bundle_case.difference_class.empty()) {
      EXPECT_TRUE(status.ok()) << bundle_case.name << ": " << status;
      continue;
    }
    EXPECT_THAT(std::string(status.message()), HasSubstr(bundle_case.message)) << bundle_case.name;
    const bool is_format = bundle_case.difference_class == kFormatClass;
    EXPECT_EQ(status.code(),
              is_format ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kDataLoss)
        << bundle_case.name;
    EXPECT_EQ(ReasonOf(status).reason, is_format ? kNoBundle : kDifference) << bundle_case.name;
  }
}

TEST(Bundle, TellsWhatItVerified) {
  SampleLedger ledger;
  ledger.AddRound("trainer", 1).AddRound("other", 1).Close("trainer");
  std::vector<std::string> entries;
  VerifierOptions options;
  options.root_sizes = {2, 100};
  options.entries = [&](std::string_view entry) {
    entries.emplace_back(entry);
    return absl::OkStatus();
  };
  Verifier verifier(options);
  const std::string bundle = SampleBundle(ledger);
  StringSource source(bundle);
  ASSERT_EQ(VerifyBundle(source, verifier), absl::OkStatus());
  EXPECT_EQ(entries, ledger.entries);
  EXPECT_EQ(verifier.rules().size(), 6u);
  EXPECT_EQ(verifier.rules().writers(), 2u);
  EXPECT_TRUE(verifier.rules().StatusOf("trainer")->closed());
  EXPECT_FALSE(verifier.rules().StatusOf("other")->closed());
  EXPECT_EQ(verifier.rules().declaration().dataset(), "mnist");
  EXPECT_EQ(verifier.evidence().checkpoint().origin, kSampleOrigin);
  EXPECT_TRUE(verifier.evidence().own_keys());
  EXPECT_EQ(verifier.RootAt(2), RootOf({ledger.entries[0], ledger.entries[1]}));
  EXPECT_EQ(verifier.RootAt(100), std::nullopt);
}

TEST(Bundle, EntrySinkEndsTheVerification) {
  VerifierOptions options;
  uint64_t taken = 0;
  options.entries = [&](std::string_view) {
    return ++taken == 2 ? absl::FailedPreconditionError("enough") : absl::OkStatus();
  };
  SampleLedger ledger;
  ledger.AddRound("t", 1);
  EXPECT_EQ(Verify(SampleBundle(ledger), options), absl::FailedPreconditionError("enough"));
}

TEST(Bundle, IsTheSameBytesForTheSameLedger) {
  SampleLedger ledger;
  ledger.AddQueries("t", 300);
  const std::string bundle = SampleBundle(ledger);
  EXPECT_EQ(SampleBundle(ledger), bundle);
  EXPECT_EQ(TarOf(MembersOf(bundle)), bundle);
}

TEST(Bundle, IsNotWrittenOfOtherEntriesThanWereSigned) {
  SampleLedger ledger;
  ledger.AddRound("t", 1);
  StringSink sink;
  BundleWriter writer = *BundleWriter::Begin(&sink, EvidenceOf(RegistryOf(ledger)));
  ASSERT_EQ(writer.Add(ledger.entries[0]), absl::OkStatus());
  EXPECT_EQ(writer.FinishTree().code(), absl::StatusCode::kDataLoss);
  ASSERT_EQ(writer.Add(ledger.entries[2]), absl::OkStatus());
  ASSERT_EQ(writer.Add(ledger.entries[1]), absl::OkStatus());
  const absl::Status finished = writer.FinishTree();
  EXPECT_EQ(finished.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(finished.message()), HasSubstr("their root must be"));
  EXPECT_EQ(writer.Add("one more").code(), absl::StatusCode::kInvalidArgument);
}

// A bundle cut anywhere is no bundle.
TEST(Bundle, EveryTruncationIsRefused) {
  SampleLedger ledger;
  ledger.AddRound("t", 1);
  const std::string bundle = SampleBundle(ledger, EvidenceOf(RegistryOf(ledger)), "{}\n");
  for (size_t size = 0; size < bundle.size(); size += 1 + size % 97) {
    EXPECT_EQ(ClassOf(Verify(bundle.substr(0, size))), kFormatClass) << size;
  }
}

// Every bit of the file is evidence, or stands in the two members that are said not to be.
TEST(Bundle, EveryFlippedBitIsFoundOutsideOfTheReadableText) {
  SampleLedger ledger;
  ledger.AddQueries("t", 260).Close("t").Seal();
  SampleRegistry registry = RegistryOf(ledger);
  registry.keys = {1, 2};
  const std::string bundle = SampleBundle(ledger, EvidenceOf(registry), "{\"event\":1}\n");
  std::vector<std::pair<size_t, size_t>> readable;  // [begin, end) of what nothing vouches for
  size_t offset = 0;
  for (const SampleMember& member : MembersOf(bundle)) {
    offset += kBlockBytes;
    if (member.name == "README" || member.name == "events.jsonl") {
      readable.emplace_back(offset, offset + member.content.size());
    }
    offset += member.content.size() + PaddingOf(member.content.size());
  }
  ASSERT_EQ(readable.size(), 2u);

  VerifierOptions options;
  options.trusted = {SampleVerifierKey(2)};
  ASSERT_EQ(Verify(bundle, options), absl::OkStatus());
  std::mt19937 random(20240229);
  size_t begin = 0;
  int harmless = 0;
  // One bit in each of 600 parts: every member of this bundle is hit, and every kind of byte.
  constexpr size_t kParts = 600;
  for (size_t part = 1; part <= kParts; ++part) {
    const size_t end = bundle.size() * part / kParts;
    const size_t at = begin + random() % (end - begin);
    begin = end;
    std::string damaged = bundle;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
    const bool is_readable = std::any_of(readable.begin(), readable.end(), [at](const auto& range) {
      return range.first <= at && at < range.second;
    });
    EXPECT_EQ(Verify(damaged, options).ok(), is_readable) << "byte " << at;
    harmless += is_readable ? 1 : 0;
  }
  EXPECT_GT(harmless, 0);  // README was hit
}

}  // namespace
}  // namespace dpledger::bundle
