// Histories through their stored tables: what comes back goes on as the history would have.
#include "questions/history_table.h"

#include <gmock/gmock.h>

#include <limits>
#include <random>

#include "base/status.h"

namespace dpledger::questions {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

v1::StoredHistory TableOf(const accountant::History& history) {
  v1::StoredHistory table;
  ToTable(history, table);
  return table;
}

accountant::History Restored(const accountant::History& history) {
  auto restored = FromTable(TableOf(history), history.Mechanisms());
  EXPECT_TRUE(restored.ok()) << restored.status();
  return *std::move(restored);
}

accountant::SamplingScheme AnyScheme(std::mt19937_64& random) {
  const double q = 0.25 * static_cast<double>(1 + random() % 3);
  const uint64_t n = 1 + random() % 3;
  switch (random() % 7) {
    case 0:
      return {random() % 2, accountant::FullBatch{}};
    case 1:
      return {0, accountant::PoissonSampling{q}};
    case 2:
      return {10, accountant::WithoutReplacement{n}};
    case 3:
      return {10, accountant::WithReplacement{n}};
    case 4:
      return {0, accountant::DisjointBatches{n, random() % 2}};
    case 5:
      return {0,
              accountant::RandomAllocation{n, random() % 2, 1 + random() % n, random() % 2 == 0}};
    default:
      return {10, accountant::TruncatedPoisson{q, n}};
  }
}

accountant::SumQuery AnyQuery(std::mt19937_64& random) {
  const double stddev = 1 + static_cast<double>(random() % 2);
  if (random() % 4 == 0) return {"grid", 3, stddev, accountant::NoiseKind::kRoundedGaussian, 0.5};
  if (random() % 4 == 0) return {"whole", 1, stddev, accountant::NoiseKind::kDiscreteGaussian};
  return {random() % 2 == 0 ? "a" : "b", 0.1, stddev};
}

// Events of three writers, their rounds in order.
class Stream {
 public:
  explicit Stream(uint64_t seed) : random_(seed) {}

  void AddTo(std::vector<accountant::History*> histories) {
    const std::string writer(1, static_cast<char>('x' + random_() % 3));
    const accountant::Event event = Next();
    for (accountant::History* history : histories) history->Add(writer, event);
  }

 private:
  accountant::Event Next() {
    switch (random_() % 8) {
      case 0:
        return accountant::RoundsEvent{{AnyScheme(random_), {AnyQuery(random_)}},
                                       1 + random_() % 9};
      case 1:
        return accountant::Mechanism{2, accountant::Gaussian{1}};
      case 2:
      case 3:
        return accountant::SamplingEvent{++round_, AnyScheme(random_)};
      case 4:
        return accountant::SumQueryEvent{++round_, AnyQuery(random_)};
      default:
        return accountant::SumQueryEvent{round_, AnyQuery(random_)};
    }
  }
  std::mt19937_64 random_;
  uint64_t round_ = 0;
};

TEST(HistoryTable, GoesOnAsTheHistoryWouldHave) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Stream stream(seed);
    accountant::History history;
    for (uint64_t i = 0; i < 10 * seed; ++i) stream.AddTo({&history});
    accountant::History restored = Restored(history);
    EXPECT_EQ(TableOf(restored).SerializeAsString(), TableOf(history).SerializeAsString());
    for (int i = 0; i < 50; ++i) stream.AddTo({&history, &restored});
    EXPECT_EQ(TableOf(restored).SerializeAsString(), TableOf(history).SerializeAsString());
    EXPECT_EQ(restored.RoundCount(), history.RoundCount());
    EXPECT_EQ(restored.Mechanisms().size(), history.Mechanisms().size());
  }
}

// The control: without what is open, the next sum query of the round is another round.
TEST(HistoryTable, KeepsWhatIsOpen) {
  accountant::History history;
  history.Add("w", accountant::SamplingEvent{4, {0, accountant::PoissonSampling{0.5}}});
  history.Add("w", accountant::SumQueryEvent{4, {"", 1, 1}});
  v1::StoredHistory table = TableOf(history);
  ASSERT_EQ(table.open_size(), 1);
  EXPECT_EQ(table.open(0).number(), 4u);
  accountant::History restored = Restored(history);
  table.clear_open();
  accountant::History forgetful = *FromTable(table, {});
  for (accountant::History* each : {&history, &restored, &forgetful}) {
    each->Add("w", accountant::SumQueryEvent{4, {"", 1, 1}});
  }
  ASSERT_EQ(restored.Rounds().size(), 1u);
  EXPECT_EQ(restored.Rounds()[0].round.queries.size(), 2u);
  EXPECT_EQ(accountant::SchemeName(restored.Rounds()[0].round.scheme), "poisson");
  EXPECT_EQ(accountant::SchemeName(forgetful.Rounds()[0].round.scheme), "full_batch");
}

TEST(HistoryTable, KeepsCountsBeyond64Bits) {
  accountant::History history;
  for (const uint64_t count : {kMost, uint64_t{5}}) {
    history.Add("w", accountant::RoundsEvent{{{0, accountant::FullBatch{}}, {{"", 1, 1}}}, count});
  }
  EXPECT_EQ(TableOf(history).closed_size(), 2);
  EXPECT_EQ(TableOf(Restored(history)).SerializeAsString(), TableOf(history).SerializeAsString());
}

TEST(HistoryTable, RefusesWhatNoHistoryWrites) {
  accountant::History history;
  history.Add("w", accountant::RoundsEvent{{{0, accountant::FullBatch{}}, {{"", 1, 1}}}, 2});
  history.Add("w",
              accountant::RoundsEvent{{{0, accountant::PoissonSampling{0.5}}, {{"", 1, 1}}}, 3});
  const v1::StoredHistory good = TableOf(history);
  ASSERT_TRUE(FromTable(good, {}).ok());
  const auto refusal = [&](const std::function<void(v1::StoredHistory&)>& change) {
    v1::StoredHistory bad = good;
    change(bad);
    return std::string(FromTable(bad, {}).status().message());
  };
  EXPECT_THAT(refusal([](auto& bad) { bad.mutable_closed()->SwapElements(0, 1); }),
              HasSubstr("closed: must be spelled"));
  EXPECT_THAT(refusal([](auto& bad) { *bad.add_closed() = bad.closed(0); }),
              HasSubstr("closed: must be spelled"));
  EXPECT_THAT(refusal([](auto& bad) { bad.mutable_closed(0)->set_count(0); }),
              HasSubstr("closed: must be spelled"));
  EXPECT_THAT(refusal([](auto& bad) { bad.mutable_closed(0)->set_writer("w"); }),
              HasSubstr("closed: must be spelled"));
  EXPECT_THAT(refusal([](auto& bad) { bad.mutable_closed(0)->clear_queries(); }),
              HasSubstr("closed: must be spelled"));
  EXPECT_THAT(refusal([](auto& bad) { bad.mutable_closed(0)->clear_scheme(); }),
              HasSubstr("closed[0].scheme.kind: must be set"));
  EXPECT_THAT(
      refusal([](auto& bad) { bad.mutable_closed(0)->mutable_queries(0)->set_noise_stddev(-1); }),
      HasSubstr("closed[0].queries[0].noise_stddev: must be finite and > 0"));
}

}  // namespace
}  // namespace dpledger::questions
