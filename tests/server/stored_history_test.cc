// Run-length tables: what is read after a restart, and that a wrong table is dropped or found.
#include "server/stored_history.h"

#include <gmock/gmock.h>

#include "tests/server/accounted_store.h"

namespace dpledger::server {
namespace {

using absl::StatusCode;
using testing::Contains;
using testing::HasSubstr;

constexpr uint64_t kRounds = 6000;
constexpr uint64_t kSize = 2 * kRounds + 3;  // with the declaration and two mechanisms

v1::Event MechanismEvent() {
  return accountant::FromText<v1::Event>("mechanism { gaussian { noise_multiplier: 50 } }");
}
// What AddSampling and AddSumQuery make, as one event.
v1::Event TrainerRounds(uint64_t count) {
  return accountant::FromText<v1::Event>(
      absl::StrCat("rounds { scheme { poisson { probability: 0.01 } } "
                   "queries { l2_norm_bound: 1 noise_stddev: 1.1 } count: ",
                   count, " }"));
}

// A ledger "run" of 12,003 entries, the last round of which is open: enough for a table.
class StoredHistoryTest : public testing::Test {
 protected:
  void SetUp() override {
    rig_.Create("run");
    rig_.Append("run", {MechanismEvent()});
    for (uint64_t round = 0; round < kRounds;) {
      v1::AppendBatchRequest batch = Batch(LedgerName("run"), "w", absl::StrCat("rounds-", round));
      for (int i = 0; i < 3000; ++i, ++round) {
        AddSampling(batch, round);
        AddSumQuery(batch, round);
      }
      rig_.Append(batch);
    }
    rig_.Append("run", {MechanismEvent()});
    truth_ = rig_.EpsilonOfEvents({MechanismEvent(), MechanismEvent(), TrainerRounds(kRounds)});
  }
  // ε of the run, and how many entries were read for it.
  std::pair<std::string, uint64_t> Ask() {
    const uint64_t before = rig_.watch().entries_read;
    const std::string epsilon = rig_.EpsilonOf({"run"});
    return {epsilon, rig_.watch().entries_read - before};
  }
  v1::StoredHistory Table() {
    return AccountedStore::Must(rig_.store().GetHistory(LedgerName("run")));
  }
  void Put(const v1::StoredHistory& table) {
    ASSERT_TRUE(rig_.store().PutHistory(LedgerName("run"), table).ok());
  }

  AccountedStore rig_;
  std::string truth_;
};

TEST_F(StoredHistoryTest, AfterARestartOnlyNewEntriesAreRead) {
  EXPECT_EQ(Ask(), std::make_pair(truth_, kSize));
  EXPECT_EQ(Table().size(), kSize);
  EXPECT_EQ(Table().closed(0).count(), kRounds - 1);
  EXPECT_EQ(Table().open_size(), 1);

  // The open round goes on, and another follows.
  v1::AppendBatchRequest more = Batch(LedgerName("run"), "w", "more");
  AddSumQuery(more, kRounds - 1);
  AddSampling(more, kRounds);
  AddSumQuery(more, kRounds);
  rig_.Append(more);
  v1::Event two_sums = TrainerRounds(1);
  *two_sums.mutable_rounds()->add_queries() = two_sums.rounds().queries(0);
  const std::string more_truth =
      rig_.EpsilonOfEvents({MechanismEvent(), MechanismEvent(), TrainerRounds(kRounds), two_sums});
  rig_.Reopen();
  // The two mechanisms, and the three new entries.
  EXPECT_EQ(Ask(), std::make_pair(more_truth, uint64_t{5}));
  EXPECT_EQ(Ask(), std::make_pair(more_truth, uint64_t{0}));
  EXPECT_EQ(Table().size(), kSize);  // three more are not worth a new one
  EXPECT_TRUE(CheckHistory(rig_.store(), LedgerName("run")).ok());
}

TEST_F(StoredHistoryTest, PrefixesThatTheTableIsWithinStartFromIt) {
  Ask();
  rig_.Append("run", {RoundsEvent(1)});
  rig_.Append("run", {RoundsEvent(2)});
  rig_.Reopen();
  const std::string prefix = rig_.EpsilonOf({"run"}, kSize + 1);
  EXPECT_LE(rig_.watch().entries_read, 5u);
  EXPECT_EQ(prefix, rig_.EpsilonOfEvents({MechanismEvent(), MechanismEvent(),
                                          TrainerRounds(kRounds), RoundsEvent(1)}));
  // One that ends before the table's: from the entries.
  EXPECT_EQ(rig_.EpsilonOf({"run"}, 2), rig_.EpsilonOfEvents({MechanismEvent()}));
}

TEST_F(StoredHistoryTest, ForksStartFromTheirParentsTable) {
  Ask();
  rig_.Fork("run", kSize, "child");
  rig_.Append("child", {RoundsEvent(5)});
  rig_.Reopen();
  EXPECT_EQ(rig_.EpsilonOf({"child"}),
            rig_.EpsilonOfEvents(
                {MechanismEvent(), MechanismEvent(), TrainerRounds(kRounds), RoundsEvent(5)}));
  // Two of its own, two mechanisms, the parent's notice.
  EXPECT_EQ(rig_.watch().entries_read, 5u);
}

TEST_F(StoredHistoryTest, TableThatDoesNotFitIsDropped) {
  Ask();
  const v1::StoredHistory good = Table();
  const std::function<void(v1::StoredHistory&)> changes[] = {
      [](v1::StoredHistory& table) { table.set_version(1); },
      [](v1::StoredHistory& table) { table.set_size(0); },
      [](v1::StoredHistory& table) { table.set_size(kSize + 1); },
      [](v1::StoredHistory& table) { table.set_size(kSize - 1); },
      [](v1::StoredHistory& table) { table.mutable_frontier()->pop_back(); },
      [](v1::StoredHistory& table) { table.mutable_frontier()->resize(32); },
      [](v1::StoredHistory& table) { table.mutable_frontier()->front() ^= 1; },
      [](v1::StoredHistory& table) { table.mutable_frontier()->back() ^= 1; },
      [](v1::StoredHistory& table) { table.mutable_closed(0)->set_count(0); },
      [](v1::StoredHistory& table) { table.mutable_closed(0)->clear_scheme(); },
      [](v1::StoredHistory& table) { table.mutable_open(0)->set_writer("nobody"); },
      [](v1::StoredHistory& table) { table.mutable_open(0)->set_number(kRounds); },
      [](v1::StoredHistory& table) { table.mutable_writers(1)->set_entry_count(1); },
      [](v1::StoredHistory& table) { table.set_mechanism_sequences(0, 2); },
      [](v1::StoredHistory& table) { table.set_mechanism_sequences(1, kSize); },
      [](v1::StoredHistory& table) { table.mutable_mechanism_sequences()->SwapElements(0, 1); },
  };
  for (const auto& change : changes) {
    v1::StoredHistory bad = good;
    change(bad);
    Put(bad);
    EXPECT_FALSE(CheckHistory(rig_.store(), LedgerName("run")).ok());
    rig_.Reopen();
    const auto [epsilon, read] = Ask();
    EXPECT_EQ(epsilon, truth_) << bad.ShortDebugString();
    EXPECT_GE(read, kSize) << bad.ShortDebugString();
    // And made again.
    EXPECT_EQ(Table().SerializeAsString(), good.SerializeAsString());
  }
  // The control: the good one is taken.
  rig_.Reopen();
  EXPECT_EQ(Ask(), std::make_pair(truth_, uint64_t{2}));
}

// What ties a table to its entries is its frontier; that its counts are theirs, the audit says.
TEST_F(StoredHistoryTest, AuditNamesTheFirstDifference) {
  EXPECT_TRUE(CheckHistory(rig_.store(), LedgerName("run")).ok());  // there is none yet
  Ask();
  EXPECT_TRUE(CheckHistory(rig_.store(), LedgerName("run")).ok());
  v1::StoredHistory wrong = Table();
  wrong.mutable_closed(0)->set_count(17);
  Put(wrong);
  EXPECT_TRUE(IsError(CheckHistory(rig_.store(), LedgerName("run")), StatusCode::kDataLoss, "",
                      "projects/p/ledgers/run: its run-length table does not fit it: its entries "
                      "say otherwise: modified: closed[0].count: 17 -> 5999"));
  EXPECT_TRUE(IsError(CheckHistory(rig_.store(), LedgerName("none")), StatusCode::kNotFound,
                      "LEDGER_NOT_FOUND", "projects/p/ledgers/none"));
}

TEST_F(StoredHistoryTest, DamagedLedgerIsReadInFullBeforeItIsCalledSo) {
  Ask();
  v1::Ledger ledger = AccountedStore::Must(rig_.store().Get(LedgerName("run")));
  ledger.mutable_root_hash()->front() ^= 1;
  HistoryCache cache(&rig_.store(), size_t{64} << 20);
  const uint64_t before = rig_.watch().entries_read;
  EXPECT_TRUE(IsError(cache.Read(ledger, kSize, "", {}).status(), StatusCode::kDataLoss, "",
                      "projects/p/ledgers/run: its 12003 entries do not have the ledger's root "
                      "hash"));
  EXPECT_EQ(rig_.watch().entries_read - before, kSize + 2);
}

TEST_F(StoredHistoryTest, StoppedQuestionKeepsWhatItHasRead) {
  accountant::Limits limits;
  int asked = 0;
  limits.cancelled = [&asked] { return ++asked > 1; };
  v1::Subject subject;
  subject.add_ledgers(LedgerName("run"));
  EXPECT_TRUE(IsError(rig_.source().Gather(subject, 0, limits).status(), StatusCode::kCancelled,
                      "CANCELLED", "cancelled"));
  const uint64_t first = rig_.watch().entries_read;
  EXPECT_GT(first, 0u);
  EXPECT_EQ(Ask(), std::make_pair(truth_, kSize - first));
}

TEST_F(StoredHistoryTest, CompleteCopiesHaveOne) {
  v1::CreateLedgerRequest request;
  request.set_name(LedgerName("copy"));
  request.set_request_id("copy");
  v1::Import& import = *request.mutable_import();
  import.set_origin("elsewhere");
  import.set_size(kSize);
  import.set_root_hash(merkle::ToBytes(rig_.RootOf("run", kSize)));
  *import.mutable_declaration() =
      AccountedStore::Must(rig_.store().Get(LedgerName("run"))).declaration();
  AccountedStore::Must(rig_.store().Create(request));
  const std::vector<std::string> entries = rig_.Entries("run", 0, kSize);
  for (size_t first = 0; first < entries.size(); first += 10'000) {
    v1::AppendBatchRequest batch =
        Batch(LedgerName("copy"), "importer", absl::StrCat("fill-", first));
    for (size_t i = first; i < std::min(first + 10'000, entries.size()); ++i) {
      batch.add_entries()->mutable_imported()->set_entry(entries[i]);
    }
    rig_.Append(batch);
  }
  EXPECT_EQ(rig_.EpsilonOf({"copy"}), truth_);
  EXPECT_TRUE(CheckHistory(rig_.store(), LedgerName("copy")).ok());
  rig_.Reopen();
  const v1::ComputeEpsilonResponse answer = rig_.Answer({"copy"});
  EXPECT_EQ(AccountedStore::Text(answer.epsilon()), truth_);
  EXPECT_EQ(rig_.watch().entries_read, 2u) << "the mechanisms";
  const std::vector<std::string> warnings = {answer.details().warnings().begin(),
                                             answer.details().warnings().end()};
  EXPECT_THAT(warnings, Contains(HasSubstr("was not sealed at 12003 entries")));
}

}  // namespace
}  // namespace dpledger::server
