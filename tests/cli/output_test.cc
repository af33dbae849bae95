// What the program prints and ends with, piece by piece.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "base/status.h"
#include "cli/append.h"
#include "cli/exit_code.h"
#include "cli/number_text.h"
#include "cli/shown_text.h"

namespace dpledger::cli {
namespace {

TEST(ExitCode, TellsRefusedUnauthorisedAndUnreachableApart) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("")), 1);
  EXPECT_EQ(ExitCodeOf(absl::DeadlineExceededError("")), 1);
  EXPECT_EQ(ExitCodeOf(WithReason(absl::FailedPreconditionError(""), {kClaimRefuted, {}})), 3);
  EXPECT_EQ(ExitCodeOf(absl::UnauthenticatedError("")), 4);
  EXPECT_EQ(ExitCodeOf(absl::PermissionDeniedError("")), 4);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("")), 6);
}

TEST(NumberText, RoundsBoundsOutward) {
  for (const double value : {6.187712389971539, 1e-5, 0.1, 1.0 / 3, 123456789.0}) {
    EXPECT_GE(std::strtod(TextUp(value).c_str(), nullptr), value);
    EXPECT_LE(std::strtod(TextDown(value).c_str(), nullptr), value);
  }
  EXPECT_EQ(TextUp(6.187712389971539), "6.187713");
  EXPECT_EQ(TextDown(6.187712389971539), "6.187712");
  EXPECT_EQ(TextNear(1e-5), "1e-05");
  EXPECT_EQ(TextUp(std::numeric_limits<double>::infinity()), "inf");
}

// A name could begin a line that looks like another ledger's, and drive the terminal.
TEST(ShownText, SpellsOutWhatIsUnseenOrActsOnATerminal) {
  EXPECT_EQ(Shown("u\nprojects/p/ledgers/fake  SEALED"),
            "u⟨U+000A⟩projects/p/ledgers/fake  SEALED");
  EXPECT_EQ(Shown("\x1b[2J\x07\x7f"), "⟨U+001B⟩[2J⟨U+0007⟩⟨U+007F⟩");
  EXPECT_EQ(Shown("\u202eadult\u200b\ufeff\u0085"), "⟨U+202E⟩adult⟨U+200B⟩⟨U+FEFF⟩⟨U+0085⟩");
  EXPECT_EQ(Shown("caf\u00e9 \u20ac \U0001f600"), "caf\u00e9 \u20ac \U0001f600");
  EXPECT_EQ(Shown("a\xff"), "a⟨0xFF⟩");
  EXPECT_EQ(ShownLines("a\nb\r\n"), "a\nb⟨U+000D⟩\n");
}

TEST(MakeBatches, SplitsByCountWithDerivedIdsAndSequences) {
  v1::AppendBatchRequest base;
  base.set_request_id("run");
  base.set_expected_sequence(5);
  v1::Event event;
  event.mutable_mechanism()->mutable_no_op();
  const auto batches = MakeBatches(base, std::vector<v1::Event>(2001, event));
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_EQ(batches[0].request_id(), "run");
  EXPECT_EQ(batches[1].request_id(), "run.1");
  EXPECT_EQ(batches[2].request_id(), "run.2");
  EXPECT_EQ(batches[1].expected_sequence(), 1005u);
  EXPECT_EQ(batches[2].entries_size(), 1);
}

TEST(MakeBatches, SplitsByBytes) {
  v1::Event event;
  event.mutable_sum_query()->mutable_query()->set_group(std::string(60'000, 'g'));
  const auto batches = MakeBatches({}, std::vector<v1::Event>(40, event));
  ASSERT_GT(batches.size(), 1u);
  for (const auto& batch : batches) EXPECT_LT(batch.ByteSizeLong(), size_t{1} << 21);
}

}  // namespace
}  // namespace dpledger::cli
