#include "server/subject_source.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "accountant/from_proto/event_from_proto.h"
#include "accountant/from_proto/field_checks.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "ledger_store/request_rules.h"

namespace dpledger::server {
namespace {

using accountant::Element;
using accountant::Within;

constexpr int kMaxLedgers = 100;
// Given events form a history of their own: its name cannot clash with a ledger's writers.
constexpr char kWhatIfWriter[] = "what-if";
// How an ancestor went on after the prefix that counts is looked up in so many entries; if there
// are more, it did.
constexpr uint64_t kRestToRead = 16;
constexpr size_t kRestBytes = size_t{1} << 20;

absl::Status CheckSubject(const v1::Subject& subject) {
  if (subject.ledgers().empty() && subject.events().empty()) {
    return FieldError("ledgers", "must name a ledger, unless events are given");
  }
  if (subject.ledgers_size() > kMaxLedgers) {
    return FieldError(
        "ledgers", absl::StrCat("must be at most ", kMaxLedgers, ", got ", subject.ledgers_size()));
  }
  std::set<std::string> names;
  for (int i = 0; i < subject.ledgers_size(); ++i) {
    RETURN_IF_ERROR(CheckLedgerName(Element("ledgers", i), subject.ledgers(i)));
    if (!names.insert(subject.ledgers(i)).second) {
      return FieldError(Element("ledgers", i),
                        absl::StrCat("must not repeat, got ", subject.ledgers(i), " again"));
    }
  }
  if (subject.up_to_sequence() != 0 && subject.ledgers_size() != 1) {
    return FieldError("up_to_sequence", absl::StrCat("must be 0 unless one ledger is named, got ",
                                                     subject.ledgers_size(), " ledgers"));
  }
  return absl::OkStatus();
}

// The order that the store demands of a writer, for events that come with a question.
absl::Status CheckRoundOrder(const v1::Event& event, std::optional<uint64_t>& last) {
  if (event.has_sampling()) {
    const uint64_t round = event.sampling().round();
    if (last.has_value() && round <= *last) {
      return FieldError("sampling.round",
                        absl::StrCat("must be above the round before, ", *last, ", got ", round));
    }
    last = round;
  } else if (event.has_sum_query()) {
    const uint64_t round = event.sum_query().round();
    if (last.has_value() && round < *last) {
      return FieldError("sum_query.round",
                        absl::StrCat("must not go back, got ", round, " after ", *last));
    }
    last = round;
  }
  return absl::OkStatus();
}

absl::StatusOr<accountant::History> HistoryOf(const v1::Subject& subject) {
  accountant::History history;
  std::optional<uint64_t> last_round;
  for (int i = 0; i < subject.events_size(); ++i) {
    const std::string path = Element("events", i);
    ASSIGN_OR_RETURN(const accountant::Event event,
                     Within(path, accountant::EventFromProto(subject.events(i))));
    RETURN_IF_ERROR(Within(path, CheckRoundOrder(subject.events(i), last_round)));
    history.Add(kWhatIfWriter, event);
  }
  return history;
}

absl::Status CannotCompose(const v1::Ledger& ledger, const char* reason, const std::string& why) {
  return WithReason(absl::FailedPreconditionError(absl::StrCat(ledger.name(), ": ", why)),
                    {reason, {{"ledger", ledger.name()}}});
}

absl::Status CheckComposes(const v1::Ledger& first, const v1::Ledger& other) {
  const v1::Declaration& a = first.declaration();
  const v1::Declaration& b = other.declaration();
  if (a.dataset() != b.dataset()) {
    return CannotCompose(
        other, "DATASETS_DIFFER",
        absl::StrCat("declares the data set \"", b.dataset(), "\", and ", first.name(), " \"",
                     a.dataset(), "\"; ledgers are composed over one data set"));
  }
  if (a.parameters() != b.parameters()) {
    return CannotCompose(other, "PARAMETERS_DIFFER",
                         absl::StrCat("declares ", v1::Parameters_Name(b.parameters()), ", and ",
                                      first.name(), " ", v1::Parameters_Name(a.parameters()),
                                      "; a filter bounds what was chosen after looking at outputs, "
                                      "and a plan what was not: they have no common bound here"));
  }
  if (a.adjacency() != b.adjacency()) {
    return CannotCompose(other, "ADJACENCIES_DIFFER",
                         absl::StrCat("declares ", v1::Adjacency_Name(b.adjacency()), ", and ",
                                      first.name(), " ", v1::Adjacency_Name(a.adjacency())));
  }
  return absl::OkStatus();
}

// Composing curves is valid only for plans made without looking at outputs, those of the other
// ledgers included.
absl::Status CheckPlanIndependent(const v1::Ledger& ledger) {
  if (ledger.declaration().plan_independent()) return absl::OkStatus();
  return CannotCompose(
      ledger, "PLAN_NOT_INDEPENDENT",
      "does not declare plan_independent; several ledgers are composed only if each says that its "
      "plan did not depend on the outputs of any other");
}

// Of an ancestor too: what was released before the fork may come after its prefix.
void WarnOfUndelivered(const v1::Ledger& ledger, accountant::Subject& into) {
  if (ledger.declaration().spool_policy() != v1::SPOOL || ledger.has_import()) return;
  for (const v1::WriterStatus& writer : ledger.writers()) {
    if (writer.closed()) continue;
    into.warnings.push_back(
        absl::StrCat(ledger.name(), ": writer \"", writer.writer(),
                     "\" has policy SPOOL and has not closed; it may hold undelivered events"));
  }
}

void DescribeForks(const Lineage& lineage, accountant::Subject& into) {
  for (size_t i = 1; i < lineage.size(); ++i) {
    into.assumptions.push_back(absl::StrCat(
        lineage[i - 1].ledger.name(), " is a fork of ", lineage[i].ledger.name(), " at ",
        lineage[i - 1].ledger.fork().parent_size(), " entries, which are part of this answer"));
  }
}

void DescribeCopy(const LedgerPrefix& prefix, accountant::Subject& into) {
  if (!prefix.ledger.has_import()) return;
  const v1::Import& import = prefix.ledger.import();
  into.assumptions.push_back(absl::StrCat(
      prefix.ledger.name(), " is a copy of the first ", import.size(), " entries of ",
      import.origin(), "; it is worth as much as the signed checkpoint in its entry 0"));
  for (size_t i = 0; i < prefix.history->reader.originals(); ++i) {
    if (prefix.history->reader.OriginalAt(i).sealed) continue;
    into.warnings.push_back(absl::StrCat(
        prefix.ledger.name(), ": what it copies was not sealed at ",
        prefix.history->reader.OriginalAt(i).size, " entries; the original may have gone on"));
    return;
  }
}

bool HasEvent(const std::string& bytes) {
  v1::LedgerEntry entry;
  return !entry.ParseFromString(bytes) || entry.has_event();
}

// What-if events are spent of the one ledger's filter. Ledgers one of which has no filter are held
// by none.
absl::Status HoldByFilters(size_t ledgers, bool with_events, const accountant::History& given,
                           accountant::Subject& into) {
  if (into.held.size() < ledgers) into.held.clear();
  if (into.held.empty() || !with_events) return absl::OkStatus();
  if (ledgers > 1) {
    return FieldError("events",
                      "must be empty with several ADAPTIVE ledgers: nothing says whose filter they "
                      "are spent of");
  }
  into.held[0].history.Merge(given);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<accountant::Subject> SubjectSource::Gather(const v1::Subject& subject,
                                                          const accountant::Limits& limits) {
  RETURN_IF_ERROR(CheckSubject(subject));
  ASSIGN_OR_RETURN(const accountant::History given, HistoryOf(subject));
  std::vector<Lineage> named;
  for (const std::string& name : subject.ledgers()) {
    ASSIGN_OR_RETURN(Lineage lineage, ReadLineage(*store_, histories_, signed_root_, name,
                                                  subject.up_to_sequence(), limits));
    named.push_back(std::move(lineage));
  }
  const std::vector<LedgerPrefix> all = UnionOf(named);
  RETURN_IF_ERROR(CheckNoCopyTwice(all, histories_, limits));

  accountant::Subject result;
  result.history = HistoryOf(all);
  result.history.Merge(given);
  result.entries = static_cast<uint64_t>(subject.events_size());
  for (const LedgerPrefix& prefix : all) {
    result.entries += prefix.size();
    WarnOfUndelivered(prefix.ledger, result);
    DescribeCopy(prefix, result);
  }
  for (const Lineage& lineage : named) {
    const LedgerPrefix& own = lineage[0];
    RETURN_IF_ERROR(CheckComposes(named[0][0].ledger, own.ledger));
    const v1::Declaration& declaration = own.ledger.declaration();
    result.adjacency = declaration.adjacency();
    result.parameters = declaration.parameters();
    if (declaration.has_filter()) {
      result.held.push_back({own.ledger.name(), declaration.filter(), HistoryOf(lineage)});
    }
    v1::LedgerReference& reference = result.ledgers.emplace_back();
    reference.set_name(own.ledger.name());
    reference.set_size(own.size());
    reference.set_root_hash(merkle::ToBytes(own.history->tree.Root()));
    DescribeForks(lineage, result);
  }
  RETURN_IF_ERROR(HoldByFilters(named.size(), subject.events_size() > 0, given, result));
  if (named.size() > 1 && result.parameters == v1::FIXED) {
    for (const Lineage& lineage : named) RETURN_IF_ERROR(CheckPlanIndependent(lineage[0].ledger));
  }
  if (result.parameters != v1::ADAPTIVE) SetPlan(named, !subject.events().empty(), result);
  if (!named.empty()) {
    RETURN_IF_ERROR(WarnOfRest(named, all, result));
    RETURN_IF_ERROR(WarnOfOthers(all, result));
  }
  return result;
}

// The cost of a plan can be told for one ledger by itself; of anything more, an unfinished plan is
// named. A fork's plan counts the rounds of the prefix.
void SubjectSource::SetPlan(const std::vector<Lineage>& named, bool with_events,
                            accountant::Subject& into) {
  if (named.size() == 1 && !with_events) {
    into.planned_rounds = named[0][0].ledger.declaration().planned_rounds();
    return;
  }
  for (const Lineage& lineage : named) {
    const v1::Ledger& ledger = lineage[0].ledger;
    const uint64_t planned = ledger.declaration().planned_rounds();
    const uint64_t done = HistoryOf(lineage).RoundCount();
    if (done >= planned) continue;
    into.warnings.push_back(
        absl::StrCat(ledger.name(), ": has ", done, " of ", planned,
                     " planned rounds; a run that is stopped for what it showed costs its plan, "
                     "which the answer for this ledger alone gives"));
  }
}

absl::Status SubjectSource::WarnOfRest(const std::vector<Lineage>& named,
                                       const std::vector<LedgerPrefix>& all,
                                       accountant::Subject& into) {
  std::set<std::string> names;
  for (const Lineage& lineage : named) names.insert(lineage[0].ledger.name());
  for (const LedgerPrefix& prefix : all) {
    const uint64_t rest = prefix.ledger.size() - prefix.size();
    if (rest == 0 || names.contains(prefix.ledger.name())) continue;
    bool released = rest > kRestToRead;
    if (!released) {
      ASSIGN_OR_RETURN(const std::vector<std::string> entries,
                       store_->Read(prefix.ledger.name(), prefix.size(), kRestToRead, kRestBytes));
      released = entries.size() < rest || std::any_of(entries.begin(), entries.end(), HasEvent);
    }
    if (!released) continue;
    into.warnings.push_back(absl::StrCat(
        prefix.ledger.name(), ": went on after the ", prefix.size(),
        " entries that are part of this answer; what it released then is not in this answer"));
  }
  return absl::OkStatus();
}

absl::Status SubjectSource::WarnOfOthers(const std::vector<LedgerPrefix>& all,
                                         accountant::Subject& into) {
  const std::string& dataset = all[0].ledger.declaration().dataset();
  ASSIGN_OR_RETURN(const uint64_t declaring, store_->CountDeclaring(dataset));
  const uint64_t others = declaring - std::min<uint64_t>(declaring, all.size());
  if (others > 0) {
    into.warnings.push_back(absl::StrCat(others, others == 1 ? " other ledger" : " other ledgers",
                                         " on this server declare", others == 1 ? "s" : "",
                                         " the data set \"", dataset, "\" and ",
                                         others == 1 ? "is" : "are", " not in this answer"));
  }
  return absl::OkStatus();
}

}  // namespace dpledger::server
