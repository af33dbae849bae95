#include "cli/answer_parts.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/hex.h"
#include "cli/number_text.h"
#include "cli/shown_text.h"

namespace dpledger::cli {
namespace {

const char* SourceText(v1::DeclarationSource source) {
  switch (source) {
    case v1::DECLARED:
      return "declared by the ledger";
    case v1::ASSUMED:
      return "assumed where the question states nothing";
    case v1::STATED:
      return "stated in the question";
    default:
      return "";
  }
}

std::string RoundsText(const v1::LedgerReference& ledger) {
  if (ledger.planned_rounds() == 0) return absl::StrCat(ledger.rounds(), ", no plan is stated");
  return absl::StrCat(ledger.rounds(), " of ", ledger.planned_rounds(), " planned");
}

std::string LedgerText(const v1::LedgerReference& ledger) {
  std::string text = Row("ledger", ledger.name(), " at size ", ledger.size());
  text += Row("  root", HexEncode(ledger.root_hash()));
  text += Row("  data set", ledger.dataset());
  text += Row("  unit of privacy", ledger.unit_of_privacy());
  text += Row("  state", v1::LedgerState_Name(ledger.state()));
  text += Row("  rounds", RoundsText(ledger));
  if (ledger.has_fork()) text += OriginText(ledger.fork(), "  ");
  if (ledger.has_import()) text += OriginText(ledger.import(), "  ");
  for (const v1::CorrectionNote& correction : ledger.corrections()) {
    text += Row("  correction", "entry ", correction.sequence(), " of entry ",
                correction.corrected_sequence(), ", changes no number: ", correction.text());
  }
  return text;
}

// A row for each sentence, and for each condition.
std::string GuaranteeText(const std::string& guarantee) {
  std::string text;
  for (size_t begin = 0; begin < guarantee.size();) {
    const size_t end = std::min(guarantee.find(". ", begin), guarantee.find("; ", begin));
    const size_t length = end == std::string::npos ? end : end + 1 - begin;
    text += Row("guarantee", guarantee.substr(begin, length));
    begin = end == std::string::npos ? end : end + 2;
  }
  return text;
}

}  // namespace

std::string LabelledLine(const std::string& label, const std::string& value) {
  return value.empty() ? "" : absl::StrFormat("%-18s %s\n", label, Shown(value));
}

std::string BoundRow(const std::string& label, const v1::Interval& interval) {
  return Row(label, TextUp(interval.upper()), "   true value in ", IntervalText(interval));
}

std::string BoundRow(const std::string& label, const v1::Interval& interval,
                     const v1::AnswerDetails& details) {
  if (details.regime() == v1::AS_PLANNED) {
    return Row(label, TextUp(interval.upper()), "   no guarantee: as if it had been one plan");
  }
  if (details.regime() != v1::ODOMETER) return BoundRow(label, interval);
  return Row(label, TextUp(interval.upper()), "   ", kOdometerText);
}

std::string OriginText(const v1::Fork& fork, const std::string& indent) {
  return Row(indent + "fork of", fork.parent(), " at size ", fork.parent_size()) +
         Row(indent + "  root", HexEncode(fork.parent_root())) +
         Row(indent + "  reason", fork.reason());
}

std::string OriginText(const v1::Import& import, const std::string& indent) {
  return Row(indent + "copy of", import.origin(), " at size ", import.size()) +
         Row(indent + "  root", HexEncode(import.root_hash()));
}

bool MayBeShort(const v1::AnswerDetails& details) {
  return std::any_of(details.ledgers().begin(), details.ledgers().end(),
                     [](const v1::LedgerReference& ledger) { return ledger.missing_size() > 0; });
}

std::string MissingText(const v1::AnswerDetails& details) {
  constexpr char kLabel[] = "MAY BE SHORT";
  std::string text;
  for (const v1::LedgerReference& ledger : details.ledgers()) {
    for (const v1::MissingReleases& missing : ledger.missing()) {
      const std::string opened = missing.incarnation() == 0
                                     ? ""
                                     : absl::StrCat(", opened by entry ", missing.incarnation());
      text +=
          Row(kLabel, ledger.name(), ", writer ", missing.writer(), opened, ": ", missing.reason());
    }
    const uint64_t named = static_cast<uint64_t>(ledger.missing_size());
    if (ledger.missing_count() > named)
      text += Row(kLabel, ledger.name(), ": and ", ledger.missing_count() - named, " more");
  }
  return text;
}

std::string DetailsText(const v1::AnswerDetails& details) {
  std::string text = Row("method", details.method());
  text += Row("adjacency", v1::Adjacency_Name(details.adjacency()));
  text += Row("parameters", v1::Parameters_Name(details.parameters()));
  if (details.regime() != v1::REGIME_UNSPECIFIED)
    text += Row("regime", v1::Regime_Name(details.regime()));
  text += GuaranteeText(details.guarantee());
  text += Row("declaration", SourceText(details.declaration_source()));
  if (details.group_size() > 1) text += Row("group size", details.group_size(), " records");
  text += Row("schemes", absl::StrJoin(details.schemes(), ", "));
  text += Row("entries", details.entries());
  if (details.population() > 0) text += Row("population", details.population(), ", as they state");
  for (const v1::LedgerReference& ledger : details.ledgers()) text += LedgerText(ledger);
  for (const v1::FilterSpending& spending : details.filter_spending()) {
    const std::string granted =
        spending.budget().empty()
            ? ""
            : absl::StrCat(" of ", TextUp(spending.granted()), ", granted by ", spending.budget());
    text += Row("filter", spending.filter(), ", bound ", TextNear(spending.bound()), ": spent ",
                TextUp(spending.spent()), " by ", spending.ledger(), granted,
                spending.crossed() ? ": OVERSPENT" : "");
    // A mixture filter's delta is never 0.
    if (spending.delta() > 0) {
      text += Row("odometer", TextUp(spending.odometer()), " but for a probability of ",
                  spending.delta(), ": the loss of the run that happened");
    }
  }
  for (const std::string& assumption : details.assumptions()) text += Row("assumes", assumption);
  for (const std::string& warning : details.warnings()) text += Row("warning", warning);
  return text + Row("version", details.version());
}

std::string Counted(uint64_t count, const std::string& one, const std::string& many) {
  return absl::StrCat(count, " ", count == 1 ? one : many);
}

std::string TimeText(int64_t unix_seconds) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixSeconds(unix_seconds),
                          absl::UTCTimeZone());
}

std::string TimeText(const google::protobuf::Timestamp& time) { return TimeText(time.seconds()); }

}  // namespace dpledger::cli
