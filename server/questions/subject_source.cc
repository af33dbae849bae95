#include "server/questions/subject_source.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "events/field_checks.h"
#include "events/names.h"
#include "questions/given_events.h"

namespace dpledger::server {
namespace {

using events::Element;

constexpr int kMaxLedgers = 100;
// How an ancestor went on after the prefix that counts is looked up in so many entries; if there
// are more, it did.
constexpr uint64_t kRestToRead = 16;
constexpr size_t kRestBytes = size_t{1} << 20;

absl::Status CheckSubject(const v1::Subject& subject) {
  if (!subject.dataset().empty()) {
    return FieldError("dataset", "must be empty here: this question is about ledgers by name");
  }
  if (subject.ledgers().empty() && subject.events().empty()) {
    return FieldError("ledgers", "must name a ledger, unless events are given");
  }
  if (subject.ledgers_size() > kMaxLedgers) {
    return FieldError(
        "ledgers", absl::StrCat("must be at most ", kMaxLedgers, ", got ", subject.ledgers_size()));
  }
  std::set<std::string> names;
  for (int i = 0; i < subject.ledgers_size(); ++i) {
    RETURN_IF_ERROR(events::CheckLedgerName(Element("ledgers", i), subject.ledgers(i)));
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

bool HasEvent(const std::string& bytes) {
  v1::LedgerEntry entry;
  return !entry.ParseFromString(bytes) || entry.has_event() || entry.has_late_event();
}

}  // namespace

absl::StatusOr<questions::Subject> SubjectSource::Gather(const v1::Subject& subject,
                                                         uint64_t group_size,
                                                         const accountant::Limits& limits,
                                                         const MayCount& may_count) {
  RETURN_IF_ERROR(CheckSubject(subject));
  return GatherChecked(subject, Of::kNamed, group_size, limits, may_count);
}

absl::StatusOr<questions::Subject> SubjectSource::GatherAll(const std::vector<std::string>& ledgers,
                                                            uint64_t group_size,
                                                            const accountant::Limits& limits,
                                                            const Events& events) {
  v1::Subject subject;
  *subject.mutable_events() = events;
  for (const std::string& ledger : ledgers) subject.add_ledgers(ledger);
  return GatherChecked(subject, Of::kDataset, group_size, limits, nullptr);
}

absl::StatusOr<questions::Subject> SubjectSource::GatherChecked(const v1::Subject& subject, Of of,
                                                                uint64_t group_size,
                                                                const accountant::Limits& limits,
                                                                const MayCount& may_count) {
  ASSIGN_OR_RETURN(const accountant::History given,
                   questions::HistoryOfEvents("events", subject.events()));
  std::vector<Lineage> named;
  size_t bytes = 0;  // held until the answer, whatever the cache drops
  for (const std::string& name : subject.ledgers()) {
    ASSIGN_OR_RETURN(Lineage lineage, server::ReadLineage(*store_, histories_, signed_root_, name,
                                                          subject.up_to_sequence(), limits));
    bytes += lineage[0].history->bytes;
    if (subject.ledgers_size() > kMaxLedgers && bytes > max_history_bytes_) {
      return WithReason(absl::ResourceExhaustedError(absl::StrCat(
                            "the histories of these ", subject.ledgers_size(),
                            " ledgers together need more than ", max_history_bytes_, " bytes")),
                        {"HISTORY_TOO_LARGE", {}});
    }
    named.push_back(std::move(lineage));
  }
  RETURN_IF_ERROR(CheckNoCopyTwice(named, histories_, limits));
  std::vector<questions::Lineage> lineages;
  for (const Lineage& lineage : named) {
    questions::Lineage& parts = lineages.emplace_back();
    for (const LedgerPrefix& prefix : lineage) parts.push_back(prefix.part());
  }
  questions::SubjectOptions options;
  options.group_size = group_size;
  options.given_events = static_cast<uint64_t>(subject.events_size());
  if (options.given_events > 0) options.given = &given;
  options.of_one_server = of_one_server_;
  std::vector<questions::Lineage> counted = lineages;
  if (of == Of::kDataset) questions::LeaveBudgetsOut(counted);
  ASSIGN_OR_RETURN(questions::Subject result, questions::SubjectOf(counted, options));
  if (!named.empty()) {
    RETURN_IF_ERROR(WarnOfRest(named, questions::UnionOf(lineages), result));
    RETURN_IF_ERROR(WarnOfOthers(questions::UnionOf(lineages), may_count, result));
  }
  return result;
}

absl::Status SubjectSource::WarnOfRest(const std::vector<Lineage>& named,
                                       const std::vector<questions::LedgerPart>& all,
                                       questions::Subject& into) {
  std::map<std::string, uint64_t> sizes;  // of ancestors, as they are now
  for (const Lineage& lineage : named) {
    for (const LedgerPrefix& prefix : lineage) sizes[prefix.ledger.name()] = prefix.ledger.size();
  }
  for (const Lineage& lineage : named) sizes.erase(lineage[0].ledger.name());
  for (const questions::LedgerPart& part : all) {
    const auto ancestor = sizes.find(part.name);
    if (ancestor == sizes.end() || ancestor->second == part.size()) continue;
    const uint64_t rest = ancestor->second - part.size();
    bool released = rest > kRestToRead;
    if (!released) {
      ASSIGN_OR_RETURN(const std::vector<std::string> entries,
                       store_->Read(part.name, part.size(), kRestToRead, kRestBytes));
      released = entries.size() < rest || std::any_of(entries.begin(), entries.end(), HasEvent);
    }
    if (!released) continue;
    into.warnings.push_back(absl::StrCat(
        part.name, ": went on after the ", part.size(),
        " entries that are part of this answer; what it released then is not in this answer"));
  }
  return absl::OkStatus();
}

absl::Status SubjectSource::WarnOfOthers(const std::vector<questions::LedgerPart>& all,
                                         const MayCount& may_count, questions::Subject& into) {
  const std::string& dataset = all[0].declaration().dataset();
  if (may_count && !may_count(dataset)) {
    into.assumptions.push_back(absl::StrCat("what other ledgers over the data set \"", dataset,
                                            "\" released is not in this answer; who asks may not "
                                            "know whether this server has any"));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const uint64_t declaring, store_->CountDeclaring(dataset));
  // What a budget of theirs sets aside is in the answer, as far as they have used it; and what runs
  // under a budget may use is in that of the budget.
  std::set<std::string> known;
  for (const questions::LedgerPart& part : all) {
    known.insert(part.name);
    if (part.reader->first().has_import()) continue;
    if (!part.declaration().budget().empty()) known.insert(part.declaration().budget());
    if (part.declaration().kind() != v1::BUDGET) continue;
    for (const auto& [ledger, grant] : part.reader->grants()) known.insert(ledger);
  }
  const uint64_t others = declaring - std::min<uint64_t>(declaring, known.size());
  if (others > 0) {
    into.warnings.push_back(absl::StrCat(others, others == 1 ? " other ledger" : " other ledgers",
                                         " on this server declare", others == 1 ? "s" : "",
                                         " the data set \"", dataset, "\" and ",
                                         others == 1 ? "is" : "are", " not in this answer"));
  }
  return absl::OkStatus();
}

}  // namespace dpledger::server
