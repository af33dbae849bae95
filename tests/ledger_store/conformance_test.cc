#include "tests/ledger_store/conformance_test.h"

#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "merkle/compact_tree.h"

namespace dpledger {

using absl::StatusCode;

LedgerPoint PointOf(LedgerStore& store, const std::string& name, uint64_t size) {
  merkle::CompactTree tree;
  const auto entries = store.Read(name, 0, size, 1 << 20);
  EXPECT_TRUE(entries.ok()) << entries.status();
  for (const std::string& entry : *entries) tree.Append(merkle::LeafHash(entry));
  EXPECT_EQ(tree.size(), size);
  return {size, tree.Root()};
}

std::vector<v1::LedgerEntry> LedgerStoreConformance::WholeLedger(const std::string& name) {
  const absl::StatusOr<v1::Ledger> ledger = store_->Get(name);
  EXPECT_TRUE(ledger.ok()) << ledger.status();
  if (!ledger.ok()) return {};
  merkle::CompactTree tree;
  std::vector<v1::LedgerEntry> entries;
  while (tree.size() < ledger->size()) {
    const auto page = store_->Read(name, tree.size(), 100, 1 << 20);
    EXPECT_TRUE(page.ok()) << page.status();
    if (!page.ok() || page->empty()) return {};
    for (const std::string& bytes : *page) {
      v1::LedgerEntry entry;
      EXPECT_TRUE(entry.ParseFromString(bytes));
      EXPECT_EQ(entry.sequence(), tree.size());
      tree.Append(merkle::LeafHash(bytes));
      entries.push_back(std::move(entry));
    }
  }
  EXPECT_EQ(merkle::ToBytes(tree.Root()), ledger->root_hash());
  return entries;
}

namespace {

TEST_P(LedgerStoreConformance, CreateStoresTheDeclarationAsEntryZero) {
  const absl::StatusOr<v1::Ledger> created = store_->Create(CreateRequest(kLedger));
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_EQ(created->name(), kLedger);
  EXPECT_EQ(created->state(), v1::OPEN);
  EXPECT_EQ(created->size(), 1u);
  EXPECT_EQ(created->declaration().dataset(), "adult");
  EXPECT_EQ(created->create_time().seconds(), 1'700'000'040);
  EXPECT_EQ(created->writers_size(), 0);
  const std::vector<v1::LedgerEntry> entries = WholeLedger(kLedger);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].declaration().unit_of_privacy(), "example");
  EXPECT_EQ(entries[0].writer(), "");
  EXPECT_EQ(entries[0].request_id(), "create");
}

TEST_P(LedgerStoreConformance, CreateAgainReturnsTheSameLedger) {
  CreateLedger(kLedger);
  ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r1", 1)).ok());
  const absl::StatusOr<v1::Ledger> again = store_->Create(CreateRequest(kLedger));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->size(), 3u);
}

TEST_P(LedgerStoreConformance, CreateRefusesATakenName) {
  CreateLedger(kLedger);
  EXPECT_TRUE(IsError(store_->Create(CreateRequest(kLedger, "other")).status(),
                      StatusCode::kAlreadyExists, "LEDGER_EXISTS", kLedger));
  v1::CreateLedgerRequest other_declaration = CreateRequest(kLedger);
  other_declaration.mutable_declaration()->set_dataset("mnist");
  EXPECT_TRUE(IsError(store_->Create(other_declaration).status(), StatusCode::kAlreadyExists,
                      "LEDGER_EXISTS", kLedger));
  EXPECT_EQ(WholeLedger(kLedger).size(), 1u);
}

TEST_P(LedgerStoreConformance, RefusesBadNamesAndIds) {
  const std::string shape = "must be projects/{project}/ledgers/{ledger}";
  for (const char* name : {"", "a", "projects/p/ledgers/", "projects/P/ledgers/a",
                           "projects/p/ledgers/a/b", "projects/p/ledgers/-a"}) {
    EXPECT_TRUE(IsError(store_->Create(CreateRequest(name)).status(), StatusCode::kInvalidArgument,
                        "INVALID_FIELD", shape))
        << name;
  }
  CreateLedger(kLedger);
  EXPECT_TRUE(IsError(store_->Append(RoundBatch(kLedger, "w", "no spaces", 1)).status(),
                      StatusCode::kInvalidArgument, "INVALID_FIELD",
                      "request_id: must be 1 to 64"));
  EXPECT_TRUE(IsError(store_->Append(RoundBatch(kLedger, "", "r", 1)).status(),
                      StatusCode::kInvalidArgument, "INVALID_FIELD", "writer: must be 1 to 64"));
  EXPECT_EQ(WholeLedger(kLedger).size(), 1u);
}

TEST_P(LedgerStoreConformance, UnknownLedgerIsNotFound) {
  const auto not_found = [](const absl::Status& status) {
    return IsError(status, StatusCode::kNotFound, "LEDGER_NOT_FOUND", kLedger + ": no such ledger");
  };
  EXPECT_TRUE(not_found(store_->Get(kLedger).status()));
  EXPECT_TRUE(not_found(store_->Read(kLedger, 0, 1, 1).status()));
  EXPECT_TRUE(not_found(store_->Append(RoundBatch(kLedger, "w", "r", 1)).status()));
  EXPECT_TRUE(not_found(store_->Seal(SealRequest(kLedger)).status()));
}

TEST_P(LedgerStoreConformance, ListPagesByNameWithinAProject) {
  for (const char* name : {"projects/p/ledgers/c", "projects/p/ledgers/a", "projects/q/ledgers/d",
                           "projects/p/ledgers/b", "projects/p0/ledgers/x"}) {
    CreateLedger(name);
  }
  const auto names = [&](const std::string& parent, const std::string& after, size_t limit) {
    std::vector<std::string> found;
    const auto page = store_->List(parent, after, limit);
    EXPECT_TRUE(page.ok()) << page.status();
    for (const v1::Ledger& ledger : *page) found.push_back(ledger.name());
    return found;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names("projects/p", "", 2), (Names{"projects/p/ledgers/a", "projects/p/ledgers/b"}));
  EXPECT_EQ(names("projects/p", "projects/p/ledgers/b", 2), (Names{"projects/p/ledgers/c"}));
  EXPECT_EQ(names("projects/p", "projects/p/ledgers/c", 2), Names{});
  EXPECT_EQ(names("projects/q", "", 9), (Names{"projects/q/ledgers/d"}));
  EXPECT_EQ(names("projects/none", "", 9), Names{});
  EXPECT_EQ(names("projects/-", "", 9).size(), 5u);
  EXPECT_EQ(names("projects/-", "projects/p/ledgers/c", 1), (Names{"projects/p0/ledgers/x"}));
  EXPECT_TRUE(IsError(store_->List("p", "", 9).status(), StatusCode::kInvalidArgument,
                      "INVALID_FIELD", "parent: must be projects/{project}"));
}

TEST_P(LedgerStoreConformance, CountsTheLedgersThatDeclareADataSet) {
  for (const char* name : {kLedger.c_str(), "projects/p/ledgers/b", "projects/q/ledgers/a"}) {
    CreateLedger(name);
  }
  v1::CreateLedgerRequest other = CreateRequest("projects/q/ledgers/b");
  other.mutable_declaration()->set_dataset("mnist");
  ASSERT_TRUE(store_->Create(other).ok());
  ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r", 1)).ok());
  Reopen();
  EXPECT_EQ(*store_->CountDeclaring("adult"), 3u);
  EXPECT_EQ(*store_->CountDeclaring("mnist"), 1u);
  EXPECT_EQ(*store_->CountDeclaring("ad"), 0u);
}

TEST_P(LedgerStoreConformance, AppendIsDenseAndOrdered) {
  CreateLedger(kLedger);
  const auto first = store_->Append(RoundBatch(kLedger, "w", "r1", 1));
  const auto second = store_->Append(RoundBatch(kLedger, "v", "r2", 9));
  ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  EXPECT_EQ(first->first_sequence(), 1u);
  EXPECT_EQ(first->count(), 2u);
  EXPECT_EQ(first->size(), 3u);
  EXPECT_EQ(second->first_sequence(), 3u);
  const std::vector<v1::LedgerEntry> entries = WholeLedger(kLedger);
  ASSERT_EQ(entries.size(), 5u);
  EXPECT_EQ(entries[1].event().sampling().round(), 1u);
  EXPECT_EQ(entries[2].event().sum_query().query().group(), "weights");
  EXPECT_EQ(entries[2].writer(), "w");
  EXPECT_EQ(entries[2].writer_counter(), 1u);
  EXPECT_EQ(entries[2].request_id(), "r1");
  EXPECT_EQ(entries[4].writer(), "v");
  EXPECT_EQ(entries[4].writer_counter(), 1u);
  const absl::StatusOr<v1::Ledger> ledger = store_->Get(kLedger);
  EXPECT_EQ(ledger->root_hash(), second->root_hash());
  ASSERT_EQ(ledger->writers_size(), 2);
  EXPECT_EQ(ledger->writers(0).writer(), "v");
  EXPECT_EQ(ledger->writers(0).entry_count(), 2u);
  EXPECT_EQ(ledger->writers(0).last_round(), 9u);
}

TEST_P(LedgerStoreConformance, RetriedRequestIsStoredOnce) {
  CreateLedger(kLedger);
  v1::AppendBatchRequest request = RoundBatch(kLedger, "w", "r1", 1);
  request.mutable_entries(0)->mutable_claimed_time()->set_seconds(60);
  request.set_expected_sequence(1);
  const auto receipt = store_->Append(request);
  ASSERT_TRUE(receipt.ok()) << receipt.status();
  ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r2", 2)).ok());
  // A minute later, after others, and after a restart: still the same request.
  request.mutable_entries(0)->mutable_claimed_time()->set_seconds(120);
  for (int i = 0; i < 2; ++i) {
    const auto again = store_->Append(request);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->SerializeAsString(), receipt->SerializeAsString());
    EXPECT_EQ(WholeLedger(kLedger).size(), 5u);
    Reopen();
  }
}

v1::AppendBatchRequest RoundAt(uint64_t position, const std::string& request_id, uint64_t round) {
  v1::AppendBatchRequest request = RoundBatch(kLedger, "w", request_id, round);
  request.set_writer_position(position);
  return request;
}

// Once an honest retry was stored twice, because somebody had removed the record of its answer.
TEST_P(LedgerStoreConformance, RetryWithoutItsAnswerIsFoundByItsPosition) {
  CreateLedger(kLedger);
  std::vector<v1::AppendBatchRequest> requests;
  std::vector<v1::Receipt> receipts;
  for (uint64_t i = 0; i < 4; ++i) {
    requests.push_back(RoundAt(2 * i, absl::StrCat("r", i), i + 1));
    receipts.push_back(*store_->Append(requests.back()));
    ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "v", absl::StrCat("v", i), i + 1)).ok());
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    ForgetAnswer(requests[i].request_id());
    const auto again = store_->Append(requests[i]);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->SerializeAsString(), receipts[i].SerializeAsString());
  }
  // Of a sealed ledger too.
  v1::SealLedgerRequest seal = SealRequest(kLedger);
  seal.add_missing_writers("v");
  seal.add_missing_writers("w");
  ASSERT_TRUE(store_->Seal(seal).ok());
  EXPECT_EQ(store_->Append(requests[2])->SerializeAsString(), receipts[2].SerializeAsString());
  EXPECT_EQ(WholeLedger(kLedger).size(), 18u);
}

TEST_P(LedgerStoreConformance, TakenPositionIsRefused) {
  CreateLedger(kLedger);
  ASSERT_TRUE(store_->Append(RoundAt(0, "r1", 1)).ok());
  ASSERT_TRUE(store_->Append(RoundAt(2, "r2", 2)).ok());
  for (uint64_t position = 0; position < 4; ++position) {
    const absl::Status refused = store_->Append(RoundAt(position, "new", 3)).status();
    EXPECT_TRUE(IsError(refused, StatusCode::kFailedPrecondition, "WRITER_POSITION",
                        absl::StrCat("writer_position: must be 4, the entries that "
                                     "projects/p/ledgers/a has of writer w, got ",
                                     position)));
    EXPECT_EQ(ReasonOf(refused).metadata["entry_count"], "4");
  }
  ForgetAnswer("r2");
  // The id alone, half of the batch, or another body: not that request.
  const auto reused = [&](const v1::AppendBatchRequest& request) {
    return IsError(store_->Append(request).status(), StatusCode::kInvalidArgument,
                   "REQUEST_ID_REUSED", "request_id");
  };
  v1::AppendBatchRequest half = RoundAt(2, "r2", 2);
  half.mutable_entries()->RemoveLast();
  EXPECT_TRUE(reused(half));
  v1::AppendBatchRequest longer = RoundAt(2, "r2", 2);
  AddNote(longer, "more");
  EXPECT_TRUE(reused(longer));
  EXPECT_TRUE(reused(RoundAt(2, "r2", 3)));
  EXPECT_EQ(WholeLedger(kLedger).size(), 5u);
  EXPECT_TRUE(store_->Append(RoundAt(4, "new", 3)).ok());  // the control
}

// Acknowledgements of a stream speak for the batches before: one that was held back on its way must
// show in the next.
TEST_P(LedgerStoreConformance, GapBeforeABatchIsRefused) {
  CreateLedger(kLedger);
  ASSERT_TRUE(store_->Append(RoundAt(0, "r1", 1)).ok());
  for (const uint64_t position : {3, 4, 1000}) {
    EXPECT_TRUE(IsError(store_->Append(RoundAt(position, "r3", 3)).status(),
                        StatusCode::kFailedPrecondition, "WRITER_GAP",
                        absl::StrCat("writer_position: must be 2, the entries that "
                                     "projects/p/ledgers/a has of writer w, got ",
                                     position)));
  }
  EXPECT_EQ(WholeLedger(kLedger).size(), 3u);
  EXPECT_TRUE(store_->Append(RoundAt(2, "r3", 3)).ok());  // the control
  // Where nothing can follow at all, that is the reason: what a spool holds then comes in late.
  v1::SealLedgerRequest seal = SealRequest(kLedger);
  seal.set_open_writers_are_missing(true);
  ASSERT_TRUE(store_->Seal(seal).ok());
  EXPECT_TRUE(IsError(store_->Append(RoundAt(1000, "r9", 9)).status(),
                      StatusCode::kFailedPrecondition, "LEDGER_SEALED", ""));
}

// What others wrote in the writer's name is not counted: WRITER_CLOSED does not count it either.
TEST_P(LedgerStoreConformance, PositionsAreThoseOfTheIncarnation) {
  CreateLedger(kLedger);
  ASSERT_TRUE(store_->Append(RoundAt(0, "r1", 1)).ok());
  const auto of = [](v1::AppendBatchRequest request, const std::string& incarnation) {
    request.set_incarnation(incarnation);
    return request;
  };
  v1::AppendBatchRequest opening = of(Batch(kLedger, "w", "open"), "i1");
  opening.add_entries()->mutable_opened()->set_incarnation("i1");
  opening.set_writer_position(0);
  const v1::Receipt opened = *store_->Append(opening);
  // A process that was fenced off leaves a CONFLICT.
  EXPECT_TRUE(IsError(store_->Append(RoundAt(2, "r2", 2)).status(), StatusCode::kFailedPrecondition,
                      "FENCED_OFF", "i1"));
  const v1::Receipt first = *store_->Append(of(RoundAt(1, "r3", 1), "i1"));
  ForgetAnswer("open");
  ForgetAnswer("r3");
  EXPECT_EQ(store_->Append(opening)->SerializeAsString(), opened.SerializeAsString());
  EXPECT_EQ(store_->Append(of(RoundAt(1, "r3", 1), "i1"))->SerializeAsString(),
            first.SerializeAsString());
  EXPECT_TRUE(store_->Append(of(RoundAt(3, "r4", 2), "i1")).ok());
  EXPECT_EQ(WholeLedger(kLedger).size(), 1u + 2 + 1 + 1 + 2 + 2);
}

TEST_P(LedgerStoreConformance, RequestIdReusedWithOtherEntriesIsRefused) {
  CreateLedger(kLedger);
  ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r1", 1)).ok());
  v1::AppendBatchRequest other = RoundBatch(kLedger, "w", "r1", 2);
  other.set_expected_sequence(99);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(IsError(store_->Append(other).status(), StatusCode::kInvalidArgument,
                        "REQUEST_ID_REUSED", "request_id: was used by another request"));
    Reopen();
  }
  EXPECT_TRUE(IsError(store_->Seal(SealRequest(kLedger, "r1")).status(),
                      StatusCode::kInvalidArgument, "REQUEST_ID_REUSED", "request_id"));
  EXPECT_TRUE(IsError(store_->Append(RoundBatch(kLedger, "w", "create", 2)).status(),
                      StatusCode::kInvalidArgument, "REQUEST_ID_REUSED", "request_id"));
  EXPECT_EQ(WholeLedger(kLedger).size(), 3u);
}

TEST_P(LedgerStoreConformance, RequestIdsBelongToTheirLedger) {
  CreateLedger(kLedger);
  CreateLedger("projects/p/ledgers/b");
  ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r1", 1)).ok());
  const auto other = store_->Append(RoundBatch("projects/p/ledgers/b", "w", "r1", 5));
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(other->size(), 3u);
}

TEST_P(LedgerStoreConformance, WrongExpectedSequenceIsAborted) {
  CreateLedger(kLedger);
  v1::AppendBatchRequest request = RoundBatch(kLedger, "w", "r1", 1);
  request.set_expected_sequence(0);
  const absl::Status refused = store_->Append(request).status();
  EXPECT_TRUE(IsError(refused, StatusCode::kAborted, "SEQUENCE_MISMATCH", "is 1, got 0"));
  EXPECT_EQ(ReasonOf(refused).metadata["current_sequence"], "1");
  request.set_expected_sequence(1);
  EXPECT_TRUE(store_->Append(request).ok());
}

TEST_P(LedgerStoreConformance, RoundsDoNotGoBack) {
  CreateLedger(kLedger);
  ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r1", 7)).ok());
  Reopen();
  EXPECT_TRUE(IsError(store_->Append(RoundBatch(kLedger, "w", "r2", 6)).status(),
                      StatusCode::kFailedPrecondition, "ROUND_GOES_BACK",
                      "entries[0].event.sampling.round: must be at least 7"));
  EXPECT_TRUE(IsError(store_->Append(RoundBatch(kLedger, "w", "r2", 7)).status(),
                      StatusCode::kFailedPrecondition, "ROUND_ALREADY_OPEN",
                      "entries[0].event.sampling.round: round 7 of writer w has begun already"));
  v1::AppendBatchRequest query = Batch(kLedger, "w", "r3");
  AddSumQuery(query, 7);
  EXPECT_TRUE(store_->Append(query).ok());
  EXPECT_TRUE(store_->Append(RoundBatch(kLedger, "other", "r4", 6)).ok());
  EXPECT_EQ(WholeLedger(kLedger).size(), 6u);
}

TEST_P(LedgerStoreConformance, BatchIsStoredWholeOrNotAtAll) {
  CreateLedger(kLedger);
  v1::AppendBatchRequest request = RoundBatch(kLedger, "w", "r1", 3);
  AddSumQuery(request, 2);
  EXPECT_TRUE(IsError(store_->Append(request).status(), StatusCode::kFailedPrecondition,
                      "ROUND_GOES_BACK", "entries[2].event.sum_query.round"));
  EXPECT_EQ(WholeLedger(kLedger).size(), 1u);
  EXPECT_EQ(store_->Get(kLedger)->writers_size(), 0);
  // Neither its id nor its round is taken.
  EXPECT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r1", 1)).ok());
}

TEST_P(LedgerStoreConformance, ClosedWriterWritesNoMore) {
  CreateLedger(kLedger);
  ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r1", 1)).ok());
  v1::AppendBatchRequest close = Batch(kLedger, "w", "r2");
  close.add_entries()->mutable_writer_closed()->set_entry_count(2);
  const absl::Status refused = store_->Append(close).status();
  EXPECT_TRUE(IsError(refused, StatusCode::kFailedPrecondition, "WRITER_COUNT_MISMATCH",
                      "entries[0].writer_closed.entry_count: must be 3"));
  close.mutable_entries(0)->mutable_writer_closed()->set_entry_count(3);
  ASSERT_TRUE(store_->Append(close).ok());
  Reopen();
  EXPECT_TRUE(IsError(store_->Append(RoundBatch(kLedger, "w", "r3", 2)).status(),
                      StatusCode::kFailedPrecondition, "WRITER_CLOSED", "writer w has closed"));
  EXPECT_TRUE(store_->Get(kLedger)->writers(0).closed());
}

TEST_P(LedgerStoreConformance, SealNeedsEveryOpenWriterNamed) {
  CreateLedger(kLedger);
  ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r1", 1)).ok());
  v1::AppendBatchRequest close = Batch(kLedger, "closed", "r2");
  close.add_entries()->mutable_writer_closed()->set_entry_count(1);
  ASSERT_TRUE(store_->Append(close).ok());

  v1::SealLedgerRequest seal = SealRequest(kLedger);
  const absl::Status refused = store_->Seal(seal).status();
  EXPECT_TRUE(IsError(refused, StatusCode::kFailedPrecondition, "WRITERS_OPEN", "not closed: w"));
  EXPECT_EQ(ReasonOf(refused).metadata["writers"], "w");
  seal.add_missing_writers("closed");
  seal.add_missing_writers("w");
  EXPECT_TRUE(IsError(store_->Seal(seal).status(), StatusCode::kInvalidArgument, "INVALID_FIELD",
                      "must not name closed: it has closed"));
  seal.clear_missing_writers();
  seal.add_missing_writers("w");
  const absl::StatusOr<v1::Ledger> sealed = store_->Seal(seal);
  ASSERT_TRUE(sealed.ok()) << sealed.status();
  EXPECT_EQ(sealed->state(), v1::SEALED);
  const std::vector<v1::LedgerEntry> entries = WholeLedger(kLedger);
  ASSERT_EQ(entries.size(), 5u);
  EXPECT_EQ(entries[4].seal().missing_writers(0), "w");
}

TEST_P(LedgerStoreConformance, SealedLedgerTakesNothingInTime) {
  CreateLedger(kLedger);
  ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r1", 1)).ok());
  v1::SealLedgerRequest seal = SealRequest(kLedger);
  seal.add_missing_writers("w");
  ASSERT_TRUE(store_->Seal(seal).ok());
  Reopen();
  EXPECT_TRUE(IsError(store_->Append(RoundBatch(kLedger, "w", "r2", 2)).status(),
                      StatusCode::kFailedPrecondition, "LEDGER_SEALED", "is sealed"));
  EXPECT_TRUE(IsError(store_->Seal(SealRequest(kLedger, "seal2")).status(),
                      StatusCode::kFailedPrecondition, "LEDGER_SEALED", "is sealed"));
  // What was answered stays answered.
  EXPECT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r1", 1)).ok());
  const absl::StatusOr<v1::Ledger> again = store_->Seal(seal);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->size(), 5u) << "with the conflict";
  EXPECT_EQ(WholeLedger(kLedger)[4].conflict().reason(), "LEDGER_SEALED");
  // Another refusal of the same spool is no news.
  EXPECT_FALSE(store_->Append(RoundBatch(kLedger, "w", "r3", 3)).ok());
  // A writer that has written nothing cannot have released anything.
  EXPECT_FALSE(store_->Append(RoundBatch(kLedger, "stranger", "r2", 2)).ok());
  EXPECT_EQ(store_->Get(kLedger)->size(), 5u);
}

TEST_P(LedgerStoreConformance, SealedLedgerTakesWhatIsLate) {
  CreateLedger(kLedger);
  ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r1", 1)).ok());
  v1::SealLedgerRequest seal = SealRequest(kLedger);
  seal.add_missing_writers("w");
  ASSERT_TRUE(store_->Seal(seal).ok());
  ASSERT_FALSE(store_->Append(RoundBatch(kLedger, "w", "r2", 2)).ok());
  const auto missing = [&] {
    const v1::Ledger ledger = store_->Get(kLedger).value();
    return ledger.writers(0).missing_spools_size();
  };
  EXPECT_EQ(missing(), 1);
  v1::AppendBatchRequest late = Batch(kLedger, "w", "late-r2");
  *late.add_entries()->mutable_late_event()->mutable_event() =
      RoundBatch(kLedger, "w", "r2", 2).entries(0).event();
  late.add_entries()->mutable_spool_imported()->set_events(1);
  const auto stored = store_->Append(late);
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(store_->Append(late)->root_hash(), stored->root_hash()) << "once";
  Reopen();
  EXPECT_EQ(missing(), 0);
  const std::vector<v1::LedgerEntry> entries = WholeLedger(kLedger);
  ASSERT_EQ(entries.size(), 7u);
  EXPECT_EQ(entries[5].late_event().event().sampling().round(), 2u);
  EXPECT_EQ(store_->Get(kLedger)->state(), v1::SEALED);
  late.set_writer("stranger");
  late.set_request_id("late-r3");
  EXPECT_TRUE(IsError(store_->Append(late).status(), StatusCode::kFailedPrecondition,
                      "WRITER_UNKNOWN", "writer: stranger has written nothing"));
}

TEST_P(LedgerStoreConformance, NewestIncarnationFencesOffTheOthers) {
  CreateLedger(kLedger);
  const auto open = [&](const std::string& token, const std::string& previous) {
    v1::AppendBatchRequest batch = Batch(kLedger, "w", "open-" + token);
    batch.set_incarnation(token);
    v1::Opened& opened = *batch.add_entries()->mutable_opened();
    opened.set_incarnation(token);
    opened.set_previous(previous);
    return store_->Append(batch).status();
  };
  const auto append = [&](const std::string& token, uint64_t round) {
    v1::AppendBatchRequest batch =
        RoundBatch(kLedger, "w", absl::StrCat("r-", token, "-", round), round);
    batch.set_incarnation(token);
    return store_->Append(batch).status();
  };
  ASSERT_TRUE(open("a", "").ok());
  ASSERT_TRUE(append("a", 1).ok());
  ASSERT_TRUE(open("b", "a").ok());
  EXPECT_TRUE(IsError(append("a", 2), StatusCode::kFailedPrecondition, "FENCED_OFF",
                      "was opened again, by incarnation b at entry 4"));
  ASSERT_TRUE(append("b", 1).ok()) << "its rounds are its own";
  ASSERT_TRUE(open("a", "").ok()) << "answered before, and that changes nothing";
  ASSERT_TRUE(append("b", 2).ok());
  Reopen();
  const v1::WriterStatus writer = store_->Get(kLedger)->writers(0);
  EXPECT_EQ(writer.incarnation(), "b");
  EXPECT_EQ(writer.opened_sequence(), 4u);
  EXPECT_EQ(writer.missing_spools_size(), 1);
  EXPECT_EQ(WholeLedger(kLedger)[5].conflict().incarnation(), "a");
}

TEST_P(LedgerStoreConformance, TimesAreWholeMinutesAndNeverDecrease) {
  CreateLedger(kLedger);
  clock_.Set(absl::FromUnixSeconds(1'700'000'200));
  v1::AppendBatchRequest request = RoundBatch(kLedger, "w", "r1", 1);
  request.mutable_entries(0)->mutable_claimed_time()->set_seconds(1'699'999'999);
  request.mutable_entries(0)->mutable_claimed_time()->set_nanos(5);
  ASSERT_TRUE(store_->Append(request).ok());
  Reopen();
  clock_.Set(absl::FromUnixSeconds(1'600'000'000));
  ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r2", 2)).ok());
  const std::vector<v1::LedgerEntry> entries = WholeLedger(kLedger);
  ASSERT_EQ(entries.size(), 5u);
  EXPECT_EQ(entries[1].claimed_time().seconds(), 1'699'999'980);
  EXPECT_EQ(entries[1].claimed_time().nanos(), 0);
  EXPECT_FALSE(entries[2].has_claimed_time());
  EXPECT_EQ(entries[0].recorded_time().seconds(), 1'700'000'040);
  EXPECT_EQ(entries[1].recorded_time().seconds(), 1'700'000'160);
  EXPECT_EQ(entries[3].recorded_time().seconds(), 1'700'000'160);
}

TEST_P(LedgerStoreConformance, ReadKeepsItsBounds) {
  CreateLedger(kLedger);
  ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r1", 1)).ok());
  const size_t all = size_t{1} << 20;
  EXPECT_EQ(store_->Read(kLedger, 0, 2, all)->size(), 2u);
  EXPECT_EQ(store_->Read(kLedger, 1, 99, all)->size(), 2u);
  EXPECT_EQ(store_->Read(kLedger, 0, 99, 0)->size(), 1u);
  EXPECT_EQ(store_->Read(kLedger, 0, 99, store_->Read(kLedger, 0, 1, all)->at(0).size())->size(),
            1u);
  EXPECT_EQ(store_->Read(kLedger, 3, 99, all)->size(), 0u);
  EXPECT_TRUE(IsError(store_->Read(kLedger, 4, 99, all).status(), StatusCode::kOutOfRange, "",
                      "first_sequence: must be at most 3"));
}

TEST_P(LedgerStoreConformance, ReopenedStoreGoesOn) {
  CreateLedger(kLedger);
  CreateLedger("projects/p/ledgers/b");
  for (uint64_t round = 1; round <= 20; ++round) {
    ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "w", absl::StrCat("r", round), round)).ok());
    if (round % 7 == 0) Reopen();
  }
  CreateLedger("projects/p/ledgers/c");
  EXPECT_EQ(WholeLedger(kLedger).size(), 41u);
  EXPECT_EQ(WholeLedger("projects/p/ledgers/b").size(), 1u);
  EXPECT_EQ(store_->List("projects/p", "", 10)->size(), 3u);
  EXPECT_TRUE(store_->Healthy());
}

TEST_P(LedgerStoreConformance, WritersOfOneLedgerInterleaveWhole) {
  CreateLedger(kLedger);
  constexpr int kWriters = 4;
  constexpr uint64_t kBatches = 50;
  std::vector<std::thread> threads;
  for (int w = 0; w < kWriters; ++w) {
    threads.emplace_back([this, writer = absl::StrCat("w", w)] {
      for (uint64_t round = 1; round <= kBatches; ++round) {
        const std::string id = absl::StrCat(writer, "-", round);
        const auto receipt = store_->Append(RoundBatch(kLedger, writer, id, round));
        EXPECT_TRUE(receipt.ok()) << receipt.status();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<v1::LedgerEntry> entries = WholeLedger(kLedger);
  ASSERT_EQ(entries.size(), 1 + kWriters * kBatches * 2);
  std::map<std::string, uint64_t> counters;
  for (size_t i = 1; i < entries.size(); i += 2) {
    const v1::LedgerEntry& opens = entries[i];
    EXPECT_EQ(opens.request_id(), entries[i + 1].request_id());
    EXPECT_EQ(opens.writer_counter(), counters[opens.writer()]);
    EXPECT_EQ(opens.event().sampling().round(), counters[opens.writer()] / 2 + 1);
    counters[opens.writer()] += 2;
  }
}

TEST_P(LedgerStoreConformance, LedgersGrowInParallel) {
  constexpr int kLedgers = 8;
  constexpr uint64_t kBatches = 25;
  std::vector<std::thread> threads;
  const auto name = [](int i) { return absl::StrCat("projects/p/ledgers/l", i); };
  for (int i = 0; i < kLedgers; ++i) {
    threads.emplace_back([this, ledger = name(i)] {
      CreateLedger(ledger);
      for (uint64_t round = 1; round <= kBatches; ++round) {
        const auto receipt =
            store_->Append(RoundBatch(ledger, "w", absl::StrCat("r", round), round));
        ASSERT_TRUE(receipt.ok()) << receipt.status();
        EXPECT_EQ(receipt->size(), 1 + 2 * round);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Reopen();
  for (int i = 0; i < kLedgers; ++i) EXPECT_EQ(WholeLedger(name(i)).size(), 1 + 2 * kBatches);
}

TEST_P(LedgerStoreConformance, NothingIsStoredInLineAfterARefusal) {
  CreateLedger(kLedger);
  const auto line = std::make_shared<AppendLine>();
  const std::vector<v1::AppendBatchRequest> requests = {RoundBatch(kLedger, "w", "r1", 1),
                                                        RoundBatch(kLedger, "w", "r2", 1),
                                                        RoundBatch(kLedger, "w", "r3", 2)};
  std::vector<absl::Status> answers(requests.size());
  absl::BlockingCounter open(static_cast<int>(requests.size()));
  for (size_t i = 0; i < requests.size(); ++i) {
    store_->AppendAsync(requests[i], line, [&, i](const absl::StatusOr<v1::Receipt>& answer) {
      answers[i] = answer.status();
      open.DecrementCount();
    });
  }
  open.Wait();
  EXPECT_TRUE(answers[0].ok()) << answers[0];
  EXPECT_TRUE(
      IsError(answers[1], StatusCode::kFailedPrecondition, "ROUND_ALREADY_OPEN", "round 1"));
  EXPECT_TRUE(IsError(answers[2], StatusCode::kAborted, "EARLIER_BATCH_REFUSED", "in line"));
  // Nor in a later group.
  absl::BlockingCounter late(1);
  store_->AppendAsync(requests[2], line, [&](const absl::StatusOr<v1::Receipt>& answer) {
    answers[2] = answer.status();
    late.DecrementCount();
  });
  late.Wait();
  EXPECT_TRUE(IsError(answers[2], StatusCode::kAborted, "EARLIER_BATCH_REFUSED", "in line"));
  EXPECT_EQ(WholeLedger(kLedger).size(), 3u);
  EXPECT_TRUE(store_->Append(requests[2]).ok());  // the line is broken, the ledger is not
}

TEST_P(LedgerStoreConformance, AnswersKeepTheOrderOfTheCalls) {
  CreateLedger(kLedger);
  constexpr int kCalls = 100;
  std::vector<int> answered;
  absl::BlockingCounter open(kCalls);
  for (int i = 0; i < kCalls; ++i) {
    v1::AppendBatchRequest request =
        RoundBatch(kLedger, "w", absl::StrCat("r", i), static_cast<uint64_t>(i));
    const bool good = i % 10 != 3;
    if (!good) request.clear_entries();
    store_->AppendAsync(std::move(request),
                        [&, i, good](const absl::StatusOr<v1::Receipt>& answer) {
                          EXPECT_EQ(answer.ok(), good) << answer.status();
                          answered.push_back(i);
                          open.DecrementCount();
                        });
  }
  open.Wait();
  ASSERT_EQ(answered.size(), static_cast<size_t>(kCalls));
  for (int i = 0; i < kCalls; ++i) EXPECT_EQ(answered[static_cast<size_t>(i)], i);
}

}  // namespace
}  // namespace dpledger
