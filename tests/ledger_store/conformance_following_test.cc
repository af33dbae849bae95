// What every engine keeps and tells for lists: summaries beside ledgers, and which ledgers go on.
#include <gmock/gmock.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "tests/ledger_store/conformance_test.h"
#include "tests/ledger_store/requests.h"

namespace dpledger {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::map<std::string, std::string> Summaries(LedgerStore& store,
                                             const std::vector<std::string>& ledgers = {}) {
  const auto rows = store.ReadSummaries(ledgers);
  EXPECT_TRUE(rows.ok()) << rows.status();
  std::map<std::string, std::string> by_name;
  for (const SummaryRow& row : *rows) EXPECT_TRUE(by_name.emplace(row.ledger, row.bytes).second);
  return by_name;
}

// Everything that changed since the last call, in however many steps: name -> size.
std::map<std::string, uint64_t> Changed(LedgerStore& store, uint64_t& since, size_t limit = 1000,
                                        const KnownSizes& known = {}) {
  std::map<std::string, uint64_t> changed;
  while (true) {
    const auto step = store.Changed(since, limit, known);
    EXPECT_TRUE(step.ok()) << step.status();
    for (const auto& head : step->heads) {
      EXPECT_EQ(Describe(*head).SerializeAsString(), store.Get(head->name)->SerializeAsString());
      changed[head->name] = head->tree.size();
    }
    since = step->next;
    if (!step->more) return changed;
  }
}

const std::string kB = "projects/p/ledgers/b";
const std::string kC = "projects/q/ledgers/c";

TEST_P(LedgerStoreConformance, SummariesAreKeptByLedgerAcrossRestarts) {
  EXPECT_THAT(Summaries(*store_), IsEmpty());
  for (const std::string& name : {kLedger, kB})
    ASSERT_TRUE(store_->Create(CreateRequest(name)).ok());
  ASSERT_TRUE(store_->PutSummaries({{kLedger, "one"}, {kB, std::string("t\0o", 3)}}).ok());
  ASSERT_TRUE(store_->PutSummaries({{kLedger, "three"}, {kC, "of no ledger"}}).ok());
  ASSERT_TRUE(store_->PutSummaries({}).ok());
  EXPECT_THAT(Summaries(*store_),
              ElementsAre(Pair(kLedger, "three"), Pair(kB, std::string("t\0o", 3))));
  EXPECT_THAT(Summaries(*store_, {kB, kC}), ElementsAre(Pair(kB, std::string("t\0o", 3))));
  Reopen();
  EXPECT_THAT(Summaries(*store_),
              ElementsAre(Pair(kLedger, "three"), Pair(kB, std::string("t\0o", 3))));
}

TEST_P(LedgerStoreConformance, TellsOfWhatWasMadeAndWentOn) {
  for (const std::string& name : {kLedger, kB})
    ASSERT_TRUE(store_->Create(CreateRequest(name)).ok());
  uint64_t since = *store_->ChangesEnd();
  ASSERT_TRUE(store_->Create(CreateRequest(kC)).ok());
  ASSERT_TRUE(store_->Append(RoundBatch(kB, "w", "r1", 1)).ok());
  const auto changed = Changed(*store_, since);
  EXPECT_EQ(changed.at(kC), 1u);
  EXPECT_EQ(changed.at(kB), 3u);
  ASSERT_TRUE(store_->Append(RoundBatch(kLedger, "w", "r1", 1)).ok());
  EXPECT_EQ(Changed(*store_, since).at(kLedger), 3u);
}

TEST_P(LedgerStoreConformance, DoesNotTellAgainWhatIsKnown) {
  for (const std::string& name : {kLedger, kB, kC})
    ASSERT_TRUE(store_->Create(CreateRequest(name)).ok());
  const uint64_t begin = *store_->ChangesEnd();
  ASSERT_TRUE(store_->Append(RoundBatch(kB, "w", "r1", 1)).ok());
  ASSERT_TRUE(store_->Append(RoundBatch(kC, "w", "r1", 1)).ok());
  std::map<std::string, uint64_t> sizes = {{kLedger, 1}, {kB, 1}, {kC, 3}};
  const auto known = [&](const std::string& name) { return sizes[name]; };
  uint64_t since = begin;
  EXPECT_THAT(Changed(*store_, since, 1000, known), ElementsAre(Pair(kB, 3u)));
  sizes.clear();
  since = begin;
  EXPECT_EQ(Changed(*store_, since, 1000, known).count(kB), 1u);
  EXPECT_EQ(Changed(*store_, since = begin).count(kC), 1u);
}

TEST_P(LedgerStoreConformance, TellsOfManyInSteps) {
  uint64_t since = *store_->ChangesEnd();
  for (int i = 0; i < 25; ++i) {
    ASSERT_TRUE(
        store_->Create(CreateRequest(absl::StrCat("projects/p/ledgers/l", i), absl::StrCat(i)))
            .ok());
  }
  EXPECT_EQ(Changed(*store_, since, 10).size(), 25u);
}

}  // namespace
}  // namespace dpledger
