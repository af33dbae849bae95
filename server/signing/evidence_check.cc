#include "server/signing/evidence_check.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "ledger_store/evidence/log_reader.h"

namespace dpledger::server {
namespace {

constexpr int kNiceness = 10;
constexpr size_t kPageLedgers = 1000, kPageEntries = 2560;
constexpr absl::Duration kBetween = absl::Milliseconds(1);  // two ledgers: the disk is others'
constexpr int kSayAfter = 6;                                // times
constexpr absl::Duration kTryAgain = absl::Seconds(5);      // where the store is away

}  // namespace

EvidenceCheck::EvidenceCheck(
    LedgerStore* store, const Notary* notary, const Log* log,
    std::function<void(const std::string& ledger, const absl::Status& why)> damaged)
    : store_(*store),
      notary_(*notary),
      log_(*log),
      damaged_(std::move(damaged)),
      left_(notary->left_to_check().ledgers + (notary->left_to_check().registry_entries > 0)) {
  if (left_ > 0) thread_ = std::thread([this] { Run(); });
}

void EvidenceCheck::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

bool EvidenceCheck::Sleep(absl::Duration time) {
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&stopping_), time);
  return !stopping_;
}

absl::Status EvidenceCheck::Look(const std::string& ledger) {
  ASSIGN_OR_RETURN(const std::optional<SignedCheckpoint> last, notary_.Latest(ledger));
  if (!last.has_value()) {
    // It has none yet; or another process has just signed it, and this one takes that over soon.
    const absl::Status stored = store_.checkpoints().Latest(ledger).status();
    return absl::IsNotFound(stored) ? absl::OkStatus()
                                    : absl::UnavailableError("its checkpoint is not known yet");
  }
  const absl::Status found = ResumeSigned(store_.checkpoints(), ledger, *last).status();
  if (!absl::IsDataLoss(found)) return found;
  // It may have been signed between the two looks, which makes its tiles wider.
  ASSIGN_OR_RETURN(const std::optional<SignedCheckpoint> now, notary_.Latest(ledger));
  if (!now.has_value() || now->checkpoint.size == last->checkpoint.size) return found;
  return ResumeSigned(store_.checkpoints(), ledger, *now).status();
}

bool EvidenceCheck::Answered(const std::string& log, const std::function<absl::Status()>& check,
                             absl::Status& found) {
  for (int again = 0;; ++again) {
    try {
      found = check();
    } catch (const std::bad_alloc&) {
      found = OutOfMemory();
    }
    if (found.ok() || absl::IsDataLoss(found) || absl::IsNotFound(found)) return true;
    if (again == kSayAfter) {
      log_.Write(LogLevel::kWarning, "evidence_check_waits",
                 {{"ledger", log}, {"message", std::string(found.message())}});
    }
    if (!Sleep(kTryAgain)) return false;
  }
}

void EvidenceCheck::Run() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness);
  const LeftToCheck& left = notary_.left_to_check();
  if (left.ledgers > 0 && !CheckLedgers()) return;
  if (left.registry_entries > 0 && !CheckRegistry()) return;
  left_ = 0;
  log_.Write(LogLevel::kInfo, "evidence_checked",
             {{"ledgers", static_cast<int64_t>(left.ledgers)},
              {"registry_entries", static_cast<int64_t>(left.registry_entries)},
              {"damaged", damaged_count_}});
}

void EvidenceCheck::Tell(const std::string& log, const absl::Status& found) {
  if (!absl::IsDataLoss(found)) return;
  ++damaged_count_;
  damaged_(log, found);
}

bool EvidenceCheck::CheckLedgers() {
  std::string after = notary_.left_to_check().after;
  while (true) {
    std::vector<v1::Ledger> page;
    absl::Status found;
    const auto list = [&]() -> absl::Status {
      ASSIGN_OR_RETURN(page, store_.List("projects/-", after, kPageLedgers, kNoWriters));
      return absl::OkStatus();
    };
    if (!Answered("", list, found)) return false;
    for (const v1::Ledger& ledger : page) {
      if (!Answered(
              ledger.name(), [&] { return Look(ledger.name()); }, found))
        return false;
      Tell(ledger.name(), found);
      after = ledger.name();
      if (left_ > 0) --left_;
      if (!Sleep(kBetween)) return false;
    }
    if (page.size() < kPageLedgers) return true;
  }
}

absl::Status EvidenceCheck::CheckKeys(uint64_t first, const std::vector<std::string>& entries) {
  const std::shared_ptr<const PublicRegistry> known = notary_.registry();
  for (size_t i = 0; i < entries.size(); ++i) {
    v1::LedgerEntry entry;
    if (!entry.ParseFromString(entries[i]) || !entry.has_key_rotate()) continue;
    const std::string& key = entry.key_rotate().verifier_key();
    if (std::ranges::none_of(known->keys, [&](const auto& one) { return one.ToText() == key; })) {
      return absl::DataLossError(absl::StrCat("the registry: entry ", first + i,
                                              " names a key, and its checkpoint does not say so"));
    }
  }
  return absl::OkStatus();
}

bool EvidenceCheck::CheckRegistry() {
  LogReader reader(store_, kRegistryLog, notary_.registry()->checkpoint);
  for (uint64_t next = 0; next < notary_.left_to_check().registry_entries;) {
    const absl::Time begun = absl::Now();
    std::vector<std::string> entries;
    absl::Status found;
    const auto check = [&]() -> absl::Status {
      ASSIGN_OR_RETURN(entries, ReadLog(store_, kRegistryLog, next, kPageEntries));
      if (entries.empty())
        return absl::DataLossError(absl::StrCat("the registry: entry ", next, " is missing"));
      RETURN_IF_ERROR(reader.Check(next, entries));
      return CheckKeys(next, entries);
    };
    if (!Answered("the registry", check, found)) return false;
    Tell("the registry", found);
    next += kPageEntries;  // also past what is damaged
    // As long as it took: half a processor at most, and the disk is others'.
    if (!Sleep(absl::Now() - begun)) return false;
  }
  return true;
}

}  // namespace dpledger::server
