// What one group of operations makes of the heads, whatever engine stages it.
#include "ledger_store/staging/staged_group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ledger/batch_row.h"
#include "ledger_store/store.h"
#include "tests/ledger_store/requests.h"

namespace dpledger {
namespace {

using absl::StatusCode;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'041);
const std::string kOther = "projects/p/ledgers/b";

// Entries by ledger; nothing else is asked for.
class EntriesInMemory : public LedgerReader {
 public:
  absl::StatusOr<std::vector<std::string>> Read(const std::string& name, uint64_t first,
                                                size_t max_entries, size_t) override {
    const std::vector<std::string>& all = entries[name];
    const size_t begin = std::min<size_t>(first, all.size());
    const size_t end = begin + std::min(max_entries, all.size() - begin);
    return std::vector<std::string>(all.begin() + static_cast<ptrdiff_t>(begin),
                                    all.begin() + static_cast<ptrdiff_t>(end));
  }
  absl::StatusOr<std::shared_ptr<const LedgerHead>> Head(const std::string&) override {
    throw None();
  }
  absl::StatusOr<LedgerHeads> Heads(const std::string&, const std::string&, size_t) override {
    throw None();
  }
  absl::StatusOr<v1::StoredHistory> GetHistory(const std::string&) override { throw None(); }
  CheckpointReader& checkpoints() override { throw None(); }

  std::map<std::string, std::vector<std::string>> entries;

 private:
  static std::logic_error None() { return std::logic_error("no position is given here"); }
};

// A store whose state is what the groups before came to.
class StoreInMemory : public StoredLedgers {
 public:
  std::shared_ptr<const LedgerHead> Head(const std::string& ledger) override {
    const auto found = heads_.find(ledger);
    return found == heads_.end() ? nullptr : found->second;
  }
  absl::StatusOr<v1::StoredRequest> Answered(const std::string& ledger,
                                             const std::string& request_id) override {
    if (!failure.ok()) return failure;
    const auto found = answered_.find({ledger, request_id});
    if (found == answered_.end()) return absl::NotFoundError("");
    return found->second;
  }
  LedgerReader& reader() override { return reader_; }
  void Hold(const StagedGroup& group) {
    for (const auto& [name, staged] : group.ledgers()) {
      heads_[name] = staged.head;
      for (const auto& [change, request] : staged.changes) {
        const auto entries = DecodeBatchRow(change->entries).value();
        for (const std::string_view entry : entries) reader_.entries[name].emplace_back(entry);
        if (request == nullptr) continue;
        v1::StoredRequest& answered = answered_[{name, request->request_id}];
        answered.set_request_hash(merkle::ToBytes(request->hash));
        *answered.mutable_receipt() = change->receipt;
      }
    }
  }

  v1::StoredRequest& answered(const std::string& request_id) {
    return answered_.at({kLedger, request_id});
  }

  absl::Status failure;

 private:
  std::map<std::string, std::shared_ptr<const LedgerHead>> heads_;
  std::map<std::pair<std::string, std::string>, v1::StoredRequest> answered_;
  EntriesInMemory reader_;
};

class Staging : public ::testing::Test {
 protected:
  Staging() {
    StagedGroup group(store_, kNow);
    created_ = Stage(group, CreateRequest(kLedger)).value();
    store_.Hold(group);
  }

  // Keeps the operation, which must outlive the group.
  template <typename Request>
  absl::StatusOr<v1::Receipt> Stage(StagedGroup& group, const Request& request,
                                    const AheadOfTurn* ahead = nullptr) {
    return group.Stage(operations_.emplace_back(request), ahead);
  }
  template <typename Request>
  absl::StatusOr<v1::Receipt> StageOf(const std::string& caller, StagedGroup& group,
                                      const Request& request) {
    return group.Stage(operations_.emplace_back(request, caller));
  }

  // What RoundBatch(kLedger, "w", "r", 1) makes of the stored head.
  AheadOfTurn WorkAhead() {
    const std::shared_ptr<const LedgerHead> base = store_.Head(kLedger);
    LedgerChange change =
        AppendBatch(*base, BatchDraft(RoundBatch(kLedger, "w", "r", 1)), kNow).value();
    auto next = std::make_shared<LedgerHead>(*base);
    Apply(change, *next);
    return {base, next, std::move(change), "", ""};
  }

  std::deque<Operation> operations_;
  StoreInMemory store_;
  v1::Receipt created_;
};

TEST_F(Staging, RepeatedRequestIsTakenOnce) {
  StagedGroup group(store_, kNow);
  const v1::Receipt first = Stage(group, RoundBatch(kLedger, "w", "r", 1)).value();
  const v1::Receipt second = Stage(group, RoundBatch(kLedger, "w", "r", 1)).value();
  EXPECT_EQ(second.SerializeAsString(), first.SerializeAsString());
  EXPECT_TRUE(IsError(Stage(group, RoundBatch(kLedger, "w", "r", 2)).status(),
                      StatusCode::kInvalidArgument, "REQUEST_ID_REUSED", "request_id: was used"));
  EXPECT_TRUE(IsError(Stage(group, SealRequest(kLedger, "r")).status(),
                      StatusCode::kInvalidArgument, "REQUEST_ID_REUSED", "request_id: was used"));
  EXPECT_EQ(group.ledgers().at(kLedger).changes.size(), 1u);
  EXPECT_EQ(group.ledgers().at(kLedger).head->tree.size(), 3u);
  // And in a later group, which asks the store.
  store_.Hold(group);
  StagedGroup later(store_, kNow);
  EXPECT_EQ(Stage(later, RoundBatch(kLedger, "w", "r", 1)).value().SerializeAsString(),
            first.SerializeAsString());
  EXPECT_TRUE(later.ledgers().at(kLedger).changes.empty());
}

TEST_F(Staging, RequestOfAnotherCallerIsRefusedWithinAGroup) {
  StagedGroup group(store_, kNow);
  ASSERT_TRUE(StageOf("token:a", group, CreateRequest(kOther)).ok());
  EXPECT_TRUE(StageOf("token:a", group, CreateRequest(kOther)).ok());
  EXPECT_TRUE(IsError(StageOf("token:b", group, CreateRequest(kOther)).status(),
                      StatusCode::kAlreadyExists, "LEDGER_EXISTS", "made by another request"));
  const v1::AppendBatchRequest batch = RoundBatch(kOther, "w", "r", 1);
  const v1::Receipt receipt = StageOf("token:a", group, batch).value();
  const auto of_another = [&](const v1::AppendBatchRequest& request) {
    return IsError(StageOf("token:b", group, request).status(), StatusCode::kPermissionDenied,
                   "WRITER_OF_ANOTHER_CALLER", "writer: w belongs to another caller");
  };
  EXPECT_TRUE(of_another(batch));
  EXPECT_TRUE(of_another(RoundBatch(kOther, "w", "s", 2)));
  EXPECT_EQ(StageOf("token:a", group, batch).value().SerializeAsString(),
            receipt.SerializeAsString());
  v1::SealLedgerRequest seal = SealRequest(kOther);
  seal.add_missing_writers("w");
  ASSERT_TRUE(StageOf("token:a", group, seal).ok());
  EXPECT_TRUE(StageOf("token:a", group, seal).ok());
  EXPECT_TRUE(StageOf("", group, seal).ok()) << "nobody was asked";
  EXPECT_TRUE(IsError(StageOf("token:b", group, seal).status(), StatusCode::kPermissionDenied,
                      "REQUEST_OF_ANOTHER_CALLER", "request_id: was used by another caller"));
  EXPECT_EQ(group.ledgers().at(kOther).head->tree.size(), 4u);
}

// Who brings a request is no part of it.
TEST_F(Staging, RequestHashHasNoCaller) {
  const v1::AppendBatchRequest batch = RoundBatch(kLedger, "w", "r", 1);
  EXPECT_EQ(Operation(batch, "token:a").hash, Operation(batch).hash);
  EXPECT_EQ(Operation(SealRequest(kLedger), "token:a").hash, Operation(SealRequest(kLedger)).hash);
}

// Somebody puts a record there, or changes one.
TEST_F(Staging, AnswerThatTheEntriesDoNotBearOutIsNotGiven) {
  StagedGroup group(store_, kNow);
  for (const uint64_t round : {1, 2, 3}) {
    ASSERT_TRUE(Stage(group, RoundBatch(kLedger, "w", absl::StrCat("r", round), round)).ok());
  }
  store_.Hold(group);
  const v1::StoredRequest true_second = store_.answered("r2");
  const v1::StoredRequest true_third = store_.answered("r3");
  const auto repeat = [&](uint64_t round) {
    StagedGroup later(store_, kNow);
    return Stage(later, RoundBatch(kLedger, "w", absl::StrCat("r", round), round));
  };
  EXPECT_EQ(repeat(2)->SerializeAsString(), true_second.receipt().SerializeAsString());
  const std::function<void(v1::Receipt&)> forgeries[] = {
      [](v1::Receipt& receipt) { receipt.set_first_sequence(1), receipt.set_size(3); },
      [](v1::Receipt& receipt) { receipt.set_first_sequence(2), receipt.set_count(3); },
      [](v1::Receipt& receipt) { receipt.set_size(6), receipt.set_count(3); },
      [](v1::Receipt& receipt) { receipt.set_count(1); },
      [](v1::Receipt& receipt) { receipt.set_count(0), receipt.set_size(3); },
      [](v1::Receipt& receipt) { receipt.set_first_sequence(7), receipt.set_size(9); },
      [](v1::Receipt& receipt) { receipt.set_first_sequence(~uint64_t{0}), receipt.set_size(1); },
  };
  for (const auto& forge : forgeries) {
    store_.answered("r2") = true_second;
    forge(*store_.answered("r2").mutable_receipt());
    EXPECT_TRUE(IsError(repeat(2).status(), StatusCode::kDataLoss, "FORGED_ANSWER",
                        "its record of how request r2 was answered is not that of its entries"))
        << store_.answered("r2").receipt().ShortDebugString();
  }
  // The root is compared where the head has it.
  store_.answered("r3").mutable_receipt()->set_root_hash(true_second.receipt().root_hash());
  EXPECT_EQ(repeat(3).status().code(), StatusCode::kDataLoss);
  store_.answered("r3") = true_third;
  EXPECT_TRUE(repeat(3).ok());
}

TEST_F(Staging, IdsAreOfOneLedger) {
  StagedGroup group(store_, kNow);
  ASSERT_TRUE(Stage(group, CreateRequest(kOther)).ok());
  EXPECT_TRUE(Stage(group, RoundBatch(kLedger, "w", "r", 1)).ok());
  EXPECT_TRUE(Stage(group, RoundBatch(kOther, "w", "r", 7)).ok());
}

TEST_F(Staging, TakenNameAnswersOnlyWhoeverTookIt) {
  v1::CreateLedgerRequest other = CreateRequest(kLedger);
  other.mutable_declaration()->set_dataset("other");
  const auto stage_all = [&](StagedGroup& group, const v1::Receipt& receipt) {
    EXPECT_EQ(Stage(group, CreateRequest(kLedger)).value().SerializeAsString(),
              receipt.SerializeAsString());
    for (const auto& request : {other, CreateRequest(kLedger, "another")}) {
      EXPECT_TRUE(IsError(Stage(group, request).status(), StatusCode::kAlreadyExists,
                          "LEDGER_EXISTS", kLedger + ": there is a ledger of this name"));
    }
  };
  StagedGroup stored(store_, kNow);
  stage_all(stored, created_);
  EXPECT_TRUE(stored.ledgers().at(kLedger).changes.empty());

  StoreInMemory empty;
  StagedGroup fresh(empty, kNow);
  const v1::Receipt receipt = Stage(fresh, CreateRequest(kLedger)).value();
  stage_all(fresh, receipt);
  EXPECT_EQ(fresh.ledgers().at(kLedger).changes.size(), 1u);
}

TEST_F(Staging, ErrorsOfTheStoreAreAnswers) {
  store_.failure = absl::DataLossError("record does not parse");
  StagedGroup group(store_, kNow);
  for (const Operation& operation :
       {Operation(CreateRequest(kLedger)), Operation(RoundBatch(kLedger, "w", "r", 1)),
        Operation(SealRequest(kLedger))}) {
    EXPECT_EQ(Stage(group, operation).status(), store_.failure);
  }
  EXPECT_TRUE(group.ledgers().at(kLedger).changes.empty());
}

TEST_F(Staging, RefusedRequestLeavesNothing) {
  const AheadOfTurn ahead = WorkAhead();
  StagedGroup group(store_, kNow);
  v1::AppendBatchRequest elsewhere = RoundBatch(kLedger, "w", "r", 1);
  elsewhere.set_expected_sequence(9);
  EXPECT_TRUE(
      IsError(Stage(group, elsewhere).status(), StatusCode::kAborted, "SEQUENCE_MISMATCH", "9"));
  ForkAtPoint beyond;
  beyond.request.set_name(kOther);
  beyond.request.set_request_id("fork");
  beyond.request.set_parent(kLedger);
  *beyond.request.mutable_declaration() = CreateRequest(kOther).declaration();
  beyond.request.set_parent_size(5);
  beyond.point.size = 5;
  EXPECT_TRUE(IsError(Stage(group, beyond).status(), StatusCode::kOutOfRange, "BEYOND_LEDGER", ""));
  Operation refused(RoundBatch(kLedger, "w", "r", 1));
  refused.request = QueueFull(5, 4, "the disk");
  EXPECT_TRUE(IsError(Stage(group, refused, &ahead).status(), StatusCode::kResourceExhausted,
                      "QUEUE_FULL", "5 bytes wait for the disk, the limit is 4"));
  ASSERT_EQ(group.ledgers().size(), 1u);  // no ledger of the fork
  const StagedLedger& ledger = group.ledgers().at(kLedger);
  EXPECT_TRUE(ledger.changes.empty());
  EXPECT_EQ(ledger.head, store_.Head(kLedger));
  // Its id is still new.
  EXPECT_TRUE(Stage(group, RoundBatch(kLedger, "w", "r", 1)).ok());
}

TEST_F(Staging, ConflictIsNoAnswer) {
  StagedGroup group(store_, kNow);
  ASSERT_TRUE(Stage(group, RoundBatch(kLedger, "w", "r1", 1)).ok());
  v1::SealLedgerRequest seal = SealRequest(kLedger);
  seal.add_missing_writers("w");
  ASSERT_TRUE(Stage(group, seal).ok());
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(IsError(Stage(group, RoundBatch(kLedger, "w", "r2", 2)).status(),
                        StatusCode::kFailedPrecondition, "LEDGER_SEALED", ""));
  }
  const StagedLedger& ledger = group.ledgers().at(kLedger);
  ASSERT_EQ(ledger.changes.size(), 3u);  // the conflict, once
  EXPECT_EQ(ledger.changes[2].request, nullptr);
}

TEST_F(Staging, RefusalBreaksTheLineWithinTheGroup) {
  const AheadOfTurn ahead = WorkAhead();
  StagedGroup group(store_, kNow);
  Operation first(RoundBatch("projects/p/ledgers/none", "w", "r1", 1));
  Operation second(RoundBatch(kLedger, "w", "r2", 1));
  first.line = second.line = std::make_shared<AppendLine>();
  EXPECT_TRUE(IsError(Stage(group, first).status(), StatusCode::kNotFound, "LEDGER_NOT_FOUND", ""));
  EXPECT_TRUE(IsError(Stage(group, second, &ahead).status(), StatusCode::kAborted,
                      "EARLIER_BATCH_REFUSED", "in line"));
  EXPECT_TRUE(group.ledgers().empty());
  // The group may be staged again from the start.
  EXPECT_FALSE(second.line->broken());
  StagedGroup again(store_, kNow);
  EXPECT_TRUE(Stage(again, second).ok());
}

TEST_F(Staging, BrokenLineRefusesOnlyWhatComesLater) {
  const auto line = std::make_shared<AppendLine>();
  const auto in_line = [&](v1::AppendBatchRequest request) {
    Operation operation(std::move(request));
    operation.line = line;
    operation.turn = line->NextTurn();
    return operation;
  };
  const Operation first = in_line(RoundBatch(kLedger, "w", "r1", 1));
  const Operation refused = in_line(RoundBatch(kLedger, "w", "r2", 2));
  const Operation last = in_line(RoundBatch(kLedger, "w", "r3", 3));
  last.BreakLine();
  refused.BreakLine();
  StagedGroup group(store_, kNow);
  EXPECT_TRUE(Stage(group, first).ok());
  EXPECT_TRUE(IsError(Stage(group, last).status(), StatusCode::kAborted, "EARLIER_BATCH_REFUSED",
                      "in line"));
}

TEST_F(Staging, BatchWorkedOutAheadIsTakenIfItHolds) {
  const Operation batch(RoundBatch(kLedger, "w", "r", 1));
  const AheadOfTurn ahead = WorkAhead();
  const auto head = [](const StagedGroup& group) { return group.ledgers().at(kLedger).head; };

  StagedGroup holds(store_, kNow);
  const v1::Receipt receipt = Stage(holds, batch, &ahead).value();
  EXPECT_EQ(head(holds), ahead.next);
  EXPECT_EQ(holds.ledgers().at(kLedger).ahead, &ahead);
  EXPECT_EQ(Stage(holds, batch, &ahead).value().SerializeAsString(), receipt.SerializeAsString());
  EXPECT_EQ(holds.ledgers().at(kLedger).changes.size(), 1u);
  // What comes behind it leaves the caller's head alone.
  ASSERT_TRUE(Stage(holds, RoundBatch(kLedger, "w", "r2", 2)).ok());
  EXPECT_EQ(ahead.next->tree.size(), 3u);
  EXPECT_EQ(head(holds)->tree.size(), 5u);
  EXPECT_EQ(holds.ledgers().at(kLedger).ahead, nullptr);

  StagedGroup changed(store_, kNow);
  ASSERT_TRUE(Stage(changed, RoundBatch(kLedger, "v", "v", 1)).ok());
  EXPECT_EQ(Stage(changed, batch, &ahead).value().first_sequence(), 3u);
  EXPECT_EQ(head(changed)->tree.size(), 5u);

  StagedGroup late(store_, kNow + absl::Minutes(1));
  ASSERT_TRUE(Stage(late, batch, &ahead).ok());
  EXPECT_NE(head(late), ahead.next);
  EXPECT_EQ(head(late)->last_recorded_time, ahead.next->last_recorded_time + absl::Minutes(1));
}

}  // namespace
}  // namespace dpledger
