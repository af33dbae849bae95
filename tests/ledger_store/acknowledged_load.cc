#include "tests/ledger_store/acknowledged_load.h"

#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "merkle/compact_tree.h"
#include "tests/ledger_store/requests.h"

namespace dpledger {

AcknowledgedLoad::AcknowledgedLoad(std::vector<LedgerStore*> stores, std::string ledger,
                                   int writers)
    : stores_(std::move(stores)), ledger_(std::move(ledger)) {
  for (int w = 0; w < writers; ++w) threads_.emplace_back([this, w] { Write(w); });
}

void AcknowledgedLoad::Stop(absl::Duration patience) {
  patience_until_ = absl::ToUnixNanos(absl::Now() + patience);
  stopping_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void AcknowledgedLoad::Await(size_t count) const {
  while (count_ < count) absl::SleepFor(absl::Milliseconds(1));
}

Acknowledged AcknowledgedLoad::acknowledged() const {
  absl::MutexLock lock(&mutex_);
  return acknowledged_;
}

std::vector<std::string> AcknowledgedLoad::surprises() const {
  absl::MutexLock lock(&mutex_);
  return surprises_;
}

void AcknowledgedLoad::Write(int writer) {
  const std::string name = absl::StrCat("w", writer);
  auto next_store = static_cast<size_t>(writer);
  for (uint64_t round = 1; !stopping_; ++round) {
    const std::string id = absl::StrCat(name, "-", round);
    const v1::AppendBatchRequest request = RoundBatch(ledger_, name, id, round);
    absl::StatusOr<v1::Receipt> receipt;
    do {
      receipt = stores_[next_store++ % stores_.size()]->Append(request);
      if (!absl::IsUnavailable(receipt.status())) break;
      absl::SleepFor(absl::Milliseconds(5));
    } while (!stopping_ || absl::ToUnixNanos(absl::Now()) < patience_until_);
    absl::MutexLock lock(&mutex_);
    if (receipt.ok()) {
      acknowledged_[id] = *receipt;
      ++count_;
    } else {
      if (!absl::IsUnavailable(receipt.status())) surprises_.push_back(receipt.status().ToString());
      return;  // whether it is stored is open, and what follows it would not be in order
    }
  }
}

std::vector<std::string> ReadAll(LedgerStore& store, const std::string& ledger) {
  std::vector<std::string> entries;
  while (true) {
    const auto page = store.Read(ledger, entries.size(), 10'000, 1 << 22);
    EXPECT_TRUE(page.ok()) << page.status();
    if (!page.ok() || page->empty()) return entries;
    entries.insert(entries.end(), page->begin(), page->end());
  }
}

std::vector<std::string> WrongWith(const std::vector<std::string>& entries, const std::string& root,
                                   const Acknowledged& acknowledged) {
  std::vector<std::string> wrong;
  merkle::CompactTree tree;
  std::map<std::string, std::vector<uint64_t>> places;
  std::map<std::string, uint64_t> counters;
  for (const std::string& bytes : entries) {
    v1::LedgerEntry entry;
    if (!entry.ParseFromString(bytes) || entry.sequence() != tree.size()) {
      wrong.push_back(absl::StrCat("entry ", tree.size(), " is another one"));
    }
    if (entry.writer_counter() != counters[entry.writer()]++) {
      wrong.push_back(absl::StrCat("entry ", tree.size(), " is not its writer's next"));
    }
    places[entry.request_id()].push_back(tree.size());
    tree.Append(merkle::LeafHash(bytes));
  }
  if (merkle::ToBytes(tree.Root()) != root) wrong.emplace_back("the root is not the entries'");
  for (const auto& [id, sequences] : places) {
    const size_t expected = id == "create" ? 1 : 2;
    if (sequences.size() != expected || sequences.back() - sequences.front() != expected - 1) {
      wrong.push_back(absl::StrCat(id, " has ", sequences.size(), " entries, or in pieces"));
    }
  }
  for (const auto& [id, receipt] : acknowledged) {
    const auto place = places.find(id);
    if (place == places.end() || place->second.front() != receipt.first_sequence()) {
      wrong.push_back(absl::StrCat(id, " was acknowledged and is not there"));
    }
  }
  return wrong;
}

}  // namespace dpledger
