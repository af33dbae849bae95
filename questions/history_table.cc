#include "questions/history_table.h"

#include <string>
#include <utility>

#include "events/event_values.h"
#include "events/field_checks.h"

namespace dpledger::questions {
namespace {

using events::Element;
using events::Within;

void ToProto(const accountant::Round& round, v1::StoredRounds& stored) {
  events::ToMessage(round.scheme, *stored.mutable_scheme());
  for (const accountant::SumQuery& query : round.queries)
    events::ToMessage(query, *stored.add_queries());
}

absl::StatusOr<accountant::Round> FromProto(const v1::StoredRounds& stored) {
  accountant::Round round;
  ASSIGN_OR_RETURN(round.scheme, Within("scheme", events::ValueOf(stored.scheme())));
  for (int i = 0; i < stored.queries_size(); ++i) {
    ASSIGN_OR_RETURN(accountant::SumQuery query,
                     Within(Element("queries", i), events::ValueOf(stored.queries(i))));
    round.queries.push_back(std::move(query));
  }
  return round;
}

}  // namespace

void ToTable(const accountant::History& history, v1::StoredHistory& table) {
  table.clear_closed();
  table.clear_open();
  const accountant::History::Parts parts = history.ToParts();
  for (const accountant::History::CountedRound& counted : parts.closed) {
    v1::StoredRounds& stored = *table.add_closed();
    stored.set_writer(counted.writer);
    stored.set_count(counted.count);
    ToProto(counted.round, stored);
  }
  for (const auto& [writer, open] : parts.open) {
    v1::StoredRounds& stored = *table.add_open();
    stored.set_writer(writer);
    stored.set_number(open.number);
    ToProto(open.round, stored);
  }
}

absl::StatusOr<accountant::History> FromTable(const v1::StoredHistory& table,
                                              std::vector<accountant::Mechanism> mechanisms) {
  accountant::History::Parts parts;
  for (int i = 0; i < table.closed_size(); ++i) {
    const v1::StoredRounds& stored = table.closed(i);
    ASSIGN_OR_RETURN(accountant::Round round, Within(Element("closed", i), FromProto(stored)));
    parts.closed.push_back({std::move(round), stored.count(), stored.writer()});
  }
  for (int i = 0; i < table.open_size(); ++i) {
    const v1::StoredRounds& stored = table.open(i);
    ASSIGN_OR_RETURN(accountant::Round round, Within(Element("open", i), FromProto(stored)));
    parts.open[stored.writer()] = {stored.number(), std::move(round)};
  }
  parts.mechanisms = std::move(mechanisms);
  accountant::History history = accountant::History::FromParts(std::move(parts));
  v1::StoredHistory again = table;
  ToTable(history, again);
  if (again.SerializeAsString() != table.SerializeAsString()) {
    return FieldError("closed", "must be spelled as this version writes it");
  }
  return history;
}

}  // namespace dpledger::questions
