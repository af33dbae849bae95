#include "events/grant_rules.h"

#include "events/event_values.h"
#include "events/field_checks.h"

namespace dpledger::events {
namespace {

constexpr int kMostEvents = 64;

}  // namespace

absl::Status CheckPlan(const google::protobuf::RepeatedPtrField<v1::Event>& plan) {
  RETURN_IF_ERROR(
      Must(plan.size() <= kMostEvents, "have at most 64 elements", "plan", plan.size()));
  for (int i = 0; i < plan.size(); ++i) {
    const v1::Event& event = plan.Get(i);
    absl::Status checked = CheckEvent(event);
    if (checked.ok() && !event.has_rounds() && !event.has_mechanism()) {
      checked = FieldError("kind", "must be rounds or mechanism: a plan has no single rounds");
    }
    if (!checked.ok()) return Within(Element("plan", i), checked);
  }
  return absl::OkStatus();
}

const char* NotOfBudget(const v1::Declaration& budget, const v1::Declaration& run) {
  if (run.dataset() != budget.dataset()) return "dataset";
  if (run.unit_of_privacy() != budget.unit_of_privacy()) return "unit_of_privacy";
  if (run.adjacency() != budget.adjacency()) return "adjacency";
  // A filter is numbers: without maps, one message has one spelling in one program.
  if (run.filter().SerializeAsString() != budget.filter().SerializeAsString()) return "filter";
  return nullptr;
}

}  // namespace dpledger::events
