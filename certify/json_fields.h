// What a parser of JSON would pass over: a field that is given twice, of which it takes the last.
#pragma once

#include <string_view>

#include "absl/status/status.h"

namespace dpledger::certify {

// Of what is JSON to protobuf, which takes more for it. INVALID_ARGUMENT if an object has a field
// twice, in either of its two spellings (noise_multiplier, noiseMultiplier), or one whose name is
// not in double quotes, letter by letter.
absl::Status CheckFieldsOnce(std::string_view json);

}  // namespace dpledger::certify
