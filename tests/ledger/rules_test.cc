// The engine-independent rules: what a request must meet by itself, and what it makes of a ledger's
// head.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hex.h"
#include "events/names.h"
#include "ledger/batch_row.h"
#include "ledger/ledger_head.h"
#include "ledger/request_rules.h"
#include "tests/ledger_store/requests.h"

namespace dpledger {
namespace {

using absl::StatusCode;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'041);

::testing::AssertionResult IsFieldError(const absl::Status& status, const std::string& message) {
  return IsError(status, StatusCode::kInvalidArgument, "INVALID_FIELD", message);
}

v1::AppendBatchRequest OneNote(const std::string& text) {
  v1::AppendBatchRequest request = Batch(kLedger, "w", "r");
  AddNote(request, text);
  return request;
}

std::vector<std::string> EntriesOf(const LedgerChange& change) {
  const auto entries = DecodeBatchRow(change.entries).value();
  return {entries.begin(), entries.end()};
}

LedgerHead FreshHead() {
  NewLedger made = Create(CreateRequest(kLedger), kNow).value();
  LedgerHead head = std::move(made.empty);
  Apply(made.change, head);
  return head;
}

TEST(LedgerName, PartsHaveAShape) {
  const std::string longest = absl::StrCat("a", std::string(61, '-'), "z");
  EXPECT_TRUE(events::CheckLedgerName("name", "projects/p/ledgers/" + longest).ok());
  EXPECT_TRUE(events::CheckLedgerName("name", "projects/0.a_b-c9/ledgers/x").ok());
  EXPECT_TRUE(IsFieldError(events::CheckLedgerName("name", "projects/p/ledgers/" + longest + "z"),
                           "name: "));
  EXPECT_TRUE(
      IsFieldError(events::CheckLedgerName("name", "projects/p./ledgers/x"), "got \"projects/p./"));
  EXPECT_TRUE(
      IsFieldError(events::CheckLedgerName("name", "Projects/p/ledgers/x"), "name: must be"));
  EXPECT_TRUE(
      IsFieldError(events::CheckLedgerName("name", "projects/p/ledger/x"), "name: must be"));
  EXPECT_TRUE(IsFieldError(events::CheckLedgerName("name", std::string(1000, 'a')), "aaa...\""));
}

TEST(Request, IdsAreTokens) {
  EXPECT_TRUE(events::CheckToken("request_id", std::string(64, 'Z')).ok());
  EXPECT_TRUE(
      IsFieldError(events::CheckToken("request_id", std::string(65, 'Z')), "1 to 64 bytes"));
  EXPECT_TRUE(IsFieldError(events::CheckToken("request_id", ""), "1 to 64 bytes"));
  EXPECT_TRUE(IsFieldError(events::CheckToken("request_id", "a/b"), "got \"a/b\""));
  EXPECT_TRUE(IsFieldError(events::CheckToken("request_id", "\xc3\xa4"), "1 to 64 bytes"));
}

TEST(Request, HasOneToTenThousandEntries) {
  v1::AppendBatchRequest request = Batch(kLedger, "w", "r");
  EXPECT_TRUE(IsFieldError(CheckRequest(request), "entries: must be 1 to 10,000, got 0"));
  for (int i = 0; i < 10'000; ++i) AddNote(request, "n");
  EXPECT_TRUE(CheckRequest(request).ok());
  AddNote(request, "n");
  EXPECT_TRUE(IsFieldError(CheckRequest(request), "entries: must be 1 to 10,000, got 10001"));
}

TEST(Request, BoundsItsTexts) {
  EXPECT_TRUE(CheckRequest(OneNote(std::string(4096, 'x'))).ok());
  EXPECT_TRUE(IsFieldError(CheckRequest(OneNote(std::string(4097, 'x'))),
                           "entries[0].note.text: must be at most 4096 bytes, got 4097"));
  v1::AppendBatchRequest request = Batch(kLedger, "w", "r");
  request.add_entries()->mutable_resume()->set_reason(std::string(1025, 'x'));
  EXPECT_TRUE(
      IsFieldError(CheckRequest(request), "entries[0].resume.reason: must be at most 1024"));
  request.mutable_entries(0)->mutable_correction()->set_text(std::string(4097, 'x'));
  EXPECT_TRUE(
      IsFieldError(CheckRequest(request), "entries[0].correction.text: must be at most 4096"));
}

TEST(Request, SetsEveryEntry) {
  v1::AppendBatchRequest request = OneNote("n");
  request.add_entries();
  EXPECT_TRUE(IsFieldError(CheckRequest(request), "entries[1].body: must be set"));
  v1::CreateLedgerRequest create = CreateRequest(kLedger);
  create.clear_declaration();
  EXPECT_TRUE(IsFieldError(CheckRequest(create), "declaration: must be set"));
}

TEST(Request, HasNoUnknownField) {
  v1::AppendBatchRequest request = OneNote("n");
  const std::string unknown("\xf8\x3f\x01", 3);  // field 1023, varint 1
  ASSERT_TRUE(request.mutable_entries(0)->mutable_note()->MergeFromString(unknown));
  EXPECT_TRUE(IsFieldError(CheckRequest(request), "entries[0].note: has a field"));
  request = OneNote("n");
  ASSERT_TRUE(request.mutable_entries(0)->MergeFromString(unknown));
  EXPECT_TRUE(IsFieldError(CheckRequest(request), "entries[0]: has a field"));
  v1::SealLedgerRequest seal = SealRequest(kLedger);
  ASSERT_TRUE(seal.MergeFromString(unknown));
  EXPECT_TRUE(IsFieldError(CheckRequest(seal), "request: has a field that this server does not"));
}

TEST(Request, ClaimsATimeThatExists) {
  v1::AppendBatchRequest request = OneNote("n");
  request.mutable_entries(0)->mutable_claimed_time()->set_seconds(253'402'300'800);
  EXPECT_TRUE(IsFieldError(CheckRequest(request), "entries[0].claimed_time: must lie"));
}

TEST(RequestHash, DependsOnLedgerAndEntriesOnly) {
  v1::AppendBatchRequest request = RoundBatch(kLedger, "w", "r", 1);
  const merkle::Hash hash = RequestHash(request);
  request.set_expected_sequence(0);
  request.mutable_entries(1)->mutable_claimed_time()->set_seconds(60);
  EXPECT_EQ(RequestHash(request), hash);
  EXPECT_NE(RequestHash(RoundBatch(kLedger, "w", "r", 2)), hash);
  EXPECT_NE(RequestHash(RoundBatch(kLedger, "v", "r", 1)), hash);
  EXPECT_NE(RequestHash(RoundBatch("projects/p/ledgers/b", "w", "r", 1)), hash);
}

// Kept for ever beside every ledger: a new version of this program must compute the same. The
// values were computed apart from this code, from the bytes that docs/formats.md describes.
TEST(RequestHash, IsAFormat) {
  EXPECT_EQ(HexEncode(merkle::ToBytes(RequestHash(OneNote("hello")))),
            "235136e2abc0c844662cd3050ec1cadb6f9ce3cbdcf53dd4b111e82a3541732b");
  EXPECT_EQ(HexEncode(merkle::ToBytes(RequestHash(SealRequest(kLedger)))),
            "cae388b77179741aaf60f32974c268ed1aff3bc7cc77e5fdcf0bcadcb8d19334");
}

TEST(LedgerHead, EntryHoldsAtMost65535Bytes) {
  const auto sized = [](size_t bytes) {
    v1::AppendBatchRequest request = OneNote("fits");
    v1::MechanismEvent& mechanism = *request.add_entries()->mutable_event()->mutable_mechanism();
    mechanism.mutable_unsupported()->set_description(std::string(bytes, 'x'));
    return request;
  };
  const LedgerHead head = FreshHead();
  const absl::StatusOr<LedgerChange> largest = AppendBatch(head, BatchDraft(sized(65'501)), kNow);
  ASSERT_TRUE(largest.ok()) << largest.status();
  EXPECT_EQ(EntriesOf(*largest)[1].size(), 65'535u);
  EXPECT_TRUE(IsFieldError(AppendBatch(head, BatchDraft(sized(65'502)), kNow).status(),
                           "entries[1]: must be at most 65535 bytes as a stored entry, got 65536"));
}

// The reference is the protocol buffer library: what it reads, it writes the same.
TEST(LedgerHead, EntriesAreSerialisedAsTheLibraryDoes) {
  const Arrival now(kNow, "spiffe://example.org/trainer");
  NewLedger made = Create(CreateRequest(kLedger), now).value();
  LedgerHead head = std::move(made.empty);
  Apply(made.change, head);
  std::vector<std::string> entries = EntriesOf(made.change);
  v1::AppendBatchRequest request = RoundBatch(kLedger, "w", "r1", 300);
  request.add_entries()->mutable_resume()->set_reason(std::string(1000, 'x'));
  AddNote(request, "");
  request.add_entries()->mutable_correction()->set_text("wrong");
  request.add_entries()->mutable_event();
  for (int64_t seconds :
       {int64_t{0}, int64_t{60}, int64_t{-60}, -62'135'596'800, 253'402'300'799}) {
    AddNote(request, absl::StrCat(seconds));
    request.mutable_entries()->rbegin()->mutable_claimed_time()->set_seconds(seconds);
  }
  request.add_entries()->mutable_writer_closed()->set_entry_count(12);
  const LedgerChange appended = AppendBatch(head, BatchDraft(request), now).value();
  Apply(appended, head);
  const std::vector<std::string> batch = EntriesOf(appended);
  entries.insert(entries.end(), batch.begin(), batch.end());
  const LedgerChange sealed =
      Seal(head, SealRequest(kLedger), {absl::UnixEpoch(), now.caller}).value();
  entries.push_back(EntriesOf(sealed).at(0));
  v1::ForkLedgerRequest fork;
  fork.set_name("projects/p/ledgers/b");
  fork.set_request_id("fork");
  entries.push_back(EntriesOf(Fork(head, fork, {3, {}}, now).value().change).at(0));
  entries.push_back(EntriesOf(NoticeFork(head, fork, {3, {}}, now).value()).at(0));
  ASSERT_EQ(entries.size(), 16u);
  for (const std::string& bytes : entries) {
    v1::LedgerEntry entry;
    ASSERT_TRUE(entry.ParseFromString(bytes));
    const bool first = entry.writer().empty() || entry.writer_counter() == 0;
    EXPECT_EQ(entry.caller(), first ? now.caller : "") << entry.ShortDebugString();
    EXPECT_EQ(HexEncode(SerializeDeterministically(entry)), HexEncode(bytes));
    EXPECT_TRUE(entry.GetReflection()->GetUnknownFields(entry).empty());
    EXPECT_NE(entry.body_case(), v1::LedgerEntry::BODY_NOT_SET);
  }
  for (int i = 0; i < request.entries_size(); ++i) {
    v1::LedgerEntry entry;
    ASSERT_TRUE(entry.ParseFromString(batch[static_cast<size_t>(i)]));
    const v1::NewEntry& wanted = request.entries(i);
    EXPECT_EQ(entry.event().SerializeAsString(), wanted.event().SerializeAsString());
    EXPECT_EQ(entry.resume().reason(), wanted.resume().reason());
    EXPECT_EQ(entry.note().text(), wanted.note().text());
    EXPECT_EQ(entry.correction().text(), wanted.correction().text());
    EXPECT_EQ(entry.writer_closed().entry_count(), wanted.writer_closed().entry_count());
    EXPECT_EQ(entry.has_claimed_time(), wanted.has_claimed_time());
    EXPECT_EQ(entry.claimed_time().seconds() / 60, wanted.claimed_time().seconds() / 60);
    EXPECT_EQ(entry.claimed_time().seconds() % 60, 0);
    EXPECT_EQ(entry.sequence(), static_cast<uint64_t>(i) + 1);
    EXPECT_EQ(entry.writer_counter(), static_cast<uint64_t>(i));
  }
}

TEST(LedgerHead, CorrectionNamesAnEarlierEntry) {
  const LedgerHead head = FreshHead();
  v1::AppendBatchRequest request = OneNote("wrong");
  request.add_entries()->mutable_correction()->set_corrected_sequence(1);
  EXPECT_TRUE(AppendBatch(head, BatchDraft(request), kNow).ok());
  request.mutable_entries(1)->mutable_correction()->set_corrected_sequence(2);
  EXPECT_TRUE(IsFieldError(AppendBatch(head, BatchDraft(std::move(request)), kNow).status(),
                           "entries[1].correction.corrected_sequence: must be an entry before this "
                           "one, below 2, got 2"));
}

TEST(LedgerHead, SumQueryAloneBeginsItsRound) {
  LedgerHead head = FreshHead();
  v1::AppendBatchRequest request = Batch(kLedger, "w", "r");
  AddSumQuery(request, 0);
  Apply(AppendBatch(head, BatchDraft(std::move(request)), kNow).value(), head);
  EXPECT_TRUE(
      IsError(AppendBatch(head, BatchDraft(RoundBatch(kLedger, "w", "s", 0)), kNow).status(),
              StatusCode::kFailedPrecondition, "ROUND_ALREADY_OPEN", "round 0 of writer w"));
  EXPECT_TRUE(AppendBatch(head, BatchDraft(RoundBatch(kLedger, "w", "s", 1)), kNow).ok());
}

TEST(LedgerHead, NothingFollowsAClosingInItsBatch) {
  v1::AppendBatchRequest request = Batch(kLedger, "w", "r");
  request.add_entries()->mutable_writer_closed()->set_entry_count(1);
  AddNote(request, "late");
  EXPECT_TRUE(IsError(AppendBatch(FreshHead(), BatchDraft(std::move(request)), kNow).status(),
                      StatusCode::kFailedPrecondition, "WRITER_CLOSED", "writer w has closed"));
}

TEST(LedgerHead, TakesNoMoreWritersThanAreRead) {
  LedgerHead head = FreshHead();
  std::map<std::string, v1::WriterStatus> writers;
  for (const v1::WriterStatus& writer : head.writers) writers[writer.writer()] = writer;
  for (uint64_t i = 0; writers.size() < (uint64_t{1} << 20) - 1; ++i) {
    const std::string name = absl::StrCat("w", i);
    writers[name].set_writer(name);
  }
  head.writers = WriterMap(std::move(writers));
  Apply(AppendBatch(head, BatchDraft(RoundBatch(kLedger, "last", "r1", 1)), kNow).value(), head);
  const absl::Status refused =
      AppendBatch(head, BatchDraft(RoundBatch(kLedger, "more", "r2", 1)), kNow).status();
  EXPECT_TRUE(IsError(refused, StatusCode::kFailedPrecondition, "TOO_MANY_WRITERS",
                      "has 1048576 writers, the most that a ledger may have, and more is none"));
  EXPECT_EQ(ReasonOf(refused).metadata["limit"], "1048576");
  EXPECT_TRUE(AppendBatch(head, BatchDraft(RoundBatch(kLedger, "last", "r3", 2)), kNow).ok());
}

}  // namespace
}  // namespace dpledger
