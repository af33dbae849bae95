#include "server/summaries/summarise.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "google/protobuf/util/time_util.h"
#include "questions/answers.h"
#include "questions/held_run.h"

namespace dpledger::server {
namespace {

// What the answer does not say: conflicts among entries [counted, size), the last one's time, and
// where there is no answer corrections.
absl::Status CountEntries(LedgerReader& store, uint64_t counted, v1::LedgerSummary& summary) {
  uint64_t next = std::min(counted, summary.size() - 1);
  v1::LedgerEntry entry;
  RETURN_IF_ERROR(store.ForEachEntry(
      summary.ledger(), next, summary.size(), [&](const std::string& bytes) -> absl::Status {
        if (!entry.ParseFromString(bytes)) {
          return absl::DataLossError(
              absl::StrCat(summary.ledger(), ": entry ", next, " does not parse"));
        }
        if (next++ < counted) return absl::OkStatus();
        if (entry.has_conflict()) summary.set_conflicts(summary.conflicts() + 1);
        if (entry.has_correction() && summary.has_refusal())
          summary.set_corrections(summary.corrections() + 1);
        return absl::OkStatus();
      }));
  *summary.mutable_last_entry_time() = entry.recorded_time();
  return absl::OkStatus();
}

// What the refusal says was spent of a filter, or a grant, that was crossed. What cannot be counted
// is no less than all.
void SetCrossed(const v1::Ledger& ledger, const absl::Status& status, v1::LedgerSummary& summary) {
  const ErrorReason reason = ReasonOf(status);
  const auto number = [&](const char* key) {
    double value = 0;
    const auto found = reason.metadata.find(key);
    return found != reason.metadata.end() && absl::SimpleAtod(found->second, &value) ? value : 0;
  };
  const bool of_grant = reason.reason == questions::kBudgetExceeded;
  v1::FilterSpending spending;
  spending.set_ledger(ledger.name());
  spending.set_budget(ledger.declaration().budget());
  spending.set_crossed(true);
  if (of_grant || reason.reason == questions::kFilterCrossed) {
    if (const auto of = reason.metadata.find("ledger");
        of == reason.metadata.end() || of->second != ledger.name()) {
      return;  // an ancestor's
    }
    spending.set_spent(number("spent"));
    if (!of_grant) spending.set_bound(number("bound"));
    spending.set_granted(number(of_grant ? "bound" : "granted"));
  } else if (!spending.budget().empty() &&
             (reason.reason == questions::kCannotCount || reason.reason == "NO_ANALYSIS")) {
    spending.set_spent(std::numeric_limits<double>::infinity());
  } else {
    return;
  }
  *summary.mutable_spending() = std::move(spending);
}

v1::Refusal Worded(const absl::Status& status) {
  v1::Refusal refusal;
  const std::string reason = ReasonOf(status).reason;
  refusal.set_reason(reason.empty() ? absl::StatusCodeToString(status.code()) : reason);
  refusal.set_message(std::string(status.message()));
  return refusal;
}

}  // namespace

v1::ComputeEpsilonRequest SummaryQuestion(const std::string& ledger, double delta) {
  v1::ComputeEpsilonRequest request;
  request.mutable_subject()->add_ledgers(ledger);
  request.set_delta(delta);
  return request;
}

bool IsSummaryQuestion(const v1::ComputeEpsilonRequest& request, double delta) {
  if (request.subject().ledgers_size() != 1) return false;
  v1::ComputeEpsilonRequest plain = request;
  plain.clear_options();
  if (request.options().method() == v1::BEST) {
    v1::AccountingOptions options = request.options();
    options.clear_method();
    if (options.ByteSizeLong() != 0) return false;
  } else if (request.options().ByteSizeLong() != 0) {
    return false;
  }
  return plain.SerializeAsString() ==
         SummaryQuestion(request.subject().ledgers(0), delta).SerializeAsString();
}

v1::LedgerSummary SummaryOf(const v1::Ledger& ledger, double delta,
                            const absl::StatusOr<v1::ComputeEpsilonResponse>& answer,
                            absl::Time now) {
  v1::LedgerSummary summary;
  summary.set_ledger(ledger.name());
  summary.set_size(ledger.size());
  summary.set_root_hash(ledger.root_hash());
  summary.set_delta(delta);
  summary.set_version(questions::Version());
  *summary.mutable_compute_time() =
      google::protobuf::util::TimeUtil::NanosecondsToTimestamp(absl::ToUnixNanos(now));
  if (!answer.ok()) {
    *summary.mutable_refusal() = Worded(answer.status());
    SetCrossed(ledger, answer.status(), summary);
    return summary;
  }
  const v1::AnswerDetails& details = answer->details();
  *summary.mutable_epsilon() = answer->epsilon();
  summary.set_method(details.method());
  summary.set_version(details.version());
  summary.set_population(details.population());
  summary.set_warnings(static_cast<uint64_t>(details.warnings_size()));
  for (const v1::LedgerReference& reference : details.ledgers()) {
    if (reference.name() != ledger.name()) continue;
    summary.set_size(reference.size());
    summary.set_root_hash(reference.root_hash());
    summary.set_rounds(reference.rounds());
    summary.set_corrections(static_cast<uint64_t>(reference.corrections_size()));
  }
  for (const v1::FilterSpending& spending : details.filter_spending()) {
    if (spending.ledger() == ledger.name()) *summary.mutable_spending() = spending;
  }
  return summary;
}

std::optional<v1::Refusal> RefusalOf(const absl::Status& status) {
  if (absl::IsUnavailable(status) || absl::IsCancelled(status) || absl::IsAborted(status) ||
      absl::IsNotFound(status)) {
    return std::nullopt;
  }
  const std::string reason = ReasonOf(status).reason;
  if (reason == "OUT_OF_MEMORY" || reason == "QUESTION_TOO_LARGE") return std::nullopt;
  return Worded(status);
}

absl::StatusOr<v1::LedgerSummary> Summarise(
    LedgerReader& store, const v1::Ledger& ledger, double delta,
    const absl::StatusOr<v1::ComputeEpsilonResponse>& answer, const v1::LedgerSummary* before,
    absl::Time now) {
  if (!answer.ok() && !RefusalOf(answer.status()).has_value()) return answer.status();
  v1::LedgerSummary summary = SummaryOf(ledger, delta, answer, now);
  uint64_t counted = 0;
  if (before != nullptr && before->size() <= summary.size()) {
    counted = before->size();
    summary.set_conflicts(before->conflicts());
    if (!answer.ok()) summary.set_corrections(before->corrections());
  }
  RETURN_IF_ERROR(CountEntries(store, counted, summary));
  return summary;
}

}  // namespace dpledger::server
