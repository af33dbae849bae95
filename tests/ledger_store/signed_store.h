// A store in a folder of its own with what a notary needs beside it, and the tree as RFC 6962
// defines it, computed from the entries alone.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ledger_store/embedded/embedded_store.h"
#include "ledger_store/evidence/notary.h"
#include "merkle/sha256.h"
#include "tests/ledger_store/requests.h"
#include "tests/ledger_store/temp_folder.h"

namespace dpledger {

inline std::shared_ptr<const merkle::Ed25519PrivateKey> KeyFromByte(char byte) {
  return std::make_shared<merkle::Ed25519PrivateKey>(
      *merkle::Ed25519PrivateKey::FromSeed(std::string(32, byte)));
}

// RFC 6962, section 2.1, word for word: MTH of entries [first, first + count).
inline merkle::Hash TreeHash(const std::vector<std::string>& entries, size_t first, size_t count) {
  if (count == 0) return merkle::Sha256({});
  if (count == 1) return merkle::Sha256({std::string_view("\0", 1), entries[first]});
  size_t k = 1;
  while (2 * k < count) k *= 2;
  const merkle::Hash left = TreeHash(entries, first, k);
  const merkle::Hash right = TreeHash(entries, first + k, count - k);
  const auto view = [](const merkle::Hash& hash) {
    return std::string_view(reinterpret_cast<const char*>(hash.data()), hash.size());
  };
  return merkle::Sha256({std::string_view("\1", 1), view(left), view(right)});
}

class SignedStore : public ::testing::Test {
 protected:
  SignedStore() { OpenStore(); }

  void OpenStore() {
    store_.reset();
    auto store = OpenEmbeddedStore({.folder = StoreFolder(), .clock = &clock_});
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }
  std::string StoreFolder() const { return folder_.path() + "/store"; }
  std::string CheckpointPath() const { return folder_.path() + "/store.checkpoint"; }

  NotaryOptions Options(char key = 'a') {
    NotaryOptions options;
    options.key = KeyFromByte(key);
    options.checkpoint_file = CheckpointPath();
    options.holder = absl::StrCat("notary-", std::string(1, key));
    options.clock = &clock_;
    return options;
  }
  // One that has signed all there is.
  std::unique_ptr<Notary> MustOpen(const NotaryOptions& options, LedgerStore& store) {
    auto notary = Notary::Open(options, store);
    EXPECT_TRUE(notary.ok()) << notary.status();
    if (!notary.ok()) return nullptr;
    MustSign(**notary);
    return *std::move(notary);
  }
  SigningRound MustSign(Notary& notary) {
    SigningRound total;
    while (true) {
      const absl::StatusOr<SigningRound> round = notary.Sign();
      EXPECT_TRUE(round.ok()) << round.status();
      if (!round.ok()) return total;
      total.ledgers += round->ledgers;
      total.entries += round->entries;
      if (!round->more) return total;
    }
  }
  SignedCheckpoint Latest(const Notary& notary, const std::string& log) {
    const auto latest = notary.Latest(log);
    EXPECT_TRUE(latest.ok() && latest->has_value()) << latest.status();
    return latest.ok() && latest->has_value() ? **latest : SignedCheckpoint();
  }

  void Create(const std::string& name) {
    const auto created = store_->Create(CreateRequest(name, "create-" + name.substr(19)));
    ASSERT_TRUE(created.ok()) << created.status();
  }
  // Appends so many notes, in batches of at most 1000.
  void AppendNotes(const std::string& ledger, int count) {
    while (count > 0) {
      v1::AppendBatchRequest batch = Batch(ledger, "w", absl::StrCat("batch-", batches_++));
      for (int i = 0; i < 1000 && count > 0; ++i, --count) {
        AddNote(batch, absl::StrCat("note ", batches_, ".", i));
      }
      const auto receipt = store_->Append(std::move(batch));
      ASSERT_TRUE(receipt.ok()) << receipt.status();
    }
  }
  std::vector<std::string> Entries(const std::string& log) {
    std::vector<std::string> entries;
    while (true) {
      auto page = log.empty() ? store_->checkpoints().ReadRegistry(entries.size(), 1000)
                              : store_->Read(log, entries.size(), 1000, 1 << 20);
      EXPECT_TRUE(page.ok()) << page.status();
      if (!page.ok() || page->empty()) return entries;
      entries.insert(entries.end(), page->begin(), page->end());
    }
  }

  TempFolder folder_;
  TestClock clock_;
  std::unique_ptr<LedgerStore> store_;
  int batches_ = 0;
};

}  // namespace dpledger
