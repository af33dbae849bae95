// Every engine under a notary: what it signs is the tree over the entries, across restarts and
// beside another notary.
#include "absl/strings/str_cat.h"
#include "ledger_store/evidence/log_reader.h"
#include "ledger_store/evidence/notary.h"
#include "merkle/compact_tree.h"
#include "tests/ledger_store/conformance_test.h"
#include "tests/ledger_store/temp_folder.h"

namespace dpledger {
namespace {

// Notaries over the test's store, which may be opened again meanwhile.
class Signing {
 public:
  Signing(std::unique_ptr<LedgerStore>& store, Clock* clock) : store_(store), clock_(clock) {}

  std::unique_ptr<Notary> OpenNotary(const std::string& holder) {
    NotaryOptions options;
    options.key = std::make_shared<const merkle::Ed25519PrivateKey>(
        *merkle::Ed25519PrivateKey::FromSeed(std::string(32, 'k')));
    options.checkpoint_file = absl::StrCat(folder_.path(), "/", holder);
    options.holder = holder;
    options.max_entries = 100;
    options.clock = clock_;
    auto notary = Notary::Open(options, *store_);
    EXPECT_TRUE(notary.ok()) << notary.status();
    return notary.ok() ? *std::move(notary) : nullptr;
  }
  void SignAll(Notary& notary) {
    while (true) {
      const absl::StatusOr<SigningRound> round = notary.Sign();
      ASSERT_TRUE(round.ok()) << round.status();
      if (!round->more) return;
    }
  }
  void Append(const std::string& ledger, uint64_t rounds) {
    for (uint64_t i = 0; i < rounds; ++i) {
      ++round_;
      const auto receipt =
          store_->Append(RoundBatch(ledger, "w", absl::StrCat("round-", round_), round_));
      ASSERT_TRUE(receipt.ok()) << receipt.status();
    }
  }
  // The signed root at every size is that of the entries, and all of them are signed.
  void ExpectSigned(const Notary& notary, const std::string& log) {
    const auto latest = notary.Latest(log);
    ASSERT_TRUE(latest.ok() && latest->has_value()) << latest.status();
    LogReader reader(*store_, log, **latest);
    merkle::CompactTree tree;
    for (uint64_t size = 0; size < reader.size(); ++size) {
      EXPECT_EQ(*reader.RootAt("size", size), tree.Root()) << log << " at " << size;
      const auto entries = ReadLog(*store_, log, size, 1);
      ASSERT_TRUE(entries.ok() && entries->size() == 1) << entries.status();
      tree.Append(merkle::LeafHash(entries->front()));
    }
    EXPECT_EQ((*latest)->checkpoint.root, tree.Root());
    if (log != kRegistryLog) {
      EXPECT_EQ(reader.size(), store_->Get(log)->size());
    }
  }

 private:
  std::unique_ptr<LedgerStore>& store_;
  Clock* const clock_;
  TempFolder folder_;
  uint64_t round_ = 0;
};

// The receipt's root comes from tiles, where what is signed ends behind the batch or before it.
TEST_P(LedgerStoreConformance, RetryWithoutItsAnswerGetsItsRootFromTiles) {
  CreateLedger(kLedger);
  Signing signing(store_, &clock_);
  std::vector<v1::AppendBatchRequest> requests;
  std::vector<v1::Receipt> receipts;
  for (uint64_t i = 0; i < 300; ++i) {
    requests.push_back(RoundBatch(kLedger, "w", absl::StrCat("r", i), i + 1));
    requests.back().set_writer_position(2 * i);
    receipts.push_back(*store_->Append(requests.back()));
    if (i == 1 || i == 200) signing.SignAll(*signing.OpenNotary("holder"));
  }
  for (const size_t i :
       {size_t{0}, size_t{1}, size_t{127}, size_t{200}, size_t{201}, size_t{299}}) {
    ForgetAnswer(requests[i].request_id());
    const auto again = store_->Append(requests[i]);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->SerializeAsString(), receipts[i].SerializeAsString()) << i;
  }
  EXPECT_EQ(store_->Get(kLedger)->size(), 601u);
}

TEST_P(LedgerStoreConformance, NotarySignsTheTreeOverTheEntriesAcrossRestarts) {
  CreateLedger(kLedger);
  Signing signing(store_, &clock_);
  auto notary = signing.OpenNotary("a");
  signing.SignAll(*notary);
  for (const uint64_t rounds : {1, 3, 130, 7}) {
    signing.Append(kLedger, rounds);
    signing.SignAll(*notary);
    signing.ExpectSigned(*notary, kLedger);
    notary.reset();
    Reopen();
    notary = signing.OpenNotary("a");
    signing.SignAll(*notary);
  }
  signing.ExpectSigned(*notary, kLedger);
  signing.ExpectSigned(*notary, kRegistryLog);
}

TEST_P(LedgerStoreConformance, TwoNotariesSideBySideTellTheSame) {
  CreateLedger(kLedger);
  Signing signing(store_, &clock_);
  const auto a = signing.OpenNotary("a");
  signing.SignAll(*a);
  const auto b = signing.OpenNotary("b");
  for (int i = 0; i < 5; ++i) {
    signing.Append(kLedger, 2);
    // The engine may let only one of them sign; each sees what either has signed.
    for (Notary* notary : {i % 2 == 0 ? b.get() : a.get(), i % 2 == 0 ? a.get() : b.get()}) {
      signing.SignAll(*notary);
    }
    signing.SignAll(*a);
    signing.SignAll(*b);
    EXPECT_EQ((*a->Latest(kLedger))->note, (*b->Latest(kLedger))->note);
    EXPECT_EQ(a->registry()->checkpoint.note, b->registry()->checkpoint.note);
  }
  signing.ExpectSigned(*a, kLedger);
  signing.ExpectSigned(*b, kRegistryLog);
}

}  // namespace
}  // namespace dpledger
