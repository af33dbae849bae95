#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/hex.h"
#include "cli/answer_output.h"
#include "cli/answer_parts.h"
#include "cli/number_text.h"
#include "cli/shown_text.h"
#include "events/grant_rules.h"
#include "questions/spending.h"

namespace dpledger::cli {
namespace {

std::string WriterText(const v1::WriterStatus& writer) {
  std::string text = absl::StrCat(writer.writer(), ": ", writer.entry_count(), " entries");
  if (writer.has_round()) absl::StrAppend(&text, ", last round ", writer.last_round());
  absl::StrAppend(&text, writer.closed() ? ", closed" : ", open");
  if (writer.late_entries() > 0) {
    absl::StrAppend(&text, ", ", writer.late_entries(), " of them by earlier processes or late");
  }
  if (writer.missing_spools_size() > 0) {
    absl::StrAppend(&text, ", ", writer.more_missing_spools() ? "more than " : "",
                    Counted(static_cast<uint64_t>(writer.missing_spools_size()), "spool", "spools"),
                    " not delivered");
  }
  return writer.owner().empty() ? text : absl::StrCat(text, ", of ", writer.owner());
}

std::string FilterText(const v1::Filter& filter) {
  switch (filter.kind_case()) {
    case v1::Filter::kRdp:
      return absl::StrCat("rdp at order ", filter.rdp().order(), ", epsilon at most ",
                          filter.rdp().epsilon());
    case v1::Filter::kZcdp:
      return absl::StrCat("zcdp, rho at most ", filter.zcdp().rho());
    case v1::Filter::kGdp:
      return absl::StrCat("gdp, mu at most ", filter.gdp().mu());
    case v1::Filter::kMixture:
      return absl::StrCat("mixture of orders ", absl::StrJoin(filter.mixture().orders(), ", "),
                          " at delta ", filter.mixture().delta(), ", epsilon at most ",
                          filter.mixture().epsilon());
    case v1::Filter::KIND_NOT_SET:
      break;
  }
  return "none";
}

// ε, or why there is none: of a LedgerSummary or a DatasetSummary.
template <typename Summary>
std::string CostText(const Summary& summary) {
  if (summary.has_epsilon()) {
    return absl::StrCat("epsilon <= ", TextUp(summary.epsilon().upper()), " at delta ",
                        TextNear(summary.delta()));
  }
  const std::string& reason = summary.refusal().reason();
  return reason.empty() ? "epsilon not computed yet" : absl::StrCat("epsilon refused: ", reason);
}

std::string DeclarationText(const v1::Declaration& declaration, const v1::Ledger& ledger) {
  std::string text = Row("data set", declaration.dataset());
  text += Row("unit of privacy", declaration.unit_of_privacy());
  text += Row("adjacency", v1::Adjacency_Name(declaration.adjacency()));
  text += Row("parameters", v1::Parameters_Name(declaration.parameters()));
  if (declaration.kind() == v1::BUDGET)
    text += Row("kind", "a budget: runs are granted parts of it");
  if (!declaration.budget().empty()) {
    text += Row("budget", declaration.budget(),
                ledger.has_import() ? ", on the original's server" : "");
  }
  text += Row("blocks", declaration.block_assignment());
  text += Row("blocks", events::BlocksText(declaration.blocks()));
  if (declaration.has_filter()) {
    const bool keeps = declaration.spool_policy() != v1::SPOOL && !ledger.has_import();
    text += Row("filter", FilterText(declaration.filter()),
                !keeps                         ? ""
                : declaration.budget().empty() ? "; the server refuses what would cross it"
                                               : "; of all runs under the budget");
  }
  if (declaration.planned_rounds() > 0) text += Row("planned rounds", declaration.planned_rounds());
  if (declaration.parameters() == v1::FIXED) {
    text += Row("plan independent",
                declaration.plan_independent()
                    ? "yes: the plan did not depend on other ledgers' outputs"
                    : "not said: with other ledgers it has an odometer, no common epsilon");
  }
  return text + Row("released", declaration.released()) +
         Row("description", declaration.description());
}

}  // namespace

std::string ToText(const v1::Ledger& ledger) {
  std::string text = Row("ledger", ledger.name());
  text += Row("state", v1::LedgerState_Name(ledger.state()));
  text += Row("size", ledger.size());
  text += Row("root", HexEncode(ledger.root_hash()));
  text += Row("created", TimeText(ledger.create_time()));
  text += Row("created by", ledger.creator());
  text += DeclarationText(ledger.declaration(), ledger);
  if (ledger.has_fork()) text += OriginText(ledger.fork());
  if (ledger.has_import()) text += OriginText(ledger.import());
  for (const v1::WriterStatus& writer : ledger.writers()) text += Row("writer", WriterText(writer));
  if (ledger.writer_count() > static_cast<uint64_t>(ledger.writers_size())) {
    text += Row("writers", ledger.writer_count(), ", of which ", ledger.open_writer_count(),
                " are open; ", ledger.writers_size(), " are shown");
  }
  return text;
}

// Of a budget.
std::string GrantedText(const v1::FilterSpending& spending) {
  return absl::StrCat(TextUp(spending.spent()), " of ", TextNear(spending.bound()), " granted, ",
                      TextDown(questions::LeftOf(spending)), " left: ", spending.filter());
}

std::string ToLine(const v1::Ledger& ledger, const v1::LedgerSummary& summary) {
  const bool old = !summary.ledger().empty() && summary.size() < ledger.size();
  return absl::StrFormat("%s  %s  size %d  %s, %s  %s%s", ledger.name(),
                         v1::LedgerState_Name(ledger.state()), ledger.size(),
                         Shown(ledger.declaration().dataset()),
                         Shown(ledger.declaration().unit_of_privacy()),
                         ledger.declaration().kind() == v1::BUDGET && summary.has_spending()
                             ? GrantedText(summary.spending())
                             : CostText(summary),
                         old ? absl::StrCat(" of ", summary.size()) : "");
}

std::string ToText(const v1::ListLedgersResponse& list) {
  std::string text;
  for (int i = 0; i < list.ledgers_size(); ++i)
    absl::StrAppend(&text, ToLine(list.ledgers(i), list.summaries(i)), "\n");
  return text;
}

std::string ToText(const v1::ListDatasetsResponse& list) {
  std::string text;
  for (const v1::DatasetSummary& dataset : list.datasets()) {
    absl::StrAppend(
        &text, Shown(dataset.name()), "  ", Counted(dataset.ledger_count(), "ledger", "ledgers"),
        ", ", dataset.open_count(), " open  ", CostText(dataset),
        dataset.regime() == v1::ODOMETER ? absl::StrCat(", ", kOdometerText) : "", "\n");
  }
  return text;
}

std::string ToText(const v1::AttentionItem& item) {
  // In quotes, so that a blank at a name's end is seen.
  const auto shown = [](std::string* out, const std::string& name) {
    absl::StrAppend(out, "\"", Shown(name), "\"");
  };
  const std::string datasets = absl::StrJoin(item.datasets(), ", ", shown);
  std::string text =
      absl::StrCat(v1::AttentionItem::Reason_Name(item.reason()), "  ",
                   !item.ledger().empty() ? absl::StrCat(item.ledger(), " over ", datasets)
                   : datasets.empty()     ? "this server"
                                          : datasets,
                   ": ", Shown(item.title()), ". ", Shown(item.message()), "  (", item.id(), ")\n");
  if (!item.has_note()) return text;
  const v1::AttentionNote& note = item.note();
  absl::StrAppend(&text, "  ", note.acknowledged() ? "acknowledged" : "open", " ",
                  TimeText(note.time()), note.caller().empty() ? "" : " by ", note.caller());
  if (!note.assigned_to().empty())
    absl::StrAppend(&text, ", assigned to ", Shown(note.assigned_to()));
  if (!note.text().empty()) absl::StrAppend(&text, ": ", Shown(note.text()));
  return text + "\n";
}

std::string ToText(const v1::ListAttentionResponse& list) {
  std::string text;
  for (const v1::AttentionItem& item : list.items()) text += ToText(item);
  if (list.unexamined() > 0) {
    absl::StrAppend(&text, "Not all: the cost of ",
                    Counted(list.unexamined(), "ledger or data set", "ledgers and data sets"),
                    " is not known yet\n");
  }
  return text;
}

std::string ToText(const v1::Appended& appended) {
  const v1::Receipt& receipt = appended.receipt();
  return Row("stored", Counted(receipt.count(), "entry", "entries"), " in ", appended.ledger(),
             " from sequence ", receipt.first_sequence()) +
         Row("size", receipt.size()) + Row("root", HexEncode(receipt.root_hash())) +
         Row("request id", appended.request_id());
}

std::string ToText(const v1::LedgerExported& exported) {
  return Row("wrote", exported.file(), ", ", exported.bytes(), " bytes") +
         Row("ledger", exported.ledger()) + Row("origin", exported.origin()) +
         Row("size", exported.size()) + Row("root", HexEncode(exported.root_hash()));
}

std::string ToText(const v1::LedgerVerified& message, const VerifiedFrom& from) {
  std::string text;
  if (!message.verified()) {
    text = Row("SELF-SIGNED", "no key of yours signed this: whoever made it may have made it up");
  }
  text += Row(message.verified() ? "verified" : "agrees with itself", message.origin());
  text += Row("entries", message.size(), ", ", v1::LedgerState_Name(message.state()), ", of ",
              Counted(message.writers(), "writer", "writers"));
  text += Row("root", HexEncode(message.root_hash()));
  for (const std::string& signer : message.signed_by()) text += Row("signed by log", signer);
  text +=
      Row("registered", "by ", TimeText(from.registered_seconds), ", as the server's clock says");
  for (const v1::LedgerVerified::Cosigner& witness : message.witnessed_by()) {
    text += Row("signed by witness", witness.key(), " at ",
                TimeText(static_cast<int64_t>(witness.unix_seconds())));
  }
  if (message.unknown_signatures_size() > 0) {
    text += Row("not looked at", "signatures by ",
                absl::StrJoin(message.unknown_signatures(), ", "), ", whose keys were not given");
  }
  text += Row("registry", message.registry_origin(), ", ", message.registry_size(), " entries");
  text += Row("head", "the registry's latest, after ", message.registrations(),
              " registration(s), each the beginning of the next");
  if (message.older() > 0) text += Row("carries on", message.older(), " older checkpoint(s)");
  for (const std::string& parent : from.parents) text += Row("fork of", parent);
  if (message.events_agree()) {
    text += Row("events.jsonl", "says what the entries say");
    text += Row("README", "not compared: it is for people, and nobody signs it");
  }
  if (message.has_statement_delta())
    text += Row("statement", "agrees, at delta ", message.statement_delta());
  if (message.has_answer()) text += ToText(message.answer());
  if (message.has_delta_answer()) text += ToText(message.delta_answer());
  return text;
}

std::string ToText(const v1::SpoolsImported& imported) {
  std::string text;
  for (const v1::SpoolsImported::Spool& spool : imported.spools()) {
    absl::StrAppend(&text, spool.path(), ": writer ", spool.writer(), " of ", spool.ledger(), ": ",
                    spool.delivered_batches(), " batches were still taken, ", spool.late_events(),
                    " events came in late\n");
  }
  return text;
}

std::string ToText(const v1::RegistryFollowed& followed) {
  std::string text = Row("follows", followed.origin());
  text += Row("entries", followed.size(), ", ", followed.new_entries(), " new");
  text += Row("root", HexEncode(followed.root_hash()));
  text += Row("ledgers", followed.ledgers());
  text += Row("signed by", followed.signed_by());
  if (followed.growth_proofs() > 0)
    text += Row("growth proved", followed.growth_proofs(), " times");
  return text;
}

std::string ToText(const v1::ContradictionProved& proved) {
  return Row("contradiction", proved.proved());
}

std::string ToText(const v1::FileWritten& written) { return Row("wrote", written.file()); }

}  // namespace dpledger::cli
