#include "cli/answer_parts.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/hex.h"
#include "cli/number_text.h"
#include "cli/shown_text.h"

namespace dpledger::cli {
namespace {

// A mixture filter's delta is never 0.
bool HasOdometer(const v1::FilterSpending& spending) { return spending.delta() > 0; }

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
  std::string text = Row("ledger", absl::StrCat(ledger.name(), " at size ", ledger.size()));
  text += Row("  root", HexEncode(ledger.root_hash()));
  text += Row("  data set", ledger.dataset());
  text += Row("  unit of privacy", ledger.unit_of_privacy());
  text += Row("  state", v1::LedgerState_Name(ledger.state()));
  text += Row("  rounds", RoundsText(ledger));
  if (ledger.has_fork()) {
    text += Row("  fork of",
                absl::StrCat(ledger.fork().parent(), " at size ", ledger.fork().parent_size()));
    text += Row("    root", HexEncode(ledger.fork().parent_root()));
    if (!ledger.fork().reason().empty()) text += Row("    reason", ledger.fork().reason());
  }
  if (ledger.has_import()) {
    text += Row("  copy of",
                absl::StrCat(ledger.import().origin(), " at size ", ledger.import().size()));
    text += Row("    root", HexEncode(ledger.import().root_hash()));
  }
  for (const v1::CorrectionNote& correction : ledger.corrections()) {
    text += Row("  correction", absl::StrCat("entry ", correction.sequence(), " of entry ",
                                             correction.corrected_sequence(),
                                             ", changes no number: ", correction.text()));
  }
  return text;
}

}  // namespace

std::string Row(const std::string& label, const std::string& value) {
  return absl::StrFormat("%-18s %s\n", label, Shown(value));
}

std::string BoundRow(const std::string& label, const v1::Interval& interval) {
  return Row(label,
             absl::StrCat(TextUp(interval.upper()), "   true value in ", IntervalText(interval)));
}

std::string BoundRow(const std::string& label, const v1::Interval& interval,
                     const v1::AnswerDetails& details) {
  if (details.regime() != v1::ODOMETER) return BoundRow(label, interval);
  return Row(label, absl::StrCat(TextUp(interval.upper()), "   ", kOdometerText));
}

bool MayBeShort(const v1::AnswerDetails& details) {
  return std::any_of(details.ledgers().begin(), details.ledgers().end(),
                     [](const v1::LedgerReference& ledger) { return ledger.missing_size() > 0; });
}

std::string MissingText(const v1::AnswerDetails& details) {
  std::string text;
  for (const v1::LedgerReference& ledger : details.ledgers()) {
    for (const v1::MissingReleases& missing : ledger.missing()) {
      const std::string opened = missing.incarnation() == 0
                                     ? ""
                                     : absl::StrCat(", opened by entry ", missing.incarnation());
      text += Row("MAY BE SHORT", absl::StrCat(ledger.name(), ", writer ", missing.writer(), opened,
                                               ": ", missing.reason()));
    }
    const uint64_t named = static_cast<uint64_t>(ledger.missing_size());
    if (ledger.missing_count() > named) {
      text += Row("MAY BE SHORT",
                  absl::StrCat(ledger.name(), ": and ", ledger.missing_count() - named, " more"));
    }
  }
  return text;
}

std::string DetailsText(const v1::AnswerDetails& details) {
  std::string text = Row("method", details.method());
  text += Row("adjacency", v1::Adjacency_Name(details.adjacency()));
  text += Row("parameters", v1::Parameters_Name(details.parameters()));
  if (details.regime() != v1::REGIME_UNSPECIFIED) {
    text += Row("regime", v1::Regime_Name(details.regime()));
  }
  if (!details.guarantee().empty()) text += Row("guarantee", details.guarantee());
  if (details.declaration_source() != v1::DECLARATION_SOURCE_UNSPECIFIED) {
    text += Row("declaration", SourceText(details.declaration_source()));
  }
  if (details.group_size() > 1) {
    text += Row("group size", absl::StrCat(details.group_size(), " records"));
  }
  if (details.schemes_size() > 0) text += Row("schemes", absl::StrJoin(details.schemes(), ", "));
  text += Row("entries", absl::StrCat(details.entries()));
  for (const v1::LedgerReference& ledger : details.ledgers()) text += LedgerText(ledger);
  for (const v1::FilterSpending& spending : details.filter_spending()) {
    text +=
        Row("filter", absl::StrCat(spending.filter(), ", bound ", TextNear(spending.bound()),
                                   ": spent ", TextUp(spending.spent()), " by ", spending.ledger(),
                                   spending.budget().empty()
                                       ? ""
                                       : absl::StrCat(" of ", TextUp(spending.granted()),
                                                      ", granted by ", spending.budget()),
                                   spending.crossed() ? ": OVERSPENT" : ""));
    if (HasOdometer(spending)) {
      text +=
          Row("odometer", absl::StrCat(TextUp(spending.odometer()), " but for a probability of ",
                                       spending.delta(), ": the loss of the run that happened"));
    }
  }
  for (const std::string& assumption : details.assumptions()) text += Row("assumes", assumption);
  for (const std::string& warning : details.warnings()) text += Row("warning", warning);
  return text + Row("version", details.version());
}

}  // namespace dpledger::cli
