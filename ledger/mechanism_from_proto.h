// A mechanism tree as a value. Private to this folder; the front door is event_from_proto.h.
#pragma once

#include "accountant/mechanism/event.h"
#include "dpledger/v1/event.pb.h"

namespace dpledger::accountant {

// Precondition: events::CheckMechanism(event) is OK.
Mechanism MechanismFromProto(const v1::MechanismEvent& event);

}  // namespace dpledger::accountant
