#include "client/internal/refusals.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace dpledger::client::internal {

bool IsRefusal(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kDataLoss:
      return true;
    default:
      return false;
  }
}

// This writer sends its rounds in order, once, and knows what it has sent: when the server counts
// otherwise, somebody else has written under its name since it was opened.
absl::Status Explain(const absl::Status& refusal, const std::string& ledger,
                     const std::string& spool) {
  const ErrorReason reason = ReasonOf(refusal);
  for (const char* other : {"ROUND_GOES_BACK", "ROUND_ALREADY_OPEN", "WRITER_COUNT_MISMATCH",
                            "WRITER_CLOSED", "FENCED_OFF", "LEDGER_SEALED"}) {
    if (reason.reason != other) continue;
    const char* who = reason.reason == "LEDGER_SEALED"
                          ? "writer: its ledger was sealed before all was delivered: "
                          : "writer: another recorder, with another spool or a copy of this one, "
                            "has written under this name: ";
    return WithReason(
        absl::Status(refusal.code(),
                     absl::StrCat(who, refusal.message(), "; what was released and is not in ",
                                  ledger, " comes in by `dpledger spool import`, from ", spool)),
        reason);
  }
  return refusal;
}

bool CanBeTakenBack(const absl::Status& refusal) {
  const std::string reason = ReasonOf(refusal).reason;
  return reason == "FILTER_CROSSED" || reason == kBudgetExceeded ||
         reason == "FILTER_CANNOT_COUNT" || reason == "REQUEST_ID_REUSED";
}

void PutNotes(v1::AppendBatchRequest& batch) {
  for (v1::NewEntry& entry : *batch.mutable_entries()) {
    if (!entry.has_event()) continue;
    entry.mutable_note()->set_text(
        "an event that the ledger's filter does not allow: it was refused before anything of it "
        "was released");
  }
}

}  // namespace dpledger::client::internal
