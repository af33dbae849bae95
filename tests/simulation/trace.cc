#include "tests/simulation/trace.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "base/out_of_memory.h"
#include "base/status.h"

namespace dpledger::simulation {

void Trace::Note(const std::string& what) {
  if (print_)
    std::printf("%4llu %s\n", static_cast<unsigned long long>(outcome.steps), what.c_str());
  for (const char c : what) {  // FNV-1a
    outcome.trace_hash =
        (outcome.trace_hash ^ static_cast<unsigned char>(c)) * uint64_t{0x100000001b3};
  }
}

void Trace::Hold(const absl::Status& promise) {
  if (promise.ok() || !Fine()) return;
  Note(absl::StrCat("BROKEN ", promise.message()));
  outcome.status = promise;
}

bool ForNow(const absl::Status& status) {
  return absl::IsUnavailable(status) || ReasonOf(status).reason == kOutOfMemory;
}

}  // namespace dpledger::simulation
