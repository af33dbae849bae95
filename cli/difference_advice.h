// What a difference (ledger_store/bundle/difference.h) means for somebody who was handed a file,
// and what to do about it. Thread safe.
#pragma once

#include "absl/status/status.h"

namespace dpledger::cli {

// The status with lines for that below its message; one that is no difference as it is.
absl::Status WithAdvice(const absl::Status& status);

}  // namespace dpledger::cli
