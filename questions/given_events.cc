#include "questions/given_events.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "events/event_values.h"
#include "events/field_checks.h"
#include "events/writer_rules.h"
#include "questions/subject.h"

namespace dpledger::questions {

absl::Status GivenEvents::Add(const v1::Event& event) {
  ASSIGN_OR_RETURN(const accountant::Event value, events::ValueOf(event));
  RETURN_IF_ERROR(events::TakeRound(events::StepOf(event), writer_));
  history_.Add(events::EpochOwner(writer_), value);
  return absl::OkStatus();
}

absl::StatusOr<accountant::History> HistoryOfEvents(
    std::string_view field, const google::protobuf::RepeatedPtrField<v1::Event>& list) {
  GivenEvents given;
  for (int i = 0; i < list.size(); ++i)
    RETURN_IF_ERROR(events::Within(events::Element(field, i), given.Add(list[i])));
  return given.history();
}

absl::StatusOr<Subject> SubjectOfEvents(const v1::Subject& subject, uint64_t group_size) {
  const auto has_none = [](std::string_view field) {
    return FieldError(field,
                      "must not be given: without a server there are no ledgers, only events");
  };
  if (!subject.ledgers().empty()) return has_none("ledgers");
  if (!subject.dataset().empty()) return has_none("dataset");
  if (subject.up_to_sequence() != 0) return has_none("up_to_sequence");
  if (subject.events().empty()) return FieldError("events", "must be given");
  ASSIGN_OR_RETURN(const accountant::History given, HistoryOfEvents("events", subject.events()));
  return SubjectOf({}, {.given = &given,
                        .given_events = static_cast<uint64_t>(subject.events_size()),
                        .group_size = group_size});
}

}  // namespace dpledger::questions
