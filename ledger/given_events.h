// Events from a question or a file, taken as those of one writer in a ledger of its own.
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
  // Refuses what a ledger would refuse of one writer (events/event_rules.h, events/writer_rules.h);
  // an error changes nothing.
  absl::Status Add(const v1::Event& event);
  const History& history() const { return history_; }

 private:
  v1::WriterStatus writer_;
  History history_;
};

}  // namespace dpledger::accountant
