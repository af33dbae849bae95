// Events that come with a question or in a file: what one writer would have written, in a ledger of
// its own.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "accountant/mechanism/history.h"
#include "dpledger/v1/event.pb.h"
#include "dpledger/v1/ledger.pb.h"

namespace dpledger::accountant {

// Not thread safe.
class GivenEvents {
 public:
  // What a ledger would refuse of one writer is refused (events/event_rules.h,
  // events/writer_rules.h), and leaves this as it was.
  absl::Status Add(const v1::Event& event);
  const History& history() const { return history_; }

 private:
  v1::WriterStatus writer_;
  History history_;
};

}  // namespace dpledger::accountant
