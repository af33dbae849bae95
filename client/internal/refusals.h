// The errors of a server that trying again does not cure, and what a recorder makes of them; and
// how long it waits before it tries again after others.
#pragma once

#include <algorithm>
#include <string>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "dpledger/v1/ledger_service.pb.h"

namespace dpledger::client::internal {

// The reason of a round, or a grant, that costs more than the budget allows.
inline constexpr char kBudgetExceeded[] = "BUDGET_EXCEEDED";

// True for the codes that trying again does not cure.
bool IsRefusal(const absl::Status& status);

// `refusal` of a batch of `ledger`, in the writer's words where it means that another one writes
// under its name. `spool`: the file that holds the batch.
absl::Status Explain(const absl::Status& refusal, const std::string& ledger,
                     const std::string& spool);

// Whether a batch that was refused so can be taken back: sent as notes, under the request id that
// it has. So a process that was killed before it knew that meets the notes under this id, and takes
// the batch back again.
bool CanBeTakenBack(const absl::Status& refusal);

// Puts notes in the place of the events of a batch that is taken back: the same for whoever sends
// it again.
void PutNotes(v1::AppendBatchRequest& batch);

// How long to wait before the next attempt: twice as long each time up to a bound, and a random
// part of it, so that the trainers of a server that comes back do not all come at once. Not thread
// safe.
class Backoff {
 public:
  Backoff(absl::Duration first, absl::Duration longest)
      : first_(first), longest_(longest), current_(first) {}

  absl::Duration Next() {
    const absl::Duration wait = current_ * absl::Uniform(random_, 0.5, 1.0);
    current_ = std::min(2 * current_, longest_);
    return wait;
  }
  void Reset() { current_ = first_; }

 private:
  const absl::Duration first_;
  const absl::Duration longest_;
  absl::Duration current_;
  absl::BitGen random_;
};

}  // namespace dpledger::client::internal
