#include "server/ledger_finder.h"

#include "base/status.h"
#include "events/names.h"
#include "server/own_ledgers.h"

namespace dpledger::server {
namespace {

constexpr size_t kPage = 1000;
constexpr char kAllProjects[] = "projects/-";

// Calls `take` with each ledger of `parent`, in the order of names, until it says false.
template <typename Take>
absl::Status ForEachLedger(LedgerReader& store, const std::string& parent, const Take& take) {
  std::string after;
  while (true) {
    ASSIGN_OR_RETURN(const std::vector<v1::Ledger> page,
                     store.List(parent, after, kPage, kNoWriters));
    for (const v1::Ledger& ledger : page) {
      if (!take(ledger)) return absl::OkStatus();
    }
    if (page.size() < kPage) return absl::OkStatus();
    after = page.back().name();
  }
}

}  // namespace

absl::StatusOr<std::vector<v1::Ledger>> LedgersOver(LedgerReader& store, const std::string& dataset,
                                                    size_t limit) {
  std::vector<v1::Ledger> found;
  RETURN_IF_ERROR(ForEachLedger(store, kAllProjects, [&](const v1::Ledger& ledger) {
    if (ledger.declaration().dataset() == dataset && !IsOfServer(ledger.name())) {
      found.push_back(ledger);
    }
    return found.size() <= limit;
  }));
  return found;
}

absl::StatusOr<std::vector<std::string>> FindLedgers(LedgerReader& store, const std::string& parent,
                                                     const std::string& filter) {
  if (parent != kAllProjects) RETURN_IF_ERROR(events::CheckProjectName("parent", parent));
  if (!filter.empty()) {
    return FieldError("filter",
                      "must be empty: this server finds all ledgers of a parent, or none");
  }
  std::vector<std::string> names;
  RETURN_IF_ERROR(ForEachLedger(store, parent, [&](const v1::Ledger& ledger) {
    if (!IsOfServer(ledger.name())) names.push_back(ledger.name());
    return true;
  }));
  return names;
}

v1::Subject SubjectOver(const std::vector<v1::Ledger>& ledgers) {
  v1::Subject subject;
  for (const v1::Ledger& ledger : ledgers) subject.add_ledgers(ledger.name());
  return subject;
}

}  // namespace dpledger::server
