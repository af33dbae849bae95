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

void WarnOfUndelivered(const v1::Ledger& ledger, accountant::Subject& into) {
  if (ledger.declaration().spool_policy() != v1::SPOOL) return;
  for (const v1::WriterStatus& writer : ledger.writers()) {
    if (writer.closed()) continue;
    into.warnings.push_back(
        absl::StrCat(ledger.name(), ": writer \"", writer.writer(),
                     "\" has policy SPOOL and has not closed; it may hold undelivered events"));
  }
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
  std::vector<Part> parts;
  for (const std::string& name : subject.ledgers()) {
    ASSIGN_OR_RETURN(Part part, ReadLedger(name, subject.up_to_sequence(), limits));
    parts.push_back(std::move(part));
  }

  accountant::Subject result;
  result.entries = static_cast<uint64_t>(subject.events_size());
  for (const Part& part : parts) {
    RETURN_IF_ERROR(CheckComposes(parts[0].ledger, part.ledger));
    const v1::Declaration& declaration = part.ledger.declaration();
    result.adjacency = declaration.adjacency();
    result.parameters = declaration.parameters();
    if (declaration.has_filter()) {
      result.held.push_back({part.ledger.name(), declaration.filter(), part.history->history});
    }
    result.history.Merge(part.history->history);
    result.entries += part.history->tree.size();
    v1::LedgerReference& reference = result.ledgers.emplace_back();
    reference.set_name(part.ledger.name());
    reference.set_size(part.history->tree.size());
    reference.set_root_hash(merkle::ToBytes(part.history->tree.Root()));
    WarnOfUndelivered(part.ledger, result);
  }
  result.history.Merge(given);
  RETURN_IF_ERROR(HoldByFilters(parts.size(), subject.events_size() > 0, given, result));
  if (parts.size() > 1 && result.parameters == v1::FIXED) {
    for (const Part& part : parts) RETURN_IF_ERROR(CheckPlanIndependent(part.ledger));
  }
  if (result.parameters != v1::ADAPTIVE) SetPlan(parts, !subject.events().empty(), result);
  if (!parts.empty()) RETURN_IF_ERROR(WarnOfOthers(parts, result));
  return result;
}

// The cost of a plan can be told for one ledger by itself; of anything more, an unfinished plan is
// named.
void SubjectSource::SetPlan(const std::vector<Part>& parts, bool with_events,
                            accountant::Subject& into) {
  if (parts.size() == 1 && !with_events) {
    into.planned_rounds = parts[0].ledger.declaration().planned_rounds();
    return;
  }
  for (const Part& part : parts) {
    const uint64_t planned = part.ledger.declaration().planned_rounds();
    const uint64_t done = part.history->history.RoundCount();
    if (done >= planned) continue;
    into.warnings.push_back(
        absl::StrCat(part.ledger.name(), ": has ", done, " of ", planned,
                     " planned rounds; a run that is stopped for what it showed costs its plan, "
                     "which the answer for this ledger alone gives"));
  }
}

absl::StatusOr<SubjectSource::Part> SubjectSource::ReadLedger(const std::string& name,
                                                              uint64_t up_to_sequence,
                                                              const accountant::Limits& limits) {
  Part part;
  ASSIGN_OR_RETURN(part.ledger, store_->Get(name));
  if (up_to_sequence > part.ledger.size()) {
    return WithReason(absl::OutOfRangeError(absl::StrCat(
                          "subject.up_to_sequence: must be at most the ledger's size, ",
                          part.ledger.size(), ", got ", up_to_sequence)),
                      {"BEYOND_LEDGER", {{"current_sequence", absl::StrCat(part.ledger.size())}}});
  }
  const uint64_t size = up_to_sequence != 0 ? up_to_sequence : part.ledger.size();
  ASSIGN_OR_RETURN(part.history, histories_.Read(name, size, limits));
  if (size == part.ledger.size() &&
      merkle::ToBytes(part.history->tree.Root()) != part.ledger.root_hash()) {
    return absl::DataLossError(
        absl::StrCat(name, ": its ", size, " entries do not have the ledger's root hash"));
  }
  return part;
}

absl::Status SubjectSource::WarnOfOthers(const std::vector<Part>& parts,
                                         accountant::Subject& into) {
  const std::string& dataset = parts[0].ledger.declaration().dataset();
  ASSIGN_OR_RETURN(const uint64_t declaring, store_->CountDeclaring(dataset));
  const uint64_t others = declaring - std::min<uint64_t>(declaring, parts.size());
  if (others > 0) {
    into.warnings.push_back(absl::StrCat(others, others == 1 ? " other ledger" : " other ledgers",
                                         " on this server declare", others == 1 ? "s" : "",
                                         " the data set \"", dataset, "\" and ",
                                         others == 1 ? "is" : "are", " not in this answer"));
  }
  return absl::OkStatus();
}

}  // namespace dpledger::server
