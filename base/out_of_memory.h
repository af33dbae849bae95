// The answer to a call for which there was no memory: made before there is need of it, because a
// status is memory too.
//
// Thread safe.
#pragma once

#include "absl/status/status.h"

namespace dpledger {

inline constexpr char kOutOfMemory[] = "OUT_OF_MEMORY";

// RESOURCE_EXHAUSTED (OUT_OF_MEMORY). A copy of it takes no memory. A program that is to have it
// when memory runs out asks for it once at its start.
const absl::Status& OutOfMemory();

}  // namespace dpledger
