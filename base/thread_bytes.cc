#include "base/thread_bytes.h"

#include <cstddef>

// jemalloc's, in programs that use it.
extern "C" int mallctl(const char* name, void* old_value, size_t* old_size, void* new_value,
                       size_t new_size) __attribute__((weak));

namespace dpledger {
namespace {

// Where jemalloc counts for this thread; null if it does not.
const uint64_t* CounterOf(const char* name) {
  uint64_t* counter = nullptr;
  size_t size = sizeof counter;
  if (mallctl == nullptr || mallctl(name, &counter, &size, nullptr, 0) != 0) return nullptr;
  return counter;
}

}  // namespace

int64_t BytesOfThread() {
  thread_local const uint64_t* const taken = CounterOf("thread.allocatedp");
  thread_local const uint64_t* const freed = CounterOf("thread.deallocatedp");
  if (taken == nullptr || freed == nullptr) return 0;
  return static_cast<int64_t>(*taken - *freed);
}

}  // namespace dpledger
