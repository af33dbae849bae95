// A mechanism tree as a value. Private to this folder; the front door is event_from_proto.h.
#pragma once

#include "absl/status/statusor.h"
#include "accountant/mechanism/event.h"
#include "dpledger/v1/event.pb.h"

namespace dpledger::accountant {

// Fields of errors are relative to `event`; every field of the tree is checked.
absl::StatusOr<Mechanism> MechanismFromProto(const v1::MechanismEvent& event);

}  // namespace dpledger::accountant
