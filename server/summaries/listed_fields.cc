#include "server/summaries/listed_fields.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/absl_view.h"
#include "questions/spending.h"

namespace dpledger::server {
namespace {

FieldValue Text(std::string_view text) {
  if (text.empty()) return std::monostate();
  return text;
}

absl::Time TimeOf(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

std::vector<std::string> NamesOf(const google::protobuf::EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) {
    if (type.value(i)->number() != 0) names.push_back(type.value(i)->name());
  }
  return names;
}

// A count of the summary; absent without one.
template <uint64_t (v1::LedgerSummary::*count)() const>
FieldValue Count(const Listed& of) {
  if (of.summary() == nullptr) return std::monostate();
  return static_cast<double>((of.summary()->*count)());
}

FieldValue Project(const Listed& of) {
  const std::string_view name = of.ledger.name();
  const size_t begin = name.find('/') + 1;  // 0: there is none
  return begin > 0 ? Text(name.substr(begin, name.find('/', begin) - begin)) : std::monostate();
}

FieldValue Budget(const Listed& of) { return Text(of.ledger.declaration().budget()); }

// Runs have none.
FieldValue Kind(const Listed& of) {
  const v1::LedgerKind kind = of.ledger.declaration().kind();
  if (kind == v1::LEDGER_KIND_UNSPECIFIED) return std::monostate();
  return Text(v1::LedgerKind_Name(kind));
}

FieldValue Epsilon(const Listed& of) {
  if (of.summary() == nullptr || !of.summary()->has_epsilon()) return std::monostate();
  return of.summary()->epsilon().upper();
}

// The share that is left of what the ledger was granted, or of its filter.
FieldValue Remaining(const Listed& of) {
  if (of.summary() == nullptr || !of.summary()->has_spending()) return std::monostate();
  const v1::FilterSpending& spending = of.summary()->spending();
  const double bound = spending.budget().empty() ? spending.bound() : spending.granted();
  if (!(bound > 0)) return spending.spent() > 0 ? FieldValue(-1.0) : FieldValue();
  return 1 - questions::ShareSpent(spending, bound);
}

FieldValue LastEntry(const Listed& of) {
  if (of.summary() == nullptr || !of.summary()->has_last_entry_time()) return std::monostate();
  return TimeOf(of.summary()->last_entry_time());
}

FieldValue Age(const Listed& of) {
  if (of.summary() == nullptr || !of.summary()->has_compute_time()) return std::monostate();
  return of.now - TimeOf(of.summary()->compute_time());
}

template <const std::string& (v1::LedgerSummary::*text)() const>
FieldValue SummaryText(const Listed& of) {
  if (of.summary() == nullptr) return std::monostate();
  return Text((of.summary()->*text)());
}

std::vector<ListedField> MakeFields() {
  using S = v1::LedgerSummary;
  return {
      {"name", FieldKind::kText, [](const Listed& of) { return Text(of.ledger.name()); }, {}},
      {"project", FieldKind::kText, Project, {}},
      {"dataset",
       FieldKind::kText,
       [](const Listed& of) { return Text(of.ledger.declaration().dataset()); },
       {}},
      {"unit",
       FieldKind::kText,
       [](const Listed& of) { return Text(of.ledger.declaration().unit_of_privacy()); },
       {}},
      {"budget", FieldKind::kText, Budget, {}},
      {"kind", FieldKind::kChoice, Kind, NamesOf(*v1::LedgerKind_descriptor())},
      {"creator",
       FieldKind::kText,
       [](const Listed& of) { return Text(of.ledger.head->first->caller()); },
       {}},
      {"adjacency", FieldKind::kChoice,
       [](const Listed& of) {
         return Text(v1::Adjacency_Name(of.ledger.declaration().adjacency()));
       },
       NamesOf(*v1::Adjacency_descriptor())},
      {"parameters", FieldKind::kChoice,
       [](const Listed& of) {
         return Text(v1::Parameters_Name(of.ledger.declaration().parameters()));
       },
       NamesOf(*v1::Parameters_descriptor())},
      {"state", FieldKind::kChoice,
       [](const Listed& of) { return Text(v1::LedgerState_Name(of.ledger.state())); },
       NamesOf(*v1::LedgerState_descriptor())},
      {"size",
       FieldKind::kNumber,
       [](const Listed& of) { return FieldValue(static_cast<double>(of.ledger.size())); },
       {}},
      {"open_writers",
       FieldKind::kNumber,
       [](const Listed& of) { return FieldValue(static_cast<double>(of.ledger.open_writers)); },
       {}},
      {"create_time",
       FieldKind::kTime,
       [](const Listed& of) { return FieldValue(of.ledger.head->create_time); },
       {}},
      {"epsilon", FieldKind::kNumber, Epsilon, {}},
      {"remaining", FieldKind::kNumber, Remaining, {}},
      {"delta",
       FieldKind::kNumber,
       [](const Listed& of) {
         return of.summary() == nullptr ? FieldValue() : FieldValue(of.summary()->delta());
       },
       {}},
      {"method", FieldKind::kText, SummaryText<&S::method>, {}},
      {"version", FieldKind::kText, SummaryText<&S::version>, {}},
      {"refused",
       FieldKind::kText,
       [](const Listed& of) {
         return of.summary() == nullptr ? FieldValue() : Text(of.summary()->refusal().reason());
       },
       {}},
      {"rounds", FieldKind::kNumber, Count<&S::rounds>, {}},
      {"warnings", FieldKind::kNumber, Count<&S::warnings>, {}},
      {"conflicts", FieldKind::kNumber, Count<&S::conflicts>, {}},
      {"corrections", FieldKind::kNumber, Count<&S::corrections>, {}},
      {"last_entry_time", FieldKind::kTime, LastEntry, {}},
      {"age", FieldKind::kDuration, Age, {}},
  };
}

const std::vector<ListedField>& ListedFields() {
  static const auto& fields = *new std::vector<ListedField>(MakeFields());
  return fields;
}

}  // namespace

const ListedField* FindListedField(std::string_view name) {
  for (const ListedField& field : ListedFields()) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

std::string ListedFieldNames() {
  return absl::StrJoin(ListedFields(), ", ", [](std::string* out, const ListedField& field) {
    absl::StrAppend(out, ToAbsl(field.name));
  });
}

}  // namespace dpledger::server
