// A run that its filter holds, batch by batch, against the filter's own word on all its entries
// (filter::Spent): over random runs of every scheme, several writers and incarnations.
#include "questions/held_run.h"

#include <gmock/gmock.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "accountant/mechanism/composition.h"
#include "ledger/batch_row.h"
#include "ledger/ledger_head.h"
#include "questions/declaration_values.h"
#include "tests/events/field_rules.h"
#include "tests/ledger_store/requests.h"

namespace dpledger::questions {
namespace {

using accountant::FromText;
using accountant::filter::Filter;

constexpr char kMixture[] =
    "mixture { epsilon: 9 delta: 1e-6 orders: 2 orders: 3 orders: 5 orders: 8 orders: 24 }";

// A ledger as it grows, without a store.
class GrowingLedger {
 public:
  explicit GrowingLedger(const std::string& filter) {
    v1::CreateLedgerRequest request = CreateRequest(kLedger);
    v1::Declaration& declaration = *request.mutable_declaration();
    declaration.set_adjacency(v1::ZERO_OUT);
    declaration.set_parameters(v1::ADAPTIVE);
    *declaration.mutable_filter() = FromText<v1::Filter>(filter);
    NewLedger made = *Create(request, absl::UnixEpoch());
    head_ = std::move(made.empty);
    Take(made.change);
  }

  // The batch's entries; none if it breaks a rule.
  std::vector<std::string> Append(v1::AppendBatchRequest batch) {
    batch.set_ledger(kLedger);
    batch.set_request_id(absl::StrCat("r", ++requests_));
    const absl::StatusOr<LedgerChange> change =
        AppendBatch(head_, BatchDraft(std::move(batch)), absl::UnixEpoch());
    return change.ok() ? Take(*change) : std::vector<std::string>();
  }
  const std::vector<std::string>& entries() const { return entries_; }

 private:
  std::vector<std::string> Take(const LedgerChange& change) {
    Apply(change, head_);
    const std::vector<std::string_view> row = *DecodeBatchRow(change.entries);
    entries_.insert(entries_.end(), row.begin(), row.end());
    return {row.begin(), row.end()};
  }

  LedgerHead head_;
  std::vector<std::string> entries_;
  int requests_ = 0;
};

std::vector<std::string_view> Bytes(const std::vector<std::string>& entries) {
  return {entries.begin(), entries.end()};
}

// A writer that does what it may, at random.
class RandomWriter {
 public:
  // `kinds`: 3 for schemes whose cost is the same in both directions, 6 for all.
  RandomWriter(std::string name, std::mt19937_64& random, int kinds = 6)
      : name_(std::move(name)), random_(random), kind_(Below(kinds)) {}

  v1::AppendBatchRequest Next() {
    v1::AppendBatchRequest batch;
    batch.set_writer(name_);
    for (int i = Below(4); i >= 0; --i) {
      switch (Below(12)) {
        case 0:
          AddIncarnation(batch);
          break;
        case 1:
          AddRounds(batch);
          break;
        case 2:
          AddMechanism(batch);
          break;
        case 3:
          AddNote(batch, "x");
          break;
        case 4:
        case 5:
          AddQuery(batch);  // to the round that is open, or to all records
          break;
        default:
          AddSample(batch);
          for (int query = Below(3); query > 0; --query) AddQuery(batch);
      }
    }
    return batch;
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  void AddIncarnation(v1::AppendBatchRequest& batch) {
    batch.add_entries()->mutable_opened()->set_incarnation(absl::StrCat("i", ++incarnations_));
    epoch_ = 0;
    in_epoch_ = 0;
  }
  v1::SumQuery Query() {
    const double noises[] = {1, 2, 2, 2, 8};
    v1::SumQuery query;
    query.set_l2_norm_bound(1);
    query.set_noise_stddev(noises[Below(5)]);
    return query;
  }
  void AddQuery(v1::AppendBatchRequest& batch) {
    v1::SumQueryEvent& sum = *batch.add_entries()->mutable_event()->mutable_sum_query();
    sum.set_round(round_);
    *sum.mutable_query() = Query();
  }
  // Epochs of three rounds, of which some are left early.
  uint64_t Epoch() {
    if (in_epoch_ == 3 || Below(8) == 0) {
      ++epoch_;
      in_epoch_ = 0;
    }
    ++in_epoch_;
    return epoch_;
  }
  v1::SamplingScheme Scheme(uint64_t epoch) {
    v1::SamplingScheme scheme;
    if (kind_ == 0) scheme.mutable_poisson()->set_probability(Below(2) == 0 ? 1 : 0.1);
    if (kind_ == 1) scheme.mutable_full_batch();
    if (kind_ == 2) {
      scheme.mutable_disjoint_batches()->set_batches_per_epoch(3);
      scheme.mutable_disjoint_batches()->set_epoch(epoch);
    }
    if (kind_ > 2) {
      scheme.mutable_random_allocation()->set_rounds_per_epoch(3);
      scheme.mutable_random_allocation()->set_epoch(epoch);
      if (kind_ == 4) scheme.mutable_random_allocation()->set_contributions(2);
      if (kind_ == 5) scheme.mutable_random_allocation()->set_fixed_bins(true);
    }
    return scheme;
  }
  void AddSample(v1::AppendBatchRequest& batch) {
    if (kind_ < 2) kind_ = Below(2);
    v1::SamplingEvent& sampling = *batch.add_entries()->mutable_event()->mutable_sampling();
    sampling.set_round(++round_);
    *sampling.mutable_scheme() = Scheme(Epoch());
  }
  void AddRounds(v1::AppendBatchRequest& batch) {
    v1::RoundsEvent& rounds = *batch.add_entries()->mutable_event()->mutable_rounds();
    *rounds.mutable_scheme() = Scheme(static_cast<uint64_t>(Below(4)));
    rounds.set_count(3 * static_cast<uint64_t>(1 + Below(4)));
    *rounds.add_queries() = Query();
  }
  void AddMechanism(v1::AppendBatchRequest& batch) {
    v1::MechanismEvent& mechanism = *batch.add_entries()->mutable_event()->mutable_mechanism();
    mechanism.set_count(static_cast<uint64_t>(1 + Below(3)));
    mechanism.mutable_laplace()->set_noise_multiplier(4);
  }

  const std::string name_;
  std::mt19937_64& random_;
  int kind_;
  uint64_t round_ = 0, epoch_ = 0, in_epoch_ = 0;
  int incarnations_ = 0;
};

class HeldRunTest : public ::testing::TestWithParam<const char*> {
 protected:
  Filter filter() const { return *FilterFromProto(FromText<v1::Filter>(GetParam())); }
  absl::StatusOr<accountant::filter::Uses> Uses(const accountant::History& history) const {
    const auto composition = accountant::Resolve(history, accountant::Adjacency::kZeroOut);
    if (!composition.ok()) return composition.status();
    return accountant::filter::UsesOf(filter(), *composition, {});
  }
  UsesOfPart uses_of() const {
    return [this](const RunPart& part) { return Uses(part.history()); };
  }
  static HistoryReader Read(const std::vector<std::string>& entries) {
    HistoryReader reader;
    for (const std::string& entry : entries) EXPECT_TRUE(reader.Add(entry).ok());
    return reader;
  }
  double SpentOf(const std::vector<std::string>& entries) const {
    const auto uses = Uses(Read(entries).history());
    EXPECT_TRUE(uses.ok()) << uses.status();
    return uses.ok() ? SpentBy(filter(), *uses) : 0;
  }
  // Takes the entries one by one.
  void TakeEach(const std::vector<std::string>& entries, HeldRun& run) const {
    for (const std::string& entry : entries) {
      auto step = run.Take(std::vector<std::string_view>{entry}, uses_of());
      ASSERT_TRUE(step.ok()) << step.status();
      run.Apply(*std::move(step));
    }
  }
};

TEST_P(HeldRunTest, SpendsWhatTheFilterSaysOfAllEntries) {
  int batches = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    std::mt19937_64 random(seed);
    GrowingLedger ledger(GetParam());
    std::vector<RandomWriter> writers;
    const bool same_both_ways = seed % 2 == 0;
    for (const char* name : {"v", "w"}) writers.emplace_back(name, random, same_both_ways ? 3 : 6);
    HeldRun run(filter()), one_by_one(filter());
    TakeEach(ledger.entries(), run);
    TakeEach(ledger.entries(), one_by_one);
    for (int i = 0; i < 40; ++i) {
      const std::vector<std::string> entries = ledger.Append(writers[random() % 2].Next());
      if (entries.empty()) continue;
      ++batches;
      auto step = run.Take(Bytes(entries), uses_of());
      ASSERT_TRUE(step.ok()) << step.status();
      const double before = run.Spent(), after = run.SpentAfter(*step);
      HeldRun::Step back = run.Apply(*std::move(step));
      EXPECT_EQ(run.Spent(), after);
      if (random() % 4 == 0) {  // as if the commit had failed
        run.Apply(std::move(back));
        EXPECT_EQ(run.Spent(), before);
        run.Apply(*run.Take(Bytes(entries), uses_of()));
      }
      const double spent = SpentOf(ledger.entries());
      EXPECT_GE(run.Spent(), spent * (1 - 1e-13)) << seed << ", batch " << i;
      // Each part is taken at its greater direction, the filter's own sum at one for all.
      EXPECT_LE(run.Spent(), spent * (1 + (same_both_ways ? 1e-12 : 2e-3)))
          << seed << ", batch " << i;
      TakeEach(entries, one_by_one);
      // Equal rounds may list their sums in another order, which rounds otherwise.
      EXPECT_NEAR(one_by_one.Spent(), run.Spent(), 1e-14 * run.Spent()) << seed << ", batch " << i;
      if (random() % 8 != 0) continue;
      HeldRun again(filter());  // as after a restart
      ASSERT_TRUE(again.Begin(Read(ledger.entries()), {}, uses_of()).ok());
      EXPECT_NEAR(again.Spent(), run.Spent(), 1e-14 * run.Spent()) << seed << ", batch " << i;
      EXPECT_EQ(again.size(), run.size());
      run = std::move(again);
    }
  }
  EXPECT_GT(batches, 500);
}

TEST_P(HeldRunTest, ChargesAForkForItsPrefix) {
  std::mt19937_64 random(5);
  GrowingLedger parent(GetParam()), child(GetParam());
  RandomWriter before("w", random), after("w", random);
  for (int i = 0; i < 15; ++i) parent.Append(before.Next());
  for (int i = 0; i < 15; ++i) child.Append(after.Next());
  const HistoryReader prefix = Read(parent.entries());
  HeldRun run(filter());
  ASSERT_TRUE(run.Begin(Read(child.entries()), {&prefix}, uses_of()).ok());
  accountant::History both;
  both.Merge(Read(child.entries()).history());
  both.Merge(prefix.history());
  const double spent = SpentBy(filter(), *Uses(both));
  EXPECT_GT(spent, SpentOf(child.entries()));
  EXPECT_GE(run.Spent(), spent * (1 - 1e-13));
  EXPECT_LE(run.Spent(), spent * (1 + 2e-3));
}

INSTANTIATE_TEST_SUITE_P(Filters, HeldRunTest,
                         ::testing::Values(kMixture, "rdp { order: 8 epsilon: 9 }",
                                           "zcdp { rho: 9 }", "gdp { mu: 9 }"));

TEST(HeldRun, CountsHowManyRoundsAreLeft) {
  GrowingLedger ledger("zcdp { rho: 1 }");
  const Filter filter = accountant::filter::ZcdpFilter{1};
  const UsesOfPart uses_of = [&](const RunPart& part) {
    return accountant::filter::UsesOf(
        filter, *accountant::Resolve(part.history(), accountant::Adjacency::kZeroOut), {});
  };
  HeldRun run(filter);
  run.Apply(*run.Take(Bytes(ledger.entries()), uses_of));
  v1::AppendBatchRequest batch = Batch(kLedger, "w", "");
  batch.add_entries()
      ->mutable_event()
      ->mutable_mechanism()
      ->mutable_gaussian()
      ->set_noise_multiplier(2);  // an eighth
  const std::vector<std::string> eighth = ledger.Append(batch);
  const auto first = run.Take(Bytes(eighth), uses_of);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(run.RoundsLeft(*first), 8u);
  run.Apply(*first);
  const std::vector<std::string> next = ledger.Append(batch);
  EXPECT_EQ(run.RoundsLeft(*run.Take(Bytes(next), uses_of)), 7u);
}

}  // namespace
}  // namespace dpledger::questions
