#include "tests/fault/observed_notaries.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/fault/auditor.h"
#include "tests/ledger_store/acknowledged_load.h"

namespace dpledger::testing {
namespace {

NotaryOptions Options(int number) {
  NotaryOptions options;
  options.key = std::make_shared<merkle::Ed25519PrivateKey>(
      *merkle::Ed25519PrivateKey::FromSeed(std::string(32, 'k')));
  options.holder = absl::StrCat("server-", number);
  options.lease = absl::Milliseconds(300);
  return options;
}

bool MayBeTriedAgain(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status);
}

std::vector<merkle::Hash> Leaves(const std::vector<std::string>& entries) {
  std::vector<merkle::Hash> leaves;
  for (const std::string& entry : entries) leaves.push_back(HashOfLeaf(entry));
  return leaves;
}

void Compare(const std::string& log, const std::map<uint64_t, merkle::Hash>& checkpoints,
             const std::vector<merkle::Hash>& leaves, std::vector<std::string>& wrong) {
  for (const auto& [size, root] : checkpoints) {
    if (size > leaves.size()) {
      wrong.push_back(
          absl::StrCat(log, " has ", leaves.size(), " entries, and ", size, " were signed"));
    } else if (TreeRoot(leaves, size) != root) {
      wrong.push_back(absl::StrCat(log, ": the signed root of ", size, " entries is another one"));
    }
  }
}

}  // namespace

ObservedNotaries::ObservedNotaries(const std::vector<LedgerStore*>& stores, std::string ledger)
    : ledger_(std::move(ledger)) {
  int number = 0;
  for (LedgerStore* store : stores) {
    threads_.emplace_back([this, store, number] { Sign(*store, number); });
    ++number;
  }
}

void ObservedNotaries::Stop() {
  stopping_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void ObservedNotaries::Note(const SignedCheckpoint& seen,
                            std::map<uint64_t, merkle::Hash>& checkpoints) {
  const auto [place, fresh] = checkpoints.emplace(seen.checkpoint.size, seen.checkpoint.root);
  if (!fresh && place->second != seen.checkpoint.root) {
    surprises_.push_back(absl::StrCat("two roots of ", seen.checkpoint.size, " entries"));
  }
}

void ObservedNotaries::Sign(LedgerStore& store, int number) {
  std::unique_ptr<Notary> notary;
  bool signed_once = false;
  while (!stopping_) {
    absl::Status status;
    if (notary == nullptr) {
      auto opened = Notary::Open(Options(number), store);
      status = opened.status();
      if (opened.ok()) notary = *std::move(opened);
    } else {
      status = notary->Sign().status();
      signed_once = signed_once || status.ok();
    }
    if (signed_once) {
      const auto latest = notary->Latest(ledger_);
      absl::MutexLock lock(&mutex_);
      if (latest.ok() && latest->has_value()) Note(**latest, of_ledger_);
      Note(notary->registry()->checkpoint, of_registry_);
    }
    if (!status.ok()) {
      absl::MutexLock lock(&mutex_);
      if (!MayBeTriedAgain(status)) surprises_.push_back(status.ToString());
    }
    absl::SleepFor(absl::Milliseconds(5));
  }
}

void ObservedNotaries::Await(size_t count) const {
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      if (of_ledger_.size() >= count || !surprises_.empty()) return;
    }
    absl::SleepFor(absl::Milliseconds(2));
  }
}

std::vector<std::string> ObservedNotaries::WrongWith(LedgerStore& store) const {
  std::vector<std::string> registry;
  while (true) {
    const auto page = store.checkpoints().ReadRegistry(registry.size(), 1000);
    if (!page.ok()) return {std::string(page.status().message())};
    if (page->empty()) break;
    registry.insert(registry.end(), page->begin(), page->end());
  }
  const std::vector<merkle::Hash> leaves = Leaves(ReadAll(store, ledger_));
  absl::MutexLock lock(&mutex_);
  std::vector<std::string> wrong = surprises_;
  Compare(ledger_, of_ledger_, leaves, wrong);
  Compare("the registry", of_registry_, Leaves(registry), wrong);
  return wrong;
}

size_t ObservedNotaries::seen() const {
  absl::MutexLock lock(&mutex_);
  return of_ledger_.size() + of_registry_.size();
}

}  // namespace dpledger::testing
