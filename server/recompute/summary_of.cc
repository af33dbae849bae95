#include "server/recompute/summary_of.h"

#include <string>

#include "base/status.h"
#include "ledger/questions.h"

namespace dpledger::server {
namespace {

// A pair of summaries has to go into one note.
constexpr size_t kMaxMessageBytes = 400;

// Names and values in a refusal come from outside, and JSON writes some bytes with six.
std::string Plain(std::string text) {
  if (text.size() > kMaxMessageBytes) text.resize(kMaxMessageBytes);
  for (char& c : text) {
    if (c < ' ' || c > '~' || c == '\\' || c == '<' || c == '>') c = '?';
    if (c == '"') c = '\'';
  }
  return text;
}

}  // namespace

v1::LedgerSummary SummaryOf(const v1::Ledger& ledger, double delta, absl::Time time,
                            const absl::StatusOr<v1::ComputeEpsilonResponse>& answer) {
  v1::LedgerSummary summary;
  summary.set_ledger(ledger.name());
  summary.set_size(ledger.size());
  summary.set_root_hash(ledger.root_hash());
  summary.set_delta(delta);
  summary.set_version(accountant::Version());
  summary.mutable_compute_time()->set_seconds(absl::ToUnixSeconds(time));
  if (!answer.ok()) {
    const std::string reason = ReasonOf(answer.status()).reason;
    summary.mutable_refusal()->set_reason(
        reason.empty() ? absl::StatusCodeToString(answer.status().code()) : reason);
    summary.mutable_refusal()->set_message(Plain(std::string(answer.status().message())));
    return summary;
  }
  *summary.mutable_epsilon() = answer->epsilon();
  summary.set_method(answer->details().method());
  summary.set_warnings(static_cast<uint64_t>(answer->details().warnings_size()));
  if (answer->details().ledgers_size() > 0) {
    const v1::LedgerReference& reference = answer->details().ledgers(0);
    summary.set_size(reference.size());
    summary.set_root_hash(reference.root_hash());
    summary.set_rounds(reference.rounds());
    summary.set_corrections(static_cast<uint64_t>(reference.corrections_size()));
  }
  return summary;
}

}  // namespace dpledger::server
