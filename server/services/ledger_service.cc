#include "server/services/ledger_service.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "events/declaration_rules.h"
#include "events/event_values.h"
#include "events/field_checks.h"
#include "events/names.h"
#include "events/unknown_fields.h"
#include "ledger/request_rules.h"
#include "ledger_store/evidence/log_reader.h"
#include "merkle/checkpoint.h"
#include "questions/answers.h"
#include "server/services/grants.h"

namespace dpledger::server {
namespace {

using events::CheckNoUnknownFields;
using events::Element;
using events::Within;

// An answer ends at about this size, well below the 4 MiB that gRPC clients take by default.
constexpr size_t kMaxAnswerBytes = size_t{1} << 20;
// A ledger is sealed without waiting longer for what it gives back of its budget.
constexpr absl::Duration kLongestGivingBack = absl::Seconds(5);

absl::Status CheckEvents(const v1::AppendBatchRequest& request) {
  for (int i = 0; i < request.entries_size(); ++i) {
    const v1::NewEntry& entry = request.entries(i);
    const bool late = entry.has_late_event();
    if (!late && !entry.has_event()) continue;
    // A path is made for an error only.
    const absl::Status checked =
        events::CheckEvent(late ? entry.late_event().event() : entry.event());
    if (!checked.ok()) {
      return Within(Element("entries", i) + (late ? ".late_event.event" : ".event"), checked);
    }
  }
  return absl::OkStatus();
}

accountant::Limits LimitsOf(const CallContext& call) {
  accountant::Limits limits;
  limits.deadline = call.deadline;
  limits.cancelled = call.cancelled;
  return limits;
}

absl::StatusOr<size_t> PageSize(uint32_t asked, size_t by_default, size_t greatest) {
  if (asked > greatest) {
    return FieldError("page_size", absl::StrCat("must be at most ", greatest, ", got ", asked));
  }
  return asked == 0 ? by_default : asked;
}

// What a bundle's verifier and fsck ask of a copy's entry 0: else it could never be verified.
absl::Status CheckStated(const v1::Import& import) {
  if (merkle::StatesTree(import.checkpoint(), import.origin(), import.size(), import.root_hash())) {
    return absl::OkStatus();
  }
  return FieldError("import.checkpoint",
                    "must be a signed note of the import's origin, size and root");
}

}  // namespace

absl::StatusOr<v1::Ledger> LedgerService::CreateLedger(const v1::CreateLedgerRequest& request,
                                                       const CallContext& call) {
  if (request.has_declaration()) {
    RETURN_IF_ERROR(Within("declaration", events::CheckDeclaration(request.declaration())));
  }
  if (request.import().has_declaration()) {
    RETURN_IF_ERROR(
        Within("import.declaration", events::CheckDeclaration(request.import().declaration())));
  }
  RETURN_IF_ERROR(CheckRequest(request));
  if (request.has_import()) RETURN_IF_ERROR(CheckStated(request.import()));
  if (parts_.check_name && request.has_declaration() && !request.new_dataset()) {
    RETURN_IF_ERROR(parts_.check_name(request.declaration().dataset(), call));
  }
  return store_->Create(request, call.NameInEntries());
}

absl::StatusOr<v1::Ledger> LedgerService::GetLedger(const v1::GetLedgerRequest& request) {
  RETURN_IF_ERROR(CheckNoUnknownFields(request));
  if (!request.first_writer().empty() && !events::IsToken(request.first_writer())) {
    return FieldError("first_writer", "must be empty or 1 to 64 bytes of [A-Za-z0-9._-]");
  }
  return store_->Get(request.name(), {request.first_writer(), kMostDescribedWriters});
}

absl::StatusOr<v1::ReadEntriesResponse> LedgerService::ReadEntries(
    const v1::ReadEntriesRequest& request) {
  RETURN_IF_ERROR(CheckNoUnknownFields(request));
  ASSIGN_OR_RETURN(const size_t page_size, PageSize(request.page_size(), 1000, 10'000));
  RETURN_IF_ERROR(events::CheckLedgerName("ledger", request.ledger()));
  ASSIGN_OR_RETURN(const v1::Ledger ledger, store_->Get(request.ledger(), kNoWriters));
  ASSIGN_OR_RETURN(std::vector<std::string> entries,
                   ReadSigned(*store_, *logs_, request.ledger(),
                              {request.first_sequence(), page_size, kMaxAnswerBytes}));
  v1::ReadEntriesResponse response;
  const uint64_t next = request.first_sequence() + entries.size();
  if (next < ledger.size()) response.set_next_sequence(next);
  for (std::string& entry : entries) *response.add_entries() = std::move(entry);
  return response;
}

absl::StatusOr<v1::Ledger> LedgerService::SealLedger(const v1::SealLedgerRequest& request,
                                                     const CallContext& call) {
  absl::StatusOr<v1::Ledger> sealed = store_->Seal(request, call.NameInEntries());
  // Nothing more is to come: whoever takes the ledger away need not wait for the next round.
  if (sealed.ok() && parts_.sealed) parts_.sealed(request.name());
  if (sealed.ok() && !sealed->declaration().budget().empty() && parts_.subjects != nullptr) {
    accountant::Limits limits = LimitsOf(call);
    limits.deadline = std::min(limits.deadline, absl::Now() + kLongestGivingBack);
    Grants(store_, parts_.subjects)
        .GiveBack(request, sealed->declaration().budget(), call.NameInEntries(), limits);
  }
  return sealed;
}

absl::StatusOr<v1::Ledger> LedgerService::ForkLedger(const v1::ForkLedgerRequest& request,
                                                     const CallContext& call) {
  RETURN_IF_ERROR(CheckRequest(request));
  if (request.has_declaration()) {
    RETURN_IF_ERROR(Within("declaration", events::CheckDeclaration(request.declaration())));
  }
  ASSIGN_OR_RETURN(const LedgerPoint point, ForkPoint(request, call));
  return store_->Fork(request, point, call.NameInEntries());
}

absl::Status LedgerService::CheckNoneOverspent(const v1::GrantBudgetRequest& request) const {
  const bool gives_back = request.change() == v1::GRANT_WHAT_IS_SPENT || request.plan().empty();
  if (gives_back || !parts_.overspent) return absl::OkStatus();
  const std::vector<v1::FilterSpending> overspent = parts_.overspent(request.budget());
  const auto is_it = [&](const auto& run) { return run.ledger() == request.ledger(); };
  if (overspent.empty() || std::any_of(overspent.begin(), overspent.end(), is_it)) {
    return absl::OkStatus();
  }
  const absl::Status why = questions::BudgetOverspent(overspent.front());
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(why.message(),
                                                 "; nothing is granted to others until it is "
                                                 "granted what it has spent, while it is open")),
      ReasonOf(why));
}

absl::StatusOr<v1::GrantBudgetResponse> LedgerService::GrantBudget(
    const v1::GrantBudgetRequest& request, const CallContext& call) {
  RETURN_IF_ERROR(CheckRequest(request));
  RETURN_IF_ERROR(CheckNoneOverspent(request));
  v1::GrantBudgetResponse response;
  ASSIGN_OR_RETURN(
      *response.mutable_receipt(),
      Grants(store_, parts_.subjects).Make(request, call.NameInEntries(), LimitsOf(call)));
  return response;
}

absl::StatusOr<LedgerPoint> LedgerService::ForkPoint(const v1::ForkLedgerRequest& request,
                                                     const CallContext& call) {
  const std::string& parent = request.parent();
  ASSIGN_OR_RETURN(const v1::Ledger ledger, store_->Get(parent, kNoWriters));
  LedgerPoint point;
  point.size = request.parent_size() == 0 ? ledger.size() : request.parent_size();
  if (point.size > ledger.size()) {
    return WithReason(
        absl::OutOfRangeError(absl::StrCat("parent_size: must be at most ", ledger.size(),
                                           ", the size of ", parent, ", got ", point.size)),
        {"BEYOND_LEDGER", {{"current_sequence", absl::StrCat(ledger.size())}}});
  }
  if (point.size == ledger.size()) {
    std::memcpy(point.root.data(), ledger.root_hash().data(), point.root.size());
    return point;
  }
  ASSIGN_OR_RETURN(SignedCheckpoint checkpoint, logs_->AwaitSigned(parent, point.size, call));
  LogReader reader(*store_, parent, std::move(checkpoint));
  ASSIGN_OR_RETURN(point.root, reader.RootAt("parent_size", point.size));
  return point;
}

void LedgerService::AppendBatch(v1::AppendBatchRequest request, const std::string& caller,
                                std::shared_ptr<AppendLine> line,
                                LedgerStore::AppendCallback done) {
  absl::Status status = OutOfMemory();
  try {
    status = CheckEvents(request);
  } catch (const std::bad_alloc&) {
    // It is the answer already.
  }
  if (!status.ok()) {
    done(std::move(status));
    return;
  }
  if (request.signed_receipt() && parts_.signer != nullptr) done = Signed(request, std::move(done));
  store_->AppendAsync(std::move(request), caller, std::move(line), std::move(done));
}

LedgerStore::AppendCallback LedgerService::Signed(const v1::AppendBatchRequest& request,
                                                  LedgerStore::AppendCallback done) const {
  const merkle::Hash hash = merkle::Sha256({SerializeDeterministically(request)});
  return
      [signer = parts_.signer, hash, done = std::move(done)](absl::StatusOr<v1::Receipt> receipt) {
        if (receipt.ok()) signer->Sign(hash, *receipt);
        done(std::move(receipt));
      };
}

}  // namespace dpledger::server
