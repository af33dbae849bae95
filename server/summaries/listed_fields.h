// The fields of a ledger that lists can be filtered and ordered by: docs/filters.md. Pure; thread
// safe.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "dpledger/v1/summary.pb.h"
#include "server/summaries/ledger_index.h"

namespace dpledger::server {

// A ledger as a filter sees it.
struct Listed {
  const LedgerRow& ledger;
  absl::Time now;

  const v1::LedgerSummary* summary() const { return ledger.summary.get(); }  // null: there is none
};

enum class FieldKind {
  kText,
  kChoice,  // names of an enum: compared without regard to case
  kNumber,
  kTime,
  kDuration
};

// monostate: the ledger has no such value. A text is not copied: it lives as long as what it is of.
using FieldValue =
    std::variant<std::monostate, std::string_view, double, absl::Time, absl::Duration>;

struct ListedField {
  std::string_view name;
  FieldKind kind;
  FieldValue (*of)(const Listed& listed);
  std::vector<std::string> choices;  // kChoice alone
};

// Null if there is no such field.
const ListedField* FindListedField(std::string_view name);
// "name, project, dataset, …": for errors.
std::string ListedFieldNames();

}  // namespace dpledger::server
