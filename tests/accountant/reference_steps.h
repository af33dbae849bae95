// The `steps` of a case in tests/data as a composition.
#pragma once

#include "accountant/mechanism/composition.h"
#include "tests/support/json_file.h"

namespace dpledger::accountant {

inline Composition StepsOf(const google::protobuf::Struct& c) {
  Composition composition;
  for (const auto& value : testing::ListAt(c, "steps")) {
    const auto& step = value.struct_value();
    const double z = testing::NumberAt(step, "noise_multiplier");
    composition.steps.push_back({testing::NumberAt(step, "q"),
                                 {z, z},
                                 static_cast<uint64_t>(testing::NumberAt(step, "count"))});
  }
  return composition;
}

}  // namespace dpledger::accountant
