// Run-length tables: what is read after a restart, and that a wrong table is dropped or found.
#include "server/questions/stored_history.h"

#include <gmock/gmock.h>

#include "tests/server/accounted_store.h"

namespace dpledger::server {
namespace {

using absl::StatusCode;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

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
class StoredHistoryTest : public ::testing::Test {
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
  // Puts it, restarts and asks: the answer must be the truth, from all entries, and said in the
  // log.
  void ExpectDropped(const v1::StoredHistory& bad, const std::string& why) {
    Put(bad);
    rig_.Reopen();
    const std::string before = rig_.Logged();
    const auto [epsilon, read] = Ask();
    EXPECT_EQ(epsilon, truth_) << bad.ShortDebugString();
    EXPECT_GE(read, kSize) << bad.ShortDebugString();
    EXPECT_THAT(rig_.Logged().substr(before.size()),
                AllOf(HasSubstr("\"event\":\"history_table_dropped\",\"ledger\":\"projects/p/"
                                "ledgers/run\""),
                      HasSubstr(why)));
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
  // Entry 0, the two mechanisms, and the three new entries.
  EXPECT_EQ(Ask(), std::make_pair(more_truth, uint64_t{6}));
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
  EXPECT_LE(rig_.watch().entries_read, 6u);
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
  // Two of its own, the parent's entry 0, two mechanisms, the parent's notice.
  EXPECT_EQ(rig_.watch().entries_read, 6u);
}

TEST_F(StoredHistoryTest, TableThatDoesNotFitIsDropped) {
  Ask();
  const v1::StoredHistory good = Table();
  const std::function<void(v1::StoredHistory&)> changes[] = {
      [](v1::StoredHistory& table) { table.set_version(2); },
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
    // Whoever has the key is not believed either.
    Authenticate(rig_.history_key(), LedgerName("run"), bad);
    ExpectDropped(bad, "");
    // And made again.
    EXPECT_EQ(Table().SerializeAsString(), good.SerializeAsString());
    Put(bad);
    EXPECT_FALSE(CheckHistory(rig_.store(), LedgerName("run")).ok());
  }
  // The control: the good one is taken.
  Put(good);
  rig_.Reopen();
  EXPECT_EQ(Ask(), std::make_pair(truth_, uint64_t{3}));
}

// Each of these once gave another ε, with a root that had been signed.
TEST_F(StoredHistoryTest, TableThatNoServerMadeIsDropped) {
  Ask();
  const v1::StoredHistory good = Table();
  const std::function<void(v1::StoredHistory&)> changes[] = {
      [](v1::StoredHistory& table) { table.mutable_closed(0)->set_count(10); },
      [](v1::StoredHistory& table) {
        table.mutable_closed(0)->mutable_queries(0)->set_noise_stddev(50);
      },
      [](v1::StoredHistory& table) { table.mutable_closed()->Clear(); },
      [](v1::StoredHistory& table) { table.mutable_open()->Clear(); },
      [](v1::StoredHistory& table) { table.mutable_mechanism_sequences()->RemoveLast(); },
      [](v1::StoredHistory& table) { table.set_sealed(true); },
      [](v1::StoredHistory& table) { table.mutable_authenticator()->front() ^= 1; },
      [](v1::StoredHistory& table) { table.mutable_authenticator()->back() ^= 1; },
      [](v1::StoredHistory& table) { table.mutable_authenticator()->pop_back(); },
  };
  for (const auto& change : changes) {
    v1::StoredHistory forged = good;
    change(forged);
    ExpectDropped(forged, "authenticator: no server with this signing key made it");
  }
  v1::StoredHistory unsigned_table = good;
  unsigned_table.clear_authenticator();
  ExpectDropped(unsigned_table, "authenticator: is not set");
  v1::StoredHistory of_another = good;
  Authenticate(rig_.history_key(), LedgerName("other"), of_another);
  ExpectDropped(of_another, "authenticator: no server with this signing key made it");
}

TEST_F(StoredHistoryTest, TablesAreMadeAgainUnderANewKey) {
  Ask();
  const v1::StoredHistory old = Table();
  rig_.ChangeKey('l');
  ExpectDropped(old, "authenticator: no server with this signing key made it");
  EXPECT_NE(Table().authenticator(), old.authenticator());
  rig_.Reopen();
  EXPECT_EQ(Ask(), std::make_pair(truth_, uint64_t{3}));
}

// The rows of entries may be changed too, with their checksums made again.
TEST_F(StoredHistoryTest, ChangedMechanismIsFoundBesideTheTable) {
  Ask();
  rig_.Reopen();
  rig_.watch().change_entry = [](uint64_t sequence, std::string& bytes) {
    if (sequence != kSize - 1) return;
    v1::LedgerEntry entry;
    ASSERT_TRUE(entry.ParseFromString(bytes));
    entry.mutable_event()->mutable_mechanism()->mutable_gaussian()->set_noise_multiplier(500);
    bytes = entry.SerializeAsString();
  };
  v1::Subject subject;
  subject.add_ledgers(LedgerName("run"));
  EXPECT_TRUE(IsError(rig_.source().Gather(subject, 0, {}).status(), StatusCode::kDataLoss, "",
                      "do not have the ledger's root hash"));
  EXPECT_THAT(rig_.Logged(), HasSubstr("entry 0 or a mechanism is not the one"));
  rig_.watch().change_entry = nullptr;  // the control
  EXPECT_EQ(Ask(), std::make_pair(truth_, uint64_t{3}));
}

// A ledger's description may come from a copy of entry 0, which can be changed beside it.
TEST_F(StoredHistoryTest, DescriptionMustDeclareWhatEntryZeroDoes) {
  Ask();
  const v1::Ledger good = AccountedStore::Must(rig_.store().Get(LedgerName("run")));
  v1::Ledger changed = good;
  changed.mutable_declaration()->set_adjacency(v1::ZERO_OUT);
  v1::Ledger forked = good;
  forked.mutable_fork()->set_parent(LedgerName("other"));
  rig_.Reopen();  // once from the table, and once as it was read before
  const TableKeeping tables = {
      std::shared_ptr<const merkle::Authenticator>(&rig_.history_key(), [](auto*) {}), nullptr};
  for (const TableKeeping& keeping : {tables, TableKeeping()}) {
    HistoryCache cache(&rig_.store(), size_t{64} << 20, keeping);
    for (int i = 0; i < 2; ++i) {
      for (const v1::Ledger& wrong : {changed, forked}) {
        EXPECT_TRUE(IsError(cache.Read(wrong, kSize, "", {}).status(), StatusCode::kDataLoss, "",
                            "projects/p/ledgers/run: its head declares something else than its "
                            "entry 0"));
      }
    }
    EXPECT_TRUE(cache.Read(good, kSize, "", {}).ok());  // the control
  }
}

// After a failover of the database, what was read before may be gone, and other entries stand there
// that cannot follow it.
TEST_F(StoredHistoryTest, IsReadAnewWhereEntriesDoNotFollowWhatIsCached) {
  const v1::Ledger run = AccountedStore::Must(rig_.store().Get(LedgerName("run")));
  HistoryCache cache(&rig_.store(), size_t{64} << 20, TableKeeping());
  rig_.watch().change_entry = [](uint64_t sequence, std::string& bytes) {
    v1::LedgerEntry entry;
    ASSERT_TRUE(entry.ParseFromString(bytes));
    if (sequence != 2) return;
    entry.mutable_event()->mutable_sampling()->set_round(kRounds);
    bytes = entry.SerializeAsString();
  };
  ASSERT_TRUE(cache.Read(run, 3, "", {}).ok());
  rig_.watch().change_entry = nullptr;
  const auto whole = cache.Read(run, kSize, "", {});
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ((*whole)->tree.Root(), rig_.RootOf("run", kSize));
}

// A failover between the ledger's description and its entries: they do not fit, once.
TEST_F(StoredHistoryTest, WhatDoesNotFitIsReadAgainBeforeItIsDamage) {
  int changed = 0;
  rig_.watch().change_entry = [&](uint64_t sequence, std::string& bytes) {
    if (sequence == kSize - 1 && changed++ == 0) bytes += bytes;
  };
  v1::Subject subject;
  subject.add_ledgers(LedgerName("run"));
  const auto gathered = rig_.source().Gather(subject, 0, {});
  EXPECT_TRUE(gathered.ok()) << gathered.status();
  EXPECT_GT(changed, 1);
}

// An audit has no key, but the entries.
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
  const std::shared_ptr<const merkle::Authenticator> key(&rig_.history_key(), [](auto*) {});
  HistoryCache cache(&rig_.store(), size_t{64} << 20, {key, nullptr});
  const uint64_t before = rig_.watch().entries_read;
  EXPECT_TRUE(IsError(cache.Read(ledger, kSize, "", {}).status(), StatusCode::kDataLoss, "",
                      "projects/p/ledgers/run: its 12003 entries do not have the ledger's root "
                      "hash"));
  EXPECT_EQ(rig_.watch().entries_read - before, kSize + 3);
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
  EXPECT_EQ(rig_.watch().entries_read, 4u) << "entries 0 to 2, and the other mechanism";
  const std::vector<std::string> warnings = {answer.details().warnings().begin(),
                                             answer.details().warnings().end()};
  EXPECT_THAT(warnings, Contains(HasSubstr("was not sealed at 12003 entries")));
}

}  // namespace
}  // namespace dpledger::server
