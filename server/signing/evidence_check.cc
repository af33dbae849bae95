#include "server/signing/evidence_check.h"

#include <sys/resource.h>
#include <unistd.h>

#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "ledger_store/evidence/ledger_rehash.h"

namespace dpledger::server {
namespace {

constexpr int kNiceness = 10;
constexpr size_t kPageLedgers = 1000;
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
      left_(notary->left_to_check().ledgers) {
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

absl::Status EvidenceCheck::Check(const std::string& ledger) {
  try {
    return Look(ledger);
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  }
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

void EvidenceCheck::Run() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness);
  const uint64_t all = left_;
  uint64_t damaged = 0;
  std::string after = notary_.left_to_check().after;
  while (true) {
    const auto page = store_.List("projects/-", after, kPageLedgers, kNoWriters);
    if (!page.ok()) {
      if (!Sleep(kTryAgain)) return;
      continue;
    }
    for (const v1::Ledger& ledger : *page) {
      absl::Status found = Check(ledger.name());
      for (int again = 0; !found.ok() && !absl::IsDataLoss(found) && !absl::IsNotFound(found);
           ++again) {
        if (again == kSayAfter) {
          log_.Write(LogLevel::kWarning, "evidence_check_waits",
                     {{"ledger", ledger.name()}, {"message", std::string(found.message())}});
        }
        if (!Sleep(kTryAgain)) return;
        found = Check(ledger.name());
      }
      if (absl::IsDataLoss(found)) {
        ++damaged;
        damaged_(ledger.name(), found);
      }
      after = ledger.name();
      if (left_ > 0) --left_;
      if (!Sleep(kBetween)) return;
    }
    if (page->size() < kPageLedgers) break;
  }
  left_ = 0;
  log_.Write(LogLevel::kInfo, "evidence_checked",
             {{"ledgers", static_cast<int64_t>(all)}, {"damaged", static_cast<int64_t>(damaged)}});
}

}  // namespace dpledger::server
