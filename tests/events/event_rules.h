// The rules of proto/dpledger/v1/event.proto, one row a field.
#pragma once

#include <vector>

#include "tests/events/field_rules.h"

namespace dpledger::accountant {

std::vector<FieldRule> EventRules();

}  // namespace dpledger::accountant
