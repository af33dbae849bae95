#include "ledger/given_events.h"

#include "base/status.h"
#include "events/writer_rules.h"
#include "ledger/event_from_proto.h"

namespace dpledger::accountant {

absl::Status GivenEvents::Add(const v1::Event& event) {
  ASSIGN_OR_RETURN(const Event value, EventFromProto(event));
  RETURN_IF_ERROR(events::TakeRound(events::StepOf(event), writer_));
  history_.Add(events::EpochOwner(writer_), value);
  return absl::OkStatus();
}

}  // namespace dpledger::accountant
