// Every engine under a notary: what it signs is the tree over the entries, across restarts and
// beside another notary.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ledger_store/evidence/log_reader.h"
#include "ledger_store/evidence/notary.h"
#include "ledger_store/evidence/registry.h"
#include "merkle/compact_tree.h"
#include "merkle/tile_tree.h"
#include "tests/ledger_store/conformance_test.h"
#include "tests/ledger_store/temp_folder.h"

namespace dpledger {
namespace {

// Notaries over the test's store, which may be opened again meanwhile.
class Signing {
 public:
  Signing(std::unique_ptr<LedgerStore>& store, Clock* clock) : store_(store), clock_(clock) {}

  std::unique_ptr<Notary> OpenNotary(const std::string& holder, uint64_t read_at_most = 1'000'000) {
    NotaryOptions options;
    options.key = std::make_shared<const merkle::Ed25519PrivateKey>(
        *merkle::Ed25519PrivateKey::FromSeed(std::string(32, 'k')));
    options.checkpoint_file = absl::StrCat(folder_.path(), "/", holder);
    options.holder = holder;
    options.read_at_most = read_at_most;
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

// However many have changed, and however much of each: more than are read at a time.
TEST_P(LedgerStoreConformance, EveryChangedLedgerIsSigned) {
  constexpr uint64_t kLedgers = 300;  // tails are read of 256 together
  const auto name = [](uint64_t i) { return absl::StrCat("projects/p/ledgers/l", i); };
  Signing signing(store_, &clock_);
  const auto notary = signing.OpenNotary("a");
  const auto grow = [&](uint64_t i, uint64_t entries) {
    static int batches = 0;
    v1::AppendBatchRequest batch = Batch(name(i), "w", absl::StrCat("batch-", ++batches));
    for (uint64_t k = 0; k < entries; ++k) AddNote(batch, absl::StrCat("note ", i, " ", k));
    const auto receipt = store_->Append(batch);
    ASSERT_TRUE(receipt.ok()) << receipt.status();
  };
  for (uint64_t i = 0; i < kLedgers; ++i) {
    CreateLedger(name(i));
    if (i % 7 == 0) grow(i, i + 1);  // so that their right edges differ
  }
  signing.SignAll(*notary);
  for (uint64_t i = 0; i < kLedgers; ++i) grow(i, i % 50 == 0 ? 70 : 1 + i % 3);
  signing.SignAll(*notary);
  for (uint64_t i = 0; i < kLedgers; ++i) {
    const auto latest = notary->Latest(name(i));
    ASSERT_TRUE(latest.ok() && latest->has_value()) << latest.status();
    const v1::Ledger ledger = *store_->Get(name(i), kNoWriters);
    EXPECT_EQ((*latest)->checkpoint.size, ledger.size()) << i;
    EXPECT_EQ(merkle::ToBytes((*latest)->checkpoint.root), ledger.root_hash()) << i;
  }
}

// What an engine reads together is what it reads one by one.
TEST_P(LedgerStoreConformance, TailsAreReadTogetherAsAlone) {
  const uint64_t sizes[] = {2, 201, 301, 521};
  const auto name = [](uint64_t size) { return absl::StrCat("projects/p/ledgers/n", size); };
  for (const uint64_t size : sizes) {
    CreateLedger(name(size));
    for (uint64_t done = 1; done < size; done += 100) {
      v1::AppendBatchRequest batch = Batch(name(size), "w", absl::StrCat("batch-", done));
      for (uint64_t i = done; i < std::min(size, done + 100); ++i) {
        AddNote(batch, absl::StrCat("note ", i));
      }
      ASSERT_TRUE(store_->Append(batch).ok());
    }
  }
  Signing signing(store_, &clock_);
  signing.SignAll(*signing.OpenNotary("a"));
  for (const uint64_t part : {0, 1, 2, 4}) {  // quarters that count as signed
    std::vector<TailRange> ranges;
    for (const uint64_t size : sizes) {
      const uint64_t from = size * part / 4;
      ranges.push_back({name(size), from, size, {RegistrationsTile(0), RegistrationsTile(999)}});
      for (const auto& [id, width] : merkle::PartialTilesOf(from))
        ranges.back().tiles.push_back(id);
    }
    const auto together = store_->ReadTails(ranges);
    const auto alone = store_->LedgerStore::ReadTails(ranges);
    ASSERT_TRUE(together.ok() && alone.ok()) << together.status();
    ASSERT_EQ(together->size(), ranges.size());
    for (size_t i = 0; i < ranges.size(); ++i) {
      EXPECT_TRUE((*together)[i].status.ok()) << (*together)[i].status;
      EXPECT_EQ((*together)[i].tiles, (*alone)[i].tiles);
      EXPECT_TRUE((*together)[i].tiles.contains(RegistrationsTile(0)));
      EXPECT_FALSE((*together)[i].tiles.contains(RegistrationsTile(999)));
      EXPECT_EQ((*together)[i].entries, (*alone)[i].entries);
      EXPECT_EQ((*together)[i].entries.size(), ranges[i].size - ranges[i].signed_size);
    }
  }
}

TEST_P(LedgerStoreConformance, NotaryGoesOnFromTheRegistrysEnd) {
  const auto name = [](int i) { return absl::StrCat("projects/p/ledgers/l", i); };
  Signing signing(store_, &clock_);
  signing.SignAll(*signing.OpenNotary("a"));
  for (int i = 0; i < 4; ++i) CreateLedger(name(i));
  for (int round = 0; round < 4; ++round) {
    const auto notary = signing.OpenNotary("a", /*read_at_most=*/round % 2 == 0 ? 0 : 1'000'000);
    EXPECT_EQ(notary->why_read_whole(), "");
    EXPECT_EQ(notary->left_to_check().registry_entries > 0, round % 2 == 0);
    signing.Append(name(round), 5);
    signing.SignAll(*notary);
    signing.ExpectSigned(*notary, name(round));
    signing.ExpectSigned(*notary, kRegistryLog);
    auto all = *store_->checkpoints().LatestOfAll();
    EXPECT_EQ(all.size(), 5u);
    for (auto& [log, of] : all) {
      EXPECT_EQ(of.SerializeAsString(), store_->checkpoints().Latest(log)->SerializeAsString());
    }
  }
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
