// Converts a mechanism message to a value. Private to this folder; others use event_from_proto.h.
#pragma once

#include "accountant/mechanism/event.h"
#include "dpledger/v1/event.pb.h"

namespace dpledger::accountant {

// Precondition: events::CheckMechanism(event) is OK.
Mechanism MechanismFromProto(const v1::MechanismEvent& event);

}  // namespace dpledger::accountant
