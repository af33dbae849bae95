#include "questions/subject.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "events/declaration_rules.h"
#include "events/writer_rules.h"
#include "questions/declaration_values.h"
#include "questions/given_events.h"

namespace dpledger::questions {
namespace {

absl::Status CannotCompose(const LedgerPart& part, const char* reason, const std::string& why) {
  return WithReason(absl::FailedPreconditionError(absl::StrCat(part.name, ": ", why)),
                    {reason, {{"ledger", part.name}}});
}

absl::Status CheckComposes(const LedgerPart& first, const LedgerPart& other, uint64_t group_size) {
  const v1::Declaration& a = first.declaration();
  const v1::Declaration& b = other.declaration();
  if (a.dataset() != b.dataset()) {
    return CannotCompose(
        other, "DATASETS_DIFFER",
        absl::StrCat("declares the data set \"", absl::Utf8SafeCEscape(b.dataset()), "\", and ",
                     first.name, " \"", absl::Utf8SafeCEscape(a.dataset()),
                     "\"; ledgers are composed over one data set"));
  }
  if (a.unit_of_privacy() != b.unit_of_privacy() && group_size == 0) {
    return CannotCompose(
        other, "UNITS_DIFFER",
        absl::StrCat("declares the unit of privacy \"", absl::Utf8SafeCEscape(b.unit_of_privacy()),
                     "\", and ", first.name, " \"", absl::Utf8SafeCEscape(a.unit_of_privacy()),
                     "\"; for one number say of how many records of each ledger the unit that you "
                     "ask about can have at most (options.group_size, --group-size)"));
  }
  if (a.adjacency() != b.adjacency()) {
    return CannotCompose(other, "ADJACENCIES_DIFFER",
                         absl::StrCat("declares ", v1::Adjacency_Name(b.adjacency()), ", and ",
                                      first.name, " ", v1::Adjacency_Name(a.adjacency())));
  }
  return absl::OkStatus();
}

// Composing plans is valid only for those made without looking at outputs, those of the other
// ledgers included.
absl::Status CheckPlanIndependent(const LedgerPart& part) {
  if (part.declaration().plan_independent()) return absl::OkStatus();
  return CannotCompose(
      part, "PLAN_NOT_INDEPENDENT",
      "does not declare plan_independent; several ledgers are composed as plans only if each says "
      "that its plan did not depend on the outputs of any other");
}

// Plans bound all that the ledgers may do together.
bool AreBoundByPlans(const std::vector<Lineage>& lineages) {
  return std::all_of(lineages.begin(), lineages.end(), [&](const Lineage& lineage) {
    return lineage[0].declaration().parameters() == v1::FIXED &&
           (lineages.size() == 1 || lineage[0].declaration().plan_independent());
  });
}

// Filters bound all that the ledgers may do together, however their plans were made.
bool AreHeldTogether(const std::vector<Lineage>& lineages, const std::vector<HeldLedger>& held) {
  return !held.empty() && held.size() == lineages.size() &&
         accountant::filter::Compose(FiltersOf(held)).ok();
}

// Why neither do: OK for one ledger.
absl::Status WhyUnbound(const std::vector<Lineage>& lineages, const std::vector<HeldLedger>& held) {
  if (lineages.size() < 2) return absl::OkStatus();
  const LedgerPart& first = lineages[0][0];
  const v1::Parameters parameters = first.declaration().parameters();
  for (const Lineage& lineage : lineages) {
    const LedgerPart& own = lineage[0];
    if (own.declaration().parameters() == parameters) continue;
    return CannotCompose(
        own, "PARAMETERS_DIFFER",
        absl::StrCat("declares ", v1::Parameters_Name(own.declaration().parameters()), ", and ",
                     first.name, " ", v1::Parameters_Name(parameters),
                     "; a filter bounds what was chosen after looking at outputs, "
                     "and a plan what was not: they have no common bound"));
  }
  const std::vector<accountant::filter::Filter> filters = FiltersOf(held);
  for (const Lineage& lineage : lineages) {
    if (parameters != v1::ADAPTIVE) {
      RETURN_IF_ERROR(CheckPlanIndependent(lineage[0]));
    } else if (!lineage[0].declaration().has_filter()) {
      return CannotCompose(lineage[0], "ADAPTIVE_NOT_ANALYSED",
                           "declares ADAPTIVE, and no filter that bounds it");
    }
  }
  return filters.empty() ? absl::OkStatus() : accountant::filter::Compose(filters).status();
}

void DescribeForks(const Lineage& lineage, Subject& into) {
  for (size_t i = 1; i < lineage.size(); ++i) {
    into.assumptions.push_back(absl::StrCat(lineage[i - 1].name, " is a fork of ", lineage[i].name,
                                            " at ",
                                            lineage[i - 1].reader->first().fork().parent_size(),
                                            " entries, which are part of this answer"));
  }
}

void DescribeCopy(const LedgerPart& part, Subject& into) {
  if (part.reader->originals() == 0) return;
  const v1::Import& import = part.reader->first().import();
  into.assumptions.push_back(absl::StrCat(
      part.name, " is a copy of the first ", import.size(), " entries of ", import.origin(),
      "; it is worth as much as the signed checkpoint in its entry 0"));
  for (size_t i = 0; i < part.reader->originals(); ++i) {
    if (part.reader->OriginalAt(i).sealed) continue;
    into.warnings.push_back(absl::StrCat(part.name, ": what it copies was not sealed at ",
                                         part.reader->OriginalAt(i).size,
                                         " entries; the original may have gone on"));
    return;
  }
}

// Without the ledgers' names: a bundle's are others than its server's, and its answers are the
// same.
void DescribeSamples(const std::vector<LedgerPart>& parts, Subject& into) {
  uint64_t stated = 0;
  for (const LedgerPart& part : parts) {
    stated += std::min(part.reader->stated_rounds(), std::numeric_limits<uint64_t>::max() - stated);
  }
  if (stated == 0) return;
  into.assumptions.push_back(absl::StrCat("the samples of ", stated,
                                          stated == 1 ? " round" : " rounds",
                                          " are as the trainer stated them, not tied to the draw"));
}

// So many an answer names, and counts the others.
constexpr uint64_t kMostNamedMissing = 100;

// Of an ancestor too: what was released before the fork may come after its prefix.
void AddMissing(const LedgerPart& part, v1::LedgerReference& reference, Subject& into) {
  for (const v1::WriterStatus& writer : part.writers) {
    if (writer.writer().empty()) continue;
    for (const events::Missing& missing :
         events::MissingReleases(writer, part.declaration().spool_policy())) {
      reference.set_missing_count(reference.missing_count() + 1);
      if (reference.missing_count() > kMostNamedMissing) continue;
      v1::MissingReleases& proto = *reference.add_missing();
      proto.set_writer(writer.writer());
      proto.set_incarnation(missing.opened_sequence);
      proto.set_reason(reference.name() == part.name
                           ? missing.reason
                           : absl::StrCat("in ", part.name, ": ", missing.reason));
      into.warnings.push_back(
          absl::StrCat(part.name, ": this answer may be short: writer \"", writer.writer(), "\"",
                       missing.opened_sequence == 0
                           ? ""
                           : absl::StrCat(", opened at entry ", missing.opened_sequence),
                       ": ", missing.reason));
    }
  }
}

// Of an ancestor, whose text says so: its entries count as the ledger's own do.
void AddCorrections(const LedgerPart& part, v1::LedgerReference& reference) {
  for (const HistoryReader::CorrectionAt& at : part.reader->corrections()) {
    v1::CorrectionNote& note = *reference.add_corrections();
    note.set_sequence(at.sequence);
    note.set_corrected_sequence(at.correction.corrected_sequence());
    note.set_text(reference.name() == part.name
                      ? at.correction.text()
                      : absl::StrCat("in ", part.name, ": ", at.correction.text()));
  }
}

v1::LedgerReference ReferenceTo(const Lineage& lineage) {
  const LedgerPart& own = lineage.front();
  const v1::Declaration& declaration = own.declaration();
  v1::LedgerReference reference;
  reference.set_name(own.name);
  reference.set_size(own.size());
  reference.set_root_hash(merkle::ToBytes(own.root));
  reference.set_dataset(declaration.dataset());
  reference.set_unit_of_privacy(declaration.unit_of_privacy());
  reference.set_state(own.reader->sealed() ? v1::SEALED : v1::OPEN);
  uint64_t rounds = 0;  // that released something, other than what a budget sets aside
  for (const LedgerPart& part : lineage) rounds += part.reader->history().RoundCount();
  reference.set_rounds(rounds);
  reference.set_planned_rounds(declaration.planned_rounds());
  for (const LedgerPart& part : lineage) AddCorrections(part, reference);
  const v1::LedgerEntry& first = own.reader->first();
  if (first.has_fork()) {
    *reference.mutable_fork() = first.fork();
    reference.mutable_fork()->clear_declaration();
  }
  if (first.has_import()) {
    *reference.mutable_import() = first.import();
    reference.mutable_import()->clear_declaration();
    reference.mutable_import()->clear_checkpoint();
  }
  return reference;
}

// The cost of a plan can be told for one ledger by itself; of anything more, a plan that is
// unfinished or exceeded is named.
void SetPlan(const std::vector<Lineage>& lineages, bool with_events, Subject& into) {
  if (lineages.size() == 1 && !with_events) {
    into.planned_rounds = lineages[0][0].declaration().planned_rounds();
    return;
  }
  for (const v1::LedgerReference& ledger : into.ledgers) {
    if (ledger.planned_rounds() > 0 && ledger.rounds() > ledger.planned_rounds()) {
      into.warnings.push_back(MoreThanPlanned(absl::StrCat(ledger.name(), ":"), ledger.rounds(),
                                              ledger.planned_rounds()));
    }
    if (ledger.rounds() >= ledger.planned_rounds()) continue;
    into.warnings.push_back(
        absl::StrCat(ledger.name(), ": has ", ledger.rounds(), " of ", ledger.planned_rounds(),
                     " planned rounds; a run that is stopped for what it showed costs its plan, "
                     "which the answer for this ledger alone gives"));
  }
}

// What-if events are spent of the one ledger's filter.
absl::Status HoldByFilters(size_t ledgers, const accountant::History* given, Subject& into) {
  if (given == nullptr) return absl::OkStatus();
  if (ledgers > 1) {
    return FieldError("events",
                      "must be empty with several ledgers that filters bound: nothing says whose "
                      "filter they are spent of");
  }
  into.held[0].history.Merge(*given);
  return absl::OkStatus();
}

// What the ledger's filter holds, as it is part of the lineages.
absl::StatusOr<HeldLedger> HeldOf(const Lineage& lineage, const SubjectOptions& options) {
  const LedgerPart& own = lineage[0];
  const v1::Declaration& declaration = own.declaration();
  HeldLedger held;
  held.name = own.name;
  ASSIGN_OR_RETURN(held.filter, FilterFromProto(declaration.filter()));
  held.kept_by_server = std::all_of(lineage.begin(), lineage.end(), [](const LedgerPart& part) {
    return part.declaration().spool_policy() != v1::SPOOL && !part.reader->first().has_import();
  });
  // What its ancestors did before it, a budget has granted to them.
  held.history = HistoryOf(UnionOf({declaration.budget().empty() ? lineage : Lineage{own}}));
  held.is_budget = declaration.kind() == v1::BUDGET;
  held.budget = declaration.budget();
  for (size_t i = 1; i < lineage.size(); ++i) held.ancestors.push_back(lineage[i].name);
  held.alone = own.reader->first().has_import() || !options.of_one_server;
  const HistoryReader::Grants& grants = own.reader->grants();
  if (!held.budget.empty() || held.is_budget) {
    for (const auto& [ledger, grant] : grants) held.grants.push_back(grant);
  }
  held.late_after_seal = own.reader->seal().was_whole && own.reader->seal().is_late;
  held.has_blocks = !declaration.block_assignment().empty() || declaration.blocks_size() > 0;
  return held;
}

}  // namespace

void LeaveBudgetsOut(std::vector<Lineage>& lineages) {
  const auto is_budget = [](const Lineage& lineage) {
    return lineage[0].declaration().kind() == v1::BUDGET &&
           !lineage[0].reader->first().has_import();
  };
  if (!std::all_of(lineages.begin(), lineages.end(), is_budget)) std::erase_if(lineages, is_budget);
}

std::vector<accountant::filter::Filter> FiltersOf(const std::vector<HeldLedger>& held) {
  std::vector<accountant::filter::Filter> filters;
  std::set<std::string> budgets;
  for (const HeldLedger& ledger : held) {
    const std::string& budget = ledger.is_budget ? ledger.name : ledger.budget;
    if (budget.empty() || ledger.alone || budgets.insert(budget).second) {
      filters.push_back(ledger.filter);
    }
  }
  return filters;
}

const v1::Declaration& LedgerPart::declaration() const {
  return events::DeclarationOf(reader->first());
}

std::vector<LedgerPart> UnionOf(const std::vector<Lineage>& lineages) {
  std::vector<LedgerPart> all;
  std::map<std::string, size_t> places;
  for (const Lineage& lineage : lineages) {
    // Two parts of one lineage are two ledgers, whatever a bundle calls them.
    const size_t others = all.size();
    for (const LedgerPart& part : lineage) {
      const auto [place, is_new] = places.try_emplace(part.name, all.size());
      if (is_new || place->second >= others) {
        all.push_back(part);
        all.back().family = lineage.back().name;
      } else if (all[place->second].size() < part.size()) {
        all[place->second] = part;
        all[place->second].family = lineage.back().name;
      }
    }
  }
  return all;
}

accountant::History HistoryOf(const std::vector<LedgerPart>& parts) {
  accountant::History history;
  for (const LedgerPart& part : parts) {
    history.Merge(part.reader->history(), part.family);
    if (part.declaration().kind() != v1::BUDGET) continue;
    for (const auto& [ledger, grant] : part.reader->grants()) {
      // The reader has checked the plan.
      if (const auto plan = HistoryOfPlan(grant); plan.ok()) history.Merge(*plan);
    }
  }
  return history;
}

absl::StatusOr<Subject> SubjectOf(const std::vector<Lineage>& lineages,
                                  const SubjectOptions& options) {
  const std::vector<LedgerPart> all = UnionOf(lineages);
  Subject result;
  result.history = HistoryOf(all);
  if (options.given != nullptr) result.history.Merge(*options.given);
  result.entries = options.given_events;
  for (const LedgerPart& part : all) {
    result.entries += part.size();
    DescribeCopy(part, result);
  }
  DescribeSamples(all, result);
  for (const Lineage& lineage : lineages) {
    const LedgerPart& own = lineage[0];
    RETURN_IF_ERROR(CheckComposes(lineages[0][0], own, options.group_size));
    const v1::Declaration& declaration = own.declaration();
    result.has_budget = result.has_budget || declaration.kind() == v1::BUDGET;
    result.adjacency = declaration.adjacency();
    result.parameters = declaration.parameters();
    if (declaration.has_filter()) {
      ASSIGN_OR_RETURN(result.held.emplace_back(), HeldOf(lineage, options));
    }
    result.ledgers.push_back(ReferenceTo(lineage));
    v1::LedgerReference& reference = result.ledgers.back();
    for (const LedgerPart& part : lineage) AddMissing(part, reference, result);
    if (reference.missing_count() > kMostNamedMissing) {
      result.warnings.push_back(absl::StrCat(
          reference.name(), ": this answer may be short: there are ",
          reference.missing_count() - kMostNamedMissing, " more releases that may be missing"));
    }
    DescribeForks(lineage, result);
  }
  if (AreBoundByPlans(lineages)) {
    const bool is_under_budget = lineages.size() == 1 && !result.held.empty() &&
                                 !result.held[0].budget.empty() && !result.held[0].alone;
    if (is_under_budget) {
      result.under_budget = std::move(result.held[0]);
      if (options.given != nullptr) result.under_budget->history.Merge(*options.given);
    }
    result.held.clear();
  } else if (AreHeldTogether(lineages, result.held)) {
    result.parameters = v1::ADAPTIVE;
    RETURN_IF_ERROR(HoldByFilters(lineages.size(), options.given, result));
  } else {
    result.no_common_bound = WhyUnbound(lineages, result.held);
    result.held.clear();
    if (!result.no_common_bound.ok()) result.parameters = v1::ADAPTIVE;
  }
  if (result.parameters != v1::ADAPTIVE) SetPlan(lineages, options.given != nullptr, result);
  return result;
}

}  // namespace dpledger::questions
