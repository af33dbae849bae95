// The questions of sweep_benchmark.cc. Question number i about a subject is always the same one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "accountant/accountant.h"

namespace dpledger::accountant {

struct SweepQuestion {
  std::string what;  // JSON members
  std::function<absl::StatusOr<Answer>(const Options&)> ask;
};

// One kind of question, and what is wanted of each. `only`: sweep_benchmark.cc.
struct Subject {
  const char* name;
  double gap, most_seconds;
  SweepQuestion (*question)(uint64_t index, const std::string& only);
};

// nullptr if there is none.
const Subject* SubjectNamed(std::string_view name);

}  // namespace dpledger::accountant
