#include "base/out_of_memory.h"

#include "base/status.h"

namespace dpledger {

const absl::Status& OutOfMemory() {
  static const absl::Status* const status = new absl::Status(
      WithReason(absl::ResourceExhaustedError(
                     "the server is out of memory; try again, under the same request id"),
                 {kOutOfMemory, {}}));
  return *status;
}

}  // namespace dpledger
