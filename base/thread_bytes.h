// How much memory this thread has taken.
#pragma once

#include <cstdint>

namespace dpledger {

// What this thread allocated, less what it freed, since it began: only differences tell something.
// 0 for ever where the process does not use jemalloc. Thread safe; some nanoseconds.
int64_t BytesOfThread();

}  // namespace dpledger
