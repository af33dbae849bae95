// Where requests begin, and whose a writer's name is.
#include "events/request_runs.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "base/plain_name.h"
#include "base/status.h"
#include "dpledger/v1/ledger.pb.h"
#include "events/writer_rules.h"

namespace dpledger::events {
namespace {

constexpr int kNote = v1::LedgerEntry::kNote;
constexpr int kConflict = v1::LedgerEntry::kConflict;

TEST(RequestRuns, BeginWithAnotherWriterOrId) {
  RequestRuns runs;
  EXPECT_TRUE(runs.Begins("w", "r", kNote));
  EXPECT_FALSE(runs.Begins("w", "r", kNote));
  EXPECT_FALSE(runs.Begins("w", "r", kNote));
  EXPECT_TRUE(runs.Begins("w", "s", kNote));
  EXPECT_TRUE(runs.Begins("v", "s", kNote));
  EXPECT_TRUE(runs.Begins("w", "s", kNote)) << "entries of a request follow each other";
  EXPECT_TRUE(runs.Begins("w", "", kNote));
  EXPECT_FALSE(runs.Begins("w", "", kNote));
}

TEST(RequestRuns, ConflictsAndTheServersOwnEntriesStandAlone) {
  RequestRuns runs;
  EXPECT_TRUE(runs.Begins("", "r", v1::LedgerEntry::kForkNotice));
  EXPECT_TRUE(runs.Begins("", "r", v1::LedgerEntry::kForkNotice));
  EXPECT_TRUE(runs.Begins("w", "r", kNote));
  EXPECT_TRUE(runs.Begins("w", "r", kConflict));
  EXPECT_TRUE(runs.Begins("w", "r", kConflict));
  EXPECT_TRUE(runs.Begins("w", "r", kNote)) << "the refused batch, sent again";
  EXPECT_FALSE(runs.Begins("w", "r", kNote));
}

TEST(CallerOf, IsAPlainNameWhereARequestBegins) {
  EXPECT_TRUE(CheckCallerOf("", false).ok());
  EXPECT_TRUE(CheckCallerOf("oidc:https://i#a%20b", true).ok());
  EXPECT_TRUE(absl::StrContains(CheckCallerOf("token:a", false).message(), "in the first entry"));
  EXPECT_TRUE(CheckCallerOf(std::string(kMaxPlainNameBytes, 'a'), true).ok());
  EXPECT_FALSE(CheckCallerOf(std::string(kMaxPlainNameBytes + 1, 'a'), true).ok());
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const bool plain = byte > 0x20 && byte < 0x7f && c != '"' && c != '\\' && c != '*';
    EXPECT_EQ(CheckCallerOf(std::string("a") + c, true).ok(), plain) << byte;
  }
}

TEST(Owner, IsTheFirstCallerThatIsNamed) {
  v1::WriterStatus writer;
  writer.set_writer("w");
  EXPECT_TRUE(TakeCaller("", writer).ok());
  EXPECT_EQ(writer.owner(), "");
  EXPECT_TRUE(TakeCaller("token:a", writer).ok());
  EXPECT_TRUE(TakeCaller("", writer).ok());
  EXPECT_TRUE(TakeCaller("token:a", writer).ok());
  const absl::Status refused = TakeCaller("token:b", writer);
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(ReasonOf(refused).reason, "WRITER_OF_ANOTHER_CALLER");
  EXPECT_EQ(ReasonOf(refused).metadata["field"], "writer");
  EXPECT_FALSE(absl::StrContains(refused.message(), "token:a"));
  EXPECT_EQ(writer.owner(), "token:a");
  EXPECT_FALSE(CheckOwner("token:A", writer).ok());
  EXPECT_FALSE(CheckOwner("token:a2", writer).ok());
}

}  // namespace
}  // namespace dpledger::events
