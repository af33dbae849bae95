#include "cli/ledger_output.h"

#include <google/protobuf/util/time_util.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/hex.h"
#include "cli/answer_parts.h"
#include "cli/shown_text.h"
#include "events/grant_rules.h"

namespace dpledger::cli {
namespace {

std::string TimeText(const v1::Ledger& ledger) {
  return google::protobuf::util::TimeUtil::ToString(ledger.create_time());
}

std::string WriterText(const v1::WriterStatus& writer) {
  std::string text = absl::StrCat(writer.writer(), ": ", writer.entry_count(), " entries");
  if (writer.has_round()) absl::StrAppend(&text, ", last round ", writer.last_round());
  absl::StrAppend(&text, writer.closed() ? ", closed" : ", open");
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

}  // namespace

std::string ToText(const v1::Ledger& ledger) {
  const v1::Declaration& declaration = ledger.declaration();
  std::string text = Row("ledger", ledger.name());
  text += Row("state", v1::LedgerState_Name(ledger.state()));
  text += Row("size", absl::StrCat(ledger.size()));
  text += Row("root", HexEncode(ledger.root_hash()));
  text += Row("created", TimeText(ledger));
  if (!ledger.creator().empty()) text += Row("created by", ledger.creator());
  text += Row("data set", declaration.dataset());
  text += Row("unit of privacy", declaration.unit_of_privacy());
  text += Row("adjacency", v1::Adjacency_Name(declaration.adjacency()));
  text += Row("parameters", v1::Parameters_Name(declaration.parameters()));
  if (declaration.kind() == v1::BUDGET)
    text += Row("kind", "a budget: runs are granted parts of it");
  if (!declaration.budget().empty()) {
    text += Row("budget", absl::StrCat(declaration.budget(),
                                       ledger.has_import() ? ", on the original's server" : ""));
  }
  if (!declaration.block_assignment().empty()) {
    text += Row("blocks", declaration.block_assignment());
  }
  if (declaration.blocks_size() > 0) {
    text += Row("blocks", events::BlocksText(declaration.blocks()));
  }
  if (declaration.has_filter()) {
    const bool keeps = declaration.spool_policy() != v1::SPOOL && !ledger.has_import();
    text += Row("filter", absl::StrCat(FilterText(declaration.filter()),
                                       !keeps ? ""
                                       : declaration.budget().empty()
                                           ? "; the server refuses what would cross it"
                                           : "; of all runs under the budget"));
  }
  if (declaration.planned_rounds() > 0) {
    text += Row("planned rounds", absl::StrCat(declaration.planned_rounds()));
  }
  if (declaration.parameters() == v1::FIXED) {
    text += Row("plan independent",
                declaration.plan_independent()
                    ? "yes: the plan did not depend on other ledgers' outputs"
                    : "not said: with other ledgers it has an odometer, no common epsilon");
  }
  if (!declaration.released().empty()) text += Row("released", declaration.released());
  if (!declaration.description().empty()) text += Row("description", declaration.description());
  if (ledger.has_fork()) {
    const v1::Fork& fork = ledger.fork();
    text += Row("fork of", absl::StrCat(fork.parent(), " at size ", fork.parent_size()));
    text += Row("parent's root", HexEncode(fork.parent_root()));
    if (!fork.reason().empty()) text += Row("reason", fork.reason());
  }
  if (ledger.has_import()) {
    const v1::Import& import = ledger.import();
    text += Row("copy of", absl::StrCat(import.origin(), " at size ", import.size()));
    text += Row("original's root", HexEncode(import.root_hash()));
  }
  for (const v1::WriterStatus& writer : ledger.writers()) text += Row("writer", WriterText(writer));
  if (ledger.writer_count() > static_cast<uint64_t>(ledger.writers_size())) {
    text += Row("writers",
                absl::StrCat(ledger.writer_count(), ", of which ", ledger.open_writer_count(),
                             " are open; ", ledger.writers_size(), " are shown"));
  }
  return text;
}

std::string ToLine(const v1::Ledger& ledger) {
  return absl::StrFormat("%s  %s  size %d  %s, %s\n", ledger.name(),
                         v1::LedgerState_Name(ledger.state()), ledger.size(),
                         Shown(ledger.declaration().dataset()),
                         Shown(ledger.declaration().unit_of_privacy()));
}

}  // namespace dpledger::cli
